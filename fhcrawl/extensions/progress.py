"""Shows how far a crawl has come: live on a terminal, else in a line of the log now and then."""

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
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.reporting.progress import Progress, line
from fhcrawl.utils.text import PrintableFormatter

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import ConsoleDimensions, RenderableType
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall
    from typing_extensions import Self

    from fhcrawl.logical_feed.batches import CommitBatch
    from fhcrawl.logical_feed.results import DocumentResult
    from fhcrawl.reporting.summary import Summary
    from fhcrawl.reporting.terminal import Screen

logger = logging.getLogger(__name__)

REFRESH_SECONDS = 0.25
# What it says, the display says at the end.
CLOSING = "fhcrawl.extensions.verdicts"


class ProgressExtension:
    """Listens to the signals of documents, never to those of items.

    On a terminal a display shows how far the crawl is, and the log goes on above it; if the log goes
    elsewhere, its warnings appear there. Without a terminal, the log has a line every LOGSTATS_INTERVAL
    seconds.
    """

    progress_class = Progress

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._shows = crawler.settings.getbool("FHCRAWL_PROGRESS_ENABLED")
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._begun = time.monotonic()
        self._calls: AsyncioLoopingCall | LoopingCall | None = None
        self._terminal: Terminal | None = None
        self.progress = self.progress_class(0)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect to the signals of documents."""
        extension = cls(crawler)
        for signal, handler in (
            (scrapy_signals.spider_opened, extension.spider_opened),
            (scrapy_signals.spider_closed, extension.spider_closed),
            (scrapy_signals.request_scheduled, extension.request_scheduled),
            (scrapy_signals.request_reached_downloader, extension.request_reached_downloader),
            (signals.document_committed, extension.document_committed),
            (signals.document_unchanged, extension.document_unchanged),
            (signals.document_lost, extension.document_lost),
        ):
            crawler.signals.connect(handler, signal=signal)
        return extension

    def spider_opened(self, spider: Spider) -> None:
        """Begin to show."""
        # The spider says why, if the store cannot tell the feeds.
        with contextlib.suppress(StoreError):
            self.progress = self.progress_class(len(getattr(spider, "feeds", ())))
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
        except OSError:  # nobody looks any more
            self._stop()

    def _leave(self) -> None:
        self.progress.leave(StoreExtension.of(self._crawler).skipped_feeds)

    def _render(self, size: ConsoleDimensions) -> RenderableType:
        from fhcrawl.reporting.terminal import running

        now = time.monotonic()
        return running(self.progress, self.progress.rate(now), now - self._begun, size)

    def spider_closed(self) -> None:
        """Leave the terminal to the log and the exports."""
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
        """Print what is said at the end, if there is a terminal; whether it need not be logged."""
        if self._terminal is None:
            return False
        from fhcrawl.reporting.terminal import tell

        tell(self._terminal.screen.console, summary)
        return self._terminal.release()

    def request_scheduled(self, request: Request) -> None:
        """A document is to be fetched."""
        context = find_context(request)
        if context is not None:
            self.progress.ask(context.walk.feed, context.requested_url, context.role.value)

    def request_reached_downloader(self, request: Request) -> None:
        """It is the turn of a document."""
        self.progress.begin(feed_of(request))

    def document_committed(self, result: DocumentResult, batch: CommitBatch, deleted: int) -> None:
        """A document is in the store."""
        self.progress.commit(result, batch, deleted)

    def document_unchanged(self, result: DocumentResult) -> None:
        """A subscription document is what it was."""
        self.progress.confirm(result)

    def document_lost(self, result: DocumentResult) -> None:
        """A document could not be had."""
        self.progress.lose(result)


class Terminal:
    """The screen, and the handlers of the log that write to the same terminal."""

    def __init__(self, screen: Screen, handlers: list[logging.StreamHandler[Any]]) -> None:
        self.screen = screen
        self._handlers = [(handler, handler.stream) for handler in handlers]
        self._own: logging.Handler | None = None

    @classmethod
    def find(cls, render: Callable[[ConsoleDimensions], RenderableType], has_log: bool) -> Self | None:
        """The terminal behind stderr, with a display; None if there is none, or it has one already."""
        if not sys.stderr.isatty():
            return None
        from fhcrawl.reporting.terminal import Screen, console_of

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
        """Give the terminal back to the log."""
        for handler, stream in self._handlers:
            handler.setStream(stream)
        if self._own is not None:
            logging.root.removeHandler(self._own)
        with contextlib.suppress(OSError):
            self.screen.stop()

    def release(self) -> bool:
        """Let the log say everything again; whether it is on this terminal."""
        for handler, _stream in self._handlers:
            handler.removeFilter(_is_not_closing)
        return bool(self._handlers)


def _is_not_closing(record: logging.LogRecord) -> bool:
    return record.name != CLOSING
