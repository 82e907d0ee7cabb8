"""The database of a store: its transactions, and the conversion of its errors."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from fhcrawl.exceptions import LeaseError, StoreError
from fhcrawl.store import leases, migrations, opening, schema
from fhcrawl.store.pipeline import Pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from sqlalchemy import URL, Connection, Dialect, Engine

T = TypeVar("T")


class Database:
    """A database with the tables of `fhcrawl.store.schema`; every method raises `StoreError` if it fails.

    :param place: its URL, without passwords
    :param pipeline: for PostgreSQL, sends transactions without waiting for the commit; None for SQLite
    """

    def __init__(self, engine: Engine, place: str) -> None:
        self.place = place
        self.dialect: Dialect = engine.dialect
        self._engine = engine
        self._writer = opening.writer(engine)
        self._reader = opening.reader(engine)
        self.pipeline = Pipeline(self._reader) if engine.dialect.name == schema.POSTGRESQL else None
        self._file: tuple[int, int] | None = None

    @classmethod
    def open(cls, url: str | URL, shown_as: str | URL | None = None) -> Database:
        """Open the database at an SQLAlchemy URL; make its tables if there are none, migrate older ones.

        :param shown_as: the URL to show instead
        :raises StoreError: if it cannot be opened, or has a version that this fhcrawl cannot migrate
        """
        parsed = opening.parsed(url)
        place = opening.shown(opening.parsed(shown_as or url))
        opening.make_file(parsed)
        try:
            database = cls(opening.engine(parsed), place)
            database._prepare()
            database._file = opening.identity(database._engine)
        except (SQLAlchemyError, ImportError) as error:
            raise StoreError(
                f"The store cannot be opened: {place} ({opening.cause(error)}); {opening.advice(error)}"
            ) from error
        return database

    def _prepare(self) -> None:
        try:
            with self._engine.begin() as connection:
                is_current = migrations.is_current(connection)
            if not is_current:
                with self._writer.begin() as connection:
                    migrations.prepare(connection)
        except BaseException:
            self._engine.dispose()
            raise

    def close(self) -> None:
        """Wait for all answers, and close all connections."""
        if self.pipeline is not None:
            self.pipeline.settle()
        self._engine.dispose()

    # -- transactions with a wait for the commit --------------------------------------------------

    def transaction(self) -> AbstractContextManager[Connection]:
        """Begin a transaction that writes; SQLite allows one at a time."""
        return self._begin(self._writer)

    def snapshot(self) -> AbstractContextManager[Connection]:
        """Begin a transaction that only reads, and waits for no writer."""
        return self._begin(self._engine)

    def still(self) -> AbstractContextManager[Connection]:
        """Begin a transaction that only reads, in which all statements see one state of the database."""
        if self.dialect.name == schema.POSTGRESQL:
            return self._begin(self._engine.execution_options(isolation_level="REPEATABLE READ"))
        return self._begin(self._engine)

    @contextmanager
    def lookup(self) -> Iterator[Connection]:
        """Connect for statements that only read, without the round trips of a transaction."""
        self.settle()
        with self._sentences(), self._reader.connect() as connection:
            yield connection

    @contextmanager
    def _begin(self, engine: Engine) -> Iterator[Connection]:
        self.settle()
        with self._sentences(), engine.begin() as connection:
            yield connection

    # -- transactions of a pipeline ---------------------------------------------------------------

    def send(
        self,
        pipeline: Pipeline,
        write: Callable[[Connection], T],
        done: Callable[[T | Exception], None],
    ) -> None:
        """Send a transaction without waiting for its commit; the parameters are those of `Pipeline.send`."""

        def answered(outcome: T | Exception) -> None:
            done(_failure(outcome) if isinstance(outcome, Exception) else outcome)

        with self._sentences():
            pipeline.send(write, answered)

    def settle(self) -> None:
        """Wait for the commit of the transaction that was sent last."""
        if self.pipeline is not None:
            self.pipeline.settle()

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        """Convert errors of the database or its driver to StoreError; fail if the store's file is gone."""
        if self._file != opening.identity(self._engine):
            raise StoreError("The store is gone: somebody has moved or replaced its file; bring it back")
        try:
            yield
        except (SQLAlchemyError, self.dialect.loaded_dbapi.Error) as error:
            raise _failure(error) from error


def _failure(error: Exception) -> StoreError:
    """Return the StoreError for an error of the database."""
    if leases.is_lease_error(error):
        failure: StoreError = LeaseError(leases.TAKEN_OVER)
    else:
        failure = StoreError(f"The store failed: {opening.cause(error)}; {opening.advice(error)}")
    failure.__cause__ = error
    return failure
