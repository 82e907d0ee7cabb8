"""What fetching ahead saves on a server that takes its time, and what it costs where there is no pattern.

Run from the repository's root: python -m tests.benchmarks.prefetch
"""

from __future__ import annotations

import argparse
import os
import platform
from statistics import median
from typing import NamedTuple

from tests.benchmarks.measuring import Cost, measure
from tests.benchmarks.reporting import said, table
from tests.benchmarks.running import expect_lines, fhcrawl, project
from tests.benchmarks.server import serving


class Crawl(NamedTuple):
    """One way to crawl the chain.

    :param concurrency: of the host
    :param ahead: FHCRAWL_PREFETCH
    :param delay: DOWNLOAD_DELAY, seconds
    """

    what: str
    naming: str
    concurrency: int
    ahead: int
    delay: float = 0


CRAWLS = {
    "a": Crawl("8 at a time, none ahead", "months", 8, 0),
    "b": Crawl("8 at a time, 4 ahead", "months", 8, 4),
    "c": Crawl("8 at a time, 8 ahead", "months", 8, 8),
    "d": Crawl("1 at a time, none ahead", "months", 1, 0),
    "e": Crawl("1 at a time, 4 ahead", "months", 1, 4),
    "f": Crawl("a delay, none ahead", "months", 8, 0, 0.2),
    "g": Crawl("a delay, 4 ahead", "months", 8, 4, 0.2),
    "h": Crawl("no pattern, none ahead", "digests", 8, 0),
    "i": Crawl("no pattern, 4 ahead", "digests", 8, 4),
}
# Of wall-clock time; what is not about the round trips, but about what is asked for, has no aim.
RATIOS = {("b", "a"): None, ("c", "a"): None, ("e", "d"): None, ("g", "f"): None, ("i", "h"): 1.05}
OF_THE_ROUND_TRIPS = {"a": None, "b": None, "c": 0.2}

Round = dict[str, Cost]


def main() -> None:
    options = _options()
    print(
        f"{options.archives} archives of {options.entries} entries, each after {options.latency} s, "
        f"{options.rounds} rounds; Python {platform.python_version()}, {os.cpu_count()} CPUs",
        flush=True,
    )
    rounds = [_round(options, number) for number in range(1, options.rounds + 1)]
    print(table({name: crawl.what for name, crawl in CRAWLS.items()}, rounds))
    print(_ratios(rounds, options.archives * options.latency))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--archives", type=int, default=200, help="documents in the chain (default: 200)")
    parser.add_argument("--entries", type=int, default=5, help="entries in each (default: 5)")
    parser.add_argument("--latency", type=float, default=0.1, help="seconds before an answer (default: 0.1)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is run (default: 3)")
    return parser.parse_args()


def _round(options: argparse.Namespace, number: int) -> Round:
    costs: Round = {}
    for naming in ("months", "digests"):
        with serving(options.archives, options.entries, delay=options.latency, naming=naming) as url:
            for name, crawl in CRAWLS.items():
                if crawl.naming == naming:
                    costs[name] = _cost(url, crawl, options.archives * options.entries)
    print(said(number, costs), flush=True)
    return costs


def _cost(url: str, crawl: Crawl, entries: int) -> Cost:
    settings = {
        "CONCURRENT_REQUESTS_PER_DOMAIN": crawl.concurrency,
        "FHCRAWL_PREFETCH": crawl.ahead,
        "DOWNLOAD_DELAY": crawl.delay,
        "DOWNLOAD_DELAY_JITTER": 0,
    }
    with project() as folder:
        cost = measure(fhcrawl(url, settings), folder)
        expect_lines(crawl.what, folder, entries)
    return cost


def _ratios(rounds: list[Round], round_trips: float) -> str:
    lines = [f"{'ratio':31}{'wall':>8}"]
    for (one, other), aim in RATIOS.items():
        ratio = median(each[one].wall / each[other].wall for each in rounds)
        lines.append(f"{one + '/' + other:31}{ratio:8.3f}{_aim(aim)}")
    for name, aim in OF_THE_ROUND_TRIPS.items():
        ratio = median(each[name].wall for each in rounds) / round_trips
        lines.append(f"{name + '/the round trips alone':31}{ratio:8.3f}{_aim(aim)}")
    return "\n".join(lines)


def _aim(aim: float | None) -> str:
    return "" if aim is None else f"   at most {aim}"


if __name__ == "__main__":
    main()
