"""Commits what a document brought, when the last of its entries is through the pipelines."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from fhcrawl import signals
from fhcrawl.exceptions import StoreError
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.items import EntryVersion
from fhcrawl.logical_feed import Loss, State
from fhcrawl.logs import printable
from fhcrawl.pipelines.manager import ItemPipelineManager

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from fhcrawl.logical_feed import Visit
    from fhcrawl.store import Store

logger = logging.getLogger(__name__)


class Reading:
    """A response whose entries are on their way.

    :param turn: done when the next document of the feed may be read
    """

    def __init__(self, turn: asyncio.Future[None], done: Callable[[Reading], None]) -> None:
        self.turn = turn
        self.visit: Visit | None = None
        self._done = done
        self._on_the_way = 0
        self._exhausted = False

    def yielded(self) -> None:
        """An item goes to the pipelines."""
        self._on_the_way += 1

    def exhausted(self) -> None:
        """The spider has yielded all."""
        self._exhausted = True
        self._check()

    def settle(self, item: object = None, error: Exception | None = None) -> None:
        """An item is through the pipelines, dropped (None), or lost to an error."""
        self._on_the_way -= 1
        if isinstance(item, EntryVersion):
            self._accept(item)
        elif error is not None:
            self.spoil("pipeline-error", f"lost an entry to an error in the pipelines ({_name(error)})")
        elif item is not None:
            self.spoil("pipeline-error", "lost an entry to a pipeline that returns another kind of item")
        self._check()

    def _accept(self, item: EntryVersion) -> None:
        accepted = item.visit.accepted
        before = accepted.get(item.version.id)
        if before is None or before[0].order < item.version.order:
            accepted[item.version.id] = (item.version, vars(item))

    def spoil(self, kind: str, detail: str) -> None:
        """Leave the document unmarked."""
        if self.visit is not None and self.visit.loss is None:
            self.visit.loss = Loss(State.FAILED, kind, detail)
            self.visit.validators = None
            logger.warning("%s %s", printable(self.visit.asked), detail)

    def _check(self) -> None:
        if self._exhausted and not self._on_the_way and not self.turn.done():
            self._done(self)


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
        """Connect to the signals of documents."""
        middleware = cls(crawler, StoreExtension.of(crawler).store)
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
        """Wait for the feed's turn, then count what the spider yields."""
        feed = response.cb_kwargs.get("feed", "")
        reading = await self._take_turn(feed)
        self._readings[response] = reading
        pipelines = self._crawler.engine.scraper.itemproc
        now = None
        if isinstance(pipelines, ItemPipelineManager) and pipelines.is_plain():
            now = pipelines.process_now
        try:
            async for output in result:
                if not isinstance(output, EntryVersion):
                    yield output
                    continue
                reading.yielded()
                if now is not None:
                    await now(output, response)
                else:
                    yield output
        except BaseException as error:
            reading.spoil("error", f"could not be read to its end ({_name(error)})")
            raise
        finally:
            del self._readings[response]
            reading.exhausted()

    async def _take_turn(self, feed: str) -> Reading:
        turn = asyncio.get_running_loop().create_future()
        before = self._turns.get(feed)
        self._turns[feed] = turn

        def done(reading: Reading) -> None:
            try:
                if reading.visit is not None:
                    self._commit(reading.visit)
            finally:
                if self._turns.get(feed) is turn:
                    del self._turns[feed]
                turn.set_result(None)

        if before is not None:
            await before
        return Reading(turn, done)

    def document_read(self, visit: Visit, response: Response) -> None:
        """Look up what the store has of a document's entries."""
        ids = list({version.id for version in visit.versions})
        visit.stored = self._store.winners(visit.feed, ids)
        visit.winners = dict(visit.stored)
        reading = self._readings[response]
        reading.visit = visit
        visit.settle = reading.settle

    def document_lost(self, visit: Visit) -> None:
        """Note a gap."""
        self._store.lose(visit)
        if visit.loss is not None and visit.loss.state is not State.KNOWN:
            self._count("document", visit.loss.state.value)

    def document_unchanged(self, visit: Visit) -> None:
        """Note that a subscription document is what it was."""
        self._store.confirm(visit)
        self._count("document", "unchanged")

    def _commit(self, visit: Visit) -> None:
        for name, count in visit.counts.items():
            self._crawler.stats.inc_value(name, count)
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
