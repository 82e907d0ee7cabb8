"""What ten times as much of something costs: archives, feeds, entries in the store, octets of a document.

Run from the repository's root: python -m benchmarks.growth

Of each, a little and ten times as much is crawled (of entries in the store: a hundred times). `to linear` is
what a unit of the larger one costs, beside a unit of the smaller one; both without what the smallest costs,
which is little more than a start. All are medians over the rounds.
"""

import argparse
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import urlsplit

from benchmarks.measuring import (
    OUTPUT,
    STORE,
    Cost,
    arguments,
    command,
    conditions,
    expect_lines,
    expect_stat,
    fhcrawl,
    fhcrawl_list,
    measure,
    project,
)
from benchmarks.server import Site, serving, serving_feeds

TIME_AIM, MEMORY_AIM, DOCUMENT_AIM = 1.1, 1.15, 10
DOCUMENTS, ENTRIES = 4, 10  # of a feed, where it is feeds that are counted
ENTRIES_OF_AN_ARCHIVE = 100
DEFAULTS = {
    "archives": ([200, 2000], "of a chain"),
    "feeds": ([100, 1000], "on a host each"),
    "store": ([10_000, 1_000_000], "entries in it"),
    "document": ([10, 100], "MB of one"),
}
MEGABYTE, MIB = 1_000_000, 1024**2
TELLING = 1.5
ENTRY_SIZE = 1450  # octets, on average
LARGE_DOCUMENTS = {
    "DOWNLOAD_MAXSIZE": 0,
    "DOWNLOAD_WARNSIZE": 0,
    "DOWNLOAD_TIMEOUT": 3600,
    "FHCRAWL_MAX_ENTRIES": 0,
}
# What a run's copies of a feed's rows are told by.
COPY = "'?copy=' || :copy"


class Series(NamedTuple):
    """The same with less and with more of something, each once for each round.

    :param startup: the same with next to nothing
    """

    what: str
    unit: str
    sizes: list[int]
    startup: list[Cost]
    small: list[Cost]
    large: list[Cost]


def main() -> None:
    options = _options()
    print(conditions(options.rounds), flush=True)
    print(f"\n{'':48}{'CPU':>11}{'wall':>11}{'CPU':>9}{'wall':>9}{'memory':>9}")
    print(f"{'':48}{'µs a unit':^22}{'to linear':^18}")
    for name in options.only or SERIES:
        for series in SERIES[name](options):
            print(_row(series), flush=True)
    print(f"\naims: to linear at most {TIME_AIM}, memory at most {MEMORY_AIM}")


def _options() -> argparse.Namespace:
    parser = arguments(__doc__, rounds=(3, "how often each is run"))
    parser.add_argument("only", nargs="*", help=f"which of {', '.join(SERIES)} (default: all)")
    for name, (default, what) in DEFAULTS.items():
        parser.add_argument(
            f"--{name}", type=int, nargs=2, default=default, help=f"{what} (default: {default})"
        )
    return parser.parse_args()


# -- chains and feeds -----------------------------------------------------------------------------


def _chains(options: argparse.Namespace) -> Iterator[Series]:
    costs = [[_chain(n) for _round in range(options.rounds)] for n in (1, *options.archives)]
    yield Series("a chain", "archive", options.archives, *costs)


def _chain(archives: int) -> Cost:
    with serving(archives, ENTRIES, lazy=True) as url, project() as folder:
        cost = measure(fhcrawl(url), folder)
        expect_lines("a chain", folder, archives * ENTRIES)
    return cost


def _many_feeds(options: argparse.Namespace) -> Iterator[Series]:
    costs = [[_feeds(n) for _round in range(options.rounds)] for n in (1, *options.feeds)]
    for what, number in (("feeds of 3 archives", 0), ("feeds, nothing new", 1)):
        yield Series(what, "feed", options.feeds, *([both[number] for both in of_size] for of_size in costs))


def _feeds(number: int) -> tuple[Cost, Cost]:
    site = Site(DOCUMENTS, ENTRIES, feeds=number, hosts=number)
    with serving_feeds(site) as urls, project() as folder:
        costs = [measure(fhcrawl_list(urls, folder), folder) for _run in range(2)]
        expect_lines("feeds", folder, number * DOCUMENTS * ENTRIES)
    return costs[0], costs[1]


# -- the store ------------------------------------------------------------------------------------


def _stores(options: argparse.Namespace) -> Iterator[Series]:
    costs = [_store(size, options) for size in (2 * ENTRIES_OF_AN_ARCHIVE, *options.store)]
    for what in costs[0]:
        yield Series(f"store: {what}", "entry", options.store, *(of_size[what] for of_size in costs))


def _store(size: int, options: argparse.Namespace) -> dict[str, list[Cost]]:
    archives = min(size, options.store[0]) // ENTRIES_OF_AN_ARCHIVE
    with project() as folder:
        with serving(archives, ENTRIES_OF_AN_ARCHIVE) as url:
            measure(fhcrawl(url), folder)
        expect_lines("the store", folder, archives * ENTRIES_OF_AN_ARCHIVE)
        _multiply(folder / STORE, size // (archives * ENTRIES_OF_AN_ARCHIVE))
        costs: dict[str, list[Cost]] = {}
        for number in range(1, options.rounds + 1):
            # The publisher has one more archive, at the same address.
            more = {"port": urlsplit(url).port}
            with serving(archives + number, ENTRIES_OF_AN_ARCHIVE, **more):
                new = _run(folder, fhcrawl(url), ENTRIES_OF_AN_ARCHIVE)
                costs.setdefault("a new archive", []).append(new)
                costs.setdefault("nothing new", []).append(_run(folder, fhcrawl(url), 0))
                expect_stat("the store's feed", folder, "fhcrawl/feed/complete", 1)
            costs.setdefault("scrapy feeds", []).append(_run(folder, command("feeds"), 0))
            entries = size + number * ENTRIES_OF_AN_ARCHIVE
            costs.setdefault("scrapy export", []).append(
                _run(folder, command("export", "-o", OUTPUT), entries)
            )
    return costs


def _run(folder: Path, words: list[str], entries: int) -> Cost:
    (folder / OUTPUT).unlink(missing_ok=True)
    cost = measure(words, folder)
    expect_lines(" ".join(words), folder, entries)
    return cost


def _multiply(store: Path, times: int) -> None:
    with closing(sqlite3.connect(store)) as connection:
        entries, documents = (_columns(connection, table) for table in ("entries", "documents"))
        others = [name for name in documents if name not in ("id", "key", "url", "behind_id")]
        oldest, newest, last = connection.execute(
            "SELECT (SELECT id FROM documents WHERE behind_id IS NULL),"
            " (SELECT behind_id FROM documents WHERE role = 'subscription'), max(id) FROM documents"
        ).fetchone()
        (last_entry,) = connection.execute("SELECT max(rowid) FROM entries").fetchone()
        copied = [f"id || {COPY}" if name == "id" else name for name in entries]
        for copy in range(1, times):
            shift = copy * last
            values = {"copy": str(copy), "shift": shift, "last": last, "last_entry": last_entry}
            connection.execute(
                f"INSERT INTO entries SELECT {', '.join(copied)} FROM entries WHERE rowid <= :last_entry",
                values,
            )
            connection.execute(
                f"INSERT INTO documents (id, key, url, behind_id, {', '.join(others)}) SELECT id + :shift,"
                f" key || {COPY}, url || {COPY}, behind_id + :shift, {', '.join(others)} FROM documents"
                " WHERE role = 'archive' AND id <= :last",
                values,
            )
        links = [(newest + copy * last, oldest + (copy - 1) * last) for copy in range(1, times)]
        connection.executemany("UPDATE documents SET behind_id = ? WHERE id = ?", links)
        connection.commit()


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


# -- one large document ---------------------------------------------------------------------------


def _documents(options: argparse.Namespace) -> Iterator[Series]:
    costs = [[_document(n) for _round in range(options.rounds)] for n in (0, *options.document)]
    yield Series("one document", "MB", options.document, *costs)
    startup, large = (median(cost.memory for cost in of_size) for of_size in (costs[0], costs[2]))
    size = options.document[1] * MEGABYTE / MIB
    print(f"{'  memory/document':48}{'':40}{(large - startup) / size:9.2f}   at most {DOCUMENT_AIM}")


def _document(megabytes: int) -> Cost:
    entries = max(megabytes * MEGABYTE // ENTRY_SIZE, 1)
    with serving(1, entries, lazy=True) as url, project() as folder:
        cost = measure(fhcrawl(url, LARGE_DOCUMENTS), folder)
        expect_lines("one document", folder, entries)
    return cost


SERIES: dict[str, Callable[[argparse.Namespace], Iterator[Series]]] = {
    "chain": _chains,
    "feeds": _many_feeds,
    "store": _stores,
    "document": _documents,
}


# -- the report -----------------------------------------------------------------------------------


def _row(series: Series) -> str:
    sizes = " and ".join(f"{size:,}" for size in dict.fromkeys(series.sizes))
    cpu, wall = (_each(series, number) for number in (1, 0))
    units = "".join(f" {1e6 * large:10,.1f}" for _small, large in (cpu, wall))
    ratios = "".join(f" {large / small:8.3f}" for small, large in (cpu, wall))
    memory = median(cost.memory for cost in series.large) / median(cost.memory for cost in series.small)
    return f"{f'{series.what} ({series.unit}: {sizes})':48}{units}{ratios} {memory:8.3f}"


def _each(series: Series, number: int) -> tuple[float, float]:
    startup, *both = (
        median(cost[number] for cost in c) for c in (series.startup, series.small, series.large)
    )
    # What can hardly be told from a start counts with it.
    beyond = startup if min(both) > TELLING * startup else 0.0
    small, large = ((cost - beyond) / size for cost, size in zip(both, series.sizes, strict=True))
    return small, large


if __name__ == "__main__":
    main()
