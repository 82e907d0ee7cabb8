"""What a document changes in the store."""

from contextlib import closing
from typing import Any

import pytest

from fhcrawl.store import Store
from tests.databases import Database
from tests.engine import Engine
from tests.feeds import E, atom, tombstone
from tests.pipelines import faulty

FEED = "http://example.org/index"
COMPLETE = "<fh:complete/>"
YEARS = {year: f"{year}-01-01T00:00:00Z" for year in range(2002, 2007)}


def crawl(url: str, document: str, **more: Any) -> tuple[dict[str, str], dict[str, int]]:
    engine = Engine(url, {FEED: document}, more=more)
    changes = engine.crawl(FEED)
    assert changes is not None
    return {change["id"]: change["change"] for change in changes}, engine.stats


def live(url: str) -> dict[str, tuple[str, str]]:
    store = Store.open(url)
    found = {entry["id"]: (entry["summary"], entry["updated"]) for entry in store.entries.read()}
    [feed] = store.feeds.read()
    store.close()
    assert feed.entries == len(found)
    return found


def test_entry_that_has_left_a_complete_feed_is_deleted_once(url: str) -> None:
    crawl(url, atom([E("1"), E("2")], head=COMPLETE))
    changes, stats = crawl(url, atom([E("2")], head=COMPLETE))
    assert changes == {"1": "deleted"}
    assert stats["fhcrawl/entry/deleted"] == 1
    assert set(live(url)) == {"2"}
    changes, stats = crawl(url, atom([E("2"), E("3")], head=COMPLETE))
    assert changes == {"3": "new"}
    assert "fhcrawl/entry/deleted" not in stats
    assert set(live(url)) == {"2", "3"}


def test_tombstone_that_comes_twice_before_its_entry_counts_once(url: str) -> None:
    twice = 2 * tombstone("1", YEARS[2004])
    assert crawl(url, atom([E("2")], head=twice))[0] == {"2": "new"}
    assert crawl(url, atom([E("2"), E("1", updated=YEARS[2003])]))[0] == {}


def test_later_tombstone_of_a_deleted_entry_deletes_nothing_again(url: str) -> None:
    crawl(url, atom([E("1", updated=YEARS[2002])]))
    assert crawl(url, atom([], head=tombstone("1", YEARS[2003])))[0] == {"1": "deleted"}
    changes, stats = crawl(url, atom([], head=tombstone("1", YEARS[2005])))
    assert changes == {}
    assert "fhcrawl/entry/deleted" not in stats
    # But it deletes what was between.
    assert crawl(url, atom([E("1", updated=YEARS[2004])]))[0] == {}
    assert live(url) == {}
    assert crawl(url, atom([E("1", updated=YEARS[2006])]))[0] == {"1": "new"}


@pytest.mark.parametrize("head", ["", COMPLETE], ids=["another document", "the same document"])
def test_entry_that_is_absent_from_a_complete_feed_keeps_its_tombstone(url: str, head: str) -> None:
    crawl(url, atom([E("1", updated=YEARS[2002])]))
    crawl(url, atom([], head=head + tombstone("1", YEARS[2005])))
    crawl(url, atom([E("2")], head=COMPLETE))
    assert crawl(url, atom([E("1", updated=YEARS[2004]), E("2")], head=COMPLETE))[0] == {}
    assert set(live(url)) == {"2"}


def test_entry_that_is_deleted_before_its_export_is_no_change(url: str) -> None:
    Engine(url, {FEED: atom([E("1"), E("2")], head=COMPLETE)}).crawl_only(FEED)
    changes, stats = crawl(url, atom([E("2")], head=COMPLETE))
    assert changes == {"2": "new"}
    assert stats["fhcrawl/entry/deleted"] == 1


def test_entry_that_is_again_what_was_exported_is_no_change(url: str) -> None:
    assert crawl(url, atom([E("1", "old", YEARS[2003])]))[0] == {"1": "new"}
    Engine(url, {FEED: atom([E("1", "new", YEARS[2004])])}).crawl_only(FEED)
    assert crawl(url, atom([E("1", "old", YEARS[2005])]))[0] == {}
    assert live(url) == {"1": ("old", YEARS[2005])}


def test_unchanged_entry_keeps_its_first_times_and_gets_missing_ones(url: str) -> None:
    def rss(day: int, text: str, *dates: str) -> str:
        items = "".join(
            f"<item><guid>{n}</guid><description>{text}</description>{date}</item>"
            for n, date in enumerate(dates, 1)
        )
        build = f"<lastBuildDate>{day:02} Jan 2025 12:00:00 GMT</lastBuildDate>"
        return f"<rss version='2.0'><channel><title>-</title>{build}{items}</channel></rss>"

    def times() -> list[tuple[str | None, ...]]:
        with closing(Store.open(url)) as store:
            rows = sorted(store.entries.read(), key=lambda entry: str(entry["id"]))
        return [
            tuple(row[name] and row[name][8:10] for name in ("published", "document_updated")) for row in rows
        ]

    def dated(*days: int) -> list[str]:
        return [f"<pubDate>{day:02} Jan 2025 10:00:00 GMT</pubDate>" if day else "" for day in days]

    assert crawl(url, rss(3, "old", *dated(1, 0)))[0] == {"1": "new", "2": "new"}
    assert times() == [("01", "03"), (None, "03")]
    for day in (4, 5):
        assert crawl(url, rss(day, "old", *dated(day, 2)))[0] == {}
        assert times() == [("01", "03"), ("02", "03")]
    assert crawl(url, rss(6, "new", *dated(6, 6)))[0] == {"1": "updated", "2": "updated"}
    assert times() == [("06", "06"), ("06", "06")]


def test_update_time_of_an_unchanged_entry_counts_for_its_order(url: str) -> None:
    crawl(url, atom([E("1", "old", YEARS[2003])]))
    crawl(url, atom([E("1", "old", YEARS[2005])]))
    assert crawl(url, atom([E("1", "older", YEARS[2004])]))[0] == {}
    assert live(url) == {"1": ("old", YEARS[2003])}


def texts(*words: str) -> list[E]:
    pairs = (word.partition("@") for word in words)
    return [E("1", text, YEARS[int(year)]) for text, _, year in pairs]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (["old@2004", "new@2005"], ("new", YEARS[2005])),
        (["new@2005", "old@2004"], ("new", YEARS[2005])),
        # It is no change: the store keeps what was exported.
        (["old@2004"], ("old", YEARS[2003])),
        (["new@2004", "new@2005"], ("new", YEARS[2005])),
        (["new@2004", "new@2005", "old@2006"], ("old", YEARS[2006])),
        (["old@2004", "new@2005", "old@2006"], ("old", YEARS[2006])),
        (["new@2004", "old@2005", "new@2006"], ("new", YEARS[2006])),
    ],
    ids=" ".join,
)
def test_newest_of_a_documents_versions_is_kept_with_its_own_times(
    url: str, document: list[str], expected: tuple[str, str]
) -> None:
    crawl(url, atom(texts("old@2003"), updated=None))
    crawl(url, atom(texts(*document), updated=None))
    assert live(url) == {"1": expected}


@pytest.mark.parametrize(
    ("before", "document", "kept"),
    [
        (["old@2003"], ["unwanted@2004", "unwanted@2005"], {"1": ("old", YEARS[2003])}),
        ([], ["old@2003", "unwanted@2004", "unwanted@2005"], {"1": ("old", YEARS[2003])}),
        ([], ["unwanted@2004", "unwanted@2005"], {}),
    ],
    ids=["of a stored entry", "of an entry of the document", "of a new entry"],
)
def test_version_whose_equal_a_pipeline_has_dropped_changes_nothing(
    url: str, before: list[str], document: list[str], kept: dict[str, tuple[str, str]]
) -> None:
    crawl(url, atom(texts(*before)))
    pipelines = faulty.settings("DropsUnwanted")
    changes, _ = crawl(url, atom([*texts(*document), E("2", "text", YEARS[2003])]), **pipelines)
    assert changes["2"] == "new"
    assert live(url) == {"2": ("text", YEARS[2003]), **kept}


def test_corrected_time_of_the_same_document_is_waited_for_no_longer(database: Database) -> None:
    archive = "http://example.org/archive"
    subscription = atom([E("2")], prev=archive)

    def uncounted(updated: str, **more: Any) -> Any:
        entry = E("1", f"of {updated}", updated)
        Engine(database.url, {FEED: subscription, archive: atom([entry], updated=None)}, more=more).crawl(
            FEED
        )
        [(found,)] = database.rows("SELECT uncounted FROM documents WHERE role = 'archive'")
        return found

    assert uncounted("2040-01-01T00:00:00Z").startswith("2040")
    assert uncounted(YEARS[2004], DELTAFETCH_RESET=True) is None


# Each text in the feed is the name of its column.
COLUMNS = f"""<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="language">
<title>feed</title><id>urn:feed</id><updated>{YEARS[2006]}</updated><entry xml:base="http://base.example/"><id>id</id>
<title type="html">title</title><link href="http://example.org/link"/><link rel="enclosure" href="http://example.org/enclosures"/>
<published>{YEARS[2004]}</published><updated>{YEARS[2005]}</updated>
<author><name>authors</name></author><category term="categories"/>
<summary type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">summary</div></summary>
<content type="text/x-content">content</content></entry></feed>"""
VALUES = {
    "id": "id",
    "title": "title",
    "link": "http://example.org/link",
    "published": YEARS[2004],
    "updated": YEARS[2005],
    "authors": '["authors"]',
    "categories": '["categories"]',
    "summary": "summary",
    "content": "content",
    "content_type": "text/x-content",
    "enclosures": '[{"url": "http://example.org/enclosures", "type": null, "length": null}]',
    "operation": None,
    "document": FEED,
    "document_updated": YEARS[2006],
    "document_time": YEARS[2006],
    "order_overrides": -(2**31),
    "order_time": YEARS[2005].removesuffix("Z"),
    "order_tombstone": 0,
    "order_walk": 1,
    "order_step": 0,
    "order_position": 0,
    "added": None,
    "details": '{"title_type": "html", "summary_type": "xhtml", "base": "http://base.example/", '
    '"language": "language"}',
}


@pytest.mark.both_stores
def test_each_column_has_its_own_value(url: str, database: Database) -> None:
    engine = Engine(url, {FEED: COLUMNS})
    engine.crawl(FEED)
    rows = database.rows(f"SELECT {', '.join(VALUES)} FROM entries")
    assert [dict(zip(VALUES, row, strict=True)) for row in rows] == [VALUES]
