"""What `scrapy export` writes as a feed is, crawled again, the same logical feed."""

from contextlib import closing
from typing import Any

import feedparser
import pytest

from fhcrawl.exporters.documents import XML_FORMATS
from fhcrawl.exporters.feeds import Selection, write_archives
from fhcrawl.store import Store
from tests.documents.test_detection import FEEDS, LOCATION
from tests.exporters.test_archives import OF_THE_WAY
from tests.feeds import read
from tests.projects import Project, read_export
from tests.server import FeedServer

TYPES = {".json": "application/feed+json", ".jsonfeed": "application/feed+json"}


def by_feed(project: Project) -> dict[str, list[dict[str, Any]]]:
    """All logical feeds in the store, with what a round trip has to keep of each entry."""
    assert project.scrapy("export", "-o", "all.jsonl").returncode == 0
    found: dict[str, list[dict[str, Any]]] = {}
    for item in sorted(read_export(project.folder / "all.jsonl"), key=lambda item: str(item["id"])):
        kept = {name: value for name, value in item.items() if name not in OF_THE_WAY}
        found.setdefault(item["feed"], []).append(kept)
    return found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_every_fixture_as_an_archive_set_is_the_same_logical_feed(
    server: FeedServer, project: Project, kind: str
) -> None:
    documents = {path: read(path.read_bytes(), LOCATION) for path in FEEDS}
    paths = [path for path, document in documents.items() if document.entries and document.fault is None]
    for path in paths:
        server.serve(f"/{path.name}", path.read_bytes(), content_type=TYPES.get(path.suffix, "text/xml"))
    # What the documents link to is requested here, and is not there.
    nowhere = {"http_proxy": server.root, "no_proxy": "127.0.0.1"}
    quick = {"RETRY_ENABLED": 0, "ROBOTSTXT_OBEY": 0}
    urls = [server.url(f"/{path.name}") for path in paths]
    project.crawl(*urls, settings=quick, **nowhere)  # type: ignore[arg-type]
    copies = {}
    with closing(Store.open(project.database.url)) as store:
        for number, feed in enumerate(feed for feed in store.feeds.read() if feed.entries):
            folder, base = project.folder / f"copies-{number}", f"/copies/{number}/"
            write_archives(folder, server.url(base), 2, store, feed, XML_FORMATS[kind], Selection())
            for path in folder.iterdir():
                server.serve(f"{base}{path.name}", path.read_bytes())
                assert not feedparser.parse(path.read_bytes()).bozo
            copies[feed.feed] = server.url(f"{base}index.{kind}")
    assert len(copies) > 0.8 * len(urls)
    run = project.crawl(*copies.values(), settings=quick)
    # An item keeps its own words and elements, also where they say nothing or are not as they should be.
    own = ["is not a date", "is not escaped", "its link has an href attribute", "its enclosure names no file"]
    # The copy of an incomplete feed is marked as incomplete.
    own += ["says that entries", "what to do:"]
    assert [warning for warning in run.warnings() if not any(words in warning for words in own)] == []
    verdicts = {feed["feed"]: feed["verdict"] for feed in project.feeds()}
    assert {url: verdicts[copy] for url, copy in copies.items()} == {url: verdicts[url] for url in copies}
    logical = by_feed(project)
    for url, copy in copies.items():
        assert logical[copy] == logical[url], url
