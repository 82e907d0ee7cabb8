"""How many captures of a web archive are read, and how few would do.

A simulation, without a network: run from the repository's root: python -m benchmarks.captures
"""

import random
from bisect import bisect_right
from collections.abc import Callable, Sequence
from statistics import mean

from fhcrawl.documents.dates import shift
from fhcrawl.logical_feed.coverage import CaptureRead, coverage_after, mark, next_captures

Publisher = Callable[[random.Random], list[float]]

BEGIN = "2014-01-01T00:00:00Z"
DAYS = 10 * 365
DAY = 86400
CAPTURES, SHOWN = 5000, 20
SEEDS = 50


def _weekly(chance: random.Random) -> list[float]:
    return [week * 7 + day + chance.random() for week in range(DAYS // 7) for day in (1, 4)]


def _random(rate: Callable[[float], float]) -> Publisher:
    def publish(chance: random.Random) -> list[float]:
        return [day + chance.random() for day in range(DAYS) for _ in range(_number(chance, rate(day)))]

    return publish


def _number(chance: random.Random, rate: float) -> int:
    number, left = 0, chance.expovariate(1)
    while left < rate:
        number, left = number + 1, left + chance.expovariate(1)
    return number


# Each returns the days on which entries come.
PUBLISHERS: dict[str, Publisher] = {
    "2 a week, on Tuesdays and Fridays": _weekly,
    "2 a week, at random": _random(lambda _: 2 / 7),
    "3 a week; a pause of 5 months each 13 months": _random(lambda day: 0 if day % 400 > 250 else 3 / 7),
    "1 a week; 5 a day in 5 days each quarter": _random(lambda day: 5 if day % 91 < 5 else 1 / 7),
    "one in 20 days, and more each year, up to 1 a day": _random(lambda day: 0.05 + day / DAYS),
}


def simulate(
    published: Sequence[float], captured: Sequence[float], has_times: bool, late: float = 0
) -> list[CaptureRead]:
    """Return the captures of a feed that shows its newest entries, oldest first; all in days.

    :param late: how much later than they are dated entries are shown
    """
    captures = []
    published = sorted(published)
    for day in sorted(captured):
        entries = range(bisect_right(published, day) - 1, -1, -1)[:SHOWN]
        if entries:
            marks = tuple(mark(str(entry), str(entry), None, "") for entry in entries)
            oldest = _time(published[entries[-1]] - late) if has_times else None
            captures.append(CaptureRead(_time(day), marks, oldest))
    return captures


def _time(day: float) -> str:
    return shift(BEGIN, int(day * DAY))


def read(captures: Sequence[CaptureRead]) -> dict[int, CaptureRead]:
    times = [capture.time for capture in captures]
    reads: dict[int, CaptureRead] = {}
    while chosen := next_captures(times, reads, None, every=False):
        reads.update((number, captures[number]) for number in chosen)
    return reads


def fewest(captures: Sequence[CaptureRead]) -> int:
    """Return how many captures any set needs that has no holes but those of all captures.

    After each one, it has the last that joins it; what joins that one joins those between them, too.
    """
    number, at = 1, 0
    while at < len(captures) - 1:
        last = at + 1
        while last + 1 < len(captures) and _join(captures[at], captures[last + 1]):
            last += 1
        number, at = number + 1, last
    return number


def _join(earlier: CaptureRead, later: CaptureRead) -> bool:
    covered = coverage_after(None, earlier.marks or (), earlier.time)
    covered = coverage_after(covered, later.marks or (), later.time)
    return covered is not None and not covered.holes


def ratios(publish: Publisher, has_times: bool, seeds: int, late: float = 0) -> list[float]:
    found = []
    for seed in range(seeds):
        chance = random.Random(seed)  # noqa: S311 - the same each time
        captured = [chance.random() * DAYS for _ in range(CAPTURES)]
        captures = simulate(publish(chance), captured, has_times, late)
        found.append(len(read(captures)) / fewest(captures))
    return found


def line(name: str, seeds: int = SEEDS) -> str:
    of_both = (ratios(PUBLISHERS[name], has_times, seeds) for has_times in (True, False))
    return f"| {name} | {' | '.join(f'{mean(some):.2f} | {max(some):.2f}' for some in of_both)} |"


def main() -> None:
    print("| Entries | Mean | Worst | Mean without times | Worst |\n|---|---|---|---|---|")
    for name in PUBLISHERS:
        print(line(name), flush=True)


if __name__ == "__main__":
    main()
