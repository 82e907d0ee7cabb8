"""Parsers that fetch nothing and resolve only internal entities."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from lxml import etree

from fhcrawl.documents.xml import encoding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element


def parse_strict(body: bytes) -> _Element:
    """Parse a document; return its root element.

    :raises lxml.etree.XMLSyntaxError: if it is not well-formed
    """
    with memory_errors():
        return etree.fromstring(body, STRICT)


def parse_leniently(body: bytes) -> _Element:
    """Parse a document and continue after faults; return its root element.

    :raises lxml.etree.XMLSyntaxError: if it has no element
    """
    parser = new(recover=True)
    with memory_errors():
        root = etree.fromstring(body, parser)
    if any(entry.type == etree.ErrorTypes.ERR_NO_MEMORY for entry in parser.error_log):
        raise MemoryError
    return root


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raise MemoryError in place of the syntax error by which lxml reports that libxml2 has no memory."""
    try:
        yield
    except etree.XMLSyntaxError as error:
        if error.code == etree.ErrorTypes.ERR_NO_MEMORY:  # type: ignore[attr-defined]
            raise MemoryError from error
        raise


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
