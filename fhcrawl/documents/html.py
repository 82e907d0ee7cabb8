"""Finds the feeds that an HTML page links to."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from lxml import etree

from fhcrawl.documents.xml.elements import LONGEST_URL, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

FEED_TYPES = frozenset(
    {
        *(f"application/{kind}" for kind in ("atom+xml", "rss+xml", "rdf+xml", "feed+json", "xml")),
        "text/xml",
    }
)
# Octets. A page takes many times its size in memory, and its head has the links to feeds.
LONGEST_HEAD = 1024**2
# Only the first one that can be fetched is used.
MOST_FEEDS = 100
HOST = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*:)?//[^/?#]*", re.IGNORECASE)
# Words in the titles and paths of feeds that are not the main one.
PARTS = tuple(
    re.compile(rf"(?<![a-z])(?:{words})(?![a-z])", re.IGNORECASE)
    for words in ("category|categories|tags?|author", "comments?")
)


# HTML, 4.6.6.1 (link type 'alternate'): "If the keyword is used with the type attribute set to the value
# application/rss+xml or the value application/atom+xml, it indicates that the referenced document is a feed".
def feed_links(body: bytes, url: str) -> list[str]:
    """Return the absolute URLs of the first feeds that a page links to, the most likely main feed first.

    Feeds of comments come last, those of categories, tags and authors before them; else in document order.

    :param url: URL of the page; without a base element, relative references are resolved against it
    """
    head = _Head()
    try:
        etree.fromstring(body[:LONGEST_HEAD], etree.HTMLParser(target=head))  # type: ignore[arg-type]
    except (etree.ParseError, ValueError):
        return []
    base = url if head.base is None else resolve(head.base, url)
    links = islice(filter(_is_feed, head.links), MOST_FEEDS)
    fitting = [link for link in links if len(link["href"]) <= LONGEST_URL]
    return [resolve(link["href"], base) for link in sorted(fitting, key=_rank)]


def _rank(link: dict[str, str]) -> int:
    words = link.get("title") or "", HOST.sub("", link["href"])
    return max((number for number, part in enumerate(PARTS, 1) if any(map(part.search, words))), default=0)


# No tree is built: libxml2 would search all attributes of an element for each one that it adds.
class _Head:
    """A parser target that collects the href of the first base element, and the attributes of links."""

    def __init__(self) -> None:
        self.base: str | None = None
        self.links: list[dict[str, str]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "link":
            self.links.append(dict(attributes))
        elif tag == "base" and self.base is None:
            self.base = attributes.get("href") or ""

    def close(self) -> None:
        """Handle the end of the document."""


def _is_feed(link: dict[str, str]) -> bool:
    media_type = (link.get("type") or "").partition(";")[0].strip().lower()
    relations = (link.get("rel") or "").lower().split()
    return "alternate" in relations and media_type in FEED_TYPES and bool((link.get("href") or "").strip())
