"""Shows the progress of a crawl: live on a terminal, else in log lines."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from typing import TYPE_CHECKING, Any

from scrapy import signals as scrapy_signals
from scrapy.utils.asyncio import create_looping_call

from fhcrawl import signals
from fhcrawl.crawling.context import feed_of, find_context
from fhcrawl.exceptions import StoreError
from fhcrawl.extensions import Component
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed.listings import MOST_POSTS
from fhcrawl.reporting.progress import Progress, line
from fhcrawl.reporting.summary import Look
from fhcrawl.utils.text import PrintableFormatter

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import ConsoleDimensions, RenderableType
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall
    from typing_extensions import Self

    from fhcrawl.reporting.progress import Screen
    from fhcrawl.reporting.summary import Summary

logger = logging.getLogger(__name__)

REFRESH_SECONDS = 0.25
# The logger whose records are not shown: the display shows the same at the end.
CLOSING = "fhcrawl.extensions.verdicts"


class ProgressExtension(Component):
    """Shows the progress from the signals of documents, without handlers of signals for items.

    On a terminal, a display shows the progress, and the log scrolls above it; if the log is written
    elsewhere, its warnings are shown there. Without a terminal, a line is logged every LOGSTATS_INTERVAL
    seconds.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._shows = crawler.settings.getbool("FHCRAWL_PROGRESS_ENABLED")
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._begun = time.monotonic()
        self._calls: AsyncioLoopingCall | LoopingCall | None = None
        self._terminal: Terminal | None = None
        self.progress = Progress(0)
        for signal, handler in (
            (scrapy_signals.spider_opened, self.spider_opened),
            (scrapy_signals.spider_closed, self.spider_closed),
            (scrapy_signals.request_scheduled, self.request_scheduled),
            (scrapy_signals.request_reached_downloader, self.request_reached_downloader),
        ):
            crawler.signals.connect(handler, signal=signal)

    def spider_opened(self, spider: Spider) -> None:
        """Start the display, or the log lines."""
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
        if self._shows:
            has_log = self._crawler.settings.getbool("LOG_ENABLED")
            self._terminal = Terminal.find(self._render, has_log)
        interval = self._interval if self._terminal is None else REFRESH_SECONDS
        if interval:
            self._calls = create_looping_call(self._show)
            self._calls.start(interval, now=self._terminal is not None)

    def _show(self) -> None:
        self._leave()
        if self._terminal is None:
            logger.info("%s", line(self.progress, self.progress.rate(time.monotonic())))
            return
        try:
            self._terminal.screen.refresh()
        except OSError:  # the terminal is closed
            self._stop()

    def _leave(self) -> None:
        self.progress.leave(StoreExtension.of(self._crawler).skipped_feeds)

    def _render(self, size: ConsoleDimensions) -> RenderableType:
        from fhcrawl.reporting.progress import running

        now = time.monotonic()
        return running(self.progress, self.progress.rate(now), now - self._begun, size)

    def spider_closed(self) -> None:
        """Stop the display, so that the log and the exports can use the terminal."""
        self._leave()
        self._stop()
        if self._terminal is None and self._interval:
            self._show()

    def _stop(self) -> None:
        if self._calls is not None and self._calls.running:
            self._calls.stop()
        if self._terminal is not None:
            self._terminal.close()

    def tell(self, summary: Summary) -> bool:
        """Print the summary if there is a terminal; return whether it need not be logged too."""
        if self._terminal is None:
            return False
        file = self._terminal.screen.console.file
        look = Look.of(file)
        print("", *summary.lines(look), sep="\n", file=file)
        return self._terminal.release()

    def request_scheduled(self, request: Request) -> None:
        """Count a document that is to be fetched."""
        context = find_context(request)
        if context is not None:
            self.progress.ask(context.walk.feed, context.requested_url, context.role.value)
            check = context.list_check
            if check is not None and check.listing.total and not check.is_reading:
                self.progress.expect(context.walk.feed, (check.page - 1) * MOST_POSTS, check.listing.total)

    def request_reached_downloader(self, request: Request) -> None:
        """Note that the request for a document is sent."""
        self.progress.begin(feed_of(request))


class Terminal:
    """A terminal with a display, and the log handlers that write to it."""

    def __init__(self, screen: Screen, handlers: list[logging.StreamHandler[Any]]) -> None:
        self.screen = screen
        self._handlers = [(handler, handler.stream) for handler in handlers]
        self._own: logging.Handler | None = None

    @classmethod
    def find(cls, render: Callable[[ConsoleDimensions], RenderableType], has_log: bool) -> Self | None:
        """Start a display on stderr; return None if stderr is not a terminal, or has a display already."""
        if not sys.stderr.isatty():
            return None
        from fhcrawl.reporting.progress import Screen, console_of

        handlers = [h for h in logging.root.handlers if isinstance(h, logging.StreamHandler)]
        console = console_of(sys.stderr)
        if console is None or any(isinstance(handler.stream, Screen) for handler in handlers):
            return None
        here = [handler for handler in handlers if handler.stream in (sys.stderr, sys.stdout)]
        terminal = cls(Screen(console, render), here)
        terminal._open(has_log)
        return terminal

    def _open(self, has_log: bool) -> None:
        for handler, _stream in self._handlers:
            handler.setStream(self.screen)
            handler.addFilter(_is_not_closing)
        if has_log and not self._handlers:
            self._own = logging.StreamHandler(self.screen)
            self._own.setLevel(logging.WARNING)
            self._own.setFormatter(PrintableFormatter(logging.Formatter("%(levelname)s: %(message)s")))
            self._own.addFilter(_is_not_closing)
            logging.root.addHandler(self._own)
        self.screen.start()

    def close(self) -> None:
        """Stop the display, and restore the streams of the log handlers."""
        for handler, stream in self._handlers:
            handler.setStream(stream)
        if self._own is not None:
            logging.root.removeHandler(self._own)
        with contextlib.suppress(OSError):
            self.screen.stop()

    def release(self) -> bool:
        """Remove the filters of the log handlers; return whether the log is written to this terminal."""
        for handler, _stream in self._handlers:
            handler.removeFilter(_is_not_closing)
        return bool(self._handlers)


def _is_not_closing(record: logging.LogRecord) -> bool:
    return record.name != CLOSING
