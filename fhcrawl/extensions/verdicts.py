"""Reports the verdict on each feed when it is done, in stats, store and log, and at the end on a terminal."""

from __future__ import annotations

import contextlib
import logging
import sys
from itertools import islice
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call

from fhcrawl import signals as fhcrawl_signals
from fhcrawl.crawling.compat import scheduler_of
from fhcrawl.exceptions import StoreError
from fhcrawl.extensions import Component
from fhcrawl.extensions.feedexport import FeedExporter
from fhcrawl.extensions.progress import ProgressExtension
from fhcrawl.extensions.store import FAILED as FAILED_STORE
from fhcrawl.extensions.store import LEASED, StoreExtension
from fhcrawl.logical_feed import FAILED, Reason, Role, Verdict, in_words, shown_verdict, words
from fhcrawl.logical_feed.polling import Limits
from fhcrawl.reasons import ReasonKind
from fhcrawl.reporting.summary import EXPORTED, Counts, Look, Summary, failures
from fhcrawl.store import FEEDS_AT_ONCE, VerdictRecord
from fhcrawl.utils.clock import now
from fhcrawl.utils.text import LONGEST_SENTENCE, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from fhcrawl.logical_feed.results import DocumentFailure, DocumentResult
    from fhcrawl.store import Feed

logger = logging.getLogger(__name__)

LINES_AT_ONCE = 500
UNREAD = "fhcrawl/feed/unread"
RENAMED = "fhcrawl/entry/renamed"
RENAMED_ENTRIES = "%s: entries whose id has changed: %d, for example from %s to %s%s"
CHAIN = (Role.ARCHIVE, Role.PAGE)
LOOKS_AGAIN_SECONDS = 0.5


class VerdictsExtension(Component):
    """Counts, logs and stores the verdict on each feed, and lets other crawls read the feed.

    During the crawl, it looks for feeds that are done; when the spider closes, it reports the others. After
    an error of the store, verdicts are only reported, at the end. At the end of the log, it shows a table of
    the feeds, and advice on what is missing.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        get_number = crawler.settings.getint
        self._limits = Limits(get_number("FHCRAWL_DUE_MIN_SECONDS"), get_number("FHCRAWL_DUE_MAX_SECONDS"))
        self._release_loop: AsyncioLoopingCall | LoopingCall | None = None
        self._summary = Summary(begun=now())
        # The feeds of the run and what has changed in them, by URL, if they are wanted at the end.
        self.reported: dict[str, tuple[Feed, Counts]] | None = None
        # Log feeds that could not be read as errors.
        self.has_read_errors = False
        self._has_logged_read_errors = False
        self._is_any_read = False
        # The first reason of each feed that could not be read.
        self._unread: dict[str, str] = {}
        for signal, handler in (
            (fhcrawl_signals.document_committed, self.document_read),
            (fhcrawl_signals.document_unchanged, self.document_read),
            (fhcrawl_signals.document_lost, self.document_lost),
            (signals.engine_started, self.engine_started),
            (signals.spider_closed, self.spider_closed),
            (signals.engine_stopped, self.engine_stopped),
        ):
            crawler.signals.connect(handler, signal=signal)

    @property
    def verdict_words(self) -> set[str]:
        return self._summary.words

    def document_read(self, result: DocumentResult) -> None:
        self._is_any_read = self._is_any_read or result.fetch.role not in CHAIN

    def document_lost(self, result: DocumentResult) -> None:
        fetch, failure = result.fetch, result.failure
        # A limit, or a pause that the server requires, is not a failure; an unreachable robots.txt is.
        if fetch.role is Role.SUBSCRIPTION and failure is not None and failure.kind is not ReasonKind.LIMIT:
            self._unread.setdefault(fetch.feed, f"{fetch.requested_url} {failure.detail}")

    def engine_started(self) -> None:
        self._release_loop = create_looping_call(self._release_done)
        self._release_loop.start(LOOKS_AGAIN_SECONDS, now=False)

    def _release_done(self) -> None:
        # A project's own scheduler may lack the method.
        pop_done = getattr(scheduler_of(self._crawler.engine), "done", None)
        if pop_done is None:
            return
        done, extension = pop_done(), StoreExtension.of(self._crawler)
        for begin in range(0, len(done), FEEDS_AT_ONCE):
            if extension.has_failed:
                return
            try:
                urls = done[begin : begin + FEEDS_AT_ONCE]
                feeds = list(extension.store.feeds.read(extension.run, urls))
                self._report(extension, feeds, self._may_forget(), releases=True)
                extension.has_released = True
            except StoreError as error:
                extension.fail(error)

    def spider_closed(self, reason: str) -> None:
        if self._release_loop is not None and self._release_loop.running:
            self._release_loop.stop()
        extension = StoreExtension.of(self._crawler)
        # After a shutdown, unread feeds are expected.
        if self._unread and not self._is_any_read and reason != "shutdown":
            self._crawler.stats.set_value(UNREAD, len(self._unread))
        # A crawl that ended early may be resumed with requests of these feeds.
        forgets_unread = reason == "finished" and self._may_forget()
        try:
            feeds = extension.store.feeds.read(extension.run)
            while batch := list(islice(feeds, FEEDS_AT_ONCE)):
                self._report(extension, batch, forgets_unread)
        except StoreError as error:
            extension.fail(error)
        for url, failure in extension.unrecorded_failures.items():
            self._log_verdict(url, Verdict.UNKNOWN, [Reason(failure.kind, url, failure.detail, now())], 0)
            self._summary.add_unknown(url, failure.kind, failure.detail)
        self._summary.idle = getattr(self._crawler.spider, "idle_reason", "")
        self._summary.left = self._crawler.stats.get_value(LEASED, 0)

    def _may_forget(self) -> bool:
        # Feeds that could never be read; the next run with `due` needs to know when they are due.
        return not getattr(self._crawler.spider, "only_due", False)

    def _report(
        self, extension: StoreExtension, feeds: list[Feed], forgets_unread: bool, releases: bool = False
    ) -> None:
        store, run = extension.store, extension.run
        urls = [feed.feed for feed in feeds]
        if not extension.has_failed and self._finish_walks(extension, urls):
            feeds = list(store.feeds.read(run, urls))
        records = [_verdict_record(feed, extension.unrecorded_failures.get(feed.feed)) for feed in feeds]
        # After an error of the store, verdicts stay NULL: they might be wrong.
        if not extension.has_failed:
            try:
                store.feeds.note_verdicts(run, records, self._limits, releases, forgets_unread)
            except StoreError as error:
                if releases:  # `spider_closed` reports these feeds
                    raise
                extension.fail(error)
        progress = self._crawler.get_extension(ProgressExtension)
        for feed, (url, verdict, reasons, _) in zip(feeds, records, strict=True):
            extension.unrecorded_failures.pop(url, None)
            self._log_verdict(url, verdict, reasons, feed.entries)
            counts = None if progress is None else progress.progress.counts_of(url)
            self._summary.add(feed, verdict, reasons, counts)
            if self.reported is not None:
                self.reported[url] = feed, counts or Counts()

    def _finish_walks(self, extension: StoreExtension, urls: list[str]) -> bool:
        stats, store = self._crawler.stats, extension.store
        progress = self._crawler.get_extension(ProgressExtension)
        deletes = self._crawler.settings.getbool("FHCRAWL_DELETE_ABSENT")
        ends = store.walk_ends.finish(extension.run, urls, deletes)
        for url, end in ends.items():
            if end.deleted:
                stats.inc_value("fhcrawl/entry/deleted", end.deleted)
            if progress is not None:
                progress.progress.delete(url, end.deleted)
            if end.example is not None:
                stats.inc_value(RENAMED, end.renamed)
                new_id, former_id = end.example
                advice = "" if end.merged else "; --merge-renamed keeps only the new id"
                logger.warning(RENAMED_ENTRIES, url, end.renamed, former_id, new_id, advice)
        return bool(ends)

    def _log_verdict(self, url: str, verdict: Verdict, reasons: list[Reason], entries: int) -> None:
        self._crawler.stats.inc_value(f"fhcrawl/feed/{verdict.value}")
        is_error = self.has_read_errors and FAILED in words(verdict, reasons)
        self._has_logged_read_errors = self._has_logged_read_errors or is_error
        level = logging.ERROR if is_error else logging.WARNING if reasons else logging.INFO
        shown = shown_verdict(in_words(verdict, reasons))
        details = "".join(f"; {reason.url} {reason.detail}" for reason in reasons)
        logger.log(level, "%s: %s, entries: %d%s", url, shown, entries, details)

    def engine_stopped(self) -> None:
        summary = self._summary
        summary.failures = self._failures()
        exporter = self._crawler.get_extension(FeedExporter)
        if exporter is not None:
            if self._exported_nothing():
                summary.note = exporter.nothing_new
            summary.note_exported(exporter.exported, exporter.unexported)
        progress = self._crawler.get_extension(ProgressExtension)
        if progress is not None and progress.tell(summary):
            return
        if self._crawler.settings.getbool("FHCRAWL_SUMMARY_ENABLED"):
            # A scheduled crawl that appends to files often has nothing to append.
            has_note = summary.note and exporter is not None and not exporter.only_appends
            with contextlib.suppress(OSError):  # stderr is closed
                look = Look.of(sys.stderr)
                note = look.wrap(summary.note) if has_note else ()
                lines = summary.lines(look) if summary.has_news else note
                sys.stderr.writelines(f"{line}\n" for line in lines)
            return
        self._log_summary()

    def _exported_nothing(self) -> bool:
        summary = self._summary
        if not summary.verdicts or summary.left or summary.failures:
            return False
        return not any(name.startswith(EXPORTED) for name in self._crawler.stats.get_stats())

    def _failures(self, of_feeds: bool = False) -> list[str]:
        causes = {FAILED_STORE: StoreExtension.of(self._crawler).first_error}
        if of_feeds:
            causes[UNREAD] = printable(next(iter(self._unread.values()), ""), LONGEST_SENTENCE)
        return failures(self._crawler.stats.get_stats(), causes)

    def _log_summary(self) -> None:
        summary = self._summary
        # The other records that name the feeds are not errors.
        summary.failures = self._failures(of_feeds=not self._has_logged_read_errors)
        for record in _log_records(summary.table_lines(Look())):
            logger.info("The feeds of this run:\n%s", record)
        for record in _log_records(summary.reason_lines(Look())):
            logger.warning("What is missing, and what to do:\n%s", record)
        if summary.note:
            logger.info("%s", summary.note)
        for failure in summary.failures:
            logger.error("%s", failure)


def _verdict_record(feed: Feed, failure: DocumentFailure | None) -> VerdictRecord:
    if failure is None:
        return VerdictRecord(feed.feed, feed.verdict, feed.reasons, feed.complete_as_of)
    # The failure could not be stored.
    detail = f"has a document that {failure.detail}"
    reasons = [*feed.reasons, Reason(failure.kind, feed.feed, detail, now())]
    return VerdictRecord(feed.feed, Verdict.INCOMPLETE, reasons, feed.complete_as_of)


def _log_records(lines: Iterator[str]) -> Iterator[str]:
    while record := list(islice(lines, LINES_AT_ONCE)):
        yield "\n".join(record)
