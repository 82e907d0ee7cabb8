"""The item pipelines: the one that drops duplicates, and what notifies documents of the outcome."""

from __future__ import annotations

import logging
from asyncio import CancelledError
from typing import Any

from scrapy import pipelines
from scrapy.exceptions import DropItem

from fhcrawl.crawling.pending import DROPPED, EntryVersion
from fhcrawl.extensions.feedexport import ItemExporter
from fhcrawl.logical_feed import Outcome, Winner, decide
from fhcrawl.logical_feed.versions import have_same_files

logger = logging.getLogger(__name__)

STATS = {outcome: f"fhcrawl/entry/{outcome.value}" for outcome in Outcome}


class DuplicatesPipeline:
    """Compares each version with the newest one so far (RFC 5005, 4.2).

    Stale versions are added to the batch too; FHCRAWL_KEEP_VERSIONS_ENABLED stores them.
    """

    def process_item(self, item: object) -> object:
        """Pass on an entry that is new or updated; raise DropItem if it is neither."""
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


# Scrapy reports each item, but not that all items of a response are done; nor does it report a lost item if
# that was cancelled.
class ItemPipelineManager(pipelines.ItemPipelineManager):
    """Calls the entry's document when the entry is accepted, dropped, or lost to an error."""

    _has_checked = False

    async def process_item_async(self, item: Any) -> Any:
        """Pass an item through all pipelines; raise DropItem if one of them drops it."""
        if not isinstance(item, EntryVersion):
            output = await super().process_item_async(item)
            self._warn_of_unexported(item)
            return output
        try:
            output = await super().process_item_async(item)
        except DropItem:
            item.pending.on_item_done(item.version, DROPPED, None)
            raise
        except CancelledError as error:
            # Something that a pipeline waits for was cancelled. Scrapy would end this response's task only.
            cancelled = RuntimeError("a pipeline was cancelled")
            item.pending.on_item_done(item.version, None, cancelled)
            raise cancelled from error
        except Exception as error:
            item.pending.on_item_done(item.version, None, error)
            raise
        item.pending.on_item_done(item.version, output, None)
        return output

    def _warn_of_unexported(self, item: Any) -> None:
        crawler = self.crawler
        if crawler is None or self._has_checked or not crawler.settings.getdict("FEEDS"):
            return
        self._has_checked = True
        if crawler.get_extension(ItemExporter) is None:
            logger.warning(
                "Items of type %s are not exported, because -o exports only entries of feeds; to export "
                "them, add a destination with item_classes to FEEDS",
                type(item).__name__,
            )
