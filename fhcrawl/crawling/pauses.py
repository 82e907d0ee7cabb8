"""Pauses of servers: the times until which the hosts of a registered domain are sent no requests."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from fhcrawl.utils.addresses import registered_domain

if TYPE_CHECKING:
    from scrapy.core.downloader import Downloader, Slot

# Between two requests of a slot: smaller than any useful delay. A slot without a delay ignores `lastseen`.
SMALLEST_DELAY = 0.001
_pauses: WeakKeyDictionary[Downloader, dict[str, float]] = WeakKeyDictionary()


def pauses(downloader: Downloader) -> dict[str, float]:
    """Return, by registered domain, the `monotonic` time until which its servers accept no requests."""
    return _pauses.setdefault(downloader, {})


def pause(downloader: Downloader, key: str, seconds: float) -> None:
    """Send no requests to the registered domain of the host of a slot for some time."""
    domain, paused_until = domain_of(key), pauses(downloader)
    paused_until[domain] = max(paused_until.get(domain, 0.0), monotonic() + seconds)
    for slot_key, slot in downloader.slots.items():
        if domain_of(slot_key) == domain:
            delay_slot(slot, paused_until[domain])


def delay_slot(slot: Slot, until: float) -> None:
    if until > 0:
        slot.concurrency, slot.delay = 1, max(slot.delay, SMALLEST_DELAY)
        slot.lastseen = max(slot.lastseen, until)


def domain_of(key: str) -> str:
    return registered_domain(host_of(key))


def host_of(key: str) -> str:
    """Return the host of a slot; a host can have several (`context.INDEX_SLOT`)."""
    return key.partition("/")[0]
