"""The captures of feeds in web archives, in the order in which the spider requests them."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fhcrawl.crawling import requests
from fhcrawl.crawling.context import WalkContext
from fhcrawl.documents.dates import elapsed, shift
from fhcrawl.exceptions import NoIndexError
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import Kind, Role
from fhcrawl.logical_feed.captures import CaptureRead, next_captures
from fhcrawl.logical_feed.coverage import WINDOW
from fhcrawl.logical_feed.polling import LONGEST
from fhcrawl.logical_feed.results import DocumentFailure, DocumentResult, State
from fhcrawl.reasons import ReasonKind
from fhcrawl.utils.clock import now
from fhcrawl.warc import indexes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from fhcrawl.crawling.subscriptions import Listed
    from fhcrawl.logical_feed.results import Fetch
    from fhcrawl.store import Memento, Store, TimeMap
    from fhcrawl.store.mementos import Mementos
    from fhcrawl.warc.indexes import Answer


@dataclass
class Selection:
    """The captures of a feed in one archive that are read next.

    :param every: read all of them
    :param chosen: in reverse order
    :param depth: of the documents that were captured: see `TimeMap`
    :param asked: the capture that was requested last
    :param noted: what captures have shown in this run, which is committed later: by their ids, or by their
        times if they were served in place of others
    :param failed: ids of captures that could not be read in this run
    :param retries: request those that could not be read in earlier runs, since the others are read
    :param settled: ids of the TimeMaps that have no more captures that are worth reading
    """

    every: bool
    chosen: list[Memento] = field(default_factory=list)
    depth: int = 0
    asked: Memento | None = None
    noted: dict[int | str, CaptureRead] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    retries: bool = False
    settled: set[int] = field(default_factory=set)

    def choose(self, store: Mementos, feed: str, known: list[TimeMap]) -> bool:
        """Choose the captures of TimeMaps that are worth reading next; return whether there are any."""
        live = store.find_coverage(feed)
        # A URL that the feed has left may go on to show what it showed then: each is compared with itself.
        for timemap in known:
            if timemap.id in self.settled:
                continue
            found = store.find_captures([timemap])
            known_reads = ((number, self._read(one)) for number, one in enumerate(found))
            reads = {number: read for number, read in known_reads if read is not None}
            times, depth = [one.time for one in found], timemap.depth
            chosen = next_captures(times, reads, None if depth else live, every=self.every)
            if chosen:
                self.chosen, self.depth = [found[number] for number in reversed(chosen)], depth
                break
            self.settled.add(timemap.id)
        if self.chosen or self.retries:
            return bool(self.chosen)
        self.retries, self.settled = True, set()
        return self.choose(store, feed, known)

    def take(self) -> Memento:
        """Return the chosen capture to be requested next."""
        self.asked = self.chosen.pop()
        return self.asked

    def note_read(self, result: DocumentResult) -> None:
        """Note what the capture that was requested last has shown, before it is committed."""
        if self.asked is None:
            return
        time = result.fetch.fetched
        is_read = result.failure is None and result.shown is not None
        marks = tuple((result.shown or [])[:WINDOW]) if is_read else None
        read = self.noted[self.asked.id] = CaptureRead(time, marks, result.oldest)
        if time != self.asked.time:
            self.noted[time] = read
            self.chosen = [one for one in self.chosen if one.time != time]

    def _read(self, memento: Memento) -> CaptureRead | None:
        """Return what a capture has shown; None if it was not read yet."""
        noted = self.noted.get(memento.id) or self.noted.get(memento.time)
        if noted is not None:
            return noted
        if memento.id in self.failed or (memento.has_failed and not self.retries):
            return CaptureRead(memento.time, None)
        return memento.read


logger = logging.getLogger(__name__)

SETTING, EVERY = "FHCRAWL_WEB_ARCHIVE", "FHCRAWL_ALL_CAPTURES_ENABLED"
# Seconds after which an archive is asked again what it has of a document.
ASKED_AGAIN = 30 * 24 * 60 * 60
# An archive that has failed so often, one time after another, is left alone for the rest of the run.
MOST_FAILURES = 5
# How many URLs of a subscription document there may be: each capture can name another one.
MOST_URLS = 10
# What a server answers that does not know the way in which it is asked.
UNKNOWN_WAY = frozenset(map(ReasonKind.http, (400, 403, 404, 405, 410, 501))) | {
    ReasonKind.NOT_A_FEED,
    ReasonKind.REFUSED_URL,
}
# The documents behind the subscription document.
BEHIND = (Role.ARCHIVE, Role.PAGE)
# A capture that fails for another reason is asked for again, in a later run.
OF_CAPTURE = frozenset({ReasonKind.TOO_LARGE, ReasonKind.REFUSED_URL})


def with_web_archive(listed: Listed, settings: BaseSettings) -> Listed:
    """Return feeds with the web archive of FHCRAWL_WEB_ARCHIVE, where they have none.

    :raises ArgumentError: if it is none
    """
    if not settings[SETTING]:
        return listed
    url = indexes.archive_of(settings[SETTING], f"--web-archive ({SETTING})")
    return {feed: replace(o, web_archive=o.web_archive or url) for feed, o in listed.items()}


@dataclass
class Archive:
    """A web archive.

    :param way: number of the way in which it can be asked; None until that is known
    :param failures: number of requests that have failed, one after another
    :param is_left: it gets no more requests in this run
    """

    url: str
    way: int | None = None
    failures: int = 0
    is_left: bool = False


@dataclass
class Reading:
    """A TimeMap that is being read.

    :param way: number of the way in which it is asked for
    :param asked: the URL of the last request
    :param since: the first time that was asked for, as the index has it
    :param pages: URLs of all pages that are known, those that were read first
    """

    timemap: TimeMap
    way: int
    asked: str
    since: str = ""
    pages: list[str] = field(default_factory=list)
    read: int = 0
    found: int = 0


@dataclass
class FeedInArchive:
    """A feed whose captures are read.

    :param requests: how many requests the archive has had for it in this run
    :param failed: ids of TimeMaps that could not be read in this run
    :param walked: URLs of archives and pages that walks have read, and whose captures are not wanted
    :param wanted: keys of the URLs whose captures are, with their depth
    """

    archive: Archive
    walk: WalkContext
    captures: Selection
    requests: int = 0
    reading: Reading | None = None
    failed: set[int] = field(default_factory=set)
    walked: set[str] = field(default_factory=set)
    wanted: dict[str, int] = field(default_factory=dict)
    is_left: bool = False


class WebArchives:
    """Makes the requests for captures, one after another for each feed, and stores what the archives have.

    :param feeds: the feeds of the crawl
    """

    def __init__(self, crawler: Crawler, feeds: Listed) -> None:
        self._extension = StoreExtension.of(crawler)
        self._every = crawler.settings.getbool(EVERY)
        self._listed = feeds
        self._archives: dict[str, Archive] = {}
        self._feeds: dict[str, FeedInArchive] = {}

    @property
    def _store(self) -> Store:
        return self._extension.store

    def first(self) -> Iterator[Request]:
        """Yield the first request for each feed."""
        begun = []
        for feed, options in self._listed.items():
            url = options.web_archive
            if url is None or feed in self._extension.skipped_feeds or not indexes.is_of_web(feed):
                continue
            # RFC 5005, 2: an entry that is not in the document is no part of the feed, even if it was once.
            if self._store.feeds.read_kind(feed) is Kind.COMPLETE:
                logger.info("%s is a complete feed: its captures are not read", feed)
                continue
            archive = self._archives.get(url) or self._open(url)
            if not archive.is_left:
                self._feeds[feed] = FeedInArchive(
                    archive, WalkContext(feed, self._extension.run, options), Selection(self._every)
                )
                begun.append((self._want_known(feed), feed))
        # An archive is left after some failures: the feeds that have failed last time come after the others.
        for _failed, feed in sorted(begun, key=lambda one: one[0]):
            yield from self.next(feed)

    def _open(self, url: str) -> Archive:
        archive = self._archives[url] = Archive(url)
        until = self._store.mementos.find_wait(url)
        # A time that is too far away is of a wrong clock.
        if until is not None and 0 < elapsed(now(), until) <= LONGEST:
            self._leave(archive, f"it wants no requests before {until}")
        return archive

    def _want_known(self, feed: str) -> str:
        """Want the captures of a feed's subscription documents, and of older ones that are not read.

        :return: when the archive could not say what it has of one of them; '' if it could
        """
        known, state = list(self._store.documents.read_urls(feed)), self._feeds[feed]
        timemaps = self._store.mementos.find_timemaps(feed, state.archive.url)
        state.wanted = {indexes.key(timemap.url): timemap.depth for timemap in timemaps}
        if not self._every:
            state.walked = {url for url, role, of in known if role in BEHIND and of is State.PROCESSED}
        for url, role, _ in known:
            self.want(feed, url, int(role in BEHIND))
        return max((timemap.failed or "" for timemap in timemaps), default="")

    def want(self, feed: str, url: str, depth: int) -> None:
        """Want the captures of a document, unless it is one behind the feed that a walk has read.

        :param depth: number of links from a subscription document to it
        """
        state, address = self._feeds.get(feed), url.partition("#")[0]
        if state is None or url in state.walked or not indexes.is_of_web(url):
            return
        has_many = not depth and sum(not one for one in state.wanted.values()) >= MOST_URLS
        if not has_many and indexes.key(address) not in state.wanted:
            state.wanted[indexes.key(address)] = depth
            self._store.mementos.add_timemap(feed, state.archive.url, address, depth)

    def next(self, feed: str) -> Iterator[Request]:
        """Yield the next request for a feed, if there is one."""
        state = self._feeds.get(feed)
        if state is None or state.is_left or state.archive.is_left or feed in self._extension.skipped_feeds:
            return
        if state.reading is None and not state.captures.chosen:
            self._choose(feed, state)
        state.requests += 1
        if state.reading is not None:
            reading = state.reading
            yield requests.timemap(reading.timemap.url, reading.asked, state.walk, state.requests)
        elif state.captures.chosen:
            found, depth = state.captures.take(), state.captures.depth
            yield requests.memento(found, depth, state.archive.url, state.walk, state.requests)

    def _choose(self, feed: str, state: FeedInArchive) -> None:
        """Choose what to request next: first what the archive has, then the captures that are worth it."""
        known = self._store.mementos.find_timemaps(feed, state.archive.url)
        by_failure = sorted(known, key=lambda one: one.failed or "")
        due = (one for one in by_failure if _is_due(one) and one.id not in state.failed)
        if (timemap := next(due, None)) is not None:
            way = state.archive.way or 0
            state.reading = Reading(timemap, way, indexes.query(way, state.archive.url, timemap.url))
            return
        state.captures.choose(self._store.mementos, feed, known)

    def parse_timemap(self, response: Response, fetch: Fetch) -> Iterator[Request]:
        """Store the captures of an index; yield the next request."""
        state = self._feeds.get(fetch.feed)
        if state is None or state.reading is None:  # requested before a restart
            return
        reading, url, is_cut = state.reading, state.reading.timemap.url, "dataloss" in response.flags
        timemap = reading.asked if reading.way == indexes.TIMEMAP else None
        try:
            answer = indexes.read(response.body, timemap, url, is_cut)
        except NoIndexError as error:
            why = DocumentFailure(
                State.INVALID, ReasonKind.NOT_A_FEED, f"is not an index of captures: {error}"
            )
            yield from self.lose(fetch, why)
            return
        state.archive.way, state.archive.failures = reading.way, 0
        reading.found += len(answer.captures)
        if answer.unread:
            logger.warning("%s: unreadable lines in its index: %d", url, answer.unread)
        has_stopped = answer.has_more and answer.last <= reading.since
        following = None if has_stopped else _following(state.archive.url, reading, answer)
        ended = None if following or has_stopped else now()
        self._store.mementos.add(fetch.feed, reading.timemap, answer.captures, ended)
        if has_stopped:
            why = DocumentFailure(
                State.FAILED, ReasonKind.CUT_OFF, "arrives incomplete, and cannot be resumed"
            )
            yield from self.lose(fetch, why)
            return
        if following is None:
            logger.info("%s: captures in %s: %d", url, state.archive.url, reading.found)
            state.reading = None
        else:
            reading.asked = following
        yield from self.next(fetch.feed)

    def note_read(self, result: DocumentResult) -> None:
        """Note what a capture that an archive has served has shown, before it is committed."""
        state = self._feeds.get(result.fetch.feed)
        if state is not None:
            state.archive.failures = 0
            state.captures.note_read(result)

    def lose(self, fetch: Fetch, failure: DocumentFailure, wait: float = 0) -> Iterator[Request]:
        """Note why a request has failed; yield the next one.

        :param wait: for how many seconds the archive asks not to be sent requests
        """
        state = self._feeds.get(fetch.feed)
        if state is None:
            return
        if wait > 0:
            until = shift(now(), int(wait))
            self._store.mementos.note_wait(fetch.feed, state.archive.url, until)
            self._leave(state.archive, f"it wants no requests before {until}")
        elif failure.state is State.KNOWN:
            state.is_left = True
            logger.info("Captures of %s: %s", fetch.feed, failure.detail)
        elif not self._try_another_way(state, failure):
            self._count(fetch, state, failure)
        yield from self.next(fetch.feed)

    def _try_another_way(self, state: FeedInArchive, failure: DocumentFailure) -> bool:
        """Ask for a TimeMap in another way if a server may not know this one; return whether it can be."""
        reading = state.reading
        if reading is None or failure.kind not in UNKNOWN_WAY or state.archive.way is not None:
            return False
        reading.way += 1
        if reading.way == indexes.WAYS:
            return False
        reading.asked = indexes.query(reading.way, state.archive.url, reading.timemap.url)
        return True

    def _count(self, fetch: Fetch, state: FeedInArchive, failure: DocumentFailure) -> None:
        reading, archive = state.reading, state.archive
        if reading is not None and archive.way == reading.way and failure.kind == ReasonKind.HTTP_404:
            # RFC 7089, 4.5.6: the server does not have a TimeMap of it.
            self._store.mementos.add(fetch.feed, reading.timemap, [], now())
            state.reading = None
            return
        if reading is not None:
            state.failed.add(reading.timemap.id)
            self._store.mementos.note_failure(fetch.feed, reading.timemap, now())
            state.reading = None
            said = archive.url, fetch.requested_url, failure.detail
            logger.warning(
                "Cannot find out what %s has of %s: the index %s", *said, extra={"is_for_users": True}
            )
        elif fetch.memento is not None:
            state.captures.failed.add(fetch.memento)
        archive.failures += 1
        if archive.failures == MOST_FAILURES:
            self._leave(archive, f"{MOST_FAILURES} consecutive requests have failed")

    def _leave(self, archive: Archive, why: str) -> None:
        archive.is_left = True
        said = "%s is skipped for the rest of this run: %s"
        logger.warning(said, archive.url, why, extra={"is_for_users": True})


def outcome_of(failure: DocumentFailure) -> DocumentFailure:
    """Return the failure of a request for a capture: it is final only if no later request can do better."""
    is_final = failure.state in (State.KNOWN, State.MISSING, State.INVALID) or failure.kind in OF_CAPTURE
    return failure if is_final else replace(failure, state=State.FAILED)


def _is_due(timemap: TimeMap) -> bool:
    # A time in the future is of a wrong clock.
    return timemap.read is None or not 0 <= elapsed(timemap.read, now()) < ASKED_AGAIN


def _following(archive: str, reading: Reading, answer: Answer) -> str | None:
    """Return the URL of the next part of an index; None at its end."""
    reading.read += 1
    if reading.read == indexes.MOST_PAGES:
        logger.warning("%s: its index has more than %d pages", reading.timemap.url, reading.read)
        return None
    if answer.has_more:
        reading.since = answer.last
        return indexes.query(reading.way, archive, reading.timemap.url, answer.last)
    reading.pages += dict.fromkeys(page for page in answer.pages if page not in reading.pages)
    return next(iter(reading.pages[reading.read - 1 : reading.read]), None)
