"""The beginning of walks: claims feeds and reads their state, for many feeds in a few statements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fhcrawl.exceptions import LeaseError, UnsettledError
from fhcrawl.logical_feed import Kind, Verdict
from fhcrawl.logical_feed.absences import LINK_OCTETS
from fhcrawl.logical_feed.listings import Listing, SitemapReport, is_sitemap_due
from fhcrawl.logical_feed.results import IDS, State, latest_time
from fhcrawl.store import subscriptions
from fhcrawl.store.database import Repository
from fhcrawl.store.documents import document_behind, first_unread
from fhcrawl.store.leases import IS_DELIVERED_BY_ITS_RUN
from fhcrawl.store.statements import MOVED, UNREAD, execute, execute_all, from_json
from fhcrawl.store.subscriptions import ADD_FEED, NO_RUN, new_row
from fhcrawl.utils.clock import now as time_now

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from sqlalchemy import Connection, Row

    from fhcrawl.store.documents import DocumentRef

# Kinds of feeds whose documents need not name all entries.
HAVE_SITEMAPS = (Kind.SINGLE.value, Kind.PAGED.value)
NO_IDS: Mapping[str, str] = MappingProxyType({})
BEGIN = """
UPDATE feeds SET verdict = NULL, reasons = NULL, retry_after = NULL, due = NULL, released = NULL,
    merge_renamed = NULL, run = :run
WHERE id = ANY(:feeds)
"""
RESUME = """
UPDATE feeds SET verdict = NULL, reasons = NULL, due = NULL, released = NULL, run = :run
WHERE id = ANY(:feeds)
"""
UNREAD_ALL = """
UPDATE documents SET state = :state, reason = :reason, detail = :detail, since = :since
WHERE feed_id = :feed_id
"""
CUT_OFF = "its last crawl was interrupted during an export, which cannot be repaired yet"
# Documents compared by times that are judged differently now: the clock was wrong then, or a future time has
# passed since.
COUNTS_OTHERWISE = """documents.state = 'processed'
    AND (documents.uncounted <= :latest OR documents.fetched > :latest)"""
IN_DOUBT = f"""
SELECT DISTINCT documents.feed_id FROM documents JOIN feeds ON feeds.id = documents.feed_id
WHERE documents.feed_id = ANY(:feeds) AND ({MOVED} OR {COUNTS_OTHERWISE})
"""
# A redirect may have been temporary; reading the subscription document alone does not show that. The entries
# of a document are compared as those of a document that was never read. Documents that were read while the
# clock was ahead may have replaced versions of other documents, by times that are in the future.
ASK_AGAIN = f"""
UPDATE documents SET state = :state, reason = :reason, detail = :detail, since = :since, uncounted = NULL,
    held = NULL
WHERE feed_id = ANY(:feeds) AND (
    moved_to IS NOT NULL AND moved_walk = (SELECT walk FROM feeds WHERE feeds.id = documents.feed_id)
    OR {COUNTS_OTHERWISE}
    OR state = 'processed' AND role <> 'index' AND feed_id IN (
        SELECT ahead.feed_id FROM documents AS ahead
        WHERE ahead.feed_id = ANY(:feeds) AND ahead.state = 'processed' AND ahead.fetched > :latest
            AND EXISTS (SELECT 1 FROM entries
                WHERE entries.feed_id = ahead.feed_id AND entries.order_time > :latest)))
"""


@dataclass(frozen=True, slots=True)
class WalkStart:
    """The stored state of a feed, from which a walk begins.

    :param location: URL of the subscription document
    :param walk, run: numbers of the walk that begins, and of the crawl that it is part of
    :param older_document: the older document that the subscription document linked to when it was last read
    :param validated_url: URL whose response had etag and last_modified
    :param body_digest: digest of that document's bytes and of the way it was read; None if it is to be
        read again even if it is unchanged
    :param crawled: when that document was last read
    :param received: when its body last came, rather than a 304
    :param special: whether the user's hosts had special addresses: `WalkContext.special_hosts`
    :param ids, former_ids: what identifies entries (`results.IDS`); what did until now, if this has changed
    :param is_listed: its publisher has a list of its entries (`Listing`)
    :param is_empty: that document had no entries
    :param is_confirmable: that document linked to an older one, or counted the entries of the feed
    :param has_due_sitemap: the feed may have more entries, and is due to be compared with a sitemap
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
    is_empty: bool = False
    has_due_sitemap: bool = True
    is_confirmable: bool = True

    def without_validators(self) -> WalkStart:
        """Return this state without validators: an unchanged document is read too."""
        return replace(self, etag=None, last_modified=None, validated_url=None, body_digest=None)


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A snapshot that precedes a feed: the URL of its index, and its first page that is not processed."""

    url: str
    is_read: bool
    created_at: str | None
    part: DocumentRef | None


class Walks(Repository):
    """The beginning of walks: `store.walks`."""

    def begin(
        self,
        urls: list[str],
        run: int,
        now: str,
        merging: Container[str] = (),
        ids: Mapping[str, str] = NO_IDS,
    ) -> dict[str, WalkStart | LeaseError]:
        """Claim feeds for a run, and return the stored state of each; in one transaction.

        :param urls: `FEEDS_AT_ONCE` at most
        :param merging: feeds whose entries are deleted under ids that have changed
        :param ids: what identifies the entries of a feed, if the user has set it. If this has
            changed, all documents of the feed count as unread
        :return: by URL; a `LeaseError` if another crawl has the feed, or its changes are being exported
        """
        # Sorted, so that two crawls that begin with the same feeds do not deadlock.
        feed_rows = [new_row(url, now) for url in sorted(urls)]
        leases = self._database.require_leases()
        query = """SELECT feeds.*,
                (SELECT heads.digest FROM heads WHERE heads.feed_id = feeds.id) AS head_digest
            FROM feeds WHERE KEY(url) = ANY(KEYS(:urls)) ORDER BY id FOR UPDATE"""
        with self._database.transaction() as connection:
            execute_all(connection, ADD_FEED, feed_rows)
            rows = execute(connection, query, {"urls": urls}).all()
            refusals = leases.refusals(connection, rows)
            # A file may already have a change that is not marked as exported: another change would never be
            # exported.
            earlier = [row.id for row in rows if row.id not in refusals and row.run not in (run, NO_RUN)]
            delivered = f"SELECT id FROM feeds WHERE id = ANY(:feeds) AND {IS_DELIVERED_BY_ITS_RUN}"
            delivered_ids = execute(connection, delivered, {"feeds": earlier}).scalars() if earlier else ()
            refusals |= {feed_id: UnsettledError(CUT_OFF) for feed_id in delivered_ids}
            claimed = [row for row in rows if row.id not in refusals]
            changed_ids = {row.id: ids[row.url] for row in claimed if ids.get(row.url, row.ids) != row.ids}
            values = {**UNREAD, "since": now}
            for feed_id, ids_kind in changed_ids.items():
                for statement in (
                    "UPDATE feeds SET ids = :ids WHERE id = :feed_id",
                    UNREAD_ALL,
                    # The next read cannot be compared with what was shown under other ids.
                    "DELETE FROM coverage WHERE feed_id = :feed_id",
                ):
                    execute(connection, statement, {**values, "feed_id": feed_id, "ids": ids_kind})
            claimed_ids = [row.id for row in claimed]
            execute(connection, BEGIN, {"feeds": claimed_ids, "run": run})
            time_values = {"feeds": claimed_ids, "latest": latest_time(now)}
            if in_doubt := list(execute(connection, IN_DOUBT, time_values).scalars()):
                execute(connection, ASK_AGAIN, {**UNREAD, **time_values, "feeds": in_doubt, "since": now})
            starts = _walk_starts(connection, claimed, run, in_doubt)
            for row in claimed:
                if row.id in changed_ids:
                    former_ids = row.ids if row.crawled else None
                    starts[row.id] = replace(starts[row.id], ids=changed_ids[row.id], former_ids=former_ids)
            if merged := [row.id for row in claimed if row.url in merging]:
                merge = "UPDATE feeds SET merge_renamed = 1 WHERE id = ANY(:feeds)"
                execute(connection, merge, {"feeds": merged})
        self._database.feed_ids.update({row.url: row.id for row in rows})
        for row in rows:
            self._database.shared_ids.pop(row.url, None)
            self._database.posts.pop(row.url, None)
        self._database.head_digests.update({row.id: row.head_digest for row in claimed if row.head_digest})
        return {row.url: refusals.get(row.id) or starts[row.id] for row in rows}

    def resume(self, runs: Mapping[str, int], run: int) -> set[str]:
        """Claim feeds for a run that continues their walks; return those that it has.

        :param runs: for each feed, `FEEDS_AT_ONCE` at most, the run that its walk is part of; if another run
            has begun a walk since, the feed is not claimed
        """
        query = f"""SELECT feeds.*, {IS_DELIVERED_BY_ITS_RUN} AS is_delivered
            FROM feeds WHERE KEY(url) = ANY(KEYS(:urls)) ORDER BY id FOR UPDATE"""
        with self._database.transaction() as connection:
            rows = execute(connection, query, {"urls": list(runs)}).all()
            refusals = self._database.require_leases().refusals(connection, rows)
            claimed = {
                row.url: row.id
                for row in rows
                if row.run == runs[row.url] and not row.is_delivered and row.id not in refusals
            }
            execute(connection, RESUME, {"feeds": list(claimed.values()), "run": run})
        return set(claimed)

    def read(self, feed: str) -> WalkStart:
        """Return the stored state of a feed whose walk has begun, without validators."""
        with self._database.snapshot() as connection:
            of_url = "SELECT * FROM feeds WHERE KEY(url) = KEY(:url)"
            row = execute(connection, of_url, {"url": feed}).one()
            return _walk_starts(connection, [row], row.run, {row.id})[row.id]

    def rename(self, feed: str, other_url: str, now: str, special: int | None) -> bool:
        """Merge a new feed of this run into the feed of another URL, which is created if there is none.

        :param special: `feeds.special` of the other URL's host; stored if no feed has that URL yet
        :return: whether this run has the other feed already
        :raises LeaseError: if another crawl has one of them; it may have the other one if nothing is to move
        """
        leases = self._database.require_leases()
        with self._database.transaction() as connection:
            is_new = execute(connection, ADD_FEED, new_row(other_url, now)).rowcount
            rows = subscriptions.lock(connection, feed, other_url)
            leases.check(connection, rows[feed].id)
            if not subscriptions.is_empty(connection, rows[feed].id):
                leases.require_free(connection, rows[other_url])
            if is_new:
                values = {"special": special, "id": rows[other_url].id}
                execute(connection, "UPDATE feeds SET special = :special WHERE id = :id", values)
            subscriptions.merge(connection, rows[feed], rows[other_url])
        self._database.feed_ids.pop(feed, None)
        return bool(rows[other_url].run == leases.run)

    def forget(self, feed: str, now: str) -> None:
        """Mark every document of a feed as not processed; `LeaseError` if another crawl has the feed."""
        with self._database.transaction() as connection:
            for row in subscriptions.lock(connection, feed).values():
                self._database.require_leases().require_free(connection, row)
                listing = from_json(row.listing, Listing.from_json)
                values = {"feed_id": row.id, "listing": listing and listing.anew().to_json()}
                for statement in (
                    UNREAD_ALL,
                    "UPDATE feeds SET not_modified_ignored = NULL, listing = :listing WHERE id = :feed_id",
                    "UPDATE timemaps SET read = NULL WHERE feed_id = :feed_id",
                    "UPDATE sitemap_posts SET lastmod = NULL, validated_url = NULL WHERE feed_id = :feed_id",
                ):
                    execute(connection, statement, {**UNREAD, **values, "since": now})


def _walk_starts(
    connection: Connection, rows: Sequence[Row[Any]], run: int, in_doubt: Container[int]
) -> dict[int, WalkStart]:
    indexes = "SELECT * FROM documents WHERE feed_id = ANY(:feeds) AND role = 'index'"
    snapshots = {}
    for index in execute(connection, indexes, {"feeds": [row.id for row in rows]}).all():
        part = first_unread(connection, document_behind(connection, index))
        is_read = index.state == State.PROCESSED.value
        snapshots[index.feed_id] = StoredSnapshot(index.key, is_read, index.updated, part)
    read = _documents_by_id(connection, (row.subscription_id for row in rows))
    read = {number: row for number, row in read.items() if row.state == State.PROCESSED.value}
    older = _documents_by_id(connection, (row.behind_id for row in read.values()))
    starts = {}
    for row in rows:
        starts[row.id] = start = WalkStart(
            row.url,
            row.location,
            row.walk + 1,
            run,
            crawled=row.crawled,
            snapshot=snapshots.get(row.id),
            special=row.special,
            ids=row.ids,
        )
        document = read.get(row.subscription_id)
        if document is None:
            continue
        sitemap = from_json(row.sitemap, SitemapReport.from_json)
        # Its documents may not name all entries.
        may_have_more = row.kind in HAVE_SITEMAPS and row.verdict != Verdict.COMPLETE.value
        starts[row.id] = start = replace(
            start,
            older_document=first_unread(connection, older.get(document.behind_id)),
            etag=row.etag,
            last_modified=row.last_modified,
            # Without the URL, the validators are not sent.
            validated_url=row.validated_url if row.not_modified_ignored is None else None,
            body_digest=row.body_digest,
            received=document.received,
            is_listed=row.listing is not None,
            is_empty=document.held is not None and len(document.held) == LINK_OCTETS,
            is_confirmable=document.behind_id is not None or row.total is not None,
            has_due_sitemap=may_have_more and is_sitemap_due(sitemap.read if sitemap else None, time_now()),
        )
        # Even if it is unchanged, its archives may have moved: it is read without conditions.
        if row.id in in_doubt:
            starts[row.id] = start.without_validators()
    return starts


def _documents_by_id(connection: Connection, ids: Iterable[int | None]) -> dict[int, Row[Any]]:
    wanted_ids = [document_id for document_id in ids if document_id is not None]
    rows = execute(connection, "SELECT * FROM documents WHERE id = ANY(:numbers)", {"numbers": wanted_ids})
    return {row.id: row for row in rows}
