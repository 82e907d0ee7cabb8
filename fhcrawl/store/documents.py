"""Documents in the store: queries, and the commit of a document with its entries."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sqlalchemy import select

from fhcrawl.logical_feed import CHAIN, FIRST_WALK, Role, absence, absences
from fhcrawl.logical_feed.coverage import coverage_after, doubted
from fhcrawl.logical_feed.platforms import NUMBERED, PROBE
from fhcrawl.logical_feed.results import CommitBatch, DocumentFailure, State, has_changes, joins, must_follow
from fhcrawl.reasons import ReasonKind
from fhcrawl.store import chains, coverage, mementos, statements, subscriptions
from fhcrawl.store.database import Repository
from fhcrawl.store.opening import stream
from fhcrawl.store.schema import changes, documents, entries, feeds, versions
from fhcrawl.store.statements import (
    ORDER,
    TIMES,
    ChainEnd,
    DocumentRef,
    execute,
    execute_all,
    execute_among,
    insert_all,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from sqlalchemy import Connection

    from fhcrawl.documents.lists import ListedDocument
    from fhcrawl.logical_feed import Version, Winner
    from fhcrawl.logical_feed.coverage import Coverage
    from fhcrawl.logical_feed.results import DocumentResult
    from fhcrawl.store.database import Database


ENDS_EARLIER = DocumentFailure(State.KNOWN, ReasonKind.KNOWN, "no longer leads to a page")
OF_ENTRY = "feed_id = :feed_id AND KEY(id) = KEY(:id)"
SET_ORDER = ", ".join(f"{name} = :{name}" for name in ORDER)
# An entry that changes during its delivery needs another delivery.
OVERWRITE_CHANGE = "ON CONFLICT (feed_id, KEY(id)) DO UPDATE SET delivery = NULL"
OVERWRITE_ENTRY = "ON CONFLICT (feed_id, KEY(id)) DO UPDATE SET " + ", ".join(
    f"{name} = excluded.{name}" for name in entries.columns.keys()[2:]
)
KEEP_VERSION = "ON CONFLICT (feed_id, KEY(id), digest) DO NOTHING"
BEHIND = statements.id_of_document("behind_key")
SUBSCRIPTION = "(SELECT feeds.subscription_id FROM feeds WHERE feeds.id = :feed_id)"

# An archive keeps its first position in the chain; documents that every walk reads move. The link of a
# document that cannot be read any more still holds, as does the order of a list. A future `since` was
# recorded by a wrong clock. What was not read to its end is not compared with what is read next.
IS_READ = f"(excluded.state = 'processed' OR excluded.reason = '{ReasonKind.LOOP.value}')"
WRITE_DOCUMENT = f"""
INSERT INTO documents (feed_id, key, url, role, state, walk, step, lost_entries, shared_id, reason, detail,
    since, run, updated, fetched, moved_to, uncounted, etag, last_modified, validated_url, received, checked,
    checked_walk, changed_walk, held, behind_id, moved_walk)
VALUES (:feed_id, :key, :url, :role, :state, :walk, :step, :lost_entries, :shared_id, :reason, :detail,
    :since, :run, :updated, :fetched, :moved_to, :uncounted, :etag, :last_modified, :validated_url, :received,
    :checked, :checked_walk, :changed_walk, :held, {BEHIND},
    (SELECT feeds.walk FROM feeds WHERE feeds.id = :feed_id))
ON CONFLICT (feed_id, KEY(key)) DO UPDATE SET
    url = excluded.url, role = excluded.role, state = excluded.state, run = excluded.run,
    updated = excluded.updated, lost_entries = excluded.lost_entries, shared_id = excluded.shared_id,
    reason = excluded.reason, detail = excluded.detail, fetched = excluded.fetched,
    moved_to = excluded.moved_to, uncounted = excluded.uncounted,
    walk = CASE WHEN excluded.role <> 'archive' THEN excluded.walk ELSE documents.walk END,
    step = CASE WHEN excluded.role <> 'archive' THEN excluded.step ELSE documents.step END,
    behind_id = CASE WHEN excluded.state <> 'processed' OR excluded.role = 'part'
        THEN coalesce(excluded.behind_id, documents.behind_id) ELSE excluded.behind_id END,
    since = CASE
        WHEN documents.reason IS NOT DISTINCT FROM excluded.reason AND documents.since <= excluded.since
        THEN documents.since ELSE excluded.since END,
    etag = CASE WHEN {IS_READ} THEN excluded.etag ELSE documents.etag END,
    last_modified = CASE WHEN {IS_READ} THEN excluded.last_modified ELSE documents.last_modified END,
    validated_url = CASE WHEN {IS_READ} THEN excluded.validated_url ELSE documents.validated_url END,
    received = CASE WHEN {IS_READ} THEN excluded.received ELSE documents.received END,
    checked = CASE WHEN {IS_READ} THEN excluded.checked ELSE documents.checked END,
    checked_walk = CASE WHEN {IS_READ} THEN excluded.checked_walk ELSE documents.checked_walk END,
    held = CASE WHEN {IS_READ} THEN excluded.held ELSE documents.held END,
    changed_walk = CASE WHEN {IS_READ} AND NOT documents.held IS NOT DISTINCT FROM excluded.held
        THEN excluded.changed_walk ELSE documents.changed_walk END,
    moved_walk = CASE WHEN documents.moved_to IS NOT DISTINCT FROM excluded.moved_to
        THEN documents.moved_walk ELSE excluded.moved_walk END
"""
# A document that a link or a list names; an existing row keeps its state, unless it was read in another role,
# say as an earlier subscription document: it does not hold for the new role.
KNOWN_COLUMNS = "feed_id, key, url, role, state, walk, step, lost_entries, reason, detail, since"
KNOWN_VALUES = ":feed_id, :key, :url, :role, :state, :walk, :step, :lost_entries, :reason, :detail, :since"
KEEP_STATE = "ON CONFLICT (feed_id, KEY(key)) DO UPDATE SET " + ", ".join(
    f"{name} = CASE WHEN documents.role <> excluded.role THEN excluded.{name} ELSE documents.{name} END"
    for name in ("role", "state", "walk", "step", "reason", "detail", "since")
)
WRITE_KNOWN_DOCUMENT = f"""
INSERT INTO documents ({KNOWN_COLUMNS}, platform) VALUES ({KNOWN_VALUES}, :platform)
{KEEP_STATE}, platform = excluded.platform
"""
WRITE_PART = f"""
INSERT INTO documents ({KNOWN_COLUMNS}, behind_id) VALUES ({KNOWN_VALUES}, {BEHIND})
{KEEP_STATE}, url = excluded.url, behind_id = excluded.behind_id
"""
# Marks pages as unread; archives that have been read stay read.
UNREAD = """
UPDATE documents SET state = :state, reason = :reason, detail = :detail, since = :since,
    walk = :walk, step = :step
WHERE feed_id = :feed_id AND role = 'page' AND state = 'processed'
"""
BEHIND_THIS = """(SELECT one.behind_id FROM documents AS one
    WHERE one.feed_id = :feed_id AND KEY(one.key) = KEY(:key) AND one.behind_id <> one.id)"""
UNREAD_PAGE = f"{UNREAD} AND id IN {BEHIND_THIS}"
# Marks an archive as unread that was read before, and may have grown.
UNREAD_ARCHIVE = f"""
UPDATE documents SET state = :state, reason = :reason, detail = :detail, since = :since
WHERE feed_id = :feed_id AND role = 'archive' AND state = 'processed' AND run IS DISTINCT FROM :run
    AND id = {BEHIND_THIS}
"""
# An earlier subscription document may have linked to the page, or no document links to it at the moment.
_leading = (
    "SELECT one.behind_id FROM documents AS one WHERE one.feed_id = :feed_id AND one.behind_id IS NOT NULL"
)
UNREAD_PAGES = (
    f"""{UNREAD} AND (id IN ({_leading} AND one.role = 'subscription') OR id NOT IN ({_leading}))"""
)


class StoredState(NamedTuple):
    """The state of the store that a commit depends on.

    :param whole: the newest versions of all entries of the feed, by id, if the document is a complete feed's
    :param unlisted: ids of documents that an earlier version of the list named, and this one does not
    :param ends_earlier: a page has lost its link to the older one, and is to be read again
    :param covered: for how long a plain feed is covered; None if it never was read
    :param head: digest of the feed's head, if it is in memory
    """

    feed_id: int
    whole: dict[str, Winner]
    unlisted: list[int]
    ends_earlier: bool = False
    covered: Coverage | None = None
    head: str | None = None

    @staticmethod
    def matters(result: DocumentResult) -> bool:
        """Return whether the commit of a document depends on any of this; most do not."""
        has_one = (result.present, result.parts, result.shown, result.doubted_since)
        return any(one is not None for one in has_one) or _is_last_page(result)

    @classmethod
    def read(
        cls, connection: Connection, feed_id: int, result: DocumentResult, batch: CommitBatch
    ) -> StoredState:
        """Read the state."""
        whole, unlisted, ends_earlier, covered = {}, [], False, None
        if result.present is not None and result.failure is None:
            found = execute(connection, statements.WINNERS, {"feed_id": feed_id})
            whole = statements.winners(found, result.fetch.latest)
        if result.parts is not None:
            unlisted = chains.unlisted(connection, feed_id, result.parts)
        if _is_last_page(result):
            known = statements.find_document(connection, feed_id, result.fetch.key)
            if known is not None and known.behind_id is not None and known.role == Role.PAGE.value:
                ends_earlier = has_changes(result, batch.stored) or known.detail != ENDS_EARLIER.detail
        if result.shown is not None or result.doubted_since is not None:
            covered = coverage.read(connection, [feed_id]).get(feed_id)
        return cls(feed_id, whole, unlisted, ends_earlier, covered)


# The link may be missing for a while only, and the older pages may never have been read, even if this page
# has no changes. The next run reads it again: if it still has none, it is the last page.
def _is_last_page(result: DocumentResult) -> bool:
    return result.fetch.role is Role.PAGE and result.older_document is None and result.failure is None


class Commit:
    """Writes one document.

    No statement needs another one's result, so that they can be sent together; except when a snapshot
    replaces another one.
    """

    def __init__(
        self,
        connection: Connection,
        before: StoredState,
        result: DocumentResult,
        batch: CommitBatch,
        keeps_versions: bool,
    ) -> None:
        self._keeps_versions = keeps_versions
        self._connection = connection
        self._before, self._feed_id = before, before.feed_id
        self._fetch, self._result, self._batch = result.fetch, result, batch
        self._stored = {**before.whole, **batch.stored}

    def _execute(self, sql: str, **values: object) -> None:
        """Execute a statement, whose parameters `feed_id` and `key` are those of the document."""
        execute(self._connection, sql, {"feed_id": self._feed_id, "key": self._fetch.key, **values})

    # -- the kinds of writes ----------------------------------------------------------------------

    def write(self) -> int:
        """Write the document with its entries; return the number of deleted entries."""
        connection, feed_id, result = self._connection, self._feed_id, self._result
        self._write_document(ENDS_EARLIER if self._before.ends_earlier else None)
        self._write_entries()
        if result.present is not None:
            # A complete feed has no archives. If it gets some later, they restore deleted entries: they have
            # to be read again, at new positions.
            self._execute("DELETE FROM documents WHERE feed_id = :feed_id AND KEY(key) <> KEY(:key)")
        if self._fetch.role is Role.SUBSCRIPTION and result.parts is None and result.failure is None:
            chains.forget_parts(connection, feed_id)
        if self._fetch.role is Role.INDEX:
            chains.forget_others(connection, feed_id, result)
        if result.lost is None:
            self._execute(chains.FORGET_UNCONFIRMED)
        execute_all(connection, chains.NOTE_LOST, chains.absence_rows(feed_id, result))
        deleted = self._delete() + chains.replace(connection, feed_id, result, self._keeps_versions)
        self._write_feed({"news": self._fetch.fetched} if self._batch.accepted or deleted else {})
        self._write_memento()
        if _is_last_page(result) and not self._fetch.is_check:
            self._execute(f"UPDATE feeds SET unkept = {statements.UNKEPT} WHERE id = :feed_id", total=None)
        return deleted

    def write_failure(self) -> None:
        """Write that the document could not be read; the feed keeps its last subscription document's kind."""
        self._write_document()
        wait = {} if self._fetch.retry_after is None else {"retry_after": self._fetch.retry_after}
        if self._fetch.role is Role.SUBSCRIPTION:
            # If the feed has moved, this is another document than the last one that was read.
            self._write_subscription({"polled": self._fetch.fetched, **wait})
        elif wait:
            self._update_feed(wait)
        self._write_memento()

    def write_confirmation(self) -> None:
        """Write that a feed's subscription document has not changed."""
        fetch, result = self._fetch, self._result
        self._execute(coverage.CONFIRM, time=fetch.fetched)
        # RFC 9111, 4.3.4: a 304 response updates the stored header fields; those that it lacks stay.
        self._execute(
            """UPDATE feeds SET crawled = :time, polled = :time, walk = :walk, etag = :etag,
                last_modified = :last_modified, validated_url = :validated_url,
                fresh_seconds = coalesce(:fresh, fresh_seconds), special = coalesce(:special, special)
            WHERE id = :feed_id""",
            time=fetch.fetched,
            walk=fetch.position.walk,
            fresh=fetch.freshness_lifetime,
            special=fetch.special,
            **chains.validators_row(result),
        )
        if result.older_document is not None and result.older_document.role is Role.PAGE:
            # The pages that this walk goes on to read are older than what the subscription document holds.
            self._execute(
                f"""UPDATE entries SET order_walk = :walk,
                        order_overrides = CASE order_overrides
                            WHEN order_walk THEN :walk ELSE order_overrides END
                    WHERE feed_id = :feed_id
                    AND order_walk = (SELECT walk FROM documents WHERE id = {SUBSCRIPTION})
                    AND order_step = (SELECT step FROM documents WHERE id = {SUBSCRIPTION})""",
                walk=fetch.position.walk,
            )
        self._execute(
            f"""UPDATE documents SET walk = :walk, checked = :time, checked_walk = :walk,
                received = coalesce(:received, received)
            WHERE id = {SUBSCRIPTION}""",
            walk=fetch.position.walk,
            time=fetch.fetched,
            received=result.received,
        )

    # What was read of the document stays, whatever became of it: it is only not known to be as it was.
    def write_check(self) -> None:
        """Write that the document was requested again, and is the same, unless the request failed."""
        fetch = self._fetch
        values: dict[str, object] = {"fetched": fetch.fetched}
        if self._result.failure is None:
            # It may count as unread because it could have grown.
            values |= {"state": State.PROCESSED.value, "reason": None, "detail": None, "run": fetch.run}
            values |= {"checked": fetch.fetched, "checked_walk": fetch.walk}
            values |= chains.validators_row(self._result)
        changed = ", ".join(f"{name} = :{name}" for name in values)
        self._execute(
            f"UPDATE documents SET {changed} WHERE feed_id = :feed_id AND KEY(key) = KEY(:key)", **values
        )

    def write_doubt(self) -> None:
        """Write that the server sends 304 for a document that has changed, or that it may have done so."""
        covered, since = self._before.covered, self._result.doubted_since
        if self._result.failure is None:
            self._execute(
                """UPDATE feeds SET not_modified_ignored = coalesce(not_modified_ignored, :time)
                WHERE id = :feed_id""",
                time=self._fetch.fetched,
            )
        if self._fetch.role is Role.SUBSCRIPTION and covered is not None and since is not None:
            self._execute(coverage.WRITE, **coverage.row(doubted(covered, since)))

    def delete_absent(self, ids: Iterable[str]) -> int:
        """Delete entries that are gone at the publisher; return the number of live entries among them."""
        return self._delete_entries([absence(entry_id, self._fetch.position) for entry_id in ids])

    # -- the document and its links ---------------------------------------------------------------

    def _write_document(self, unless_failed: DocumentFailure | None = None) -> None:
        fetch, result, stored = self._fetch, self._result, self._batch.stored
        failure = result.failure or unless_failed
        row = {
            "url": fetch.requested_url,
            "role": fetch.role.value,
            "state": State.PROCESSED.value if failure is None else failure.state.value,
            "walk": fetch.position.walk,
            "step": fetch.position.step,
            "behind_key": self._write_behind(),
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
            **chains.content_row(result),
        }
        # Entries move from page to page, under the same URLs: if a page has changes, the older pages must be
        # read again. They count as unread at once, so that a crash of this run hides nothing from the next
        # one. A check leaves the pages behind this one to their own checks.
        follows = (
            not fetch.is_check
            and fetch.role in (Role.SUBSCRIPTION, Role.PAGE)
            and (result.is_left_over or must_follow(result, stored))
        )
        unread = statements.unread_row(fetch)
        if follows:
            # The page that it linked to before counts as unread too: the link may change back.
            self._execute(UNREAD_PAGE, **unread)
        if fetch.role is Role.SUBSCRIPTION and has_changes(result, stored):
            # Links between pages may change, and change back: pages of an earlier chain are as old as the
            # walk that read them.
            self._execute(UNREAD_PAGES, **unread)
        self._execute(WRITE_DOCUMENT, **row)
        if follows and result.older_document is not None and result.older_document.role is Role.PAGE:
            self._execute(UNREAD_PAGE, **unread)
        is_of_walk = fetch.role in (Role.SUBSCRIPTION, Role.ARCHIVE) and not fetch.is_check
        if is_of_walk and not joins(result, stored):
            self._execute(UNREAD_ARCHIVE, **unread | {"detail": chains.MAY_HAVE_GROWN, "run": fetch.run})

    def _write_behind(self) -> str | None:
        """Write the older document, or the documents of a list; return the key of the next one."""
        result = self._result
        if result.parts is not None:
            execute_all(self._connection, WRITE_PART, list(chains.part_rows(self._feed_id, result)))
            if self._before.unlisted:
                self._execute("DELETE FROM documents WHERE id = ANY(:numbers)", numbers=self._before.unlisted)
            return result.parts[0].key if result.parts else None
        if result.older_document is None:
            return None
        role, url, platform = result.older_document
        key = result.older_key or url
        row = statements.known_document_row(self._feed_id, self._fetch, key, url, role)
        execute(self._connection, WRITE_KNOWN_DOCUMENT, row | {"platform": platform})
        return key

    # A capture that cannot be read is not requested again; one that was cut off is, once.
    def _write_memento(self) -> None:
        failure = self._result.failure
        if self._fetch.capture_id is None:
            return
        if (
            failure is None
            or failure.state not in (State.KNOWN, State.FAILED)
            or failure.kind is ReasonKind.CUT_OFF
        ):
            self._execute(mementos.SETTLE, **mementos.settle_row(self._result))
        elif failure.state is State.FAILED:
            self._execute(mementos.POSTPONE, id=self._fetch.capture_id)

    # -- the feed ---------------------------------------------------------------------------------

    def _write_feed(self, news: dict[str, object]) -> None:
        role, title = self._fetch.role, self._result.title
        if role is Role.SUBSCRIPTION:
            self._write_subscription(self._subscription_row() | news)
            self._write_head()
            self._write_coverage()
        elif role is Role.PART and news:
            self._update_feed(news)
        elif role is Role.INDEX and self._fetch.special is not None:
            self._update_feed({"special": self._fetch.special})
        elif role is Role.CAPTURE and title is not None:
            # Until the subscription document is read, a feed has the title of a capture.
            self._execute(
                "UPDATE feeds SET title = :title WHERE id = :feed_id AND kind IS NULL AND title IS NULL",
                title=title,
            )

    def _update_feed(self, values: Mapping[str, object], *also: str) -> None:
        changed = ", ".join([*(f"{name} = :{name}" for name in values), *also])
        self._execute(f"UPDATE feeds SET {changed} WHERE id = :feed_id", **values)

    def _write_subscription(self, values: Mapping[str, object]) -> None:
        """Write columns of the feed, and that the document is its subscription document."""
        self._update_feed(values, f"subscription_id = {statements.id_of_document('key')}")

    def _subscription_row(self) -> dict[str, object]:
        fetch, result = self._fetch, self._result
        *_, body_digest = result.validators or (None,)
        return {
            "location": fetch.location or fetch.requested_url,
            # That of a list of feeds stays if the document has none.
            **({"title": result.title} if (result.title or "").strip() else {}),
            "kind": result.kind,
            "walk": fetch.position.walk,
            "crawled": fetch.fetched,
            **chains.validators_row(result),
            "body_digest": body_digest,
            "total": result.total,
            "software": result.software,
            **subscriptions.answer_row(result),
            **({} if fetch.special is None else {"special": fetch.special}),
        }

    # A head that is incomplete, say because it is cut off, does not replace another one.
    def _write_head(self) -> None:
        head = self._result.head
        if head is None or head.digest == self._before.head:
            return
        replace = """UPDATE SET original = excluded.original, digest = excluded.digest,
            document = excluded.document"""
        self._execute(
            f"""INSERT INTO heads (feed_id, original, digest, document)
            VALUES (:feed_id, :original, :digest, :document)
            ON CONFLICT (feed_id) DO {replace if self._result.failure is None else "NOTHING"}""",
            original=head.original,
            digest=head.digest,
            document=self._fetch.url,
        )

    def _write_coverage(self) -> None:
        shown, before = self._result.shown, self._before.covered
        if shown is not None:
            covered = coverage_after(before, shown, self._fetch.fetched, self._result.breaks_span)
            if covered is not None:
                self._execute(coverage.WRITE, **coverage.row(covered))

    # -- the entries and their changes ------------------------------------------------------------

    def _write_entries(self) -> None:
        connection, batch, feed_id = self._connection, self._batch, self._feed_id
        self._keep([i for i in batch.accepted if i in batch.stored])
        if self._keeps_versions:
            superseded = [statements.entry_row(feed_id, *version) for version in batch.superseded.values()]
            insert_all(connection, versions, KEEP_VERSION, superseded)
        accepted = [statements.entry_row(feed_id, *version) for version in batch.accepted.values()]
        insert_all(connection, entries, OVERWRITE_ENTRY, accepted)
        exported = {entry_id: self._exported(entry_id) for entry_id in batch.accepted}
        is_as_exported = {i: version.digest == exported[i] for i, (version, _) in batch.accepted.items()}
        self._begin_changes({i: digest for i, digest in exported.items() if not is_as_exported[i]})
        self._delete_changes([i for i in exported if is_as_exported[i]])
        # New entries, whose former ids are looked for at the end of the walk. In the first walk, no id has
        # changed.
        if self._fetch.walk > FIRST_WALK and self._result.held is not None:
            new = [i for i in batch.accepted if not (i in batch.stored and batch.stored[i].digest)]
            execute_all(
                connection,
                "INSERT INTO renames (feed_id, id, since) VALUES (:feed_id, :id, :since)",
                [{"feed_id": feed_id, "id": i, "since": self._fetch.fetched} for i in new],
            )
        execute_all(
            connection,
            f"""UPDATE entries SET {", ".join(f"{name} = :{name}" for name in TIMES)}, {SET_ORDER},
                digest = :digest, details = :details,
                enclosures = coalesce(:enclosures, enclosures), original = coalesce(UTF8(:original), original)
            WHERE {OF_ENTRY}""",
            [
                statements.times_row(feed_id, version, fields)
                for version, fields in batch.confirmed.values()
                if not self._is_superseded(version)
            ],
        )
        self._note_uncounted([*batch.accepted, *batch.confirmed])

    # A version that is replaced while a clock is wrong may be the newest by a correct clock: its document is
    # read again then, as are the documents that were read with a wrong clock.
    def _note_uncounted(self, ids: list[str]) -> None:
        """Store the earliest future time of each replaced version in the row of its document."""
        earliest: dict[tuple[int, int], str] = {}
        for entry_id in ids:
            winner = self._stored.get(entry_id)
            if winner is None or winner.uncounted is None or winner.order.walk < FIRST_WALK:
                continue
            place = winner.order.walk, winner.order.step
            earliest[place] = min(winner.uncounted, earliest.get(place, winner.uncounted))
        earliest.pop(self._fetch.position, None)
        execute_all(
            self._connection,
            """UPDATE documents SET uncounted = CASE WHEN uncounted < :time THEN uncounted ELSE :time END
            WHERE feed_id = :feed_id AND walk = :walk AND step = :step""",
            [
                {"feed_id": self._feed_id, "walk": walk, "step": step, "time": time}
                for (walk, step), time in earliest.items()
            ],
        )

    def _keep(self, ids: list[str]) -> None:
        """Copy stored entries that are about to be replaced or deleted, if versions are kept."""
        if self._keeps_versions and ids:
            columns = ", ".join(versions.columns.keys())
            query = f"SELECT {columns} FROM entries WHERE feed_id = :feed_id"
            insert = f"INSERT INTO versions ({columns})"
            execute_among(self._connection, query, self._feed_id, ids, insert, KEEP_VERSION)

    def _is_superseded(self, version: Version) -> bool:
        """Return whether the stored content is, or will be, another one than this version's."""
        if version.id in self._batch.accepted:
            accepted, _fields = self._batch.accepted[version.id]
            return accepted.order.is_newer(version.order) or accepted.digest != version.digest
        # No version with this content was accepted: a pipeline has dropped it.
        return version.id not in self._stored or self._stored[version.id].digest != version.digest

    def _exported(self, entry_id: str) -> str | None:
        """Return the digest that was last exported of an entry; None if none ever was."""
        before = self._batch.stored.get(entry_id)
        if before is None:
            return None
        return before.exported if before.pending else before.digest

    def _begin_changes(self, exported: Mapping[str, str | None]) -> None:
        begun: list[tuple[object, ...]] = [
            (self._feed_id, entry_id, digest, None) for entry_id, digest in exported.items()
        ]
        insert_all(self._connection, changes, OVERWRITE_CHANGE, begun)

    def _delete_changes(self, ids: list[str]) -> None:
        deleted = [{"feed_id": self._feed_id, "id": entry_id} for entry_id in ids]
        execute_all(self._connection, f"DELETE FROM changes WHERE {OF_ENTRY}", deleted)

    def _delete(self) -> int:
        """Delete entries by tombstones and absence; return the number of live entries among them."""
        deletions = []
        for version in self._result.deletions:
            winner = self._batch.winners.get(version.id)
            if winner is not None and winner.order[1:] == version.order[1:] and not winner.digest:
                deletions.append(version.over(winner))
        if self._result.present is not None and self._result.failure is None:
            # RFC 5005, 2: "any entry not actually in the feed document SHOULD NOT be considered part of that
            # feed."
            present = self._result.present | {version.id for version in deletions}
            deletions += [
                absence(entry_id, self._fetch.position)
                for entry_id, winner in self._stored.items()
                if winner.digest and entry_id not in present
            ]
        return self._delete_entries(deletions)

    def _delete_entries(self, deletions: list[Version]) -> int:
        known = {v.id: self._stored[v.id] for v in deletions if v.id in self._stored}
        live = {entry_id: winner for entry_id, winner in known.items() if winner.digest}
        self._note_uncounted(list(known))
        self._keep(list(live))
        unseen = {v.id: statements.tombstone_row(self._feed_id, v) for v in deletions if v.id not in known}
        insert_all(self._connection, entries, OVERWRITE_ENTRY, list(unseen.values()))
        execute_all(
            self._connection,
            f"UPDATE entries SET digest = '', {SET_ORDER} WHERE {OF_ENTRY}",
            [
                {"feed_id": self._feed_id, "id": v.id, **dict(zip(ORDER, v.stored_order, strict=True))}
                for v in deletions
                if v.id in known
            ],
        )
        self._delete_changes([i for i, w in live.items() if w.pending and not w.exported])
        self._begin_changes({i: w.digest for i, w in live.items() if not w.pending})
        return len(live)


T = TypeVar("T")

OF_KEY = "feed_id = :feed_id AND KEY(key) = KEY(:key)"


class NewerDocument(NamedTuple):
    """The document that links to an older one.

    :param held: see `DocumentResult`
    """

    role: Role
    held: bytes


class Documents(Repository):
    """The documents and their chains: `store.documents`.

    With `keeps_versions`, a commit keeps the earlier versions of entries.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.keeps_versions = False

    def _select(self, sql: str, feed: str, **values: object) -> Any:
        """Execute a query about a feed; return its first row, or None."""
        with self._database.lookup() as connection:
            values["feed_id"] = self._database.find_id(connection, feed)
            return statements.execute(connection, sql, values).first()

    def find(self, feed: str, key: str) -> DocumentRef | None:
        """Return a document of a feed; None if it is not known."""
        row = self._select(f"SELECT * FROM documents WHERE {OF_KEY}", feed, key=key)
        return None if row is None else DocumentRef.of(row)

    def find_first_unread(self, feed: str, parts: list[ListedDocument]) -> int:
        """Return the index of the first unprocessed part of a list; the number of parts if there is none.

        Those that have failed come after those that were never requested: they cannot use up all requests.
        """
        with self._database.lookup() as connection:
            feed_id = self._database.find_id(connection, feed)
            states = select(documents.c.key, documents.c.state).where(chains.is_part(feed_id))
            known = {key: State(state) for key, state in connection.execute(states)}
        for wanted in ({State.KNOWN}, set(State) - {State.PROCESSED}):
            for number, part in enumerate(parts):
                if known.get(part.key, State.KNOWN) in wanted:
                    return number
        return len(parts)

    def find_next_part(self, feed: str, key: str) -> DocumentRef | None:
        """Return the first part after another one that is not processed; None if all are."""
        with self._database.lookup() as connection:
            row = statements.find_document(connection, self._database.find_id(connection, feed), key)
            return None if row is None else chains.unread_older(connection, row)

    def find_referrer(self, feed: str, key: str) -> str | None:
        """Return the URL of a document that links to another one of the feed; None if none is known."""
        referrer = f"""SELECT url FROM documents
            WHERE feed_id = :feed_id AND behind_id = {statements.id_of_document("key")}"""
        row = self._select(referrer, feed, key=key)
        return None if row is None else row.url

    def find_newer(self, feed: str, key: str) -> NewerDocument | None:
        """Return the newest document that links to another one of the feed, as it was last read.

        :return: None if it is not known, or never changes
        """
        newer = f"""SELECT role, held FROM documents
            WHERE feed_id = :feed_id AND behind_id = {statements.id_of_document("key")}
            AND KEY(key) <> KEY(:key) AND held IS NOT NULL
            ORDER BY walk DESC, step DESC LIMIT 1"""
        row = self._select(newer, feed, key=key)
        return None if row is None else NewerDocument(Role(row.role), bytes(row.held))

    def find_formed(self, feed: str, key: str, platform: str) -> str | None:
        """Return the URL of the older page of a document, if no link names it.

        :param platform: the software that names it so; None is returned if it is another one
        """
        formed = f"""SELECT url FROM documents
            WHERE platform = :platform AND id = (SELECT behind_id FROM documents WHERE {OF_KEY})"""
        row = self._select(formed, feed, key=key, platform=platform)
        return None if row is None else row.url

    def find_probe(self, feed: str) -> tuple[bool, str | None]:
        """Return whether a feed is known to have numbered pages, and when a probe for them was answered.

        :return: (False, None) for a feed that has never been probed, or that was not `single` last
        """
        # A probe that was answered has no contents if there are no pages; without an answer, it was not
        # received.
        probed = """SELECT sum(CASE WHEN platform = :numbered OR held IS NOT NULL THEN 1 ELSE 0 END) AS pages,
                max(received) AS received
            FROM documents WHERE feed_id = :feed_id AND platform IN (:numbered, :probe)
            AND EXISTS (SELECT 1 FROM feeds WHERE feeds.id = :feed_id AND feeds.kind = 'single')"""
        row = self._select(probed, feed, numbered=NUMBERED.name, probe=PROBE.name)
        return bool(row.pages), row.received

    def count_shown(self, feed: str) -> int:
        """Return how many entries a feed's subscription document showed when it was read; 0 if unknown."""
        shown = """SELECT held FROM documents
            WHERE id = (SELECT feeds.subscription_id FROM feeds WHERE feeds.id = :feed_id)"""
        row = self._select(shown, feed)
        return 0 if row is None or row.held is None else sum(1 for _ in absences.ids_of(bytes(row.held)))

    def find_end(self, feed: str, key: str, role: Role, run: int) -> ChainEnd | None:
        """Return the first document of a chain that is not processed, from a document on.

        :param key: key of the document to begin at
        :param role: the role that the link gives to this document
        :param run: number of this crawl: a chain that reaches the subscription document read in it is a loop
        :return: None if the store does not have that document, or has it with another role
        """
        end = f"""{statements.chain(OF_KEY)}
            SELECT start.id AS start_id, start.role AS start_role, start.run AS start_run, ends.*
            FROM (SELECT id, role, run FROM documents WHERE {OF_KEY}) AS start
            LEFT JOIN (
                SELECT documents.* FROM documents JOIN chain ON chain.id = documents.id
                WHERE chain.state <> 'processed' OR chain.behind_id IS NULL
            ) AS ends ON true"""
        row = self._select(end, feed, key=key)
        if row is None:
            return None
        if row.start_role != role.value:
            return ChainEnd(None, loop=True) if row.start_run == run else None
        if row.state is None:
            with self._database.lookup() as connection:
                return ChainEnd(_end_of_loop(connection, row.start_id), loop=True)
        return ChainEnd.of(row)

    def read_urls(self, feed: str) -> Iterator[tuple[str, Role, State]]:
        """Yield the URLs of the documents of a feed's chain; the subscription document first."""
        with self._database.snapshot() as connection:
            feed_id = self._database.find_id(connection, feed)
            yield feed, Role.SUBSCRIPTION, State.KNOWN
            # Where it is polled, and where a redirect led.
            polled = select(feeds.c.location, feeds.c.validated_url).where(feeds.c.id == feed_id)
            for url in filter(None, connection.execute(polled).one()):
                yield url, Role.SUBSCRIPTION, State.KNOWN
            values = {"feed_id": feed_id, "roles": [role.value for role in CHAIN], "probe": PROBE.name}
            chain = """SELECT url, role, state FROM documents WHERE feed_id = :feed_id AND role = ANY(:roles)
                AND (platform IS NULL OR platform <> :probe OR held IS NOT NULL)"""
            with stream(connection, chain, values) as found:
                for row in found:
                    yield row.url, Role(row.role), State(row.state)

    def commit(self, result: DocumentResult, batch: CommitBatch) -> int:
        """Store a document with its entries in one transaction.

        :return: number of entries deleted because a complete feed no longer has them
        :raises LeaseError: if another crawl has taken the feed over
        """
        return self._written(result, batch, Commit.write)

    def send(
        self, result: DocumentResult, batch: CommitBatch, done: Callable[[int | Exception], None]
    ) -> None:
        """Do what `commit` does, without waiting for PostgreSQL's answer.

        Later calls of this store see the result.

        :param done: called with what `commit` returns or raises, during this call or another one of this
            store, or by the event loop; `Store.wait` waits for it
        """
        self._write(result, batch, Commit.write, done)

    def note_failure(self, result: DocumentResult) -> None:
        """Store that a document could not be fetched or read; the older documents stay known.

        :raises LeaseError: if another crawl has taken the feed over
        """
        self._written(result, CommitBatch(), Commit.write_failure)

    def note_confirmation(self, result: DocumentResult) -> None:
        """Store that a feed's subscription document has not changed; errors as `note_failure`."""
        self._written(result, CommitBatch(), Commit.write_confirmation)

    def note_check(self, result: DocumentResult) -> None:
        """Store that a document was checked, and has not changed, or could not be read; as `note_failure`."""
        self._written(result, CommitBatch(), Commit.write_check)

    def note_doubt(self, result: DocumentResult) -> None:
        """Store that a feed's server sends 304 for a document that has changed; as `note_failure`."""
        self._written(result, CommitBatch(), Commit.write_doubt)

    def _written(self, result: DocumentResult, batch: CommitBatch, write: Callable[[Commit], T]) -> T:
        answers: list[T | Exception] = []
        self._write(result, batch, write, answers.append)
        self._database.wait()
        [answer] = answers
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _write(
        self,
        result: DocumentResult,
        batch: CommitBatch,
        write: Callable[[Commit], T],
        done: Callable[[T | Exception], None],
    ) -> None:
        self._database.wait()
        answer: T | Exception
        try:
            before = self._before(result, batch)
            leases, pipeline = self._database.require_leases(), self._database.pipeline

            def commit(check: Callable[[Connection, int], None], connection: Connection) -> T:
                check(connection, before.feed_id)
                return write(Commit(connection, before, result, batch, self.keeps_versions))

            # What a snapshot replaces depends on the store's state at the time of the commit.
            if pipeline is not None and result.replaces is None:
                self._database.send(pipeline, partial(commit, leases.assert_owner), done)
                return
            with self._database.transaction() as connection:
                answer = commit(leases.check, connection)
        except Exception as error:  # noqa: BLE001 - `done` handles it
            answer = error
        done(answer)

    def _before(self, result: DocumentResult, batch: CommitBatch) -> StoredState:
        feed_id = self._database.remembered_id(result.fetch.feed)
        if feed_id is not None and not StoredState.matters(result):
            before = StoredState(feed_id, {}, [])
        else:
            with self._database.lookup() as connection:
                feed_id = self._database.find_id(connection, result.fetch.feed)
                before = StoredState.read(connection, feed_id, result, batch)
        return (
            before
            if result.head is None
            else before._replace(head=self._database.head_digests.pop(feed_id, None))
        )


def _end_of_loop(connection: Connection, start: int) -> DocumentRef:
    """Return the document that leads back to a document before it, in a chain that is a loop.

    :param start: id of the chain's first document
    """
    links = statements.chain("documents.id = :start")
    found = statements.execute(
        connection,
        f"{links} SELECT documents.* FROM documents JOIN chain ON chain.id = documents.id",
        {"start": start},
    )
    left = {row.id: row for row in found}
    row = left.pop(start)
    while row.behind_id in left:
        row = left.pop(row.behind_id)
    return DocumentRef.of(row)
