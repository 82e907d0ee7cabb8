"""Failures of a run, and advice: on them, and on what is missing from feeds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from fhcrawl.reasons import ADDRESS_IS_RIGHT, MISSING, NEVER_READ, NO_FEED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fhcrawl.logical_feed import Reason
    from fhcrawl.reasons import ReasonKind

T = TypeVar("T")

# By prefixes of stats. `scrapy crawl` exits with code 1 if there is such a stat.
FAILURES = {
    "fhcrawl/disk/full": "A disk was nearly full (see the log): make room on it, then run again.",
    "fhcrawl/cluster/failed": "Redis has failed (see the log): mend it, then run again.",
    "fhcrawl/feed/unread": "No feed could be read.",
    "fhcrawl/store/failed": "The store has failed (see the log): mend it, then run again.",
    "fhcrawl/warc/failed": "Not all of this run is in finished WARC files (see the log).",
    "feedexport/failed_count/": (
        "The export was not written (see the log); the next run of these feeds exports it."
    ),
}
EXPORTED = "feedexport/success_count/"
NOT_EXPORTED = (
    "Nothing has changed since the last export, so -o has nothing to write. `fhcrawl export -o FILE` writes "
    "whole histories."
)


def failures(stats: Iterable[str]) -> list[str]:
    """Return a sentence for each failure of a run.

    :param stats: the names of the run's stats
    """
    names = list(stats)
    return [said for begin, said in FAILURES.items() if any(name.startswith(begin) for name in names)]


def with_kind_of_advice(reasons: list[Reason]) -> Iterator[tuple[Reason, ReasonKind]]:
    """Yield the reasons of a feed, each with the kind whose advice applies to it.

    Where no feed was ever found, the advice is that on unreachable feeds, below what was found instead. If
    the address is right, it is that on the server's answer alone.
    """
    unread = next((reason.kind for reason in reasons if reason.kind in NEVER_READ), None)
    not_found = [reason for reason in reasons if unread and reason.kind.advice in {MISSING, NO_FEED}]
    is_said = bool(not_found) or any(reason.kind in ADDRESS_IS_RIGHT for reason in reasons)
    for reason in reasons:
        if unread and reason in not_found:
            yield reason, unread
        elif not is_said or reason.kind not in NEVER_READ:
            yield reason, reason.kind


@dataclass(frozen=True, slots=True)
class Advised(Generic[T]):
    """An advice, and the problems that it applies to.

    :param problems: the first of them
    :param more: number of further problems
    """

    advice: str
    is_gap: bool
    problems: list[T]
    more: int


class ByAdvice(Generic[T]):
    """Problems by the advice on them, each advice once; the first problems of each are kept."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._problems: dict[tuple[bool, str], list[T]] = {}
        self._numbers: Counter[tuple[bool, str]] = Counter()

    def add(self, kind: ReasonKind, problem: T) -> None:
        """Add a problem, whose reason has a kind."""
        key = kind.is_gap, kind.advice
        self._numbers[key] += 1
        noted = self._problems.setdefault(key, [])
        if len(noted) < self._limit:
            noted.append(problem)

    def __iter__(self) -> Iterator[Advised[T]]:
        """Yield each advice with its problems; reasons that are no gaps come after the gaps."""
        for key in sorted(self._problems, key=lambda key: not key[0]):
            is_gap, said = key
            problems = self._problems[key]
            yield Advised(said, is_gap, problems, self._numbers[key] - len(problems))
