"""The commit of a document with its entries, in one transaction."""

from __future__ import annotations

import json
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from fhcrawl.documents import model
from fhcrawl.documents.lists import NAMESPACE
from fhcrawl.logical_feed import FIRST_WALK, ChainPosition, Role
from fhcrawl.logical_feed.absences import digest_of_id, has_other_content, ids_of
from fhcrawl.logical_feed.chain import EARLIEST_WALK
from fhcrawl.logical_feed.coverage import coverage_after, doubted, mark_of_id
from fhcrawl.logical_feed.results import (
    PIPELINE_FIELDS,
    CommitBatch,
    DocumentFailure,
    State,
    absence,
    has_changes,
    joins,
    must_follow,
    tell_apart,
)
from fhcrawl.reasons import ReasonKind
from fhcrawl.store import mementos
from fhcrawl.store.schema import changes, entries, versions
from fhcrawl.store.statements import (
    CHANGE_OF_ENTRY,
    CONTENT,
    COVERAGE_COLUMNS,
    DETAILS,
    JSON_FIELDS,
    ORDER,
    TIMES,
    UNKEPT,
    UNREAD,
    WINNERS,
    assigned,
    execute,
    execute_all,
    execute_among,
    find_document,
    from_json,
    id_of_document,
    insert_all,
    insertion,
    overwritten,
    read_coverage,
    winners,
)
from fhcrawl.store.subscriptions import change_rate_row

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from sqlalchemy import Connection, Table
    from typing_extensions import Self

    from fhcrawl.logical_feed import Version, Winner
    from fhcrawl.logical_feed.coverage import Coverage
    from fhcrawl.logical_feed.results import DocumentResult, Fetch, Order
    from fhcrawl.store.database import Database

ENDS_EARLIER = DocumentFailure(State.KNOWN, ReasonKind.KNOWN, "no longer leads to a page")
MAY_HAVE_GROWN = "may have changed since it was read"
OF_ENTRY = "feed_id = :feed_id AND KEY(id) = KEY(:id)"
# An entry that changes during its delivery needs another delivery.
OVERWRITE_CHANGE = "ON CONFLICT (feed_id, KEY(id)) DO UPDATE SET delivery = NULL"
# `first_seen`, the last column, stays.
OVERWRITE_ENTRY = f"ON CONFLICT (feed_id, KEY(id)) DO UPDATE SET {overwritten(entries.columns.keys()[2:-1])}"
# A version with the stored content. Exports contain the stored times, so other ones do not replace them.
# Without enclosures, the stored ones are kept.
CONFIRM_ENTRY = f"""
UPDATE entries SET {assigned((*ORDER, "document_time"))},
    {", ".join(f"{name} = coalesce({name}, :{name})" for name in ("published", "updated"))},
    enclosures = coalesce(nullif(:enclosures, '[]'), enclosures),
    original = coalesce(UTF8(:original), original)
WHERE {OF_ENTRY}
"""
# Of a version that the same document contains with an older time: no export contains that one.
WRITE_TIMES = f"UPDATE entries SET {assigned(TIMES)} WHERE {OF_ENTRY}"
MARK_DELETED = "fetched = CASE WHEN digest = '' THEN fetched ELSE :time END, digest = ''"
KEEP_VERSION = "ON CONFLICT (feed_id, KEY(id), digest) DO NOTHING"
VERSION_COLUMNS = ", ".join(versions.columns.keys())
BEHIND = id_of_document("behind_key")
IS_SUBSCRIPTION = f"subscription_id = {id_of_document('key')}"
SUBSCRIPTION = "(SELECT feeds.subscription_id FROM feeds WHERE feeds.id = :feed_id)"

# An archive keeps its first position in the chain; documents that every walk reads move. The link of a
# document that cannot be read any more is still valid, as is the order of a list. A future `since` was
# recorded by a wrong clock. A document that was not read to its end is not compared with the next one.
IS_READ = f"(excluded.state = 'processed' OR excluded.reason = '{ReasonKind.LOOP.value}')"
OF_REQUEST = (
    *("url", "role", "state", "run", "updated", "lost_entries", "reason", "detail"),
    *("fetched", "moved_to", "uncounted"),
)
OF_CONTENT = ("etag", "last_modified", "validated_url", "received", "checked", "checked_walk", "held")
_columns = ("feed_id", "key", "walk", "step", "since", "changed_walk", *OF_REQUEST, *OF_CONTENT)
_of_walk = "(SELECT feeds.walk FROM feeds WHERE feeds.id = :feed_id)"
WRITE_DOCUMENT = f"""
{insertion("documents", _columns, behind_id=BEHIND, moved_walk=_of_walk)}
ON CONFLICT (feed_id, KEY(key)) DO UPDATE SET {overwritten(OF_REQUEST)},
    walk = CASE WHEN excluded.role <> 'archive' THEN excluded.walk ELSE documents.walk END,
    step = CASE WHEN excluded.role <> 'archive' THEN excluded.step ELSE documents.step END,
    behind_id = CASE WHEN excluded.state <> 'processed' OR excluded.role = 'part'
        THEN coalesce(excluded.behind_id, documents.behind_id) ELSE excluded.behind_id END,
    since = CASE
        WHEN documents.reason IS NOT DISTINCT FROM excluded.reason AND documents.since <= excluded.since
        THEN documents.since ELSE excluded.since END,
    {", ".join(f"{n} = CASE WHEN {IS_READ} THEN excluded.{n} ELSE documents.{n} END" for n in OF_CONTENT)},
    changed_walk = CASE WHEN {IS_READ} AND NOT documents.held IS NOT DISTINCT FROM excluded.held
        THEN excluded.changed_walk ELSE documents.changed_walk END,
    moved_walk = CASE WHEN documents.moved_to IS NOT DISTINCT FROM excluded.moved_to
        THEN documents.moved_walk ELSE excluded.moved_walk END
"""
# An outage takes nothing away: a subscription document that was read in full stays processed.
WAS_READ = f"SELECT 1 FROM documents WHERE id = {SUBSCRIPTION} AND state = 'processed'"
NOTE_OUTAGE = f"""
UPDATE documents SET reason = :reason, detail = :detail, since = CASE
    WHEN reason IS NOT DISTINCT FROM :reason AND since <= :since THEN since ELSE :since END
WHERE id = {SUBSCRIPTION}
"""
# The document was received, and may have entries that are not stored.
NOT_STORED = frozenset({ReasonKind.PIPELINE_ERROR, ReasonKind.STORE_ERROR, ReasonKind.ERROR})
# A document that a link or a list names; an existing row keeps its state, unless it was read in another role,
# such as an earlier subscription document: that state is not valid for the new role.
OF_ROLE = ("role", "state", "walk", "step", "reason", "detail", "since")
KNOWN_COLUMNS = ("feed_id", "key", "url", "lost_entries", *OF_ROLE)
KEEP_STATE = "ON CONFLICT (feed_id, KEY(key)) DO UPDATE SET " + ", ".join(
    f"{name} = CASE WHEN documents.role <> excluded.role THEN excluded.{name} ELSE documents.{name} END"
    for name in OF_ROLE
)
WRITE_OLDER_DOCUMENT = f"""
{insertion("documents", (*KNOWN_COLUMNS, "platform"))} {KEEP_STATE}, platform = excluded.platform
"""
WRITE_PART = f"""
{insertion("documents", KNOWN_COLUMNS, behind_id=BEHIND)}
{KEEP_STATE}, url = excluded.url, behind_id = excluded.behind_id
"""
# Marks pages as unread; archives that have been read stay read.
UNREAD_ANY_PAGE = f"""
UPDATE documents SET {assigned(("state", "reason", "detail", "since", "walk", "step"))}
WHERE feed_id = :feed_id AND role = 'page' AND state = 'processed'
"""
BEHIND_THIS = """(SELECT linking.behind_id FROM documents AS linking
    WHERE linking.feed_id = :feed_id AND KEY(linking.key) = KEY(:key) AND linking.behind_id <> linking.id)"""
UNREAD_PAGE = f"{UNREAD_ANY_PAGE} AND id IN {BEHIND_THIS}"
# Marks an archive as unread that was read before, and may have grown.
UNREAD_ARCHIVE = f"""
UPDATE documents SET state = :state, reason = :reason, detail = :detail, since = :since
WHERE feed_id = :feed_id AND role = 'archive' AND state = 'processed' AND run IS DISTINCT FROM :run
    AND id = {BEHIND_THIS}
"""
# An earlier subscription document may have linked to the page, or no document links to it at the moment.
_leading = """SELECT linking.behind_id FROM documents AS linking
    WHERE linking.feed_id = :feed_id AND linking.behind_id IS NOT NULL"""
UNREAD_PAGES = f"""{UNREAD_ANY_PAGE}
    AND (id IN ({_leading} AND linking.role = 'subscription') OR id NOT IN ({_leading}))"""

NOTE_LOST = f"""
{insertion("absences", ("feed_id", "key", "below", "role", "walk", "since"), looked=":walk")}
ON CONFLICT (feed_id, key) DO UPDATE SET
    {overwritten(("id", "below", "role", "walk", "looked", "since", "gone"))}
"""
# Absences that only the order of a plain feed's entries indicates, until another walk confirms them.
FORGET_UNCONFIRMED = "DELETE FROM absences WHERE feed_id = :feed_id AND below IS NOT NULL AND gone IS NULL"
# A subscription document that was a list, and is a feed now, has no parts any more, unless the index of a
# snapshot names them.
FORGET_PARTS = """
DELETE FROM documents WHERE feed_id = :feed_id AND role = 'part' AND NOT EXISTS (
    SELECT 1 FROM documents AS lists WHERE lists.feed_id = :feed_id AND lists.role = 'index')
"""
# Before the feed is confirmed. If the unchanged document was empty, or of another kind, the coverage is that
# of a document before it.
CONFIRM_COVERAGE = """
UPDATE coverage SET until = :time
WHERE feed_id = :feed_id AND shown > depth AND since <= until AND until < :time
    AND until = (SELECT feeds.crawled FROM feeds WHERE feeds.id = coverage.feed_id)
"""
WRITE_COVERAGE = f"""
{insertion("coverage", ("feed_id", *COVERAGE_COLUMNS))}
ON CONFLICT (feed_id) DO UPDATE SET {overwritten(COVERAGE_COLUMNS)}
"""
POST_COLUMNS = ("feed_id", "url", "lastmod", "etag", "last_modified", "validated_url", "entry_id")
WRITE_POST = f"""
{insertion("sitemap_posts", POST_COLUMNS)}
ON CONFLICT (feed_id, KEY(url)) DO UPDATE SET {overwritten(POST_COLUMNS[2:])}
"""
FORGET_VALIDATORS = """
UPDATE feeds SET etag = NULL, last_modified = NULL, validated_url = NULL, body_digest = NULL
WHERE id = :feed_id
"""
# To another id.
MOVE_ENTRY = (
    f"""INSERT INTO entries ({", ".join(entries.columns.keys())})
    SELECT {", ".join({"id": ":new_id", DETAILS: ":details"}.get(c.name, c.name) for c in entries.c)}
    FROM entries WHERE {OF_ENTRY} ON CONFLICT DO NOTHING""",
    f"UPDATE versions SET id = :new_id WHERE {OF_ENTRY}",
    f"DELETE FROM renames WHERE {OF_ENTRY} AND former_id IS NULL",
    f"UPDATE renames SET id = :new_id WHERE {OF_ENTRY}",
    "UPDATE coverage SET known = replace(known, :mark, :new_mark) WHERE feed_id = :feed_id",
)
# Lists of authors and categories repeat.
LISTS_REMEMBERED = 1000

_encode = json.JSONEncoder(ensure_ascii=False).encode
_details = itemgetter(*model.DETAILS)


def _without_none(**values: object) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


class FeedWriter:
    """Writes to one feed in a transaction.

    :param place: of the document that is written, or by which entries are deleted
    :param time: of the fetch of that document, or of the deletion
    """

    def __init__(self, database: Database, feed_id: int, place: ChainPosition, time: str) -> None:
        self._connection: Connection
        self._keeps_versions = database.keeps_versions
        self.feed_id, self._place, self._time = feed_id, place, time

    def bind_to(self, connection: Connection) -> Self:
        self._connection = connection
        return self

    def _execute(self, sql: str, **values: object) -> Any:
        return execute(self._connection, sql, {"feed_id": self.feed_id, **values})

    def _execute_all(self, sql: str, rows: Iterable[Mapping[str, object]]) -> None:
        execute_all(self._connection, sql, [{"feed_id": self.feed_id, **row} for row in rows])

    def _delete_entries(self, deletions: list[Version], stored: Mapping[str, Winner]) -> int:
        stored_winners = {v.id: stored[v.id] for v in deletions if v.id in stored}
        live = {entry_id: winner for entry_id, winner in stored_winners.items() if winner.digest}
        self._note_uncounted(stored, stored_winners)
        if self._keeps_versions:
            self._copy_to_versions(live)
        # Entries that were deleted before they were read.
        no_content = dict.fromkeys((*CONTENT, *TIMES, *model.DETAILS)) | dict.fromkeys(JSON_FIELDS, ())
        never_read = {v.id: (v, no_content) for v in deletions if v.id not in stored_winners}
        self._insert(entries, OVERWRITE_ENTRY, never_read.values())
        update = f"UPDATE entries SET {MARK_DELETED}, {assigned(ORDER)} WHERE {OF_ENTRY}"
        orders = {v.id: _order_columns(v.stored_order) for v in deletions if v.id in stored_winners}
        self._execute_all(update, ({"id": i, "time": self._time, **order} for i, order in orders.items()))
        never_exported = [key for key, winner in live.items() if winner.pending and not winner.exported]
        exported = {key: winner.digest for key, winner in live.items() if not winner.pending}
        self._write_changes(exported, never_exported)
        return len(live)

    def _insert(self, table: Table, on_conflict: str, rows: Iterable[tuple[Version, dict[str, Any]]]) -> None:
        insert_all(self._connection, table, on_conflict, map(self._entry_row, rows))

    def _entry_row(self, stored: tuple[Version, dict[str, Any]]) -> dict[str, object]:
        return {**_entry_row(self.feed_id, *stored), "fetched": self._time, "first_seen": self._time}

    # Keeps versions that are about to be replaced.
    def _copy_to_versions(self, ids: Iterable[str]) -> None:
        if ids := list(ids):
            query = f"SELECT {VERSION_COLUMNS} FROM entries WHERE feed_id = :feed_id"
            insert = f"INSERT INTO versions ({VERSION_COLUMNS})"
            execute_among(self._connection, query, self.feed_id, ids, insert, KEEP_VERSION)

    def share_ids(self, new_ids: frozenset[str], shared_ids: Container[str], fetch: Fetch) -> None:
        """Note that ids are shared; stored entries that have one get the id that tells them apart."""
        insert = insertion("shared_ids", ("feed_id", "id"))
        self._execute_all(f"{insert} ON CONFLICT DO NOTHING", [{"id": shared_id} for shared_id in new_ids])
        # A tombstone remains: it deletes all entries with the id.
        stored = "SELECT entries.* FROM entries WHERE entries.feed_id = :feed_id AND order_tombstone = 0"
        moved = []
        for row in execute_among(self._connection, stored, self.feed_id, list(new_ids)):
            details = from_json(row.details)
            new_id = tell_apart(details.setdefault("shared_id", row.id), row, shared_ids)
            moved.append({"id": row.id, "new_id": new_id, "details": _encode(details)})
            moved[-1] |= {"mark": mark_of_id(row.id), "new_mark": mark_of_id(new_id)}
        for statement in MOVE_ENTRY:
            self._execute_all(statement, moved)
        ids = [row["id"] for row in moved]
        before = winners(execute_among(self._connection, WINNERS, self.feed_id, ids), fetch.latest)
        self._delete_entries([absence(i, ChainPosition(EARLIEST_WALK, 0)) for i in ids], before)
        self._write_changes({row["new_id"]: None for row in moved if before[row["id"]].digest}, [])
        # Entries that have been replaced by another one with their id are in documents that are read again.
        digests = {entry_id: winner.digest for entry_id, winner in before.items()}
        held = "SELECT id, held FROM documents WHERE feed_id = :feed_id AND held IS NOT NULL"
        rows = [
            {**UNREAD, "since": fetch.fetched, "id": row.id}
            for row in self._execute(held)
            if has_other_content(bytes(row.held), digests)
        ]
        for statement in (
            """UPDATE documents SET state = :state, reason = :reason, detail = :detail, since = :since
            WHERE feed_id = :feed_id AND id = :id AND role <> 'subscription'""",
            f"{FORGET_VALIDATORS} AND subscription_id = :id",
        ):
            self._execute_all(statement, rows)

    # The changes to export: `exported` has the digest that the last export contained, by id; None for no
    # export. The entries in `revoked` are as they were exported.
    def _write_changes(self, exported: Mapping[str, str | None], revoked: list[str]) -> None:
        rows = [
            {"feed_id": self.feed_id, "id": entry_id, "exported_digest": digest, "delivery": None}
            for entry_id, digest in exported.items()
        ]
        insert_all(self._connection, changes, OVERWRITE_CHANGE, rows)
        self._execute_all(f"DELETE FROM changes WHERE {OF_ENTRY}", ({"id": i} for i in revoked))

    # A version that is replaced while a clock is wrong may be the newest by a correct clock: its document is
    # read again then, as are the documents that were read with a wrong clock.
    def _note_uncounted(self, stored: Mapping[str, Winner], replaced_ids: Iterable[str]) -> None:
        earliest_times: dict[tuple[int, int], str] = {}
        for entry_id in replaced_ids:
            winner = stored.get(entry_id)
            if winner is not None and winner.uncounted is not None and winner.order.walk >= FIRST_WALK:
                place = winner.order.walk, winner.order.step
                earliest_times[place] = min(winner.uncounted, earliest_times.get(place, winner.uncounted))
        earliest_times.pop(self._place, None)
        self._execute_all(
            """UPDATE documents SET uncounted = CASE WHEN uncounted < :time THEN uncounted ELSE :time END
            WHERE feed_id = :feed_id AND walk = :walk AND step = :step""",
            ({"walk": walk, "step": step, "time": time} for (walk, step), time in earliest_times.items()),
        )


class Commit(FeedWriter):
    """Writes one document: reads the state that this depends on, then begins in a transaction.

    No statement needs the result of another one, so that all can be sent together, unless a snapshot replaces
    another one.
    """

    def __init__(self, database: Database, result: DocumentResult, batch: CommitBatch) -> None:
        self._fetch, self._result, self._batch = result.fetch, result, batch
        # The newest versions of the document's entries; if it is a complete feed's, of all entries.
        self._winners = batch.stored
        # Ids of the documents that an earlier version of the list named, and this one does not.
        self._unlisted_ids: list[int] = []
        # A page has lost its link to the older one, and must be read again.
        self._lost_older_link = False
        # The last content of the feed is still its stored one, as far as is known.
        self._stays_read = False
        # For how long a plain feed is covered; None if it never was read.
        self._stored_coverage: Coverage | None = None
        feed_id = database.feed_ids.get(result.fetch.feed)
        # Most documents need only the feed's id, which is in memory.
        metadata, since = result.metadata, result.validators.doubted_since
        needing_state = (metadata.present, metadata.shown, result.parts, since, result.failure)
        if feed_id is None or self._is_last_page or any(value is not None for value in needing_state):
            with database.lookup() as connection:
                feed_id = database.find_id(connection, result.fetch.feed)
                self._read_stored_state(connection, feed_id)
        super().__init__(database, feed_id, result.fetch.position, result.fetch.fetched)
        # Digest of the feed's head, if it is in memory. Removed, since this commit may replace the head.
        self._stored_head_digest = None if metadata.head is None else database.head_digests.pop(feed_id, None)

    def _read_stored_state(self, connection: Connection, feed_id: int) -> None:
        fetch, result = self._fetch, self._result
        if result.metadata.present is not None and result.failure is None:
            rows = execute(connection, WINNERS, {"feed_id": feed_id})
            self._winners = {**winners(rows, fetch.latest), **self._winners}
        if result.parts is not None:
            listed_keys = {part.key for part in result.parts.documents}
            parts = "SELECT id, key FROM documents WHERE feed_id = :feed_id AND role = 'part'"
            rows = execute(connection, parts, {"feed_id": feed_id})
            self._unlisted_ids = [row.id for row in rows if row.key not in listed_keys]
        # A document that names another one may have entries that are not stored.
        if fetch.role is Role.SUBSCRIPTION and result.failure is not None and not fetch.is_referred:
            is_processed = execute(connection, WAS_READ, {"feed_id": feed_id}).first() is not None
            self._stays_read = is_processed and result.failure.kind not in NOT_STORED
        if self._is_last_page:
            page = find_document(connection, feed_id, fetch.key)
            if page is not None and page.behind_id is not None and page.role == Role.PAGE.value:
                is_new = page.detail != ENDS_EARLIER.detail
                self._lost_older_link = is_new or has_changes(result, self._batch.stored)
        if result.metadata.shown is not None or result.validators.doubted_since is not None:
            self._stored_coverage = read_coverage(connection, [feed_id]).get(feed_id)

    # The link may be missing for a while only, and the older pages may never have been read, even if this
    # page has no changes. The next run reads it again: if it still has none, it is the last page.
    @property
    def _is_last_page(self) -> bool:
        result = self._result
        return self._fetch.role is Role.PAGE and result.older_document is None and result.failure is None

    def _execute(self, sql: str, **values: object) -> Any:
        return super()._execute(sql, **{"key": self._fetch.key, **values})

    # -- the kinds of writes ----------------------------------------------------------------------

    def write(self) -> int:
        """Write the document with its entries; return the number of deleted entries."""
        fetch, result = self._fetch, self._result
        if fetch.role is Role.POST:
            self._write_entries()
            self._write_post()
            return self._delete_removed_entries()
        self._write_document()
        self._write_entries()
        if result.metadata.present is not None:
            # A complete feed has no archives. If it gets some later, they restore deleted entries: they have
            # to be read again, at new positions.
            self._execute("DELETE FROM documents WHERE feed_id = :feed_id AND KEY(key) <> KEY(:key)")
        if fetch.role is Role.SUBSCRIPTION and result.parts is None and result.failure is None:
            self._execute(FORGET_PARTS)
        if fetch.role is Role.INDEX:
            self._forget_other_snapshots()
        if result.lost is None:
            self._execute(FORGET_UNCONFIRMED)
        common = {"role": fetch.role.value, "walk": fetch.walk, "since": fetch.fetched}
        lost_entries = (result.lost or {}).items()
        self._execute_all(NOTE_LOST, ({**common, "key": key, "below": below} for key, below in lost_entries))
        deleted = self._delete_removed_entries() + self._replace_snapshots()
        self._write_feed({"news": fetch.fetched} if self._batch.accepted or deleted else {})
        mementos.write_capture(self._connection, self.feed_id, result)
        if self._is_last_page and not fetch.is_check:
            self._execute(
                f"UPDATE feeds SET unkept = {UNKEPT}, counted = polled WHERE id = :feed_id", total=None
            )
        return deleted

    def write_failure(self) -> None:
        """Write that the document could not be read; the feed keeps its last subscription document's kind."""
        fetch, failure = self._fetch, self._result.failure
        if fetch.role is Role.POST:  # it is no document of the feed; the next crawl requests it again
            return
        pause = _without_none(retry_after=fetch.retry_after)
        if self._stays_read and failure is not None:
            reason = {"reason": failure.kind.value, "detail": failure.detail, "since": fetch.fetched}
            self._execute(NOTE_OUTAGE, **reason)
        else:
            self._write_document()
        if fetch.role is Role.SUBSCRIPTION:
            # If the feed has moved, this is another document than the last one that was read.
            self._update_feed(
                {"polled": fetch.fetched, **pause}, *(() if self._stays_read else (IS_SUBSCRIPTION,))
            )
        elif pause:
            self._update_feed(pause)
        mementos.write_capture(self._connection, self.feed_id, self._result)

    def write_confirmation(self) -> None:
        """Write that the subscription document was requested again, and is unchanged."""
        fetch, result, walk = self._fetch, self._result, self._fetch.position.walk
        self._execute(CONFIRM_COVERAGE, time=fetch.fetched)
        # RFC 9111, 4.3.4: a 304 response updates the stored header fields; those that it lacks stay.
        sent_values = _without_none(fresh_seconds=fetch.freshness_lifetime, special=fetch.special)
        times = {"crawled": fetch.fetched, "polled": fetch.fetched, "walk": walk}
        self._update_feed(times | self._validator_columns() | sent_values)
        if result.older_document is not None and result.older_document.role is Role.PAGE:
            # The pages that this walk reads next are older than the entries of the subscription document.
            self._execute_all(
                """UPDATE entries SET order_walk = :walk,
                        order_overrides = CASE order_overrides
                            WHEN order_walk THEN :walk ELSE order_overrides END
                    WHERE feed_id = :feed_id AND id = :id""",
                [{"id": entry_id, "walk": walk} for entry_id in self._ids_of_subscription()],
            )
        self._execute(
            f"""UPDATE documents SET walk = :walk, checked = :time, checked_walk = :walk, reason = NULL,
                detail = NULL, since = NULL, received = coalesce(:received, received)
            WHERE id = {SUBSCRIPTION}""",
            walk=walk,
            time=fetch.fetched,
            received=result.validators.received,
        )

    # Without those that it had lost when the same walk read it a second time. It need not repeat deletions.
    def _ids_of_subscription(self) -> list[str]:
        rows = self._execute(
            f"""SELECT entries.id, digest, details, held
            FROM entries JOIN documents ON documents.id = {SUBSCRIPTION}
            WHERE entries.feed_id = :feed_id AND order_walk = walk AND order_step = step"""
        ).all()
        shown = {*ids_of(bytes(rows[0].held or b""))} if rows else set()
        ids = ((row, from_json(row.details).get("shared_id", row.id)) for row in rows)
        return [row.id for row, shown_id in ids if not row.digest or digest_of_id(shown_id) in shown]

    # After a failure, the stored content is kept; only the time of the last check stays the same.
    def write_check(self) -> None:
        """Write that the document was requested again, and is the same, unless the request failed."""
        fetch = self._fetch
        values: dict[str, object] = {"fetched": fetch.fetched}
        if self._result.failure is None:
            # It may count as unread because it could have grown.
            values |= {"state": State.PROCESSED.value, "reason": None, "detail": None, "run": fetch.run}
            values |= {"checked": fetch.fetched, "checked_walk": fetch.walk, **self._validator_columns()}
        self._execute(
            f"UPDATE documents SET {assigned(values)} WHERE feed_id = :feed_id AND KEY(key) = KEY(:key)",
            **values,
        )

    def write_doubt(self) -> None:
        """Write that the server sends 304 for a document that has changed, or that it may have done so."""
        coverage, since = self._stored_coverage, self._result.validators.doubted_since
        if self._result.failure is None:
            ignored = "UPDATE feeds SET not_modified_ignored = coalesce(not_modified_ignored, :time)"
            self._execute(f"{ignored} WHERE id = :feed_id", time=self._fetch.fetched)
        if self._fetch.role is Role.SUBSCRIPTION and coverage is not None and since is not None:
            self._write_coverage(doubted(coverage, since))

    # -- the document and its links ---------------------------------------------------------------

    def _write_post(self) -> None:
        result = self._result
        if result.failure is None:
            entry_id = result.versions[0].id if result.versions else None
            row = {"url": self._fetch.requested_url, "lastmod": result.validators.lastmod}
            self._execute(WRITE_POST, **row, **self._validator_columns(), entry_id=entry_id)

    def _validator_columns(self) -> dict[str, object]:
        etag, last_modified, *_ = self._result.validators
        url = self._fetch.url if etag or last_modified else None
        return {"etag": etag, "last_modified": last_modified, "validated_url": url}

    def _write_document(self) -> None:
        fetch, result, stored = self._fetch, self._result, self._batch.stored
        failure = result.failure or (ENDS_EARLIER if self._lost_older_link else None)
        row = {
            "url": fetch.requested_url,
            "role": fetch.role.value,
            "state": State.PROCESSED.value if failure is None else failure.state.value,
            "walk": fetch.position.walk,
            "step": fetch.position.step,
            "behind_key": self._write_older_documents(),
            "run": fetch.run,
            "updated": result.metadata.updated,
            "lost_entries": result.lost_entries,
            "reason": failure and failure.kind.value,
            "detail": failure and failure.detail,
            "since": failure and fetch.fetched,
            "fetched": fetch.fetched,
            "moved_to": result.moved_to,
            "uncounted": result.uncounted,
            **self._validator_columns(),
            "received": fetch.fetched,
            "checked": None if result.held is None else fetch.fetched,
            "checked_walk": fetch.walk,
            "changed_walk": fetch.walk,
            "held": result.held,
        }
        # Entries move from page to page, under the same URLs: if a page has changes, the older pages must be
        # read again. They count as unread at once, so that the next run reads them even if this one crashes.
        # A check does not affect the pages behind this one, which have their own checks.
        older = result.older_document
        rereads_older = (
            not fetch.is_check
            and fetch.role in (Role.SUBSCRIPTION, Role.PAGE)
            and ((older is not None and older.is_left_over) or must_follow(result, stored))
        )
        unread_columns = self._unread_columns()
        if rereads_older:
            # The page that it linked to before counts as unread too: the link may change back.
            self._execute(UNREAD_PAGE, **unread_columns)
        if fetch.role is Role.SUBSCRIPTION and has_changes(result, stored):
            # Links between pages may change, and change back: pages of an earlier chain are as old as the
            # walk that read them.
            self._execute(UNREAD_PAGES, **unread_columns)
        self._execute(WRITE_DOCUMENT, **row)
        if rereads_older and older is not None and older.role is Role.PAGE:
            self._execute(UNREAD_PAGE, **unread_columns)
        is_of_walk = fetch.role in (Role.SUBSCRIPTION, Role.ARCHIVE) and not fetch.is_check
        if is_of_walk and not joins(result, stored):
            self._execute(UNREAD_ARCHIVE, **unread_columns | {"detail": MAY_HAVE_GROWN, "run": fetch.run})

    def _unread_columns(self) -> dict[str, object]:
        place = self._fetch.position.older_position()
        return UNREAD | {"walk": place.walk, "step": place.step, "since": self._fetch.fetched}

    # Returns the key of the document that this one links to; for a list, of its first part.
    def _write_older_documents(self) -> str | None:
        result, place = self._result, self._fetch.position
        row = {"lost_entries": 0, **self._unread_columns()}
        if result.parts is not None:
            row |= {"role": Role.PART.value, "walk": place.walk}
            rows, behind = [], None
            # The last one first: each refers to its successor.
            for index, (key, url) in reversed([*enumerate(result.parts.documents, 1)]):
                rows.append({**row, "key": key, "url": url, "step": place.step - index, "behind_key": behind})
                behind = key
            self._execute_all(WRITE_PART, rows)
            if self._unlisted_ids:
                self._execute("DELETE FROM documents WHERE id = ANY(:numbers)", numbers=self._unlisted_ids)
            return behind
        if (link := result.older_document) is None:
            return None
        key = link.key or link.url
        row |= {"key": key, "url": link.url, "role": link.role.value, "platform": link.platform}
        self._execute(WRITE_OLDER_DOCUMENT, **row)
        return key

    # -- the feed ---------------------------------------------------------------------------------

    def _write_feed(self, news_column: dict[str, object]) -> None:
        fetch, result, metadata = self._fetch, self._result, self._result.metadata
        if fetch.role is Role.SUBSCRIPTION:
            row = {
                "location": fetch.location or fetch.requested_url,
                "kind": result.kind,
                "walk": fetch.position.walk,
                "crawled": fetch.fetched,
                **self._validator_columns(),
                "body_digest": result.validators.body_digest,
                "total": metadata.total,
                "software": metadata.software,
                **change_rate_row(result),
                # That of a list of feeds stays if the document has none.
                **({"title": metadata.title} if (metadata.title or "").strip() else {}),
                **_without_none(special=fetch.special),
                **news_column,
            }
            self._update_feed(row, IS_SUBSCRIPTION)
            self._write_head()
            if (shown := metadata.shown) is not None:
                self._write_coverage(
                    coverage_after(self._stored_coverage, shown, fetch.fetched, result.lost_entries > 0)
                )
        elif fetch.role is Role.PART and news_column:
            self._update_feed(news_column)
        elif fetch.role is Role.INDEX and fetch.special is not None:
            self._update_feed({"special": fetch.special})
        elif fetch.role is Role.CAPTURE and metadata.title is not None:
            # Until the subscription document is read, a feed has the title of a capture.
            self._execute(
                "UPDATE feeds SET title = :title WHERE id = :feed_id AND kind IS NULL AND title IS NULL",
                title=metadata.title,
            )

    def _update_feed(self, values: Mapping[str, object], *more_assignments: str) -> None:
        assignments = ", ".join([assigned(values), *more_assignments])
        self._execute(f"UPDATE feeds SET {assignments} WHERE id = :feed_id", **values)

    # An incomplete head, such as a truncated one, does not replace another one.
    def _write_head(self) -> None:
        head = self._result.metadata.head
        if head is None or head.digest == self._stored_head_digest:
            return
        row = {"original": head.original, "digest": head.digest, "document": self._fetch.url}
        action = f"UPDATE SET {overwritten(row)}" if self._result.failure is None else "NOTHING"
        insert = insertion("heads", ("feed_id", *row))
        self._execute(f"{insert} ON CONFLICT (feed_id) DO {action}", **row)

    def _write_coverage(self, coverage: Coverage | None) -> None:
        if coverage is not None:
            row = {name: getattr(coverage, name) for name in COVERAGE_COLUMNS}
            self._execute(WRITE_COVERAGE, **{**row, "earlier": json.dumps(coverage.earlier)})

    # -- snapshots --------------------------------------------------------------------------------

    def _forget_other_snapshots(self) -> None:
        other_indexes = "feed_id = :feed_id AND role = 'index' AND KEY(key) <> KEY(:key)"
        # If this snapshot is older than another one, the feed's older documents have to be read again.
        is_older = f"EXISTS (SELECT 1 FROM documents WHERE {other_indexes} AND updated > :updated)"
        values = {**UNREAD, "updated": self._result.metadata.updated or "", "since": self._fetch.fetched}
        for statement in (
            f"""UPDATE documents SET state = :state, reason = :reason, detail = :detail, since = :since
            WHERE feed_id = :feed_id AND role IN ('archive', 'page') AND {is_older}""",
            f"{FORGET_VALIDATORS} AND {is_older}",
            f"DELETE FROM documents WHERE {other_indexes}",
        ):
            self._execute(statement, **values)

    # Snapshot: it is the whole state. A later one has another id, and so have all its entities: those of the
    # earlier one are deleted, once all of the later one has been read.
    def _replace_snapshots(self) -> int:
        unread_part = """SELECT 1 FROM documents
            WHERE feed_id = :feed_id AND role = 'part' AND state <> 'processed' LIMIT 1"""
        prefix = self._result.replaces
        if prefix is None or self._execute(unread_part).first() is not None:
            return 0
        # A snapshot's id may begin with another one's and ':'. An entity's id is the prefix and two
        # positions.
        of_earlier = f"""entries.feed_id = :feed_id AND substr(entries.id, 1, {len(NAMESPACE)}) = :namespace
            AND (substr(entries.id, 1, :length) <> :prefix OR substr(entries.id, :length + 1) NOT LIKE '%:%'
                OR substr(entries.id, :length + 1) LIKE '%:%:%')"""
        is_live = f"{of_earlier} AND entries.digest <> ''"
        is_pending = f"EXISTS (SELECT 1 FROM changes WHERE {CHANGE_OF_ENTRY})"
        values = {"namespace": NAMESPACE, "prefix": prefix, "length": len(prefix)}
        for statement in (
            f"""INSERT INTO versions ({VERSION_COLUMNS})
            SELECT {VERSION_COLUMNS} FROM entries WHERE {is_live} {KEEP_VERSION}"""
            if self._keeps_versions
            # Earlier deletions that have been exported never come back.
            else f"DELETE FROM entries WHERE {of_earlier} AND entries.digest = '' AND NOT {is_pending}",
            f"""INSERT INTO changes (feed_id, id, exported_digest)
            SELECT feed_id, id, digest FROM entries WHERE {is_live} AND NOT {is_pending}""",
            # No export contains these, or the last one contained their deletions.
            f"""DELETE FROM changes WHERE feed_id = :feed_id AND coalesce(exported_digest, '') = ''
            AND EXISTS (SELECT 1 FROM entries WHERE {is_live} AND {CHANGE_OF_ENTRY})""",
        ):
            self._execute(statement, **values)
        order = _order_columns(absence("", self._place).order)
        deletion = f"UPDATE entries SET {MARK_DELETED}, {assigned(ORDER)} WHERE {is_live}"
        deleted: int = self._execute(deletion, time=self._time, **values, **order).rowcount
        return deleted

    # -- the entries and their changes ------------------------------------------------------------

    def _write_entries(self) -> None:
        batch = self._batch
        if self._keeps_versions:
            self._copy_to_versions(entry_id for entry_id in batch.accepted if entry_id in batch.stored)
            self._insert(versions, KEEP_VERSION, batch.superseded.values())
        self._insert(entries, OVERWRITE_ENTRY, batch.accepted.values())
        exported_digests, unchanged_ids, new_rows = {}, [], []
        for entry_id, (version, _fields) in batch.accepted.items():
            stored = batch.stored.get(entry_id)
            exported_digest = stored and (stored.exported if stored.pending else stored.digest)
            if version.digest == exported_digest:
                unchanged_ids.append(entry_id)
            else:
                exported_digests[entry_id] = exported_digest
            if (stored is None or not stored.digest) and version.shared_id is None:
                new_rows.append({"id": entry_id, "since": self._fetch.fetched})
        self._write_changes(exported_digests, unchanged_ids)
        # The end of the walk searches for former ids of new entries. In the first walk, no id has changed.
        if self._fetch.walk > FIRST_WALK and self._result.held is not None:
            self._execute_all(insertion("renames", ("feed_id", "id", "since")), new_rows)
        confirmed = [each for each in batch.confirmed.values() if not self._is_superseded(each[0])]
        rows = list(map(self._entry_row, confirmed))
        self._execute_all(CONFIRM_ENTRY, rows)
        self._execute_all(WRITE_TIMES, [row for row in rows if row["id"] in batch.accepted])
        self._note_uncounted(self._winners, (*batch.accepted, *batch.confirmed))

    # Whether the entry has another content, or a newer version, than the one that was confirmed.
    def _is_superseded(self, version: Version) -> bool:
        if version.id in self._batch.accepted:
            accepted, _fields = self._batch.accepted[version.id]
            return accepted.order.is_newer(version.order) or accepted.digest != version.digest
        # No version with this content was accepted: a pipeline has dropped it.
        return version.id not in self._winners or self._winners[version.id].digest != version.digest

    # Entries with tombstones in the document, unless a newer version is stored, and those that a complete
    # feed does not contain any more.
    def _delete_removed_entries(self) -> int:
        deletions = []
        for version in self._result.deletions:
            winner = self._batch.winners.get(version.id)
            if winner is not None and winner.order[1:] == version.order[1:] and not winner.digest:
                deletions.append(version.with_overrides_of(winner))
        present = self._result.metadata.present
        if present is not None and self._result.failure is None:
            # RFC 5005, 2: "any entry not actually in the feed document SHOULD NOT be considered part of that
            # feed."
            present_ids = present | {version.id for version in deletions}
            deletions += [
                absence(entry_id, self._place)
                for entry_id, winner in self._winners.items()
                if winner.digest and entry_id not in present_ids
            ]
        return self._delete_entries(deletions, self._winners)


# -- rows of entries ------------------------------------------------------------------------------


# Fields have the names of their columns; fields that pipelines have added are never columns.
def _entry_row(feed_id: int, version: Version, fields: dict[str, Any]) -> dict[str, object]:
    return {
        **fields,
        "feed_id": feed_id,
        "id": version.id,
        "authors": _strings_to_json(tuple(fields["authors"])),
        "categories": _strings_to_json(tuple(fields["categories"])),
        "enclosures": _encode(fields["enclosures"]) if fields["enclosures"] else "[]",
        "digest": version.digest,
        **_order_columns(version.stored_order),
        "document_time": fields["document_updated"],
        "original": version.original,
        "added": fields.get(PIPELINE_FIELDS),
        "details": _details_to_json(fields["document"], *_details(fields)),
    }


def _order_columns(order: Order) -> dict[str, object]:
    return dict(zip(ORDER, order, strict=True))


@lru_cache(LISTS_REMEMBERED)
def _strings_to_json(values: tuple[str, ...]) -> str:
    return _encode(values)


# The base is the document's URL unless it is stored.
@lru_cache(LISTS_REMEMBERED)
def _details_to_json(document: str, *values: str | None) -> str:
    details = dict(zip(model.DETAILS, values, strict=True))
    if details["base"] in ("", document):
        del details["base"]
    return _encode({name: value for name, value in details.items() if value is not None})
