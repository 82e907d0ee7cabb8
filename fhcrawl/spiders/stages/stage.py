"""The base class of stages, and what the stages that read documents have in common."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from fhcrawl.crawling import reading, requests
from fhcrawl.crawling.context import DELTAFETCH_KEY, context_of, with_context
from fhcrawl.crawling.feedcrawl import ReadDocument
from fhcrawl.crawling.reading import StoredState
from fhcrawl.documents import FeedDocument
from fhcrawl.exceptions import LeaseError, NotAFeedError
from fhcrawl.extensions.reader import ReaderExtension
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import FIRST_WALK, Role, absences, confirmation
from fhcrawl.logical_feed.chain import as_newer_page
from fhcrawl.logical_feed.platforms import NAMED, PROBE
from fhcrawl.logical_feed.results import DocumentFailure, State, has_news, joins, must_follow
from fhcrawl.reasons import ReasonKind
from fhcrawl.spidermiddlewares.commit import CommitMiddleware
from fhcrawl.store.documents import NewerDocument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from fhcrawl.crawling.context import Purpose, RequestContext
    from fhcrawl.crawling.feedcrawl import FeedCrawl
    from fhcrawl.documents import DocumentList
    from fhcrawl.logical_feed import Link, Version, Winner
    from fhcrawl.logical_feed.absences import EarlierReading
    from fhcrawl.logical_feed.results import DocumentResult, Fetch
    from fhcrawl.pipelines import EntryVersion

    Output = Iterator[Request | EntryVersion]
    Rows = dict[Purpose | type[object], "Row"]


class Row(NamedTuple):
    """What is done with the responses to requests of one purpose, and with those that fail."""

    parse: Callable[[FeedCrawl, Fetch, Response], Output]
    lose: Callable[[FeedCrawl, Fetch, Request, DocumentFailure], Iterator[Request]]


class CrawlPart:
    """What the stages, and the parts of stages, have in common: how they read documents."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._extension = StoreExtension.of(crawler)
        self._store = self._extension.store
        self._commits = CommitMiddleware.of(crawler)
        self._reader = ReaderExtension.of(crawler)

    # If another crawl has taken the feed over, this one skips it.
    @contextlib.contextmanager
    def _unless_taken(self, feed: str) -> Iterator[None]:
        try:
            yield
        except LeaseError as error:
            self._extension.yield_to_other(feed, error)

    # -- documents with entries ---------------------------------------------------------------------------

    # A document that belongs to no chain today: a part, a page of a publisher's list, a capture.
    def _read(
        self, feed: FeedCrawl, fetch: Fetch, response: Response, document: FeedDocument
    ) -> tuple[DocumentResult, list[Version | None]]:
        feed.count_octets(response, reading.inherited_octets(document, fetch.url))
        entries = self._store.entries
        stored = StoredState(entries.read_shared_ids(fetch.feed), entries.read_posts(fetch.feed))
        return reading.read_document(fetch, response, document, stored)

    def _yield_document(
        self,
        response: Response,
        document: FeedDocument,
        result: DocumentResult,
        versions: list[Version | None],
        following: Iterable[Request] = (),
    ) -> Output:
        stored = self._commits.compare(result)
        yield from self._commits.yield_document(response, document, result, versions, stored, following)

    def _parse_response(self, response: Response) -> FeedDocument | DocumentList:
        if reading.is_missing(response):
            return reading.empty_document()
        document = self._reader.read_any(response)
        is_of_api = isinstance(document, FeedDocument) and document.format == "ghost"
        if context_of(response).is_of_api and not is_of_api:
            raise NotAFeedError(ReasonKind.NOT_A_FEED, "it is not the document that the API returns")
        if isinstance(document, FeedDocument) and reading.is_unreadable(document):
            raise NotAFeedError(ReasonKind.NOT_WELL_FORMED, document.fault or "")
        return document

    def _read_of_chain(
        self, feed: FeedCrawl, fetch: Fetch, response: Response, document: FeedDocument
    ) -> tuple[DocumentResult, list[Version | None], EarlierReading | None]:
        stored = self._look_up(fetch, response, document)
        feed.count_octets(response, reading.inherited_octets(document, fetch.url))
        result, versions = reading.read_document(fetch, response, document, stored)
        if fetch.role is Role.LISTED and result.failure is None and not self._is_reached(result):
            result = result.failed(reading.NOT_REACHED)
        if stored.earlier is not None and result.held is not None and result.failure is None:
            self._note_loss(result, confirmation.dropped(stored.earlier.encoded, result.held))
        return self._with_stored_page(result, stored.earlier), versions, stored.earlier

    def _look_up(self, fetch: Fetch, response: Response, document: FeedDocument) -> StoredState:
        documents, walk, earlier = self._store.documents, context_of(response).walk, None
        if walk.number > FIRST_WALK or fetch.is_check:
            earlier = documents.read_earlier(fetch)
        software, size = reading.find_software(fetch, response), walk.page_size
        if software is None and reading.may_be_numbered(fetch, response, document):
            may_be_probed = reading.may_be_probed(fetch, walk.options)
            software, _ = reading.numbered_pages(documents.find_probe(fetch.feed), may_be_probed)
        if software is not None and software.is_by_time and fetch.role is Role.PAGE and not size:
            size = documents.count_shown(fetch.feed)
        entries = self._store.entries
        shared_ids, posts = entries.read_shared_ids(fetch.feed), entries.read_posts(fetch.feed)
        return StoredState(shared_ids, posts, earlier, software, size)

    # Noted before the document is committed, which may not happen.
    def _note_loss(self, result: DocumentResult, dropped: set[bytes]) -> None:
        fetch, store = result.fetch, self._store
        if not dropped or fetch.role not in (Role.SUBSCRIPTION, Role.PAGE):
            return
        known = store.feeds.read_confirmation(fetch.feed)
        is_paged = known is not None or fetch.role is Role.PAGE or result.older_document is not None
        if is_paged and not store.documents.has_elsewhere(fetch, dropped):
            self._doubt(fetch, known or confirmation.Confirmation())

    def _doubt(self, fetch: Fetch, known: confirmation.Confirmation | None) -> None:
        if known is not None:
            with self._unless_taken(fetch.feed):
                self._store.feeds.note_confirmation(fetch.feed, known.after_doubt(fetch.walk))

    # calibre's `last` is an offset that no `next` reaches, with entries of the pages before it.
    def _is_reached(self, result: DocumentResult) -> bool:
        ids, fetch = [version.id for version in result.versions], result.fetch
        find_winners = self._store.entries.find_winners
        return not result.lost_entries and find_winners(fetch.feed, ids, fetch.latest).keys() >= set(ids)

    # The older page that is stored may be the one behind this document, at another URL than is formed now.
    def _with_stored_page(self, result: DocumentResult, earlier: EarlierReading | None) -> DocumentResult:
        fetch, link, documents = result.fetch, result.older_document, self._store.documents
        if link is None or link.platform is None:
            return result
        software = NAMED[link.platform]
        url: str | None = link.url
        if software.has_api:
            # The API that a home page leads to has the key of the home page.
            api_document = documents.find(fetch.feed, link.url)
            url = link.url if api_document is None else api_document.url
        elif software.moves and earlier is not None and fetch.role is Role.SUBSCRIPTION:
            # Entries that have left the feed are in the store. If the feed overlaps with its earlier state,
            # the older page is still the same, as are all pages behind it.
            if any(map(earlier.had_id, result.versions)):
                url = documents.find_formed(fetch.feed, fetch.key, software.name) or url
        elif software.is_by_time and fetch.is_check:
            # Only a walk has read the entries of the documents before this one.
            url = documents.find_formed(fetch.feed, fetch.key, software.name)
        return replace(result, older_document=None if url is None else link._replace(url=url))

    # A page that has lost entries since it was last read repeats the page before it because as many entries
    # were published meanwhile: its former entries are on a later page.
    def _find_repeated(
        self,
        feed: FeedCrawl,
        result: DocumentResult,
        document: FeedDocument,
        versions: list[Version | None],
        is_probe: bool = False,
    ) -> NewerDocument | None:
        fetch = result.fetch
        if fetch.role is not Role.PAGE or result.failure is not None or result.lost:
            return None
        # If not read just before, it was read before a restart, or by an earlier walk.
        find_newer = self._store.documents.find_newer
        newer = feed.find_newer(fetch.requested_url) or find_newer(fetch.feed, fetch.key)
        differing_ids = (
            None if newer is None else absences.ids_with_other_content(result.versions, newer.held)
        )
        if differing_ids is None or is_probe:
            return None if differing_ids is None else newer
        labels = self._store.entries.find_labels(fetch.feed, list(differing_ids))
        are_same = all(
            reading.has_label(entry, labels.get(version.id))
            for entry, version in zip(document.entries, versions, strict=True)
            if version is not None and version.id in differing_ids
        )
        return newer if are_same else None

    # What the store has behind a document is looked up before the result is final: it may show that the links
    # form a loop, or that an earlier walk has left pages unread.
    def _look_behind(
        self, context: RequestContext, result: DocumentResult, stored: Mapping[str, Winner], link: Link
    ) -> ReadDocument:
        key = link.key or link.url
        if link.platform == PROBE.name:
            return ReadDocument(result, stored)
        if key == result.fetch.key:
            return ReadDocument(_as_loop(result, link), stored)
        if link.role is Role.PAGE:
            return self._look_behind_page(context, result, stored, link)
        fetch = result.fetch
        behind = self._store.documents.find_end(fetch.feed, key, link.role, fetch.run)
        unread = None if behind is None else behind.unread
        is_read = unread is not None and (unread.run == fetch.run or unread.key == fetch.key)
        if is_read or (behind is not None and behind.is_loop and unread is None):
            result = _as_loop(result, link, keeps_link=is_read)
        return ReadDocument(result, stored, behind)

    def _look_behind_page(
        self, context: RequestContext, result: DocumentResult, stored: Mapping[str, Winner], link: Link
    ) -> ReadDocument:
        fetch, documents, key = result.fetch, self._store.documents, link.key or link.url
        older = documents.find(fetch.feed, key)
        if older is not None and older.run == fetch.run:
            return ReadDocument(_as_loop(result, link), stored)
        follows = must_follow(result, stored)
        behind = None if follows else documents.find_end(fetch.feed, key, Role.PAGE, fetch.run)
        if behind is None or behind.unread is None or not behind.is_behind_empty:
            is_read = behind is not None and behind.unread is None and not behind.is_loop
            is_left_over = context.left_over or self._is_left_over(fetch)
            if is_left_over or (is_read and self._has_other_count(result)):
                result = replace(result, older_document=link._replace(is_left_over=True))
        return ReadDocument(result, stored, behind)

    def _is_left_over(self, fetch: Fetch) -> bool:
        document = self._store.documents.find(fetch.feed, fetch.key)
        if document is None or document.role is not Role.PAGE:
            return False
        return document.position.walk < fetch.position.walk

    def _has_other_count(self, result: DocumentResult) -> bool:
        fetch, total = result.fetch, result.metadata.total
        is_known = fetch.role is not Role.SUBSCRIPTION or total is not None
        return is_known and self._store.feeds.has_other_count(fetch.feed, total)

    # Makes the result final, and yields the document with the request for the older one.
    def _finish(
        self,
        feed: FeedCrawl,
        response: Response,
        document: FeedDocument,
        result: DocumentResult,
        versions: list[Version | None],
        earlier: EarlierReading | None,
        following: Iterable[Request],
        follows: bool = True,
    ) -> Output:
        stored, context, link = self._commits.compare(result), context_of(response), result.older_document
        feed.read = read = ReadDocument(result, stored or {})
        feed.is_chained = feed.is_chained or link is not None
        # The first page without news, behind one that has nothing else, may be an old copy.
        is_open = result.fetch.role is Role.PAGE and not context.newer_joins
        if is_open and not must_follow(result, read.stored):
            self._doubt(result.fetch, self._store.feeds.read_confirmation(result.fetch.feed))
        older: list[Request] = []
        if follows and link is not None and document.fault is None:
            was_read = earlier is not None and earlier.was_read
            request = self._older_document(feed, response, document, read, link, was_read)
            # A subclass of the spider may have set another key.
            link = link._replace(key=request.meta.get(DELTAFETCH_KEY))
            result = replace(result, older_document=link)
            feed.read = read = self._look_behind(context, result, read.stored, link)
            result = read.result
            older = [*_after_look(request, result)]
        if follows and link is not None and result.held is not None and link.role is Role.PAGE:
            feed.newer = link.url, NewerDocument(result.fetch.role, result.held)
        following = [*older, *following]
        yield from self._commits.yield_document(response, document, result, versions, stored, following)

    def _older_document(
        self,
        feed: FeedCrawl,
        response: Response,
        document: FeedDocument,
        read: ReadDocument,
        link: Link,
        was_read: bool,
    ) -> Request:
        context, result, fetch = context_of(response), read.result, read.result.fetch
        newer = as_newer_page(document, (fetch.requested_url, fetch.url), fetch.role)
        barren = _count_barren(context, read, was_read)
        newer_joins = joins(result, read.stored)
        has_joined = newer_joins if fetch.role is Role.SUBSCRIPTION else context.has_joined
        joined = has_joined, newer_joins
        request = requests.older_document(feed.walk, result, response, link, newer, barren, *joined)
        spider: Any = self._crawler.spider
        prepared: Request = spider.prepare(request)
        return prepared

    def _last_page(
        self, feed: FeedCrawl, response: Response, document: FeedDocument, result: DocumentResult
    ) -> Iterator[Request]:
        fetch, url = result.fetch, reading.other_last_page(response, document, result)
        known = None if url is None else self._store.documents.find(fetch.feed, url)
        if url is not None and (known is None or (known.role is Role.LISTED and known.run != fetch.run)):
            yield requests.last_page(feed.walk, fetch, response, url)


class Stage(CrawlPart, ABC):
    """A stage of a feed's crawl: a source of entries.

    It begins when the feed has no request under way. Its rows process what its requests return; they yield
    requests without callbacks, and entries. The next stage begins when no request is left.
    """

    @property
    @abstractmethod
    def rows(self) -> Rows:
        """The rows of the purposes of the requests that the stage makes."""

    @abstractmethod
    def begin(self, feed: FeedCrawl) -> Iterator[Request]:
        """Yield the first requests of the stage for a feed, if it is due for this feed."""

    async def open(self) -> None:
        """Prepare the stage, before the first request of the crawl."""

    def close(self) -> None:
        """Release what the stage holds, when the spider closes."""


# How many documents in a row were read without news. Archives may have only entries that the subscription
# document has too; each of them has one at least.
def _count_barren(context: RequestContext, read: ReadDocument, was_read: bool) -> int:
    result = read.result
    if result.fetch.role is Role.SUBSCRIPTION or has_news(result, read.stored):
        return 0
    is_covered = result.fetch.role is Role.ARCHIVE and context.documents <= context.walk.page_size
    return context.barren + (not was_read and not (is_covered and result.versions))


def _after_look(request: Request, result: DocumentResult) -> Iterator[Request]:
    link, failure = result.older_document, result.failure
    if link is not None and (failure is None or failure.kind is not ReasonKind.LOOP):
        left_over = replace(context_of(request), left_over=link.is_left_over)
        yield with_context(request, left_over) if link.is_left_over else request


def _as_loop(result: DocumentResult, link: Link, keeps_link: bool = False) -> DocumentResult:
    detail = f"links back to {link.url}: the chain forms a loop"
    failure = DocumentFailure(State.INVALID, ReasonKind.LOOP, detail)
    return replace(result, failure=failure, older_document=link if keeps_link else None)
