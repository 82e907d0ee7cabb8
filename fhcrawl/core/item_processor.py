"""Runs the item pipelines, and notifies the entry's document of the outcome."""

from __future__ import annotations

import logging
from asyncio import CancelledError
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy import pipelines, signals
from scrapy.exceptions import DropItem
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.log import logformatter_adapter

from fhcrawl.core.logformatter import LogFormatter
from fhcrawl.crawling.pending import DROPPED
from fhcrawl.extensions.itemexport import ItemExporter
from fhcrawl.items import EntryItem, EntryVersion

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.http import Response

logger = logging.getLogger(__name__)

SCRAPED = "item_scraped_count"
ITEM_SIGNALS = (signals.item_scraped, signals.item_dropped, signals.item_error)


class ItemPipelineManager(pipelines.ItemPipelineManager):
    """Calls the entry's document when the entry is accepted, dropped, or lost to an error.

    The signals item_scraped, item_dropped and item_error would cost a task for each item and receiver.
    Therefore it also counts what Scrapy's CoreStats counts in their handlers. Items of a spider's own take
    Scrapy's way.
    """

    _has_noted = False

    async def process_item_async(self, item: Any) -> Any:
        """Pass an item through all pipelines.

        :raises DropItem: if one of them drops it
        """
        if not isinstance(item, EntryVersion):
            return await self._process_own(item)
        try:
            output = await super().process_item_async(item)
        except DropItem as dropped:
            _drop(item, dropped)
            raise
        except CancelledError as error:
            # Something that a pipeline waits for was cancelled. Scrapy would end this response's task only.
            cancelled = RuntimeError("a pipeline was cancelled")
            item.pending.on_item_done(item.version, None, cancelled)
            raise cancelled from error
        except Exception as error:
            item.pending.on_item_done(item.version, None, error)
            raise
        _accept(item, output)
        return output

    async def _process_own(self, item: Any) -> Any:
        """Pass an item of a spider's own through all pipelines."""
        try:
            output = await super().process_item_async(item)
        except DropItem as dropped:
            _count_dropped(self._count, dropped)
            raise
        self._count(SCRAPED)
        self._note_unexported(item)
        return output

    def _count(self, name: str) -> None:
        if self.crawler is not None:
            self.crawler.stats.inc_value(name)

    def _note_unexported(self, item: Any) -> None:
        """Log, once, that an item is in no export."""
        crawler = self.crawler
        if crawler is None or self._has_noted or not crawler.settings.getdict("FEEDS"):
            return
        self._has_noted = True
        if crawler.get_extension(ItemExporter) is None:
            logger.warning(
                "Items like %s are not exported: -o has the entries of feeds; FEEDS can name a place for "
                "others, with item_classes",
                type(item).__name__,
            )

    def is_plain(self) -> bool:
        """Return whether `process_now` is equivalent to Scrapy's way, which takes several times as long.

        It is if no pipeline is asynchronous or has an argument `spider`, no handler is connected to the
        signals of items, and items are not logged.
        """
        methods = self.methods["process_item"]
        formatter = None if self.crawler is None else self.crawler.logformatter
        return (
            isinstance(formatter, LogFormatter)
            and not formatter.each_item
            and self._mw_methods_requiring_spider.isdisjoint(methods)
            and not any(iscoroutinefunction(method) for method in methods)
            and not any(list(liveReceivers(getAllReceivers(self.crawler, s))) for s in ITEM_SIGNALS)
        )

    async def process_now(self, item: EntryVersion, response: Response) -> None:
        """Pass an entry through all pipelines, and do what Scrapy's scraper does with the outcome."""
        output: Any = item
        try:
            for method in self.methods["process_item"]:
                output = method(output)  # type: ignore[misc]
                if not isinstance(output, EntryItem):
                    output = await ensure_awaitable(output)
        except DropItem as dropped:
            _drop(item, dropped)
        except (Exception, CancelledError) as error:  # noqa: BLE001 - any error of a pipeline is logged
            self._log_error(item, error, response)
            item.pending.on_item_done(item.version, None, error)
        else:
            _accept(item, output)

    def _log_error(self, item: EntryVersion, error: BaseException, response: Response) -> None:
        if self.crawler is None or self.crawler.spider is None:
            return
        words = self.crawler.logformatter.item_error(item, error, response, self.crawler.spider)
        logger.log(*logformatter_adapter(words), exc_info=True)


def _accept(item: EntryVersion, output: object) -> None:
    item.pending.batch.count_one(SCRAPED)
    item.pending.on_item_done(item.version, output, None)


def _drop(item: EntryVersion, dropped: DropItem) -> None:
    _count_dropped(item.pending.batch.count_one, dropped)
    item.pending.on_item_done(item.version, DROPPED, None)


def _count_dropped(count: Callable[[str], None], dropped: DropItem) -> None:
    count("item_dropped_count")
    count(f"item_dropped_reasons_count/{type(dropped).__name__}")
