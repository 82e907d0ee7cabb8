"""The commands beside `scrapy crawl`."""

import json
import os
import re
import signal
import subprocess
import sysconfig
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import make_url

from fhcrawl import __version__
from fhcrawl.commands import FAIL_ON, is_failure
from fhcrawl.reasons import ReasonKind
from fhcrawl.store import opening
from tests.feeds import E, atom
from tests.projects import EXPORTED, Project, read_export
from tests.server import Answer, FeedServer
from tests.terminal import Terminal


@pytest.fixture
def crawled(server: FeedServer, project: Project) -> FeedServer:
    server.serve("/one", atom([E("2"), E("1")], prev="/one1", title="One\x85feed"))
    server.serve("/one1", atom([E("0", updated="2001-01-01T00:00:00Z")]))
    server.serve("/two", atom([E("1")], prev="/gone"))
    project.crawl(server.url("/one"), server.url("/two"))
    return server


def test_feeds_as_json(crawled: FeedServer, project: Project) -> None:
    one, two = project.feeds()
    for feed in (one, two):
        assert feed.pop("fhcrawl_version") == __version__
        assert feed["crawled"] <= feed.pop("stated") < feed["due"]
        assert feed["checked"] <= feed["crawled"] < feed["due"]
    since = two["reasons"][0].pop("since")
    assert since >= two["crawled"]
    nothing = ["description", "link", "language", "image", "owner", "copyright", "generator", "subscribed"]
    nothing += ["not_modified_ignored", "complete_as_of", "sitemap", "basis", "gap"]
    usual: dict[str, object] = {
        **dict.fromkeys(nothing),
        **{name: [] for name in ("authors", "categories", "duplicates", "spans", "holes")},
        **dict.fromkeys(("absent", "renamed", "deleted_entries"), 0),
        "kind": "archived",
        "newest": "2003-12-13T18:30:02Z",
    }
    times = ("checked", "crawled", "due")
    assert one == usual | {name: one[name] for name in times} | {
        "feed": crawled.url("/one"),
        "title": "One\x85feed",
        "verdict": "complete",
        "complete_as_of": one["crawled"],
        "basis": "chain",
        "reasons": [],
        "entries": 3,
        "unexported": 0,
        "documents": {"processed": 2},
        "obtained": ["links"],
        "oldest": "2001-01-01T00:00:00Z",
    }
    assert two == usual | {name: two[name] for name in times} | {
        "feed": crawled.url("/two"),
        "title": "Example Feed",
        "verdict": "incomplete",
        "reasons": [{"kind": "http-404", "url": crawled.url("/gone"), "detail": "is missing (404)"}],
        "entries": 1,
        "unexported": 0,
        "documents": {"missing": 1, "processed": 1},
        "obtained": [],
        "oldest": "2003-12-13T18:30:02Z",
        "gap": {"url": crawled.url("/gone"), "before": "2003-12-13T18:30:02Z", "after": None},
    }


@pytest.mark.quick
def test_feeds_as_table(crawled: FeedServer, project: Project) -> None:
    lines = project.scrapy("feeds").stdout.splitlines()
    assert lines[1].split()[:4] == ["Example", "Feed", "archived", "1"]
    assert lines[1].split()[-3:] == ["-", "incomplete", crawled.url("/two")]
    assert lines[2].split()[:3] == ["One\\x85feed", "archived", "3"]
    assert lines[2].split()[-3:] == ["-", "complete", crawled.url("/one")]
    assert lines[3] == "2 feeds: 1 incomplete, 1 complete"
    assert lines[5].startswith(f"{crawled.url('/gone')} (Example Feed) is missing (404), since 2")
    assert lines[5].endswith("; entries before 2003-12-13 are unknown")
    assert lines[6] == f"What to do: {ReasonKind.HTTP_404.advice}"


def test_feeds_as_sentences_to_quote(crawled: FeedServer, project: Project) -> None:
    one, two, *_ = feeds = {feed["feed"]: feed for feed in project.feeds()}
    urls = crawled.url("/one"), crawled.url("/two")
    assert (one, two) == urls
    done = project.scrapy("feeds", *urls, "--cite")
    assert (done.returncode, done.stderr) == (0, "")
    begin = rf"According to fhcrawl {re.escape(__version__)} on 20\S+Z, "
    complete, gap = (re.sub(begin, "", line) for line in sorted(done.stdout.splitlines(), key=len))
    assert {complete, gap} == {
        f'"One\\x85feed" ({one}) has the verdict "complete" as of {feeds[one]["crawled"]}: nothing is '
        "missing, because its chain of documents was read to its oldest document. Stored: 3 entries, dated "
        "2001-01-01 to 2003-12-13, from 2 documents.",
        f'"Example Feed" ({two}) has the verdict "incomplete" as of {feeds[two]["checked"]}: '
        f"{crawled.url('/gone')} is missing (404), since {feeds[two]['reasons'][0]['since'][:10]}; entries "
        "before 2003-12-13 are unknown. Stored: 1 entry, dated 2003-12-13 to 2003-12-13, from 1 document.",
    }
    assert (feeds[one]["gap"], feeds[two]["gap"]["before"][:10]) == (None, "2003-12-13")
    [row] = json.loads(project.scrapy("feeds", one, "--cite", "--json").stdout)
    assert re.sub(begin, "", row["citation"]) in {complete, gap}
    refused = project.scrapy("feeds", "--cite", "--missing")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.endswith(" --cite and --missing together require --json\n")


def test_each_kind_of_feed_has_the_time_as_of_which_it_is_complete(
    server: FeedServer, project: Project
) -> None:
    server.serve("/archived", atom([E("2")], prev="/old"))
    server.serve("/old", atom([E("1")]))
    server.serve("/complete", atom([E("1")], head="<fh:complete/>"))
    server.serve("/paged", atom([E("2")], links={"next": "/2"}))
    server.serve("/2", atom([E("1")]))
    server.serve("/single", atom([E("1")]))
    urls = [server.url(f"/{kind}") for kind in ("archived", "complete", "paged", "single")]
    project.crawl(*urls, settings={"FHCRAWL_CONFIRM_PAGES": 9})
    feeds = {feed["kind"]: feed for feed in project.feeds()}
    bases = {kind: feed["basis"] for kind, feed in feeds.items()}
    assert bases == {"archived": "chain", "complete": "document", "paged": "readings", "single": None}
    stated = {feed["feed"]: feed["complete_as_of"] for feed in feeds.values()}
    assert [kind for kind, feed in feeds.items() if feed["complete_as_of"] is None] == ["single"]
    assert dict(project.database.rows("SELECT feed, complete_as_of FROM feed_verdicts")) == stated


@pytest.mark.any_store("what becomes of printed text")
def test_feeds_on_a_terminal_fit_it_in_colour(crawled: FeedServer, project: Project) -> None:
    environment = {"TERM": "xterm", "COLUMNS": "", "LINES": "", "NO_COLOR": ""}
    shown = Terminal(partial(project.start, "feeds", **environment), 76)
    lines = shown.wait()
    assert lines[0].split() == ["Feed", "Entries", "Dates", "Verdict"]
    assert lines[1].split() == ["Example", "Feed", "1", "2003-12-13", "incomplete"]
    assert b"\x1b[1;31mincomplete\x1b[0m" in shown.raw
    wide = Terminal(partial(project.start, "feeds", "--wide", **environment), 200).wait()
    assert list(filter(None, wide)) == list(filter(None, project.scrapy("feeds").stdout.splitlines()))


def test_feeds_are_chosen_by_url_and_verdict(crawled: FeedServer, project: Project) -> None:
    def chosen(*args: str) -> list[str]:
        listed = json.loads(project.scrapy("feeds", "--json", *args).stdout)
        return [feed["feed"].rpartition("/")[2] for feed in listed]

    project.scrapy("subscribe", crawled.url("/nowhere"), crawled.url("/later"))
    project.crawl(crawled.url("/nowhere"))
    assert chosen("--verdict", "complete") == ["one"]
    assert chosen("--verdict", "not-read") == ["nowhere"]
    # The contract with programs has four verdicts.
    assert chosen("--verdict", "unknown") == ["later", "nowhere"]
    assert chosen(crawled.url("/two"), crawled.url("/one")) == ["one", "two"]
    assert chosen(crawled.url("/two"), "--verdict", "complete") == []
    one, two = crawled.url("/one"), crawled.url("/two")
    # What is not shown is checked all the same.
    codes = [
        project.scrapy("feeds", "--fail-on", "unknown", *args).returncode
        for args in ((one,), (one, two), (one, two, "--verdict", "complete"))
    ]
    assert codes == [0, 1, 1]
    none = project.scrapy("feeds", one, "--verdict", "lossy")
    assert none.stdout == "No feed has the verdict lossy\n"


def test_feeds_of_an_empty_store(project: Project) -> None:
    empty = project.scrapy("feeds", "--fail-on", "unknown")
    assert (empty.returncode, "No feeds in" in empty.stdout) == (1, True)
    reported = project.scrapy("feeds").stdout
    _scheme, _colon, place = opening.without_passwords(make_url(project.database.url)).partition(":")
    assert f"{place} yet; run fhcrawl crawl" in reported
    assert project.feeds() == []


@pytest.mark.sqlite_only("a database of a server is made before it is named")
@pytest.mark.parametrize(
    "args",
    [
        *(("feeds",), ("export", "-o", "x.jsonl"), ("report", "-o", "x.html")),
        ("history", "http://a.example/", "1"),
    ],
    ids=lambda args: args[0],
)
def test_command_that_reads_makes_no_store(project: Project, args: tuple[str, ...]) -> None:
    done = project.scrapy(*args)
    assert "Traceback" not in done.stderr
    assert not project.database.exists()
    assert not list(project.folder.rglob("*.sqlite*"))


FAILS_FOR = {"incomplete": {"/gap", "/nowhere"}, "lossy": {"/gap", "/nowhere"}}
FAILS_FOR["unknown"] = {*FAILS_FOR["lossy"], "/plain"}


@pytest.mark.in_process
@pytest.mark.parametrize("limit", FAILS_FOR)
def test_exit_code_is_1_for_verdicts_of_the_user(server: FeedServer, project: Project, limit: str) -> None:
    server.serve("/whole", atom([E("1")], head="<fh:complete/>"))
    server.serve("/gap", atom([E("1")], prev="/missing"))
    server.serve("/plain", atom([E("1")]))
    project.scrapy("subscribe", server.url("/nowhere"))
    paths = ("/whole", "/plain", "/gap", "/nowhere")
    feeds = {path: [server.url("/whole"), server.url(path)] for path in paths}
    for path in paths:
        assert project.crawl(*feeds[path]).exit_code == 0
        code = int(path in FAILS_FOR[limit])
        run = project.crawl(*feeds[path], args=("--fail-on", limit))
        assert (run.exit_code, f"--fail-on {limit}: some feeds are" in run.log) == (code, bool(code))
        assert project.scrapy("feeds", *feeds[path], "--fail-on", limit).returncode == code
    assert project.scrapy("feeds", "--fail-on", limit, "--verdict", "complete").returncode == 1
    # It was never read.
    project.scrapy("subscribe", server.url("/later"))
    assert project.scrapy("feeds", server.url("/later"), "--fail-on", limit).returncode == 1


BROKEN = {
    "503": Answer(b"", status=503),
    "404": Answer(b"", status=404),
    "html": Answer(b"<!DOCTYPE html><html><body>moved</body></html>", headers={"Content-Type": "text/html"}),
}


@pytest.mark.in_process
@pytest.mark.parametrize("broken", BROKEN)
def test_outage_keeps_verdicts_and_times(server: FeedServer, project: Project, broken: str) -> None:
    server.serve("/feed", atom([E("3")], prev="/a1"))
    server.serve("/a1", atom([E("2")], head="<fh:archive/>"))
    server.serve("/plain", atom([E("1")]))
    paths = {"/feed": "complete", "/plain": "unknown"}
    feeds = [server.url(path) for path in paths]
    project.crawl(*feeds)
    read = {feed["feed"]: feed["crawled"] for feed in project.feeds()}
    answers = dict(server.answers)
    server.answers |= dict.fromkeys(paths, BROKEN[broken])
    for _ in range(2):
        assert project.crawl(*feeds, args=("--fail-on", "incomplete")).exit_code == 0
        for path, verdict in paths.items():
            [feed] = json.loads(project.scrapy("feeds", "--json", server.url(path)).stdout)
            reason = feed["reasons"][0]
            assert (feed["verdict"], reason["last_read"]) == (verdict, read[feed["feed"]])
            assert reason["kind"] in ("http-503", "http-404", "html")
            assert feed["complete_as_of"] == (read[feed["feed"]] if verdict == "complete" else None)
    assert project.database.rows("SELECT * FROM gaps") == []
    assert project.scrapy("export", "-o", "x.jsonl").stderr == ""
    run = project.crawl(*feeds, args=("--fail-on", "failed"))
    assert (run.exit_code, "--fail-on failed: some feeds have failed" in run.log) == (1, True)
    assert project.scrapy("feeds", "--fail-on", "failed").returncode == 1
    server.answers |= answers
    project.crawl(*feeds)
    assert project.scrapy("feeds", "--fail-on", "failed").returncode == 0
    assert [len(feed["reasons"]) for feed in project.feeds()] == [0, 1]


@pytest.mark.in_process
def test_outage_hides_no_loss_of_the_last_read(server: FeedServer, project: Project) -> None:
    """What the last read has lost, or what it did not reach, is as missing as before."""
    server.serve("/lost", atom([E("3"), E("")], head="<fh:complete/>"))
    server.serve("/cut", atom([E("3"), E("4")], head="<fh:complete/>")[:-60])
    feeds = [server.url("/lost"), server.url("/cut")]
    for outage in ({}, dict.fromkeys(("/lost", "/cut"), BROKEN["503"])):
        server.answers |= outage
        project.crawl(*feeds)
        assert {feed["verdict"] for feed in project.feeds()} == {"incomplete"}


@pytest.mark.parametrize(
    ("verdict", "limits"),
    [
        *((word, {"incomplete", "lossy", "unknown"}) for word in ("not-read", "incomplete")),
        *(("lossy", {"lossy", "unknown"}), ("unknown", {"unknown"}), ("complete", set())),
    ],
)
def test_verdicts_that_are_failures(verdict: str, limits: set[str]) -> None:
    [words] = FAIL_ON.values()
    assert {limit for limit in words["choices"] if is_failure(verdict, limit)} == limits
    assert not is_failure(verdict, None)


def test_export_replaces_the_file(crawled: FeedServer, project: Project) -> None:
    """Also by one without entries, which still has the header."""
    for name in ("all.jsonl", "other:csv"):
        assert (
            project.scrapy("export", "-o", name).stdout == f"4 entries written to {name.partition(':')[0]}\n"
        )
    (project.folder / "other").rename(project.folder / "other.csv")
    for name in ("all.jsonl", "other.csv"):
        rows = read_export(project.folder / name)
        assert ([row["id"] for row in rows], list(rows[0])) == (["0", "1", "2", "1"], EXPORTED)
    for args, entries in (((), 4), (("--feed", crawled.url("/two")), 1), (("--since", "2030"), 0)):
        done = project.scrapy("export", "-o", "all.csv", *args)
        assert done.stdout == f"{entries} {'entry' if entries == 1 else 'entries'} written to all.csv\n"
        assert len(read_export(project.folder / "all.csv")) == entries
    assert (project.folder / "all.csv").read_bytes().decode() == ",".join(EXPORTED) + "\r\n"


@pytest.mark.parametrize(
    "args",
    [
        *(("feeds",), ("history", "--json", "FEED", "1"), ("export", "-o", "-:jsonl")),
        *(("export", "-o", "whole.jsonl"), ("report", "-o", "-"), ("subscribe", "FEED")),
    ],
    ids=" ".join,
)
@pytest.mark.any_store("what becomes of printed text")
def test_closed_pipe_ends_a_command_with_sigpipe(
    crawled: FeedServer, project: Project, args: tuple[str, ...]
) -> None:
    feed = crawled.url("/one")
    project.scrapy("subscribe", feed)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = project.scrapy(*(feed if arg == "FEED" else arg for arg in args), stdout=pipe)
    assert done.returncode == -signal.SIGPIPE
    assert [line for line in done.stderr.splitlines() if "entries may be missing" not in line] == []


@pytest.mark.quick
@pytest.mark.sqlite_only("the demonstration has its own store")
def test_demo_crawls_a_feed_and_then_only_what_is_new(project: Project) -> None:
    first = project.scrapy("demo")
    assert first.returncode == 0, first.stderr
    assert "Documents  37 fetched\n" in first.stdout
    assert "Exported   432 entries: 432 new, 0 updated\n" in first.stdout
    assert (
        "Repeated   95 in several documents: each is exported once, in its newest version\n" in first.stdout
    )
    assert "Verdict    complete\n" in first.stdout
    assert str(project.folder / "fhcrawl-demo" / "store.sqlite") in first.stdout
    assert "fhcrawl crawl https" in first.stdout
    assert len(read_export(project.folder / "fhcrawl-demo" / "run-1.jsonl")) == 432
    second = project.scrapy("demo")
    assert "Documents  2 fetched" in second.stdout
    assert "Exported   13 entries: 12 new, 1 updated\n" in second.stdout
    changed = read_export(project.folder / "fhcrawl-demo" / "run-2.jsonl")
    assert sorted(item["change"] for item in changed) == ["new"] * 12 + ["updated"]
    anew = project.scrapy("demo", "--anew")
    assert "Documents  37 fetched\n" in anew.stdout


@pytest.mark.parametrize(
    ("called", "shown"),
    [("bin/scrapy", "bin/fhcrawl"), ("{}/bin/fhcrawl", "bin/fhcrawl"), ("scrapy", "fhcrawl")],
    ids=["path", "absolute path", "name"],
)
@pytest.mark.sqlite_only("the demonstration has its own store")
def test_demo_shows_commands_as_it_was_called(project: Project, called: str, shown: str) -> None:
    programs = project.folder / "bin"
    programs.mkdir()
    for name in ("scrapy", "fhcrawl"):
        (programs / name).symlink_to(Path(sysconfig.get_path("scripts")) / name)
    path = f"{programs}:/bin" if called == "scrapy" else "/bin"
    done = subprocess.run(
        ["/bin/sh", "-c", f"{called.format(project.folder)} demo"],
        cwd=project.folder,
        env=project.environment(PATH=path),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    lines = [line.partition(" -")[0] for line in done.stdout.splitlines() if line.startswith("    ")]
    assert [
        f"    {shown} {command}" for command in ("feeds", "export", "crawl https://example.org/index.atom")
    ] == lines[-3:]
