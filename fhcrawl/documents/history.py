"""What a head section says of the feed's history: RFC 5005's elements and those of its drafts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.documents import xml
from fhcrawl.documents.xml import ATOM, FH

if TYPE_CHECKING:
    from lxml.etree import _Element

INCREMENTAL = {"1": True, "true": True, "0": False, "false": False}


class History(NamedTuple):
    """The fields of a FeedDocument of the same names."""

    links: dict[str, str]
    archive: bool
    complete: bool
    incremental: bool


def read(head: _Element, base: str, link: str = f"{ATOM}link") -> History:
    """Read the children of a head section.

    :param base: its base URL
    :param link: the tag of links, beside atom:link
    """
    said: dict[str, _Element] = {}
    linking: list[_Element] = []
    link_tags = {f"{ATOM}link", link}
    for element in head.iterchildren(f"{FH}*", *link_tags):
        if element.tag in link_tags:
            linking.append(element)
        else:
            said.setdefault(xml.local_name(element), element)
    links = xml.head_links(linking, base)
    # draft-nottingham-atompub-feed-history-00, 3: fh:stateful is 0 or 1; fh:incremental of the drafts up to
    # 04 is false or true.
    flags = {_flag(said.get("stateful")), _flag(said.get("incremental"))}
    incremental = True in flags
    if "prev-archive" not in links and (before := _before(said.get("prev"), base, links, incremental)):
        links["prev-archive"] = before
    return History(
        links,
        archive="archive" in said,
        # A document that contradicts itself is not complete: that would delete entries.
        complete="complete" in said or (False in flags and not incremental),
        incremental=incremental,
    )


# Draft 00, 3: "Whitespace in its content MUST be ignored by processors."
def _flag(element: _Element | None) -> bool | None:
    return None if element is None else INCREMENTAL.get("".join((xml.text(element) or "").split()).lower())


# Draft 00, 4: "The value of the "prev" link relation's href attribute MUST be a URI indicating the location
# of the previous representation of the feed". Elsewhere it is the paging relation (RFC 5005, 3).
def _before(prev: _Element | None, base: str, links: dict[str, str], incremental: bool) -> str | None:
    if prev is not None and (reference := xml.line(prev)):
        return xml.resolve(reference, xml.base_of(prev, base)).partition("#")[0]
    return links.get("prev") if incremental else None
