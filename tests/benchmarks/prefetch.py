"""What fetching ahead saves on a server that takes its time, and what it costs where a pattern ends.

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
from tests.benchmarks.running import expect_lines, fhcrawl, project, stat
from tests.benchmarks.server import serving


class Crawl(NamedTuple):
    """One way to crawl the chain.

    :param concurrency: of the host
    :param ahead: FHCRAWL_PREFETCH; None: as fhcrawl has it
    :param delay: DOWNLOAD_DELAY, seconds
    """

    what: str
    naming: str
    concurrency: int
    ahead: int | None = None
    delay: float = 0


CRAWLS = {
    "a": Crawl("8 at a time, none ahead", "months", 8, 0),
    "b": Crawl("8 at a time, as shipped", "months", 8),
    "c": Crawl("8 at a time, 4 ahead", "months", 8, 4),
    "d": Crawl("1 at a time, none ahead", "months", 1, 0),
    "e": Crawl("1 at a time, as shipped", "months", 1),
    "f": Crawl("a delay, none ahead", "months", 8, 0, 0.2),
    "g": Crawl("a delay, as shipped", "months", 8, None, 0.2),
    "h": Crawl("no pattern, none ahead", "digests", 8, 0),
    "i": Crawl("no pattern, as shipped", "digests", 8),
    "j": Crawl("gaps, 1 at a time, none", "gaps", 1, 0),
    "k": Crawl("gaps, 1 at a time", "gaps", 1),
    "l": Crawl("gaps, 8 at a time", "gaps", 8),
}
# Of wall-clock time; what is not about the round trips, but about what is asked for, has no aim.
RATIOS = {
    ("b", "a"): 0.2,
    ("c", "a"): None,
    ("e", "d"): None,
    ("g", "f"): None,
    ("i", "h"): 1.05,
    ("k", "j"): None,
    ("l", "j"): None,
}
OF_THE_ROUND_TRIPS = {"a": None, "b": 0.2, "c": None}
MISS = "fhcrawl/prefetch/miss"

Round = dict[str, Cost]
# How many requests were needless, by crawl.
Needless = dict[str, int]


def main() -> None:
    options = _options()
    print(
        f"{options.archives} archives of {options.entries} entries, each after {options.latency} s, "
        f"{options.rounds} rounds; Python {platform.python_version()}, {os.cpu_count()} CPUs",
        flush=True,
    )
    found = [_round(options, number) for number in range(1, options.rounds + 1)]
    rounds = [costs for costs, _needless in found]
    print(table({name: crawl.what for name, crawl in CRAWLS.items()}, rounds))
    print(_ratios(rounds, options.archives * options.latency))
    print(_needless([needless for _costs, needless in found]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--archives", type=int, default=200, help="documents in the chain (default: 200)")
    parser.add_argument("--entries", type=int, default=5, help="entries in each (default: 5)")
    parser.add_argument("--latency", type=float, default=0.1, help="seconds before an answer (default: 0.1)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is run (default: 3)")
    return parser.parse_args()


def _round(options: argparse.Namespace, number: int) -> tuple[Round, Needless]:
    costs: Round = {}
    needless: Needless = {}
    for naming in dict.fromkeys(crawl.naming for crawl in CRAWLS.values()):
        with serving(options.archives, options.entries, delay=options.latency, naming=naming) as url:
            for name, crawl in CRAWLS.items():
                if crawl.naming == naming:
                    costs[name], needless[name] = _cost(url, crawl, options.archives * options.entries)
    print(said(number, costs), flush=True)
    return costs, needless


def _cost(url: str, crawl: Crawl, entries: int) -> tuple[Cost, int]:
    settings: dict[str, object] = {
        "CONCURRENT_REQUESTS_PER_DOMAIN": crawl.concurrency,
        "DOWNLOAD_DELAY": crawl.delay,
        "DOWNLOAD_DELAY_JITTER": 0,
    }
    if crawl.ahead is not None:
        settings["FHCRAWL_PREFETCH"] = crawl.ahead
    with project() as folder:
        cost = measure(fhcrawl(url, settings), folder)
        expect_lines(crawl.what, folder, entries)
        return cost, stat(folder, MISS)


def _ratios(rounds: list[Round], round_trips: float) -> str:
    lines = [f"{'ratio':31}{'wall':>8}"]
    for (one, other), aim in RATIOS.items():
        ratio = median(each[one].wall / each[other].wall for each in rounds)
        lines.append(f"{one + '/' + other:31}{ratio:8.3f}{_aim(aim)}")
    for name, aim in OF_THE_ROUND_TRIPS.items():
        ratio = median(each[name].wall for each in rounds) / round_trips
        lines.append(f"{name + '/the round trips alone':31}{ratio:8.3f}{_aim(aim)}")
    return "\n".join(lines)


def _needless(rounds: list[Needless]) -> str:
    most = {name: max(each[name] for each in rounds) for name in CRAWLS}
    return f"needless requests, at most: {', '.join(f'{name} {number}' for name, number in most.items())}"


def _aim(aim: float | None) -> str:
    return "" if aim is None else f"   at most {aim}"


if __name__ == "__main__":
    main()
