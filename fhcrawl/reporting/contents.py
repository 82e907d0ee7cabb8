"""The contents of the report as plain values: for each feed, and for all feeds."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby, pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.logical_feed import WORDS, Kind, Role, Verdict
from fhcrawl.logical_feed.results import State
from fhcrawl.reasons import ReasonKind
from fhcrawl.reporting import plot
from fhcrawl.reporting.advice import ByAdvice, with_kind_of_advice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fhcrawl.logical_feed import Reason
    from fhcrawl.reporting.plot import Bin
    from fhcrawl.store import Details, Document, Feed

# Of consecutive documents with the same state, the first and last are shown, and the others counted.
SHOWN_BEFORE, SHOWN_AFTER = 1, 1
MOST_STRETCHES = 40
MOST_REASONS = 20
MOST_BINS = 24
# Explanations of the verdicts in words.
STATUSES = {
    ReasonKind.UNREACHABLE.value: "could never be read",
    Verdict.INCOMPLETE.value: "something is missing",
    Verdict.LOSSY.value: "paged: nobody can know",
    Verdict.UNKNOWN.value: "says nothing of its past",
    Verdict.COMPLETE.value: "all of it was read",
}
# The beginning of a sentence whose rest is a reason's detail, by the role of the document.
SUBJECTS = {
    Role.ARCHIVE.value: "An archive",
    Role.PAGE.value: "A page",
    Role.PART.value: "A part of its list",
    Role.INDEX.value: "The snapshot",
}
# Reasons why nothing is known of the time before the oldest entry, although each document was read.
OPEN_ENDED = frozenset({ReasonKind.NO_HISTORY, ReasonKind.WORDPRESS, ReasonKind.LOOP})
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
    :param status: a key of STATUSES
    :param summary: why it has this status: a sentence without its full stop
    :param gaps: reasons of the verdict that are gaps, the first of them
    :param more_gaps: number of further gaps
    :param remarks: reasons of the verdict that are no gaps
    :param interval: time between entries, in words; None if there are too few entries
    :param gap_before: time before which not all entries are known
    :param dated: number of entries over time
    :param undated: number of entries without a time
    """

    anchor: str
    feed: Feed
    details: Details
    status: str
    summary: str
    gaps: list[Reason]
    more_gaps: int
    remarks: list[Reason]
    interval: str | None
    gap_before: str | None
    dated: list[Bin]
    undated: int
    chain: list[Stretch]
    snapshot: list[Stretch]

    @property
    def name(self) -> str:
        """The title of the feed, or its URL."""
        return (self.feed.title or "").strip() or self.feed.feed

    @property
    def order(self) -> tuple[int, bool, str, str]:
        """What feeds are sorted by, the worst first."""
        return WORDS.index(self.status), not self.gaps, self.name.casefold(), self.feed.feed


class Problem(NamedTuple):
    """A reason of a feed's verdict, in the list of what to do."""

    anchor: str
    name: str
    reason: Reason


@dataclass(slots=True)
class Overview:
    """Totals over all feeds, to which feeds are added one by one.

    :param statuses: number of feeds with each status
    :param to_do: what is missing, by the advice on it
    :param read_first, read_last: earliest and latest of the times at which feeds were last read
    """

    statuses: Counter[str] = field(default_factory=Counter)
    entries: int = 0
    documents: int = 0
    months: Counter[str] = field(default_factory=Counter)
    to_do: ByAdvice[Problem] = field(default_factory=lambda: ByAdvice(MOST_REASONS))
    read_first: str | None = None
    read_last: str | None = None

    @property
    def feeds(self) -> int:
        """The number of feeds."""
        return sum(self.statuses.values())

    @property
    def dated(self) -> list[Bin]:
        """The number of entries over time."""
        return plot.bins(self.months)

    def add(self, section: Section) -> None:
        """Add a feed to the totals."""
        feed = section.feed
        self.statuses[section.status] += 1
        self.entries += feed.entries
        self.documents += feed.documents.get(State.PROCESSED.value, 0)
        self.months.update(section.details.months)
        for reason, kind in with_kind_of_advice(feed.reasons):
            self.to_do.add(kind, Problem(section.anchor, section.name, reason))
        if feed.crawled:
            self.read_first = min(self.read_first or feed.crawled, feed.crawled)
            self.read_last = max(self.read_last or feed.crawled, feed.crawled)


def section(feed: Feed, details: Details) -> Section:
    """Return the contents of the report on a feed."""
    gaps = [reason for reason in feed.reasons if reason.kind.is_gap]
    gap_before = _gap_before(feed, details)
    return Section(
        anchor=f"feed-{hashlib.sha256(feed.feed.encode()).hexdigest()[:12]}",
        feed=feed,
        details=details,
        status=feed.verdict_in_words,
        summary=_summary(feed, details, gaps),
        gaps=gaps[:MOST_REASONS],
        more_gaps=len(gaps[MOST_REASONS:]),
        remarks=[reason for reason in feed.reasons if not reason.kind.is_gap],
        interval=interval(details.recent),
        gap_before=gap_before,
        dated=plot.bins(details.months, MOST_BINS, gap_before),
        undated=sum(n for month, n in details.months.items() if not plot.MONTH.fullmatch(month)),
        chain=stretches(details.chain),
        snapshot=stretches(details.snapshot),
    )


def _summary(feed: Feed, details: Details, gaps: list[Reason]) -> str:
    if gaps:
        roles = {document.url: document.role for document in (*details.snapshot, *details.chain)}
        said = f"{SUBJECTS.get(roles.get(gaps[0].url, ''), 'The feed')} {gaps[0].detail}"
        more = len(gaps) - 1
        return f"{said}; and {more:,} more {'gap' if more == 1 else 'gaps'}" if more else said
    if feed.reasons:
        return f"The feed {feed.reasons[0].detail}"
    if feed.kind is Kind.COMPLETE:
        return "The feed says that its document holds all of its entries"
    documents = len(details.chain)
    if documents == 1:
        return "Its only document was read, and nothing comes before it"
    return f"Its chain of {documents:,} documents was read to the beginning"


def _gap_before(feed: Feed, details: Details) -> str | None:
    """Return the time before which not all entries of a feed are known; None if there is none."""
    is_open = any(reason.kind in OPEN_ENDED for reason in feed.reasons)
    return details.gap_before or (details.first if is_open else None)


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
