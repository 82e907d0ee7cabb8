"""What is committed when something breaks: code in the middle of a document, or the store."""

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import TextResponse

from fhcrawl.crawling.context import context_of, with_context
from fhcrawl.extensions.reader import ReaderExtension
from fhcrawl.logical_feed import Verdict
from fhcrawl.spidermiddlewares import commit
from fhcrawl.spiders.history import HistorySpider
from fhcrawl.store import Feed, Store
from tests.databases import Database
from tests.engine import Engine
from tests.feeds import E, atom, tombstone
from tests.pipelines import faulty
from tests.projects import Project
from tests.server import FeedServer

INDEX, A1, A0 = (f"http://example.org/{name}" for name in ("index", "a1", "a0"))
DOCUMENTS = {
    INDEX: atom([E("3")], prev=A1),
    A1: atom([E("2"), E("1")], prev=A0, head=tombstone("0", "2004-01-01T00:00:00Z")),
    A0: atom([E("0")]),
}


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


class TestOrderOfPipelines:
    def test_entry_that_is_overtaken_does_not_win(self, server: FeedServer, project: Project) -> None:
        older, newer = E("1", "slow", "2003-01-01T00:00:00Z"), E("1", "quick", "2004-01-01T00:00:00Z")
        server.serve("/index", atom([older, newer]))
        run = project.crawl(server.url("/index"), settings=faulty.settings("Delays"))
        assert run.stats["fhcrawl/entry/updated"] == 1
        assert [(item["summary"], item["updated"]) for item in run.items] == [("quick", newer.updated)]


class TestErrorInTheMiddleOfADocument:
    @pytest.mark.both_stores
    def test_document_is_unmarked_and_read_again(self, server: FeedServer, project: Project) -> None:
        server.serve("/index", atom([E("5")], prev="/a2"))
        server.serve("/a2", atom([E("4"), E("3"), E("2")], prev="/a1"))
        server.serve("/a1", atom([E("1")]))
        settings = {"SPIDER_MODULES": "tests.spiders.own"}
        run = project.crawl(server.url("/index"), settings=settings, spider="breaking", TEST_ENTRY="3")
        assert run.changes == {"5": "new", "4": "new", "1": "new"}
        assert run.stats["fhcrawl/document/failed"] == 1
        assert project.states() == {"/index": "processed", "/a2": "failed", "/a1": "processed"}
        [feed] = project.feeds()
        [reason] = feed["reasons"]
        assert feed["verdict"] == "incomplete"
        assert (reason["kind"], reason["url"]) == ("error", server.url("/a2"))
        assert reason["detail"] == "could not be read completely (ValueError: a bug in a spider)"
        server.requested()
        run = project.crawl(server.url("/index"))
        assert server.requested() == ["/index", "/a2", "/a1"]
        assert run.changes == {"3": "new", "2": "new"}
        assert run.stats["fhcrawl/feed/complete"] == 1

    def test_subscription_document_is_read_again(self, server: FeedServer, project: Project) -> None:
        server.serve("/index", atom([E("2"), E("1")]))
        settings = {"SPIDER_MODULES": "tests.spiders.own"}
        run = project.crawl(server.url("/index"), settings=settings, spider="breaking", TEST_ENTRY="1")
        assert run.changes == {"2": "new"}
        assert project.verdict() == ("incomplete", ["error", "no-history"])
        assert project.crawl(server.url("/index")).changes == {"1": "new"}


@pytest.mark.both_stores
def test_document_is_under_way_until_it_is_committed(database: Database) -> None:
    """Else a crawl might end, or another process go on, while nobody knows whether it is in the store."""
    committed: list[list[str]] = []

    class Documents(dict[str, "str | int"]):
        def __getitem__(self, url: str) -> str | int:
            committed.append([result.fetch.requested_url for result, _batch in engine.committed])
            return super().__getitem__(url)

    engine = Engine(database.url, Documents(DOCUMENTS))
    engine.crawl(INDEX)
    assert committed == [[], [INDEX], [INDEX, A1]]


@pytest.mark.parametrize("life", range(4))
@pytest.mark.both_stores
def test_kill_between_entries_commits_all_of_a_document_or_nothing(database: Database, life: int) -> None:
    documents = {INDEX: atom([E(number) for number in "012"], head="<fh:complete/>")}
    assert (Engine(database.url, documents, life).crawl(INDEX) is None) == (life < 3)
    found = {entry_id for (entry_id,) in database.rows("SELECT id FROM entries")}
    states = {state for (state,) in database.rows("SELECT state FROM documents")}
    assert (found, states) == (({*"012"}, {"processed"}) if life == 3 else (set(), set()))
    assert crawl(database, documents)[0] == ({} if life == 3 else dict.fromkeys("012", "new"))


class Late(Engine):
    """Its entries leave the pipelines after the spider's output has ended; `finished` has what is committed
    when the last one has.
    """

    finished: int

    async def _scrape(self, spider: HistorySpider, response: TextResponse, requests: deque[Request]) -> None:
        for item in [output async for output in self._output(spider, response)]:
            assert self.committed == []
            await self._item(item)
        self.finished = len(self.committed)


def test_document_whose_last_entry_is_late_is_committed_with_it(database: Database) -> None:
    """Scrapy waits for the entry alone, before it ends the crawl."""
    engine = Late(database.url, {INDEX: DOCUMENTS[A0]})
    engine.crawl(INDEX)
    assert engine.finished == 1


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

    @pytest.fixture(
        params=[
            (ReaderExtension, "begin_parsing"),
            (ReaderExtension, "wait_until_parsed"),
            (commit, "fetch_from_response"),
        ]
    )
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
        [reported] = [r.getMessage() for r in caplog.records if "entries: " in r.getMessage()]
        assert "could not be read completely (ValueError: an odd response)" in reported
        [reason] = stored(database)[1].reasons
        assert (reason.kind, reason.url) == ("known" if broken == "fetch_from_response" else "error", A1)
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
