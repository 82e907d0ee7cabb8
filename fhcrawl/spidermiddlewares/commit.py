"""Commits what a document brought, when the last of its entries is through the pipelines."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy import signals as scrapy_signals

from fhcrawl import signals
from fhcrawl.exceptions import StoreError
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.items import EntryVersion
from fhcrawl.logical_feed import Loss, State
from fhcrawl.logs import printable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure
    from typing_extensions import Self

    from fhcrawl.logical_feed import Visit
    from fhcrawl.store import Store

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class Reading:
    """A response whose entries are on their way.

    :param turn: done when the next document of the feed may be read
    :param on_the_way: items that have been yielded and are not through the pipelines
    :param exhausted: the spider has yielded all
    """

    turn: asyncio.Future[None]
    visit: Visit | None = None
    on_the_way: int = 0
    exhausted: bool = False


class CommitMiddleware:
    """Counts a document's entries through the pipelines, then commits them with the document's mark.

    Documents of one feed take turns: each is read when the one before it has been committed, so that
    its entries are compared with what is in the store. The next one is downloaded meanwhile.
    """

    def __init__(self, crawler: Crawler, store: Store) -> None:
        self._crawler = crawler
        self._store = store
        self._readings: dict[Response, Reading] = {}
        self._turns: dict[str, asyncio.Future[None]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect to the signals of documents and items."""
        middleware = cls(crawler, StoreExtension.of(crawler).store)
        for signal, handler in (
            (signals.document_read, middleware.document_read),
            (signals.document_lost, middleware.document_lost),
            (signals.document_unchanged, middleware.document_unchanged),
            (scrapy_signals.item_scraped, middleware.item_scraped),
            (scrapy_signals.item_dropped, middleware.item_dropped),
            (scrapy_signals.item_error, middleware.item_error),
        ):
            crawler.signals.connect(handler, signal=signal)
        return middleware

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Wait for the feed's turn, then count what the spider yields."""
        reading = await self._take_turn(response)
        try:
            async for output in result:
                if not isinstance(output, Request):
                    reading.on_the_way += 1
                yield output
        except Exception as error:
            self._spoil(reading, "error", f"could not be read to its end ({_name(error)})")
            raise
        else:
            reading.exhausted = True
        finally:
            self._settle(response, reading)

    async def _take_turn(self, response: Response) -> Reading:
        feed = response.cb_kwargs.get("feed", "")
        reading = Reading(asyncio.get_running_loop().create_future())
        before = self._turns.get(feed)
        self._turns[feed] = reading.turn
        self._readings[response] = reading
        if before is not None:
            await before
        return reading

    @staticmethod
    def _spoil(reading: Reading, kind: str, detail: str) -> None:
        reading.exhausted = True
        if reading.visit is not None and reading.visit.loss is None:
            reading.visit.loss = Loss(State.FAILED, kind, detail)
            reading.visit.validators = None
            logger.warning("%s %s", printable(reading.visit.asked), detail)

    def document_read(self, visit: Visit, response: Response) -> None:
        """Look up what the store has of a document's entries."""
        ids = list({version.id for version in visit.versions})
        visit.stored = self._store.winners(visit.feed, ids)
        visit.winners = dict(visit.stored)
        self._readings[response].visit = visit

    def document_lost(self, visit: Visit) -> None:
        """Note a gap."""
        assert visit.loss is not None
        self._store.lose(visit)
        self._count("document", visit.loss.state.value)

    def document_unchanged(self, visit: Visit) -> None:
        """Note that a subscription document is what it was."""
        self._store.confirm(visit.feed, visit.fetched)
        self._count("document", "unchanged")

    def item_scraped(self, item: Any, response: Response) -> None:
        """An entry is through: it is to be stored."""
        reading = self._readings.get(response)
        if reading is None:
            return
        if isinstance(item, EntryVersion):
            accepted = item.visit.accepted
            before = accepted.get(item.id)
            if before is None or before[0].order < item.version.order:
                accepted[item.version.id] = (item.version, item.fields())
        else:
            self._spoil(reading, "pipeline-error", "lost entries to a pipeline that replaces items")
        self._through(response, reading)

    def item_dropped(self, response: Response) -> None:
        """DropItem settles an entry."""
        if (reading := self._readings.get(response)) is not None:
            self._through(response, reading)

    def item_error(self, item: Any, response: Response, failure: Failure) -> None:
        """An error in the pipelines leaves the document unmarked."""
        if (reading := self._readings.get(response)) is not None:
            detail = f"lost an entry to an error in the pipelines ({_name(failure.value)})"
            self._spoil_at_end(reading, detail)
            self._through(response, reading)

    def _spoil_at_end(self, reading: Reading, detail: str) -> None:
        exhausted = reading.exhausted
        self._spoil(reading, "pipeline-error", detail)
        reading.exhausted = exhausted

    def _through(self, response: Response, reading: Reading) -> None:
        reading.on_the_way -= 1
        self._settle(response, reading)

    def _settle(self, response: Response, reading: Reading) -> None:
        if reading.turn.done() or reading.on_the_way or not reading.exhausted:
            return
        del self._readings[response]
        try:
            if reading.visit is not None:
                self._commit(reading.visit)
        finally:
            feed = response.cb_kwargs.get("feed", "")
            if self._turns.get(feed) is reading.turn:
                del self._turns[feed]
            reading.turn.set_result(None)

    def _commit(self, visit: Visit) -> None:
        try:
            deleted = self._store.commit(visit)
        except StoreError as error:
            logger.error("%s", error)
            self._count("document", "failed")
            return
        if deleted:
            self._crawler.stats.inc_value("fhcrawl/entry/deleted", deleted)
        self._count("document", visit.loss.state.value if visit.loss else "processed")
        self._crawler.signals.send_catch_log(
            signals.document_committed, visit=visit, deleted=deleted, spider=self._crawler.spider
        )

    def _count(self, noun: str, outcome: str) -> None:
        self._crawler.stats.inc_value(f"fhcrawl/{noun}/{outcome}")


def _name(error: BaseException) -> str:
    return printable(f"{type(error).__name__}: {error}")
