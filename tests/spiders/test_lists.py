"""Crawls of lists of documents: snapshots, alone and before a feed, and folders of files."""

import json
import os
from pathlib import Path

import pytest

from tests.faketime import clock_at
from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer
from tests.spiders.walks import MULTIPART, Play, scripts

pytestmark = pytest.mark.in_process

INDEX = '{"id":"s%s","createdAt":"2023-11-10T12:00:00Z","pages":[%s]}'
SNAPSHOTS = {
    # Also where it comes first, and where a run begins with it, before other feeds.
    "a page that is no URL loses only itself": f"""
        snapshot s1 p q; /snapshot raw {INDEX % (1, '"urn:0","/s1/0","BAD","/s1/1"')}; /other 1
        crawl /snapshot /other; exports s1:1:0=p s1:3:0=q 1; gap refused-url urn:0; gap refused-url BAD
        /other 2; crawl; exports 2""",
    "missing pages are reasons and tried again": """
        snapshot s1 a b c d; gone /s1/1; /s1/3 html; crawl /snapshot; exports s1:0:0=a s1:2:0=c
        requests /snapshot /s1/0 /s1/1 /s1/2 /s1/3; verdict incomplete http-404 html
        snapshot s1 a b c d; crawl; exports s1:1:0=b s1:3:0=d; requests /snapshot /s1/1 /s1/3
        verdict complete""",
    "a later snapshot that is complete replaces it": """
        snapshot S1 a b; crawl /snapshot; snapshot s1 a2 c; gone /s1/0; crawl; exports s1:1:0
        has S1:0:0 S1:1:0 s1:1:0; verdict incomplete http-404; snapshot s1 a2 c; crawl
        exports s1:0:0=a2 S1:0:0:deleted S1:1:0:deleted; stat fhcrawl/entry/deleted 2
        has s1:0:0 s1:1:0; verdict complete; crawl; exports""",
    "a snapshot with whose id another one begins is replaced too": """
        snapshot s:1 a b,c; crawl /snapshot; snapshot s d,e f; crawl; has s:0:0 s:0:1 s:1:0
        verdict complete""",
    "so is one that begins with the id of another one": """
        snapshot s a b,c; crawl /snapshot; snapshot s:1 d,e f; crawl; has s:1:0:0 s:1:0:1 s:1:1:0
        verdict complete""",
    "a snapshot that was not exported is replaced silently": """
        snapshot s1 a; crawl /snapshot unexported; snapshot s2; crawl; exports; has""",
    "a snapshot that comes and leaves is no change": """
        snapshot s1 a; crawl /snapshot; snapshot s2 a; crawl; snapshot s1 a; crawl unexported
        snapshot s2 a; crawl; exports""",
    # URLs that are signed for an hour.
    "pages may move and are not read again": f"""
        snapshot moved a b; snapshot s1 a b; gone /s1/1; crawl /snapshot
        /snapshot raw {INDEX % (1, '"/moved/0","/moved/1"')}; crawl; exports s1:1:0
        requests /snapshot /moved/1; verdict complete""",
    "a limit leaves the rest to a later run": """
        snapshot s1 a b c d; crawl /snapshot FHCRAWL_MAX_ARCHIVES=2; verdict incomplete limit known
        requests /snapshot /s1/0 /s1/1; crawl FHCRAWL_MAX_ARCHIVES=2; requests /snapshot /s1/2 /s1/3
        verdict complete""",
    "a reset reads every page again, and nothing else does": """
        snapshot s1 a b; crawl /snapshot; crawl; requests /snapshot; exports; verdict complete
        crawl reset; requests /snapshot /s1/0 /s1/1; exports; verdict complete""",
    "gaps of a snapshot are none of a later feed": """
        snapshot s1 a b; gone /s1/1; crawl /snapshot; verdict incomplete http-404
        /snapshot 1 prev:/archive; /archive 0 archive current:/snapshot; crawl; verdict complete""",
    "a list of URIs from the net is no feed": """
        /list raw http://example.org/a; crawl /list; requests /list; logs is not a feed: it is not XML""",
}


@scripts(SNAPSHOTS, BAD=("javascript:x", "http://[::1", "urn:x:y", "http://x:99999/"))
def test_snapshot(play: Play, script: str) -> None:
    play(script)


@pytest.mark.real_crawl
@pytest.mark.quick
def test_index_is_crawled_page_by_page(play: Play, server: FeedServer, project: Project) -> None:
    play("snapshot s%201 a,b c")
    run = project.crawl(server.url("/snapshot"))
    assert server.requested() == ["/snapshot", "/s%201/0", "/s%201/1"]
    assert {item["id"]: item["content"] for item in run.items} == {
        "urn:snapshot:s%25201:0:0": "a",
        "urn:snapshot:s%25201:0:1": "b",
        "urn:snapshot:s%25201:1:0": "c",
    }
    assert {item["updated"] for item in run.items} == {"2023-11-01T12:00:00Z"}
    assert run.warnings() == []
    assert run.stats == {
        "fhcrawl/document/processed": 3,
        "fhcrawl/entry/new": 3,
        "fhcrawl/feed/complete": 1,
    }
    [feed] = project.feeds()
    assert (feed["kind"], feed["verdict"], feed["reasons"]) == ("complete", "complete", [])


def test_page_that_is_cut_off_keeps_its_place(play: Play, server: FeedServer) -> None:
    play("snapshot s1 a,b,c")
    complete = server.answers["/s1/0"].body
    server.serve("/s1/0", complete[: complete.rindex(b"--b\r\n")], content_type=MULTIPART)
    play("crawl /snapshot; verdict incomplete not-well-formed")
    server.serve("/s1/0", complete, content_type=MULTIPART)
    play("crawl /snapshot; has s1:0:0 s1:0:1 s1:0:2")


def test_pages_that_are_left_are_one_reason(play: Play, server: FeedServer, project: Project) -> None:
    play(f"snapshot s1 {' '.join(map(str, range(2000)))}; gone /s1/1; crawl /snapshot FHCRAWL_MAX_ARCHIVES=3")
    [listed] = project.feeds()
    limit = "was left for a later run: FHCRAWL_MAX_ARCHIVES limits a crawl to 3 parts"
    others = "links to 1,996 more documents that have not been fetched yet"
    assert [(r["kind"], r["url"].removeprefix(server.root), r["detail"]) for r in listed["reasons"]] == [
        ("http-404", "/s1/1", "is missing (404)"),
        ("limit", "/s1/3", limit),
        ("known", "/snapshot", others),
    ]
    assert listed["documents"] == {"known": 1997, "missing": 1, "processed": 3}


@pytest.mark.parametrize("name", ["pages", "uris"])
def test_nothing_of_an_index_over_the_limit_is_kept(server: FeedServer, project: Project, name: str) -> None:
    body = {"id": "s1", name: ["a"] * 2000, **({"createdAt": "2020"} if name == "pages" else {})}
    server.serve("/snapshot", json.dumps(body), content_type="application/json")
    run = project.crawl(server.url("/snapshot"), settings={"FHCRAWL_MAX_ENTRIES": 1999})
    assert server.requested() == ["/snapshot"]
    assert "it lists 2000 documents, more than FHCRAWL_MAX_ENTRIES (1999) allows" in run.log
    assert project.feeds() == []


@pytest.mark.real_crawl
def test_pages_that_may_not_be_fetched_count(server: FeedServer, project: Project) -> None:
    pages = [f"http://localhost/{number}" for number in range(100)]
    index = json.dumps({"id": "s1", "createdAt": "2023-11-10", "pages": pages})
    server.serve("/snapshot", index, content_type="application/json")
    project.crawl(server.url("/snapshot"), settings={"FHCRAWL_MAX_ARCHIVES": 2})
    assert project.verdict() == ("incomplete", ["private-address", "private-address", "limit", "known"])


# A snapshot of 10 November, and events of every second day.
EVENTS = """
    events /new 14 prev:/p3; events /p3 11 12 prev:/p2 next:/new; events /p2 8 10 prev:/p1 next:/p3
    events /p1 2 4 next:/p2"""
BEFORE_FEEDS = {
    # An event of the snapshot's second may be older or newer.
    "a feed is read back to the snapshot only": f"""
        {EVENTS}; snapshot s1 a b; crawl /new snapshot=/snapshot; verdict complete
        exports s1:0:0=a s1:1:0=b e10 e11 e12 e14; requests-also /snapshot /s1/0 /s1/1 /new /p3 /p2
        events /p4 14 15 prev:/p3 next:/new; events /new 16 prev:/p4; crawl; exports e15 e16
        requests /new /p4; verdict complete""",
    "the snapshot of the next run is the same": f"""
        {EVENTS}; snapshot s1 a b; crawl /new snapshot=/snapshot
        events /p4 14 15 prev:/p3 next:/new; events /new 16 prev:/p4; crawl snapshot=/snapshot
        exports e15 e16; requests /new /p4; verdict complete""",
    "a run after one that broke off walks no further": f"""
        {EVENTS}; snapshot s1 a b; gone /p3 /s1/1; crawl /new snapshot=/snapshot
        verdict incomplete http-404 http-404; {EVENTS}; snapshot s1 a b; crawl AGAIN; verdict complete
        exports s1:1:0 e10 e11 e12""",
    "a feed is not read before its snapshot": f"""
        {EVENTS}; subscribe /new; crawl /new snapshot=/snapshot; requests /snapshot; exports
        verdict unknown not-read http-404; /snapshot 1; crawl snapshot=/snapshot
        verdict unknown not-read not-a-snapshot; snapshot s1 a b; crawl snapshot=/snapshot
        verdict complete""",
    "a feed that begins later may lack something": f"""
        {EVENTS}; events /p3 11 12 next:/new; snapshot s1 a b; crawl /new snapshot=/snapshot
        verdict incomplete begins-later""",
    "a later snapshot replaces only the earlier": f"""
        {EVENTS}; snapshot s1 a b; crawl /new snapshot=/snapshot
        snapshot s2 c created:2023-11-13T00:00:00Z at:/later; crawl snapshot=/later
        exports s2:0:0 s1:0:0:deleted s1:1:0:deleted; has s2:0:0 e10 e11 e12 e14; verdict complete""",
    "an older snapshot lets the feed go further back": f"""
        {EVENTS}; snapshot s1 a b; crawl /new snapshot=/snapshot
        snapshot s0 a created:2023-11-03T00:00:00Z at:/old; crawl snapshot=/old; verdict complete
        exports s0:0:0 e4 e8 s1:0:0:deleted s1:1:0:deleted""",
    "an older snapshot lets pages go further back": """
        /new 14@2024 updated:2024 next:/p2; /p2 10@2022 updated:2022 next:/p1; /p1 6@2020 updated:2020
        snapshot s1 a created:2023-01-01T00:00:00Z; crawl /new snapshot=/snapshot; has s1:0:0 14
        snapshot s0 a created:2020-01-01T00:00:00Z at:/old; crawl snapshot=/old; has s0:0:0 6 10 14
        verdict unknown paged""",
    "a snapshot without a time limits nothing": f"""
        {EVENTS}; snapshot s1 a created:soon; crawl /new snapshot=/snapshot; verdict complete
        logs /snapshot does not say when it was created; exports s1:0:0 e2 e4 e8 e10 e11 e12 e14""",
}


@scripts(BEFORE_FEEDS, AGAIN=("snapshot=/snapshot", ""))
def test_snapshot_before_a_feed(play: Play, script: str) -> None:
    play(script)


def write(path: Path, text: str, time: int = 1_700_000_000) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (time, time))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "a folder"


@pytest.mark.real_crawl
def test_folder_is_one_feed(server: FeedServer, project: Project, folder: Path) -> None:
    write(folder / "2023 #1.atom", atom([E("1"), E("2", "old")], prev=server.url("/a")))
    write(folder / "sub" / "2024.atom", atom([E("2", "new"), E("3")], links={"next": "2025.atom"}))
    write(folder / ".git" / "x.atom", atom([E("hidden")]))
    write(folder.parent / "2025.atom", atom([E("outside")]))
    run = project.crawl(folder.as_uri() + "/")
    assert run.texts == {"1": "text", "2": "new", "3": "text"}
    assert {item["feed"] for item in run.items} == {folder.as_uri() + "/"}
    assert {item["document"] for item in run.items} == {
        (folder / "2023 #1.atom").as_uri(),
        (folder / "sub" / "2024.atom").as_uri(),
    }
    assert server.requested() == []
    [feed] = project.feeds()
    assert (feed["kind"], feed["verdict"]) == ("single", "unknown")
    assert [reason["kind"] for reason in feed["reasons"]] == ["no-history"]


def test_only_what_has_changed_is_read_again(project: Project, folder: Path) -> None:
    for name in "abc":
        write(folder / f"{name}.atom", atom([E(name)]))
    run = project.crawl(folder.as_uri())
    assert run.stats["fhcrawl/document/processed"] == 4
    assert project.crawl(folder.as_uri()).stats == {
        "fhcrawl/document/unchanged": 1,
        "fhcrawl/feed/unknown": 1,
    }
    write(folder / "b.atom", atom([E("b", "changed")]), time=1_700_000_001)
    write(folder / "d.atom", atom([E("d")]))
    (folder / "a.atom").unlink()
    run = project.crawl(folder.as_uri())
    assert run.changes == {"b": "updated", "d": "new"}
    assert run.stats["fhcrawl/document/processed"] == 3
    assert set(project.logical_feed()) == set("abcd")


def test_targets_that_are_not_feeds_or_not_public_are_reasons(project: Project, folder: Path) -> None:
    write(folder / "b.atom", atom([E("b")]))
    write(folder / "a.txt", "hello")
    write(folder.parent / "secret.atom", atom([E("secret")]))
    # The first that is read is refused before it is downloaded.
    (folder / "z.atom").symlink_to(folder.parent / "secret.atom")
    (folder / "y.atom").symlink_to(folder.parent / "nowhere")
    os.mkfifo(folder / "x.atom")
    write(folder / "large.atom", atom([E("large")]) + " " * 10_000)
    run = project.crawl(folder.as_uri(), settings={"DOWNLOAD_MAXSIZE": 5_000})
    assert set(run.changes) == {"b"}
    assert f"{(folder / 'a.txt').as_uri()} is not a feed" in run.log
    assert project.verdict() == (
        *("incomplete", ["refused-url", "refused-url", "too-large", "not-xml", "no-history"]),
    )


def test_files_that_a_wrong_clock_has_read_are_read_again(project: Project, folder: Path) -> None:
    write(folder / "1.atom", atom([E("1", "new", "2004-01-01T00:00:00Z")]))
    write(folder / "2.atom", atom([E("1", "old", "2003-01-01T00:00:00Z")], updated="2003-01-01T00:00:00Z"))
    with clock_at("2000-01-01T00:00:00"):
        assert project.crawl(folder.as_uri() + "/").texts == {"1": "old"}
    assert project.crawl(folder.as_uri() + "/").texts == {"1": "new"}
