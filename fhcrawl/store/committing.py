"""Writes a document and its entries in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fhcrawl.logical_feed import FIRST_WALK, Role, absence
from fhcrawl.logical_feed.coverage import coverage_after
from fhcrawl.logical_feed.results import DocumentFailure, State, has_changes, must_follow
from fhcrawl.reasons import ReasonKind
from fhcrawl.store import coverage, lists, mementos, rechecks, rows, statements, subscriptions
from fhcrawl.store.schema import renames

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

    from fhcrawl.logical_feed import Version, Winner
    from fhcrawl.logical_feed.coverage import Coverage
    from fhcrawl.logical_feed.results import CommitBatch, DocumentResult
    from fhcrawl.store.statements import Upserts

ENDS_EARLIER = DocumentFailure(State.KNOWN, ReasonKind.KNOWN, "leads to no page any more as it did before")


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
        has_one = (result.present, result.parts, result.shown)
        return any(one is not None for one in has_one) or _is_last_page(result)

    @classmethod
    def read(
        cls, connection: Connection, feed_id: int, result: DocumentResult, batch: CommitBatch
    ) -> StoredState:
        """Read the state."""
        whole, unlisted = {}, []
        if result.present is not None and result.failure is None:
            found = connection.execute(statements.WINNERS, {"feed_id": feed_id})
            whole = rows.winners(found, result.fetch.latest)
        if result.parts is not None:
            unlisted = lists.unlisted(connection, feed_id, result.parts)
        ends_earlier = False
        if _is_last_page(result):
            known = rows.find_document(connection, feed_id, result.fetch.key)
            if known is not None and known.behind_id is not None and known.role == Role.PAGE.value:
                ends_earlier = has_changes(result, batch.stored) or known.detail != ENDS_EARLIER.detail
        covered = None
        if result.shown is not None:
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


class Commit:
    """Writes one document.

    No statement needs another one's result, so that they can be sent together; except when a snapshot
    replaces another one.
    """

    def __init__(
        self,
        connection: Connection,
        upserts: Upserts,
        before: StoredState,
        result: DocumentResult,
        batch: CommitBatch,
        keeps_versions: bool,
    ) -> None:
        self._keeps_versions = keeps_versions
        self._connection = connection
        self._upserts = upserts
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
            lists.forget_parts(self._connection, self._feed_id)
        if self._fetch.role is Role.INDEX:
            lists.forget_others(self._connection, self._feed_id, self._result)
        self._execute(self._upserts.absence, rechecks.absence_rows(self._feed_id, self._result))
        kept = self._upserts if self._keeps_versions else None
        deleted = self._delete() + lists.replace(self._connection, self._feed_id, self._result, kept)
        self._write_feed(has_news=bool(self._batch.accepted) or deleted > 0)
        return deleted

    def _write_feed(self, has_news: bool) -> None:
        if self._fetch.role is Role.SUBSCRIPTION:
            self._write_subscription(self._subscription_row())
            self._write_head()
            self._write_coverage()
        if self._fetch.role is Role.INDEX and self._fetch.special is not None:
            self._update_feed({"special": self._fetch.special})
        if self._fetch.role is Role.CAPTURE and self._result.title is not None:
            named = {"b_feed_id": self._feed_id, "b_title": self._result.title}
            self._connection.execute(statements.NAME_UNREAD_FEED, named)
        self._settle_memento()
        if has_news and self._fetch.role in (Role.SUBSCRIPTION, Role.PART):
            self._update_feed({"news": self._fetch.fetched})

    # A capture that cannot be read is not asked for again; one that was cut off is, once.
    def _settle_memento(self) -> None:
        """Write what the capture of a web archive has shown."""
        failure = self._result.failure
        is_settled = failure is None or failure.state not in AGAIN or failure.kind is ReasonKind.CUT_OFF
        if self._fetch.memento is not None and is_settled:
            parameters = mementos.settle_row(self._feed_id, self._result)
            self._connection.execute(mementos.SETTLE, parameters)

    def _write_head(self) -> None:
        """Write the head of the subscription document, if it is new.

        One that is incomplete, say because it is cut off, does not replace another one.
        """
        head, fetch = self._result.head, self._fetch
        if head is None or head.digest == self._known_head:
            return
        upserts = self._upserts.head
        write = upserts.write if self._result.failure is None else upserts.write_first
        write(self._connection, self._feed_id, head, fetch.url)

    def _write_coverage(self) -> None:
        """Write for how long a plain feed is covered."""
        if self._result.shown is None:
            return
        covered = coverage_after(self._covered, self._result.shown, self._fetch.fetched)
        if covered is not None:
            self._connection.execute(self._upserts.coverage, coverage.row(self._feed_id, covered))

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
        of_feed = {"b_feed_id": self._feed_id, "b_walk": fetch.position.walk}
        says = {"b_time": fetch.fetched, "b_fresh": fetch.freshness_lifetime, "b_special": fetch.special}
        at = {"b_feed_id": self._feed_id, "b_time": fetch.fetched}
        self._connection.execute(coverage.CONFIRM, at)
        self._connection.execute(statements.CONFIRM_FEED, of_feed | says)
        if self._result.older_document is not None and self._result.older_document.role is Role.PAGE:
            # The pages that this walk goes on to read are older than what the subscription document holds.
            self._connection.execute(statements.CONFIRM_NEWEST, of_feed)
        self._connection.execute(statements.CONFIRM_SUBSCRIPTION, of_feed | {"b_time": fetch.fetched})

    # What was read of the document stays, whatever became of it: it is only not known to be as it was.
    def write_check(self) -> None:
        """Write that the document was requested again, and is the same, unless the request failed."""
        fetch = self._fetch
        checked, walk = (fetch.fetched, fetch.walk) if self._result.failure is None else (None, None)
        seen = {"b_time": fetch.fetched, "b_checked": checked, "b_walk": walk}
        self._connection.execute(statements.NOTE_CHECK, self._numbers() | seen)

    def _update_feed(self, values: Mapping[str, object], is_subscription: bool = False) -> None:
        statement = statements.update_feed(tuple(values), is_subscription)
        numbers = self._numbers() if is_subscription else {"b_feed_id": self._feed_id}
        self._connection.execute(statement, {**values, **numbers})

    def _write_subscription(self, values: Mapping[str, object]) -> None:
        """Write columns of the feed, and that the document is its subscription document."""
        self._update_feed(values, is_subscription=True)

    # A complete feed has no archives. If it gets some later, they restore deleted entries: they have to be
    # read again, at new positions.
    def _forget_chain(self) -> None:
        self._connection.execute(statements.FORGET_OTHERS, self._numbers())

    def _write_document(self, unless_lost: DocumentFailure | None = None) -> None:
        """Write the document and its link to the older one."""
        failure = self._result.failure or unless_lost
        row = rows.document_row(self._feed_id, self._result, self._write_behind(), failure)
        row |= rechecks.content_row(self._result)
        # The page that it linked to before counts as unread too: the link may change back.
        self._unread_page()
        self._unread_pages()
        self._upserts.document.execute(self._connection, row)
        if self._result.older_document is not None and self._result.older_document.role is Role.PAGE:
            self._unread_page()

    # Entries move from page to page, under the same URLs: if a page has changes, the older pages must be read
    # again. They count as unread at once, so that a crash of this run hides nothing from the next one.
    def _unread_page(self) -> None:
        result = self._result
        # A check leaves the pages behind this one to their own checks.
        if self._fetch.is_check:
            return
        follows = result.is_left_over or must_follow(result, self._batch.stored)
        if follows and self._fetch.role in HAVE_OLDER_PAGES:
            parameters = {**self._numbers(), **rows.unread_row(self._fetch)}
            self._connection.execute(statements.UNREAD_PAGE, parameters)

    # Links between pages may change, and change back: pages of an earlier chain are as old as the walk that
    # read them.
    def _unread_pages(self) -> None:
        if self._fetch.role is Role.SUBSCRIPTION and has_changes(self._result, self._batch.stored):
            of_feed = {"b_feed_id": self._feed_id, **rows.unread_row(self._fetch)}
            self._connection.execute(statements.UNREAD_PAGES, of_feed)

    def _write_behind(self) -> str | None:
        """Write the older document, or the documents of a list; return the key of the next one."""
        result = self._result
        if result.parts is not None:
            for row in lists.part_rows(self._feed_id, result):
                self._upserts.part.execute(self._connection, row)
            self._execute(statements.FORGET_DOCUMENT, [{"b_id": number} for number in self._unlisted])
            return result.parts[0].key if result.parts else None
        if result.older_document is None:
            return None
        role, url = result.older_document
        key = result.older_key or url
        row = rows.known_document_row(self._feed_id, self._fetch, key, url, role)
        self._upserts.known_document.execute(self._connection, row)
        return key

    def _numbers(self) -> dict[str, object]:
        """Return the parameters that find the document's id."""
        return {"b_feed_id": self._feed_id, "b_key": self._fetch.key}

    def _execute(self, statement: Any, parameters: list[dict[str, object]]) -> None:
        if parameters:
            self._connection.execute(statement, parameters)

    def _write_entries(self) -> None:
        batch, feed_id = self._batch, self._feed_id
        self._keep([i for i in batch.accepted if i in batch.stored])
        if self._keeps_versions:
            self._upserts.version.execute_all(
                self._connection,
                [rows.entry_row(feed_id, version, fields) for version, fields in batch.superseded.values()],
            )
        self._upserts.entry.execute_all(
            self._connection,
            [rows.entry_row(feed_id, version, fields) for version, fields in batch.accepted.values()],
        )
        self._write_changes()
        self._execute(renames.insert(), self._arrivals())
        self._execute(
            statements.CONFIRM_ENTRY,
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
        same = {"feed_id": self._feed_id, "former_id": None, "since": self._fetch.fetched}
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
        self._execute(
            statements.NOTE_UNCOUNTED,
            [
                {"b_feed_id": self._feed_id, "b_walk": walk, "b_step": step, "b_time": time}
                for (walk, step), time in earliest.items()
            ],
        )

    def _keep(self, ids: list[str]) -> None:
        """Copy stored entries that are about to be replaced or deleted, if versions are kept."""
        if not self._keeps_versions:
            return
        for some in statements.some_at_once(ids):
            self._connection.execute(self._upserts.superseded, {"b_feed_id": self._feed_id, "b_ids": some})

    def _is_superseded(self, version: Version) -> bool:
        """Return whether the stored content is, or will be, another one than this version's."""
        if version.id in self._batch.accepted:
            accepted, _fields = self._batch.accepted[version.id]
            return accepted.order > version.order or accepted.digest != version.digest
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
        self._upserts.change.execute_all(
            self._connection,
            [(self._feed_id, entry_id, digest, None) for entry_id, digest in exported.items()],
        )

    def _settle_changes(self, ids: list[str]) -> None:
        self._execute(statements.SETTLE_CHANGE, [{"b_feed_id": self._feed_id, "b_id": i} for i in ids])

    def _subscription_row(self) -> dict[str, object]:
        fetch, result = self._fetch, self._result
        etag, last_modified, body_digest = result.validators or (None, None, None)
        return {
            "location": fetch.location or fetch.requested_url,
            "title": result.title,
            "kind": result.kind,
            "walk": fetch.position.walk,
            "crawled": fetch.fetched,
            "etag": etag,
            "last_modified": last_modified,
            "validated_url": fetch.url if etag or last_modified else None,
            "body_digest": body_digest,
            "total": result.total,
            "guessable": int(result.has_guessable_pages) or None,
            **subscriptions.answer_row(result),
            **({} if fetch.special is None else {"special": fetch.special}),
        }

    def _delete(self) -> int:
        """Delete entries by tombstones and absence; return the number of live entries among them."""
        deletions = [v for v in self._result.deletions if self._wins(v)]
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
        self._upserts.entry.execute_all(self._connection, list(unseen.values()))
        self._execute(
            statements.DELETE_ENTRY,
            [rows.deletion_row(self._feed_id, v) for v in deletions if v.id in known],
        )
        live = {i: winner for i, winner in known.items() if winner.digest}
        self._settle_changes([i for i, w in live.items() if w.pending and not w.exported])
        self._begin_changes({i: w.digest for i, w in live.items() if not w.pending})
        return len(live)

    def _wins(self, deletion: Version) -> bool:
        winner = self._batch.winners.get(deletion.id)
        return winner is not None and winner.order == deletion.order and not winner.digest

    # RFC 5005, 2: "any entry not actually in the feed document SHOULD NOT be considered part of that feed."
    def _absences(self, buried: set[str]) -> list[Version]:
        present = (self._result.present or frozenset()) | buried
        return [
            absence(entry_id, self._fetch.position)
            for entry_id, winner in self._stored.items()
            if winner.digest and entry_id not in present
        ]
