"""What a host asks one worker for, all workers do."""

from __future__ import annotations

import signal
import threading
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tests.cluster.test_cluster import Gate, chains, start_together
from tests.cluster.workers import WAIT, hosts
from tests.server import Answer

if TYPE_CHECKING:
    from tests.cluster.workers import Cluster

WORKERS = 3
SHORTEST = 0.4


def test_crawl_delay_is_kept_by_all_workers_together(cluster: Cluster) -> None:
    with hosts(1) as [server]:
        robots = "User-agent: *\nCrawl-delay: 1"
        server.serve("/robots.txt", robots, content_type="text/plain")
        workers = start_together(cluster, [server], chains([server], 4, 2, delay=0), WORKERS)
        runs = [worker.end() for worker in workers]
        gaps = [after - before for before, after in pairwise(server.arrivals)]
        # One robots.txt for all. A request is sent before it comes: the first one of a process takes a while.
        assert len(gaps) == 8
        assert min(gaps) >= SHORTEST
    assert sum(run.stats.get("fhcrawl/document/processed", 0) for run in runs) == 8


def test_download_delay_is_kept_by_all_workers_together(cluster: Cluster) -> None:
    with hosts(1) as [server]:
        workers = start_together(
            cluster,
            [server],
            chains([server], 4, 2, delay=0),
            WORKERS,
            DOWNLOAD_DELAY=1,
            DOWNLOAD_DELAY_JITTER=0,
            ROBOTSTXT_OBEY=0,
        )
        for worker in workers:
            assert worker.end().exit_code == 0
        gaps = [after - before for before, after in pairwise(server.arrivals)]
        assert len(gaps) == 7
        assert min(gaps) >= SHORTEST


def test_delay_goes_with_the_host_from_worker_to_worker(cluster: Cluster) -> None:
    with hosts(1) as [server]:
        urls = chains([server], 2, 1, delay=0)
        settings: dict[str, Any] = {"DOWNLOAD_DELAY": 4, "DOWNLOAD_DELAY_JITTER": 0, "ROBOTSTXT_OBEY": 0}
        gate = Gate([server], 1)
        first = cluster.start(*urls, **settings)
        assert gate.is_reached.wait(WAIT)
        second = cluster.start(*urls, **settings)
        second.join()
        # It has the answer, and leaves the other feed to the second one.
        first.process.send_signal(signal.SIGTERM)
        opened = time.monotonic()
        gate.open()
        assert (first.end().exit_code, second.end().exit_code) == (0, 0)
        [_first, then] = server.arrivals
        assert then - opened >= 3.5
    assert {len(worker.end().items) for worker in (first, second)} == {0, 2}


def test_retry_after_is_kept_by_all_workers_together(cluster: Cluster) -> None:
    with hosts(2) as [server, other]:
        urls = chains([server], 6, 2, delay=0)
        times: dict[str, list[float]] = {}
        lock, whole = threading.Lock(), server.answers["/0/0"]
        server.answers["/0/0"] = Answer(status=503, headers={"Retry-After": "4"})

        def note(path: str) -> None:
            with lock:
                times.setdefault(path, []).append(time.monotonic())
                if path == "/0/0":
                    server.answers[path] = whole

        server.on_request = note
        runs = [worker.end() for worker in start_together(cluster, [server], urls, WORKERS)]
        assert other.asked() == []
    assert sum(run.stats.get("fhcrawl/feed/complete", 0) for run in runs) == 6
    refused, again = times["/0/0"]
    assert again - refused >= 3.9
    assert [t for some in times.values() for t in some if refused < t < refused + 3.9] == []


def test_host_that_asks_for_too_much_time_is_left_by_all_workers(cluster: Cluster) -> None:
    with hosts(1) as [server]:
        urls = chains([server], 9, 1, delay=0.05)
        for n in range(9):
            server.answers[f"/{n}/0"] = Answer(status=429, headers={"Retry-After": "7200"})
        runs = [worker.end() for worker in start_together(cluster, [server], urls, WORKERS)]
        assert len(server.asked()) == 1
    assert sum(run.stats.get("fhcrawl/feed/unknown", 0) for run in runs) == 9
    kinds = {reason.kind for feed in cluster.feeds().values() for reason in feed.reasons}
    assert kinds == {"limit"}
