"""Statements that need not be built again for each execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection, CursorResult, Dialect


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

    def execute(self, connection: Connection, values: Mapping[str, object]) -> CursorResult[Any]:
        """Execute it for values by name."""
        values = {**self._fixed, **values}
        return connection.exec_driver_sql(self._sql, tuple(values[name] for name in self._names))

    def execute_all(self, connection: Connection, rows: list[tuple[object, ...]]) -> None:
        """Execute it for rows that have a value for every column, in the order of the columns."""
        if rows:
            connection.exec_driver_sql(self._sql, rows)
