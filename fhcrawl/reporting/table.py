"""Lines of text for people: the table of feeds, and sentences about URLs, within a terminal's width.

Without a width (in a file, a pipe or a log), the table has more columns, and every URL is whole.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, set_cell_size

from fhcrawl.logical_feed import WORDS, shown_verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import IO

    from typing_extensions import Self

    from fhcrawl.reporting.progress import Counts

GAP = INDENT = "  "
# Dates are shortened and columns left out until names have this many columns; they have LEAST in any case.
NAME, LEAST = 24, 4
WIDEST_TITLE = 60
# A URL is cut to this many columns, rather than to fewer to have its sentence on one line.
SHORTEST_URL = 40
DAY, MONTH, YEAR = len("2003-12-13"), len("2003-12"), len("2003")
# Select Graphic Rendition: ECMA-48, 8.3.117.
BOLD, DIM, RED = "1", "2", "1;31"
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
        """Return text in a style, if there is colour."""
        return f"\x1b[{style}m{text}\x1b[0m" if self.has_colour and text else text

    def sentence(self, url: str, rest: str) -> list[str]:
        """Return a sentence that begins with a URL; the URL is cut in its middle and never wrapped."""
        if self.width is None:
            return [f"{url} {rest}"]
        room = max(SHORTEST_URL, self.width - cell_len(rest) - 1)
        return self.wrap(rest, cut_in_middle(url, min(room, self.width)))

    def wrap(self, text: str, begin: str = "") -> list[str]:
        """Return text that follows a beginning, wrapped between words; words that are too long are cut."""
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


class Row(NamedTuple):
    """A feed, or several plain ones together.

    :param feed: its URL; '' for several feeds
    :param title: '' if it has none
    :param entries: number of its live entries
    :param counts: its results in this run; None if not known
    :param skipped: number of documents that earlier runs have read and this one has not
    :param oldest, newest: when its first and last entries are from, ISO 8601; None if no entry has a time
    :param verdict: in words
    :param as_of: the day of which it is; '' if it is of the last read
    :param obtained: how its history was obtained, in words; '' if only its newest document was read
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

    def dates(self, precision: int) -> str:
        """Return the dates of the oldest and the newest entry; both on one if they are the same."""
        if self.oldest is None or self.newest is None:
            return "-"
        return " to ".join(dict.fromkeys((self.oldest[:precision], self.newest[:precision])))

    @property
    def place(self) -> tuple[int, str, str]:
        """Where the row stands: the worst verdicts are first."""
        return WORDS.index(self.verdict), (self.title or self.feed).casefold(), self.feed


def cut_in_middle(text: str, width: int) -> str:
    """Return text without its middle, if it is wider than a number of columns."""
    if cell_len(text) <= width:
        return text
    end = text[-((width - 1) // 2) :]
    while cell_len(end) > (width - 1) // 2:
        end = end[1:]
    return f"{_begin(text, width - 1 - cell_len(end))}…{end}"


def cut_at_end(text: str, width: int) -> str:
    """Return text without its end, if it is wider than a number of columns."""
    return text if cell_len(text) <= width else f"{_begin(text, width - 1)}…"


def _begin(text: str, width: int) -> str:
    return set_cell_size(text, width).rstrip()


class Column(NamedTuple):
    """A column of the table, except for the first.

    :param cell: returns the text for a row
    :param is_wide: whether terminals lack the column
    """

    heading: str
    cell: Callable[[Row], str]
    is_number: bool = False
    is_wide: bool = False


def _changed(row: Row) -> str:
    if row.counts is None:
        return "-"
    signs = (("+", row.counts.new), ("~", row.counts.updated), ("-", row.counts.deleted))
    return " ".join(f"{sign}{number:,}" for sign, number in signs if number) or "0"


def _as_of(row: Row) -> str:
    return row.as_of and f" as of {row.as_of}"


KIND = Column("Kind", lambda row: row.kind, is_wide=True)
FETCHED = Column("Fetched", lambda row: f"{row.counts.documents:,}" if row.counts else "-", True, True)
SKIPPED = Column("Skipped", lambda row: f"{row.skipped:,}" if row.counts else "-", True, True)
ENTRIES = Column("Entries", lambda row: f"{row.entries:,}", True)
CHANGED = Column("Changed", _changed, True)
DAYS, MONTHS, YEARS = (Column("Dates", partial(Row.dates, precision=number)) for number in (DAY, MONTH, YEAR))
OBTAINED = Column("Obtained", lambda row: row.obtained or "-", is_wide=True)
SUBSCRIBED = Column("Subscribed", lambda row: "yes" if row.is_subscribed else "-", is_wide=True)
VERDICT = Column("Verdict", lambda row: f"{shown_verdict(row.verdict)}{_as_of(row)}")
URL = Column("URL", lambda row: row.feed, is_wide=True)
OF_RUN = (KIND, FETCHED, SKIPPED, ENTRIES, CHANGED, DAYS, VERDICT, URL)
OF_STORE = (KIND, ENTRIES, DAYS, OBTAINED, SUBSCRIBED, VERDICT, URL)


def table(rows: Sequence[Row], columns: Sequence[Column], look: Look) -> Iterator[str]:
    """Yield the lines of a table, as it fits the width.

    :param rows: at least one, in any order
    :param columns: OF_RUN or OF_STORE
    """
    rows = sorted(rows, key=lambda row: row.place)
    chosen, room = _choose(rows, columns, look.width)
    names = list(_names(rows, None if look.width is None else room))
    widths = [_width(column, rows) for column in chosen]
    widest = max(map(cell_len, ("Feed", *names)))
    headings = [column.heading for column in chosen]
    yield look.paint(_line("Feed", widest, headings, chosen, widths), BOLD)
    for row, name in zip(rows, names, strict=True):
        cells = [column.cell(row) for column in chosen]
        painted = {
            VERDICT: look.paint(shown_verdict(row.verdict), COLOURS.get(row.verdict, "")) + _as_of(row)
        }
        yield _line(name, widest, cells, chosen, widths, painted)


def _names(rows: Sequence[Row], room: int | None) -> Iterator[str]:
    """Yield the titles; without a column of URLs, the URL of a feed whose title does not identify it."""
    number = Counter(row.title for row in rows)
    for row in rows:
        if room is None:
            yield cut_at_end(row.title or "-", WIDEST_TITLE)
        elif row.title and number[row.title] == 1:
            yield cut_at_end(row.title, room)
        else:
            yield cut_in_middle(row.feed, room)


def _choose(rows: Sequence[Row], columns: Sequence[Column], width: int | None) -> tuple[list[Column], int]:
    """Return the columns that fit a terminal, and the room for names."""
    if width is None:
        return list(columns), 0
    shown = [column for column in columns if not column.is_wide]
    choices = [[dates if column is DAYS else column for column in shown] for dates in (DAYS, MONTHS, YEARS)]
    choices += [[YEARS, VERDICT], [VERDICT]]
    rooms = [width - sum(_width(column, rows) + len(GAP) for column in choice) for choice in choices]
    fits = next((number for number, room in enumerate(rooms) if room >= NAME), len(choices) - 1)
    return choices[fits], max(LEAST, rooms[fits])


def _width(column: Column, rows: Sequence[Row]) -> int:
    return max(len(column.heading), *(cell_len(column.cell(row)) for row in rows))


def _line(
    name: str,
    widest: int,
    cells: Sequence[str],
    columns: Sequence[Column],
    widths: Sequence[int],
    painted: dict[Column, str] | None = None,
) -> str:
    line = [name + " " * (widest - cell_len(name))]
    for text, column, width in zip(cells, columns, widths, strict=True):
        shown = (painted or {}).get(column, text)
        padding = " " * (width - cell_len(text))
        line.append(padding + shown if column.is_number else shown + padding)
    return GAP.join(line).rstrip()
