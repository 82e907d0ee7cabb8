"""Scrapy's scheduler, which knows which feeds are done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.core import scheduler

from fhcrawl.core.engine import requests_in_progress
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

    def note_ended(self) -> None:
        """Forget the requests that have ended, which would be kept until `done` is asked."""
        self._under_way.end(requests_in_progress(self._engine))

    def done(self) -> list[str]:
        """The feeds of which nothing is left to do, each once; none, if only the crawl's end can tell."""
        return self._under_way.done(requests_in_progress(self._engine)) if self._counts_all else []
