"""Reads a document with fhcrawl and with feedparser, and finds what differs."""

from __future__ import annotations

import calendar
import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.sax import SAXException

import feedparser
from lxml import etree

from fhcrawl.exceptions import NotAFeedError
from tests.documents.differential.documents import LOCATION
from tests.feeds import read

if TYPE_CHECKING:
    from fhcrawl.documents import Entry, FeedDocument
    from tests.documents.differential.documents import Document, Element

# An id that fhcrawl makes of an entry that has none.
MADE = "urn:sha256:"
FRACTION = re.compile(r"\.\d+Z$")
TYPES = {"text/plain": "text", "text/html": "html", "application/xhtml+xml": "xhtml"}


class Difference(NamedTuple):
    """What fhcrawl and feedparser read differently.

    :param element: the entry or the head
    :param ours: what fhcrawl reads; None for nothing
    :param entry: the whole entry of feedparser, or its whole head
    :param is_loose: whether the document is not XML for feedparser, which then reads it as SGML
    """

    document: Document
    element: Element
    field: str
    ours: Any
    theirs: Any
    entry: Any = None
    is_loose: bool = False


def cut_fraction(time: str | None) -> str | None:
    return FRACTION.sub("Z", time) if time else None


def moment(time: Any) -> str | None:
    if time is None:
        return None
    return datetime.fromtimestamp(calendar.timegm(time), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def their_reading(body: bytes, url: str, charset: str | None = None) -> Any:
    """Read a document with feedparser, which changes no markup then."""
    content_type = f"application/xml; charset={charset}" if charset else "application/xml"
    headers = {"content-location": url, "content-type": content_type}
    return feedparser.parse(body, response_headers=headers, sanitize_html=False, resolve_relative_uris=False)


def their_time(text: str) -> str | None:
    """Return what feedparser takes a text for, as the time of an item."""
    body = f"<rss version='2.0'><channel><item><pubDate>{text}</pubDate></item></channel></rss>"
    return _time(their_reading(body.encode(), LOCATION).entries[0], "published_parsed")


# In fhcrawl, nothing is ever ''. feedparser strips every text; fhcrawl keeps white space in markup, where it
# may matter (RFC 4287, 3.1.1.2).
def our_fields(entry: Entry) -> dict[str, Any]:
    return {
        "id": None if (entry.id or "").startswith(MADE) else entry.id,
        "title": entry.title,
        "link": entry.link,
        "published": cut_fraction(entry.published),
        "updated": cut_fraction(entry.updated),
        "authors": entry.authors,
        "categories": entry.categories,
        "summary": markup(entry.summary),
        "content": markup(entry.content),
        "content_type": entry.content_type,
        "enclosures": [(one["url"], one["type"], one["length"]) for one in entry.enclosures],
    }


# dict.get, because feedparser's own gives `published` where there is no `updated`.
def their_fields(entry: Any) -> dict[str, Any]:
    content: dict[str, Any] = (dict.get(entry, "content") or [{}])[0]
    links = dict.get(entry, "links") or []
    value = content.get("value") or None
    return {
        "id": dict.get(entry, "id") or None,
        "title": dict.get(entry, "title") or None,
        "link": dict.get(entry, "link") or None,
        "published": _time(entry, "published_parsed"),
        "updated": _time(entry, "updated_parsed"),
        "authors": [name for author in dict.get(entry, "authors") or [] if (name := _person(author))],
        "categories": [tag["term"] for tag in dict.get(entry, "tags") or [] if tag["term"]],
        "summary": markup(dict.get(entry, "summary")),
        "content": markup(value),
        "content_type": TYPES.get(content["type"], content["type"]) if value else None,
        "enclosures": [
            (link.get("href"), link.get("type"), _length(link.get("length")))
            for link in links
            if link.get("rel") == "enclosure"
        ],
    }


def _time(entry: Any, name: str) -> str | None:
    try:
        return moment(dict.get(entry, name))
    except (OverflowError, ValueError):
        return None


def _person(author: Any) -> str | None:
    names = (author.get(kind) for kind in ("name", "email", "href"))
    return next(filter(None, names), None)


def _length(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


def markup(text: str | None) -> str | None:
    """Return a text without white space around it, in XML's canonical form if it is XML."""
    if not text or not text.strip():
        return None
    text = text.strip()
    if "<" not in text:
        return text
    try:
        return etree.tostring(etree.fromstring(f"<_>{text}</_>"), method="c14n").decode()[3:-4]
    except (etree.XMLSyntaxError, ValueError):
        return text


def our_head(document: FeedDocument) -> dict[str, Any]:
    return {
        "head title": document.title,
        "head updated": cut_fraction(document.updated),
        "head links": document.links,
    }


def their_head(feed: Any) -> dict[str, Any]:
    links: dict[str, str] = {}
    for link in dict.get(feed, "links") or []:
        if link.get("href"):
            links.setdefault(link["rel"], link["href"].partition("#")[0])
    return {
        "head title": dict.get(feed, "title") or None,
        "head updated": _time(feed, "updated_parsed"),
        "head links": links,
    }


def differences(document: Document) -> list[Difference]:
    """Return all differences between what fhcrawl and feedparser read."""
    body, charset = document.body(), document.encoding.charset
    content_type = f"application/xml; charset={charset}" if charset else None
    theirs = their_reading(body, LOCATION, charset)
    try:
        ours = read(body, LOCATION, content_type)
    except NotAFeedError:
        return [Difference(document, document.head, "entries", None, len(theirs.entries))]
    numbers = len(ours.entries), len(theirs.entries)
    if set(numbers) != {len(document.entries)}:
        return [Difference(document, document.head, "entries", *numbers)]
    read_elements = [(document.head, our_head(ours), their_head(theirs.feed), theirs.feed)]
    for element, entry, other in zip(document.entries, ours.entries, theirs.entries, strict=True):
        read_elements.append((element, our_fields(entry), their_fields(other), other))
    is_loose = isinstance(theirs.get("bozo_exception"), SAXException)
    return [
        Difference(
            document,
            element,
            field,
            mine[field],
            other[field],
            entry,
            is_loose,
        )
        for element, mine, other, entry in read_elements
        for field in mine
        if mine[field] != other[field]
    ]
