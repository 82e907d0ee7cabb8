"""Runs the item pipelines, and tells when an entry is through all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import pipelines
from scrapy.exceptions import DropItem

from fhcrawl.items import EntryVersion

if TYPE_CHECKING:
    from collections.abc import Callable


class ItemPipelineManager(pipelines.ItemPipelineManager):
    """Scrapy's, with a word to the entry's visit at the end: accepted, dropped, or lost to an error.

    The signals item_scraped, item_dropped and item_error say the same, at the price of a task for each
    item and receiver.
    """

    async def process_item_async(self, item: Any) -> Any:
        """Pass an item through all pipelines.

        :raises DropItem: if one of them drops it
        """
        if not isinstance(item, EntryVersion):
            return await super().process_item_async(item)
        settle: Callable[..., None] = item.visit.settle
        try:
            output = await super().process_item_async(item)
        except DropItem:
            settle()
            raise
        except Exception as error:
            settle(error=error)
            raise
        settle(output)
        return output
