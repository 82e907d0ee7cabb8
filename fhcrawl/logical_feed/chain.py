"""The chain of a feed's documents: their places, their roles, and which document is behind which."""

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
    """A document's place in the chain; the greater is the newer.

    :param walk: number of the walk whose subscription document the chain leads from; a capture has one before
        FIRST_WALK
    :param step: 0 for that subscription document, -1 for the document before it, and so on
    """

    walk: int
    step: int

    def before(self) -> ChainPosition:
        """The place of the document that this one's prev-archive link names."""
        return ChainPosition(self.walk, self.step - 1)


# A capture is as if a walk before the first had read it at its time. The store's integers have 32 bits.
def position_of_capture(date: str, depth: int) -> ChainPosition:
    """The place of a document that a web archive has.

    :param date: when it was captured, ISO 8601 in UTC
    :param depth: how many links lead to it from a subscription document
    """
    moment = datetime.fromisoformat(date[:TO_THE_SECOND]).replace(tzinfo=timezone.utc)
    return ChainPosition(min(max(int(moment.timestamp()), 0) + EARLIEST_WALK, FIRST_WALK - 1), -depth)


def captured(place: ChainPosition) -> str | None:
    """When a document was captured, by its place; None if a walk has read it."""
    if place.walk >= FIRST_WALK:
        return None
    moment = datetime.fromtimestamp(place.walk - EARLIEST_WALK, timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class Role(str, Enum):
    """What a document is to its feed."""

    SUBSCRIPTION = "subscription"
    ARCHIVE = "archive"
    PAGE = "page"
    # A document that a list names; the list itself is the subscription document, or the index of a snapshot
    # that the feed goes on from.
    PART = "part"
    INDEX = "index"
    # A document of the feed as a web archive has it from an earlier time; the chain knows nothing of it.
    CAPTURE = "capture"


class Link(NamedTuple):
    """A link to another document of the feed, and what that will be."""

    role: Role
    url: str


class Kind(str, Enum):
    """What a feed says of its history."""

    COMPLETE = "complete"
    ARCHIVED = "archived"
    PAGED = "paged"
    SINGLE = "single"


def kind(document: FeedDocument, quirks: FeedQuirks = PLAIN) -> Kind:
    """What a subscription document says of the feed's history."""
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


# Snapshot: it is the whole state at `createdAt`; nothing says what a folder has not.
def kind_of_list(listed: DocumentList) -> Kind:
    """What a list of documents says of the feed's history."""
    return Kind.SINGLE if listed.prefix is None else Kind.COMPLETE


def older_document(
    document: FeedDocument, own: tuple[str, ...] = (), quirks: FeedQuirks = PLAIN
) -> Link | None:
    """The document behind this one. fh:complete wins over prev-archive, prev-archive over next.

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
# has changed, archives may have been cut anew since the subscription document was read: what this one held
# can be in a newer one by now, which the walk has passed by. That the chain goes on well from there says
# nothing of that; only a subscription document that is read later, and leads there too, does.
def may_be_another(document: FeedDocument, asked: str, reached: str) -> bool:
    """Whether the document that a redirect has led to may be another one than the archive that was asked for.

    :param asked: URL before the redirect
    :param reached: URL after it; the same path on another host, or with another scheme, is the same document
    """
    return document.links.get("self") != asked and _path(asked) != _path(reached)


def _path(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.path.rstrip("/"), parts.query


def subscription_link(document: FeedDocument, quirks: FeedQuirks = PLAIN) -> str | None:
    """Where the subscription document is, if this document says that it is not it."""
    relation = subscription_relation(document, quirks)
    return None if relation is None else relations(document, quirks).get(relation)


def subscription_relation(document: FeedDocument, quirks: FeedQuirks = PLAIN) -> str | None:
    """The relation of the link to the subscription document, if this document says that it is not it."""
    links = relations(document, quirks)
    # RFC 5005, 4: "current - A URI that, when dereferenced, returns a feed document containing the most
    # recent entries in the feed." Publishers do not all write fh:archive; only an archive has one after it.
    if document.archive or "next-archive" in links:
        # Feed of multipart pages: "A page with a `next` link is immutable"; the newest is at the end of them.
        return "next-archive" if document.format == "multipart" and "current" not in links else "current"
    # RFC 5005, 3: only a document with one before it is not the first of its series.
    return "first" if "previous" in links and "prev-archive" not in links else None


# RFC 5005, 4: a next-archive link leads to the archive document that comes after this one. Whoever has one is
# not the newest, whether fh:archive says so or not.
def is_archive(document: FeedDocument, own: tuple[str, ...], quirks: FeedQuirks = PLAIN) -> bool:
    """Whether a document says that a newer one of its feed has come after it.

    :param own: the document's URLs, before and after redirects
    """
    return document.archive or relations(document, quirks).get("next-archive") not in (None, *own)
