"""The stages of a feed's crawl, in their order; `stages.chain` explains them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fhcrawl.crawling import requests
from fhcrawl.crawling.context import context_of
from fhcrawl.crawling.failures import document_failure, wait_of
from fhcrawl.crawling.feedcrawl import FeedCrawl
from fhcrawl.exceptions import LeaseError
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.listings import ListCheck
from fhcrawl.logical_feed.results import State
from fhcrawl.spiders.stages.captures import Captures
from fhcrawl.spiders.stages.chain import Chain
from fhcrawl.spiders.stages.confirmations import Confirmations
from fhcrawl.spiders.stages.given import Given
from fhcrawl.spiders.stages.moves import Moves
from fhcrawl.spiders.stages.posts import Posts
from fhcrawl.spiders.stages.rechecks import Rechecks
from fhcrawl.spiders.stages.sitemap_posts import SitemapPosts
from fhcrawl.spiders.stages.sitemaps import Sitemaps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from fhcrawl.crawling.context import RequestContext
    from fhcrawl.spiders.stages.names import BeginElsewhere
    from fhcrawl.spiders.stages.stage import Output, Stage

# The stages after the chain, in the order in which they begin.
STAGES: tuple[type[Stage], ...] = (
    Moves,
    Posts,
    Sitemaps,
    SitemapPosts,
    Rechecks,
    Confirmations,
    Given,
    Captures,
)


class Stages:
    """The stages of the feeds of a crawl. Its methods yield requests without callbacks, and entries.

    :param begin_elsewhere: as in `Names`
    """

    def __init__(self, crawler: Crawler, begin_elsewhere: BeginElsewhere) -> None:
        self._extension = StoreExtension.of(crawler)
        self._feeds = self._extension.feed_crawls
        chain = Chain(crawler, begin_elsewhere)
        self.names = chain.names
        self._stages: list[Stage] = [chain, *(stage(crawler) for stage in STAGES)]
        self._rows = {
            purpose: (number, row)
            for number, stage in enumerate(self._stages)
            for purpose, row in stage.rows.items()
        }

    async def open(self) -> None:
        for stage in self._stages:
            await stage.open()

    def close(self) -> None:
        for stage in self._stages:
            stage.close()

    def step(self, response: Response) -> Output:
        """Process a response: yield the requests that follow, then the document's entries."""
        context = context_of(response)
        feed = self._feed(context)
        feed.read = None
        feed.learn(response)
        _, row = self._rows[context.purpose]
        return row.parse(feed, requests.fetch_from_response(response), response)

    def fail(self, failure: Failure) -> Iterator[Request]:
        """Process a failed request: yield the requests that follow."""
        request = failure.request  # type: ignore[attr-defined]
        context, reason = context_of(request), document_failure(failure)
        feed = self._feed(context)
        feed.learn(request)
        if context.is_probe:
            # Not a failure of the feed; a later run tries again.
            reason = replace(reason, state=State.KNOWN)
        fetch = requests.fetch_from_request(request, wait_of(failure))
        if fetch.retry_after is not None and not context.is_of_capture:
            try:
                self._extension.store.feeds.postpone(fetch.feed, fetch.retry_after)
            except LeaseError as error:
                self._extension.yield_to_other(fetch.feed, error)
        _, row = self._rows[context.purpose]
        return row.lose(feed, fetch, request, reason)

    def follow(self, request: Request) -> Iterator[Request]:
        """Yield the first requests of the next stage of a feed; `request` was the last one of a stage."""
        feed = self._feed(context_of(request))
        while feed.stage + 1 < len(self._stages) and feed.url not in self._extension.skipped_feeds:
            feed.stage += 1
            try:
                first = list(self._stages[feed.stage].begin(feed))
            except LeaseError as error:
                self._extension.yield_to_other(feed.url, error)
                break
            if first:
                yield from first
                return
        del self._feeds[feed.url]

    def _feed(self, context: RequestContext) -> FeedCrawl:
        url = context.walk.feed
        if url not in self._feeds:
            number, _ = self._rows[context.purpose]
            # After a restart, what the feed has shown before is not known.
            is_first = number == 0 and context.role is Role.SUBSCRIPTION
            is_listed = context.purpose is ListCheck
            self._feeds[url] = FeedCrawl(context.walk, number, is_chained=not is_first, is_listed=is_listed)
        return self._feeds[url]
