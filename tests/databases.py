"""The databases that tests keep a store in: SQLite's, or with `--store=postgresql` a PostgreSQL server's."""

import contextlib
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Dialect, Engine, NullPool, Pool, create_engine
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

NewDatabase = Callable[[], AbstractContextManager["Database"]]

# URL of the server that this run of the tests has started; in the environment, for the workers.
SERVER = "TEST_POSTGRESQL_URL"
EXAMPLES = "TEST_EXAMPLES"
DRIVER = "postgresql+psycopg"
LOCKS = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "LOCK TABLE documents IN EXCLUSIVE MODE"}

_numbers = itertools.count(1)


def on_postgresql() -> bool:
    return SERVER in os.environ


def examples(number: int) -> int:
    """How many of them a property of fhcrawl's rules is tried with: it is the same rules on PostgreSQL.

    The environment's TEST_EXAMPLES states how many times as many.
    """
    wanted = number * int(os.environ.get(EXAMPLES, "1"))
    return wanted // 4 if on_postgresql() else wanted


def share_statements() -> None:
    """Compile each statement once for all stores on SQLite: that took almost half of a short crawl's time."""
    compiled, begin = LRUCache[Any, Any](5000), Engine.__init__

    def begin_sharing(engine: Engine, pool: Pool, dialect: Dialect, *args: Any, **options: Any) -> None:
        begin(engine, pool, dialect, *args, **options)
        if type(dialect) is SQLiteDialect_pysqlite:
            engine._compiled_cache = compiled

    Engine.__init__ = begin_sharing  # type: ignore[assignment,method-assign]
    # The keys of the statements have them.
    SQLiteDialect_pysqlite.__eq__ = lambda self, other: type(self) is type(other)  # type: ignore[method-assign]
    SQLiteDialect_pysqlite.__hash__ = lambda self: hash(type(self))  # type: ignore[method-assign]


@dataclass
class Database:
    """An empty database, and what a store never does to it.

    :param url: SQLAlchemy's, as FHCRAWL_STORE_URL has it
    """

    url: str

    def exists(self) -> bool:
        """Whether it is there; SQLite's is made by who opens it first."""
        return on_postgresql() or Path(self.url.removeprefix("sqlite:///")).exists()

    @contextlib.contextmanager
    def connected(self, **options: Any) -> Iterator[Connection]:
        engine = create_engine(self.url.replace("postgresql:", f"{DRIVER}:"), poolclass=NullPool)
        with engine.execution_options(**{"no_parameters": True, **options}).connect() as connection:
            yield connection
        engine.dispose()

    def execute(self, *statements: str) -> None:
        with self.connected() as connection, connection.begin():
            for statement in statements:
                connection.exec_driver_sql(statement)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with self.connected() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(statement)]

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from writing documents."""
        with self.connected(isolation_level="AUTOCOMMIT") as connection:
            if on_postgresql():
                connection.exec_driver_sql("BEGIN")
            connection.exec_driver_sql(LOCKS[connection.dialect.name])
            yield
            connection.exec_driver_sql("ROLLBACK")

    def refuse(self, table: str, condition: str, sentence: str, event: str = "INSERT") -> None:
        if not on_postgresql():
            fails = f"BEGIN SELECT RAISE(ABORT, '{sentence}'); END"
            self.execute(f"CREATE TRIGGER broken BEFORE {event} ON {table} WHEN {condition} {fails}")
            return
        self.execute(
            "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{sentence}'; END $$",
            f"CREATE TRIGGER broken BEFORE {event} ON {table} FOR EACH ROW WHEN ({condition}) "
            "EXECUTE FUNCTION broken()",
        )

    def mend(self, table: str) -> None:
        if on_postgresql():
            self.execute(f"DROP TRIGGER IF EXISTS broken ON {table}", "DROP FUNCTION IF EXISTS broken")
        else:
            self.execute("DROP TRIGGER IF EXISTS broken")


@contextlib.contextmanager
def new_database() -> Iterator[Database]:
    """A database that is empty: a file, or a schema of its own on the server."""
    if not on_postgresql():
        with tempfile.TemporaryDirectory(prefix="fhcrawl-test-") as folder:
            yield Database(f"sqlite:///{Path(folder) / 'store.sqlite'}")
        return
    server, schema = os.environ[SERVER], f"test_{os.getpid()}_{next(_numbers)}"
    Database(server).execute(f"CREATE SCHEMA {schema}")
    yield Database(f"{server}?options=-csearch_path%3D{schema}")
