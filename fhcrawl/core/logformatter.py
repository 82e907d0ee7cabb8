"""What Scrapy logs of each item: nothing, unless somebody looks. And nothing that drives a terminal."""

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
    """Put a PrintableFormatter into Scrapy's handler, if there is one."""
    handler = get_scrapy_root_handler()
    if handler is not None:
        handler.setFormatter(PrintableFormatter(handler.formatter))


def without_traceback(record: logging.LogRecord) -> bool:
    """Take the traceback out of a record; what its sentence says is enough."""
    record.exc_info = record.exc_text = None
    return True


class LogFormatter(logformatter.LogFormatter):
    """Scrapy's, without a record for each entry while LOG_LEVEL is above DEBUG.

    Scrapy would make one and throw it away, which costs as much as reading the entry.
    """

    def __init__(self, level: int) -> None:
        self.each_item = level <= logging.DEBUG

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read LOG_LEVEL, and let Scrapy's handler write only what is printable."""
        # Until then, Scrapy makes the handler anew.
        crawler.signals.connect(write_only_what_is_printable, signal=signals.spider_opened)
        # That a host's robots.txt cannot be had, for the reason that the feed's document has too.
        logging.getLogger(ROBOTSTXT).addFilter(without_traceback)
        level = crawler.settings["LOG_LEVEL"]
        return cls(level if isinstance(level, int) else logging.getLevelName(str(level).upper()))

    def scraped(self, *args: Any) -> LogFormatterResult | None:  # type: ignore[override]
        """A record for an item that is through the pipelines."""
        return super().scraped(*args) if self.each_item else None

    def dropped(self, *args: Any) -> LogFormatterResult | None:  # type: ignore[override]
        """A record for a dropped item."""
        return super().dropped(*args) if self.each_item else None
