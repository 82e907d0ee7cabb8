"""Selects what an export contains: entries by date and category, pseudo-entries for gaps, tombstones."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

from fhcrawl.items import FIELDS
from fhcrawl.logical_feed.versions import comparable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fhcrawl.store import Feed


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


CATEGORY = "fhcrawl-gap"
TITLE = "Some entries may be missing"


# RFC 5005, 4.2: "Clients SHOULD warn users when they are not able to reconstruct the entire logical feed
# (e.g., by alerting the user that an archive document is unavailable, or displaying pseudo-entries that
# inform the user that some entries may be missing)."
def gap_entries(feed: Feed) -> Iterator[dict[str, Any]]:
    """Yield an entry for each reason of a feed's verdict; a reason has the same id in each export."""
    for reason in feed.reasons:
        name = "\n".join((feed.feed, reason.kind, reason.url))
        text = f"{reason.url} {reason.detail} (since {reason.since})"
        yield {
            **dict.fromkeys(FIELDS),
            "feed": feed.feed,
            "id": f"urn:sha256:{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}",
            "title": TITLE,
            "link": reason.url,
            "published": reason.since,
            "updated": reason.since,
            "authors": [],
            "categories": [CATEGORY],
            "summary": text,
            "enclosures": [],
            "document": feed.feed,
        }
