"""Statements that are compiled once, and executed without SQLAlchemy's conversion of values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection, Dialect

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
