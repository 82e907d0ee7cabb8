"""The head sections of feeds in the store."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event
from sqlalchemy.engine import Engine as SqlEngine

from fhcrawl.store import Store
from tests.engine import Engine
from tests.feeds import E, atom

if TYPE_CHECKING:
    from tests.databases import Database

FEED = "http://example.org/index"
LATER = "2004-01-01T00:00:00Z"


def crawl(database: Database, document: str, **more: Any) -> None:
    assert Engine(database.url, {FEED: document}, more=more).crawl(FEED) is not None


def heads(database: Database) -> list[str]:
    """The heads of the feed, newest first."""
    with closing(Store.open(database.url)) as store:
        kept = store.feeds.read_kept_heads(FEED)
        current = store.feeds.read_heads([FEED])
        assert [head.original for head in kept if head.until is None] == [current[FEED].original]
        assert {head.document for head in kept} == {FEED}
    return [head.original for head in kept]


def test_head_is_all_of_the_document_but_its_entries(database: Database) -> None:
    crawl(database, atom([E("1")], head="<subtitle>one</subtitle><x:y xmlns:x='urn:x' z='1'>two</x:y>"))
    [head] = heads(database)
    assert "<subtitle>one</subtitle>" in head
    assert '<x:y xmlns:x="urn:x" z="1">two</x:y>' in head
    assert "entry" not in head


def test_only_the_current_head_is_kept_by_default(database: Database) -> None:
    crawl(database, atom([E("1")], title="one"))
    crawl(database, atom([E("1")], title="two"))
    [head] = heads(database)
    assert "<title>two</title>" in head


def test_earlier_heads_are_kept_with_versions(database: Database) -> None:
    for title in ("one", "two", "two", "one"):
        crawl(database, atom([E(title)], title=title), FHCRAWL_KEEP_VERSIONS_ENABLED=True)
    current, *earlier = [head.split("title>")[1].removesuffix("</") for head in heads(database)]
    # These may have been replaced in the same second.
    assert (current, sorted(earlier)) == ("one", ["one", "two"])


def test_update_times_and_entries_change_no_head(database: Database) -> None:
    crawl(database, atom([E("1")]))
    before = heads(database)
    crawl(database, atom([E("1"), E("2")], updated=LATER))
    assert heads(database) == before


def test_unchanged_head_costs_no_statement(database: Database) -> None:
    crawl(database, atom([E("1")]))
    statements: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *others: Any) -> None:
        statements.append(statement)

    event.listen(SqlEngine, "before_cursor_execute", note)
    try:
        crawl(database, atom([E("1"), E("2")], updated=LATER))
        unchanged = sum("INTO heads" in statement or "UPDATE heads" in statement for statement in statements)
        crawl(database, atom([E("1"), E("2")], title="other", updated=LATER))
    finally:
        event.remove(SqlEngine, "before_cursor_execute", note)
    changed = sum("INTO heads" in statement or "UPDATE heads" in statement for statement in statements)
    assert (unchanged, changed) == (0, 1)


def test_document_that_is_cut_off_replaces_no_head(database: Database) -> None:
    crawl(database, atom([E("1")], title="one"))
    before = heads(database)
    crawl(database, atom([E("2")], title="two").replace("</feed>", ""))
    assert heads(database) == before


def test_first_head_may_be_of_a_document_that_is_cut_off(database: Database) -> None:
    crawl(database, atom([E("1")], title="one").replace("</feed>", ""))
    [head] = heads(database)
    assert "<title>one</title>" in head


def test_archives_have_no_head_of_the_feed(database: Database) -> None:
    older = "http://example.org/older"
    documents = {
        FEED: atom([E("2")], prev=older, title="now"),
        older: atom([E("1")], head="<fh:archive/>", title="then"),
    }
    engine = Engine(database.url, documents)
    assert engine.crawl(FEED) is not None
    assert engine.stats["fhcrawl/document/processed"] == 2
    [head] = heads(database)
    assert "<title>now</title>" in head


def test_head_and_document_are_committed_together(database: Database) -> None:
    crawl(database, atom([E("1")], title="one"))
    engine = create_engine(database.url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE heads")
    engine.dispose()
    run = Engine(database.url, {FEED: atom([E("1"), E("2")], title="two")})
    run.crawl(FEED)
    with closing(Store.open(database.url)) as store:
        assert [entry["id"] for entry in store.entries.read()] == ["1"]
