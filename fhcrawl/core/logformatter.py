"""A log formatter that logs items only at level DEBUG, and no control characters."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import logformatter, signals
from scrapy.utils.log import get_scrapy_root_handler

from fhcrawl.utils.text import PrintableFormatter

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.logformatter import LogFormatterResult
    from typing_extensions import Self


ROBOTSTXT = "scrapy.downloadermiddlewares.robotstxt"


def write_only_what_is_printable() -> None:
    """Set a PrintableFormatter on Scrapy's root log handler, if there is one."""
    handler = get_scrapy_root_handler()
    if handler is not None:
        handler.setFormatter(PrintableFormatter(handler.formatter))


def without_traceback(record: logging.LogRecord) -> bool:
    """Remove the traceback from a record, whose message is enough."""
    record.exc_info = record.exc_text = None
    return True


class LogFormatter(logformatter.LogFormatter):
    """Formats no record for an entry while LOG_LEVEL is above DEBUG.

    Scrapy would format each record and discard it, which takes as long as reading the entry.
    """

    def __init__(self, level: int) -> None:
        self.each_item = level <= logging.DEBUG

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read LOG_LEVEL, and make Scrapy's handler write only printable characters."""
        # Scrapy may replace its handler until the spider is opened.
        crawler.signals.connect(write_only_what_is_printable, signal=signals.spider_opened)
        # Why a robots.txt could not be fetched; the feed's document fails for the same reason.
        logging.getLogger(ROBOTSTXT).addFilter(without_traceback)
        level = crawler.settings["LOG_LEVEL"]
        return cls(level if isinstance(level, int) else logging.getLevelName(str(level).upper()))

    def scraped(self, *args: Any) -> LogFormatterResult | None:  # type: ignore[override]
        """Return the record of an item that the pipelines accepted; None if items are not logged."""
        return super().scraped(*args) if self.each_item else None

    def dropped(self, *args: Any) -> LogFormatterResult | None:  # type: ignore[override]
        """Return the record of a dropped item; None if items are not logged."""
        return super().dropped(*args) if self.each_item else None
