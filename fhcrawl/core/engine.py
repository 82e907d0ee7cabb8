"""The downloader, the priority queue and the scheduler."""

from __future__ import annotations

import contextlib
import logging
import shutil
from collections import Counter
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.core import downloader, scheduler
from scrapy.pqueues import DownloaderAwarePriorityQueue

from fhcrawl.core.components import check_components
from fhcrawl.crawling.compat import check_private_names, is_closing
from fhcrawl.crawling.pauses import delay_slot, domain_of, host_of, pauses
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.utils.addresses import registered_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator

    from scrapy import Request, Spider
    from scrapy.core.downloader import Slot
    from scrapy.core.engine import ExecutionEngine
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.defer import Deferred

logger = logging.getLogger(__name__)


# No signal reports that a request has left the scheduler, or that it has ended.
def requests_in_progress(engine: ExecutionEngine | None) -> set[Request]:
    return set() if engine is None or engine._slot is None else engine._slot.inprogress


# Scrapy can exceed the limit per host: one loop sends the queued requests of a slot and looks at
# `slot.transferring`, to which asyncio tasks add their requests only after the loop.
class Downloader(downloader.Downloader):
    def __init__(self, crawler: Crawler) -> None:
        check_private_names()
        check_components(crawler.settings)
        super().__init__(crawler)
        crawler.signals.connect(self.request_reached_downloader, signal=signals.request_reached_downloader)

    def request_reached_downloader(self, request: Request) -> None:
        key = self.get_slot_key(request)
        delay_slot(self.slots[key], pauses(self).get(domain_of(key), 0.0))

    def _wait_for_download(
        self, slot: Slot, request: Request, queue_dfd: Deferred[Response]
    ) -> Coroutine[Any, Any, None]:
        slot.transferring.add(request)
        return super()._wait_for_download(slot, request, queue_dfd)


# Seconds between the engine's looks at the scheduler; shorter delays pass in the downloader's slot.
ENGINE_LOOKS_AGAIN = 5.0
# Seconds after which a host that has not answered no longer delays the other hosts of its domain.
SLOW = 10.0


# Scrapy's queue also returns requests that have to wait for their host; in the downloader, these would use up
# CONCURRENT_REQUESTS and stop all other hosts. And it looks at all hosts for each request.
class PoliteQueue(DownloaderAwarePriorityQueue):
    """Skips the hosts that can be sent no request now; the other ones take turns.

    The hosts of a registered domain count as one server and share a turn. The domain with the most
    requests has every second turn, because the crawl cannot end before its feeds.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The keys of slots with requests, by domain, in the order of their turns.
        self._domains: dict[str, dict[str, None]] = {}
        for key in self.pqueues:
            self._add(key)
        slots = self.crawler.settings.getdict("DOWNLOAD_SLOTS").items()
        self._concurrency = {key: int(slot["concurrency"]) for key, slot in slots if "concurrency" in slot}
        self._fullest: str | None = None
        self._last: str | None = None
        self._turns = 0  # left until the domain with the most requests is determined again

    def push(self, request: Request) -> None:
        super().push(request)
        self._add(self.crawler.engine.downloader.get_slot_key(request))

    def _add(self, key: str) -> None:
        self._domains.setdefault(_domain_of_turn(key), {})[key] = None

    def pop(self) -> Request | None:
        downloader = self.crawler.engine.downloader
        # `downloader.active`: requests that wait for a robots.txt are not in the slot of their host yet.
        active = Counter(map(downloader.get_slot_key, downloader.active))
        of_domains = _count_active(downloader, active)
        free = (
            (domain, key)
            for domain in chain(self._fullest_if_its_turn(), self._domains)
            for key in self._keys_to_send(domain, of_domains[domain])
            if _is_free(downloader, key, active[key])
        )
        domain, key = next(free, (None, None))
        if domain is None or key is None:
            return None
        self._turns -= 1
        self._last = domain
        queues = self.pqueues
        self.pqueues = {key: queues.pop(key)}
        try:
            return super().pop()
        finally:
            # A host with more requests goes to the end of the queue, and so does its domain.
            keys = self._domains.pop(domain)
            del keys[key]
            queues.update(self.pqueues)
            keys.update(dict.fromkeys(self.pqueues))
            self.pqueues = queues
            if keys:
                self._domains[domain] = keys

    def _fullest_if_its_turn(self) -> list[str]:
        def count(domain: str) -> int:
            return sum(len(self.pqueues[key]) for key in self._domains[domain])

        if self._turns <= 0:
            self._turns = len(self.pqueues)
            self._fullest = max(self._domains, key=count, default=None)
        is_its_turn = self._fullest in self._domains and self._fullest != self._last
        return [self._fullest] if self._fullest is not None and is_its_turn else []

    def _keys_to_send(self, domain: str, active: int) -> Iterable[str]:
        downloader, keys = self.crawler.engine.downloader, self._domains[domain]
        until = pauses(downloader).get(host_of(domain))
        if until is not None:
            return keys if not active and until <= monotonic() else ()
        if active < downloader.domain_concurrency:
            return keys
        return [key for key, limit in self._concurrency.items() if key in keys and active < limit]


# The hosts of a registered domain share a turn, separately for each kind of slot.
def _domain_of_turn(key: str) -> str:
    host, slash, rest = key.partition("/")
    return f"{registered_domain(host)}{slash}{rest}"


def _count_active(downloader: downloader.Downloader, active: Counter[str]) -> Counter[str]:
    domains: Counter[str] = Counter()
    now, paused = monotonic(), pauses(downloader)
    for key, number in active.items():
        turn, slot = _domain_of_turn(key), downloader.slots.get(key)
        is_slow = slot is not None and bool(slot.transferring) and now - slot.lastseen > SLOW
        if not is_slow or host_of(turn) in paused:
            domains[turn] += number
    return domains


def _is_free(downloader: downloader.Downloader, host: str, active: int) -> bool:
    slot = downloader.slots.get(host)
    if slot is None:
        slot_settings = downloader.per_slot_settings.get(host, {})
        return bool(active < slot_settings.get("concurrency", downloader.domain_concurrency))
    waits = slot.lastseen + slot.delay - monotonic() if slot.delay else 0.0
    return active < slot.concurrency and waits <= ENGINE_LOOKS_AGAIN


# Scrapy's scheduler does not know which requests belong together.
class Scheduler(scheduler.Scheduler):
    def open(self, spider: Spider) -> Deferred[None] | None:
        self._engine = spider.crawler.engine
        extension = StoreExtension.of(spider.crawler)
        self._under_way = extension.under_way
        self._last_requests: list[Request] = []
        # The requests that follow when a feed has no request left.
        self._follow: Callable[[Request], Iterable[Request]] | None = getattr(spider, "follow", None)
        self.spider = spider
        resumed = extension.resume(self._take_queued())
        opened = super().open(spider)
        # Each priority is a stack. The duplicate filter has seen these requests.
        for request in reversed(resumed):
            self._dqpush(request)
            self._under_way.note_scheduled(request)
        return opened

    # Scrapy writes what a queue consists of when a crawl is stopped. Without the files, a process that is
    # killed later leaves no queue, rather than parts of one.
    def _take_queued(self) -> list[Request]:
        if self.dqdir is None:
            return []
        try:
            with contextlib.closing(self._dq()) as queue:
                return list(iter(queue.pop, None))
        except Exception as error:  # noqa: BLE001 - of a damaged file, or a pickle of another version
            logger.warning("%s cannot be read (%r): its feeds begin again", self.dqdir, error)
            return []
        finally:
            shutil.rmtree(self.dqdir)
            Path(self.dqdir).mkdir()

    def enqueue_request(self, request: Request) -> bool:
        waits = super().enqueue_request(request)
        if waits:
            self._under_way.note_scheduled(request)
        return waits

    def next_request(self) -> Request | None:
        self.note_ended()
        request = super().next_request()
        if request is not None:
            self._under_way.note_taken(request)
        return request

    # The engine asks this before it ends the crawl.
    def has_pending_requests(self) -> bool:
        self.note_ended()
        return super().has_pending_requests()

    def note_ended(self) -> None:
        self._last_requests += self._under_way.note_ended(requests_in_progress(self._engine))
        if self._engine is not None and not is_closing(self._engine):
            for request in self._following():
                self._engine.crawl(request)

    def _following(self) -> Iterator[Request]:
        last_requests, self._last_requests = self._last_requests, []
        if self._follow is not None:
            yield from chain.from_iterable(map(self._follow, last_requests))

    def close(self, reason: str) -> Deferred[None] | None:
        self.note_ended()
        if self.dqs is not None:
            # Feeds that were between two stages continue with the next one.
            for request in self._following():
                self.enqueue_request(request)
        return super().close(reason)

    def done(self) -> list[str]:
        """Return the feeds that have been done since the last call."""
        self.note_ended()
        return self._under_way.pop_done()
