"""Selects the entries of an export by date and category."""

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
