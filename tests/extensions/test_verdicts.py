"""The verdict in every place: the store, the stats, the log's closing lines."""

import csv
import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from fhcrawl.store import Store
from fhcrawl.utils.locks import locked
from tests.feeds import E, atom
from tests.projects import Process, Project, read_export
from tests.server import FeedServer
from tests.store.test_leases import FEED, NOW, read
from tests.stores import begin_walk, commit, write_part


def stored(project: Project) -> dict[str, tuple[str | None, list[dict[str, str]] | None]]:
    """The verdicts in the database, and their reasons, by the last part of the feed's URL."""
    rows = project.database.rows("SELECT url, verdict, reasons FROM feeds")
    return {
        url.rpartition("/")[2]: (verdict, reasons and json.loads(reasons)) for url, verdict, reasons in rows
    }


def test_every_feed_has_its_verdict_everywhere_after_a_run(server: FeedServer, project: Project) -> None:
    server.serve("/whole", atom([E("1")], head="<fh:complete/>"))
    server.serve("/gap", atom([E("1")], prev="/gone"))
    server.serve("/paged", atom([E("1")], links={"next": "/p2"}))
    server.serve("/p2", atom([E("0")]))
    server.serve("/plain", atom([E("1")]))
    names = ["gap", "paged", "plain", "whole"]
    run = project.crawl(*(server.url(f"/{name}") for name in names))
    reported = {
        feed["feed"].rpartition("/")[2]: (feed["verdict"], feed["reasons"]) for feed in project.feeds()
    }
    assert {name: verdict for name, (verdict, _) in reported.items()} == {
        "gap": "incomplete",
        "paged": "unknown",
        "plain": "unknown",
        "whole": "complete",
    }
    assert stored(project) == reported
    numbers = Counter(verdict for verdict, _ in reported.values())
    assert {verdict: run.stats[f"fhcrawl/feed/{verdict}"] for verdict in numbers} == numbers
    for name, (verdict, reasons) in reported.items():
        [line] = [line for line in run.log.splitlines() if f"{server.url(f'/{name}')}: " in line]
        assert f": {verdict}, entries: " in line
        assert all(f"{reason['url']} {reason['detail']}" in line for reason in reasons)


QUICK = {"RETRY_TIMES": 0, "ROBOTSTXT_OBEY": 0}


def counted(project: Project) -> list[int]:
    """The number of rows in the tables that know of feeds."""
    return [project.database.rows(f"SELECT count(*) FROM {name}")[0][0] for name in ("feeds", "documents")]


def test_feed_that_could_never_be_read_is_not_read(server: FeedServer, project: Project) -> None:
    server.serve("/page", "<!DOCTYPE html><html><body>parked</body></html>", content_type="text/html")
    kinds = {
        server.url("/gone"): "http-404",
        server.url("/page"): "html",
        "http://127.0.0.1:9/feed": "connection-refused",
    }
    project.scrapy("subscribe", *kinds)
    run = project.crawl(*kinds, settings=QUICK)
    # Exit code 1, since nothing of what was given could be read.
    assert (run.exit_code, run.stats["fhcrawl/feed/unknown"]) == (1, 3)
    for feed in project.feeds():
        first, cause = feed["reasons"]
        assert (feed["verdict"], first["kind"]) == ("unknown", "not-read")
        assert (first["url"], first["detail"]) == (feed["feed"], "has never been read")
        assert cause["kind"] == kinds[feed["feed"]]
        assert f"{feed['feed']}: not read, entries: 0; {feed['feed']} has never been read; " in run.log
    assert "3 feeds: 3 not read" in run.log
    assert "What to do: open the URL in a browser; if there is no feed, correct the URL" in run.log
    # Most are not subscribed: to them, `unsubscribe` would answer with an error.
    assert "remove the wrong one with fhcrawl unsubscribe" in run.log
    assert "3 feeds: 3 not read" in project.scrapy("feeds").stdout
    # In the view of gaps, the cause counts alone.
    assert len(project.database.rows("SELECT kind FROM gaps")) == 3


def test_feed_that_could_never_be_read_leaves_nothing_behind(server: FeedServer, project: Project) -> None:
    server.serve("/one", atom([E("1")]))
    feeds = [server.url("/gone"), server.url("/one"), server.url("/gone2")]
    run = project.crawl(*feeds, settings=QUICK)
    assert (run.exit_code, run.stats["fhcrawl/feed/unknown"]) == (0, 3)
    assert counted(project) == [1, 1]
    assert [feed["feed"] for feed in project.feeds()] == [server.url("/one")]
    # Nothing stands in the way of reading it later.
    server.serve("/gone", atom([E("2")], head="<fh:complete/>"))
    assert project.crawl(server.url("/gone")).changes == {"2": "new"}


def test_feed_that_is_done_early_leaves_nothing_behind(server: FeedServer, project: Project) -> None:
    """While another feed is being read, the one that is done is released."""
    seen: list[list[int]] = []
    server.serve("/one", atom([E("1")], prev="/a1"))
    server.serve("/a1", atom([E("0")]), delay=4)
    server.on_request = lambda path: seen.append(counted(project)) if path == "/a1" else None
    project.crawl(
        server.url("/gone"), server.url("/one"), settings={**QUICK, "CONCURRENT_REQUESTS_PER_DOMAIN": 2}
    )
    assert seen
    assert counted(project) == [1, 2]


def test_run_with_due_remembers_when_to_ask_again(server: FeedServer, project: Project) -> None:
    (project.folder / "feeds.txt").write_text(server.url("/gone"))
    args = ("-a", "feeds=feeds.txt", "-a", "due=1")
    project.crawl(args=args, settings=QUICK)
    assert project.verdict() == ("unknown", ["not-read", "http-404"])
    server.requested()
    project.crawl(args=args, settings=QUICK)
    assert server.requested() == []


@pytest.mark.parametrize("known", [False, True])
def test_run_that_dies_leaves_no_verdict(server: FeedServer, project: Project, known: bool) -> None:
    server.serve("/index", atom([E("1")], head="<fh:complete/>"))
    if known:
        project.crawl(server.url("/index"))
    process = None

    def kill(path: str) -> None:
        if path == "/index" and process is not None:
            process.kill()

    server.on_request = kill
    process = project.start("crawl", "history", "-a", f"feed={server.url('/index')}")
    process.wait(timeout=60)
    server.on_request = None
    assert stored(project) == {"index": (None, None)}
    project.crawl(server.url("/index"))
    assert stored(project) == {"index": ("complete", [])}


def test_run_that_could_read_no_feed_fails(server: FeedServer, project: Project) -> None:
    server.serve("/page", "<html><body>parked</body></html>")
    server.serve("/index", atom([E("2")], prev="/a1"), headers={"ETag": '"1"'})
    server.serve("/a1", atom([E("1")]))
    unread = [server.url("/missing"), server.url("/page"), "http://127.0.0.1:9/feed"]
    run = project.crawl(*unread, settings=QUICK)
    assert (run.exit_code, run.stats["fhcrawl/feed/unread"]) == (1, 3)
    assert f"ERROR: No feed could be read: {unread[0]} is missing (404)." in run.warnings()
    # One is enough, whether it is new or what it was.
    for documents in ("processed", "unchanged"):
        run = project.crawl(*unread, server.url("/index"), settings=QUICK)
        assert (run.exit_code, run.stats[f"fhcrawl/document/{documents}"] > 0) == (0, True)
        assert "fhcrawl/feed/unread" not in run.stats
    server.answers["/index"].status = 503
    assert project.crawl(server.url("/index"), settings=QUICK).exit_code == 1
    assert project.scrapy("subscribe", server.url("/new")).returncode == 0
    assert project.scrapy("crawl", "history", "-a", "due=1").returncode == 1
    # Now nothing is due.
    assert project.scrapy("crawl", "history", "-a", "due=1").returncode == 0


@pytest.mark.in_process
@pytest.mark.parametrize("path", ["/robots", "/later"])
def test_run_without_robots_txt_fails_but_not_one_that_has_to_wait(
    server: FeedServer, project: Project, path: str
) -> None:
    if path == "/robots":
        server.serve("/robots.txt", "", status=503)
    server.serve("/later", "", status=429, headers={"Retry-After": "5000"})
    server.serve("/robots", atom([E("1")]))
    run = project.crawl(server.url(path), settings={**QUICK, "ROBOTSTXT_OBEY": True})
    is_error = path == "/robots"
    assert (run.exit_code, run.stats.get("fhcrawl/feed/unread", 0)) == (int(is_error), int(is_error))
    errors = [warning for warning in run.warnings() if "No feed could be read" in warning]
    begin = f"ERROR: No feed could be read: {server.url(path)} was left for a later run: "
    assert [error.startswith(begin) for error in errors] == [True] * is_error


def test_run_that_the_user_has_ended_is_no_failure(server: FeedServer, project: Project) -> None:
    begun: list[Process] = []

    def end(path: str) -> None:
        if path == "/slow":
            begun[0].send_signal(signal.SIGTERM)

    server.serve("/slow", atom([E("1")]), status=503)
    server.on_request = end
    urls = f"feed={server.url('/missing')} {server.url('/slow')}"
    begun.append(project.start("crawl", "history", "-a", urls))
    assert begun[0].wait(60) == 0


WAIT = 90


class Slow:
    """Feeds of which the archives of `slow` and `later` wait until they are let go; `one` is quick."""

    names = ("slow", "one", "later")

    def __init__(self, server: FeedServer, project: Project) -> None:
        for name in self.names:
            server.serve(f"/{name}", atom([E(f"{name} 2")], prev=f"/{name}-a1", title=name))
            server.serve(f"/{name}-a1", atom([E(f"{name} 1")]))
        self.server, self.project = server, project
        self.gates = {f"/{name}-a1": threading.Event() for name in ("slow", "later")}
        self._requested = threading.Event()
        server.on_request = self._hold
        self.process: Process | None = None

    def _hold(self, path: str) -> None:
        self._requested.set()
        if path in self.gates:
            self.gates[path].wait(WAIT)

    def let_go(self, name: str) -> None:
        self.gates[f"/{name}-a1"].set()

    def end(self, *names: str, code: int = 0) -> None:
        """Let feeds go, and wait for the end of the process."""
        for name in names:
            self.let_go(name)
        assert self.process is not None
        assert self.process.wait(WAIT) == code, self.log()

    def urls(self, *names: str) -> str:
        return " ".join(self.server.url(f"/{name}") for name in names)

    def start(self, *names: str, args: tuple[str, ...], seconds: int = 1) -> Process:
        settings = {"FHCRAWL_EXPORT_SECONDS": seconds, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}
        given = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
        command = ["crawl", "history", "-a", f"feed={self.urls(*names)}", *args, *given]
        folder = self.project.folder
        with (folder / "stdout").open("wb") as stdout, (folder / "first.log").open("wb") as log:
            self.process = self.project.start(*command, stdout=stdout, stderr=log)
        assert self._requested.wait(WAIT)
        return self.process

    def wait_for(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + WAIT
        while not holds():
            assert time.monotonic() < end, self.log()
            assert self.process is not None
            assert self.process.poll() is None, self.log()
            time.sleep(0.05)

    def wait_for_released(self, *names: str) -> None:
        expected = sorted(self.server.url(f"/{name}") for name in names)
        self.wait_for(lambda: [url for url, _verdict in self.released()] == expected)

    def wait_for_exported(self, feeds: int) -> None:
        """Wait until so many feeds are released and nothing of them is to be exported any more."""
        waiting = "SELECT count(*) FROM changes JOIN feeds ON feeds.id = changes.feed_id WHERE released = 1"
        rows = self.project.database.rows
        self.wait_for(lambda: len(self.released()) == feeds and rows(waiting) == [(0,)])

    def released(self) -> list[tuple[str, str]]:
        """The feeds that other crawls may have, with their verdicts in the store."""
        rows = self.project.database.rows("SELECT url, verdict FROM feeds WHERE released = 1 ORDER BY url")
        return [(url, verdict) for url, verdict in rows]

    def log(self) -> str:
        return (self.project.folder / "first.log").read_text()

    def close(self) -> None:
        for gate in self.gates.values():
            gate.set()
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def slow(server: FeedServer, project: Project) -> Iterator[Slow]:
    with closing(Slow(server, project)) as feeds:
        yield feeds


def ids(path: Path) -> list[str]:
    return sorted(entry["id"] for entry in read_export(path))


@pytest.mark.quick
def test_feeds_that_are_done_do_not_wait_for_a_slow_one(
    server: FeedServer, project: Project, slow: Slow
) -> None:
    slow.let_go("later")
    first = slow.start("slow", "one", "later", args=("-o", "all.jsonl"))
    slow.wait_for_released("one", "later")
    assert slow.released() == [(server.url(f"/{name}"), "complete") for name in ("later", "one")]
    slow.wait_for_exported(2)
    path = project.folder / "all.jsonl"
    assert ids(path) == ["later 1", "later 2", "one 1", "one 2"]
    assert "/one: complete, entries: 2" in slow.log()
    # A later run has them, though the first is still at its slow feed.
    server.serve("/one", atom([E("one 3"), E("one 2", "revised", "2004-01-01T00:00:00Z")], prev="/one-a1"))
    run = project.crawl(*slow.urls(*slow.names).split(), output=None, args=("-o", "all.jsonl"))
    assert run.exit_code == 0
    assert {name: count for name, count in run.stats.items() if "/feed/" in name} == {
        "fhcrawl/feed/leased": 1,
        "fhcrawl/feed/complete": 2,
    }
    assert first.poll() is None
    first.send_signal(signal.SIGKILL)
    first.wait()
    slow.let_go("slow")
    project.crawl(*slow.urls(*slow.names).split(), output=None, args=("-o", "all.jsonl"))
    assert ids(path) == sorted(["later 1", "later 2", "one 1", "one 2", "one 2", "one 3", "slow 1", "slow 2"])
    assert {line["id"]: line["change"] for line in read_export(path)}["one 2"] == "updated"
    assert [feed["verdict"] for feed in project.feeds()] == ["complete"] * 3
    assert project.crawl(*slow.urls(*slow.names).split()).items == []


def test_deliveries_of_a_run_are_one_export(project: Project, slow: Slow) -> None:
    (project.folder / "new.csv").write_text("what was there before\n")
    places = ("-O", "new.csv", "-O", "parts/%(batch_id)d.json", "-O", "-:csv")
    slow.start("slow", "one", "later", args=places)
    for number, name in enumerate(("later", "slow"), 1):
        slow.wait_for_exported(number)
        assert len(read_export(project.folder / "new.csv")) == 2 * number
        slow.let_go(name)
    slow.end()
    expected = [f"{name} {number}" for name in ("one", "later", "slow") for number in (1, 2)]
    assert [row["id"] for row in read_export(project.folder / "new.csv")] == expected
    stdout = (project.folder / "stdout").read_text()
    assert [row["id"] for row in csv.DictReader(stdout.splitlines())] == expected
    parts = [json.loads((project.folder / "parts" / f"{number}.json").read_text()) for number in (1, 2, 3)]
    assert [line["id"] for part in parts for line in part] == expected
    verdicts = ["fhcrawl/feed/complete': 3", *(f"/{name}: complete, entries: 2" for name in slow.names)]
    assert [slow.log().count(verdict) for verdict in verdicts] == [1] * 4


def test_delivery_that_fails_is_tried_again(project: Project, slow: Slow) -> None:
    in_the_way = project.folder / "folder"
    in_the_way.touch()
    slow.start("slow", "one", args=("-O", "folder/out.jsonl", "-O", "other.jsonl"))
    slow.wait_for(lambda: "nothing was marked as exported; it will be tried again later" in slow.log())
    assert not (project.folder / "other.jsonl").exists()
    in_the_way.unlink()
    slow.wait_for_exported(1)
    slow.end("slow", code=1)
    for name in ("folder/out.jsonl", "other.jsonl"):
        assert ids(project.folder / name) == ["one 1", "one 2", "slow 1", "slow 2"]


@pytest.mark.parametrize("place", ["out.jsonl", "%(batch_id)d.jsonl"])
def test_delivery_that_the_store_could_not_end_is_not_overwritten(
    project: Project, slow: Slow, place: str
) -> None:
    """Its file has its name, and counts as exported once the store can be told."""
    (project.folder / ".scrapy").mkdir()
    Store.open(project.database.url).close()
    project.database.refuse("deliveries", "1 = 1", "it restarts", "DELETE")
    slow.start("slow", "one", args=("-O", place))
    slow.wait_for(lambda: "nothing was marked as exported; it will be tried again later" in slow.log())
    project.database.mend("deliveries")
    slow.end("slow", code=1)
    run = project.crawl(*slow.urls("slow", "one").split(), output="next.jsonl")
    exported = [entry for path in project.folder.glob("[!.]*.jsonl") for entry in ids(path)]
    assert sorted(exported) == ["one 1", "one 2", "slow 1", "slow 2"], run.log


def test_feeds_of_a_crawl_that_goes_on_are_released_when_all_is_done(project: Project, slow: Slow) -> None:
    slow.server.serve("/slow-a1", atom([E("slow 1")], prev="/slow-a0"))
    slow.server.serve("/slow-a0", atom([E("slow 0")]))
    job = ("-s", "JOBDIR=job", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=1")
    first = slow.start("slow", args=("-o", "all.jsonl", *job))
    slow.wait_for(lambda: "/slow-a1" in slow.server.requested())
    first.send_signal(signal.SIGTERM)
    slow.wait_for(lambda: "Closing spider (shutdown)" in slow.log())
    slow.end("slow")
    again = ("-o", "all.jsonl", *job, "-s", "DOWNLOAD_DELAY=1")
    run = project.crawl(slow.server.url("/slow"), output=None, args=again)
    assert "fhcrawl/feed/leased" not in run.stats
    assert ids(project.folder / "all.jsonl") == ["slow 0", "slow 1", "slow 2"]


def test_export_that_waits_for_its_file_holds_up_no_feed(project: Project, slow: Slow) -> None:
    path = project.folder / "all.jsonl"
    with locked(path):
        slow.start("slow", "one", "later", args=("-o", "all.jsonl"))
        slow.wait_for(lambda: project.database.rows("SELECT count(*) FROM deliveries") == [(1,)])
        slow.let_go("later")
        slow.wait_for_released("one", "later")
        assert "nothing was marked as exported" not in slow.log()
    slow.end("slow")
    assert len(ids(path)) == 6


def test_export_without_changes_waits_for_its_files_alive_and_in_order(project: Project, slow: Slow) -> None:
    """Else another crawl would take it for dead, or both would wait for each other."""
    slow.let_go("slow")
    project.crawl(slow.server.url("/slow"))
    expires = "SELECT coalesce(max(expires), 0) FROM runs WHERE id IN (SELECT run FROM deliveries)"
    with locked(project.folder / "a.jsonl"):
        settings = ("-s", "FEED_STORE_EMPTY=1", "-s", "FHCRAWL_LEASE_SECONDS=3")
        slow.start("slow", args=("-o", "b.jsonl", "-o", "a.jsonl", *settings))
        slow.wait_for(lambda: project.database.rows(expires) != [(0,)])
        begun = project.database.rows(expires)
        slow.wait_for(lambda: project.database.rows(expires) > begun)
        with locked(project.folder / "b.jsonl"):
            pass
    slow.end()
    assert (project.folder / "a.jsonl").read_bytes() == b""


@pytest.mark.parametrize("has_ended", [True, False], ids=["ended", "silent"])
def test_export_that_was_cut_off_counts_before_more_is_appended(
    server: FeedServer, project: Project, has_ended: bool
) -> None:
    """Else nobody could see any more that the file had got its name, though the lease lasts longer."""
    path = project.folder / "all.jsonl"
    left = ExitStack()

    def die(_path: str) -> None:
        """Be another crawl, that dies when its file has its name and its changes do not count as exported."""
        server.on_request = None
        store = left.enter_context(closing(Store.open(project.database.url)))
        run = store.begin_run()
        begin_walk(store, FEED, run, NOW)
        commit(store, *read(run, "a"))
        number = store.exports.begin(run)
        changes = store.exports.read_changes(number)
        lines = b"".join(json.dumps(entry).encode() + b"\n" for entry in changes)
        written = write_part(path, lines, is_appended=True)
        store.exports.note_files(number, [list(written)])
        os.replace(written.written, path)
        if has_ended:
            store.end_run()

    server.serve("/index", atom([E("2")]))
    server.on_request = die
    with left:
        project.crawl(server.url("/index"), output=None, args=("-o", "all.jsonl"))
    assert ids(path) == ["1", "2"]
    assert project.database.rows("SELECT id FROM changes") == []
    assert project.database.rows("SELECT id FROM deliveries") == []


@pytest.mark.parametrize(("place", "seconds"), [("out.json", 1), ("out.jsonl", 0)])
def test_what_is_not_exported_yet_is_exported_by_the_run_that_has_the_feed(
    project: Project, slow: Slow, place: str, seconds: int
) -> None:
    """Nothing can be appended to JSON, and 0 is only at the end."""
    slow.let_go("later")
    slow.start("slow", "one", "later", args=("-o", place), seconds=seconds)
    slow.wait_for_released("one", "later")
    run = project.crawl(slow.urls("one"), output="second.jsonl")
    assert run.changes == {"one 1": "new", "one 2": "new"}
    assert not (project.folder / place).exists()
    slow.end("slow")
    text = (project.folder / place).read_text()
    lines = json.loads(text) if seconds else [json.loads(line) for line in text.splitlines()]
    assert sorted(line["id"] for line in lines) == ["later 1", "later 2", "slow 1", "slow 2"]
    assert slow.log().count("fhcrawl/feed/complete': 3") == 1
    assert [feed["verdict"] for feed in project.feeds()] == ["complete"] * 3
