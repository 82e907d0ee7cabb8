"""The Redis list of hosts, each with its feeds."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from redis.exceptions import RedisError
from scrapy_redis.connection import from_settings

from fhcrawl.exceptions import ArgumentError, ClusterError
from fhcrawl.extensions.store import store_url

if TYPE_CHECKING:
    from redis import Redis
    from redis.client import Pipeline
    from scrapy.settings import BaseSettings

FAILED = "Cannot use Redis"


def connect(settings: BaseSettings) -> Redis:
    """Check the settings of a cluster, and that Redis answers; raise ArgumentError or ClusterError if not."""
    if not store_url(settings).startswith("postgresql"):
        raise ArgumentError("FHCRAWL_STORE_URL is not a PostgreSQL database; set SCRAPY_PROJECT=cluster")
    try:
        server: Redis = from_settings(settings)
        server.ping()
    except ValueError as error:
        raise ArgumentError("REDIS_URL is not valid; use redis://HOST:6379/0") from error
    except RedisError as error:
        raise ClusterError(f"{FAILED}: {error}") from error
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
        raise ClusterError(f"{FAILED}: {error}") from error
    return len(new), sum(len(by_host[host]) for host in new)
