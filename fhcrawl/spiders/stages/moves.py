"""The new URL of a feed that its subscription document names (itunes:new-feed-url)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fhcrawl.crawling import reading, requests
from fhcrawl.crawling.context import context_of, request_of
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.logical_feed import results
from fhcrawl.spiders.stages.stage import Row, Stage
from fhcrawl.utils.addresses import normalised

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response

    from fhcrawl.crawling.feedcrawl import FeedCrawl
    from fhcrawl.logical_feed.results import DocumentFailure, Fetch
    from fhcrawl.spiders.stages.stage import Rows

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Move:
    """A request for the subscription document at the URL that another document names."""


# Like a permanent redirect (RFC 9110, 15.4.9) if the same feed is there.
class Moves(Stage):
    """Requests a feed at its new URL, where the next run begins if it has at least one known entry."""

    @property
    def rows(self) -> Rows:
        return {Move: Row(self._parse, self._lose)}

    def begin(self, feed: FeedCrawl) -> Iterator[Request]:
        if feed.walk.move is not None:
            via, url = feed.walk.move
            yield requests.of_task(feed.walk, url, Move(), via)

    def _parse(self, feed: FeedCrawl, fetch: Fetch, response: Response) -> Iterator[Request]:
        via = context_of(response).via
        try:
            document = self._reader.read(response)
        except NotAFeedError as error:
            failure = reading.parse_failure(response, error)
            yield from self._lose(feed, fetch, request_of(response), failure)
            return
        if via in (fetch.location, fetch.url):  # a redirect to where the feed is
            return
        ids = {results.identity(entry, document, feed.walk.options.ids) for entry in document.entries}
        if not self._store.entries.find_winners(fetch.feed, list(filter(None, ids)), fetch.latest):
            self._stay(fetch, via, "has none of its entries")
        elif normalised(document.new_url or "") == normalised(via or ""):
            self._stay(fetch, via, "says the reverse")
        else:
            logger.info("%s has moved to %s", fetch.feed, fetch.location, extra={"is_for_users": True})
            with self._unless_taken(fetch.feed):
                self._store.feeds.note_move(fetch.feed, fetch.location)

    def _lose(
        self, feed: FeedCrawl, fetch: Fetch, request: Request, failure: DocumentFailure
    ) -> Iterator[Request]:
        self._stay(fetch, context_of(request).via, failure.detail)
        yield from ()

    def _stay(self, fetch: Fetch, via: str | None, reason: str) -> None:
        message = "%s says that the feed has moved to %s, which %s; it is read where it was"
        logger.warning(message, via, fetch.requested_url, reason)
        # The next run tries again, whether or not the document has changed.
        with self._unless_taken(fetch.feed):
            self._store.feeds.note_move(fetch.feed, None)
