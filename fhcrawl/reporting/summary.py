"""The summary of a run: a line for each feed, and advice on the gaps."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.logical_feed.results import State
from fhcrawl.reasons import ReasonKind
from fhcrawl.reporting.progress import MOST_FEEDS
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fhcrawl.logical_feed import Reason, Verdict
    from fhcrawl.reporting.progress import Counts
    from fhcrawl.store import Feed

# For each advice; the store has all reasons.
MOST_REASONS = 20
# Reasons that are no gaps come after the gaps.
LAST = [kind.advice for kind in ReasonKind if not kind.is_gap]
WIDEST_NAME = 60
DAY, YEAR = len("2003-12-13"), len("2003")
MORE_FEEDS = "and {} more feeds: 'fhcrawl feeds' lists them"
MORE_REASONS = "and {} more: 'fhcrawl feeds' lists them"
HEADINGS = ("Feed", "Kind", "Fetched", "Skipped", "New", "Updated", "Deleted", "Dates", "Verdict")
NUMBERS = frozenset(HEADINGS[2:7])
SHORT_HEADINGS = ("Feed", "Kind", "Docs", "Entries", "Dates", "Verdict")
LEGEND = "Docs: fetched/skipped. Entries: +new ~updated -deleted."


class Row(NamedTuple):
    """The line of a feed.

    :param counts: its results in this run; None if not known
    :param skipped: number of documents that earlier runs have read and this one has not
    :param span: the days of its oldest and newest entries
    """

    feed: str
    title: str
    kind: str
    counts: Counts | None
    skipped: int
    span: tuple[str, str] | None
    verdict: str

    @property
    def name(self) -> str:
        """The title of the feed, or its URL."""
        return self.title or self.feed

    def name_within(self, width: int) -> str:
        """Return the name; a URL longer than `width` is cut in the middle, since its end identifies it."""
        if self.title or len(self.feed) <= width:
            return self.name
        begin = (width - 1) // 2
        return f"{self.feed[:begin]}…{self.feed[begin + 1 - width :]}"

    def cells(self) -> list[str]:
        """Return the cells of the columns of HEADINGS."""
        counts = self.counts
        numbers: list[object] = ["-"] * 5
        if counts is not None:
            numbers = [counts.documents, self.skipped, counts.new, counts.updated, counts.deleted]
        dates = "-" if self.span is None else " to ".join(self.span)
        return [self.name, self.kind, *(str(number) for number in numbers), dates, self.verdict]

    def short_cells(self) -> list[str]:
        """Return the cells of the columns of SHORT_HEADINGS, for a narrow terminal."""
        name, kind, fetched, skipped, new, updated, deleted, dates, verdict = self.cells()
        if self.span is not None:
            dates = "-".join(dict.fromkeys(day[:YEAR] for day in self.span))
        return [name, kind, f"{fetched}/{skipped}", f"+{new} ~{updated} -{deleted}", dates, verdict]


class Summary:
    """The lines of a run's feeds and the reasons of their verdicts, both up to a limit.

    `left` is the number of feeds that other crawls are working on; `idle` is the reason if there are no
    feeds at all; `failures` are the other failures of the run.
    """

    def __init__(self) -> None:
        self.left = 0
        self.idle = ""
        self.failures: list[str] = []
        self._has_changes = False
        self._rows: list[Row] = []
        self._titles: Counter[str] = Counter()
        self.verdicts: Counter[str] = Counter()
        self._reasons: dict[str, list[str]] = {}
        self._numbers: Counter[str] = Counter()

    @property
    def has_news(self) -> bool:
        """Whether an entry has changed, or something is missing or has failed."""
        return self._has_changes or any(what not in LAST for what in self._reasons) or bool(self.failures)

    @property
    def more(self) -> int:
        """The number of feeds beyond the limit, which have no line."""
        return self.verdicts.total() - len(self._rows)

    @property
    def rows(self) -> list[Row]:
        """The lines, sorted by URL; titles that several feeds share are replaced by their URLs."""
        rows = sorted(self._rows, key=lambda row: row.feed)
        return [row if self._titles[row.title] == 1 else row._replace(title="") for row in rows]

    def add(self, feed: Feed, verdict: Verdict, reasons: list[Reason], counts: Counts | None) -> None:
        """Add a feed that is in the store."""
        fetched = 0 if counts is None else counts.documents
        skipped = max(0, feed.documents.get(State.PROCESSED.value, 0) - fetched)
        kind = "-" if feed.kind is None else feed.kind.value
        span = feed.oldest and feed.newest and (feed.oldest[:DAY], feed.newest[:DAY])
        title = printable(feed.title or "")
        row = Row(printable(feed.feed), title, kind, counts, skipped, span or None, verdict.value)
        self._add(row)
        for reason in reasons:
            self._note(reason.kind, f"{printable(reason.url)} {printable(reason.detail)}")

    def add_unknown(self, url: str, verdict: Verdict, kind: ReasonKind, detail: str) -> None:
        """Add a feed that failed and is not in the store."""
        self._add(Row(printable(url), "", "-", None, 0, None, verdict.value))
        self._note(kind, f"{printable(url)} {printable(detail)}")

    def _add(self, row: Row) -> None:
        self.verdicts[row.verdict] += 1
        self._has_changes = self._has_changes or (row.counts is not None and row.counts.entries > 0)
        if len(self._rows) < MOST_FEEDS:
            self._rows.append(row)
            self._titles[row.title] += 1

    def _note(self, kind: ReasonKind, sentence: str) -> None:
        self._numbers[kind.advice] += 1
        noted = self._reasons.setdefault(kind.advice, [])
        if len(noted) < MOST_REASONS:
            noted.append(sentence)

    def reasons(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each advice with the problems that it applies to."""
        for what in sorted(self._reasons, key=LAST.__contains__):
            sentences = self._reasons[what]
            more = self._numbers[what] - len(sentences)
            yield what, [*sentences, *([MORE_REASONS.format(more)] if more else [])]

    def footer(self) -> str:
        """Return the totals of all feeds on one line."""
        said = [f"{count} {verdict}" for verdict, count in sorted(self.verdicts.items())]
        if self.left:
            whose = "it" if self.left == 1 else "them"
            said.append(f"{self.left} left alone (another crawl is at work on {whose})")
        number = self.verdicts.total() + self.left
        if not number:
            return self.idle or "No feeds"
        return f"{number} {'feed' if number == 1 else 'feeds'}: {', '.join(said)}"

    def table_lines(self) -> Iterator[str]:
        """Yield the table's lines for a log."""
        table = [list(HEADINGS)]
        table += ([row.name_within(WIDEST_NAME), *row.cells()[1:]] for row in self.rows)
        widths = [min(WIDEST_NAME, max(len(cells[n]) for cells in table)) for n in range(len(HEADINGS))]
        for cells in table if self._rows else ():
            yield "  ".join(map(_fit, cells, widths, HEADINGS)).rstrip()
        if self.more:
            yield MORE_FEEDS.format(self.more)
        yield self.footer()

    def reason_lines(self) -> Iterator[str]:
        """Yield the reasons for a log."""
        for what, sentences in self.reasons():
            yield from sentences
            yield f"  What to do: {what}"


def _fit(cell: str, width: int, heading: str) -> str:
    if heading in NUMBERS:
        return cell.rjust(width)
    return (cell if len(cell) <= width else cell[: width - 1] + "…").ljust(width)
