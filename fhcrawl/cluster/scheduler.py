"""scrapy-redis's scheduler, adapted to walks and to Scrapy 2.19."""

from __future__ import annotations

import logging
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.misc import load_object
from scrapy_redis import connection, scheduler

from fhcrawl.cluster.extension import ClusterExtension
from fhcrawl.cluster.politeness import PolitenessMiddleware
from fhcrawl.core.engine import look_again
from fhcrawl.exceptions import ClusterError

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.settings import BaseSettings
    from typing_extensions import Self

    from fhcrawl.cluster.board import Item
    from fhcrawl.cluster.downloader import Downloader
    from fhcrawl.cluster.queue import HostQueue
    from fhcrawl.spiders.history import HistorySpider

logger = logging.getLogger(__name__)

# Interval at which an idle worker looks for requests.
LOOKS_AGAIN_SECONDS = 0.25


class UnderWay:
    """A request that this worker is processing.

    :param following: the requests that its response leads to; held until its entries are in the store
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.following: list[Item] = []


class Scheduler(scheduler.Scheduler):  # type: ignore[misc]  # scrapy-redis has no types
    """scrapy-redis 0.9's scheduler, adapted to walks, without what Scrapy 2.19 deprecates.

    That is Spider.log(), in `open`, and the argument `spider` of stats, in `enqueue_request` and
    `next_request`.

    The requests that a document leads to are added in the step that releases its feed, once the document has
    been read. Until then the worker owns the feed, so that other workers can resume it if this one dies.
    """

    queue: HostQueue

    # Scrapy's engine cannot close a spider without a scheduler, so a failing Redis must be detected later.
    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        """Create a scheduler without scrapy-redis's ping of Redis and its duplicates filter."""
        serializer = import_module(settings["SCHEDULER_SERIALIZER"])
        server = connection.from_settings(settings)
        return cls(server=server, queue_cls=settings["SCHEDULER_QUEUE_CLASS"], serializer=serializer)

    def open(self, spider: HistorySpider) -> None:
        """Start to take requests."""
        queue = load_object(self.queue_cls)
        self.queue = queue(self.server, spider, self.queue_key, self.serializer)
        self._spider = spider
        self._crawler = spider.crawler
        self._extension = ClusterExtension.of(spider.crawler)
        self._board = self._extension.board
        self._under_way: dict[str, UnderWay] = {}
        self._is_hungry = False
        self._kept = monotonic()
        self._looks = create_looping_call(self._look)
        self._looks.start(LOOKS_AGAIN_SECONDS, now=False)

    def close(self, reason: str) -> None:
        """Release the feeds that have been read, and leave the job if it is not over."""
        self._looks.stop()
        try:
            self._put_down()
        except ClusterError as error:
            self._extension.lose_board(error)
        if not self._extension.is_over:
            self._extension.leave()

    def enqueue_request(self, request: Request) -> bool:
        """Add a request to the queues, or hold it until its feed is released."""
        item = self.queue.item(request)
        at = self._under_way.get(item.feed)
        try:
            if at is not None:
                at.following.append(item)
            elif item.feed in self._extension.beginning:
                self._extension.beginning.discard(item.feed)
                self._board.release_feed(item.feed, [item])
            else:
                self._board.put(item)
        except ClusterError as error:
            self._extension.lose_board(error)
            return False
        self.stats.inc_value("scheduler/enqueued/redis")
        return True

    def next_request(self) -> Request | None:
        """Return the next request; None if none can be sent now."""
        if self._extension.is_over:
            return None
        try:
            self._put_down()
            following = self.queue.pop()
        except ClusterError as error:
            self._extension.lose_board(error)
            return None
        self._is_hungry = following is None
        if following is None:
            return None
        self._under_way[following.item.feed] = UnderWay(following.request)
        self._downloader.has_host(following.item.host)
        if following.asks:
            self._politeness.learn(following.item.host, following.asks)
        self.stats.inc_value("scheduler/dequeued/redis")
        return following.request

    def has_pending_requests(self) -> bool:
        """Return whether any request is pending or being processed."""
        try:
            return not self._extension.is_over and bool(self._under_way or len(self))
        except ClusterError as error:
            self._extension.lose_board(error)
            return False

    # -- requests in progress ---------------------------------------------------------------------

    def _put_down(self) -> None:
        """Release the feeds whose documents have been read."""
        engine = self._crawler.engine
        slot: Any = engine.scraper.slot
        busy = {*engine.downloader.active, *slot.active, *(request for _result, request, _done in slot.queue)}
        for feed, at in list(self._under_way.items()):
            if at.request not in busy:
                del self._under_way[feed]
                self._board.release_feed(feed, at.following)

    def _look(self) -> None:
        """Wake the engine, look after dead workers, and prolong the claims of hosts."""
        try:
            self._put_down()
            if self._is_hungry:
                self._extension.look_after_others(self._spider)
            if monotonic() - self._kept >= self._extension.store.pause:
                self._board.keep_hosts(self._downloader.hosts)
                self._kept = monotonic()
        except ClusterError as error:
            self._extension.lose_board(error)
        look_again(self._crawler.engine)

    @property
    def _downloader(self) -> Downloader:
        found: Any = self._crawler.engine.downloader
        downloader: Downloader = found
        return downloader

    @property
    def _politeness(self) -> PolitenessMiddleware:
        found = self._crawler.get_downloader_middleware(PolitenessMiddleware)
        if found is None:
            raise RuntimeError
        return found
