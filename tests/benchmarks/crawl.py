"""What fhcrawl costs, beside a plain Scrapy spider and a loop around feedparser.

Run from the repository's root: python -m tests.benchmarks.crawl
"""

import argparse
import hashlib
import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests import postgresql
from tests.benchmarks.measuring import (
    HERE,
    OUTPUT,
    RATIO_HEAD,
    WIDTH,
    Cost,
    Round,
    arguments,
    conditions,
    fhcrawl,
    folder,
    measure,
    plain,
    project,
    ratio,
    said,
    table,
)
from tests.benchmarks.server import serving
from tests.databases import Database

LONGER = 10
MEMORY_TARGET = 1.15
CONTESTANTS = {
    "a": "plain Scrapy spider",
    "b": "fhcrawl, first run",
    "c": "fhcrawl, nothing new",
    "d": "urllib and feedparser",
    "e": "(b) with PostgreSQL",
}
TARGETS = {("b", "a"): 1.0, ("b", "d"): 0.25, ("c", "a"): 0.3, ("e", "b"): 1.6}


class Written(NamedTuple):
    """What is in an export.

    :param digest: of all entries without their `change`, in any order
    """

    lines: int
    ids: int
    digest: int


def main() -> None:
    parser = arguments(
        __doc__,
        archives=(200, "documents in the chain"),
        entries=(100, "entries in each"),
        rounds=(5, "how often each is run"),
    )
    longer = f"compare the peak memory with that of a chain {LONGER} times as long"
    parser.add_argument("--long", action=argparse.BooleanOptionalAction, default=True, help=longer)
    parser.add_argument("--postgres", action="store_true", help="compare SQLite with PostgreSQL, too")
    options = parser.parse_args()
    print(
        f"{options.archives} archives of {options.entries} entries, {conditions(options.rounds)}", flush=True
    )
    with serving(options.archives, options.entries) as url, _server(options) as database:
        options.database = database
        rounds = [_round(url, options, number) for number in range(1, options.rounds + 1)]
    print(table(CONTESTANTS, rounds))
    print(_ratios(rounds), flush=True)
    if options.long:
        print(_memory(options, rounds))


def _server(options: argparse.Namespace) -> AbstractContextManager[str | None]:
    return postgresql.serving() if options.postgres else nullcontext()


# -- one round ------------------------------------------------------------------------------------


def _round(url: str, options: argparse.Namespace, number: int) -> Round:
    expected = options.archives * options.entries
    with folder() as simple, project() as whole, folder() as loop:
        costs = {"a": measure([*plain(f"feed={url}"), "-o", OUTPUT], simple)}
        costs |= {"b": measure(fhcrawl(url), whole)}
        of_plain, of_fhcrawl = _expect("a", simple, expected), _expect("b", whole, expected)
        costs |= {"c": measure(fhcrawl(url), whole)}
        of_second_run = _expect("c", whole, expected)
        costs |= {"d": measure([str(HERE / "feedparser_loop.py"), url, OUTPUT], loop)}
        _expect("d", loop, expected)
    if options.database is not None:
        costs |= {"e": _with_postgresql(url, options.database, f"round_{number}", of_fhcrawl)}
    if not of_plain.digest == of_fhcrawl.digest == of_second_run.digest:
        raise SystemExit("a, b and c have not written the same entries")
    print(said(number, costs), flush=True)
    return costs


def _with_postgresql(url: str, database: str, schema: str, expected: Written) -> Cost:
    Database(database).execute(f"CREATE SCHEMA {schema}")
    store = f"{database}?options=-csearch_path%3D{schema}"
    with project() as folder:
        cost = measure(fhcrawl(url, {"FHCRAWL_STORE_URL": store}), folder)
        if _written(folder / OUTPUT) != expected:
            raise SystemExit("e has not written what b has")
    return cost


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


def _ratios(rounds: list[Round]) -> str:
    compared = {pair: target for pair, target in TARGETS.items() if pair[0] in rounds[0]}
    return "\n".join([RATIO_HEAD, *(ratio(*pair, rounds, target) for pair, target in compared.items())])


def _memory(options: argparse.Namespace, rounds: list[Round]) -> str:
    archives = options.archives * LONGER
    with serving(archives, options.entries, lazy=True) as url, project() as folder:
        cost = measure(fhcrawl(url), folder)
        _expect("b", folder, archives * options.entries)
    short = median(each["b"].memory for each in rounds)
    return (
        f"{'b, memory':{WIDTH}}{cost.memory / short:8.3f}{'':8}   at most {MEMORY_TARGET}"
        f" ({cost.memory:.1f} MiB with {archives} archives, {short:.1f} with {options.archives};"
        f" {cost.wall:.1f} s, {cost.cpu:.1f} s CPU)"
    )


if __name__ == "__main__":
    main()
