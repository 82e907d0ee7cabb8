"""How many holes a year of polls leaves in plain feeds with bursts, with and without the rule against them.

A simulation, without a network: run from the repository's root: python -m benchmarks.holes
"""

import random
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from fhcrawl.documents.dates import elapsed, shift
from fhcrawl.logical_feed.coverage import Coverage, coverage_after, mark
from fhcrawl.logical_feed.polling import Limits, Poll, interval, next_due

BEGIN = "2026-01-01T00:00:00Z"
MINUTE, HOUR, DAY = 60, 3600, 86400
YEAR = 365 * DAY
# FHCRAWL_DUE_MIN_SECONDS and FHCRAWL_DUE_MAX_SECONDS, and how often `fhcrawl crawl --due` is run.
LIMITS = Limits(15 * MINUTE, DAY)
RUN_EVERY = 15 * MINUTE


@dataclass(frozen=True)
class Publisher:
    """A feed and when its entries come.

    :param shown: number of entries that it shows
    :param days: returns how many entries come on a day, and in how many hours of it
    """

    name: str
    shown: int
    days: Callable[[int], tuple[float, float]]

    def times(self) -> list[int]:
        return sorted(self._times(random.Random(self.name)))  # noqa: S311 - the same each time

    def _times(self, chance: random.Random) -> Iterator[int]:
        for day in range(365):
            number, hours = self.days(day)
            for _ in range(int(number) + (chance.random() < number % 1)):
                yield int(day * DAY + 8 * HOUR + chance.random() * hours * HOUR)


PUBLISHERS = (
    Publisher("5 a day, steadily", 20, lambda _: (5, 24)),
    Publisher("60 a day, in 12 hours", 30, lambda _: (60, 12)),
    Publisher("2 a day; 40 in 6 hours each Thursday", 15, lambda day: (40, 6) if day % 7 == 0 else (2, 12)),
    Publisher(
        "1 a week; 50 a day on 3 days each quarter",
        10,
        lambda day: (50, 10) if day % 91 in (60, 61, 62) else (1 / 7, 12),
    ),
    Publisher(
        "1 a day; 30 at once every 100 days", 20, lambda day: (30, 0.01) if day % 100 == 50 else (1, 12)
    ),
    Publisher(
        "3 a day; a week of 200 a day, once", 25, lambda day: (200, 16) if 180 <= day < 187 else (3, 12)
    ),
)


class Result(NamedTuple):
    polls: int
    holes: int
    missed: int


def simulate(publisher: Publisher, with_rule: bool) -> Result:
    """Poll a feed for a year; return the numbers of polls, holes and missed entries."""
    times = publisher.times()
    covered: Coverage | None = None
    changed, average, newest, polls, missed, second = None, None, 0, 0, 0, 0
    while second < YEAR:
        number = bisect_right(times, second)
        time = shift(BEGIN, second)
        polls += 1
        if number != newest or covered is None:
            missed += max(0, number - newest - publisher.shown) if covered else 0
            shown = range(number, max(-publisher.shown, number - publisher.shown), -1)
            covered = coverage_after(covered, [mark(str(n), None, None, "") for n in shown], time)
            changed, average, newest = time, interval(changed, average, time), number
        else:
            covered = replace(covered, until=time)
        half_replaced = covered.half_replaced_in(time) if covered and with_rule else None
        poll = Poll(time, changed=changed, interval=average, half_replaced=half_replaced)
        due = elapsed(BEGIN, next_due(poll, [], LIMITS))
        second = -(-due // RUN_EVERY) * RUN_EVERY
    return Result(polls, len(covered.holes) if covered else 0, missed)


def line(publisher: Publisher) -> str:
    without, with_rule = (simulate(publisher, rule) for rule in (False, True))
    pairs = (f"{getattr(without, name):,} | {getattr(with_rule, name):,}" for name in ("polls", "missed"))
    return f"| {publisher.name} | {publisher.shown} | {' | '.join(pairs)} |"


def main() -> None:
    print("| Entries | Shown | Polls | With it | Entries lost | With it |")
    print("|---|---|---|---|---|---|")
    for publisher in PUBLISHERS:
        print(line(publisher))


if __name__ == "__main__":
    main()
