"""Reads what a site lists of its feed's entries, after the feed's walk: WordPress's posts, and sitemaps.

The rules are in `logical_feed.listings`.
"""

from __future__ import annotations

import contextlib
import logging
from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy.utils.gz import gunzip
from scrapy.utils.sitemap import Sitemap

from fhcrawl.crawling import reading, requests, responses
from fhcrawl.crawling.context import context_of
from fhcrawl.documents.links import header_targets
from fhcrawl.downloadermiddlewares import politeness
from fhcrawl.exceptions import LeaseError, NotAFeedError
from fhcrawl.extensions.reader import ReaderExtension
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import Role, listings
from fhcrawl.logical_feed.listings import LONGEST_URL, MOST_PAGES, ListCheck, Listing, SitemapCheck
from fhcrawl.logical_feed.platforms import NOT_FOUND
from fhcrawl.logical_feed.versions import latest_time
from fhcrawl.spidermiddlewares.commit import CommitMiddleware

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from fhcrawl.logical_feed.results import Fetch
    from fhcrawl.pipelines import EntryVersion
    from fhcrawl.store import Store

logger = logging.getLogger(__name__)

WALKED = (Role.SUBSCRIPTION, Role.PAGE)
# The relation of the link to WordPress's API, in the headers of each response but a 304.
API_RELATION = "https://api.w.org/"
DEFAULT_PAGE_SIZE = 10
GZIP = b"\x1f\x8b"
# libxml2's and gunzip's.
BLANK = b" \t\r\n\xef\xbb\xbf"
MALFORMED = (SyntaxError, OSError, EOFError, StopIteration, ValueError)


class _Lists:
    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @property
    def _store(self) -> Store:
        return StoreExtension.of(self._crawler).store

    @contextlib.contextmanager
    def _owned(self, fetch: Fetch) -> Iterator[None]:
        try:
            yield
        except LeaseError as error:
            StoreExtension.of(self._crawler).yield_to_other(fetch.feed, error)


class ListChecks(_Lists):
    """Compares feeds of WordPress with its lists of posts."""

    def begin(self, fetch: Fetch, response: Response, is_unchanged: bool = False) -> Iterator[Request]:
        """Yield the first request of the check of a feed whose walk has ended, if it has a list."""
        context = context_of(response)
        walk = context.walk
        if not walk.options.platforms or fetch.role not in WALKED:
            return
        feed_url = listings.first_page(fetch.location or fetch.requested_url)
        links = header_targets(responses.links(response), response.url)
        root = next((url for relation, url in links if url and relation == API_RELATION), None)
        api = listings.list_url(root, feed_url) if root and responses.is_fetchable(root) else None
        is_known = is_unchanged and context.last_reading is not None and context.last_reading.is_listed
        if api is None and not is_known:
            return
        before = self._store.feeds.read_stored_entries(fetch.feed, fetch.position.walk).before
        if is_known and before:
            api = before.api
        size = walk.page_size or (before.size if before else DEFAULT_PAGE_SIZE)
        if api is not None:
            yield requests.listed(fetch, response, ListCheck.begin(api, feed_url, size, before, is_unchanged))

    def parse(self, fetch: Fetch, response: Response) -> Iterator[Request | EntryVersion]:
        """Parse a response to a request of a check: yield the next request, then the entries of a page."""
        check = context_of(response).list_check
        if check is None:
            return
        if check.is_reading:
            yield from self._after_page(fetch, response, check)
            yield from self._read_page(fetch, response)
            return
        listed = listings.read_posts(response.body, responses.header(response, "X-WP-Total"), check.feed_url)
        if listed is None:
            logger.info("%s is not a list of posts", fetch.requested_url)
            return
        note = self._store.feeds.note_listing
        entries = self._store.feeds.read_stored_entries(fetch.feed, fetch.position.walk)
        ids = list({post.id for post in listed.posts})
        stored = self._store.entries.find_winners(fetch.feed, ids, latest_time(fetch.fetched))
        following = listings.follow(check, listed, stored, entries, fetch.fetched)
        with self._owned(fetch):
            # A 304 does not name the API: without this, an unchanged feed would not be checked by a later run
            # if this check does not come to its end.
            if entries.before is None or not entries.before.has_ended:
                note(fetch.feed, Listing(0, check.listing.api, check.listing.size))
            if isinstance(following, ListCheck):
                yield requests.listed(fetch, response, following)
            elif following is None:
                logger.info("%s changed while it was being read", check.listing.api)
            else:
                note(fetch.feed, following)
                self._crawler.stats.inc_value("fhcrawl/entry/unlisted", following.unlisted)
                more = f"; the store has {following.unlisted:,} more that are not listed"
                logger.info("%s: %s%s", fetch.feed, following.in_words, more if following.unlisted else "")

    def _after_page(self, fetch: Fetch, page: Response | Request, check: ListCheck) -> Iterator[Request]:
        following = check.after_page()
        if following is not None:
            yield requests.listed(fetch, page, following)

    def _read_page(self, fetch: Fetch, response: Response) -> Iterator[Request | EntryVersion]:
        if response.status == NOT_FOUND:
            return
        try:
            document = ReaderExtension.of(self._crawler).read(response)
        except NotAFeedError as error:
            logger.info("%s is not a feed: %s", fetch.requested_url, error)
            return
        result, versions = reading.read_document(fetch, response, document)
        result = replace(result, older_document=None)
        yield from CommitMiddleware.of(self._crawler).yield_document(response, document, result, versions)

    def lose(self, fetch: Fetch, request: Request) -> Iterator[Request]:
        """Yield the request for the next page of the feed, if there is one, after one that has failed."""
        check = context_of(request).list_check
        if check is not None and check.is_reading:
            yield from self._after_page(fetch, request, replace(check, has_failed=True))


class Sitemaps(_Lists):
    """Reads the sitemaps of feeds' sites."""

    def begin(self, fetch: Fetch, response: Response, links: Iterable[str | None] = ()) -> Iterator[Request]:
        """Yield the request for the first sitemap, if it is time for one.

        :param links: those of the entries of the last document; () if it is unchanged
        """
        if not context_of(response).walk.sitemaps or fetch.role not in WALKED:
            return
        known = [link for link in links if link] or self._store.sitemaps.read_links(fetch.feed)
        sites = Counter(f"{parts.scheme}://{parts.netloc}" for parts in map(urlsplit, known) if parts.netloc)
        for site, number in sites.most_common(1):
            # Of a feed that links to many sites, none has all entries.
            if 2 * number < len(known):
                return
            named = politeness.sitemaps(self._crawler, site) or [f"{site}/sitemap.xml"]
            check = SitemapCheck().with_more(filter(responses.is_fetchable, named))
            yield from self._next(fetch, response, check)

    def _next(self, fetch: Fetch, before: Response | Request, check: SitemapCheck) -> Iterator[Request]:
        following = check.following()
        if following is not None:
            yield requests.sitemap(fetch, before, following)
        elif check.requested:
            report = self._store.sitemaps.finish(fetch.feed, fetch.fetched, check.is_part)
            if report.in_words:
                logger.info("%s: %s", fetch.feed, report.in_words)

    def parse(self, fetch: Fetch, response: Response) -> Iterator[Request]:
        """Read a sitemap, and yield the request for the next one."""
        check, pages = context_of(response).sitemap or SitemapCheck(), []
        try:
            urls, is_index = read_sitemap(response.body)
        except MALFORMED as error:
            logger.info("%s is not a sitemap: %s", response.url, error)
        else:
            named = filter(responses.is_fetchable, urls)
            if is_index:
                check = check.with_more(named)
            else:
                pages = listings.like_entries(named, self._store.sitemaps.read_links(fetch.feed))
        with self._owned(fetch):
            is_first = len(check.requested) == 1
            self._store.sitemaps.note(fetch.feed, check.requested[-1], pages, is_first)
            yield from self._next(fetch, response, check)

    def lose(self, fetch: Fetch, request: Request) -> Iterator[Request]:
        """Yield the request that follows one that has failed."""
        check = context_of(request).sitemap
        with self._owned(fetch):
            yield from () if check is None else self._next(fetch, request, check)


def read_sitemap(body: bytes) -> tuple[list[str], bool]:
    """Return the URLs that a sitemap names, and whether they are those of other sitemaps.

    :raises SyntaxError, OSError, EOFError, StopIteration, ValueError: if it is not a sitemap
    """
    if body.startswith(GZIP):
        body = gunzip(body, max_size=requests.MOST_OCTETS)
    if not body.lstrip(BLANK).startswith(b"<"):
        # sitemaps.org/protocol.html, 'Other Sitemap formats': a text file has one URL a line.
        lines = map(str.strip, body.decode("utf-8-sig").splitlines()[:MOST_PAGES])
        urls = list(filter(None, lines))
        if not all(url.startswith(("http://", "https://")) for url in urls):
            raise ValueError("its lines are not URLs")
        return urls, False
    sitemap = Sitemap(body)
    if sitemap.type not in ("urlset", "sitemapindex"):
        raise ValueError(f"its root element is {sitemap.type}")
    listed = islice(sitemap, MOST_PAGES)
    # What lists news has no other pages (the last two days' news).
    urls = [page["loc"] for page in listed if "news" not in page]
    return [url for url in urls if len(url) <= LONGEST_URL], sitemap.type == "sitemapindex"
