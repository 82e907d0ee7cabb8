"""The chain of a feed's documents: positions, roles, links and contradictions, and how documents join."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import urlsplit

from fhcrawl.documents import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fhcrawl.documents import FeedDocument

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class FeedQuirks:
    """The user's settings for a publisher whose links deviate from RFC 5005.

    :param next_is_archive: `next` links lead to archives that do not change
    :param reversed: relations are swapped: next-archive leads to the older archive, `previous` to the older
        page
    """

    next_is_archive: bool = False
    reversed: bool = False


PLAIN = FeedQuirks()
REVERSED = {"prev-archive": "next-archive", "next": "previous", "first": "last"}
REVERSED |= {opposite: name for name, opposite in REVERSED.items()}


def relations(document: FeedDocument, quirks: FeedQuirks) -> dict[str, str]:
    """Return a document's links by relation, corrected for the feed's quirks."""
    return _corrected_links(document.links, document, quirks)


def _corrected_links(links: dict[str, Value], document: FeedDocument, quirks: FeedQuirks) -> dict[str, Value]:
    links = dict(links)
    # Outside feed history, `prev` is the older name of `previous`; in a draft's feed it is not.
    if "prev" in links and not document.incremental:
        links.setdefault("previous", links["prev"])
    if quirks.reversed:
        links = {REVERSED.get(relation, relation): value for relation, value in links.items()}
    if quirks.next_is_archive and "next" in links:
        links.setdefault("prev-archive", links["next"])
    return links


class Contradiction(NamedTuple):
    """Links of a document with one relation, of which at most one is followed; '' is a link without a URL."""

    relation: str
    followed: str | None
    others: list[str]


def contradiction(document: FeedDocument, relation: str | None, quirks: FeedQuirks) -> Contradiction | None:
    others = _corrected_links(document.other_links, document, quirks).get(relation or "")
    if relation is None or not others:
        return None
    return Contradiction(relation, relations(document, quirks).get(relation), others)


# RFC 5005, 4: prev-archive is "a URI that refers to the immediately preceding archive document": there is
# only one. A document that another link leads to may contain entries that no other document has.
def older_contradiction(document: FeedDocument, quirks: FeedQuirks) -> Contradiction | None:
    """Return the links that contradict the one to the older document; None with fh:complete."""
    if document.complete:
        return None
    if archives := contradiction(document, "prev-archive", quirks):
        return archives
    # RFC 5005, 3: `next` belongs to paged feeds; it has no meaning in an archive.
    is_page = not (document.archive or document.incremental)
    has_archive = "prev-archive" in relations(document, quirks)
    return contradiction(document, "next", quirks) if is_page and not has_archive else None


FIRST_WALK = 1
EARLIEST_WALK = -(2**31)
TO_THE_SECOND = len("2003-12-13T18:30:02")


class ChainPosition(NamedTuple):
    """A document's position in the chain; the greater position is the newer document.

    Walks are numbered from FIRST_WALK. A capture belongs to no walk: it is older than all that walks have
    read, and captures are ordered by their dates. So a capture is a walk of its own before the first one: its
    number is its date in seconds since 1970, counted from EARLIEST_WALK, the least integer of the store's
    columns. `position_of_capture` and `captured_at` are the only functions that convert one into the other.
    Web pages that a sitemap names are older than all captures: EARLIEST_WALK with the walk as the step.

    :param walk: number of the walk; of a capture, the number of its date
    :param step: 0 for the walk's subscription document, -1 for the document before it, and so on
    """

    walk: int
    step: int

    def older_position(self) -> ChainPosition:
        return ChainPosition(self.walk, self.step - 1)


def position_of_capture(date: str, depth: int) -> ChainPosition:
    """`depth` is the number of links from a subscription document to the captured document."""
    moment = datetime.fromisoformat(date[:TO_THE_SECOND]).replace(tzinfo=timezone.utc)
    return ChainPosition(min(max(int(moment.timestamp()), 0) + EARLIEST_WALK, FIRST_WALK - 1), -depth)


def captured_at(place: ChainPosition) -> str | None:
    """Return when the document at a position was captured, in UTC; None if it is no capture."""
    # A web page with a post has a positive step.
    if place.walk >= FIRST_WALK or place.step > 0:
        return None
    moment = datetime.fromtimestamp(place.walk - EARLIEST_WALK, timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class Role(str, Enum):
    SUBSCRIPTION = "subscription"
    ARCHIVE = "archive"
    PAGE = "page"
    # A document of a list; the list itself is the subscription document, or the index of the snapshot that
    # precedes the feed.
    PART = "part"
    INDEX = "index"
    # An earlier copy of a document, from a web archive; it is not part of the chain.
    CAPTURE = "capture"
    # A web archive's list of the captures of a document (RFC 7089, 1.2).
    TIMEMAP = "timemap"
    # A publisher's own list of entries, or a page that shows some of these; it is not part of the chain.
    LISTED = "listed"
    # A web page of an entry, which a sitemap names; it is not part of the chain.
    POST = "post"


CHAIN = (Role.SUBSCRIPTION, Role.ARCHIVE, Role.PAGE)


class Link(NamedTuple):
    """A link to another document of the feed.

    :param platform: name of the software (`platforms`) whose rule formed the URL: no document links to it,
        and it may not exist
    :param key: its key in the store; None: its URL
    :param is_left_over: a page that an earlier walk has not read, or a page older than that one
    """

    role: Role
    url: str
    platform: str | None = None
    key: str | None = None
    is_left_over: bool = False


class Kind(str, Enum):
    """How a feed publishes its history."""

    COMPLETE = "complete"
    ARCHIVED = "archived"
    PAGED = "paged"
    SINGLE = "single"


def kind(document: FeedDocument, quirks: FeedQuirks = PLAIN) -> Kind:
    """`document` is the subscription document."""
    links = {*relations(document, quirks), *_corrected_links(document.other_links, document, quirks)}
    # RFC 5005, 2: "the feed document it occurs in is a complete representation of the logical feed's
    # entries."
    if document.complete:
        return Kind.COMPLETE
    # draft-nottingham-atompub-feed-history-00, 4: without a `prev` link it is the feed's first document.
    if document.archive or document.incremental or "prev-archive" in links:
        return Kind.ARCHIVED
    if {"next", "previous", "first", "last"} & links:
        return Kind.PAGED
    return Kind.SINGLE


def older_document(
    document: FeedDocument, own_urls: tuple[str, ...] = (), quirks: FeedQuirks = PLAIN
) -> Link | None:
    """Return the link to the older document; `own_urls`: before and after redirects."""
    links = relations(document, quirks)
    # RFC 5005, 1: "The semantics of a feed that combines these types is undefined by this specification."
    if document.complete:
        return None
    if url := links.get("prev-archive"):
        return Link(Role.ARCHIVE, url)
    # RFC 5005, 3: "last - A URI that refers to the furthest following document in a series of documents."
    if document.archive or document.incremental or links.get("last") in own_urls:
        return None
    # RFC 5005, 3: "next - A URI that refers to the immediately following document in a series of documents."
    if url := links.get("next"):
        return Link(Role.PAGE, url)
    return None


def last_page(document: FeedDocument, own_urls: tuple[str, ...], quirks: FeedQuirks = PLAIN) -> str | None:
    """Return the URL of the last page if a page links to it, is not it, and links to no older document."""
    links = relations(document, quirks)
    is_archive = document.complete or document.archive or document.incremental
    last = None if is_archive or {"next", "prev-archive"} & links.keys() else links.get("last")
    return None if last in own_urls else last


# RFC 5005, 4: "The set of entries contained in an archive document published at a particular URI SHOULD NOT
# change over time. Likewise, the URI for a particular archive document SHOULD NOT change over time." If it
# has changed, the archives may have been divided differently since the subscription document was read:
# entries of this archive can now be in a newer one, which the walk has already read. The rest of the chain
# cannot exclude that; only a subscription document that is read later, and leads to it too, can.
def may_be_another(document: FeedDocument, requested_url: str, reached_url: str) -> bool:
    """Return whether a redirect may have led to another document than the requested archive."""
    return document.links.get("self") != requested_url and _path(requested_url) != _path(reached_url)


def _path(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.path.rstrip("/"), parts.query


def subscription_link(document: FeedDocument, quirks: FeedQuirks = PLAIN) -> str | None:
    """Return the URL of the subscription document; None if this document is it."""
    relation = subscription_relation(document, quirks)
    return None if relation is None else relations(document, quirks).get(relation)


def subscription_relation(document: FeedDocument, quirks: FeedQuirks = PLAIN) -> str | None:
    """Return the relation that links to the subscription document; None if this document is it."""
    links = relations(document, quirks)
    # RFC 5005, 4: "current - A URI that, when dereferenced, returns a feed document containing the most
    # recent entries in the feed." Publishers do not all write fh:archive; only an archive has an archive
    # after it.
    if document.archive or "next-archive" in links:
        # Feed of multipart pages: "A page with a `next` link is immutable"; the last `next` link
        # leads to the newest page.
        return "next-archive" if document.format == "multipart" and "current" not in links else "current"
    # RFC 5005, 3: only a document with a `previous` link is not the first of its series.
    return "first" if "previous" in links and "prev-archive" not in links else None


# RFC 5005, 4: a next-archive link leads to the next newer archive document. A document with such a link is
# not the newest, with or without fh:archive.
def is_archive(document: FeedDocument, own_urls: tuple[str, ...], quirks: FeedQuirks = PLAIN) -> bool:
    """Return whether a document is marked as an archive, or links to a newer archive."""
    return document.archive or relations(document, quirks).get("next-archive") not in (None, *own_urls)


# After a snapshot, a feed is read from entities at or after its `createdAt`. RFC 9110, 5.6.7: an HTTP-date is
# a whole second; `createdAt` may lie within it.
def is_before(time: str | None, since: str) -> bool:
    return time is not None and time[:TO_THE_SECOND] < since[:TO_THE_SECOND]


def reaches_snapshot(document: FeedDocument, created_at: str) -> bool:
    """Return whether the documents older than this one are older than a snapshot."""
    times = [entry.updated for entry in document.entries if entry.updated]
    # Pages of a multipart feed list entities from older to newer; FeedDocument has them reversed.
    is_ordered = document.format == "multipart" and bool(times)
    if is_ordered and is_before(times[-1], created_at):
        return True
    # A page's Last-Modified may be that of a file, older than its entries.
    return is_before(document.updated, created_at) and all(is_before(time, created_at) for time in times)


def begins_after(document: FeedDocument, created_at: str) -> bool:
    """Return whether a document is newer than a snapshot, so that entries may be missing between them."""
    times = [entry.updated for entry in document.entries if entry.updated]
    return all(is_before(created_at, time) for time in times or [document.updated or ""])


class NewerPage(NamedTuple):
    """Data of a multipart page that the next older page is checked against.

    :param urls: the URLs of the page; [] if its permanent URL is unknown
    :param updated: its Last-Modified
    :param begins: the time of its oldest entity
    """

    urls: list[str]
    updated: str | None
    begins: str | None


def as_newer_page(document: FeedDocument, own_urls: tuple[str, ...], role: Role) -> NewerPage | None:
    """Return the data to check the next older page against; None if this is not a multipart page."""
    if document.format != "multipart":
        return None
    # Page: `self` is required. The newest page is polled at a URL that is not its permanent URL.
    self_url = document.links.get("self")
    urls = (
        [*own_urls, self_url] if self_url is not None else [] if role is Role.SUBSCRIPTION else list(own_urls)
    )
    times = [entry.updated for entry in document.entries if entry.updated]
    return NewerPage(urls, document.updated, times[-1] if times else None)


# Feed: "The links of neighbouring pages must agree, and must not loop. A consumer meets both faults, and
# reports them"; "Last-Modified never decreases along the way (equal ones occur)".
def disagreements(document: FeedDocument, own_urls: tuple[str, ...], newer: NewerPage) -> Iterator[Problem]:
    """Yield the contradictions between a multipart page and the newer one that links to it."""
    newer_url, self_url = document.links.get("next-archive"), document.links.get("self")
    if newer_url is None:
        yield Problem("disagrees", "", "it does not link back to the newer page that links to it")
    elif newer.urls and newer_url not in newer.urls:
        detail = f"it links to {newer_url} as the newer page, but {newer.urls[0]} links to it"
        yield Problem("disagrees", "", detail)
    if self_url is not None and self_url not in own_urls:
        yield Problem("disagrees", "", f"its self link leads to another URL, {self_url}")
    if newer.updated and is_before(newer.updated, document.updated or ""):
        detail = f"Last-Modified goes backwards: {document.updated}, but {newer.updated} on the newer page"
        yield Problem("backwards", "", detail)
    newest = next((entry.updated for entry in document.entries if entry.updated), None)
    if newer.begins and is_before(newer.begins, newest or ""):
        detail = (
            f"Last-Modified goes backwards: {newest}, but {newer.begins} at the beginning of the newer page"
        )
        yield Problem("backwards", "", detail)
