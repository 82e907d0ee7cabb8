"""The database of a store: its transactions, and the conversion of its errors."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.utils.datatypes import LocalCache
from sqlalchemy.exc import SQLAlchemyError

from fhcrawl.exceptions import StoreError
from fhcrawl.store import opening, schema
from fhcrawl.store.statements import (
    POSTGRESQL,
    ROWS_AT_ONCE,
    assigned,
    execute,
    execute_all,
    insertion,
    stream,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from sqlalchemy import URL, Connection, Dialect, Engine, Row, Table

    from fhcrawl.store.leases import Leases

T = TypeVar("T")

FEEDS_REMEMBERED = 10_000


class Database:
    """A database with the tables of `fhcrawl.store.schema`; every method raises `StoreError` if it fails.

    :param place: its URL, without passwords
    :param leases: of the current run; None until a run begins
    :param feed_ids: by URL; only those that this process has looked up
    :param keeps_versions: whether the current run keeps earlier versions of entries
    :param head_digests: digests of feeds' heads that this process has written or read, by feed id
    """

    def __init__(self, engine: Engine, place: str) -> None:
        self.place = place
        self.dialect: Dialect = engine.dialect
        self._engine = engine
        self._writer, self._snapshots, self._reader = opening.modes(engine)
        self._file = opening.file_of(engine.url)
        self._identity: tuple[int, int] | None = None
        self.leases: Leases | None = None
        self.keeps_versions = False
        self.feed_ids: LocalCache[str, int] = LocalCache(FEEDS_REMEMBERED)
        self.head_digests: LocalCache[int, str] = LocalCache(FEEDS_REMEMBERED)
        # Of the feeds that this process crawls, the ids that several of their entries have.
        self.shared_ids: LocalCache[str, frozenset[str]] = LocalCache(FEEDS_REMEMBERED)
        # Of the same feeds, the entries from web pages: `Entries.read_posts`.
        self.posts: LocalCache[str, dict[str, str]] = LocalCache(FEEDS_REMEMBERED)

    @classmethod
    def open(cls, url: str | URL, shown_as: str | URL | None = None) -> Database:
        """Open the database at an SQLAlchemy URL, or raise StoreError; create or migrate its tables.

        :param shown_as: the URL to show instead
        """
        parsed = opening.parsed(url)
        place = opening.without_passwords(opening.parsed(shown_as or url))
        opening.make_file(parsed)
        try:
            database = cls(opening.engine(parsed), place)
            with ExitStack() as cleanup:
                cleanup.callback(database._engine.dispose)
                with database._engine.begin() as connection:
                    is_current = schema.is_current(connection)
                if not is_current:
                    with database._writer.begin() as connection:
                        schema.prepare(connection)
                cleanup.pop_all()
            database._identity = opening.identity(database._file)
        except (SQLAlchemyError, ImportError) as error:
            raise StoreError(
                f"The store cannot be opened: {place} ({opening.cause(error)}); {opening.advice(error)}"
            ) from error
        return database

    def close(self) -> None:
        self._engine.dispose()

    # -- transactions -----------------------------------------------------------------------------

    def transaction(self) -> AbstractContextManager[Connection]:
        """Begin a transaction that writes; SQLite allows one at a time."""
        return self._begin(self._writer)

    def snapshot(self) -> AbstractContextManager[Connection]:
        """Begin a transaction that reads one state of the database, and does not wait for writers."""
        return self._begin(self._snapshots)

    def lookup(self) -> AbstractContextManager[Connection]:
        """Connect for read-only statements, without the round trips of a transaction."""
        return self._begin(self._reader)

    @contextmanager
    def _begin(self, engine: Engine) -> Iterator[Connection]:
        with self._as_store_errors(), engine.begin() as connection:
            yield connection

    # -- state in memory --------------------------------------------------------------------------

    def require_leases(self) -> Leases:
        """Return the leases of the run; raise StoreError if none has begun."""
        if self.leases is None:
            raise StoreError("No crawl has begun: call Store.begin_run() first")
        return self.leases

    def find_id(self, connection: Connection, feed: str) -> int:
        """Return the id of a feed; raise StoreError if it is not in the store."""
        feed_id = self.feed_ids.get(feed)
        if feed_id is None:
            of_feed = "SELECT id FROM feeds WHERE KEY(url) = KEY(:url)"
            feed_id = execute(connection, of_feed, {"url": feed}).scalar()
            if feed_id is None:
                raise StoreError(f"The feed {feed} is not in the store")
            self.feed_ids[feed] = feed_id
        return feed_id

    def find_ids(self, connection: Connection, urls: Iterable[str]) -> list[int]:
        of_feeds = "SELECT id FROM feeds WHERE KEY(url) = ANY(KEYS(:urls))"
        return list(execute(connection, of_feeds, {"urls": list(urls)}).scalars())

    @contextmanager
    def _as_store_errors(self) -> Iterator[None]:
        if self._identity != opening.identity(self._file):
            raise StoreError("The store's file is missing or has been replaced; move it back")
        try:
            yield
        except (SQLAlchemyError, self.dialect.loaded_dbapi.Error) as error:
            raise StoreError(f"The store failed: {opening.cause(error)}; {opening.advice(error)}") from error


def copy_rows(source: Connection, target: Connection, place: str) -> dict[str, int]:
    """Copy every row; return the number of rows by table.

    :param source: in a transaction that sees one state of the store
    :raises StoreError: if the source (`place`) has no feeds, or the target has some
    """
    has_feeds = "SELECT 1 FROM feeds LIMIT 1"
    if execute(source, has_feeds).first() is None:
        raise StoreError(
            f"There are no feeds to copy in {place}: set FHCRAWL_STORE_URL to the store to copy from, or "
            "change to another folder; a folder with a scrapy.cfg, such as that of fhcrawl's source, has "
            "its own store"
        )
    # This locks the row that every crawl updates when it begins.
    row = execute(source, "SELECT runs, keeps_versions FROM store").one()
    execute(target, f"UPDATE store SET {assigned(row._fields)}", row._asdict())
    if execute(target, has_feeds).first() is not None:
        raise StoreError("The target store already has feeds: use a new file or an empty database")
    tables = [table for table in schema.metadata.sorted_tables if table is not schema.store]
    return {table.name: _copy_table(source, target, table) for table in tables}


def _copy_table(source: Connection, target: Connection, table: Table) -> int:
    insert = insertion(table.name, table.columns.keys())
    with stream(source, f"SELECT * FROM {table.name}", {}) as rows:
        for batch in rows.partitions(ROWS_AT_ONCE):
            execute_all(target, insert, [row._asdict() for row in batch])
    column = table.autoincrement_column
    if target.dialect.name == POSTGRESQL and column is not None:
        # The next row gets the number after the greatest one.
        sequence, maximum = f"pg_get_serial_sequence('{table.name}', '{column.name}')", f"max({column.name})"
        setval = f"setval({sequence}, coalesce({maximum}, 1), {maximum} IS NOT NULL)"
        execute(target, f"SELECT {setval} FROM {table.name}")
    copied: int = execute(target, f"SELECT count(*) FROM {table.name}").scalar_one()
    return copied


class Repository:
    """Base class for access to one kind of data in a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _select(self, sql: str, feed: str | None = None, **values: object) -> Any:
        with self._database.lookup() as connection:
            if feed is not None:
                values["feed_id"] = self._database.find_id(connection, feed)
            return execute(connection, sql, values).all()

    def _first(self, sql: str, feed: str | None = None, **values: object) -> Row[Any] | None:
        return next(iter(self._select(sql, feed, **values)), None)

    def _scalar(self, sql: str, **values: object) -> Any:
        row = self._first(sql, None, **values)
        return None if row is None else row[0]

    # Raises LeaseError if another crawl has taken the feed over.
    def _leased_feed_id(self, connection: Connection, feed: str) -> int:
        feed_id = self._database.find_id(connection, feed)
        self._database.require_leases().check(connection, feed_id)
        return feed_id
