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
    from collections.abc import Coroutine, Iterable

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
    """Skips the hosts that can be sent no request now; the other ones take turns.

    The hosts of a registered domain are taken for one server: together they get as many requests at a time as
    one host, or one after the domain has asked for a pause. They share a turn.

    The domain with the most requests has every second turn, because the crawl cannot end before its feeds. In
    the downloader, requests that wait for their host would use up CONCURRENT_REQUESTS and stop all other
    hosts. Scrapy's queue looks at all hosts for each request.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The keys of slots with requests, by domain, in the order of their turns.
        self._domains: dict[str, dict[str, None]] = {}
        for key in self.pqueues:
            self._add(key)
        given = self.crawler.settings.getdict("DOWNLOAD_SLOTS").items()
        self._concurrency = {key: int(slot["concurrency"]) for key, slot in given if "concurrency" in slot}
        self._fullest: str | None = None
        self._last: str | None = None
        self._turns = 0  # left until the domain with the most requests is determined again

    def push(self, request: Request) -> None:
        """Add a request."""
        super().push(request)
        self._add(self.crawler.engine.downloader.get_slot_key(request))

    def _add(self, key: str) -> None:
        self._domains.setdefault(_turn_of(key), {})[key] = None

    def pop(self) -> Request | None:
        """Return the next request; None if every host with requests is busy or delayed."""
        downloader = self.crawler.engine.downloader
        # `downloader.active`: requests that wait for a robots.txt are not in the slot of their host yet.
        active = Counter(map(downloader.get_slot_key, downloader.active))
        of_domains = _active_domains(downloader, active)
        free = (
            (domain, key)
            for domain in chain(self._first(), self._domains)
            for key in self._allowed(domain, of_domains[domain])
            if _is_free(downloader, key, active[key])
        )
        domain, key = next(free, (None, None))
        if domain is None or key is None:
            return None
        self._turns -= 1
        self._last = domain
        others = self.pqueues
        self.pqueues = {key: others.pop(key)}
        try:
            return super().pop()
        finally:
            # A host with more requests goes to the end, and so does its domain: it is the others' turn.
            keys = self._domains.pop(domain)
            del keys[key]
            others.update(self.pqueues)
            keys.update(dict.fromkeys(self.pqueues))
            self.pqueues = others
            if keys:
                self._domains[domain] = keys

    def _first(self) -> list[str]:
        """Return the domain with the most requests (determined once a round), unless it had the last turn."""
        if self._turns <= 0:
            self._turns = len(self.pqueues)
            self._fullest = max(self._domains, key=self._count, default=None)
        is_its_turn = self._fullest in self._domains and self._fullest != self._last
        return [self._fullest] if self._fullest is not None and is_its_turn else []

    def _count(self, domain: str) -> int:
        return sum(len(self.pqueues[key]) for key in self._domains[domain])

    def _allowed(self, domain: str, active: int) -> Iterable[str]:
        """Return the keys of the slots of a domain to which it allows one more request.

        :param active: how many requests it has
        """
        downloader, keys = self.crawler.engine.downloader, self._domains[domain]
        until = pauses(downloader).get(host_of(domain))
        if until is not None:
            return keys if not active and until <= monotonic() else ()
        if active < downloader.domain_concurrency:
            return keys
        return [key for key, most in self._concurrency.items() if key in keys and active < most]


def _turn_of(key: str) -> str:
    """Return whose turn a slot has: that of its registered domain; the index of a web archive has its own."""
    host, slash, rest = key.partition("/")
    return f"{registered_domain(host)}{slash}{rest}"


def _active_domains(downloader: downloader.Downloader, active: Counter[str]) -> Counter[str]:
    """Return how many requests registered domains have, without those of hosts that do not answer."""
    domains: Counter[str] = Counter()
    now, paused = monotonic(), pauses(downloader)
    for key, number in active.items():
        turn, slot = _turn_of(key), downloader.slots.get(key)
        is_slow = slot is not None and bool(slot.transferring) and now - slot.lastseen > SLOW
        if not is_slow or host_of(turn) in paused:
            domains[turn] += number
    return domains


def _is_free(downloader: downloader.Downloader, host: str, active: int) -> bool:
    slot = downloader.slots.get(host)
    if slot is None:
        given = downloader.per_slot_settings.get(host, {})
        return bool(active < given.get("concurrency", downloader.domain_concurrency))
    waits = slot.lastseen + slot.delay - monotonic() if slot.delay else 0.0
    return active < slot.concurrency and waits <= ENGINE_LOOKS_AGAIN
