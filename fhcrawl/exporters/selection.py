"""Selects what an export contains: entries by date and category, gaps, tombstones."""

from __future__ import annotations

from typing import Any, NamedTuple

from fhcrawl.logical_feed.ordering import comparable


class Selection(NamedTuple):
    """Conditions that an entry must meet.

    :param since: lower bound of its update time, or of its publication time if it has none; ISO 8601 in
        UTC, '' for no bound. An entry with neither time matches no bound
    :param until: exclusive upper bound of that time
    :param categories: categories of which it must have one; empty for no condition
    """

    since: str = ""
    until: str = ""
    categories: frozenset[str] = frozenset()

    def __call__(self, fields: dict[str, Any]) -> bool:
        """Return whether an entry meets the conditions."""
        if self.categories and self.categories.isdisjoint(fields["categories"]):
            return False
        if not (self.since or self.until):
            return True
        time = comparable(fields["updated"] or fields["published"])
        is_early_enough = not self.until or time < comparable(self.until)
        return bool(time) and time >= comparable(self.since or None) and is_early_enough


class Wanted(NamedTuple):
    """The parts of a feed to write.

    :param gaps: write a pseudo-entry for each reason of its verdict
    :param tombstones: write a tombstone for each deleted entry
    :param all_feeds: all feeds in the store are written
    """

    chosen: Selection = Selection()
    gaps: bool = False
    tombstones: bool = False
    all_feeds: bool = False
