"""How much one document may hold; what is beyond it is left out, and said."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from fhcrawl.documents.model import Problem
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.etree import _Element

    from fhcrawl.documents.model import Entry

TOO_DEEP, TOO_LONG, TOO_MANY, TOO_MANY_ELEMENTS = "too-deep", "too-long", "too-many", "too-many-elements"
TOO_MANY_DOCUMENTS = "too-many-documents"  # of a list
# The kinds of problems that are such a bound.
KINDS = frozenset({TOO_DEEP, TOO_LONG, TOO_MANY, TOO_MANY_DOCUMENTS, TOO_MANY_ELEMENTS})
# libxml2 has these of its own (XML_ERR_RESOURCE_LIMIT): a Bounds can only say less.
PARSER_DEPTH, PARSER_TEXT = 256, 10_000_000
SHORTEST_MARKUP = len(b"&a;")
PREDEFINED = (b"&amp;", b"&lt;", b"&gt;", b"&quot;", b"&apos;", b"&#")
SHORTEST_ENTRY = len(b"{},")  # of JSON
# Characters of text that an octet of a document can become: base64 has four for three octets, an absolute URL
# has its base.
LONGEST_PER_OCTET = 2
LIBXML2_SAYS = {"Excessive depth in document": TOO_DEEP, "Resource limit exceeded": TOO_LONG}

_has_more = etree.XPath("count(descendant::*) > $most or count(descendant::*/@*) > $most")


class Bounds(NamedTuple):
    """The bounds of one document.

    :param entries: how many; and how many tombstones, and documents of a list
    :param elements: how many (in JSON, values) that have to be in memory at once: of an entry, or of a
        document in one piece
    :param depth: levels of elements in XML, at most PARSER_DEPTH
    :param text: characters of one field of an entry, at most PARSER_TEXT
    """

    entries: int = 100_000
    elements: int = 500_000
    depth: int = PARSER_DEPTH
    text: int = PARSER_TEXT


NONE = Bounds(sys.maxsize - 1, sys.maxsize, PARSER_DEPTH, PARSER_TEXT)


def kind_of_fault(fault: str, otherwise: str) -> str:
    """The kind of problem that a parser's message means."""
    return next((kind for start, kind in LIBXML2_SAYS.items() if fault.startswith(start)), otherwise)


def beyond(bound: str, message: str) -> NotAFeedError:
    """The error for a document that is beyond a bound, one of `KINDS`."""
    return NotAFeedError(ReasonKind.LIMIT, message, bound=bound)


def check_markup(body: bytes, bounds: Bounds) -> None:
    """Check XML before a tree is made of it.

    :raises NotAFeedError: if it has too many elements
    """
    # Each element takes some hundred bytes of memory, however short its tag is; so does each reference to an
    # entity that a document type may declare.
    if len(body) // SHORTEST_MARKUP <= bounds.elements:
        return
    references = body.count(b"&") - sum(map(body.count, PREDEFINED)) if b"<!DOCTYPE" in body else 0
    if body.count(b"<") - body.count(b"</") + references > bounds.elements:
        raise beyond(TOO_MANY_ELEMENTS, f"it has more than {bounds.elements} elements")


def check_tree(root: _Element, bounds: Bounds) -> None:
    """Check what is in memory of a document that is read in pieces.

    :raises NotAFeedError: if that has too many elements
    """
    if _has_more(root, most=bounds.elements):
        raise beyond(TOO_MANY_ELEMENTS, f"it has more than {bounds.elements} elements at once")


def may_have_more(parent: _Element, bounds: Bounds) -> bool:
    """Whether there may be an element in another one that has too many levels, or that is one too many."""
    return bounds.depth < PARSER_DEPTH or len(parent) > bounds.entries


def is_deeper(root: _Element, bounds: Bounds) -> bool:
    """Whether an element has too many levels, its own and those around it among them."""
    if bounds.depth >= PARSER_DEPTH:
        return False
    around = sum(1 for _ in root.iterancestors())
    return bool(root.xpath("boolean(" + "/".join(["."] + ["*"] * (bounds.depth - around)) + ")"))


def within(entries: Iterable[Entry], octets: int, bounds: Bounds, beyond: list[Problem]) -> Iterable[Entry]:
    """Those of a document's entries that are within the bounds.

    :param entries: at most one more than there may be
    :param octets: the size of the document
    :param beyond: gets what is left out
    """
    may_be_long = octets * LONGEST_PER_OCTET > bounds.text
    if may_be_long or octets // SHORTEST_ENTRY > bounds.entries:
        return _within(entries, may_be_long, bounds, beyond)
    return entries


def _within(
    entries: Iterable[Entry], may_be_long: bool, bounds: Bounds, beyond: list[Problem]
) -> Iterator[Entry]:
    for number, entry in enumerate(entries, 1):
        if number > bounds.entries:
            beyond.append(too_many(bounds))
        elif may_be_long and longest(entry) > bounds.text:
            beyond.append(too_long(number, bounds))
        else:
            yield entry


def too_many(bounds: Bounds) -> Problem:
    """That a document has more entries, or tombstones, than it may have."""
    return Problem(TOO_MANY, "", f"it has more than {bounds.entries} entries")


def too_long(number: int, bounds: Bounds) -> Problem:
    """That an entry has a text that is too long.

    :param number: of the entry in its document, from 1
    """
    detail = f"a text of it is longer than {bounds.text} characters; it is left out"
    return Problem(TOO_LONG, f"entry {number}", detail)


def longest(entry: Entry) -> int:
    """How long the longest text of an entry is."""
    texts = (entry.content, entry.summary, entry.title, entry.id, entry.link, *entry.authors)
    return max(map(len, filter(None, (*texts, *entry.categories))), default=0)
