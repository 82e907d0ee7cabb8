"""Reads the elements of RFC 5005 and of its drafts in a head section."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import ATOM, FH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.etree import _Element

    from fhcrawl.documents.head_links import HeadLinks
    from fhcrawl.documents.model import FeedDocument
    from fhcrawl.documents.xml.elements import Head

LINK = f"{ATOM}link"
ARCHIVE, COMPLETE, PREV = f"{FH}archive", f"{FH}complete", f"{FH}prev"
FLAGS = (f"{FH}stateful", f"{FH}incremental")
INCREMENTAL = {"1": True, "true": True, "0": False, "false": False}


def read(document: FeedDocument, head: Head, base: str, link: str = LINK) -> None:
    """Read the history elements of a head section into its document.

    :param base: base URL of the head section
    :param link: tag of links, besides atom:link
    """
    linking = head.get(LINK, [])
    if link != LINK:
        linking = [*head.get(link, []), *linking]
    links = elements.head_links(linking, base)
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
