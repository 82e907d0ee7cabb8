"""The posts that only the sitemaps of a site name (FHCRAWL_SITEMAP_POSTS)."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from fhcrawl.crawling import requests
from fhcrawl.crawling.context import context_of
from fhcrawl.downloadermiddlewares import politeness
from fhcrawl.exceptions import NotAFeedError, TimeIsOverError
from fhcrawl.logical_feed.listings import SitemapPost, comparable_url
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
    from fhcrawl.spiders.stages.stage import Output, Rows

logger = logging.getLogger(__name__)
# After these, a page is not requested again until its `lastmod` has changed.
LASTING = (State.MISSING, State.REFUSED, State.INVALID)


class SitemapPosts(Stage):
    """Reads pages of sitemaps that look like entries of a feed, and to which no entry links.

    One request after another: the next page is chosen when a page has been read.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._limit = crawler.settings.getint("FHCRAWL_SITEMAP_POSTS")
        # The pages that are left to be read, by the feed. After a restart, they are chosen again.
        self._left: dict[str, list[SitemapPost]] = {}

    @property
    def rows(self) -> Rows:
        return {SitemapPost: Row(self._parse, self._lose)}

    def begin(self, feed: FeedCrawl) -> Iterator[Request]:
        last = feed.last
        if self._limit and last is not None and not last.is_complete:
            yield from self._next(feed, last.fetch, last.fetch.url)

    def _next(
        self, feed: FeedCrawl, fetch: Fetch, via: str, read: SitemapPost | None = None
    ) -> Iterator[Request]:
        store, number = self._store.sitemaps, 0 if read is None else read.number
        if feed.url not in self._left:
            posts = store.find_posts(feed.url, self._limit - number)
            self._left[feed.url] = [post for post in posts if read is None or post.url != read.url][::-1]
        while self._left[feed.url]:
            post = replace(self._left[feed.url].pop(), number=number + 1)
            is_own = any(politeness.is_of_domain(post.url, url) for url in (feed.url, fetch.url))
            is_postponed = store.is_postponed(addresses.site(post.url), fetch.fetched)
            if is_own and not is_postponed and requests.is_fetchable(post.url):
                yield requests.sitemap_post(feed.walk, via, post)
                return
        del self._left[feed.url]

    def _parse(self, feed: FeedCrawl, fetch: Fetch, response: Response) -> Output:
        post = context_of(response).task
        if not isinstance(post, SitemapPost):
            return
        yield from self._next(feed, fetch, response.url, post)
        if response.status == requests.NOT_MODIFIED:
            self._note(feed, post)
            return
        try:
            document = self._reader.read(response)
        except NotAFeedError as error:
            logger.info("%s is not read as a post: %s", response.url, error)
            if not isinstance(error, TimeIsOverError):
                self._note(feed, post)
            return
        # It may be the page of a feed's entry, at another URL.
        links = {comparable_url(entry.link or "") for entry in document.entries} - {comparable_url(post.url)}
        if links and not links.isdisjoint(map(comparable_url, self._store.sitemaps.read_links(feed.url))):
            document.entries.clear()
        result, versions = self._read(feed, fetch, response, document)
        yield from self._yield_document(response, document, result, versions)

    def _note(self, feed: FeedCrawl, post: SitemapPost) -> None:
        with self._unless_taken(feed.url):
            self._store.sitemaps.note_post(feed.url, post)

    def _lose(
        self, feed: FeedCrawl, fetch: Fetch, request: Request, failure: DocumentFailure
    ) -> Iterator[Request]:
        logger.info("%s %s", fetch.requested_url, failure.detail)
        post, site = context_of(request).task, addresses.site(fetch.requested_url)
        if not isinstance(post, SitemapPost):
            return
        if fetch.retry_after is not None and site:
            self._store.sitemaps.postpone(site, fetch.retry_after)
        if failure.state is State.KNOWN or fetch.retry_after is not None:
            self._left.pop(feed.url, None)
            return
        if failure.state in LASTING:
            self._note(feed, post)
        yield from self._next(feed, fetch, request.url, post)
