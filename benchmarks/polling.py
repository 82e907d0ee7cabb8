"""What it costs to ask feeds of which none has changed, beside a plain Scrapy spider that does nothing else.

Run from the repository's root: python -m benchmarks.polling
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from benchmarks.measuring import (
    RATIO_HEAD,
    STORE,
    Round,
    arguments,
    conditions,
    expect_lines,
    expect_stat,
    fhcrawl_list,
    folder,
    measure,
    plain,
    project,
    ratio,
    reported,
    table,
)
from benchmarks.server import Site, serving_feeds

AIM = 1.4
POLLS = "polls.json"
CONTESTANTS = {"a": "plain Scrapy spider", "b": "fhcrawl"}
UNCHANGED = "downloader/response_status_count/304"


def main() -> None:
    options = arguments(
        __doc__,
        feeds=(1000, "how many are polled"),
        hosts=(200, "that they are on"),
        entries=(20, "in each feed"),
        rounds=(5, "how often each is run"),
    ).parse_args()
    print(
        f"{options.feeds} feeds of {options.entries} entries on {options.hosts} hosts, nothing new; "
        f"{conditions(options.rounds)}",
        flush=True,
    )
    site = Site(1, options.entries, feeds=options.feeds, hosts=options.hosts)
    with serving_feeds(site) as urls, folder() as simple, project() as complete:
        measure(fhcrawl_list(urls, complete), complete)
        expect_lines("the first run", complete, options.feeds * options.entries)
        (simple / POLLS).write_text(json.dumps(_etags(complete)))
        rounds = [_round(urls, simple, complete, number) for number in range(1, options.rounds + 1)]
    print(table(CONTESTANTS, rounds))
    print("\n".join([RATIO_HEAD, ratio("b", "a", rounds, AIM)]))


def _etags(project: Path) -> dict[str, str]:
    with closing(sqlite3.connect(project / STORE)) as store:
        return dict(store.execute("SELECT url, etag FROM feeds"))


def _round(urls: list[str], simple: Path, complete: Path, number: int) -> Round:
    costs = {"a": measure(plain(f"polls={POLLS}"), simple)}
    costs |= {"b": measure(fhcrawl_list(urls, complete), complete)}
    for name, where in (("a", simple), ("b", complete)):
        expect_stat(CONTESTANTS[name], where, UNCHANGED, len(urls))
    print(reported(number, costs), flush=True)
    return costs


if __name__ == "__main__":
    main()
