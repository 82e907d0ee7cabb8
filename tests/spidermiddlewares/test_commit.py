"""What is committed when something breaks: code in the middle of a document, or the store."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.http import TextResponse

from fhcrawl.crawling.context import context_of, with_context
from fhcrawl.exceptions import StoreError
from fhcrawl.extensions.reader import ReaderExtension
from fhcrawl.logical_feed import Verdict
from fhcrawl.spidermiddlewares import commit
from fhcrawl.store import Store, opening
from fhcrawl.store.documents import Documents
from fhcrawl.store.entries import Entries
from tests.engine import Engine
from tests.feeds import E, atom, tombstone
from tests.pipelines import faulty

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request

    from fhcrawl.logical_feed.visit import Visit
    from fhcrawl.spiders.history import HistorySpider
    from fhcrawl.store import Feed
    from tests.databases import Database
    from tests.projects import Project
    from tests.server import FeedServer

INDEX, A1, A0 = (f"http://example.org/{name}" for name in ("index", "a1", "a0"))
DOCUMENTS = {
    INDEX: atom([E("3")], prev=A1),
    A1: atom([E("2"), E("1")], prev=A0, head=tombstone("0", "2004-01-01T00:00:00Z")),
    A0: atom([E("0")]),
}


class TestOrderOfPipelines:
    def test_entry_that_is_overtaken_in_the_pipelines_does_not_win(
        self, server: FeedServer, project: Project
    ) -> None:
        older, newer = E("1", "slow", "2003-01-01T00:00:00Z"), E("1", "quick", "2004-01-01T00:00:00Z")
        server.serve("/index", atom([older, newer]))
        run = project.crawl(server.url("/index"), settings=faulty.settings("Delays"))
        assert run.stats["fhcrawl/entry/updated"] == 1
        assert [(item["summary"], item["updated"]) for item in run.items] == [("quick", newer.updated)]


class TestErrorInTheMiddleOfADocument:
    @pytest.mark.parametrize("pipeline", ["Drops", "Enriches"], ids=["the short way", "Scrapy's way"])
    def test_document_is_unmarked_and_read_again(
        self, server: FeedServer, project: Project, pipeline: str
    ) -> None:
        server.serve("/index", atom([E("5")], prev="/a2"))
        server.serve("/a2", atom([E("4"), E("3"), E("2")], prev="/a1"))
        server.serve("/a1", atom([E("1")]))
        settings = {"SPIDER_MODULES": "tests.spiders.breaking", **faulty.settings(pipeline)}
        run = project.crawl(server.url("/index"), settings=settings, spider="breaking", TEST_ENTRY="3")
        assert run.changes == {"5": "new", "4": "new", "1": "new"}
        assert run.stats["fhcrawl/document/failed"] == 1
        assert project.states() == {"/index": "processed", "/a2": "failed", "/a1": "processed"}
        [feed] = project.feeds()
        [reason] = feed["reasons"]
        assert feed["verdict"] == "incomplete"
        assert (reason["kind"], reason["url"]) == ("error", server.url("/a2"))
        assert reason["detail"] == "could not be read to its end (ValueError: a bug in a spider)"
        server.asked()
        run = project.crawl(server.url("/index"))
        assert server.asked() == ["/index", "/a2"]
        assert run.changes == {"3": "new", "2": "new"}
        assert run.stats["fhcrawl/feed/complete"] == 1

    def test_subscription_document_is_not_taken_as_unchanged(
        self, server: FeedServer, project: Project
    ) -> None:
        server.serve("/index", atom([E("2"), E("1")]))
        settings = {"SPIDER_MODULES": "tests.spiders.breaking"}
        run = project.crawl(server.url("/index"), settings=settings, spider="breaking", TEST_ENTRY="1")
        assert run.changes == {"2": "new"}
        assert project.verdict() == ("unknown", ["error", "no-history"])
        assert project.crawl(server.url("/index")).changes == {"1": "new"}


def test_document_is_under_way_until_it_is_committed(database: Database) -> None:
    """Else a crawl might end, or another process go on, while nobody knows whether it is in the store."""
    committed: list[list[str]] = []

    class Documents(dict[str, "str | int"]):
        def __getitem__(self, url: str) -> str | int:
            committed.append([visit.asked for visit in engine.committed])
            return super().__getitem__(url)

    engine = Engine(database.url, Documents(DOCUMENTS))
    engine.crawl(INDEX)
    assert committed == [[], [INDEX], [INDEX, A1]]


class AtOnce(Engine):
    """Its documents come all at once, and are read by one feed's callback; `through` has their entries."""

    through: list[str]

    async def _run(self, spider: HistorySpider) -> None:
        self.through = []
        [first] = [request async for request in spider.start()]
        requests = [
            with_context(first, replace(context_of(first), requested_url=url), url=url)
            for url in self._documents
        ]
        await asyncio.gather(*(self._scrape_one(spider, request) for request in requests))

    async def _scrape_one(self, spider: HistorySpider, request: Request) -> None:
        document = str(self._documents[request.url])
        response = TextResponse(request.url, body=document.encode(), request=request)
        with suppress(ValueError):
            await self._scrape(spider, response, deque())

    def _live(self, item: Any) -> Any:
        self.through.append(item.id)
        return item


class TestResponseThatABugTripsOver:
    """Before the document's turn has come, in its turn, or where it is found out which document it is."""

    @pytest.fixture(params=[(ReaderExtension, "begin"), (ReaderExtension, "wait"), (commit, "visit_of")])
    def broken(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
        owner, name = request.param
        original = getattr(owner, name)

        def fail(*args: Any) -> Any:
            if A1 in [getattr(arg, "url", arg) for arg in args]:
                raise ValueError("an odd response")
            return original(*args)

        monkeypatch.setattr(owner, name, fail)
        return str(name)

    def test_is_lost_with_a_sentence_and_read_by_the_next_run(
        self,
        database: Database,
        broken: str,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        changes, engine = crawl(database, DOCUMENTS)
        assert changes == {"3": "new"}
        assert engine.stats["fhcrawl/feed/incomplete"] == 1
        [said] = [r.getMessage() for r in caplog.records if "entries: " in r.getMessage()]
        assert "could not be read to its end (ValueError: an odd response)" in said
        [reason] = stored(database)[1].reasons
        assert (reason.kind, reason.url) == ("known" if broken == "visit_of" else "error", A1)
        monkeypatch.undo()
        changes, _ = crawl(database, DOCUMENTS)
        assert changes == {"2": "new", "1": "new"}
        assert stored(database)[1].verdict is Verdict.COMPLETE

    @pytest.mark.usefixtures("broken")
    def test_neither_holds_up_the_next_document_nor_lets_it_go_first(self, database: Database) -> None:
        first, last = (atom([E(f"{name}{number}") for number in range(3)]) for name in "ab")
        engine = AtOnce(database.url, {INDEX: first, A1: DOCUMENTS[A1], A0: last})
        engine.crawl(INDEX)
        assert engine.through == ["a0", "a1", "a2", "b0", "b1", "b2"]


class Locking(dict[str, "str | int"]):
    """Documents; while one of them is read, another connection holds the store's write lock."""

    def __init__(self, database: Database, locked: str) -> None:
        super().__init__(DOCUMENTS)
        self._database = database
        self._locked = locked
        self._lock = ExitStack()

    def __getitem__(self, url: str) -> str | int:
        self.close()
        if url == self._locked:
            self._lock.enter_context(self._database.locked())
        return super().__getitem__(url)

    def close(self) -> None:
        self._lock.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores that do not wait long for a lock."""
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


def break_store(database: Database, table: str, condition: str) -> None:
    """Let the store fail to write some rows."""
    Store.open(database.url).close()
    database.refuse(table, condition, "the disk is full")


def fail_for(broken: object, original: Callable[..., Any]) -> Callable[..., Any]:
    """A method that fails if something is among its arguments."""

    def method(*args: Any) -> Any:
        if broken in args:
            raise StoreError("The store failed: the disk is gone")
        return original(*args)

    return method


def fail_to_compare(
    broken: str, original: Callable[..., None], fault: type[Exception] = StoreError
) -> Callable[..., None]:
    """The store's method, that fails for a document with some entry."""

    def compare(entries: Entries, visit: Visit) -> None:
        if broken in [version.id for version in visit.versions]:
            raise fault("The store failed: the disk is gone")
        original(entries, visit)

    return compare


def crawl(database: Database, documents: dict[str, Any]) -> tuple[dict[str, str], Engine]:
    """A crawl; what it exports, by id."""
    engine = Engine(database.url, documents)
    changes = engine.crawl(INDEX)
    assert changes is not None
    return {change["id"]: change["change"] for change in changes}, engine


def stored(database: Database) -> tuple[set[str], Feed]:
    """What the store has of the feed."""
    store = Store.open(database.url)
    ids = {entry["id"] for entry in store.entries.read()}
    [feed] = store.feeds.read()
    store.close()
    return ids, feed


def assert_a1_heals(database: Database) -> None:
    changes, engine = crawl(database, DOCUMENTS)
    assert engine.asked == [INDEX, A1]
    assert changes == {"2": "new", "1": "new", "0": "deleted"}
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
        assert engine.asked == [INDEX, A1, A0]
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
        assert_a1_heals(database)

    def test_entries_that_cannot_be_compared_do_not_reach_the_pipelines(
        self, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Entries, "compare", fail_to_compare("1", Entries.compare))
        _, engine = crawl(database, DOCUMENTS)
        entries = {name: count for name, count in engine.stats.items() if "/entry/" in name}
        assert entries == {"fhcrawl/entry/new": 2}

    @pytest.mark.usefixtures("impatient")
    def test_lock_that_another_process_holds_for_long_ends_the_walk_for_this_run(
        self, database: Database
    ) -> None:
        Store.open(database.url).close()
        with closing(Locking(database, A1)) as documents:
            changes, engine = crawl(database, documents)
        assert changes == {"3": "new"}
        assert engine.stats["fhcrawl/feed/incomplete"] == 1
        assert engine.stats["fhcrawl/store/failed"] == 2
        ids, feed = stored(database)
        assert ids == {"3"}
        assert feed.verdict is Verdict.INCOMPLETE
        changes, engine = crawl(database, DOCUMENTS)
        assert engine.asked == [INDEX, A1, A0]
        assert changes == {"2": "new", "1": "new"}
        assert stored(database)[1].verdict is Verdict.COMPLETE

    def test_failure_while_the_link_is_followed_leaves_the_document_unmarked(
        self, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Documents, "find_end", fail_for(A0, Documents.find_end))
        changes, _ = crawl(database, DOCUMENTS)
        assert changes == {"3": "new"}
        _, feed = stored(database)
        assert [(reason.kind, reason.url) for reason in feed.reasons] == [("store-error", A1)]
        monkeypatch.undo()
        changes, engine = crawl(database, DOCUMENTS)
        assert engine.asked == [INDEX, A1, A0]
        assert changes == {"2": "new", "1": "new"}
        assert stored(database)[1].verdict is Verdict.COMPLETE

    @pytest.mark.parametrize(
        ("answer", "detail"),
        [
            (
                atom([E("4")], prev=A1),
                "could not be stored (StoreError: The store failed: the disk is full; make room on its disk)",
            ),
            (404, "is not there (404)"),
        ],
        ids=["a new document", "404"],
    )
    def test_loss_that_cannot_be_stored_is_told_by_the_runs_verdict(
        self, database: Database, caplog: pytest.LogCaptureFixture, answer: str | int, detail: str
    ) -> None:
        crawl(database, DOCUMENTS)
        assert stored(database)[1].verdict is Verdict.COMPLETE
        break_store(database, "documents", "NEW.role = 'subscription' AND NEW.state <> 'known'")
        caplog.clear()
        changes, engine = crawl(database, {**DOCUMENTS, INDEX: answer})
        assert changes == {}
        verdicts = {name: count for name, count in engine.stats.items() if "/feed/" in name}
        assert verdicts == {"fhcrawl/feed/incomplete": 1, "fhcrawl/feed/unread": 1}
        [said] = [r.getMessage() for r in caplog.records if "entries: " in r.getMessage()]
        assert said.startswith(f"{INDEX}: incomplete")
        assert detail in said
        database.mend("documents")
        changes, engine = crawl(database, {**DOCUMENTS, INDEX: atom([E("4")], prev=A1)})
        assert changes == {"4": "new"}
        assert engine.stats["fhcrawl/feed/complete"] == 1


def test_loss_that_a_bug_keeps_from_the_store_is_told_by_the_runs_verdict(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*_args: object) -> None:
        raise ValueError("a bug in the store")

    crawl(database, DOCUMENTS)
    monkeypatch.setattr(Documents, "note_loss", lose)
    _, engine = crawl(database, {**DOCUMENTS, INDEX: 404})
    assert engine.stats["fhcrawl/feed/incomplete"] == 1
    assert engine.stats["fhcrawl/store/failed"] == 1


@pytest.mark.parametrize("name", ["Link", "ETag", "Last-Modified"])
def test_nul_in_a_header_loses_nothing_but_what_it_stands_in(
    server: FeedServer, project: Project, name: str
) -> None:
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
