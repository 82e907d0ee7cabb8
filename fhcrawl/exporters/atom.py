"""Writes entries as Atom (RFC 4287)."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

from lxml import etree

from fhcrawl.documents.formats import atom
from fhcrawl.documents.formats.atom import BASE64, ENTRY, PLACEHOLDER, is_base64
from fhcrawl.documents.identifiers import EXPORT, OWN_ID, iri_of
from fhcrawl.documents.metadata import MAIL, OF_THE_FEED, FeedMetadata, Person
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import ATOM, XHTML, XML_BASE, XML_LANG
from fhcrawl.exporters.documents import (
    PREFIXES,
    DocumentFormat,
    EntryFormat,
    cleaned,
    extensions,
    leaf,
    verbatim,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

    from fhcrawl.documents import Entry
    from fhcrawl.exporters.documents import FeedHead, Fields, Head

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
    if iri_of(fields["id"]) != fields["id"]:
        for own in list(entry.iterchildren(f"{ATOM}id")):
            entry.remove(own)
        entry.insert(0, identify(fields["id"]))
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


def identify(value: str) -> _Element:
    """Return an atom:id (RFC 4287, 4.2.6); one that is no IRI is an attribute of it too."""
    found, iri = etree.Element(f"{ATOM}id", nsmap={None: ATOM[1:-1], "fx": EXPORT[1:-1]}), iri_of(value)  # type: ignore[dict-item]
    found.text = iri
    if iri != value:
        found.set(OWN_ID, value)
    return found


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
def text(tag: str, value: str, kind: str | None = None) -> _Element:
    """Return a text construct (RFC 4287, 3.1).

    :param kind: type of the value; None if it is not known
    """
    return leaf(tag, value, type="html" if kind != "text" and elements.MARKUP.search(value) else "text")


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
        # RFC 4287, 4.1.3.3: the encoding follows from the type.
        is_encoded = kind.endswith(BASE64) and is_base64(text)
        plain = content_type[: -len(BASE64)] if is_encoded else content_type
        return leaf(f"{ATOM}content", text, type="html" if kind == "xhtml" else plain)
    return found


def _link(rel: str, href: str, **attributes: str | None) -> _Element:
    return leaf(f"{ATOM}link", rel=rel, href=href, **attributes)


def _author(name: str) -> _Element:
    author = leaf(f"{ATOM}author")
    author.append(leaf(f"{ATOM}name", name))
    return author


# RFC 4287, 4.1.1: a feed has an author unless all of its entries have; 4.2.1: its authors apply to entries
# without authors. In the store, an entry has all of its authors: those of the feed are marked.
def person(found: Person, source: str = OF_THE_FEED) -> _Element:
    """Return an atom:author, a Person construct (RFC 4287, 3.2).

    :param source: value of PLACEHOLDER
    """
    own = leaf(f"{ATOM}author")
    own.set(PLACEHOLDER, source)
    own.append(leaf(f"{ATOM}name", cleaned(found.name or found.email or found.uri)))
    own.extend(
        leaf(f"{ATOM}{name}", cleaned(value))
        for name, value in (("uri", found.uri), ("email", found.email))
        if value and (name == "uri" or MAIL.fullmatch(value))
    )
    return own


def _head(head: Head) -> list[_Element]:
    known = FeedMetadata() if head.source is None else head.source.metadata
    if head.source is not None and head.source.is_atom:
        own = _own_elements(head.source)
    else:
        own = _from_metadata(known)
    if not any(each.tag == f"{ATOM}title" for each in own):
        own.insert(0, leaf(f"{ATOM}title", head.name))
    if known.image and not any(each.tag == f"{ATOM}logo" for each in own):
        own.append(leaf(f"{ATOM}logo", cleaned(known.image)))
    authors = [person(one) for one in known.authors] or [person(Person(head.name), source="title")]
    return [
        identify(cleaned(known.id or head.feed)),
        leaf(f"{ATOM}updated", head.updated),
        *own,
        *authors,
        *(() if head.source is None else _extra(head.source)),
        *extensions(head),
    ]


# RFC 4287, 4.1.1: a feed has at most one of each of these.
def _own_elements(source: FeedHead) -> list[_Element]:
    """Return the elements of an atom:feed that are valid: its own, as they came."""
    found: list[_Element] = []
    for name in ("title", "subtitle", "rights", "generator", "icon", "logo"):
        texts = (each for each in source.own(name) if elements.line(each) and _is_valid(each))
        found.extend(islice(texts, 1))
    categories = (each for each in source.own("category") if (each.get("term") or "").strip())
    contributors = (each for each in source.own("contributor") if elements.line_in(each, f"{ATOM}name"))
    return [*found, *categories, *contributors]


def _is_valid(element: _Element) -> bool:
    return element.get("type") in (None, "text", "html") or element.find(f"{XHTML}div") is not None


def _from_metadata(known: FeedMetadata) -> list[_Element]:
    """Return the elements for the metadata of a feed of another format."""
    texts = (("title", known.title), ("subtitle", known.description))
    lines = (
        ("rights", known.copyright),
        ("generator", known.generator),
        ("icon", known.icon),
        ("logo", known.image),
    )
    alternate = [] if known.link is None else [_link("alternate", cleaned(known.link))]
    return [
        *(text(f"{ATOM}{name}", cleaned(one.value), one.type) for name, one in texts if one),
        *(leaf(f"{ATOM}{name}", cleaned(value)) for name, value in lines if value),
        *(leaf(f"{ATOM}category", term=cleaned(term)) for term in known.categories),
        *alternate,
    ]


def _extra(source: FeedHead) -> Iterator[_Element]:
    """Yield links, each alternate of a type and language once (RFC 4287, 4.1.1), and foreign markup."""
    alternates = set()
    for link in source.links():
        key = link.get("type"), link.get("hreflang")
        if "alternate" in elements.relations(link):
            if not source.is_atom or key in alternates:
                continue
            alternates.add(key)
        yield link
    yield from source.foreign()


def _root(head: Head) -> dict[str, str]:
    if head.source is None:
        return {}
    said = {XML_BASE: head.source.base, XML_LANG: head.source.metadata.language}
    return {name: cleaned(value) for name, value in said.items() if value}


Build = dict[str, Callable[[Any, "Fields"], "_Element"]]

TAGS = {"authors": "author", "categories": "category", "content_type": "content"}
ELEMENTS: Build = {
    "id": lambda value, fields: identify(value),
    "title": lambda value, fields: text(f"{ATOM}title", value, fields.get("title_type")),
    "link": lambda value, fields: _link("alternate", value),
    "published": lambda value, fields: leaf(f"{ATOM}published", value),
    "updated": lambda value, fields: leaf(f"{ATOM}updated", value),
    "summary": lambda value, fields: text(f"{ATOM}summary", value, fields.get("summary_type")),
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
    EntryFormat(ENTRY, read, ELEMENTS, ONE_FOR_EACH, says, atom.FIELDS, adopt, complete, iri_of),
    ((f"{ATOM}feed", {}),),
    {None: ATOM[1:-1], **PREFIXES},  # type: ignore[dict-item]
    _head,
    f"{ATOM}id",
    _root,
)
