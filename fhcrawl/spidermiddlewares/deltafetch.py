"""Skips archives that are already processed, down to the first one that is not."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import scrapy_deltafetch
from scrapy import Request
from scrapy import signals as scrapy_signals

from fhcrawl import signals
from fhcrawl.crawling import requests
from fhcrawl.crawling.context import DELTAFETCH_ENABLED, DELTAFETCH_KEY, context_of, feed_of
from fhcrawl.exceptions import StoreError
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.results import joins, must_follow

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from fhcrawl.crawling.feedcrawl import ReadDocument
    from fhcrawl.logical_feed.results import DocumentResult
    from fhcrawl.store import ChainEnd, DocumentRef

logger = logging.getLogger(__name__)


class DeltaFetch(scrapy_deltafetch.DeltaFetch):  # type: ignore[misc]
    """scrapy-deltafetch on fhcrawl's store.

    Differences: a document is marked when its entries are committed, not when an item is yielded; a skipped
    archive is replaced by the next older one that has not been processed; and with DELTAFETCH_ENABLED off,
    every document is fetched once in each run.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._enabled = crawler.settings.getbool("DELTAFETCH_ENABLED")
        stats = crawler.stats if self._enabled else None
        super().__init__(dir=None, reset=crawler.settings.getbool("DELTAFETCH_RESET"), stats=stats)
        extension = StoreExtension.of(crawler)
        self._store, self._feeds = extension.store, extension.feed_crawls
        self._crawler = crawler
        crawler.signals.connect(self.spider_opened, signal=scrapy_signals.spider_opened)
        crawler.signals.connect(self.document_committed, signal=signals.document_committed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def spider_opened(self, spider: Spider) -> None:
        if self.reset or not self._enabled or getattr(spider, "deltafetch_reset", False):
            extension = StoreExtension.of(self._crawler)
            try:
                feeds = getattr(spider, "feeds", ())
            except StoreError as error:
                extension.fail(error)
            else:
                extension.forget(feed for feed in feeds if feed not in extension.resumed_feeds)

    def document_committed(self, result: DocumentResult) -> None:
        if self.stats and result.fetch.role is Role.ARCHIVE and result.failure is None:
            self.stats.inc_value("deltafetch/stored")

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        async for output in result:
            if isinstance(output, Request) and feed_of(output) and output.meta.get(DELTAFETCH_ENABLED, True):
                followed = self._request_to_follow(output)
                if followed is not None:
                    yield followed
            else:
                yield output

    def _key_of(self, request: Request) -> str:
        # Not `request.url`, which may be the target of a redirect.
        return str(request.meta.get(DELTAFETCH_KEY) or context_of(request).requested_url)

    # RFC 5005, 4.2: "This process should be repeated recursively until the client encounters a
    # prev-archive link relation that has been processed". That would lose older documents if a run died: a
    # processed document ends the walk only if all older documents are processed.
    def _request_to_follow(self, request: Request) -> Request | None:
        """Return the request for an older document, or for another one in its place; None to skip it."""
        context, key = context_of(request), self._key_of(request)
        if context.role is Role.PART:
            # The spider requests only unprocessed documents of a list.
            return request
        feed = self._feeds.get(context.walk.feed)
        read = None if feed is None else feed.read
        if context.role is Role.PAGE:
            return self._follow_page(request, read, key)
        return self._follow_archive(request, read, key)

    def _follow_archive(self, request: Request, read: ReadDocument | None, key: str) -> Request | None:
        chain_end = self._find_end(request, key) if read is None else read.behind
        if chain_end is None:
            return request
        if _was_read(chain_end, context_of(request).walk.run):
            return None
        is_read = chain_end.unread is None or chain_end.unread.key != key
        # An archive that may have grown; the commit of the newer document marks it as unread.
        has_joined = read is None or joins(read.result, read.stored)
        if not (is_read and has_joined):
            checked = self._store.documents.find_checked_by_key(context_of(request).walk.feed, key)
            if checked is not None:
                return requests.again_conditionally(request, checked)
        if is_read:
            self._skip(request)
        return None if chain_end.unread is None else self._replace(request, chain_end.unread, key)

    def _find_end(self, request: Request, key: str) -> ChainEnd | None:
        context = context_of(request)
        return self._store.documents.find_end(context.walk.feed, key, context.role, context.walk.run)

    def _replace(self, request: Request, older: DocumentRef, key: str) -> Request:
        context, find_referrer = context_of(request), self._store.documents.find_referrer
        via = context.via if older.key == key else find_referrer(context.walk.feed, older.key)
        return requests.in_place_of(request, older, via)

    # Pages change, and their entries move to later pages, so a processed page does not end the walk. It
    # ends only after a page without changes, if all later pages have been read. It does not end after a page
    # that an earlier walk left unread: the new entries of that time have moved to an unknown page.
    def _follow_page(self, request: Request, read: ReadDocument | None, key: str) -> Request | None:
        if read is not None and must_follow(read.result, read.stored):
            return request
        chain_end = self._find_end(request, key) if read is None else read.behind
        if chain_end is None:
            return request
        if read is None and _was_read(chain_end, context_of(request).walk.run):
            return None
        if chain_end.unread is not None and chain_end.is_behind_empty:
            # The pages up to that one were read without news, and are not read again.
            return self._replace(request, chain_end.unread, key)
        if chain_end.unread is not None or chain_end.is_loop or context_of(request).left_over:
            return request
        # No page is left to be read: the walk ends.
        self._skip(request)
        return None

    def _skip(self, request: Request) -> None:
        logger.debug("Already processed: %s", context_of(request).requested_url)
        if self.stats:
            self.stats.inc_value("deltafetch/skipped")


def _was_read(chain_end: ChainEnd, run: int) -> bool:
    return chain_end.is_loop if chain_end.unread is None else chain_end.unread.run == run
