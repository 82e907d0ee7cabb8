"""Reads the elements of a head section by RFC 5005, its drafts and RFC 6721 (deleted entries)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.documents.dates import utc
from fhcrawl.documents.identifiers import OWN_ID, identifier
from fhcrawl.documents.model import Problem, Tombstone
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import ATOM, FH
from fhcrawl.documents.xml.namespaces import braced

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.etree import _Element

    from fhcrawl.documents.head_links import HeadLinks
    from fhcrawl.documents.model import FeedDocument
    from fhcrawl.documents.xml.elements import Head

LINK = f"{ATOM}link"
ARCHIVE, COMPLETE, PREV = f"{FH}archive", f"{FH}complete", f"{FH}prev"
DELETED_ENTRY = f"{braced('at')}deleted-entry"
FLAGS = (f"{FH}stateful", f"{FH}incremental")
INCREMENTAL = {"1": True, "true": True, "0": False, "false": False}


def read(document: FeedDocument, head: Head, base: str, link: str = LINK) -> None:
    """Read the history elements of a head section into its document.

    :param base: base URL of the head section
    :param link: tag of links, besides atom:link
    """
    own_links = head.get(link, []) if link != LINK else []
    links = elements.head_links([*own_links, *head.get(LINK, [])], base)
    # draft-nottingham-atompub-feed-history-00, 3: fh:stateful is 0 or 1; fh:incremental of the drafts up to
    # 04 is false or true.
    flags = {_flag(head[tag][0]) for tag in FLAGS if tag in head}
    document.incremental = True in flags
    for older in _older_urls(head.get(PREV, ()), base, links, document.incremental):
        links.add("prev-archive", older)
    document.links, document.other_links = links.first, links.others
    document.archive = ARCHIVE in head
    # A document with contradictory flags does not count as complete, because that would delete entries.
    document.complete = COMPLETE in head or (False in flags and not document.incremental)


# Draft 00, 3: "Whitespace in its content MUST be ignored by processors."
def _flag(element: _Element) -> bool | None:
    return INCREMENTAL.get("".join((elements.text(element) or "").split()).lower())


# Draft 00, 4: "The value of the "prev" link relation's href attribute MUST be a URI indicating the location
# of the previous representation of the feed". Elsewhere it is the paging relation (RFC 5005, 3).
def _older_urls(prev: Iterable[_Element], base: str, links: HeadLinks, incremental: bool) -> Iterator[str]:
    for element in prev:
        reference = elements.line(element)
        yield elements.target(element, reference, base).partition("#")[0] if reference else ""
    if incremental and "prev" in links.first:
        yield links.first["prev"]
    if incremental:
        yield from links.others.get("prev", ())


# RFC 6721, 3: an at:deleted-entry must have a ref and a when; the links inside it are not the feed's.
def read_tombstones(deleted: Iterable[_Element], problems: list[Problem]) -> list[Tombstone]:
    """Read at:deleted-entry elements; faults are added to `problems`."""
    tombstones: list[Tombstone] = []
    for number, element in enumerate(deleted, 1):
        ref = identifier(deleted_id(element))
        if ref is None:
            problems.append(Problem("no-ref", f"deleted entry {number}", "its at:deleted-entry has no ref"))
            continue
        when = utc(element.get("when") or "")
        if when is None:
            detail = f"the when attribute of its at:deleted-entry is not a date: {element.get('when')!r}"
            problems.append(Problem("unreadable-date", ref, detail))
        tombstones.append(Tombstone(ref, when))
    return tombstones


def deleted_id(element: _Element) -> str | None:
    """Return the id that an at:deleted-entry names."""
    return element.get(OWN_ID) or element.get("ref")
