"""Versions of entries: what identifies an entry, and what a version means beside the newest one so far."""

from __future__ import annotations

import hashlib
import json
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.logical_feed.ordering import Order, order

if TYPE_CHECKING:
    from fhcrawl.documents import Entry, FeedDocument, Tombstone
    from fhcrawl.logical_feed.chain import ChainPosition

SEPARATOR = "\x1f"  # no character of XML


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
def deletion(tombstone: Tombstone, document_updated: str | None, place: ChainPosition) -> Order:
    """The order of the deletion that a tombstone is; the parameters are those of `order`."""
    return order(tombstone.when, document_updated, place, 0)._replace(tombstone=1)


def absence(entry_id: str, place: ChainPosition) -> Version:
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
