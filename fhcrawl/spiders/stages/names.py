"""The feed that a new subscription document belongs to: the URL under which the store has it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from fhcrawl.crawling import requests
from fhcrawl.crawling.context import FEED_IS_SPECIAL, special_hosts_to_store
from fhcrawl.crawling.subscriptions import FeedOptions
from fhcrawl.exceptions import LeaseError
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import Role
from fhcrawl.utils import addresses
from fhcrawl.utils.addresses import tidied
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from fhcrawl.crawling.context import RequestContext
    from fhcrawl.crawling.feedcrawl import FeedCrawl
    from fhcrawl.logical_feed.results import Fetch

    BeginElsewhere = Callable[[str, FeedOptions, bool], Iterator[Request]]

logger = logging.getLogger(__name__)


class Names:
    """Finds the feeds of new subscription documents, and crawls a feed under the name that it has.

    :param begin_elsewhere: called with the URL of a feed to which another URL has led, its options, and
        whether this run has it already; yields its first requests
    """

    def __init__(self, crawler: Crawler, begin_elsewhere: BeginElsewhere) -> None:
        self._extension = StoreExtension.of(crawler)
        self._store = self._extension.store
        self._begin_elsewhere = begin_elsewhere
        # Feeds that other URLs have led to; and the new feeds that have moved, by their present location.
        self.renamed: set[str] = set()
        self._locations: dict[str, str] = {}

    def find(self, fetch: Fetch, context: RequestContext) -> str:
        """Return the URL under which the store has the feed of a document, or will have it."""
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

    def crawl_as(self, name: str, feed: FeedCrawl, response: Response) -> Iterator[Request]:
        """Yield the first requests of the feed with another name, which gets what was received."""
        url, walk, extension = feed.url, feed.walk, self._extension
        stored_special = special_hosts_to_store(walk)
        # The host of the new name is not one that the user has entered.
        is_same_host = addresses.origin(name) == addresses.origin(url)
        special = stored_special and stored_special & FEED_IS_SPECIAL if is_same_host else 0
        try:
            is_under_way = self._store.walks.rename(url, name, now(), special)
        except LeaseError as error:
            extension.yield_to_other(url, error)
            return
        message = "Found the feed %s, which is crawled instead of %s"
        logger.info(message, name, url, extra={"is_for_users": True})
        self.renamed.add(name)
        extension.skipped_feeds.add(url)
        may_have_headers = addresses.may_have_headers(name, url)
        user_options = walk.options if may_have_headers else replace(walk.options, headers={})
        stored_options = self._store.subscriptions.read_options([name]).get(name, {})
        options = FeedOptions(**{**stored_options, **user_options.plain()})
        for request in self._begin_elsewhere(name, options, is_under_way):
            yield requests.with_response(request, response)
