"""Entries of another format than their document's: nobody reads them, and that is said."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from fhcrawl.documents.model import Problem
from fhcrawl.documents.xml.elements import ATOM, OLD_ATOM, RDF_NAMESPACES, RSS_NAMESPACES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.etree import _Element

    from fhcrawl.documents.limits import Bounds
    from fhcrawl.documents.xml.elements import Head

# Programs that write XML through a DOM say xmlns="" where the namespace around an element is meant.
ENTRIES = frozenset(
    {
        *(f"{namespace}entry" for namespace in (ATOM, OLD_ATOM, "")),
        *(f"{namespace}item" for namespace in (*RSS_NAMESPACES, *RDF_NAMESPACES)),
    }
)
DETAIL = "it has the namespace of another format than its document, and is not read"


# RFC 4287, 6.3: foreign markup is no error. But an entry that stands where entries stand is meant as one.
def in_head(head: Head, most: Bounds) -> Iterator[Problem]:
    """The entries among the children of a head section, as many as a document may have."""
    return _problems((child for tag in head if tag in ENTRIES for child in head[tag]), most)


def at_root(root: _Element, tag: str, most: Bounds) -> Iterator[Problem]:
    """The entries beside a channel that are not of its format, as many as a document may have.

    :param tag: of those that are
    """
    return _problems((child for child in root if child.tag in ENTRIES and child.tag != tag), most)


def _problems(entries: Iterable[_Element], most: Bounds) -> Iterator[Problem]:
    for number, _entry in enumerate(islice(entries, most.entries), 1):
        yield Problem("entry-lost", f"foreign entry {number}", DETAIL)
