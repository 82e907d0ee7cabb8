"""Spares the garbage collector what is there for the whole run."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from scrapy import signals

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self


class GarbageExtension:
    """Calls gc.freeze() when the spider opens.

    Scrapy, Twisted and SQLAlchemy are some hundred thousand objects that never become garbage, and each full
    collection would look at all of them: a tenth of the time of a crawl.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect to the opening of the spider."""
        extension = cls()
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        return extension

    def spider_opened(self) -> None:
        """Freeze what is there."""
        gc.freeze()
