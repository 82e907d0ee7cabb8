"""Reports and releases each feed as soon as it is done, before the end of the crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call

from fhcrawl.core.scheduler import Scheduler
from fhcrawl.extensions import required
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.extensions.verdicts import VerdictsExtension
from fhcrawl.store import FEEDS_AT_ONCE

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall
    from typing_extensions import Self

LOOKS_AGAIN_SECONDS = 0.5


class ReleaseExtension:
    """Reports the verdicts of feeds that are done during the crawl, and lets other crawls read these feeds.

    After an error of the store, it does nothing: verdicts are then reported at the end.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._looks: AsyncioLoopingCall | LoopingCall | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect to the signals of the spider."""
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        """Start to check for feeds that are done."""
        self._looks = create_looping_call(self._look)
        self._looks.start(LOOKS_AGAIN_SECONDS, now=False)

    def spider_closed(self) -> None:
        """Stop; `VerdictsExtension.spider_closed` reports the other feeds."""
        if self._looks is not None and self._looks.running:
            self._looks.stop()

    def _look(self) -> None:
        engine = self._crawler.engine
        scheduler = None if engine is None else engine.scheduler
        if not isinstance(scheduler, Scheduler):
            return
        scheduler.note_ended()
        # Captures are read when all walks have ended.
        if getattr(self._crawler.spider, "has_captures_left", False):
            return
        done, extension = scheduler.done(), StoreExtension.of(self._crawler)
        verdicts = required(self._crawler, VerdictsExtension)
        for begin in range(0, len(done), FEEDS_AT_ONCE):
            if not extension.has_failed:
                verdicts.release(done[begin : begin + FEEDS_AT_ONCE])
