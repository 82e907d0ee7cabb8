"""The sitemaps of a site, which are read once for all of its feeds."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

from fhcrawl.crawling import requests
from fhcrawl.crawling.context import context_of
from fhcrawl.downloadermiddlewares import politeness
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.logical_feed.listings import SitemapCheck
from fhcrawl.logical_feed.results import State
from fhcrawl.spiders.stages.stage import Row, Stage
from fhcrawl.utils import addresses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from fhcrawl.crawling.feedcrawl import FeedCrawl
    from fhcrawl.logical_feed.results import DocumentFailure, Fetch
    from fhcrawl.spiders.stages.stage import Rows

logger = logging.getLogger(__name__)


class Sitemaps(Stage):
    """Reads the sitemaps of a feed's site if they are due, and compares the feed with them.

    The other feeds of the site wait for the feed that reads them.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        # The feeds that wait for the sitemaps of a site, by the site.
        self._waiting: dict[str, list[str]] = {}

    @property
    def rows(self) -> Rows:
        return {SitemapCheck: Row(self._parse, self._lose)}

    def begin(self, feed: FeedCrawl) -> Iterator[Request]:
        last, store = feed.last, self._store.sitemaps
        if last is None or last.is_complete or feed.is_listed or not feed.walk.sitemaps:
            return
        fetch = last.fetch
        site = self._find_site(fetch)
        if site is None:
            with self._unless_taken(feed.url):
                store.note_none(feed.url, fetch.fetched)
        elif store.is_postponed(site, fetch.fetched):
            return
        elif site in self._waiting:
            self._waiting[site].append(feed.url)
            self._extension.under_way.held.add(feed.url)
        elif store.is_due(site, fetch.fetched):
            self._waiting[site] = []
            sitemaps = filter(requests.is_fetchable, politeness.sitemaps(self._crawler, site))
            yield from self._next(feed, fetch, fetch.url, SitemapCheck(site).with_more(sitemaps))
        else:
            self._compare(feed.url, site)

    def _find_site(self, fetch: Fetch) -> str | None:
        links = self._store.sitemaps.read_links(fetch.feed)
        for site, number in Counter(filter(None, map(addresses.site, links))).most_common(1):
            # If a feed links to many sites, no site has all entries; nor has one of somebody else.
            is_own = any(politeness.is_of_domain(site, url) for url in (fetch.feed, fetch.url))
            if is_own and 2 * number >= len(links):
                return site
        return None

    def _next(self, feed: FeedCrawl, fetch: Fetch, via: str, check: SitemapCheck) -> Iterator[Request]:
        next_check, store = check.next_check(), self._store.sitemaps
        if next_check is not None:
            validators = store.find_validators(check.site, next_check.requested[-1])
            yield requests.sitemap(feed.walk, fetch.position, via, next_check, validators)
        else:
            store.note_read(check.site, fetch.fetched, check.is_part, check.requested)
            self._end(feed, check)

    def _end(self, feed: FeedCrawl, check: SitemapCheck) -> None:
        for url in (feed.url, *self._waiting.pop(check.site, ())):
            self._extension.under_way.held.discard(url)
            self._compare(url, check.site)

    def _compare(self, feed: str, site: str) -> None:
        with self._unless_taken(feed):
            report = self._store.sitemaps.finish(feed, site)
            if report is not None and report.in_words:
                logger.info("%s: %s", feed, report.in_words)

    def _parse(self, feed: FeedCrawl, fetch: Fetch, response: Response) -> Iterator[Request]:
        check, store = context_of(response).task, self._store.sitemaps
        if not isinstance(check, SitemapCheck):
            return
        url, urls, is_index = check.requested[-1], dict[str, str](), False
        if response.status == requests.NOT_MODIFIED and requests.was_conditional(response):
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
        yield from self._next(feed, fetch, response.url, check)

    def _lose(
        self, feed: FeedCrawl, fetch: Fetch, request: Request, failure: DocumentFailure
    ) -> Iterator[Request]:
        logger.info("%s %s", fetch.requested_url, failure.detail)
        check, store = context_of(request).task, self._store.sitemaps
        if not isinstance(check, SitemapCheck):
            return
        if fetch.retry_after is not None:
            store.postpone(check.site, fetch.retry_after)
        if failure.state is State.KNOWN or fetch.retry_after is not None:
            self._end(feed, check)
            return
        if failure.state is State.MISSING:
            store.note(check.site, check.requested[-1], {})
        yield from self._next(feed, fetch, request.url, check)
