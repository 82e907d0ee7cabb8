"""Keeps the head section of a document as it came: all of the document but its entries."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from lxml import etree

from fhcrawl.documents import misplaced
from fhcrawl.documents.history import DELETED_ENTRY
from fhcrawl.documents.identifiers import NO_CHARACTERS
from fhcrawl.documents.model import HeadSource, Problem
from fhcrawl.documents.xml import elements

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element

    from fhcrawl.documents.json_text import Object

# Characters. Of a longer head section, the elements (or members) that fit are kept, in their order.
LARGEST = 1024**2
CUT = "head-cut"


def from_xml(
    root: _Element, section: _Element, tags: Iterable[str], times: Iterable[str], problems: list[Problem]
) -> HeadSource | None:
    """Return the head section of a document that has been read; it loses its entries.

    :param section: the element of the head section: the root, or its channel
    :param tags: tags of entries and of what lists them
    :param times: tags of update times, which do not count as a change
    :param problems: receives a problem if the head section is too long
    """
    around = {root: None, section: None}
    left_out = frozenset((*tags, DELETED_ENTRY))
    for parent in around:
        _remove_entries(parent, left_out, section)
    original = _serialised(root)
    if len(original) > LARGEST:
        _cut([child for parent in around for child in parent if child is not section], problems)
        original = _serialised(root)
    for child in [child for tag in times for child in section.iterchildren(tag)]:
        elements.remove(child, section)
    return _source(original, _serialised(root))


def _remove_entries(parent: _Element, tags: frozenset[str], section: _Element) -> None:
    for child in parent.iterchildren():
        if child.tag in tags:
            elements.remove(child, parent)
        elif child is not section:
            for found in list(misplaced.inside(child, tags)):
                inner = found.getparent()
                if inner is not None:
                    elements.remove(found, inner)


def _cut(children: list[_Element], problems: list[Problem]) -> None:
    """Remove the elements that exceed the limit."""
    length = lost = 0
    for child in children:
        own = len(_serialised(child))
        parent = child.getparent()
        if length + own <= LARGEST or parent is None:
            length += own
        else:
            elements.remove(child, parent)
            lost += 1
    problems.append(_problem(lost))


def _serialised(element: _Element) -> str:
    return etree.tostring(element, encoding="unicode", with_tail=False)


def from_json(members: Object, problems: list[Problem]) -> HeadSource | None:
    """Return the members of a feed's object besides its items; numbers in them become strings.

    :param problems: receives a problem if they are too long
    """
    kept, length = {}, 0
    for name, value in members.items():
        own = len(json.dumps({name: value}, ensure_ascii=False))
        if length + own <= LARGEST:
            kept[name], length = value, length + own
    if len(kept) < len(members):
        problems.append(_problem(len(members) - len(kept)))
    original = NO_CHARACTERS.sub("\ufffd", json.dumps(kept, ensure_ascii=False))
    return _source(original, original)


def _problem(lost: int) -> Problem:
    return Problem(
        CUT, "", f"its head section has more than {LARGEST} characters; parts that are not kept: {lost}"
    )


def _source(original: str, compared: str) -> HeadSource | None:
    if len(original) > LARGEST * 2:
        return None
    digest = hashlib.blake2b(compared.encode("utf-8", "surrogatepass"), digest_size=16)
    return HeadSource(original, digest.hexdigest())
