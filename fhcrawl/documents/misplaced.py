"""Reports misplaced entries, which are not read: the document's format has no entries at their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

from fhcrawl.documents.history import DELETED_ENTRY
from fhcrawl.documents.model import Problem
from fhcrawl.documents.xml.elements import ATOM

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.etree import _Element

DETAIL = "it is outside of where this format has entries, and is skipped"
DETAIL_INSIDE = "it contains other entries, which are skipped"
# The content of these elements is not lost: a deleted entry, the entries of another feed.
OTHERS = (DELETED_ENTRY, f"{ATOM}feed")


def problems(entries: Iterable[_Element]) -> Iterator[Problem]:
    """Yield a problem for each entry."""
    for number, _entry in enumerate(entries, 1):
        yield Problem("entry-lost", f"misplaced entry {number}", DETAIL)


def in_entry(children: Iterable[_Element], tag: str, name: str) -> Iterator[Problem]:
    """Yield a problem if any of an entry's children is an entry with the tag.

    :param name: name of the outer entry in the problem
    """
    if any(child.tag == tag for child in children):
        yield Problem("entry-lost", name, DETAIL_INSIDE)


def inside(element: _Element, tags: frozenset[str]) -> Iterator[_Element]:
    """Yield the entries inside an element, or the element itself; not those inside another entry.

    :param tags: tags of the entries of all formats
    """
    if not len(element):
        yield from (element,) if element.tag in tags else ()
        return
    walk = etree.iterwalk(element, events=("start",), tag=(*tags, *OTHERS))
    for _event, found in walk:
        walk.skip_subtree()
        if found.tag in tags:
            yield found
