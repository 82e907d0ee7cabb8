"""Workers of a cluster, in processes of their own, and hosts on addresses of this machine."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fhcrawl.store import Store
from tests import fork_server
from tests.projects import ROOT, STATS_FILE, USER_AGENT, Project, Run, read_export
from tests.server import FeedServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fhcrawl.store import Feed
    from tests.projects import Process

# The tests run on machines that have much else to do.
WAIT = 240
PAUSE_SECONDS = 0.1


class Worker:
    """A process of `scrapy crawl history`, in a folder with its own log, stats and export."""

    def __init__(self, folder: Path, environment: dict[str, str], args: tuple[str, ...]) -> None:
        self.folder = folder
        self.output = folder / "out.jsonl"
        command = ["crawl", "history", "-o", str(self.output), *args]
        env = {**environment, STATS_FILE: str(folder / "stats.json")}
        self.process: Process
        # Warnings of scrapy-redis under current Scrapy would be errors here too.
        with (folder / "log").open("wb") as log, Path(os.devnull).open("rb") as nothing:
            if fork_server.can_fork(env):
                streams = (nothing.fileno(), log.fileno(), log.fileno())
                before = [("warnings:simplefilter", ["error"])]
                self.process = fork_server.running().start(command, folder, env, streams, before)
            else:
                python = [sys.executable, "-W", "error", "-m", "scrapy"]
                self.process = subprocess.Popen(
                    [*python, *command], cwd=folder, env=env, stdout=log, stderr=log
                )

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def join(self) -> None:
        """Wait until it is part of the job."""
        end = time.monotonic() + WAIT
        while ": this is run " not in self.log:
            assert self.process.poll() is None, self.log
            assert time.monotonic() < end, self.log
            time.sleep(PAUSE_SECONDS)

    def end(self) -> Run:
        """Wait for its end."""
        try:
            code = self.process.wait(WAIT)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"a worker does not end:\n{self.log}") from None
        stats = self.folder / "stats.json"
        items = read_export(self.output) if self.output.exists() else []
        return Run(code, self.log, json.loads(stats.read_text()) if stats.exists() else {}, items)


class Cluster:
    """A store, a Redis, and the workers that share them."""

    def __init__(self, folder: Path, store_url: str, redis_url: str) -> None:
        self._folder = folder
        self.store_url = store_url
        self.redis_url = redis_url
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SCRAPY_PROJECT": "cluster",
            "FHCRAWL_STORE_URL": store_url,
            # The Redis is that of other tests too.
            "FHCRAWL_JOB": folder.name,
        }
        self.workers: list[Worker] = []

    def start(self, *feeds: str, args: tuple[str, ...] = (), **settings: object) -> Worker:
        """Start a worker with feeds; none: those that are subscribed."""
        folder = self._folder / f"worker{len(self.workers)}"
        folder.mkdir()
        Project(folder)
        (folder / "feeds.txt").write_text("\n".join(feeds))
        given = {
            "STATS_CLASS": "tests.projects.JsonStatsCollector",
            "USER_AGENT": USER_AGENT,
            "FHCRAWL_ALLOWED_PRIVATE_HOSTS": "127.0.0.0/8",
            **settings,
        }
        words = [word for name, value in given.items() for word in ("-s", f"{name}={value}")]
        listed = ("-a", "feeds=feeds.txt") if feeds else ()
        environment = {**self._environment, "REDIS_URL": self.redis_url}
        worker = Worker(folder, environment, (*listed, *words, *args))
        self.workers.append(worker)
        return worker

    def close(self) -> None:
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.process.kill()
                worker.process.wait()

    def feeds(self) -> dict[str, Feed]:
        """What the store says of each feed, by URL."""
        with contextlib.closing(Store.open(self.store_url)) as store:
            return {feed.feed: feed for feed in store.feeds.read()}

    def entries(self) -> list[dict[str, Any]]:
        """All live entries."""
        with contextlib.closing(Store.open(self.store_url)) as store:
            return list(store.entries.read())


@contextlib.contextmanager
def hosts(number: int) -> Iterator[list[FeedServer]]:
    """Servers on addresses of this machine, which count as hosts."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(FeedServer((f"127.0.1.{n}", 0))) for n in range(1, number + 1)]
