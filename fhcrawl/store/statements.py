"""SQL for both databases: how it is executed, and the parts that several modules share.

Statements are text, executed by the database's driver without SQLAlchemy's conversions: SQLAlchemy inspects
the values of each row, which takes as long as the database takes to store them. Parameters are written
`:name`; a list is an array in PostgreSQL and a JSON list in SQLite. What the databases write differently is
written so:

- `KEY(x)`, for a column or a parameter: the string as indexes have it (`schema.Keyed`)
- `x = ANY(:list)`: whether a list has a value
- `UTF8(:octets)`: text from octets in UTF-8
- `JSON_LIST(x)`: the values of some rows as a JSON list
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Integer, literal

from fhcrawl.logical_feed.versions import Order
from fhcrawl.store.schema import POSTGRESQL, SQLITE, Keyed, entries, feeds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Table

ROWS_AT_ONCE = 500
DATABASES = (SQLITE, POSTGRESQL)
STATEMENTS_REMEMBERED = 500
# Databases limit the number of parameters; SQLite's limit was 999 for long.
IDS_AT_ONCE = 500

PARAMETER = re.compile(r":(\w+)")
MACROS = {
    SQLITE: (
        (r"KEY\((:?[\w.]+)\)", r"\1"),
        (r"= ANY\((:\w+)\)", r"IN (SELECT value FROM json_each(\1))"),
        (r"IS NOT DISTINCT FROM", "IS"),  # SQLite has had it since 3.39
        (r"UTF8\((:\w+)\)", r"CAST(\1 AS TEXT)"),
        (r"JSON_LIST\(([\w.]+)\)", r"json_group_array(\1)"),
    ),
    POSTGRESQL: (
        (r"%", "%%"),
        (r"KEY\((:\w+)\)", r"KEY(CAST(\1 AS TEXT))"),
        (
            r"KEY\(([\w.]+|CAST\(:\w+ AS TEXT\))\)",
            r"(CASE WHEN length(\1) <= 500 THEN \1 ELSE left(\1, 500) || md5(\1) END)",
        ),
        (r"UTF8\((:\w+)\)", r"convert_from(\1, 'UTF8')"),
        (r"JSON_LIST\(([\w.]+)\)", r"CAST(coalesce(json_agg(\1), '[]') AS TEXT)"),
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
ORIGINAL, DETAILS = "original", "details"


@lru_cache(STATEMENTS_REMEMBERED)
def _translated(sql: str, database: str) -> tuple[str, tuple[str, ...]]:
    """Return a statement in the SQL of a database, and the names of its parameters by position."""
    for pattern, replacement in MACROS[database]:
        sql = re.sub(pattern, replacement, sql)
    return PARAMETER.sub("?" if database == SQLITE else "%s", sql), tuple(PARAMETER.findall(sql))


def execute(
    connection: Connection, sql: str, values: Mapping[str, object] | None = None, at_once: int | None = None
) -> Any:
    """Execute a statement with named values.

    :param at_once: how many rows are read at a time; None: all
    """
    sql, names = _translated(sql, connection.dialect.name)
    # For this statement only; an option of the connection would hold for those after it.
    options = None if at_once is None else {"yield_per": at_once}
    bound = _bound(connection, names, values or {})
    return connection.exec_driver_sql(sql, bound, execution_options=options)


def execute_all(connection: Connection, sql: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Execute a statement once for each of some rows of named values."""
    if rows:
        sql, names = _translated(sql, connection.dialect.name)
        connection.exec_driver_sql(sql, [_bound(connection, names, values) for values in rows])


def _bound(
    connection: Connection, names: tuple[str, ...], values: Mapping[str, object]
) -> tuple[object, ...]:
    found = (values[name] for name in names)
    if connection.dialect.name == SQLITE:
        return tuple(json.dumps(value) if isinstance(value, list) else value for value in found)
    return tuple(found)


def insert_all(
    connection: Connection, table: Table, on_conflict: str, rows: list[tuple[object, ...]]
) -> None:
    """Insert rows with a value for every column, in the order of the columns; `original` in octets."""
    sql, _names = _translated(
        _insertion(table, connection.dialect.name, on_conflict), connection.dialect.name
    )
    if connection.dialect.name == SQLITE:
        if rows:
            connection.exec_driver_sql(sql, rows)
        return
    # PostgreSQL executes one statement for many rows in half the time of one statement for each row.
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        columns = zip(*rows[begin : begin + ROWS_AT_ONCE], strict=True)
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
        found = f"{query} AND entries.id = ANY(:ids)"
    else:
        # It may be planned before the feed has entries, and must not read whole feeds later: each id is a
        # lookup of its own.
        found = (
            "SELECT one.* FROM unnest(CAST(:ids AS TEXT[])) AS wanted (id)"
            f" JOIN LATERAL ({query} AND KEY(entries.id) = KEY(wanted.id) LIMIT 1) AS one ON true"
        )
    return execute(connection, f"{insert} {found} {end}", {"feed_id": feed_id, "ids": ids})


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


def counted_time(table: str) -> str:
    """Return the time that entries or versions are sorted by: their own, or their document's.

    Times after `:latest` do not count.
    """
    own, document = f"{table}.order_time", f"rtrim({table}.document_updated, 'Z')"
    return f"""CASE WHEN {own} <> '' AND {own} <= :latest THEN {own}
        WHEN {document} <= :latest THEN {document} ELSE '' END"""


def by_counted_order(table: str, direction: str = "ASC") -> str:
    """Return the columns to sort by, without times after `:latest`."""
    columns = (counted_time(table), *(f"{table}.{name}" for name in ORDER[2:]))
    return ", ".join(f"{column} {direction}" for column in columns)


CHANGE_OF_ENTRY = "changes.feed_id = entries.feed_id AND KEY(changes.id) = KEY(entries.id)"
WINNERS = f"""
SELECT entries.id, {", ".join(f"entries.{name}" for name in ORDER)}, entries.digest, changes.id IS NOT NULL,
    changes.exported_digest, entries.document_updated, nullif(entries.enclosures, '[]')
FROM entries LEFT JOIN changes ON {CHANGE_OF_ENTRY}
WHERE entries.feed_id = :feed_id
"""
ENTRIES_COLUMNS = (
    "feed",
    *(str(column.name) for column in entries.c if column.name in {"id", *CONTENT, *TIMES}),
    *("added", "digest", "change_id", "exported_digest"),
)
# With what the optional fields are computed from, and the counted time.
OPTIONAL_COLUMNS = f"""entries.details, entries.original,
    (SELECT JSON_LIST(renames.former_id) FROM renames WHERE renames.feed_id = entries.feed_id
        AND KEY(renames.id) = KEY(entries.id) AND renames.former_id IS NOT NULL) AS former_ids,
    {counted_time("entries")} AS time"""


# How many entries more than are kept a feed has by the publisher's count: by `:total`, else by the stored
# one. A publisher may count what no document shows, and what has been deleted is kept.
UNKEPT = """(coalesce(CAST(:total AS BIGINT), feeds.total)
    - (SELECT count(*) FROM entries WHERE entries.feed_id = :feed_id AND entries.digest <> ''))"""


def entries_with_changes(where: str, order: str, only_changed: bool = False, has_details: bool = True) -> str:
    """Return the query of the columns of `ENTRIES_COLUMNS`.

    :param only_changed: leave out entries without a change since they were exported
    :param has_details: with the columns of `OPTIONAL_COLUMNS` too
    """
    special = {"feed": "feeds.url AS feed", "change_id": "changes.id AS change_id"}
    special["exported_digest"] = "changes.exported_digest"
    columns = [special.get(name, f"entries.{name}") for name in ENTRIES_COLUMNS]
    return f"""
    SELECT {", ".join([*columns, OPTIONAL_COLUMNS] if has_details else columns)}
    FROM entries JOIN feeds ON feeds.id = entries.feed_id
        {"" if only_changed else "LEFT"} JOIN changes ON {CHANGE_OF_ENTRY}
    WHERE {where} ORDER BY {order}"""


def id_of_document(key: str) -> str:
    """Return a subquery for the id of the document with a key; NULL if the key is NULL."""
    of_key = f"known.feed_id = :feed_id AND KEY(known.key) = KEY(:{key})"
    return f"(SELECT known.id FROM documents AS known WHERE {of_key})"


def chain(start: str, with_gaps: bool = False) -> str:
    """Return the CTE of a chain's documents, newest first, to the first unprocessed one; safe in loops.

    :param start: condition of the documents at which chains begin
    :param with_gaps: go on behind unprocessed documents, as far as their links are known
    """
    return f"""
    WITH RECURSIVE chain (id, behind_id, state) AS (
        SELECT id, behind_id, state FROM documents WHERE {start}
        UNION SELECT documents.id, documents.behind_id, documents.state
        FROM documents JOIN chain ON documents.id = chain.behind_id
        {"" if with_gaps else "WHERE chain.state = 'processed'"}
    )"""


def chain_ends(start: str) -> str:
    """Return the query of a chain's end: the oldest document or an unprocessed one; none in a loop."""
    return f"""{chain(start)}
    SELECT documents.* FROM documents JOIN chain ON chain.id = documents.id
    WHERE chain.state <> 'processed' OR chain.behind_id IS NULL"""


# The document redirected to another place in the feed's last walk, and in no walk before.
MOVED = "documents.moved_to IS NOT NULL AND documents.moved_walk = feeds.walk"
