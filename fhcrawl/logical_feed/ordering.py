"""The order of versions (RFC 5005, 4.2), with or without times that are in the future.

Pure: values in, values out; the latest time to take into account serves as the clock.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.documents.dates import shift

if TYPE_CHECKING:
    from fhcrawl.logical_feed import ChainPosition

CLOCK_TOLERANCE_SECONDS = 24 * 60 * 60


class Order(NamedTuple):
    """The sort key of an entry's versions; the greater is the newer.

    Times are comparable strings, '' for none. `tombstone` is 1 for a deletion, which is newer than an entry
    with the same time. `position` is 0 for a document's first entry, then -1, …

    The store keeps orders with all times that documents claim. Before two orders are compared, times that are
    in the future are removed from both: see `counted`.
    """

    time: str
    tombstone: int
    document_time: str
    walk: int
    step: int
    position: int

    # A wrong clock must not decide for ever, neither the publisher's nor that of the machine that read the
    # document. So times are judged when orders are compared, and not when they are read. For any one `latest`
    # this maps orders to tuples, whose order is total and transitive.
    def counted(self, latest: str) -> Order:
        """Return the order without times after `latest`; the document's time replaces the entry's.

        :param latest: as `latest_time` returns it
        """
        if self.time <= latest and self.document_time <= latest:
            return self
        document_time = self.document_time if self.document_time <= latest else ""
        time = self.time if self.time <= latest else document_time
        return self._replace(time=time, document_time=document_time)

    def uncounted(self, latest: str) -> str | None:
        """Return the earlier of the times after `latest`; None if there is none."""
        return min((time for time in (self.time, self.document_time) if time > latest), default=None)


def latest_time(now: str) -> str:
    """Return the latest time to take into account: a day after `now`, comparable."""
    return comparable(shift(now, CLOCK_TOLERANCE_SECONDS))


def comparable(time: str | None) -> str:
    """Return a time as a string that sorts like the time; '' for None."""
    if time is None:
        return ""
    time = time.rstrip("Z")
    return time.rstrip("0").rstrip(".") if "." in time else time


_document_time = lru_cache(1)(comparable)  # All entries of a document share it.


# RFC 5005, 4.2: "clients SHOULD consider only the most recently updated entry to be part of the logical
# feed. If duplicate entries have the same update time-stamp, or no time-stamps are available, the entry
# sourced from the most recently updated feed document SHOULD replace all other duplicates of that entry."
# Where that does not decide, the chain does, and at last the position: the order is total.
def order(updated: str | None, document_updated: str | None, place: ChainPosition, position: int) -> Order:
    """Return the order of a version, by the times that its document claims.

    :param updated: the entry's update time, ISO 8601 in UTC
    :param document_updated: its document's update time
    :param position: index of the entry in its document, from 0
    """
    document_time = _document_time(document_updated)
    time = comparable(updated) or document_time
    return Order(time, 0, document_time, place.walk, place.step, -position)
