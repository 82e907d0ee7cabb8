"""Statements that go to PostgreSQL together, and whose answers are taken when they come.

What is sent up to a synchronization point is one transaction, which is committed there; if a statement of it
fails, none of it is done. What is sent behind that sees what it has brought, without a wait for the answer in
between: https://www.postgresql.org/docs/current/libpq-pipeline-mode.html
"""

from __future__ import annotations

import asyncio
import re
import selectors
import struct
from collections import deque, namedtuple
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any

from fhcrawl.store import opening
from fhcrawl.store.prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from psycopg import Connection, Error
    from psycopg.pq.abc import PGconn, PGresult
    from sqlalchemy import Dialect, Engine

# How long the server may be silent while it is waited for; then its machine is gone, or it has been stopped.
ANSWER_SECONDS = 120
# How many statements the server is to remember.
STATEMENTS_REMEMBERED = 100
TEXT, BINARY = 0, 1
# Numbers of types: https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat
BOOL, INT8, INT4 = 16, 20, 23
OF_ARRAYS: dict[type, int] = {bytes: 17, str: 25}
NULL = struct.pack("!i", -1)

Row = tuple[Any, ...]
# A value, and how it is written.
Parameter = tuple["bytes | None", int]


class Batch:
    """Statements that are one transaction, collected by the methods that a `sqlalchemy.Connection` has."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self.statements: list[tuple[str, Sequence[object]]] = []

    def execute(self, statement: Any, parameters: Mapping[str, Any] | list[Any] | None = None) -> None:
        """Add a statement, or one for each of a list of parameters."""
        rows = parameters if isinstance(parameters, list) else [parameters or {}]
        prepared = _prepared(statement, self._dialect, tuple(rows[0]))
        for row in rows:
            prepared.execute(self, row)

    def exec_driver_sql(self, sql: str, parameters: Sequence[object] = ()) -> None:
        """Add a statement in the words of the database."""
        self.statements.append((sql, parameters))


class Pending:
    """A batch that was sent.

    :param ends: synchronization points that have to be answered
    :param rows: what its statements have found, in their order; of those that have columns
    :param error: that it has failed with
    """

    def __init__(self, answered: Callable[[Error | None], None]) -> None:
        self.answered = answered
        self.ends = 1
        self.is_done = False
        self.rows: list[list[Row]] = []
        self.error: Error | None = None


class Pipeline:
    """A connection on which batches go one behind the other.

    Every method raises the driver's `Error` if the database cannot be had; what has become of a batch is said
    to whoever has sent it, in whichever method its answer is taken.
    """

    def __init__(self, engine: Engine) -> None:
        from psycopg import DataError, Error

        self._error, self._data_error = Error, DataError
        self._engine = engine
        self._wire: Wire | None = None
        self._pending: deque[Pending] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None

    def batch(self) -> Batch:
        """A new one."""
        return Batch(self._engine.dialect)

    def ask(self, batch: Batch) -> list[list[Row]]:
        """Send a batch that reads, and wait for what its statements find."""
        pending = self._send(batch, lambda error: None)
        while not pending.is_done:
            self._next()
        if pending.error is not None:
            raise pending.error
        return pending.rows

    def send(self, batch: Batch, answered: Callable[[Error | None], None]) -> None:
        """Send a batch that writes, and do not wait.

        :param answered: called when all of it is committed, or with the error for which none of it is
        """
        self._send(batch, answered)
        self._look()

    def settle(self) -> None:
        """Wait for all answers."""
        while self._pending:
            self._next()

    def close(self) -> None:
        """Wait for all answers, and close the connection."""
        self.settle()
        self._drop()

    def _send(self, batch: Batch, answered: Callable[[Error | None], None]) -> Pending:
        pending = Pending(answered)
        try:
            statements = [(sql, list(map(_parameter, values))) for sql, values in batch.statements]
        except ValueError as error:
            raise self._data_error(str(error)) from error
        if self._wire is None:
            self._wire = Wire(opening.connection(self._engine))
        # From here on, whatever fails is its answer.
        self._pending.append(pending)
        try:
            pending.ends = self._wire.send(statements)
        except self._error as error:
            self._fail(error)
        return pending

    def _next(self) -> None:
        """Wait for the next part of an answer."""
        wire = self._wire
        if wire is None:
            return
        try:
            result = wire.result()
        except self._error as error:
            self._fail(error)
            return
        pending = self._pending[0]
        if wire.is_end(result):
            pending.ends -= 1
            if not pending.ends:
                self._done(pending)
        elif result is not None:
            self._note(pending, wire, result)

    def _note(self, pending: Pending, wire: Wire, result: PGresult) -> None:
        if result.nfields:
            pending.rows.append(_rows(result))
        error = wire.error(result)
        if error is None:
            return
        pending.error = pending.error or error
        if pending.ends > 1:
            wire.forget()

    def _done(self, pending: Pending) -> None:
        self._pending.popleft()
        if not self._pending:
            self._look_no_more()
        pending.is_done = True
        pending.answered(pending.error)

    def _fail(self, error: Error) -> None:
        """The connection is gone, and all answers with it."""
        failed, self._pending = self._pending, deque()
        self._drop()
        # The engine's own connections may be as dead, and need not be tried one by one.
        self._engine.dispose()
        for pending in failed:
            pending.error = pending.error or error
            pending.is_done = True
        for pending in failed:
            pending.answered(pending.error)

    def _drop(self) -> None:
        self._look_no_more()
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.close()

    # -- answers that come while others work --------------------------------------------------------

    def _look(self) -> None:
        """Let the event loop say when there is an answer, if one is to come and a loop runs."""
        if not self._pending:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        if self._wire is not None and self._loop is None:
            loop.add_reader(self._wire.number, self._take)
            self._loop = loop

    def _take(self) -> None:
        """Take what is there."""
        try:
            while self._pending and self._wire is not None and self._wire.has_result():
                self._next()
        except self._error as error:
            self._fail(error)

    def _look_no_more(self) -> None:
        loop, self._loop = self._loop, None
        if loop is not None and self._wire is not None and not loop.is_closed():
            loop.remove_reader(self._wire.number)


class Wire:
    """A connection in libpq's pipeline mode."""

    def __init__(self, connection: Connection[Any]) -> None:
        from psycopg import errors, pq

        self._connection = connection
        self._libpq: PGconn = connection.pgconn
        self._errors, self._status, self._is_bad = errors, pq.ExecStatus, pq.ConnStatus.BAD
        self._selector = selectors.DefaultSelector()
        self.number = self._libpq.socket
        self._names: dict[str, bytes] = {}
        self._numbers = count(1)
        self._libpq.enter_pipeline_mode()

    def send(self, statements: list[tuple[str, list[Parameter]]]) -> int:
        """Send statements, and a synchronization point behind them; how many of these that makes."""
        ends = 1 + self._prepare({sql for sql, _parameters in statements})
        for sql, parameters in statements:
            data, formats = [data for data, _form in parameters], [form for _data, form in parameters]
            if (name := self._names.get(sql)) is not None:
                self._libpq.send_query_prepared(name, data, formats)
            else:
                self._libpq.send_query_params(_numbered(sql), data, None, formats)
        self._libpq.pipeline_sync()
        while self._libpq.flush():
            self._wait(selectors.EVENT_READ | selectors.EVENT_WRITE)
        return ends

    # By itself: a statement stays prepared even if the transaction fails that it is prepared for.
    def _prepare(self, statements: set[str]) -> int:
        new = [sql for sql in statements if sql not in self._names]
        new = new[: STATEMENTS_REMEMBERED - len(self._names)]
        for sql in new:
            self._names[sql] = name = b"fhcrawl_%d" % next(self._numbers)
            self._libpq.send_prepare(name, _numbered(sql))
        if new:
            self._libpq.pipeline_sync()
        return int(bool(new))

    def forget(self) -> None:
        """Statements could not be prepared; they are, when they come again."""
        self._names.clear()

    def has_result(self) -> bool:
        """Whether `result` would not wait, once what has come is read."""
        self._libpq.consume_input()
        return not self._libpq.is_busy()

    def result(self) -> PGresult | None:
        """Wait for the next part of an answer; None between those of two statements."""
        while self._libpq.is_busy():
            self._wait(selectors.EVENT_READ)
        result = self._libpq.get_result()
        if result is None and self._libpq.status == self._is_bad:
            raise self._errors.OperationalError("the connection is lost")
        return result

    def _wait(self, events: int) -> None:
        self._selector.register(self.number, events)
        try:
            is_ready = self._selector.select(ANSWER_SECONDS)
        finally:
            self._selector.unregister(self.number)
        if not is_ready:
            raise self._errors.OperationalError(f"the server has been silent for {ANSWER_SECONDS} seconds")
        self._libpq.consume_input()

    def is_end(self, result: PGresult | None) -> bool:
        """Whether it is that of a batch."""
        return result is not None and result.status == self._status.PIPELINE_SYNC

    def error(self, result: PGresult) -> Error | None:
        """The error that it is, if it is one."""
        if result.status != self._status.FATAL_ERROR:
            return None
        return self._errors.error_from_result(result)

    def close(self) -> None:
        """Close it."""
        self._selector.close()
        self._connection.close()


@lru_cache(STATEMENTS_REMEMBERED)
def _prepared(statement: Any, dialect: Dialect, names: tuple[str, ...]) -> Prepared:
    return Prepared(statement, dialect, names)


@lru_cache(STATEMENTS_REMEMBERED)
def _numbered(sql: str) -> bytes:
    """A statement with parameters as PostgreSQL has them, and not its driver."""
    numbers = count(1)
    return re.sub("%[s%]", lambda found: f"${next(numbers)}" if found[0] == "%s" else "%", sql).encode()


def _parameter(value: object) -> Parameter:
    if value is None:
        return None, TEXT
    if isinstance(value, str):
        return _octets(value), TEXT
    if isinstance(value, bytes):
        return value, BINARY
    if not isinstance(value, list):
        return str(value).encode(), TEXT
    number = next((OF_ARRAYS.get(type(each)) for each in value if each is not None), None)
    if number is not None:
        return _array(value, number), BINARY
    return f"{{{','.join('NULL' if each is None else str(each) for each in value)}}}".encode(), TEXT


def _octets(text: str | bytes) -> bytes:
    """
    :raises ValueError: if it has a character that PostgreSQL does not know
    """
    if isinstance(text, bytes):
        return text
    if "\0" in text:
        raise ValueError("PostgreSQL's strings have no NUL character")
    return text.encode()


# As PostgreSQL sends and receives arrays: how many dimensions, whether there are NULLs, the type; how many
# values, the number of the first one; each value's length and octets.
def _array(values: list[str | bytes | None], number: int) -> bytes:
    parts = [struct.pack("!5i", 1, 1, number, len(values), 1)]
    for value in values:
        if value is None:
            parts.append(NULL)
            continue
        octets = _octets(value)
        parts += (len(octets).to_bytes(4, "big"), octets)
    return b"".join(parts)


def _rows(result: PGresult) -> list[Row]:
    """The rows of a result; their columns have names."""
    columns = range(result.nfields)
    row = _row(tuple((result.fname(number) or b"").decode() for number in columns))
    types = [result.ftype(number) for number in columns]
    return [
        row(*(_value(result.get_value(line, number), types[number]) for number in columns))
        for line in range(result.ntuples)
    ]


@lru_cache(STATEMENTS_REMEMBERED)
def _row(names: tuple[str, ...]) -> Any:
    return namedtuple("Row", names, rename=True)


def _value(octets: bytes | None, kind: int) -> object:
    if octets is None:
        return None
    if kind in (INT4, INT8):
        return int(octets)
    return octets == b"t" if kind == BOOL else octets.decode()
