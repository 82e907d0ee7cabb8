"""How the time falls from one worker of a cluster to two, with Redis and PostgreSQL on this machine.

Hosts take their time to answer, and each has one worker at a time.

Run from the repository's root: python -m benchmarks.cluster
"""

import argparse
import json
import shutil
import subprocess
import sys
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from statistics import median

from benchmarks.measuring import ROOT, arguments, command, environment, given
from benchmarks.measuring import folder as temporary_folder
from benchmarks.server import Site, serving_feeds
from tests import postgresql, redisserver
from tests.databases import Database
from tests.projects import STATS_FILE

AIM = 1.8
WORKERS = (1, 2)
SETTINGS = {
    "STATS_CLASS": "tests.projects.JsonStatsCollector",
    "USER_AGENT": "fhcrawl-benchmark (+https://example.org/)",
    "FHCRAWL_ALLOWED_PRIVATE_HOSTS": "127.0.0.0/8",
    "MAX_IDLE_TIME_BEFORE_CLOSE": 5,
}


def main() -> None:
    options = arguments(
        __doc__,
        feeds=(64, "how many"),
        hosts=(32, "how many"),
        documents=(4, "in each chain"),
        entries=(5, "in each document"),
        latency=(4.0, "seconds before an answer"),
        rounds=(1, "how often each is run"),
    ).parse_args()
    print(
        f"{options.feeds} feeds on {options.hosts} hosts, of {options.documents} documents with "
        f"{options.entries} entries, each after {options.latency} s",
        flush=True,
    )
    with ExitStack() as stack:
        database = stack.enter_context(postgresql.serving("max_connections=50"))
        redis = stack.enter_context(redisserver.serving())
        load = {"feeds": options.feeds, "hosts": options.hosts}
        site = Site(options.documents, options.entries, delay=options.latency, **load)
        feeds = stack.enter_context(serving_feeds(site))
        rounds = [_round(options, number, feeds, database, redis) for number in range(options.rounds)]
    ratio = median(one / two for one, two in rounds)
    print(f"1 worker's time to 2 workers' {ratio:.2f}   at least {AIM}")


def _round(
    options: argparse.Namespace, number: int, feeds: list[str], database: str, redis: str
) -> list[float]:
    walls = []
    for workers in WORKERS:
        schema = f"round_{number}_{workers}"
        Database(database).execute(f"CREATE SCHEMA {schema}")
        more = {"FHCRAWL_STORE_URL": f"{database}?options=-csearch_path%3D{schema}", "REDIS_URL": redis}
        walls.append(_crawl(workers, feeds, more, options.feeds * options.documents * options.entries))
        print(f"round {number + 1}, workers: {workers}, {walls[-1]:.1f} s", flush=True)
    return walls


def _crawl(workers: int, feeds: list[str], more: dict[str, str], entries: int) -> float:
    with temporary_folder() as place:
        folders = [place / str(number) for number in range(workers)]
        (place / "feeds.txt").write_text("\n".join(feeds))
        for folder in folders:
            folder.mkdir()
            shutil.copy(ROOT / "scrapy.cfg", folder)
        subscribed = _start(folders[0], more, "subscribe", "../feeds.txt")
        if subscribed.wait() or _start(folders[0], more, "enqueue").wait():
            raise SystemExit((folders[0] / "log").read_text())
        started = [_start(each, more, "crawl", "history", "-o", "out.jsonl") for each in folders]
        for folder, process in zip(folders, started, strict=True):
            if process.wait():
                raise SystemExit(f"a worker has failed:\n{(folder / 'log').read_text()[-3000:]}")
        outputs = [folder / "out.jsonl" for folder in folders]
        lines = sum(len(output.read_bytes().splitlines()) for output in outputs if output.exists())
        if lines != entries:
            raise SystemExit(f"{lines} entries instead of {entries}")
        return _wall(folders, more["FHCRAWL_STORE_URL"])


def _start(folder: Path, more: dict[str, str], *args: str) -> subprocess.Popen[bytes]:
    ours = {"SCRAPY_PROJECT": "cluster", STATS_FILE: str(folder / "stats.json")}
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, *command(*args, *given(SETTINGS))],
            cwd=folder,
            env={**environment(), **ours, **more},
            stdout=log,
            stderr=log,
        )


def _wall(folders: list[Path], store: str) -> float:
    stats = [json.loads((folder / "stats.json").read_text()) for folder in folders]
    begun = min(datetime.fromisoformat(each["start_time"]) for each in stats)
    [(ended,)] = Database(store).rows("SELECT max(fetched) FROM documents")
    return (datetime.fromisoformat(ended) - begun).total_seconds()


if __name__ == "__main__":
    main()
