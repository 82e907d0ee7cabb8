"""Writes the head section that the store keeps of a feed: its metadata, and foreign markup as it came.

What names the document itself (its links, update times and marks of RFC 5005) is left out: each exported
document has its own.
"""

from __future__ import annotations

import copy
from functools import cached_property
from typing import TYPE_CHECKING

from lxml import etree

from fhcrawl.documents import metadata, modules
from fhcrawl.documents.identifiers import EXPORT
from fhcrawl.documents.tombstones import DELETED_ENTRY
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import ATOM, FH, RDF_NAMESPACES, RSS_NAMESPACES
from fhcrawl.exporters.entries import NATIVE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

    from fhcrawl.documents.metadata import FeedMetadata

# Relations that name this document, others of its chain, or a server that announces its changes.
OF_THE_DOCUMENT = frozenset(
    ("self", "hub", "current", "first", "last", "next", "prev", "previous", "prev-archive", "next-archive")
)
# Namespaces of elements that each document has of its own, or that another format cannot have.
LEFT_OUT = NATIVE | {FH, EXPORT, DELETED_ENTRY.partition("}")[0] + "}", ""}
# They name the feed's place, or times of the document.
LEFT_OUT_TAGS = frozenset(
    [
        f"{modules.ITUNES}new-feed-url",
        *(f"{dc}date" for dc in modules.DC),
        *(f"{dcterms}{name}" for dcterms in (modules.DCTERMS,) for name in ("date", "modified")),
    ]
)
# Attributes and elements that are references.
REFERENCES = frozenset(("href", "url", "src"))
LOCATORS = frozenset((f"{ATOM}logo", f"{ATOM}icon"))


class FeedHead:
    """The head section of a feed, to be written to other documents.

    :param original: XML or JSON of the head section
    :param document: URL of the document that it came from
    """

    def __init__(self, original: str, document: str) -> None:
        self._original = original
        self._document = document

    @cached_property
    def metadata(self) -> FeedMetadata:
        """The feed's metadata."""
        return metadata.read(self._original, self._document)

    @cached_property
    def _parsed(self) -> tuple[_Element, _Element, str] | None:
        return metadata.parse(self._original)

    @property
    def is_atom(self) -> bool:
        """Whether it is of RFC 4287's format."""
        return self._parsed is not None and self._parsed[2] == ATOM

    @property
    def is_rss(self) -> bool:
        """Whether it is of a version of RSS."""
        return self._parsed is not None and self._parsed[2] in (*RSS_NAMESPACES, *RDF_NAMESPACES)

    @property
    def base(self) -> str:
        """Base URL of its elements."""
        return (
            self._document if self._parsed is None else elements.base_inside(self._parsed[1], self._document)
        )

    def own(self, name: str) -> list[_Element]:
        """Return copies of the elements with a name in its own format, without a prefix if that is RSS."""
        if self._parsed is None:
            return []
        root, section, namespace = self._parsed
        around = [section] if root is section else [section, root]
        found = [child for parent in around for child in parent.iterchildren(f"{namespace}{name}")]
        return [
            self._copy(child) if self.is_atom else _without_namespace(child, namespace) for child in found
        ]

    def atom(self, name: str) -> list[_Element]:
        """Return copies of its elements of RFC 4287 with a name."""
        return (
            []
            if self._parsed is None
            else [self._copy(c) for c in self._parsed[1].iterchildren(f"{ATOM}{name}")]
        )

    def links(self) -> Iterator[_Element]:
        """Yield copies of its links of RFC 4287 that do not name the document."""
        for link in self.atom("link"):
            relations = elements.relations(link)
            if (link.get("href") or "").strip() and OF_THE_DOCUMENT.isdisjoint(relations):
                yield link

    def foreign(self) -> Iterator[_Element]:
        """Yield copies of the elements that belong to no format of feeds."""
        for child in self._parsed[1] if self._parsed else ():
            tag = str(child.tag)
            if tag[: tag.rfind("}") + 1] not in LEFT_OUT and tag not in LEFT_OUT_TAGS:
                yield self._copy(child)

    # Readers resolve the references of few elements.
    def _copy(self, element: _Element) -> _Element:
        """Return a copy of an element, whose references are absolute."""
        copied, base = _detached(element), elements.base_of(element, self.base)
        for one in copied.iter("*"):
            for name in REFERENCES.intersection(map(str, one.keys())):
                one.set(name, elements.resolve(one.get(name) or "", base))
        if copied.tag in LOCATORS and copied.text:
            copied.text = elements.resolve(copied.text, base)
        return copied


def _detached(element: _Element) -> _Element:
    copied = copy.deepcopy(element)
    copied.tail = None
    etree.cleanup_namespaces(copied)
    return copied


# RSS 2.0 has no namespace; RSS 1.0 marks its elements with RDF's attributes.
def _without_namespace(element: _Element, namespace: str) -> _Element:
    copied = _detached(element)
    for child in copied.iter(f"{namespace}*") if namespace else ():
        child.tag = elements.local_name(child)
    for child in copied.iter("*"):
        for name in [name for name in child.attrib if str(name).startswith("{")]:
            del child.attrib[name]
    etree.cleanup_namespaces(copied)
    return copied
