"""The walk of a feed: what is done with each response, and which requests follow it.

Theory of operation
-------------------
A walk begins with a request for the subscription document, and follows the links to older documents, one
after another. Each request carries a `RequestContext` with the purpose of the request, the document's place
in the chain, and what the store knew of the document when the request was made. The walk keeps almost no
state of its own: a request may be stored in a JOBDIR, and its response be processed after a restart.

A response passes `Walk.step`, a failed request `Walk.fail`. Both look up the row of the request's purpose in
`Walk.rows`, whose functions yield requests and entries:

- Requests that follow come first, so that the next document is downloaded while this one is committed.
  `DeltaFetch` replaces or drops requests for documents that are processed already.
- Then come the entries. `CommitMiddleware` commits the document when the last one has passed the pipelines.
- A document without entries to read (unchanged, missing, failed) is recorded at once, by a method of the
  middleware.

| purpose  | document                            | follows                                   |
|----------|-------------------------------------|-------------------------------------------|
| walk     | of the chain: subscription, archive | the older document; at the end, the       |
|          | or page; or a list of documents     | publisher's list or sitemap               |
| recheck  | of the chain, read before           | the next document to be rechecked         |
| doubt    | found changed, with old validators  | nothing: a 304 is wrong                   |
| part     | named by a list                     | the next part                             |
| list     | a publisher's list of entries, or   | what the check needs next                 |
|          | a page of the feed that it needs    |                                           |
| sitemap  | a sitemap of the feed's site        | the next sitemap                          |
| move     | of the chain, where the feed says   | nothing: the next run begins there        |
|          | that it has moved to                |                                           |
| timemap  | a web archive's list of captures    | the next page of it, or a capture         |
| capture  | an old copy of a document           | the next capture                          |

When the last of these requests has ended, the rechecks begin; they leave out what this crawl has read.

Documents of one feed are processed one after another, in the order in which their responses arrive.
"""

from __future__ import annotations

import contextlib
import logging
from collections import Counter
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.core.checks import recheck_budget
from fhcrawl.crawling import reading, requests
from fhcrawl.crawling.context import (
    FEED_IS_SPECIAL,
    Doubt,
    Purpose,
    Recheck,
    context_of,
    header,
    request_of,
    set_walk,
)
from fhcrawl.crawling.failures import NO_SNAPSHOT, UNEXPECTED_304, document_failure, wait_of
from fhcrawl.crawling.subscriptions import FeedOptions
from fhcrawl.documents import DocumentList, FeedDocument, as_feed
from fhcrawl.documents.dates import shift
from fhcrawl.documents.links import header_targets
from fhcrawl.documents.lists import IS_LIST, snapshot_prefix
from fhcrawl.downloadermiddlewares import politeness
from fhcrawl.exceptions import LeaseError, NotAFeedError
from fhcrawl.extensions.reader import ReaderExtension
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import FIRST_WALK, Kind, Role, absences, listings, results
from fhcrawl.logical_feed.chain import as_newer_page
from fhcrawl.logical_feed.listings import ListCheck, Listing, SitemapCheck
from fhcrawl.logical_feed.platforms import NOT_FOUND
from fhcrawl.logical_feed.results import DocumentResult, State, has_news, is_of_host, joins, latest_time
from fhcrawl.reasons import OF_HOST, ReasonKind
from fhcrawl.spidermiddlewares.commit import CommitMiddleware
from fhcrawl.store.documents import NewerDocument
from fhcrawl.utils import addresses
from fhcrawl.utils.addresses import normalised, tidied
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure
    from typing_extensions import Self

    from fhcrawl.crawling.context import RequestContext, WalkContext
    from fhcrawl.logical_feed import Version, Winner
    from fhcrawl.logical_feed.absences import EarlierReading
    from fhcrawl.logical_feed.results import DocumentFailure, Fetch
    from fhcrawl.pipelines import EntryVersion

    Output = Iterator[Request | EntryVersion]

logger = logging.getLogger(__name__)
# Seconds after which a feed behind a challenge is due: the challenge is meant to keep such requests away.
CHALLENGED_AGAIN = 24 * 60 * 60
# A walk can end after the fetch of such a document.
ENDING = (Role.SUBSCRIPTION, Role.PAGE)
# These requests are made when the walk has ended.
AFTER_WALK = (Purpose.RECHECK, Purpose.TIMEMAP, Purpose.CAPTURE)
# Relation of the Link header to WordPress's API; 304 responses do not have it.
API_RELATION = "https://api.w.org/"
DEFAULT_PAGE_SIZE = 10


class Row(NamedTuple):
    parse: Callable[[Fetch, Response], Output]
    lose: Callable[[Fetch, Request, DocumentFailure], Iterator[Request]]


class Walk:
    """The walks of a crawl. Its methods yield requests without callbacks, and entries.

    :param begin_elsewhere: called with the URL of a feed to which another URL has led, its options, and
        whether this run has it already; yields the first requests of its walk
    """

    def __init__(
        self, crawler: Crawler, begin_elsewhere: Callable[[str, FeedOptions, bool], Iterator[Request]]
    ) -> None:
        self._crawler = crawler
        self._begin_elsewhere = begin_elsewhere
        self._extension = StoreExtension.of(crawler)
        self._store = self._extension.store
        self._recheck_budget = recheck_budget(crawler.settings)
        self._commits = CommitMiddleware.of(crawler)
        self._reader = ReaderExtension.of(crawler)
        # Per feed: the last document that was read, and the URL that it links to.
        self._newer: dict[str, tuple[str | None, NewerDocument | None]] = {}
        # Feeds that other URLs have led to; and the new feeds that have moved, by their present location.
        self.renamed: set[str] = set()
        self._locations: dict[str, str] = {}
        # Feeds that have older documents; and those whose rechecks have begun.
        self._chained: set[str] = set()
        self._rechecked: set[str] = set()
        # By feed, the site with whose sitemaps it is to be compared. And the feeds that wait for these, by
        # the site whose sitemaps are being read.
        self._sites: dict[str, str] = {}
        self._reading: dict[str, list[str]] = {}
        # The spider adds those of captures if it reads any.
        self.rows = {
            Purpose.WALK: Row(self._parse, self._give_up),
            Purpose.RECHECK: Row(self._parse_recheck, self._lose_recheck),
            Purpose.DOUBT: Row(self._parse_doubted, self._lose_doubted),
            Purpose.PART: Row(self._parse_part, self._lose_part),
            Purpose.LIST: Row(self._parse_posts, self._lose_list),
            Purpose.SITEMAP: Row(self._parse_sitemap, self._lose_list),
            Purpose.MOVE: Row(self._parse_moved, self._lose_moved),
        }

    @classmethod
    def of(cls, crawler: Crawler) -> Self:
        spider: Any = crawler.spider
        walk: Self = spider.walk
        return walk

    def step(self, response: Response) -> Output:
        """Process a response: yield the requests that follow, then the document's entries."""
        row = self.rows.get(context_of(response).purpose)
        if row is None:  # a capture, after a restart without them
            return iter(())
        return row.parse(requests.fetch_from_response(response), response)

    def fail(self, failure: Failure) -> Iterator[Request]:
        request = failure.request  # type: ignore[attr-defined]
        context, reason = context_of(request), document_failure(failure)
        row = self.rows.get(context.purpose)
        if row is None:
            return iter(())
        if context.is_probe:
            # Not a failure of the feed; a later run tries again.
            reason = replace(reason, state=State.KNOWN)
        fetch = requests.fetch_from_request(request, wait_of(failure))
        if fetch.retry_after is not None and not context.is_of_capture:
            with self._unless_taken(fetch.feed):
                self._store.feeds.postpone(fetch.feed, fetch.retry_after)
        return row.lose(fetch, request, reason)

    # -- documents of the chain ---------------------------------------------------------------------------

    def _parse(self, fetch: Fetch, response: Response) -> Output:
        context = context_of(response)
        last, digest = context.last_reading, context.body_digest
        is_not_modified = response.status == requests.NOT_MODIFIED
        if is_not_modified and (last is None or not _was_conditional(response)):
            self._commits.record_loss(fetch, UNEXPECTED_304)
        elif is_not_modified and digest is None:
            self._commits.record_check(reading.unchanged_result(fetch, response))
            chain_end = self._store.documents.find_end(fetch.feed, fetch.key, fetch.role, fetch.run)
            if chain_end is not None and chain_end.unread is not None and not chain_end.is_loop:
                yield requests.known_older_document(fetch, response, chain_end.unread)
        elif last is not None and digest is not None and requests.is_unchanged(response, digest):
            self._commits.record_unchanged(reading.unchanged_result(fetch, response), last.older_document)
            if last.older_document is None:
                yield from self.end(fetch, response, is_unchanged=True)
            else:
                self._chained.add(fetch.feed)
                yield requests.known_older_document(fetch, response, last.older_document)
        else:
            yield from self._parse_document(fetch, response)

    def _parse_document(self, fetch: Fetch, response: Response) -> Output:
        try:
            document = self._parse_response(response)
        except NotAFeedError as error:
            yield from self._not_a_feed(fetch, response, error)
            return
        if isinstance(document, DocumentList):
            yield from self._parse_list(fetch, response, document)
            return
        if reading.is_snapshot(fetch, response):
            self._commits.record_loss(fetch, NO_SNAPSHOT)
            return
        limit = self._crawler.settings.getint("FHCRAWL_MAX_ARCHIVES")
        subscription = reading.find_subscription(fetch, response, document, limit)
        if subscription is not None:
            logger.info(
                "%s is not the subscription document; trying %s", fetch.requested_url, subscription[0]
            )
            yield requests.subscription_elsewhere(fetch, response, *subscription)
            return
        name = self._find_name(fetch, context_of(response))
        if name == fetch.feed:
            yield from self._read_document(fetch, response, document)
        else:
            yield from self._crawl_as(name, fetch, response)

    def _parse_response(self, response: Response) -> FeedDocument | DocumentList:
        if reading.is_missing(response):
            return reading.empty_document()
        document = self._reader.read_any(response)
        is_of_api = isinstance(document, FeedDocument) and document.format == "ghost"
        if context_of(response).is_of_api and not is_of_api:
            raise NotAFeedError(ReasonKind.NOT_A_FEED, "it is not the document that the API returns")
        return document

    def _read_document(self, fetch: Fetch, response: Response, document: FeedDocument) -> Output:
        context = context_of(response)
        read_earlier, walk_number = self._store.documents.read_earlier, context.walk.number
        is_first_walk = walk_number <= FIRST_WALK
        earlier = None if is_first_walk else read_earlier(fetch.feed, fetch.key, fetch.position, walk_number)
        result, versions = reading.read_document(
            fetch, response, document, self._store.entries.read_shared_ids(fetch.feed), earlier, self._store
        )
        if context.is_probe and result.failure is not None:
            # The page is ignored, whatever the failure.
            yield from self._not_a_page(fetch, response, result.failure)
            return
        newer = None if fetch.is_check else self._find_repeated(result, document, versions, context.is_probe)
        is_end = None if newer is None else reading.is_end(response, result, newer.role)
        if is_end:
            yield from self._read_document(fetch, response, reading.empty_document())
            return
        if is_end is not None:
            self._commits.record_loss(fetch, reading.REPEATS)
            return
        next_requests: Iterator[Request] = iter(())
        if fetch.is_check:
            next_requests = self._next_recheck(context, result.failure)
        if not fetch.is_check or reading.has_grown(result, earlier):
            next_requests = chain(self._requests_after(response, document, result, earlier), next_requests)
        next_requests = chain(next_requests, self._last_page(response, document, result))
        if reading.has_hidden_news(response, result, earlier):
            next_requests = chain(next_requests, [requests.conditional(response)])
        yield from self._commits.yield_document(response, document, result, versions, next_requests)

    def _requests_after(
        self,
        response: Response,
        document: FeedDocument,
        result: DocumentResult,
        earlier: EarlierReading | None,
    ) -> Iterator[Request]:
        fetch, link = result.fetch, result.older_document
        is_subscription = fetch.role is Role.SUBSCRIPTION
        if is_subscription:
            # Copied to the requests that are made after this.
            walk = context_of(response).walk
            set_walk(response, replace(walk, page_size=len(result.versions)))
            next_location = reading.next_location(fetch, response, document)
            if next_location is not None:
                yield requests.move(fetch, response, next_location)
        if link is not None:
            self._chained.add(fetch.feed)
        if link is not None and result.held is not None and link.role is Role.PAGE:
            self._newer[fetch.feed] = link.url, NewerDocument(fetch.role, result.held)
        if link is not None and document.fault is None:
            newer = as_newer_page(document, (fetch.requested_url, fetch.url), fetch.role)
            context, pending = context_of(response), self._commits.find(response)
            stored = {} if pending is None else pending.batch.stored
            barren = self._count_barren(context, result, stored, earlier is not None and earlier.was_read)
            has_joined = joins(result, stored) if is_subscription else context.has_joined
            yield requests.older_document(result, response, link, newer, barren, has_joined)
        elif result.failure is None:
            links = None if result.kind == Kind.COMPLETE.value else [entry.link for entry in document.entries]
            yield from self.end(fetch, response, links)

    def _last_page(
        self, response: Response, document: FeedDocument, result: DocumentResult
    ) -> Iterator[Request]:
        fetch, url = result.fetch, reading.other_last_page(response, document, result)
        known = None if url is None else self._store.documents.find(fetch.feed, url)
        if url is not None and (known is None or (known.role is Role.LISTED and known.run != fetch.run)):
            yield requests.last_page(fetch, response, url)

    def end(
        self,
        fetch: Fetch,
        response: Response,
        links: Sequence[str | None] | None = (),
        is_unchanged: bool = False,
    ) -> Iterator[Request]:
        """Yield the request for the publisher's list, else for a sitemap, after the last request of a walk.

        :param links: those of entries of the feed; None if it shows all of its entries
        """
        walk = context_of(response).walk
        if fetch.role not in ENDING or fetch.feed in self._rechecked:
            return
        check = self._begin_list_check(fetch, response, is_unchanged) if walk.options.platforms else None
        if check is not None:
            yield requests.list_check(fetch, response, check)
        elif links is not None and walk.sitemaps:
            yield from self._first_sitemap(fetch, response, links)

    # A page that has lost entries since it was last read repeats the page before it because as many entries
    # were published meanwhile: its former entries are on a later page.
    def _find_repeated(
        self, result: DocumentResult, document: FeedDocument, versions: list[Version | None], is_probe: bool
    ) -> NewerDocument | None:
        fetch = result.fetch
        if fetch.role is not Role.PAGE or result.failure is not None or result.lost:
            return None
        url, newer = self._newer.pop(fetch.feed, (None, None))
        if url != fetch.requested_url:  # read before a restart, or by an earlier walk
            newer = self._store.documents.find_newer(fetch.feed, fetch.key)
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

    # How many documents in a row were read without news. Archives may have only entries that the subscription
    # document has too; each of them has one at least.
    def _count_barren(
        self, context: RequestContext, result: DocumentResult, stored: Mapping[str, Winner], was_read: bool
    ) -> int:
        if result.fetch.role is Role.SUBSCRIPTION or has_news(result, stored):
            return 0
        is_covered = result.fetch.role is Role.ARCHIVE and context.documents <= context.walk.page_size
        return context.barren + (not was_read and not (is_covered and result.versions))

    def _not_a_feed(self, fetch: Fetch, response: Response, error: NotAFeedError) -> Output:
        context, failure = context_of(response), reading.parse_failure(response, error)
        if context.is_probe:
            yield from self._not_a_page(fetch, response, failure)
            return
        api = reading.api_url(response)
        if api is not None:
            yield requests.api(fetch, response, api)
            return
        url = next(map(tidied, filter(requests.is_fetchable, error.feeds)), None)
        is_first = context.referral is None and fetch.feed not in self.renamed
        if url is None or not is_first or not context.is_new or fetch.role is not Role.SUBSCRIPTION:
            yield from self._give_up(fetch, request_of(response), failure)
            return
        stored_feed = self._store.feeds.find_at(url, fetch.feed)
        if stored_feed is not None:
            yield from self._crawl_as(stored_feed, fetch, response)
            return
        logger.info("%s is an HTML page; trying %s", fetch.requested_url, url)
        yield requests.subscription_elsewhere(fetch, response, url, is_page=True)

    # Records that a feed has no numbered pages, unless a later request may find some.
    def _not_a_page(self, fetch: Fetch, response: Response, failure: DocumentFailure) -> Output:
        if failure.kind is ReasonKind.CUT_OFF or failure.state is State.KNOWN:
            self._commits.record_loss(fetch, replace(failure, state=State.KNOWN))
        else:
            yield from self._read_document(fetch, response, reading.empty_document())

    def _give_up(self, fetch: Fetch, request: Request, failure: DocumentFailure) -> Iterator[Request]:
        context = context_of(request)
        if context.is_of_api and failure.state is not State.KNOWN:
            detail = f"{failure.detail}; older entries need {context.platform}'s API"
            failure = replace(failure, detail=detail)
        if failure.kind is ReasonKind.CHALLENGE and fetch.role is Role.SUBSCRIPTION:
            fetch = replace(fetch, retry_after=shift(fetch.fetched, CHALLENGED_AGAIN))
        fallback = context.fallback
        if fallback is not None and not fallback.is_last:
            # The failure at the earlier URL is stored already.
            logger.info("%s %s", fetch.requested_url, failure.detail)
            if fallback.archive is not None:
                yield requests.archive_again(fetch, context.walk, fallback.archive)
            return
        self._commits.record_loss(fetch, failure)
        if failure.state is not State.KNOWN:
            yield from requests.at_other_url(fetch, context, failure)

    # -- documents that were read before ------------------------------------------------------------------

    def begin_rechecks(self, last_request: Request) -> Iterator[Request]:
        """Yield the first recheck of a feed whose walk has ended; `last_request` was the last one of it."""
        context = context_of(last_request)
        walk, skipped = context.walk, self._extension.skipped_feeds
        if context.purpose in AFTER_WALK or walk.feed in self._rechecked or walk.feed in skipped:
            return
        self._rechecked.add(walk.feed)
        self._compare_sitemaps(walk.feed)
        if walk.feed in self._chained:
            yield from self._recheck(self._due_rechecks(walk), walk)

    def _due_rechecks(self, walk: WalkContext) -> list[int]:
        rows, doubted_walk = self._store.documents.read_chain(walk.feed)
        if not any(row.read_walk == walk.number for row in rows) or any(
            row.run == walk.run and row.state != State.KNOWN.value and row.reason in OF_HOST for row in rows
        ):
            return []
        if any(row.reason == ReasonKind.EMPTY_ARCHIVES.value for row in rows):
            # The others have no entries of their own, and each run reads more of them.
            sources = self._store.entries.read_documents(walk.feed)
            rows = [row for row in rows if row.url in sources]
        rows = [row for row in rows if row.is_checkable]
        # What this crawl has read is not requested again.
        read = {index for index, row in enumerate(rows) if row.run == walk.run}
        # Recheck out of turn if an archive has lost an entry, which may be gone, or if links from several
        # walks form a loop, which may not exist; but not documents whose last request failed.
        seen = [absences.Seen(row.changed_walk, row.checked_walk) for row in rows]
        doubted = [] if doubted_walk is None else absences.unconfirmed(seen, doubted_walk)
        doubted = [index for index in doubted if rows[index].is_there and index not in read]
        not_first = [*read, *(index for index, row in enumerate(rows) if not row.is_there)]
        last_requests, time_now = [row.fetched for row in rows], now()
        due = absences.due_rechecks(last_requests, time_now, self._recheck_budget, doubted, not_first)
        document_ids = [rows[index].id for index in due if index not in read]
        if all(row.role != Role.PAGE.value for row in rows):
            return document_ids
        # With the oldest entries first, new ones come on the last page.
        growing = self._store.documents.find_growing(walk.feed, walk.run)
        return document_ids if growing is None else list(dict.fromkeys([growing, *document_ids]))

    def _next_recheck(self, context: RequestContext, failure: DocumentFailure | None) -> Iterator[Request]:
        if isinstance(context.task, Recheck) and (failure is None or not is_of_host(failure)):
            yield from self._recheck(context.task.following, context.walk, context.documents + 1)

    def _recheck(self, document_ids: list[int], walk: WalkContext, documents: int = 2) -> Iterator[Request]:
        for position, document_id in enumerate(document_ids, 1):
            checked = self._store.documents.find_checked(document_id)
            if checked is not None:
                yield requests.check(checked, walk, document_ids[position:], documents)
                return

    def _parse_recheck(self, fetch: Fetch, response: Response) -> Output:
        if response.status == requests.NOT_MODIFIED:
            result = reading.unchanged_result(fetch, response)
            result = result if _was_conditional(response) else result.failed(UNEXPECTED_304)
            yield from self._end_recheck(result, context_of(response))
            return
        try:
            document = as_feed(self._parse_response(response))
        except NotAFeedError as error:
            yield from self._lose_recheck(fetch, response, reading.parse_failure(response, error))
        else:
            yield from self._read_document(fetch, response, document)

    def _lose_recheck(
        self, fetch: Fetch, request: Request | Response, failure: DocumentFailure
    ) -> Iterator[Request]:
        yield from self._end_recheck(DocumentResult(fetch, failure=failure), context_of(request))

    def _end_recheck(self, result: DocumentResult, context: RequestContext) -> Iterator[Request]:
        self._commits.record_check(result)
        yield from self._next_recheck(context, result.failure)

    def _parse_doubted(self, fetch: Fetch, response: Response) -> Iterator[Request]:
        doubt = context_of(response).task
        is_not_modified = response.status == requests.NOT_MODIFIED and _was_conditional(response)
        if is_not_modified and isinstance(doubt, Doubt):
            self._commits.record_doubt(fetch, doubt.since)
        return iter(())

    def _lose_doubted(self, fetch: Fetch, request: Request, failure: DocumentFailure) -> Iterator[Request]:
        # 304 responses may or may not have hidden changes.
        doubt = context_of(request).task
        if isinstance(doubt, Doubt):
            self._commits.record_doubt(fetch, doubt.since, failure)
        return iter(())

    # itunes:new-feed-url is like a permanent redirect (RFC 9110, 15.4.9) if the same feed is there.
    def _parse_moved(self, fetch: Fetch, response: Response) -> Iterator[Request]:
        via, options = context_of(response).via, context_of(response).walk.options
        try:
            document = self._reader.read(response)
        except NotAFeedError as error:
            failure = reading.parse_failure(response, error)
            yield from self._lose_moved(fetch, request_of(response), failure)
            return
        if via in (fetch.location, fetch.url):  # a redirect to where the feed is
            return
        ids = {results.identity(entry, document, options.ids) for entry in document.entries}
        if not self._store.entries.find_winners(fetch.feed, list(filter(None, ids)), fetch.latest):
            self._stay(fetch, via, "has none of its entries")
        elif normalised(document.new_url or "") == normalised(via or ""):
            self._stay(fetch, via, "says the reverse")
        else:
            logger.info("%s has moved to %s", fetch.feed, fetch.location, extra={"is_for_users": True})
            with self._unless_taken(fetch.feed):
                self._store.feeds.note_move(fetch.feed, fetch.location)

    def _lose_moved(self, fetch: Fetch, request: Request, failure: DocumentFailure) -> Iterator[Request]:
        self._stay(fetch, context_of(request).via, failure.detail)
        yield from ()

    def _stay(self, fetch: Fetch, via: str | None, reason: str) -> None:
        message = "%s says that the feed has moved to %s, which %s; it is read where it was"
        logger.warning(message, via, fetch.requested_url, reason)
        # The next run tries again, whether or not the document has changed.
        with self._unless_taken(fetch.feed):
            self._store.feeds.note_move(fetch.feed, None)

    # -- lists of documents -------------------------------------------------------------------------------

    def _parse_list(self, fetch: Fetch, response: Response, document_list: DocumentList) -> Output:
        if fetch.role is not Role.SUBSCRIPTION or "dataloss" in response.flags:
            yield from self._not_a_feed(fetch, response, NotAFeedError(ReasonKind.NOT_A_FEED, IS_LIST))
            return
        store, walk = self._store, context_of(response).walk
        if reading.is_snapshot(fetch, response):
            fetch = replace(fetch, role=Role.INDEX)
            walk = replace(walk, since=document_list.created_at)
            yield requests.subscription(store.walks.read(fetch.feed), walk)
        first_unread = store.documents.first_unread_index(fetch.feed, document_list.documents)
        result, part = reading.list_result(fetch, response, document_list, first_unread)
        self._commits.record_document(response, result)
        if part is not None:
            yield requests.part(part, walk)

    def _parse_part(self, fetch: Fetch, response: Response) -> Output:
        try:
            document = reading.snapshot_page(fetch, self._reader.read(response))
        except NotAFeedError as error:
            failure = reading.parse_failure(response, error)
            self._commits.record_loss(fetch, failure)
            yield from self._next_part(fetch, context_of(response))
            return
        shared_ids = self._store.entries.read_shared_ids(fetch.feed)
        result, versions = reading.read_document(fetch, response, document, shared_ids)
        next_requests = list(self._next_part(fetch, context_of(response)))  # after octets are counted
        if not next_requests:
            result = replace(result, replaces=snapshot_prefix(fetch.key))
        yield from self._commits.yield_document(response, document, result, versions, next_requests)

    def _lose_part(self, fetch: Fetch, request: Request, failure: DocumentFailure) -> Iterator[Request]:
        context = context_of(request)
        other_requests = list(self._give_up(fetch, request, failure))
        yield from other_requests if failure.state is State.KNOWN else self._next_part(fetch, context)

    def _next_part(self, fetch: Fetch, context: RequestContext) -> Iterator[Request]:
        part = self._store.documents.find_next_part(fetch.feed, fetch.key)
        if part is not None:
            yield requests.part(part, context.walk, context.documents + 1)

    # -- what a site lists of its feed's entries ----------------------------------------------------------

    # If another crawl has taken the feed over, this one skips it.
    @contextlib.contextmanager
    def _unless_taken(self, feed: str) -> Iterator[None]:
        try:
            yield
        except LeaseError as error:
            self._extension.yield_to_other(feed, error)

    def _begin_list_check(self, fetch: Fetch, response: Response, is_unchanged: bool) -> ListCheck | None:
        last, size = context_of(response).last_reading, context_of(response).walk.page_size
        feed_url = listings.first_page_url(fetch.location or fetch.requested_url)
        links = header_targets(requests.links(response), response.url)
        root = next((url for relation, url in links if url and relation == API_RELATION), None)
        list_url = listings.list_url(root, feed_url) if root and requests.is_fetchable(root) else None
        was_listed = is_unchanged and last is not None and last.is_listed
        if list_url is None and not was_listed:
            return None
        earlier = self._store.feeds.read_stored_entries(fetch.feed, fetch.position.walk).before
        if was_listed and earlier:
            list_url = earlier.api
        if list_url is None or self._store.sitemaps.is_postponed(addresses.site(list_url), fetch.fetched):
            return None
        size = size or (earlier.size if earlier else DEFAULT_PAGE_SIZE)
        return ListCheck.begin(list_url, feed_url, size, earlier, is_unchanged)

    def _parse_posts(self, fetch: Fetch, response: Response) -> Output:
        check = context_of(response).task
        if not isinstance(check, ListCheck):
            return
        if check.is_reading:
            yield from self._next_page(fetch, response, check)
            yield from self._yield_listed(fetch, response)
            return
        total, shared_ids = header(response, "X-WP-Total"), self._store.entries.read_shared_ids(fetch.feed)
        listed = listings.read_posts(response.body, total, check.feed_url, shared_ids)
        if listed is None:
            logger.info("%s is not a list of posts", fetch.requested_url)
            return
        note_listing = self._store.feeds.note_listing
        entries = self._store.feeds.read_stored_entries(fetch.feed, fetch.position.walk)
        ids = list({post.id for post in listed.posts})
        stored = self._store.entries.find_winners(fetch.feed, ids, latest_time(fetch.fetched))
        outcome = listings.follow(check, listed, stored, entries, fetch.fetched)
        with self._unless_taken(fetch.feed):
            # A 304 does not name the API: without this, an unchanged feed would not be checked by a later run
            # if this check does not finish.
            if entries.before is None or not entries.before.has_ended:
                note_listing(fetch.feed, Listing(0, check.listing.api, check.listing.size))
            if isinstance(outcome, ListCheck):
                yield requests.list_check(fetch, response, outcome)
            elif outcome is None:
                logger.info("%s changed while it was being read", check.listing.api)
            else:
                note_listing(fetch.feed, outcome)
                self._crawler.stats.inc_value("fhcrawl/entry/unlisted", outcome.unlisted)
                unlisted = f"; the store has {outcome.unlisted:,} more that are not listed"
                logger.info("%s: %s%s", fetch.feed, outcome.in_words, unlisted if outcome.unlisted else "")

    def _next_page(self, fetch: Fetch, last: Response | Request, check: ListCheck) -> Iterator[Request]:
        next_check = check.after_page()
        if next_check is not None:
            yield requests.list_check(fetch, last, next_check)

    def _yield_listed(self, fetch: Fetch, response: Response) -> Output:
        if response.status == NOT_FOUND:
            return
        try:
            document = self._reader.read(response)
        except NotAFeedError as error:
            logger.info("%s is not a feed: %s", fetch.requested_url, error)
            return
        shared_ids = self._store.entries.read_shared_ids(fetch.feed)
        result, versions = reading.read_document(fetch, response, document, shared_ids)
        result = replace(result, older_document=None)
        yield from self._commits.yield_document(response, document, result, versions)

    # A site's sitemaps are read by the first of its feeds for which they are due.
    def _first_sitemap(
        self, fetch: Fetch, response: Response, links: Iterable[str | None]
    ) -> Iterator[Request]:
        entry_links = [link for link in links if link] or self._store.sitemaps.read_links(fetch.feed)
        for site, number in Counter(filter(None, map(addresses.site, entry_links))).most_common(1):
            # If a feed links to many sites, no site has all entries; nor has one of somebody else.
            is_own = any(politeness.is_of_domain(site, url) for url in (fetch.feed, response.url))
            if 2 * number < len(entry_links) or not is_own:
                return
            if self._store.sitemaps.is_postponed(site, fetch.fetched):
                return
            self._sites[fetch.feed] = site
            if site not in self._reading and self._store.sitemaps.is_due(site, fetch.fetched):
                self._reading[site] = []
                sitemaps = filter(requests.is_fetchable, politeness.sitemaps(self._crawler, site))
                yield from self._next_sitemap(fetch, response, SitemapCheck(site).with_more(sitemaps))

    def _next_sitemap(self, fetch: Fetch, last: Response | Request, check: SitemapCheck) -> Iterator[Request]:
        next_check = check.next_check()
        if next_check is not None:
            validators = self._store.sitemaps.find_validators(check.site, next_check.requested[-1])
            yield requests.sitemap(fetch, last, next_check, validators)
        else:
            self._store.sitemaps.note_read(check.site, fetch.fetched, check.is_part, check.requested)
            self._end_sitemaps(fetch, check)

    def _end_sitemaps(self, fetch: Fetch, check: SitemapCheck) -> None:
        self._sites[fetch.feed] = check.site  # after a restart
        for feed in self._reading.pop(check.site, ()):
            self._extension.under_way.held.discard(feed)
            self._compare_sitemaps(feed)

    # When the entries of the feed are stored, and its site's sitemaps.
    def _compare_sitemaps(self, feed: str) -> None:
        site = self._sites.get(feed)
        if site in self._reading:
            self._reading[site].append(feed)
            self._extension.under_way.held.add(feed)
        elif site is not None:
            with self._unless_taken(feed):
                report = self._store.sitemaps.finish(feed, site)
                if report is not None and report.in_words:
                    logger.info("%s: %s", feed, report.in_words)

    def _parse_sitemap(self, fetch: Fetch, response: Response) -> Iterator[Request]:
        check, store = context_of(response).task, self._store.sitemaps
        if not isinstance(check, SitemapCheck):
            return
        url, urls, is_index = check.requested[-1], list[str](), False
        if response.status == requests.NOT_MODIFIED and _was_conditional(response):
            urls, is_index = store.read_listed(check.site, url)
        else:
            etag, last_modified = requests.validators(response)
            try:
                urls, is_index = self._reader.read_sitemap(response)
            except NotAFeedError as error:
                logger.info("%s is not read as a sitemap: %s", response.url, error)
            values = {"etag": etag, "last_modified": last_modified, "validated_url": response.url}
            store.note(check.site, url, urls, is_index, **values)
        if is_index:
            of_site = (url for url in urls if politeness.is_of_domain(url, check.site))
            check = check.with_more(filter(requests.is_fetchable, of_site))
        yield from self._next_sitemap(fetch, response, check)

    def _lose_list(self, fetch: Fetch, request: Request, failure: DocumentFailure) -> Iterator[Request]:
        logger.info("%s %s", fetch.requested_url, failure.detail)
        check, store = context_of(request).task, self._store.sitemaps
        site = check.site if isinstance(check, SitemapCheck) else addresses.site(fetch.requested_url)
        if fetch.retry_after is not None and site:
            store.postpone(site, fetch.retry_after)
        is_left = failure.state is State.KNOWN or fetch.retry_after is not None
        if isinstance(check, SitemapCheck) and is_left:
            self._end_sitemaps(fetch, check)
        elif isinstance(check, SitemapCheck):
            if failure.state is State.MISSING:
                store.note(check.site, check.requested[-1])
            yield from self._next_sitemap(fetch, request, check)
        elif isinstance(check, ListCheck) and check.is_reading and not is_left:
            yield from self._next_page(fetch, request, replace(check, has_failed=True))

    # -- the feed that a new subscription document belongs to ---------------------------------------------

    # The URL under which the store has the feed, or will have it.
    def _find_name(self, fetch: Fetch, context: RequestContext) -> str:
        # Only once per feed: a server's redirects may be inconsistent.
        is_renamed = fetch.feed in self.renamed
        if fetch.role is not Role.SUBSCRIPTION or not context.is_new or is_renamed:
            return fetch.feed
        referral = context.referral
        is_linked_by_page = referral is not None and referral.is_page
        own_name = tidied(fetch.requested_url) if is_linked_by_page else fetch.feed
        if referral is not None and referral.loss is not None:
            return own_name
        stored_name = self._locations.get(fetch.location) if fetch.location else None
        for url in dict.fromkeys(filter(None, (fetch.requested_url, own_name, fetch.location))):
            stored_name = stored_name or self._store.feeds.find_at(url, fetch.feed)
        if stored_name is None and own_name == fetch.feed != fetch.location:
            # The store does not have the location before the commit.
            self._locations[fetch.location or own_name] = own_name
        return stored_name or own_name

    def _crawl_as(self, name: str, fetch: Fetch, response: Response) -> Iterator[Request]:
        feed, walk, extension = fetch.feed, context_of(response).walk, self._extension
        # The host of the new name is not one that the user has entered.
        is_same_host = addresses.origin(name) == addresses.origin(feed)
        special = fetch.special and fetch.special & FEED_IS_SPECIAL if is_same_host else 0
        try:
            is_under_way = self._store.walks.rename(feed, name, now(), special)
        except LeaseError as error:
            extension.yield_to_other(feed, error)
            return
        message = "Found the feed %s, which is crawled instead of %s"
        logger.info(message, name, feed, extra={"is_for_users": True})
        self.renamed.add(name)
        extension.skipped_feeds.add(feed)
        may_have_headers = addresses.may_have_headers(name, feed)
        user_options = walk.options if may_have_headers else replace(walk.options, headers={})
        stored_options = self._store.subscriptions.read_options([name]).get(name, {})
        options = FeedOptions(**{**stored_options, **user_options.plain()})
        for request in self._begin_elsewhere(name, options, is_under_way):
            yield requests.with_response(request, response)


def _was_conditional(response: Response) -> bool:
    return bool(requests.conditions(request_of(response)))
