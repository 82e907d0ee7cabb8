"""Extensions in crawls: from when on a change of them is a change of the entry."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fhcrawl import logical_feed
from fhcrawl.logical_feed import Winner
from fhcrawl.logical_feed.ordering import Order

if TYPE_CHECKING:
    from tests.projects import Project
    from tests.server import FeedServer

ON = {"FHCRAWL_EXTENSIONS_ENABLED": 1}
ORDER = Order("2003", 0, "2003", 1, 0, 0)
ORIGINALS = [f"<item><season>{number}</season></item>" for number in range(3)]


def episode(season: int, other: str) -> str:
    return (
        '<rss xmlns:i="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel>'
        f"<title>{other}</title><item><guid>1</guid><title>T</title>"
        f"<pubDate>{other}</pubDate><i:season>{season}</i:season></item></channel></rss>"
    )


def test_change_of_an_extension_counts_while_the_setting_is_on(server: FeedServer, project: Project) -> None:
    url = server.url("/index")

    def changes(season: int, other: str, *, is_on: bool) -> dict[str, str]:
        server.serve("/index", episode(season, other))
        return project.crawl(url, settings=ON if is_on else None).changes

    assert changes(1, "a", is_on=False) == {"1": "new"}
    # Neither the same document nor another one with the same entry.
    assert changes(1, "a", is_on=True) == {}
    assert changes(1, "b", is_on=True) == {}
    assert changes(2, "c", is_on=True) == {"1": "updated"}
    assert changes(2, "d", is_on=True) == {}
    assert changes(3, "e", is_on=False) == {}
    assert changes(3, "f", is_on=True) == {}
    assert changes(4, "g", is_on=True) == {"1": "updated"}


def test_change_since_the_last_crawl_without_the_setting_counts(server: FeedServer, project: Project) -> None:
    server.serve("/index", episode(1, "a"))
    project.crawl(server.url("/index"))
    server.serve("/index", episode(2, "b"))
    run = project.crawl(server.url("/index"), args=("--extensions",))
    assert run.changes == {"1": "updated"}
    assert run.items[0]["extensions"]["itunes"]["season"][0]["value"] == "2"


def test_columns_of_a_crawl_and_of_an_export_are_the_same(server: FeedServer, project: Project) -> None:
    server.serve("/index", episode(1, "a"))
    columns = ("--fields", "id,season,+original", "--profile", "news")
    run = project.crawl(server.url("/index"), args=columns)
    assert run.exit_code == 0
    assert "are not exported" not in run.log
    [item] = run.items
    assert list(item) == ["id", "season", "original", "link", "thumbnail", "source", "comments"]
    assert item["season"] == 1
    assert item["original"].startswith("<item")
    done = project.scrapy("export", "-o", "-:jsonl", *columns)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == item


def winner(digest: str, exported: str | None = None) -> Winner:
    return Winner(ORDER, digest, exported is not None, exported)


@pytest.mark.parametrize(
    ("stored", "read", "expected"),
    [
        ("a", "a", "a"),
        ("a", "b", "a"),
        # The setting is on now: the stored original says what the extensions were.
        ("a", "a.1", logical_feed.with_extensions("a", ORIGINALS[0])),
        ("a", "b.1", "a"),
        ("", "a.1", ""),
        ("a.1", "a.2", "a.1"),
        # It is off now.
        ("a.1", "a", "a"),
        ("a.1", "b", "a"),
    ],
)
def test_digests_are_compared_as_the_setting_is_now(stored: str, read: str, expected: str) -> None:
    assert winner(stored).comparable(read, ORIGINALS[0]).digest == expected
    assert winner("b", "a.1").comparable("b", None).exported == "a"
    assert winner("b.2", "a.1").comparable("b.1", None).exported == "a.1"


def test_without_an_original_only_the_content_counts() -> None:
    assert logical_feed.with_extensions("a", None) == "a"
    assert winner("a").comparable("a.1", None).digest == "a.1"
    assert len({logical_feed.with_extensions("a", original) for original in ORIGINALS}) == 3
