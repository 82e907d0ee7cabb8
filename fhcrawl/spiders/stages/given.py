"""An older document of a feed whose URL the user gave, because the links do not lead to it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from fhcrawl.crawling import requests
from fhcrawl.logical_feed import ChainPosition, Role
from fhcrawl.spiders.stages.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request

    from fhcrawl.crawling.feedcrawl import FeedCrawl
    from fhcrawl.spiders.stages.stage import Rows

logger = logging.getLogger(__name__)


class Given(Stage):
    """Reads the document as an archive. `Chain` processes the response, and follows the links.

    No document of the chain links to it, so that it does not change the verdict; it becomes a part of the
    chain if one does later.
    """

    @property
    def rows(self) -> Rows:
        return {}

    def begin(self, feed: FeedCrawl) -> Iterator[Request]:
        url, documents = getattr(self._crawler.spider, "archive", None), self._store.documents
        known = None if url is None else documents.find(feed.url, url)
        if url is None or (known is not None and known.run == feed.walk.run):
            return
        chain, _ = documents.read_chain(feed.url)
        if not chain and not documents.count_shown(feed.url):
            logger.warning("%s is not requested: the feed %s has not been read", url, feed.url)
        elif known is None:
            last = (
                ChainPosition(chain[-1].walk, chain[-1].step) if chain else ChainPosition(feed.walk.number, 0)
            )
            yield requests.given_archive(feed.walk, url, last.older_position())
        elif known.role is Role.ARCHIVE:
            yield requests.given_archive(feed.walk, url, known.position)
