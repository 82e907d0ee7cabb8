"""Requests the captures of feeds, in WARC files and in web archives, when all walks have ended.

`Captures` is the queue; `_WarcFiles` and `_WebArchives` are its sources. Each requests the captures of a feed
one after another, because what a capture shows decides which one is worth reading next.
"""

from __future__ import annotations

import logging
from base64 import b64encode
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from fhcrawl.crawling import reading, requests
from fhcrawl.crawling.context import WalkContext
from fhcrawl.crawling.failures import loss_of, wait_of
from fhcrawl.documents.dates import elapsed, shift
from fhcrawl.exceptions import LeaseError, NoIndexError, NotAFeedError, StoreError
from fhcrawl.extensions.reader import ReaderExtension
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import Kind, Role
from fhcrawl.logical_feed.coverage import WINDOW, CaptureRead, next_captures
from fhcrawl.logical_feed.polling import LONGEST
from fhcrawl.logical_feed.results import DocumentFailure, DocumentResult, State
from fhcrawl.reasons import ReasonKind
from fhcrawl.spidermiddlewares.commit import CommitMiddleware
from fhcrawl.store.mementos import WARC_FILES, TimeMap
from fhcrawl.utils.addresses import name_of
from fhcrawl.utils.clock import now
from fhcrawl.warc import indexes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from fhcrawl.crawling.subscriptions import Listed
    from fhcrawl.logical_feed.results import Fetch
    from fhcrawl.pipelines import EntryVersion
    from fhcrawl.store import Memento, Store
    from fhcrawl.store.mementos import Mementos

logger = logging.getLogger(__name__)

SETTING, EVERY = "FHCRAWL_WEB_ARCHIVE", "FHCRAWL_ALL_CAPTURES_ENABLED"
# Octets of digests, and characters of these in base64.
DIGEST_SIZE, DIGEST = 9, 12
# Seconds after which the TimeMaps of an archive are requested again.
TIMEMAP_AGE = 30 * 24 * 60 * 60
# Consecutive failures after which an archive gets no more requests in a run.
MOST_FAILURES = 5
# How many URLs of a subscription document there may be: each capture can name another one.
MOST_URLS = 10
# Failures that may mean that a server does not support the kind of index that was requested.
UNKNOWN_INDEX = frozenset(map(ReasonKind.http, (400, 403, 404, 405, 410, 501))) | {
    ReasonKind.NOT_A_FEED,
    ReasonKind.REFUSED_URL,
}
BEHIND_SUBSCRIPTION = (Role.ARCHIVE, Role.PAGE)
# After other failed requests, a capture is requested again in a later run.
FINAL_KINDS = frozenset({ReasonKind.TOO_LARGE, ReasonKind.REFUSED_URL})


def with_web_archive(listed: Listed, settings: BaseSettings) -> Listed:
    """Return feeds with the web archive of FHCRAWL_WEB_ARCHIVE, where they have none.

    :raises ArgumentError: if the setting is not a web archive
    """
    if not settings[SETTING]:
        return listed
    url = indexes.archive_of(settings[SETTING], f"--web-archive ({SETTING})")
    return {feed: replace(o, web_archive=o.web_archive or url) for feed, o in listed.items()}


@dataclass
class _FeedCaptures:
    """The captures of a feed in one source."""

    walk: WalkContext
    mementos: Mementos
    every: bool
    chosen: list[Memento] = field(default_factory=list)  # in reverse order
    depth: int = 0  # of the chosen ones
    requested: Memento | None = None  # the last one
    # What captures have shown in this run, which is committed later: by their ids, or by their times if they
    # were served in place of others.
    reads: dict[int | str, CaptureRead] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)  # in this run
    retries: bool = False  # request those that failed in earlier runs, because the others are read
    finished: set[int] = field(default_factory=set)  # TimeMaps without captures that are worth reading

    def choose(self, timemaps: list[TimeMap]) -> bool:
        """Choose the captures of TimeMaps that are worth reading next; return whether there are any."""
        live = self.mementos.find_coverage(self.walk.feed)
        # A URL that the feed has left may go on to show what it showed then: each is compared with itself.
        for timemap in timemaps:
            if timemap.id in self.finished:
                continue
            captures = self.mementos.find_captures([timemap])
            with_reads = ((number, self._read(capture)) for number, capture in enumerate(captures))
            reads = {number: read for number, read in with_reads if read is not None}
            times = [capture.time for capture in captures]
            chosen = next_captures(times, reads, None if timemap.depth else live, every=self.every)
            if chosen:
                self.chosen, self.depth = [captures[number] for number in reversed(chosen)], timemap.depth
                return True
            self.finished.add(timemap.id)
        if self.retries:
            return False
        self.retries, self.finished = True, set()
        return self.choose(timemaps)

    def take(self) -> Memento:
        self.requested = self.chosen.pop()
        return self.requested

    # Before it is committed.
    def note_read(self, result: DocumentResult) -> None:
        if self.requested is None:
            return
        time = result.fetch.fetched
        is_read = result.failure is None and result.shown is not None
        marks = tuple((result.shown or [])[:WINDOW]) if is_read else None
        read = self.reads[self.requested.id] = CaptureRead(time, marks, result.oldest)
        if time != self.requested.time:
            self.reads[time] = read
            self.chosen = [capture for capture in self.chosen if capture.time != time]

    def _read(self, capture: Memento) -> CaptureRead | None:
        read = self.reads.get(capture.id) or self.reads.get(capture.time)
        if read is not None:
            return read
        if capture.id in self.failed or (capture.has_failed and not self.retries):
            return CaptureRead(capture.time, None)
        return capture.read


@dataclass
class _FeedInFiles(_FeedCaptures):
    # Of the wanted URLs, by their names; those that are not in the store have the id 0.
    timemaps: dict[str, TimeMap] = field(default_factory=dict)
    # Digest of the URLs that were looked for, and digests of the files that were searched.
    searched: tuple[str, list[str]] = ("", [])
    _sum: int = 0

    def add(self, timemap: TimeMap) -> None:
        name, read = name_of(timemap.url), timemap.read
        if name not in self.timemaps:
            self._sum ^= int.from_bytes(_octets(name), "big")
        if name not in self.timemaps or timemap.id:
            self.timemaps[name] = timemap
        if timemap.url == self.walk.feed and read:
            urls, *files = (read[at : at + DIGEST] for at in range(0, len(read), DIGEST))
            self.searched = urls, files

    # The same in any order.
    @property
    def digest(self) -> str:
        return b64encode(self._sum.to_bytes(DIGEST_SIZE, "big")).decode()

    @property
    def stored(self) -> list[TimeMap]:
        stored = (timemap for timemap in self.timemaps.values() if timemap.id)
        return sorted(stored, key=lambda timemap: timemap.depth)


class _WarcFiles:
    """The captures in WARC files.

    The store has the captures of all URLs that were looked for, and for each feed, in the TimeMap of its URL,
    which files were searched: a digest of the URLs, and one of each file's path, size and time. Those files
    are not opened again unless they have captures that are still to be read.
    """

    def __init__(self, crawler: Crawler, files: Sequence[str], feeds: Listed) -> None:
        # Scrapy imports this module in each crawl; few read captures.
        from fhcrawl.warc.captures import CaptureIndex

        self._extension = StoreExtension.of(crawler)
        self._every = crawler.settings.getbool(EVERY)
        self._files = {_file_digest(path): path for path in files}
        self._feeds = feeds
        self._states: dict[str, _FeedInFiles] = {}
        searched = self._searched()
        self._opened = {name: path for name, path in self._files.items() if name not in searched}
        self._index = CaptureIndex(self._opened.values(), len(self._opened) == len(self._files))

    @property
    def _store(self) -> Store:
        return self._extension.store

    def _searched(self) -> set[str]:
        """Return the digests of the files in which nothing can be found for any of the feeds."""
        searched = set(self._files)
        try:
            for feed in self._feeds:
                if self._store.feeds.read_kind(feed) is not Kind.COMPLETE:
                    state = self._load(feed)
                    urls, files = state.searched
                    has_unread = state.choose(state.stored)
                    searched &= set() if has_unread or urls != state.digest else set(files)
        except StoreError:  # a feed that has never been read
            return set()
        return searched

    def _load(self, feed: str) -> _FeedInFiles:
        walk = WalkContext(feed, self._extension.run, self._feeds[feed])
        state = _FeedInFiles(walk, self._store.mementos, self._every)
        for timemap in self._store.mementos.find_timemaps(feed, WARC_FILES):
            state.add(timemap)
        for url, role, _state in self._store.documents.read_urls(feed):
            state.add(TimeMap(0, url, int(role is not Role.SUBSCRIPTION), None))
        return state

    async def build(self) -> None:
        count = await run_in_thread(self._index.build)
        logger.info("Captures in the WARC files: %d", count)
        if closed := len(self._files) - len(self._opened):
            message = "WARC files that were not opened, because everything useful in them has been read: %d"
            logger.info(message, closed)

    def close(self) -> None:
        self._index.close()

    def first(self) -> Iterator[Request]:
        feeds = [feed for feed in self._feeds if feed not in self._extension.skipped_feeds]
        have_captures = [self._find_captures(feed) for feed in feeds]
        if feeds and not any(have_captures):
            logger.warning("The WARC files have no captures of these feeds", extra={"is_for_users": True})
        for feed in feeds:
            yield from self.next(feed)

    def _find_captures(self, feed: str) -> bool:
        """Store the captures of a feed's documents; return whether there are any."""
        if _is_complete(self._store, feed):
            return False
        state = self._states[feed] = self._load(feed)
        for timemap in list(state.timemaps.values()):
            self._store_captures(state, timemap, keeps_empty=timemap.url == feed)
        self._note_files(state)
        return bool(self._store.mementos.find_captures(state.stored))

    def want(self, feed: str, url: str, depth: int) -> None:
        state = self._states[feed]
        if name_of(url) not in state.timemaps:
            timemap = TimeMap(0, url, depth, None)
            state.add(timemap)
            self._store_captures(state, timemap, keeps_empty=True)
            self._note_files(state)

    def _store_captures(self, state: _FeedInFiles, timemap: TimeMap, keeps_empty: bool) -> None:
        feed, mementos, captures = state.walk.feed, self._store.mementos, list(self._index.find(timemap.url))
        if not timemap.id and (captures or keeps_empty):
            timemap = mementos.add_timemap(feed, WARC_FILES, timemap.url, timemap.depth)
            state.add(timemap)
        if captures:
            mementos.add(feed, timemap, captures, None)

    # Before the captures are read: those that are not are found in the store.
    def _note_files(self, state: _FeedInFiles) -> None:
        urls, files = state.searched
        state.searched = state.digest, sorted({*self._opened, *(files if urls == state.digest else ())})
        feed, searched = state.walk.feed, "".join((state.digest, *state.searched[1]))
        self._store.mementos.add(feed, state.timemaps[name_of(feed)], [], searched)

    def next(self, feed: str) -> Iterator[Request]:
        state = self._states.get(feed)
        if state is None or feed in self._extension.skipped_feeds:
            return
        while state.chosen or state.choose(state.stored):
            capture = state.take()
            place = self._index.place(capture.url, capture.digest)
            if place is not None:
                yield requests.capture(capture, state.depth, place, state.walk, is_in_warc=True)
                return
            state.failed.add(capture.id)

    def note_read(self, result: DocumentResult) -> None:
        self._states[result.fetch.feed].note_read(result)

    # Another request for the record would bring the same.
    def outcome_of(self, failure: DocumentFailure) -> DocumentFailure:
        return _final(failure)

    def lose(self, fetch: Fetch, failure: DocumentFailure, wait: float = 0) -> Iterator[Request]:
        self.note_read(DocumentResult(fetch, failure=failure))
        return iter(()) if failure.state is State.KNOWN else self.next(fetch.feed)


def _file_digest(path: str) -> str:
    stat = Path(path).stat()
    return b64encode(_octets(f"{Path(path).absolute()} {stat.st_size} {stat.st_mtime_ns}")).decode()


def _octets(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_SIZE).digest()


# RFC 5005, 2: an entry that is not in the document is not part of the feed, even if it was before.
def _is_complete(store: Store, feed: str) -> bool:
    is_complete = store.feeds.read_kind(feed) is Kind.COMPLETE
    if is_complete:
        logger.info("%s is a complete feed: its captures are not read", feed)
    return is_complete


@dataclass
class _Archive:
    url: str
    index: int | None = None  # the kind that it supports, if that is known
    failures: int = 0  # consecutive
    is_skipped: bool = False


@dataclass
class _TimeMapReading:
    timemap: TimeMap
    index: int
    requested: str  # URL of the last request
    since: str = ""  # the first time that was requested, as the index has it
    pages: list[str] = field(default_factory=list)  # URLs of all pages, of which `read` were read
    read: int = 0
    count: int = 0  # of captures


@dataclass(kw_only=True)
class _FeedInArchive(_FeedCaptures):
    archive: _Archive
    requests: int = 0
    reading: _TimeMapReading | None = None
    failed_timemaps: set[int] = field(default_factory=set)  # in this run
    walked: set[str] = field(default_factory=set)  # read by walks: their captures are not wanted
    wanted: dict[str, int] = field(default_factory=dict)  # depth by the key of the URL
    is_skipped: bool = False


class _WebArchives:
    """The captures in web archives."""

    def __init__(self, crawler: Crawler, feeds: Listed) -> None:
        self._extension = StoreExtension.of(crawler)
        self._every = crawler.settings.getbool(EVERY)
        self._feeds = feeds
        self._archives: dict[str, _Archive] = {}
        self._states: dict[str, _FeedInArchive] = {}

    @property
    def _mementos(self) -> Mementos:
        return self._extension.store.mementos

    def first(self) -> Iterator[Request]:
        started = []
        for feed, options in self._feeds.items():
            url = options.web_archive
            if url is None or feed in self._extension.skipped_feeds or not indexes.is_of_web(feed):
                continue
            if _is_complete(self._extension.store, feed):
                continue
            archive = self._archives.get(url) or self._open(url)
            if not archive.is_skipped:
                walk = WalkContext(feed, self._extension.run, options)
                self._states[feed] = _FeedInArchive(walk, self._mementos, self._every, archive=archive)
                started.append((self._want_known(feed), feed))
        # An archive is skipped after some failures: the feeds that failed last time come after the others.
        for _failed, feed in sorted(started, key=lambda pair: pair[0]):
            yield from self.next(feed)

    def _open(self, url: str) -> _Archive:
        archive = self._archives[url] = _Archive(url)
        until = self._mementos.find_wait(url)
        # A time that is too far away is of a wrong clock.
        if until is not None and 0 < elapsed(now(), until) <= LONGEST:
            _skip(archive, f"it wants no requests before {until}")
        return archive

    def _want_known(self, feed: str) -> str:
        """Want the captures of a feed's subscription documents, and of older ones that are not read.

        :return: when the last request for one of their TimeMaps failed; '' if none did
        """
        documents, state = list(self._extension.store.documents.read_urls(feed)), self._states[feed]
        timemaps = self._mementos.find_timemaps(feed, state.archive.url)
        state.wanted = {indexes.key(timemap.url): timemap.depth for timemap in timemaps}
        if not self._every:
            state.walked = {
                url for url, role, of in documents if role in BEHIND_SUBSCRIPTION and of is State.PROCESSED
            }
        for url, role, _ in documents:
            self.want(feed, url, int(role in BEHIND_SUBSCRIPTION))
        return max((timemap.failed or "" for timemap in timemaps), default="")

    def want(self, feed: str, url: str, depth: int) -> None:
        state, address = self._states.get(feed), url.partition("#")[0]
        if state is None or url in state.walked or not indexes.is_of_web(url):
            return
        key, has_many = indexes.key(address), list(state.wanted.values()).count(0) >= MOST_URLS
        if key not in state.wanted and (depth or not has_many):
            state.wanted[key] = depth
            self._mementos.add_timemap(feed, state.archive.url, address, depth)

    def next(self, feed: str) -> Iterator[Request]:
        state = self._states.get(feed)
        if state is None or state.is_skipped or state.archive.is_skipped:
            return
        if feed in self._extension.skipped_feeds:
            return
        if state.reading is None and not state.chosen:
            self._choose(state)
        state.requests += 1
        url, walk = state.archive.url, state.walk
        if (reading := state.reading) is not None:
            yield requests.timemap(reading.timemap.url, reading.requested, walk, state.requests)
        elif state.chosen:
            capture = state.take()
            place = indexes.capture_url(url, capture.time, capture.url)
            yield requests.capture(capture, state.depth, place, walk, state.requests)

    # First the TimeMaps, then the captures that are worth reading.
    def _choose(self, state: _FeedInArchive) -> None:
        timemaps = self._mementos.find_timemaps(state.walk.feed, state.archive.url)
        due = [one for one in timemaps if _is_due(one) and one.id not in state.failed_timemaps]
        if not due:
            state.choose(timemaps)
            return
        timemap, index = min(due, key=lambda timemap: timemap.failed or ""), state.archive.index or 0
        query = indexes.query(index, state.archive.url, timemap.url)
        state.reading = _TimeMapReading(timemap, index, query)

    def parse_timemap(self, response: Response, fetch: Fetch) -> Iterator[Request]:
        state = self._states.get(fetch.feed)
        if state is None or state.reading is None:  # requested before a restart
            return
        reading, archive, url = state.reading, state.archive, state.reading.timemap.url
        is_timemap, is_cut = reading.index == indexes.TIMEMAP, "dataloss" in response.flags
        try:
            page = indexes.read(response.body, reading.requested if is_timemap else None, url, is_cut)
        except NoIndexError as error:
            detail = f"is not an index of captures: {error}"
            failure = DocumentFailure(State.INVALID, ReasonKind.NOT_A_FEED, detail)
            yield from self.lose(fetch, failure)
            return
        archive.index, archive.failures = reading.index, 0
        reading.count += len(page.captures)
        if page.unread:
            logger.warning("%s: unreadable lines in its index: %d", url, page.unread)
        has_stopped = page.has_more and page.last <= reading.since
        following = None if has_stopped else _next_page(archive.url, reading, page)
        completed = None if following or has_stopped else now()
        self._mementos.add(fetch.feed, reading.timemap, page.captures, completed)
        if has_stopped:
            detail = "arrives incomplete, and cannot be resumed"
            yield from self.lose(fetch, DocumentFailure(State.FAILED, ReasonKind.CUT_OFF, detail))
            return
        if following is None:
            logger.info("%s: captures in %s: %d", url, archive.url, reading.count)
            state.reading = None
        else:
            reading.requested = following
        yield from self.next(fetch.feed)

    def note_read(self, result: DocumentResult) -> None:
        state = self._states.get(result.fetch.feed)
        if state is not None:
            state.archive.failures = 0
            state.note_read(result)

    def outcome_of(self, failure: DocumentFailure) -> DocumentFailure:
        is_final = failure.state in (State.KNOWN, State.MISSING, State.INVALID) or failure.kind in FINAL_KINDS
        return failure if is_final else replace(failure, state=State.FAILED)

    def lose(self, fetch: Fetch, failure: DocumentFailure, wait: float = 0) -> Iterator[Request]:
        """Process a failed request; yield the next one.

        :param wait: seconds for which the archive wants no requests
        """
        state = self._states.get(fetch.feed)
        if state is None:
            return
        if wait > 0:
            until = shift(now(), int(wait))
            self._mementos.note_wait(fetch.feed, state.archive.url, until)
            _skip(state.archive, f"it wants no requests before {until}")
        elif failure.state is State.KNOWN:
            state.is_skipped = True
            logger.info("Captures of %s: %s", fetch.feed, failure.detail)
        elif not self._try_other_index(state, failure):
            self._count_failure(fetch, state, failure)
        yield from self.next(fetch.feed)

    def _try_other_index(self, state: _FeedInArchive, failure: DocumentFailure) -> bool:
        reading = state.reading
        if reading is None or failure.kind not in UNKNOWN_INDEX or state.archive.index is not None:
            return False
        reading.index += 1
        if reading.index == indexes.KINDS:
            return False
        reading.requested = indexes.query(reading.index, state.archive.url, reading.timemap.url)
        return True

    def _count_failure(self, fetch: Fetch, state: _FeedInArchive, failure: DocumentFailure) -> None:
        reading, archive = state.reading, state.archive
        state.reading = None
        if reading is not None and archive.index == reading.index and failure.kind == ReasonKind.HTTP_404:
            # RFC 7089, 4.5.6: the server does not have a TimeMap of it.
            self._mementos.add(fetch.feed, reading.timemap, [], now())
            return
        if reading is not None:
            state.failed_timemaps.add(reading.timemap.id)
            self._mementos.note_failure(fetch.feed, reading.timemap, now())
            message = "Cannot find out what %s has of %s: the index %s"
            values = archive.url, fetch.requested_url, failure.detail
            logger.warning(message, *values, extra={"is_for_users": True})
        elif fetch.capture_id is not None:
            state.failed.add(fetch.capture_id)
        archive.failures += 1
        if archive.failures == MOST_FAILURES:
            _skip(archive, f"{MOST_FAILURES} consecutive requests have failed")


def _skip(archive: _Archive, reason: str) -> None:
    archive.is_skipped = True
    message = "%s is skipped for the rest of this run: %s"
    logger.warning(message, archive.url, reason, extra={"is_for_users": True})


def _is_due(timemap: TimeMap) -> bool:
    # A time in the future is of a wrong clock.
    return timemap.read is None or not 0 <= elapsed(timemap.read, now()) < TIMEMAP_AGE


def _next_page(archive: str, reading: _TimeMapReading, page: indexes.IndexPage) -> str | None:
    reading.read += 1
    if reading.read == indexes.MOST_PAGES:
        logger.warning("%s: its index has more than %d pages", reading.timemap.url, reading.read)
        return None
    if page.has_more:
        reading.since = page.last
        return indexes.query(reading.index, archive, reading.timemap.url, page.last)
    reading.pages += dict.fromkeys(url for url in page.pages if url not in reading.pages)
    return next(iter(reading.pages[reading.read - 1 : reading.read]), None)


class Captures:
    """The captures of a crawl; its methods return requests without callbacks.

    :param files: paths of WARC files
    """

    def __init__(self, crawler: Crawler, files: Sequence[str], feeds: Listed) -> None:
        self._crawler = crawler
        self._extension = StoreExtension.of(crawler)
        self._in_files = _WarcFiles(crawler, files, feeds) if files else None
        self._in_archives = _WebArchives(crawler, feeds)

    async def build(self) -> None:
        """Read the index of the WARC files."""
        if self._in_files is not None:
            await self._in_files.build()

    def close(self) -> None:
        """Close the index of the WARC files."""
        if self._in_files is not None:
            self._in_files.close()

    def first(self) -> list[Request]:
        """Return the requests for the first capture of each feed."""
        sources = (self._in_archives,) if self._in_files is None else (self._in_files, self._in_archives)
        return [request for source in sources for request in self._first(source)]

    def _first(self, source: _WarcFiles | _WebArchives) -> Iterator[Request]:
        try:
            yield from source.first()
        except StoreError as error:
            self._extension.fail(error)

    def parse(self, response: Response) -> Iterator[Request | EntryVersion]:
        """Parse a capture: yield the request for the next one, then its entries."""
        fetch = requests.fetch_from_response(response)
        source, commits = self._source(fetch), CommitMiddleware.of(self._crawler)
        following = self._stored(fetch, source.next(fetch.feed))
        try:
            document = ReaderExtension.of(self._crawler).read(response)
        except NotAFeedError as error:
            failure = self._outcome(fetch, response, reading.parse_failure(response, error))
            self._lose(fetch, failure)
            source.note_read(DocumentResult(fetch, failure=failure))
            yield from following
            return
        result, versions = reading.read_document(fetch, response, document)
        if result.older_document is not None:
            source.want(fetch.feed, result.older_document.url, 1 - fetch.position.step)
        # A podcast has moved; an archive of it has not.
        if document.new_url is not None and not fetch.position.step:
            source.want(fetch.feed, document.new_url, 0)
        # The links of a capture do not belong to the feed's chain today.
        result = replace(result, older_document=None)
        if result.failure is not None:
            result = result.failed(self._outcome(fetch, response, result.failure))
        source.note_read(result)
        yield from commits.yield_document(response, document, result, versions, following)

    # Whether a body was cut off on its way, or in the archive, the next request for it tells.
    def _outcome(self, fetch: Fetch, response: Response, failure: DocumentFailure) -> DocumentFailure:
        """Return the failure of a capture that was served: another request would bring the same, or more."""
        if "dataloss" in response.flags and self._source(fetch) is self._in_archives:
            return replace(failure, state=State.FAILED, kind=ReasonKind.CUT_OFF)
        return _final(failure)

    def parse_timemap(self, response: Response) -> Iterator[Request]:
        """Parse a TimeMap of a web archive; yield the next request."""
        fetch = requests.fetch_from_response(response)
        yield from self._stored(fetch, self._in_archives.parse_timemap(response, fetch))

    def lose(self, failure: Failure) -> Iterator[Request]:
        """Note why a request has failed; yield the next one."""
        fetch = requests.fetch_from_request(failure.request)  # type: ignore[attr-defined]
        source, reason = self._source(fetch), loss_of(failure)
        is_postponed = reason.state is State.KNOWN and source is self._in_archives
        if fetch.capture_id is not None and not is_postponed:
            self._lose(fetch, source.outcome_of(reason))
        yield from self._stored(fetch, source.lose(fetch, reason, wait_of(failure)))

    def _source(self, fetch: Fetch) -> _WarcFiles | _WebArchives:
        of_files = self._in_files
        return self._in_archives if of_files is None or not fetch.key.startswith(WARC_FILES) else of_files

    def _stored(self, fetch: Fetch, following: Iterator[Request]) -> Iterator[Request]:
        """Yield requests whose making needs the store; process its errors."""
        try:
            yield from following
        except LeaseError as error:
            self._extension.yield_to_other(fetch.feed, error)
        except StoreError as error:
            self._extension.fail(error)

    def _lose(self, fetch: Fetch, failure: DocumentFailure) -> None:
        CommitMiddleware.of(self._crawler).lose(fetch, failure, f" at {fetch.fetched}")


def _final(failure: DocumentFailure) -> DocumentFailure:
    return replace(failure, state=State.INVALID) if failure.state is State.FAILED else failure
