"""The Redis list of hosts, and their locks."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from redis.exceptions import RedisError
from scrapy_redis import defaults
from scrapy_redis.connection import from_settings

from fhcrawl.exceptions import ArgumentError, ClusterError
from fhcrawl.extensions.store import store_url
from fhcrawl.store.leases import RENEWALS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redis import Redis
    from redis.client import Pipeline
    from redis.lock import Lock
    from scrapy.settings import BaseSettings

FAILED = "Redis cannot be used"
# How many pauses between two renewals a lock lasts: longer than the leases of the host's feeds.
LOCK_PAUSES = RENEWALS + 1


def check(settings: BaseSettings) -> None:
    """Check the settings of a cluster, and that Redis answers.

    :raises ArgumentError: if a setting cannot be used
    :raises ClusterError: if Redis cannot be reached
    """
    if not store_url(settings).startswith("postgresql"):
        raise ArgumentError(
            "FHCRAWL_STORE_URL is no PostgreSQL database, which a cluster needs: write SCRAPY_PROJECT=cluster"
        )
    server = connect(settings)
    try:
        server.ping()
    except RedisError as error:
        raise ClusterError(f"{FAILED}: {error}") from error


def connect(settings: BaseSettings) -> Redis:
    """Return a client of the Redis at REDIS_URL.

    :raises ArgumentError: if REDIS_URL is invalid
    """
    try:
        server: Redis = from_settings(settings)
    except (RedisError, ValueError) as error:
        raise ArgumentError("REDIS_URL cannot be used: write redis://HOST:6379/0") from error
    return server


def key_of(settings: BaseSettings, spider: str) -> str:
    """Return the key of the list, as scrapy-redis does."""
    key = settings.get("REDIS_START_URLS_KEY", defaults.START_URLS_KEY)
    return str(key % {"name": spider})


def lock_of(server: Redis, key: str, host: str, seconds: float) -> Lock:
    """Return the lock of a host, which expires after some seconds without `reacquire`."""
    return server.lock(f"{key}:{host}", timeout=seconds)


def enqueue(
    server: Redis, key: str, feeds: Mapping[str, dict[str, Any]], only_due: bool = False
) -> tuple[int, int]:
    """Push the hosts that are not in the list, each with all of its feeds.

    :param feeds: the options of feeds as plain values, by URL
    :param only_due: when a worker takes the host, it crawls only those that are due then
    :return: how many hosts and feeds are pushed
    :raises ClusterError: if Redis fails
    """
    by_host: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for url, options in feeds.items():
        by_host[urlsplit(url).hostname or ""][url] = options

    def push(pipe: Pipeline) -> list[str]:
        waiting = {json.loads(element)["host"] for element in pipe.lrange(key, 0, -1)}
        new = [host for host in by_host if host not in waiting]
        elements = [{"host": host, "due": only_due, "feeds": by_host[host]} for host in new]
        pipe.multi()
        if elements:
            pipe.rpush(key, *map(json.dumps, elements))
        return new

    try:
        new = server.transaction(push, key, value_from_callable=True)
    except RedisError as error:
        raise ClusterError(f"{FAILED}: {error}") from error
    return len(new), sum(len(by_host[host]) for host in new)
