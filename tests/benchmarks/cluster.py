"""How the time falls from one worker of a cluster to two, with Redis and PostgreSQL on this machine.

Hosts take their time to answer, and each gets one request at a time: what a worker can do at once is
CONCURRENT_REQUESTS, and the time is that of the hosts, as long as the processors have time left.

Run from the repository's root: python -m tests.benchmarks.cluster
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests import postgresql, redisserver
from tests.benchmarks.measuring import ROOT
from tests.benchmarks.server import Site, serving_feeds
from tests.databases import Database
from tests.projects import STATS_FILE

AIM = 1.7
WORKERS = (1, 2)
OUTPUT = "out.jsonl"
SETTINGS = {
    "STATS_CLASS": "tests.projects.JsonStatsCollector",
    "USER_AGENT": "fhcrawl-benchmark (+https://example.org/)",
    "FHCRAWL_ALLOWED_PRIVATE_HOSTS": "127.0.0.0/8",
}


class Cost(NamedTuple):
    """What a job has cost.

    :param wall: from the first worker's opening of the spider to the last one's closing, in seconds
    :param cpu: of all workers, with their start, in seconds
    """

    wall: float
    cpu: float


def main() -> None:
    options = _options()
    print(
        f"{options.feeds} feeds, each on a host of its own, of {options.documents} documents with "
        f"{options.entries} entries, each after {options.latency} s; {options.places} requests at a time for "
        f"each worker; {options.rounds} rounds; Python {platform.python_version()}, {os.cpu_count()} CPUs",
        flush=True,
    )
    with ExitStack() as stack:
        # Durable, as it would be.
        database = stack.enter_context(postgresql.serving("max_connections=50"))
        redis = stack.enter_context(redisserver.serving())
        many = {"feeds": options.feeds, "hosts": options.feeds}
        site = Site(options.documents, options.entries, delay=options.latency, **many)
        feeds = stack.enter_context(serving_feeds(site))
        rounds = [_round(options, number, feeds, database, redis) for number in range(1, options.rounds + 1)]
    _report(options, rounds)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feeds", type=int, default=64, help="how many (default: 64)")
    parser.add_argument("--documents", type=int, default=8, help="in each chain (default: 8)")
    parser.add_argument("--entries", type=int, default=20, help="in each document (default: 20)")
    parser.add_argument("--latency", type=float, default=1.0, help="seconds before an answer (default: 1)")
    parser.add_argument("--places", type=int, default=8, help="CONCURRENT_REQUESTS (default: 8)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is run (default: 3)")
    return parser.parse_args()


def _round(
    options: argparse.Namespace, number: int, feeds: list[str], database: str, redis: str
) -> dict[int, Cost]:
    costs = {}
    for workers in WORKERS:
        schema = f"round_{number}_{workers}"
        Database(database).execute(f"CREATE SCHEMA {schema}")
        environment = {
            "FHCRAWL_STORE_URL": f"{database}?options=-csearch_path%3D{schema}",
            "FHCRAWL_JOB": schema,
            "REDIS_URL": redis,
        }
        costs[workers] = _job(options, workers, feeds, environment)
    times = ", ".join(f"{workers} {cost.wall:.1f} s" for workers, cost in costs.items())
    print(f"round {number}: {times}; load {os.getloadavg()[0]:.1f}", flush=True)
    return costs


def _job(options: argparse.Namespace, workers: int, feeds: list[str], environment: dict[str, str]) -> Cost:
    with tempfile.TemporaryDirectory(prefix="fhcrawl-benchmark-") as name:
        folders = [Path(name) / str(number) for number in range(workers)]
        processes = [_start(folder, feeds, options.places, environment) for folder in folders]
        usages = [os.wait4(process.pid, 0) for process in processes]
        for folder, (_pid, status, _usage) in zip(folders, usages, strict=True):
            if status:
                raise SystemExit(f"a worker has failed:\n{(folder / 'log').read_text()[-3000:]}")
        _expect(folders, options.feeds * options.documents * options.entries)
        cpu = sum(usage.ru_utime + usage.ru_stime for _pid, _status, usage in usages)
        return Cost(_wall(folders), cpu)


def _start(
    folder: Path, feeds: list[str], places: int, environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    folder.mkdir()
    shutil.copy(ROOT / "scrapy.cfg", folder)
    (folder / "feeds.txt").write_text("\n".join(feeds))
    given = [
        word
        for name, value in {**SETTINGS, "CONCURRENT_REQUESTS": places}.items()
        for word in ("-s", f"{name}={value}")
    ]
    ours = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY_")}
    deployment = {"PYTHONPATH": str(ROOT), "SCRAPY_PROJECT": "cluster", "no_proxy": "*", **environment}
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "scrapy", "crawl", "history", "-a", "feeds=feeds.txt"),
                *("-o", OUTPUT),
                *given,
            ],
            cwd=folder,
            env={**ours, **deployment, STATS_FILE: str(folder / "stats.json")},
            stdout=log,
            stderr=log,
        )


def _expect(folders: list[Path], entries: int) -> None:
    lines = sum(
        len((folder / OUTPUT).read_bytes().splitlines()) for folder in folders if (folder / OUTPUT).exists()
    )
    if lines != entries:
        raise SystemExit(f"{lines} entries instead of {entries}")


def _wall(folders: list[Path]) -> float:
    stats = [json.loads((folder / "stats.json").read_text()) for folder in folders]
    begun = min(datetime.fromisoformat(each["start_time"]) for each in stats)
    ended = max(datetime.fromisoformat(each["finish_time"]) for each in stats)
    return (ended - begun).total_seconds()


def _report(options: argparse.Namespace, rounds: list[dict[int, Cost]]) -> None:
    documents, entries = options.feeds * options.documents, options.entries
    print(f"\n{'workers':10}{'wall s':>8}{'min':>8}{'CPU s':>8}{'documents/s':>14}{'entries/s':>12}")
    for workers in WORKERS:
        walls = [each[workers].wall for each in rounds]
        cpu = median(each[workers].cpu for each in rounds)
        rate = documents / median(walls)
        print(
            f"{workers:<10}{median(walls):8.1f}{min(walls):8.1f}{cpu:8.1f}{rate:14.1f}{rate * entries:12.0f}"
        )
    one, two = WORKERS
    ratio = median(each[one].wall / each[two].wall for each in rounds)
    print(f"\n{one} worker's time to {two} workers'{ratio:8.2f}   at least {AIM}")


if __name__ == "__main__":
    main()
