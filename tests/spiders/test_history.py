"""Real crawls of archived feeds, from start to export."""

import json
from collections.abc import Callable

import pytest

from fhcrawl.items import FIELDS
from tests.feeds import E, atom, rss
from tests.projects import Project
from tests.server import FeedServer

pytestmark = pytest.mark.in_process


def serve_chain(server: FeedServer, write: Callable[..., str] = atom) -> str:
    """A subscription document and three archives: seven entries, of which two stand twice."""
    server.serve("/index", write([E("7"), E("6"), E("3", "revised", "2004-01-01T00:00:00Z")], prev="a3"))
    server.serve("/a3", write([E("6"), E("5")], prev="/a2"))
    server.serve("/a2", write([E("4"), E("3", "first")], prev=server.url("/a1")))
    server.serve("/a1", write([E("2"), E("1")]))
    return server.url("/index")


@pytest.mark.parametrize("write", [atom, rss])
@pytest.mark.quick
@pytest.mark.real_crawl
def test_chain_is_exported_once(server: FeedServer, project: Project, write: Callable[..., str]) -> None:
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
    assert server.requested() == ["/index", "/a3", "/a2", "/a1"]
    assert project.verdict() == ("complete", [])
    run = project.crawl(feed)
    assert server.requested() == ["/index"]
    assert (run.exit_code, run.items) == (0, [])
    assert run.stats == {"deltafetch/skipped": 1, "fhcrawl/document/unchanged": 1, "fhcrawl/feed/complete": 1}
    assert run.all_stats["downloader/response_status_count/304"] == 1


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
