"""The contents of the report as plain values: for each feed, and for all feeds."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby, pairwise
from statistics import median
from typing import TYPE_CHECKING

from fhcrawl.logical_feed.results import State
from fhcrawl.reporting import plot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fhcrawl.logical_feed import Reason, Verdict
    from fhcrawl.reporting.plot import Bin
    from fhcrawl.store import Details, Document, Feed

# Of consecutive documents with the same state, the first and last are shown, and the others counted.
SHOWN_BEFORE, SHOWN_AFTER = 2, 1
MOST_STRETCHES = 40
MOST_REASONS = 20
MOST_ATTENTION = 15
TO_THE_SECOND = len("2003-12-13T18:30:02")
FEWEST_TIMES = 4
UNITS = (
    (365.25 * 86400, "year"),
    (30.44 * 86400, "month"),
    (7 * 86400, "week"),
    (86400, "day"),
    (3600, "hour"),
    (60, "minute"),
    (1, "second"),
)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive documents of a chain; mostly one.

    :param first, last: the newest document and the oldest one
    :param states: number of documents in each state
    :param fetched: time of the latest fetch of any of them
    """

    count: int
    first: Document
    last: Document
    states: dict[str, int]
    fetched: str | None

    @property
    def is_gap(self) -> bool:
        """Whether a document has not been read, or has lost entries."""
        return any(state != State.PROCESSED.value for state in self.states) or self.first.lost_entries > 0

    @classmethod
    def of(cls, documents: Sequence[Document]) -> Stretch:
        """Summarise consecutive documents."""
        states = dict(Counter(document.state for document in documents))
        fetched = max((document.fetched or "" for document in documents), default="")
        return cls(len(documents), documents[0], documents[-1], states, fetched or None)


@dataclass(frozen=True, slots=True)
class Section:
    """A feed in the report.

    :param anchor: fragment identifier, the same in each report
    :param gaps: reasons of the verdict that are gaps, the first of them
    :param more_gaps: number of further gaps
    :param remarks: reasons of the verdict that are no gaps
    :param interval: time between entries, in words; None if there are too few entries
    :param dated: number of entries over time
    :param undated: number of entries without a time
    """

    anchor: str
    feed: Feed
    details: Details
    gaps: list[Reason]
    more_gaps: int
    remarks: list[Reason]
    interval: str | None
    dated: list[Bin]
    undated: int
    chain: list[Stretch]
    snapshot: list[Stretch]


@dataclass(slots=True)
class Overview:
    """Totals over all feeds, to which feeds are added one by one.

    :param verdicts: number of feeds with each verdict
    :param gap_kinds: number of feeds with gaps of each kind
    :param attention: the first feeds with gaps: anchor, name and first gap
    :param with_gaps: number of feeds with gaps
    :param read_first, read_last: earliest and latest of the times at which feeds were last read
    """

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    entries: int = 0
    documents: int = 0
    months: Counter[str] = field(default_factory=Counter)
    gap_kinds: Counter[str] = field(default_factory=Counter)
    attention: list[tuple[str, str, Reason]] = field(default_factory=list)
    with_gaps: int = 0
    read_first: str | None = None
    read_last: str | None = None

    @property
    def feeds(self) -> int:
        """The number of feeds."""
        return sum(self.verdicts.values())

    @property
    def dated(self) -> list[Bin]:
        """The number of entries over time."""
        return plot.bins(self.months)

    def add(self, section: Section) -> None:
        """Add a feed to the totals."""
        feed = section.feed
        self.verdicts[feed.verdict] += 1
        self.entries += feed.entries
        self.documents += feed.documents.get(State.PROCESSED.value, 0)
        self.months.update(section.details.months)
        self.gap_kinds.update({gap.kind for gap in section.gaps})
        if feed.crawled:
            self.read_first = min(self.read_first or feed.crawled, feed.crawled)
            self.read_last = max(self.read_last or feed.crawled, feed.crawled)
        if not section.gaps:
            return
        self.with_gaps += 1
        if len(self.attention) < MOST_ATTENTION:
            self.attention.append((section.anchor, feed.title or feed.feed, section.gaps[0]))


def section(feed: Feed, details: Details) -> Section:
    """Return the contents of the report on a feed."""
    gaps = [reason for reason in feed.reasons if reason.kind.is_gap]
    return Section(
        anchor=f"feed-{hashlib.sha256(feed.feed.encode()).hexdigest()[:12]}",
        feed=feed,
        details=details,
        gaps=gaps[:MOST_REASONS],
        more_gaps=len(gaps[MOST_REASONS:]),
        remarks=[reason for reason in feed.reasons if not reason.kind.is_gap],
        interval=interval(details.recent),
        dated=plot.bins(details.months),
        undated=sum(n for month, n in details.months.items() if not plot.MONTH.fullmatch(month)),
        chain=stretches(details.chain),
        snapshot=stretches(details.snapshot),
    )


def interval(times: Sequence[str]) -> str | None:
    """Return the median interval between times, in words; None for too few times.

    :param times: ISO 8601 in UTC, newest first
    """
    if len(times) < FEWEST_TIMES:
        return None
    moments = [datetime.fromisoformat(time[:TO_THE_SECOND]) for time in times]
    between = median((newer - older).total_seconds() for newer, older in pairwise(moments))
    return in_words(max(between, 1))


def in_words(seconds: float) -> str:
    """Return an interval in words, such as `every 3 days`."""
    length, unit = next((length, unit) for length, unit in UNITS if seconds >= length * 0.95)
    number = round(seconds / length)
    return f"every {unit}" if number == 1 else f"every {number} {unit}s"


def stretches(chain: Iterable[Document]) -> list[Stretch]:
    """Return a chain with runs of similar documents, and the part beyond the limit, summarised."""
    summed = [stretch for _, same in groupby(chain, _said) for stretch in _summed(list(same))]
    if len(summed) <= MOST_STRETCHES:
        return summed
    return [*summed[: MOST_STRETCHES - 2], _merged(summed[MOST_STRETCHES - 2 : -1]), summed[-1]]


def _said(document: Document) -> tuple[object, ...]:
    return document.role, document.state, document.reason, document.lost_entries > 0


def _summed(documents: list[Document]) -> Iterator[Stretch]:
    shown = SHOWN_BEFORE + SHOWN_AFTER
    middle = documents[SHOWN_BEFORE:-SHOWN_AFTER]
    if len(documents) <= shown + 1:
        middle = []
    head = documents[:SHOWN_BEFORE] if middle else documents
    yield from (Stretch.of([document]) for document in head)
    if middle:
        yield Stretch.of(middle)
        yield from (Stretch.of([document]) for document in documents[-SHOWN_AFTER:])


def _merged(summed: list[Stretch]) -> Stretch:
    states: Counter[str] = Counter()
    for stretch in summed:
        states.update(stretch.states)
    fetched = max(stretch.fetched or "" for stretch in summed) or None
    return Stretch(states.total(), summed[0].first, summed[-1].last, dict(states), fetched)
