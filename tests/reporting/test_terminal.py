"""The display on a terminal, and what is said at the end there and in the log."""

from __future__ import annotations

import io
import os
import pty
import re
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len
from rich.console import Console, ConsoleDimensions

from fhcrawl.logical_feed import Kind, Reason, Verdict
from fhcrawl.reasons import ReasonKind
from fhcrawl.reporting import terminal
from fhcrawl.reporting.progress import MOST_FEEDS, Counts, Progress, Rate
from fhcrawl.reporting.summary import HEADINGS, MOST_REASONS, Summary
from fhcrawl.store import Feed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

WIDTHS = [60, 80, 132, 200]
HOSTILE = "[bold]素晴らしい[/bold]\x1b[31m\r\n\u202e:smile:" + "x" * 300
UNFIT = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def feed(number: int, title: str | None = "Title", **fields: object) -> Feed:
    known = {
        "kind": Kind.ARCHIVED,
        "verdict": Verdict.COMPLETE,
        "reasons": [],
        "entries": 3,
        "documents": {"processed": 7, "missing": 1},
        "crawled": "2026-01-01T00:00:00Z",
        "subscribed": None,
        "due": None,
        "oldest": "2003-12-13T18:30:02Z",
        "newest": "2024-05-01T00:00:00.5Z",
    }
    return Feed(f"http://example.org/{number}", title, **{**known, **fields})  # type: ignore[arg-type]


def summary_of(*feeds: Feed) -> Summary:
    summary = Summary()
    for each in feeds:
        summary.add(each, each.verdict, each.reasons, Counts(5, 432, 1, 2))
    return summary


def reason(kind: str, url: str = "http://example.org/a", detail: str = "is not there") -> Reason:
    return Reason(ReasonKind(kind), url, detail, "2026-01-01T00:00:00Z")


def console(width: int, **kwargs: object) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, width=width, markup=False, highlight=False, emoji=False, **kwargs), file  # type: ignore[arg-type]


def running(width: int, feeds: int, height: int = 24) -> list[str]:
    progress = Progress(feeds)
    for number in range(feeds - 1):
        url = f"http://example.org/{number}" if number else HOSTILE
        progress.ask(url, url, "subscription")
        progress.begin(url)
    progress.problems = 3
    shown, file = console(width)
    shown.print(terminal.running(progress, Rate(1.5, 20), 3723, ConsoleDimensions(width, height)))
    return file.getvalue().splitlines()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("feeds", [1, 30, 2000])
def test_running_display_is_small_and_fits(width: int, feeds: int) -> None:
    lines = running(width, feeds)
    assert len(lines) <= 16
    # What the terminal shows for Ctrl-C has its place behind the last line.
    assert all(cell_len(line) <= width - 4 for line in lines)
    assert UNFIT.findall("\n".join(lines)) == []
    assert lines[0].startswith(f"Feeds      0 of {feeds:,} done, {feeds - 1:,} under way, 1 to do")
    assert "1:02:03" in lines[3]
    if feeds == 2000:
        assert lines[-1].strip() == "and 1,991 more"
    if feeds > 1:
        assert any(line.startswith("[bold]") for line in lines)


def test_running_display_is_lower_in_a_low_terminal() -> None:
    assert len(running(80, 30, height=10)) == 9


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("feeds", [1, 30, 2000])
def test_table_has_a_line_for_each_feed(width: int, feeds: int) -> None:
    summary = summary_of(*(feed(n, HOSTILE if n == 0 else "Title") for n in range(feeds)))
    shown, file = console(width)
    terminal.tell(shown, summary)
    lines = file.getvalue().splitlines()
    table = [line for line in lines if line.rstrip().endswith("complete") and "archived" in line]
    assert len(table) == feeds
    assert all(cell_len(line) <= width for line in lines)
    assert UNFIT.findall("\n".join(lines)) == []
    # 7 are processed, 5 of them were read in this run.
    expected = ["5", "2", "432", "1", "2", "2003-12-13", "to", "2024-05-01", "complete"]
    if width < 132:
        expected = ["5/2", "+432", "~1", "-2", "2003-2024", "complete"]
    assert all(line.split()[-len(expected) :] == expected for line in table)
    assert f"{feeds} {'feed' if feeds == 1 else 'feeds'}: {feeds} complete" in lines


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_feeds_with_one_title_are_told_apart(width: int) -> None:
    path = "of/somebody/who/writes/" * 8
    urls = [f"http://example.org/{path}{name}.atom" for name in ("news", "notes")]
    feeds = [replace(feed(1), feed=url) for url in urls]
    summary = summary_of(feed(3, "Another"), *feeds)
    shown, file = console(width)
    terminal.tell(shown, summary)
    lines = file.getvalue().splitlines()
    assert lines[2].startswith("Another ")
    for table in (lines[3:5], list(summary.table_lines())[2:4]):
        names = [line.split()[0] for line in table]
        assert len(set(names)) == 2
        for name, url in zip(names, urls, strict=True):
            begin, _, end = name.partition("…")
            assert begin
            assert end
            assert url.startswith(begin)
            assert url.endswith(end)


def test_wider_terminal_has_no_less_room_for_names() -> None:
    rooms = []
    for width in range(80, 180):
        shown, file = console(width)
        terminal.tell(shown, summary_of(feed(1)))
        rooms.append(file.getvalue().splitlines()[1].index("Kind"))
    assert min(rooms) == rooms[0]
    assert rooms[0] > 35


def test_feed_of_which_little_is_known_has_a_line() -> None:
    nothing = feed(1, None, kind=None, oldest=None, newest=None, documents={}, verdict=Verdict.UNKNOWN)
    summary = Summary()
    summary.add(nothing, Verdict.UNKNOWN, [], None)
    summary.add_unknown("http://example.org/2", Verdict.UNKNOWN, ReasonKind.STORE_ERROR, "is not crawled")
    shown, file = console(132)
    terminal.tell(shown, summary)
    lines = file.getvalue().splitlines()
    assert lines[2].split() == ["http://example.org/1", *"-" * 7, "unknown"]
    assert "http://example.org/2 is not crawled" in lines


def test_reasons_are_whole_and_have_advice() -> None:
    url = f"http://example.org/{'long/' * 30}"
    gaps = [reason("paged"), *(reason("http-404", f"{url}{n}") for n in range(MOST_REASONS + 5))]
    summary = summary_of(feed(1, verdict=Verdict.INCOMPLETE, reasons=gaps))
    shown, file = console(60)
    terminal.tell(shown, summary)
    told = file.getvalue()
    assert f"\n{url}0 is not there\n" in told
    assert f"{url}{MOST_REASONS} is" not in told
    assert "\nand 5 more: 'fhcrawl feeds' lists them\nWhat to do: " in told
    assert " ".join(told.split()).count(f"What to do: {ReasonKind.HTTP_404.advice}") == 1
    # What is missing comes before what cannot be helped.
    assert told.index("and 5 more") < told.index(ReasonKind.PAGED.advice[:20])


def test_log_says_the_same() -> None:
    gap = feed(2, "Gap", verdict=Verdict.INCOMPLETE, reasons=[reason("http-404")])
    summary = summary_of(feed(1, "x" * 100), gap)
    header, first, second, footer = summary.table_lines()
    assert header.split() == list(HEADINGS)
    assert first.split()[0] == "x" * 59 + "…"
    assert " ".join(second.split()) == "Gap archived 5 2 432 1 2 2003-12-13 to 2024-05-01 incomplete"
    assert header.index("Verdict") == first.index("complete") == second.index("incomplete")
    assert footer == "2 feeds: 1 complete, 1 incomplete"
    assert list(summary.reason_lines()) == [
        "http://example.org/a is not there",
        f"  What to do: {ReasonKind.HTTP_404.advice}",
    ]


def test_advice_is_said_once_behind_all_that_it_is_for() -> None:
    said = [("html", "a"), ("http-404", "b"), ("not-xml", "c"), ("html", "d")]
    gaps = [reason(kind, f"http://example.org/{name}") for kind, name in said]
    summary = summary_of(feed(1, verdict=Verdict.INCOMPLETE, reasons=gaps))
    pages = [f"http://example.org/{name} is not there" for name in "acd"]
    pages_advice = f"What to do: {ReasonKind.HTML.advice}"
    gone, gone_advice = "http://example.org/b is not there", f"What to do: {ReasonKind.HTTP_404.advice}"
    assert list(summary.reason_lines()) == [*pages, f"  {pages_advice}", gone, f"  {gone_advice}"]
    shown, file = console(200)
    terminal.tell(shown, summary)
    assert file.getvalue().splitlines()[-8:] == ["", *pages, pages_advice, "", gone, gone_advice]


def test_feeds_beyond_a_bound_are_counted() -> None:
    summary = summary_of(*(feed(n) for n in range(MOST_FEEDS + 3)))
    *_table, more, footer = summary.table_lines()
    assert more == "and 3 more feeds: 'fhcrawl feeds' lists them"
    assert footer == f"{MOST_FEEDS + 3} feeds: {MOST_FEEDS + 3} complete"


def test_no_color_means_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    summary = summary_of(feed(1))
    for no_color, coloured in (("", True), ("1", False)):
        monkeypatch.setenv("NO_COLOR", no_color)
        shown, file = console(80, force_terminal=True, color_system="standard")
        terminal.tell(shown, summary)
        assert ("\x1b[32m" in file.getvalue()) is coloured


@pytest.fixture
def tty_file() -> Iterator[TextIO]:
    outer, inner = pty.openpty()
    with open(inner, "w") as file, closing(os.fdopen(outer)):  # noqa: PTH123 - it has no path
        yield file


def test_only_a_terminal_that_can_move_its_cursor_has_a_display(
    tty_file: TextIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert terminal.console_of(tty_file) is not None
    assert terminal.console_of(io.StringIO()) is None
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert terminal.console_of(io.StringIO()) is None
    monkeypatch.setenv("TERM", "dumb")
    assert terminal.console_of(tty_file) is None
