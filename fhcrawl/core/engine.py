"""Parts of Scrapy's engine: its private attributes (Scrapy 2.19), the downloader, and the priority queue."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy.core import downloader
from scrapy.pqueues import DownloaderAwarePriorityQueue

from fhcrawl.core.components import check_components

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from scrapy import Request
    from scrapy.core.downloader import Slot
    from scrapy.core.engine import ExecutionEngine
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.defer import Deferred


def requests_in_progress(engine: ExecutionEngine | None) -> set[Request]:
    """Return the requests that have left the scheduler and have not ended.

    A signal for the end of a request could replace it: `request_left_downloader` is sent before the callback.
    """
    slot = _slot(engine)
    return set() if slot is None else slot.inprogress


def is_closing(engine: ExecutionEngine | None) -> bool:
    """Return whether the engine takes no more requests."""
    slot = _slot(engine)
    return slot is None or slot.closing is not None


def _slot(engine: ExecutionEngine | None) -> Any:
    return None if engine is None else engine._slot


class Downloader(downloader.Downloader):
    """Counts a request as being transferred before its task starts.

    Scrapy 2.19 can exceed the limit per host: one loop sends the queued requests of a slot and looks at
    `slot.transferring`, to which asyncio tasks add their requests only after the loop.

    :raises ArgumentError: if the crawl lacks a component that it needs, because another add-on has removed it
    """

    def __init__(self, crawler: Crawler) -> None:
        check_components(crawler.settings)
        super().__init__(crawler)

    def _wait_for_download(
        self, slot: Slot, request: Request, queue_dfd: Deferred[Response]
    ) -> Coroutine[Any, Any, None]:
        slot.transferring.add(request)
        return super()._wait_for_download(slot, request, queue_dfd)


# Seconds between the engine's looks at the scheduler; shorter delays pass in the downloader's slot.
ENGINE_LOOKS_AGAIN = 5.0


class PoliteQueue(DownloaderAwarePriorityQueue):
    """Skips the hosts that can be sent no request now; the other hosts take turns.

    The host with the most requests has every second turn, because the crawl cannot end before that host's
    feeds. In the downloader, requests that wait for their host would use up CONCURRENT_REQUESTS and stop all
    other hosts. Scrapy's queue looks at all hosts for each request.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._fullest: str | None = None
        self._last: str | None = None
        self._turns = 0  # left until the host with the most requests is determined again

    def pop(self) -> Request | None:
        """Return the next request; None if every host with requests is busy or delayed."""
        downloader = self.crawler.engine.downloader
        # `downloader.active`: requests that wait for a robots.txt are not in the slot of their host yet.
        active = Counter(map(downloader.get_slot_key, downloader.active))
        hosts = chain(self._first(), self.pqueues)
        host = next((host for host in hosts if _is_free(downloader, host, active[host])), None)
        if host is None:
            return None
        self._turns -= 1
        self._last = host
        others = self.pqueues
        self.pqueues = {host: others.pop(host)}
        try:
            return super().pop()
        finally:
            # A host with more requests goes to the end: it is the others' turn.
            others.update(self.pqueues)
            self.pqueues = others

    def _first(self) -> list[str]:
        """Return the host with the most requests (determined once a round), unless it had the last turn."""
        if self._turns <= 0:
            self._turns = len(self.pqueues)
            self._fullest = max(self.pqueues, key=lambda host: len(self.pqueues[host]), default=None)
        is_its_turn = self._fullest in self.pqueues and self._fullest != self._last
        return [self._fullest] if self._fullest is not None and is_its_turn else []


def _is_free(downloader: downloader.Downloader, host: str, active: int) -> bool:
    slot = downloader.slots.get(host)
    if slot is None:
        given = downloader.per_slot_settings.get(host, {})
        return bool(active < given.get("concurrency", downloader.domain_concurrency))
    waits = slot.lastseen + slot.delay - monotonic() if slot.delay else 0.0
    return active < slot.concurrency and waits <= ENGINE_LOOKS_AGAIN
