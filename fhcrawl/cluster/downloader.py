"""A downloader that sends a request to a host only while no other worker does."""

from __future__ import annotations

import asyncio
from collections import Counter
from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import DownloadTimeoutError
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import inlineCallbacks

from fhcrawl.cluster.extension import ClusterExtension
from fhcrawl.cluster.politeness import PolitenessMiddleware
from fhcrawl.core import engine
from fhcrawl.exceptions import ClusterError

if TYPE_CHECKING:
    from collections.abc import Generator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.defer import Deferred

# Interval between attempts to claim a host that another worker has.
TURN_SECONDS = 0.25


class Downloader(engine.Downloader):
    """fhcrawl's downloader; it owns a host from the request until the middlewares have seen the response.

    The queue claims the host of each request that it gives. A robots.txt is nearly always at such a host; for
    another host, its request waits until it can be claimed.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._turn_seconds = crawler.settings.getfloat("DOWNLOAD_TIMEOUT")
        self._has: set[str] = set()
        self._asking: Counter[str] = Counter()

    @property
    def hosts(self) -> list[str]:
        """The hosts that this worker owns."""
        return sorted(self._has)

    def has_host(self, host: str) -> None:
        """Record that this worker owns a host."""
        self._has.add(host)

    @inlineCallbacks
    def fetch(  # type: ignore[override]  # Scrapy's has a deprecated argument
        self, request: Request
    ) -> Generator[Deferred[Any], Any, Response | Request]:
        """Fetch while this worker owns the host."""
        host = self.get_slot_key(request)
        if host not in self._has:
            yield deferred_from_coro(self._wait_for(host))
        self._asking[host] += 1
        try:
            fetched: Response | Request = yield super().fetch(request)
            return fetched
        finally:
            self._asking[host] -= 1
            if not self._asking[host]:
                del self._asking[host]
                self._leave(host)

    async def _wait_for(self, host: str) -> None:
        """:raises DownloadTimeoutError: after DOWNLOAD_TIMEOUT; two workers may wait for each other"""
        extension = ClusterExtension.of(self.crawler)
        until = monotonic() + self._turn_seconds
        while host not in self._has and not extension.board.take_host(host):
            if monotonic() > until:
                raise DownloadTimeoutError(f"another worker asks {host} all the time")
            await asyncio.sleep(TURN_SECONDS)
        self._has.add(host)

    def _leave(self, host: str) -> None:
        self._has.discard(host)
        politeness = self.crawler.get_downloader_middleware(PolitenessMiddleware)
        asks = "" if politeness is None else politeness.asks(host)
        extension = ClusterExtension.of(self.crawler)
        try:
            extension.board.leave_host(host, self._wait(host), asks)
        except ClusterError as error:
            extension.lose_board(error)

    def _wait(self, host: str) -> float:
        """Return the delay before the next request, in seconds.

        The delay begins now and not, as in one process, when this request was sent: the time that it took to
        reach the host is not known.
        """
        slot = self.slots.get(host)
        if slot is None or not slot.delay:
            return 0.0
        return max(0.0, slot.lastseen - monotonic()) + slot.download_delay()
