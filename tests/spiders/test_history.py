"""Real crawls of archived feeds, from start to export."""

import json
from collections.abc import Callable

import pytest

from fhcrawl.items import FIELDS
from tests.feeds import E, atom, rss
from tests.projects import Project
from tests.server import FeedServer

pytestmark = pytest.mark.in_process
FORMATS = pytest.mark.parametrize("write", [atom, rss])


def serve_chain(server: FeedServer, write: Callable[..., str] = atom) -> str:
    """A subscription document and three archives: seven entries, of which two stand twice."""
    server.serve("/index", write([E("7"), E("6"), E("3", "revised", "2004-01-01T00:00:00Z")], prev="a3"))
    server.serve("/a3", write([E("6"), E("5")], prev="/a2"))
    server.serve("/a2", write([E("4"), E("3", "first")], prev=server.url("/a1")))
    server.serve("/a1", write([E("2"), E("1")]))
    return server.url("/index")


@FORMATS
@pytest.mark.quick_lane
@pytest.mark.real_crawl
def test_chain_is_exported_whole_each_entry_once(
    server: FeedServer, project: Project, write: Callable[..., str]
) -> None:
    feed = serve_chain(server, write)
    run = project.crawl(feed)
    assert run.exit_code == 0
    assert run.changes == dict.fromkeys("1234567", "new")
    assert run.texts["3"] == "revised"
    assert run.stats == {
        "deltafetch/stored": 3,
        "fhcrawl/document/processed": 4,
        "fhcrawl/entry/duplicate": 1,
        "fhcrawl/entry/new": 7,
        "fhcrawl/entry/stale": 1,
        "fhcrawl/feed/complete": 1,
    }
    assert server.asked() == ["/index", "/a3", "/a2", "/a1"]
    assert project.verdict() == ("complete", [])


@pytest.mark.real_crawl
def test_fields_stand_in_their_order_and_are_always_there(server: FeedServer, project: Project) -> None:
    feed = serve_chain(server)
    project.crawl(feed)
    line = (project.folder / "out.jsonl").read_text().splitlines()[-1]
    assert list(json.loads(line)) == FIELDS
    assert json.loads(line) == {
        "feed": feed,
        "id": "3",
        "title": "title",
        "link": None,
        "published": None,
        "updated": "2004-01-01T00:00:00Z",
        "authors": [],
        "categories": [],
        "summary": "revised",
        "content": None,
        "content_type": None,
        "enclosures": [],
        "operation": None,
        "document": feed,
        "document_updated": "2003-12-13T18:30:02Z",
        "change": "new",
    }


@FORMATS
def test_unchanged_feed_costs_one_conditional_request(
    server: FeedServer, project: Project, write: Callable[..., str]
) -> None:
    feed = serve_chain(server, write)
    project.crawl(feed)
    server.asked()
    run = project.crawl(feed)
    assert server.asked() == ["/index"]
    assert run.exit_code == 0
    assert run.items == []
    assert run.stats == {"deltafetch/skipped": 1, "fhcrawl/document/unchanged": 1, "fhcrawl/feed/complete": 1}
    assert run.all_stats["downloader/response_status_count/304"] == 1


@FORMATS
def test_only_new_archives_and_revised_entries_are_fetched_and_exported(
    server: FeedServer, project: Project, write: Callable[..., str]
) -> None:
    feed = serve_chain(server, write)
    project.crawl(feed)
    server.asked()
    server.serve("/index", write([E("9"), E("1", "revised", "2005-01-01T00:00:00Z")], prev="a4"))
    server.serve("/a4", write([E("8"), E("7")], prev="/a3"))
    run = project.crawl(feed)
    assert server.asked() == ["/index", "/a4"]
    assert run.changes == {"9": "new", "8": "new", "1": "updated"}
    assert project.verdict() == ("complete", [])


def test_feeds_that_share_archives_both_get_all_entries(server: FeedServer, project: Project) -> None:
    server.serve("/one", atom([E("3")], prev="/a2"))
    server.serve("/two", atom([E("4")], prev="/a2"))
    server.serve("/a2", atom([E("2")], prev="/a1"))
    server.serve("/a1", atom([E("1")]))
    run = project.crawl(server.url("/one"), server.url("/two"))
    exported = {(item["feed"].rpartition("/")[2], item["id"]) for item in run.items}
    assert len(run.items) == 6
    assert exported == {(f, i) for f in ("one", "two") for i in "12"} | {("one", "3"), ("two", "4")}
    assert run.stats["fhcrawl/feed/complete"] == 2


@pytest.mark.parametrize(
    ("links", "closing"),
    [
        ({"/index": "/a2", "/a2": "/a2"}, "/a2"),
        ({"/index": "/a2", "/a2": "/a1", "/a1": "/a2"}, "/a1"),
        ({"/index": "/a2", "/a2": "/a1", "/a1": "/index"}, "/a1"),
        ({"/index": "/index"}, "/index"),
    ],
    ids=["to itself", "over two documents", "to the subscription document", "at once"],
)
def test_loop_ends_the_walk(
    server: FeedServer, project: Project, links: dict[str, str], closing: str
) -> None:
    for path, prev in links.items():
        server.serve(path, atom([E(path)], prev=prev))
    run = project.crawl(server.url("/index"))
    assert server.asked() == list(links)
    assert set(run.changes) == set(links)
    [warning] = [line for line in run.warnings() if "loop" in line and "incomplete" not in line]
    assert server.url(closing) in warning
    assert server.url(links[closing]) in warning
    assert project.verdict() == ("incomplete", ["loop"])


@pytest.mark.parametrize(
    "body",
    [
        atom([E("2"), E("3")], head="<fh:complete/>")[:-40],
        atom([E("2"), E(None)], head="<fh:complete/>"),
        "<html><body>Down for maintenance</body></html>",
        "",
    ],
    ids=["cut off", "an entry without id", "an error page", "empty"],
)
def test_complete_feed_in_part_deletes_nothing(server: FeedServer, project: Project, body: str) -> None:
    feed = server.url("/index")
    server.serve("/index", atom([E("1"), E("2")], head="<fh:complete/>"))
    project.crawl(feed)
    server.serve("/index", body)
    run = project.crawl(feed)
    assert run.items == []
    assert set(project.logical_feed()) == {"1", "2"}
    assert project.verdict()[0] == "incomplete"


@pytest.mark.real_crawl
def test_content_type_of_the_response_does_not_matter(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("2")], prev="/a1"), content_type="text/html; charset=utf-8")
    server.serve("/a1", atom([E("1")]), content_type="text/plain")
    run = project.crawl(server.url("/index"))
    assert set(run.changes) == {"1", "2"}
