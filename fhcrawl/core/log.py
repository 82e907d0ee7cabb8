"""The log formatter, and filters of Scrapy's log records."""

from __future__ import annotations

import logging
from pprint import pformat
from typing import TYPE_CHECKING

from scrapy import logformatter, signals
from scrapy.settings import overridden_settings
from scrapy.utils.log import get_scrapy_root_handler

from fhcrawl import settings as ours
from fhcrawl.utils.text import PrintableFormatter

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from typing_extensions import Self


def escape_records() -> None:
    handler = get_scrapy_root_handler()
    if handler is not None:
        handler.setFormatter(PrintableFormatter(handler.formatter))


def leave_out_own_settings(settings: BaseSettings) -> None:
    crawls = logging.getLogger("scrapy.crawler")

    def leave_out(record: logging.LogRecord) -> bool:
        if str(record.msg).startswith("Overridden settings"):
            crawls.removeFilter(leave_out)
            changed = {
                name: value for name, value in overridden_settings(settings) if vars(ours).get(name) != value
            }
            record.msg, record.args = "Settings that differ from fhcrawl's defaults: %s", (pformat(changed),)
        return True

    crawls.addFilter(leave_out)


# Scrapy has no setting for the class of its handler's formatter, nor for the records of its components.
class LogFormatter(logformatter.LogFormatter):
    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        # Scrapy may replace its handler until the spider is opened.
        crawler.signals.connect(escape_records, signal=signals.spider_opened)
        leave_out_own_settings(crawler.settings)
        # Else the scraper creates a record of each item for a handler that discards it.
        logging.getLogger("scrapy.core.scraper").setLevel(crawler.settings["LOG_LEVEL"])
        return cls()
