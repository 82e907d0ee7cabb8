"""What Scrapy logs of each item: nothing, unless somebody looks."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import logformatter

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.logformatter import LogFormatterResult
    from typing_extensions import Self


class LogFormatter(logformatter.LogFormatter):
    """Scrapy's, without a record for each entry while LOG_LEVEL is above DEBUG.

    Scrapy would make one and throw it away, which costs as much as reading the entry.
    """

    def __init__(self, level: int) -> None:
        self.each_item = level <= logging.DEBUG

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read LOG_LEVEL."""
        level = crawler.settings["LOG_LEVEL"]
        return cls(level if isinstance(level, int) else logging.getLevelName(str(level).upper()))

    def scraped(self, *args: Any) -> LogFormatterResult | None:  # type: ignore[override]
        """A record for an item that is through the pipelines."""
        return super().scraped(*args) if self.each_item else None

    def dropped(self, *args: Any) -> LogFormatterResult | None:  # type: ignore[override]
        """A record for a dropped item."""
        return super().dropped(*args) if self.each_item else None
