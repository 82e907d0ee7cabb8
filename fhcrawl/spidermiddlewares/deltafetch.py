"""Skips archives that are already processed, down to the first one that is not."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import scrapy_deltafetch
from scrapy import Request
from scrapy import signals as scrapy_signals

from fhcrawl import signals
from fhcrawl.crawling.context import DELTAFETCH_KEY, context_of, with_context
from fhcrawl.crawling.responses import aim
from fhcrawl.exceptions import LeaseError
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.visit import Loss, State, leads_on
from fhcrawl.reasons import ReasonKind
from fhcrawl.utils.clock import now
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from fhcrawl.logical_feed.visit import Visit
    from fhcrawl.store import Step, Store

logger = logging.getLogger(__name__)


class DeltaFetch(scrapy_deltafetch.DeltaFetch):  # type: ignore[misc]
    """scrapy-deltafetch on fhcrawl's store.

    Its settings DELTAFETCH_ENABLED and DELTAFETCH_RESET, its meta keys `deltafetch_key` and
    `deltafetch_enabled` and its stats are kept. What differs: a document is marked when its entries are
    committed, not when an item is yielded; a skipped archive is replaced by the first one behind it that
    has not been processed; and with DELTAFETCH_ENABLED off, every document is fetched once in each run.
    """

    def __init__(self, crawler: Crawler, store: Store, enabled: bool, reset: bool) -> None:
        super().__init__(dir=None, reset=reset, stats=crawler.stats if enabled else None)
        self._store = store
        self._enabled = enabled
        self._visits: dict[Response, Visit] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read the settings, and connect to the signals."""
        settings = crawler.settings
        middleware = cls(
            crawler,
            StoreExtension.of(crawler).store,
            settings.getbool("DELTAFETCH_ENABLED"),
            settings.getbool("DELTAFETCH_RESET"),
        )
        connect = crawler.signals.connect
        connect(middleware.spider_opened, signal=scrapy_signals.spider_opened)
        connect(middleware.document_read, signal=signals.document_read)
        connect(middleware.document_committed, signal=signals.document_committed)
        return middleware

    def spider_opened(self, spider: Spider) -> None:
        """Start anew, if that is asked for."""
        if self.reset or not self._enabled or getattr(spider, "deltafetch_reset", False):
            for feed in getattr(spider, "feeds", ()):
                # A feed that another crawl has is left alone, as the spider says.
                with suppress(LeaseError):
                    self._store.walks.forget(feed, now())

    def document_read(self, visit: Visit, response: Response) -> None:
        """Remember which document a response is."""
        self._visits[response] = visit

    def document_committed(self, visit: Visit) -> None:
        """Count the documents that are marked."""
        if self.stats and visit.role is Role.ARCHIVE and visit.loss is None:
            self.stats.inc_value("deltafetch/stored")

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Replace or drop the requests for documents that are processed."""
        try:
            async for output in result:
                if isinstance(output, Request) and self._is_enabled_for_request(output):
                    followed = self._follow(output, response, self._visits.get(response))
                    if followed is not None:
                        yield followed
                else:
                    yield output
        finally:
            self._visits.pop(response, None)

    def _get_key(self, request: Request) -> str:
        # Not the URL of a request that may have been redirected: the one that was asked for.
        return str(request.meta.get(DELTAFETCH_KEY) or context_of(request).requested_url)

    # RFC 5005, 4.2: "This process should be repeated recursively until the client encounters a
    # prev-archive link relation that has been processed". That would lose what is behind it when a run
    # has died: a processed document ends the walk only if all documents behind it are processed.
    def _follow(self, request: Request, response: Response, visit: Visit | None) -> Request | None:
        key, context = self._get_key(request), context_of(request)
        run = context.walk.run
        if visit is not None:
            visit.behind_key = key
            if key == visit.key:
                return self._loop(request, visit)
        if context.role is Role.PART:
            # A list names all its documents: the store has been asked for the first one already.
            return request
        if context.role is Role.PAGE:
            return self._follow_page(request, response, visit, key)
        end = self._store.documents.find_end(context.walk.feed, key, Role.ARCHIVE, run)
        if end is None:
            return request
        if end.loop or _is_read(end.step, visit, run):
            return self._loop(request, visit)
        if end.step is None or end.step.key != key:
            self._skip(request)
        return None if end.step is None else self._replace(request, end.step, key)

    def _replace(self, request: Request, step: Step, key: str) -> Request:
        context = context_of(request)
        via = (
            context.via
            if step.key == key
            else self._store.documents.find_referrer(context.walk.feed, step.key)
        )
        return _request(request, step, via)

    # A page may change, and those behind it move: a processed one says nothing. Only a page of what earlier
    # walks have brought, before pages that have all been read, ends the walk. And not behind one that an
    # earlier walk has left unread: what was new at that time has moved on since, nobody knows how far.
    def _follow_page(
        self, request: Request, response: Response, visit: Visit | None, key: str
    ) -> Request | None:
        context = context_of(request)
        feed, run = context.walk.feed, context.walk.run
        if _is_read(self._store.documents.find(feed, key), visit, run):
            return self._loop(request, visit)
        if visit is not None:
            before = self._store.documents.find(feed, visit.key)
            visit.left_over = context_of(response).left_over or _is_left_over(before, visit)
            if visit.left_over:
                return with_context(request, replace(context, left_over=True))
            if leads_on(visit):
                return request
        end = self._store.documents.find_end(feed, key, Role.PAGE, run)
        if end is None or end.loop or end.step is not None:
            return request
        self._skip(request)
        return None

    def _skip(self, request: Request) -> None:
        logger.debug("Already processed: %s", printable(context_of(request).requested_url))
        if self.stats:
            self.stats.inc_value("deltafetch/skipped")

    def _loop(self, request: Request, visit: Visit | None) -> Request | None:
        url = printable(context_of(request).requested_url)
        if visit is None:
            logger.warning("The chain of %s is a loop", printable(context_of(request).walk.feed))
            return None
        visit.loss = Loss(State.INVALID, ReasonKind.LOOP, f"links back to {url}: the chain is a loop")
        visit.validators = None
        visit.behind = None
        logger.warning("%s %s", printable(visit.asked), visit.loss.detail)
        return None


def _is_read(step: Step | None, visit: Visit | None, run: int) -> bool:
    """Whether a document has been read in this run already, or is being read."""
    return step is not None and (step.run == run or (visit is not None and step.key == visit.key))


def _is_left_over(step: Step | None, visit: Visit) -> bool:
    """Whether a page that is being read was left unread by an earlier walk."""
    if step is None or step.role is not Role.PAGE or step.is_processed:
        return False
    return step.place.walk < visit.place.walk


def _request(request: Request, step: Step, via: str | None) -> Request:
    """The request for a step in place of another, at the place that the chain gave it.

    :param via: URL of the document that leads there
    """
    meta = dict(request.meta)
    meta.pop(DELTAFETCH_KEY, None)
    if step.key != step.url:
        meta[DELTAFETCH_KEY] = step.key
    context = context_of(request)
    # What the page says that has led here is nothing to a farther one.
    newer = context.newer if context.requested_url == step.url else None
    context = replace(context, requested_url=step.url, place=step.place, via=via, newer=newer)
    return with_context(request, context, **aim(step.url, context.walk), meta=meta)
