"""The rules of a logical feed: identity, the order of versions, what follows what, verdicts.

Pure: values in, values out.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.documents.dates import shift

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fhcrawl.documents import Entry, FeedDocument

CLOCK_TOLERANCE_SECONDS = 24 * 60 * 60


class Place(NamedTuple):
    """A document's place in the chain; the greater is the newer.

    :param walk: number of the walk whose subscription document the chain leads from
    :param step: 0 for that subscription document, -1 for the document before it, and so on
    """

    walk: int
    step: int

    def before(self) -> Place:
        """The place of the document that this one's prev-archive link names."""
        return Place(self.walk, self.step - 1)


class Order(NamedTuple):
    """What versions of an entry are compared by, in this order; the greater is the newer.

    Times are comparable strings, '' for none. `position` is 0 for a document's first entry, then -1, …
    """

    time: str
    document_time: str
    walk: int
    step: int
    position: int


class Version(NamedTuple):
    """One appearance of an entry in one document."""

    id: str
    order: Order
    digest: str


class Winner(NamedTuple):
    """The newest version of an entry so far.

    :param digest: of its content; '' if the entry has been deleted
    :param pending: it has a change that no export holds yet
    :param exported: with a pending change, the digest that was last exported; None if none ever was
    """

    order: Order
    digest: str
    pending: bool = False
    exported: str | None = None


class Outcome(str, Enum):
    """What a version means for the logical feed."""

    NEW = "new"
    UPDATED = "updated"
    DUPLICATE = "duplicate"
    STALE = "stale"


def latest_time(fetched: str) -> str:
    """The latest time that counts in a document fetched at a time: a day later, comparable."""
    # A wrong clock must not win for ever.
    return comparable(shift(fetched, CLOCK_TOLERANCE_SECONDS))


def comparable(time: str | None) -> str:
    """A time as a string that sorts like the time; '' for none."""
    if time is None:
        return ""
    time = time.rstrip("Z")
    return time.rstrip("0").rstrip(".") if "." in time else time


# RFC 5005, 4.2: "clients SHOULD consider only the most recently updated entry to be part of the logical
# feed. If duplicate entries have the same update time-stamp, or no time-stamps are available, the entry
# sourced from the most recently updated feed document SHOULD replace all other duplicates of that entry."
# Where that is silent too, the chain decides, and at last the position: the order is total.
def order(
    updated: str | None, document_updated: str | None, place: Place, position: int, latest: str
) -> Order:
    """The order of a version.

    :param updated: the entry's update time, ISO 8601 in UTC
    :param document_updated: its document's
    :param position: of the entry in its document, from 0
    :param latest: the latest time that counts, of `latest_time`
    """
    document_time = comparable(document_updated)
    if document_time > latest:
        document_time = ""
    time = comparable(updated)
    if not time or time > latest:
        time = document_time
    return Order(time, document_time, place.walk, place.step, -position)


def digest(entry: Entry) -> str:
    """A digest of an entry's content: the same content again is no change, whatever the times say."""
    texts = [
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
    # The lengths keep apart what the texts alone could not.
    lengths = [len(entry.authors), *map(len, texts)]
    serialised = f"{lengths}{''.join(texts)}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(serialised, digest_size=16).hexdigest()


def identity(entry: Entry, document: FeedDocument) -> str | None:
    """The id of an entry within its feed; None if it has none and its format asks for one.

    Ids are compared as they are, never resolved or normalised.
    """
    # RFC 4287, 4.2.6.1: "Instances of atom:id elements can be compared to determine whether an entry or
    # feed is the same as one seen before. Processors MUST compare atom:id elements on a
    # character-by-character basis (in a case-sensitive fashion)."
    if entry.id is not None:
        return entry.id
    # RFC 4287, 4.1.2: "atom:entry elements MUST contain exactly one atom:id element."
    if document.format == "atom":
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


def brings_news(visit: Visit) -> bool:
    """Whether a document holds any version that would change the stored logical feed."""
    return any(
        decide(version, visit.stored.get(version.id)) in (Outcome.NEW, Outcome.UPDATED)
        for version in visit.versions
    )


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


class State(str, Enum):
    """What has become of a document."""

    KNOWN = "known"
    PROCESSED = "processed"
    MISSING = "missing"
    FAILED = "failed"
    REFUSED = "refused"
    INVALID = "invalid"


class Loss(NamedTuple):
    """Why a document is not processed: its state, and the reason's kind and detail."""

    state: State
    kind: str
    detail: str


class Link(NamedTuple):
    """A link to another document of the feed, and what that will be."""

    role: Role
    url: str


@dataclass(slots=True)
class Visit:
    """One reading of one document, on its way from the spider to the store.

    :param feed: URL of the subscription document, as the user gave it
    :param key: what names the document in the store: its URL as asked for, or the deltafetch_key
    :param asked: URL that was asked for
    :param url: URL of the response, after redirects
    :param fetched: when, ISO 8601 in UTC
    :param behind: the document behind it in the chain, None at its end
    :param behind_key: what names that one in the store
    :param loss: why the document does not count as processed, if it does not
    :param validators: ETag, Last-Modified and body digest of a subscription document
    :param versions: what it holds, in document order
    :param stored: the newest versions in the store of the entries that it holds, by id
    :param winners: the same, with those of this document that have won since
    :param accepted: entries to be stored, by id: their fields and the version
    :param confirmed: versions that hold nothing new but are newer than the stored ones, by id
    :param present: the ids in a complete feed's document; None for other documents
    :param settle: to be called when an entry is through the pipelines
    :param counts: what the crawl's stats are to have more of, when the document is committed
    """

    feed: str
    key: str
    asked: str
    url: str
    role: Role
    place: Place
    fetched: str
    title: str | None = None
    kind: str | None = None
    updated: str | None = None
    behind: Link | None = None
    behind_key: str | None = None
    loss: Loss | None = None
    validators: tuple[str | None, str | None, str] | None = None
    lost_entries: int = 0
    versions: list[Version] = field(default_factory=list)
    stored: dict[str, Winner] = field(default_factory=dict)
    winners: dict[str, Winner] = field(default_factory=dict)
    accepted: dict[str, tuple[Version, dict[str, object]]] = field(default_factory=dict)
    confirmed: dict[str, tuple[Version, dict[str, object]]] = field(default_factory=dict)
    present: frozenset[str] | None = None
    settle: Callable[..., None] = lambda *args, **kwargs: None
    counts: Counter[str] = field(default_factory=Counter)


class Kind(str, Enum):
    """What a feed says of its history."""

    COMPLETE = "complete"
    ARCHIVED = "archived"
    PAGED = "paged"
    SINGLE = "single"


def kind(document: FeedDocument) -> Kind:
    """What a subscription document says of the feed's history."""
    # RFC 5005, 2: "the feed document it occurs in is a complete representation of the logical feed's
    # entries."
    if document.complete:
        return Kind.COMPLETE
    if document.archive or "prev-archive" in document.links:
        return Kind.ARCHIVED
    if "next" in document.links:
        return Kind.PAGED
    return Kind.SINGLE


def behind(document: FeedDocument) -> Link | None:
    """The document behind this one. fh:complete wins over prev-archive, prev-archive over next."""
    # RFC 5005, 1: "The semantics of a feed that combines these types is undefined by this specification."
    if document.complete:
        return None
    if url := document.links.get("prev-archive"):
        return Link(Role.ARCHIVE, url)
    # RFC 5005, 3: "next - A URI that refers to the immediately following document in a series of documents."
    if not document.archive and (url := document.links.get("next")):
        return Link(Role.PAGE, url)
    return None


def subscription_link(document: FeedDocument) -> str | None:
    """Where the subscription document is, if this document says that it is not it."""
    # RFC 5005, 4: "current - A URI that, when dereferenced, returns a feed document containing the most
    # recent entries in the feed."
    if document.archive:
        return document.links.get("current")
    # RFC 5005, 3: only a document with one before it is not the first of its series.
    if "previous" in document.links or "prev" in document.links:
        return document.links.get("first")
    return None


class Verdict(str, Enum):
    """What can be claimed of a logical feed."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    LOSSY = "lossy"
    UNKNOWN = "unknown"


SAYS_NOTHING = "says nothing of entries older than those it shows"
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
