"""Writes entries as RSS 2.0 with extensions: RFC 5005 (appendix B), Dublin Core, content:encoded, Atom."""

from __future__ import annotations

import copy
from datetime import datetime, timezone
from email.utils import format_datetime
from typing import TYPE_CHECKING

from lxml import etree

from fhcrawl.documents import modules
from fhcrawl.documents.dates import CANONICAL
from fhcrawl.documents.formats import rss
from fhcrawl.documents.formats.atom import CONTENT, PLACEHOLDER
from fhcrawl.documents.identifiers import EXPORT
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import ATOM, RDF_NAMESPACES, RSS_NAMESPACES, local_name
from fhcrawl.exporters import atom, documents
from fhcrawl.exporters.documents import DocumentFormat, cleaned, leaf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

    from fhcrawl.exporters.documents import FeedHead, Fields, Head

DC = modules.DC[0]
ITEMS = frozenset(f"{namespace}item" for namespace in (*RSS_NAMESPACES, *RDF_NAMESPACES))
PREFIXES: dict[str, str] = {"dc": DC[1:-1], "content": modules.CONTENT[1:-1], "atom": ATOM[1:-1]}


def _adopt(original: _Element) -> _Element | None:
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
def _complete(item: _Element, fields: Fields) -> None:
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


def _content(text: str, content_type: str) -> _Element:
    return _prefixed(modules.ENCODED, text) if content_type == "html" else atom.content(text, content_type)


def _prefixed(tag: str, text: str) -> _Element:
    child = etree.Element(tag, nsmap={p: uri for p, uri in PREFIXES.items() if tag.startswith(f"{{{uri}}}")})
    child.text = text
    return child


# RSS 2.0: a channel has a title, a link and a description. lastBuildDate has no fractions; atom:updated may.
def _head(head: Head) -> list[_Element]:
    built = _mail_time(f"{head.updated[:19]}Z")
    known = head.source.metadata
    return [
        _required("title", known.title and known.title.value, head.name),
        _required("link", known.link, head.feed),
        _required("description", known.description and known.description.value, head.name),
        *([leaf("lastBuildDate", built)] if built else []),
        leaf(f"{ATOM}updated", head.updated),
        *_metadata(head, head.source),
    ]


def _required(name: str, value: str | None, otherwise: str) -> _Element:
    element = etree.Element(name, nsmap={"fx": EXPORT[1:-1]})
    element.text = cleaned(value or otherwise)
    if not value:
        element.set(PLACEHOLDER, "title" if name != "link" else "feed-url")
    return element


def _metadata(head: Head, source: FeedHead) -> Iterator[_Element]:
    known = source.metadata
    if known.image:
        image = leaf("image")
        names = {"url": known.image, "title": head.name, "link": known.link or head.feed}
        image.extend(leaf(name, cleaned(value)) for name, value in names.items())
        yield image
    if source.is_rss:
        yield from _own_elements(source)
    else:
        lines = ("language", known.language), ("copyright", known.copyright), ("generator", known.generator)
        yield from (leaf(name, cleaned(value)) for name, value in lines if value)
        yield from (leaf("category", cleaned(term)) for term in known.categories)
        yield from (atom.person(author) for author in known.authors)
    for name in ("id", "icon", "contributor", *(("author",) if source.is_rss else ())):
        yield from source.atom(name)
    yield from (link for link in source.links() if "alternate" not in elements.relations(link))
    yield from source.foreign()


def _own_elements(source: FeedHead) -> Iterator[_Element]:
    """Yield the elements of a channel of RSS, as they came; each once, but for categories."""
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
TAGS: dict[str, set[str]] = {
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
ELEMENTS: atom.Build = {
    "id": lambda value, fields: leaf("guid", value, isPermaLink="false"),
    "title": lambda value, fields: leaf("title", value),
    "link": lambda value, fields: leaf("link", value),
    "published": lambda value, fields: _published(value),
    "updated": lambda value, fields: _prefixed(f"{ATOM}updated", value),
    "summary": lambda value, fields: leaf("description", value),
    "content": lambda value, fields: _content(value, fields["content_type"] or "text"),
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
FORMAT = DocumentFormat(
    name="rss",
    around=(("rss", {"version": "2.0"}), ("channel", {})),
    nsmap={**PREFIXES, **documents.PREFIXES},
    head=_head,
    named="link",
    entry_tag="item",
    read=lambda item: rss.read_item(item, "", rss.VOCABULARIES[""], [], 1),
    elements=ELEMENTS,
    has_field=lambda child, name: child.tag in TAGS[name],
    reads=rss.VOCABULARIES[""].fields,
    adopt=_adopt,
    complete=_complete,
)
