"""Joins a worker to a job, resumes the walks of dead workers, and ends with the job."""

from __future__ import annotations

import asyncio
import logging
import secrets
from time import monotonic
from typing import TYPE_CHECKING, Any

from redis.exceptions import RedisError
from scrapy import signals
from scrapy.exceptions import DontCloseSpider
from scrapy_redis.connection import from_settings

from fhcrawl.cluster.board import Board
from fhcrawl.crawling.subscriptions import FeedOptions
from fhcrawl.exceptions import ArgumentError, ClusterError, StoreError
from fhcrawl.exporters.delivery import recover
from fhcrawl.extensions.store import StoreExtension, open_store, store_url
from fhcrawl.store import leases
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from typing_extensions import Self

    from fhcrawl.spiders.history import HistorySpider
    from fhcrawl.store import Store, Subscription

logger = logging.getLogger(__name__)

# Interval at which an idle worker checks whether the others are alive.
PATIENCE_SECONDS = 2.0
# How long a failing store can delay the end of a job.
STORE_SECONDS = 180.0
FAILED = "fhcrawl/cluster/failed"
RESUMED = "fhcrawl/feed/resumed"


def check(settings: BaseSettings, arguments: dict[str, Any]) -> None:
    """Check the settings and arguments that a cluster does not support, and that Redis answers.

    :param arguments: the spider's arguments
    :raises ArgumentError: if one of them is not supported
    :raises ClusterError: if Redis cannot be reached
    """
    if not store_url(settings).startswith("postgresql"):
        raise ArgumentError("FHCRAWL_STORE_URL is no PostgreSQL database: workers share one")
    if arguments.get("warc"):
        raise ArgumentError("--warc is for one process: read old captures with SCRAPY_PROJECT=postgres")
    if settings["FHCRAWL_WEB_ARCHIVE"]:
        raise ArgumentError("--web-archive is for one process: use it with SCRAPY_PROJECT=postgres")
    if settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN") != 1:
        raise ArgumentError(
            "CONCURRENT_REQUESTS_PER_DOMAIN is not 1: in a cluster, each host gets one at a time"
        )
    board_of(settings).current()


def board_of(settings: BaseSettings) -> Board:
    """Return the board of REDIS_URL and FHCRAWL_JOB.

    :raises ArgumentError: if REDIS_URL cannot be used
    """
    try:
        server = from_settings(settings)
    except (RedisError, ValueError) as error:
        raise ArgumentError("REDIS_URL cannot be used: write redis://HOST:6379/0") from error
    return Board(server, str(settings["FHCRAWL_JOB"]), settings.getint("FHCRAWL_LEASE_SECONDS"))


class ClusterExtension(StoreExtension):
    """Holds the store and the board that the workers share.

    A feed belongs to the run of the worker that has begun its walk: that run records its verdict and exports
    its changes. `beginning` holds the feeds that this worker has claimed and has no request of yet.
    """

    is_alone = False

    def __init__(self, crawler: Crawler, store: Store, run: int, board: Board) -> None:
        super().__init__(crawler, store, run)
        self.board = board
        self.beginning: set[str] = set()
        self.is_over = False
        self._crawler = crawler
        self._looked = monotonic()
        self._patience_ends: float | None = None
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Join the current job, or begin one.

        :raises StoreError: if the store cannot be opened
        :raises ClusterError: if Redis cannot be reached
        """
        store, board = open_store(crawler.settings), board_of(crawler.settings)
        extension = cls(crawler, store, _join(store, board, crawler.settings), board)
        extension.open(crawler)
        crawler.signals.connect(extension.spider_idle, signal=signals.spider_idle)
        logger.info("Job %s: this is run %d", board.job, extension.run)
        return extension

    def begin_walks(self, feeds: Mapping[str, dict[str, Any]]) -> Iterator[Subscription]:
        """Begin the walks of feeds, except of those that another worker owns."""
        for feed, options in feeds.items():
            known = self._pick_up(feed, options)
            if known is not None:
                yield known

    def _pick_up(self, feed: str, options: dict[str, Any]) -> Subscription | None:
        try:
            if self.is_over or not self.board.claim_feed(feed, options):
                return None
            self.beginning.add(feed)
            known = self._begin(feed, options)
            if known is None:
                self._put_down(feed)
        except ClusterError as error:
            self.lose_board(error)
            return None
        return known

    def _begin(self, feed: str, options: dict[str, Any]) -> Subscription | None:
        return next(super().begin_walks({feed: options}), None)

    def _put_down(self, feed: str) -> None:
        self.beginning.discard(feed)
        self.board.release_feed(feed)

    def lose_board(self, error: ClusterError) -> None:
        """Stop the crawl because Redis failed; the next job reads what this one has not."""
        if self.is_over:
            return
        self.is_over = True
        self._stats.inc_value(FAILED)
        logger.error("%s", error)
        self._closing = asyncio.ensure_future(self._crawler.engine.close_spider_async(reason="redis_failed"))

    # -- end of the job ---------------------------------------------------------------------------

    def spider_idle(self) -> None:
        """Keep the spider open until all workers are idle.

        :raises DontCloseSpider: as long as any of them is busy
        """
        try:
            self.is_over = self.is_over or self.board.rest()
        except ClusterError as error:
            self.lose_board(error)
        if not self.is_over:
            raise DontCloseSpider

    def look_after_others(self, spider: HistorySpider) -> None:
        """Resume the walks of dead workers; called while this worker is idle.

        :raises ClusterError: if Redis fails
        """
        if self.is_over or monotonic() - self._looked < PATIENCE_SECONDS:
            return
        self._looked = monotonic()
        try:
            self._bury(spider)
        except StoreError as error:
            self._wait_for_store(error)
        else:
            self._patience_ends = None

    # A worker that stops in the middle of a transaction keeps its rows locked for a while.
    def _wait_for_store(self, error: StoreError) -> None:
        if self._patience_ends is None:
            self._patience_ends = monotonic() + STORE_SECONDS
        elif monotonic() > self._patience_ends:
            self.fail(error)
            self.is_over = True

    def _bury(self, spider: HistorySpider) -> None:
        for dead in self._dead():
            # The store comes first: from then on, a worker that was only slow cannot write any more.
            self.store.take_over_run(_run_of(dead))
            # Finish interrupted deliveries before the walks go on, or their changes are exported twice.
            recover(self.store)
            logger.warning("%s is dead; the walks of its feeds are resumed", printable(leases.shown(dead)))
            for feed, options in self.board.take_over(dead).items():
                self._resume(spider, feed, options)

    def _dead(self) -> list[str]:
        others = self.board.members() - {self.board.worker}
        overdue = self.store.overdue([_run_of(other) for other in others])
        return sorted(other for other in others if leases.is_gone(other) or _run_of(other) in overdue)

    def _resume(self, spider: HistorySpider, feed: str, options: dict[str, Any]) -> None:
        """Resume the walk of a dead worker at the position that the store has."""
        self.beginning.add(feed)
        known = self._begin(feed, options)
        if known is None and feed not in self.skipped_feeds:
            # Another worker has begun it, and its run owns the feed.
            known = self.store.walks.read(feed)
        if known is None:
            self._put_down(feed)
            return
        self._stats.inc_value(RESUMED)
        for request in spider.first(self.store.renumber(known), FeedOptions(**options)):
            self._crawler.engine.crawl(request)

    def leave(self) -> None:
        """Leave the job before it is over, and hand the run's feeds over to another worker."""
        try:
            dead = self._dead()
            self.board.leave()
            heirs = self.board.members().difference(dead)
            if heirs:
                self.store.hand_over(_run_of(min(heirs)))
        except ClusterError as error:
            logger.error("%s", error)
        except StoreError as error:
            self.fail(error)


def _join(store: Store, board: Board, settings: BaseSettings) -> int:
    """Join or begin a job; return the number of the run."""
    while True:
        before = board.current()
        job = before
        if job is None or not store.job_lives(job):
            job = f"{settings['FHCRAWL_JOB']} {secrets.token_hex(4)}"
        # The store comes first: other workers that check it find the job alive.
        run = store.begin_run(job, settings.getint("FHCRAWL_LEASE_SECONDS"))
        if board.join(job, f"{leases.this_process()} {run}", before):
            return run
        store.end_run()


def _run_of(worker: str) -> int:
    return int(worker.rpartition(" ")[2])
