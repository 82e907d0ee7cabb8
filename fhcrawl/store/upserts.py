"""Upserts: INSERTs with an ON CONFLICT clause."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqlalchemy import ARRAY, Integer, LargeBinary, Select, Text, bindparam, case, func, null, select

from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.results import State
from fhcrawl.reasons import ReasonKind
from fhcrawl.store import coverage
from fhcrawl.store.compiled import ArrayInsert, CompiledStatement
from fhcrawl.store.heads import HeadUpserts
from fhcrawl.store.schema import (
    POSTGRESQL,
    Keyed,
    Utf8,
    absences,
    captures,
    changes,
    documents,
    entries,
    feeds,
    versions,
)
from fhcrawl.store.statements import ORIGINAL, among, number_of

if TYPE_CHECKING:
    from sqlalchemy import Column, ColumnElement, Dialect
    from sqlalchemy.types import TypeEngine

# Number of the last walk that has read the feed's subscription document.
WALK = select(feeds.c.walk).where(feeds.c.id == bindparam("b_feed_id")).scalar_subquery()

# The columns that are written of a document that has not been read, and of one that has.
UNREAD_COLUMNS = (
    *("feed_id", "key", "url", "role", "state", "walk", "step"),
    *("lost_entries", "reason", "detail", "since"),
)
# What is known of a document's content, to see whether it has changed when it is requested again.
CONTENT_COLUMNS = (
    *("etag", "last_modified", "validated_url"),
    *("checked", "checked_walk", "changed_walk", "held"),
)
READ_COLUMNS = (*UNREAD_COLUMNS, "run", "updated", "fetched", "moved_to", "uncounted", *CONTENT_COLUMNS)
DOCUMENT_KEY = (documents.c.feed_id, Keyed(documents.c.key))
VERSION_KEY = (versions.c.feed_id, Keyed(versions.c.id), versions.c.digest)


class Upserts:
    """Upserts in the SQL of one database."""

    def __init__(self, dialect: Dialect) -> None:
        # The other database's dialect is large, and is not loaded.
        insert = import_module(f"sqlalchemy.dialects.{dialect.name}").insert
        many = self._many if dialect.name == POSTGRESQL else self._one
        rows = ArrayInsert if dialect.name == POSTGRESQL else CompiledStatement
        entry = self._overwrite(many(insert(entries)), entries.c.id, entries.c.feed_id)
        self.entry = rows(entry, dialect, entries.columns.keys())
        # An entry that changes during its delivery needs another delivery.
        change = many(insert(changes)).on_conflict_do_update(
            index_elements=(changes.c.feed_id, Keyed(changes.c.id)), set_={"delivery": null()}
        )
        self.change = rows(change, dialect, changes.columns.keys())
        self.feed = insert(feeds).on_conflict_do_nothing(index_elements=(Keyed(feeds.c.url),))
        known_document = self._known_document(insert(documents).inline())
        self.known_document = CompiledStatement(known_document, dialect, UNREAD_COLUMNS)
        part = insert(documents).inline().values(behind_id=number_of("b_behind_key"))
        self.part = CompiledStatement(self._known_document(part, "url", "behind_id"), dialect, UNREAD_COLUMNS)
        self.document = CompiledStatement(self._document(insert(documents).inline()), dialect, READ_COLUMNS)
        self._version = insert(versions).inline()
        kept = many(self._version).on_conflict_do_nothing(index_elements=VERSION_KEY)
        self.version = rows(kept, dialect, versions.columns.keys())
        of_feed = entries.c.feed_id == bindparam("b_feed_id", type_=Integer())
        self.superseded = self._copied(among(select(entries).where(of_feed), "b_ids", dialect))
        self.head = HeadUpserts(dialect)
        self.absence = self._absence(insert(absences))
        self.coverage = coverage.upsert(dialect)
        self.capture = self._overwrite(insert(captures), captures.c.url)

    def superseded_where(self, condition: ColumnElement[bool]) -> Any:
        """Return an INSERT that copies the entries for which a condition holds to `versions`."""
        return self._copied(select(entries).where(condition))

    def _copied(self, found: Select[Any]) -> Any:
        copy = self._version.from_select(versions.columns.keys(), found)
        return copy.on_conflict_do_nothing(index_elements=VERSION_KEY)

    @staticmethod
    def _one(statement: Any) -> Any:
        """Complete an INSERT of one row, whose parameters are the columns."""
        if ORIGINAL not in statement.table.columns:
            return statement
        return statement.values({ORIGINAL: Utf8(bindparam(f"b_{ORIGINAL}", type_=LargeBinary()))})

    @staticmethod
    def _many(statement: Any) -> Any:
        """Complete an INSERT of many rows, whose parameters are the columns."""
        columns = statement.table.columns
        return statement.from_select(columns.keys(), select(*map(_unnested, columns)))

    @staticmethod
    def _overwrite(statement: Any, key: Column[str], *also: Column[Any]) -> Any:
        """Complete an INSERT that overwrites the row of the same key, together with other columns."""
        columns = statement.table.c
        updated = {c.name: statement.excluded[c.name] for c in columns if c not in {key, *also}}
        return statement.on_conflict_do_update(index_elements=(*also, Keyed(key)), set_=updated)

    @staticmethod
    def _absence(statement: Any) -> Any:
        updated = {c.name: statement.excluded[c.name] for c in absences.c}
        return statement.on_conflict_do_update(
            index_elements=(absences.c.feed_id, absences.c.key), set_=updated
        )

    @staticmethod
    def _known_document(statement: Any, *also: str) -> Any:
        """Complete an INSERT of a document that a link or a list names; an existing row keeps its state.

        :param also: columns to overwrite in any case

        The state is overwritten if the document was read in another role, say as an earlier subscription
        document: it does not hold for the new role.
        """
        new, other = statement.excluded, documents.c.role != statement.excluded.role
        columns = ("role", "state", "walk", "step", "reason", "detail", "since")
        changed = {name: case((other, new[name]), else_=documents.c[name]) for name in columns}
        changed |= {name: new[name] for name in also}
        return statement.on_conflict_do_update(index_elements=DOCUMENT_KEY, set_=changed)

    @staticmethod
    def _document(statement: Any) -> Any:
        statement = statement.values(behind_id=number_of("b_behind_key"), moved_walk=WALK)
        new = statement.excluded
        # The link of a document that cannot be read any more still holds, as does the order of a list.
        holds = (new.state != State.PROCESSED.value) | (new.role == Role.PART.value)
        # An archive keeps its first position in the chain; documents that every walk reads move.
        moves = new.role != Role.ARCHIVE.value
        same_target = documents.c.moved_to.is_not_distinct_from(new.moved_to)
        # What was not read to its end is not compared with what is read next.
        is_read = (new.state == State.PROCESSED.value) | (new.reason == ReasonKind.LOOP.value)
        content = {name: case((is_read, new[name]), else_=documents.c[name]) for name in CONTENT_COLUMNS}
        is_same = documents.c.held.is_not_distinct_from(new.held)
        content["changed_walk"] = case((is_same, documents.c.changed_walk), else_=content["changed_walk"])
        # A future time was recorded by a wrong clock.
        same_reason = documents.c.reason.is_not_distinct_from(new.reason) & (documents.c.since <= new.since)
        return statement.on_conflict_do_update(
            index_elements=DOCUMENT_KEY,
            set_={
                "url": new.url,
                "role": new.role,
                "state": new.state,
                "walk": case((moves, new.walk), else_=documents.c.walk),
                "step": case((moves, new.step), else_=documents.c.step),
                "behind_id": case(
                    (holds, func.coalesce(new.behind_id, documents.c.behind_id)), else_=new.behind_id
                ),
                "run": new.run,
                "updated": new.updated,
                "lost_entries": new.lost_entries,
                "reason": new.reason,
                "detail": new.detail,
                "since": case((same_reason, documents.c.since), else_=new.since),
                "fetched": new.fetched,
                "moved_to": new.moved_to,
                "uncounted": new.uncounted,
                **content,
                "moved_walk": case((same_target, documents.c.moved_walk), else_=new.moved_walk),
            },
        )


def _unnested(column: Column[Any]) -> Any:
    if column.name == ORIGINAL:
        return Utf8(func.unnest(bindparam(column.name, type_=ARRAY(LargeBinary))))
    return func.unnest(bindparam(column.name, type_=ARRAY(_plain(column.type))))


# Arrays have no collation.
def _plain(kind: TypeEngine[Any]) -> TypeEngine[Any]:
    return Text() if isinstance(kind, Text) else kind
