"""The comparison of a feed with its publisher's list of entries (WordPress's API)."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from fhcrawl.crawling import requests
from fhcrawl.crawling.context import context_of, header
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.logical_feed import listings
from fhcrawl.logical_feed.listings import ListCheck, Listing
from fhcrawl.logical_feed.platforms import NOT_FOUND
from fhcrawl.logical_feed.results import State, latest_time
from fhcrawl.spiders.stages.stage import Row, Stage
from fhcrawl.utils import addresses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response

    from fhcrawl.crawling.feedcrawl import FeedCrawl
    from fhcrawl.logical_feed import ChainPosition
    from fhcrawl.logical_feed.results import DocumentFailure, Fetch
    from fhcrawl.spiders.stages.stage import Output, Rows

logger = logging.getLogger(__name__)
DEFAULT_PAGE_SIZE = 10


class Posts(Stage):
    """Compares the stored entries with the publisher's list, and reads the pages with what is missing."""

    @property
    def rows(self) -> Rows:
        return {ListCheck: Row(self._parse, self._lose)}

    def begin(self, feed: FeedCrawl) -> Iterator[Request]:
        last = feed.last
        check = self._begin_check(feed) if feed.walk.options.platforms else None
        if last is not None and check is not None:
            feed.is_listed = True
            fetch = last.fetch
            place = fetch.position.older_position()
            yield requests.list_check(feed.walk, place, fetch.url, last.documents + 1, check)

    def _begin_check(self, feed: FeedCrawl) -> ListCheck | None:
        last = feed.last
        if last is None:
            return None
        fetch, api = last.fetch, last.api
        feed_url = listings.first_page_url(fetch.location or fetch.requested_url)
        list_url = listings.list_url(api, feed_url) if api and requests.is_fetchable(api) else None
        if list_url is None and not last.is_listed:
            return None
        earlier = self._store.feeds.read_stored_entries(fetch.feed, fetch.position.walk).before
        if last.is_listed and earlier:
            list_url = earlier.api
        if list_url is None or self._store.sitemaps.is_postponed(addresses.site(list_url), fetch.fetched):
            return None
        size = feed.walk.page_size or (earlier.size if earlier else DEFAULT_PAGE_SIZE)
        return ListCheck.begin(list_url, feed_url, size, earlier, last.is_unchanged)

    def _parse(self, feed: FeedCrawl, fetch: Fetch, response: Response) -> Output:
        check = context_of(response).task
        if not isinstance(check, ListCheck):
            return
        if check.is_reading:
            yield from self._next_page(feed, fetch, response, check)
            yield from self._yield_listed(feed, fetch, response)
            return
        total, shared_ids = header(response, "X-WP-Total"), self._store.entries.read_shared_ids(fetch.feed)
        listed = listings.read_posts(response.body, total, check.feed_url, shared_ids)
        if listed is None:
            logger.info("%s is not a list of posts", fetch.requested_url)
            return
        entries = self._store.feeds.read_stored_entries(fetch.feed, fetch.position.walk)
        ids = list({post.id for post in listed.posts})
        stored = self._store.entries.find_winners(fetch.feed, ids, latest_time(fetch.fetched))
        outcome = listings.follow(check, listed, stored, entries, fetch.fetched)
        with self._unless_taken(fetch.feed):
            self._note_begun(fetch, check)
            if isinstance(outcome, ListCheck):
                yield self._request(feed, fetch.position, response, outcome)
            elif outcome is None:
                logger.info("%s changed while it was being read", check.listing.api)
            else:
                self._store.feeds.note_listing(fetch.feed, outcome)
                self._crawler.stats.inc_value("fhcrawl/entry/unlisted", outcome.unlisted)
                unlisted = f"; the store has {outcome.unlisted:,} more that are not listed"
                logger.info("%s: %s%s", fetch.feed, outcome.in_words, unlisted if outcome.unlisted else "")

    # A 304 does not name the API: without this, an unchanged feed would not be checked by a later run if this
    # check does not finish.
    def _note_begun(self, fetch: Fetch, check: ListCheck) -> None:
        before = self._store.feeds.read_stored_entries(fetch.feed, fetch.position.walk).before
        if before is None or not before.has_ended:
            self._store.feeds.note_listing(fetch.feed, Listing(0, check.listing.api, check.listing.size))

    def _request(
        self, feed: FeedCrawl, place: ChainPosition, last: Response | Request, check: ListCheck
    ) -> Request:
        documents = context_of(last).documents + 1
        return requests.list_check(feed.walk, place, last.url, documents, check)

    def _next_page(
        self, feed: FeedCrawl, fetch: Fetch, last: Response | Request, check: ListCheck
    ) -> Iterator[Request]:
        next_check = check.after_page()
        if next_check is not None:
            yield self._request(feed, fetch.position, last, next_check)

    def _yield_listed(self, feed: FeedCrawl, fetch: Fetch, response: Response) -> Output:
        if response.status == NOT_FOUND:
            return
        try:
            document = self._reader.read(response)
        except NotAFeedError as error:
            logger.info("%s is not a feed: %s", fetch.requested_url, error)
            return
        result, versions = self._read(feed, fetch, response, document)
        yield from self._yield_document(response, document, result, versions)

    def _lose(
        self, feed: FeedCrawl, fetch: Fetch, request: Request, failure: DocumentFailure
    ) -> Iterator[Request]:
        logger.info("%s %s", fetch.requested_url, failure.detail)
        check, site = context_of(request).task, addresses.site(fetch.requested_url)
        if fetch.retry_after is not None and site:
            self._store.sitemaps.postpone(site, fetch.retry_after)
            if isinstance(check, ListCheck):
                with self._unless_taken(fetch.feed):
                    self._note_begun(fetch, check)
        is_left = failure.state is State.KNOWN or fetch.retry_after is not None
        if isinstance(check, ListCheck) and check.is_reading and not is_left:
            yield from self._next_page(feed, fetch, request, replace(check, has_failed=True))
