"""The display on a terminal during a crawl."""

from __future__ import annotations

import atexit
import os
from itertools import islice
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.constrain import Constrain
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from rich.console import ConsoleDimensions, RenderableType

    from fhcrawl.reporting.progress import Progress, Rate

MOST_WALKS = 8
OTHER_LINES = 8
MOST_WAITING = 65536
MONTH = len("2003-12")


def console_of(file: TextIO) -> Console | None:
    """Return the console of a terminal on which lines can be redrawn; None for other files.

    None also for TERM=dumb, and if this process is in the background, where other processes may write.
    """
    if not file.isatty() or _is_in_background(file):
        return None
    console = Console(file=file, highlight=False, markup=False, emoji=False)
    return console if console.is_interactive else None


def _is_in_background(file: TextIO) -> bool:
    try:
        return os.tcgetpgrp(file.fileno()) != os.getpgrp()
    except (OSError, AttributeError):  # not the controlling terminal; not supported (Windows)
        return False


class Screen:
    """A live display at the bottom of a terminal; text that is written to it is printed above.

    The display is redrawn only by `refresh`, however much is written.
    """

    def __init__(self, console: Console, render: Callable[[ConsoleDimensions], RenderableType]) -> None:
        self.console = console
        self._written: list[str] = []
        self._waiting = 0
        self._live = Live(
            console=console,
            get_renderable=lambda: render(console.size),
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def start(self) -> None:
        """Start the display."""
        # A forced shutdown does not close the spiders.
        atexit.register(self.stop)
        self._live.start()

    def write(self, text: str) -> int:
        """Write text, which is printed above the display by the next `refresh`."""
        self._written.append(text)
        self._waiting += len(text)
        if self._waiting > MOST_WAITING:
            self._print()
        return len(text)

    def flush(self) -> None:
        """Do nothing; the handlers of logging call it."""

    def _print(self) -> None:
        written, self._written, self._waiting = "".join(self._written), [], 0
        if written:
            # The terminal wraps long lines, so that they are copied as one line.
            self.console.print(Text(written, end=""), end="", soft_wrap=True)

    def refresh(self) -> None:
        """Redraw the display."""
        self._print()
        self._live.refresh()

    def stop(self) -> None:
        """Remove the display."""
        atexit.unregister(self.stop)
        self._print()
        self._live.stop()


def running(progress: Progress, rate: Rate, seconds: float, size: ConsoleDimensions) -> RenderableType:
    """Return the display of a running crawl.

    :param seconds: seconds since the crawl began
    :param size: size of the terminal
    """
    total = progress.total
    walks = len(progress.under_way)
    waiting = progress.feeds - progress.done - walks
    parts: list[RenderableType] = [
        _line(
            "Feeds",
            f"{progress.done:,} of {progress.feeds:,} done, {walks:,} under way, {waiting:,} to do",
        ),
        _line("Documents", f"{total.documents:,}  ({rate.documents:,.1f}/s)"),
        _line(
            "Entries",
            f"{total.outcomes()}  ({rate.entries:,.0f}/s)",
        ),
        _line("Time", _clock(seconds)),
    ]
    if progress.problems:
        parts.append(_line("Problems", f"{progress.problems:,}", "bold red"))
    if progress.under_way:
        parts.append(_walks(progress, min(MOST_WALKS, max(1, size.height - OTHER_LINES))))
    # A terminal echoes ^C at the end of the display; if that wrapped, the display could not be redrawn.
    return Constrain(Group(*parts), size.width - len("^C^C"))


def _line(name: str, said: str, style: str = "") -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    return text.append(f"{name:<10} ", "bold").append(said, style)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


def _walks(progress: Progress, limit: int) -> Table:
    table = Table(box=None, expand=True, padding=(0, 1, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("Under way", ratio=1, no_wrap=True, overflow="ellipsis")
    for heading in ("Documents", "Entries", "Back to"):
        table.add_column(heading, justify="right", no_wrap=True)
    for walk in islice(progress.under_way.values(), limit):
        counts = walk.counts
        back_to = (walk.back_to or "-")[:MONTH]
        name = Text(printable(walk.name))
        table.add_row(name, f"{counts.documents:,}", f"{counts.entries:,}", Text(printable(back_to)))
    if len(progress.under_way) > limit:
        table.add_row(Text(f"and {len(progress.under_way) - limit:,} more", "dim"))
    return table
