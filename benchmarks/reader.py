"""What it costs to read plain feeds for the first time, and again unchanged, beside lemon24/reader.

Run from the repository's root: python -m benchmarks.reader

It needs lemon24/reader, which is not a dependency: pip install reader==3.26 sgmllib3k
"""

import importlib.metadata
import importlib.util
import sqlite3
from contextlib import closing
from pathlib import Path

from benchmarks.measuring import (
    FEEDS,
    OUTPUT,
    RATIO_HEAD,
    Cost,
    arguments,
    conditions,
    expect_lines,
    expect_stat,
    folder,
    measure,
    project,
    ratio,
    reported,
    table,
)
from benchmarks.server import Site, serving_feeds

AIM_FIRST, AIM_UNCHANGED = 1.0, 2.0
FIRST_HOST = "127.1.0.1"
CONTESTANTS = {
    "a": "reader, first run",
    "b": "fhcrawl, first run",
    "c": "reader, unchanged",
    "d": "fhcrawl, unchanged",
}
UNCHANGED = "downloader/response_status_count/304"
DATABASE = "reader.sqlite"
# By default, reader skips feeds that it has updated within the hour.
READER = f"""
from pathlib import Path
from reader import make_reader
reader = make_reader("{DATABASE}")
for url in Path("{FEEDS}").read_text().split():
    reader.add_feed(url, exist_ok=True)
reader.update_feeds(scheduled=False, workers=10)
"""
# reader requests no sitemaps; those of the entries' site are not served.
SETTINGS = ["-s", "LOG_LEVEL=INFO", "-s", "FHCRAWL_SITEMAPS_ENABLED=0"]
FHCRAWL = ["-m", "fhcrawl", "crawl", "--feeds", FEEDS, "-o", OUTPUT, *SETTINGS]

Round = dict[str, Cost]


def main() -> None:
    options = arguments(
        __doc__,
        feeds=(300, "how many, each on its own host"),
        entries=(20, "in each feed"),
        rounds=(3, "how often each is run"),
    ).parse_args()
    if importlib.util.find_spec("reader") is None:
        raise SystemExit("lemon24/reader is missing: pip install reader==3.26 sgmllib3k")
    print(
        f"{options.feeds} feeds of {options.entries} entries, each on its own host; "
        f"{conditions(options.rounds)}, reader {importlib.metadata.version('reader')}",
        flush=True,
    )
    site = Site(1, options.entries, feeds=options.feeds, hosts=options.feeds, first_host=FIRST_HOST)
    with serving_feeds(site) as urls:
        rounds = [_round(urls, options.entries, number) for number in range(1, options.rounds + 1)]
    print(table(CONTESTANTS, rounds))
    print("\n".join([RATIO_HEAD, ratio("b", "a", rounds, AIM_FIRST), ratio("d", "c", rounds, AIM_UNCHANGED)]))


def _round(urls: list[str], entries: int, number: int) -> Round:
    costs: Round = {}
    with folder() as plain, project() as crawl:
        for path in (plain, crawl):
            (path / FEEDS).write_text("\n".join(urls))
        for reader, fhcrawl in (("a", "b"), ("c", "d")):
            costs[reader] = measure(["-c", READER], plain)
            _expect_entries(plain, len(urls) * entries)
            costs[fhcrawl] = measure(FHCRAWL, crawl)
            expect_lines(CONTESTANTS[fhcrawl], crawl, len(urls) * entries)
        expect_stat(CONTESTANTS["d"], crawl, UNCHANGED, len(urls))
    print(reported(number, costs), flush=True)
    return costs


def _expect_entries(folder: Path, number: int) -> None:
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        [count] = database.execute("SELECT count(*) FROM entries").fetchone()
    if count != number:
        raise SystemExit(f"reader: {count} entries instead of {number}")


if __name__ == "__main__":
    main()
