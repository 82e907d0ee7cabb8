"""Commits what a document brought, when the last of its entries is through the pipelines."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from fhcrawl import signals
from fhcrawl.core.item_processor import ItemPipelineManager
from fhcrawl.crawling.context import feed_of
from fhcrawl.crawling.responses import asked, visit_of
from fhcrawl.exceptions import LeaseError, StoreError
from fhcrawl.extensions.reader import ReaderExtension
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.items import EntryItem, EntryVersion
from fhcrawl.logical_feed.visit import DROPPED, Loss, State, bury, note_written
from fhcrawl.reasons import ReasonKind
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from fhcrawl.logical_feed import Version
    from fhcrawl.logical_feed.visit import Visit

logger = logging.getLogger(__name__)

ENTRIES_AT_ONCE = 20


class Reading:
    """A response whose entries are on their way.

    :param before: done when this document may be read; None if none of the feed is before it
    :param turn: done when the next document of the feed may be read
    :param visit: what it is a reading of; until the spider has read the document, what was asked for
    :param is_read: the spider has read the document, and the store has been asked about its entries
    :param answer: done when the store has answered the commit; None as long as nothing was sent
    :param is_left: nobody waits for that any more
    :param piece: the number of the piece of the document whose entries are on the way, from 1
    """

    def __init__(
        self,
        before: asyncio.Future[None] | None,
        turn: asyncio.Future[None],
        done: Callable[[Reading], None],
    ) -> None:
        self.before = before
        self.turn = turn
        self.visit: Visit | None = None
        self.is_read = False
        self.answer: asyncio.Future[None] | None = None
        self.is_left = False
        self.piece = 1
        self._settled: asyncio.Future[None] | None = None
        self._done = done
        self._on_the_way = 0
        self._yielded = 0
        self._exhausted = False

    def yielded(self) -> int:
        """An item goes to the pipelines; how many that are."""
        self._on_the_way += 1
        self._yielded += 1
        return self._yielded

    async def all_settled(self) -> None:
        """Wait until no item is on the way."""
        if self._on_the_way:
            self._settled = asyncio.get_running_loop().create_future()
            await self._settled

    def exhausted(self) -> None:
        """The spider has yielded all."""
        self._exhausted = True
        self._check()

    def settle(self, version: Version, item: object, error: Exception | None) -> None:
        """An item is through the pipelines, DROPPED, or lost to an error."""
        self._on_the_way -= 1
        if error is not None:
            self.spoil(
                ReasonKind.PIPELINE_ERROR, f"lost an entry to an error in the pipelines ({_name(error)})"
            )
        elif isinstance(item, EntryItem):
            self._accept(version, item)
        elif item is not DROPPED:
            returned = type(item).__name__
            self.spoil(
                ReasonKind.PIPELINE_ERROR,
                f"lost an entry to a pipeline that returns {returned}, no EntryItem",
            )
        self._check()

    def _accept(self, version: Version, item: EntryItem) -> None:
        if self.visit is None:
            return
        new = version, vars(item)
        before = self.visit.accepted.get(version.id)
        if before is not None:
            new, older = (new, before) if before[0].order < version.order else (before, new)
            self.visit.superseded.setdefault((version.id, older[0].digest), older)
        self.visit.accepted[version.id] = new

    def spoil(self, kind: ReasonKind, detail: str) -> None:
        """Leave the document unmarked."""
        if self.visit is not None and self.visit.loss is None:
            self.visit.loss = Loss(State.FAILED, kind, detail)
            self.visit.validators = None
            logger.warning("%s %s", printable(self.visit.asked), detail)

    def _check(self) -> None:
        if self._on_the_way:
            return
        if self._settled is not None and not self._settled.done():
            self._settled.set_result(None)
        if self._exhausted and not self.turn.done():
            self._done(self)


class CommitMiddleware:
    """Counts a document's entries through the pipelines, then commits them with the document's mark.

    Documents of one feed take turns: each is read when the one before it has been sent to the store, so that
    its entries are compared with what is in there. The next one is downloaded meanwhile.
    """

    def __init__(self, crawler: Crawler, extension: StoreExtension, reader: ReaderExtension) -> None:
        self._crawler = crawler
        self._extension = extension
        self._store = extension.store
        self._reader = reader
        self._readings: dict[Response, Reading] = {}
        self._turns: dict[str, asyncio.Future[None]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect to the signals of documents."""
        middleware = cls(crawler, StoreExtension.of(crawler), ReaderExtension.of(crawler))
        for signal, handler in (
            (signals.document_read, middleware.document_read),
            (signals.document_lost, middleware.document_lost),
            (signals.document_unchanged, middleware.document_unchanged),
        ):
            crawler.signals.connect(handler, signal=signal)
        return middleware

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Wait for the feed's turn, then count what the spider yields; nothing of a feed that was left."""
        reading = self._line_up(response)
        try:
            await self._take_turn(reading, response)
            if feed_of(response) not in self._extension.left:
                async for output in self._count_entries(reading, response, result):
                    yield output
        except StoreError as error:
            self._extension.fail(error)
            reading.spoil(ReasonKind.STORE_ERROR, f"could not be read to its end ({_name(error)})")
        except BaseException as error:
            self._spoil(reading, response, f"could not be read to its end ({_name(error)})")
            raise
        finally:
            del self._readings[response]
            self._reader.forget(response)
            reading.exhausted()
            # Until then it is under way for Scrapy: no crawl ends, and no other process goes on.
            if reading.answer is not None:
                await reading.answer
            reading.is_left = True

    async def _count_entries(
        self, reading: Reading, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        now = self._short_way()
        async for output in result:
            if not isinstance(output, EntryVersion):
                yield output
                continue
            if output.visit.pieces > reading.piece:
                await self._commit_piece(reading)
            if not reading.is_read:
                continue
            count = reading.yielded()
            if now is None:
                yield output
                continue
            await now(output, response)
            if count % ENTRIES_AT_ONCE == 1:
                # The next document is downloaded meanwhile, and other feeds have their turn.
                await asyncio.sleep(0)

    def _short_way(self) -> Callable[[EntryVersion, Response], Awaitable[None]] | None:
        pipelines = self._crawler.engine.scraper.itemproc
        if isinstance(pipelines, ItemPipelineManager) and pipelines.is_plain():
            return pipelines.process_now
        return None

    # Nothing here may fail: from now on somebody waits for this turn to end.
    def _line_up(self, response: Response) -> Reading:
        feed = feed_of(response) or ""
        turn = asyncio.get_running_loop().create_future()

        def done(reading: Reading) -> None:
            try:
                self._finish(reading)
            finally:
                if self._turns.get(feed) is turn:
                    del self._turns[feed]
                turn.set_result(None)

        reading = self._readings[response] = Reading(self._turns.get(feed), turn, done)
        self._turns[feed] = turn
        return reading

    async def _take_turn(self, reading: Reading, response: Response) -> None:
        try:
            if feed_of(response) is not None:
                reading.visit = visit_of(asked(response), response.url)
            self._reader.begin(response)
        finally:
            # Also if that fails: the end of this turn is the end of all those before it.
            if reading.before is not None:
                await reading.before
        await self._reader.wait(response)

    def _spoil(self, reading: Reading, response: Response, detail: str) -> None:
        """Note that a document could not be read, even if nobody knows which one it is."""
        reading.spoil(ReasonKind.ERROR, detail)
        feed = feed_of(response)
        if reading.visit is None and feed is not None:
            self._extension.untold[feed] = Loss(State.FAILED, ReasonKind.ERROR, detail)

    def document_read(self, visit: Visit, response: Response) -> None:
        """Look up what the store has of a document's entries."""
        reading = self._readings[response]
        reading.visit = visit
        visit.settle = reading.settle
        try:
            self._store.entries.compare(visit)
        except Exception as error:  # noqa: BLE001 - whatever it is, no entry can go on
            self._extension.fail(error)
            reading.spoil(ReasonKind.STORE_ERROR, f"could not be compared with the store ({_name(error)})")
            return
        visit.winners = dict(visit.stored)
        bury(visit)
        reading.is_read = True

    async def _commit_piece(self, reading: Reading) -> None:
        """Commit the entries of a large document that are not committed yet, without its mark."""
        await reading.all_settled()
        if reading.visit is None or not reading.is_read:
            return
        visit = reading.visit
        try:
            self._store.documents.commit_piece(visit, is_first=reading.piece == 1)
        except LeaseError as error:
            self._extension.yield_to_other(visit.feed, error)
            reading.is_read = False
        except Exception as error:  # noqa: BLE001 - whatever it is, the piece is not in the store
            self._note_uncommitted(visit, error)
            reading.is_read = False
        else:
            self._count_all(visit)
            note_written(visit)
            reading.piece = visit.pieces

    def document_lost(self, visit: Visit) -> None:
        """Note a gap."""
        if visit.loss is None or visit.feed in self._extension.left:
            return
        if visit.loss.state is not State.KNOWN:
            self._count("document", visit.loss.state.value)
        self._tell(self._store.documents.note_loss, visit, visit.loss)

    def document_unchanged(self, visit: Visit) -> None:
        """Note that a subscription document is what it was."""
        self._count("document", "unchanged")
        loss = Loss(State.FAILED, ReasonKind.STORE_ERROR, "is unchanged, which could not be stored")
        self._tell(self._store.documents.note_confirmation, visit, loss)

    def _tell(self, tell: Callable[[Visit], None], visit: Visit, loss: Loss) -> None:
        """Tell the store something; if it cannot be told, the walk ends, and the end of the run says why."""
        try:
            tell(visit)
        except LeaseError as error:
            self._extension.yield_to_other(visit.feed, error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the store does not know
            self._extension.give_up(visit.feed, loss, error)

    def _finish(self, reading: Reading) -> None:
        """Commit a document that has been read; note one that could not be."""
        visit = reading.visit
        if visit is None:
            return
        if not reading.is_read:
            if visit.loss is not None:
                self._send(signals.document_lost, visit=visit)
            return
        reading.answer = answer = asyncio.get_running_loop().create_future()

        def done(outcome: int | Exception) -> None:
            try:
                self._note(visit, outcome)
            finally:
                if not answer.done():
                    answer.set_result(None)

        self._store.documents.send(visit, done)
        if reading.is_left:
            self._store.settle()

    def _note(self, visit: Visit, outcome: int | Exception) -> None:
        """Note what has become of a commit."""
        if isinstance(outcome, LeaseError):
            self._extension.yield_to_other(visit.feed, outcome)
        elif isinstance(outcome, Exception):
            # Whatever it is, the document is not in the store.
            self._note_uncommitted(visit, outcome)
            self._send(signals.document_lost, visit=visit)
        else:
            self._note_committed(visit, outcome)

    def _note_committed(self, visit: Visit, deleted: int) -> None:
        self._count_all(visit)
        if deleted:
            self._crawler.stats.inc_value("fhcrawl/entry/deleted", deleted)
        self._count("document", visit.loss.state.value if visit.loss else "processed")
        self._send(signals.document_committed, visit=visit, deleted=deleted)

    def _count_all(self, visit: Visit) -> None:
        """Count what is stored now."""
        for name, count in (visit.counts - visit.counted).items():
            self._crawler.stats.inc_value(name, count)
        visit.counted = visit.counts.copy()

    def _note_uncommitted(self, visit: Visit, error: Exception) -> None:
        detail = f"could not be stored ({_name(error)})"
        logger.error(
            "%s %s", printable(visit.asked), detail, exc_info=None if isinstance(error, StoreError) else error
        )
        if isinstance(error, StoreError):
            self._extension.fail(error)
        visit.loss = Loss(State.FAILED, ReasonKind.STORE_ERROR, detail)
        visit.validators = None

    def _send(self, signal: object, **kwargs: Any) -> None:
        self._crawler.signals.send_catch_log(signal, spider=self._crawler.spider, **kwargs)

    def _count(self, noun: str, outcome: str) -> None:
        self._crawler.stats.inc_value(f"fhcrawl/{noun}/{outcome}")


def _name(error: BaseException) -> str:
    return printable(f"{type(error).__name__}: {error}")
