"""The state that the workers of a job share in Redis: pending requests, hosts, claimed feeds."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from redis.exceptions import RedisError

from fhcrawl.exceptions import ClusterError
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from redis import Redis

KEYS_AT_ONCE = 500
MICRO = 1_000_000
# RFC 9309, 2.4: a cached robots.txt should not be used for more than 24 hours.
ROBOTS_SECONDS = 60 * 60


class Item(NamedTuple):
    """A pending request.

    :param feed: URL of the feed that it belongs to
    :param host: host that it is sent to
    :param options: the user's options for the feed, as plain values
    :param request: the serialised request, one line
    """

    feed: str
    host: str
    options: dict[str, Any]
    request: str

    def line(self) -> str:
        """Return the item as it is stored in Redis."""
        return "\n".join((self.feed, self.host, json.dumps(self.options), self.request))

    @classmethod
    def of(cls, line: str) -> Item:
        """Create an item from its form in Redis."""
        feed, host, options, request = line.split("\n")
        return cls(feed, host, json.loads(options), request)


class Taken(NamedTuple):
    """A request to send; this worker owns its feed and its host from now on.

    :param asks: what the host has asked another worker for (`PolitenessMiddleware.asks`); '' for nothing
    """

    item: Item
    asks: str


# Keys after the job's prefix J:
#   members, idle_workers   sets of workers: all workers of the job; those without work
#   owners             hash, feed to worker and the feed's options: a feed is read by one worker at a time
#   hosts              sorted set of the hosts with pending requests or a delay, by the time (µs) of the next
#                      request; during a request, that is the time when its worker counts as dead
#   asked              hash, host to the worker that sends it a request
#   asks               hash, host to the delay that it asks for (Retry-After)
#   queue:HOST         list of the pending items of a host
#   waiting_for_feed:FEED   list of the items that wait until another worker releases their feed
#   robots:HOST        a robots.txt
#   queued             number of items in the hosts' queues
# Each script is atomic. It reads the clock of Redis, which is the same for all workers.
COMMON = """
local J, worker = KEYS[1], ARGV[1]
local owners, hosts, asked, queued = J .. 'owners', J .. 'hosts', J .. 'asked', J .. 'queued'

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

local function put(item)
  local host = string.match(item, '^[^\\n]*\\n([^\\n]*)\\n')
  redis.call('RPUSH', J .. 'queue:' .. host, item)
  redis.call('ZADD', hosts, 'NX', now(), host)
  redis.call('INCR', queued)
end

local function owns(who, feed)
  local owner = redis.call('HGET', owners, feed)
  return owner and string.match(owner, '^[^\\n]*') == who
end
"""
# A worker that was declared dead is no longer a member of the job.
PUT = """
if redis.call('SISMEMBER', J .. 'members', worker) == 0 then return 0 end
for i = 2, #ARGV do put(ARGV[i]) end
"""
# The next items of the feed's walk come before the items that waited for the feed.
RELEASE_FEED = """
local feed = ARGV[2]
if not owns(worker, feed) then return 0 end
redis.call('HDEL', owners, feed)
for i = 3, #ARGV do put(ARGV[i]) end
local waiting = redis.call('LPOP', J .. 'waiting_for_feed:' .. feed)
while waiting do
  put(waiting)
  waiting = redis.call('LPOP', J .. 'waiting_for_feed:' .. feed)
end
return 1
"""
TAKE = """
local time, microseconds = now(), ARGV[2]
-- What one does that was taken for dead, the store refuses.
if redis.call('SISMEMBER', J .. 'members', worker) == 0 then return false end
while true do
  local host = redis.call('ZRANGEBYSCORE', hosts, '-inf', time, 'LIMIT', 0, 1)[1]
  if not host then return false end
  local item = redis.call('LPOP', J .. 'queue:' .. host)
  if not item then
    redis.call('ZREM', hosts, host)
  else
    redis.call('DECR', queued)
    local feed, options = string.match(item, '^([^\\n]*)\\n[^\\n]*\\n([^\\n]*)\\n')
    if redis.call('HEXISTS', owners, feed) == 1 then
      redis.call('RPUSH', J .. 'waiting_for_feed:' .. feed, item)
    else
      redis.call('HSET', owners, feed, worker .. '\\n' .. options)
      redis.call('ZADD', hosts, time + microseconds, host)
      redis.call('HSET', asked, host, worker)
      redis.call('SREM', J .. 'idle_workers', worker)
      return {item, redis.call('HGET', J .. 'asks', host)}
    end
  end
end
"""
TAKE_HOST = """
local host, microseconds, time = ARGV[2], ARGV[3], now()
if tonumber(redis.call('ZSCORE', hosts, host) or 0) > time then return 0 end
redis.call('ZADD', hosts, time + microseconds, host)
redis.call('HSET', asked, host, worker)
return 1
"""
KEEP_HOSTS = """
local time, microseconds = now(), ARGV[2]
for i = 3, #ARGV do
  if redis.call('HGET', asked, ARGV[i]) == worker then
    redis.call('ZADD', hosts, time + microseconds, ARGV[i])
  end
end
"""
LEAVE_HOST = """
local host, microseconds, asks = ARGV[2], ARGV[3], ARGV[4]
if redis.call('HGET', asked, host) ~= worker then return end
redis.call('HDEL', asked, host)
redis.call('ZADD', hosts, now() + microseconds, host)
if asks ~= '' then redis.call('HSET', J .. 'asks', host, asks) end
"""
CLAIM_FEED = """
if redis.call('SISMEMBER', J .. 'members', worker) == 0 then return 0 end
local feed, options = ARGV[2], ARGV[3]
return redis.call('HSETNX', owners, feed, worker .. '\\n' .. options)
"""
TAKE_OVER = """
local dead = ARGV[2]
local feeds = redis.call('HGETALL', owners)
local taken = {}
for i = 1, #feeds, 2 do
  local who, options = string.match(feeds[i + 1], '^([^\\n]*)\\n(.*)')
  if who == dead then
    redis.call('HSET', owners, feeds[i], worker .. '\\n' .. options)
    taken[#taken + 1] = feeds[i]
    taken[#taken + 1] = options
  end
end
local names = redis.call('HGETALL', asked)
for i = 1, #names, 2 do
  if names[i + 1] == dead then
    redis.call('HDEL', asked, names[i])
    redis.call('ZADD', hosts, now(), names[i])
  end
end
redis.call('SREM', J .. 'members', dead)
redis.call('SREM', J .. 'idle_workers', dead)
return taken
"""
# A worker that joins is not idle: the job does not end before it has begun its feeds.
JOIN = """
local key, job, before = KEYS[2], ARGV[2], ARGV[3]
local current = redis.call('GET', key) or ''
if current ~= job then
  if current ~= before then return 0 end
  redis.call('SET', key, job)
end
redis.call('SADD', J .. 'members', worker)
return 1
"""
REST = """
local key, job = KEYS[2], ARGV[2]
if redis.call('GET', key) ~= job then return 1 end
if tonumber(redis.call('GET', queued) or 0) > 0 or redis.call('HLEN', owners) > 0 then return 0 end
if redis.call('SISMEMBER', J .. 'members', worker) == 1 then
  redis.call('SADD', J .. 'idle_workers', worker)
end
if #redis.call('SDIFF', J .. 'members', J .. 'idle_workers') > 0 then return 0 end
for _, name in ipairs({'members', 'idle_workers', 'owners', 'hosts', 'asked', 'asks', 'queued'}) do
  redis.call('DEL', J .. name)
end
redis.call('DEL', key)
return 1
"""
LEAVE = """
redis.call('SREM', J .. 'members', worker)
redis.call('SREM', J .. 'idle_workers', worker)
"""
SCRIPTS = (
    ("put", PUT),
    ("release_feed", RELEASE_FEED),
    ("take", TAKE),
    ("take_host", TAKE_HOST),
    ("keep_hosts", KEEP_HOSTS),
    ("leave_host", LEAVE_HOST),
    ("claim_feed", CLAIM_FEED),
    ("take_over", TAKE_OVER),
    ("join", JOIN),
    ("rest", REST),
    ("leave", LEAVE),
)


class Board:
    """The shared state of a job; one Redis may hold several, by name.

    Every method raises `ClusterError` if Redis fails or has failed before: retries would delay the worker's
    shutdown.

    :param seconds: seconds without a sign of life after which a worker counts as dead
    """

    def __init__(self, server: Redis, name: str, seconds: int) -> None:
        self._server = server
        self._key = f"fhcrawl:{name}"
        self._microseconds = seconds * MICRO
        self._scripts = {what: server.register_script(COMMON + lua) for what, lua in SCRIPTS}
        self.job = self.worker = ""
        self._lost: ClusterError | None = None

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        if self._lost is not None:
            raise self._lost
        try:
            yield
        except RedisError as error:
            self._lost = ClusterError(f"Redis failed: {printable(str(error))}; see to it, and to REDIS_URL")
            raise self._lost from error

    def _call(self, script: str, *args: str | int) -> Any:
        with self._sentences():
            keys = [f"{self._key}:{self.job}:", self._key]
            return self._scripts[script](keys=keys, args=[self.worker, *args])

    # -- jobs -------------------------------------------------------------------------------------

    def current(self) -> str | None:
        """Return the current job, whose workers may be dead; None if there is none."""
        with self._sentences():
            found = self._server.get(self._key)
        return None if found is None else _text(found)

    def join(self, job: str, worker: str, before: str | None) -> bool:
        """Join a job; return False if another job has begun.

        :param before: the job that was current; if it is another one, this job replaces it
        """
        self.job, self.worker = job, worker
        if not self._call("join", job, before or ""):
            return False
        if before is not None and before != job:
            self._forget(before)
        return True

    def _forget(self, job: str) -> None:
        with self._sentences():
            keys = []
            for key in self._server.scan_iter(match=f"{self._key}:{job}:*", count=KEYS_AT_ONCE):
                keys.append(key)
                if len(keys) == KEYS_AT_ONCE:
                    self._server.unlink(*keys)
                    keys = []
            if keys:
                self._server.unlink(*keys)

    def members(self) -> set[str]:
        """Return the workers of the job."""
        with self._sentences():
            return {_text(name) for name in self._server.smembers(f"{self._key}:{self.job}:members")}

    def rest(self) -> bool:
        """Mark this worker as idle; return whether the job is over, since all workers are."""
        return bool(self._call("rest", self.job))

    def leave(self) -> None:
        """Leave the job."""
        self._call("leave")

    def take_over(self, dead: str) -> dict[str, dict[str, Any]]:
        """Take over the feeds and hosts of a dead worker; return the feeds with the user's options."""
        taken = [_text(word) for word in self._call("take_over", dead)]
        return {feed: json.loads(options) for feed, options in zip(taken[::2], taken[1::2], strict=True)}

    # -- requests ---------------------------------------------------------------------------------

    def queued(self) -> int:
        """Return the number of requests in the hosts' queues."""
        with self._sentences():
            return int(self._server.get(f"{self._key}:{self.job}:queued") or 0)

    def put(self, *items: Item) -> None:
        """Add requests to the queues of their hosts."""
        self._call("put", *(item.line() for item in items))

    def take(self) -> Taken | None:
        """Take the next request; None if no host with pending requests may be asked now."""
        taken = self._call("take", self._microseconds)
        return None if taken is None else Taken(Item.of(_text(taken[0])), _text(taken[1] or b""))

    def claim_feed(self, feed: str, options: dict[str, Any]) -> bool:
        """Claim a feed before its walk begins; return False if a worker owns it."""
        return bool(self._call("claim_feed", feed, json.dumps(options)))

    def release_feed(self, feed: str, following: Iterable[Item] = ()) -> bool:
        """Release a feed, and add its next requests to the queues.

        :return: False if another worker owns it, since this one was declared dead
        """
        return bool(self._call("release_feed", feed, *(item.line() for item in following)))

    # -- hosts ------------------------------------------------------------------------------------

    def take_host(self, host: str) -> bool:
        """Claim a host without an item of its queue; return False if it may not be asked now."""
        return bool(self._call("take_host", host, self._microseconds))

    def keep_hosts(self, hosts: Iterable[str]) -> None:
        """Prolong the claims of hosts to which requests are under way."""
        self._call("keep_hosts", self._microseconds, *hosts)

    def leave_host(self, host: str, wait: float, asks: str) -> None:
        """Release a host; the next request may be sent after `wait` seconds.

        :param asks: what the host has asked for (`PolitenessMiddleware.asks`); '' for nothing
        """
        self._call("leave_host", host, int(wait * MICRO), asks)

    def robots(self, host: str) -> bytes | None:
        """Return the robots.txt of a host (and port); None if no worker has read it."""
        with self._sentences():
            found = self._server.get(f"{self._key}:{self.job}:robots:{host}")
        return found.encode() if isinstance(found, str) else found

    def note_robots(self, host: str, body: bytes) -> None:
        """Share the robots.txt of a host with the other workers."""
        with self._sentences():
            self._server.set(f"{self._key}:{self.job}:robots:{host}", body, ex=ROBOTS_SECONDS)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
