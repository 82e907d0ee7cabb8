"""A priority queue that returns requests only of hosts that can be sent one now."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy.pqueues import DownloaderAwarePriorityQueue

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.core.downloader import Downloader

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
        downloader: Downloader = self.crawler.engine.downloader
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


def _is_free(downloader: Downloader, host: str, active: int) -> bool:
    slot = downloader.slots.get(host)
    if slot is None:
        given = downloader.per_slot_settings.get(host, {})
        return bool(active < given.get("concurrency", downloader.domain_concurrency))
    waits = slot.lastseen + slot.delay - monotonic() if slot.delay else 0.0
    return active < slot.concurrency and waits <= ENGINE_LOOKS_AGAIN
