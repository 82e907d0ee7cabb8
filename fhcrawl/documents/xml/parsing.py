"""Parses XML safely: streams large documents, and repairs malformed ones or reads them up to the fault."""

from __future__ import annotations

import re
from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING

from lxml import etree

from fhcrawl.documents.xml import encoding, entities, namespaces, parsers, prolog
from fhcrawl.documents.xml.elements import first, has_document_type, local_name, remove
from fhcrawl.documents.xml.encoding import Text
from fhcrawl.documents.xml.parsed import Parsed, repair_problems
from fhcrawl.documents.xml.recovery import recover, whole_elements
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

    from fhcrawl.documents.xml.layout import Layout

HTML_START = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
HTML_PARTS = frozenset({"html", "head", "body", "HTML", "HEAD", "BODY"})
# Bytes; a larger document is read while it is parsed.
LARGE = 1024**2


def parse(body: bytes, charset: str | None, layout: Layout) -> Parsed:
    """Parse a document as a whole; nothing is fetched.

    Faults are repaired, or lose the entry that contains them. If that does not give a complete document, the
    elements that were complete before the fault are kept.

    :param charset: the charset parameter of the Content-Type header
    :raises NotAFeedError: if there is not even a whole start tag, if it is an HTML page, or if its entities
        stand for too much
    """
    source = encoding.source(body, charset)
    if not source.body:
        raise NotAFeedError(ReasonKind.EMPTY, "it is empty")
    return _parsed(source, body, charset, layout)


def _parsed(source: encoding.Source, body: bytes, charset: str | None, layout: Layout) -> Parsed:
    resolved, unresolved, _repair = entities.resolve(source.body)
    resolved, renamed = namespaces.canonicalise(resolved)
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


def begin_stream(body: bytes, charset: str | None, layout: Layout) -> Parsed | None:
    """Begin to parse a large document; return None if it has to be parsed as a whole.

    :param charset: the charset parameter of the Content-Type header
    :raises lxml.etree.XMLSyntaxError: if it is not well-formed
    """
    source = encoding.source(body, charset)
    document, renamed = namespaces.canonicalise(source.body)
    piece = document[: parsers.PIECE]
    # Entities are resolved in the whole document only: see entities.py.
    if b"<!DOCTYPE" in piece:
        return None
    tags = [path[0] for path in layout.streamed]
    parser = parsers.PullParser(events=("start",), tag=tags, **parsers.options())  # type: ignore[arg-type]
    parser.feed(piece)
    _event, entry = next(parsers.events(parser), (None, None))
    if entry is None or not _is_in_place(entry, layout) or has_document_type(entry):
        return None
    root = entry.getroottree().getroot()
    streamed = _stream_entries(parser, document, entry)
    problems = (*repair_problems([source.repair]), *renamed)
    return Parsed(root, None, problems, streamed)


def _is_in_place(entry: _Element, layout: Layout) -> bool:
    around = list(entry.iterancestors())
    if (entry.tag, *(element.tag for element in around)) not in layout.streamed:
        return False
    # If there are several channels, the first one is the feed.
    return all(first(outer, inner.tag) is inner for inner, outer in pairwise(around))


# An entry, and the text after it, is complete when the next one begins.
def _stream_entries(parser: etree.XMLPullParser, body: bytes, entry: _Element) -> Iterator[_Element]:
    tag, parent = entry.tag, next(entry.iterancestors())
    for _event, element in _parse_rest(parser, body):
        if element.tag == tag and element.getparent() is parent:
            yield entry
            remove(entry, parent)
            entry = element
    yield entry


def _parse_rest(parser: etree.XMLPullParser, body: bytes) -> Iterator[tuple[str, _Element]]:
    """Yield the events of the rest of a document, of which the first piece has been parsed."""
    yield from _take_events(parser)
    for position in range(parsers.PIECE, len(body), parsers.PIECE):
        parser.feed(body[position : position + parsers.PIECE])
        yield from _take_events(parser)
    parser.close()


# A deque drops its reference to each event at once; see `remove`.
def _take_events(parser: etree.XMLPullParser) -> Iterator[tuple[str, _Element]]:
    events = deque(parsers.events(parser))
    while events:
        yield events.popleft()
