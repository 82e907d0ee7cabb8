"""The feeds of a run, or of a store, as text: a table, what is missing in them, and what to do about it.

Without a width (in a file, a pipe or a log), the table has more columns, and URLs are not cut.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from dataclasses import astuple, dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, set_cell_size

from fhcrawl.logical_feed import FAILED, WORDS, Verdict, in_words, shown_verdict, words
from fhcrawl.logical_feed.results import State
from fhcrawl.reasons import MISSING, NEVER_READ, NO_FEED, OURSELVES, ReasonKind
from fhcrawl.utils.text import escaped, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import IO

    from typing_extensions import Self

    from fhcrawl.logical_feed import Reason
    from fhcrawl.store import Feed
    from fhcrawl.store.feeds import Gap

# Limit for a run: further feeds are only included in the totals.
MOST_FEEDS = 10_000
# The table of a run fits on a screen.
MOST_ROWS = 20
GAP = INDENT = "  "
# Dates are shortened and columns left out until names have this many columns; they have LEAST in any case.
NAME, LEAST = 24, 4
WIDEST_TITLE = 60
# A URL keeps at least this many columns, even if its sentence then takes more than one line.
SHORTEST_URL = 40
DAY, MONTH, YEAR = len("2003-12-13"), len("2003-12"), len("2003")
# Select Graphic Rendition: ECMA-48, 8.3.117.
BOLD, RED = "1", "1;31"
COLOURS = dict(zip(WORDS, (RED, RED, "33", "33", "32"), strict=True))


class Look(NamedTuple):
    """How lines are shown.

    :param width: columns of the terminal; None: lines are not limited
    """

    width: int | None = None
    has_colour: bool = False

    @classmethod
    def of(cls, file: IO[str], is_wide: bool = False) -> Self:
        """Return the look for a file: its width if it is a terminal, and colour unless NO_COLOR is set."""
        if not file.isatty():
            return cls()
        has_colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return cls(None if is_wide else shutil.get_terminal_size().columns, has_colour)

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.has_colour and text else text

    def sentence(self, url: str, rest: str) -> list[str]:
        """Return a sentence that begins with a URL, which is cut in its middle and never wrapped."""
        if self.width is None:
            return [f"{url} {rest}"]
        room = max(SHORTEST_URL, self.width - cell_len(rest) - 1)
        return self.wrap(rest, cut_in_middle(url, min(room, self.width)))

    def wrap(self, text: str, begin: str = "") -> list[str]:
        """Wrap text between words after a beginning; words that are too long are cut."""
        if self.width is None:
            return [f"{begin} {text}" if begin else text]
        lines = [begin]
        for word in text.split():
            shown = cut_in_middle(word, max(LEAST, self.width - len(INDENT)))
            longer = f"{lines[-1]} {shown}" if lines[-1] else shown
            if cell_len(longer) > self.width:
                lines.append(INDENT + shown)
            else:
                lines[-1] = longer
        return lines


def cut_in_middle(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    end = text[-((width - 1) // 2) :]
    while cell_len(end) > (width - 1) // 2:
        end = end[1:]
    return f"{_fit_from_begin(text, width - 1 - cell_len(end))}…{end}"


def cut_at_end(text: str, width: int) -> str:
    return text if cell_len(text) <= width else f"{_fit_from_begin(text, width - 1)}…"


def _fit_from_begin(text: str, width: int) -> str:
    return set_cell_size(text, width).rstrip()


@dataclass(slots=True)
class Counts:
    """What has changed in a feed, or in all feeds.

    :param documents: number of documents that had not changed, or that were read, if only in part
    """

    documents: int = 0
    new: int = 0
    updated: int = 0
    deleted: int = 0

    def __add__(self, other: Counts) -> Counts:
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Counts(*(number + other_number for number, other_number in pairs))

    @property
    def entries(self) -> int:
        return self.new + self.updated + self.deleted

    @property
    def changes(self) -> dict[str, int]:
        return {"new": self.new, "updated": self.updated, "deleted": self.deleted}

    def outcomes(self) -> str:
        return f"{self.new:,} new, {self.updated:,} updated, {self.deleted:,} deleted"


class FeedRow(NamedTuple):
    """A feed, or several plain ones together, whose `feed` is ''.

    :param skipped: number of documents that earlier runs have read and this one has not
    :param as_of: the day of the verdict; '' for that of the last read
    :param obtained: how its history was obtained; '' if only its newest document was read
    :param absent, deleted: number of its entries that are gone at the publisher, and of those deleted
    """

    feed: str
    title: str
    kind: str
    entries: int
    counts: Counts | None
    skipped: int
    oldest: str | None
    newest: str | None
    is_subscribed: bool
    verdict: str
    as_of: str = ""
    obtained: str = ""
    absent: int = 0
    deleted: int = 0

    def dates(self, precision: int) -> str:
        if self.oldest is None or self.newest is None:
            return "-"
        return " to ".join(dict.fromkeys((self.oldest[:precision], self.newest[:precision])))


class Heading(NamedTuple):
    """A column; with `is_rare`, only of tables that have it not 0 in some row."""

    heading: str
    cell: Callable[[FeedRow], str]
    is_number: bool = False
    is_wide: bool = False
    is_rare: bool = False


def _changed(row: FeedRow) -> str:
    if row.counts is None:
        return "-"
    signs = (("+", row.counts.new), ("~", row.counts.updated), ("-", row.counts.deleted))
    return " ".join(f"{sign}{number:,}" for sign, number in signs if number) or "0"


KIND = Heading("Kind", lambda row: row.kind, is_wide=True)
FETCHED = Heading("Fetched", lambda row: f"{row.counts.documents:,}" if row.counts else "-", True, True)
SKIPPED = Heading("Skipped", lambda row: f"{row.skipped:,}" if row.counts else "-", True, True)
ENTRIES = Heading("Entries", lambda row: f"{row.entries:,}", True)
ABSENT = Heading("Absent", lambda row: f"{row.absent:,}", True, is_rare=True)
DELETED = Heading("Deleted", lambda row: f"{row.deleted:,}", True, is_rare=True)
CHANGED = Heading("Changed", _changed, True)
DAYS, MONTHS, YEARS = (
    Heading("Dates", partial(FeedRow.dates, precision=size)) for size in (DAY, MONTH, YEAR)
)
OBTAINED = Heading("Obtained", lambda row: row.obtained or "-", is_wide=True)
SUBSCRIBED = Heading("Subscribed", lambda row: "yes" if row.is_subscribed else "-", is_wide=True)
VERDICT = Heading("Verdict", lambda row: f"{shown_verdict(row.verdict)}{row.as_of and f' as of {row.as_of}'}")
URL = Heading("URL", lambda row: row.feed, is_wide=True)
OF_RUN = (KIND, FETCHED, SKIPPED, ENTRIES, ABSENT, DELETED, CHANGED, DAYS, VERDICT, URL)
WIDE_COUNTS = (ABSENT._replace(is_wide=True), DELETED._replace(is_wide=True))
OF_STORE = (KIND, ENTRIES, *WIDE_COUNTS, DAYS, OBTAINED, SUBSCRIBED, VERDICT, URL)


def worst_first(rows: Iterable[FeedRow]) -> list[FeedRow]:
    """Sort rows by verdict, then by name, with numbers as numbers."""

    def key(row: FeedRow) -> tuple[int, list[str]]:
        names = ((row.title or row.feed).casefold(), row.feed)
        padded = [re.sub("[0-9]+", lambda digits: digits[0].zfill(20), name) for name in names]
        return WORDS.index(row.verdict), padded

    return sorted(rows, key=key)


def table(rows: Sequence[FeedRow], columns: Sequence[Heading], look: Look) -> Iterator[str]:
    used = [
        column for column in columns if not column.is_rare or any(column.cell(row) != "0" for row in rows)
    ]
    chosen, room = _choose_columns(rows, used, look.width)
    names = list(_names(rows, None if look.width is None else room))
    lines = [["Feed", *(column.heading for column in chosen)]]
    lines += [[name, *(column.cell(row) for column in chosen)] for row, name in zip(rows, names, strict=True)]
    widths = [max(map(cell_len, cells)) for cells in zip(*lines, strict=True)]
    for row, cells in zip([None, *rows], lines, strict=True):
        padded = []
        for column, text, width in zip([None, *chosen], cells, widths, strict=True):
            padding, shown = " " * (width - cell_len(text)), text
            if row is not None and column is VERDICT:
                word = shown_verdict(row.verdict)
                shown = look.paint(word, COLOURS.get(row.verdict, "")) + text.removeprefix(word)
            padded.append(padding + shown if column is not None and column.is_number else shown + padding)
        line = GAP.join(padded).rstrip()
        yield look.paint(line, BOLD) if row is None else line


def _names(rows: Sequence[FeedRow], room: int | None) -> Iterator[str]:
    title_counts = Counter(row.title for row in rows)
    for row in rows:
        if room is None:
            yield cut_at_end(row.title or "-", WIDEST_TITLE)
        elif row.title and title_counts[row.title] == 1:
            yield cut_at_end(row.title, room)
        else:
            yield cut_in_middle(row.feed, room)


def _choose_columns(
    rows: Sequence[FeedRow], columns: Sequence[Heading], width: int | None
) -> tuple[list[Heading], int]:
    if width is None:
        return list(columns), 0
    shown = [column for column in columns if not column.is_wide]
    choices = [[dates if column is DAYS else column for column in shown] for dates in (DAYS, MONTHS, YEARS)]
    choices += [[YEARS, VERDICT], [VERDICT]]
    rooms = [width - sum(_width(column, rows) + len(GAP) for column in choice) for choice in choices]
    best = next((number for number, room in enumerate(rooms) if room >= NAME), len(choices) - 1)
    return choices[best], max(LEAST, rooms[best])


def _width(column: Heading, rows: Sequence[FeedRow]) -> int:
    return max(len(column.heading), *(cell_len(column.cell(row)) for row in rows))


# By prefix of the stat, with a place for the cause. `scrapy crawl` exits with code 1 if such a stat exists.
FAILURES = {
    "fhcrawl/cluster/failed": "Redis has failed (see the log): fix it, then run it again.",
    "fhcrawl/entry/lost": "Pipelines have lost entries (see the log): fix them, then run it again.",
    "fhcrawl/feed/refused": "The list of feeds has invalid lines (see the log).",
    "fhcrawl/feed/unread": "No feed could be read{}.",
    "fhcrawl/store/failed": (
        "The store has failed{}. Fix the cause, then run the crawl again: it continues where it stopped."
    ),
    "fhcrawl/warc/failed": "Some of this run is missing from finished WARC files (see the log).",
    "feedexport/failed_count/": (
        "The export was not written (see the log); the next run of these feeds writes it."
    ),
}
EXPORTED = "feedexport/success_count/"
NO_CAUSES: Mapping[str, str] = MappingProxyType({})


def failures(stats: Iterable[str], causes: Mapping[str, str] = NO_CAUSES) -> list[str]:
    """Return a sentence for each failure of a run, from the names of its stats.

    :param causes: of some failures, by prefix of the stat
    """
    names = list(stats)
    return [
        sentence.format(f": {causes[begin]}" if causes.get(begin) else "")
        for begin, sentence in FAILURES.items()
        if any(name.startswith(begin) for name in names)
    ]


def with_kind_of_advice(reasons: list[Reason]) -> Iterator[tuple[Reason, ReasonKind]]:
    """Yield the reasons of a feed, each with the kind whose advice applies to it.

    The reason that a feed could never be read is skipped if its cause is among the reasons, unless the feed
    has entries from captures, whose advice then applies to the cause. If the address has no document, or not
    a feed, the advice is that for feeds that were never read.
    """
    unread = next((reason.kind for reason in reasons if reason.kind in NEVER_READ), None)
    no_cause = NEVER_READ | OURSELVES | {ReasonKind.HOLES}
    is_captured = unread is ReasonKind.ONLY_CAPTURES
    has_cause = not is_captured and any(reason.kind not in no_cause for reason in reasons)
    for reason in reasons:
        if unread and (reason.is_gap if is_captured else reason.kind.advice in {MISSING, NO_FEED}):
            yield reason, unread
        elif not has_cause or reason.kind not in NEVER_READ:
            yield reason, reason.kind


# Limit for each advice; the store has all reasons.
MOST_REASONS = 10
# At the end of a crawl, more plain feeds than these share a line.
MOST_PLAIN = 3
# Number of feeds that are listed with a count.
MOST_NAMED = 5
# The table's verdicts imply these reasons, so that their feeds are only counted, after all other reasons.
COUNTED = (
    ReasonKind.NOT_READ,
    ReasonKind.ONLY_CAPTURES,
    ReasonKind.HOLES,
    ReasonKind.PAGED,
    ReasonKind.PLATFORM,
    ReasonKind.NO_HISTORY,
)
PLAIN = frozenset({ReasonKind.NO_HISTORY, ReasonKind.PLATFORM})
ORDER = ["", *(kind.advice for kind in COUNTED)]
PLURALS = {"is": "are", "was": "were", "has": "have", "does": "do"}
TO_DO = "What to do:"
MORE_FEEDS = "and {:,} more feeds: `fhcrawl feeds` lists them"
MORE_REASONS = "and {:,} more: `fhcrawl feeds --wide` lists them"


@dataclass(slots=True)
class Problems:
    """The reasons with the same advice; only the first ones if they are many.

    :param listed: URLs and rests of sentences
    :param number: how many would be listed without a limit
    :param counted: by the common begin of rests of sentences: the rest of the first feed's, the number of
        feeds, and the URLs of the first
    """

    listed: list[tuple[str, str]] = field(default_factory=list)
    number: int = 0
    counted: dict[str, tuple[str, int, list[str]]] = field(default_factory=dict)

    def lines(self, look: Look) -> Iterator[str]:
        for url, rest in self.listed:
            yield from look.sentence(url, rest)
        if more := self.number - len(self.listed):
            yield MORE_REASONS.format(more)
        for common, (rest, number, urls) in self.counted.items():
            if number == 1:
                yield from look.sentence(urls[0], rest)
                continue
            yield from look.wrap(f"{number:,} feeds {_plural(common)}")
            room = None if look.width is None else look.width - len(INDENT)
            yield from (INDENT + (url if room is None else cut_in_middle(url, room)) for url in urls)
            if more := number - len(urls):
                yield f"{INDENT}and {more:,} more"


def _plural(predicate: str) -> str:
    verb, space, rest = predicate.partition(" ")
    return f"{PLURALS.get(verb, verb)}{space}{rest.replace(' its ', ' their ')}"


def unknown_entries(feed: Feed, gap: Gap) -> str:
    """Return which entries may be missing because of a gap, as a clause; '' if their times are unknown."""
    if gap.before is None:
        return ""
    before = gap.before[:DAY]
    if gap.after is None:
        return f"entries before {before} are unknown"
    # Captures show some of the entries behind the gap.
    when = f"before {before}" if feed.is_captured else f"between {gap.after[:DAY]} and {before}"
    return f"entries {when} may be missing"


class Summary:
    """The feeds of a run or of a store, with the reasons of their verdicts, both up to a limit in a run.

    :param of_run: the feeds are those of a run, with its results; else, they are those of a store
    :param most_reasons: number of reasons that are listed with each advice; None for all
    :param begun: when the run began: older gaps and failed reads are no news
    :ivar left: number of feeds that other crawls are working on
    :ivar words: the verdicts, and `failed` if the last read of a feed failed
    :ivar idle: why there are no feeds at all
    :ivar note: a sentence for the end
    """

    def __init__(self, of_run: bool = True, most_reasons: int | None = MOST_REASONS, begun: str = "") -> None:
        self.left = 0
        self.idle = ""
        self.failures: list[str] = []
        self.note = ""
        self.verdicts: Counter[str] = Counter()
        self.words: set[str] = set()
        self._of_run = of_run
        self._most_reasons = most_reasons
        self._shown: Callable[[str], str] = printable if of_run else escaped
        self._rows: list[FeedRow] = []
        self._plain: list[FeedRow] = []
        self._number_of_plain = 0
        self._more = 0
        self._changes = Counts()
        self._problems: dict[str, Problems] = {}
        self._begun = begun
        self._has_new_gaps = False
        self._earlier = 0

    @property
    def has_news(self) -> bool:
        return bool(self._changes.entries or self._earlier or self._has_new_gaps or self.failures)

    def note_exported(self, number: int, unexported: int) -> None:
        self._earlier = max(0, number - self._changes.entries)
        if self._earlier:
            entries = "1 entry was" if number == 1 else f"{number:,} entries were"
            self.note = f"{entries} exported, including changes that earlier crawls did not export."
        if unexported:
            changes = "1 change is" if unexported == 1 else f"{unexported:,} changes are"
            self.note = f"{self.note} {changes} not exported yet.".lstrip()

    def add(
        self,
        feed: Feed,
        verdict: Verdict,
        reasons: list[Reason],
        counts: Counts | None = None,
        gap: Gap | None = None,
    ) -> None:
        fetched = 0 if counts is None else counts.documents
        url = self._shown(feed.feed)
        has_failed = any(reason.last_read for reason in reasons)
        is_earlier = verdict is Verdict.COMPLETE and (has_failed or feed.complete_as_of != feed.crawled)
        row = FeedRow(
            feed=url,
            title=printable(feed.title or ""),
            kind="-" if feed.kind is None else feed.kind.value,
            entries=feed.entries,
            counts=counts,
            skipped=max(0, feed.documents.get(State.PROCESSED.value, 0) - fetched),
            oldest=feed.oldest and feed.oldest[:DAY],
            newest=feed.newest and feed.newest[:DAY],
            is_subscribed=feed.subscribed is not None,
            verdict=in_words(verdict, reasons),
            as_of=(feed.complete_as_of or "")[:DAY] if is_earlier else "",
            obtained=", ".join(feed.obtained),
            absent=feed.absent,
            deleted=feed.deleted_entries,
        )
        kinds = {reason.kind for reason in reasons}
        is_plain = bool(kinds & PLAIN) and kinds <= PLAIN | {ReasonKind.HOLES}
        self.words |= words(verdict, reasons)
        self._add(row, is_plain and self._of_run)
        for reason, advised in with_kind_of_advice(reasons):
            since = "" if self._of_run else f", since {reason.since[:DAY]}"
            if gap is not None and reason.url == gap.url and (unknown := unknown_entries(feed, gap)):
                since += f"; {unknown}"
            # The document of a gap does not show which feed it belongs to.
            title = feed.title if reason.url != feed.feed else None
            self._note(reason.kind, reason.url, reason.detail, since, advised.advice, title)
            # Whether a document has moved is known only for the last crawl.
            is_new = reason.since >= self._begun or reason.kind is ReasonKind.MOVED
            self._has_new_gaps = self._has_new_gaps or (reason.kind.is_gap and is_new)

    def add_unknown(self, url: str, kind: ReasonKind, detail: str) -> None:
        unknown = Verdict.UNKNOWN.value
        self._add(FeedRow(self._shown(url), "", "-", 0, None, 0, None, None, False, unknown), is_plain=False)
        self.words |= {unknown, FAILED}
        self._note(kind, url, detail, "", kind.advice)
        self._has_new_gaps = self._has_new_gaps or kind.is_gap

    def _add(self, row: FeedRow, is_plain: bool) -> None:
        self.verdicts[row.verdict] += 1
        self._changes += row.counts or Counts()
        if is_plain:
            self._number_of_plain += 1
            self._plain.append(row)
            if self._number_of_plain > MOST_PLAIN:
                self._plain = [_merged_row(self._plain, self._number_of_plain)]
        elif self._of_run and len(self._rows) >= MOST_FEEDS:
            self._more += 1
        else:
            self._rows.append(row)

    def _note(
        self, kind: ReasonKind, url: str, detail: str, since: str, advice: str, title: str | None = None
    ) -> None:
        problems = self._problems.setdefault(advice, Problems())
        detail = printable(detail)
        if kind in COUNTED:
            # What follows a semicolon differs from feed to feed.
            common = detail if self._most_reasons is None else detail.partition(";")[0]
            rest, number, urls = problems.counted.get(common, (detail, 0, []))
            if self._most_reasons is None or number < MOST_NAMED:
                urls.append(self._shown(url))
            problems.counted[common] = rest, number + 1, urls
            return
        problems.number += 1
        if self._most_reasons is None or len(problems.listed) < self._most_reasons:
            of_feed = f"({printable(title.strip())}) " if title else ""
            problems.listed.append((self._shown(url), f"{of_feed}{detail}{since}"))

    def lines(self, look: Look) -> Iterator[str]:
        yield from self.table_lines(look)
        if self._problems:
            yield ""
            yield from self.reason_lines(look)
        if self.failures:
            yield ""
        for failure in self.failures:
            yield from (look.paint(line, RED) for line in look.wrap(failure))
        if self.note:
            yield from ["", *look.wrap(self.note)]

    def table_lines(self, look: Look) -> Iterator[str]:
        rows = worst_first([*self._rows, *self._plain])
        shown = rows[:MOST_ROWS] if self._of_run else rows
        if shown:
            yield from table(shown, OF_RUN if self._of_run else OF_STORE, look)
        if more := self._more + len(rows) - len(shown):
            yield MORE_FEEDS.format(more)
        yield from (look.paint(line, BOLD) for line in look.wrap(self.footer()))

    def reason_lines(self, look: Look) -> Iterator[str]:
        # Gaps are first.
        in_order = sorted(self._problems, key=lambda advice: ORDER.index(advice) if advice in ORDER else 0)
        for number, advice in enumerate(in_order):
            yield from [""] if number else []
            yield from self._problems[advice].lines(look)
            begin, *more = look.wrap(advice, TO_DO)
            yield begin.replace(TO_DO, look.paint(TO_DO, BOLD), 1)
            yield from more

    def footer(self) -> str:
        parts = [f"{self.verdicts[word]:,} {shown_verdict(word)}" for word in WORDS if self.verdicts[word]]
        if self.left:
            whose = "it" if self.left == 1 else "them"
            parts.append(f"{self.left:,} skipped (another crawl is reading {whose})")
        number = self.verdicts.total() + self.left
        if not number:
            return self.idle or "No feeds"
        changes = f"; entries: {self._changes.outcomes()}" if self._changes.entries else ""
        return f"{number:,} {'feed' if number == 1 else 'feeds'}: {', '.join(parts)}{changes}"


def _merged_row(rows: list[FeedRow], number: int) -> FeedRow:
    dates = [date for row in rows for date in (row.oldest, row.newest) if date]
    return rows[0]._replace(
        feed="",
        title=f"{number:,} plain feeds",
        entries=sum(row.entries for row in rows),
        counts=sum((row.counts or Counts() for row in rows), Counts()),
        skipped=sum(row.skipped for row in rows),
        oldest=min(dates, default=None),
        newest=max(dates, default=None),
        is_subscribed=False,
        absent=sum(row.absent for row in rows),
        deleted=sum(row.deleted for row in rows),
    )
