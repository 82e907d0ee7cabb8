"""The elements of an XML document as it was written, with their lines."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, cast

from lxml import etree

from fhcrawl.documents import detection
from fhcrawl.documents.formats import jsonfeed
from fhcrawl.documents.links import HISTORY
from fhcrawl.documents.xml import elements, encoding, parsing, repair
from fhcrawl.documents.xml.elements import ENTRIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

CHANNELS = tuple(f"{namespace}channel" for namespace in (*elements.RSS_NAMESPACES, *elements.RDF_NAMESPACES))
# Of one document, for each rule: nobody reads more.
MOST_ELEMENTS = 1000
LONGEST_REL = 1000  # characters


class Markup(NamedTuple):
    """The elements of a document.

    :param head: atom:feed, or RSS's channel
    :param entries: the elements of the entries, in document order
    """

    root: _Element
    head: _Element
    entries: list[_Element]

    def in_head(self, *tags: str) -> Iterator[_Element]:
        """Yield children of the head section."""
        return islice(self.head.iterchildren(*tags), MOST_ELEMENTS)

    def everywhere(self, *tags: str) -> Iterator[_Element]:
        """Yield elements of the document."""
        return islice(self.root.iter(*tags), MOST_ELEMENTS)

    def line_of(self, name: str) -> int | None:
        """Return the line of an entry, by the name that a Problem has for it: its id, or its position."""
        kind, _, number = name.rpartition(" ")
        if kind in ("entry", "item") and number.isdecimal() and 0 < int(number) <= len(self.entries):
            return line(self.entries[int(number) - 1])
        for entry in self.entries:
            if name in (elements.identifier(child) for child in entry):
                return line(entry)
        return None

    def feed_id(self) -> str | None:
        """Return the atom:id of the head section; None if it has none."""
        found = next(self.in_head(f"{elements.ATOM}id"), None)
        return None if found is None else elements.identifier(found)

    def link_lines(self) -> dict[str, int]:
        """Return the lines of the head section's links, by the relations that matter for history."""
        found: dict[str, int] = {}
        for link in self.in_head("{*}link"):
            for relation in relations(link):
                if relation in HISTORY or relation == "self":
                    found.setdefault(relation, line(link) or 0)
        return {relation: number for relation, number in found.items() if number}


def relations(link: _Element) -> list[str]:
    """Return the short names of the relations of a link; none of an attribute that is too long."""
    return elements.relations(link) if len(link.get("rel") or "") <= LONGEST_REL else []


def line(element: _Element | None) -> int | None:
    """Return the line of an element; None without one."""
    return None if element is None else cast("int | None", element.sourceline)


def read(body: bytes, content_type: str | None) -> tuple[Markup, int | None]:
    """Return the elements of a document that is well-formed XML, else NONE; and the line where it is not.

    :param body: a document that `documents.read` has accepted, which checks more
    """
    if detection.boundary(content_type) or jsonfeed.is_json(body):
        return NONE, None
    # Not the reader's repairs, which have other lines; but its namespaces.
    charset = detection.declared(content_type)[1] or None
    source, _repair = encoding.source(body, charset)
    try:
        return _markup(parsing.parse_strict(repair.canonicalise(source)[0])), None
    except etree.XMLSyntaxError as error:
        return NONE, error.lineno or None


def _markup(root: _Element) -> Markup:
    channel = next(root.iterchildren(*CHANNELS), None)
    entries = [*root.iter(*ENTRIES)]
    return Markup(root, root if channel is None else channel, entries)


# It has no lines.
NONE = _markup(etree.Element("none"))
