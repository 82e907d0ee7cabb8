"""Converts between the store's rows and the values of the rules."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fhcrawl.documents import model
from fhcrawl.logical_feed import ChainPosition, Role, Winner, captured, in_words
from fhcrawl.logical_feed.results import ADDED, State
from fhcrawl.logical_feed.versions import IDS, Order, comparable
from fhcrawl.reasons import ReasonKind
from fhcrawl.store.statements import (
    CONTENT,
    DETAILS,
    ENTRIES_COLUMNS,
    ORDER,
    ORIGINAL,
    TIMES,
    execute,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection, Row

    from fhcrawl.logical_feed import Kind, Reason, Verdict, Version
    from fhcrawl.logical_feed.coverage import Hole, Span
    from fhcrawl.logical_feed.listings import SitemapReport
    from fhcrawl.logical_feed.results import DocumentFailure, DocumentResult, Fetch

JSON_FIELDS = ("authors", "categories", "enclosures")
NOT_FETCHED = "has not been fetched yet"
UNREAD = {"state": State.KNOWN.value, "reason": ReasonKind.KNOWN.value, "detail": NOT_FETCHED}
EMPTY_LIST = "[]"
# Lists of authors and categories repeat.
LISTS_REMEMBERED = 1000

_encode = json.JSONEncoder(ensure_ascii=False).encode


@lru_cache(LISTS_REMEMBERED)
def _strings_to_json(values: tuple[str, ...]) -> str:
    return _encode(values)


@lru_cache(LISTS_REMEMBERED)
def _from_json(text: str) -> tuple[Any, ...]:
    return tuple(json.loads(text))


class DocumentRef(NamedTuple):
    """A document to be fetched.

    :param run: number of the last crawl that read it or tried to; None if none did
    :param platform: as in `Link`
    """

    key: str
    url: str
    role: Role
    position: ChainPosition
    run: int | None = None
    platform: str | None = None

    @classmethod
    def of(cls, row: Row[Any]) -> DocumentRef:
        """Return the document of a row of `documents`."""
        place = ChainPosition(row.walk, row.step)
        return cls(row.key, row.url, Role(row.role), place, row.run, row.platform)


class ChainEnd(NamedTuple):
    """The end of a chain: an unprocessed document, or None at its oldest document.

    :param loop: the links lead back to a document of the chain, from `step`, or to the subscription document
    :param is_behind_empty: `step` was left unread after many documents without news
    """

    step: DocumentRef | None
    loop: bool
    is_behind_empty: bool = False

    @classmethod
    def of(cls, row: Row[Any]) -> ChainEnd:
        """Return the chain's end for the row of `chain_ends`."""
        is_behind_empty = row.reason == ReasonKind.EMPTY_ARCHIVES.value
        step = None if row.state == State.PROCESSED.value else DocumentRef.of(row)
        return cls(step, loop=False, is_behind_empty=is_behind_empty)


class Capture(NamedTuple):
    """A response in a WARC file; the fields are those of its record.

    :param digest: WARC-Payload-Digest
    :param record: WARC-Record-ID
    :param date: WARC-Date
    :param file: absolute path; ends in `.open` while the file is being written
    :param file_id: WARC-Record-ID of its warcinfo record, which tells apart files of the same name
    """

    url: str
    digest: str
    record: str
    date: str
    file: str
    file_id: str


@dataclass(frozen=True, slots=True)
class Subscription:
    """The stored state of a feed, from which a walk begins.

    :param location: URL of the subscription document
    :param walk: number of the walk that begins
    :param run: number of the crawl that the walk is part of
    :param older_document: the older document that the subscription document linked to when it was last read
    :param validated_url: URL whose response had etag and last_modified; None if there were none
    :param body_digest: digest of that document's bytes and of the way it was read; None if it is to be
        read again even if it is unchanged
    :param crawled: when that document was last read; None if it never was
    :param received: when its body last came, rather than a 304
    :param snapshot: the snapshot that precedes the feed
    :param special: whether the hosts that the user gave had special addresses: see `crawling.given_hosts`
    :param ids: what identifies entries, one of `versions.IDS`
    :param former_ids: what did so until now, if this has changed
    :param is_listed: its publisher has a list of its entries (`Listing`)
    :param has_due_sitemap: it is time to look at the sitemaps of its site
    """

    feed: str
    location: str
    walk: int
    run: int
    older_document: DocumentRef | None = None
    etag: str | None = None
    last_modified: str | None = None
    validated_url: str | None = None
    body_digest: str | None = None
    crawled: str | None = None
    snapshot: StoredSnapshot | None = None
    special: int | None = None
    ids: str = IDS[0]
    former_ids: str | None = None
    received: str | None = None
    is_listed: bool = False
    has_due_sitemap: bool = True

    def anew(self) -> Subscription:
        """Return this state without validators, so that an unchanged subscription document is read too."""
        return replace(self, etag=None, last_modified=None, validated_url=None, body_digest=None)


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A snapshot that precedes a feed.

    :param url: URL of its index
    :param is_read: whether the index is processed
    :param created_at: ISO 8601 in UTC; None if the index gives no time
    :param part: the first of its pages that is not processed
    """

    url: str
    is_read: bool
    created_at: str | None
    part: DocumentRef | None


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed in the store.

    :param entries, absent: number of live entries; and of those among them that are gone at the publisher
    :param renamed: number of live entries whose id has changed, and that are live under the new one too
    :param documents: number of documents in each state
    :param crawled: when its subscription document was last read
    :param checked: the earliest of the times at which the documents of its chain were last seen
    :param subscribed: since when it is subscribed; None if it is not
    :param due: when it is due again; None: now
    :param oldest: when its oldest live entry was published, else updated; None if no entry has a time
    :param newest: the same for its newest live entry
    :param not_modified_ignored: since when its server's 304 responses are not believed; None if they are
    :param spans, holes: when a plain or paged feed was seen without a hole, and the holes; oldest first
    :param complete_as_of: when the pages of a paged feed that is complete were the feed
    :param sitemap: what the sitemaps of its site list; None if they were never read
    :param obtained: how its history was obtained: `links`, `WordPress pages`, `a list`, `web archive`,
        `WARC`; [] if only its subscription document was read
    """

    feed: str
    title: str | None
    kind: Kind | None
    verdict: Verdict
    reasons: list[Reason]
    entries: int
    absent: int
    renamed: int
    documents: dict[str, int]
    crawled: str | None
    checked: str | None
    subscribed: str | None
    due: str | None
    oldest: str | None
    newest: str | None
    not_modified_ignored: str | None = None
    spans: list[Span] = field(default_factory=list)
    holes: list[Hole] = field(default_factory=list)
    complete_as_of: str | None = None
    sitemap: SitemapReport | None = None
    obtained: list[str] = field(default_factory=list)

    @property
    def verdict_in_words(self) -> str:
        """The verdict as people read it, `not-read` for a feed that could never be read."""
        return in_words(self.verdict, self.reasons)


class StoredVersion(NamedTuple):
    """The newest version of an entry, or its deletion, as the feed writers read it.

    :param fields: as `Entries.read` yields them
    :param original: the entry's source in XML or JSON; None if it is not kept
    :param time: its update time, or its document's: ISO 8601 in UTC without the `Z`, '' for none
    """

    fields: dict[str, Any]
    original: str | None
    time: str
    is_deleted: bool

    @classmethod
    def of(cls, row: Row[Any]) -> StoredVersion:
        """Return the version of a row of `VERSIONS`."""
        fields = whole_fields(row)
        return cls(fields, row.original, row.time, not row.digest)


@dataclass(frozen=True, slots=True)
class KeptVersion:
    """A current or earlier version of an entry.

    :param state: `current`, `superseded` or `deleted`
    :param captured: when a web archive captured the version's document; None if a walk read it
    :param fields: the fields of the entry and of its document
    """

    state: str
    captured: str | None
    fields: dict[str, Any]


def kept_version(row: Row[Any], is_current: bool) -> KeptVersion:
    """Return the version of a row of `entries` or `versions`."""
    state = "deleted" if not row.digest else "current" if is_current else "superseded"
    fields = {name: getattr(row, name) for name in ("id", *TIMES, *CONTENT)}
    for name in JSON_FIELDS:
        fields[name] = list(_from_json(fields[name]))
    return KeptVersion(state, captured(ChainPosition(row.order_walk, row.order_step)), fields)


def find_document(connection: Connection, feed_id: int, key: str) -> Row[Any] | None:
    """Return the row of a document; None if it is not known."""
    found = "SELECT * FROM documents WHERE feed_id = :feed_id AND KEY(key) = KEY(:key)"
    row: Row[Any] | None = execute(connection, found, {"feed_id": feed_id, "key": key}).first()
    return row


def winners(found: Iterable[Sequence[Any]], latest: str) -> dict[str, Winner]:
    """Return the newest versions in the result of a statement of `WINNERS`, by id.

    :param latest: latest time to take into account
    """
    return {row[0]: _winner(Order(*row[1:7]), row[7:], latest) for row in found}


def _winner(claimed: Order, others: Sequence[Any], latest: str) -> Winner:
    digest, is_pending, exported, document_updated, enclosures = others
    counted = claimed.counted(latest)
    uncounted = None if counted is claimed else claimed.time
    document_time = comparable(document_updated)
    if document_time > latest:
        document_time = ""
    return Winner(counted, digest, bool(is_pending), exported, uncounted, document_time, enclosures)


def document_row(
    feed_id: int, result: DocumentResult, older_key: str | None, failure: DocumentFailure | None
) -> dict[str, object]:
    """Return the row of a document.

    :param older_key: key of the older document, whose id the row gets
    :param failure: why it does not count as processed, or None
    """
    fetch = result.fetch
    return {
        "feed_id": feed_id,
        "key": fetch.key,
        "url": fetch.requested_url,
        "role": fetch.role.value,
        "state": State.PROCESSED.value if failure is None else failure.state.value,
        "walk": fetch.position.walk,
        "step": fetch.position.step,
        "behind_key": older_key,
        "run": fetch.run,
        "updated": result.updated,
        "lost_entries": result.lost_entries,
        "shared_id": result.shared_id,
        "reason": failure and failure.kind.value,
        "detail": failure and failure.detail,
        "since": failure and fetch.fetched,
        "fetched": fetch.fetched,
        "moved_to": result.moved_to,
        "uncounted": result.uncounted,
    }


def unread_row(fetch: Fetch) -> dict[str, object]:
    """Return the columns of a row for an unread older document."""
    place = fetch.position.before()
    return UNREAD | {"walk": place.walk, "step": place.step, "since": fetch.fetched}


def known_document_row(feed_id: int, fetch: Fetch, key: str, url: str, role: Role) -> dict[str, object]:
    """Return the row of an unread older document."""
    row = {"feed_id": feed_id, "key": key, "url": url, "role": role.value, "lost_entries": 0}
    return row | unread_row(fetch)


def entry_row(feed_id: int, version: Version, fields: dict[str, Any]) -> tuple[object, ...]:
    """Return the row of a version of an entry, in the order of the columns."""
    return (
        feed_id,
        version.id,
        fields["title"],
        fields["link"],
        fields["published"],
        fields["updated"],
        _strings_to_json(tuple(fields["authors"])),
        _strings_to_json(tuple(fields["categories"])),
        fields["summary"],
        fields["content"],
        fields["content_type"],
        _enclosures(fields),
        fields["operation"],
        fields["document"],
        fields["document_updated"],
        version.digest,
        *version.stored_order,
        version.original,
        fields.get(ADDED),
        _details(fields),
    )


def tombstone_row(feed_id: int, version: Version) -> tuple[object, ...]:
    """Return the row of an entry that was deleted before it was read."""
    nothing = {**dict.fromkeys((*CONTENT, *TIMES)), **dict.fromkeys(JSON_FIELDS, ())}
    return entry_row(feed_id, version, nothing)


def deletion_row(feed_id: int, version: Version) -> dict[str, object]:
    """Return the columns that a deletion changes."""
    return {"feed_id": feed_id, "id": version.id, **dict(zip(ORDER, version.stored_order, strict=True))}


def times_row(feed_id: int, version: Version, fields: dict[str, Any]) -> dict[str, object]:
    """Return the columns that change when the same content is read in a newer version."""
    return {
        "feed_id": feed_id,
        "id": version.id,
        **{name: fields[name] for name in TIMES},
        **dict(zip(ORDER, version.stored_order, strict=True)),
        "digest": version.digest,
        ORIGINAL: version.original,
        DETAILS: _details(fields),
        "enclosures": fields["enclosures"] and _enclosures(fields),
    }


def _enclosures(fields: dict[str, Any]) -> str:
    return _encode(fields["enclosures"]) if fields["enclosures"] else EMPTY_LIST


def _details(fields: dict[str, Any]) -> str:
    """Return an entry's optional fields as JSON, without those that have no value or their default."""
    base = fields.get("base")
    return _details_to_json(
        fields.get("title_type"),
        fields.get("summary_type"),
        None if base == fields["document"] else base,
        fields.get("language"),
    )


@lru_cache(LISTS_REMEMBERED)
def _details_to_json(*values: str | None) -> str:
    found = zip(model.DETAILS, values, strict=True)
    return _encode({name: value for name, value in found if value is not None})


def exported_fields(row: Sequence[Any]) -> dict[str, Any]:
    """Return a stored entry's fields, with its change since the last export."""
    fields = dict(zip(ENTRIES_COLUMNS, row, strict=True))
    for name in JSON_FIELDS:
        fields[name] = list(_from_json(fields[name]))
    digest, exported, added = (fields.pop(name) for name in ("digest", "exported_digest", "added"))
    if fields.pop("change_id") is None:
        fields["change"] = None
    elif not digest:
        fields["change"] = "deleted"
    else:
        fields["change"] = "updated" if exported else "new"
    return fields | json.loads(added) if added else fields


def whole_fields(row: Row[Any]) -> dict[str, Any]:
    """Return the fields of an entry, with the optional ones and `original`, for a row of `WHOLE_ENTRIES`."""
    fields = exported_fields(row[: len(ENTRIES_COLUMNS)])
    document = fields["document"]
    found = {**dict.fromkeys(model.DETAILS), **json.loads(row.details)}
    computed = {ORIGINAL: row.original, "former_ids": sorted(json.loads(row.former_ids))}
    return fields | found | {"base": found["base"] or document, **computed}
