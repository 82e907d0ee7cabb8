"""The result of a document: the request, the response, the content, and the entries being committed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from fhcrawl.logical_feed import FIRST_WALK, Outcome, Winner, decide
from fhcrawl.logical_feed.versions import latest_time
from fhcrawl.reasons import OF_HOST
from fhcrawl.utils.text import LONGEST_SENTENCE, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

    from fhcrawl.documents import HeadSource
    from fhcrawl.documents.lists import ListedDocument
    from fhcrawl.logical_feed import ChainPosition, Link, Role, Version
    from fhcrawl.reasons import ReasonKind

# The key of an entry's fields under which there are those that pipelines have added: a JSON object.
ADDED = "+"


@dataclass(slots=True)
class CommitBatch:
    """The processed entries of a document, to be stored: by id (and digest), with their fields.

    :param stored: the newest stored versions of the document's entries
    :param winners: the newest versions so far, in the store or in this document
    :param superseded: older versions, for a store that keeps them
    :param confirmed: versions with the stored content but a newer order
    :param counts: additions to the crawl's stats
    """

    stored: dict[str, Winner] = field(default_factory=dict)
    winners: dict[str, Winner] = field(default_factory=dict)
    accepted: dict[str, tuple[Version, dict[str, object]]] = field(default_factory=dict)
    superseded: dict[tuple[str, str], tuple[Version, dict[str, object]]] = field(default_factory=dict)
    confirmed: dict[str, tuple[Version, dict[str, object]]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def compare(self, stored: dict[str, Winner], deletions: list[Version]) -> None:
        """Start from the stored versions, and apply deletions before entries are compared with them."""
        self.stored, self.winners = stored, dict(stored)
        for version in deletions:
            winner = self.winners.get(version.id)
            if winner is None or version.order.is_newer(winner.order):
                self.winners[version.id] = Winner(version.over(winner).order, "")

    def accept(self, version: Version, fields: dict[str, object]) -> None:
        """Add an entry that has passed the pipelines; the newest of several versions wins."""
        new = version.over(self.winners.get(version.id)), fields
        before = self.accepted.get(version.id)
        if before is not None:
            new, older = (new, before) if version.order.is_newer(before[0].order) else (before, new)
            self.supersede(*older)
        self.accepted[version.id] = new

    def supersede(self, version: Version, fields: dict[str, object]) -> None:
        self.superseded.setdefault((version.id, version.digest), (version, fields))


class State(str, Enum):
    """The state of a document."""

    KNOWN = "known"
    PROCESSED = "processed"
    MISSING = "missing"
    FAILED = "failed"
    REFUSED = "refused"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class DocumentFailure:
    """Why a document is not processed; text of the feed and the server in the detail is escaped."""

    state: State
    kind: ReasonKind
    detail: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "detail", printable(self.detail, LONGEST_SENTENCE))


def is_of_host(failure: DocumentFailure) -> bool:
    """Return whether requests for other documents of the host are likely to fail too."""
    return failure.state is State.KNOWN or failure.kind in OF_HOST


@dataclass(frozen=True, slots=True)
class Fetch:
    """A request for a document, and its response.

    :param feed: URL of the subscription document, as the user gave it
    :param key: the document's key in the store: its requested URL, or the deltafetch_key
    :param fetched: when it was fetched, ISO 8601 in UTC; for a capture, when it was captured
    :param latest: latest time to take into account, comparable; default: a day after `fetched`
    :param location: URL to request from now on, after permanent redirects; None: `requested_url`
    :param special: whether the hosts that the user gave had special addresses: see `crawling.given_hosts`
    :param freshness_lifetime: seconds for which the server declares a subscription document fresh
    :param retry_after: time before which the server wants no request, ISO 8601 in UTC
    :param walk: number of the walk
    :param capture_id: id of the capture in the store, if it is one
    :param is_check: an archive or page that was read before is requested again, to see whether it has changed
    :param has_joined: the walk's subscription document reaches back to what was known before: see `joins`
    """

    feed: str
    key: str
    requested_url: str
    url: str
    role: Role
    position: ChainPosition
    fetched: str
    latest: str = ""
    run: int = 0
    location: str | None = None
    special: int | None = None
    freshness_lifetime: int | None = None
    retry_after: str | None = None
    walk: int = 0
    capture_id: int | None = None
    is_check: bool = False
    has_joined: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "latest", self.latest or latest_time(self.fetched))


# See `DocumentResult.lost_entries`.
CUT = -1


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """The content of a document: its feed, entries and links; or the failure to read it.

    :param moved_to: URL that an archive was redirected to, if it may be another document
    :param older_document: None at the end of the chain
    :param older_key: key of that document in the store; None: its URL
    :param is_left_over: a page that an earlier walk has left unread, or a page older than that one
    :param failure: why the document does not count as processed, if it does not
    :param validators: ETag, Last-Modified, and the body digest of a subscription document
    :param received: when the body of a document came that is unchanged; None if it did not (304)
    :param doubted_since: when the document was last received before the server sent a false 304 for it
    :param held: what the document holds (`absences.encode`); None for one that is not read again, since it
        never changes or is no document of a chain
    :param lost: digests of the ids of the entries that it held before, and does not hold now. Of a
        plain feed, those that its publisher has removed, each with the next older one (`absences.removed`);
        None if its document proves nothing, nor confirms what was missed before
    :param update_schedule: how often a subscription document declares to change, as plain values
    :param lost_entries: how many of its entries cannot be kept; CUT if its period of time may have others
        that it does not show
    :param shared_id: an id of one of these, which another entry of the document has; None for none
    :param breaks_span: a plain feed shows such an entry, if it shares its id for the first time
    :param uncounted: earliest time in it that is in the future, comparable; None if there is none
    :param parts: the documents that a list names, in the order in which they are read; None for no list
    :param replaces: prefix of the ids of a snapshot's entities; once all its parts are processed, they
        replace the entries of earlier snapshots
    :param present: the ids in a complete feed's document; None for other documents
    :param shown: marks (`coverage.mark`) of the entries of a plain feed's subscription document, or of a
        capture; else None
    :param oldest: when the last entry of a capture that has a time was published, or else updated
    :param total: number of entries that a subscription document says the feed has; None if it does not say
    :param software: name of the software that has made it, which may have older pages (`platforms`); none of
        them is requested
    :param counts: additions to the crawl's stats, apart from the entries' outcomes
    """

    fetch: Fetch
    title: str | None = None
    kind: str | None = None
    updated: str | None = None
    moved_to: str | None = None
    older_document: Link | None = None
    older_key: str | None = None
    is_left_over: bool = False
    failure: DocumentFailure | None = None
    validators: tuple[str | None, str | None, str | None] | None = None
    received: str | None = None
    doubted_since: str | None = None
    held: bytes | None = None
    lost: Mapping[bytes, bytes | None] | None = field(default_factory=dict)
    update_schedule: dict[str, object] | None = None
    lost_entries: int = 0
    shared_id: str | None = None
    breaks_span: bool = False
    versions: list[Version] = field(default_factory=list)
    deletions: list[Version] = field(default_factory=list)
    uncounted: str | None = None
    parts: list[ListedDocument] | None = None
    replaces: str | None = None
    present: frozenset[str] | None = None
    shown: list[str] | None = None
    oldest: str | None = None
    total: int | None = None
    software: str | None = None
    head: HeadSource | None = None
    counts: Counter[str] = field(default_factory=Counter)

    def failed(self, failure: DocumentFailure) -> Self:
        return replace(self, failure=failure)


def has_changes(result: DocumentResult, stored: Mapping[str, Winner]) -> bool:
    """Return whether a document has a version that would change its entries stored by walks."""
    # Stored captures do not count: they do not tell whether walks have read the older documents.
    of_walks = {i: winner for i, winner in stored.items() if winner.order.walk >= FIRST_WALK}
    outcomes = (decide(version, of_walks.get(version.id)) for version in result.versions)
    return any(outcome in (Outcome.NEW, Outcome.UPDATED) for outcome in outcomes) or any(
        (winner := of_walks.get(version.id)) and winner.digest and version.order.is_newer(winner.order)
        for version in result.deletions
    )


def _has_same_time(version: Version, winner: Winner) -> bool:
    return bool(version.order.time) and version.order.time == winner.order.time


# RFC 5005, 4.1: what leaves the subscription document is in an archive. If the last entry of a document is
# new, others may have come and left it since the last walk, into an archive that has grown since it was read.
# One that is known above new ones proves nothing: it may be pinned. Nor does an edited one: it may stand
# where it does because of the edit.
def joins(result: DocumentResult, stored: Mapping[str, Winner]) -> bool:
    """Return whether a document reaches back to what an earlier walk has read: its last entry is known."""
    # What the subscription document shows is as old as this walk; it is contiguous with what was known.
    before = result.fetch.walk + result.fetch.has_joined
    for version in reversed(result.versions):
        winner = stored.get(version.id)
        if winner is None or not FIRST_WALK <= winner.order.walk < before:
            return False
        if _has_same_time(version, winner) or decide(version, winner) in (Outcome.DUPLICATE, Outcome.STALE):
            return True
    return False


# A version that has another time is another one. With the same time, its content may differ in each response:
# publishers put tokens into the URLs of enclosures.
def has_news(result: DocumentResult, stored: Mapping[str, Winner]) -> bool:
    """Return whether a document has an entry that no newer document of its walk has."""

    def is_new(version: Version) -> bool:
        winner = stored.get(version.id)
        if winner is None or (winner.order.walk, winner.order.step) <= result.fetch.position:
            return True
        return not _has_same_time(version, winner) and version.digest != winner.digest

    return any(map(is_new, result.versions))


# While pages are read, entries move on to later ones. A page that has only entries stored by this walk shows
# that they have moved; it does not show that the older pages are known. Nor does a page without entries:
# publishers may leave out entries (private ones, say) after they have divided them into pages. Nor do entries
# that were on older pages before: a publisher who sorts by update time moves them in front of new ones.
def must_follow(result: DocumentResult, stored: Mapping[str, Winner]) -> bool:
    """Return whether the pages older than this one must be read, even if an earlier walk has read them."""
    walk, step = result.fetch.position
    orders = [stored[v.id].order for v in result.versions if v.id in stored]
    joins_earlier_walk = any(FIRST_WALK <= order.walk < walk and order.step >= step for order in orders)
    return has_changes(result, stored) or not joins_earlier_walk
