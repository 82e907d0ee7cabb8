"""What a visit brought, written in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fhcrawl.logical_feed import FIRST_WALK, Role, absence
from fhcrawl.logical_feed.visit import Loss, State, brings_news, leads_on
from fhcrawl.store import lists, rows, statements, subscriptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from fhcrawl.logical_feed import Version, Winner
    from fhcrawl.logical_feed.visit import Visit
    from fhcrawl.store.upserts import Upserts


HAVE_PAGES_BEHIND = (Role.SUBSCRIPTION, Role.PAGE)
PROCESSED = Loss(State.PROCESSED, "", "")
UNFINISHED = Loss(State.KNOWN, State.KNOWN.value, "has not been read to its end")
ENDS_EARLIER = Loss(
    State.KNOWN, State.KNOWN.value, "brings entries, and leads to no page any more as it did before"
)


class Before(NamedTuple):
    """What a commit has to know of the store.

    :param whole: the newest versions of all entries of the feed, by id, if the document is a complete feed's
    :param unlisted: numbers of the documents that a list named earlier, and names no more
    :param ends_earlier: a page that brings news has led to another one, and leads to none now
    """

    feed_id: int
    whole: dict[str, Winner]
    unlisted: list[int]
    ends_earlier: bool = False

    @staticmethod
    def matters(visit: Visit) -> bool:
        """Whether there is something to know; there is not, for most documents."""
        return visit.present is not None or visit.parts is not None or _may_end_earlier(visit)

    @classmethod
    def read(cls, connection: Connection, feed_id: int, visit: Visit) -> Before:
        """Read it."""
        whole, unlisted = {}, []
        if visit.present is not None and visit.loss is None:
            found = connection.execute(statements.WINNERS, {"feed_id": feed_id})
            whole = rows.winners(found, visit.latest)
        if visit.parts is not None:
            unlisted = lists.unlisted(connection, feed_id, visit.parts)
        ends_earlier = False
        if _may_end_earlier(visit):
            found = connection.execute(statements.FIND_DOCUMENT, {"feed_id": feed_id, "key": visit.key})
            known = found.first()
            ends_earlier = known is not None and known.behind_id is not None and known.role == Role.PAGE.value
        return cls(feed_id, whole, unlisted, ends_earlier)


# It may have lost its link for a while. The next run looks again: if it brings nothing more, it is the end.
def _may_end_earlier(visit: Visit) -> bool:
    """Whether a page is the last one, before which older entries have moved on."""
    is_end = visit.role is Role.PAGE and visit.behind is None and visit.loss is None
    return is_end and brings_news(visit)


class Commit:
    """The writing of one visit.

    No statement needs another one's result, so that they are sent together; except those of a snapshot that
    replaces another one.
    """

    def __init__(
        self,
        connection: Connection,
        upserts: Upserts,
        before: Before,
        visit: Visit,
        keeps_versions: bool,
    ) -> None:
        self._keeps_versions = keeps_versions
        self._connection = connection
        self._upserts = upserts
        self._feed_id, whole, self._unlisted, ends_earlier = before
        self._unless_lost = ENDS_EARLIER if ends_earlier else PROCESSED
        self._visit = visit
        self._stored = {**whole, **visit.stored}

    def write(self) -> int:
        """Write all; how many entries have been deleted."""
        self._write_document(self._unless_lost)
        self._write_entries()
        if self._visit.present is not None:
            self._forget_chain()
        if self._visit.role is Role.SUBSCRIPTION and self._visit.parts is None and self._visit.loss is None:
            lists.forget_parts(self._connection, self._feed_id)
        if self._visit.role is Role.INDEX:
            lists.forget_others(self._connection, self._feed_id, self._visit)
        kept = self._upserts if self._keeps_versions else None
        deleted = self._delete() + lists.replace(self._connection, self._feed_id, self._visit, kept)
        self._write_feed(has_news=bool(self._visit.accepted or self._visit.written) or deleted > 0)
        return deleted

    # From the first piece on, the document counts as unread; and what was read behind a page, if it has to be
    # read again: the next run, for which the pieces that are stored are no news, could not know that.
    def write_piece(self, is_first: bool) -> None:
        """Write the entries of a piece of the document, behind which there are more."""
        if is_first:
            self._write_document(UNFINISHED)
            self._write_asked()
        self._write_entries()
        self._write_news(bool(self._visit.accepted))

    def _write_feed(self, has_news: bool) -> None:
        if self._visit.role is Role.SUBSCRIPTION:
            self._write_subscription(self._subscription_row())
        if self._visit.role is Role.INDEX and self._visit.special is not None:
            self._update_feed({"special": self._visit.special})
        self._write_news(has_news)

    def _write_news(self, has_news: bool) -> None:
        if has_news and self._visit.role in (Role.SUBSCRIPTION, Role.PART):
            self._update_feed({"news": self._visit.fetched})

    def write_loss(self) -> None:
        """Write that the document could not be had; a feed is what its last subscription document was."""
        self._write_document()
        if self._visit.retry_after is not None:
            self._update_feed({"retry_after": self._visit.retry_after})
        self._write_asked()

    # The feed may have moved: then it is another document than the last one that was read.
    def _write_asked(self) -> None:
        """Write that the document, which is not read, is the feed's subscription document, if it is."""
        if self._visit.role is Role.SUBSCRIPTION:
            self._write_subscription({"polled": self._visit.fetched})

    def write_confirmation(self) -> None:
        """Write that a feed's subscription document is still what it was."""
        visit = self._visit
        of_feed = {"b_feed_id": self._feed_id, "b_walk": visit.place.walk}
        says = {"b_time": visit.fetched, "b_fresh": visit.fresh, "b_special": visit.special}
        self._connection.execute(statements.CONFIRM_FEED, of_feed | says)
        self._connection.execute(statements.CONFIRM_SUBSCRIPTION, of_feed)

    def _update_feed(self, values: Mapping[str, object], is_subscription: bool = False) -> None:
        statement = statements.update_feed(tuple(values), is_subscription)
        numbers = self._numbers() if is_subscription else {"b_feed_id": self._feed_id}
        self._connection.execute(statement, {**values, **numbers})

    def _write_subscription(self, values: Mapping[str, object]) -> None:
        """Write it of the feed, and that the document is its subscription document."""
        self._update_feed(values, is_subscription=True)

    # A complete feed has no archives. If it gets some later, they bring back what it has deleted: they have
    # to be read, at new places.
    def _forget_chain(self) -> None:
        self._connection.execute(statements.FORGET_OTHERS, self._numbers())

    def _write_document(self, unless_lost: Loss = PROCESSED) -> None:
        """Write the document and its link."""
        loss = self._visit.loss or unless_lost
        row = rows.document_row(self._feed_id, self._visit, self._write_behind(), loss)
        # It may have led to another page before, or to one where it leads to none now, and may again.
        self._unread_page()
        self._unread_pages()
        self._upserts.document.execute(self._connection, row)
        if self._visit.behind is not None and self._visit.behind.role is Role.PAGE:
            self._unread_page()

    # Pages move on, under the same URLs: what has been read behind a page says nothing any more when that
    # brings news. It counts as unread at once, so that a run that dies here hides nothing from the next one.
    def _unread_page(self) -> None:
        visit = self._visit
        if visit.role in HAVE_PAGES_BEHIND and (visit.left_over or leads_on(visit)):
            parameters = {**self._numbers(), **rows.unread_row(visit)}
            self._connection.execute(statements.UNREAD_PAGE, parameters)

    # Which pages lead where may change, and change back: those of another way are as old as the walk that has
    # read them.
    def _unread_pages(self) -> None:
        visit = self._visit
        if visit.role is Role.SUBSCRIPTION and brings_news(visit):
            of_feed = {"b_feed_id": self._feed_id, **rows.unread_row(visit)}
            self._connection.execute(statements.UNREAD_PAGES, of_feed)

    def _write_behind(self) -> str | None:
        """Write the document behind it, or the documents of a list; what names the next one."""
        visit = self._visit
        if visit.parts is not None:
            for row in lists.part_rows(self._feed_id, visit):
                self._upserts.part.execute(self._connection, row)
            self._execute(statements.FORGET_DOCUMENT, [{"b_id": number} for number in self._unlisted])
            return visit.parts[0].key if visit.parts else None
        if visit.behind is None:
            return None
        key = visit.behind_key or visit.behind.url
        row = rows.known_document_row(self._feed_id, visit, key, visit.behind.url, visit.behind.role)
        self._upserts.known_document.execute(self._connection, row)
        return key

    def _numbers(self) -> dict[str, object]:
        """What finds the document's number."""
        return {"b_feed_id": self._feed_id, "b_key": self._visit.key}

    def _execute(self, statement: Any, parameters: list[dict[str, object]]) -> None:
        if parameters:
            self._connection.execute(statement, parameters)

    def _write_entries(self) -> None:
        visit, feed_id = self._visit, self._feed_id
        self._keep([i for i in visit.accepted if i in visit.stored or i in visit.written])
        if self._keeps_versions:
            self._upserts.version.execute_all(
                self._connection,
                [rows.entry_row(feed_id, version, fields) for version, fields in visit.superseded.values()],
            )
        self._upserts.entry.execute_all(
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
        self._note_uncounted([*visit.accepted, *visit.confirmed])

    # What is replaced while a clock is wrong may be the newest version by a clock that is right: its document
    # is read again then, as those are that such a clock has read.
    def _note_uncounted(self, ids: list[str]) -> None:
        """Note in the documents of versions that are replaced which of their times do not count yet."""
        earliest: dict[tuple[int, int], str] = {}
        for entry_id in ids:
            winner = self._stored.get(entry_id)
            if winner is None or winner.uncounted is None or winner.order.walk < FIRST_WALK:
                continue
            place = winner.order.walk, winner.order.step
            earliest[place] = min(winner.uncounted, earliest.get(place, winner.uncounted))
        earliest.pop(self._visit.place, None)
        self._execute(
            statements.NOTE_UNCOUNTED,
            [
                {"b_feed_id": self._feed_id, "b_walk": walk, "b_step": step, "b_time": time}
                for (walk, step), time in earliest.items()
            ],
        )

    def _keep(self, ids: list[str]) -> None:
        """Copy stored entries that are about to be replaced or deleted, if versions are to be kept."""
        if not self._keeps_versions:
            return
        for some in statements.some_at_once(ids):
            self._connection.execute(self._upserts.superseded, {"b_feed_id": self._feed_id, "b_ids": some})

    def _is_superseded(self, version: Version) -> bool:
        """Whether it would confirm another content than its own."""
        accepted, *_ = self._visit.accepted.get(version.id) or (self._visit.written.get(version.id),)
        if accepted is not None:
            return accepted.order > version.order or accepted.digest != version.digest
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
        self._upserts.change.execute_all(
            self._connection,
            [(self._feed_id, entry_id, digest, None) for entry_id, digest in exported.items()],
        )

    def _settle_changes(self, ids: list[str]) -> None:
        self._execute(statements.SETTLE_CHANGE, [{"b_feed_id": self._feed_id, "b_id": i} for i in ids])

    def _subscription_row(self) -> dict[str, object]:
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
            "validated_url": visit.url if etag or last_modified else None,
            "body_digest": body_digest,
            **subscriptions.answer_row(visit),
            **({} if visit.special is None else {"special": visit.special}),
        }

    def _delete(self) -> int:
        """Delete what tombstones and absence ask for; how many live entries that were."""
        deletions = [v for v in self._visit.deletions if self._wins(v)]
        if self._visit.present is not None and self._visit.loss is None:
            deletions += self._absences({v.id for v in deletions})
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
        winner = self._visit.winners.get(deletion.id)
        return winner is not None and winner.order == deletion.order and not winner.digest

    # RFC 5005, 2: "any entry not actually in the feed document SHOULD NOT be considered part of that feed."
    def _absences(self, buried: set[str]) -> list[Version]:
        present = (self._visit.present or frozenset()) | buried
        return [
            absence(entry_id, self._visit.place)
            for entry_id, winner in self._stored.items()
            if winner.digest and entry_id not in present
        ]
