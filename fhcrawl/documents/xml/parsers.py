"""How libxml2 is asked to parse: nothing is fetched; of entities only internal ones are resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lxml import etree

from fhcrawl.documents.xml import encoding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

PIECE = 65_536  # octets that a parser gets at once


def strictly(body: bytes) -> _Element:
    """The root element of a whole document.

    :raises lxml.etree.XMLSyntaxError: if it is not well-formed
    """
    return etree.fromstring(body, STRICT)


def new(recover: bool = False) -> etree.XMLParser:
    """A parser.

    :param recover: it goes on behind a fault
    """
    return etree.XMLParser(recover=recover, **options())  # type: ignore[arg-type]


def options() -> dict[str, object]:
    """What all parsers have in common."""
    return {
        "encoding": encoding.UTF_8,
        # One that is not is an error: see entities.py.
        "resolve_entities": "internal",
        "no_network": True,
        "load_dtd": False,
        "remove_pis": True,
        "remove_comments": True,
    }


# Parsers can be used again, also by several threads (they lock); with small documents a new one can be felt.
STRICT = new()


def events(parser: etree.XMLPullParser) -> Iterator[tuple[str, _Element]]:
    """What a parser has come across since it was last asked."""
    return cast("Iterator[tuple[str, _Element]]", parser.read_events())
