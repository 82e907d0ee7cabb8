"""The cluster: workers take hosts from a Redis list (scrapy-redis); the store is on PostgreSQL."""

from __future__ import annotations

import json
import logging
import os
import socket
from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from functools import wraps
from itertools import islice
from time import monotonic, time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

from redis.exceptions import LockError, RedisError
from scrapy import Request, signals
from scrapy.utils.asyncio import create_looping_call
from scrapy_redis.connection import from_settings
from scrapy_redis.spiders import RedisMixin

from fhcrawl.crawling import subscriptions
from fhcrawl.crawling.compat import is_closing
from fhcrawl.crawling.context import feed_of
from fhcrawl.crawling.failures import LimitReached
from fhcrawl.exceptions import ArgumentError, ClusterError, StoreError
from fhcrawl.extensions.progress import ProgressExtension
from fhcrawl.extensions.store import StoreExtension, store_url
from fhcrawl.spiders import history
from fhcrawl.store import FEEDS_AT_ONCE
from fhcrawl.utils.clock import now
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from redis import Redis
    from redis.client import Pipeline
    from redis.lock import Lock
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from typing_extensions import Self


logger = logging.getLogger(__name__)

UNUSABLE = "Cannot use Redis"
FAILED = "fhcrawl/cluster/failed"
# A worker takes its hosts one by one, so that workers that start together get the same number.
TAKES, TAKES_SECONDS = 16, 0.1
# How many times `Store.pause` a lock lasts: longer than the leases of the host's feeds.
LOCK_PAUSES = 4
# How often a worker reports the hosts that others hold, and how many it names.
REPORTS_SECONDS, MOST_NAMED = 60, 5
OF_ONE_PROCESS = (*("feed", "feeds", "due", "snapshot", "archive", "warc", "deltafetch_reset", "from_store"),)
OFF = ("FHCRAWL_WEB_ARCHIVE", "DELTAFETCH_RESET", "JOBDIR")


def connect(settings: BaseSettings) -> Redis:
    """Check the settings of a cluster, and that Redis answers; raise ArgumentError or ClusterError if not."""
    if not store_url(settings).startswith("postgresql"):
        raise ArgumentError(
            "FHCRAWL_STORE_URL is not a PostgreSQL database; set "
            "SCRAPY_SETTINGS_MODULE=pipelines_config.cluster"
        )
    try:
        server: Redis = from_settings(settings)
        server.ping()
    except ValueError as error:
        raise ArgumentError("REDIS_URL is not valid; use redis://HOST:6379/0") from error
    except RedisError as error:
        raise ClusterError(f"{UNUSABLE}: {error}") from error
    return server


def enqueue(server: Redis, key: str, feeds: dict[str, dict[str, Any]], due: bool) -> tuple[int, int]:
    """Push the hosts that are not in the list; return how many hosts and feeds these are.

    :param feeds: options as plain values, by URL
    :param due: a worker that takes a host crawls only those of its feeds that are due then
    """
    by_host: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for url, options in feeds.items():
        by_host[urlsplit(url).hostname or ""][url] = options

    def push(pipe: Pipeline) -> list[str]:
        waiting = {json.loads(element)["host"] for element in pipe.lrange(key, 0, -1)}
        new = [host for host in by_host if host not in waiting]
        pipe.multi()
        if new:
            elements = [{"host": host, "due": due, "feeds": by_host[host]} for host in new]
            pipe.rpush(key, *map(json.dumps, elements))
        return new

    try:
        new: Any = server.transaction(push, key, value_from_callable=True)  # type: ignore[arg-type]
    except RedisError as error:
        raise ClusterError(f"{UNUSABLE}: {error}") from error
    return len(new), sum(len(by_host[host]) for host in new)


class ClusterHistorySpider(RedisMixin, history.HistorySpider):  # type: ignore[misc]  # scrapy-redis has no types
    """Crawls the hosts of a Redis list, CONCURRENT_REQUESTS at a time, each with all of its feeds.

    A lock in Redis keeps other workers from a host until all of its feeds are released. A worker that has
    lost the lock sends no more requests for the feeds of the host. Without work for
    MAX_IDLE_TIME_BEFORE_CLOSE seconds, it ends; with 0, it waits for more.
    """

    crawls_subscribed = False

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.feeds = {}  # empty until the spider takes a host
        self._hosts: dict[str, tuple[Lock, list[str]]] = {}
        self._renewed = monotonic()
        self._held: set[str] = set()
        self._reported = self._renewed - REPORTS_SECONDS
        self._take_loop = create_looping_call(self._take_hosts)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider: Self = super().from_crawler(crawler, *args, **kwargs)
        spider.redis_batch_size = max(1, crawler.settings.getint("CONCURRENT_REQUESTS") // TAKES)
        spider.setup_redis(crawler)
        crawler.signals.connect(spider.engine_stopped, signal=signals.engine_stopped)
        return spider

    @staticmethod
    @wraps(history.HistorySpider.check)
    def check(settings: BaseSettings, **arguments: Any) -> dict[str, Any]:  # type: ignore[override]
        """:raises ArgumentError, ClusterError: if the worker cannot begin"""
        if unusable := [*filter(arguments.get, OF_ONE_PROCESS), *filter(settings.get, OFF)]:
            raise ArgumentError(
                f"{unusable[0]} cannot be used with workers, which get their feeds from fhcrawl enqueue"
            )
        connect(settings)
        return history.HistorySpider.check(settings, **arguments)

    async def start(self) -> AsyncIterator[Request]:
        self._take_loop.start(TAKES_SECONDS)
        for request in list[Request]():
            yield request

    # The store has released the feeds of these hosts before.
    def engine_stopped(self) -> None:
        self._stop()
        with suppress(RedisError):
            self._release_hosts(list(self._hosts))

    def spider_idle(self) -> None:
        try:
            if self._take_loop.running and not StoreExtension.of(self.crawler).has_failed:
                super().spider_idle()
        except RedisError as error:
            self._stop_after(error)

    def _take_hosts(self) -> None:
        extension = StoreExtension.of(self.crawler)
        is_busy = extension.under_way.is_busy
        try:
            self._release_hosts(
                [host for host, (_, feeds) in self._hosts.items() if not any(map(is_busy, feeds))]
            )
            if self._hosts:
                self.spider_idle_start_time = int(time())
            if monotonic() - self._renewed >= extension.store.pause:
                self._renewed = monotonic()
                for lock, _feeds in self._hosts.values():
                    self._renew(lock)
            is_ending = extension.has_failed or is_closing(self.crawler.engine)
            if not is_ending and len(self._hosts) < self.settings.getint("CONCURRENT_REQUESTS"):
                self.schedule_next_requests()
                if self._held and monotonic() - self._reported >= REPORTS_SECONDS:
                    self._report_held()
        except RedisError as error:
            self._stop_after(error)

    def check_request(self, request: Request) -> None:
        """:raises LimitReached: if another worker may have the host of the request's feed"""
        host = urlsplit(feed_of(request) or request.url).hostname or ""
        if host in self._hosts and not self._renew(self._hosts[host][0]):
            raise LimitReached("another worker may have taken over the host")

    # Redis may have lost the lock, or it expired while the process was suspended.
    def _renew(self, lock: Lock) -> bool:
        try:
            with suppress(LockError):
                return bool(lock.reacquire())
            return bool(lock.acquire(blocking=False))
        except RedisError as error:
            self._stop_after(error)
            return monotonic() - self._renewed < (lock.timeout or 0) / 2

    # If a worker has the host, be it this one, it is put back.
    def make_request_from_data(self, data: bytes) -> Iterator[Request]:
        element, extension = json.loads(data), StoreExtension.of(self.crawler)
        host, seconds = element["host"], LOCK_PAUSES * extension.store.pause
        lock = self.server.lock(f"{self.redis_key}:{host}", timeout=seconds)
        token = f"process {os.getpid()} on {socket.gethostname()} {uuid4().hex}"
        if host in self._hosts or not lock.acquire(blocking=False, token=token):
            if host not in self._hosts:
                self._held.add(host)
            self.server.rpush(self.redis_key, data)
            return
        self._held.discard(host)
        self._hosts[host] = lock, list(element["feeds"])
        try:
            requested = {
                feed: subscriptions.FeedOptions(**options) for feed, options in element["feeds"].items()
            }
            stored = extension.store.subscriptions
            feeds = subscriptions.choose(stored, requested, now() if element["due"] else None)
            extension.skipped_feeds.difference_update(feeds)
            if (progress := self.crawler.get_extension(ProgressExtension)) is not None:
                progress.progress.feeds += len(feeds)
            # This run may have read them before.
            run = extension.store.next_number()
            remaining = ((feed, options.plain()) for feed, options in feeds.items())
            while batch := dict(islice(remaining, FEEDS_AT_ONCE)):
                for start in extension.begin_walks(batch):
                    with extension.under_way.begun(start.feed):
                        yield from self.first(replace(start, run=run), feeds[start.feed])
        except StoreError as error:
            extension.fail(error)

    def _report_held(self) -> None:
        self._reported, sentences = monotonic(), []
        for host in sorted(self._held)[:MOST_NAMED]:
            name = f"{self.redis_key}:{host}"
            holder, milliseconds = self.server.get(name), self.server.pttl(name)
            if holder is not None:
                until = datetime.fromtimestamp(time() + max(0, milliseconds) / 1000, timezone.utc)
                process = holder.decode().rpartition(" ")[0] or "another worker"
                sentences.append(f"{host} by {process} until {until:%Y-%m-%dT%H:%M:%SZ}")
        message = "Waiting for hosts that other workers hold: %d (%s, unless renewed)"
        logger.info(message, len(self._held), printable("; ".join(sentences)))
        self._held.clear()

    def _release_hosts(self, done: list[str]) -> None:
        for host in done:
            with suppress(LockError):  # it has expired
                self._hosts.pop(host)[0].release()

    def _stop(self) -> None:
        if self._take_loop.running:
            self._take_loop.stop()

    # The crawl ends when the hosts in progress are done.
    def _stop_after(self, error: RedisError) -> None:
        if self._take_loop.running:
            self._stop()
            self.crawler.stats.set_value(FAILED, 1)
            logger.error("%s: %s", UNUSABLE, error)
