"""Writes entries as Atom (RFC 4287)."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
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
    cleaned,
    leaf,
    link,
    verbatim,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

    from fhcrawl.exporters.documents import FeedHead, Fields, Head

# RFC 4287, 3.3, with RFC 3339, 5.6.
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
UNKNOWN_TIME = "1970-01-01T00:00:00Z"
_BEGIN, _END = f'<atom:content xmlns:atom="{ATOM[1:-1]}" xmlns=""', "</atom:content>"


def _has_field(child: _Element, name: str) -> bool:
    if child.tag == f"{ATOM}link":
        relation = {"link": "alternate", "enclosures": "enclosure"}.get(name)
        return relation in elements.relations(child)
    return child.tag == f"{ATOM}{TAGS.get(name, name)}"


# RFC 4287, 4.1.2: an entry has a title, an update time, and an alternate link if it has no content.
def _complete(entry: _Element, fields: Fields) -> None:
    """Add the elements that RFC 4287 requires, marked as placeholders where the entry has no such value."""
    if iri_of(fields["id"]) != fields["id"]:
        for own in list(entry.iterchildren(f"{ATOM}id")):
            entry.remove(own)
        entry.insert(0, _identify(fields["id"]))
    _put_date(entry, "published", fields["published"])
    _put_date(entry, "updated", fields["updated"])
    if entry.find(f"{ATOM}updated") is None:
        time = leaf(f"{ATOM}updated", fields["published"] or UNKNOWN_TIME)
        time.set(PLACEHOLDER, "published" if fields["published"] else "nothing")
        entry.append(time)
    if entry.find(f"{ATOM}title") is None:
        entry.append(leaf(f"{ATOM}title"))
    if entry.find(f"{ATOM}content") is None and not any(_has_field(child, "link") for child in entry):
        link = leaf(f"{ATOM}link", rel="alternate", href=fields["document"] or fields["feed"])
        link.set(PLACEHOLDER, "document")
        entry.append(link)


# RFC 4287, 4.2.6: an atom:id is an IRI. An id that is none is an attribute of it too.
def _identify(value: str) -> _Element:
    element = etree.Element(f"{ATOM}id", nsmap={None: ATOM[1:-1], "fx": EXPORT[1:-1]})  # type: ignore[dict-item]
    element.text = iri_of(value)
    if element.text != value:
        element.set(OWN_ID, value)
    return element


# A single date that is valid and in RFC 3339's form is kept.
def _put_date(entry: _Element, name: str, value: str | None) -> None:
    tag = f"{ATOM}{name}"
    dates = [date for date in entry.iterchildren(tag) if date.get(PLACEHOLDER) is None]
    if not dates or (value and len(dates) == 1 and DATE.fullmatch((dates[0].text or "").strip())):
        return
    for date in dates:
        entry.remove(date)
    if value:
        entry.append(leaf(tag, value))


# RFC 4287, 3.1. Formats without a type of text (RSS) do not declare markup in titles and summaries.
def _text(tag: str, value: str, kind: str | None) -> _Element:
    return leaf(tag, value, type="html" if kind != "text" and elements.MARKUP.search(value) else "text")


# The store's markup declares the namespaces that it uses, except XHTML's, which is declared here. It is put
# where no default namespace is in scope, so that elements in no namespace remain in none.
def content(text: str, content_type: str) -> _Element:
    """Return an atom:content element (RFC 4287, 4.1.3); markup is unchanged, with its own prefixes."""
    kind, element = content_type.lower(), None
    if kind == "xhtml":
        element = verbatim(f'{_BEGIN} type="xhtml"><div xmlns="{XHTML[1:-1]}">{text}</div>{_END}')
    elif kind.endswith(("+xml", "/xml")):
        element = verbatim(f"{_BEGIN} type={quoteattr(content_type)}>{text}{_END}")
    if element is None:
        # RFC 4287, 4.1.3.3: the encoding follows from the type.
        is_encoded = kind.endswith(BASE64) and is_base64(text)
        plain = content_type[: -len(BASE64)] if is_encoded else content_type
        return leaf(f"{ATOM}content", text, type="html" if kind == "xhtml" else plain)
    return element


def _author(name: str) -> _Element:
    author = leaf(f"{ATOM}author")
    author.append(leaf(f"{ATOM}name", name))
    return author


# RFC 4287, 4.1.1: a feed has an author unless all of its entries have; 4.2.1: its authors apply to entries
# without authors. In the store, an entry has all of its authors: those of the feed are marked.
def person(known: Person, source: str = OF_THE_FEED) -> _Element:
    """Return an atom:author, a Person construct (RFC 4287, 3.2).

    :param source: value of PLACEHOLDER
    """
    author = _author(cleaned(known.name or known.email or known.uri))
    author.set(PLACEHOLDER, source)
    if known.uri:
        author.append(leaf(f"{ATOM}uri", cleaned(known.uri)))
    if known.email and MAIL.fullmatch(known.email):
        author.append(leaf(f"{ATOM}email", cleaned(known.email)))
    return author


def _head(head: Head) -> list[_Element]:
    source = head.source
    known = source.metadata
    own = _own_elements(source) if source.is_atom else _from_metadata(known)
    if not any(element.tag == f"{ATOM}title" for element in own):
        own.insert(0, leaf(f"{ATOM}title", head.name))
    if known.image and not any(element.tag == f"{ATOM}logo" for element in own):
        own.append(leaf(f"{ATOM}logo", cleaned(known.image)))
    authors = [person(author) for author in known.authors] or [person(Person(head.name), source="title")]
    return [
        _identify(cleaned(known.id or head.feed)),
        leaf(f"{ATOM}updated", head.updated),
        *own,
        *authors,
        *_extra(source),
    ]


# RFC 4287, 4.1.1: a feed has at most one of each of these.
def _own_elements(source: FeedHead) -> list[_Element]:
    own: list[_Element] = []
    for name in ("title", "subtitle", "rights", "generator", "icon", "logo"):
        own += [element for element in source.own(name) if elements.line(element) and _is_valid(element)][:1]
    categories = (element for element in source.own("category") if (element.get("term") or "").strip())
    contributors = (e for e in source.own("contributor") if elements.line_in(e, f"{ATOM}name"))
    return [*own, *categories, *contributors]


def _is_valid(element: _Element) -> bool:
    return element.get("type") in (None, "text", "html") or element.find(f"{XHTML}div") is not None


def _from_metadata(known: FeedMetadata) -> list[_Element]:
    texts = (("title", known.title), ("subtitle", known.description))
    lines = (
        ("rights", known.copyright),
        ("generator", known.generator),
        ("icon", known.icon),
        ("logo", known.image),
    )
    alternate = [] if known.link is None else [link("alternate", cleaned(known.link))]
    return [
        *(_text(f"{ATOM}{name}", cleaned(text.value), text.type) for name, text in texts if text),
        *(leaf(f"{ATOM}{name}", cleaned(value)) for name, value in lines if value),
        *(leaf(f"{ATOM}category", term=cleaned(term)) for term in known.categories),
        *alternate,
    ]


def _extra(source: FeedHead) -> Iterator[_Element]:
    """Yield links, each alternate of a type and language once (RFC 4287, 4.1.1), and foreign markup."""
    alternates = set()
    for element in source.links():
        key = element.get("type"), element.get("hreflang")
        if "alternate" in elements.relations(element):
            if not source.is_atom or key in alternates:
                continue
            alternates.add(key)
        yield element
    yield from source.foreign()


def _root(head: Head) -> dict[str, str]:
    attributes = {XML_BASE: head.source.base, XML_LANG: head.source.metadata.language}
    return {name: cleaned(value) for name, value in attributes.items() if value}


Build = dict[str, Callable[[Any, "Fields"], "_Element"]]

TAGS = {"authors": "author", "categories": "category", "content_type": "content"}
ELEMENTS: Build = {
    "id": lambda value, fields: _identify(value),
    "title": lambda value, fields: _text(f"{ATOM}title", value, fields.get("title_type")),
    "link": lambda value, fields: link("alternate", value),
    "published": lambda value, fields: leaf(f"{ATOM}published", value),
    "updated": lambda value, fields: leaf(f"{ATOM}updated", value),
    "summary": lambda value, fields: _text(f"{ATOM}summary", value, fields.get("summary_type")),
    "content": lambda value, fields: content(value, fields["content_type"] or "text"),
    "authors": lambda name, fields: _author(name),
    "categories": lambda term, fields: leaf(f"{ATOM}category", term=term),
    "enclosures": lambda file, fields: link(
        "enclosure",
        file["url"],
        type=file["type"],
        length=None if file["length"] is None else str(file["length"]),
    ),
}
FORMAT = DocumentFormat(
    name="atom",
    around=((f"{ATOM}feed", {}),),
    nsmap={None: ATOM[1:-1], **PREFIXES},  # type: ignore[dict-item]
    head=_head,
    named=f"{ATOM}id",
    entry_tag=ENTRY,
    read=lambda entry: atom.read_entry(entry, "", atom.VOCABULARY, [], 1),
    elements=ELEMENTS,
    has_field=_has_field,
    reads=atom.FIELDS,
    adopt=lambda original: copy.deepcopy(original) if original.tag == ENTRY else None,
    complete=_complete,
    identifier=iri_of,
    root=_root,
)
