"""The formats of exported feeds: Atom (RFC 4287), and RSS 2.0 with extensions.

RSS has elements of RFC 5005 (appendix B), Dublin Core, content:encoded and Atom.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from datetime import datetime, timezone
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

from lxml import etree

from fhcrawl.documents import modules
from fhcrawl.documents.dates import CANONICAL
from fhcrawl.documents.formats import atom, rss
from fhcrawl.documents.formats.atom import BASE64, CONTENT, ENTRY, PLACEHOLDER, is_base64
from fhcrawl.documents.identifiers import EXPORT, OWN_ID, iri_of
from fhcrawl.documents.metadata import MAIL, OF_THE_FEED, FeedMetadata, Person
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import (
    ATOM,
    RDF_NAMESPACES,
    RSS_NAMESPACES,
    XHTML,
    XML_BASE,
    XML_LANG,
    local_name,
)
from fhcrawl.exporters.documents import PREFIXES, DocumentFormat, cleaned, leaf, link, verbatim

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

    from fhcrawl.exporters.documents import FeedHead, Fields, Head

# RFC 4287, 3.3, with RFC 3339, 5.6.
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
UNKNOWN_TIME = "1970-01-01T00:00:00Z"
_BEGIN, _END = f'<atom:content xmlns:atom="{ATOM[1:-1]}" xmlns=""', "</atom:content>"


def _has_atom_field(child: _Element, name: str) -> bool:
    if child.tag == f"{ATOM}link":
        relation = {"link": "alternate", "enclosures": "enclosure"}.get(name)
        return relation in elements.relations(child)
    return child.tag == f"{ATOM}{ATOM_TAGS.get(name, name)}"


# RFC 4287, 4.1.2: an entry has a title, an update time, and an alternate link if it has no content.
def _complete_entry(entry: _Element, fields: Fields) -> None:
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
    if entry.find(f"{ATOM}content") is None and not any(_has_atom_field(child, "link") for child in entry):
        alternate = link("alternate", fields["document"] or fields["feed"])
        alternate.set(PLACEHOLDER, "document")
        entry.append(alternate)


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
def _content(text: str, content_type: str) -> _Element:
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
def _person(person: Person, source: str = OF_THE_FEED) -> _Element:
    """Return an atom:author (RFC 4287, 3.2), marked by PLACEHOLDER with its source."""
    author = _author(cleaned(person.name or person.email or person.uri))
    author.set(PLACEHOLDER, source)
    if person.uri:
        author.append(leaf(f"{ATOM}uri", cleaned(person.uri)))
    if person.email and MAIL.fullmatch(person.email):
        author.append(leaf(f"{ATOM}email", cleaned(person.email)))
    return author


def _feed_head(head: Head) -> list[_Element]:
    source = head.source
    metadata = source.metadata
    own = _feed_elements(source) if source.is_atom else _from_metadata(metadata)
    if not any(element.tag == f"{ATOM}title" for element in own):
        own.insert(0, leaf(f"{ATOM}title", head.name))
    if metadata.image and not any(element.tag == f"{ATOM}logo" for element in own):
        own.append(leaf(f"{ATOM}logo", cleaned(metadata.image)))
    authors = [_person(author) for author in metadata.authors] or [_person(Person(head.name), source="title")]
    return [
        _identify(cleaned(metadata.id or head.feed)),
        leaf(f"{ATOM}updated", head.updated),
        *own,
        *authors,
        *_extra(source),
    ]


# RFC 4287, 4.1.1: a feed has at most one of each of these.
def _feed_elements(source: FeedHead) -> list[_Element]:
    own: list[_Element] = []
    for name in ("title", "subtitle", "rights", "generator", "icon", "logo"):
        own += [element for element in source.own(name) if elements.line(element) and _is_valid(element)][:1]
    categories = (element for element in source.own("category") if (element.get("term") or "").strip())
    contributors = (e for e in source.own("contributor") if elements.line_in(e, f"{ATOM}name"))
    return [*own, *categories, *contributors]


def _is_valid(element: _Element) -> bool:
    return element.get("type") in (None, "text", "html") or element.find(f"{XHTML}div") is not None


def _from_metadata(metadata: FeedMetadata) -> list[_Element]:
    texts = (("title", metadata.title), ("subtitle", metadata.description))
    lines = (
        ("rights", metadata.copyright),
        ("generator", metadata.generator),
        ("icon", metadata.icon),
        ("logo", metadata.image),
    )
    alternate = [] if metadata.link is None else [link("alternate", cleaned(metadata.link))]
    return [
        *(_text(f"{ATOM}{name}", cleaned(text.value), text.type) for name, text in texts if text),
        *(leaf(f"{ATOM}{name}", cleaned(value)) for name, value in lines if value),
        *(leaf(f"{ATOM}category", term=cleaned(term)) for term in metadata.categories),
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

ATOM_TAGS = {"authors": "author", "categories": "category", "content_type": "content"}
ATOM_ELEMENTS: Build = {
    "id": lambda value, fields: _identify(value),
    "title": lambda value, fields: _text(f"{ATOM}title", value, fields.get("title_type")),
    "link": lambda value, fields: link("alternate", value),
    "published": lambda value, fields: leaf(f"{ATOM}published", value),
    "updated": lambda value, fields: leaf(f"{ATOM}updated", value),
    "summary": lambda value, fields: _text(f"{ATOM}summary", value, fields.get("summary_type")),
    "content": lambda value, fields: _content(value, fields["content_type"] or "text"),
    "authors": lambda name, fields: _author(name),
    "categories": lambda term, fields: leaf(f"{ATOM}category", term=term),
    "enclosures": lambda file, fields: link(
        "enclosure",
        file["url"],
        type=file["type"],
        length=None if file["length"] is None else str(file["length"]),
    ),
}
ATOM_FORMAT = DocumentFormat(
    name="atom",
    around=((f"{ATOM}feed", {}),),
    nsmap={None: ATOM[1:-1], **PREFIXES},  # type: ignore[dict-item]
    head=_feed_head,
    named=f"{ATOM}id",
    entry_tag=ENTRY,
    read=lambda entry: atom.read_entry(entry, "", atom.VOCABULARY, [], 1),
    elements=ATOM_ELEMENTS,
    has_field=_has_atom_field,
    reads=atom.FIELDS,
    adopt=lambda original: copy.deepcopy(original) if original.tag == ENTRY else None,
    complete=_complete_entry,
    identifier=iri_of,
    root=_root,
)


DC = modules.DC[0]
ITEMS = frozenset(f"{namespace}item" for namespace in (*RSS_NAMESPACES, *RDF_NAMESPACES))
RSS_PREFIXES: dict[str, str] = {"dc": DC[1:-1], "content": modules.CONTENT[1:-1], "atom": ATOM[1:-1]}


def _adopt_item(original: _Element) -> _Element | None:
    """Return a copy of an item of any version of RSS as an item of RSS 2.0; None for another element."""
    if original.tag not in ITEMS:
        return None
    namespace = original.tag[: original.tag.rfind("}") + 1]
    item = etree.Element("item", nsmap={p: uri for p, uri in original.nsmap.items() if p})
    item.extend(copy.deepcopy(child) for child in original)
    for child in item:
        child.tail = None
        if namespace and isinstance(child.tag, str) and child.tag.startswith(namespace):
            child.tag = local_name(child)
    etree.cleanup_namespaces(item)
    return item


# RSS 2.0: "All elements of an item are optional, however at least one of title or description must be
# present."
def _complete_item(item: _Element, fields: Fields) -> None:
    if item.find("title") is None and item.find("description") is None:
        item.append(leaf("title"))


def _mail_time(time: str) -> str | None:
    """Return a time in RSS 2.0's form (RFC 822 with a four-digit year); None if that loses precision."""
    if not CANONICAL.match(time):
        return None
    return format_datetime(datetime.fromisoformat(time[:-1]).replace(tzinfo=timezone.utc), usegmt=True)


def _published(time: str) -> _Element:
    mail = _mail_time(time)
    return _prefixed(f"{DC}date", time) if mail is None else leaf("pubDate", mail)


def _rss_content(text: str, content_type: str) -> _Element:
    return _prefixed(modules.ENCODED, text) if content_type == "html" else _content(text, content_type)


def _prefixed(tag: str, text: str) -> _Element:
    child = etree.Element(
        tag, nsmap={p: uri for p, uri in RSS_PREFIXES.items() if tag.startswith(f"{{{uri}}}")}
    )
    child.text = text
    return child


# RSS 2.0: a channel has a title, a link and a description. lastBuildDate has no fractions; atom:updated may.
def _channel_head(head: Head) -> list[_Element]:
    built = _mail_time(f"{head.updated[:19]}Z")
    metadata = head.source.metadata
    return [
        _required("title", metadata.title and metadata.title.value, head.name),
        _required("link", metadata.link, head.feed),
        _required("description", metadata.description and metadata.description.value, head.name),
        *([leaf("lastBuildDate", built)] if built else []),
        leaf(f"{ATOM}updated", head.updated),
        *_channel_metadata(head, head.source),
    ]


def _required(name: str, value: str | None, otherwise: str) -> _Element:
    element = etree.Element(name, nsmap={"fx": EXPORT[1:-1]})
    element.text = cleaned(value or otherwise)
    if not value:
        element.set(PLACEHOLDER, "title" if name != "link" else "feed-url")
    return element


def _channel_metadata(head: Head, source: FeedHead) -> Iterator[_Element]:
    metadata = source.metadata
    if metadata.image:
        image = leaf("image")
        names = {"url": metadata.image, "title": head.name, "link": metadata.link or head.feed}
        image.extend(leaf(name, cleaned(value)) for name, value in names.items())
        yield image
    if source.is_rss:
        yield from _channel_elements(source)
    else:
        lines = (
            ("language", metadata.language),
            ("copyright", metadata.copyright),
            ("generator", metadata.generator),
        )
        yield from (leaf(name, cleaned(value)) for name, value in lines if value)
        yield from (leaf("category", cleaned(term)) for term in metadata.categories)
        yield from (_person(author) for author in metadata.authors)
    for name in ("id", "icon", "contributor", *(("author",) if source.is_rss else ())):
        yield from source.atom(name)
    yield from (link for link in source.links() if "alternate" not in elements.relations(link))
    yield from source.foreign()


def _channel_elements(source: FeedHead) -> Iterator[_Element]:
    for name in ONCE:
        yield from [element for element in source.own(name) if elements.text(element)][:1]
    yield from (element for element in source.own("category") if elements.text(element))


# RSS 2.0: the optional elements of a channel; those that name the document or its times are left out.
ONCE = (
    *("language", "copyright", "managingEditor", "webMaster", "generator", "docs", "ttl", "rating"),
    *("textInput", "skipHours", "skipDays"),
)


DATES_CREATED = {tag for tag, (purpose, _label) in modules.DATES.items() if purpose == "published"}
DATES_UPDATED = {tag for tag, (purpose, _label) in modules.DATES.items() if purpose == "updated"}
DUBLIN_CORE = (*modules.DC, modules.DCTERMS)
CREATORS = {f"{namespace}creator" for namespace in DUBLIN_CORE}
SUBJECTS = {f"{namespace}subject" for namespace in DUBLIN_CORE}
CONTENTS = {modules.ENCODED, CONTENT}
TITLES = {f"{namespace}title" for namespace in (ATOM, *DUBLIN_CORE)}
SUMMARIES = {f"{ATOM}summary", *(f"{namespace}description" for namespace in DUBLIN_CORE)}
RSS_TAGS: dict[str, set[str]] = {
    "id": {"guid"},
    "title": {"title", *TITLES},
    "link": {"link"},
    "published": {"pubDate", *DATES_CREATED},
    "updated": DATES_UPDATED,
    "authors": {"author", f"{ATOM}author", *CREATORS},
    "categories": {"category", f"{ATOM}category", *SUBJECTS},
    "summary": {"description", f"{modules.DCTERMS}abstract", *SUMMARIES},
    "content": CONTENTS,
    "content_type": CONTENTS,
    "enclosures": {"enclosure"},
}
RSS_ELEMENTS: Build = {
    "id": lambda value, fields: leaf("guid", value, isPermaLink="false"),
    "title": lambda value, fields: leaf("title", value),
    "link": lambda value, fields: leaf("link", value),
    "published": lambda value, fields: _published(value),
    "updated": lambda value, fields: _prefixed(f"{ATOM}updated", value),
    "summary": lambda value, fields: leaf("description", value),
    "content": lambda value, fields: _rss_content(value, fields["content_type"] or "text"),
    "authors": lambda name, fields: _prefixed(f"{DC}creator", name),
    "categories": lambda term, fields: leaf("category", term),
    "enclosures": lambda file, fields: leaf(
        "enclosure",
        url=file["url"],
        # RSS 2.0: "It has three required attributes." Those that the feed lacks are empty.
        length="" if file["length"] is None else str(file["length"]),
        type=file["type"] or "",
    ),
}
RSS_FORMAT = DocumentFormat(
    name="rss",
    around=(("rss", {"version": "2.0"}), ("channel", {})),
    nsmap={**RSS_PREFIXES, **PREFIXES},
    head=_channel_head,
    named="link",
    entry_tag="item",
    read=lambda item: rss.read_item(item, "", rss.VOCABULARIES[""], [], 1),
    elements=RSS_ELEMENTS,
    has_field=lambda child, name: child.tag in RSS_TAGS[name],
    reads=rss.VOCABULARIES[""].fields,
    adopt=_adopt_item,
    complete=_complete_item,
)
