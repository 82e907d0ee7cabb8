"""What identifies the entries of a feed, and entries of one document that share an id."""

from __future__ import annotations

import json

import pytest

from tests.projects import Project
from tests.server import FeedServer

pytestmark = pytest.mark.in_process
ARCHIVED = '<a:link xmlns:a="http://www.w3.org/2005/Atom" rel="prev-archive" href="/old"/>'
COMPLETE = '<fh:complete xmlns:fh="http://purl.org/syndication/history/1.0"/>'
SITE = "https://example.org/status"


def item(title: str, guid: str = "", link: str = "", text: str = "text", day: int = 1) -> str:
    named = f"<guid isPermaLink='false'>{guid}</guid>" if guid else ""
    linked = f"<link>{link}</link>" if link else ""
    date = f"<pubDate>{day:02} Jun 2025 10:00:00 GMT</pubDate>"
    return f"<item><title>{title}</title>{named}{linked}{date}<description>{text}</description></item>"


def channel(*items: str, head: str = COMPLETE) -> str:
    return f"<rss><channel><title>T</title><link>{SITE}</link>{head}{''.join(items)}</channel></rss>"


def entry(text: str, updated: str) -> str:
    time = f"<updated>{updated}-01-01T00:00:00Z</updated>"
    return f"<entry><id>1</id><title>t</title>{time}<summary>{text}</summary></entry>"


def atom_feed(*entries: str) -> str:
    return f"<feed xmlns='http://www.w3.org/2005/Atom'>{COMPLETE}{''.join(entries)}</feed>"


def json_feed(*ids: object) -> str:
    items = [{"id": number_or_text, "content_text": f"text {n}"} for n, number_or_text in enumerate(ids)]
    return json.dumps({"version": "https://jsonfeed.org/version/1.1", "title": "T", "items": items})


@pytest.mark.parametrize(
    ("document", "entries", "reasons"),
    [
        # One guid, or one link, and other content.
        (channel(item("A", "g", text="Autumn."), item("A", "g", text="Disorder.")), 1, ["shared-id"]),
        (channel(item("A", "g", day=1), item("A", "g", day=2)), 1, ["shared-id"]),
        (channel(item("A", link="/a"), item("B", link="/a"), item("C", link="/c")), 2, ["shared-id"]),
        (atom_feed(entry("a", "2003"), entry("b", "2003")), 1, ["shared-id"]),
        (json_feed(5, "5"), 1, ["shared-id", "no-history"]),
        # The same item twice; two versions of an entry.
        (channel(item("A", "g"), item("A", "g")), 1, []),
        (atom_feed(entry("a", "2003"), entry("b", "2004")), 1, []),
        # The channel's own link is no id.
        (channel(item("A", link=SITE), item("B", link=SITE), item("C", link=f"{SITE}/")), 3, []),
        (channel(item("A", link=f"{SITE}#1"), item("B", link=f"{SITE}#2")), 2, []),
    ],
)
def test_entries_that_share_an_id_are_a_reason(
    server: FeedServer, project: Project, document: str, entries: int, reasons: list[str]
) -> None:
    server.serve("/index", document)
    for is_first in (True, False):
        run = project.crawl(server.url("/index"))
        verdict = "complete" if not reasons else "unknown" if "no-history" in reasons else "incomplete"
        assert project.verdict() == (verdict, reasons)
        assert len(project.logical_feed()) == entries
        assert not is_first or ("has this id" in run.log) == ("shared-id" in reasons)


def test_example_and_number_are_in_the_reason(server: FeedServer, project: Project) -> None:
    server.serve("/index", channel(item("A", "g"), *(item(str(n), "game-7") for n in range(3))))
    project.crawl(server.url("/index"))
    [feed] = project.feeds()
    detail = "has entries that could not be kept: 2; several entries have the same id, such as game-7"
    assert feed["reasons"][0]["detail"] == detail


def test_seen_alone_in_a_later_document_they_have_the_same_ids(server: FeedServer, project: Project) -> None:
    server.serve("/index", channel(item("A", link=SITE, day=1), item("B", link=SITE, day=2), head=""))
    project.crawl(server.url("/index"))
    server.serve("/index", channel(item("B", link=SITE, day=2), head=""))
    assert project.crawl(server.url("/index")).changes == {}


def test_user_chooses_what_identifies_the_entries(server: FeedServer, project: Project) -> None:
    feed = server.url("/index")
    one, other = item("A", "g", "/1"), item("A", "g", "/2")
    server.serve(
        "/index",
        channel(
            one,
            other,
            head=ARCHIVED,
        ),
    )
    server.serve("/old", channel(item("B", "g", "/3"), item("C", "g", "/4"), head=""))
    run = project.crawl(feed)
    assert project.verdict() == ("incomplete", ["shared-id", "shared-id"])
    assert "identified" not in run.log
    run = project.crawl(feed, args=("-a", "ids=link"))
    assert sorted(run.changes.values()) == ["new"] * 4
    assert f"{feed}: its entries are now identified by their link, and no longer by their id" in run.log
    assert project.verdict() == ("complete", [])
    # The choice is kept.
    assert project.crawl(feed).changes == {}
    # The archive is checked, since its former ids are in no document any more.
    assert server.asked() == ["/index", "/old", "/index", "/old", "/index", "/old"]
    server.serve("/index", channel(item("A", "g", "/1", "edited"), head=""))
    assert list(project.crawl(feed).changes.values()) == ["updated"]


def test_other_ids_are_no_hole(server: FeedServer, project: Project) -> None:
    server.serve("/index", channel(item("A", "g", "/1"), item("B", "h", "/2"), head=""))
    project.crawl(server.url("/index"))
    project.crawl(server.url("/index"), args=("-a", "ids=link"))
    assert project.verdict() == ("unknown", ["no-history"])


FIRST = [item(str(n), f"g{n}") for n in range(3)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (FIRST, [item("A", "g"), item("B", "g"), *FIRST]),
        # The one that was there is replaced.
        ([item("A", "g"), *FIRST], [item("B", "g"), item("A", "g"), *FIRST]),
        (FIRST, ["<item><author>nobody</author></item>", *FIRST]),
    ],
)
def test_lost_entry_ends_the_span_of_a_plain_feed(
    server: FeedServer, project: Project, before: list[str], after: list[str]
) -> None:
    server.serve("/index", channel(*before, head=""))
    project.crawl(server.url("/index"))
    server.serve("/index", channel(*after, head=""))
    for _ in range(2):
        project.crawl(server.url("/index"))
        [feed] = project.feeds()
        assert [reason["kind"] for reason in feed["reasons"]].count("holes") == 1
        assert len(feed["holes"]) == 1
