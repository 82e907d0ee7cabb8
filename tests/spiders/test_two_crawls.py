"""Two crawls of one feed at once, in processes of their own: one works, the other leaves the feed alone."""

import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from fhcrawl.store import Store
from fhcrawl.utils.clock import now
from tests.extensions.test_progress import TOLD, watch
from tests.feeds import E, atom
from tests.projects import Process, Project, read_export
from tests.server import FeedServer

WAIT = 90


class Held:
    """A crawl that waits for the archive /a1, until it is let go."""

    def __init__(self, server: FeedServer, project: Project) -> None:
        server.serve("/index", atom([E("3")], prev="/a2"))
        server.serve("/a2", atom([E("2")], prev="/a1"))
        server.serve("/a1", atom([E("1")]))
        server.serve("/other", atom([E("other")]))
        self.feed, self.other = server.url("/index"), server.url("/other")
        self._waits, self.go = threading.Event(), threading.Event()
        self._project = project
        server.on_request = self._hold
        self.process: Process | None = None

    def _hold(self, path: str) -> None:
        if path == "/a1" and not self.go.is_set():
            self._waits.set()
            self.go.wait(WAIT)

    def start(self, *args: str) -> Process:
        with (self._project.folder / "held.log").open("wb") as log:
            self.process = self._project.start(
                "crawl", "history", "-a", f"feed={self.feed}", "-o", "held.jsonl", *args, stderr=log
            )
        assert self._waits.wait(WAIT)
        return self.process

    def end(self) -> tuple[int, list[str], str]:
        assert self.process is not None
        self.go.set()
        code = self.process.wait(WAIT)
        file = self._project.folder / "held.jsonl"
        ids = [entry["id"] for entry in read_export(file)] if file.exists() else []
        return code, sorted(ids), (self._project.folder / "held.log").read_text()

    def close(self) -> None:
        self.go.set()
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def held(server: FeedServer, project: Project) -> Iterator[Held]:
    with closing(Held(server, project)) as crawl:
        yield crawl


def expiry(project: Project) -> int:
    return int(project.database.rows("SELECT expires FROM runs WHERE id = 1")[0][0])


@pytest.mark.parametrize("args", [(), ("-a", "deltafetch_reset=1")], ids=["", "reset"])
def test_second_crawl_skips_feed(
    server: FeedServer, project: Project, held: Held, args: tuple[str, ...]
) -> None:
    process = held.start()
    states = project.states()
    server.requested()
    run = project.crawl(held.feed, held.other, args=args)
    assert run.exit_code == 0
    assert run.changes == {"other": "new"}
    assert server.requested() == ["/other"]
    [sentence] = run.warnings()[:1]
    reported = f"{held.feed} is skipped: another crawl is reading it (process {process.pid} on "
    assert reported in sentence
    assert len([w for w in run.warnings() if held.feed in w]) == 1
    assert {name: n for name, n in run.stats.items() if "/feed/" in name} == {
        "fhcrawl/feed/leased": 1,
        "fhcrawl/feed/unknown": 1,
    }
    assert {path: state for path, state in project.states().items() if path != "/other"} == states
    code, ids, log = held.end()
    assert (code, ids) == (0, ["1", "2", "3"]), log
    assert [feed["verdict"] for feed in project.feeds()] == ["complete", "unknown"]
    assert project.crawl(held.feed).items == []


def test_feed_that_is_left_alone_is_in_the_closing_words(project: Project, held: Held) -> None:
    held.start()
    reported = "1 skipped (another crawl is reading it)"
    run = project.crawl(held.feed, held.other)
    assert f"  2 feeds: 1 unknown, {reported}; entries: " in run.log
    terminal = watch(project, [held.feed], "LOG_LEVEL=WARNING")
    assert f"1 feed: {reported}" in terminal.wait()
    *_others, last = [
        line for line in TOLD.sub("\n", terminal.raw.decode()).split("\n") if " waiting" in line
    ]
    assert last.strip().endswith("1 of 1 done, 0 in progress, 0 waiting")


def test_lease_of_a_killed_process_is_free_at_once(server: FeedServer, project: Project, held: Held) -> None:
    process = held.start()
    process.kill()
    held.go.set()
    server.requested()
    # Nobody has waited for it yet: it is a zombie, and counts as gone.
    run = project.crawl(held.feed)
    process.wait()
    assert run.changes == dict.fromkeys("123", "new")
    assert server.requested() == ["/index", "/a1"]
    assert run.stats["fhcrawl/feed/complete"] == 1


def test_lease_is_renewed_while_a_server_is_slow(project: Project, held: Held) -> None:
    held.start("-s", "FHCRAWL_LEASE_SECONDS=3")
    first, end = expiry(project), time.monotonic() + WAIT
    while expiry(project) <= first + 3 and time.monotonic() < end:
        time.sleep(0.2)
    run = project.crawl(held.feed)
    assert run.items == []
    assert run.stats == {"fhcrawl/feed/leased": 1}
    assert held.end()[:2] == (0, ["1", "2", "3"])


def test_silent_crawl_leaves_its_feed_to_the_next(server: FeedServer, project: Project, held: Held) -> None:
    process = held.start("-s", "FHCRAWL_LEASE_SECONDS=3")
    process.send_signal(signal.SIGSTOP)
    while expiry(project) >= time.time():
        time.sleep(0.2)
    held.go.set()
    run = project.crawl(held.feed)
    assert run.changes == dict.fromkeys("123", "new")
    stored = project.logical_feed()
    # What it has been sent meanwhile, and would write now.
    process.send_signal(signal.SIGCONT)
    code, ids, log = held.end()
    assert (code, ids) == (0, [])
    [sentence] = [line for line in log.splitlines() if "is skipped" in line]
    assert "another crawl has taken over the feed" in sentence
    assert "Traceback" not in log
    assert project.logical_feed() == stored
    assert project.verdict() == ("complete", [])
    assert project.crawl(held.feed).items == []


def test_two_crawls_that_begin_at_once_export_each_change_once(server: FeedServer, project: Project) -> None:
    """On a new store; whichever is first."""
    server.serve("/index", atom([E("2")], prev="/a1"))
    server.serve("/a1", atom([E("1")]))
    crawl = ("crawl", "history", "-a", f"feed={server.url('/index')}")
    logs = [project.folder / f"{number}.log" for number in range(3)]
    processes = []
    for number, log in enumerate(logs):
        with log.open("wb") as stderr:
            processes.append(project.start(*crawl, "-o", f"{number}.jsonl", stderr=stderr))
    codes = [process.wait(WAIT) for process in processes]
    assert codes == [0, 0, 0], [log.read_text() for log, code in zip(logs, codes, strict=True) if code]
    lines = [line for path in project.folder.glob("?.jsonl") for line in path.read_text().splitlines()]
    assert sorted(json.loads(line)["id"] for line in lines) == ["1", "2"]
    assert project.verdict() == ("complete", [])


@pytest.mark.in_process
def test_feeds_of_another_crawl_do_not_pass_and_are_in_json(server: FeedServer, project: Project) -> None:
    held, free = server.url("/held"), server.url("/free")
    server.serve("/free", atom([E("1")]))
    project.scrapy("subscribe", held)
    with closing(Store.open(project.database.url)) as store:
        store.walks.begin([held], store.begin_run(60), now())
        for limit in ("failed", "incomplete"):
            run = project.crawl(free, held, args=("--fail-on", limit))
            assert (run.exit_code, f"--fail-on {limit}: some feeds were skipped" in run.log) == (1, True)
        done = project.scrapy("crawl", "history", "-a", f"feed={free} {held}", "--json")
    skipped = {feed["feed"]: feed["skipped"] or "" for feed in json.loads(done.stdout)}
    assert (done.returncode, [*skipped], skipped[free]) == (0, [free, held], "")
    assert skipped[held].startswith("another crawl is reading it (process ")
    assert project.crawl(free, args=("--fail-on", "failed")).exit_code == 0
