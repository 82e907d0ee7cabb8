"""The Atom Syndication Format (RFC 4287) with RFC 5005's extensions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fhcrawl.documents import history, misplaced, modules, tombstones, update_schedule
from fhcrawl.documents.dates import utc
from fhcrawl.documents.model import Entry, FeedDocument, Problem
from fhcrawl.documents.modules import enclosure, person
from fhcrawl.documents.pieces import change
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import ATOM, XHTML

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element

    from fhcrawl.documents.modules import Fill
    from fhcrawl.documents.xml.elements import Head
    from fhcrawl.documents.xml.parsed import Parsed

ROOT = f"{ATOM}feed"
ENTRY = f"{ATOM}entry"
AUTHOR = f"{ATOM}author"
PLAIN = ("text", "html")
# An attribute of what `scrapy export` has written only because RFC 4287 asks for it: it says where that comes
# from, and that the entry itself has none.
STANDS_IN = "{urn:x-fhcrawl:export}stands-in"


def read(parsed: Parsed, url: str) -> FeedDocument:
    """Read an atom:feed element."""
    feed = parsed.root
    base = elements.base_of(feed, url)
    problems: list[Problem] = []
    head: Head = {}
    entries = parsed.collect(
        read_entry(entry, base, problems, number)
        for number, entry in enumerate(parsed.entries(feed, ENTRY, head), 1)
    )
    # RFC 4287, 4.2.1: the feed's authors apply to an entry without authors, of its own or of its source.
    if authors := modules.shared(persons(head.get(AUTHOR, ()))):
        change(entries, partial(_give_authors, authors))
    problems.extend(misplaced.in_head(head, parsed.most))
    said = history.read(head, base)
    return FeedDocument(
        format="atom",
        title=elements.line_of(head, f"{ATOM}title"),
        updated=utc(elements.line_of(head, f"{ATOM}updated") or ""),
        links=said.links,
        other_links=said.other_links,
        archive=said.archive,
        complete=said.complete,
        entries=entries,
        problems=problems,
        fault=parsed.fault,
        tombstones=tombstones.read(head.get(tombstones.DELETED_ENTRY, ()), problems, parsed.most),
        incremental=said.incremental,
        rhythm=update_schedule.read(head, ATOM),
    )


def _give_authors(authors: list[str], entry: Entry) -> None:
    entry.authors = entry.authors or list(authors)


def read_entry(element: _Element, base: str, problems: list[Problem], number: int) -> Entry:
    """Read an atom:entry element; what is wrong with it is added to `problems`."""
    base = elements.base_of(element, base)
    entry = Entry()
    again: list[_Element] = []
    for child in element:
        fill = FIELDS.get(child.tag)
        if fill is not None and fill(entry, child, base):
            again.append(child)
    # RFC 4287, 4.2.1: the authors of atom:source apply to an entry without authors.
    if not entry.authors and (source := elements.first(element, f"{ATOM}source")) is not None:
        entry.authors = persons(source.iterchildren(AUTHOR))
    name = entry.id or entry.title or f"entry {number}"
    if entry.id is None or entry.title is None:
        _check(entry, element, problems, name)
    if again:
        modules.finish_media(entry, again, base)
        problems.extend(modules.unreadable_dates(entry, name, again, modules.DATES))
    return entry


def _check(entry: Entry, element: _Element, problems: list[Problem], name: str) -> None:
    # RFC 4287, 4.1.2: "atom:entry elements MUST contain exactly one" atom:id, atom:title, atom:updated.
    if entry.id is None:
        problems.append(Problem("no-id", name, "it has no atom:id"))
    if entry.title is None and element.find(f"{ATOM}title") is None:
        problems.append(Problem("no-title", name, "it has no atom:title"))


def persons(authors: Iterable[_Element]) -> list[str]:
    """The names of authors."""
    return [name for author in authors if (name := person(author))]


def _id(entry: Entry, element: _Element, base: str) -> None:
    if entry.id is None:
        entry.id = elements.identifier(element)


def _title(entry: Entry, element: _Element, base: str) -> None:
    entry.title = entry.title or elements.line(element)


def _link(entry: Entry, element: _Element, base: str) -> None:
    href = element.get("href")
    if not href or not href.strip():
        return
    rels = elements.relations(element)
    if "alternate" in rels and entry.link is None and not elements.has_attribute(element, STANDS_IN):
        entry.link = elements.target(element, href, base)
    elif "enclosure" in rels:
        url = elements.target(element, href, base)
        entry.enclosures.append(enclosure(url, element.get("type"), element.get("length")))


def _updated(entry: Entry, element: _Element, base: str) -> bool:
    return not elements.has_attribute(element, STANDS_IN) and modules.updated(entry, element, base)


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
    return elements.text(element)


# RFC 4287, 3.1.1.3: "The XHTML div element itself MUST NOT be considered part of the content."
def _xhtml(element: _Element) -> str | None:
    div = element.find(f"{XHTML}div")
    return elements.markup(element if div is None else div)


# RFC 4287, 4.1.3.3: how atom:content is processed.
def _content(entry: Entry, element: _Element, base: str) -> None:
    media_type = (element.get("type") or "").strip() or "text"
    source = (element.get("src") or "").strip()
    if source:
        url = elements.target(element, source, base)
        entry.enclosures.append(enclosure(url, element.get("type"), None))
        return
    if media_type in PLAIN:
        entry.content = elements.text(element)
    elif media_type == "xhtml":
        entry.content = _xhtml(element)
    elif media_type.lower().endswith(("+xml", "/xml")):
        entry.content = elements.markup(element)
    else:
        entry.content = elements.text(element)
    entry.content_type = media_type if entry.content is not None else None


FIELDS: dict[str, Fill] = {
    **modules.MEDIA_FIELDS,
    f"{ATOM}id": _id,
    f"{ATOM}title": _title,
    f"{ATOM}link": _link,
    f"{ATOM}published": modules.published,
    f"{ATOM}updated": _updated,
    AUTHOR: _author,
    f"{ATOM}category": _category,
    f"{ATOM}summary": _summary,
    f"{ATOM}content": _content,
}
