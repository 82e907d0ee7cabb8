"""Large documents, whose entries are compared and stored in pieces."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fhcrawl.crawling import spool
from fhcrawl.store import Store
from fhcrawl.store.documents import Documents
from tests.databases import examples
from tests.engine import Engine
from tests.feeds import E, atom, tombstone
from tests.pipelines import faulty
from tests.spooling import in_pieces

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.databases import Database, NewDatabase
    from tests.projects import Project
    from tests.server import FeedServer

INDEX, PAGE_1, PAGE_2 = (f"http://example.org/{name}" for name in ("index", "1", "2"))
LATER, LATEST = "2004-01-01T00:00:00Z", "2005-01-01T00:00:00Z"
COMPLETE = "<fh:complete/>"
NUMBER = 18
TABLES = {
    "entries": "id, summary, original, digest, order_time, order_tombstone, order_walk, order_position",
    # Not when: a version that a document first repeats and then replaces may be kept as it came first.
    "versions": "id, summary, digest",
    "changes": "id, exported_digest",
    "documents": "key, state, reason, lost_entries, behind_id IS NULL",
}


def large(changed: dict[int, E] | None = None, numbers: range = range(NUMBER), head: str = "") -> str:
    """A document so large that each of its entries is a piece."""
    text = "x" * spool.TEXT_AT_ONCE
    entries = [E(str(number), f"{number} {text}") for number in numbers]
    for position, entry in (changed or {}).items():
        entries[position] = entry
    body = atom(entries, head=head)
    assert len(body) > spool.LARGE
    return body


def crawl(
    database: Database, documents: Mapping[str, str | int], piece: int | None = None, **more: Any
) -> tuple[dict[str, str] | None, Engine]:
    """A crawl whose documents come in pieces; what it exports, by id, None if it was killed."""
    engine = Engine(database.url, documents, **more)
    with in_pieces(piece):
        changes = engine.crawl(INDEX)
    return None if changes is None else {change["id"]: change["change"] for change in changes}, engine


def stored(database: Database) -> dict[str, str | None]:
    """The texts of the live entries, by id."""
    store = Store.open(database.url)
    texts = {entry["id"]: entry["summary"] for entry in store.entries.read()}
    store.close()
    return texts


def claimed(database: Database) -> tuple[str, list[str]]:
    """The verdict of the feed, and the kinds of its reasons."""
    store = Store.open(database.url)
    [feed] = store.feeds.read()
    store.close()
    return feed.verdict.value, [reason.kind for reason in feed.reasons]


class Document(NamedTuple):
    """What a run reads.

    :param deleted: ids, and when they were deleted
    :param exports: the run exports what it has brought
    """

    entries: list[E]
    deleted: list[tuple[str, str | None]]
    complete: bool = False
    exports: bool = True

    def body(self) -> str:
        head = "".join(tombstone(*each) for each in self.deleted) + COMPLETE * self.complete
        return atom(self.entries, head=head)


FIRST = Document([E("a", "x")], [])
ids, times = st.sampled_from("abc"), st.sampled_from([None, "2003-01-01T00:00:00Z", LATER, LATEST])
versions = st.builds(E, ids, st.sampled_from(["x", "y", "z", "unwanted"]), times)
documents = st.builds(
    Document,
    st.lists(versions, max_size=8),
    st.lists(st.tuples(ids, times), max_size=2),
    st.booleans(),
    st.booleans(),
)


@pytest.mark.full_lane("hundreds of crawls in this process")
@settings(max_examples=examples(100))
@given(st.lists(documents, min_size=1, max_size=3), st.integers(1, 4), st.booleans())
# What replaces the stored version is replaced by the next piece.
@example([FIRST, Document([E("a", "y", LATER), E("a", "z", LATEST)], [])], 1, True)
# So is what is new.
@example([Document([E("a", "y", LATER), E("a", "z", LATEST)], [])], 1, True)
# What an earlier piece has brought comes again, newer.
@example([FIRST, Document([E("a", "y", LATER), E("a", "y", LATEST)], [])], 1, True)
# What is exported comes back, after another version.
@example([FIRST, Document([E("a", "y", LATER), E("a", "x", LATEST)], [])], 1, True)
# The same old version twice.
@example([Document([E("a", "x", LATEST), E("a", "y", None), E("a", "y", LATER)], [])], 1, True)
@example([FIRST, Document([E("b", "x"), E("c", "x")], [("b", LATER)], complete=True)], 1, True)
def test_size_of_the_pieces_changes_nothing(
    new_database: NewDatabase, history: list[Document], piece: int, keeps: bool
) -> None:
    """Of what is in the store, nor of what is exported."""
    more = {"FHCRAWL_KEEP_VERSIONS_ENABLED": keeps, **faulty.settings("DropsUnwanted")}
    found: list[list[Any]] = []
    for size in (None, piece):
        found.append([])
        with new_database() as database:
            for document in history:
                engine = Engine(database.url, {INDEX: document.body()}, more=more)
                with in_pieces(size):
                    if document.exports:
                        found[-1].append(engine.crawl(INDEX))
                    else:
                        engine.crawl_only(INDEX)
                found[-1] += [engine.stats, _rows(database)]
    assert found[0] == found[1]


def _rows(database: Database) -> dict[str, list[Any]]:
    return {
        table: sorted(map(repr, database.rows(f"SELECT {columns} FROM {table}")))
        for table, columns in TABLES.items()
    }


class TestRunThatDiesBetweenPieces:
    def test_document_is_unread_and_read_again(self, database: Database) -> None:
        body = atom([E(str(number)) for number in range(5)])
        assert crawl(database, {INDEX: body}, 2, life=4)[0] is None
        assert set(stored(database)) == {"0", "1", "2", "3"}
        assert database.rows("SELECT state, detail FROM documents") == [
            ("known", "has not been read to its end")
        ]
        changes, _engine = crawl(database, {INDEX: body}, 2)
        assert changes == dict.fromkeys("01234", "new")
        assert crawl(database, {INDEX: body}, 2)[0] == {}

    def test_complete_feed_that_has_moved_is_not_complete(self, database: Database) -> None:
        """What it was before is no longer all of it."""
        assert crawl(database, {INDEX: atom([E("x")], head=COMPLETE)})[0] == {"x": "new"}
        moved = {
            INDEX: atom([], links={"current": PAGE_1}, head="<fh:archive/>"),
            PAGE_1: atom([E(str(number)) for number in range(5)], head=COMPLETE),
        }
        assert crawl(database, moved, 2, life=4)[0] is None
        assert claimed(database) == ("incomplete", ["known"])
        changes, _engine = crawl(database, moved, 2)
        assert changes == {**dict.fromkeys("01234", "new"), "x": "deleted"}
        assert claimed(database) == ("complete", [])

    def test_pages_behind_what_it_has_stored_are_read(self, database: Database) -> None:
        """To the next run, what is stored of the first page is no news."""
        before = {
            INDEX: atom([E("x"), E("2")], links={"next": PAGE_1}),
            PAGE_1: atom([E("1")], links={"previous": INDEX}),
        }
        assert crawl(database, before)[0] == dict.fromkeys("x21", "new")
        after = {
            INDEX: atom([E("5"), E("4"), E("x")], links={"next": PAGE_1}),
            PAGE_1: atom([E("3"), E("2")], links={"previous": INDEX, "next": PAGE_2}),
            PAGE_2: atom([E("1")], links={"previous": PAGE_1}),
        }
        assert crawl(database, after, 1, life=2)[0] is None
        changes, _engine = crawl(database, after)
        assert changes == dict.fromkeys("543", "new")

    def test_process_that_is_killed_loses_nothing(self, server: FeedServer, project: Project) -> None:
        server.serve("/index", large())
        feed = server.url("/index")
        given = [part for pair in faulty.settings("Waits").items() for part in ("-s", "=".join(pair))]
        process = project.start("crawl", "history", "-a", f"feed={feed}", *given, TEST_ENTRY="9")
        try:
            until_waiting(project)
            assert sorted(map(int, entry_ids(project))) == list(range(9))
            assert project.states() == {"/index": "known"}
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait(60)
        run = project.crawl(feed)
        assert run.changes == {str(number): "new" for number in range(NUMBER)}
        assert project.states() == {"/index": "processed"}
        assert project.crawl(feed).changes == {}


def until_waiting(project: Project) -> None:
    """Until a pipeline waits."""
    deadline = time.monotonic() + 100
    while not (project.folder / faulty.WAITING).exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def entry_ids(project: Project) -> list[str]:
    return [entry_id for (entry_id,) in project.database.rows("SELECT id FROM entries")]


def test_error_in_a_pipeline_leaves_the_document_unmarked(server: FeedServer, project: Project) -> None:
    server.serve("/index", large(head=COMPLETE))
    run = project.crawl(server.url("/index"), settings=faulty.settings("Raises"), TEST_ENTRY="1")
    assert set(run.changes) == {str(number) for number in range(NUMBER)} - {"1"}
    assert project.states() == {"/index": "failed"}
    run = project.crawl(server.url("/index"))
    assert run.changes == {"1": "new"}
    assert project.verdict() == ("complete", [])


def test_entries_that_have_left_a_complete_feed_are_deleted(server: FeedServer, project: Project) -> None:
    server.serve("/index", large(head=COMPLETE))
    project.crawl(server.url("/index"))
    numbers = range(2, NUMBER + 2)
    server.serve(
        "/index", large({5: E("7", f"changed {'x' * spool.TEXT_AT_ONCE}", LATER)}, numbers, COMPLETE)
    )
    run = project.crawl(server.url("/index"))
    new = {str(number): "new" for number in (NUMBER, NUMBER + 1)}
    assert run.changes == {"0": "deleted", "1": "deleted", "7": "updated", **new}
    assert set(project.logical_feed()) == set(map(str, numbers))
    assert project.states() == {"/index": "processed"}


def test_entry_is_not_overtaken_by_a_later_piece(server: FeedServer, project: Project) -> None:
    text = "x" * spool.TEXT_AT_ONCE
    # The slow one ends the first piece, which is stored without those behind it.
    entries = {0: E("0", text), 1: E("twice", "slow", "2003-01-01T00:00:00Z"), 2: E("1", text)}
    server.serve("/index", large({**entries, 3: E("twice", "quick", LATER)}))
    run = project.crawl(server.url("/index"), settings=faulty.settings("Delays"))
    assert run.stats["fhcrawl/entry/updated"] == 1
    assert run.texts["twice"] == "quick"
    assert project.logical_feed()["twice"]["summary"] == "quick"


class TestStoreThatFails:
    """Between the first piece and the last one."""

    def test_document_is_lost_and_read_again(self, database: Database) -> None:
        body = atom([E(str(number)) for number in range(5)])
        Store.open(database.url).close()
        database.refuse("entries", "NEW.id = '3'", "the disk is full")
        # The pipelines get no more than what could not be stored.
        changes, engine = crawl(database, {INDEX: body}, 2, life=4)
        assert changes == dict.fromkeys("01", "new")
        assert database.rows("SELECT state, reason FROM documents") == [("failed", "store-error")]
        assert engine.stats["fhcrawl/document/failed"] == 1
        database.mend("entries")
        assert crawl(database, {INDEX: body}, 2)[0] == dict.fromkeys("234", "new")

    def test_feed_that_another_crawl_has_taken_is_left(
        self, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Store.open(database.url).close()
        commit_piece = Documents.commit_piece

        def take(documents: Documents, *args: Any, **kwargs: Any) -> None:
            commit_piece(documents, *args, **kwargs)
            database.execute("UPDATE feeds SET run = run + 1")

        monkeypatch.setattr(Documents, "commit_piece", take)
        changes, engine = crawl(database, {INDEX: atom([E(str(number)) for number in range(7)])}, 2, life=4)
        assert changes == {}
        assert engine.stats["fhcrawl/feed/leased"] == 1
        assert "fhcrawl/store/failed" not in engine.stats
        assert set(stored(database)) == {"0", "1"}
        assert database.rows("SELECT state FROM documents") == [("known",)]


def test_only_one_piece_is_in_memory(database: Database) -> None:
    text = "x" * 1000
    _changes, engine = crawl(database, {INDEX: atom([E(str(n), f"{n} {text}") for n in range(5)])}, 3)
    [(result, batch)] = engine.committed
    assert list(batch.accepted) == ["3", "4"]
    assert text not in repr((result.versions, batch.written, batch.winners))


def test_news_of_any_piece_is_news_of_the_feed(database: Database) -> None:
    crawl(database, {INDEX: atom([E("0"), E("0")])}, 1)
    assert database.rows("SELECT count(*) FROM feeds WHERE news = crawled") == [(1,)]


def test_pieces_that_are_stored_count_though_a_later_one_is_lost(
    server: FeedServer, project: Project
) -> None:
    server.serve("/index", atom([E("before")]))
    project.crawl(server.url("/index"))
    server.serve("/index", large())
    project.database.refuse("entries", "NEW.id = '9'", "the disk is full")
    run = project.crawl(server.url("/index"))
    assert 0 < len(run.changes) < NUMBER
    assert run.stats["fhcrawl/entry/new"] == len(run.changes)
    assert run.all_stats["item_scraped_count"] == len(run.changes)
    [(news, polled)] = project.database.rows("SELECT news, polled FROM feeds")
    assert news == polled
