"""Reads the sitemaps of a feed's site after its walk; `logical_feed.sitemaps` has the rules."""

from __future__ import annotations

import contextlib
import logging
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy.utils.gz import gunzip
from scrapy.utils.sitemap import Sitemap

from fhcrawl.crawling import requests, responses
from fhcrawl.crawling.context import context_of
from fhcrawl.downloadermiddlewares import politeness
from fhcrawl.exceptions import LeaseError
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import Role, sitemaps
from fhcrawl.logical_feed.sitemaps import LONGEST_URL, MOST_PAGES, SitemapCheck

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from fhcrawl.logical_feed.results import Fetch
    from fhcrawl.store import Store

logger = logging.getLogger(__name__)

WALKED = (Role.SUBSCRIPTION, Role.PAGE)
GZIP = b"\x1f\x8b"
# libxml2's and gunzip's.
BLANK = b" \t\r\n\xef\xbb\xbf"
MALFORMED = (SyntaxError, OSError, EOFError, StopIteration, ValueError)


class Sitemaps:
    """The looks of a crawl at sitemaps."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    def begin(self, fetch: Fetch, response: Response, links: Iterable[str | None] = ()) -> Iterator[Request]:
        """Yield the request for the first sitemap, if it is time for one.

        :param response: to the last request of the walk
        :param links: those of its entries; () if it is unchanged
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
            self._end(fetch, check)

    def parse(self, fetch: Fetch, response: Response) -> Iterator[Request]:
        """Read a sitemap, and yield the request for the next one."""
        check, pages = context_of(response).sitemap or SitemapCheck(), []
        try:
            urls, is_index = read(response.body)
        except MALFORMED as error:
            logger.info("%s is not a sitemap: %s", response.url, error)
        else:
            named = filter(responses.is_fetchable, urls)
            if is_index:
                check = check.with_more(named)
            else:
                pages = sitemaps.like_entries(named, self._store.sitemaps.read_links(fetch.feed))
        with self._owned(fetch):
            self._store.sitemaps.note(
                fetch.feed, check.requested[-1], pages, is_first=len(check.requested) == 1
            )
            yield from self._next(fetch, response, check)

    def lose(self, fetch: Fetch, request: Request) -> Iterator[Request]:
        """Yield the request that follows one that has failed."""
        check = context_of(request).sitemap
        with self._owned(fetch):
            yield from () if check is None else self._next(fetch, request, check)

    def _end(self, fetch: Fetch, check: SitemapCheck) -> None:
        found = self._store.sitemaps.settle(fetch.feed, fetch.fetched, check.is_part)
        if found.in_words:
            logger.info("%s: %s", fetch.feed, found.in_words)

    @contextlib.contextmanager
    def _owned(self, fetch: Fetch) -> Iterator[None]:
        """Stop where another crawl has taken the feed over."""
        try:
            yield
        except LeaseError as error:
            StoreExtension.of(self._crawler).yield_to_other(fetch.feed, error)

    @property
    def _store(self) -> Store:
        return StoreExtension.of(self._crawler).store


def read(body: bytes) -> tuple[list[str], bool]:
    """Return the URLs that a sitemap names, and whether they are those of other sitemaps.

    :raises SyntaxError, OSError, EOFError, StopIteration, ValueError: if it is not a sitemap
    """
    if body.startswith(GZIP):
        body = gunzip(body, max_size=requests.MOST_OCTETS)
    if not body.lstrip(BLANK).startswith(b"<"):
        return _lines(body), False
    found = Sitemap(body)
    if found.type not in ("urlset", "sitemapindex"):
        raise ValueError(f"its root element is {found.type}")
    listed = list(islice(found, MOST_PAGES))
    # What lists news has no other pages (the last two days' news).
    urls = [one["loc"] for one in listed if "news" not in one]
    return [url for url in urls if len(url) <= LONGEST_URL], found.type == "sitemapindex"


# sitemaps.org/protocol.html, 'Other Sitemap formats': a text file has one URL a line.
def _lines(body: bytes) -> list[str]:
    urls = [line.strip() for line in body.decode("utf-8-sig").splitlines()[:MOST_PAGES]]
    if not all(url.startswith(("http://", "https://")) for url in filter(None, urls)):
        raise ValueError("its lines are not URLs")
    return list(filter(None, urls))
