"""The versions that the entries of a document are, and the items that the spider yields of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fhcrawl import logical_feed
from fhcrawl.crawling.pending import EntryVersion
from fhcrawl.logical_feed import Role, Version, coverage
from fhcrawl.logical_feed.chain import EARLIEST_WALK
from fhcrawl.logical_feed.versions import latest_time, order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fhcrawl.crawling.pending import PendingDocument
    from fhcrawl.documents import Entry, FeedDocument
    from fhcrawl.logical_feed.contents import EarlierReading
    from fhcrawl.logical_feed.results import DocumentResult, Fetch
    from fhcrawl.logical_feed.versions import Order

# The roles of documents that each walk reads as they are at that time.
OBSERVED = (Role.SUBSCRIPTION, Role.PAGE, Role.LISTED)


class ReadEntries(NamedTuple):
    """What was read of the entries of a document.

    :param versions: the version of each entry; None without an id or before a snapshot
    :param shown: their marks (`coverage.mark`), if it is a subscription document or a capture
    :param oldest: when the last of these that has a time was published, or else updated
    :param size: the sum of `_inherited`
    :param shared: entries that cannot be kept, since other entries of the document have their ids
    """

    versions: list[Version | None]
    shown: list[str]
    oldest: str | None
    size: int
    shared: list[Version]


def read_entries(
    fetch: Fetch,
    document: FeedDocument,
    since: str,
    earlier: EarlierReading | None = None,
    ids: str | None = None,
    is_dated_by_api: bool = False,
) -> ReadEntries:
    """Read the entries of a document.

    :param ids: as in `versions.identity`
    :param earlier: what is known of the document from before; None if nothing is
    :param is_dated_by_api: versions with an update time, of whatever walk, are newer than those without one
    """
    versions: list[Version | None] = []
    shown: list[str] = []
    oldest, inherited = None, 0
    is_observed = fetch.role in OBSERVED
    shared = SharedIds()
    for position, entry in enumerate(document.entries):
        inherited += _inherited(entry, fetch.url)
        entry_id = logical_feed.identity(entry, document, ids)
        if entry_id is None or (since and logical_feed.is_before(entry.updated, since)):
            versions.append(None)
            continue
        digest = entry.digest or logical_feed.digest(entry)
        claimed = (
            order(entry.updated, document.updated, fetch.position, position, is_observed)
            if earlier is None
            else earlier.order(entry_id, digest, entry.updated, document.updated, position)
        )
        if is_dated_by_api and not claimed.time:
            claimed = claimed._replace(overrides=EARLIEST_WALK)
        if claimed.time > fetch.latest and fetch.role is Role.PAGE:
            claimed = claimed.over_earlier_walks()
        version = _version(fetch, entry_id, claimed, digest, entry.original)
        versions.append(version)
        shared.add(version, entry)
        if fetch.role in (Role.SUBSCRIPTION, Role.CAPTURE) and position < coverage.WINDOW:
            shown.append(coverage.mark(entry_id, entry.published, entry.updated, digest))
            oldest = entry.published or entry.updated or oldest
    # An event's id is its entity's, which can have more events.
    found = [] if document.format == "multipart" else shared.found
    return ReadEntries(versions, shown, oldest, inherited, found)


class SharedIds:
    """Finds the entries of a document that share their id with another entry, which is not the same.

    RFC 4287, 4.1.1: "If multiple atom:entry elements with the same atom:id value appear in an Atom Feed
    Document, they represent the same entry. Their atom:updated timestamps SHOULD be different."

    :param found: of the entries with one id and the same `updated`, or none, all contents but one
    """

    def __init__(self) -> None:
        self.found: list[Version] = []
        self._first: dict[str, tuple[Version, Entry]] = {}
        self._contents: dict[str, dict[tuple[str, str | None], set[str | None]]] = {}

    def add(self, version: Version, entry: Entry) -> None:
        """Compare an entry with those before it."""
        first = self._first.setdefault(version.id, (version, entry))
        if first[0] is version:
            return
        known, of_known = first
        contents = self._contents.setdefault(
            version.id, {(known.digest, of_known.published): {of_known.updated}}
        )
        content = version.digest, entry.published
        if content not in contents:
            times = set().union(*contents.values())
            if entry.updated is None or None in times or entry.updated in times:
                self.found.append(version)
        contents.setdefault(content, set()).add(entry.updated)


# A link of a few octets may be resolved against a base of 2,000, and each entry may take the feed's authors.
def _inherited(entry: Entry, url: str) -> int:
    """Return how many characters are in fields that an entry can take from other parts of its document.

    :param url: URL of the document
    """
    enclosures = sum(len(enclosure["url"]) for enclosure in entry.enclosures) if entry.enclosures else 0
    base = 0 if entry.base is None or entry.base == url else len(entry.base)
    return base + len(entry.link or "") + sum(map(len, entry.authors)) + enclosures


def deletions_of(fetch: Fetch, document: FeedDocument) -> list[Version]:
    """Return the deletions that a document's tombstones say (RFC 6721)."""
    is_observed = fetch.role in OBSERVED
    return [
        _version(
            fetch,
            tombstone.ref,
            logical_feed.deletion(tombstone, document.updated, fetch.position, is_observed),
            "",
        )
        for tombstone in document.tombstones
    ]


# The date of a capture is known: times in it that are later never count. A walk compares with the machine's
# clock, which may be corrected.
def _version(
    fetch: Fetch, entry_id: str, claimed: Order, digest: str, original: bytes | None = None
) -> Version:
    if fetch.role is Role.CAPTURE:
        claimed = claimed.counted(latest_time(fetch.fetched))
    return Version.at(fetch.latest, entry_id, claimed, digest, original)


def first_uncounted(fetch: Fetch, versions: Iterable[Version]) -> str | None:
    """Return the earliest time in a document that is too far in the future to count; None for a capture."""
    if fetch.role is Role.CAPTURE:
        return None
    claimed = (version.claimed for version in versions if version.claimed is not None)
    return min((order.time for order in claimed), default=None)


def items(
    pending: PendingDocument, document: FeedDocument, result: DocumentResult, found: list[Version | None]
) -> Iterator[EntryVersion]:
    """Yield the items of a document that is being committed."""
    for entry, version in zip(document.entries, found, strict=True):
        if version is None:
            continue
        item = EntryVersion(
            result.fetch.feed,
            version.id,
            entry.title,
            entry.link,
            entry.published,
            entry.updated,
            entry.authors,
            entry.categories,
            entry.summary,
            entry.content,
            entry.content_type,
            entry.enclosures,
            entry.operation,
            result.fetch.url,
            result.updated,
            title_type=entry.title_type,
            summary_type=entry.summary_type,
            base=entry.base or result.fetch.url,
            language=entry.language or None,
        )
        item.version = version
        item.pending = pending
        yield item
