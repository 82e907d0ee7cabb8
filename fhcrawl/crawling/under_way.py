"""Counts the unfinished requests of each feed's walk."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fhcrawl.crawling.context import feed_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from scrapy import Request


class UnderWay:
    """Counts, for each feed, the requests of its walk that are in the scheduler or in progress in the engine.

    A request is in progress until everything that it causes is done: the requests that replace it (redirects,
    retries) or follow it are in the scheduler, its entries have passed the pipelines, and `CommitMiddleware`
    has the store's answer. So a feed without requests is done. Requests that are made without the scheduler
    (robots.txt) write nothing to the store, and are not counted.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._in_hand: dict[Request, str] = {}
        self._done: list[str] = []

    def wait(self, request: Request) -> None:
        """Count a request that is in the scheduler."""
        feed = feed_of(request)
        if feed is not None:
            self._counts[feed] += 1

    def take(self, request: Request) -> None:
        """Note that the engine takes a request from the scheduler."""
        feed = feed_of(request)
        if feed is not None:
            self._in_hand[request] = feed

    def end(self, in_hand: Container[Request]) -> None:
        """Forget the requests that have ended.

        :param in_hand: the requests that are in progress
        """
        for request in [request for request in self._in_hand if request not in in_hand]:
            self._end(self._in_hand.pop(request))

    def done(self, in_hand: Container[Request]) -> list[str]:
        """Return the feeds that have been done since the last call; each once.

        :param in_hand: the requests that are in progress
        """
        self.end(in_hand)
        # A feed may have new requests since then: those for captures.
        done = [feed for feed in dict.fromkeys(self._done) if feed not in self._counts]
        self._done = []
        return done

    def is_busy(self, feed: str) -> bool:
        """Return whether a feed has requests, or `done` has not returned it yet."""
        return feed in self._counts or feed in self._done

    @contextmanager
    def begun(self, feed: str) -> Iterator[None]:
        """Keep a feed from being done inside a `with` block, in which more requests are made."""
        self._counts[feed] += 1
        try:
            yield
        finally:
            self._end(feed)

    def _end(self, feed: str) -> None:
        self._counts[feed] -= 1
        if not self._counts[feed]:
            del self._counts[feed]
            self._done.append(feed)
