"""Opens the store for the other components, and closes it after them."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call

from fhcrawl.crawling.context import feed_of, find_context, with_context
from fhcrawl.crawling.subscriptions import NOTHING_SUBSCRIBED, NOTHING_TO_SEND
from fhcrawl.exceptions import ArgumentError, LeaseError, StoreError, UnsettledError
from fhcrawl.exporters.storages import recover
from fhcrawl.extensions import Component
from fhcrawl.logical_feed.results import DocumentFailure, State
from fhcrawl.reasons import ReasonKind
from fhcrawl.store import FEEDS_AT_ONCE, Store
from fhcrawl.store.opening import cause
from fhcrawl.utils.clock import now
from fhcrawl.utils.datadir import data_file
from fhcrawl.utils.text import LONGEST_SENTENCE, printable

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from fhcrawl.crawling.feedcrawl import FeedCrawl
    from fhcrawl.store import WalkStart

logger = logging.getLogger(__name__)
IDS_CHANGED = (
    "%s: its entries are now identified by their %s, and no longer by their %s. All documents are read "
    "again; entries get new ids and are exported as new. Entries with the old ids are kept, "
    "unless --merge-renamed deletes them"
)

KEEP_VERSIONS = "FHCRAWL_KEEP_VERSIONS_ENABLED"
FILE = "fhcrawl.sqlite"
FAILED = "fhcrawl/store/failed"
LEASED = "fhcrawl/feed/leased"


def store_url(settings: BaseSettings) -> str:
    """Return the store's SQLAlchemy URL: FHCRAWL_STORE_URL, else a SQLite file in the data directory."""
    return str(settings.get("FHCRAWL_STORE_URL") or f"sqlite:///{data_file(settings, FILE)}")


class StoreExtension(Component):
    """Holds the store of a crawl, and the number of its run.

    `unrecorded_failures` could not be written to the store. `skipped_feeds` are not read, because of another
    crawl (`leased_feeds`, with the reason) or an error of the store. `resumed_feeds` continue with requests
    from a JOBDIR. `feed_crawls`: the state of each feed under way. `has_released`: changes of feeds that are
    done may have to be exported. `first_error`: the database's message, or else that of the first error of
    the store.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        self.store = Store.open(store_url(settings))
        spider = crawler.spider
        has_feeds = getattr(spider, "requested", ()) or self.store.subscriptions.exist()
        if getattr(spider, "crawls_subscribed", False) and not has_feeds:
            self.store.close()
            is_to_send = getattr(spider, "from_store", False)
            raise ArgumentError(NOTHING_TO_SEND if is_to_send else NOTHING_SUBSCRIBED)
        keep_versions = None if settings[KEEP_VERSIONS] is None else settings.getbool(KEEP_VERSIONS)
        self.run = self.store.begin_run(settings.getint("FHCRAWL_LEASE_SECONDS"), keep_versions)
        self.unrecorded_failures: dict[str, DocumentFailure] = {}
        self.skipped_feeds: set[str] = set()
        self.leased_feeds: dict[str, str] = {}
        self.resumed_feeds: set[str] = set()
        self.feed_crawls: dict[str, FeedCrawl] = {}
        self.under_way = UnderWay()
        self.has_released = False
        self._logged_errors: set[str] = set()
        self.first_error = ""
        self._merges_renamed = settings.getbool("FHCRAWL_MERGE_RENAMED")
        self._renewals: AsyncioLoopingCall | LoopingCall | None = None
        # Complete or discard interrupted exports.
        recover(self.store)
        crawler.signals.connect(self.engine_started, signal=signals.engine_started)
        crawler.signals.connect(self.engine_stopped, signal=signals.engine_stopped)

    def engine_started(self) -> None:
        logger.info("Store: %s", self.store.place)
        self._renewals = create_looping_call(self._renew)
        self._renewals.start(self.store.pause, now=False)

    def _renew(self) -> None:
        try:
            self.store.renew()
        except StoreError as error:
            self.fail(error)

    @property
    def has_failed(self) -> bool:
        return bool(self._logged_errors)

    def fail(self, error: Exception) -> None:
        """Count an error of the store, and log it once, with a traceback if it is not a StoreError."""
        self._crawler.stats.inc_value(FAILED)
        sentence = str(error)
        self.first_error = self.first_error or first_line(error)
        if sentence not in self._logged_errors:
            self._logged_errors.add(sentence)
            logger.error("%s", sentence, exc_info=None if isinstance(error, StoreError) else error)

    def forget(self, feeds: Iterable[str]) -> None:
        """Mark every document of feeds as unprocessed; skip a feed for which that fails."""
        common_error: StoreError | None = None
        for feed in feeds:
            # Each of the other feeds might take as long to fail.
            error = common_error
            try:
                if common_error is None:
                    self.store.walks.forget(feed, now())
            except LeaseError as lease_error:
                self.yield_to_other(feed, lease_error)
            except StoreError as store_error:
                error = store_error
                common_error = None if self._is_writable() else store_error
            if error is not None:
                self._refuse(feed, error)

    def begin_walks(self, feeds: Mapping[str, dict[str, Any]]) -> Iterator[WalkStart]:
        """Begin walks; yield the stored state of each feed, except those that this crawl skips.

        :param feeds: at most `store.FEEDS_AT_ONCE` feeds: their options as plain values, by URL
        """
        readable = {feed: options for feed, options in feeds.items() if feed not in self.skipped_feeds}
        try:
            starts = self._settle_and_begin(readable) if readable else {}
        except StoreError as error:
            if len(readable) > 1 and self._is_writable():
                # One of the feeds may cause the error: begin one walk at a time.
                for feed, options in readable.items():
                    yield from self.begin_walks({feed: options})
                return
            for feed in readable:
                self._refuse(feed, error)
            return
        for feed in readable:
            start = starts[feed]
            if isinstance(start, LeaseError):
                self.yield_to_other(feed, start)
            else:
                if start.former_ids is not None:
                    logger.warning(
                        IDS_CHANGED, feed, start.ids, start.former_ids, extra={"is_for_users": True}
                    )
                yield start

    def resume(self, requests: list[Request]) -> list[Request]:
        """Return the requests from a JOBDIR that are to be made, as requests of this run.

        The feeds of the others begin again: another run has begun to walk them since.
        """
        walks = [context.walk for context in map(find_context, requests) if context is not None]
        runs = {walk.feed: walk.run for walk in sorted(walks, key=attrgetter("run"))}
        feeds = iter(runs.items())
        try:
            while batch := dict(islice(feeds, FEEDS_AT_ONCE)):
                self.resumed_feeds |= self.store.walks.resume(batch, self.run)
        except StoreError as error:
            self.fail(error)
        resumed = (self._resume(request, runs) for request in requests)
        return [request for request in resumed if request is not None]

    def _resume(self, request: Request, runs: Mapping[str, int]) -> Request | None:
        context = find_context(request)
        if context is None:
            return request
        walk = context.walk
        if walk.feed not in self.resumed_feeds or walk.run != runs[walk.feed]:
            return None
        return with_context(request, replace(context, walk=replace(walk, run=self.run)))

    def _refuse(self, feed: str, error: StoreError) -> None:
        loss = DocumentFailure(State.FAILED, ReasonKind.STORE_ERROR, f"was not crawled: {error}")
        self.give_up(feed, loss, error)

    def _settle_and_begin(self, feeds: Mapping[str, dict[str, Any]]) -> dict[str, WalkStart | LeaseError]:
        merging_feeds = {
            feed for feed, options in feeds.items() if self._merges_renamed or options.get("merge_renamed")
        }
        ids = {feed: options["ids"] for feed, options in feeds.items() if options.get("ids")}
        starts = self.store.walks.begin(list(feeds), self.run, now(), merging_feeds, ids)
        unsettled = [feed for feed, start in starts.items() if isinstance(start, UnsettledError)]
        if unsettled:
            # A process that exported them has died since this crawl started.
            recover(self.store)
            starts |= self.store.walks.begin(unsettled, self.run, now(), merging_feeds, ids)
        return starts

    def _is_writable(self) -> bool:
        try:
            self.store.check_writable()
        except StoreError:
            return False
        return True

    def yield_to_other(self, feed: str, error: LeaseError) -> None:
        if feed in self.skipped_feeds:
            return
        self.skipped_feeds.add(feed)
        self.leased_feeds[feed] = str(error)
        self._crawler.stats.inc_value(LEASED)
        logger.warning("%s is skipped: %s", feed, error, extra={"is_for_users": True})

    def give_up(self, feed: str, loss: DocumentFailure, error: Exception) -> None:
        self.skipped_feeds.add(feed)
        self.unrecorded_failures[feed] = loss
        self.fail(error)

    def engine_stopped(self) -> None:
        if self._renewals is not None:
            self._renewals.stop()
        try:
            self.store.close()
        except StoreError as error:
            self.fail(error)


def first_line(error: BaseException) -> str:
    """Return the message of an error of the store, or of the database error that caused it, in one line."""
    message = str(error) if error.__cause__ is None else cause(error.__cause__)
    return printable(next(iter(message.splitlines()), "") or type(error).__name__, LONGEST_SENTENCE)


class UnderWay:
    """Counts, for each feed, the requests of its walk that are in the scheduler or in progress in the engine.

    A request is in progress until the requests that replace or follow it are in the scheduler, its entries
    have passed the pipelines, and `CommitMiddleware` has the store's answer. So a feed without requests is
    done. Requests that are made without the scheduler (robots.txt) are not counted.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._in_progress: dict[Request, str] = {}
        self._done: list[str] = []
        # Feeds that wait for what another feed reads.
        self.held: set[str] = set()

    def note_scheduled(self, request: Request) -> None:
        feed = feed_of(request)
        if feed is not None:
            self._counts[feed] += 1

    def note_taken(self, request: Request) -> None:
        feed = feed_of(request)
        if feed is not None:
            self._in_progress[request] = feed

    def note_ended(self, in_progress: Container[Request]) -> list[Request]:
        """Return the last request of each feed that has none left now."""
        ended = [request for request in self._in_progress if request not in in_progress]
        return [request for request in ended if self._end(self._in_progress.pop(request))]

    # Each feed is returned once.
    def pop_done(self) -> list[str]:
        # A feed may have new requests since then: those for captures.
        feeds = [feed for feed in dict.fromkeys(self._done) if feed not in self._counts]
        self._done = [feed for feed in feeds if feed in self.held]
        return [feed for feed in feeds if feed not in self.held]

    def is_busy(self, feed: str) -> bool:
        return feed in self._counts or feed in self._done

    # While the block makes more requests, the feed is not done.
    @contextmanager
    def begun(self, feed: str) -> Iterator[None]:
        self._counts[feed] += 1
        try:
            yield
        finally:
            self._end(feed)

    def _end(self, feed: str) -> bool:
        self._counts[feed] -= 1
        is_last = not self._counts[feed]
        if is_last:
            del self._counts[feed]
            self._done.append(feed)
        return is_last
