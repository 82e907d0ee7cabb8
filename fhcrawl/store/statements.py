"""SQL for both databases: how it is executed, and the parts that several modules share.

Statements are text, executed by the database's driver without SQLAlchemy's conversions: SQLAlchemy inspects
the values of each row, which takes as long as the database takes to store them. Parameters are written
`:name`; a list is an array in PostgreSQL and a JSON list in SQLite. What the databases write differently is
written so:

- `KEY(x)`, for a column or a parameter: the string as indexes have it. A row of PostgreSQL's indexes has room
  for 2,704 octets. There, the key of a long string is its beginning and a digest; a publisher who creates a
  collision loses an entry of their own feed.
- `x = ANY(:list)`: whether a list has a value; `KEY(x) = ANY(KEYS(:list))` for strings in an index
- `FOR UPDATE`: not in SQLite, which locks the database
- `UNIX_TIME()`: seconds since 1970 by the clock of the database
- `UTF8(:octets)`: text from octets in UTF-8
- `JSON_LIST(x)`: the values of some rows as a JSON list
- `COLLATE "C"`, `BIGINT`: for columns of the type `Text` or `Number` in `fhcrawl.store.schema`
- `MEMBERS(x) AS y`, `MEMBER(y, name)`: the objects in a JSON list as rows, and their members
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Integer

from fhcrawl.exceptions import StoreError
from fhcrawl.logical_feed import Winner
from fhcrawl.logical_feed.chain import EARLIEST_WALK
from fhcrawl.logical_feed.coverage import Coverage, EarlierSpan
from fhcrawl.logical_feed.results import Order, State, comparable
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, CursorResult, Row, Table

SQLITE, POSTGRESQL = "sqlite", "postgresql"
ROWS_AT_ONCE = 500
STATEMENTS_REMEMBERED = 500

PARAMETER = re.compile(r":(\w+)")
MACROS = {
    SQLITE: (
        (r"KEYS?\((:?[\w.]+)\)", r"\1"),
        (r"= ANY\((:\w+)\)", r"IN (SELECT value FROM json_each(\1))"),
        (r"FOR UPDATE", ""),
        (r' COLLATE "C"', ""),
        (r"BIGINT", "INTEGER"),
        (r"UNIX_TIME\(\)", "CAST(strftime('%s', 'now') AS INTEGER)"),
        (r"IS NOT DISTINCT FROM", "IS"),  # SQLite has had it since 3.39
        (r"UTF8\((:\w+)\)", r"CAST(\1 AS TEXT)"),
        (r"JSON_LIST\(([\w.]+)\)", r"json_group_array(\1)"),
        (r"MEMBERS\(([\w.]+)\)", r"json_each(\1)"),
        (r"MEMBER\((\w+), (\w+)\)", r"json_extract(\1.value, '$.\2')"),
    ),
    POSTGRESQL: (
        (r"%", "%%"),
        (r"KEYS\((:\w+)\)", r"ARRAY(SELECT KEY(wanted) FROM unnest(CAST(\1 AS TEXT[])) AS wanted)"),
        (r"UNIX_TIME\(\)", "CAST(extract(epoch FROM now()) AS BIGINT)"),
        (r"KEY\((:\w+)\)", r"KEY(CAST(\1 AS TEXT))"),
        (
            r"KEY\(([\w.]+|CAST\(:\w+ AS TEXT\))\)",
            r"(CASE WHEN length(\1) <= 500 THEN \1 ELSE left(\1, 500) || md5(\1) END)",
        ),
        (r"UTF8\((:\w+)\)", r"convert_from(\1, 'UTF8')"),
        (r"JSON_LIST\(([\w.]+)\)", r"CAST(coalesce(json_agg(\1), '[]') AS TEXT)"),
        (r"MEMBERS\(([\w.]+)\)", r"json_array_elements(CAST(\1 AS json))"),
        (r"MEMBER\((\w+), (\w+)\)", r"\1.value ->> '\2'"),
    ),
}

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
ORDER = tuple(f"order_{name}" for name in Order._fields)
IF_DAMAGED = "restore a backup, or delete it and crawl again"
ORIGINAL, DETAILS = "original", "details"


def from_json(text: str, parse: Callable[[str], Any] = json.loads) -> Any:
    """Return a parsed column; raise StoreError if it is damaged."""
    try:
        return parse(text)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise StoreError(f"The store is damaged ({text!s:.50} is not valid JSON); {IF_DAMAGED}") from error


@lru_cache(STATEMENTS_REMEMBERED)
def _translated(sql: str, database: str) -> tuple[str, tuple[str, ...]]:
    for pattern, replacement in MACROS[database]:
        sql = re.sub(pattern, replacement, sql)
    return PARAMETER.sub("?" if database == SQLITE else "%s", sql), tuple(PARAMETER.findall(sql))


def execute(
    connection: Connection, sql: str, values: Mapping[str, object] | None = None, at_once: int | None = None
) -> Any:
    """Execute a statement with named values; fetch all rows, or `at_once` at a time."""
    sql, names = _translated(sql, connection.dialect.name)
    # For this statement only; an option of the connection would apply to all later ones.
    options = None if at_once is None else {"yield_per": at_once}
    bound = _bound(connection, names, values or {})
    return connection.exec_driver_sql(sql, bound, execution_options=options)


@contextlib.contextmanager
def stream(
    connection: Connection, sql: str, values: dict[str, object], at_once: int = ROWS_AT_ONCE
) -> Iterator[CursorResult[Any]]:
    """Execute a statement; its rows are read in batches, without a limit of time, inside a `with` block."""
    if connection.dialect.name == POSTGRESQL:
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
    with contextlib.closing(execute(connection, sql, values, at_once)) as rows:
        yield rows


def execute_all(connection: Connection, sql: str, rows: Sequence[Mapping[str, object]]) -> None:
    if rows:
        sql, names = _translated(sql, connection.dialect.name)
        connection.exec_driver_sql(sql, [_bound(connection, names, values) for values in rows])


def _bound(
    connection: Connection, names: tuple[str, ...], values: Mapping[str, object]
) -> tuple[object, ...]:
    bound = (values[name] for name in names)
    if connection.dialect.name == SQLITE:
        bound = (json.dumps(value) if isinstance(value, list) else value for value in bound)
    return tuple(bound)


def insert_all(
    connection: Connection, table: Table, on_conflict: str, rows: Iterable[Mapping[str, object]]
) -> None:
    """Insert rows with a value for every column; `original` in octets."""
    sql = _insertion(table, connection.dialect.name, on_conflict)
    sql, names = _translated(sql, connection.dialect.name)
    values = list(map(itemgetter(*names), rows))
    if connection.dialect.name == SQLITE:
        if values:
            connection.exec_driver_sql(sql, values)
        return
    # PostgreSQL executes one statement for many rows in half the time of one statement for each row.
    for begin in range(0, len(values), ROWS_AT_ONCE):
        columns = zip(*values[begin : begin + ROWS_AT_ONCE], strict=True)
        connection.exec_driver_sql(sql, tuple(map(list, columns)))


@lru_cache
def _insertion(table: Table, database: str, on_conflict: str) -> str:
    names = table.columns.keys()
    if database == SQLITE:
        values = ", ".join("UTF8(:original)" if name == ORIGINAL else f":{name}" for name in names)
        return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({values}) {on_conflict}"
    arrays = {
        c.name: f"CAST(:{c.name} AS {'INT' if isinstance(c.type, Integer) else 'TEXT'}[])" for c in table.c
    }
    values = ", ".join(f"unnest({array})" for array in arrays.values())
    octets = "convert_from(unnest(CAST(:original AS BYTEA[])), 'UTF8')"
    values = values.replace("unnest(CAST(:original AS TEXT[]))", octets)
    return f"INSERT INTO {table.name} ({', '.join(names)}) SELECT {values} {on_conflict}"


def execute_among(
    connection: Connection, query: str, feed_id: int, ids: list[str], insert: str = "", end: str = ""
) -> Any:
    """Execute a query of entries of a feed for some ids.

    :param query: a SELECT that ends with a WHERE clause, with the parameter `feed_id`
    :param insert, end: what comes before and after it, to insert what is found
    """
    if connection.dialect.name == SQLITE:
        select = f"{query} AND entries.id = ANY(:ids)"
    else:
        # It may be planned before the feed has entries, and must not read whole feeds later: each id is a
        # lookup of its own.
        select = (
            "SELECT one.* FROM unnest(CAST(:ids AS TEXT[])) AS wanted (id)"
            f" JOIN LATERAL ({query} AND KEY(entries.id) = KEY(wanted.id) LIMIT 1) AS one ON true"
        )
    return execute(connection, f"{insert} {select} {end}", {"feed_id": feed_id, "ids": ids})


def counted_time(table: str) -> str:
    """Return the time to sort entries or versions by: theirs, else their document's; '' after `:latest`."""
    entry_time, document_time = f"{table}.order_time", f"rtrim({table}.document_time, 'Z')"
    return f"""CASE WHEN {entry_time} <> '' AND {entry_time} <= :latest THEN {entry_time}
        WHEN {document_time} <= :latest THEN {document_time} ELSE '' END"""


def by_counted_order(table: str, direction: str = "ASC") -> str:
    """Return the columns of ORDER BY, in which times after `:latest` do not count."""
    columns = (counted_time(table), *(f"{table}.{name}" for name in ORDER[2:]))
    return ", ".join(f"{column} {direction}" for column in columns)


CHANGE_OF_ENTRY = "changes.feed_id = entries.feed_id AND KEY(changes.id) = KEY(entries.id)"
WINNERS = f"""
SELECT entries.id, {", ".join(f"entries.{name}" for name in ORDER)}, entries.digest, changes.id IS NOT NULL,
    changes.exported_digest, entries.document_time, nullif(entries.enclosures, '[]')
FROM entries LEFT JOIN changes ON {CHANGE_OF_ENTRY}
WHERE entries.feed_id = :feed_id
"""
# Joins the web pages that a sitemap names with their entries, unless a document of the feed has them now.
OF_POST = f"""entries.feed_id = sitemap_posts.feed_id AND KEY(entries.id) = KEY(sitemap_posts.entry_id)
    AND entries.digest <> '' AND entries.order_walk = {EARLIEST_WALK}"""
# How many entries more than are kept a feed has by the publisher's count: by `:total`, else by the stored
# one. A publisher may count unpublished entries, and deleted entries are kept.
UNKEPT = f"""(coalesce(CAST(:total AS BIGINT), feeds.total)
    - (SELECT count(*) FROM entries WHERE entries.feed_id = :feed_id AND entries.digest <> ''
        AND entries.order_walk > {EARLIEST_WALK}))"""


def assigned(names: Iterable[str]) -> str:
    """Return the assignments of an UPDATE that sets columns to the parameters of the same names."""
    return ", ".join(f"{name} = :{name}" for name in names)


def overwritten(names: Iterable[str]) -> str:
    """Return the assignments of an UPSERT that overwrites columns."""
    return ", ".join(f"{name} = excluded.{name}" for name in names)


def insertion(table: str, names: Iterable[str], **computed: str) -> str:
    """Return an INSERT of parameters of the columns' names, and of computed columns."""
    values = {**{name: f":{name}" for name in names}, **computed}
    return f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join(values.values())})"


def id_of_document(key: str) -> str:
    """Return a subquery for the id of the document with a key; NULL if the key is NULL."""
    of_key = f"target.feed_id = :feed_id AND KEY(target.key) = KEY(:{key})"
    return f"(SELECT target.id FROM documents AS target WHERE {of_key})"


def with_chain(start: str, with_gaps: bool = False) -> str:
    """Return the CTE of a chain's documents, newest first, to the first unprocessed one; safe in loops.

    :param start: condition of the documents at which chains begin
    :param with_gaps: continue behind unprocessed documents whose links are stored
    """
    return f"""
    WITH RECURSIVE chain (id, behind_id, state) AS (
        SELECT id, behind_id, state FROM documents WHERE {start}
        UNION SELECT documents.id, documents.behind_id, documents.state
        FROM documents JOIN chain ON documents.id = chain.behind_id
        {"" if with_gaps else "WHERE chain.state = 'processed'"}
    )"""


# The document redirected to another place in the feed's last walk, and in no walk before.
MOVED = "documents.moved_to IS NOT NULL AND documents.moved_walk = feeds.walk"


JSON_FIELDS = ("authors", "categories", "enclosures")
NOT_FETCHED = "has not been fetched yet"
UNREAD = {"state": State.KNOWN.value, "reason": ReasonKind.KNOWN.value, "detail": NOT_FETCHED}


def find_document(connection: Connection, feed_id: int, key: str) -> Row[Any] | None:
    of_key = "SELECT * FROM documents WHERE feed_id = :feed_id AND KEY(key) = KEY(:key)"
    row: Row[Any] | None = execute(connection, of_key, {"feed_id": feed_id, "key": key}).first()
    return row


def winners(rows: Iterable[Sequence[Any]], latest: str) -> dict[str, Winner]:
    """Return the newest versions in the result of `WINNERS`, by id, judged by times up to `latest`."""
    newest = {}
    for entry_id, *values, digest, is_pending, exported, document_updated, enclosures in rows:
        order = Order(*values)
        counted = order.counted(latest)
        uncounted = None if counted is order else order.time
        document_time = comparable(document_updated)
        if document_time > latest:
            document_time = ""
        newest[entry_id] = Winner(
            counted, digest, bool(is_pending), exported, uncounted, document_time, enclosures
        )
    return newest


COVERAGE_COLUMNS = tuple(field.name for field in dataclasses.fields(Coverage))


def read_coverage(connection: Connection, feed_ids: list[int]) -> dict[int, Coverage]:
    """Return the coverage of feeds by their own reads, by id; feeds that have none are missing."""
    of_feeds = "SELECT * FROM coverage WHERE feed_id = ANY(:feeds)"
    coverages = {}
    for row in execute(connection, of_feeds, {"feeds": feed_ids}):
        values: dict[str, Any] = {name: getattr(row, name) for name in COVERAGE_COLUMNS}
        values["earlier"] = tuple(EarlierSpan(*span) for span in from_json(row.earlier))
        coverages[row.feed_id] = Coverage(**values)
    return coverages
