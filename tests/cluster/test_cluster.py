"""Workers of a cluster, in processes of their own, and hosts on addresses of this machine: each entry is
exported once, and a host never has two workers.
"""

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from fhcrawl.store import Feed, Store
from tests.databases import Database
from tests.feeds import E, atom
from tests.projects import ROOT, Project, read_export
from tests.server import FeedServer

# The tests run on machines that have much else to do.
WAIT = 120
SETTINGS = {
    "USER_AGENT": "fhcrawl-test (+https://example.org/)",
    "FHCRAWL_ALLOWED_PRIVATE_HOSTS": "127.0.0.0/8",
    "FHCRAWL_LEASE_SECONDS": 15,
    "MAX_IDLE_TIME_BEFORE_CLOSE": 3,
}
_numbers = itertools.count(1)


class Worker:
    """A process of `scrapy crawl history`, in a folder with its own log and export."""

    def __init__(self, folder: Path, environment: dict[str, str], args: tuple[str, ...]) -> None:
        folder.mkdir()
        Project(folder)
        self._log, self._output = folder / "log", folder / "out.jsonl"
        # Warnings of scrapy-redis under current Scrapy would be errors here too.
        command = [sys.executable, "-W", "error", "-m", "scrapy", "crawl", "history", "-o", str(self._output)]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, *args], cwd=folder, env=environment, stdout=log, stderr=log
            )

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def exported(self) -> list[str]:
        """The ids of the entries in its export."""
        return [row["id"] for row in read_export(self._output)] if self._output.exists() else []

    def end(self) -> int:
        """Wait for its end; its exit code."""
        try:
            return self.process.wait(WAIT)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"a worker does not end:\n{self.log}") from None


class Cluster:
    """A store, a Redis list, and the workers that share them."""

    def __init__(self, folder: Path, store_url: str, redis_url: str) -> None:
        self._folder, self._store_url = folder, store_url
        # The Redis is that of other tests too.
        self.key = f"{os.getpid()}:{next(_numbers)}"
        self.redis = redis.Redis.from_url(redis_url)
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SCRAPY_PROJECT": "cluster",
            "FHCRAWL_STORE_URL": store_url,
            "REDIS_URL": redis_url,
        }
        self.workers: list[Worker] = []

    def _settings(self, **settings: object) -> tuple[str, ...]:
        given = {**SETTINGS, "REDIS_START_URLS_KEY": self.key, **settings}
        return tuple(word for name, value in given.items() for word in ("-s", f"{name}={value}"))

    def start(self, *args: str, **settings: object) -> Worker:
        folder = self._folder / f"worker{len(self.workers)}"
        worker = Worker(folder, self._environment, (*args, *self._settings(**settings)))
        self.workers.append(worker)
        return worker

    def command(self, *args: str) -> str:
        """What a command of fhcrawl prints."""
        command = [sys.executable, "-m", "scrapy", *args, *self._settings()]
        if not (self._folder / "scrapy.cfg").exists():
            Project(self._folder)
        done = subprocess.run(
            command, cwd=self._folder, env=self._environment, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    def exported(self) -> list[str]:
        """The ids of the entries in all exports, sorted."""
        return sorted(itertools.chain.from_iterable(worker.exported for worker in self.workers))

    def close(self) -> None:
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.process.kill()
                worker.process.wait()
        self.redis.close()

    def feeds(self) -> dict[str, Feed]:
        """The stored row of each feed, by URL."""
        with contextlib.closing(Store.open(self._store_url)) as store:
            return {feed.feed: feed for feed in store.feeds.read()}


class Hosts:
    """Servers on addresses of this machine, which count as hosts, each with some feeds of three documents."""

    def __init__(self, servers: list[FeedServer], feeds: int, delay: float) -> None:
        self.servers = servers
        self.urls: list[str] = []
        self.entries: list[str] = []
        for host, server in enumerate(servers):
            for feed in range(feeds):
                name = f"{host}-{feed}"
                for number in range(3):
                    entry = f"{name}-{number}"
                    prev = f"/{name}/{number - 1}" if number else None
                    server.serve(f"/{name}/{number}", atom([E(entry)], prev=prev), delay=delay)
                    self.entries.append(entry)
                self.urls.append(server.url(f"/{name}/2"))
        self.entries.sort()

    def requested(self) -> int:
        return sum(len(server.requests) for server in self.servers)

    def agents(self) -> list[list[str]]:
        """The clients of each host, in the order of their requests, without repetitions."""
        by_host = [[headers["User-Agent"] for headers in server.headers] for server in self.servers]
        return [[agent for agent, _ in itertools.groupby(agents)] for agents in by_host]


@contextlib.contextmanager
def hosts(number: int, feeds: int = 2, delay: float = 0) -> Iterator[Hosts]:
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(FeedServer((f"127.0.1.{n}", 0))) for n in range(1, number + 1)]
        yield Hosts(servers, feeds, delay)


def wait_until(condition: Callable[[], object], worker: Worker) -> None:
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end, worker.log
        time.sleep(0.1)


@pytest.fixture
def cluster(tmp_path: Path, postgresql_url: str, redis_url: str) -> Iterator[Cluster]:
    schema = f"cluster_{os.getpid()}_{next(_numbers)}"
    Database(postgresql_url).execute(f"CREATE SCHEMA {schema}")
    store_url = f"{postgresql_url}?options=-csearch_path%3D{schema}"
    with contextlib.closing(Cluster(tmp_path, store_url, redis_url)) as made:
        yield made


HOSTS = 12
# One test of the cluster is enough for each change.
nightly = pytest.mark.nightly("starts several workers")


def agent(number: int) -> str:
    return f"worker{number} (+https://example.org/)"


@nightly
@pytest.mark.timeout(600)
def test_workers_share_hosts_and_export_each_entry_once(cluster: Cluster) -> None:
    with hosts(HOSTS, delay=0.3) as published:
        cluster.command("subscribe", *published.urls)
        given = {"CONCURRENT_REQUESTS": 2, "MAX_IDLE_TIME_BEFORE_CLOSE": 0, "FHCRAWL_EXPORT_SECONDS": 1}
        workers = [cluster.start(USER_AGENT=agent(n), **given) for n in range(2)]
        for worker in workers:
            wait_until(lambda worker=worker: "Spider opened" in worker.log, worker)  # type: ignore[misc]
        assert "Queued 24 feeds on 12 hosts\n" in cluster.command("enqueue")
        wait_until(lambda: len(cluster.exported()) >= len(published.entries), workers[0])
        for worker in workers:
            worker.process.terminate()
        assert [worker.end() for worker in workers] == [0, 0], workers[0].log
        assert cluster.exported() == published.entries
        assert {feed.verdict for feed in cluster.feeds().values()} == {"complete"}
        agents = published.agents()
        # A host is crawled by one of them, from its first request to its last.
        assert Counter(map(len, agents)) == {1: HOSTS}
        assert min(Counter(name for [name] in agents).values()) >= HOSTS / 4
        assert published.servers[0].busiest == 1
    assert cluster.redis.keys(f"{cluster.key}*") == []


@pytest.mark.timeout(900)
def test_killed_worker_loses_nothing(cluster: Cluster) -> None:
    with hosts(HOSTS, delay=0.3) as published:
        cluster.command("subscribe", *published.urls)
        cluster.command("enqueue")
        given = {"CONCURRENT_REQUESTS": 2, "FHCRAWL_EXPORT_SECONDS": 1}
        workers = [cluster.start(USER_AGENT=agent(n), **given) for n in range(3)]
        killed = workers[1]
        wait_until(lambda: agent(1) in str(published.agents()) and published.requested() > 30, killed)
        killed.process.send_signal(signal.SIGKILL)
        killed.process.wait()
        assert [workers[0].end(), workers[2].end()] == [0, 0], workers[0].log
        missing = set(published.entries) - set(cluster.exported())
        assert missing, "it was killed too late"
        # Its lock on a host outlives it; the next worker waits for that.
        assert "Queued " in cluster.command("enqueue", "--due")
        last = cluster.start(USER_AGENT=agent(3))
        assert last.end() == 0, last.log
        assert cluster.exported() == published.entries
        assert {feed.verdict for feed in cluster.feeds().values()} == {"complete"}
        # A host has another worker only after the killed one.
        assert all(agents in ([agents[0]], [agent(1), agent(3)]) for agents in published.agents())


@nightly
@pytest.mark.timeout(600)
def test_changes_of_a_killed_worker_are_exported_without_a_request(cluster: Cluster) -> None:
    with hosts(2) as published:
        cluster.command("subscribe", *published.urls)
        cluster.command("enqueue")
        killed = cluster.start(MAX_IDLE_TIME_BEFORE_CLOSE=0)
        wait_until(lambda: {feed.verdict for feed in cluster.feeds().values()} == {"complete"}, killed)
        # Once a feed is released, it has a due time.
        wait_until(lambda: all(feed.due for feed in cluster.feeds().values()), killed)
        killed.process.kill()
        killed.process.wait()
        assert cluster.exported() == []
        requested = published.requested()
        assert "No feed is due" in cluster.command("enqueue", "--due")
        last = cluster.start()
        assert last.end() == 0, last.log
        assert cluster.exported() == published.entries
        assert published.requested() == requested


@nightly
@pytest.mark.timeout(600)
def test_host_that_is_crawled_is_not_taken_again_before_it_is_done(cluster: Cluster) -> None:
    with hosts(1, feeds=3, delay=2) as published:
        cluster.command("subscribe", *published.urls)
        cluster.command("enqueue", *published.urls)
        first = cluster.start(USER_AGENT=agent(0))
        wait_until(published.requested, first)
        assert " on 1 host\n" in cluster.command("enqueue", *published.urls)
        assert " on 0 hosts\n" in cluster.command("enqueue", *published.urls)
        second = cluster.start(USER_AGENT=agent(1))
        assert [first.end(), second.end()] == [0, 0], second.log
        holder = f"process {first.process.pid} on {socket.gethostname()} until 20"
        reported = f"Waiting for hosts that other workers hold: 1 (127.0.1.1 by {holder}"
        assert second.log.count(reported) == 1
        assert cluster.exported() == published.entries
        [server] = published.servers
        assert server.busiest == 1
        [agents] = published.agents()
        assert agents[0] == agent(0)
        assert len(agents) <= 2
        # The second time, each feed is polled with a conditional request.
        assert len([path for path in server.requests if path.endswith("/2")]) == 6


@nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seconds", [60, 3], ids=["Redis loses its data", "suspended for too long"])
def test_worker_that_has_lost_its_host_sends_no_more_requests(cluster: Cluster, seconds: int) -> None:
    with hosts(1, feeds=6, delay=0.4) as published:
        [server] = published.servers
        cluster.command("subscribe", *published.urls)
        cluster.command("enqueue")
        given = {"FHCRAWL_LEASE_SECONDS": seconds, "FHCRAWL_EXPORT_SECONDS": 1}
        first = cluster.start(USER_AGENT=agent(0), **given)
        wait_until(lambda: any(feed.due for feed in cluster.feeds().values()), first)
        first.process.send_signal(signal.SIGSTOP)
        if seconds > 3:
            # Those of this test: FLUSHALL would also delete those of others.
            assert cluster.redis.delete(*cluster.redis.keys(f"{cluster.key}*")) == 1
        cluster.command("enqueue")
        second = cluster.start(USER_AGENT=agent(1), **given)
        wait_until(lambda: agent(1) in str(published.agents()), second)
        first.process.send_signal(signal.SIGCONT)
        assert [first.end(), second.end()] == [0, 0], first.log
        agents = [headers["User-Agent"] for headers in server.headers]
        # The request that it was about to send when it was stopped.
        assert agents[agents.index(agent(1)) :].count(agent(0)) <= 1
        assert server.busiest <= 2
        assert "another worker may have taken over the host" in first.log
        cluster.command("enqueue")
        assert cluster.start(**given).end() == 0
        assert cluster.exported() == published.entries


@nightly
@pytest.mark.timeout(600)
def test_worker_does_not_take_a_host_that_it_has(cluster: Cluster) -> None:
    """Not even if Redis has lost the lock."""
    with hosts(1, feeds=1, delay=1) as published:
        [server] = published.servers
        cluster.command("enqueue", *published.urls)
        [element] = cluster.redis.lrange(cluster.key, 0, -1)
        worker = cluster.start()
        wait_until(published.requested, worker)
        # Before the worker renews its lock.
        with cluster.redis.pipeline() as pipe:
            pipe.delete(*cluster.redis.keys(f"{cluster.key}*"))
            pipe.rpush(cluster.key, element)
            pipe.execute()
        assert worker.end() == 0, worker.log
        # First all documents, then the subscription document again.
        documents = [path for path in server.requests if path != "/robots.txt"]
        assert documents[:3] == ["/0-0/2", "/0-0/1", "/0-0/0"]
        assert documents.count("/0-0/2") == 2
        assert cluster.exported() == published.entries


@nightly
@pytest.mark.timeout(600)
def test_waiting_worker_crawls_feeds_again_and_exports_while_it_waits(cluster: Cluster) -> None:
    """Also if nothing is subscribed."""
    with hosts(1, feeds=1) as published:
        [url], [server] = published.urls, published.servers
        worker = cluster.start(MAX_IDLE_TIME_BEFORE_CLOSE=0, FHCRAWL_EXPORT_SECONDS=1)
        wait_until(lambda: "Spider opened" in worker.log, worker)
        assert "Queued 1 feed on 1 host\n" in cluster.command("enqueue", url)
        wait_until(lambda: cluster.exported() == published.entries, worker)
        # Not due: nothing is pushed.
        assert "No feed is due; the next one is due at" in cluster.command("enqueue", "--due", url)
        server.answers[url.removeprefix(server.root)].body = server.answers["/0-0/2"].body.replace(
            b"0-0-2", b"new"
        )
        cluster.command("enqueue", url)
        wait_until(lambda: "new" in worker.exported, worker)
        worker.process.terminate()
        assert worker.end() == 0, worker.log
        assert cluster.exported() == sorted([*published.entries, "new"])


@nightly
def test_only_feeds_that_are_still_due_are_crawled(cluster: Cluster) -> None:
    with hosts(1, feeds=1) as published:
        cluster.command("subscribe", *published.urls)
        cluster.command("enqueue", "--due")
        [element] = cluster.redis.lrange(cluster.key, 0, -1)
        assert json.loads(element) == {"host": "127.0.1.1", "due": True, "feeds": {published.urls[0]: {}}}
        cluster.redis.rpush(cluster.key, element)
        worker = cluster.start()
        assert worker.end() == 0, worker.log
        assert len([path for path in published.servers[0].requests if path == "/0-0/2"]) == 1
        assert cluster.redis.llen(cluster.key) == 0


@nightly
@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("-a", "feed=http://127.0.0.1/"), "feed cannot be used with workers, which get their feeds from"),
        (("-a", "warc=captures"), "warc cannot be used with workers"),
        (("-s", "JOBDIR=job"), "JOBDIR cannot be used with workers"),
        (("-s", "REDIS_URL=redis://127.0.0.1:1/0"), "Cannot use Redis: "),
        (("-s", "REDIS_URL=nowhere"), "REDIS_URL is not valid; use redis://HOST:6379/0"),
        (("-s", "FHCRAWL_STORE_URL=sqlite:///x"), "FHCRAWL_STORE_URL is not a PostgreSQL database"),
    ],
    ids=["feed", "warc", "JOBDIR", "no Redis", "REDIS_URL", "SQLite"],
)
def test_what_a_worker_cannot_do_is_a_sentence(
    cluster: Cluster, args: tuple[str, ...], sentence: str
) -> None:
    if "-s" in args and "JOBDIR" not in args[1]:
        printed = cluster.command("enqueue", "http://127.0.0.1/", *args)
        assert sentence in printed
        assert "Traceback" not in printed
    printed = cluster.command("crawl", "history", *args)
    assert sentence in printed
    assert "Traceback" not in printed
