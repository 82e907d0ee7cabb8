"""The chain of a feed's documents: their positions, their roles, and the links between them."""

from __future__ import annotations

from datetime import datetime, timezone
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from fhcrawl.logical_feed.relations import PLAIN, FeedQuirks, contradicted, relations

if TYPE_CHECKING:
    from fhcrawl.documents import FeedDocument
    from fhcrawl.documents.lists import DocumentList

FIRST_WALK = 1
EARLIEST_WALK = -(2**31)
TO_THE_SECOND = len("2003-12-13T18:30:02")


class ChainPosition(NamedTuple):
    """A document's position in the chain; the greater position is the newer document.

    :param walk: number of the walk whose subscription document starts the chain; below FIRST_WALK for a
        capture
    :param step: 0 for that subscription document, -1 for the document before it, and so on
    """

    walk: int
    step: int

    def before(self) -> ChainPosition:
        """Return the position of the document that this one's prev-archive link names."""
        return ChainPosition(self.walk, self.step - 1)


# A capture counts as read by a walk before the first, at its date. The store's integers have 32 bits.
def position_of_capture(date: str, depth: int) -> ChainPosition:
    """Return the position of a document from a web archive.

    :param date: when it was captured, ISO 8601 in UTC
    :param depth: number of links between a subscription document and it
    """
    moment = datetime.fromisoformat(date[:TO_THE_SECOND]).replace(tzinfo=timezone.utc)
    return ChainPosition(min(max(int(moment.timestamp()), 0) + EARLIEST_WALK, FIRST_WALK - 1), -depth)


def captured(place: ChainPosition) -> str | None:
    """Return when the document at a position was captured; None if a walk has read it."""
    if place.walk >= FIRST_WALK:
        return None
    moment = datetime.fromtimestamp(place.walk - EARLIEST_WALK, timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class Role(str, Enum):
    """The role of a document in its feed."""

    SUBSCRIPTION = "subscription"
    ARCHIVE = "archive"
    PAGE = "page"
    # A document that a list names; the list itself is the subscription document, or the index of the
    # snapshot that precedes the feed.
    PART = "part"
    INDEX = "index"
    # An earlier copy of a document, from a web archive; it is not part of the chain.
    CAPTURE = "capture"
    # What a web archive says of the captures that it has of a document (RFC 7089, 1.2).
    TIMEMAP = "timemap"
    # A publisher's own list of entries, or a page that shows some of these; it is not part of the chain.
    LISTED = "listed"


# The roles of the documents of a chain.
CHAIN = (Role.SUBSCRIPTION, Role.ARCHIVE, Role.PAGE)


class Link(NamedTuple):
    """A link to another document of the feed, and the role of that document."""

    role: Role
    url: str


class Kind(str, Enum):
    """How a feed publishes its history."""

    COMPLETE = "complete"
    ARCHIVED = "archived"
    PAGED = "paged"
    SINGLE = "single"


def kind(document: FeedDocument, quirks: FeedQuirks = PLAIN) -> Kind:
    """Return how a feed publishes its history, by its subscription document."""
    links = {*relations(document, quirks), *contradicted(document, quirks)}
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


# Snapshot: the index lists the whole state at `createdAt`; a folder's list claims nothing of the kind.
def kind_of_list(listed: DocumentList) -> Kind:
    """Return how a feed publishes its history, by a list of documents."""
    return Kind.SINGLE if listed.prefix is None else Kind.COMPLETE


def older_document(
    document: FeedDocument, own: tuple[str, ...] = (), quirks: FeedQuirks = PLAIN
) -> Link | None:
    """Return the link to the older document: fh:complete before prev-archive, prev-archive before next.

    :param own: the document's URLs, before and after redirects
    """
    links = relations(document, quirks)
    # RFC 5005, 1: "The semantics of a feed that combines these types is undefined by this specification."
    if document.complete:
        return None
    if url := links.get("prev-archive"):
        return Link(Role.ARCHIVE, url)
    # RFC 5005, 3: "last - A URI that refers to the furthest following document in a series of documents."
    if document.archive or document.incremental or links.get("last") in own:
        return None
    # RFC 5005, 3: "next - A URI that refers to the immediately following document in a series of documents."
    if url := links.get("next"):
        return Link(Role.PAGE, url)
    return None


# RFC 5005, 4: "The set of entries contained in an archive document published at a particular URI SHOULD NOT
# change over time. Likewise, the URI for a particular archive document SHOULD NOT change over time." Where it
# has changed, the archives may have been divided anew since the subscription document was read: entries
# of this one can be in a newer one now, which the walk has already read. The rest of the chain cannot rule
# that out; only a subscription document that is read later, and leads there too, can.
def may_be_another(document: FeedDocument, asked: str, reached: str) -> bool:
    """Return whether a redirect may have led to another document than the requested archive.

    :param asked: URL before the redirect
    :param reached: URL after it; the same path on another host, or with another scheme, is the same document
    """
    return document.links.get("self") != asked and _path(asked) != _path(reached)


def _path(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.path.rstrip("/"), parts.query


def subscription_link(document: FeedDocument, quirks: FeedQuirks = PLAIN) -> str | None:
    """Return the URL of the subscription document if this document is another one."""
    relation = subscription_relation(document, quirks)
    return None if relation is None else relations(document, quirks).get(relation)


def subscription_relation(document: FeedDocument, quirks: FeedQuirks = PLAIN) -> str | None:
    """Return the relation that links to the subscription document if this document is another one."""
    links = relations(document, quirks)
    # RFC 5005, 4: "current - A URI that, when dereferenced, returns a feed document containing the most
    # recent entries in the feed." Publishers do not all write fh:archive; only an archive has one after it.
    if document.archive or "next-archive" in links:
        # Feed of multipart pages: "A page with a `next` link is immutable"; the last one leads to the newest.
        return "next-archive" if document.format == "multipart" and "current" not in links else "current"
    # RFC 5005, 3: only a document with a `previous` link is not the first of its series.
    return "first" if "previous" in links and "prev-archive" not in links else None


# RFC 5005, 4: a next-archive link leads to the archive document that comes after this one. A document with
# such a link is not the newest, with or without fh:archive.
def is_archive(document: FeedDocument, own: tuple[str, ...], quirks: FeedQuirks = PLAIN) -> bool:
    """Return whether a document is an archive: it is marked as one, or names a newer document.

    :param own: the document's URLs, before and after redirects
    """
    return document.archive or relations(document, quirks).get("next-archive") not in (None, *own)
