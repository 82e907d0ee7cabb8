"""The state of a feed in a crawl."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.crawling.context import with_learned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy import Request
    from scrapy.http import Response

    from fhcrawl.crawling.context import LastDocument, WalkContext
    from fhcrawl.logical_feed import Winner
    from fhcrawl.logical_feed.results import DocumentResult
    from fhcrawl.store import ChainEnd
    from fhcrawl.store.documents import NewerDocument


class ReadDocument(NamedTuple):
    """A document whose result is final.

    :param stored: the newest stored versions of its entries, by id
    :param behind: where the chain ends, from the document that it links to: `Documents.find_end`; None if the
        store does not have that document, or if it must be read anyway
    """

    result: DocumentResult
    stored: Mapping[str, Winner]
    behind: ChainEnd | None = None


@dataclass
class FeedCrawl:
    """The state of a feed in a crawl, for all stages.

    After a restart, it begins with the context of a request from the JOBDIR: what it has beyond `walk` is
    looked up again.

    :param walk: what the requests that are made next carry
    :param stage: the number of the stage that the feed is in
    :param read: the document that is being processed, if it was read
    :param newer: URL of a page, and the document that links to it
    :param is_chained: the feed has older documents, or may have some
    :param is_listed: the publisher has a list of the feed's entries, which was requested
    :param site: the site with whose sitemaps the feed is compared
    """

    walk: WalkContext
    stage: int = 0
    read: ReadDocument | None = None
    newer: tuple[str, NewerDocument] | None = None
    is_chained: bool = False
    is_listed: bool = False
    site: str | None = None

    @property
    def url(self) -> str:
        return self.walk.feed

    @property
    def last(self) -> LastDocument | None:
        return self.walk.last

    def end_at(self, last: LastDocument | None) -> None:
        """Note the last document of the walk; None if it was not read, or if an older one is to be read."""
        self.walk = replace(self.walk, last=last)

    def learn(self, source: Request | Response) -> None:
        """Keep what the downloader has learned, for the requests that follow."""
        self.walk = with_learned(self.walk, source)

    def count_octets(self, response: Response, size: int) -> None:
        """Count a document with the octets of its stored entries, if these are more (FHCRAWL_MAX_BYTES)."""
        if size > len(response.body):
            self.walk = replace(self.walk, octets=self.walk.octets + size - len(response.body))

    def find_newer(self, page: str) -> NewerDocument | None:
        """Return the document that links to a page, if it was read just before; it is returned once."""
        (url, newer), self.newer = self.newer or (None, None), None
        return newer if url == page else None
