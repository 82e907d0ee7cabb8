"""Opens databases: URLs, configured connections, and advice for errors."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from sqlalchemy import create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError as UrlError

from fhcrawl.exceptions import ArgumentError, StoreError
from fhcrawl.store.statements import IF_DAMAGED, POSTGRESQL, SQLITE
from fhcrawl.utils.text import how_to_install

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

# How long to wait for another process's transaction, unless the URL has a `timeout`.
BUSY_SECONDS = 30
# How long a process may be silent within a transaction before PostgreSQL ends it and rolls back.
SILENT_SECONDS = 60
# Execution option: the statement that begins a transaction of SQLite; None: autocommit.
BEGINS = "fhcrawl_begins"
IMMEDIATE = "BEGIN IMMEDIATE"
# URL parameters for a SQLite file that no process writes.
IMMUTABLE = {"immutable": "1", "uri": "true"}
IN_MEMORY = "sqlite://"
PATH = re.compile(r"[\w./+-]*[./][\w./+-]*")
EXAMPLE_PATH = "//var/lib/fhcrawl/store.sqlite"
BESIDE = ("", "-wal", "-shm", "-journal")
# Advice, by a part of SQLite's message: https://www.sqlite.org/rescode.html
ADVICE = {
    "is locked": "another process is writing to it: wait until that has finished",
    "readonly": "make its file and folder writable, or set FHCRAWL_STORE_URL to another place",
    "is full": "free up space on its disk",
    "disk I/O error": "free up space on its disk, and check the disk",
    "not a database": "check FHCRAWL_STORE_URL; if it is right, restore a backup, or use another store",
    "malformed": IF_DAMAGED,
    "unable to open": "create its folder, or set FHCRAWL_STORE_URL to another place",
}
NO_DRIVER = how_to_install("postgres", "'psycopg[binary]'")
OTHER_ADVICE = "fix it, or set FHCRAWL_STORE_URL to another place"
POSTGRESQL_DRIVER = "postgresql+psycopg"
# PostgreSQL 14 and later, unless built without lz4: it compresses long texts in a fraction of the time.
COMPRESS = (
    "SELECT set_config(name, 'lz4', false) FROM pg_settings"
    " WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)"
)


def parsed(url: str | URL, name: str = "FHCRAWL_STORE_URL") -> URL:
    """Return a parsed SQLAlchemy URL; raise ArgumentError, which calls it `name`, if it is invalid."""
    try:
        parsed = make_url(url)
    except (UrlError, ValueError) as error:
        # Other text may contain a password.
        path = f"/{url}" if PATH.fullmatch(str(url)) else EXAMPLE_PATH
        raise ArgumentError(f"{name} is not a database URL; use sqlite://{path}") from error
    # Errors would show the host, which may contain a part of the password.
    if "@" in (parsed.host or ""):
        raise ArgumentError(f"{name} has more than one @: write @ in the password as %40")
    if parsed.get_backend_name() not in (SQLITE, POSTGRESQL):
        raise ArgumentError(
            f"{name} names a kind of database that fhcrawl does not support, "
            f"{parsed.get_backend_name()}; use sqlite:///PATH or postgresql://…"
        )
    return parsed


def lasting(url: str, name: str = "FHCRAWL_STORE_URL") -> URL:
    """Return a parsed SQLAlchemy URL, as `parsed`; raise ArgumentError if its database is in memory."""
    if parsed(url, name).get_backend_name() == SQLITE and file_of(url) is None:
        raise ArgumentError(f"{name} is a database in memory; use sqlite://{EXAMPLE_PATH}")
    return parsed(url, name)


def engine(url: URL) -> Engine:
    if url.get_backend_name() == SQLITE:
        timeout = {} if "timeout" in url.query else {"timeout": BUSY_SECONDS}
        engine = create_engine(url, connect_args=timeout)
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    # Parameters by position, as for SQLite; the store has no hstore column, whose type would be looked up.
    options: dict[str, Any] = {"paramstyle": "format", "use_native_hstore": False}
    timeout = {} if "connect_timeout" in url.query else {"connect_timeout": BUSY_SECONDS}
    arguments = {"fallback_application_name": "fhcrawl", **timeout}
    engine = create_engine(url.set(drivername=POSTGRESQL_DRIVER), connect_args=arguments, **options)
    event.listen(engine, "connect", _configure_postgresql)
    return engine


def modes(engine: Engine) -> tuple[Engine, Engine, Engine]:
    """Return engines for transactions that write, for those that only read, and for single statements.

    The last one is in autocommit mode, which saves PostgreSQL two round trips.
    """
    options: tuple[dict[str, str | None], ...]
    if engine.dialect.name == SQLITE:
        options = ({BEGINS: IMMEDIATE}, {BEGINS: "BEGIN"}, {BEGINS: None})
    else:
        options = ({}, {"isolation_level": "REPEATABLE READ"}, {"isolation_level": "AUTOCOMMIT"})
    writer, snapshots, reader = (engine.execution_options(**mode) for mode in options)
    return writer, snapshots, reader


def _configure_sqlite(connection: Any, record: Any) -> None:
    # By default, the sqlite3 module begins transactions itself, but not before a change of the schema.
    connection.isolation_level = None
    # Octets are stored as text without conversion: a file created with another encoding would misread
    # them.
    [encoding] = connection.execute("PRAGMA encoding").fetchone()
    if encoding != "UTF-8":
        raise StoreError(f"The database has the unsupported encoding {encoding}: use a new file")
    # Entries are rows of one or two thousand bytes: most of a page of 4096 bytes would be unused.
    connection.execute("PRAGMA page_size = 16384")
    _use_wal(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA wal_autocheckpoint = 1000")


# https://www.sqlite.org/wal.html: readers do not wait for the writer, and a commit survives a process that
# dies. SQLite may not wait for a process that changes the mode of a new file at the same moment.
def _use_wal(connection: Any) -> None:
    [milliseconds] = connection.execute("PRAGMA busy_timeout").fetchone()
    deadline = time.monotonic() + milliseconds / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:  # noqa: PERF203 - it is tried again
            if "locked" not in str(error) or time.monotonic() >= deadline:
                raise
            time.sleep(0.01)
        else:
            return


# https://www.sqlite.org/lang_transaction.html: a transaction that has read and begins to write fails at once,
# without a wait, if another process has written meanwhile; one that begins with IMMEDIATE waits.
def _begin_sqlite(connection: Connection) -> None:
    begin = connection.get_execution_options().get(BEGINS, "BEGIN")
    if begin is not None:
        connection.exec_driver_sql(begin)


# SQLite would continue to write to a file that was deleted, and all of it would be lost.
def identity(file: Path | None) -> tuple[int, int] | None:
    """Return the device and inode of a SQLite file; None without one."""
    with contextlib.suppress(OSError):
        if file is not None:
            status = file.stat()
            return status.st_dev, status.st_ino
    return None


def file_of(url: str | URL) -> Path | None:
    """Return the file of a SQLite database; None for other databases, or one in memory."""
    location = parsed(url)
    if location.get_backend_name() != SQLITE or location.database in (None, "", ":memory:"):
        return None
    return Path(str(location.database).removeprefix("file:")).absolute()


# https://www.sqlite.org/tempfiles.html: what SQLite keeps beside a database, under its path without links.
def is_file_of(url: str | URL, path: Path) -> bool:
    """Return whether a path, by any name or link, is a SQLite database, or a file that it keeps beside it."""
    database = file_of(url)
    if database is None:
        return False
    resolved = database.resolve()
    files = [resolved.with_name(f"{resolved.name}{suffix}") for suffix in BESIDE]
    return path.resolve() in files or any(_is_same(file, path) for file in files)


def _is_same(file: Path, path: Path) -> bool:
    try:
        return file.samefile(path)
    except OSError:  # one of them does not exist, or cannot be read
        return False


# A store has the headers of private feeds. SQLite gives the files beside it (-wal, -shm) the same mode.
def make_file(url: URL) -> bool:
    """Create the file of a SQLite database, readable for its owner only; return whether there was none."""
    path = file_of(url)
    if path is None or str(url.database).startswith("file:"):
        return False
    with contextlib.suppress(OSError):  # it exists, or SQLite reports why it cannot be created
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return True
    return False


def remove_file(url: URL) -> None:
    """Delete the file of a SQLite database, and the files that SQLite keeps beside it."""
    path = file_of(url)
    if path is not None:
        for suffix in BESIDE:
            path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)


def can_be_created(url: str | URL) -> bool:
    """Return whether a SQLite file does not exist, but could be created in its folder."""
    path = file_of(url)
    return path is not None and not path.exists() and path.parent.is_dir()


def immutable(url: URL) -> URL | None:
    """Return a read-only URL for a SQLite file in a read-only folder; None if it is not one, or is in use."""
    if url.get_backend_name() != SQLITE or not url.database:
        return None
    path = Path(url.database).resolve()
    log = path.with_name(f"{path.name}-wal")
    if os.access(path.parent, os.W_OK) or (log.exists() and log.stat().st_size):
        return None
    # https://www.sqlite.org/wal.html#read_only_databases: otherwise, SQLite has to write an index beside it.
    return url.set(database=path.as_uri(), query=IMMUTABLE)


def _configure_postgresql(connection: Any, record: Any) -> None:
    from psycopg.types.array import ListBinaryDumper

    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        connection.close()
        raise StoreError(f"The database has the encoding {encoding}: create one with ENCODING 'UTF8'")
    settings = {
        "client_encoding": "UTF8",
        # Otherwise, the server would keep the locks of a suspended process, or of a dead machine, for hours.
        "idle_in_transaction_session_timeout": f"{SILENT_SECONDS}s",
        # Longer than that: whoever waits for such a lock gets it.
        "lock_timeout": f"{SILENT_SECONDS + BUSY_SECONDS}s",
        # Every lookup has an index. Without statistics, as in the first crawl of a feed, the planner would
        # rather read whole feeds, or go through the changes of a feed again for each of its entries
        # (material). Where there is no index, it takes the plan for so expensive that it would have the
        # statement compiled (jit), for longer than all statements of a small crawl take.
        **dict.fromkeys(("enable_seqscan", "enable_hashjoin", "enable_mergejoin"), "off"),
        **dict.fromkeys(("enable_material", "jit"), "off"),
    }
    # In text format, which is psycopg's default, arrays take several times as long.
    connection.adapters.register_dumper(list, ListBinaryDumper)
    with connection.cursor() as cursor:
        statements = (f"SET {name} = '{value}'" for name, value in settings.items())
        # In one round trip.
        cursor.execute("; ".join((*statements, COMPRESS)))
    connection.commit()


def without_passwords(url: URL) -> str:
    """Return an SQLAlchemy URL as messages show it: without passwords, and as it was before `immutable`."""
    if dict(url.query) == IMMUTABLE:
        url = url.set(database=unquote(urlsplit(url.database).path), query={})
    return url.difference_update_query(("password", "sslpassword")).render_as_string()


def cause(error: BaseException) -> str:
    """Return the message of a database error, in one line."""
    return str(getattr(error, "orig", None) or error).splitlines()[0]


def advice(error: BaseException) -> str:
    if isinstance(error, ImportError):
        return NO_DRIVER
    message = cause(error)
    return next((remedy for fault, remedy in ADVICE.items() if fault in message), OTHER_ADVICE)
