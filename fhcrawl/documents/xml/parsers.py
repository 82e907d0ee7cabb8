"""Parsers that fetch nothing and resolve only internal entities."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lxml import etree

from fhcrawl.documents.xml import encoding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

PIECE = 65_536  # octets that a parser is fed at once


def parse_strict(body: bytes) -> _Element:
    """Parse a document; return its root element.

    :raises lxml.etree.XMLSyntaxError: if it is not well-formed
    """
    return etree.fromstring(body, STRICT)


def new(recover: bool = False) -> etree.XMLParser:
    """Return a parser.

    :param recover: continue after a fault
    """
    return etree.XMLParser(recover=recover, **options())  # type: ignore[arg-type]


def options() -> dict[str, object]:
    """Return the options of all parsers."""
    return {
        "encoding": encoding.UTF_8,
        # External entities raise an error: see entities.py.
        "resolve_entities": "internal",
        "no_network": True,
        "load_dtd": False,
        "remove_pis": True,
        "remove_comments": True,
    }


# Parsers are reusable, also by several threads (they lock); a new one for each small document costs time.
STRICT = new()


def events(parser: etree.XMLPullParser) -> Iterator[tuple[str, _Element]]:
    """Return the events of a parser since the last call."""
    return cast("Iterator[tuple[str, _Element]]", parser.read_events())
