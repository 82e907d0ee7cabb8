"""The captures of feeds in WARC files, in the order in which the spider requests them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from fhcrawl.crawling import requests
from fhcrawl.crawling.context import WalkContext
from fhcrawl.exceptions import StoreError
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import Kind, Role
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler

    from fhcrawl.crawling.subscriptions import Listed

logger = logging.getLogger(__name__)


class CaptureQueue:
    """Makes the requests for captures.

    :param files: paths of the WARC files
    :param feeds: the feeds of the crawl
    """

    def __init__(self, crawler: Crawler, files: Sequence[str], feeds: Listed) -> None:
        # Scrapy imports this module in each crawl; few read captures.
        from fhcrawl.warc.captures import Captures

        self._extension = StoreExtension.of(crawler)
        self._captures = Captures(files)
        self._feeds = feeds

    async def build(self) -> None:
        """Read the index of the files."""
        count = await run_in_thread(self._captures.build)
        logger.info("Captures in the WARC files: %d", count)

    def close(self) -> None:
        """Close the index."""
        self._captures.close()

    def first(self) -> list[Request]:
        """Return the requests for the first capture of each feed."""
        try:
            for feed in self._feeds:
                if feed not in self._extension.skipped_feeds:
                    self._want_known(feed)
        except StoreError as error:
            self._extension.fail(error)
            return []
        first = [request for feed in self._feeds for request in self.next(feed)]
        if self._feeds and not first:
            logger.warning("No capture of these feeds is in the WARC files", extra={"is_for_users": True})
        return first

    def _want_known(self, feed: str) -> None:
        store = self._extension.store
        # RFC 5005, 2: an entry that is not in the document is not part of the feed, even if it was before.
        if store.feeds.read_kind(feed) is Kind.COMPLETE:
            logger.info("%s is a complete feed: no capture of it is read", printable(feed))
            return
        for url, role, _state in store.documents.read_urls(feed):
            self._captures.want(feed, url, int(role is not Role.SUBSCRIPTION))

    def want(self, feed: str, url: str, depth: int) -> None:
        """Add the captures of a document that a capture leads to.

        :param depth: number of links from a subscription document to it
        """
        self._captures.want(feed, url, depth)

    def next(self, feed: str) -> Iterator[Request]:
        """Yield the request for the next capture of a feed, if there is one."""
        found = self._captures.next(feed)
        if found is not None:
            yield requests.capture(found, WalkContext(feed, self._extension.run, self._feeds[feed]))
