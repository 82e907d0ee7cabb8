"""The spider, which requests the documents of feeds, from the subscription document to older ones."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy import signals as scrapy_signals
from scrapy.exceptions import DontCloseSpider

from fhcrawl import logical_feed
from fhcrawl.crawling import platforms, reading, rechecks, requests, responses, subscriptions
from fhcrawl.crawling.context import FEED_IS_SPECIAL, context_of, set_walk
from fhcrawl.crawling.failures import NO_SNAPSHOT, UNASKED, loss_of, wait_of
from fhcrawl.crawling.subscriptions import LISTED_FILES, FeedOptions
from fhcrawl.documents import DocumentList, snapshot
from fhcrawl.documents.dates import shift
from fhcrawl.documents.lists import IS_LIST
from fhcrawl.exceptions import LeaseError, NotAFeedError, StoreError
from fhcrawl.extensions.reader import ReaderExtension
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import Kind, Role, contents
from fhcrawl.logical_feed.platforms import PROBE
from fhcrawl.logical_feed.results import DocumentResult, State, has_news, joins
from fhcrawl.reasons import ReasonKind
from fhcrawl.spidermiddlewares.commit import CommitMiddleware
from fhcrawl.spiders.captures import Captures
from fhcrawl.spiders.lists import ListChecks, Sitemaps
from fhcrawl.spiders.web_archives import with_web_archive
from fhcrawl.store import FEEDS_AT_ONCE
from fhcrawl.store.documents import NewerDocument
from fhcrawl.utils import addresses
from fhcrawl.utils.addresses import normalised
from fhcrawl.utils.clock import now
from fhcrawl.utils.datadir import base_of
from fhcrawl.warc import naming

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure
    from typing_extensions import Self

    from fhcrawl.crawling.context import RequestContext
    from fhcrawl.crawling.pending import EntryVersion
    from fhcrawl.crawling.subscriptions import FeedList, Listed
    from fhcrawl.documents import FeedDocument
    from fhcrawl.logical_feed import Version
    from fhcrawl.logical_feed.results import DocumentFailure, Fetch
    from fhcrawl.store import Store, Subscription


logger = logging.getLogger(__name__)
# Seconds after which a feed behind a challenge is due: each request is one more of what it is to keep away.
CHALLENGED_AGAIN = 24 * 60 * 60

REFUSED = "fhcrawl/feed/refused"


class HistorySpider(Spider):
    """Crawls the whole history of feeds.

    Arguments: `feed`, URLs separated by spaces; `feeds`, path of a list (a URL a line, OPML or TOML); without
    both, the subscribed feeds; `due`, 1 for only those feeds that are due; `snapshot`, URL of the index of a
    snapshot that the feed continues; `ids`, what identifies the feed's entries: id, link or digest; `warc`,
    paths of WARC files, or folders of them, with old captures of the feeds; `deltafetch_reset`, 1 to fetch
    every document again.
    """

    name = "history"
    # Without a feed or a list in its arguments. If nothing is subscribed, such a crawl is refused.
    crawls_subscribed = True

    def __init__(
        self,
        feeds: FeedList,
        due: bool = False,
        deltafetch_reset: bool = False,
        warc: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._given = feeds
        self.only_due = due
        self.deltafetch_reset = deltafetch_reset
        self.warc = warc
        self._captures: Captures | None = None
        self.has_captures_left = bool(warc)  # no feed is done before its captures are read
        self.idle_reason = ""  # why a crawl has no feeds
        # The last document that was read of each feed, by the URL that it links to.
        self._newer: dict[str, tuple[str | None, NewerDocument | None]] = {}
        # The feeds to which other URLs have led, and new feeds that have moved, by where they are now.
        self._renamed: set[str] = set()
        self._locations: dict[str, str] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Return a spider, after checking the arguments.

        :raises ArgumentError: if an argument is invalid
        """
        spider = super().from_crawler(crawler, *args, **cls.check(crawler.settings, **kwargs))
        crawler.signals.connect(spider.read_captures, signal=scrapy_signals.spider_idle)
        return spider

    @staticmethod
    def check(
        settings: BaseSettings,
        feed: str | None = None,
        feeds: str | None = None,
        snapshot: str | None = None,
        ids: str | None = None,
        due: str | bool = False,
        deltafetch_reset: str | bool = False,
        warc: str | None = None,
        **others: Any,
    ) -> dict[str, Any]:
        """Return the parsed arguments.

        :raises ArgumentError: if an argument is invalid
        """
        base = base_of(settings, others)
        listed = subscriptions.from_arguments(
            feed, feeds, snapshot, ids, base, settings.getbool(LISTED_FILES)
        )
        reset = subscriptions.flag(str(deltafetch_reset), "-a deltafetch_reset")
        only_due = subscriptions.flag(str(due), "-a due")
        files = naming.files(warc, base) if warc is not None else []
        return {**others, "feeds": listed, "due": only_due, "deltafetch_reset": reset, "warc": files}

    @cached_property
    def feeds(self) -> Listed:
        """The feeds of the arguments, or the subscribed feeds; only those that are due with `due`.

        :raises StoreError: if the store cannot be read
        """
        due_at = now() if self.only_due else None
        chosen = subscriptions.chosen(self._store.subscriptions, self._given, due_at)
        return with_web_archive(chosen, self.settings)

    @property
    def _store(self) -> Store:
        return StoreExtension.of(self.crawler).store

    async def start(self) -> AsyncIterator[Request]:
        """Yield the first requests of each feed."""
        extension = StoreExtension.of(self.crawler)
        try:
            feeds, stored = self.feeds, extension.store.subscriptions
            self.idle_reason = "" if feeds else subscriptions.why_none(stored, self._given, self.only_due)
        except StoreError as error:
            extension.fail(error)
            return
        if self.idle_reason:
            logger.info("%s", self.idle_reason)
        self._tell_refused()
        await self._open_captures()
        urls = list(feeds)
        given = ((feed, feeds[feed].plain()) for feed in urls if feed not in self._renamed)
        while some := dict(islice(given, FEEDS_AT_ONCE)):
            begun = list(extension.begin_walks(some))
            try:
                self._add_titles(begun)
            except StoreError as error:
                extension.fail(error)
                return
            for known in begun:
                with extension.under_way.begun(known.feed):
                    for request in self.first(known, feeds[known.feed]):
                        yield request
            # Let requests in progress continue; otherwise, they would wait until all feeds have begun.
            await asyncio.sleep(0)

    def _add_titles(self, begun: list[Subscription]) -> None:
        titles = self._given.titles
        self._store.subscriptions.add_titles({k.feed: titles[k.feed] for k in begun if k.feed in titles})

    def _tell_refused(self) -> None:
        for sentence in self._given.refused:
            logger.error("%s", sentence)
            self.crawler.stats.inc_value(REFUSED)

    def first(self, known: Subscription, options: FeedOptions) -> Iterator[Request]:
        """Return the requests that a walk begins with (`requests.first`)."""
        if not self.settings.getbool("FHCRAWL_PLATFORMS_ENABLED"):
            options = replace(options, platforms=False)
        if not self.settings.getbool("FHCRAWL_SITEMAPS_ENABLED"):
            known = replace(known, has_due_sitemap=False)
        if self.settings.getbool("FHCRAWL_PROBE"):
            options = replace(options, probe=True)
        options = replace(options, ids=known.ids)
        # Even if the feed is unchanged.
        if options.probe and platforms.numbered_pages(self._store, known.feed, options) == (PROBE, True):
            known = known.anew()
        return map(self._request, requests.first(known, options))

    def _with_callbacks(self, output: Iterator[Any]) -> Iterator[Any]:
        return (self._request(one) if isinstance(one, Request) else one for one in output)

    def _request(self, request: Request) -> Request:
        """Set the callback and errback of a request."""
        context = context_of(request)
        of_role: dict[Role, Callable[..., Any]] = {
            Role.PART: self.parse_part,
            Role.CAPTURE: self.parse_capture,
            Role.TIMEMAP: self.parse_timemap,
        }
        request.callback = of_role.get(context.role, self.parse)
        if context.checks is not None:
            request.callback = self.parse_check
        elif context.doubted_since is not None:
            request.callback = self.parse_doubted
        request.errback = self.lose
        return request

    # Scrapy passes the request's cb_kwargs to the callbacks; `context_of` reads them.
    def parse(self, response: Response, **cb_kwargs: Any) -> Iterator[Request | EntryVersion]:
        """Parse a document: yield the request for the older document, then its entries."""
        fetch, context = responses.fetch_from_response(response), context_of(response)
        if fetch.role is Role.LISTED:
            lists = self._list_checks if context.sitemap is None else self._sitemaps
            yield from self._with_callbacks(lists.parse(fetch, response))
            return
        last, digest = context.last_reading, context.body_digest
        was_asked = last is not None and responses.conditions(responses.request_of(response))
        if response.status == responses.NOT_MODIFIED and not was_asked:
            self._commits.lose(fetch, UNASKED)
            return
        if response.status == responses.NOT_MODIFIED and digest is None:
            self._commits.record_check(reading.unchanged(fetch, response))
            end = self._store.documents.find_end(fetch.feed, fetch.key, fetch.role, fetch.run)
            if end is not None and end.step is not None and not end.loop:
                yield self._request(requests.known_older_document(fetch, response, end.step))
            return
        if last is not None and digest is not None and responses.is_unchanged(response, digest):
            self._commits.record_unchanged(reading.unchanged(fetch, response), last.older_document)
            if last.older_document is not None:
                yield self._request(requests.known_older_document(fetch, response, last.older_document))
                yield from self._first_check(fetch, context)
            else:
                yield from self._with_callbacks(self._checks(fetch, response, is_unchanged=True))
            return
        yield from self._parse_document(fetch, response)

    def _parse_document(self, fetch: Fetch, response: Response) -> Iterator[Request | EntryVersion]:
        if platforms.is_missing(response):
            yield from self._read(fetch, response, platforms.no_page())
            return
        try:
            document = ReaderExtension.of(self.crawler).read_any(response)
            platforms.check_format(response, document)
        except NotAFeedError as error:
            yield from self._not_a_feed(fetch, response, error)
            return
        if isinstance(document, DocumentList):
            yield from self._list(fetch, response, document)
            return
        if reading.is_snapshot(fetch, response):
            self._commits.lose(fetch, NO_SNAPSHOT)
            return
        found = reading.elsewhere(fetch, response, document, self.settings.getint("FHCRAWL_MAX_ARCHIVES"))
        if found is not None:
            logger.info("%s is not the subscription document; trying %s", fetch.requested_url, found[0])
            yield self._request(requests.subscription_elsewhere(fetch, response, *found))
            return
        name = self._name_of(fetch, context_of(response))
        if name != fetch.feed:
            yield from self._crawl_as(name, fetch, response)
            return
        yield from self._read(fetch, response, document)

    def _read(
        self, fetch: Fetch, response: Response, document: FeedDocument
    ) -> Iterator[Request | EntryVersion]:
        walk = context_of(response).walk
        earlier = rechecks.earlier_reading(self._store, fetch, walk)
        row = platforms.row_of(fetch, response)
        is_dated = platforms.is_dated_by_api(fetch, response, document, row, self._store)
        read, found = reading.read_document(fetch, response, document, earlier, is_dated)
        is_probe = platforms.is_probe(response)
        if is_probe and read.failure is not None:
            # Whatever is wrong with the page: its contents do not count.
            yield from self._not_a_page(fetch, response, read.failure)
            return
        if is_probe and not read.versions:
            read = replace(read, held=None)
        newer = self._repeated(read, document, found, is_probe)
        is_end = None if newer is None else platforms.is_end(response, read, newer.role)
        if is_end is not None:
            if is_end:
                yield from self._read(fetch, response, platforms.no_page())
            else:
                self._commits.lose(fetch, reading.REPEATS)
            return
        result = platforms.with_older(read, response, document, row, self._store, earlier)
        walk = context_of(response).walk
        if fetch.role is Role.SUBSCRIPTION:
            # Requests that are made after this carry it.
            set_walk(response, replace(walk, page_size=len(result.versions)))
        older = result.older_document
        if result.held is not None and older is not None and older.role is Role.PAGE:
            self._newer[fetch.feed] = older.url, NewerDocument(fetch.role, result.held)
        was_read = earlier is not None and earlier.was_read
        following = self._following(response, document, result, was_read)
        if reading.has_hidden_news(response, result, earlier):
            following = chain(following, [self._request(requests.conditional(response))])
        yield from self._commits.yield_document(response, document, result, found, following)

    # A page that has lost entries since it was read last shows those of the page before it because as many
    # were published meanwhile: what it had is on a later page.
    def _repeated(
        self, result: DocumentResult, document: FeedDocument, found: list[Version | None], by_id: bool
    ) -> NewerDocument | None:
        """Return the newer document that links to a page, if that has all entries of the page.

        :param by_id: whatever the contents of the entries are
        """
        fetch = result.fetch
        if fetch.role is not Role.PAGE or result.failure is not None or result.lost:
            return None
        url, newer = self._newer.pop(fetch.feed, (None, None))
        if url != fetch.requested_url:  # read before a restart, or by an earlier walk
            newer = self._store.documents.find_newer(fetch.feed, fetch.key)
        differing = None if newer is None else contents.unlike(result.versions, newer.held)
        if differing is None or by_id:
            return None if differing is None else newer
        labels = self._store.entries.find_labels(fetch.feed, list(differing))
        are_same = all(
            reading.has_label(entry, labels.get(version.id))
            for entry, version in zip(document.entries, found, strict=True)
            if version is not None and version.id in differing
        )
        return newer if are_same else None

    def _following(
        self,
        response: Response,
        document: FeedDocument,
        result: DocumentResult,
        was_read: bool,
    ) -> Iterator[Request]:
        fetch, link = result.fetch, result.older_document
        if link is not None and document.fault is None:
            newer = logical_feed.as_newer_page(document, (fetch.requested_url, fetch.url), fetch.role)
            barren = self._barren(response, result, was_read)
            has_joined = self._has_joined(response)
            yield self._request(requests.older_document(result, response, link, newer, barren, has_joined))
        elif result.failure is None:
            links = None if result.kind == Kind.COMPLETE.value else [entry.link for entry in document.entries]
            yield from self._with_callbacks(self._checks(fetch, response, links))
        if fetch.role is Role.SUBSCRIPTION and result.failure is None and link is not None:
            yield from self._first_check(fetch, context_of(response))

    def _checks(
        self,
        fetch: Fetch,
        response: Response,
        links: Sequence[str | None] | None = (),
        is_unchanged: bool = False,
    ) -> Iterator[Request]:
        """Yield the request for the publisher's list, else for a sitemap, at the end of a walk.

        :param links: those of entries of the feed; None if it shows all of its entries
        """
        listed = list(self._list_checks.begin(fetch, response, is_unchanged=is_unchanged))
        yield from listed
        if not listed and links is not None:
            yield from self._sitemaps.begin(fetch, response, links)

    def _has_joined(self, response: Response) -> bool:
        pending, context = self._commits.find(response), context_of(response)
        if context.role is not Role.SUBSCRIPTION or pending is None or pending.result is None:
            return context.has_joined
        return joins(pending.result, pending.batch.stored)

    # Archives may have only entries that the subscription document has too; each of them has one at least.
    def _barren(self, response: Response, result: DocumentResult, was_read: bool) -> int:
        """Return how many documents in a row have been read without news, with this one.

        :param was_read: an earlier walk has read it: it is none of them
        """
        context, pending = context_of(response), self._commits.find(response)
        stored = {} if pending is None else pending.batch.stored
        if result.fetch.role is Role.SUBSCRIPTION or has_news(result, stored):
            return 0
        is_covered = result.fetch.role is Role.ARCHIVE and context.documents <= context.walk.page_size
        return context.barren + (not was_read and not (is_covered and result.versions))

    def _list(
        self, fetch: Fetch, response: Response, listed: DocumentList
    ) -> Iterator[Request | EntryVersion]:
        """Process a list of documents: yield the request for the first of them that is not processed."""
        if fetch.role is not Role.SUBSCRIPTION or "dataloss" in response.flags:
            yield from self._not_a_feed(fetch, response, NotAFeedError(ReasonKind.NOT_A_FEED, IS_LIST))
            return
        store, walk = self._store, context_of(response).walk
        if reading.is_snapshot(fetch, response):
            fetch = replace(fetch, role=Role.INDEX)
            walk = replace(walk, since=listed.created_at)
            yield self._request(requests.subscription(store.walks.read(fetch.feed).anew(), walk))
        unread = store.documents.find_first_unread(fetch.feed, listed.documents)
        result, step = reading.list_result(fetch, response, listed, unread)
        self._commits.record_document(response, result)
        if step is not None:
            yield self._request(requests.part(step, walk))

    def parse_part(self, response: Response, **cb_kwargs: Any) -> Iterator[Request | EntryVersion]:
        """Parse a document that a list names: yield the request for the next one, then its entries."""
        fetch = responses.fetch_from_response(response)
        try:
            document = reading.snapshot_page(fetch, ReaderExtension.of(self.crawler).read(response))
        except NotAFeedError as error:
            self._commits.lose(fetch, reading.unread(response, error))
            yield from self._next_part(fetch, context_of(response))
            return
        result, found = reading.read_document(fetch, response, document)
        following = list(self._next_part(fetch, context_of(response)))  # after octets are counted
        if not following:
            result = replace(result, replaces=snapshot.prefix_of(fetch.key))
        yield from self._commits.yield_document(response, document, result, found, following)

    def _next_part(self, fetch: Fetch, context: RequestContext) -> Iterator[Request]:
        """Yield the request for the next document of a list, even after a failure of this one."""
        step = self._store.documents.find_next_part(fetch.feed, fetch.key)
        if step is not None:
            yield self._request(requests.part(step, context.walk, context.documents + 1))

    def parse_check(self, response: Response, **cb_kwargs: Any) -> Iterator[Request | EntryVersion]:
        """Parse a document that was read before: yield the request for the next check, then its entries."""
        fetch, context = responses.fetch_from_response(response), context_of(response)
        if response.status == responses.NOT_MODIFIED:
            was_asked = responses.conditions(responses.request_of(response))
            same = reading.unchanged(fetch, response)
            yield from self._end_check(same if was_asked else same.failed(UNASKED), context)
            return
        try:
            is_missing = platforms.is_missing(response)
            document = platforms.no_page() if is_missing else ReaderExtension.of(self.crawler).read(response)
            platforms.check_format(response, document)
        except NotAFeedError as error:
            failure = reading.unread(response, error)
            yield from self._end_check(DocumentResult(fetch, failure=failure), context)
            return
        earlier = rechecks.earlier_reading(self._store, fetch, context.walk)
        result, found = reading.read_document(fetch, response, document, earlier)
        row = platforms.row_of(fetch, response)
        result = platforms.with_older(result, response, document, row, self._store, earlier)
        following = self._with_callbacks(rechecks.following(self._store, context, result.failure))
        if reading.has_hidden_news(response, result, earlier):
            following = chain(following, [self._request(requests.conditional(response))])
        yield from self._commits.yield_document(response, document, result, found, following)

    def _first_check(self, fetch: Fetch, context: RequestContext) -> Iterator[Any]:
        return self._with_callbacks(rechecks.first(self._store, self.settings, fetch, context))

    def _end_check(self, result: DocumentResult, context: RequestContext) -> Iterator[Any]:
        """Note a check without a new document; return the request for the next one."""
        self._commits.record_check(result)
        return self._with_callbacks(rechecks.following(self._store, context, result.failure))

    def parse_doubted(self, response: Response, **cb_kwargs: Any) -> Iterator[Request]:
        """Note a server that sends 304 for a document that has changed."""
        since = context_of(response).doubted_since
        was_asked = responses.conditions(responses.request_of(response))
        if response.status == responses.NOT_MODIFIED and was_asked and since is not None:
            self._commits.record_doubt(responses.fetch_from_response(response), since)
        return iter(())

    async def _open_captures(self) -> None:
        in_archives = any(options.web_archive for options in self.feeds.values())
        self.has_captures_left = bool(self.warc) or in_archives
        if self.has_captures_left:
            self._captures = Captures(self.crawler, self.warc, self.feeds)
            await self._captures.build()

    def read_captures(self) -> None:
        """Request the first capture of each feed, when all walks have ended.

        :raises DontCloseSpider: if there are captures
        """
        if self._captures is None or not self.has_captures_left:
            return
        self.has_captures_left = False
        first = self._captures.first()
        for request in first:
            self.crawler.engine.crawl(self._request(request))
        if first:
            raise DontCloseSpider

    def closed(self, reason: str) -> None:
        """Close the index of the WARC files."""
        if self._captures is not None:
            self._captures.close()

    def parse_capture(self, response: Response, **cb_kwargs: Any) -> Iterator[Request | EntryVersion]:
        """Parse a document of a web archive: yield the request for the next one, then its entries."""
        return iter(()) if self._captures is None else self._with_callbacks(self._captures.parse(response))

    def parse_timemap(self, response: Response, **cb_kwargs: Any) -> Iterator[Request]:
        """Parse what a web archive has of a document: yield the next request."""
        found = iter(()) if self._captures is None else self._captures.parse_timemap(response)
        return self._with_callbacks(found)

    @cached_property
    def _sitemaps(self) -> Sitemaps:
        return Sitemaps(self.crawler)

    @cached_property
    def _list_checks(self) -> ListChecks:
        return ListChecks(self.crawler)

    @cached_property
    def _commits(self) -> CommitMiddleware:
        return CommitMiddleware.of(self.crawler)

    def _not_a_feed(
        self, fetch: Fetch, response: Response, error: NotAFeedError
    ) -> Iterator[Request | EntryVersion]:
        context, failure = context_of(response), reading.unread(response, error)
        if platforms.is_probe(response):
            yield from self._not_a_page(fetch, response, failure)
            return
        api = platforms.api(response)
        if api is not None:
            yield self._request(requests.api(fetch, response, api))
            return
        url = next(map(normalised, filter(responses.is_fetchable, error.feeds)), None)
        is_first = context.referral is None and fetch.feed not in self._renamed
        if url is not None and is_first and context.is_new and fetch.role is Role.SUBSCRIPTION:
            known = self._store.feeds.find_at(url, fetch.feed)
            if known is not None:
                yield from self._crawl_as(known, fetch, response)
                return
            logger.info("%s is an HTML page; trying %s", fetch.requested_url, url)
            yield self._request(requests.subscription_elsewhere(fetch, response, url, is_page=True))
            return
        yield from self._give_up(fetch, failure, context)

    def _not_a_page(
        self, fetch: Fetch, response: Response, failure: DocumentFailure
    ) -> Iterator[Request | EntryVersion]:
        """Process the answer to a probe that is no page; one that is cut off is none."""
        if failure.kind is ReasonKind.CUT_OFF or failure.state is State.KNOWN:
            self._commits.lose(fetch, replace(failure, state=State.KNOWN))
            return
        yield from self._read(fetch, response, platforms.no_page())

    def _name_of(self, fetch: Fetch, context: RequestContext) -> str:
        """Return the URL of the feed that a subscription document belongs to: the user's, or a stored feed's.

        The feed of a web page has its own URL.
        """
        # Once for each feed: the answers of a server need not be consistent.
        is_renamed = fetch.feed in self._renamed
        if fetch.role is not Role.SUBSCRIPTION or not context.is_new or is_renamed:
            return fetch.feed
        referral = context.referral
        is_of_page = referral is not None and referral.is_page
        own = normalised(fetch.requested_url) if is_of_page else fetch.feed
        if referral is not None and referral.loss is not None:
            return own
        found = self._locations.get(fetch.location) if fetch.location else None
        for url in dict.fromkeys(filter(None, (fetch.requested_url, own, fetch.location))):
            found = found or self._store.feeds.find_at(url, fetch.feed)
        if found is None and own == fetch.feed != fetch.location:
            # What has been read is not in the store before it is committed.
            self._locations[fetch.location or own] = own
        return found or own

    def _crawl_as(self, name: str, fetch: Fetch, response: Response) -> Iterator[Request]:
        """Crawl a new feed under another URL: yield the first requests, unless this run has that feed."""
        feed, walk, extension = fetch.feed, context_of(response).walk, StoreExtension.of(self.crawler)
        # The new name must not make a host one that the user gave.
        is_there = addresses.origin(name) == addresses.origin(feed)
        special = fetch.special and fetch.special & FEED_IS_SPECIAL if is_there else 0
        try:
            is_under_way = self._store.walks.rename(feed, name, now(), special)
        except LeaseError as error:
            extension.yield_to_other(feed, error)
            return
        said = "Found the feed %s, which is crawled instead of %s"
        logger.info(said, name, feed, extra={"is_for_users": True})
        self._renamed.add(name)
        extension.skipped_feeds.add(feed)
        is_as_safe = addresses.may_have_headers(name, feed)
        given = walk.options if is_as_safe else replace(walk.options, headers={})
        stored = self._store.subscriptions.read_options([name]).get(name, {})
        options = FeedOptions(**{**stored, **given.plain()})
        if self._captures is not None:
            self.feeds.setdefault(name, options)
        if is_under_way:
            return
        if self.deltafetch_reset:
            extension.forget([name])
        for known in extension.begin_walks({name: options.plain()}):
            with extension.under_way.begun(name):
                yield from self.first(known, options)

    def _give_up(self, fetch: Fetch, failure: DocumentFailure, context: RequestContext) -> Iterator[Request]:
        """Note a failure; yield the request for another URL of the document, if any."""
        failure = platforms.explained(failure, context)
        if failure.kind is ReasonKind.CHALLENGE and fetch.role is Role.SUBSCRIPTION:
            fetch = replace(fetch, retry_after=shift(fetch.fetched, CHALLENGED_AGAIN))
        if context.is_given:
            # The failure at the earlier URL is stored already.
            logger.info("%s %s", fetch.requested_url, failure.detail)
            yield from map(self._request, requests.last_known(fetch, context))
            return
        self._commits.lose(fetch, failure)
        if failure.state is not State.KNOWN:
            yield from map(self._request, requests.as_given(fetch, context))
            yield from map(self._request, requests.home_again(fetch, context, failure))

    def lose(self, failure: Failure) -> list[Request]:
        """Note why a document could not be fetched; return the next requests (of a list, say)."""
        request = failure.request  # type: ignore[attr-defined]
        if context_of(request).role in (Role.CAPTURE, Role.TIMEMAP):
            lost = iter(()) if self._captures is None else self._captures.lose(failure)
            return list(self._with_callbacks(lost))
        fetch = responses.fetch_from_request(request, wait_of(failure))
        reason, context = loss_of(failure), context_of(request)
        if platforms.is_probe(request):
            # Left for a later run: it is no failure of the feed's.
            reason = replace(reason, state=State.KNOWN)
        if fetch.is_check:
            return list(self._end_check(DocumentResult(fetch, failure=reason), context))
        if context.doubted_since is not None:
            # Whether 304 responses have hidden something is not known.
            self._commits.record_doubt(fetch, context.doubted_since, reason)
            return []
        if fetch.role is Role.LISTED:
            logger.info("%s %s", fetch.requested_url, reason.detail)
            checks = self._list_checks if context.sitemap is None else self._sitemaps
            following = () if reason.state is State.KNOWN else checks.lose(fetch, request)
            return list(self._with_callbacks(iter(following)))
        others = list(self._give_up(fetch, reason, context))
        if fetch.role is not Role.PART or reason.state is State.KNOWN:
            return others
        return list(self._next_part(fetch, context))
