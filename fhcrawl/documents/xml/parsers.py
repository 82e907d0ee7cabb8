"""libxml2's parsers, which fetch nothing and resolve only internal entities."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, cast

from lxml import etree

from fhcrawl.documents.xml import elements, encoding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

LONGEST_PROLOG = 65_536  # octets
PIECE = 65_536  # octets that the parser is fed at once
OPTIONS: dict[str, object] = {
    "encoding": encoding.UTF_8,
    # External entities raise an error: see entities.py.
    "resolve_entities": "internal",
    "no_network": True,
    "load_dtd": False,
    "remove_pis": True,
    "remove_comments": True,
}


def new(recover: bool = False) -> etree.XMLParser:
    """Return a parser.

    :param recover: continue after a fault
    """
    return etree.XMLParser(recover=recover, **OPTIONS)  # type: ignore[arg-type]


# Parsers are reusable, also by several threads (they lock); a new one for each small document costs time.
STRICT = new()


@contextlib.contextmanager
def memory_errors() -> Iterator[None]:
    """Raise MemoryError in place of the syntax error by which lxml reports that libxml2 has no memory."""
    try:
        yield
    except etree.XMLSyntaxError as error:
        if error.code == etree.ErrorTypes.ERR_NO_MEMORY:  # type: ignore[attr-defined]
            raise MemoryError from error
        raise


def parse_strict(body: bytes, parser: etree.XMLParser = STRICT) -> _Element:
    """Parse a document; return its root element.

    :raises lxml.etree.XMLSyntaxError: if it is not well-formed
    """
    with memory_errors():
        return etree.fromstring(body, parser)


def parse_leniently(body: bytes) -> _Element:
    """Parse a document and continue after faults; return its root element.

    :raises lxml.etree.XMLSyntaxError: if it has no element
    """
    parser = new(recover=True)
    root = parse_strict(body, parser)
    if any(entry.type == etree.ErrorTypes.ERR_NO_MEMORY for entry in parser.error_log):
        raise MemoryError
    return root


def parse_to_fault(body: bytes) -> _Element | None:
    """Return the tree up to the fault, without the incomplete element; None if no element has begun."""
    parser = etree.XMLPullParser(events=("start", "end"), **OPTIONS)  # type: ignore[arg-type]
    events = cast("Iterator[tuple[str, _Element]]", parser.read_events())
    root: _Element | None = None
    unclosed: list[_Element] = []
    with contextlib.suppress(etree.XMLSyntaxError), memory_errors():
        # Byte by byte up to the root: no more of the document may be parsed if its entities have markup.
        for position in range(min(len(body), LONGEST_PROLOG)):
            parser.feed(body[position : position + 1])
            if (event := next(events, None)) is not None:
                root = event[1]
                break
        if root is None or _declares_markup(root):
            return root
        unclosed.append(root)
        for start in range(position + 1, len(body), PIECE):
            parser.feed(body[start : start + PIECE])
            _follow(events, unclosed)
        parser.close()
    _follow(events, unclosed)
    # The outermost unclosed element that is no container of entries.
    for element in unclosed:
        parent = element.getparent()
        if parent is not None and element.tag not in elements.CONTAINERS:
            del unclosed[unclosed.index(element) + 1 :]
            elements.remove(element, parent)
            break
    return root


def _follow(events: Iterator[tuple[str, _Element]], unclosed: list[_Element]) -> None:
    for event, element in events:
        if event == "start":
            unclosed.append(element)
        else:
            unclosed.pop()


# If an entity has malformed markup, libxml2 frees nodes that events still refer to.
def _declares_markup(root: _Element) -> bool:
    declarations: Any = root.getroottree().docinfo.internalDTD
    return declarations is not None and any(
        "<" in (entity.content or "") for entity in declarations.iterentities()
    )
