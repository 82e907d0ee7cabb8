"""A scheduler that knows which feeds are done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.core import scheduler

from fhcrawl.core.engine import requests_in_progress
from fhcrawl.extensions.store import StoreExtension

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from twisted.internet.defer import Deferred


class Scheduler(scheduler.Scheduler):
    """Counts the requests of each feed."""

    def open(self, spider: Spider) -> Deferred[None] | None:
        """Open the queues, and start to count."""
        self._engine = spider.crawler.engine
        self._under_way = StoreExtension.of(spider.crawler).under_way
        opened = super().open(spider)
        # Requests from a JOBDIR were not counted: feeds are done only when the crawl ends.
        self._counts_all = not self.has_pending_requests()
        return opened

    def enqueue_request(self, request: Request) -> bool:
        """Enqueue a request; return False if it was dropped as a duplicate."""
        waits = super().enqueue_request(request)
        if waits:
            self._under_way.wait(request)
        return waits

    def next_request(self) -> Request | None:
        """Return the next request; None if no request can be sent now."""
        request = super().next_request()
        if request is not None:
            self._under_way.take(request)
        return request

    def note_ended(self) -> None:
        """Forget the requests that have ended, which would be kept until `done` is called."""
        self._under_way.end(requests_in_progress(self._engine))

    def done(self) -> list[str]:
        """Return the feeds that have been done since the last call; none if requests came from a JOBDIR."""
        return self._under_way.done(requests_in_progress(self._engine)) if self._counts_all else []
