"""Parts of Scrapy's engine: its private attributes (Scrapy 2.19), the downloader, and the priority queue."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy.core import downloader
from scrapy.pqueues import DownloaderAwarePriorityQueue

from fhcrawl.core.components import check_components
from fhcrawl.utils.addresses import registered_domain

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

    def _get_slot(self, request: Request, *args: Any) -> tuple[str, Slot]:
        key, slot = super()._get_slot(request, *args)
        _delay(slot, pauses(self).get(domain_of(key), 0.0))
        return key, slot

    def _wait_for_download(
        self, slot: Slot, request: Request, queue_dfd: Deferred[Response]
    ) -> Coroutine[Any, Any, None]:
        slot.transferring.add(request)
        return super()._wait_for_download(slot, request, queue_dfd)


# Between two requests of a slot: smaller than any useful delay. A slot without a delay ignores `lastseen`.
SMALLEST_DELAY = 0.001
_pauses: WeakKeyDictionary[downloader.Downloader, dict[str, float]] = WeakKeyDictionary()


def pauses(downloader: downloader.Downloader) -> dict[str, float]:
    """Return until when the servers of registered domains have asked for no requests, by `monotonic`.

    A domain that has asked once stays there: its hosts get one request at a time.
    """
    return _pauses.setdefault(downloader, {})


def pause(downloader: downloader.Downloader, key: str, seconds: float) -> None:
    """Send no requests to the hosts of a registered domain for some time.

    :param key: of the slot of one of these hosts
    """
    domain, known = domain_of(key), pauses(downloader)
    known[domain] = max(known.get(domain, 0.0), monotonic() + seconds)
    for other, slot in downloader.slots.items():
        if domain_of(other) == domain:
            _delay(slot, known[domain])


def _delay(slot: Slot, until: float) -> None:
    if until > 0:
        slot.concurrency, slot.delay = 1, max(slot.delay, SMALLEST_DELAY)
        slot.lastseen = max(slot.lastseen, until)


def domain_of(key: str) -> str:
    """Return the registered domain of the host of a slot."""
    return registered_domain(host_of(key))


def host_of(key: str) -> str:
    """Return the host of a slot; a host can have several (`context.INDEX_SLOT`)."""
    return key.partition("/")[0]


# Seconds between the engine's looks at the scheduler; shorter delays pass in the downloader's slot.
ENGINE_LOOKS_AGAIN = 5.0
# Seconds after which a host that has not answered no longer delays the other hosts of its domain.
SLOW = 10.0


class PoliteQueue(DownloaderAwarePriorityQueue):
    """Skips the hosts that can be sent no request now; the other hosts take turns.

    The hosts of a registered domain are taken for one server: together they get as many requests at a time as
    one host, or one after the domain has asked for a pause.

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
        domains = _active_domains(downloader, active)
        now, paused = monotonic(), pauses(downloader)

        def is_free(host: str) -> bool:
            domain = domain_of(host)
            others = 0 if host != host_of(host) else domains[domain]
            until = paused.get(domain)
            if others and (until is not None or others >= _most(downloader, host)):
                return False
            return (until or 0.0) <= now and _is_free(downloader, host, active[host])

        host = next(filter(is_free, chain(self._first(), self.pqueues)), None)
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


def _active_domains(downloader: downloader.Downloader, active: Counter[str]) -> Counter[str]:
    """Return how many requests registered domains have, without those of hosts that do not answer."""
    domains: Counter[str] = Counter()
    now, paused = monotonic(), pauses(downloader)
    for key, number in active.items():
        domain, slot = domain_of(key), downloader.slots.get(key)
        is_slow = slot is not None and bool(slot.transferring) and now - slot.lastseen > SLOW
        # The index of a web archive has a pace of its own.
        if key == host_of(key) and (domain in paused or not is_slow):
            domains[domain] += number
    return domains


def _most(downloader: downloader.Downloader, host: str) -> int:
    """Return how many requests a registered domain may have at a time, for one more to this host."""
    given = downloader.per_slot_settings.get(host, {})
    return max(downloader.domain_concurrency, int(given.get("concurrency", 0)))


def _is_free(downloader: downloader.Downloader, host: str, active: int) -> bool:
    slot = downloader.slots.get(host)
    if slot is None:
        given = downloader.per_slot_settings.get(host, {})
        return bool(active < given.get("concurrency", downloader.domain_concurrency))
    waits = slot.lastseen + slot.delay - monotonic() if slot.delay else 0.0
    return active < slot.concurrency and waits <= ENGINE_LOOKS_AGAIN
