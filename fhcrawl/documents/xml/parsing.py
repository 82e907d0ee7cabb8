"""Parses XML safely: streams large documents, and repairs malformed ones or reads them up to the fault."""

from __future__ import annotations

import re
from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING

from lxml import etree

from fhcrawl.documents import limits
from fhcrawl.documents.xml import encoding, entities, namespaces, parsers, prolog
from fhcrawl.documents.xml.elements import first, has_document_type, local_name, remove
from fhcrawl.documents.xml.encoding import Text
from fhcrawl.documents.xml.parsed import MOST_DECLARED, Parsed, repair_problems
from fhcrawl.documents.xml.recovery import recover, whole_elements
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

    from fhcrawl.documents.limits import Bounds
    from fhcrawl.documents.xml.layout import Layout

HTML_START = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
HTML_PARTS = frozenset({"html", "head", "body", "HTML", "HEAD", "BODY"})
# If a document has more namespaces with a prefix, they are counted per element and per entry; and the maximum
# for one element.
MANY_NAMESPACES = 256
MOST_NAMESPACES = 64
SMALL = 8192  # bytes; a smaller document needs no check
LONGEST_NAMESPACE = 500
TAG_AND_TEXT = re.compile(rb"<[^<!?][^<]*xmlns:[^<]*")
VALUE_OR_END = re.compile(rb"""'[^'<]*'|"[^"<]*"|>""")
# Maximum for one element. An attribute takes some hundred bytes of memory, and at least five of the document.
MOST_ATTRIBUTES = 10_000
SHORTEST_ATTRIBUTE = len(b" a=''")
LONG_TAG = SHORTEST_ATTRIBUTE * MOST_ATTRIBUTES
TAG = re.compile(rb"<[^<!?/][^<]*")
# Bytes; a larger document is read while it is parsed.
LARGE = 1024**2


def parse(body: bytes, charset: str | None, bounds: Bounds, layout: Layout) -> Parsed:
    """Parse a document as a whole; nothing is fetched.

    Faults are repaired, or lose the entry that contains them. If that does not give a complete document, the
    elements that were complete before the fault are kept.

    :param charset: the charset parameter of the Content-Type header
    :raises NotAFeedError: if there is not even a whole start tag, if it is an HTML page, if it declares too
        many namespaces, or too long ones, if its entities are too long, or if it has too many attributes
    """
    source = encoding.source(body, charset)
    if not source.body:
        raise NotAFeedError(ReasonKind.EMPTY, "it is empty")
    declared = namespaces.declarations(source.body)
    is_crowded = _check_namespaces(source.body, declared)
    _check_attributes(source.body)
    _check_all_attributes(source.body, bounds)
    parsed = _parsed(source, body, charset, layout, declared)
    # A document type declaration can declare namespaces of elements too.
    return parsed._replace(is_crowded=True) if is_crowded or has_document_type(parsed.root) else parsed


def _parsed(
    source: encoding.Source,
    body: bytes,
    charset: str | None,
    layout: Layout,
    declared: list[bytes] | None = None,
) -> Parsed:
    resolved, unresolved, _repair = entities.resolve(source.body)
    resolved, renamed = namespaces.canonicalise(resolved, declared)
    problems = (*repair_problems([source.repair]), *unresolved, *renamed)
    try:
        return Parsed(parsers.parse_strict(resolved), None, problems)
    except etree.XMLSyntaxError as error:
        root = whole_elements(resolved, layout)
        if (root is None or local_name(root) in HTML_PARTS) and HTML_START.search(source.body, 0, 1024):
            raise NotAFeedError(ReasonKind.HTML, "it is an HTML page") from error
        fault = error.msg or "it is not well-formed"
        broken = None if root is None else Parsed(root, fault, problems)
        if (cleaned := _without_junk(source, body, charset, layout)) is not None:
            return cleaned
        text = Text(source.body.decode(), source.repair) if source.decoded else encoding.text(body, charset)
        parsed = recover(text, broken, layout)
        if parsed is None:
            raise NotAFeedError(ReasonKind.NOT_XML, f"it is not XML ({fault})") from error
        return parsed


def _without_junk(source: encoding.Source, body: bytes, charset: str | None, layout: Layout) -> Parsed | None:
    # XML 1.0, 4.3.3: in UTF-16, a byte order mark takes the place of a declaration.
    is_wide = encoding.is_wide(body)
    cleaned = prolog.without_junk(source.body if is_wide else body)
    if cleaned is None:
        return None
    if is_wide:
        cleaned, charset = prolog.DECLARATION.sub(b"", cleaned, count=1), None
    parsed = _parsed(encoding.source(cleaned, charset), cleaned, charset, layout)
    problems = repair_problems(["what is written before the document is dropped"])
    return parsed._replace(problems=(*problems, *parsed.problems))


def begin_stream(body: bytes, charset: str | None, bounds: Bounds, layout: Layout) -> Parsed | None:
    """Begin to parse a large document; return None if it has to be parsed as a whole.

    :param charset: the charset parameter of the Content-Type header
    :raises lxml.etree.XMLSyntaxError: if it is not well-formed
    :raises NotAFeedError: if it declares too many namespaces, or too long ones
    :raises NotAFeedError: now or while entries are taken, if too many elements are in memory at once
    """
    source = encoding.source(body, charset)
    declared = namespaces.declarations(source.body)
    is_crowded = _check_namespaces(source.body, declared)
    _check_attributes(source.body)
    document, renamed = namespaces.canonicalise(source.body, declared)
    piece = document[: parsers.PIECE]
    # Entities are resolved in the whole document only: see entities.py.
    if b"<!DOCTYPE" in piece:
        return None
    tags = [path[0] for path in layout.streamed]
    parser = etree.XMLPullParser(events=("start",), tag=tags, **parsers.options())  # type: ignore[arg-type]
    parser.feed(piece)
    _event, entry = next(parsers.events(parser), (None, None))
    if entry is None or not _is_in_place(entry, layout) or has_document_type(entry):
        return None
    root = entry.getroottree().getroot()
    streamed = _stream_entries(parser, document, entry, bounds)
    problems = (*repair_problems([source.repair]), *renamed)
    return Parsed(root, None, problems, streamed, is_crowded=is_crowded)


# For each element that is copied, libxml2 searches all namespaces in scope.
def _check_namespaces(body: bytes, declared: list[bytes]) -> bool:
    """Return whether there are so many namespaces that each entry has to be checked.

    :param declared: all their declarations
    """
    if len(body) <= SMALL:
        return False
    if max(map(len, declared), default=0) > LONGEST_NAMESPACE:
        raise NotAFeedError(ReasonKind.TOO_LARGE, "the name of a namespace in it is too long")
    # Namespaces without a prefix in scope are limited by the levels of elements.
    if len(declared) <= MANY_NAMESPACES or body.count(b"xmlns:") <= MANY_NAMESPACES:
        return len(declared) > MOST_DECLARED
    if (most := _most_in_a_tag(body)) > MOST_NAMESPACES:
        raise NotAFeedError(ReasonKind.TOO_LARGE, f"one of its elements declares {most} namespaces")
    return True


def _check_attributes(body: bytes) -> None:
    if any(_attributes(body, begin, end) > MOST_ATTRIBUTES for begin, end in _long_tags(body)):
        detail = f"one of its elements has more than {MOST_ATTRIBUTES} attributes"
        raise NotAFeedError(ReasonKind.TOO_LARGE, detail)


def _long_tags(body: bytes) -> Iterator[tuple[int, int]]:
    """Yield the begin and the end of each tag, with the text after it, that is longer than LONG_TAG."""
    begin = body.find(b"<")
    while 0 <= begin < len(body) - LONG_TAG:
        # The last tag that begins close enough: those between are short.
        end = body.rfind(b"<", begin + 1, begin + LONG_TAG + 1)
        if end < 0:
            end = body.find(b"<", begin + LONG_TAG)
            end = len(body) if end < 0 else end
            if not body.startswith((b"<!", b"<?"), begin):
                yield begin, end
        begin = end


def _check_all_attributes(body: bytes, bounds: Bounds) -> None:
    if len(body) // SHORTEST_ATTRIBUTE <= bounds.elements or body.count(b"=") <= bounds.elements:
        return
    if sum(_attributes(body, *match.span()) for match in TAG.finditer(body)) > bounds.elements:
        raise limits.beyond(limits.TOO_MANY_ELEMENTS, f"it has more than {bounds.elements} attributes")


def _attributes(body: bytes, begin: int, end: int) -> int:
    """Return the number of equals signs in the tag between two positions, without the text after it."""
    if not body.count(b"=", begin, end):
        return 0
    ends = (match.start() for match in VALUE_OR_END.finditer(body, begin, end) if match[0] == b">")
    return body.count(b"=", begin, next(ends, end))


def _most_in_a_tag(body: bytes) -> int:
    runs = (match[0] for match in TAG_AND_TEXT.finditer(body))
    return max((_most_in(run) for run in runs if run.count(b"xmlns:") > MOST_NAMESPACES), default=0)


# Markup in the text after the tag declares nothing.
def _most_in(tag_and_text: bytes) -> int:
    ends = (match.start() for match in VALUE_OR_END.finditer(tag_and_text) if match[0] == b">")
    return tag_and_text.count(b"xmlns:", 0, next(ends, None))


def _is_in_place(entry: _Element, layout: Layout) -> bool:
    around = list(entry.iterancestors())
    if (entry.tag, *(element.tag for element in around)) not in layout.streamed:
        return False
    # If there are several channels, the first one is the feed.
    return all(first(outer, inner.tag) is inner for inner, outer in pairwise(around))


# An entry, and the text after it, is complete when the next one begins.
def _stream_entries(
    parser: etree.XMLPullParser, body: bytes, entry: _Element, bounds: Bounds
) -> Iterator[_Element]:
    tag, parent = entry.tag, next(entry.iterancestors())
    for _event, element in _parse_rest(parser, body, parent, bounds):
        if element.tag == tag and element.getparent() is parent:
            yield entry
            remove(entry, parent)
            entry = element
    yield entry


def _parse_rest(
    parser: etree.XMLPullParser, body: bytes, parent: _Element, bounds: Bounds
) -> Iterator[tuple[str, _Element]]:
    """Yield the events of the rest of a document, of which the first piece has been parsed."""
    yield from _take_events(parser)
    root = parent.getroottree().getroot()
    for position in range(parsers.PIECE, len(body), parsers.PIECE):
        parser.feed(body[position : position + parsers.PIECE])
        yield from _take_events(parser)
        limits.check_tree(root, bounds)
    parser.close()


# A deque drops its reference to each event at once; see `remove`.
def _take_events(parser: etree.XMLPullParser) -> Iterator[tuple[str, _Element]]:
    events = deque(parsers.events(parser))
    while events:
        yield events.popleft()
