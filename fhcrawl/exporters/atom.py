"""Writes entries as Atom (RFC 4287)."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

from fhcrawl.documents.formats import atom
from fhcrawl.documents.formats.atom import ENTRY, PLACEHOLDER
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import ATOM, XHTML
from fhcrawl.exporters.documents import PREFIXES, DocumentFormat, extensions
from fhcrawl.exporters.entries import EntryFormat, cleaned, leaf, verbatim

if TYPE_CHECKING:
    from lxml.etree import _Element

    from fhcrawl.documents import Entry
    from fhcrawl.exporters.documents import Head
    from fhcrawl.exporters.entries import Fields

# RFC 4287, 3.3, with RFC 3339, 5.6.
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
UNKNOWN_TIME = "1970-01-01T00:00:00Z"
_BEGIN, _END = f'<atom:content xmlns:atom="{ATOM[1:-1]}" xmlns=""', "</atom:content>"


def read(entry: _Element) -> Entry:
    """Read an atom:entry."""
    return atom.read_entry(entry, "", atom.VOCABULARY, [], 1)


def says(child: _Element, name: str) -> bool:
    """Return whether a child of an entry is an element of a field."""
    if child.tag == f"{ATOM}link":
        relation = {"link": "alternate", "enclosures": "enclosure"}.get(name)
        return relation in elements.relations(child)
    return child.tag == f"{ATOM}{TAGS.get(name, name)}"


def adopt(original: _Element) -> _Element | None:
    """Return a copy of an atom:entry; None for another element."""
    return copy.deepcopy(original) if original.tag == ENTRY else None


# RFC 4287, 4.1.2: an entry has a title, an update time, and an alternate link if it has no content.
def complete(entry: _Element, fields: Fields) -> None:
    """Add the elements that RFC 4287 requires, marked as placeholders where the entry has no such value."""
    _put_date(entry, "published", fields["published"])
    _put_date(entry, "updated", fields["updated"])
    if entry.find(f"{ATOM}updated") is None:
        time = leaf(f"{ATOM}updated", fields["published"] or UNKNOWN_TIME)
        time.set(PLACEHOLDER, "published" if fields["published"] else "nothing")
        entry.append(time)
    if entry.find(f"{ATOM}title") is None:
        entry.append(leaf(f"{ATOM}title"))
    if entry.find(f"{ATOM}content") is None and not any(says(child, "link") for child in entry):
        link = leaf(f"{ATOM}link", rel="alternate", href=fields["document"] or fields["feed"])
        link.set(PLACEHOLDER, "document")
        entry.append(link)


def _put_date(entry: _Element, name: str, value: str | None) -> None:
    """Replace the entry's dates by `value`; keep a single date that is valid and in RFC 3339's form."""
    tag = f"{ATOM}{name}"
    dates = [date for date in entry.iterchildren(tag) if date.get(PLACEHOLDER) is None]
    if not dates or (value and len(dates) == 1 and DATE.fullmatch((dates[0].text or "").strip())):
        return
    for date in dates:
        entry.remove(date)
    if value:
        entry.append(leaf(tag, value))


# Formats without a type of text (RSS) do not declare markup in titles and summaries.
def _text(tag: str, text: str) -> _Element:
    return leaf(tag, text, type="html" if elements.MARKUP.search(text) else "text")


# The store's markup declares the namespaces that it uses, except XHTML's, which is declared here. It is put
# where no default namespace is in scope, so that elements in no namespace remain in none.
def content(text: str, content_type: str) -> _Element:
    """Return an atom:content element (RFC 4287, 4.1.3); markup is unchanged, with its own prefixes."""
    kind, found = content_type.lower(), None
    if kind == "xhtml":
        found = verbatim(f'{_BEGIN} type="xhtml"><div xmlns="{XHTML[1:-1]}">{text}</div>{_END}')
    elif kind.endswith(("+xml", "/xml")):
        found = verbatim(f"{_BEGIN} type={quoteattr(content_type)}>{text}{_END}")
    if found is None:
        return leaf(f"{ATOM}content", text, type="html" if kind == "xhtml" else content_type)
    return found


def _link(rel: str, href: str, **attributes: str | None) -> _Element:
    return leaf(f"{ATOM}link", rel=rel, href=href, **attributes)


def _author(name: str) -> _Element:
    author = leaf(f"{ATOM}author")
    author.append(leaf(f"{ATOM}name", name))
    return author


# RFC 4287, 4.1.1: a feed has an author unless all of its entries have. This author has an empty name, because
# it is not known and would apply to entries without an author.
def _head(head: Head) -> list[_Element]:
    author = leaf(f"{ATOM}author")
    author.append(leaf(f"{ATOM}name"))
    return [
        leaf(f"{ATOM}id", cleaned(head.feed)),
        leaf(f"{ATOM}title", cleaned(head.title)),
        leaf(f"{ATOM}updated", head.updated),
        author,
        *extensions(head),
    ]


Build = dict[str, Callable[[Any, "Fields"], "_Element"]]

TAGS = {"authors": "author", "categories": "category", "content_type": "content"}
ELEMENTS: Build = {
    "id": lambda value, fields: leaf(f"{ATOM}id", value),
    "title": lambda value, fields: _text(f"{ATOM}title", value),
    "link": lambda value, fields: _link("alternate", value),
    "published": lambda value, fields: leaf(f"{ATOM}published", value),
    "updated": lambda value, fields: leaf(f"{ATOM}updated", value),
    "summary": lambda value, fields: _text(f"{ATOM}summary", value),
    "content": lambda value, fields: content(value, fields["content_type"] or "text"),
}
ONE_FOR_EACH: dict[str, Callable[[Any], _Element]] = {
    "authors": _author,
    "categories": lambda term: leaf(f"{ATOM}category", term=term),
    "enclosures": lambda file: _link(
        "enclosure",
        file["url"],
        type=file["type"],
        length=None if file["length"] is None else str(file["length"]),
    ),
}
FORMAT = DocumentFormat(
    "atom",
    EntryFormat(ENTRY, read, ELEMENTS, ONE_FOR_EACH, says, atom.FIELDS, adopt, complete),
    ((f"{ATOM}feed", {}),),
    {None: ATOM[1:-1], **PREFIXES},  # type: ignore[dict-item]
    _head,
    f"{ATOM}id",
)
