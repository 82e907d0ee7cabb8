"""The log formatter."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import logformatter, signals
from scrapy.utils.log import get_scrapy_root_handler

from fhcrawl.utils.text import PrintableFormatter

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self


def escape_records() -> None:
    handler = get_scrapy_root_handler()
    if handler is not None:
        handler.setFormatter(PrintableFormatter(handler.formatter))


# Scrapy has no setting for the class of its handler's formatter, nor for the records of its components.
class LogFormatter(logformatter.LogFormatter):
    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        # Scrapy may replace its handler until the spider is opened.
        crawler.signals.connect(escape_records, signal=signals.spider_opened)
        # Else the scraper creates a record of each item for a handler that discards it.
        logging.getLogger("scrapy.core.scraper").setLevel(crawler.settings["LOG_LEVEL"])
        return cls()
