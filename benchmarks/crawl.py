"""What fhcrawl costs, beside a plain Scrapy spider and a loop around feedparser.

Run from the repository's root: python -m benchmarks.crawl
"""

import argparse
import hashlib
import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from statistics import median

from benchmarks.measuring import (
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
    reported,
    table,
)
from benchmarks.server import serving
from tests import postgresql
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
TARGETS = {("b", "a"): 0.9, ("b", "d"): 0.25, ("c", "a"): 0.25, ("e", "b"): 1.6}


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
    server: AbstractContextManager[str | None] = postgresql.serving() if options.postgres else nullcontext()
    with serving(options.archives, options.entries) as url, server as database:
        options.database = database
        rounds = [_round(url, options, number) for number in range(1, options.rounds + 1)]
    print(table(CONTESTANTS, rounds))
    print(_ratios(rounds), flush=True)
    if options.long:
        print(_memory(options, rounds))


# -- one round ------------------------------------------------------------------------------------


def _round(url: str, options: argparse.Namespace, number: int) -> Round:
    expected = options.archives * options.entries
    with folder() as simple, project() as complete, folder() as loop, project() as served:
        costs = {"a": measure([*plain(f"feed={url}"), "-o", OUTPUT], simple)}
        digests = {_expect("a", simple, expected)}
        for name in ("b", "c"):
            costs[name] = measure(fhcrawl(url), complete)
            digests.add(_expect(name, complete, expected))
        costs["d"] = measure([str(HERE / "feedparser_loop.py"), url, OUTPUT], loop)
        _expect("d", loop, expected)
        if options.database is not None:
            costs["e"] = _with_postgresql(url, options.database, f"round_{number}", served)
            digests.add(_expect("e", served, expected))
    if len(digests) > 1:
        raise SystemExit("a, b, c and e have not written the same entries")
    print(reported(number, costs), flush=True)
    return costs


def _with_postgresql(url: str, database: str, schema: str, folder: Path) -> Cost:
    Database(database).execute(f"CREATE SCHEMA {schema}")
    store = f"{database}?options=-csearch_path%3D{schema}"
    return measure(fhcrawl(url, {"FHCRAWL_STORE_URL": store}), folder)


def _expect(name: str, folder: Path, lines: int) -> int:
    """A digest of what is in a folder's export: its entries without their `change`, in any order.

    :raises SystemExit: if that is not so many entries, each of them once
    """
    ids: list[str] = []
    digest = 0
    with (folder / OUTPUT).open(encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            entry.pop("change", None)
            ids.append(entry["id"])
            serialised = json.dumps(entry, sort_keys=True).encode()
            digest ^= int.from_bytes(hashlib.blake2b(serialised, digest_size=16).digest(), "big")
    if (len(ids), len(set(ids))) != (lines, lines):
        raise SystemExit(f"{name}: {len(ids)} lines with {len(set(ids))} ids instead of {lines}")
    return digest


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
