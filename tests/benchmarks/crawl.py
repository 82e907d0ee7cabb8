"""What fhcrawl costs, beside a plain Scrapy spider and a loop around feedparser.

Run from the repository's root: python -m tests.benchmarks.crawl
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import tempfile
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from tests import postgresql
from tests.benchmarks.measuring import ROOT, Cost, measure
from tests.benchmarks.server import serving
from tests.databases import Database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

HERE = Path(__file__).parent
OUTPUT = "out.jsonl"
LONGER = 10
MEMORY_TARGET = 1.15
CONTESTANTS = {
    "a": "plain Scrapy spider",
    "b": "fhcrawl, first run",
    "c": "fhcrawl, nothing new",
    "d": "urllib and feedparser",
    "e": "(b) with PostgreSQL",
}
TARGETS = {("b", "a"): 1.25, ("b", "d"): 0.2, ("c", "a"): 0.35, ("e", "b"): 1.5}

Round = dict[str, Cost]


class Written(NamedTuple):
    """What is in an export.

    :param digest: of all entries without their `change`, in any order
    """

    lines: int
    ids: int
    digest: int


def main() -> None:
    options = _options()
    print(_conditions(options), flush=True)
    with serving(options.archives, options.entries) as url, _server(options) as database:
        options.database = database
        rounds = [_round(url, options, number) for number in range(1, options.rounds + 1)]
    print(_table(rounds))
    print(_ratios(rounds), flush=True)
    if options.long:
        print(_memory(options, rounds))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--archives", type=int, default=200, help="documents in the chain (default: 200)")
    parser.add_argument("--entries", type=int, default=100, help="entries in each (default: 100)")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is run (default: 5)")
    parser.add_argument(
        "--long",
        action=argparse.BooleanOptionalAction,
        default=True,
        help=f"compare the peak memory with that of a chain {LONGER} times as long",
    )
    parser.add_argument("--postgres", action="store_true", help="compare SQLite with PostgreSQL, too")
    return parser.parse_args()


def _server(options: argparse.Namespace) -> AbstractContextManager[str | None]:
    """A PostgreSQL server on loopback, as it is installed; the URL of its database."""
    return postgresql.serving() if options.postgres else nullcontext()


def _conditions(options: argparse.Namespace) -> str:
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("Scrapy", "lxml"))
    return (
        f"{options.archives} archives of {options.entries} entries, {options.rounds} rounds; "
        f"Python {platform.python_version()}, {versions}, {os.cpu_count()} CPUs"
    )


# -- one round ------------------------------------------------------------------------------------


def _round(url: str, options: argparse.Namespace, number: int) -> Round:
    expected = options.archives * options.entries
    with _folder() as plain, _folder() as project, _folder() as loop:
        costs = {"a": measure(_plain_spider(url), plain)}
        costs |= {"b": measure(_fhcrawl(url), _project(project))}
        of_plain, of_fhcrawl = _expect("a", plain, expected), _expect("b", project, expected)
        costs |= {"c": measure(_fhcrawl(url), project)}
        of_second_run = _expect("c", project, expected)
        costs |= {"d": measure([str(HERE / "feedparser_loop.py"), url, OUTPUT], loop)}
        _expect("d", loop, expected)
    if options.database is not None:
        costs |= {"e": _with_postgresql(url, options.database, f"round_{number}", of_fhcrawl)}
    if not of_plain.digest == of_fhcrawl.digest == of_second_run.digest:
        raise SystemExit("a, b and c have not written the same entries")
    times = ", ".join(f"{name} {cost.wall:.2f} s" for name, cost in costs.items())
    print(f"round {number}: {times}", flush=True)
    return costs


def _with_postgresql(url: str, database: str, schema: str, expected: Written) -> Cost:
    Database(database).execute(f"CREATE SCHEMA {schema}")
    store = f"FHCRAWL_STORE_URL={database}?options=-csearch_path%3D{schema}"
    with _folder() as folder:
        cost = measure([*_fhcrawl(url), "-s", store], _project(folder))
        if _written(folder / OUTPUT) != expected:
            raise SystemExit("e has not written what b has")
    return cost


def _plain_spider(url: str) -> list[str]:
    # As fhcrawl has them; everything else is Scrapy's default.
    settings = {"LOG_LEVEL": "INFO", "ROBOTSTXT_OBEY": True, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
    given = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    spider = str(HERE / "plain_spider.py")
    return ["-m", "scrapy", "runspider", spider, "-a", f"feed={url}", "-o", OUTPUT, *given]


def _fhcrawl(url: str) -> list[str]:
    return ["-m", "scrapy", "crawl", "history", "-a", f"feed={url}", "-o", OUTPUT]


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="fhcrawl-benchmark-") as name:
        yield Path(name)


def _project(folder: Path) -> Path:
    shutil.copy(ROOT / "scrapy.cfg", folder)
    return folder


def _expect(name: str, folder: Path, lines: int) -> Written:
    """What is in a folder's export.

    :raises SystemExit: if that is not so many entries, each of them once
    """
    written = _written(folder / OUTPUT)
    if (written.lines, written.ids) != (lines, lines):
        raise SystemExit(f"{name}: {written.lines} lines with {written.ids} ids instead of {lines}")
    return written


def _written(path: Path) -> Written:
    ids: set[str] = set()
    lines = digest = 0
    with path.open(encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            entry.pop("change", None)
            ids.add(entry["id"])
            lines += 1
            serialised = json.dumps(entry, sort_keys=True).encode()
            digest ^= int.from_bytes(hashlib.blake2b(serialised, digest_size=16).digest(), "big")
    return Written(lines, len(ids), digest)


# -- the report -----------------------------------------------------------------------------------


def _table(rounds: list[Round]) -> str:
    head = f"{'':26}{'wall s':^16}{'CPU s':^16}{'peak MiB':^16}".rstrip()
    columns = " " * 26 + f"{'median':>8}{'min':>8}" * 3
    lines = [
        f"{name}  {what:23}{_columns([each[name] for each in rounds])}"
        for name, what in CONTESTANTS.items()
        if name in rounds[0]
    ]
    return "\n".join(["", head, columns, *lines, ""])


def _columns(costs: list[Cost]) -> str:
    wall, cpu, memory = ([cost[i] for cost in costs] for i in range(3))
    times = "".join(f"{median(values):8.2f}{min(values):8.2f}" for values in (wall, cpu))
    return f"{times}{median(memory):8.1f}{min(memory):8.1f}"


def _ratios(rounds: list[Round]) -> str:
    head = f"{'ratio':26}{'wall':>8}{'CPU':>8}   target (of wall)"
    lines = []
    for (one, other), target in TARGETS.items():
        if one not in rounds[0]:
            continue
        wall = median(each[one].wall / each[other].wall for each in rounds)
        cpu = median(each[one].cpu / each[other].cpu for each in rounds)
        lines.append(f"{one + '/' + other:26}{wall:8.3f}{cpu:8.3f}   at most {target}")
    return "\n".join([head, *lines])


def _memory(options: argparse.Namespace, rounds: list[Round]) -> str:
    archives = options.archives * LONGER
    with serving(archives, options.entries, lazy=True) as url, _folder() as folder:
        cost = measure(_fhcrawl(url), _project(folder))
        _expect("b", folder, archives * options.entries)
    short = median(each["b"].memory for each in rounds)
    ratio = cost.memory / short
    return (
        f"{'b, memory':26}{ratio:8.3f}{'':8}   at most {MEMORY_TARGET}"
        f" ({cost.memory:.1f} MiB with {archives} archives, {short:.1f} with {options.archives};"
        f" {cost.wall:.1f} s, {cost.cpu:.1f} s CPU)"
    )


if __name__ == "__main__":
    main()
