"""Which pages of a site's sitemaps look like entries of its feed, and which of these are not kept.

A sitemap names pages, not entries: it may leave some out, or have others that look the same, and says nothing
of what a feed had and the site has no more. So it is reported, and never decides a verdict: no count of pages
makes a feed `complete`, and none makes it incomplete. It tells a reader how much is missing, and where to get
it.

Pure: values in, values out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from fhcrawl.documents.dates import elapsed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from typing_extensions import Self

MOST_REQUESTS, DAYS = 5, 30
SECONDS = DAYS * 24 * 60 * 60
# The protocol's limits: 2,048 characters of a URL, 50,000 URLs in a sitemap (sitemaps.org/protocol.html).
LONGEST_URL, MOST_PAGES = 2048, 50_000
DIGITS = re.compile(r"[0-9]+")
SCHEME = re.compile(r"^https?://(?:www\.)?", re.IGNORECASE)
# What feeds add to their links, to count who comes from them.
TRACKING = re.compile(r"[?&](?:utm_\w+|ref|source)=[^&]*", re.IGNORECASE)
# One in so many entries has a shape that counts.
LEAST_SHARE = 10
INDEX_PAGE = re.compile(r"/index\.\w+$")
# Which sitemaps of an index come first, and which are never read: those of news list the last two days.
OF_ENTRIES = re.compile(r"post|blog|article|entr|episode|stor", re.IGNORECASE)
OF_NEWS = re.compile(r"news", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SitemapCheck:
    """A look at a site's sitemaps, as a request carries it.

    :param left: URLs of sitemaps that are to be read
    :param requested: URLs of those that have been, with this one
    :param is_part: there are more than may be requested
    """

    left: tuple[str, ...] = ()
    requested: tuple[str, ...] = ()
    is_part: bool = False

    def with_more(self, urls: Iterable[str]) -> SitemapCheck:
        """Return this with other sitemaps that are to be read too."""
        new = dict.fromkeys(url for url in urls if len(url) <= LONGEST_URL and not OF_NEWS.search(url))
        left = [*self.left, *(url for url in new if url not in (*self.left, *self.requested))]
        left.sort(key=lambda url: not OF_ENTRIES.search(url))
        room = MOST_REQUESTS - len(self.requested)
        return replace(self, left=tuple(left[:room]), is_part=self.is_part or len(left) > room)

    def following(self) -> SitemapCheck | None:
        """Return this for the request of the next sitemap; None if there is none."""
        if not self.left:
            return None
        return replace(self, left=self.left[1:], requested=(*self.requested, self.left[0]))


class Pages(NamedTuple):
    """The pages of sitemaps that look like entries: their URLs, by key, and the keys that entries link to."""

    listed: Mapping[str, str]
    kept: Collection[str]

    @property
    def missing(self) -> list[str]:
        """The URLs of the pages that no entry links to."""
        return sorted(url for key, url in self.listed.items() if key not in self.kept)


@dataclass(frozen=True, slots=True)
class SitemapReport:
    """The result of the last look.

    :param read: when: ISO 8601 in UTC
    :param listed: how many pages look like entries
    :param kept: how many of them were stored
    :param is_part: not all sitemaps were read
    """

    read: str
    listed: int = 0
    kept: int = 0
    is_part: bool = False

    @property
    def in_words(self) -> str:
        """The rest of a sentence about the feed; '' if the sitemaps list nothing of it."""
        if not self.listed:
            return ""
        least = "at least " if self.is_part else ""
        pages = "page that looks like an entry" if self.listed == 1 else "pages that look like entries"
        others = " (fhcrawl feeds --missing lists the others)" if self.kept < self.listed else ""
        return (
            f"its sitemap lists {least}{self.listed:,} {pages}; the store has {self.kept:,} of them{others}"
        )

    def to_json(self) -> str:
        """Return this for the store."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | None) -> Self | None:
        """Return what was stored; None for None."""
        return None if text is None else cls(**json.loads(text))


def is_due(read: str | None, now: str) -> bool:
    """Return whether it is time for a look at the sitemaps.

    :param read: when they were last read; None if they never were
    """
    # A time in the future was recorded by a wrong clock.
    return read is None or not 0 <= elapsed(read, now) < SECONDS


def key_of(url: str) -> str:
    """Return what is the same in all URLs of a page."""
    return TRACKING.sub("", SCHEME.sub("", url).partition("#")[0]).rstrip("/")


# Digits are those of dates and numbers; the last segment is the name of the entry. So `/2024/05/a-post/` and
# `/2023/11/another/` are alike, and so are `/?p=12` and `/?p=7`; `/about/` and `/2024/05/` are not.
def _shape_of(url: str) -> str:
    path, mark, query = key_of(url).partition("?")
    if mark:
        return DIGITS.sub("0", f"{path}?{query}")
    folder, slash, _ = path.rpartition("/")
    return DIGITS.sub("0", folder) + slash if slash else path


def like_entries(pages: Iterable[str], links: Iterable[str]) -> list[str]:
    """Return those pages of a sitemap that look like entries, by the links of entries."""
    links = list(links)
    counted = Counter(map(_shape_of, links))
    # A page about the author may have been in the feed, too.
    shapes = {shape for shape, number in counted.items() if LEAST_SHARE * number >= len(links)}
    has_index = any(map(INDEX_PAGE.search, links))
    alike = (url for url in pages if len(url) <= LONGEST_URL and _shape_of(url) in shapes)
    return [url for url in alike if has_index or not INDEX_PAGE.search(urlsplit(url).path)][:MOST_PAGES]


# At the root of a site, a page about its author looks like an entry. But publishers list entries in sitemaps
# of their own: so those count that list what is kept, and others that are named like these.
def compare(sitemaps: Mapping[str, Iterable[str]], links: Iterable[str]) -> Pages:
    """Return what sitemaps list of a feed.

    :param sitemaps: pages that look like entries, by the URL of the sitemap that lists them
    :param links: the links of the feed's entries
    """
    linked = set(map(key_of, links))
    by_sitemap = {name: {key_of(page): page for page in pages} for name, pages in sitemaps.items()}
    families = {DIGITS.sub("0", name) for name, pages in by_sitemap.items() if linked & pages.keys()}
    listed: dict[str, str] = {}
    for name, pages in by_sitemap.items():
        if DIGITS.sub("0", name) in families:
            listed |= pages
    return Pages(listed, linked & listed.keys())
