"""Counts what is not finished of each feed's walk."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fhcrawl.crawling.context import feed_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from scrapy import Request


class UnderWay:
    """Counts, for each feed, the requests of its walk that wait in the scheduler or are in the engine's hand.

    The engine has a request in its hand until all that came of it is done: the requests that replace it
    (redirects, retries) or follow it are in the scheduler, its entries are through the pipelines, and
    `CommitMiddleware` has the store's answer. So a feed that has none of them is done. Requests that are made
    without the scheduler (robots.txt, what is fetched ahead) write nothing of a feed, and do not count.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._in_hand: dict[Request, str] = {}
        self._done: list[str] = []

    def wait(self, request: Request) -> None:
        """A request waits in the scheduler."""
        feed = feed_of(request)
        if feed is not None:
            self._counts[feed] += 1

    def take(self, request: Request) -> None:
        """The engine takes a request from the scheduler."""
        feed = feed_of(request)
        if feed is not None:
            self._in_hand[request] = feed

    def end(self, in_hand: Container[Request]) -> None:
        """Forget the requests that have ended.

        :param in_hand: the requests that are in the engine's hand
        """
        for request in [request for request in self._in_hand if request not in in_hand]:
            self._end(self._in_hand.pop(request))

    def done(self, in_hand: Container[Request]) -> list[str]:
        """The feeds of which nothing is left to do; each once.

        :param in_hand: the requests that are in the engine's hand
        """
        self.end(in_hand)
        # More may have been asked of one since then, as captures are.
        done = [feed for feed in dict.fromkeys(self._done) if feed not in self._counts]
        self._done = []
        return done

    @contextmanager
    def begun(self, feed: str) -> Iterator[None]:
        """A feed that is not done, whatever becomes of its requests, since more may follow."""
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
