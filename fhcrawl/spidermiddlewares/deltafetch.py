"""Skips archives that are already processed, down to the first one that is not."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import scrapy_deltafetch
from scrapy import Request
from scrapy import signals as scrapy_signals

from fhcrawl import signals
from fhcrawl.crawling import requests
from fhcrawl.crawling.context import DELTAFETCH_KEY, context_of, feed_of, with_context
from fhcrawl.crawling.requests import fetch_from_response
from fhcrawl.exceptions import StoreError
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.results import joins, must_follow
from fhcrawl.spidermiddlewares.commit import CommitMiddleware
from fhcrawl.spiders.walk import Walk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from fhcrawl.logical_feed.results import DocumentResult, Fetch
    from fhcrawl.pipelines import PendingDocument
    from fhcrawl.store import DocumentRef

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
        self._store = StoreExtension.of(crawler).store
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
                extension.forget(feeds)

    def document_committed(self, result: DocumentResult) -> None:
        if self.stats and result.fetch.role is Role.ARCHIVE and result.failure is None:
            self.stats.inc_value("deltafetch/stored")

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        async for output in result:
            if isinstance(output, Request) and feed_of(output) and self._is_enabled_for_request(output):
                followed = self._request_to_follow(output, response)
                if followed is not None:
                    yield followed
            else:
                yield output

    def _get_key(self, request: Request) -> str:
        # Not `request.url`, which may be the target of a redirect.
        return str(request.meta.get(DELTAFETCH_KEY) or context_of(request).requested_url)

    # RFC 5005, 4.2: "This process should be repeated recursively until the client encounters a
    # prev-archive link relation that has been processed". That would lose older documents if a run died: a
    # processed document ends the walk only if all older documents are processed.
    def _request_to_follow(self, request: Request, response: Response) -> Request | None:
        key, context = self._get_key(request), context_of(request)
        pending = CommitMiddleware.of(self._crawler).find(response)
        if pending is not None:
            pending.update_result(older_key=key)
            if _is_key_of(pending, key):
                self._note_loop(request, pending)
                return None
        if context.role is Role.PART:
            # The spider requests only unprocessed documents of a list.
            return request
        if context.role is Role.PAGE:
            return self._follow_page(request, response, pending, key)
        return self._follow_archive(request, pending, key)

    def _follow_archive(self, request: Request, pending: PendingDocument | None, key: str) -> Request | None:
        context = context_of(request)
        feed, run = context.walk.feed, context.walk.run
        chain_end = self._store.documents.find_end(feed, key, Role.ARCHIVE, run)
        if chain_end is None:
            return request
        if (chain_end.is_loop and chain_end.unread is None) or _was_read(chain_end.unread, pending, run):
            self._note_loop(request, pending, keeps_link=chain_end.unread is not None)
            return None
        is_read = chain_end.unread is None or chain_end.unread.key != key
        # An archive that may have grown; the commit of the newer document marks it as unread.
        result = None if pending is None else pending.result
        has_joined = pending is None or result is None or joins(result, pending.batch.stored)
        checked = None if is_read and has_joined else self._store.documents.find_checked_by_key(feed, key)
        if checked is not None:
            return requests.again_conditionally(request, checked)
        if is_read:
            self._skip(request)
        return None if chain_end.unread is None else self._replace(request, chain_end.unread, key)

    def _replace(self, request: Request, older: DocumentRef, key: str) -> Request:
        context, find_referrer = context_of(request), self._store.documents.find_referrer
        via = context.via if older.key == key else find_referrer(context.walk.feed, older.key)
        return requests.in_place_of(request, older, via)

    # Pages change, and their entries move to later pages, so a processed page does not end the walk. It
    # ends only after a page without changes, if all later pages have been read. It does not end after a page
    # that an earlier walk left unread: the new entries of that time have moved to an unknown page.
    def _follow_page(
        self, request: Request, response: Response, pending: PendingDocument | None, key: str
    ) -> Request | None:
        context = context_of(request)
        feed, run = context.walk.feed, context.walk.run
        if _was_read(self._store.documents.find(feed, key), pending, run):
            self._note_loop(request, pending)
            return None
        result = None if pending is None else pending.result
        follows = pending is not None and result is not None and must_follow(result, pending.batch.stored)
        chain_end = None if follows else self._store.documents.find_end(feed, key, Role.PAGE, run)
        is_chain_read = chain_end is not None and chain_end.unread is None and not chain_end.is_loop
        if chain_end is not None and chain_end.unread is not None and chain_end.is_behind_empty:
            # The pages up to that one were read without news, and are not read again.
            return self._replace(request, chain_end.unread, key)
        if pending is not None and result is not None:
            is_left_over = context_of(response).left_over or self._is_left_over(result.fetch)
            if is_left_over or (is_chain_read and self._has_other_count(result)):
                pending.update_result(is_left_over=True)
                return with_context(request, replace(context, left_over=True))
            if follows:
                return request
        if not is_chain_read:
            return request
        self._skip(request)
        # No page is left to be read: the walk ends.
        fetch = fetch_from_response(response)
        walk = Walk.of(self._crawler)
        requests_at_end = walk.end(fetch, response, is_unchanged=pending is None)
        last_request = next(walk.growing_page(context.walk), None) or next(requests_at_end, None)
        return last_request and last_request.replace(callback=request.callback, errback=request.errback)

    def _has_other_count(self, result: DocumentResult) -> bool:
        if result.fetch.role is Role.SUBSCRIPTION and result.total is None:
            return False
        return self._store.feeds.has_other_count(result.fetch.feed, result.total)

    def _is_left_over(self, fetch: Fetch) -> bool:
        document = self._store.documents.find(fetch.feed, fetch.key)
        if document is None or document.role is not Role.PAGE:
            return False
        return document.position.walk < fetch.position.walk

    def _skip(self, request: Request) -> None:
        logger.debug("Already processed: %s", context_of(request).requested_url)
        if self.stats:
            self.stats.inc_value("deltafetch/skipped")

    def _note_loop(self, request: Request, pending: PendingDocument | None, keeps_link: bool = False) -> None:
        context = context_of(request)
        if pending is None:
            logger.warning("The chain of %s is a loop", context.walk.feed)
        else:
            pending.end_in_loop(context.requested_url, keeps_link)


def _is_key_of(pending: PendingDocument, key: str) -> bool:
    return pending.fetch is not None and pending.fetch.key == key


def _was_read(document: DocumentRef | None, pending: PendingDocument | None, run: int) -> bool:
    is_pending = document is not None and pending is not None and _is_key_of(pending, document.key)
    return is_pending or (document is not None and document.run == run)
