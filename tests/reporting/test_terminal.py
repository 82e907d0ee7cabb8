"""The display on a terminal while a crawl runs."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len
from rich.console import Console, ConsoleDimensions

from fhcrawl.reporting import terminal
from fhcrawl.reporting.progress import Progress, Rate

if TYPE_CHECKING:
    from typing import TextIO

WIDTHS = [60, 80, 132, 200]
HOSTILE = "[bold]素晴らしい[/bold]\x1b[31m\r\n\u202e:smile:" + "x" * 300
UNFIT = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


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
