"""Scrapy's core stats, without a signal for each item."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.extensions import corestats

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self


class CoreStats(corestats.CoreStats):
    """Counts what Scrapy's does; items are counted by `fhcrawl.core.item_processor.ItemPipelineManager`.

    A receiver of item_scraped costs more for each entry than reading it does.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect to all signals of Scrapy's but item_scraped and item_dropped."""
        extension = cls(crawler.stats)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(extension.response_received, signal=signals.response_received)
        return extension
