"""Reads sitemaps (sitemaps.org/protocol.html)."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from scrapy.utils.gz import gunzip
from scrapy.utils.sitemap import Sitemap

from fhcrawl.exceptions import NotAFeedError
from fhcrawl.logical_feed.listings import LONGEST_URL, MOST_PAGES
from fhcrawl.reasons import ReasonKind

# 50,000 URLs of a sitemap take 5 to 10 MiB. The protocol allows 50 MB, which would take seconds.
MOST_OCTETS = 16 * 1024**2
LONGEST_LASTMOD = 40  # characters
GZIP = b"\x1f\x8b"
# libxml2's and gunzip's.
BLANK = b" \t\r\n\xef\xbb\xbf"
MALFORMED = (SyntaxError, OSError, EOFError, StopIteration, ValueError)


class SitemapDocument(NamedTuple):
    """The URLs of a sitemap, each with its `lastmod` ('' for none), and whether these are sitemaps."""

    urls: dict[str, str]
    is_index: bool


def read_sitemap(body: bytes) -> SitemapDocument:
    """:raises NotAFeedError: if it is not a sitemap"""
    try:
        return _read(body)
    except MALFORMED as error:
        raise NotAFeedError(ReasonKind.NOT_A_FEED, f"it is not a sitemap: {error}") from error


def _read(body: bytes) -> SitemapDocument:
    if body.startswith(GZIP):
        body = gunzip(body, max_size=MOST_OCTETS)
    if not body.lstrip(BLANK).startswith(b"<"):
        # sitemaps.org/protocol.html, 'Other Sitemap formats': a text file has one URL a line.
        lines = map(str.strip, body.decode("utf-8-sig").splitlines()[:MOST_PAGES])
        urls = dict.fromkeys(filter(None, lines), "")
        if not all(map(_is_of_web, urls)):
            raise ValueError("its lines are not URLs")
        return SitemapDocument(urls, False)
    sitemap = Sitemap(body)
    if sitemap.type not in ("urlset", "sitemapindex"):
        raise ValueError(f"its root element is {sitemap.type}")
    items = islice(sitemap, MOST_PAGES)
    # What lists news has no other pages (the last two days' news).
    urls = {page["loc"]: _lastmod(page) for page in items if "news" not in page and _is_of_web(page["loc"])}
    return SitemapDocument(urls, sitemap.type == "sitemapindex")


def _lastmod(page: dict[str, Any]) -> str:
    return "".join((page.get("lastmod") or "").split())[:LONGEST_LASTMOD]


def _is_of_web(url: str) -> bool:
    with suppress(ValueError):
        return len(url) <= LONGEST_URL and urlsplit(url).scheme in ("http", "https")
    return False
