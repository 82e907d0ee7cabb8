"""The store by itself."""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fhcrawl.exceptions import StoreError
from fhcrawl.logical_feed import ChainPosition, Link, Role, Verdict
from fhcrawl.logical_feed.results import CommitBatch, DocumentFailure, DocumentResult, Fetch, State
from fhcrawl.reasons import ReasonKind
from fhcrawl.store import ChainEnd, DocumentRef, Store
from tests.databases import Database
from tests.stores import begin_walk, commit

FEED = "http://example.org/index"
NOW = "2004-01-01T00:00:00Z"


@pytest.fixture
def store(database: Database) -> Iterator[Store]:
    opened = Store.open(database.url)
    begin_walk(opened, FEED, opened.begin_run(), NOW)
    yield opened
    opened.close()


def read(
    key: str, older: str | None = None, step: int = -1, role: Role = Role.ARCHIVE
) -> tuple[DocumentResult, CommitBatch]:
    link = None if older is None else Link(Role.ARCHIVE, older)
    fetch = Fetch(FEED, key, key, key, role, ChainPosition(1, step), NOW, run=1)
    return DocumentResult(fetch, older_document=link, kind="archived"), CommitBatch()


def lost(key: str, failure: DocumentFailure, step: int = -1, fetched: str = NOW) -> DocumentResult:
    fetch = Fetch(FEED, key, key, key, Role.ARCHIVE, ChainPosition(1, step), fetched, run=1)
    return DocumentResult(fetch, failure=failure)


GONE = DocumentFailure(State.MISSING, ReasonKind.HTTP_404, "is missing (404)")


@pytest.mark.sqlite_only("a file")
@pytest.mark.parametrize(
    ("statements", "why"),
    [
        (None, "The store cannot be opened: sqlite:"),
        (
            "PRAGMA encoding = 'UTF-16le'; CREATE TABLE something (text TEXT)",
            "has the unsupported encoding UTF-16le: use a new file",
        ),
        ("CREATE TABLE store (schema_version INTEGER)", "not created completely"),
    ],
)
def test_file_that_is_no_store_is_refused(tmp_path: Path, statements: str | None, why: str) -> None:
    path = tmp_path / "store.sqlite"
    path.write_text("This is no database, and never was one." * 100 if statements is None else "")
    if statements is not None:
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(statements)
    with pytest.raises(StoreError, match=why):
        Store.open(f"sqlite:///{path}")


def test_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        StoreError,
        match=r"\); run pip install 'fhcrawl\[postgres\]', or with pipx: pipx inject fhcrawl 'psycopg\[",
    ):
        Store.open("postgresql://127.0.0.1:9/x")


def test_password_of_the_url_is_not_shown() -> None:
    with pytest.raises(StoreError) as refused:
        Store.open("postgresql://user:secret@127.0.0.1:9/x")
    assert "secret" not in str(refused.value)


def test_unknown_feed_and_failing_database_are_store_errors(store: Store, database: Database) -> None:
    with pytest.raises(StoreError, match=r"The feed http://example\.org/other is not in the store"):
        store.entries.find_winners("http://example.org/other", ["1"], NOW)
    database.execute("ALTER TABLE documents RENAME TO elsewhere")
    with pytest.raises(StoreError, match=r"The store failed: .*documents"):
        commit(store, *read("a1"))


def end(store: Store, key: str = "a3", walk: int = 2) -> ChainEnd | None:
    return store.documents.find_end(FEED, key, Role.ARCHIVE, walk)


def ref(key: str, step: int, run: int | None = None) -> DocumentRef:
    return DocumentRef(key, key, Role.ARCHIVE, ChainPosition(1, step), run)


def test_end_of_a_chain_is_the_first_document_that_is_not_processed(store: Store) -> None:
    assert (end(store), store.documents.find(FEED, "a3")) == (None, None)
    commit(store, *read("a3", "a2", step=-1))
    assert end(store) == ChainEnd(ref("a2", -2), is_loop=False)
    commit(store, *read("a2", "a1", step=-2))
    store.documents.note_failure(lost("a1", GONE, step=-3))
    assert end(store) == ChainEnd(ref("a1", -3, 1), is_loop=False)
    commit(store, *read("a1", step=-3))
    assert end(store) == ChainEnd(None, is_loop=False)
    # One of processed documents that loops ends where it leads back.
    commit(store, *read("a1", "a2", step=-3))
    assert end(store) == ChainEnd(ref("a1", -3, 1), is_loop=True)
    # An archive keeps the place that the chain gave it.
    commit(store, *read("a2", step=-7))
    step = store.documents.find(FEED, "a2")
    assert step is not None
    assert step.position == ChainPosition(1, -2)


def test_link_of_a_lost_document_is_kept(store: Store, database: Database) -> None:
    commit(store, *read("a2", "a1"))
    store.documents.note_failure(lost("a2", GONE))
    commit(store, *read("a1"))
    rows = database.rows("SELECT key, behind_id IS NULL FROM documents ORDER BY key")
    assert rows == [("a1", True), ("a2", False)]


LATER = "2005-01-01T00:00:00Z"
LATE = DocumentFailure(State.FAILED, ReasonKind.TIMEOUT, "times out")


@pytest.mark.parametrize(
    ("failures", "since"),
    [
        ([(GONE, NOW), (GONE, LATER)], ("http-404", NOW)),
        ([(GONE, NOW), (GONE, LATER), (LATE, LATER)], ("timeout", LATER)),
        # Not since a time that has not come.
        ([(GONE, "2040-01-01T00:00:00Z"), (GONE, NOW)], ("http-404", NOW)),
    ],
)
def test_gap_is_known_since_it_was_first_seen(
    store: Store, failures: list[tuple[DocumentFailure, str]], since: tuple[str, str]
) -> None:
    commit(store, *read(FEED, "a1", step=0, role=Role.SUBSCRIPTION))
    for failure, fetched in failures:
        store.documents.note_failure(lost("a1", failure, fetched=fetched))
    [feed] = store.feeds.read()
    assert feed.verdict is Verdict.INCOMPLETE
    assert [(reason.kind, reason.since) for reason in feed.reasons] == [since]


def test_feed_that_was_never_read_is_unknown_and_one_whose_chain_loops_incomplete(store: Store) -> None:
    [feed] = store.feeds.read()
    assert (feed.verdict, [reason.kind for reason in feed.reasons]) == (Verdict.UNKNOWN, ["not-crawled"])
    commit(store, *read(FEED, "a1", step=0, role=Role.SUBSCRIPTION))
    commit(store, *read("a1", "a1"))
    [feed] = store.feeds.read()
    assert (feed.verdict, [reason.kind for reason in feed.reasons]) == (Verdict.INCOMPLETE, ["loop"])


def test_many_feeds_do_not_fill_the_memory(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store._database.feed_ids, "limit", 2)
    for number in range(5):
        feed = f"http://example.org/{number}"
        begin_walk(store, feed, 1, NOW)
        assert store.entries.find_winners(feed, [], NOW) == {}
    assert len(store._database.feed_ids) <= 2


def test_document_that_was_read_as_something_else_is_not_known_as_an_archive(store: Store) -> None:
    commit(store, *read("a1", step=0, role=Role.SUBSCRIPTION))
    assert (end(store, "a1"), end(store, "a1", 1)) == (None, ChainEnd(None, is_loop=True))
    commit(store, *read("index", "a1", step=0, role=Role.SUBSCRIPTION))
    assert end(store, "a1") == ChainEnd(ref("a1", -1, 1), is_loop=False)


def test_more_ids_than_a_statement_may_have_are_looked_up(store: Store) -> None:
    assert store.entries.find_winners(FEED, [str(number) for number in range(300_000)], NOW) == {}
