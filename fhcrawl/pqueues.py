"""Which request comes next: one of a host that has none under way and does not wait."""

from __future__ import annotations

from collections import Counter
from time import monotonic
from typing import TYPE_CHECKING

from scrapy.pqueues import DownloaderAwarePriorityQueue

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.core.downloader import Downloader

# The engine looks again as often as this; a shorter wait is waited for in the downloader.
ENGINE_LOOKS_AGAIN = 5.0


class PoliteQueue(DownloaderAwarePriorityQueue):
    """Scrapy's, without the hosts that can take no request now; the others take turns.

    In the downloader, requests that wait for their host would take the places of CONCURRENT_REQUESTS,
    and stop all other hosts. Scrapy's looks at all hosts for each request.
    """

    def pop(self) -> Request | None:
        """The next request; None if every host that there is one for is busy or waits."""
        downloader: Downloader = self.crawler.engine.downloader
        # Those that wait for a robots.txt have not reached the slot of their host yet.
        active = Counter(map(downloader.get_slot_key, downloader.active))
        host = next((host for host in self.pqueues if _is_free(downloader, host, active[host])), None)
        if host is None:
            return None
        others = self.pqueues
        self.pqueues = {host: others.pop(host)}
        try:
            return super().pop()
        finally:
            # At the end, if it has more: it is the others' turn.
            others.update(self.pqueues)
            self.pqueues = others


def _is_free(downloader: Downloader, host: str, active: int) -> bool:
    slot = downloader.slots.get(host)
    if slot is None:
        given = downloader.per_slot_settings.get(host, {})
        return bool(active < given.get("concurrency", downloader.domain_concurrency))
    waits = slot.lastseen + slot.delay - monotonic() if slot.delay else 0.0
    return active < slot.concurrency and waits <= ENGINE_LOOKS_AGAIN
