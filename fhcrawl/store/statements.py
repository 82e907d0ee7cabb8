"""Statements that are built once for each database, and executed without SQLAlchemy's conversions."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import (
    ARRAY,
    CTE,
    Integer,
    LargeBinary,
    ScalarSelect,
    Select,
    Text,
    Update,
    bindparam,
    case,
    column,
    func,
    literal,
    null,
    select,
    true,
)

from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.results import State
from fhcrawl.reasons import ReasonKind
from fhcrawl.store import coverage
from fhcrawl.store.schema import (
    POSTGRESQL,
    SQLITE,
    JsonList,
    Keyed,
    Number,
    Utf8,
    absences,
    captures,
    changes,
    documents,
    entries,
    feeds,
    heads,
    renames,
    versions,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sqlalchemy import Column, ColumnElement, Connection, Dialect
    from sqlalchemy.types import TypeEngine

    from fhcrawl.documents import HeadSource

ROWS_AT_ONCE = 500


class CompiledStatement:
    """A statement compiled for one database, whose values are of types that need no conversion.

    SQLAlchemy inspects the values of each row, which takes as long as the database takes to store them.

    :param columns: the columns that an INSERT sets
    """

    def __init__(self, statement: Any, dialect: Dialect, columns: Iterable[str] = ()) -> None:
        compiled = statement.compile(dialect=dialect, column_keys=list(columns) or None)
        self._sql = str(compiled)
        self._names: list[str] = compiled.positiontup
        self._fixed: dict[str, object] = compiled.params

    def execute(self, connection: Connection, values: Mapping[str, object]) -> Any:
        """Execute the statement with named values."""
        values = {**self._fixed, **values}
        return connection.exec_driver_sql(self._sql, tuple(values[name] for name in self._names))

    def execute_all(self, connection: Connection, rows: list[tuple[object, ...]]) -> None:
        """Execute the statement for rows with a value for every column, in the order of the columns."""
        if rows:
            connection.exec_driver_sql(self._sql, rows)


class ArrayInsert(CompiledStatement):
    """An INSERT for PostgreSQL whose parameters are arrays: one for each column, with the values of all rows.

    PostgreSQL executes one statement for many rows in half the time of one statement for each row.
    """

    def execute_all(self, connection: Connection, rows: list[tuple[object, ...]]) -> None:
        """Execute the statement for rows with a value for every column, in the order of the columns."""
        for begin in range(0, len(rows), ROWS_AT_ONCE):
            columns = zip(*rows[begin : begin + ROWS_AT_ONCE], strict=True)
            connection.exec_driver_sql(self._sql, tuple(map(list, columns)))


DATABASES = (SQLITE, POSTGRESQL)
# One for each number of ids.
STATEMENTS_REMEMBERED = 100
# Databases limit the number of parameters; SQLite's limit was 999 for long.
IDS_AT_ONCE = 500

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
ORIGINAL, DETAILS = "original", "details"
# The latest time to take into account; see `Order.counted`.
LATEST = bindparam("latest", type_=Text())


def counted_order(table: Any) -> tuple[ColumnElement[Any], ...]:
    """Return the columns of `ORDER` without times after `LATEST`, to sort entries or versions by."""
    time, document_time = table.c.order_time, table.c.order_document_time
    counted_document = case((document_time <= LATEST, document_time), else_="")
    counted = case((time <= LATEST, time), else_=counted_document)
    return counted, table.c.order_tombstone, counted_document, *(table.c[name] for name in ORDER[3:])


def some_at_once(ids: list[str]) -> Iterator[list[str]]:
    """Yield ids in groups that are small enough for a statement."""
    for begin in range(0, len(ids), IDS_AT_ONCE):
        yield ids[begin : begin + IDS_AT_ONCE]


def is_of(url: str) -> ColumnElement[bool]:
    """Return the condition that a feed has a URL."""
    return Keyed(feeds.c.url) == Keyed(literal(url))


def is_one_of(urls: list[str]) -> ColumnElement[bool]:
    """Return the condition that a feed has one of some URLs."""
    return Keyed(feeds.c.url).in_([Keyed(literal(url)) for url in urls])


CHANGE_OF_ENTRY = (changes.c.feed_id == entries.c.feed_id) & (Keyed(changes.c.id) == Keyed(entries.c.id))

WINNERS = (
    select(
        entries.c.id,
        *(entries.c[name] for name in ORDER),
        entries.c.digest,
        changes.c.id.is_not(None),
        changes.c.exported_digest,
    )
    .outerjoin(changes, CHANGE_OF_ENTRY)
    .where(entries.c.feed_id == bindparam("feed_id"))
)


def among(statement: Select[Any], names: str, dialect: Dialect) -> Select[Any]:
    """Restrict a statement on entries to the ids in a parameter, in one database's SQL.

    :param names: name of the parameter
    """
    if dialect.name == SQLITE:
        return statement.where(entries.c.id.in_(bindparam(names, expanding=True)))
    # One array, so that there is one statement for any number of ids. It may be planned before the feed has
    # entries, and must not read whole feeds later: each id is a lookup of its own.
    ids = func.unnest(bindparam(names, type_=ARRAY(Text))).table_valued(column("id", Text), name="wanted")
    wanted = ids.render_derived()
    one = statement.where(Keyed(entries.c.id) == Keyed(wanted.c.id)).limit(1).lateral("one")
    return select(one).select_from(wanted).join(one, true())


ENTRIES = select(
    feeds.c.url.label("feed"),
    entries.c.id,
    *(column for column in entries.c if column.name in {*CONTENT, *TIMES}),
    entries.c.added,
    entries.c.digest,
    changes.c.id.label("change_id"),
    changes.c.exported_digest,
).join_from(entries, feeds, feeds.c.id == entries.c.feed_id)

ENTRIES_COLUMNS = [str(name) for name in ENTRIES.selected_columns.keys()]  # noqa: SIM118 - a collection of columns
_former = (renames.c.feed_id == entries.c.feed_id) & (Keyed(renames.c.id) == Keyed(entries.c.id))
FORMER_IDS = select(JsonList(renames.c.former_id)).where(_former, renames.c.former_id.is_not(None))
# With what the optional fields are computed from.
WHOLE_ENTRIES = ENTRIES.add_columns(
    entries.c.details, entries.c.original, FORMER_IDS.scalar_subquery().label("former_ids")
)
VERSIONS = WHOLE_ENTRIES.add_columns(counted_order(entries)[0].label("time"))

ENTRY = select(entries).where(
    entries.c.feed_id == bindparam("feed_id"), Keyed(entries.c.id) == Keyed(bindparam("id", type_=Text()))
)
VERSIONS_BEFORE = (
    select(versions)
    .where(
        versions.c.feed_id == bindparam("feed_id"),
        Keyed(versions.c.id) == Keyed(bindparam("id", type_=Text())),
    )
    .order_by(*(column.desc() for column in counted_order(versions)))
)

CONFIRM_ENTRY = (
    entries.update()
    .where(
        entries.c.feed_id == bindparam("b_feed_id"),
        Keyed(entries.c.id) == Keyed(bindparam("b_id", type_=Text())),
    )
    .values(
        {
            **{name: bindparam(name) for name in (*TIMES, *ORDER, "digest")},
            ORIGINAL: func.coalesce(Utf8(bindparam(ORIGINAL, type_=LargeBinary())), entries.c.original),
            DETAILS: bindparam(DETAILS),
        }
    )
)

DELETE_ENTRY = (
    entries.update()
    .where(
        entries.c.feed_id == bindparam("b_feed_id"),
        Keyed(entries.c.id) == Keyed(bindparam("b_id", type_=Text())),
    )
    .values(digest="", **{name: bindparam(name) for name in ORDER})
)

SETTLE_CHANGE = changes.delete().where(
    changes.c.feed_id == bindparam("b_feed_id"), Keyed(changes.c.id) == Keyed(bindparam("b_id", type_=Text()))
)

FIND_DOCUMENT = select(documents).where(
    documents.c.feed_id == bindparam("feed_id"),
    Keyed(documents.c.key) == Keyed(bindparam("key", type_=Text())),
)


def number_of(key: str) -> ScalarSelect[Any]:
    """Return a subquery for the id of the document with a feed and a key; NULL if the key is NULL."""
    known = documents.alias("known")
    wanted = Keyed(bindparam(key, type_=Text()))
    found = (known.c.feed_id == bindparam("b_feed_id")) & (Keyed(known.c.key) == wanted)
    return select(known.c.id).where(found).scalar_subquery()


@lru_cache(STATEMENTS_REMEMBERED)
def update_feed(names: tuple[str, ...], is_subscription: bool) -> Update:
    """Return an UPDATE of columns of a feed, and of its subscription document's id if wanted."""
    changed: dict[str, Any] = {name: bindparam(name, type_=feeds.c[name].type) for name in names}
    if is_subscription:
        changed["subscription_id"] = number_of("b_key")
    return feeds.update().where(feeds.c.id == bindparam("b_feed_id")).values(changed)


# Until the subscription document is read, a feed has the title of a capture.
NAME_UNREAD_FEED = (
    feeds.update()
    .where(feeds.c.id == bindparam("b_feed_id"), feeds.c.kind.is_(None), feeds.c.title.is_(None))
    .values(title=bindparam("b_title"))
)
# RFC 9111, 4.3.4: a 304 response updates the stored header fields; those that it lacks stay.
CONFIRM_FEED = (
    feeds.update()
    .where(feeds.c.id == bindparam("b_feed_id"))
    .values(
        crawled=bindparam("b_time"),
        polled=bindparam("b_time"),
        walk=bindparam("b_walk"),
        fresh_seconds=func.coalesce(bindparam("b_fresh", type_=Number), feeds.c.fresh_seconds),
        special=func.coalesce(bindparam("b_special", type_=Integer), feeds.c.special),
    )
)
CONFIRM_SUBSCRIPTION = (
    documents.update()
    .where(
        documents.c.id
        == select(feeds.c.subscription_id).where(feeds.c.id == bindparam("b_feed_id")).scalar_subquery()
    )
    .values(walk=bindparam("b_walk"), checked=bindparam("b_time"), checked_walk=bindparam("b_walk"))
)

_subscription = (
    select(documents.c.walk, documents.c.step)
    .join(feeds, feeds.c.subscription_id == documents.c.id)
    .where(feeds.c.id == bindparam("b_feed_id"))
    .subquery()
)
# Comes before CONFIRM_SUBSCRIPTION.
CONFIRM_NEWEST = (
    entries.update()
    .where(
        entries.c.feed_id == bindparam("b_feed_id"),
        entries.c.order_walk == select(_subscription.c.walk).scalar_subquery(),
        entries.c.order_step == select(_subscription.c.step).scalar_subquery(),
    )
    .values(order_walk=bindparam("b_walk"))
)

_front = documents.alias("front")
FRONT_OF = (
    select(_front.c.url)
    .join(documents, documents.c.id == _front.c.behind_id)
    .where(
        _front.c.feed_id == bindparam("feed_id"),
        documents.c.feed_id == bindparam("feed_id"),
        Keyed(documents.c.key) == Keyed(bindparam("key", type_=Text())),
    )
)


# A check that has failed has neither `b_checked` nor `b_walk`.
NOTE_CHECK = (
    documents.update()
    .where(
        documents.c.feed_id == bindparam("b_feed_id"),
        Keyed(documents.c.key) == Keyed(bindparam("b_key", type_=Text())),
    )
    .values(
        fetched=bindparam("b_time"),
        checked=func.coalesce(bindparam("b_checked", type_=Text()), documents.c.checked),
        checked_walk=func.coalesce(bindparam("b_walk", type_=Integer), documents.c.checked_walk),
    )
)

FORGET_OTHERS = documents.delete().where(
    documents.c.feed_id == bindparam("b_feed_id"),
    Keyed(documents.c.key) != Keyed(bindparam("b_key", type_=Text())),
)
_time = bindparam("b_time", type_=Text())
NOTE_UNCOUNTED = (
    documents.update()
    .where(
        documents.c.feed_id == bindparam("b_feed_id"),
        documents.c.walk == bindparam("b_walk"),
        documents.c.step == bindparam("b_step"),
    )
    .values(uncounted=case((documents.c.uncounted < _time, documents.c.uncounted), else_=_time))
)
FORGET_DOCUMENT = documents.delete().where(documents.c.id == bindparam("b_id"))

_before = documents.alias("before")
_is_behind_key = documents.c.id.in_(
    select(_before.c.behind_id).where(
        _before.c.feed_id == bindparam("b_feed_id"),
        Keyed(_before.c.key) == Keyed(bindparam("b_key", type_=Text())),
        _before.c.behind_id != _before.c.id,
    )
)
_leading = select(_before.c.behind_id).where(
    _before.c.feed_id == bindparam("b_feed_id"), _before.c.behind_id.is_not(None)
)
_is_behind_subscription = documents.c.id.in_(_leading.where(_before.c.role == Role.SUBSCRIPTION.value))


def _unread(where: ColumnElement[bool]) -> Update:
    """Return an UPDATE that marks pages as unread; archives that have been read stay read."""
    names = ("state", "reason", "detail", "since", "walk", "step")
    return (
        documents.update()
        .where(
            documents.c.feed_id == bindparam("b_feed_id"),
            documents.c.role == Role.PAGE.value,
            documents.c.state == State.PROCESSED.value,
            where,
        )
        .values({name: bindparam(name) for name in names})
    )


UNREAD_PAGE = _unread(_is_behind_key)
# An earlier subscription document may have linked to the page, or no document links to it at the moment.
UNREAD_PAGES = _unread(_is_behind_subscription | documents.c.id.not_in(_leading))


def chain(start: Any, with_gaps: bool = False) -> CTE:
    """Return the query of a chain's documents, newest first, to the first unprocessed one; safe in loops.

    :param with_gaps: go on behind unprocessed documents, as far as their links are known
    """
    columns = (documents.c.id, documents.c.behind_id, documents.c.state)
    first = select(*columns).where(start).cte("chain", recursive=True)
    older = select(*columns).join(first, documents.c.id == first.c.behind_id)
    return first.union(older if with_gaps else older.where(first.c.state == State.PROCESSED.value))


def chain_ends(start: Any) -> Select[Any]:
    """Return the query of a chain's end: the oldest document or an unprocessed one; none in a loop."""
    links = chain(start)
    return (
        select(documents)
        .join(links, links.c.id == documents.c.id)
        .where((links.c.state != State.PROCESSED.value) | links.c.behind_id.is_(None))
    )


class WinnersAmong:
    """The statement of `WINNERS` for some ids, compiled for one database."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._compiled = lru_cache(STATEMENTS_REMEMBERED)(self._of)

    def execute(self, connection: Connection, feed_id: int, ids: list[str]) -> Any:
        """Execute the statement for some ids of a feed."""
        if self._dialect.name == SQLITE:
            numbered = {f"id_{number}": entry_id for number, entry_id in enumerate(ids)}
            return self._compiled(len(ids)).execute(connection, {"feed_id": feed_id, **numbered})
        return self._compiled(1).execute(connection, {"feed_id": feed_id, "ids": ids})

    def _of(self, number: int) -> CompiledStatement:
        if self._dialect.name != SQLITE:
            return CompiledStatement(among(WINNERS, "ids", self._dialect), self._dialect)
        ids = entries.c.id.in_([bindparam(f"id_{n}", type_=Text()) for n in range(number)])
        return CompiledStatement(WINNERS.where(ids), self._dialect)


CHAIN_ENDS = chain_ends(documents.c.id == bindparam("start"))


def _end_of() -> Select[Any]:
    """Return the query of a document, as `start_id`, `start_role` and `start_run`, and of its chain's end."""
    start = documents.alias("start")
    feed: ColumnElement[int] = bindparam("feed_id", type_=Integer())
    key = Keyed(bindparam("key", type_=Text()))
    ends = chain_ends((documents.c.feed_id == feed) & (Keyed(documents.c.key) == key)).subquery("ends")
    return (
        select(*(start.c[name].label(f"start_{name}") for name in ("id", "role", "run")), ends)
        .join_from(start, ends, true(), isouter=True)
        .where(start.c.feed_id == feed, Keyed(start.c.key) == key)
    )


END_OF = _end_of()


# The document redirected to another place in the feed's last walk, and in no walk before.
MOVED = documents.c.moved_to.is_not(None) & (documents.c.moved_walk == feeds.c.walk)


# Of the row of `feeds` around it.
HEAD_DIGEST = (
    select(heads.c.digest).where(heads.c.feed_id == feeds.c.id).scalar_subquery().label("head_digest")
)


class StoredHead(NamedTuple):
    """The head section of a feed.

    :param original: XML or JSON
    :param document: URL of its document
    """

    original: str
    document: str


class HeadUpserts:
    """The statements that write heads, in the SQL of one database."""

    def __init__(self, dialect: Dialect) -> None:
        insert: Any = import_module(f"sqlalchemy.dialects.{dialect.name}").insert
        new = insert(heads)
        self._first = new.on_conflict_do_nothing()
        names = ("original", "digest", "document")
        self._replacing = new.on_conflict_do_update(
            index_elements=(heads.c.feed_id,), set_={name: new.excluded[name] for name in names}
        )

    def write(self, connection: Connection, feed_id: int, head: HeadSource, document: str) -> None:
        """Write the head of a feed, in place of the one before."""
        connection.execute(self._replacing, _head_row(feed_id, head, document))

    def write_first(self, connection: Connection, feed_id: int, head: HeadSource, document: str) -> None:
        """Write the head of a feed that has none."""
        connection.execute(self._first, _head_row(feed_id, head, document))


def _head_row(feed_id: int, head: HeadSource, document: str) -> dict[str, object]:
    return {"feed_id": feed_id, "original": head.original, "digest": head.digest, "document": document}


def read_heads(connection: Connection, urls: list[str]) -> dict[str, StoredHead]:
    """Return the heads of feeds, by URL; feeds without one are missing."""
    columns = (feeds.c.url, *(heads.c[name] for name in StoredHead._fields))
    joined = select(*columns).join_from(heads, feeds, feeds.c.id == heads.c.feed_id)
    found = connection.execute(joined.where(is_one_of(urls)))
    return {row[0]: StoredHead(*row[1:]) for row in found}


def forget_heads(connection: Connection, feed_ids: Iterable[int]) -> None:
    """Delete the heads of feeds."""
    connection.execute(heads.delete().where(heads.c.feed_id.in_(list(feed_ids))))


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
