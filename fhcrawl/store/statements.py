"""The statements of the store that are built once for each database."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqlalchemy import CTE, Select, bindparam, case, func, null, select

from fhcrawl.logical_feed import Role
from fhcrawl.store.schema import captures, changes, documents, entries, feeds, versions
from fhcrawl.visit import State

if TYPE_CHECKING:
    from sqlalchemy import Connection, Dialect, Table

DATABASES = ("sqlite", "postgresql")

CONTENT = (
    "title",
    "link",
    "authors",
    "categories",
    "summary",
    "content",
    "content_type",
    "enclosures",
    "operation",
)
TIMES = ("published", "updated", "document", "document_updated")
ORDER = (
    "order_time",
    "order_tombstone",
    "order_document_time",
    "order_walk",
    "order_step",
    "order_position",
)

WINNERS = (
    select(
        entries.c.id,
        *(entries.c[name] for name in ORDER),
        entries.c.digest,
        changes.c.id.is_not(None),
        changes.c.exported_digest,
    )
    .outerjoin(changes, (changes.c.feed_id == entries.c.feed_id) & (changes.c.id == entries.c.id))
    .where(entries.c.feed_id == bindparam("feed_id"))
)
WINNERS_AMONG = WINNERS.where(entries.c.id.in_(bindparam("ids", expanding=True)))

ENTRIES = select(
    feeds.c.url.label("feed"),
    entries.c.id,
    *(column for column in entries.c if column.name in {*CONTENT, *TIMES}),
    entries.c.digest,
    changes.c.id.label("change_id"),
    changes.c.exported_digest,
).join_from(entries, feeds, feeds.c.id == entries.c.feed_id)

ENTRIES_COLUMNS = [str(name) for name in ENTRIES.selected_columns.keys()]  # noqa: SIM118 - a collection of columns
VERSIONS = ENTRIES.add_columns(entries.c.original, entries.c.order_time)

STORED_ENTRIES = select(entries).where(
    entries.c.feed_id == bindparam("b_feed_id"), entries.c.id.in_(bindparam("b_ids", expanding=True))
)

ENTRY = select(entries).where(entries.c.feed_id == bindparam("feed_id"), entries.c.id == bindparam("id"))
VERSIONS_BEFORE = (
    select(versions)
    .where(versions.c.feed_id == bindparam("feed_id"), versions.c.id == bindparam("id"))
    .order_by(*(versions.c[name].desc() for name in ORDER))
)

CONFIRM_ENTRY = (
    entries.update()
    .where(entries.c.feed_id == bindparam("b_feed_id"), entries.c.id == bindparam("b_id"))
    .values(
        {
            **{name: bindparam(name) for name in (*TIMES, *ORDER)},
            "original": func.coalesce(bindparam("original"), entries.c.original),
        }
    )
)

DELETE_ENTRY = (
    entries.update()
    .where(entries.c.feed_id == bindparam("b_feed_id"), entries.c.id == bindparam("b_id"))
    .values(digest="", **{name: bindparam(name) for name in ORDER})
)

SETTLE_CHANGE = changes.delete().where(
    changes.c.feed_id == bindparam("b_feed_id"), changes.c.id == bindparam("b_id")
)


FIND_DOCUMENT = select(documents).where(
    documents.c.feed_id == bindparam("feed_id"), documents.c.key == bindparam("key")
)

_front = documents.alias("front")
FRONT_OF = (
    select(_front.c.url)
    .join(documents, documents.c.id == _front.c.behind_id)
    .where(
        _front.c.feed_id == bindparam("feed_id"),
        documents.c.feed_id == bindparam("feed_id"),
        documents.c.key == bindparam("key"),
    )
)


# Only of pages: an archive that has been read stays read.
UNREAD_PAGE = (
    documents.update()
    .where(
        documents.c.id == bindparam("b_id"),
        documents.c.role == Role.PAGE.value,
        documents.c.state == State.PROCESSED.value,
    )
    .values({name: bindparam(name) for name in ("state", "reason", "detail", "since", "walk", "step")})
)


def chain(start: Any) -> CTE:
    """The documents from one on backwards, up to the first that is not processed; ends in loops too."""
    columns = (documents.c.id, documents.c.behind_id, documents.c.state)
    first = select(*columns).where(start).cte("chain", recursive=True)
    return first.union(
        select(*columns)
        .join(first, documents.c.id == first.c.behind_id)
        .where(first.c.state == State.PROCESSED.value)
    )


def chain_ends(start: Any) -> Select[Any]:
    """Where a chain ends: a document without one behind it, or one that is not processed; none in a loop."""
    links = chain(start)
    return (
        select(documents)
        .join(links, links.c.id == documents.c.id)
        .where((links.c.state != State.PROCESSED.value) | links.c.behind_id.is_(None))
    )


class Prepared:
    """A statement in the words of one database, for many rows.

    SQLAlchemy looks at each row's parameters, which takes as long as the database takes to store them; the
    columns of these rows are of types that need no conversion.
    """

    def __init__(self, statement: Any, dialect: Dialect) -> None:
        self._columns = statement.table.columns.keys()
        compiled = statement.compile(dialect=dialect, column_keys=self._columns)
        self._sql = str(compiled)
        self._is_positional = compiled.positiontup == self._columns

    def execute(self, connection: Connection, rows: list[tuple[object, ...]]) -> None:
        """Execute it for rows that have a value for every column, in the order of the columns."""
        if not rows:
            return
        if self._is_positional:
            connection.exec_driver_sql(self._sql, rows)
            return
        named = [dict(zip(self._columns, row, strict=True)) for row in rows]
        connection.exec_driver_sql(self._sql, named)


class Upserts:
    """Insertions that meet a row of the same key, in the words of one database."""

    def __init__(self, dialect: Dialect) -> None:
        # The other database's dialect is large, and need not be loaded.
        insert = import_module(f"sqlalchemy.dialects.{dialect.name}").insert
        entry = self._overwrite(insert(entries), entries, ("feed_id", "id"))
        self.entry = Prepared(entry, dialect)
        # What changes again while it is delivered is not what is delivered.
        change = insert(changes).on_conflict_do_update(
            index_elements=("feed_id", "id"), set_={"delivery": null()}
        )
        self.change = Prepared(change, dialect)
        self.feed = insert(feeds).on_conflict_do_nothing(index_elements=("url",))
        self.known_document = self._known_document(insert(documents))
        self.part = self._known_document(insert(documents), "url", "behind_id")
        self.document = self._document(insert(documents))
        once = ("feed_id", "id", "digest")
        version = insert(versions).on_conflict_do_nothing(index_elements=once)
        self.version = Prepared(version, dialect)
        self.superseded = version.from_select(versions.columns.keys(), STORED_ENTRIES)
        self.capture = self._overwrite(insert(captures), captures, ("url",))

    @staticmethod
    def _overwrite(statement: Any, table: Table, key: tuple[str, ...]) -> Any:
        updated = {c.name: statement.excluded[c.name] for c in table.c if c.name not in key}
        return statement.on_conflict_do_update(index_elements=key, set_=updated)

    @staticmethod
    def _known_document(statement: Any, *also: str) -> Any:
        """What a link names, or a list; the row's number.

        :param also: what is as new as the link in any case

        A document that was read as something else, say as the subscription document of an earlier time, says
        nothing of what it is as an archive.
        """
        new, other = statement.excluded, documents.c.role != statement.excluded.role
        columns = ("role", "state", "walk", "step", "reason", "detail", "since")
        changed = {name: case((other, new[name]), else_=documents.c[name]) for name in columns}
        changed |= {name: new[name] for name in also}
        statement = statement.on_conflict_do_update(index_elements=("feed_id", "key"), set_=changed)
        return statement.returning(documents.c.id)

    @staticmethod
    def _document(statement: Any) -> Any:
        new = statement.excluded
        # An archive keeps the place that the chain once gave it; what is read again in each walk moves.
        moves = new.role != Role.ARCHIVE.value
        same_reason = documents.c.reason.is_not_distinct_from(new.reason)
        return statement.on_conflict_do_update(
            index_elements=("feed_id", "key"),
            set_={
                "url": new.url,
                "role": new.role,
                "state": new.state,
                "walk": case((moves, new.walk), else_=documents.c.walk),
                "step": case((moves, new.step), else_=documents.c.step),
                "behind_id": new.behind_id,
                "run": new.run,
                "updated": new.updated,
                "lost_entries": new.lost_entries,
                "reason": new.reason,
                "detail": new.detail,
                "since": case((same_reason, documents.c.since), else_=new.since),
                "fetched": new.fetched,
            },
        ).returning(documents.c.id)


CHAIN_ENDS = chain_ends(documents.c.id == bindparam("start"))


def losing_entries(start: Any, feed_id: int) -> Select[Any]:
    """The documents of a chain, and the parts of lists, that had entries which could not be kept."""
    links = chain(start)
    is_part = (documents.c.feed_id == feed_id) & (documents.c.role == Role.PART.value)
    losing = select(documents).where(documents.c.id.in_(select(links.c.id)) | is_part)
    return losing.where(documents.c.lost_entries > 0).order_by(documents.c.id)
