"""What is wrong with servers and documents: one sentence, one stat, and the rest goes on."""

import signal
import time
from collections.abc import Callable

import pytest

from fhcrawl.utils import interrupts
from tests.feeds import E, atom, rss
from tests.projects import Project, read_export
from tests.server import Answer, FeedServer
from tests.spiders.walks import Play, scripts

pytestmark = pytest.mark.in_process
QUICK = {"DOWNLOAD_TIMEOUT": 1, "RETRY_TIMES": 1}
CUT = atom([E("2"), E("1", "x" * 1000)], prev="/a0").encode()
# It seems to be all.
PART = atom([E("2")]).encode()


FAULTS = {
    "404": (Answer(status=404), "missing", "http-404", "is missing (404)"),
    "410": (Answer(status=410), "missing", "http-410", "has been removed permanently (410)"),
    "403": (Answer(status=403), "refused", "http-403", "cannot be fetched: access denied (403)"),
    "500": (Answer(status=500), "failed", "http-500", "HTTP status 500"),
    "timeout": (Answer(b"late", delay=3), "failed", "timeout", "times out (1 s, attempt 2)"),
    "reset": (Answer(reset=True), "failed", "download-error", "cannot be fetched"),
    "empty": (Answer(), "invalid", "empty", "is not a feed: it is empty"),
    "HTML": (
        Answer(b"<!DOCTYPE html><html><body><p>Hello<br></body></html>"),
        *("invalid", "html", "is not a feed: it is an HTML page"),
    ),
    "not XML": (Answer(b"Moved, sorry"), "invalid", "not-xml", "is not a feed: it is not XML"),
    "other XML": (Answer(b"<map/>"), "invalid", "not-a-feed", "it is XML whose root element is <map>"),
    "OPML": (Answer(b"<opml/>"), "invalid", "opml", "is not a feed: it is a list in OPML"),
    "cut off": (
        Answer(CUT, cut=len(CUT) - 300),
        *("invalid", "not-well-formed", "is truncated or not well-formed"),
    ),
    "a part": (
        Answer(PART, status=206),
        *("failed", "http-206", "is sent only in part, although all of it was requested"),
    ),
    "a difference": (Answer(PART, status=226), "failed", "http-226", "is sent as a delta"),
    "nothing of what is promised": (
        Answer(CUT, cut=0),
        *("failed", "cut-off", "arrives incomplete, and is not a"),
    ),
    "no answer": (
        Answer(raw=lambda file: None),
        *("failed", "download-error", "the server closed the connection without a response"),
    ),
    "no HTTP": (
        Answer(raw=lambda file: file.writelines([b"<feed/>\r\n\r\n"])),
        *("failed", "download-error", "cannot be fetched (ParseError: "),
    ),
    "redirect loop": (
        Answer(status=302, headers={"Location": "/a1"}),
        *("failed", "redirects", "has too many redirects"),
    ),
}


# What they do with their connections.
OF_CONNECTIONS = ("timeout", "reset", "cut off", "nothing of what is promised", "no answer", "no HTTP")


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, marks=pytest.mark.real_crawl if fault in OF_CONNECTIONS else ())
        for fault in FAULTS
    ],
)
def test_missing_archive_is_a_gap_until_it_heals(server: FeedServer, project: Project, fault: str) -> None:
    answer, state, kind, sentence = FAULTS[fault]
    server.serve("/index", atom([E("3")], prev="/a1"))
    server.answers["/a1"] = answer
    server.serve("/other", atom([E("5")], prev="/other1"))
    server.serve("/other1", atom([E("4")]))
    feeds = (server.url("/index"), server.url("/other"))
    run = project.crawl(*feeds, settings=QUICK)
    assert run.exit_code == 0
    kept = {"2": "new"} if fault == "cut off" else {}
    assert run.changes == {"3": "new", "5": "new", "4": "new"} | kept
    sentences = [w for w in run.warnings() if sentence in w and "incomplete, entries" not in w]
    assert len(sentences) == 1
    assert server.url("/a1") in sentences[0]
    assert run.stats[f"fhcrawl/document/{state}"] == 1
    assert run.stats["fhcrawl/document/processed"] == 3
    assert (run.stats["fhcrawl/feed/complete"], run.stats["fhcrawl/feed/incomplete"]) == (1, 1)
    assert "Traceback" not in run.log
    [gap] = project.feeds()[0]["reasons"]
    assert gap["kind"] == kind
    assert gap["url"] == server.url("/a1")
    assert sentence in gap["detail"]
    assert gap["detail"].count("feed") <= 1
    assert gap["since"].endswith("Z")

    server.serve("/a1", atom([E("2"), E("1")], prev="/a0"))
    server.serve("/a0", atom([E("0")]))
    server.requested()
    run = project.crawl(*feeds, settings=QUICK)
    assert sorted(server.requested()) == ["/a0", "/a1", "/index", "/other"]
    assert set(run.changes) == {"0", "1", "2"} - set(kept)
    assert run.stats["fhcrawl/feed/complete"] == 2


@pytest.mark.real_crawl
def test_subscription_document_that_cannot_be_had_is_a_gap(server: FeedServer, project: Project) -> None:
    run = project.crawl(server.url("/nothing"))
    assert run.exit_code == 1
    assert run.items == []
    missing = {"fhcrawl/document/missing": 1, "fhcrawl/feed/unknown": 1}
    assert run.stats == {**missing, "fhcrawl/feed/unread": 1}
    assert f"{server.url('/nothing')} is missing (404)" in run.log


def test_document_without_anything_readable_is_a_failed_read(server: FeedServer, project: Project) -> None:
    whole = atom([E("1")], head="<fh:complete/>")
    server.serve("/index", whole[: whole.index("<entry")] + "<entry><title>One</ti")
    run = project.crawl(server.url("/index"))
    assert run.stats["fhcrawl/feed/unread"] == 1
    assert f"{server.url('/index')} is truncated or not well-formed" in run.log
    server.serve("/index", whole)
    project.crawl(server.url("/index"))
    server.serve("/index", whole[: whole.index("<entry")])
    run = project.crawl(server.url("/index"))
    assert run.items == []
    assert project.verdict() == ("complete", ["not-well-formed"])
    [feed] = project.feeds()
    assert feed["reasons"][0]["last_read"] == feed["crawled"]


@pytest.mark.real_crawl
def test_archive_that_robots_txt_forbids_is_a_gap(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("2")], prev="/secret/a1"))
    server.serve("/robots.txt", "User-agent: *\nDisallow: /secret/", content_type="text/plain")
    server.serve("/secret/a1", atom([E("1")]))
    run = project.crawl(server.url("/index"))
    assert server.requested() == ["/index"]
    assert run.stats["fhcrawl/document/refused"] == 1
    assert any("robots.txt disallows it" in w for w in run.warnings())
    assert project.verdict() == ("incomplete", ["robots-txt"])


# Settings, the document and its archive, what is counted, and the verdict.
GAPS = {
    "larger than allowed": """
        /index 2 prev:/a1; /a1 raw LONG; crawl /index DOWNLOAD_MAXSIZE=3000
        stat fhcrawl/document/refused 1; verdict incomplete too-large
        logs /a1 is larger than DOWNLOAD_MAXSIZE (3000 bytes)""",
    # Of its robots.txt either, there is no traceback.
    "a host that is not there": """
        /index 2 prev:http://127.0.0.1:9/a1
        crawl /index DOWNLOAD_TIMEOUT=1 RETRY_TIMES=1 FHCRAWL_ALLOWED_PRIVATE_HOSTS=127.0.0.1:9
        stat fhcrawl/document/failed 1; verdict incomplete connection-refused""",
    "a header of many kilobytes loses nothing": """
        /index 2 prev:/a1 Link=<LONG>;rel=x; /a1 1; crawl /index; verdict complete""",
    "an unknown encoding is none whatever its octets are": """
        /index 2 prev:/a1 Content-Encoding=\xff\xfe; /a1 1 Content-Encoding=odd; crawl /index
        verdict complete""",
}
SAID = {
    "a file that is not there gets its own advice": """
        crawl file:///nowhere/none.atom; code 1; logs WARNING: file:///nowhere/none.atom does not exist
        logs What to do: check its path; stored; crawl file:///nowhere/; code 1; stored
        logs file:///nowhere/ does not exist""",
    "a list of feeds gets the argument for lists": """
        /list raw <opml><body><outline xmlUrl="http://example.org/"/></body></opml>; crawl /list; code 1
        logs What to do: save it to a file, and crawl the feeds that it lists: fhcrawl crawl --feeds FILE""",
    "a document that is cut off is fetched again at first": """
        /index 2 prev:/a1; /a1 1 lost-end; crawl /index RETRY_TIMES=2; requests /index /a1 /a1 /a1""",
}


@pytest.mark.real_crawl
@scripts(GAPS)
def test_gap(play: Play, script: str) -> None:
    play(script.replace("LONG", "x" * 60_000))


@scripts(SAID)
def test_advice(play: Play, script: str) -> None:
    play(script)


BAD_ENTRY = "<entry><id>bad</id><title>t</title><updated>yesterday</updated></entry></feed>"


@pytest.mark.parametrize(
    ("document", "sentence", "exported", "verdict"),
    [
        (atom([E("1"), E(None)]), "it has no atom:id", {"1"}, "incomplete"),
        (atom([E("1"), E("2", title=None)]), "it has no atom:title", {"1", "2"}, "complete"),
        (
            atom([E("1")]).replace("</feed>", BAD_ENTRY),
            "its atom:updated is not a date: 'yesterday'",
            {"1", "bad"},
            "complete",
        ),
        (
            rss([E("1")]).replace("</channel>", "<item></item></channel>"),
            "it has no guid, no link, no title and no description",
            {"1"},
            "incomplete",
        ),
    ],
    ids=["no id", "no title", "unreadable date", "empty item"],
)
def test_bad_entry_loses_at_most_itself(
    server: FeedServer, project: Project, document: str, sentence: str, exported: set[str], verdict: str
) -> None:
    server.serve("/index", atom([E("0")], prev="/a1"))
    server.serve("/a1", document)
    run = project.crawl(server.url("/index"))
    assert set(run.changes) == exported | {"0"}
    [warning] = [w for w in run.warnings() if sentence in w]
    assert server.url("/a1") in warning
    lost = verdict == "incomplete"
    assert run.stats.get("fhcrawl/entry/invalid", 0) == lost
    assert run.stats["fhcrawl/document/processed"] == 2
    assert project.verdict() == (verdict, ["entries-lost"] if lost else [])


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 100
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=lambda sent: sent.name)
@pytest.mark.real_crawl
def test_crawl_that_its_user_ends(server: FeedServer, project: Project, sent: signal.Signals) -> None:
    server.serve("/index", atom([E("2")], prev="/slow"))
    server.serve("/slow", atom([E("1")], prev="/behind"), delay=3)
    process = project.start("crawl", "history", "-a", f"feed={server.url('/index')}", "-o", "out.jsonl")
    wait_until(lambda: "/slow" in server.requests)
    process.send_signal(sent)
    assert process.wait(100) == (0 if sent is signal.SIGTERM else interrupts.EXIT_CODE)
    assert project.verdict() == ("incomplete", ["known"])
    assert {entry["id"] for entry in read_export(project.folder / "out.jsonl")} == {"2", "1"}


@pytest.mark.real_crawl
def test_crawl_that_is_ended_at_once_keeps_what_was_committed(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("2")], prev="/slow"))
    server.serve("/slow", atom([E("1")]), delay=3)
    with (project.folder / "reported").open("wb") as reported:
        arguments = ("crawl", "history", "-a", f"feed={server.url('/index')}", "-o", "out.jsonl")
        process = project.start(*arguments, stderr=reported)
    wait_until(lambda: "/slow" in server.requests)
    process.send_signal(signal.SIGINT)
    wait_until(lambda: "shutting down gracefully" in (project.folder / "reported").read_text())
    process.send_signal(signal.SIGINT)
    assert process.wait(100) == interrupts.EXIT_CODE
    log = (project.folder / "reported").read_text()
    assert "Traceback" not in log
    assert log.endswith(f"{interrupts.SENTENCE}\n")
    assert not (project.folder / "out.jsonl").exists()
    assert set(project.logical_feed()) == {"2"}
    server.serve("/slow", atom([E("1")]))
    assert set(project.crawl(server.url("/index")).changes) == {"1", "2"}


@pytest.mark.in_process
def test_each_attempt_that_takes_too_long_is_logged(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("2")], prev="/a1"))
    server.answers["/a1"] = Answer(b"late", delay=0.02)
    run = project.crawl(server.url("/index"), settings={"DOWNLOAD_TIMEOUT": 0.01, "RETRY_TIMES": 2})
    reported = f"WARNING: {server.url('/a1')} times out (0.01 s, attempt "
    assert [number for number in (1, 2, 3, 4) if f"{reported}{number})" in run.log] == [1, 2, 3]
    assert run.log.count(": trying again") == 2
    [reason] = project.feeds()[0]["reasons"]
    assert reason["detail"] == "times out (0.01 s, attempt 3)"
