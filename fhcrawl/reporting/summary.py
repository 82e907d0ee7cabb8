"""The feeds of a run, or of a store: a table, what is missing in them, and what to do about it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fhcrawl.logical_feed import WORDS, in_words, shown_verdict
from fhcrawl.logical_feed.results import State
from fhcrawl.reasons import MISSING, NEVER_READ, NO_FEED, OURSELVES, ReasonKind
from fhcrawl.reporting.progress import MOST_FEEDS, Counts
from fhcrawl.reporting.table import BOLD, DAY, INDENT, OF_RUN, OF_STORE, RED, Look, Row, cut_in_middle, table
from fhcrawl.utils.text import escaped, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fhcrawl.logical_feed import Reason, Verdict
    from fhcrawl.store import Feed

# By prefixes of stats. `scrapy crawl` exits with code 1 if there is such a stat.
FAILURES = {
    "fhcrawl/disk/full": "A disk was nearly full (see the log): free up space, then run it again.",
    "fhcrawl/cluster/failed": "Redis has failed (see the log): fix it, then run it again.",
    "fhcrawl/feed/refused": "The list of feeds has invalid lines (see the log).",
    "fhcrawl/feed/unread": "No feed could be read.",
    "fhcrawl/store/failed": "The store has failed (see the log): fix it, then run it again.",
    "fhcrawl/warc/failed": "Some of this run is missing from finished WARC files (see the log).",
    "feedexport/failed_count/": (
        "The export was not written (see the log); the next run of these feeds writes it."
    ),
}
EXPORTED = "feedexport/success_count/"


def failures(stats: Iterable[str]) -> list[str]:
    """Return a sentence for each failure of a run.

    :param stats: the names of the run's stats
    """
    names = list(stats)
    return [said for begin, said in FAILURES.items() if any(name.startswith(begin) for name in names)]


def with_kind_of_advice(reasons: list[Reason]) -> Iterator[tuple[Reason, ReasonKind]]:
    """Yield the reasons of a feed, each with the kind whose advice applies to it.

    That a feed could never be read is left out where the cause is among the reasons. If something else, or
    nothing, was found at its address, the advice is that on feeds that were never read.
    """
    unread = next((reason.kind for reason in reasons if reason.kind in NEVER_READ), None)
    no_cause = NEVER_READ | OURSELVES | {ReasonKind.HOLES}
    has_cause = any(reason.kind not in no_cause for reason in reasons)
    for reason in reasons:
        if unread and reason.kind.advice in {MISSING, NO_FEED}:
            yield reason, unread
        elif not has_cause or reason.kind not in NEVER_READ:
            yield reason, reason.kind


# For each advice; the store has all reasons.
MOST_REASONS = 20
# At the end of a crawl, more plain feeds than these are one line together.
MOST_PLAIN = 3
# Feeds that are named where they are counted.
MOST_NAMED = 5
# The verdict in the table says as much: feeds with these reasons are counted. They come after the others.
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
TO_DO = "What to do:"
MORE_FEEDS = "and {:,} more feeds: `fhcrawl feeds` lists them"
MORE_REASONS = "and {:,} more: `fhcrawl feeds --wide` lists them"


@dataclass(slots=True)
class Problems:
    """The reasons that share an advice.

    :param listed: URLs and rests of sentences, the first of them
    :param number: number of all that would be listed
    :param counted: for the first parts of rests of sentences: the rest of the first feed's, the number of
        feeds, and the URLs of the first of them
    """

    listed: list[tuple[str, str]] = field(default_factory=list)
    number: int = 0
    counted: dict[str, tuple[str, int, list[str]]] = field(default_factory=dict)

    def lines(self, look: Look) -> Iterator[str]:
        """Yield their sentences."""
        for url, rest in self.listed:
            yield from look.sentence(url, rest)
        if more := self.number - len(self.listed):
            yield MORE_REASONS.format(more)
        for common, (rest, number, urls) in self.counted.items():
            if number == 1:
                yield from look.sentence(urls[0], rest)
                continue
            yield from look.wrap(f"each of {number:,} feeds {common}")
            room = None if look.width is None else look.width - len(INDENT)
            yield from (INDENT + (url if room is None else cut_in_middle(url, room)) for url in urls)
            if more := number - len(urls):
                yield f"{INDENT}and {more:,} more"


class Summary:
    """The feeds of a run or of a store, with the reasons of their verdicts, both up to a limit in a run.

    `left` is the number of feeds that other crawls are working on; `idle` is the reason if there are no
    feeds at all; `failures` are the other failures of the run; `note` is a sentence for the end.

    :param of_run: the feeds are those of a run, with its results; else, they are those of a store
    :param most_reasons: number of reasons that are listed with each advice; None for all
    """

    def __init__(self, of_run: bool = True, most_reasons: int | None = MOST_REASONS) -> None:
        self.left = 0
        self.idle = ""
        self.failures: list[str] = []
        self.note = ""
        self.verdicts: Counter[str] = Counter()
        self._of_run = of_run
        self._most_reasons = most_reasons
        self._shown: Callable[[str], str] = printable if of_run else escaped
        self._rows: list[Row] = []
        self._plain: list[Row] = []
        self._number_of_plain = 0
        self._more = 0
        self._changes = Counts()
        self._problems: dict[str, Problems] = {}
        self._has_gaps = False
        self._earlier = 0

    @property
    def has_news(self) -> bool:
        """Whether an entry has changed, something is missing, or the run has failed."""
        return bool(self._changes.entries or self._earlier or self._has_gaps or self.failures)

    def note_exported(self, number: int) -> None:
        """Note how many changes were exported: those of earlier runs are news too."""
        self._earlier = max(0, number - self._changes.entries)
        if self._earlier:
            entries = "1 entry was" if number == 1 else f"{number:,} entries were"
            self.note = f"{entries} exported, including changes that earlier crawls did not export."

    def add(self, feed: Feed, verdict: Verdict, reasons: list[Reason], counts: Counts | None = None) -> None:
        """Add a feed that is in the store."""
        fetched = 0 if counts is None else counts.documents
        url = self._shown(feed.feed)
        row = Row(
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
            as_of=(feed.complete_as_of or "")[:DAY],
            obtained=", ".join(feed.obtained),
        )
        kinds = {reason.kind for reason in reasons}
        is_plain = bool(kinds & PLAIN) and kinds <= PLAIN | {ReasonKind.HOLES}
        self._add(row, is_plain and self._of_run)
        for reason, advised in with_kind_of_advice(reasons):
            since = "" if self._of_run else f", since {reason.since[:DAY]}"
            self._note(reason.kind, reason.url, reason.detail, since, advised.advice)

    def add_unknown(self, url: str, verdict: Verdict, kind: ReasonKind, detail: str) -> None:
        """Add a feed that failed and is not in the store."""
        shown = self._shown(url)
        self._add(Row(shown, "", "-", 0, None, 0, None, None, False, verdict.value), is_plain=False)
        self._note(kind, url, detail, "", kind.advice)

    def _add(self, row: Row, is_plain: bool) -> None:
        self.verdicts[row.verdict] += 1
        self._changes = _sum([self._changes, row.counts])
        if is_plain:
            self._number_of_plain += 1
            self._plain.append(row)
            if self._number_of_plain > MOST_PLAIN:
                self._plain = [_together(self._plain, self._number_of_plain)]
        elif self._of_run and len(self._rows) >= MOST_FEEDS:
            self._more += 1
        else:
            self._rows.append(row)

    def _note(self, kind: ReasonKind, url: str, detail: str, since: str, advice: str) -> None:
        problems = self._problems.setdefault(advice, Problems())
        self._has_gaps = self._has_gaps or kind.is_gap
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
            problems.listed.append((self._shown(url), f"{detail}{since}"))

    def lines(self, look: Look) -> Iterator[str]:
        """Yield everything: the table, what is missing, what to do about it, and the failures."""
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
        """Yield the table, and the totals."""
        if rows := [*self._rows, *self._plain]:
            yield from table(rows, OF_RUN if self._of_run else OF_STORE, look)
        if self._more:
            yield MORE_FEEDS.format(self._more)
        yield from (look.paint(line, BOLD) for line in look.wrap(self.footer()))

    def reason_lines(self, look: Look) -> Iterator[str]:
        """Yield the reasons, and below those that share an advice, what to do."""
        # Gaps are first.
        in_order = sorted(self._problems, key=lambda said: ORDER.index(said) if said in ORDER else 0)
        for number, advice in enumerate(in_order):
            yield from [""] if number else []
            yield from self._problems[advice].lines(look)
            begin, *more = look.wrap(advice, TO_DO)
            yield begin.replace(TO_DO, look.paint(TO_DO, BOLD), 1)
            yield from more

    def footer(self) -> str:
        """Return the totals of all feeds on one line."""
        said = [f"{self.verdicts[word]:,} {shown_verdict(word)}" for word in WORDS if self.verdicts[word]]
        if self.left:
            whose = "it" if self.left == 1 else "them"
            said.append(f"{self.left:,} skipped (another crawl is reading {whose})")
        number = self.verdicts.total() + self.left
        if not number:
            return self.idle or "No feeds"
        changes = f"; entries: {self._changes.outcomes()}" if self._changes.entries else ""
        return f"{number:,} {'feed' if number == 1 else 'feeds'}: {', '.join(said)}{changes}"


def _together(rows: list[Row], number: int) -> Row:
    """Return one row for plain feeds.

    :param number: how many feeds they are
    """
    dates = [date for row in rows for date in (row.oldest, row.newest) if date]
    return rows[0]._replace(
        feed="",
        title=f"{number:,} plain feeds",
        entries=sum(row.entries for row in rows),
        counts=_sum(row.counts for row in rows),
        skipped=sum(row.skipped for row in rows),
        oldest=min(dates, default=None),
        newest=max(dates, default=None),
        is_subscribed=False,
    )


def _sum(several: Iterable[Counts | None]) -> Counts:
    known = [counts for counts in several if counts is not None]
    return Counts(
        sum(counts.documents for counts in known),
        sum(counts.new for counts in known),
        sum(counts.updated for counts in known),
        sum(counts.deleted for counts in known),
    )
