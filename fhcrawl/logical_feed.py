"""The rules of a logical feed: identity, the order of versions, what follows what, verdicts.

Pure: values in, values out.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from fhcrawl.documents import Problem
from fhcrawl.ordering import Order, order
from fhcrawl.relations import PLAIN, Oddities, contradicted, relations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fhcrawl.documents import Entry, FeedDocument, Tombstone
    from fhcrawl.documents.lists import DocumentList

SEPARATOR = "\x1f"  # no character of XML
FIRST_WALK = 1
EARLIEST_WALK = -(2**31)
TO_THE_SECOND = len("2003-12-13T18:30:02")


class Place(NamedTuple):
    """A document's place in the chain; the greater is the newer.

    :param walk: number of the walk whose subscription document the chain leads from; a capture has one before
        FIRST_WALK
    :param step: 0 for that subscription document, -1 for the document before it, and so on
    """

    walk: int
    step: int

    def before(self) -> Place:
        """The place of the document that this one's prev-archive link names."""
        return Place(self.walk, self.step - 1)


# A capture is as if a walk before the first had read it at its time. The store's integers have 32 bits.
def place_of_capture(date: str, depth: int) -> Place:
    """The place of a document that a web archive has.

    :param date: when it was captured, ISO 8601 in UTC
    :param depth: how many links lead to it from a subscription document
    """
    moment = datetime.fromisoformat(date[:TO_THE_SECOND]).replace(tzinfo=timezone.utc)
    return Place(min(max(int(moment.timestamp()), 0) + EARLIEST_WALK, FIRST_WALK - 1), -depth)


def captured(place: Place) -> str | None:
    """When a document was captured, by its place; None if a walk has read it."""
    if place.walk >= FIRST_WALK:
        return None
    moment = datetime.fromtimestamp(place.walk - EARLIEST_WALK, timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class Version(NamedTuple):
    """One appearance of an entry, or of its deletion, in one document.

    :param order: by the times that count when the document is read
    :param digest: of the content; '' for a deletion
    :param original: all that the document says of the entry, in UTF-8; None if it is not kept
    :param claimed: the order with all times that the document claims, if one of them does not count
    """

    id: str
    order: Order
    digest: str
    original: bytes | None = None
    claimed: Order | None = None

    @classmethod
    def at(
        cls, latest: str, entry_id: str, claimed: Order, digest: str, original: bytes | None = None
    ) -> Version:
        """The version when times until `latest` count."""
        counted = claimed.counted(latest)
        return cls(entry_id, counted, digest, original, None if counted is claimed else claimed)

    @property
    def stored_order(self) -> Order:
        """The order as the store keeps it: with the times as they are claimed."""
        return self.claimed or self.order


class Winner(NamedTuple):
    """The newest version of an entry so far.

    :param order: by the times that count when it is compared
    :param digest: of its content; '' if the entry has been deleted
    :param pending: it has a change that no export holds yet
    :param exported: with a pending change, the digest that was last exported; None if none ever was
    :param uncounted: the earlier one of its times that do not count; None if both do
    """

    order: Order
    digest: str
    pending: bool = False
    exported: str | None = None
    uncounted: str | None = None


class Outcome(str, Enum):
    """What a version means for the logical feed."""

    NEW = "new"
    UPDATED = "updated"
    DUPLICATE = "duplicate"
    STALE = "stale"


# RFC 6721, 4: an at:deleted-entry whose `when` is not older than the entry removes it, wherever in the chain
# it stands; a later version of the entry brings it back.
def deletion(tombstone: Tombstone, document_updated: str | None, place: Place) -> Order:
    """The order of the deletion that a tombstone is; the parameters are those of `order`."""
    return order(tombstone.when, document_updated, place, 0)._replace(tombstone=1)


def absence(entry_id: str, place: Place) -> Version:
    """The version of an entry that has left a complete feed: whatever comes later brings it back."""
    return Version(entry_id, Order("", 0, "", place.walk, place.step, 0), "")


def digest(entry: Entry) -> str:
    """A digest of an entry's content: the same content again is no change, whatever the times say."""
    texts = [
        f"{len(entry.authors)} {len(entry.categories)}",
        entry.title or "",
        entry.link or "",
        entry.summary or "",
        entry.content or "",
        entry.content_type or "",
        entry.operation or "",
        *entry.authors,
        *entry.categories,
        json.dumps(entry.enclosures) if entry.enclosures else "",
    ]
    joined = SEPARATOR.join(texts)
    if joined.count(SEPARATOR) >= len(texts):
        joined = json.dumps(texts)
    return hashlib.blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


WITH_IDS = frozenset({"atom", "json", "multipart"})


def identity(entry: Entry, document: FeedDocument) -> str | None:
    """The id of an entry within its feed; None if it has none and its format asks for one.

    Ids are compared as they are, never resolved or normalised.
    """
    # RFC 4287, 4.2.6.1: "Instances of atom:id elements can be compared to determine whether an entry or
    # feed is the same as one seen before. Processors MUST compare atom:id elements on a
    # character-by-character basis (in a case-sensitive fashion)."
    if entry.id is not None:
        return entry.id
    # RFC 4287, 4.1.2: "atom:entry elements MUST contain exactly one atom:id element." JSON Feed 1.1: "If an
    # id is not present […], skip that item." An event's link names what it is about, which has more events.
    if document.format in WITH_IDS:
        return None
    # RSS 2.0: the guid is optional, and so is everything else but a title or a description.
    if entry.link is not None:
        return entry.link
    parts = (entry.title, entry.published, entry.summary)
    if not (entry.title or entry.summary):
        return None
    return f"urn:sha256:{hashlib.sha256(json.dumps(parts).encode()).hexdigest()}"


def decide(version: Version, winner: Winner | None) -> Outcome:
    """What a version means, given the newest one so far."""
    if winner is None:
        return Outcome.NEW
    if version.digest == winner.digest:
        return Outcome.DUPLICATE
    if version.order < winner.order:
        return Outcome.STALE
    return Outcome.UPDATED if winner.digest else Outcome.NEW


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a verdict is not `complete`: what is missing, where, and since when.

    :param kind: for programs: `http-404`, `timeout`, `robots-txt`, `not-well-formed`, `loop`, …
    :param url: of the document that is missing
    :param detail: for people: the rest of a sentence that begins with the URL
    :param since: ISO 8601 in UTC
    """

    kind: str
    url: str
    detail: str
    since: str


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


def kind(document: FeedDocument, oddities: Oddities = PLAIN) -> Kind:
    """What a subscription document says of the feed's history."""
    links = {*relations(document, oddities), *contradicted(document, oddities)}
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


def behind(document: FeedDocument, own: tuple[str, ...] = (), oddities: Oddities = PLAIN) -> Link | None:
    """The document behind this one. fh:complete wins over prev-archive, prev-archive over next.

    :param own: the document's URLs, before and after redirects
    """
    links = relations(document, oddities)
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


def subscription_link(document: FeedDocument, oddities: Oddities = PLAIN) -> str | None:
    """Where the subscription document is, if this document says that it is not it."""
    relation = subscription_relation(document, oddities)
    return None if relation is None else relations(document, oddities).get(relation)


def subscription_relation(document: FeedDocument, oddities: Oddities = PLAIN) -> str | None:
    """The relation of the link to the subscription document, if this document says that it is not it."""
    links = relations(document, oddities)
    # RFC 5005, 4: "current - A URI that, when dereferenced, returns a feed document containing the most
    # recent entries in the feed." Publishers do not all write fh:archive; only an archive has one after it.
    if document.archive or "next-archive" in links:
        # Feed of multipart pages: "A page with a `next` link is immutable"; the newest is at the end of them.
        return "next-archive" if document.format == "multipart" and "current" not in links else "current"
    # RFC 5005, 3: only a document with one before it is not the first of its series.
    return "first" if "previous" in links and "prev-archive" not in links else None


# RFC 5005, 4: a next-archive link leads to the archive document that comes after this one. Whoever has one is
# not the newest, whether fh:archive says so or not.
def is_archive(document: FeedDocument, own: tuple[str, ...], oddities: Oddities = PLAIN) -> bool:
    """Whether a document says that a newer one of its feed has come after it.

    :param own: the document's URLs, before and after redirects
    """
    return document.archive or relations(document, oddities).get("next-archive") not in (None, *own)


# After a snapshot, a feed is read from entities at or after its `createdAt`. RFC 9110, 5.6.7: an HTTP-date is
# a whole second; `createdAt` may lie within it.
def is_before(time: str | None, since: str) -> bool:
    """Whether a time is before that of a snapshot; both ISO 8601 in UTC."""
    return time is not None and time[:TO_THE_SECOND] < since[:TO_THE_SECOND]


def reaches(document: FeedDocument, since: str) -> bool:
    """Whether what is behind a document is older than a snapshot."""
    times = [entry.updated for entry in document.entries if entry.updated]
    # In pages of a multipart feed entities go from older to newer; FeedDocument has them reversed.
    is_ordered = document.format == "multipart" and bool(times)
    return is_before(document.updated, since) or (is_ordered and is_before(times[-1], since))


def begins_after(document: FeedDocument, since: str) -> bool:
    """Whether a document shows nothing as old as a snapshot, so that something may be missing between."""
    times = [entry.updated for entry in document.entries if entry.updated]
    return all(is_before(since, time) for time in times or [document.updated or ""])


class Newer(NamedTuple):
    """What a page of a multipart feed says to the one before it.

    :param urls: those that it is known by; [] if it does not say which one it has for good
    :param updated: its own update time
    :param begins: the time of its oldest entity
    """

    urls: list[str]
    updated: str | None
    begins: str | None

    def plain(self) -> list[object]:
        """The same in values that a request can carry."""
        return list(self)


def as_newer(document: FeedDocument, own: tuple[str, ...], role: Role) -> Newer | None:
    """What a document says to the one before it; None if it is no page of a multipart feed."""
    if document.format != "multipart":
        return None
    # Page: `self` is required. The newest page is polled at another URL than it will have when it is sealed.
    itself = document.links.get("self")
    urls = list(own) if itself is None else [*own, itself]
    if itself is None and role is Role.SUBSCRIPTION:
        urls = []
    times = [entry.updated for entry in document.entries if entry.updated]
    return Newer(urls, document.updated, times[-1] if times else None)


# Feed: "The links of neighbouring pages must agree, and must not loop. A consumer meets both faults, and
# reports them"; "Last-Modified never decreases along the way (equal ones occur)".
def disagreements(document: FeedDocument, own: tuple[str, ...], newer: Newer) -> Iterator[Problem]:
    """What a page of a multipart feed says otherwise than the newer one that has led to it."""
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


class Verdict(str, Enum):
    """What can be claimed of a logical feed."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    LOSSY = "lossy"
    UNKNOWN = "unknown"


SAYS_NOTHING = "says nothing of entries older than those it shows"
HAS_MOVED = "leads to another document: the publisher may have moved its archives while they were walked"
IS_PAGED = "is a paged feed, whose pages change while they are read (RFC 5005, 3)"


def verdict(feed: str, kind: Kind | None, since: str, gaps: Iterable[Reason]) -> tuple[Verdict, list[Reason]]:
    """What can be claimed of a feed, and why not more.

    :param kind: of its last subscription document; None if none has been read yet
    :param since: when that was, ISO 8601 in UTC
    :param gaps: what is missing of what the feed says that there is
    """
    reasons = list(gaps)
    if kind is None or kind is Kind.SINGLE:
        if kind is Kind.SINGLE:
            reasons.append(Reason("no-history", feed, SAYS_NOTHING, since))
        return Verdict.UNKNOWN, reasons
    if kind is Kind.PAGED:
        # RFC 5005, 3: "clients SHOULD NOT present paged feeds as coherent or complete".
        return Verdict.LOSSY, [*reasons, Reason("paged", feed, IS_PAGED, since)]
    return (Verdict.INCOMPLETE if reasons else Verdict.COMPLETE), reasons
