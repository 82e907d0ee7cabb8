"""Workers of a cluster, in processes of their own, and hosts on addresses of this machine."""

import contextlib
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import redis

from fhcrawl.store import Feed, Store
from tests.feeds import E, atom
from tests.projects import ROOT, Project, read_export
from tests.server import FeedServer

# The tests run on machines that have much else to do.
WAIT = 120
PAUSE_SECONDS = 0.1
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
        self._folder = folder
        self.store_url = store_url
        # The Redis is that of other tests too.
        self.key = f"{os.getpid()}:{next(_numbers)}"
        self.redis = redis.Redis.from_url(redis_url)
        self.environment = {
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
        worker = Worker(folder, self.environment, (*args, *self._settings(**settings)))
        self.workers.append(worker)
        return worker

    def command(self, *args: str) -> str:
        """What a command of fhcrawl prints."""
        command = [sys.executable, "-m", "scrapy", *args, *self._settings()]
        if not (self._folder / "scrapy.cfg").exists():
            Project(self._folder)
        done = subprocess.run(
            command, cwd=self._folder, env=self.environment, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    def waiting(self) -> int:
        """How many hosts are in the list."""
        return int(self.redis.llen(self.key))

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
        """What the store says of each feed, by URL."""
        with contextlib.closing(Store.open(self.store_url)) as store:
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

    def asked(self) -> int:
        return sum(len(server.requests) for server in self.servers)

    def agents(self) -> list[list[str]]:
        """Who has asked each host, in the order of its requests, without repetitions."""
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
        time.sleep(PAUSE_SECONDS)
