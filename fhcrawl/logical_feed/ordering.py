"""The order of versions (RFC 5005, 4.2), by times as they are claimed and by those that count.

Pure: values in, values out; the latest time that counts is the clock.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.documents.dates import shift

if TYPE_CHECKING:
    from fhcrawl.logical_feed import ChainPosition

CLOCK_TOLERANCE_SECONDS = 24 * 60 * 60


class Order(NamedTuple):
    """What versions of an entry are compared by, in this order; the greater is the newer.

    Times are comparable strings, '' for none. `tombstone` is 1 for a deletion, which at the same time is
    newer than what it deletes. `position` is 0 for a document's first entry, then -1, …

    The store keeps orders with the times that documents claim. Two orders are compared when both have only
    the times that count: see `counted`.
    """

    time: str
    tombstone: int
    document_time: str
    walk: int
    step: int
    position: int

    # A wrong clock must not win for ever: neither a publisher's, which is ahead, nor that of the machine that
    # reads what it wrote. So a time is judged when orders are compared, and not when it was read. At any one
    # clock this maps orders to tuples, whose order is total and transitive.
    def counted(self, latest: str) -> Order:
        """The order by the times that count: an entry whose own does not count has its document's.

        :param latest: the latest time that counts, of `latest_time`
        """
        if self.time <= latest and self.document_time <= latest:
            return self
        document_time = self.document_time if self.document_time <= latest else ""
        time = self.time if self.time <= latest else document_time
        return self._replace(time=time, document_time=document_time)

    def uncounted(self, latest: str) -> str | None:
        """The earlier one of the times that do not count; None if both do."""
        return min((time for time in (self.time, self.document_time) if time > latest), default=None)


def latest_time(now: str) -> str:
    """The latest time that counts at a time: a day later, comparable."""
    return comparable(shift(now, CLOCK_TOLERANCE_SECONDS))


def comparable(time: str | None) -> str:
    """A time as a string that sorts like the time; '' for none."""
    if time is None:
        return ""
    time = time.rstrip("Z")
    return time.rstrip("0").rstrip(".") if "." in time else time


_document_time = lru_cache(1)(comparable)  # It is the same for all entries of a document.


# RFC 5005, 4.2: "clients SHOULD consider only the most recently updated entry to be part of the logical
# feed. If duplicate entries have the same update time-stamp, or no time-stamps are available, the entry
# sourced from the most recently updated feed document SHOULD replace all other duplicates of that entry."
# Where that is silent too, the chain decides, and at last the position: the order is total.
def order(updated: str | None, document_updated: str | None, place: ChainPosition, position: int) -> Order:
    """The order of a version, with the times as they are claimed.

    :param updated: the entry's update time, ISO 8601 in UTC
    :param document_updated: its document's
    :param position: of the entry in its document, from 0
    """
    document_time = _document_time(document_updated)
    time = comparable(updated) or document_time
    return Order(time, 0, document_time, place.walk, place.step, -position)
