"""What a visit brought, written in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fhcrawl.logical_feed import Role, absence
from fhcrawl.store import lists, rows, schedules, statements
from fhcrawl.store.schema import documents, feeds
from fhcrawl.visit import brings_news

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from fhcrawl.logical_feed import Version
    from fhcrawl.store.statements import Upserts
    from fhcrawl.visit import Visit


IDS_AT_ONCE = 500


class Commit:
    """The writing of one visit."""

    def __init__(
        self, connection: Connection, upserts: Upserts, feed_id: int, visit: Visit, keeps_versions: bool
    ) -> None:
        self._keeps_versions = keeps_versions
        self._connection = connection
        self._upserts = upserts
        self._feed_id = feed_id
        self._visit = visit
        self._stored = visit.stored

    def write(self) -> int:
        """Write all; how many entries have been deleted."""
        document_id = self._write_document()
        self._write_entries()
        if self._visit.present is not None:
            self._forget_chain(document_id)
        if self._visit.role is Role.INDEX:
            lists.forget_others(self._connection, self._feed_id, document_id)
        deleted = self._delete() + lists.replace(self._connection, self._feed_id, self._visit)
        self._write_feed(document_id, has_news=bool(self._visit.accepted) or deleted > 0)
        return deleted

    def _write_feed(self, document_id: int, has_news: bool) -> None:
        news = {"news": self._visit.fetched} if has_news else {}
        if self._visit.role is Role.SUBSCRIPTION:
            self._update_feed({**self._subscription_row(document_id), **news})
        elif self._visit.role is Role.PART and news:
            self._update_feed(news)

    def write_loss(self) -> None:
        """Write that the document could not be had; a feed is what its last subscription document was."""
        document_id = self._write_document()
        values: dict[str, object] = {}
        if self._visit.retry_after is not None:
            values["retry_after"] = self._visit.retry_after
        if self._visit.role is Role.SUBSCRIPTION:
            values |= {"subscription_id": document_id, "polled": self._visit.fetched}
        if values:
            self._update_feed(values)

    def _update_feed(self, values: Mapping[str, object]) -> None:
        self._connection.execute(feeds.update().where(feeds.c.id == self._feed_id).values(values))

    # A complete feed has no archives. If it gets some later, they bring back what it has deleted: they have
    # to be read, at new places.
    def _forget_chain(self, document_id: int) -> None:
        of_feed = (documents.c.feed_id == self._feed_id) & (documents.c.id != document_id)
        self._connection.execute(documents.delete().where(of_feed))

    def _write_document(self) -> int:
        """Write the document and its link; the document's number."""
        row = rows.document_row(self._feed_id, self._visit, self._write_behind())
        return int(self._connection.execute(self._upserts.document, row).scalar_one())

    # Pages move on, under the same URLs: what has been read behind a page says nothing any more when that
    # brings news. It counts as unread at once, so that a run that dies here hides nothing from the next one.
    def _write_behind(self) -> int | None:
        behind_id = self._link_behind()
        visit = self._visit
        is_archive = visit.behind is not None and visit.behind.role is Role.ARCHIVE
        if behind_id is not None and not is_archive and (visit.left_over or brings_news(visit)):
            parameters = {"b_id": behind_id, **rows.unread_row(visit)}
            self._connection.execute(statements.UNREAD_PAGE, parameters)
        return behind_id

    def _link_behind(self) -> int | None:
        visit = self._visit
        if visit.parts is not None:
            return lists.write(self._connection, self._upserts.part, self._feed_id, visit)
        if visit.behind is None:
            # What a document said before it was lost still holds, and what a list said of it.
            return self._behind_before() if visit.loss or visit.role is Role.PART else None
        key = visit.behind_key or visit.behind.url
        row = rows.known_document_row(self._feed_id, visit, key, visit.behind.url, visit.behind.role)
        return int(self._connection.execute(self._upserts.known_document, row).scalar_one())

    def _behind_before(self) -> int | None:
        row = rows.find_document(self._connection, self._feed_id, self._visit.key)
        return None if row is None else row.behind_id

    def _execute(self, statement: Any, parameters: list[dict[str, object]]) -> None:
        if parameters:
            self._connection.execute(statement, parameters)

    def _write_entries(self) -> None:
        visit, feed_id = self._visit, self._feed_id
        self._keep([entry_id for entry_id in visit.accepted if entry_id in visit.stored])
        self._upserts.version.execute(
            self._connection,
            [rows.entry_row(feed_id, version, fields) for version, fields in visit.superseded.values()],
        )
        self._upserts.entry.execute(
            self._connection,
            [rows.entry_row(feed_id, version, fields) for version, fields in visit.accepted.values()],
        )
        self._write_changes()
        self._execute(
            statements.CONFIRM_ENTRY,
            [
                rows.times_row(feed_id, version, fields)
                for version, fields in visit.confirmed.values()
                if not self._is_superseded(version)
            ],
        )

    def _keep(self, ids: list[str]) -> None:
        """Copy stored entries that are about to be replaced or deleted, if versions are to be kept."""
        if not self._keeps_versions:
            return
        for begin in range(0, len(ids), IDS_AT_ONCE):
            some = {"b_feed_id": self._feed_id, "b_ids": ids[begin : begin + IDS_AT_ONCE]}
            self._connection.execute(self._upserts.superseded, some)

    def _is_superseded(self, version: Version) -> bool:
        """Whether it would confirm another content than its own."""
        accepted = self._visit.accepted.get(version.id)
        if accepted is not None:
            return accepted[0].order > version.order or accepted[0].digest != version.digest
        # Its equal was not accepted: a pipeline has dropped it.
        return version.id not in self._stored or self._stored[version.id].digest != version.digest

    def _write_changes(self) -> None:
        begun: dict[str, str | None] = {}
        settled: list[str] = []
        for entry_id, (version, _fields) in self._visit.accepted.items():
            exported = self._exported(entry_id)
            if version.digest == exported:
                settled.append(entry_id)
            else:
                begun[entry_id] = exported
        self._begin_changes(begun)
        self._settle_changes(settled)

    def _exported(self, entry_id: str) -> str | None:
        """Digest of what was last exported of an entry; None if nothing ever was."""
        before = self._visit.stored.get(entry_id)
        if before is None:
            return None
        return before.exported if before.pending else before.digest

    def _begin_changes(self, exported: dict[str, str | None]) -> None:
        self._upserts.change.execute(
            self._connection,
            [(self._feed_id, entry_id, digest, None) for entry_id, digest in exported.items()],
        )

    def _settle_changes(self, ids: list[str]) -> None:
        self._execute(statements.SETTLE_CHANGE, [{"b_feed_id": self._feed_id, "b_id": i} for i in ids])

    def _subscription_row(self, document_id: int) -> dict[str, object]:
        visit = self._visit
        etag, last_modified, body_digest = visit.validators or (None, None, None)
        return {
            "location": visit.location or visit.asked,
            "title": visit.title,
            "kind": visit.kind,
            "walk": visit.place.walk,
            "crawled": visit.fetched,
            "etag": etag,
            "last_modified": last_modified,
            "body_digest": body_digest,
            "subscription_id": document_id,
            **schedules.answer_row(visit),
        }

    def _delete(self) -> int:
        """Delete what tombstones and absence ask for; how many live entries that were."""
        deletions = [v for v in self._visit.deletions if self._wins(v)]
        if self._visit.present is not None and self._visit.loss is None:
            deletions += self._absences({v.id for v in deletions})
        known = {v.id: self._stored[v.id] for v in deletions if v.id in self._stored}
        self._keep([entry_id for entry_id, winner in known.items() if winner.digest])
        unseen = [v for v in deletions if v.id not in known]
        self._upserts.entry.execute(self._connection, [rows.tombstone_row(self._feed_id, v) for v in unseen])
        self._execute(
            statements.DELETE_ENTRY,
            [rows.deletion_row(self._feed_id, v) for v in deletions if v.id in known],
        )
        live = {i: winner for i, winner in known.items() if winner.digest}
        self._settle_changes([i for i, w in live.items() if w.pending and not w.exported])
        self._begin_changes({i: w.digest for i, w in live.items() if not w.pending})
        return len(live)

    def _wins(self, deletion: Version) -> bool:
        winner = self._visit.winners.get(deletion.id)
        return winner is not None and winner.order == deletion.order and not winner.digest

    # RFC 5005, 2: "any entry not actually in the feed document SHOULD NOT be considered part of that feed."
    def _absences(self, buried: set[str]) -> list[Version]:
        present = (self._visit.present or frozenset()) | buried
        whole = rows.winners(self._connection, statements.WINNERS, {"feed_id": self._feed_id})
        self._stored = {**whole, **self._stored}
        return [
            absence(entry_id, self._visit.place)
            for entry_id, winner in whole.items()
            if winner.digest and entry_id not in present
        ]
