"""The captures of feeds in WARC files, in the order in which a crawl reads them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from fhcrawl.crawling import requests
from fhcrawl.logical_feed import Kind, Role
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy import Request

    from fhcrawl.crawling.context import WalkContext
    from fhcrawl.store import Store

logger = logging.getLogger(__name__)


class CaptureQueue:
    """Finds the captures of the documents that a feed has had.

    :param files: paths of the WARC files
    """

    def __init__(self, files: Sequence[str], store: Store) -> None:
        # Only now, since few crawls read captures.
        from fhcrawl.warc.captures import Captures

        self._captures = Captures(files)
        self._store = store

    async def open(self) -> None:
        """Read which captures there are."""
        count = await run_in_thread(self._captures.build)
        logger.info("Captures in the WARC files: %d", count)

    def want_chain(self, feed: str) -> None:
        """Queue the captures of the documents of a feed's chain."""
        # RFC 5005, 2: an entry that is not in the document is not part of the feed, even if it was before.
        if self._store.feeds.read_kind(feed) is Kind.COMPLETE:
            logger.info("%s is a complete feed: no capture of it is read", printable(feed))
            return
        for url, role in self._store.documents.read_urls(feed):
            self.want(feed, url, int(role is not Role.SUBSCRIPTION))

    def want(self, feed: str, url: str, depth: int) -> None:
        """Queue the captures of a document.

        :param depth: number of links between a subscription document and it
        """
        self._captures.want(feed, url, depth)

    def next(self, walk: WalkContext) -> Iterator[Request]:
        """Yield the request for the next capture of a feed, if there is one."""
        found = self._captures.next(walk.feed)
        if found is not None:
            yield requests.capture(found, walk)

    def close(self) -> None:
        """Close the index of the files."""
        self._captures.close()
