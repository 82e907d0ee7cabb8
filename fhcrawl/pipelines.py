"""Drops duplicate and stale versions of entries, and passes on the newest ones."""

from __future__ import annotations

from scrapy.exceptions import DropItem

from fhcrawl.core.item_processor import EntryVersion
from fhcrawl.logical_feed import Outcome, Winner, decide
from fhcrawl.logical_feed.versions import have_same_files

STATS = {outcome: f"fhcrawl/entry/{outcome.value}" for outcome in Outcome}


class DuplicatesPipeline:
    """Compares each version with the newest one so far (RFC 5005, 4.2).

    Stale versions are added to the batch too; FHCRAWL_KEEP_VERSIONS_ENABLED stores them.
    """

    def process_item(self, item: object) -> object:
        """Pass on an entry that is new or updated.

        :raises DropItem: if it is neither
        """
        if not isinstance(item, EntryVersion):
            return item
        version, batch = item.version, item.pending.batch
        winner = batch.winners.get(version.id)
        outcome = decide(version, winner)
        batch.counts[STATS[outcome]] += 1
        if outcome in (Outcome.NEW, Outcome.UPDATED):
            batch.winners[version.id] = Winner(version.over(winner).order, version.digest)
            item.change = outcome.value
            return item
        if outcome is Outcome.STALE:
            batch.supersede(version, vars(item))
        if winner is not None and outcome is Outcome.DUPLICATE and version.order.is_newer(winner.order):
            version = version.over(winner)
            batch.winners[version.id] = winner._replace(order=version.order)
            same = {} if have_same_files(winner, item.enclosures) else {"enclosures": None}
            batch.confirmed[version.id] = (version, {**vars(item), **same})
        raise DropItem(f"{outcome.value} version of {version.id!r}", log_level="DEBUG")
