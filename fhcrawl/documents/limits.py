"""Limits of a document's size: entries that exceed them are left out, and reported as problems."""

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
# The kinds of problems that report an exceeded limit.
KINDS = frozenset({TOO_DEEP, TOO_LONG, TOO_MANY, TOO_MANY_DOCUMENTS, TOO_MANY_ELEMENTS})
# The limits of libxml2 (XML_ERR_RESOURCE_LIMIT): Bounds can only be lower.
PARSER_DEPTH, PARSER_TEXT = 256, 10_000_000
SHORTEST_MARKUP = len(b"&a;")
PREDEFINED = (b"&amp;", b"&lt;", b"&gt;", b"&quot;", b"&apos;", b"&#")
SHORTEST_ENTRY = len(b"{},")  # of JSON
# Characters of text per octet of a document: base64 has four for three octets, and a relative URL becomes
# absolute.
LONGEST_PER_OCTET = 2
LIBXML2_SAYS = {"Excessive depth in document": TOO_DEEP, "Resource limit exceeded": TOO_LONG}

_has_more = etree.XPath("count(descendant::*) > $max or count(descendant::*/@*) > $max")


class Bounds(NamedTuple):
    """The bounds of one document.

    :param entries: number of entries, of tombstones, and of documents of a list
    :param elements: number of elements (in JSON, values) that are in memory at once: of an entry, or of a
        document that is not streamed
    :param depth: levels of elements in XML, at most PARSER_DEPTH
    :param text: characters of one field of an entry, at most PARSER_TEXT
    """

    entries: int = 100_000
    elements: int = 500_000
    depth: int = PARSER_DEPTH
    text: int = PARSER_TEXT


NONE = Bounds(sys.maxsize - 1, sys.maxsize, PARSER_DEPTH, PARSER_TEXT)


def kind_of_fault(fault: str, otherwise: str) -> str:
    """Return the kind of problem for a message of the parser."""
    return next((kind for start, kind in LIBXML2_SAYS.items() if fault.startswith(start)), otherwise)


def beyond(bound: str, message: str) -> NotAFeedError:
    """Return the error for a document that exceeds a limit, one of `KINDS`."""
    return NotAFeedError(ReasonKind.LIMIT, message, bound=bound)


def check_markup(body: bytes, bounds: Bounds) -> None:
    """Check XML before it is parsed.

    :raises NotAFeedError: if it has too many elements
    """
    # An element takes some hundred bytes of memory, however short its tag is, and so does a reference to an
    # entity that a document type declares.
    if len(body) // SHORTEST_MARKUP <= bounds.elements:
        return
    references = body.count(b"&") - sum(map(body.count, PREDEFINED)) if b"<!DOCTYPE" in body else 0
    if body.count(b"<") - body.count(b"</") + references > bounds.elements:
        raise beyond(TOO_MANY_ELEMENTS, f"it has more than {bounds.elements} elements")


def check_tree(root: _Element, bounds: Bounds) -> None:
    """Check the number of elements in memory while a document is streamed.

    :raises NotAFeedError: if there are too many
    """
    if _has_more(root, max=bounds.elements):
        raise beyond(TOO_MANY_ELEMENTS, f"it has more than {bounds.elements} elements at once")


def may_have_more(parent: _Element, bounds: Bounds) -> bool:
    """Return whether an element may exceed the limits of entries or levels, so that it must be checked."""
    return bounds.depth < PARSER_DEPTH or len(parent) > bounds.entries


def is_deeper(root: _Element, bounds: Bounds) -> bool:
    """Return whether an element has too many levels, counted from the root."""
    if bounds.depth >= PARSER_DEPTH:
        return False
    around = sum(1 for _ in root.iterancestors())
    return bool(root.xpath("boolean(" + "/".join(["."] + ["*"] * (bounds.depth - around)) + ")"))


def within(entries: Iterable[Entry], octets: int, bounds: Bounds, beyond: list[Problem]) -> Iterable[Entry]:
    """Yield the entries of a document that are within the limits.

    :param entries: at most one more than the limit
    :param octets: the size of the document
    :param beyond: receives a problem for each entry that is left out
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
        elif may_be_long and is_longer(entry, bounds.text):
            beyond.append(too_long(number, bounds))
        else:
            yield entry


def too_many(bounds: Bounds) -> Problem:
    """Return the problem of a document with too many entries or tombstones."""
    return Problem(TOO_MANY, "", f"it has more than {bounds.entries} entries")


def too_long(number: int, bounds: Bounds) -> Problem:
    """Return the problem of an entry with a text that is too long.

    :param number: of the entry in its document, from 1
    """
    detail = f"a text of it is longer than {bounds.text} characters; it is left out"
    return Problem(TOO_LONG, f"entry {number}", detail)


def is_longer(entry: Entry, limit: int) -> bool:
    """Return whether a text of an entry has more than a number of characters."""
    lists = (*entry.authors, *entry.categories)
    # `any` and `max` take twice the time, for each entry of a large document.
    for text in (entry.content, entry.summary, entry.title, entry.id, entry.link, *lists):
        if text and len(text) > limit:
            return True
    return False
