"""Reads deleted entries (RFC 6721) of Atom and RSS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.documents.dates import utc
from fhcrawl.documents.identifiers import OWN_ID, identifier
from fhcrawl.documents.model import Problem, Tombstone
from fhcrawl.documents.xml.namespaces import braced

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element

DELETED_ENTRY = f"{braced('at')}deleted-entry"


# RFC 6721, 3: an at:deleted-entry must have a ref and a when; the links inside it are not the feed's.
def read(elements: Iterable[_Element], problems: list[Problem]) -> list[Tombstone]:
    """Read at:deleted-entry elements; faults are added to `problems`."""
    found: list[Tombstone] = []
    for number, element in enumerate(elements, 1):
        ref = identifier(ref_of(element))
        if ref is None:
            problems.append(Problem("no-ref", f"deleted entry {number}", "its at:deleted-entry has no ref"))
            continue
        when = utc(element.get("when") or "")
        if when is None:
            detail = f"the when attribute of its at:deleted-entry is not a date: {element.get('when')!r}"
            problems.append(Problem("unreadable-date", ref, detail))
        found.append(Tombstone(ref, when))
    return found


def ref_of(element: _Element) -> str | None:
    """Return the id that an at:deleted-entry names."""
    return element.get(OWN_ID) or element.get("ref")
