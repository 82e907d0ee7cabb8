"""Versions of entries, their order (RFC 5005, 4.2), and the results of the documents that they come from."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from fhcrawl.documents import model
from fhcrawl.documents.dates import shift
from fhcrawl.documents.lists import snapshot_prefix
from fhcrawl.logical_feed.chain import EARLIEST_WALK, FIRST_WALK, Role
from fhcrawl.reasons import OF_HOST
from fhcrawl.utils.text import LONGEST_SENTENCE, printable

if TYPE_CHECKING:
    from collections.abc import Container, Hashable, Iterable, Mapping

    from typing_extensions import Self

    from fhcrawl.documents import Enclosure, Entry, FeedDocument, HeadSource, Tombstone
    from fhcrawl.documents.lists import DocumentList
    from fhcrawl.documents.model import UpdateSchedule
    from fhcrawl.logical_feed.chain import ChainPosition, Link
    from fhcrawl.reasons import ReasonKind

CLOCK_TOLERANCE_SECONDS = 24 * 60 * 60


class Order(NamedTuple):
    """The sort key of an entry's versions: see `is_newer`.

    The store keeps orders with all times that documents claim. Before two orders are compared, times in the
    future are removed from both: see `counted`.

    :param overrides: the versions of walks up to this one are older, except those of newer documents of the
        same walk, whatever their times
    :param time: comparable; '' for none
    :param tombstone: 1 for a deletion, which is newer than an entry with the same time
    :param position: 0 for a document's first entry, then -1, …
    """

    overrides: int
    time: str
    tombstone: int
    walk: int
    step: int
    position: int

    # RFC 5005, 4.2: "clients SHOULD consider only the most recently updated entry to be part of the logical
    # feed. If duplicate entries have the same update time-stamp, or no time-stamps are available, the entry
    # sourced from the most recently updated feed document SHOULD replace all other duplicates of that entry."
    # The most recently updated document is the one nearest to the newest subscription document: its own time
    # goes back when its newest entry is deleted, or is left out after a move. The greatest `overrides`
    # divides all versions into two groups, each with a total order: so the newest version, with that
    # `overrides`, does not depend on the order in which versions are read.
    def is_newer(self, other: Order) -> bool:
        overrides = max(self.overrides, other.overrides)
        return self._sort_key(overrides) > other._sort_key(overrides)

    def _sort_key(self, overrides: int) -> tuple[bool, str, int, int, int, int, int]:
        if self.walk > overrides:
            return True, self.time, self.tombstone, self.walk, self.step, 0, self.position
        return False, "", 0, self.walk, self.step, self.tombstone, self.position

    def with_overrides_of(self, older: Order) -> Order:
        return self if self.overrides >= older.overrides else self._replace(overrides=older.overrides)

    def with_overrides_of_earlier_walks(self) -> Order:
        return self._replace(overrides=self.walk - (self.step < 0))

    # A wrong clock, the publisher's or that of the machine that read the document, must not have permanent
    # effects. So times are checked when orders are compared, not when documents are read.
    def counted(self, latest: str) -> Order:
        """Return the order without a time after `latest` (`latest_time`)."""
        if self.time <= latest:
            return self
        is_subscription = self.step >= 0 and self.walk >= FIRST_WALK
        return self._replace(
            time="", overrides=max(self.overrides, self.walk) if is_subscription else self.overrides
        )


def latest_time(now: str) -> str:
    """Return the latest time that counts: a day after `now`, comparable."""
    return comparable(shift(now, CLOCK_TOLERANCE_SECONDS))


def comparable(time: str | None) -> str:
    """Return a time as a string that sorts like the time; '' for None."""
    if time is None:
        return ""
    time = time.rstrip("Z")
    return time.rstrip("0").rstrip(".") if "." in time else time


_document_time = lru_cache(1)(comparable)  # All entries of a document share it.


# A version without a time in a document that every walk reads is the current one: it replaces the versions of
# earlier walks. In an archive, it is as old as the archive.
def order(
    updated: str | None,
    document_updated: str | None,
    place: ChainPosition,
    position: int,
    is_observed: bool = False,
) -> Order:
    """Return the order of a version, by the times that its document claims.

    :param position: index of the entry in its document
    :param is_observed: the walk of `place` has read the document when it was current: the subscription
        document, a page, or an archive in which the entry has changed
    """
    time = comparable(updated) or ("" if is_observed else _document_time(document_updated))
    claimed = Order(EARLIEST_WALK, time, 0, place.walk, place.step, -position)
    return claimed.with_overrides_of_earlier_walks() if is_observed and not time else claimed


SEPARATOR = "\x1f"  # not allowed in XML


class Version(NamedTuple):
    """One version of an entry, or its deletion, in one document.

    :param order: by the times that were not in the future when the document was read
    :param digest: digest of the content; '' for a deletion
    :param original: the entry's source in the document, in UTF-8; None if it is not kept
    :param claimed: the order by all times in the document, if one of them was in the future
    :param shared_id: the publisher's id, if other entries of the feed have it too
    """

    id: str
    order: Order
    digest: str
    original: bytes | None = None
    claimed: Order | None = None
    shared_id: str | None = None

    @classmethod
    def at(
        cls, latest: str, entry_id: str, claimed: Order, digest: str, original: bytes | None = None
    ) -> Version:
        counted = claimed.counted(latest)
        return cls(entry_id, counted, digest, original, None if counted is claimed else claimed)

    @property
    def publisher_id(self) -> str:
        return self.id if self.shared_id is None else self.shared_id

    def with_overrides_of(self, winner: Winner | None) -> Version:
        if winner is None or self.order.overrides >= winner.order.overrides:
            return self
        claimed = self.claimed and self.claimed.with_overrides_of(winner.order)
        return self._replace(order=self.order.with_overrides_of(winner.order), claimed=claimed)

    @property
    def stored_order(self) -> Order:
        """The order in the store, with all times that the document claims."""
        return self.claimed or self.order


class Winner(NamedTuple):
    """The newest version of an entry so far.

    :param order: by the times that are not in the future when it is compared
    :param digest: of its content; '' if the entry has been deleted
    :param pending: whether it has a change that has not been exported
    :param exported: if a change is pending, the digest last exported; None if none was
    :param uncounted: its time, if it is in the future
    :param document_time: its document's own update time, comparable; '' for none
    :param enclosures: in JSON
    """

    order: Order
    digest: str
    pending: bool = False
    exported: str | None = None
    uncounted: str | None = None
    document_time: str = ""
    enclosures: str | None = None


class Outcome(str, Enum):
    NEW = "new"
    UPDATED = "updated"
    DUPLICATE = "duplicate"
    STALE = "stale"


# RFC 6721, 4: an at:deleted-entry whose `when` is not older than the entry removes it, at any position in
# the chain; a later version of the entry restores it.
def deletion_order(
    tombstone: Tombstone, document_updated: str | None, place: ChainPosition, is_observed: bool = False
) -> Order:
    return order(tombstone.when, document_updated, place, 0, is_observed)._replace(tombstone=1)


def absence(entry_id: str, place: ChainPosition) -> Version:
    """Return the deletion of an entry that no document has; any that a walk reads later restores it."""
    return Version(entry_id, order(None, None, place, 0), "")


TAG = re.compile("<[^<>]*>")
# The attributes of HTML with URLs of images and other media, up to the query.
MEDIA_URL = re.compile(r"""(\b(?:src|srcset|poster)\s*=\s*(?:"[^"?]*|'[^'?]*))\?[^"']*""", re.IGNORECASE)


def _without_media_queries(text: str | None) -> str:
    if not text:
        return ""
    has_query = "?" in text and "=" in text and "<" in text
    return TAG.sub(lambda tag: MEDIA_URL.sub(r"\1", tag[0]), text) if has_query else text


def file_of(url: str) -> str:
    """Return the part of a file's URL that stays the same if a server changes it in each response."""
    _scheme, _, after_scheme = url.partition("://")
    host, _, path = after_scheme.partition("#")[0].partition("?")[0].partition("/")
    if not path:
        return url
    return f"{'.'.join(host.split('.')[-2:])}/{path.rpartition('/')[2] or path}"


def _with_comparable_urls(enclosures: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{**enclosure, "url": file_of(enclosure["url"])} for enclosure in enclosures]


def have_same_files(winner: Winner, enclosures: list[Enclosure]) -> bool:
    """Return whether the enclosures of a stored version are the same files, though with other URLs."""
    if winner.enclosures is None:
        return False
    try:
        # A pipeline may have changed them.
        return _with_comparable_urls(json.loads(winner.enclosures)) == _with_comparable_urls(enclosures)
    except (TypeError, KeyError, AttributeError):
        return False


# Servers create the URLs of media for each response: with a time, a signature or a session in the query, or
# on one of many hosts. If they counted, each read would update all entries, and all pages would be read
# again.
def digest(entry: Entry) -> str:
    """Return the digest of an entry's content, which does not depend on its times."""
    texts = [
        f"{len(entry.authors)} {len(entry.categories)}",
        entry.title or "",
        entry.link or "",
        _without_media_queries(entry.summary),
        _without_media_queries(entry.content),
        entry.content_type or "",
        entry.operation or "",
        *entry.authors,
        *entry.categories,
        json.dumps(_with_comparable_urls(entry.enclosures)) if entry.enclosures else "",
    ]
    joined = SEPARATOR.join(texts)
    if joined.count(SEPARATOR) >= len(texts):
        joined = json.dumps(texts)
    return hashlib.blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


WITH_IDS = frozenset({"activitystreams", "atom", "ghost", "json", "multipart"})
# Of the suffix of a shared id: enough for 100,000 entries with one id.
SUFFIX_OCTETS = 6
# The elements that a user can choose to identify the entries of a feed.
IDS = ("id", "link", "digest")


class Distinct(Protocol):
    """What entries with the same id are told apart by: of an entry in a document, or in the store."""

    link: str | None
    title: str | None
    published: str | None
    summary: str | None
    content: str | None


def identity(entry: Entry, document: FeedDocument, ids: str | None = None) -> str | None:
    """Return the id of an entry within its feed; None if it lacks one that its format requires.

    :param ids: one of `IDS`, if the user has configured what identifies the feed's entries
    """
    if ids == "link" and entry.link is not None:
        return entry.link
    if ids == "digest" and (by_digest := _id_from_content(entry)) is not None:
        return by_digest
    # RFC 4287, 4.2.6.1: "Instances of atom:id elements can be compared to determine whether an entry or
    # feed is the same as one seen before. Processors MUST compare atom:id elements on a
    # character-by-character basis (in a case-sensitive fashion)."
    if entry.id is not None:
        return entry.id
    # RFC 4287, 4.1.2: "atom:entry elements MUST contain exactly one atom:id element." JSON Feed 1.1: "If an
    # id is not present […], skip that item." An event's link names its entity, which can have more events.
    if document.format in WITH_IDS:
        return None
    # RSS 2.0: the guid is optional, and so is everything else but a title or a description.
    # A link to the site does not identify an item.
    if entry.link is not None and not _is_same_page(entry.link, document.site):
        return entry.link
    return _id_from_content(entry) or entry.link


def _id_from_content(entry: Entry) -> str | None:
    text = entry.summary if entry.title or entry.summary else entry.content
    return model.digest(entry.title, entry.published, text and _without_media_queries(text))


# An id is shared if a document has two entries with it whose content differs, and no update time says which
# one is newer (RFC 4287, 4.1.1: "Their atom:updated timestamps SHOULD be different"). The link may be shared
# as well: an id with the suffix of a link can be a shared id too. So the ids of a feed's entries depend on
# the set of shared ids alone, and this set does not depend on the order in which documents are read.
def tell_apart(publisher_id: str, entry: Distinct, shared_ids: Container[str]) -> str:
    """Return the id of an entry: the publisher's, with a suffix if other entries of the feed have it too."""
    if publisher_id not in shared_ids:
        return publisher_id
    if entry.link is not None and entry.link != publisher_id:
        by_link = _with_suffix(publisher_id, entry.link)
        if by_link not in shared_ids:
            return by_link
    texts = _without_media_queries(entry.summary), _without_media_queries(entry.content)
    return _with_suffix(publisher_id, entry.link, entry.title, entry.published, *texts)


def _with_suffix(publisher_id: str, *texts: str | None) -> str:
    octets = json.dumps(texts).encode()
    return f"{publisher_id}#{hashlib.blake2b(octets, digest_size=SUFFIX_OCTETS).hexdigest()}"


def find_shared_ids(entries: Iterable[tuple[str, Hashable, str | None]]) -> set[str]:
    """Return the ids of entries of a document that differ, and that no update time orders.

    :param entries: id, content and update time of each
    """
    contents: defaultdict[str, dict[Hashable, set[str | None]]] = defaultdict(lambda: defaultdict(set))
    for entry_id, content, updated in entries:
        contents[entry_id][content].add(updated)
    return {entry_id for entry_id, times in contents.items() if len(times) > 1 and _overlap(times.values())}


def _overlap(times_by_content: Iterable[set[str | None]]) -> bool:
    times = [time for times in times_by_content for time in times]
    return None in times or len(set(times)) < len(times)


def _is_same_page(link: str, other: str | None) -> bool:
    path, other_path = (url.partition("://")[2].rstrip("/") for url in (link, other or ""))
    return other is not None and path == other_path


def decide(version: Version, winner: Winner | None) -> Outcome:
    if winner is None:
        return Outcome.NEW
    if version.digest == winner.digest:
        return Outcome.DUPLICATE
    # A capture is older than the walk that no longer saw the entry, whatever its times. Any document that a
    # walk reads after that is newer, wherever it is in the chain; but a tombstone is a version like others.
    is_missed = not winner.digest and not winner.order.time
    if is_missed and version.order.walk < FIRST_WALK:
        return Outcome.STALE
    if is_missed and not winner.order.tombstone:
        return Outcome.NEW
    if not version.order.is_newer(winner.order):
        return Outcome.STALE
    return Outcome.UPDATED if winner.digest else Outcome.NEW


# -- documents -------------------------------------------------------------------------------------------

# The key of an entry's fields for those that pipelines have added: a JSON object.
PIPELINE_FIELDS = "+"


@dataclass(slots=True)
class CommitBatch:
    """The processed entries of a document, to be stored: by id (and digest), with their fields.

    :param winners: the newest versions so far, in the store (`stored`) or in this document
    :param superseded: older versions, for a store that keeps them
    :param confirmed: versions with the stored content but a newer order
    """

    stored: dict[str, Winner] = field(default_factory=dict)
    winners: dict[str, Winner] = field(default_factory=dict)
    accepted: dict[str, tuple[Version, dict[str, object]]] = field(default_factory=dict)
    superseded: dict[tuple[str, str], tuple[Version, dict[str, object]]] = field(default_factory=dict)
    confirmed: dict[str, tuple[Version, dict[str, object]]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def compare(self, stored: dict[str, Winner], deletions: list[Version]) -> None:
        """Load the stored versions, and apply deletions before entries are compared with them."""
        self.stored, self.winners = stored, dict(stored)
        for version in deletions:
            winner = self.winners.get(version.id)
            if winner is None or version.order.is_newer(winner.order):
                self.winners[version.id] = Winner(version.with_overrides_of(winner).order, "")

    def accept(self, version: Version, fields: dict[str, object]) -> None:
        new = version.with_overrides_of(self.winners.get(version.id)), fields
        before = self.accepted.get(version.id)
        if before is not None:
            new, older = (new, before) if version.order.is_newer(before[0].order) else (before, new)
            self.supersede(*older)
        self.accepted[version.id] = new

    def supersede(self, version: Version, fields: dict[str, object]) -> None:
        self.superseded.setdefault((version.id, version.digest), (version, fields))


class State(str, Enum):
    KNOWN = "known"
    PROCESSED = "processed"
    MISSING = "missing"
    FAILED = "failed"
    REFUSED = "refused"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class DocumentFailure:
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

    :param feed: URL of the subscription document as configured
    :param key: the document's key in the store: its requested URL, or the deltafetch_key
    :param fetched: ISO 8601 in UTC, as `retry_after`; of a capture, when it was captured
    :param latest: latest time that counts, comparable; default: a day after `fetched`
    :param location: URL to request from now on, after permanent redirects; None: `requested_url`
    :param special: whether the user's hosts had special addresses: `WalkContext.special_hosts`
    :param freshness_lifetime: seconds for which the server declares a subscription document fresh
    :param is_check: an archive or page that was read before is requested again, to see whether it has changed
    :param is_referred: another document has named this one as the subscription document
    :param has_joined: the walk's subscription document reaches back to what was read before: see `joins`
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
    is_referred: bool = False
    has_joined: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "latest", self.latest or latest_time(self.fetched))


# See `DocumentResult.lost_entries`.
CUT = -1


class Validators(NamedTuple):
    """What shows whether a document has changed since it was received.

    :param body_digest: of a subscription document
    :param received: when the body of an unchanged document was received; None after a 304
    :param doubted_since: when the document was last received before the server sent a false 304 for it
    :param lastmod: of a web page: what its sitemap says of its last change
    """

    etag: str | None = None
    last_modified: str | None = None
    body_digest: str | None = None
    received: str | None = None
    doubted_since: str | None = None
    lastmod: str | None = None


class Metadata(NamedTuple):
    """What a document declares; that of a subscription document or a capture, also of its feed.

    :param shown: marks (`coverage.mark`) of the entries of a plain feed's document or a capture
    :param oldest: publication time, else update time, of the last entry of a capture that has one
    :param present: the ids in a complete feed's document
    :param total: number of the feed's entries that it declares
    :param software: name of the software that made it (`platforms`), if its older pages are not requested
    """

    title: str | None = None
    updated: str | None = None
    shown: list[str] | None = None
    oldest: str | None = None
    present: frozenset[str] | None = None
    total: int | None = None
    software: str | None = None
    update_schedule: UpdateSchedule | None = None
    head: HeadSource | None = None


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """The content of a document: its feed, entries and links; or the failure to read it.

    :param moved_to: URL that an archive was redirected to, if it may be another document
    :param failure: why the document does not count as processed
    :param held: the content of the document (`absences.encode`); None for one that is not read again, because
        it never changes or belongs to no chain
    :param lost: digests of the ids of the entries that it contained before, and does not contain now. Of a
        plain feed, those that its publisher has removed, each with the next older one (`absences.removed`);
        None if its document proves nothing, and confirms no missing entry
    :param parts: the documents of a list, in the order in which they are read
    :param lost_entries: number of its entries that cannot be kept; CUT if its period of time may have more
        entries than it shows
    :param new_shared_ids: ids that it is the first to show to be shared (`tell_apart`)
    :param counts: additions to the crawl's stats, except the entries' outcomes
    """

    fetch: Fetch
    kind: str | None = None
    moved_to: str | None = None
    older_document: Link | None = None
    failure: DocumentFailure | None = None
    validators: Validators = field(default_factory=Validators)
    held: bytes | None = None
    lost: Mapping[bytes, bytes | None] | None = field(default_factory=dict)
    metadata: Metadata = field(default_factory=Metadata)
    parts: DocumentList | None = None
    lost_entries: int = 0
    new_shared_ids: frozenset[str] = frozenset()
    versions: list[Version] = field(default_factory=list)
    deletions: list[Version] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def uncounted(self) -> str | None:
        """The earliest time in it that is in the future, comparable; None for a capture."""
        versions = () if self.fetch.role is Role.CAPTURE else (*self.versions, *self.deletions)
        return min((v.claimed.time for v in versions if v.claimed is not None), default=None)

    @property
    def replaces(self) -> str | None:
        """The prefix of a snapshot's ids: once its parts are processed, it replaces earlier snapshots."""
        return snapshot_prefix(self.fetch.key) if self.parts is None else self.parts.prefix

    def failed(self, failure: DocumentFailure) -> Self:
        return replace(self, failure=failure)


def has_changes(result: DocumentResult, stored: Mapping[str, Winner]) -> bool:
    """Return whether a document has a version that would change its entries stored by walks."""
    # Stored captures do not count: they do not show whether walks have read the older documents.
    of_walks = {entry_id: winner for entry_id, winner in stored.items() if winner.order.walk >= FIRST_WALK}

    def outcomes(versions: list[Version]) -> set[Outcome]:
        return {decide(version, of_walks.get(version.id)) for version in versions}

    is_changed = not outcomes(result.versions).isdisjoint((Outcome.NEW, Outcome.UPDATED))
    return is_changed or Outcome.UPDATED in outcomes(result.deletions)


def _has_same_time(version: Version, winner: Winner) -> bool:
    return bool(version.order.time) and version.order.time == winner.order.time


# RFC 5005, 4.1: entries that leave the subscription document are in an archive. If the last entry of a
# document is new, others may have been added and moved since the last walk, to an archive that has grown
# since it was read. A stored entry above new ones proves nothing: it may be pinned. Nor does an edited one:
# the edit may have moved it.
def joins(result: DocumentResult, stored: Mapping[str, Winner]) -> bool:
    """Return whether the last entry of a document, if it has any, was read by an earlier walk."""
    # The entries of the subscription document are as old as this walk, and contiguous with those stored
    # before.
    first_walk_not_before = result.fetch.walk + result.fetch.has_joined
    if not result.versions:
        return not result.lost  # it had none before
    for version in reversed(result.versions):
        winner = stored.get(version.id)
        if winner is None or not FIRST_WALK <= winner.order.walk < first_walk_not_before:
            return False
        if _has_same_time(version, winner) or decide(version, winner) in (Outcome.DUPLICATE, Outcome.STALE):
            return True
    return False


# A version with another time is a different version. With the same time, its content may differ in each
# response: publishers put tokens into the URLs of enclosures.
def has_news(result: DocumentResult, stored: Mapping[str, Winner]) -> bool:
    """Return whether a document has an entry that no newer document of its walk has."""

    def is_new(version: Version) -> bool:
        winner = stored.get(version.id)
        if winner is None or (winner.order.walk, winner.order.step) <= result.fetch.position:
            return True
        return not _has_same_time(version, winner) and version.digest != winner.digest

    return any(map(is_new, result.versions))


# While pages are read, entries move to later ones. A page that has only entries stored by this walk shows
# that they have moved; it does not show that the older pages were read. Nor does a page without entries:
# publishers may omit entries (for example private ones) after dividing them into pages. Nor do entries that
# were on older pages before: a publisher who sorts by update time moves them before new ones.
def must_follow(result: DocumentResult, stored: Mapping[str, Winner]) -> bool:
    """Return whether the pages older than this one must be read, even if an earlier walk has read them."""
    walk, step = result.fetch.position
    orders = [stored[version.id].order for version in result.versions if version.id in stored]
    joins_earlier_walk = any(FIRST_WALK <= order.walk < walk and order.step >= step for order in orders)
    return has_changes(result, stored) or not joins_earlier_walk
