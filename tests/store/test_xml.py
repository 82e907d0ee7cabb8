"""The XML that the store keeps: the head sections of feeds, and entries as they were published."""

from contextlib import closing
from typing import Any

import pytest
from lxml import etree

from fhcrawl.store import Store
from tests.databases import Database
from tests.engine import Engine
from tests.feeds import E, atom

FEED = "http://example.org/index"
LATER = "2004-01-01T00:00:00Z"


def crawl(database: Database, document: str, **more: int) -> list[dict[str, Any]]:
    changes = Engine(database.url, {FEED: document}, more=more).crawl(FEED)
    assert changes is not None
    return changes


def read_head(database: Database) -> str:
    with closing(Store.open(database.url)) as store:
        [(feed, head)] = store.feeds.read_heads([FEED]).items()
    assert (feed, head.document) == (FEED, FEED)
    return head.original


def test_head_is_all_but_the_entries_and_replaced_by_another_one(database: Database) -> None:
    crawl(database, atom([E("1")], head="<subtitle>one</subtitle><x:y xmlns:x='urn:x' z='1'>two</x:y>"))
    head = read_head(database)
    assert "<subtitle>one</subtitle>" in head
    assert '<x:y xmlns:x="urn:x" z="1">two</x:y>' in head
    assert "entry" not in head
    # Update times and entries do not count.
    crawl(database, atom([E("1")], title="one"))
    before = read_head(database)
    database.refuse("heads", "NEW.feed_id > 0", "unchanged heads are not written")
    crawl(database, atom([E("1"), E("2")], title="one", updated=LATER))
    with closing(Store.open(database.url)) as store:
        assert {entry["id"] for entry in store.entries.read()} == {"1", "2"}
    database.mend("heads")
    assert read_head(database) == before
    crawl(database, atom([E("1")], title="two"))
    assert "<title>two</title>" in read_head(database)


def test_document_that_is_cut_off_replaces_no_head_but_may_have_the_first(database: Database) -> None:
    for title in ("one", "two"):
        crawl(database, atom([E(title)], title=title).replace("</feed>", ""))
        assert "<title>one</title>" in read_head(database)


def test_archives_have_no_head_of_the_feed(database: Database) -> None:
    older = "http://example.org/older"
    documents = {
        FEED: atom([E("2")], prev=older, title="now"),
        older: atom([E("1")], head="<fh:archive/>", title="then"),
    }
    engine = Engine(database.url, documents)
    assert engine.crawl(FEED) is not None
    assert engine.stats["fhcrawl/document/processed"] == 2
    assert "<title>now</title>" in read_head(database)


def test_head_and_document_are_committed_together(database: Database) -> None:
    crawl(database, atom([E("1")], title="one"))
    database.execute("DROP TABLE heads")
    crawl(database, atom([E("1"), E("2")], title="two"))
    with closing(Store.open(database.url)) as store:
        assert [entry["id"] for entry in store.entries.read()] == ["1"]


def noted(entry: E, note: str) -> str:
    return atom([entry]).replace("</entry>", f'<note xmlns="urn:ours">{note}</note></entry>')


def notes(database: Database) -> list[str | None]:
    kept = [original for (original,) in database.rows("SELECT original FROM entries ORDER BY id")]
    return [None if xml is None else etree.fromstring(xml).findtext("{urn:ours}note") for xml in kept]


def test_original_of_the_winning_version_is_kept(database: Database) -> None:
    for text, year, note, kept in (
        ("old", 2003, "first", "first"),
        ("new", 2004, "second", "second"),
        ("stale", 2002, "third", "second"),
    ):
        crawl(database, noted(E("1", text, f"{year}-01-01T00:00:00Z"), note))
        assert notes(database) == [kept]
    # What has no field is no change, but is kept.
    assert crawl(database, noted(E("1", "new", LATER), "fourth")) == []
    assert notes(database) == ["fourth"]


@pytest.mark.parametrize(("text", "kept"), [("text", "first"), ("other", None)])
def test_setting_keeps_nothing_new_or_outdated(database: Database, text: str, kept: str | None) -> None:
    crawl(database, noted(E("1"), "first"))
    crawl(database, noted(E("1", text, LATER), "second"), FHCRAWL_KEEP_XML_ENABLED=0)
    assert notes(database) == [kept]
