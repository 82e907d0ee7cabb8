"""Which entries are written: by date and by category."""

from __future__ import annotations

from typing import Any, NamedTuple

from fhcrawl.logical_feed.ordering import comparable


class Selection(NamedTuple):
    """What an entry has to be.

    :param since: its update time, or where it has none its time of publication, is then or later; ISO 8601
        in UTC, '' for no bound. An entry without both is in no span of time
    :param until: that time is earlier
    :param categories: it has one of them; none for any
    """

    since: str = ""
    until: str = ""
    categories: frozenset[str] = frozenset()

    def __call__(self, fields: dict[str, Any]) -> bool:
        """Whether an entry is chosen."""
        if self.categories and self.categories.isdisjoint(fields["categories"]):
            return False
        if not (self.since or self.until):
            return True
        time = comparable(fields["updated"] or fields["published"])
        is_early_enough = not self.until or time < comparable(self.until)
        return bool(time) and time >= comparable(self.since or None) and is_early_enough


class Wanted(NamedTuple):
    """What is written of a feed.

    :param gaps: a pseudo-entry for each reason of its verdict too
    :param tombstones: the entries that have been deleted too
    :param all_feeds: it is of all feeds in the store
    """

    chosen: Selection = Selection()
    gaps: bool = False
    tombstones: bool = False
    all_feeds: bool = False
