"""Failures of a run, and advice on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def failures(stats: Iterable[str]) -> list[str]:
    """Return a sentence for each failure of a run.

    :param stats: the names of the run's stats
    """
    names = list(stats)
    return [said for begin, said in FAILURES.items() if any(name.startswith(begin) for name in names)]
