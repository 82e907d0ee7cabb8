"""A store that fails on the way loses nothing."""

from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any

import pytest

from fhcrawl.exceptions import StoreError
from fhcrawl.logical_feed import Verdict, Winner
from fhcrawl.logical_feed.results import DocumentResult
from fhcrawl.store import Store, opening
from fhcrawl.store.documents import Documents
from fhcrawl.store.entries import Entries
from tests.databases import Database
from tests.engine import Engine
from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer
from tests.spidermiddlewares.test_commit import A0, A1, DOCUMENTS, INDEX, crawl, stored

pytestmark = pytest.mark.both_stores


class Locking(dict[str, "str | int"]):
    """Documents; while one of them is read, another connection holds the store's write lock."""

    def __init__(self, database: Database, locked: str) -> None:
        super().__init__(DOCUMENTS)
        self._database, self._locked, self._lock = database, locked, ExitStack()
        self.close = self._lock.close

    def __getitem__(self, url: str) -> str | int:
        self.close()
        if url == self._locked:
            self._lock.enter_context(self._database.locked())
        return super().__getitem__(url)


@pytest.fixture
def impatient(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores that do not wait long for a lock; made before, in turn with those of other tests."""
    Store.open(database.url).close()
    of_sqlite, of_postgresql = opening._configure_sqlite, opening._configure_postgresql

    def configure_sqlite(connection: Any, record: Any) -> None:
        of_sqlite(connection, record)
        connection.execute("PRAGMA busy_timeout = 20")

    def configure_postgresql(connection: Any, record: Any) -> None:
        of_postgresql(connection, record)
        connection.execute("SET lock_timeout = 20")
        connection.commit()

    monkeypatch.setattr(opening, "_configure_sqlite", configure_sqlite)
    monkeypatch.setattr(opening, "_configure_postgresql", configure_postgresql)


def break_store(database: Database, table: str, condition: str, event: str = "INSERT") -> None:
    """Let the store fail to write some rows."""
    Store.open(database.url).close()
    database.refuse(table, condition, "the disk is full", event)


def fail_to_compare(
    broken: str, original: Callable[..., dict[str, Winner]], fault: type[Exception] = StoreError
) -> Callable[..., dict[str, Winner]]:
    """The store's method, that fails for a document with some entry."""

    def compare(entries: Entries, result: DocumentResult) -> dict[str, Winner]:
        if broken in [version.id for version in result.versions]:
            raise fault("The store failed: the disk is gone")
        return original(entries, result)

    return compare


def assert_a1_heals(database: Database, **deleted: str) -> None:
    changes, engine = crawl(database, DOCUMENTS)
    assert engine.requested == [INDEX, A1, A0]
    assert changes == {"2": "new", "1": "new", **deleted}
    ids, feed = stored(database)
    assert ids == {"3", "2", "1"}
    assert feed.verdict is Verdict.COMPLETE


class TestStoreThatFails:
    @pytest.fixture(params=["when it is asked for the entries", "by a bug of its own", "when it commits"])
    def mend(
        self, request: pytest.FixtureRequest, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> Callable[[], None]:
        """A store that fails for the archive a1, and what mends it."""
        if request.param == "when it commits":
            break_store(database, "entries", "NEW.id = '1'")
        else:
            fault = StoreError if request.param == "when it is asked for the entries" else ValueError
            monkeypatch.setattr(Entries, "compare", fail_to_compare("1", Entries.compare, fault))

        def mended() -> None:
            database.mend("entries")
            monkeypatch.undo()

        return mended

    def test_nothing_of_the_document_is_stored_and_the_walk_goes_on(
        self, database: Database, mend: Callable[[], None]
    ) -> None:
        changes, engine = crawl(database, DOCUMENTS)
        assert engine.requested == [INDEX, A1, A0]
        assert changes == {"3": "new", "0": "new"}
        documents = {n: count for n, count in engine.stats.items() if "/document/" in n or "/feed/" in n}
        assert documents == {
            "fhcrawl/document/processed": 2,
            "fhcrawl/document/failed": 1,
            "fhcrawl/feed/incomplete": 1,
        }
        assert "fhcrawl/entry/deleted" not in engine.stats
        assert engine.stats["fhcrawl/entry/new"] == 2
        ids, feed = stored(database)
        assert ids == {"3", "0"}
        assert feed.verdict is Verdict.INCOMPLETE
        assert [(reason.kind, reason.url) for reason in feed.reasons] == [("store-error", A1)]
        mend()
        assert_a1_heals(database, **{"0": "deleted"})

    def test_entries_that_cannot_be_compared_do_not_reach_the_pipelines(
        self, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        through: list[str] = []

        def note(engine: Engine, item: Any) -> Any:
            through.append(item.id)
            return item

        monkeypatch.setattr(Entries, "compare", fail_to_compare("1", Entries.compare))
        monkeypatch.setattr(Engine, "_live", note)
        _, engine = crawl(database, DOCUMENTS)
        assert through == ["3", "0"]
        entries = {name: count for name, count in engine.stats.items() if "/entry/" in name}
        assert entries == {"fhcrawl/entry/new": 2}

    @pytest.mark.usefixtures("impatient")
    def test_lock_that_is_held_for_long_ends_the_walk_for_this_run(self, database: Database) -> None:
        with closing(Locking(database, A1)) as documents:
            changes, engine = crawl(database, documents)
        assert changes == {"3": "new"}
        assert engine.stats["fhcrawl/feed/incomplete"] == 1
        assert engine.stats["fhcrawl/store/failed"] == 2
        ids, feed = stored(database)
        assert ids == {"3"}
        assert feed.verdict is Verdict.INCOMPLETE
        assert_a1_heals(database)

    def test_failure_while_the_link_is_followed_leaves_the_document_unmarked(
        self, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        find_end = Documents.find_end

        def fail(*args: Any) -> Any:
            if A0 in args:
                raise StoreError("The store failed: the disk is gone")
            return find_end(*args)

        monkeypatch.setattr(Documents, "find_end", fail)
        changes, _ = crawl(database, DOCUMENTS)
        assert changes == {"3": "new"}
        _, feed = stored(database)
        assert [(reason.kind, reason.url) for reason in feed.reasons] == [("store-error", A1)]
        monkeypatch.undo()
        assert_a1_heals(database)

    @pytest.mark.parametrize(
        ("answer", "detail"),
        [
            (
                atom([E("4")], prev=A1),
                "could not be stored (StoreError: The store failed: the disk is full; free up space "
                "on its disk)",
            ),
            (404, "is missing (404)"),
        ],
        ids=["a new document", "404"],
    )
    def test_loss_that_cannot_be_stored_is_told_by_the_runs_verdict(
        self, database: Database, caplog: pytest.LogCaptureFixture, answer: str | int, detail: str
    ) -> None:
        crawl(database, DOCUMENTS)
        assert stored(database)[1].verdict is Verdict.COMPLETE
        event = "INSERT" if isinstance(answer, str) else "UPDATE"
        break_store(database, "documents", "NEW.role = 'subscription' AND NEW.state <> 'known'", event)
        caplog.clear()
        changes, engine = crawl(database, {**DOCUMENTS, INDEX: answer})
        assert changes == {}
        verdicts = {name: count for name, count in engine.stats.items() if "/feed/" in name}
        assert verdicts == {"fhcrawl/feed/incomplete": 1, "fhcrawl/feed/unread": 1}
        [reported] = [r.getMessage() for r in caplog.records if "entries: " in r.getMessage()]
        assert reported.startswith(f"{INDEX}: incomplete")
        assert detail in reported
        database.mend("documents")
        changes, engine = crawl(database, {**DOCUMENTS, INDEX: atom([E("4")], prev=A1)})
        assert changes == {"4": "new"}
        assert engine.stats["fhcrawl/feed/complete"] == 1


def test_loss_that_a_bug_hides_is_in_the_verdict(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(*_args: object) -> None:
        raise ValueError("a bug in the store")

    crawl(database, DOCUMENTS)
    monkeypatch.setattr(Documents, "note_failure", lose)
    _, engine = crawl(database, {**DOCUMENTS, INDEX: 404})
    assert engine.stats["fhcrawl/feed/incomplete"] == 1
    assert engine.stats["fhcrawl/store/failed"] == 1


@pytest.mark.parametrize("name", ["Link", "ETag", "Last-Modified"])
def test_nul_in_a_header_loses_only_this_header(server: FeedServer, project: Project, name: str) -> None:
    server.serve("/index", atom([E("1")], prev="/a1"))
    server.serve("/a1", atom([E("0")]))
    project.crawl(server.url("/index"))
    value = '</a\0b>; rel="prev-archive"' if name == "Link" else '"a\0b"'
    server.serve(
        "/index", atom([E("2")], prev=None if name == "Link" else "/a1"), headers={name: value}, etag=False
    )
    run = project.crawl(server.url("/index"))
    assert run.changes == {"2": "new"}
    gone = ("incomplete", ["http-404"]) if name == "Link" else ("complete", [])
    assert project.verdict() == gone


def test_feed_that_the_store_refuses_loses_only_itself(server: FeedServer, project: Project) -> None:
    for name in ("one", "refused", "three"):
        server.serve(f"/{name}", atom([E(name)]))
    project.crawl(server.url("/one"))
    project.database.refuse("feeds", "NEW.url LIKE '%/refused'", "refused by a trigger")
    run = project.crawl(server.url("/refused"), server.url("/three"))
    assert set(run.changes) == {"three"}
    assert any("refused by a trigger" in line and "unknown" in line for line in run.warnings())
    assert run.stats["fhcrawl/feed/unknown"] == 2
