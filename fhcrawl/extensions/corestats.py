"""Scrapy's core stats, without handlers of signals for items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.extensions import corestats

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self


class CoreStats(corestats.CoreStats):
    """Collects Scrapy's core stats; `fhcrawl.core.item_processor.ItemPipelineManager` counts the items.

    A handler of item_scraped takes longer for each entry than parsing the entry.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect to the signals of Scrapy's CoreStats, except item_scraped and item_dropped."""
        extension = cls(crawler.stats)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(extension.response_received, signal=signals.response_received)
        return extension
