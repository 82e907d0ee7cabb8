"""Copies the content of a store to another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from fhcrawl.exceptions import StoreError
from fhcrawl.store import schema
from fhcrawl.store.compiled import CompiledStatement

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

ROWS_AT_ONCE = 500


def copy(source: Connection, target: Connection, place: str) -> dict[str, int]:
    """Copy every row; return the number of rows by table.

    :param source: in a transaction that sees one state of the store
    :param place: URL of the source, without passwords
    :raises StoreError: if the source has no feeds, or the target has some
    """
    if not _has_feeds(source):
        raise StoreError(
            f"There are no feeds to copy in {place}: name the store to copy from in FHCRAWL_STORE_URL, or go "
            "to another folder; a folder with a scrapy.cfg, as that of fhcrawl's source, has its own store"
        )
    # This locks the row that every crawl updates when it begins.
    target.execute(schema.store.update().values(runs=source.scalar(select(schema.store.c.runs))))
    if _has_feeds(target):
        raise StoreError("The store to copy to has feeds: name a new file, or an empty database")
    tables = [table for table in schema.metadata.sorted_tables if table is not schema.store]
    return {table.name: _copy_table(source, target, table) for table in tables}


def _has_feeds(connection: Connection) -> bool:
    return connection.execute(select(schema.feeds.c.id).limit(1)).first() is not None


def _copy_table(source: Connection, target: Connection, table: Table) -> int:
    insertion = CompiledStatement(table.insert().inline(), target.dialect)
    count = 0
    found = source.execution_options(yield_per=ROWS_AT_ONCE).execute(select(table))
    for rows in found.partitions():
        insertion.execute_all(target, [tuple(row) for row in rows])
        count += len(rows)
    if target.dialect.name == schema.POSTGRESQL and table.autoincrement_column is not None:
        _count_on(target, table.autoincrement_column)
    return count


def _count_on(target: Connection, number: Any) -> None:
    """Set the sequence of a column, so that the next row gets the number after the greatest one."""
    sequence = func.pg_get_serial_sequence(number.table.name, number.name)
    greatest = func.max(number)
    target.execute(select(func.setval(sequence, func.coalesce(greatest, 1), greatest.is_not(None))))
