"""Checks whether a document joins its neighbours: the snapshot before it, or the newer multipart page."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.documents import Problem
from fhcrawl.logical_feed.chain import TO_THE_SECOND, Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fhcrawl.documents import FeedDocument


# After a snapshot, a feed is read from entities at or after its `createdAt`. RFC 9110, 5.6.7: an HTTP-date is
# a whole second; `createdAt` may lie within it.
def is_before(time: str | None, since: str) -> bool:
    """Return whether a time is before that of a snapshot; both ISO 8601 in UTC."""
    return time is not None and time[:TO_THE_SECOND] < since[:TO_THE_SECOND]


def reaches(document: FeedDocument, since: str) -> bool:
    """Return whether the documents older than this one are older than a snapshot."""
    times = [entry.updated for entry in document.entries if entry.updated]
    # Pages of a multipart feed list entities from older to newer; FeedDocument has them reversed.
    is_ordered = document.format == "multipart" and bool(times)
    if is_ordered and is_before(times[-1], since):
        return True
    # A page's Last-Modified may be a file's, older than what is in it.
    return is_before(document.updated, since) and all(is_before(time, since) for time in times)


def begins_after(document: FeedDocument, since: str) -> bool:
    """Return whether a document is newer than a snapshot, so that entries may be missing between them."""
    times = [entry.updated for entry in document.entries if entry.updated]
    return all(is_before(since, time) for time in times or [document.updated or ""])


class NewerPage(NamedTuple):
    """Data of a multipart page that the next older page is checked against.

    :param urls: the URLs of the page; [] if its permanent URL is unknown
    :param updated: its Last-Modified
    :param begins: the time of its oldest entity
    """

    urls: list[str]
    updated: str | None
    begins: str | None


def as_newer_page(document: FeedDocument, own: tuple[str, ...], role: Role) -> NewerPage | None:
    """Return the data to check the next older page against; None if this is no multipart page."""
    if document.format != "multipart":
        return None
    # Page: `self` is required. The newest page is polled at another URL than its permanent one.
    itself = document.links.get("self")
    urls = list(own) if itself is None else [*own, itself]
    if itself is None and role is Role.SUBSCRIPTION:
        urls = []
    times = [entry.updated for entry in document.entries if entry.updated]
    return NewerPage(urls, document.updated, times[-1] if times else None)


# Feed: "The links of neighbouring pages must agree, and must not loop. A consumer meets both faults, and
# reports them"; "Last-Modified never decreases along the way (equal ones occur)".
def disagreements(document: FeedDocument, own: tuple[str, ...], newer: NewerPage) -> Iterator[Problem]:
    """Yield the contradictions between a multipart page and the newer one that links to it."""
    following, itself = document.links.get("next-archive"), document.links.get("self")
    if following is None:
        yield Problem("disagrees", "", "it names no page after it, but one has led to it")
    elif newer.urls and following not in newer.urls:
        yield Problem("disagrees", "", f"the page after it is {following}, but {newer.urls[0]} has led to it")
    if itself is not None and itself not in own:
        yield Problem("disagrees", "", f"it says that it is {itself}")
    if newer.updated and is_before(newer.updated, document.updated or ""):
        detail = f"Last-Modified goes backwards: {document.updated}, and {newer.updated} on the page after it"
        yield Problem("backwards", "", detail)
    ends = next((entry.updated for entry in document.entries if entry.updated), None)
    if newer.begins and is_before(newer.begins, ends or ""):
        detail = f"Last-Modified goes backwards: {ends}, and {newer.begins} at the beginning of the next page"
        yield Problem("backwards", "", detail)
