"""Scrapy's scheduler, which knows which feeds are done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.core import scheduler

from fhcrawl.extensions.store import StoreExtension

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from twisted.internet.defer import Deferred


class Scheduler(scheduler.Scheduler):
    """Scrapy's, which counts the requests of each feed."""

    def open(self, spider: Spider) -> Deferred[None] | None:
        """Begin to take requests."""
        self._engine = spider.crawler.engine
        self._under_way = StoreExtension.of(spider.crawler).under_way
        opened = super().open(spider)
        # What waits already (JOBDIR) was not counted: the end of the crawl says what is done.
        self._counts_all = not self.has_pending_requests()
        return opened

    def enqueue_request(self, request: Request) -> bool:
        """Let a request wait; whether it does, and was not dropped as a duplicate."""
        waits = super().enqueue_request(request)
        if waits:
            self._under_way.wait(request)
        return waits

    def next_request(self) -> Request | None:
        """The next request; None if there is none that can be sent now."""
        request = super().next_request()
        if request is not None:
            self._under_way.take(request)
        return request

    def done(self) -> list[str]:
        """The feeds of which nothing is left to do; each once."""
        # Scrapy 2.19 has no signal for the end of a request, and no public name for what the engine is at.
        slot = self._engine._slot if self._engine is not None else None
        return [] if slot is None or not self._counts_all else self._under_way.done(slot.inprogress)
