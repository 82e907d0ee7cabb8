"""Writes a document and its entries in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.logical_feed import FIRST_WALK, Role, absence
from fhcrawl.logical_feed.coverage import coverage_after, doubted
from fhcrawl.logical_feed.results import DocumentFailure, State, has_changes, joins, must_follow
from fhcrawl.reasons import ReasonKind
from fhcrawl.store import chains, coverage, mementos, rows, statements, subscriptions
from fhcrawl.store.schema import changes, entries, versions
from fhcrawl.store.statements import (
    ORDER,
    TIMES,
    execute,
    execute_all,
    execute_among,
    id_of_document,
    insert_all,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

    from fhcrawl.logical_feed import Version, Winner
    from fhcrawl.logical_feed.coverage import Coverage
    from fhcrawl.logical_feed.results import CommitBatch, DocumentResult
ENDS_EARLIER = DocumentFailure(State.KNOWN, ReasonKind.KNOWN, "no longer leads to a page")

OF_DOCUMENT = "feed_id = :feed_id AND KEY(key) = KEY(:key)"
OF_ENTRY = "feed_id = :feed_id AND KEY(id) = KEY(:id)"
SET_ORDER = ", ".join(f"{name} = :{name}" for name in ORDER)
# An entry that changes during its delivery needs another delivery.
OVERWRITE_CHANGE = "ON CONFLICT (feed_id, KEY(id)) DO UPDATE SET delivery = NULL"
OVERWRITE_ENTRY = "ON CONFLICT (feed_id, KEY(id)) DO UPDATE SET " + ", ".join(
    f"{name} = excluded.{name}" for name in entries.columns.keys()[2:]
)
KEEP_VERSION = "ON CONFLICT (feed_id, KEY(id), digest) DO NOTHING"
VERSION_COLUMNS = ", ".join(versions.columns.keys())

# The columns that are written of a document that has not been read, and of one that has.
UNREAD_COLUMNS = (
    *("feed_id", "key", "url", "role", "state", "walk", "step"),
    *("lost_entries", "reason", "detail", "since"),
)
# What is known of a document's content, to see whether it has changed when it is requested again.
CONTENT_COLUMNS = (
    *("etag", "last_modified", "validated_url", "received"),
    *("checked", "checked_walk", "changed_walk", "held"),
)
READ_COLUMNS = (
    *UNREAD_COLUMNS,
    "shared_id",
    "run",
    "updated",
    "fetched",
    "moved_to",
    "uncounted",
    *CONTENT_COLUMNS,
)
# What was not read to its end is not compared with what is read next.
IS_READ = f"(excluded.state = 'processed' OR excluded.reason = '{ReasonKind.LOOP.value}')"
_content = ", ".join(
    f"{name} = CASE WHEN {IS_READ} THEN excluded.{name} ELSE documents.{name} END"
    for name in CONTENT_COLUMNS
    if name != "changed_walk"
)
# An archive keeps its first position in the chain; documents that every walk reads move. The link of a
# document that cannot be read any more still holds, as does the order of a list. A future `since` was
# recorded by a wrong clock.
WRITE_DOCUMENT = f"""
INSERT INTO documents ({", ".join(READ_COLUMNS)}, behind_id, moved_walk)
VALUES ({", ".join(f":{name}" for name in READ_COLUMNS)}, {id_of_document("behind_key")},
    (SELECT feeds.walk FROM feeds WHERE feeds.id = :feed_id))
ON CONFLICT (feed_id, KEY(key)) DO UPDATE SET
    url = excluded.url, role = excluded.role, state = excluded.state, run = excluded.run,
    updated = excluded.updated, lost_entries = excluded.lost_entries,
    shared_id = excluded.shared_id, reason = excluded.reason,
    detail = excluded.detail, fetched = excluded.fetched, moved_to = excluded.moved_to,
    uncounted = excluded.uncounted,
    walk = CASE WHEN excluded.role <> 'archive' THEN excluded.walk ELSE documents.walk END,
    step = CASE WHEN excluded.role <> 'archive' THEN excluded.step ELSE documents.step END,
    behind_id = CASE WHEN excluded.state <> 'processed' OR excluded.role = 'part'
        THEN coalesce(excluded.behind_id, documents.behind_id) ELSE excluded.behind_id END,
    since = CASE
        WHEN documents.reason IS NOT DISTINCT FROM excluded.reason AND documents.since <= excluded.since
        THEN documents.since ELSE excluded.since END,
    {_content},
    changed_walk = CASE WHEN {IS_READ} AND NOT documents.held IS NOT DISTINCT FROM excluded.held
        THEN excluded.changed_walk ELSE documents.changed_walk END,
    moved_walk = CASE WHEN documents.moved_to IS NOT DISTINCT FROM excluded.moved_to
        THEN documents.moved_walk ELSE excluded.moved_walk END
"""
# A document that a link or a list names; an existing row keeps its state, unless it was read in another role,
# say as an earlier subscription document: it does not hold for the new role.
_state_of_role = ", ".join(
    f"{name} = CASE WHEN documents.role <> excluded.role THEN excluded.{name} ELSE documents.{name} END"
    for name in ("role", "state", "walk", "step", "reason", "detail", "since")
)
_unread_values = ", ".join(f":{name}" for name in UNREAD_COLUMNS)
WRITE_KNOWN_DOCUMENT = f"""
INSERT INTO documents ({", ".join(UNREAD_COLUMNS)}, platform) VALUES ({_unread_values}, :platform)
ON CONFLICT (feed_id, KEY(key)) DO UPDATE SET {_state_of_role}, platform = excluded.platform
"""
WRITE_PART = f"""
INSERT INTO documents ({", ".join(UNREAD_COLUMNS)}, behind_id)
VALUES ({_unread_values}, {id_of_document("behind_key")})
ON CONFLICT (feed_id, KEY(key)) DO UPDATE
SET {_state_of_role}, url = excluded.url, behind_id = excluded.behind_id
"""
# Marks pages as unread; archives that have been read stay read.
UNREAD = """
UPDATE documents SET state = :state, reason = :reason, detail = :detail, since = :since,
    walk = :walk, step = :step
WHERE feed_id = :feed_id AND role = 'page' AND state = 'processed'
"""
# Marks an archive as unread that was read before, and may have grown.
UNREAD_ARCHIVE = """
UPDATE documents SET state = :state, reason = :reason, detail = :detail, since = :since
WHERE feed_id = :feed_id AND role = 'archive' AND state = 'processed' AND run IS DISTINCT FROM :run AND id = (
    SELECT one.behind_id FROM documents AS one WHERE one.feed_id = :feed_id AND KEY(one.key) = KEY(:key))
"""
UNREAD_PAGE = f"""{UNREAD} AND id IN (
    SELECT one.behind_id FROM documents AS one
    WHERE one.feed_id = :feed_id AND KEY(one.key) = KEY(:key) AND one.behind_id <> one.id)
"""
_leading = (
    "SELECT one.behind_id FROM documents AS one WHERE one.feed_id = :feed_id AND one.behind_id IS NOT NULL"
)
# An earlier subscription document may have linked to the page, or no document links to it at the moment.
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
        whole, unlisted = {}, []
        if result.present is not None and result.failure is None:
            found = execute(connection, statements.WINNERS, {"feed_id": feed_id})
            whole = rows.winners(found, result.fetch.latest)
        if result.parts is not None:
            unlisted = chains.unlisted(connection, feed_id, result.parts)
        ends_earlier = False
        if _is_last_page(result):
            known = rows.find_document(connection, feed_id, result.fetch.key)
            if known is not None and known.behind_id is not None and known.role == Role.PAGE.value:
                ends_earlier = has_changes(result, batch.stored) or known.detail != ENDS_EARLIER.detail
        covered = None
        if result.shown is not None or result.doubted_since is not None:
            covered = coverage.read(connection, [feed_id]).get(feed_id)
        return cls(feed_id, whole, unlisted, ends_earlier, covered)


# The link may be missing for a while only, and the older pages may never have been read, even if this page
# has no changes. The next run reads it again: if it still has none, it is the last page.
def _is_last_page(result: DocumentResult) -> bool:
    """Return whether a page links to no older one."""
    return result.fetch.role is Role.PAGE and result.older_document is None and result.failure is None


# The states of captures that are asked for again.
AGAIN = (State.KNOWN, State.FAILED)
HAVE_OLDER_PAGES = (Role.SUBSCRIPTION, Role.PAGE)
HAVE_OLDER_ARCHIVES = (Role.SUBSCRIPTION, Role.ARCHIVE)


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
        self._feed_id, whole, self._unlisted, ends_earlier, self._covered, self._known_head = before
        self._unless_lost = ENDS_EARLIER if ends_earlier else None
        self._fetch, self._result, self._batch = result.fetch, result, batch
        self._stored = {**whole, **batch.stored}

    def write(self) -> int:
        """Write the document with its entries; return the number of deleted entries."""
        self._write_document(self._unless_lost)
        self._write_entries()
        if self._result.present is not None:
            self._forget_chain()
        if (
            self._fetch.role is Role.SUBSCRIPTION
            and self._result.parts is None
            and self._result.failure is None
        ):
            chains.forget_parts(self._connection, self._feed_id)
        if self._fetch.role is Role.INDEX:
            chains.forget_others(self._connection, self._feed_id, self._result)
        if self._result.lost is None:
            self._execute(chains.FORGET_UNCONFIRMED)
        execute_all(self._connection, chains.NOTE_LOST, chains.absence_rows(self._feed_id, self._result))
        deleted = self._delete()
        deleted += chains.replace(self._connection, self._feed_id, self._result, self._keeps_versions)
        self._write_feed(has_news=bool(self._batch.accepted) or deleted > 0)
        if _is_last_page(self._result) and not self._fetch.is_check:
            self._execute(f"UPDATE feeds SET unkept = {statements.UNKEPT} WHERE id = :feed_id", total=None)
        return deleted

    def _write_feed(self, has_news: bool) -> None:
        if self._fetch.role is Role.SUBSCRIPTION:
            self._write_subscription(self._subscription_row())
            self._write_head()
            self._write_coverage()
        if self._fetch.role is Role.INDEX and self._fetch.special is not None:
            self._update_feed({"special": self._fetch.special})
        if self._fetch.role is Role.CAPTURE and self._result.title is not None:
            # Until the subscription document is read, a feed has the title of a capture.
            self._execute(
                "UPDATE feeds SET title = :title WHERE id = :feed_id AND kind IS NULL AND title IS NULL",
                title=self._result.title,
            )
        self._settle_memento()
        if has_news and self._fetch.role in (Role.SUBSCRIPTION, Role.PART):
            self._update_feed({"news": self._fetch.fetched})

    # A capture that cannot be read is not asked for again; one that was cut off is, once.
    def _settle_memento(self) -> None:
        """Write what the capture of a web archive has shown."""
        failure = self._result.failure
        is_settled = failure is None or failure.state not in AGAIN or failure.kind is ReasonKind.CUT_OFF
        if self._fetch.memento is not None and is_settled:
            self._execute(mementos.SETTLE, **mementos.settle_row(self._result))
        elif self._fetch.memento is not None and failure is not None and failure.state is State.FAILED:
            self._execute(mementos.POSTPONE, id=self._fetch.memento)

    def _write_head(self) -> None:
        """Write the head of the subscription document, if it is new.

        One that is incomplete, say because it is cut off, does not replace another one.
        """
        head, fetch = self._result.head, self._fetch
        if head is None or head.digest == self._known_head:
            return
        replace = """UPDATE SET original = excluded.original, digest = excluded.digest,
            document = excluded.document"""
        self._execute(
            f"""INSERT INTO heads (feed_id, original, digest, document)
            VALUES (:feed_id, :original, :digest, :document)
            ON CONFLICT (feed_id) DO {replace if self._result.failure is None else "NOTHING"}""",
            original=head.original,
            digest=head.digest,
            document=fetch.url,
        )

    def _write_coverage(self) -> None:
        """Write for how long a plain feed is covered."""
        if self._result.shown is None:
            return
        result = self._result
        covered = coverage_after(self._covered, self._result.shown, self._fetch.fetched, result.breaks_span)
        if covered is not None:
            self._execute(coverage.WRITE, **coverage.row(covered))

    def write_failure(self) -> None:
        """Write that the document could not be read; the feed keeps its last subscription document's kind."""
        self._write_document()
        if self._fetch.retry_after is not None:
            self._update_feed({"retry_after": self._fetch.retry_after})
        self._write_asked()
        self._settle_memento()

    # If the feed has moved, this is another document than the last one that was read.
    def _write_asked(self) -> None:
        """Write when the feed's subscription document was requested, if this is it."""
        if self._fetch.role is Role.SUBSCRIPTION:
            self._write_subscription({"polled": self._fetch.fetched})

    def write_confirmation(self) -> None:
        """Write that a feed's subscription document has not changed."""
        fetch = self._fetch
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
            **chains.validators_row(self._result),
        )
        subscription = "(SELECT feeds.subscription_id FROM feeds WHERE feeds.id = :feed_id)"
        if self._result.older_document is not None and self._result.older_document.role is Role.PAGE:
            # The pages that this walk goes on to read are older than what the subscription document holds.
            self._execute(
                f"""UPDATE entries SET order_walk = :walk,
                        order_overrides = CASE order_overrides
                            WHEN order_walk THEN :walk ELSE order_overrides END
                    WHERE feed_id = :feed_id
                    AND order_walk = (SELECT walk FROM documents WHERE id = {subscription})
                    AND order_step = (SELECT step FROM documents WHERE id = {subscription})""",
                walk=fetch.position.walk,
            )
        self._execute(
            f"""UPDATE documents SET walk = :walk, checked = :time, checked_walk = :walk,
                received = coalesce(:received, received)
            WHERE id = {subscription}""",
            walk=fetch.position.walk,
            time=fetch.fetched,
            received=self._result.received,
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
        self._execute(f"UPDATE documents SET {changed} WHERE {OF_DOCUMENT}", **values)

    def write_doubt(self) -> None:
        """Write that the server sends 304 for a document that has changed, or that it may have done so."""
        fetch, since = self._fetch, self._result.doubted_since
        if self._result.failure is None:
            self._execute(
                """UPDATE feeds SET not_modified_ignored = coalesce(not_modified_ignored, :time)
                WHERE id = :feed_id""",
                time=fetch.fetched,
            )
        if fetch.role is Role.SUBSCRIPTION and self._covered is not None and since is not None:
            self._execute(coverage.WRITE, **coverage.row(doubted(self._covered, since)))

    def _update_feed(self, values: Mapping[str, object], *also: str) -> None:
        changed = ", ".join([*(f"{name} = :{name}" for name in values), *also])
        self._execute(f"UPDATE feeds SET {changed} WHERE id = :feed_id", **values)

    def _write_subscription(self, values: Mapping[str, object]) -> None:
        """Write columns of the feed, and that the document is its subscription document."""
        self._update_feed(values, f"subscription_id = {id_of_document('key')}")

    # A complete feed has no archives. If it gets some later, they restore deleted entries: they have to be
    # read again, at new positions.
    def _forget_chain(self) -> None:
        self._execute("DELETE FROM documents WHERE feed_id = :feed_id AND KEY(key) <> KEY(:key)")

    def _write_document(self, unless_lost: DocumentFailure | None = None) -> None:
        """Write the document and its link to the older one."""
        failure = self._result.failure or unless_lost
        row = rows.document_row(self._feed_id, self._result, self._write_behind(), failure)
        row |= chains.content_row(self._result)
        # The page that it linked to before counts as unread too: the link may change back.
        self._unread_page()
        self._unread_pages()
        execute(self._connection, WRITE_DOCUMENT, row)
        if self._result.older_document is not None and self._result.older_document.role is Role.PAGE:
            self._unread_page()
        is_of_walk = self._fetch.role in HAVE_OLDER_ARCHIVES and not self._fetch.is_check
        if is_of_walk and not joins(self._result, self._batch.stored):
            since = {"since": self._fetch.fetched, "run": self._fetch.run}
            self._execute(UNREAD_ARCHIVE, **rows.UNREAD | {"detail": chains.MAY_HAVE_GROWN} | since)

    # Entries move from page to page, under the same URLs: if a page has changes, the older pages must be read
    # again. They count as unread at once, so that a crash of this run hides nothing from the next one.
    def _unread_page(self) -> None:
        result = self._result
        # A check leaves the pages behind this one to their own checks.
        if self._fetch.is_check:
            return
        follows = result.is_left_over or must_follow(result, self._batch.stored)
        if follows and self._fetch.role in HAVE_OLDER_PAGES:
            self._execute(UNREAD_PAGE, **rows.unread_row(self._fetch))

    # Links between pages may change, and change back: pages of an earlier chain are as old as the walk that
    # read them.
    def _unread_pages(self) -> None:
        if self._fetch.role is Role.SUBSCRIPTION and has_changes(self._result, self._batch.stored):
            self._execute(UNREAD_PAGES, **rows.unread_row(self._fetch))

    def _write_behind(self) -> str | None:
        """Write the older document, or the documents of a list; return the key of the next one."""
        result = self._result
        if result.parts is not None:
            execute_all(self._connection, WRITE_PART, list(chains.part_rows(self._feed_id, result)))
            if self._unlisted:
                self._execute("DELETE FROM documents WHERE id = ANY(:numbers)", numbers=self._unlisted)
            return result.parts[0].key if result.parts else None
        if result.older_document is None:
            return None
        role, url, platform = result.older_document
        key = result.older_key or url
        row = rows.known_document_row(self._feed_id, self._fetch, key, url, role) | {"platform": platform}
        execute(self._connection, WRITE_KNOWN_DOCUMENT, row)
        return key

    def _execute(self, sql: str, **values: object) -> None:
        """Execute a statement, whose parameters `feed_id` and `key` are those of the document."""
        execute(self._connection, sql, {"feed_id": self._feed_id, "key": self._fetch.key, **values})

    def _write_entries(self) -> None:
        batch, feed_id = self._batch, self._feed_id
        self._keep([i for i in batch.accepted if i in batch.stored])
        if self._keeps_versions:
            superseded = [rows.entry_row(feed_id, *version) for version in batch.superseded.values()]
            insert_all(self._connection, versions, KEEP_VERSION, superseded)
        accepted = [rows.entry_row(feed_id, *version) for version in batch.accepted.values()]
        insert_all(self._connection, entries, OVERWRITE_ENTRY, accepted)
        self._write_changes()
        execute_all(
            self._connection,
            "INSERT INTO renames (feed_id, id, since) VALUES (:feed_id, :id, :since)",
            self._arrivals(),
        )
        execute_all(
            self._connection,
            f"""UPDATE entries SET {", ".join(f"{name} = :{name}" for name in TIMES)}, {SET_ORDER},
                digest = :digest, details = :details,
                enclosures = coalesce(:enclosures, enclosures), original = coalesce(UTF8(:original), original)
            WHERE {OF_ENTRY}""",
            [
                rows.times_row(feed_id, version, fields)
                for version, fields in batch.confirmed.values()
                if not self._is_superseded(version)
            ],
        )
        self._note_uncounted([*batch.accepted, *batch.confirmed])

    # In the first walk, no id has changed.
    def _arrivals(self) -> list[dict[str, object]]:
        """Return the rows of new entries, whose former ids are looked for at the end of the walk."""
        if self._fetch.walk <= FIRST_WALK or self._result.held is None:
            return []
        stored = self._batch.stored
        same = {"feed_id": self._feed_id, "since": self._fetch.fetched}
        return [{**same, "id": i} for i in self._batch.accepted if not (i in stored and stored[i].digest)]

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
            query = f"SELECT {VERSION_COLUMNS} FROM entries WHERE feed_id = :feed_id"
            insert = f"INSERT INTO versions ({VERSION_COLUMNS})"
            execute_among(self._connection, query, self._feed_id, ids, insert, KEEP_VERSION)

    def _is_superseded(self, version: Version) -> bool:
        """Return whether the stored content is, or will be, another one than this version's."""
        if version.id in self._batch.accepted:
            accepted, _fields = self._batch.accepted[version.id]
            return accepted.order.is_newer(version.order) or accepted.digest != version.digest
        # No version with this content was accepted: a pipeline has dropped it.
        return version.id not in self._stored or self._stored[version.id].digest != version.digest

    def _write_changes(self) -> None:
        begun: dict[str, str | None] = {}
        settled: list[str] = []
        for entry_id, (version, _fields) in self._batch.accepted.items():
            exported = self._exported(entry_id)
            if version.digest == exported:
                settled.append(entry_id)
            else:
                begun[entry_id] = exported
        self._begin_changes(begun)
        self._settle_changes(settled)

    def _exported(self, entry_id: str) -> str | None:
        """Return the digest that was last exported of an entry; None if none ever was."""
        before = self._batch.stored.get(entry_id)
        if before is None:
            return None
        return before.exported if before.pending else before.digest

    def _begin_changes(self, exported: dict[str, str | None]) -> None:
        begun: list[tuple[object, ...]] = [
            (self._feed_id, entry_id, digest, None) for entry_id, digest in exported.items()
        ]
        insert_all(self._connection, changes, OVERWRITE_CHANGE, begun)

    def _settle_changes(self, ids: list[str]) -> None:
        settled = [{"feed_id": self._feed_id, "id": entry_id} for entry_id in ids]
        execute_all(self._connection, f"DELETE FROM changes WHERE {OF_ENTRY}", settled)

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

    def _delete(self) -> int:
        """Delete entries by tombstones and absence; return the number of live entries among them."""
        winners = self._batch.winners
        deletions = [v.over(winners[v.id]) for v in self._result.deletions if self._wins(v)]
        if self._result.present is not None and self._result.failure is None:
            deletions += self._absences({v.id for v in deletions})
        return self._delete_entries(deletions)

    def delete_absent(self, ids: Iterable[str]) -> int:
        """Delete entries that are gone at the publisher; return the number of live entries among them."""
        return self._delete_entries([absence(entry_id, self._fetch.position) for entry_id in ids])

    def _delete_entries(self, deletions: list[Version]) -> int:
        known = {v.id: self._stored[v.id] for v in deletions if v.id in self._stored}
        self._note_uncounted(list(known))
        self._keep([entry_id for entry_id, winner in known.items() if winner.digest])
        unseen = {v.id: rows.tombstone_row(self._feed_id, v) for v in deletions if v.id not in known}
        insert_all(self._connection, entries, OVERWRITE_ENTRY, list(unseen.values()))
        execute_all(
            self._connection,
            f"UPDATE entries SET digest = '', {SET_ORDER} WHERE {OF_ENTRY}",
            [rows.deletion_row(self._feed_id, v) for v in deletions if v.id in known],
        )
        live = {i: winner for i, winner in known.items() if winner.digest}
        self._settle_changes([i for i, w in live.items() if w.pending and not w.exported])
        self._begin_changes({i: w.digest for i, w in live.items() if not w.pending})
        return len(live)

    def _wins(self, deletion: Version) -> bool:
        winner = self._batch.winners.get(deletion.id)
        return winner is not None and winner.order[1:] == deletion.order[1:] and not winner.digest

    # RFC 5005, 2: "any entry not actually in the feed document SHOULD NOT be considered part of that feed."
    def _absences(self, buried: set[str]) -> list[Version]:
        present = (self._result.present or frozenset()) | buried
        return [
            absence(entry_id, self._fetch.position)
            for entry_id, winner in self._stored.items()
            if winner.digest and entry_id not in present
        ]
