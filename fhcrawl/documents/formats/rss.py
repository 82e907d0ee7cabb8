"""Reads RSS 2.0, 1.0 and 0.9x with RFC 5005's extensions (appendix B)."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING

from lxml import etree

from fhcrawl.documents import head, model, modules
from fhcrawl.documents.formats import atom
from fhcrawl.documents.head import Vocabulary
from fhcrawl.documents.model import Entry, Problem, identifier
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import ATOM, ENTRIES, RDF_ROOT
from fhcrawl.documents.xml.namespaces import braced
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

    from fhcrawl.documents.model import FeedDocument
    from fhcrawl.documents.modules import FieldReader
    from fhcrawl.documents.xml.elements import Head
    from fhcrawl.documents.xml.parsing import Parsed

ABOUT = f"{braced('rdf')}about"


def read(parsed: Parsed, url: str) -> FeedDocument:
    """:raises NotAFeedError: if an rdf:RDF element has no channel of RSS 1.0 or 0.90"""
    root, fault = parsed.root, parsed.fault
    namespace = _rdf_namespace(root) if root.tag == RDF_ROOT else root.tag.removesuffix("rss")
    channel = elements.first(root, f"{namespace}channel")
    if channel is None:
        channel = etree.Element("channel")
        fault = fault or "it has no <channel>"
    around = elements.base_of(root, url)
    base = elements.base_of(channel, around)
    problems: list[Problem] = []
    children: Head = {}
    beside: Head = {}
    vocabulary = VOCABULARIES[namespace]
    # RSS 1.0, 5.5: items are children of rdf:RDF, beside the channel; in some RSS 2.0 feeds too.
    items = chain(
        zip(parsed.entries(channel, vocabulary.entry, children), repeat(base), strict=False),
        _items_elsewhere(parsed, channel, (children, beside), url, vocabulary.entry),
    )
    entries = [
        read_item(item, around, vocabulary, problems, number)
        for number, (item, around) in enumerate(items, 1)
    ]
    modules.inherit(entries, [], _language(channel, root, children))
    parsed = parsed._replace(fault=fault)
    document = head.read(parsed, children, base, vocabulary, entries, problems, beside)
    links = ((link, elements.line(link)) for link in children.get(f"{namespace}link", ()))
    document.site = next((elements.target(link, line, base) for link, line in links if line), None)
    return document


def _rdf_namespace(root: _Element) -> str:
    declared = {f"{{{uri}}}" for uri in root.nsmap.values()}
    for namespace in elements.RDF_NAMESPACES:
        if namespace in declared or root.find(f"{namespace}channel") is not None:
            return namespace
    raise NotAFeedError(ReasonKind.NOT_A_FEED, "it is XML whose root element is <RDF>")


# RFC 4287, 2, has xml:lang; RSS 2.0 the channel's language; RSS 1.0 Dublin Core's.
def _language(channel: _Element, root: _Element, children: Head) -> str | None:
    for element in (channel, root):
        if (declared := elements.language_of(element)) is not None:
            return declared
    namespace = channel.tag.removesuffix("channel")
    tags = (f"{namespace}language", *(f"{dc}language" for dc in modules.DC))
    language = next(filter(None, (elements.line_of(children, tag) for tag in tags)), None)
    return language if language and len(language) <= elements.LONGEST_LANGUAGE else None


def _items_elsewhere(
    parsed: Parsed, channel: _Element, sections: tuple[Head, Head], url: str, tag: str
) -> Iterator[tuple[_Element, str]]:
    beside = sections[1]
    around = elements.base_of(parsed.root, url)
    yield from zip(parsed.entries(parsed.root, tag, beside), repeat(around), strict=False)
    if channel in beside.get(channel.tag, ()):
        beside[channel.tag].remove(channel)
    in_heads = (child for section in sections for children in section.values() for child in children)
    inside = (item for child in in_heads for item in head.entries_inside(child, ENTRIES))
    places = dict.fromkeys(item.getparent() for item in inside if item.tag == tag)
    for place in places:
        if place is not None:
            base = elements.base_inside(place, url)
            yield from zip(parsed.entries(place, tag, {}), repeat(base), strict=False)


def read_item(
    element: _Element, base: str, vocabulary: Vocabulary, problems: list[Problem], number: int
) -> Entry:
    entry = Entry()
    base = elements.note_context(entry, element, base)
    postponed = modules.fill(entry, element, base, vocabulary.fields)
    # RSS 1.0, 5.5: rdf:about identifies the item, and should be the same as its link.
    if entry.id is None or entry.link is None:
        about = identifier(element.get(ABOUT)) if elements.has_attribute(element, ABOUT) else None
        entry.link = entry.link or _permalink(entry.id, about, postponed)
        entry.id = entry.id or about
    if postponed:
        _substitute(entry, postponed, base, vocabulary)
        name = entry.id or entry.link or entry.title or f"item {number}"
        faults = modules.child_problems(entry, name, postponed, vocabulary.escaped, vocabulary.dates)
        problems.extend(faults)
        if any(child.tag == f"{vocabulary.namespace}link" for child in postponed):
            detail = "its link has an href attribute, which is read as in Atom"
            problems.append(Problem("nonstandard", name, detail))
        if any(child.tag == vocabulary.entry for child in postponed):
            problems.append(Problem("entry-lost", name, "it contains other entries, which are skipped"))
    modules.without_repetition(entry)
    # RSS 2.0: "at least one of title or description must be present".
    if not (entry.id or entry.link or entry.title or entry.summary):
        detail = "it has no guid, no link, no title and no description"
        problems.append(Problem("no-id", f"item {number}", detail))
    return entry


def _substitute(entry: Entry, children: list[_Element], base: str, vocabulary: Vocabulary) -> None:
    modules.substitute(entry, children, base, modules.SUBSTITUTES)
    own_values, is_identified = (entry.title, entry.published, entry.summary), bool(entry.id or entry.link)
    enclosures, entry.enclosures = entry.enclosures, []
    modules.substitute(entry, children, base, vocabulary.substitutes)
    urls = {enclosure["url"] for enclosure in enclosures}
    entry.enclosures = [
        *enclosures,
        *(enclosure for enclosure in entry.enclosures if enclosure["url"] not in urls),
    ]
    names = (OTHER_AUTHORS[child.tag](child) for child in children if child.tag in OTHER_AUTHORS)
    entry.authors = entry.authors or list(filter(None, names))
    modules.add_media(entry, children, base)
    # Identity: an item whose own elements identify it keeps that id, whatever other elements it has.
    if is_identified:
        return
    if digest := model.digest(*own_values):
        is_same = entry.link is None and own_values == (entry.title, entry.published, entry.summary)
        entry.id = None if is_same else digest
    else:
        identifiers = (child for tag in IDENTIFIERS for child in children if child.tag == tag)
        entry.id = next(filter(None, map(elements.identifier, identifiers)), None)


def _permalink(guid: str | None, about: str | None, postponed: list[_Element]) -> str | None:
    is_link = any(elements.local_name(child) == "guid" for child in postponed)
    urls = (guid if is_link else None, about)
    return next((url for url in urls if url and url.startswith(elements.ABSOLUTE)), None)


# RSS 2.0: isPermaLink is true by default.
# A permalink is also the link, unless the item has another: True reads the element again, after all others.
def _guid(entry: Entry, element: _Element, base: str) -> bool:
    if entry.id is not None:
        return False
    entry.id = elements.identifier(element)
    is_permalink = (element.get("isPermaLink") or "true").strip().lower() == "true"
    return entry.id is not None and entry.link is None and is_permalink


def _link(entry: Entry, element: _Element, base: str) -> bool:
    # The link is the id of an item without a guid.
    if entry.link is None and (link := elements.identifier(element)):
        entry.link = elements.target(element, link, base)
    return entry.link is None and element.get("href") is not None


# RSS 2.0: "entity-encoded HTML is allowed".
def _description(entry: Entry, element: _Element, base: str) -> bool:
    if entry.summary is None and (summary := elements.text(element)):
        entry.summary, entry.summary_type = summary, "html"
    return len(element) > 0


# Only the text identifies the item, if nothing else does.
def _unescaped_description(entry: Entry, element: _Element, base: str) -> None:
    if elements.text(element) in (None, entry.summary) and (summary := elements.html(element)):
        entry.summary, entry.summary_type = summary, "html"


def _enclosure(entry: Entry, element: _Element, base: str) -> bool:
    file = modules.file_of(element, base)
    entry.enclosures.extend([file] if file else [])
    return file is None


FIELDS: dict[str, FieldReader] = {
    "item": modules.later,
    "guid": _guid,
    "title": modules.title,
    "link": _link,
    "description": _description,
    "pubDate": modules.published,
    "author": modules.author,
    "category": modules.subject,
    "enclosure": _enclosure,
}
OTHER_AUTHORS = {f"{ATOM}author": modules.person, f"{modules.ITUNES}author": elements.line}
# Identifiers of items whose own elements do not identify them.
IDENTIFIERS = (f"{ATOM}id", *(f"{dc}identifier" for dc in (*modules.DC, modules.DCTERMS)))
# In order of precedence. RSS 1.0, 6.1: its modules supply what its own elements lack.
SUBSTITUTES: dict[str, FieldReader] = {
    f"{ATOM}title": modules.title,
    **{f"{dc}title": modules.title for dc in (*modules.DC, modules.DCTERMS)},
    atom.SUMMARY: atom.FIELDS[atom.SUMMARY],
    **{f"{dc}description": modules.summary for dc in (*modules.DC, modules.DCTERMS)},
    f"{modules.DCTERMS}abstract": modules.summary,
    # RSS has no element for content that is not HTML.
    atom.CONTENT: atom.FIELDS[atom.CONTENT],
    f"{ATOM}published": modules.published,
    f"{ATOM}link": atom.FIELDS[f"{ATOM}link"],
    f"{ATOM}category": atom.FIELDS[f"{ATOM}category"],
    # Read by `_substitute`.
    **dict.fromkeys(IDENTIFIERS, modules.later),
}
# RFC 5005, B: the update time of a feed is its lastBuildDate; its draft 08 has pubDate, RSS 1.0 dc:date.
VOCABULARIES = {
    namespace: Vocabulary(
        "rss",
        namespace,
        f"{namespace}item",
        {
            **{namespace + name: fill for name, fill in FIELDS.items()},
            **modules.FIELDS,
            **dict.fromkeys(SUBSTITUTES, modules.later),
        },
        {f"{namespace}pubDate": ("published", "pubDate"), **modules.DATES},
        (
            f"{ATOM}updated",
            *(f"{namespace}{name}" for name in ("lastBuildDate", "pubDate")),
            *(f"{dc}date" for dc in modules.DC),
        ),
        has_entries_anywhere=True,
        escaped=frozenset({f"{namespace}description", modules.ENCODED, atom.CONTENT}),
        substitutes={
            f"{namespace}description": _unescaped_description,
            f"{namespace}link": atom.FIELDS[f"{ATOM}link"],
            **SUBSTITUTES,
        },
    )
    for namespace in (*elements.RSS_NAMESPACES, *elements.RDF_NAMESPACES)
}
