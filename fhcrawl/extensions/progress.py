"""Progress of a crawl: a live display on a terminal, otherwise log lines."""

from __future__ import annotations

import atexit
import contextlib
import io
import logging
import os
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy import signals as scrapy_signals
from scrapy.utils.asyncio import create_looping_call

from fhcrawl import signals
from fhcrawl.crawling.context import feed_of, find_context
from fhcrawl.exceptions import StoreError
from fhcrawl.extensions import Component
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.listings import MOST_POSTS, ListCheck
from fhcrawl.logical_feed.results import State
from fhcrawl.reporting.summary import MOST_FEEDS, Counts, Look
from fhcrawl.utils.text import PrintableFormatter, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TextIO

    from rich.console import Console, ConsoleDimensions, RenderableType
    from rich.table import Table
    from rich.text import Text
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from fhcrawl.logical_feed.results import CommitBatch, DocumentResult
    from fhcrawl.reporting.summary import Summary

logger = logging.getLogger(__name__)

REFRESH_SECONDS = 0.25
# The logger whose records are not shown: the display shows the same at the end.
CLOSING = "fhcrawl.extensions.verdicts"
WINDOW_SECONDS = 10.0
ENTRIES = "fhcrawl/entry/"  # the stats of entries begin with this
MOST_WALKS = 8
OTHER_LINES = 8
MOST_WAITING = 65536  # characters
MONTH, BAR = len("2003-12"), 12


@dataclass(slots=True)
class Walk:
    """A feed that is being crawled.

    :param back_to: oldest time that the walk has reached, ISO 8601 in UTC; None if unknown
    :param pending: URLs of the documents that have been requested and are not done
    :param read: number of entries that were read, or of documents if it is `of_documents`
    :param total: how many the publisher announces; 0 if none
    :param begun: when the first document was fetched, in seconds of the clock of `Progress`; None before
    """

    name: str
    counts: Counts
    back_to: str | None = None
    pending: set[str] = field(default_factory=set)
    read: int = 0
    total: int = 0
    of_documents: bool = False
    begun: float | None = None

    def done(self, time: float) -> str:
        # Entries that are published meanwhile are read too.
        if self.begun is None or not 0 < self.read < self.total:
            return ""
        seconds_left = (time - self.begun) * (self.total - self.read) / self.read
        return f"{self.read / self.total:.0%}, {_clock(seconds_left)} left"


class Rate(NamedTuple):
    documents: float = 0
    entries: float = 0


# Computed from signals; the clock is monotonic, in seconds.
class Progress:
    def __init__(self, feeds: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.feeds = feeds
        self.clock = clock
        self.total = Counts()
        self.problems = 0
        self._walks: dict[str, Walk] = {}
        self._begun_feeds = 0
        self._left_feeds: set[str] = set()
        self._counts: dict[str, Counts] = {}
        self._samples: deque[tuple[float, int, int]] = deque()

    @property
    def under_way(self) -> list[Walk]:
        return [walk for walk in self._walks.values() if walk.begun is not None]

    @property
    def done(self) -> int:
        return min(self._begun_feeds, self.feeds) - len(self._walks)

    def counts_of(self, feed: str) -> Counts | None:
        return self._counts.get(feed)

    def note_request(self, feed: str, url: str, role: str) -> None:
        walk = self._walk(feed)
        if role == Role.SUBSCRIPTION.value:
            # A redirect or a link may lead to another subscription document; then this one does not end.
            walk.pending.clear()
        walk.pending.add(url)

    def note_download(self, feed: str | None) -> None:
        if feed in self._walks and self._walks[feed].begun is None:
            walk = self._walks[feed] = self._walks.pop(feed)  # `under_way` is in this order
            walk.begun = self.clock()

    def expect(self, feed: str, read: int, total: int) -> None:
        walk = self._walk(feed)
        walk.read, walk.total, walk.of_documents = read, total, False

    def _walk(self, feed: str) -> Walk:
        if feed in self._walks:
            return self._walks[feed]
        counts = self._counts.get(feed)
        if counts is None:
            self._begun_feeds += 1
            counts = Counts()
            if len(self._counts) < MOST_FEEDS:
                self._counts[feed] = counts
        walk = self._walks[feed] = Walk(feed, counts)
        return walk

    def commit(self, result: DocumentResult, batch: CommitBatch, deleted: int) -> None:
        walk = self._end_document(result)
        self.problems += result.failure is not None
        is_read = result.failure is None or any(name.startswith(ENTRIES) for name in batch.counts)
        new, updated = (batch.counts[f"{ENTRIES}{outcome}"] for outcome in ("new", "updated"))
        for counts in (walk.counts, self.total):
            counts.documents += is_read
            counts.new += new
            counts.updated += updated
            counts.deleted += deleted
        if result.fetch.role is Role.SUBSCRIPTION:
            walk.name = result.metadata.title or walk.name
        self._count_read(walk, result)
        # The last entry of a document is mostly its oldest. A document may have the time of its response.
        oldest = next((time for version in reversed(result.versions) if (time := version.order.time)), None)
        times = [time for time in (walk.back_to, result.metadata.updated, oldest) if time]
        walk.back_to = min(times, default=None)

    def confirm(self, result: DocumentResult) -> None:
        walk = self._end_document(result)
        walk.counts.documents += 1
        self.total.documents += 1

    def delete(self, feed: str, number: int) -> None:
        for counts in filter(None, (self._counts.get(feed), self.total)):
            counts.deleted += number

    def lose(self, result: DocumentResult) -> None:
        self._count_read(self._end_document(result), result)
        self.problems += result.failure is not None and result.failure.state is not State.KNOWN

    def _count_read(self, walk: Walk, result: DocumentResult) -> None:
        if result.parts is not None:
            walk.read, walk.total, walk.of_documents = 0, len(result.parts.documents), True
        elif walk.of_documents:
            walk.read += result.fetch.role is Role.PART
        else:
            walk.read += len(result.versions)
            walk.total = result.metadata.total or walk.total

    def leave(self, feeds: Iterable[str]) -> None:
        for feed in set(feeds) - self._left_feeds:
            self._left_feeds.add(feed)
            self._walk(feed)
            del self._walks[feed]

    def _end_document(self, result: DocumentResult) -> Walk:
        walk = self._walk(result.fetch.feed)
        walk.pending.discard(result.fetch.requested_url)
        if not walk.pending:
            del self._walks[result.fetch.feed]
        return walk

    def rate(self, time: float) -> Rate:
        self._samples.append((time, self.total.documents, self.total.entries))
        while len(self._samples) > 2 and time - self._samples[1][0] >= WINDOW_SECONDS:  # noqa: PLR2004
            self._samples.popleft()
        begin, documents, entries = self._samples[0]
        if time <= begin:
            return Rate()
        total, seconds = self.total, time - begin
        return Rate((total.documents - documents) / seconds, (total.entries - entries) / seconds)


def line(progress: Progress, rate: Rate) -> str:
    total = progress.total
    walks = progress.under_way
    shares = [walk.done(progress.clock()) for walk in walks if progress.feeds == 1]
    extras = [*filter(None, shares)]
    extras += [f"problems: {progress.problems}"] if progress.problems else []
    return (
        f"Feeds: {progress.done:,} of {progress.feeds:,} done, {len(walks):,} in progress; "
        f"documents: {total.documents:,} ({rate.documents * 60:.0f}/min); "
        f"entries: {total.outcomes()} ({rate.entries * 60:.0f}/min)" + "".join(f"; {each}" for each in extras)
    )


class ProgressExtension(Component):
    """Shows the progress from the signals of documents, without handlers of signals for items.

    On a terminal, a display shows the progress, and the log scrolls above it; if the log is written
    elsewhere, its warnings are shown there. Without a terminal, a line is logged every LOGSTATS_INTERVAL
    seconds.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._begun = time.monotonic()
        self._calls: AsyncioLoopingCall | LoopingCall | None = None
        self._screen: Screen | None = None
        self.progress = Progress(0)
        for signal, handler in (
            (scrapy_signals.spider_opened, self.spider_opened),
            (scrapy_signals.spider_closed, self.spider_closed),
            (scrapy_signals.request_scheduled, self.request_scheduled),
            (scrapy_signals.request_reached_downloader, self.request_reached_downloader),
        ):
            crawler.signals.connect(handler, signal=signal)

    def spider_opened(self, spider: Spider) -> None:
        # The spider logs the error if the store cannot be read.
        with contextlib.suppress(StoreError):
            self.progress = Progress(len(getattr(spider, "feeds", ())))
        for signal, handler in (
            (signals.document_committed, self.progress.commit),
            (signals.document_unchanged, self.progress.confirm),
            (signals.document_lost, self.progress.lose),
        ):
            self._crawler.signals.connect(handler, signal=signal)
        self._begun = time.monotonic()
        self.progress.rate(self._begun)
        settings = self._crawler.settings
        if settings.getbool("FHCRAWL_PROGRESS_ENABLED"):
            self._screen = open_screen(self._render, settings.getbool("LOG_ENABLED"))
        interval = self._interval if self._screen is None else REFRESH_SECONDS
        if interval:
            self._calls = create_looping_call(self._show)
            self._calls.start(interval, now=self._screen is not None)

    def _show(self) -> None:
        self._leave()
        if self._screen is None:
            logger.info("%s", line(self.progress, self.progress.rate(time.monotonic())))
            return
        try:
            self._screen.refresh()
        except OSError:  # the terminal is closed
            self._stop()

    def _leave(self) -> None:
        self.progress.leave(StoreExtension.of(self._crawler).skipped_feeds)

    def _render(self, size: ConsoleDimensions) -> RenderableType:
        now = time.monotonic()
        return running(self.progress, self.progress.rate(now), now - self._begun, size)

    # Before the log and the exports use the terminal.
    def spider_closed(self) -> None:
        self._leave()
        self._stop()
        if self._screen is None and self._interval:
            self._show()

    def _stop(self) -> None:
        if self._calls is not None and self._calls.running:
            self._calls.stop()
        if self._screen is not None:
            self._screen.close()

    def tell(self, summary: Summary) -> bool:
        """Print the summary to the terminal; return whether it need not be logged too."""
        if self._screen is None:
            return False
        file = self._screen.console.file
        print("", *summary.lines(Look.of(file)), sep="\n", file=file)
        return self._screen.release()

    def request_scheduled(self, request: Request) -> None:
        context = find_context(request)
        if context is not None:
            self.progress.note_request(context.walk.feed, context.requested_url, context.role.value)
            check = context.task
            if isinstance(check, ListCheck) and check.listing.total and not check.is_reading:
                self.progress.expect(context.walk.feed, (check.page - 1) * MOST_POSTS, check.listing.total)

    def request_reached_downloader(self, request: Request) -> None:
        self.progress.note_download(feed_of(request))


# None if lines cannot be redrawn: TERM=dumb, or in the background, where other processes may write.
def console_of(file: TextIO) -> Console | None:
    if not file.isatty() or _is_in_background(file):
        return None
    # Crawls without a terminal start faster without it.
    from rich.console import Console

    console = Console(file=file, highlight=False, markup=False, emoji=False)
    return console if console.is_interactive else None


def _is_in_background(file: TextIO) -> bool:
    try:
        return os.tcgetpgrp(file.fileno()) != os.getpgrp()
    except (OSError, AttributeError):  # not the controlling terminal; not supported (Windows)
        return False


def open_screen(render: Callable[[ConsoleDimensions], RenderableType], has_log: bool) -> Screen | None:
    handlers = [handler for handler in logging.root.handlers if isinstance(handler, logging.StreamHandler)]
    console = console_of(sys.stderr)
    if console is None or any(isinstance(handler.stream, Screen) for handler in handlers):
        return None
    on_terminal = [handler for handler in handlers if handler.stream in (sys.stderr, sys.stdout)]
    return Screen(console, render, on_terminal, has_log)


# Only `refresh` redraws the display.
class Screen:
    def __init__(
        self,
        console: Console,
        render: Callable[[ConsoleDimensions], RenderableType],
        handlers: list[logging.StreamHandler[Any]],
        has_log: bool,
    ) -> None:
        from rich.live import Live

        self.console = console
        self._written = io.StringIO()
        self._live = Live(
            console=console,
            get_renderable=lambda: render(console.size),
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._handlers = [(handler, handler.stream) for handler in handlers]
        self._warnings: logging.Handler | None = None
        for handler in handlers:
            handler.setStream(self)
            handler.addFilter(_is_not_closing)
        if has_log and not handlers:
            self._warnings = logging.StreamHandler(self)
            self._warnings.setLevel(logging.WARNING)
            self._warnings.setFormatter(PrintableFormatter(logging.Formatter("%(levelname)s: %(message)s")))
            self._warnings.addFilter(_is_not_closing)
            logging.root.addHandler(self._warnings)
        # A forced shutdown does not close the spiders.
        atexit.register(self._stop)
        self._live.start()

    def write(self, text: str) -> int:
        self._written.write(text)
        if self._written.tell() > MOST_WAITING:
            self._print()
        return len(text)

    # The handlers of logging call it.
    def flush(self) -> None:
        pass

    def _print(self) -> None:
        from rich.text import Text

        if written := self._written.getvalue():
            self._written = io.StringIO()
            # The terminal wraps long lines, so that they are copied as one line.
            self.console.print(Text(written, end=""), end="", soft_wrap=True)

    def refresh(self) -> None:
        self._print()
        self._live.refresh()

    def _stop(self) -> None:
        atexit.unregister(self._stop)
        self._print()
        self._live.stop()

    def close(self) -> None:
        for handler, stream in self._handlers:
            handler.setStream(stream)
        if self._warnings is not None:
            logging.root.removeHandler(self._warnings)
        with contextlib.suppress(OSError):
            self._stop()

    # Returns whether the log is written to this terminal.
    def release(self) -> bool:
        for handler, _stream in self._handlers:
            handler.removeFilter(_is_not_closing)
        return bool(self._handlers)


def _is_not_closing(record: logging.LogRecord) -> bool:
    return record.name != CLOSING


def running(progress: Progress, rate: Rate, seconds: float, size: ConsoleDimensions) -> RenderableType:
    from rich.console import Group
    from rich.constrain import Constrain

    total, walks = progress.total, progress.under_way
    waiting = progress.feeds - progress.done - len(walks)
    parts: list[RenderableType] = [
        _line(
            "Feeds",
            f"{progress.done:,} of {progress.feeds:,} done, {len(walks):,} in progress, {waiting:,} waiting",
        ),
        _line("Documents", f"{total.documents:,}  ({rate.documents:,.1f}/s)"),
        _line("Entries", f"{total.outcomes()}  ({rate.entries:,.0f}/s)"),
        _line("Time", _clock(seconds)),
    ]
    if progress.problems:
        parts.append(_line("Problems", f"{progress.problems:,}", "bold red"))
    if walks:
        parts.append(_walks(walks, progress.clock(), min(MOST_WALKS, max(1, size.height - OTHER_LINES))))
    # A terminal echoes ^C at the end of the display; if that wrapped, the display could not be redrawn.
    return Constrain(Group(*parts), size.width - len("^C^C"))


def _line(name: str, value: str, style: str = "") -> Text:
    from rich.text import Text

    text = Text(no_wrap=True, overflow="ellipsis")
    return text.append(f"{name:<10} ", "bold").append(value, style)


def _clock(seconds: float) -> str:
    minutes, remaining = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{remaining:02}"


def _walks(walks: list[Walk], time: float, limit: int) -> Table:
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, expand=True, padding=(0, 1, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("In progress", ratio=1, no_wrap=True, overflow="ellipsis")
    for heading in ("Documents", "Entries", "Back to", "Done"):
        table.add_column(heading, justify="right", no_wrap=True)
    shares = [walk.done(time) for walk in walks[:limit]]
    if any(shares):
        table.add_column("", width=BAR)
    for walk, share in zip(walks, shares, strict=False):
        counts, back_to = walk.counts, (walk.back_to or "-")[:MONTH]
        row = (f"{counts.documents:,}", f"{counts.entries:,}", Text(printable(back_to)), share)
        bar = [ProgressBar(walk.total, walk.read, width=BAR)] if share else []
        table.add_row(Text(printable(walk.name)), *row, *bar)
    if len(walks) > limit:
        table.add_row(Text(f"and {len(walks) - limit:,} more", "dim"))
    return table
