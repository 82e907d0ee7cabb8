"""XML of feeds, parsed safely: large documents in pieces, broken ones mended, or up to the fault."""

from __future__ import annotations

import re
from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING

from lxml import etree

from fhcrawl.documents import limits
from fhcrawl.documents.xml import encoding, entities, parsers
from fhcrawl.documents.xml.elements import first, has_document_type, local_name, remove
from fhcrawl.documents.xml.encoding import Text
from fhcrawl.documents.xml.parsed import MOST_DECLARED, Parsed, repaired
from fhcrawl.documents.xml.recovery import mended, whole_elements
from fhcrawl.exceptions import NotAFeedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

    from fhcrawl.documents.limits import Bounds
    from fhcrawl.documents.xml.layout import Layout

HTML_START = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
HTML_PARTS = frozenset({"html", "head", "body", "HTML", "HEAD", "BODY"})
# More than these with a prefix in a document are counted for each element and each entry; no element of a
# feed has more than the others.
MANY_NAMESPACES = 256
MOST_NAMESPACES = 64
SMALL = 8192  # bytes; there is no harm in such a document
NAMESPACE = re.compile(rb"""xmlns(?::[^\s=<>:"']+)?\s*=\s*(?:"[^"<]*|'[^'<]*)""")
LONGEST_NAMESPACE = 500
TAG_AND_TEXT = re.compile(rb"<[^<!?][^<]*xmlns:[^<]*")
VALUE_OR_END = re.compile(rb"""'[^'<]*'|"[^"<]*"|>""")
# An element with so many attributes is none of a feed; each takes some hundred bytes, and has five at least.
MOST_ATTRIBUTES = 10_000
LONG_TAG = re.compile(rb"<[^<!?][^<]{%d,}" % (5 * MOST_ATTRIBUTES))
TAG = re.compile(rb"<[^<!?/][^<]*")
# A document of more bytes is read while it is parsed, in pieces of so many.
LARGE = 1024**2


def parse(body: bytes, charset: str | None, bounds: Bounds, layout: Layout) -> Parsed:
    """Parse a document; nothing is fetched.

    What is not well-formed is repaired, or loses the entry that it stands in. Where that does not give a
    whole document, the elements that were whole before the fault are kept.

    :param charset: the charset parameter of the Content-Type header
    :raises NotAFeedError: if there is not even a whole start tag, if it is an HTML page, if it declares too
        many namespaces, or too long ones, if its entities are too long, or if it has too many attributes
    """
    source = encoding.source(body, charset)
    if not source.body:
        raise NotAFeedError("empty", "it is empty")
    is_crowded = _check_namespaces(source.body)
    _check_attributes(source.body)
    _check_all_attributes(source.body, bounds)
    parsed = _parsed(source, body, charset, layout)
    # A document type can declare namespaces too, for elements that do not say so.
    return parsed._replace(is_crowded=True) if is_crowded or has_document_type(parsed.root) else parsed


def _parsed(source: encoding.Source, body: bytes, charset: str | None, layout: Layout) -> Parsed:
    resolved, unresolved = entities.resolve(source.body)
    problems = (*repaired([source.repair]), *unresolved)
    try:
        return Parsed(parsers.strictly(resolved), None, problems)
    except etree.XMLSyntaxError as error:
        root = whole_elements(resolved, layout)
        if (root is None or local_name(root) in HTML_PARTS) and HTML_START.search(source.body, 0, 1024):
            raise NotAFeedError("html", "it is an HTML page") from error
        fault = error.msg or "it is not well-formed"
        broken = None if root is None else Parsed(root, fault, problems)
        text = Text(source.body.decode(), source.repair) if source.decoded else encoding.text(body, charset)
        parsed = mended(text, broken, layout)
        if parsed is None:
            raise NotAFeedError("not-xml", f"it is not XML ({fault})") from error
        return parsed


def begin(body: bytes, charset: str | None, bounds: Bounds, layout: Layout) -> Parsed | None:
    """Begin to parse a large document; None if it has to be parsed as a whole.

    :param charset: the charset parameter of the Content-Type header
    :raises lxml.etree.XMLSyntaxError: if it is not well-formed
    :raises NotAFeedError: if it declares too many namespaces, or too long ones
    :raises NotAFeedError: here or while the entries come, if too many elements are in memory at once
    """
    source = encoding.source(body, charset)
    is_crowded = _check_namespaces(source.body)
    _check_attributes(source.body)
    piece = source.body[: parsers.PIECE]
    # Entities: see broken.py.
    if b"<!DOCTYPE" in piece:
        return None
    events, tags = ("start", "end"), [path[0] for path in layout.streamed]
    parser = etree.XMLPullParser(events=events, tag=tags, **parsers.options())  # type: ignore[arg-type]
    parser.feed(piece)
    _event, entry = next(parsers.events(parser), (None, None))
    if entry is None or not _is_in_place(entry, layout) or has_document_type(entry):
        return None
    root = entry.getroottree().getroot()
    coming = _coming(parser, source.body, entry, bounds)
    return Parsed(root, None, repaired([source.repair]), coming, is_crowded=is_crowded)


# libxml2 looks at one namespace after the other for each element that it copies, and each copy declares
# those that it uses.
def _check_namespaces(body: bytes) -> bool:
    """Whether there are so many that each entry has to be looked at."""
    declared = NAMESPACE.findall(body) if len(body) > SMALL else []
    if max(map(len, declared), default=0) > LONGEST_NAMESPACE:
        raise NotAFeedError("too-large", "the name of a namespace in it is too long")
    # Those without a prefix are no more around an element than it has levels.
    if len(declared) <= MANY_NAMESPACES or body.count(b"xmlns:") <= MANY_NAMESPACES:
        return len(declared) > MOST_DECLARED
    if (most := _most_in_a_tag(body)) > MOST_NAMESPACES:
        raise NotAFeedError("too-large", f"one of its elements declares {most} namespaces")
    return True


def _check_attributes(body: bytes) -> None:
    for match in LONG_TAG.finditer(body):
        if _attributes(body, *match.span()) > MOST_ATTRIBUTES:
            raise NotAFeedError(
                "too-large", f"one of its elements has more than {MOST_ATTRIBUTES} attributes"
            )


def _check_all_attributes(body: bytes, bounds: Bounds) -> None:
    if body.count(b"=") <= bounds.elements:
        return
    if sum(_attributes(body, *match.span()) for match in TAG.finditer(body)) > bounds.elements:
        raise NotAFeedError(limits.TOO_MANY_ELEMENTS, f"it has more than {bounds.elements} attributes")


def _attributes(body: bytes, begin: int, end: int) -> int:
    """How many equals signs are in the tag that begins somewhere; it ends before another position."""
    if not body.count(b"=", begin, end):
        return 0
    ends = (match.start() for match in VALUE_OR_END.finditer(body, begin, end) if match[0] == b">")
    return body.count(b"=", begin, next(ends, end))


def _most_in_a_tag(body: bytes) -> int:
    runs = (match[0] for match in TAG_AND_TEXT.finditer(body))
    return max((_most_in(run) for run in runs if run.count(b"xmlns:") > MOST_NAMESPACES), default=0)


# Markup of which the text consists, behind the tag, declares nothing.
def _most_in(tag_and_text: bytes) -> int:
    ends = (match.start() for match in VALUE_OR_END.finditer(tag_and_text) if match[0] == b">")
    return tag_and_text.count(b"xmlns:", 0, next(ends, None))


def _is_in_place(entry: _Element, layout: Layout) -> bool:
    around = list(entry.iterancestors())
    if (entry.tag, *(element.tag for element in around)) not in layout.streamed:
        return False
    # Of several channels, the first one is the feed.
    return all(first(outer, inner.tag) is inner for inner, outer in pairwise(around))


# An element can go when the next one is whole: to the text behind the last one, libxml2 still adds.
def _coming(parser: etree.XMLPullParser, body: bytes, entry: _Element, bounds: Bounds) -> Iterator[_Element]:
    tag, parent = entry.tag, next(entry.iterancestors())
    before: _Element | None = None
    for event, element in _remaining(parser, body, parent, bounds):
        if event == "end" and element.tag == tag and element.getparent() is parent:
            if before is not None:
                remove(before, parent)
            before = element
            yield element


def _remaining(
    parser: etree.XMLPullParser, body: bytes, parent: _Element, bounds: Bounds
) -> Iterator[tuple[str, _Element]]:
    yield from _taken(parser)
    root = parent.getroottree().getroot()
    for position in range(parsers.PIECE, len(body), parsers.PIECE):
        parser.feed(body[position : position + parsers.PIECE])
        yield from _taken(parser)
        limits.check_tree(root, bounds)
    parser.close()


# What lxml has told of, it keeps for a while; see `remove`.
def _taken(parser: etree.XMLPullParser) -> Iterator[tuple[str, _Element]]:
    events = deque(parsers.events(parser))
    while events:
        yield events.popleft()
