"""Several workers crawl together: each host gets one request at a time, and whatever dies is made good."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests import redisserver
from tests.chaos.documents import Style
from tests.chaos.oracle import Reader, check_once, check_whole
from tests.chaos.publishers import Archived, Complete, Paged
from tests.cluster.workers import WAIT, hosts
from tests.core.own_components import COUNTED, ON_COMMAND_LINE
from tests.feeds import E, atom
from tests.server import Answer, FeedServer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tests.chaos.publishers import Publisher
    from tests.cluster.workers import Cluster, Worker

FEEDS, HOSTS, WORKERS = 200, 40, 4
KILLED_AT_REQUEST = 500
LEASE_SECONDS = 600


class Published(dict[str, Answer]):
    """What publishers answer, by path."""

    def __init__(self) -> None:
        super().__init__()
        self.publishers: dict[str, Publisher] = {}

    def get(self, path: str, default: object = None) -> Answer | None:  # type: ignore[override]
        publisher = self.publishers.get(path.split("/")[1])
        found = None if publisher is None else publisher.answer(path)
        if found is None:
            return None
        headers = {"Location": found.location} if found.location else {}
        return Answer(found.body, found.status, found.content_type, headers)


class Gate:
    """Holds all answers at a request, until it is opened."""

    def __init__(self, servers: list[FeedServer], at: int) -> None:
        self.is_reached = threading.Event()
        self._open = threading.Event()
        self._lock = threading.Lock()
        self._at, self._count = at, 0
        for server in servers:
            server.on_request = partial(self._ask, server.on_request)

    def _ask(self, note: Callable[[str], None] | None, path: str) -> None:
        with self._lock:
            self._count += 1
            is_closed = self._count >= self._at
        if is_closed:
            self.is_reached.set()
            self._open.wait(WAIT)
        if note is not None:
            note(path)

    def open(self) -> None:
        self._open.set()


def start_together(
    cluster: Cluster, servers: list[FeedServer], urls: list[str], number: int, **more: Any
) -> list[Worker]:
    """Start workers; nobody is answered before all of them have joined."""
    gate = Gate(servers, 1)
    workers = [cluster.start(*urls, **more) for _ in range(number)]
    for worker in workers:
        worker.join()
    gate.open()
    return workers


def publish(servers: list[FeedServer], number: int) -> list[Publisher]:
    kinds: list[type[Archived | Paged | Complete]] = [Archived, Archived, Paged, Archived, Complete]
    published: list[Publisher] = []
    answers = {server.root: Published() for server in servers}
    for server in servers:
        server.answers = answers[server.root]
    for n in range(number):
        rng = Random(n)  # noqa: S311
        root = servers[n % len(servers)].root
        # Some archives are on another host than their feed.
        elsewhere = root if n % 7 else servers[(n + 1) % len(servers)].root
        style = Style(("atom", "rss")[n % 2], ("own", "coarse", "document", "none")[n % 4], n % 3 > 0)
        publisher = kinds[n % len(kinds)](f"feed{n}", root, elsewhere, style, rng, "etag")
        for where in {root, elsewhere}:
            answers[where].publishers[publisher.name] = publisher
        published.append(publisher)
    return published


def check_all(cluster: Cluster, publishers: list[Publisher]) -> None:
    """The store holds exactly the logical feeds, with their verdicts, and the exports hold the same."""
    feeds, entries = cluster.feeds(), cluster.entries()
    by_feed: dict[str, dict[str, dict[str, object]]] = {publisher.feed: {} for publisher in publishers}
    for entry in entries:
        by_feed[entry["feed"]][entry["id"]] = entry
    for publisher in publishers:
        check_whole(publisher, feeds[publisher.feed], by_feed[publisher.feed])
    lines = [line for worker in cluster.workers for line in exported(worker)]
    check_once(lines, cluster.workers[0].output)
    reader = Reader()
    reader.take(lines)
    reader.check(entries)


def exported(worker: Worker) -> list[str]:
    return worker.output.read_text(encoding="utf-8").splitlines() if worker.output.exists() else []


def added(runs: list[Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for stats in runs:
        total.update(stats)
    return total


@pytest.mark.timeout(900)
def test_worker_that_is_killed_loses_nothing(cluster: Cluster) -> None:
    with hosts(HOSTS) as servers:
        publishers = publish(servers, FEEDS)
        gate = Gate(servers, KILLED_AT_REQUEST)
        urls = [publisher.feed for publisher in publishers]
        workers = [cluster.start(*urls, FHCRAWL_LEASE_SECONDS=LEASE_SECONDS) for _ in range(WORKERS)]
        assert gate.is_reached.wait(WAIT)
        for worker in workers:
            worker.join()
        workers[1].process.kill()
        workers[1].process.wait()
        gate.open()
        runs = [worker.end() for worker in workers if worker is not workers[1]]
        assert [run.exit_code for run in runs] == [0] * 3, runs[0].log
        check_all(cluster, publishers)
        stats = added([run.stats for run in runs])
        assert stats["fhcrawl/feed/resumed"] >= 1
        assert sum(stats[f"fhcrawl/feed/{verdict}"] for verdict in ("complete", "lossy")) == FEEDS
        assert all(run.stats["fhcrawl/document/processed"] for run in runs)
        assert not any("Traceback" in run.log for run in runs)


def chains(servers: list[FeedServer], number: int, length: int, delay: float = 0.02) -> list[str]:
    """Feeds whose documents are on all hosts in turn."""
    for n in range(number):
        for d in range(length):
            server = servers[(n + d) % len(servers)]
            prev = servers[(n + d + 1) % len(servers)].url(f"/{n}/{d + 1}") if d < length - 1 else None
            server.serve(f"/{n}/{d}", atom([E(f"{n}-{d}")], prev=prev), delay=delay)
    return [servers[n % len(servers)].url(f"/{n}/0") for n in range(number)]


def test_workers_share_the_work_and_a_host_gets_one_request_at_a_time(cluster: Cluster) -> None:
    with hosts(6) as servers:
        urls = chains(servers, 12, 5)
        runs = [worker.end() for worker in start_together(cluster, servers, urls, 2)]
        assert [run.exit_code for run in runs] == [0, 0]
        assert added([run.stats for run in runs])["fhcrawl/document/processed"] == 60
        assert [server.busiest for server in servers] == [1] * 6
        asked = Counter(path for server in servers for path in server.asked())
        assert set(asked.values()) == {1}
        assert len(asked) == 60
    ids = [item["id"] for run in runs for item in run.items]
    assert len(ids) == len(set(ids)) == 60
    assert {feed.verdict.value for feed in cluster.feeds().values()} == {"complete"}


def test_later_run_begins_a_new_job(cluster: Cluster) -> None:
    with hosts(2) as servers:
        urls = chains(servers, 4, 3)
        assert cluster.start(*urls).end().stats["fhcrawl/feed/complete"] == 4
        for server in servers:
            server.asked()
        run = cluster.start(*urls).end()
        assert run.stats["fhcrawl/document/unchanged"] == run.stats["fhcrawl/feed/complete"] == 4
        assert sum(len(server.asked()) for server in servers) == 4


def test_components_of_a_user_do_not_replace_the_clusters(cluster: Cluster) -> None:
    args = tuple(word for item in ON_COMMAND_LINE.items() for word in ("-s", "=".join(item)))
    with hosts(1) as servers:
        run = cluster.start(*chains(servers, 1, 2), args=args).end()
    assert run.stats["fhcrawl/feed/complete"] == 1
    assert run.all_stats.keys() >= COUNTED
    assert "fhcrawl.cluster.extension.ClusterExtension" in run.log
    assert "fhcrawl.cluster.robotstxt.RobotsTxtMiddleware" in run.log


def test_workers_start_anew_together_and_follow_redirects_to_other_hosts(cluster: Cluster) -> None:
    with hosts(3) as servers:
        urls = chains(servers, 6, 4)
        servers[2].answers["/feed"] = Answer(status=302, headers={"Location": urls[0]})
        urls[0] = servers[2].url("/feed")
        assert cluster.start(*urls).end().stats["fhcrawl/feed/complete"] == 6
        for server in servers:
            server.asked()
        again = start_together(cluster, servers, urls, 2, args=("-a", "deltafetch_reset=1"))
        runs = [worker.end() for worker in again]
        asked = Counter(path for server in servers for path in server.asked())
    assert set(asked.values()) == {1}
    assert len(asked) == 25
    stats = added([run.stats for run in runs])
    assert (stats["fhcrawl/document/processed"], stats["fhcrawl/feed/complete"]) == (24, 6)
    assert [run.items for run in runs] == [[], []]


def test_job_whose_workers_have_all_died_is_gone_on_with(cluster: Cluster) -> None:
    with hosts(2) as servers:
        urls = chains(servers, 4, 6)
        gate = Gate(servers, 10)
        workers = [cluster.start(*urls, FHCRAWL_LEASE_SECONDS=LEASE_SECONDS) for _ in range(2)]
        assert gate.is_reached.wait(WAIT)
        for worker in workers:
            worker.process.kill()
            worker.process.wait()
        gate.open()
        run = cluster.start(*urls).end()
    assert run.exit_code == 0
    assert run.stats["fhcrawl/feed/complete"] == 4
    assert len(run.changes) == 24


def test_worker_that_was_silent_for_too_long_writes_nothing_more(cluster: Cluster) -> None:
    with hosts(4) as servers:
        urls = chains(servers, 8, 6)
        gate = Gate(servers, 12)
        silent, other = (cluster.start(*urls, FHCRAWL_LEASE_SECONDS=3) for _ in range(2))
        other.join()
        assert gate.is_reached.wait(WAIT)
        silent.process.send_signal(signal.SIGSTOP)
        gate.open()
        run = other.end()
        # What it has been sent meanwhile, and would write now.
        silent.process.send_signal(signal.SIGCONT)
        late = silent.end()
    # If it was stopped in the middle of writing, the server has ended that, and it says so.
    assert (run.exit_code, late.exit_code in (0, 1)) == (0, True), late.log
    assert run.stats["fhcrawl/feed/complete"] == 8
    assert len(run.changes) == 48
    assert late.items == []
    assert "Traceback" not in late.log
    assert {feed.verdict.value for feed in cluster.feeds().values()} == {"complete"}


def test_worker_that_is_stopped_leaves_its_feeds_to_the_others(cluster: Cluster) -> None:
    with hosts(2) as servers:
        urls = chains(servers, 6, 6)
        gate = Gate(servers, 8)
        first = cluster.start(*urls)
        assert gate.is_reached.wait(WAIT)
        second = cluster.start(*urls)
        second.join()
        first.process.send_signal(signal.SIGTERM)
        gate.open()
        stopped, last = first.end(), second.end()
    assert (stopped.exit_code, last.exit_code) == (0, 0)
    items = [item["id"] for run in (stopped, last) for item in run.items]
    assert len(items) == len(set(items)) == 36
    assert added([stopped.stats, last.stats])["fhcrawl/feed/complete"] == 6
    assert {feed.verdict.value for feed in cluster.feeds().values()} == {"complete"}


def test_redis_that_fails_is_one_sentence_and_loses_nothing(cluster: Cluster) -> None:
    with hosts(1) as servers:
        urls = chains(servers, 1, 2)
        cluster.redis_url = "redis://127.0.0.1:1/0"
        run = cluster.start(*urls).end()
        assert run.exit_code == 2
        assert "Redis failed: " in run.log
        assert "Traceback" not in run.log
        assert servers[0].asked() == []


def test_redis_that_dies_on_the_way_loses_nothing(cluster: Cluster) -> None:
    with hosts(2) as servers, redisserver.serving() as url:
        urls = chains(servers, 4, 5)
        gate = Gate(servers, 8)
        with redisserver.serving() as mortal:
            cluster.redis_url = mortal
            worker = cluster.start(*urls)
            assert gate.is_reached.wait(WAIT)
        gate.open()
        run = worker.end()
        assert run.exit_code == 1
        assert len([warning for warning in run.warnings() if "Redis failed: " in warning]) == 1
        assert "Traceback" not in run.log
        cluster.redis_url = url
        again = cluster.start(*urls).end()
    assert again.stats["fhcrawl/feed/complete"] == 4
    assert len({item["id"] for item in (*run.items, *again.items)}) == len(run.items) + len(again.items) == 20


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("-a", "warc=../old.warc"), "--warc is for one process"),
        (("-s", "CONCURRENT_REQUESTS_PER_DOMAIN=2"), "in a cluster, each host gets one at a time"),
        (("-s", "FHCRAWL_STORE_URL=sqlite:///a.sqlite"), "is no PostgreSQL database"),
    ],
)
def test_what_is_not_for_clusters_is_said_before_the_first_request(
    cluster: Cluster, tmp_path: Path, args: tuple[str, ...], sentence: str
) -> None:
    (tmp_path / "old.warc").write_bytes(b"WARC/1.1\r\n")
    run = cluster.start("http://127.0.0.1:1/", args=args).end()
    assert run.exit_code == 2
    assert sentence in run.log
