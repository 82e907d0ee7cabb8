"""The Atom Syndication Format (RFC 4287) with RFC 5005's extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.documents import xml
from fhcrawl.documents.dates import utc
from fhcrawl.documents.model import Enclosure, Entry, FeedDocument, Problem
from fhcrawl.documents.xml import ATOM, FH, XHTML

if TYPE_CHECKING:
    from lxml.etree import _Element

ROOT = f"{ATOM}feed"
ENTRY = f"{ATOM}entry"
NAME, EMAIL, URI = f"{ATOM}name", f"{ATOM}email", f"{ATOM}uri"
LONGEST_LENGTH = 19  # digits; more are no file


def read(parsed: xml.Parsed, url: str) -> FeedDocument:
    """Read an atom:feed element."""
    feed = parsed.root
    base = xml.base_of(feed, url)
    problems: list[Problem] = []
    title = feed.find(f"{ATOM}title")
    updated = feed.find(f"{ATOM}updated")
    authors = persons(feed)
    return FeedDocument(
        format="atom",
        title=None if title is None else xml.line(title),
        updated=None if updated is None else utc(updated.text or ""),
        links=xml.head_links(feed.iterchildren(f"{ATOM}link"), base),
        archive=feed.find(f"{FH}archive") is not None,
        complete=feed.find(f"{FH}complete") is not None,
        entries=[
            read_entry(entry, base, authors, problems, number)
            for number, entry in enumerate(feed.iterchildren(ENTRY), 1)
        ],
        problems=problems,
        fault=parsed.fault,
    )


def read_entry(
    element: _Element, base: str, feed_authors: list[str], problems: list[Problem], number: int
) -> Entry:
    """Read an atom:entry element; what is wrong with it is added to `problems`."""
    base = xml.base_of(element, base)
    entry = Entry()
    for child in element:
        fill = FIELDS.get(child.tag)
        if fill is not None:
            fill(entry, child, base)
    if not entry.authors:
        entry.authors = _inherited_authors(element, feed_authors)
    _check(entry, element, problems, number)
    return entry


def _check(entry: Entry, element: _Element, problems: list[Problem], number: int) -> None:
    name = entry.id or entry.title or f"entry {number}"
    # RFC 4287, 4.1.2: "atom:entry elements MUST contain exactly one" atom:id, atom:title, atom:updated.
    if entry.id is None:
        problems.append(Problem("no-id", name, "it has no atom:id"))
    if entry.title is None and element.find(f"{ATOM}title") is None:
        problems.append(Problem("no-title", name, "it has no atom:title"))
    if entry.published is None or entry.updated is None:
        for tag, value in (("published", entry.published), ("updated", entry.updated)):
            if value is None and (date := element.find(ATOM + tag)) is not None:
                detail = f"its atom:{tag} is not a date: {date.text!r}"
                problems.append(Problem("unreadable-date", name, detail))


# RFC 4287, 4.2.1: the authors of atom:source apply to an entry without authors, then the feed's.
def _inherited_authors(element: _Element, feed_authors: list[str]) -> list[str]:
    source = element.find(f"{ATOM}source")
    return (persons(source) if source is not None else []) or list(feed_authors)


def persons(element: _Element) -> list[str]:
    """The names of an element's authors."""
    return [name for author in element.iterchildren(f"{ATOM}author") if (name := person(author))]


def person(author: _Element) -> str | None:
    """What a Person construct (RFC 4287, 3.2) is called: its name, else its e-mail address, else its URI."""
    parts = {child.tag: xml.line(child) for child in author}
    return parts.get(NAME) or parts.get(EMAIL) or parts.get(URI)


def _id(entry: Entry, element: _Element, base: str) -> None:
    if entry.id is None:
        entry.id = xml.line(element)


def _title(entry: Entry, element: _Element, base: str) -> None:
    entry.title = entry.title or xml.line(element)


def _link(entry: Entry, element: _Element, base: str) -> None:
    href = element.get("href")
    if not href or not href.strip():
        return
    rels = xml.relations(element)
    if "alternate" in rels and entry.link is None:
        entry.link = xml.resolve(href, xml.base_of(element, base))
    elif "enclosure" in rels:
        entry.enclosures.append(
            enclosure(
                xml.resolve(href, xml.base_of(element, base)),
                element.get("type"),
                element.get("length"),
            )
        )


def enclosure(url: str, media_type: str | None, length: str | None) -> Enclosure:
    """An enclosure; a length (in octets) that is not a number says nothing."""
    digits = (length or "").strip()
    known = digits.isascii() and digits.isdigit() and len(digits) <= LONGEST_LENGTH
    return Enclosure(url=url, type=media_type or None, length=int(digits) if known else None)


def _published(entry: Entry, element: _Element, base: str) -> None:
    entry.published = entry.published or utc(element.text or "")


def _updated(entry: Entry, element: _Element, base: str) -> None:
    entry.updated = entry.updated or utc(element.text or "")


def _author(entry: Entry, element: _Element, base: str) -> None:
    if name := person(element):
        entry.authors.append(name)


def _category(entry: Entry, element: _Element, base: str) -> None:
    if term := (element.get("term") or "").strip():
        entry.categories.append(term)


def _summary(entry: Entry, element: _Element, base: str) -> None:
    entry.summary = _text_construct(element)


def _text_construct(element: _Element) -> str | None:
    if element.get("type") == "xhtml":
        return _xhtml(element)
    return xml.text(element)


# RFC 4287, 3.1.1.3: "The XHTML div element itself MUST NOT be considered part of the content."
def _xhtml(element: _Element) -> str | None:
    div = element.find(f"{XHTML}div")
    return xml.markup(element if div is None else div)


# RFC 4287, 4.1.3.3: how atom:content is processed.
def _content(entry: Entry, element: _Element, base: str) -> None:
    media_type = (element.get("type") or "").strip() or "text"
    source = (element.get("src") or "").strip()
    if source:
        entry.enclosures.append(
            enclosure(xml.resolve(source, xml.base_of(element, base)), element.get("type"), None)
        )
        return
    if media_type == "xhtml":
        entry.content = _xhtml(element)
    elif media_type.lower().endswith(("+xml", "/xml")):
        entry.content = xml.markup(element)
    else:
        entry.content = xml.text(element)
    entry.content_type = media_type if entry.content is not None else None


FIELDS = {
    f"{ATOM}id": _id,
    f"{ATOM}title": _title,
    f"{ATOM}link": _link,
    f"{ATOM}published": _published,
    f"{ATOM}updated": _updated,
    f"{ATOM}author": _author,
    f"{ATOM}category": _category,
    f"{ATOM}summary": _summary,
    f"{ATOM}content": _content,
}
