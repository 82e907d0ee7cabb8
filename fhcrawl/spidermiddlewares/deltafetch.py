"""Skips archives that are already processed, down to the first one that is not."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import scrapy_deltafetch
from scrapy import Request
from scrapy import signals as scrapy_signals

from fhcrawl import signals
from fhcrawl.crawling.context import DELTAFETCH_KEY, context_of, with_context
from fhcrawl.crawling.responses import request_target
from fhcrawl.exceptions import StoreError
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.results import must_follow
from fhcrawl.spidermiddlewares.commit import CommitMiddleware
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from fhcrawl.crawling.pending import PendingDocument
    from fhcrawl.logical_feed.results import DocumentResult, Fetch
    from fhcrawl.store import DocumentRef, Store

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
        self._crawler = crawler

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
        connect(middleware.document_committed, signal=signals.document_committed)
        return middleware

    def spider_opened(self, spider: Spider) -> None:
        """Start anew, if that is asked for."""
        if self.reset or not self._enabled or getattr(spider, "deltafetch_reset", False):
            extension = StoreExtension.of(self._crawler)
            try:
                feeds = getattr(spider, "feeds", ())
            except StoreError as error:
                extension.fail(error)
            else:
                extension.forget(feeds)

    def document_committed(self, result: DocumentResult) -> None:
        """Count the documents that are marked."""
        if self.stats and result.fetch.role is Role.ARCHIVE and result.failure is None:
            self.stats.inc_value("deltafetch/stored")

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Replace or drop the requests for documents that are processed."""
        async for output in result:
            if isinstance(output, Request) and self._is_enabled_for_request(output):
                followed = self._follow(output, response)
                if followed is not None:
                    yield followed
            else:
                yield output

    def _get_key(self, request: Request) -> str:
        # Not the URL of a request that may have been redirected: the one that was asked for.
        return str(request.meta.get(DELTAFETCH_KEY) or context_of(request).requested_url)

    # RFC 5005, 4.2: "This process should be repeated recursively until the client encounters a
    # prev-archive link relation that has been processed". That would lose what is behind it when a run
    # has died: a processed document ends the walk only if all documents behind it are processed.
    def _follow(self, request: Request, response: Response) -> Request | None:
        key, context = self._get_key(request), context_of(request)
        run = context.walk.run
        pending = CommitMiddleware.of(self._crawler).find(response)
        if pending is not None:
            pending.note_older_key(key)
            if _is_key_of(pending, key):
                self._loop(request, pending)
                return None
        if context.role is Role.PART:
            # A list names all its documents: the store has been asked for the first one already.
            return request
        if context.role is Role.PAGE:
            return self._follow_page(request, response, pending, key)
        end = self._store.documents.find_end(context.walk.feed, key, Role.ARCHIVE, run)
        if end is None:
            return request
        if end.loop or _is_read(end.step, pending, run):
            self._loop(request, pending)
            return None
        if end.step is None or end.step.key != key:
            self._skip(request)
        return None if end.step is None else self._replace(request, end.step, key)

    def _replace(self, request: Request, step: DocumentRef, key: str) -> Request:
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
        self, request: Request, response: Response, pending: PendingDocument | None, key: str
    ) -> Request | None:
        context = context_of(request)
        feed, run = context.walk.feed, context.walk.run
        if _is_read(self._store.documents.find(feed, key), pending, run):
            self._loop(request, pending)
            return None
        if pending is not None and pending.result is not None:
            if context_of(response).left_over or self._is_left_over(pending.result.fetch):
                pending.note_left_over()
                return with_context(request, replace(context, left_over=True))
            if must_follow(pending.result, pending.batch.stored):
                return request
        end = self._store.documents.find_end(feed, key, Role.PAGE, run)
        if end is None or end.loop or end.step is not None:
            return request
        self._skip(request)
        return None

    def _is_left_over(self, fetch: Fetch) -> bool:
        """Whether a page that is being read was left unread by an earlier walk."""
        step = self._store.documents.find(fetch.feed, fetch.key)
        if step is None or step.role is not Role.PAGE or step.is_processed:
            return False
        return step.position.walk < fetch.position.walk

    def _skip(self, request: Request) -> None:
        logger.debug("Already processed: %s", printable(context_of(request).requested_url))
        if self.stats:
            self.stats.inc_value("deltafetch/skipped")

    def _loop(self, request: Request, pending: PendingDocument | None) -> None:
        context = context_of(request)
        if pending is None:
            logger.warning("The chain of %s is a loop", printable(context.walk.feed))
        else:
            pending.end_in_loop(printable(context.requested_url))


def _is_key_of(pending: PendingDocument, key: str) -> bool:
    return pending.fetch is not None and pending.fetch.key == key


def _is_read(step: DocumentRef | None, pending: PendingDocument | None, run: int) -> bool:
    """Whether a document has been read in this run already, or is being read."""
    is_pending = step is not None and pending is not None and _is_key_of(pending, step.key)
    return is_pending or (step is not None and step.run == run)


def _request(request: Request, step: DocumentRef, via: str | None) -> Request:
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
    context = replace(context, requested_url=step.url, position=step.position, via=via, newer=newer)
    # Behind archives that are read there may be a page. That stays one: it may change.
    if step.role is Role.PAGE:
        context = replace(context, role=Role.PAGE, left_over=True)
    return with_context(request, context, **request_target(step.url, context.walk), meta=meta)
