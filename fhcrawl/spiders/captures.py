"""Reads captures of feeds, in WARC files and in web archives, when all walks have ended."""

from __future__ import annotations

import logging
from base64 import b64encode
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from fhcrawl.crawling import reading, requests, responses
from fhcrawl.crawling.context import WalkContext, context_of
from fhcrawl.crawling.failures import loss_of, wait_of
from fhcrawl.exceptions import LeaseError, NotAFeedError, StoreError
from fhcrawl.extensions.reader import ReaderExtension
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import Kind, Role
from fhcrawl.logical_feed.results import DocumentResult, State
from fhcrawl.reasons import ReasonKind
from fhcrawl.spidermiddlewares.commit import CommitMiddleware
from fhcrawl.spiders.web_archives import Selection, WebArchives, outcome_of
from fhcrawl.store.mementos import WARC_FILES
from fhcrawl.utils.addresses import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from fhcrawl.crawling.pending import EntryVersion
    from fhcrawl.crawling.subscriptions import Listed
    from fhcrawl.documents import FeedDocument
    from fhcrawl.logical_feed import Link
    from fhcrawl.logical_feed.results import DocumentFailure, Fetch
    from fhcrawl.store import Store, TimeMap

logger = logging.getLogger(__name__)

EVERY = "FHCRAWL_ALL_CAPTURES_ENABLED"
# Octets of digests, and characters of these in base64.
DIGEST_SIZE, DIGEST = 9, 12


@dataclass
class FeedInFiles:
    """A feed whose captures are read.

    :param urls: the URLs whose captures are wanted, with their depth, by their names
    :param known: the TimeMaps that the store has of these, by their names
    :param read: digest of the URLs that were looked for, and digests of the files that were looked through
    """

    feed: str
    selection: Selection
    urls: dict[str, tuple[str, int]] = field(default_factory=dict)
    known: dict[str, TimeMap] = field(default_factory=dict)
    read: tuple[str, list[str]] = field(default_factory=lambda: ("", []))
    _sum: int = 0

    def add(self, url: str, depth: int, timemap: TimeMap | None = None) -> None:
        """Add a URL, if it is new, and its TimeMap."""
        name = name_of(url)
        if name not in self.urls:
            self.urls[name] = url, depth
            self._sum ^= int.from_bytes(_octets(name), "big")
        if timemap is not None:
            self.known[name] = timemap
            if url == self.feed and timemap.read:
                read = timemap.read
                urls, *files = (read[at : at + DIGEST] for at in range(0, len(read), DIGEST))
                self.read = urls, files

    @property
    def digest(self) -> str:
        """A digest of the URLs, in any order."""
        return b64encode(self._sum.to_bytes(DIGEST_SIZE, "big")).decode()

    @property
    def timemaps(self) -> list[TimeMap]:
        """The TimeMaps; those of the subscription document come first."""
        return sorted(self.known.values(), key=lambda timemap: timemap.depth)


class CaptureQueue:
    """Makes the requests for captures, one after another for each feed.

    The store has the captures of all URLs that were looked for, and for each feed, in the TimeMap of its URL,
    which files were looked through: a digest of the URLs, and one of each file's path, size and time. Those
    files are not opened again unless there are captures in them that are still to be read.

    :param files: paths of the WARC files
    :param feeds: the feeds of the crawl
    """

    def __init__(self, crawler: Crawler, files: Sequence[str], feeds: Listed) -> None:
        # Scrapy imports this module in each crawl; few read captures.
        from fhcrawl.warc.captures import Captures

        self._extension = StoreExtension.of(crawler)
        self._every = crawler.settings.getbool(EVERY)
        self._files = {_digest(path): path for path in files}
        self._feeds = feeds
        self._states: dict[str, FeedInFiles] = {}
        looked_through = self._looked_through()
        self._opened = {name: path for name, path in self._files.items() if name not in looked_through}
        self._captures = Captures(self._opened.values(), len(self._opened) == len(self._files))

    @property
    def _store(self) -> Store:
        return self._extension.store

    def _looked_through(self) -> set[str]:
        """Return the digests of the files in which nothing can be found for any of the feeds."""
        found = set(self._files)
        try:
            for feed in self._feeds:
                if self._store.feeds.read_kind(feed) is not Kind.COMPLETE:
                    state = self._load(feed)
                    urls, files = state.read
                    has_unread = state.selection.choose(self._store.mementos, feed, state.timemaps)
                    found &= set() if has_unread or urls != state.digest else set(files)
        except StoreError:  # a feed that has never been read
            return set()
        return found

    def _load(self, feed: str) -> FeedInFiles:
        """Return what the store knows of a feed and of its captures in files."""
        state = FeedInFiles(feed, Selection(self._every))
        for timemap in self._store.mementos.find_timemaps(feed, WARC_FILES):
            state.add(timemap.url, timemap.depth, timemap)
        for url, role, _state in self._store.documents.read_urls(feed):
            state.add(url, int(role is not Role.SUBSCRIPTION))
        return state

    async def build(self) -> None:
        """Read the index of the files."""
        count = await run_in_thread(self._captures.build)
        logger.info("Captures in the WARC files: %d", count)
        if closed := len(self._files) - len(self._opened):
            said = "WARC files that were not opened, because everything useful in them has been read: %d"
            logger.info(said, closed)

    def close(self) -> None:
        """Close the index."""
        self._captures.close()

    def first(self) -> list[Request]:
        """Return the requests for the first capture of each feed."""
        try:
            wanted = [feed for feed in self._feeds if feed not in self._extension.skipped_feeds]
            has_captures = [self._want_known(feed) for feed in wanted]
            first = [request for feed in wanted for request in self.next(feed)]
        except StoreError as error:
            self._extension.fail(error)
            return []
        if has_captures and not any(has_captures):
            logger.warning("The WARC files have no captures of these feeds", extra={"is_for_users": True})
        return first

    def _want_known(self, feed: str) -> bool:
        """Look for the captures of a feed's documents; return whether there are any."""
        # RFC 5005, 2: an entry that is not in the document is not part of the feed, even if it was before.
        if self._store.feeds.read_kind(feed) is Kind.COMPLETE:
            logger.info("%s is a complete feed: its captures are not read", feed)
            return False
        state = self._states[feed] = self._load(feed)
        for name, (url, depth) in list(state.urls.items()):
            self._look_for(state, url, depth, is_kept=url == feed or name in state.known)
        self._note_files(state)
        return bool(self._store.mementos.find_captures(state.timemaps))

    def want(self, feed: str, url: str, depth: int) -> None:
        """Look for the captures of a document that a capture leads to.

        :param depth: number of links from a subscription document to it
        """
        state = self._states[feed]
        if name_of(url) not in state.urls:
            state.add(url, depth)
            self._look_for(state, url, depth, is_kept=True)
            self._note_files(state)

    def _look_for(self, state: FeedInFiles, url: str, depth: int, is_kept: bool) -> None:
        """Store the captures of a URL.

        :param is_kept: also keep that there are none
        """
        found = list(self._captures.find(url))
        if not found and not is_kept:
            return
        mementos = self._store.mementos
        timemap = state.known.get(name_of(url))
        if timemap is None:
            timemap = mementos.add_timemap(state.feed, WARC_FILES, url, depth)
            state.add(url, depth, timemap)
        if found:
            mementos.add(state.feed, timemap, found, None)

    # Before its captures are read: those that are not are found in the store.
    def _note_files(self, state: FeedInFiles) -> None:
        """Store which files were looked through for all URLs of a feed."""
        urls, files = state.read
        state.read = state.digest, sorted({*self._opened, *(files if urls == state.digest else ())})
        own = state.known[name_of(state.feed)]
        self._store.mementos.add(state.feed, own, [], "".join((state.digest, *state.read[1])))

    def next(self, feed: str) -> Iterator[Request]:
        """Yield the request for the next capture of a feed, if there is one."""
        state = self._states.get(feed)
        if state is None or feed in self._extension.skipped_feeds:
            return
        selection = state.selection
        while selection.chosen or selection.choose(self._store.mementos, feed, state.timemaps):
            found = selection.take()
            place = self._captures.place(found.url, found.digest)
            if place is not None:
                walk = WalkContext(feed, self._extension.run, self._feeds[feed])
                yield requests.capture(found, selection.depth, place, walk)
                return
            selection.failed.add(found.id)

    def note_read(self, result: DocumentResult) -> None:
        """Note what a capture has shown, before it is committed."""
        self._states[result.fetch.feed].selection.note_read(result)


def _digest(path: str) -> str:
    stat = Path(path).stat()
    return b64encode(_octets(f"{Path(path).absolute()} {stat.st_size} {stat.st_mtime_ns}")).decode()


def _octets(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_SIZE).digest()


class Captures:
    """The captures of a crawl; its methods return requests without callbacks.

    :param files: paths of WARC files
    :param feeds: the feeds of the crawl
    """

    def __init__(self, crawler: Crawler, files: Sequence[str], feeds: Listed) -> None:
        self._crawler = crawler
        self._in_files = CaptureQueue(crawler, files, feeds) if files else None
        self._in_archives = WebArchives(crawler, feeds)
        self._extension = StoreExtension.of(crawler)

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
        found = [] if self._in_files is None else self._in_files.first()
        try:
            found.extend(self._in_archives.first())
        except StoreError as error:
            self._extension.fail(error)
        return found

    def parse(self, response: Response) -> Iterator[Request | EntryVersion]:
        """Parse a capture: yield the request for the next one, then its entries."""
        fetch = responses.fetch_from_response(response)
        try:
            document = ReaderExtension.of(self._crawler).read(response)
        except NotAFeedError as error:
            failure = self._outcome(fetch, response, reading.unread(response, error))
            self._lose(fetch, failure)
            self._source(fetch).note_read(DocumentResult(fetch, failure=failure))
            yield from self._next(fetch)
            return
        result, found = reading.read_document(fetch, response, document)
        self._want_others(fetch, document, result.older_document)
        # The links of a capture do not belong to the feed's chain today.
        result = replace(result, older_document=None)
        if result.failure is not None:
            result = result.failed(self._outcome(fetch, response, result.failure))
        self._source(fetch).note_read(result)
        commits = CommitMiddleware.of(self._crawler)
        yield from commits.yield_document(response, document, result, found, self._next(fetch))

    # Whether a body was cut off on its way, or in the archive, the next request for it tells.
    def _outcome(self, fetch: Fetch, response: Response, failure: DocumentFailure) -> DocumentFailure:
        """Return the failure of a capture that was served: another request would bring the same, or more."""
        if "dataloss" in response.flags and self._source(fetch) is self._in_archives:
            return replace(failure, state=State.FAILED, kind=ReasonKind.CUT_OFF)
        return _final(failure)

    def _want_others(self, fetch: Fetch, document: FeedDocument, older: Link | None) -> None:
        queue = self._source(fetch)
        if older is not None:
            queue.want(fetch.feed, older.url, 1 - fetch.position.step)
        # A podcast has moved; an archive of it has not.
        if document.new_url is not None and not fetch.position.step:
            queue.want(fetch.feed, document.new_url, 0)

    def parse_timemap(self, response: Response) -> Iterator[Request]:
        """Parse what a web archive has of a document; yield the next request."""
        fetch = responses.fetch_from_response(response)
        yield from self._stored(fetch, self._in_archives.parse_timemap(response, fetch))

    def lose(self, failure: Failure) -> Iterator[Request]:
        """Note why a request has failed; yield the next one."""
        request = failure.request  # type: ignore[attr-defined]
        wait, reason, context = wait_of(failure), loss_of(failure), context_of(request)
        fetch = responses.fetch_from_request(request)
        if context.role is Role.CAPTURE and context.memento is None:
            self._lose(fetch, _final(reason))
            self._source(fetch).note_read(DocumentResult(fetch, failure=reason))
            yield from () if reason.state is State.KNOWN else self._next(fetch)
            return
        if fetch.memento is not None and reason.state is not State.KNOWN:
            self._lose(fetch, outcome_of(reason))
        yield from self._stored(fetch, self._in_archives.lose(fetch, reason, wait))

    def _next(self, fetch: Fetch) -> Iterator[Request]:
        yield from self._stored(fetch, self._source(fetch).next(fetch.feed))

    def _source(self, fetch: Fetch) -> CaptureQueue | WebArchives:
        of_files = self._in_files
        return self._in_archives if of_files is None or not fetch.key.startswith(WARC_FILES) else of_files

    def _stored(self, fetch: Fetch, following: Iterator[Request]) -> Iterator[Request]:
        """Yield requests whose making needs the store; note its errors."""
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
