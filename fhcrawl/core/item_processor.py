"""Runs the item pipelines, and notifies the entry's document of the outcome."""

from __future__ import annotations

import logging
from asyncio import CancelledError
from typing import Any

from scrapy import pipelines
from scrapy.exceptions import DropItem

from fhcrawl.crawling.pending import DROPPED, EntryVersion
from fhcrawl.extensions.feedexport import ItemExporter

logger = logging.getLogger(__name__)


class ItemPipelineManager(pipelines.ItemPipelineManager):
    """Calls the entry's document when the entry is accepted, dropped, or lost to an error."""

    _has_noted = False

    async def process_item_async(self, item: Any) -> Any:
        """Pass an item through all pipelines.

        :raises DropItem: if one of them drops it
        """
        if not isinstance(item, EntryVersion):
            output = await super().process_item_async(item)
            self._note_unexported(item)
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

    def _note_unexported(self, item: Any) -> None:
        """Log, once, that an item is in no export."""
        crawler = self.crawler
        if crawler is None or self._has_noted or not crawler.settings.getdict("FEEDS"):
            return
        self._has_noted = True
        if crawler.get_extension(ItemExporter) is None:
            logger.warning(
                "Items of type %s are not exported, because -o exports only entries of feeds; to export "
                "them, add a destination with item_classes to FEEDS",
                type(item).__name__,
            )
