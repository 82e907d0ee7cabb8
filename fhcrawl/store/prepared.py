"""Statements that need not be built again for each execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Dialect

ROWS_AT_ONCE = 500


class Executes(Protocol):
    """What executes statements: a `sqlalchemy.Connection`, or later a `Batch` of them."""

    def execute(self, statement: Any, parameters: Any = None, /) -> Any:
        """Execute a statement of SQLAlchemy's."""

    def exec_driver_sql(self, statement: str, parameters: Any = None, /) -> Any:
        """Execute a statement in the words of the database."""


class Prepared:
    """A statement in the words of one database, whose values are of types that need no conversion.

    SQLAlchemy looks at the values of each row, which takes as long as the database takes to store them.

    :param columns: the columns of an insertion that get a value
    """

    def __init__(self, statement: Any, dialect: Dialect, columns: Iterable[str] = ()) -> None:
        compiled = statement.compile(dialect=dialect, column_keys=list(columns) or None)
        self._sql = str(compiled)
        self._names: list[str] = compiled.positiontup
        self._fixed: dict[str, object] = compiled.params

    def execute(self, connection: Executes, values: Mapping[str, object]) -> Any:
        """Execute it for values by name."""
        values = {**self._fixed, **values}
        return connection.exec_driver_sql(self._sql, tuple(values[name] for name in self._names))

    def execute_all(self, connection: Executes, rows: list[tuple[object, ...]]) -> None:
        """Execute it for rows that have a value for every column, in the order of the columns."""
        if rows:
            connection.exec_driver_sql(self._sql, rows)


class Unnested(Prepared):
    """The same of an insertion for PostgreSQL, whose parameters are the columns of many rows, as lists.

    It is one statement for all of them, which is quicker to send and to execute than one for each.
    """

    def execute_all(self, connection: Executes, rows: list[tuple[object, ...]]) -> None:
        """Execute it for rows that have a value for every column, in the order of the columns."""
        for begin in range(0, len(rows), ROWS_AT_ONCE):
            columns = zip(*rows[begin : begin + ROWS_AT_ONCE], strict=True)
            connection.exec_driver_sql(self._sql, tuple(map(list, columns)))
