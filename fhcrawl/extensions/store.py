"""Opens the store for the other components, and closes it after them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call

from fhcrawl.crawling.under_way import UnderWay
from fhcrawl.exceptions import BegunError, LeaseError, StoreError, UnsettledError
from fhcrawl.exporters.delivery import recover
from fhcrawl.extensions import required
from fhcrawl.logical_feed.results import DocumentFailure, State
from fhcrawl.reasons import ReasonKind
from fhcrawl.store import Store
from fhcrawl.utils.clock import now
from fhcrawl.utils.datadir import data_file
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall
    from typing_extensions import Self

    from fhcrawl.store import Subscription

logger = logging.getLogger(__name__)

FILE = "fhcrawl.sqlite"
FAILED = "fhcrawl/store/failed"
LEASED = "fhcrawl/feed/leased"


def store_url(settings: BaseSettings) -> str:
    """SQLAlchemy URL of the store: FHCRAWL_STORE_URL, else a SQLite file in the data directory.

    :raises ArgumentError: if there is no data directory
    """
    return str(settings.get("FHCRAWL_STORE_URL") or f"sqlite:///{data_file(settings, FILE)}")


def open_store(settings: BaseSettings) -> Store:
    """The store of a crawl.

    :raises StoreError: if it cannot be opened
    """
    store = Store.open(store_url(settings))
    store.documents.keeps_versions = settings.getbool("FHCRAWL_KEEP_VERSIONS_ENABLED")
    return store


class StoreExtension:
    """Holds the store of a crawl, and the number of its run.

    `unrecorded_failures` holds the failures that could not be written to the store, by feed. `skipped_feeds`
    holds the feeds that this crawl has left, to another crawl or because the store fails. `is_alone` says
    whether no other process reads documents of the same feeds. `under_way` knows which feeds are done;
    `has_released` says whether there are any whose changes may not be exported yet.
    """

    is_alone = True

    def __init__(self, crawler: Crawler, store: Store, run: int) -> None:
        self.store = store
        self.run = run
        self.unrecorded_failures: dict[str, DocumentFailure] = {}
        self.skipped_feeds: set[str] = set()
        self.under_way = UnderWay()
        self.has_released = False
        self._said: set[str] = set()
        self._stats = crawler.stats
        self._renewals: AsyncioLoopingCall | LoopingCall | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """:raises StoreError: if the store cannot be opened"""
        settings = crawler.settings
        store = open_store(settings)
        run = store.begin_run(settings["FHCRAWL_JOB"], settings.getint("FHCRAWL_LEASE_SECONDS"))
        extension = cls(crawler, store, run)
        extension.open(crawler)
        return extension

    def open(self, crawler: Crawler) -> None:
        """Make good the exports that were cut off, and connect to the signals of the engine.

        :raises StoreError: if the store fails
        """
        recover(self.store)
        crawler.signals.connect(self.engine_started, signal=signals.engine_started)
        crawler.signals.connect(self.engine_stopped, signal=signals.engine_stopped)

    @classmethod
    def of(cls, crawler: Crawler) -> Self:
        """The extension of a crawl."""
        return required(crawler, cls)

    def engine_started(self) -> None:
        """Say where the store is, and from now on that the run lives, however slow the servers are."""
        logger.info("Store: %s", printable(self.store.place))
        self._renewals = create_looping_call(self._renew)
        self._renewals.start(self.store.pause, now=False)

    def _renew(self) -> None:
        try:
            self.store.renew()
        except StoreError as error:
            self.fail(error)

    @property
    def has_failed(self) -> bool:
        """Whether the store has failed in this run."""
        return bool(self._said)

    def fail(self, error: Exception) -> None:
        """Count that the store has failed, and say why, once; and where, if it is not the database."""
        self._stats.inc_value(FAILED)
        sentence = printable(str(error))
        if sentence not in self._said:
            self._said.add(sentence)
            logger.error("%s", sentence, exc_info=None if isinstance(error, StoreError) else error)

    def forget(self, feeds: Iterable[str]) -> None:
        """Let every document of feeds count as not processed; a feed for which that fails is not crawled."""
        fault: StoreError | None = None
        for feed in feeds:
            error = fault or self._forget(feed)
            if error is not None:
                self._refuse(feed, error)
                # Each of the others might take as long to fail.
                fault = fault or (None if self._is_writable() else error)

    def _forget(self, feed: str) -> StoreError | None:
        try:
            self.store.walks.forget(feed, now())
        except LeaseError as error:
            if not isinstance(error, BegunError):
                self.yield_to_other(feed, error)
        except StoreError as error:
            return error
        return None

    def begin_walks(self, feeds: Mapping[str, dict[str, Any]]) -> Iterator[Subscription]:
        """Begin to walk feeds; what is known of each, but of those that this crawl leaves.

        :param feeds: `store.FEEDS_AT_ONCE` at most: what the user says of each, as plain values, by URL
        """
        asked = {feed: options for feed, options in feeds.items() if feed not in self.skipped_feeds}
        try:
            begun = self._settle_and_begin(list(asked)) if asked else {}
        except StoreError as error:
            if len(asked) > 1 and self._is_writable():
                # One of them is to blame.
                for feed, options in asked.items():
                    yield from self.begin_walks({feed: options})
                return
            for feed in asked:
                self._refuse(feed, error)
            return
        for feed in asked:
            known = begun[feed]
            if not isinstance(known, LeaseError):
                yield known
            elif not isinstance(known, BegunError):
                self.yield_to_other(feed, known)

    def _refuse(self, feed: str, error: StoreError) -> None:
        loss = DocumentFailure(State.FAILED, ReasonKind.STORE_ERROR, f"is not crawled: {error}")
        self.give_up(feed, loss, error)

    def _settle_and_begin(self, feeds: list[str]) -> dict[str, Subscription | LeaseError]:
        begun = self.store.walks.begin(feeds, self.run, now())
        unsettled = [feed for feed, known in begun.items() if isinstance(known, UnsettledError)]
        if unsettled:
            # Another process has died while it exported them, since this crawl was opened.
            recover(self.store)
            begun |= self.store.walks.begin(unsettled, self.run, now())
        return begun

    def _is_writable(self) -> bool:
        try:
            self.store.check_writable()
        except StoreError:
            return False
        return True

    def yield_to_other(self, feed: str, error: LeaseError) -> None:
        """Leave a feed to another crawl, and say so once."""
        if feed in self.skipped_feeds:
            return
        self.skipped_feeds.add(feed)
        self._stats.inc_value(LEASED)
        logger.warning("%s is left alone: %s", printable(feed), error)

    def give_up(self, feed: str, loss: DocumentFailure, error: Exception) -> None:
        """Leave a feed because the store fails; the end of the run says so."""
        self.skipped_feeds.add(feed)
        self.unrecorded_failures[feed] = loss
        self.fail(error)

    def engine_stopped(self) -> None:
        """Close the store, when nobody needs it any more."""
        if self._renewals is not None:
            self._renewals.stop()
        try:
            self.store.close()
        except StoreError as error:
            self.fail(error)
