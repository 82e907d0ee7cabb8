"""The hosts that the user gave, and whether they had special addresses when they were first read.

A name that resolved to a public address when the user gave it may later resolve to this machine or its
network. The kind of its first addresses is stored with the feed, and carried by the requests of its walks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.utils.addresses import literal, origin, special_name

if TYPE_CHECKING:
    from fhcrawl.crawling.context import WalkContext
    from fhcrawl.store import Subscription

# The bits of `feeds.special`, which is NULL until the feed's host has been looked up.
FEED, SNAPSHOT = 1, 2


def urls(walk: WalkContext) -> list[str]:
    """Return the URLs that the user gave: the feed's, and the snapshot's if there is one."""
    return [walk.feed, *filter(None, [walk.options.snapshot])]


def is_fixed(host: str) -> bool:
    """Return whether a host always has the same address: it is an IP address, or a name of this machine."""
    return special_name(host) or literal(host) is not None


def from_store(known: Subscription, index: str | None) -> dict[str, bool]:
    """Return what the store knows of the hosts that the user gave, as `WalkContext.special_hosts`.

    :param index: URL of the index of the snapshot that the feed continues
    """
    if known.special is None:
        return {}
    found = {}
    snapshot = known.snapshot
    if snapshot is not None and snapshot.is_read and snapshot.url == index:
        found[origin(snapshot.url).host] = bool(known.special & SNAPSHOT)
    return {**found, origin(known.feed).host: bool(known.special & FEED)}


def to_store(walk: WalkContext) -> int | None:
    """Return the value of `feeds.special`; None if there is nothing to store."""
    special = walk.special_hosts
    if not special:
        return None
    feed, *snapshot = (origin(url).host for url in urls(walk))
    if feed not in special:
        return None
    return FEED * special[feed] + SNAPSHOT * any(special.get(host) for host in snapshot)
