"""Checks what the store has of a feed against its publisher's own list of entries, after its walk."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from fhcrawl.crawling import reading, requests, responses, wordpress
from fhcrawl.crawling.context import context_of
from fhcrawl.documents import post_list
from fhcrawl.exceptions import LeaseError, NotAFeedError
from fhcrawl.extensions.reader import ReaderExtension
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import listings
from fhcrawl.logical_feed.listings import Listing
from fhcrawl.logical_feed.platforms import NOT_FOUND
from fhcrawl.logical_feed.versions import latest_time
from fhcrawl.spidermiddlewares.commit import CommitMiddleware

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from fhcrawl.crawling.pending import EntryVersion
    from fhcrawl.logical_feed.listings import ListCheck
    from fhcrawl.logical_feed.results import Fetch
    from fhcrawl.store import Store

logger = logging.getLogger(__name__)


class ListChecks:
    """The checks of a crawl; `logical_feed.listings` has their rules."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    def begin(self, fetch: Fetch, response: Response, is_unchanged: bool = False) -> Iterator[Request]:
        """Yield the first request of the check of a feed whose walk has ended; nothing if it has no list.

        :param response: to the last request of the walk
        :param is_unchanged: it says that the subscription document is unchanged
        """
        context = context_of(response)
        walk = context.walk
        if not walk.options.platforms or fetch.role not in wordpress.WALKED:
            return
        feed_url = wordpress.first_page(fetch.location or fetch.requested_url)
        # WordPress names its API in each response but a 304.
        api = wordpress.list_of(response, feed_url)
        is_known = is_unchanged and context.last_reading is not None and context.last_reading.is_listed
        if api is None and not is_known:
            return
        before = self._store.feeds.read_stored_entries(fetch.feed, fetch.position.walk).before
        if is_known and before:
            api = before.api
        size = walk.page_size or (before.size if before else wordpress.DEFAULT_PAGE_SIZE)
        if api is not None:
            check = listings.begin(api, feed_url, size, before, is_unchanged=is_unchanged)
            yield requests.listed(fetch, response, check)

    def parse(self, fetch: Fetch, response: Response) -> Iterator[Request | EntryVersion]:
        """Parse a response to a request of a check: yield the next request, then the entries of a page."""
        check = context_of(response).list_check
        if check is None:
            return
        if check.is_reading:
            yield from self._read_page(fetch, response, check)
            return
        total = responses.header(response, "X-WP-Total")
        listed = post_list.read(response.body, total, wordpress.id_field(check.feed_url))
        if listed is None:
            logger.info("%s is not a list of posts", fetch.requested_url)
            return
        entries = self._store.feeds.read_stored_entries(fetch.feed, fetch.position.walk)
        ids = list({post.id for post in listed.posts})
        stored = self._store.entries.find_winners(fetch.feed, ids, latest_time(fetch.fetched))
        following = listings.follow(check, listed, stored, entries, fetch.fetched)
        # There is a list: if this check does not come to its end, a later run makes one.
        is_first = entries.before is None or not entries.before.has_ended
        if is_first and not self._note(fetch, Listing.begun(check.api, check.size)):
            return
        if isinstance(following, Listing):
            self._end(fetch, following)
        elif following is not None:
            yield requests.listed(fetch, response, following)
        else:
            logger.info("%s changed while it was being read", check.api)

    def _read_page(
        self, fetch: Fetch, response: Response, check: ListCheck
    ) -> Iterator[Request | EntryVersion]:
        """Read a page of the feed that has listed posts which are not held."""
        yield from self._after(fetch, response, check)
        if response.status == NOT_FOUND:
            return
        try:
            document = ReaderExtension.of(self._crawler).read(response)
        except NotAFeedError as error:
            logger.info("%s is not a feed: %s", fetch.requested_url, error)
            return
        result, found = reading.read_document(fetch, response, document)
        result = replace(result, older_document=None)
        yield from CommitMiddleware.of(self._crawler).yield_document(response, document, result, found)

    def lose(self, fetch: Fetch, request: Request) -> Iterator[Request]:
        """Yield the request that follows one that has failed: for the next page of the feed, if there is one.

        Without the list, the feed is what it is without one.
        """
        check = context_of(request).list_check
        if check is not None and check.is_reading:
            yield from self._after(fetch, request, replace(check, has_failed=True))

    def _after(self, fetch: Fetch, before: Request | Response, check: ListCheck) -> Iterator[Request]:
        """Yield the request that follows one for a page of the feed; none at the end of a failed check."""
        if len(check.again) > 1:
            yield requests.listed(fetch, before, replace(check, again=check.again[1:]))
        elif not check.has_failed:
            last = self._store.feeds.read_stored_entries(fetch.feed, fetch.position.walk).before
            yield requests.listed(fetch, before, listings.after_reading(check, last))

    def _note(self, fetch: Fetch, found: Listing) -> bool:
        """Store what is known of a list; return whether the feed is still this crawl's."""
        try:
            self._store.feeds.note_listing(fetch.feed, found)
        except LeaseError as error:
            StoreExtension.of(self._crawler).yield_to_other(fetch.feed, error)
            return False
        return True

    def _end(self, fetch: Fetch, found: Listing) -> None:
        if not self._note(fetch, found):
            return
        self._crawler.stats.inc_value("fhcrawl/entry/unlisted", found.unlisted)
        gone = f"; the store has {found.unlisted:,} more that are not listed" if found.unlisted else ""
        logger.info("%s: %s%s", fetch.feed, found.in_words, gone)

    @property
    def _store(self) -> Store:
        return StoreExtension.of(self._crawler).store
