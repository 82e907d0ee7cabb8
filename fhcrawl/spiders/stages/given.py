"""An older document of a feed whose URL the user gave, because the links do not lead to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.crawling import requests
from fhcrawl.logical_feed import ChainPosition, Role
from fhcrawl.spiders.stages.stage import Stage
from fhcrawl.store import DocumentRef

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request

    from fhcrawl.crawling.feedcrawl import FeedCrawl
    from fhcrawl.spiders.stages.stage import Rows


class Given(Stage):
    """Reads the document as an archive, unless the feed was never read; `Chain` processes the response.

    It does not change the verdict until a document of the chain links to it.
    """

    @property
    def rows(self) -> Rows:
        return {}

    def begin(self, feed: FeedCrawl) -> Iterator[Request]:
        url, documents = getattr(self._crawler.spider, "archive", None), self._store.documents
        if url is None:
            return
        given, (chain, _) = documents.find(feed.url, url), documents.read_chain(feed.url)
        if given is None and (chain or documents.count_shown(feed.url)):
            last = (
                ChainPosition(chain[-1].walk, chain[-1].step) if chain else ChainPosition(feed.walk.number, 0)
            )
            given = DocumentRef(url, url, Role.ARCHIVE, last.older_position())
        if given is not None and given.role is Role.ARCHIVE and given.run != feed.walk.run:
            yield requests.unlinked(given, feed.walk)
