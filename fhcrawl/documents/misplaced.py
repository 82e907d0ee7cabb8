"""Entries that stand where their document's format has none: what is not read of them is said."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from lxml import etree

from fhcrawl.documents.model import Problem
from fhcrawl.documents.tombstones import DELETED_ENTRY
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
DETAIL = "it stands where a document of this format has no such entry, and is not read"
DETAIL_INSIDE = "there are entries inside it, which are not read"
# What is in these is not lost: a deleted entry, the entries of another feed.
OTHERS = (DELETED_ENTRY, f"{ATOM}feed")


# RFC 4287, 6.3: foreign markup is no error. But an entry that stands where entries stand is meant as one.
def in_head(head: Head, most: Bounds) -> Iterator[Problem]:
    """The entries among the children of a head section, as many as a document may have."""
    return _problems((child for tag in head if tag in ENTRIES for child in head[tag]), most)


# RSS 2.0 has no foreign markup without a namespace: an item is meant as one, wherever it stands.
def around(head: Head, tag: str, most: Bounds) -> Iterator[Problem]:
    """The entries among the children of a head section and inside them, as many as a document may have.

    :param tag: of those that are read
    """
    found = (entry for children in head.values() for child in children for entry in inside(child))
    return _problems((entry for entry in found if entry.tag != tag), most)


def in_entry(children: Iterable[_Element], tag: str, name: str) -> Iterator[Problem]:
    """Whether there are entries of a tag among some children of an entry: at most one problem.

    :param name: what the entry around them is called
    """
    if any(child.tag == tag for child in children):
        yield Problem("entry-lost", name, DETAIL_INSIDE)


def inside(element: _Element) -> Iterator[_Element]:
    """The entries of any format inside an element, itself among them; not those inside another entry."""
    if not len(element):
        yield from (element,) if element.tag in ENTRIES else ()
        return
    walk = etree.iterwalk(element, events=("start",), tag=(*ENTRIES, *OTHERS))
    for _event, found in walk:
        walk.skip_subtree()
        if found.tag in ENTRIES:
            yield found


def _problems(entries: Iterable[_Element], most: Bounds) -> Iterator[Problem]:
    for number, _entry in enumerate(islice(entries, most.entries), 1):
        yield Problem("entry-lost", f"misplaced entry {number}", DETAIL)
