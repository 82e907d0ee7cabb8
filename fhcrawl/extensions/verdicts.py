"""Reports the verdict on each feed when it is done, in stats, store and log, and at the end on a terminal.

The time at which the feed is due again is stored too.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from itertools import islice
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call

from fhcrawl import signals as ours
from fhcrawl.core.engine import Scheduler
from fhcrawl.exceptions import StoreError
from fhcrawl.extensions import Component
from fhcrawl.extensions.feedexport import FeedExporter
from fhcrawl.extensions.progress import ProgressExtension
from fhcrawl.extensions.store import LEASED, StoreExtension
from fhcrawl.logical_feed import Reason, Role, Verdict, in_words, shown_verdict
from fhcrawl.logical_feed.polling import Limits
from fhcrawl.logical_feed.results import State
from fhcrawl.reporting.progress import Counts
from fhcrawl.reporting.summary import EXPORTED, Look, Summary, failures
from fhcrawl.store import FEEDS_AT_ONCE, VerdictRecord
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from fhcrawl.logical_feed.results import DocumentFailure, DocumentResult
    from fhcrawl.store import Feed
    from fhcrawl.store.walk_ends import WalkEnd

logger = logging.getLogger(__name__)

LINES_AT_ONCE = 500
UNREAD = "fhcrawl/feed/unread"
RENAMED = "fhcrawl/entry/renamed"
CHAIN = (Role.ARCHIVE, Role.PAGE)


class VerdictsExtension(Component):
    """Counts, logs and stores the verdict on each feed of the run when it is done, or the spider closes.

    At the end of the log, it shows a table of the feeds, and advice on what is missing.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        get = crawler.settings.getint
        self._limits = Limits(get("FHCRAWL_DUE_MIN_SECONDS"), get("FHCRAWL_DUE_MAX_SECONDS"))
        self._summary = Summary()
        # The feeds of the run and what has changed in them, by URL, if they are wanted at the end.
        self.told: dict[str, tuple[Feed, Counts]] | None = None
        self._is_any_read = False
        self._unread: set[str] = set()
        crawler.signals.connect(self.document_read, signal=ours.document_committed)
        crawler.signals.connect(self.document_read, signal=ours.document_unchanged)
        crawler.signals.connect(self.document_lost, signal=ours.document_lost)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(self.engine_stopped, signal=signals.engine_stopped)

    @property
    def words(self) -> set[str]:
        """The verdicts on the feeds of the run so far, as people read them."""
        return set(self._summary.verdicts)

    def document_read(self, result: DocumentResult) -> None:
        """Note that a feed was read, from its server or from a web archive."""
        self._is_any_read = self._is_any_read or result.fetch.role not in CHAIN

    def document_lost(self, result: DocumentResult) -> None:
        """Note that a subscription document could not be read, unless it is left for a later run."""
        fetch, failure = result.fetch, result.failure
        if fetch.role is Role.SUBSCRIPTION and failure is not None and failure.state is not State.KNOWN:
            self._unread.add(fetch.feed)

    def release(self, urls: list[str]) -> None:
        """Count, log and store the verdicts on feeds that are done, and let other crawls read these feeds.

        :param urls: at most `FEEDS_AT_ONCE`; feeds that another run has taken over are ignored
        """
        extension = StoreExtension.of(self._crawler)
        try:
            self._settle_entries(extension, urls)
            feeds = list(extension.store.feeds.read(extension.run, urls))
            records = [_verdict_record(feed, extension.unrecorded_failures.get(feed.feed)) for feed in feeds]
            extension.store.feeds.note_verdicts(
                extension.run,
                records,
                self._limits,
                released=True,
                forgets_unread=self._may_forget(),
            )
        except StoreError as error:
            # `spider_closed` reports them.
            extension.fail(error)
            return
        extension.has_released = True
        self._tell_all(extension, feeds, records)

    def spider_closed(self, reason: str) -> None:
        """Count, log and store the verdicts on the other feeds."""
        extension = StoreExtension.of(self._crawler)
        # After a shutdown, the user knows that feeds are unread.
        if self._unread and not self._is_any_read and reason != "shutdown":
            self._crawler.stats.set_value(UNREAD, len(self._unread))
        try:
            # A crawl that ended early may be resumed with requests of these feeds.
            self._tell_stored(extension, forgets=reason == "finished" and self._may_forget())
        except StoreError as error:
            extension.fail(error)
        for url, failure in extension.unrecorded_failures.items():
            reasons = [Reason(failure.kind, url, failure.detail, now())]
            self._tell(url, Verdict.UNKNOWN, reasons, 0)
            self._summary.add_unknown(url, Verdict.UNKNOWN, failure.kind, failure.detail)
        self._summary.idle = getattr(self._crawler.spider, "idle_reason", "")
        self._summary.left = self._crawler.stats.get_value(LEASED, 0)

    def _tell_stored(self, extension: StoreExtension, forgets: bool) -> None:
        feeds = extension.store.feeds.read(extension.run)
        while some := list(islice(feeds, FEEDS_AT_ONCE)):
            if not extension.has_failed and self._settle_entries(extension, [feed.feed for feed in some]):
                some = list(extension.store.feeds.read(extension.run, [feed.feed for feed in some]))
            records = [_verdict_record(feed, extension.unrecorded_failures.get(feed.feed)) for feed in some]
            self._note(extension, records, forgets)
            self._tell_all(extension, some, records)

    def _settle_entries(self, extension: StoreExtension, urls: list[str]) -> bool:
        """Look for entries that are gone at the publisher, and for those whose id has changed.

        :return: whether that may have changed a feed
        """
        store, settings = extension.store, self._crawler.settings
        deletes = settings.getbool("FHCRAWL_DELETE_ABSENT")
        keeps_versions = store.documents.keeps_versions
        ends = store.walk_ends.finish(extension.run, urls, deletes, keeps_versions)
        for url, end in ends.items():
            self._count_deleted(url, end.deleted)
            self._tell_renamed(url, end)
        return bool(ends)

    def _count_deleted(self, url: str, number: int) -> None:
        if number:
            self._crawler.stats.inc_value("fhcrawl/entry/deleted", number)
        progress = self._crawler.get_extension(ProgressExtension)
        if progress is not None:
            progress.progress.delete(url, number)

    def _tell_renamed(self, url: str, end: WalkEnd) -> None:
        if end.example is None:
            return
        self._crawler.stats.inc_value(RENAMED, end.renamed)
        new, former = end.example
        more = "" if end.merged else "; --merge-renamed keeps only the new id"
        logger.warning(
            "%s: entries whose id has changed: %d, for example from %s to %s%s",
            url,
            end.renamed,
            former,
            new,
            more,
        )

    def _tell_all(self, extension: StoreExtension, feeds: list[Feed], records: list[VerdictRecord]) -> None:
        progress = self._crawler.get_extension(ProgressExtension)
        for feed, (url, verdict, reasons) in zip(feeds, records, strict=True):
            extension.unrecorded_failures.pop(url, None)
            self._tell(url, verdict, reasons, feed.entries)
            counts = None if progress is None else progress.progress.of(url)
            self._summary.add(feed, verdict, reasons, counts)
            if self.told is not None:
                self.told[url] = feed, counts or Counts()

    def _note(self, extension: StoreExtension, records: list[VerdictRecord], forgets: bool) -> None:
        # After an error of the store, verdicts stay NULL: they might be wrong.
        if extension.has_failed:
            return
        try:
            extension.store.feeds.note_verdicts(extension.run, records, self._limits, forgets_unread=forgets)
        except StoreError as error:
            extension.fail(error)

    def _may_forget(self) -> bool:
        """Return whether feeds that could never be read may leave the store."""
        # The next run with `due` needs to know when they are due.
        return not getattr(self._crawler.spider, "only_due", False)

    def _tell(self, url: str, verdict: Verdict, reasons: list[Reason], entries: int) -> None:
        self._crawler.stats.inc_value(f"fhcrawl/feed/{verdict.value}")
        level = logging.INFO if verdict is Verdict.COMPLETE else logging.WARNING
        word = shown_verdict(in_words(verdict, reasons))
        said = "".join(f"; {reason.url} {reason.detail}" for reason in reasons)
        logger.log(level, "%s: %s, entries: %d%s", url, word, entries, said)

    def engine_stopped(self) -> None:
        """Show the table, after Scrapy's last log lines."""
        self._summary.failures = failures(self._crawler.stats.get_stats())
        exporter = self._crawler.get_extension(FeedExporter)
        if exporter is not None:
            self._note_export(exporter)
        progress = self._crawler.get_extension(ProgressExtension)
        if progress is not None and progress.tell(self._summary):
            return
        if self._crawler.settings.getbool("FHCRAWL_SUMMARY_ENABLED"):
            with contextlib.suppress(OSError):  # stderr is closed
                look = Look.of(sys.stderr, is_wide=False)
                sys.stderr.writelines(f"{line}\n" for line in self._news(look, exporter))
            return
        for lines in _records(self._summary.table_lines(Look())):
            logger.info("The feeds of this run:\n%s", lines)
        for lines in _records(self._summary.reason_lines(Look())):
            logger.warning("What is missing, and what to do:\n%s", lines)
        if self._summary.note:
            logger.info("%s", self._summary.note)
        for failure in self._summary.failures:
            logger.error("%s", failure)

    def _note_export(self, exporter: FeedExporter) -> None:
        if self._exported_nothing():
            self._summary.note = exporter.nothing_new
        self._summary.note_exported(exporter.exported)

    def _news(self, look: Look, exporter: FeedExporter | None) -> Iterable[str]:
        """Return the lines of the summary, or its note; none if nothing has changed or is missing."""
        if self._summary.has_news:
            return self._summary.lines(look)
        # A file that a scheduled crawl appends to is as it should be.
        is_expected = exporter is None or exporter.only_appends
        return () if is_expected or not self._summary.note else look.wrap(self._summary.note)

    def _exported_nothing(self) -> bool:
        """Return whether feeds were crawled, and nothing was to be exported."""
        summary = self._summary
        if not summary.verdicts or summary.left or summary.failures:
            return False
        return not any(name.startswith(EXPORTED) for name in self._crawler.stats.get_stats())


def _verdict_record(feed: Feed, failure: DocumentFailure | None) -> VerdictRecord:
    """Return the verdict on a feed, with a failure that could not be stored."""
    if failure is None:
        return VerdictRecord(feed.feed, feed.verdict, feed.reasons)
    detail = f"has a document that {failure.detail}"
    reasons = [*feed.reasons, Reason(failure.kind, feed.feed, detail, now())]
    return VerdictRecord(feed.feed, Verdict.INCOMPLETE, reasons)


def _records(lines: Iterator[str]) -> Iterator[str]:
    """Yield log messages of at most LINES_AT_ONCE lines."""
    while record := list(islice(lines, LINES_AT_ONCE)):
        yield "\n".join(record)


LOOKS_AGAIN_SECONDS = 0.5


class ReleaseExtension(Component):
    """Reports the verdicts of feeds that are done during the crawl, and lets other crawls read these feeds.

    After an error of the store, it does nothing: verdicts are then reported at the end.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._looks: AsyncioLoopingCall | LoopingCall | None = None
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)

    def spider_opened(self) -> None:
        """Start to check for feeds that are done."""
        self._looks = create_looping_call(self._look)
        self._looks.start(LOOKS_AGAIN_SECONDS, now=False)

    def spider_closed(self) -> None:
        """Stop; `VerdictsExtension.spider_closed` reports the other feeds."""
        if self._looks is not None and self._looks.running:
            self._looks.stop()

    def _look(self) -> None:
        engine = self._crawler.engine
        scheduler = None if engine is None else engine.scheduler
        if not isinstance(scheduler, Scheduler):
            return
        scheduler.note_ended()
        # Captures are read when all walks have ended.
        if getattr(self._crawler.spider, "has_captures_left", False):
            return
        done, extension = scheduler.done(), StoreExtension.of(self._crawler)
        verdicts = VerdictsExtension.of(self._crawler)
        for begin in range(0, len(done), FEEDS_AT_ONCE):
            if not extension.has_failed:
                verdicts.release(done[begin : begin + FEEDS_AT_ONCE])
