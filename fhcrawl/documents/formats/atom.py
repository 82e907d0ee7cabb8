"""Reads the Atom Syndication Format (RFC 4287) with RFC 5005's extensions."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from fhcrawl.documents import head, media, modules
from fhcrawl.documents.head import Vocabulary
from fhcrawl.documents.identifiers import EXPORT, OWN_ID, identifier
from fhcrawl.documents.model import Entry, Problem
from fhcrawl.documents.modules import enclosure, person
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import ATOM, XHTML

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element

    from fhcrawl.documents.model import FeedDocument
    from fhcrawl.documents.modules import FieldReader
    from fhcrawl.documents.xml.elements import Head
    from fhcrawl.documents.xml.parsing import Parsed

ROOT = f"{ATOM}feed"
ENTRY = f"{ATOM}entry"
AUTHOR = f"{ATOM}author"
CONTENT, SUMMARY = f"{ATOM}content", f"{ATOM}summary"
TYPES = ("text", "html", "xhtml")
PLAIN = ("text", "html", "text/html")
# At the end of a content type: the content is in Base64.
BASE64 = ";base64"
# Marks elements that `fhcrawl export` adds only because RFC 4287 requires them; its value names the source of
# the content.
PLACEHOLDER = f"{EXPORT}stands-in"


def read(parsed: Parsed, url: str) -> FeedDocument:
    """Read an atom:feed element."""
    return read_feed(parsed, url, VOCABULARY)


def read_feed(parsed: Parsed, url: str, vocabulary: Vocabulary) -> FeedDocument:
    """Read a feed element of a version of Atom."""
    feed = parsed.root
    base = elements.base_of(feed, url)
    problems: list[Problem] = []
    children: Head = {}
    entries = [
        read_entry(entry, base, vocabulary, problems, number)
        for number, entry in enumerate(parsed.entries(feed, vocabulary.entry, children), 1)
    ]
    # RFC 4287, 4.2.1, and Atom 0.3, atom:author: the feed's authors apply to an entry that has no authors,
    # not even in its source.
    given = children.get(f"{vocabulary.namespace}author", ())
    authors = modules.shared(persons(one for one in given if not elements.has_attribute(one, PLACEHOLDER)))
    # RFC 4287, 2: xml:lang applies to the descendants of the element.
    modules.inherit(entries, authors, elements.language_of(feed))
    return head.read(parsed, children, base, vocabulary, entries, problems)


def read_entry(
    element: _Element, base: str, vocabulary: Vocabulary, problems: list[Problem], number: int
) -> Entry:
    """Read an entry element; its faults are added to `problems`."""
    entry = Entry()
    base = elements.note_context(entry, element, base)
    again = modules.fill(entry, element, base, vocabulary.fields)
    # RFC 4287, 4.2.1: the authors of atom:source apply to an entry without authors.
    if not entry.authors and (source := elements.first(element, f"{ATOM}source")) is not None:
        entry.authors = persons(source.iterchildren(AUTHOR))
    name = entry.id or entry.title or f"entry {number}"
    # RFC 4287, 4.1.2, and Atom 0.3, atom:entry: they "MUST contain exactly one" atom:id, and atom:title.
    if entry.id is None:
        problems.append(Problem("no-id", name, "it has no atom:id"))
    if entry.title is None and element.find(f"{vocabulary.namespace}title") is None:
        problems.append(Problem("no-title", name, "it has no atom:title"))
    if again:
        modules.substitute(entry, again, base, modules.SUBSTITUTES)
        media.finish(entry, again, base)
        problems.extend(modules.unescaped(again, vocabulary.escaped, name))
        problems.extend(modules.date_problems(entry, name, again, vocabulary.dates))
    modules.without_repetition(entry)
    return entry


def persons(authors: Iterable[_Element]) -> list[str]:
    """Return the names of authors."""
    return [name for author in authors if (name := person(author))]


def _title(entry: Entry, element: _Element, base: str) -> None:
    if entry.title is None and (title := elements.line(element)):
        kind = _type(element)
        # XHTML loses its markup.
        entry.title, entry.title_type = title, kind if kind != "xhtml" else "text"


def _id(entry: Entry, element: _Element, base: str) -> None:
    if entry.id is None:
        has_own = elements.has_attribute(element, OWN_ID)
        entry.id = identifier(element.get(OWN_ID)) if has_own else elements.identifier(element)


def _link(entry: Entry, element: _Element, base: str) -> None:
    href = element.get("href")
    if not href or href.isspace():
        return
    rels = elements.relations(element)
    if "alternate" in rels and entry.link is None and not elements.has_attribute(element, PLACEHOLDER):
        entry.link = elements.target(element, href, base)
    elif "enclosure" in rels:
        url = elements.target(element, href, base)
        entry.enclosures.append(enclosure(url, element.get("type"), element.get("length")))


def _updated(entry: Entry, element: _Element, base: str) -> bool:
    return not elements.has_attribute(element, PLACEHOLDER) and modules.updated(entry, element, base)


# RFC 4287, 3.1.1: the type is "text", "html" or "xhtml". Publishers write it in another case, as those of
# media (RFC 2045, 5.1).
def _type(element: _Element) -> str:
    given = (element.get("type") or "").strip() or "text"
    return kind if (kind := given.lower()) in TYPES else given


def _summary(entry: Entry, element: _Element, base: str) -> bool:
    if entry.summary is not None:
        return False
    kind = _type(element)
    entry.summary = _xhtml(element) if kind == "xhtml" else elements.html(element)
    entry.summary_type = None if entry.summary is None else kind
    return kind != "xhtml" and len(element) > 0


# RFC 4287, 3.1.1.3: "The XHTML div element itself MUST NOT be considered part of the content."
def _xhtml(element: _Element) -> str | None:
    div = element.find(f"{XHTML}div")
    return elements.markup(element if div is None else div, ATOM)


# RFC 4287, 4.1.3.3: how atom:content is processed.
def _content(entry: Entry, element: _Element, base: str) -> bool:
    media_type = _type(element)
    names = element.keys()
    if "src" in names and (source := element.get("src", "").strip()):
        url = elements.target(element, source, base)
        entry.enclosures.append(enclosure(url, element.get("type"), None))
        return False
    if entry.content is not None:
        return False
    content: str | None
    is_unescaped = False
    if media_type in PLAIN and not len(element):
        content = elements.text(element)
    elif media_type == "xhtml":
        content = _xhtml(element)
    elif is_unescaped := len(element) > 0 and media_type.lower() in PLAIN:
        content = elements.html(element)
        media_type = "html" if media_type == "text" else media_type
    elif media_type.lower().endswith(("+xml", "/xml")):
        content = elements.markup(element)
    else:
        content, media_type = _other_content(elements.text(element), media_type)
    entry.content, entry.content_type = content, media_type if content is not None else None
    if content is not None and not elements.CONTEXT.isdisjoint(names):
        elements.note_context(entry, element, base)
    return is_unescaped


# RFC 4287, 4.1.3.3, 6: "For all other values of "type" [...], the content of atom:content MUST be a valid
# Base64 encoding"; text that is none is taken as it is.
def _other_content(content: str | None, media_type: str) -> tuple[str | None, str]:
    kind = media_type.lower()
    if content is None or "/" not in kind or kind.startswith("text/") or kind.endswith(BASE64):
        return content, media_type
    encoded = "".join(content.split())
    return (encoded, f"{media_type}{BASE64}") if is_base64(encoded) else (content, media_type)


def is_base64(text: str) -> bool:
    """Return whether a text without white space is Base64 (RFC 4648, 4)."""
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return True


FIELDS: dict[str, FieldReader] = {
    **media.FIELDS,
    f"{ATOM}id": _id,
    f"{ATOM}title": _title,
    f"{ATOM}link": _link,
    f"{ATOM}published": modules.published,
    f"{ATOM}updated": _updated,
    AUTHOR: modules.author,
    f"{ATOM}category": modules.subject,
    SUMMARY: _summary,
    CONTENT: _content,
}
VOCABULARY = Vocabulary(
    "atom", ATOM, ENTRY, FIELDS, modules.DATES, (f"{ATOM}updated",), escaped=frozenset({SUMMARY, CONTENT})
)
