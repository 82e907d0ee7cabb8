"""The hosts that the user gave, and whether they had special addresses when they were first read.

A name can lead to this machine or its network one day, though it did not when the user gave it. What it led
to when its feed was first read is kept with the feed, and goes with the requests of its walks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.utils.addresses import literal, origin, special_name

if TYPE_CHECKING:
    from fhcrawl.crawling.context import WalkContext
    from fhcrawl.store import Subscription

# The bits of `feeds.special`; it is NULL as long as the feed's host is not known.
FEED, SNAPSHOT = 1, 2


def urls(walk: WalkContext) -> list[str]:
    """The URLs that the user gave: the feed's, and that of a snapshot."""
    return [walk.feed, *filter(None, [walk.options.snapshot])]


def is_fixed(host: str) -> bool:
    """Whether a host leads to no other address than when it was given: it is one, or names this machine."""
    return special_name(host) or literal(host) is not None


def from_store(known: Subscription, index: str | None) -> dict[str, bool]:
    """What the store knows of the hosts that the user gave, as requests carry it.

    :param index: URL of the index of the snapshot that the feed goes on from
    """
    if known.special is None:
        return {}
    found = {}
    snapshot = known.snapshot
    if snapshot is not None and snapshot.is_read and snapshot.url == index:
        found[origin(snapshot.url).host] = bool(known.special & SNAPSHOT)
    return {**found, origin(known.feed).host: bool(known.special & FEED)}


def to_store(walk: WalkContext) -> int | None:
    """The value of `feeds.special`; None if there is nothing to be stored."""
    special = walk.special_hosts
    if not special:
        return None
    feed, *snapshot = (origin(url).host for url in urls(walk))
    if feed not in special:
        return None
    return FEED * special[feed] + SNAPSHOT * any(special.get(host) for host in snapshot)
