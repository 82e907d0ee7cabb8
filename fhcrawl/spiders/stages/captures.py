"""The captures of feeds, in WARC files and in web archives.

There is a queue for each feed and source. It requests one capture after another, because what a capture shows
decides which one is worth reading next.
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
from fhcrawl.crawling.context import CaptureRequest, Purpose, WalkContext, request_of
from fhcrawl.documents.dates import elapsed
from fhcrawl.exceptions import LeaseError, NoIndexError, NotAFeedError, StoreError
from fhcrawl.logical_feed import Kind, Role
from fhcrawl.logical_feed.coverage import WINDOW, CaptureRead, next_captures
from fhcrawl.logical_feed.polling import LONGEST
from fhcrawl.logical_feed.results import DocumentFailure, DocumentResult, State
from fhcrawl.reasons import ReasonKind
from fhcrawl.spiders.stages.stage import Row, Stage
from fhcrawl.store.mementos import WARC_FILES, TimeMap
from fhcrawl.utils.addresses import name_of
from fhcrawl.utils.clock import now
from fhcrawl.warc import indexes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from fhcrawl.crawling.feedcrawl import FeedCrawl
    from fhcrawl.logical_feed.results import Fetch
    from fhcrawl.spiders.stages.stage import Output, Rows
    from fhcrawl.store import Memento

logger = logging.getLogger(__name__)

EVERY = "FHCRAWL_ALL_CAPTURES_ENABLED"
# Size of digests in octets, and in base64 characters.
DIGEST_SIZE, DIGEST = 9, 12
# Seconds after which the TimeMaps of an archive are requested again.
TIMEMAP_AGE = 30 * 24 * 60 * 60
# Consecutive failures after which an archive gets no more requests in a run.
MOST_FAILURES = 5
# Maximum number of URLs of a subscription document: each capture can name another one.
MOST_URLS = 10
# Failures that may mean that a server does not support the kind of index that was requested.
UNKNOWN_INDEX = frozenset(map(ReasonKind.http, (400, 403, 404, 405, 410, 501))) | {
    ReasonKind.NOT_A_FEED,
    ReasonKind.REFUSED_URL,
}
BEHIND_SUBSCRIPTION = (Role.ARCHIVE, Role.PAGE)
# After other failed requests, a capture is requested again in a later run.
FINAL_KINDS = frozenset({ReasonKind.TOO_LARGE, ReasonKind.REFUSED_URL})


class _Queue:
    def __init__(self, captures: Captures, walk: WalkContext) -> None:
        self.captures, self.walk, self.feed = captures, walk, walk.feed
        self.mementos = captures.store.mementos
        self.chosen: list[Memento] = []  # in reverse order
        self.depth = 0  # of the chosen ones
        self.requested: Memento | None = None  # the last one
        # What captures have shown in this run, which is committed later: by their ids, or by their times if
        # they were served in place of others.
        self.reads: dict[int | str, CaptureRead] = {}
        self.failed_ids: set[int] = set()  # in this run
        self.retries = False  # request those that failed in earlier runs, because the others are read
        self.finished: set[int] = set()  # TimeMaps without captures that are worth reading

    # Chooses captures of the first TimeMap that has some worth reading; returns False if none has.
    def choose(self, timemaps: list[TimeMap]) -> bool:
        coverage = self.mementos.find_coverage(self.feed)
        # A former URL of the feed may still return its old content: captures are compared per URL.
        for timemap in timemaps:
            if timemap.id in self.finished:
                continue
            captures = self.mementos.find_captures([timemap])
            reads = {n: read for n, capture in enumerate(captures) if (read := self._earlier_read(capture))}
            times = [capture.time for capture in captures]
            reads_all = self.captures.reads_all
            if numbers := next_captures(times, reads, None if timemap.depth else coverage, every=reads_all):
                self.chosen, self.depth = [captures[number] for number in reversed(numbers)], timemap.depth
                return True
            self.finished.add(timemap.id)
        if self.retries:
            return False
        self.retries, self.finished = True, set()
        return self.choose(timemaps)

    def take_next(self) -> Memento:
        self.requested = self.chosen.pop()
        return self.requested

    # Before it is committed.
    def note_read(self, result: DocumentResult) -> None:
        if self.requested is None:
            return
        time = result.fetch.fetched
        shown, oldest = result.metadata.shown, result.metadata.oldest
        marks = None if result.failure is not None or shown is None else tuple(shown[:WINDOW])
        capture_read = self.reads[self.requested.id] = CaptureRead(time, marks, oldest)
        if time != self.requested.time:
            self.reads[time] = capture_read
            self.chosen = [capture for capture in self.chosen if capture.time != time]

    # What a capture has shown in this run or before; None if it is to be requested.
    def _earlier_read(self, capture: Memento) -> CaptureRead | None:
        if read := self.reads.get(capture.id) or self.reads.get(capture.time):
            return read
        if capture.id in self.failed_ids or (capture.has_failed and not self.retries):
            return CaptureRead(capture.time, None)
        return capture.read


# The store contains the captures of all URLs that were searched for. The TimeMap of a feed's URL lists the
# searched files: a digest of the URLs, and a digest of each file's path, size and time. These files are not
# opened again unless they have unread captures.
class _InFiles(_Queue):
    def __init__(self, captures: Captures, walk: WalkContext) -> None:
        super().__init__(captures, walk)
        feed = self.feed
        # By `name_of` of the URL; the id is 0 for TimeMaps that are not in the store.
        self.timemaps: dict[str, TimeMap] = {}
        self._searched: list[str] = []  # digest of the searched URLs, then those of files
        self._urls_sum = 0
        for timemap in self.mementos.find_timemaps(feed, WARC_FILES):
            self._add_timemap(timemap)
            if timemap.url == feed and (digests := timemap.read):
                self._searched = [digests[start : start + DIGEST] for start in range(0, len(digests), DIGEST)]
        for url, role, _state in captures.store.documents.read_urls(feed):
            self._add_timemap(TimeMap(0, url, int(role is not Role.SUBSCRIPTION), None))

    def _add_timemap(self, timemap: TimeMap) -> None:
        name = name_of(timemap.url)
        if name not in self.timemaps:
            self._urls_sum ^= int.from_bytes(_short_digest(name), "big")
        if name not in self.timemaps or timemap.id:
            self.timemaps[name] = timemap

    # Independent of the order of the URLs.
    @property
    def _urls_digest(self) -> str:
        return b64encode(self._urls_sum.to_bytes(DIGEST_SIZE, "big")).decode()

    @property
    def searched_files(self) -> list[str]:
        return self._searched[1:] if self._searched[:1] == [self._urls_digest] else []

    @property
    def stored_timemaps(self) -> list[TimeMap]:
        stored = (timemap for timemap in self.timemaps.values() if timemap.id)
        return sorted(stored, key=lambda timemap: timemap.depth)

    def find_captures(self) -> bool:
        for timemap in list(self.timemaps.values()):
            self._store_captures(timemap, keeps_empty=timemap.url == self.feed)
        self._store_searched_files()
        return bool(self.mementos.find_captures(self.stored_timemaps))

    def add_url(self, url: str, depth: int) -> None:
        if name_of(url) not in self.timemaps:
            timemap = TimeMap(0, url, depth, None)
            self._add_timemap(timemap)
            self._store_captures(timemap, keeps_empty=True)
            self._store_searched_files()

    def _store_captures(self, timemap: TimeMap, keeps_empty: bool) -> None:
        captures = list(self.captures.index.find(timemap.url))
        if not timemap.id and (captures or keeps_empty):
            timemap = self.mementos.add_timemap(self.feed, WARC_FILES, timemap.url, timemap.depth)
            self._add_timemap(timemap)
        if captures:
            self.mementos.add(self.feed, timemap, captures, None)

    # Stored before the captures are read: unread ones are in the store, too.
    def _store_searched_files(self) -> None:
        self._searched = [self._urls_digest, *sorted({*self.captures.opened, *self.searched_files})]
        self.mementos.add(self.feed, self.timemaps[name_of(self.feed)], [], "".join(self._searched))

    def next(self) -> Iterator[Request]:
        if self.feed in self.captures.extension.skipped_feeds:
            return
        while self.chosen or self.choose(self.stored_timemaps):
            capture = self.take_next()
            file_url = self.captures.index.place(capture.url, capture.digest)
            if file_url is not None:
                yield requests.capture(capture, self.depth, file_url, self.walk, is_in_warc=True)
                return
            self.failed_ids.add(capture.id)

    def note_lost(self, fetch: Fetch, failure: DocumentFailure) -> None:
        self.note_read(DocumentResult(fetch, failure=failure))


def _file_digest(path: str) -> str:
    stat = Path(path).stat()
    return b64encode(_short_digest(f"{Path(path).absolute()} {stat.st_size} {stat.st_mtime_ns}")).decode()


def _short_digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_SIZE).digest()


@dataclass
class _Archive:
    url: str
    index: int | None = None  # kind of index that it supports; None until a response shows it
    failures: int = 0  # consecutive
    is_skipped: bool = False

    def skip(self, reason: str) -> None:
        self.is_skipped = True
        message = "%s is skipped for the rest of this run: %s"
        logger.warning(message, self.url, reason, extra={"is_for_users": True})


@dataclass
class _TimeMapReading:
    timemap: TimeMap
    index: int
    requested: str  # URL of the last request
    since: str = ""  # earliest requested time, in the format of the index
    pages: list[str] = field(default_factory=list)  # URLs of all pages, of which `read` were read
    read: int = 0
    count: int = 0  # of captures


class _InArchive(_Queue):
    def __init__(self, captures: Captures, walk: WalkContext, archive: _Archive) -> None:
        super().__init__(captures, walk)
        self.archive, feed = archive, self.feed
        self.requests = 0
        self.reading: _TimeMapReading | None = None
        self.failed_timemaps: set[int] = set()  # in this run
        self.is_skipped = False
        documents = captures.store.documents.read_urls(feed)
        timemaps = self.mementos.find_timemaps(feed, archive.url)
        # Time of the last failed request for a TimeMap; '' if none failed.
        self.last_failure = max((timemap.failed or "" for timemap in timemaps), default="")
        # Depth of each URL whose captures are read, by `indexes.key`.
        self.wanted = {indexes.key(timemap.url): timemap.depth for timemap in timemaps}
        # URLs that walks have read: their captures are not requested.
        self.walked = {
            url
            for url, role, state in documents
            if role in BEHIND_SUBSCRIPTION and state is State.PROCESSED and not captures.reads_all
        }
        for url, role, _state in documents:
            self.add_url(url, int(role in BEHIND_SUBSCRIPTION))

    def add_url(self, url: str, depth: int) -> None:
        base_url = url.partition("#")[0]
        if url in self.walked or not indexes.is_of_web(url):
            return
        key, has_most = indexes.key(base_url), list(self.wanted.values()).count(0) >= MOST_URLS
        if key not in self.wanted and (depth or not has_most):
            self.wanted[key] = depth
            self.mementos.add_timemap(self.feed, self.archive.url, base_url, depth)

    def next(self) -> Iterator[Request]:
        is_skipped = self.is_skipped or self.archive.is_skipped
        if is_skipped or self.feed in self.captures.extension.skipped_feeds:
            return
        if self.reading is None and not self.chosen:
            self._choose_next()
        self.requests += 1
        if self.reading is not None:
            timemap_url, query = self.reading.timemap.url, self.reading.requested
            # An archive is skipped after some failures: feeds that failed last time come after the others.
            yield requests.timemap(timemap_url, query, self.walk, self.requests, bool(self.last_failure))
        elif self.chosen:
            capture = self.take_next()
            archive_url = indexes.capture_url(self.archive.url, capture.time, capture.url)
            yield requests.capture(capture, self.depth, archive_url, self.walk, self.requests)

    # TimeMaps first, then captures.
    def _choose_next(self) -> None:
        timemaps = self.mementos.find_timemaps(self.feed, self.archive.url)
        due = [timemap for timemap in timemaps if _is_due(timemap) and timemap.id not in self.failed_timemaps]
        if not due:
            self.choose(timemaps)
            return
        timemap, index = min(due, key=lambda timemap: timemap.failed or ""), self.archive.index or 0
        query = indexes.query(index, self.archive.url, timemap.url)
        self.reading = _TimeMapReading(timemap, index, query)

    def parse_timemap(self, response: Response, fetch: Fetch) -> Iterator[Request]:
        reading, archive = self.reading, self.archive
        if reading is None:  # requested before a restart
            return
        url, is_timemap = reading.timemap.url, reading.index == indexes.TIMEMAP
        is_cut = "dataloss" in response.flags
        try:
            page = indexes.read(response.body, reading.requested if is_timemap else None, url, is_cut)
        except NoIndexError as error:
            detail = f"is not an index of captures: {error}"
            self.note_lost(fetch, DocumentFailure(State.INVALID, ReasonKind.NOT_A_FEED, detail))
            yield from self.next()
            return
        archive.index, archive.failures = reading.index, 0
        reading.count += len(page.captures)
        if page.unread:
            logger.warning("%s: unreadable lines in its index: %d", url, page.unread)
        makes_no_progress = page.has_more and page.last <= reading.since
        next_url = None if makes_no_progress else _next_page(archive.url, reading, page)
        completed_at = None if next_url or makes_no_progress else now()
        self.mementos.add(self.feed, reading.timemap, page.captures, completed_at)
        if makes_no_progress:
            detail = "arrives incomplete, and cannot be resumed"
            self.note_lost(fetch, DocumentFailure(State.FAILED, ReasonKind.CUT_OFF, detail))
            yield from self.next()
            return
        if next_url is None:
            logger.info("%s: captures in %s: %d", url, archive.url, reading.count)
            self.reading = None
        else:
            reading.requested = next_url
        yield from self.next()

    def note_read(self, result: DocumentResult) -> None:
        self.archive.failures = 0
        super().note_read(result)

    def note_lost(self, fetch: Fetch, failure: DocumentFailure) -> None:
        if until := fetch.retry_after:
            self.mementos.note_wait(self.feed, self.archive.url, until)
            self.archive.skip(f"its server allows no requests before {until}")
        elif failure.state is State.KNOWN:
            self.is_skipped = True
            logger.info("Captures of %s: %s", self.feed, failure.detail)
        elif not self._try_other_index(failure):
            self._count_failure(fetch, failure)

    def _try_other_index(self, failure: DocumentFailure) -> bool:
        reading = self.reading
        if reading is None or failure.kind not in UNKNOWN_INDEX or self.archive.index is not None:
            return False
        reading.index += 1
        if reading.index == indexes.KINDS:
            return False
        reading.requested = indexes.query(reading.index, self.archive.url, reading.timemap.url)
        return True

    def _count_failure(self, fetch: Fetch, failure: DocumentFailure) -> None:
        reading, self.reading, archive = self.reading, None, self.archive
        if reading is not None and archive.index == reading.index and failure.kind == ReasonKind.HTTP_404:
            # RFC 7089, 4.5.6: the server does not have a TimeMap of it.
            self.mementos.add(self.feed, reading.timemap, [], now())
            return
        if reading is not None:
            self.failed_timemaps.add(reading.timemap.id)
            self.mementos.note_failure(self.feed, reading.timemap, now())
            message = "Cannot find out what %s has of %s: the index %s"
            values = archive.url, fetch.requested_url, failure.detail
            logger.warning(message, *values, extra={"is_for_users": True})
        elif fetch.capture_id is not None:
            self.failed_ids.add(fetch.capture_id)
        archive.failures += 1
        if archive.failures == MOST_FAILURES:
            archive.skip(f"{MOST_FAILURES} consecutive requests have failed")


def _is_due(timemap: TimeMap) -> bool:
    # A time in the future was recorded by a wrong clock.
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


class Captures(Stage):
    """Reads the captures of a feed: first those in WARC files, then those in a web archive."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        files: Sequence[str] = getattr(crawler.spider, "warc", ())
        self.extension, self.store = self._extension, self._store
        self.reads_all = crawler.settings.getbool(EVERY)
        self._archives: dict[str, _Archive] = {}
        self._queues: dict[str, _InFiles | _InArchive] = {}
        self._files = {_file_digest(path): path for path in files}
        self._has_found: bool | None = None
        searched_files = self._files_without_unread() if files else set()
        self.opened = {name: path for name, path in self._files.items() if name not in searched_files}
        if files:
            # Scrapy imports this module in each crawl; few read captures.
            from fhcrawl.warc.captures import CaptureIndex

            self.index = CaptureIndex(self.opened.values(), len(self.opened) == len(self._files))

    # Digests of the files without unread captures of any feed.
    def _files_without_unread(self) -> set[str]:
        searched = set(self._files)
        try:
            for feed, options in getattr(self._crawler.spider, "feeds", {}).items():
                if self.store.feeds.read_kind(feed) is not Kind.COMPLETE:
                    queue = _InFiles(self, WalkContext(feed, self.extension.run, options))
                    searched &= set() if queue.choose(queue.stored_timemaps) else set(queue.searched_files)
        except StoreError:  # a feed that has never been read
            return set()
        return searched

    async def open(self) -> None:
        if not self._files:
            return
        count = await run_in_thread(self.index.build)
        logger.info("Captures in the WARC files: %d", count)
        if unopened := len(self._files) - len(self.opened):
            message = "WARC files that were not opened, because everything useful in them has been read: %d"
            logger.info(message, unopened)

    def close(self) -> None:
        if self._files:
            self.index.close()
        if self._has_found is False:
            logger.warning("The WARC files have no captures of these feeds", extra={"is_for_users": True})

    def begin(self, feed: FeedCrawl) -> Iterator[Request]:
        web_archive = feed.walk.options.web_archive
        has_archive = web_archive is not None and indexes.is_of_web(feed.url)
        if not (self._files or has_archive) or self._is_complete(feed.url):
            return
        if self._files:
            queue = self._queues[feed.url] = _InFiles(self, feed.walk)
            self._has_found = queue.find_captures() or bool(self._has_found)
            yield from self._next(queue)
        else:
            yield from self._begin_in_archive(feed.walk)

    def _begin_in_archive(self, walk: WalkContext) -> Iterator[Request]:
        url = walk.options.web_archive
        if url is None or not indexes.is_of_web(walk.feed):
            return
        archive = self._archives.get(url) or self._open_archive(url)
        if not archive.is_skipped:
            queue = self._queues[walk.feed] = _InArchive(self, walk, archive)
            yield from queue.next()

    def _next(self, queue: _InFiles | _InArchive) -> Iterator[Request]:
        request = next(queue.next(), None)
        if request is not None:
            yield request
        elif isinstance(queue, _InFiles):
            yield from self._begin_in_archive(queue.walk)

    # RFC 5005, 2: an entry that is not in the document is not part of the feed, even if it was before.
    def _is_complete(self, feed: str) -> bool:
        is_complete = self.store.feeds.read_kind(feed) is Kind.COMPLETE
        if is_complete:
            logger.info("%s is a complete feed: its captures are not read", feed)
        return is_complete

    def _open_archive(self, url: str) -> _Archive:
        archive = self._archives[url] = _Archive(url)
        until = self.store.mementos.find_wait(url)
        # A time that is too far ahead was recorded by a wrong clock.
        if until is not None and 0 < elapsed(now(), until) <= LONGEST:
            archive.skip(f"its server allows no requests before {until}")
        return archive

    @property
    def rows(self) -> Rows:
        return {
            CaptureRequest: Row(self._parse, self._lose),
            Purpose.TIMEMAP: Row(self._parse_timemap, self._lose),
        }

    def _parse(self, feed: FeedCrawl, fetch: Fetch, response: Response) -> Output:
        queue, first = self._find_queue(feed, fetch, request_of(response))
        next_requests = self._until_store_error(fetch, self._next(queue) if queue else iter(first))
        try:
            document = self._reader.read(response)
        except NotAFeedError as error:
            failure = _failure_of_capture(fetch, response, reading.parse_failure(response, error))
            self._record_failure(fetch, failure)
            if queue:
                queue.note_read(DocumentResult(fetch, failure=failure))
            yield from next_requests
            return
        result, versions = self._read(feed, fetch, response, document)
        if queue and result.older_document is not None:
            queue.add_url(result.older_document.url, 1 - fetch.position.step)
        # Only a subscription document announces the new URL of its podcast.
        if queue and document.new_url is not None and not fetch.position.step:
            queue.add_url(document.new_url, 0)
        # The links of a capture do not belong to the feed's chain today.
        cause = result.failure and _failure_of_capture(fetch, response, result.failure)
        result = replace(result, older_document=None, failure=cause)
        if queue:
            queue.note_read(result)
        yield from self._yield_document(response, document, result, versions, next_requests)

    def _parse_timemap(self, feed: FeedCrawl, fetch: Fetch, response: Response) -> Iterator[Request]:
        queue, first = self._find_queue(feed, fetch, request_of(response))
        in_archive = queue if isinstance(queue, _InArchive) else None
        following = in_archive.parse_timemap(response, fetch) if in_archive else iter(first)
        yield from self._until_store_error(fetch, following)

    def _lose(
        self, feed: FeedCrawl, fetch: Fetch, request: Request, failure: DocumentFailure
    ) -> Iterator[Request]:
        is_in_files = _is_in_files(fetch)
        if fetch.capture_id is not None and (is_in_files or failure.state is not State.KNOWN):
            is_retried = failure.state is State.REFUSED and failure.kind not in FINAL_KINDS
            archive_failure = replace(failure, state=State.FAILED) if is_retried else failure
            self._record_failure(fetch, _as_final(failure) if is_in_files else archive_failure)
        queue, first = self._find_queue(feed, fetch, request)
        following = self._after_loss(queue, fetch, failure) if queue else iter(first)
        yield from self._until_store_error(fetch, following)

    # After a restart, the queue of the feed begins again: with the request that was stored, or with others.
    def _find_queue(
        self, feed: FeedCrawl, fetch: Fetch, request: Request
    ) -> tuple[_InFiles | _InArchive | None, list[Request]]:
        first: list[Request] = []
        if feed.url not in self._queues:
            first += self._until_store_error(fetch, self.begin(feed))
        if any(other.url != request.url for other in first):
            return None, first
        return self._queues.get(feed.url), []

    def _after_loss(
        self, queue: _InFiles | _InArchive, fetch: Fetch, failure: DocumentFailure
    ) -> Iterator[Request]:
        queue.note_lost(fetch, failure)
        if isinstance(queue, _InArchive) or failure.state is not State.KNOWN:
            yield from self._next(queue)

    # Ends the captures of the feed if the store fails, or if another crawl has the feed.
    def _until_store_error(self, fetch: Fetch, following: Iterator[Request]) -> Iterator[Request]:
        try:
            yield from following
        except LeaseError as error:
            self.extension.yield_to_other(fetch.feed, error)
        except StoreError as error:
            self.extension.fail(error)

    def _record_failure(self, fetch: Fetch, failure: DocumentFailure) -> None:
        self._commits.record_loss(fetch, failure, f" at {fetch.fetched}")


def _is_in_files(fetch: Fetch) -> bool:
    return fetch.key.startswith(WARC_FILES)


# Another request for the same capture would return the same content. A truncated body is requested once more,
# since it may be complete in the archive.
def _failure_of_capture(fetch: Fetch, response: Response, failure: DocumentFailure) -> DocumentFailure:
    if "dataloss" in response.flags and not _is_in_files(fetch):
        return replace(failure, state=State.FAILED, kind=ReasonKind.CUT_OFF)
    return _as_final(failure)


def _as_final(failure: DocumentFailure) -> DocumentFailure:
    return replace(failure, state=State.INVALID) if failure.state is State.FAILED else failure
