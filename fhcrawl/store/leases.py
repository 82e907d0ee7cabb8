"""Leases: which crawl may write to a feed, one at a time.

A feed belongs to the last run that began to walk it, until that run has finished with it (`released`) or is
dead. A run has a lock while its process lives: in PostgreSQL, an advisory lock of its session; beside a
SQLite file, `flock` on the file `NAME-runNUMBER`. Since a suspended process, or one on an unreachable
machine, may keep its lock for long, its lease expires unless it is renewed, by the clock of the database.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import socket
import time
from typing import TYPE_CHECKING, Any

from sqlalchemy import cast, exists, extract, func, select

from fhcrawl.exceptions import LeaseError, StoreError
from fhcrawl.store import opening
from fhcrawl.store.schema import POSTGRESQL, Number, changes, deliveries, feeds, runs, store
from fhcrawl.store.statements import execute

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from sqlalchemy import Connection, Row

NOW = cast(extract("epoch", func.now()), Number)
SECONDS = 300
# Maximum duration of a lease.
LONGEST = 24 * 60 * 60
# A run that expires much later was recorded by a wrong clock; its feeds would be locked until then.
LIVES = (runs.c.expires > NOW) & (runs.c.expires <= NOW + 2 * LONGEST)
TAKEN_OVER = "another crawl has taken over the feed, because this one was unresponsive for too long"
EXPORTED = "its changes are being exported"
FINISHED = "this crawl has finished with it, and another crawl may be reading it"
# A lease is renewed after a third of its duration, so that two renewals may fail.
RENEWALS = 3
# A database may have several stores, in schemas of their own.
TRY_LOCK = "SELECT pg_try_advisory_lock(CAST(CAST(CAST('runs' AS regclass) AS oid) AS int), :run)"
IS_LOCKED = """
SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
WHERE locktype = 'advisory' AND datname = current_database()
    AND classid = CAST(CAST('runs' AS regclass) AS oid) AND objid = CAST(:run AS oid)
"""

IS_REFERRED_TO = exists().where(feeds.c.run == runs.c.id) | exists().where(deliveries.c.run == runs.c.id)
# The feeds of a delivery must not change while it is read. There are few deliveries, and mostly none; a feed
# may have many changes.
_is_delivered = exists().where(changes.c.feed_id == feeds.c.id, changes.c.delivery == deliveries.c.id)
IS_DELIVERED_BY_ITS_RUN = exists().where(deliveries.c.run == feeds.c.run, _is_delivered)


class Leases:
    """The leases of a run, which last for some seconds after a renewal."""

    def __init__(self, run: int, seconds: int = SECONDS) -> None:
        self.run = run
        self._seconds = seconds
        self._renewed = time.monotonic()
        self._lock = contextlib.ExitStack()

    @property
    def pause(self) -> float:
        return self._seconds / RENEWALS

    def begin(self, connection: Connection) -> None:
        """Store the run, and delete ended runs that no feed or delivery refers to."""
        _remove_lock_files(connection)
        self._take_lock(connection)
        connection.execute(runs.delete().where(~LIVES, ~IS_REFERRED_TO))
        owner = f"process {os.getpid()} on {socket.gethostname()}"
        connection.execute(runs.insert().values(id=self.run, owner=owner, expires=NOW + self._seconds))

    def _take_lock(self, connection: Connection) -> None:
        if connection.dialect.name == POSTGRESQL:
            # The connection stays open in the engine's pool. If it is lost, the next renewal locks again.
            execute(connection, TRY_LOCK, {"run": self.run})
        elif (path := _lock_file(connection, self.run)) is not None:
            try:
                mode = path.with_name(path.name.rpartition("-")[0]).stat().st_mode & 0o666
                number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
            except OSError as error:
                raise StoreError(f"The store failed: {error}") from error
            self._lock.callback(os.close, number)
            self._lock.callback(path.unlink, missing_ok=True)
            with contextlib.suppress(OSError):  # a file system without locks: the lease has to expire
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def renew(self, connection: Connection) -> None:
        """Renew the lease, if a third of it has passed."""
        if time.monotonic() - self._renewed < self.pause:
            return
        connection.execute(runs.update().where(runs.c.id == self.run).values(expires=NOW + self._seconds))
        if connection.dialect.name == POSTGRESQL:
            self._take_lock(connection)
        self._renewed = time.monotonic()

    def end(self, connection: Connection) -> None:
        connection.execute(runs.update().where(runs.c.id == self.run).values(expires=0))
        self._lock.close()

    def refusals(self, connection: Connection, rows: Iterable[Row[Any]]) -> dict[int, LeaseError]:
        """Return why this run cannot claim some feeds, by id.

        :param rows: the feeds' rows, locked by the transaction
        """
        free = released(connection, rows)
        held = [row for row in rows if row.id not in free]
        owners = {run: _living_owner(connection, run) for run in {row.run for row in held} - {self.run}}
        refusals = {
            row.id: LeaseError(f"another crawl is reading it ({owner})")
            for row in held
            if (owner := owners.get(row.run)) is not None
        }
        own = (row for row in held if row.run == self.run and row.released is not None)
        return refusals | {row.id: LeaseError(EXPORTED) for row in own}

    def require_free(self, connection: Connection, row: Row[Any]) -> None:
        """Raise LeaseError unless this run may claim a feed, whose row is locked."""
        for refusal in self.refusals(connection, [row]).values():
            raise refusal

    def check(self, connection: Connection, feed_id: int) -> None:
        """Check that a feed still belongs to this run, and lock it until the end; else `LeaseError`."""
        lock = "FOR UPDATE" if connection.dialect.name == POSTGRESQL else ""
        holder = execute(
            connection, f"SELECT run, released FROM feeds WHERE id = :feed_id {lock}", {"feed_id": feed_id}
        ).first()
        if holder is None or holder.run != self.run:
            raise LeaseError(TAKEN_OVER)
        if holder.released is not None:
            raise LeaseError(FINISHED)
        self.renew(connection)

    def assert_owner(self, connection: Connection, feed_id: int) -> None:
        """Make the transaction fail, without a read, unless the feed is this run's (see `is_lease_error`)."""
        # `feeds.run` is NOT NULL.
        execute(
            connection,
            """UPDATE feeds SET run = CASE WHEN run = :run AND released IS NULL THEN run END
            WHERE id = :feed_id""",
            {"feed_id": feed_id, "run": self.run},
        )
        self.renew(connection)


def is_lease_error(error: Exception) -> bool:
    """Return whether an error of PostgreSQL or SQLAlchemy comes from `Leases.assert_owner`."""
    diag = getattr(getattr(error, "orig", error), "diag", None)
    return diag is not None and (diag.table_name, diag.column_name) == (feeds.name, feeds.c.run.name)


def released(connection: Connection, rows: Iterable[Row[Any]]) -> set[int]:
    """Return the ids of those feeds that their runs have finished with, and that are not being exported.

    :param rows: the feeds' rows, locked by the transaction
    """
    finished = [row.id for row in rows if row.released is not None]
    free = select(feeds.c.id).where(feeds.c.id.in_(finished), ~IS_DELIVERED_BY_ITS_RUN)
    return set(connection.scalars(free)) if finished else set()


def next_number(connection: Connection) -> int:
    """Return a number that no run and no delivery has."""
    connection.execute(store.update().values(runs=store.c.runs + 1))
    number: int = connection.execute(select(store.c.runs)).scalar_one()
    return number


def is_dead(connection: Connection, run: int) -> bool:
    """Return whether a run has ended, its lease has expired, or its process has died."""
    return _living_owner(connection, run) is None


def _living_owner(connection: Connection, run: int) -> str | None:
    owner: str | None = connection.scalar(select(runs.c.owner).where(runs.c.id == run, LIVES))
    return owner if owner is not None and _is_locked(connection, run) else None


def _is_locked(connection: Connection, run: int) -> bool:
    if connection.dialect.name == POSTGRESQL:
        # Trying to lock would succeed in the session that has the lock.
        return execute(connection, IS_LOCKED, {"run": run}).first() is not None
    path = _lock_file(connection, run)
    if path is None:
        return True
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        return not isinstance(error, FileNotFoundError)
    try:
        fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        with contextlib.suppress(OSError):  # in a folder that is not writable
            path.unlink()
        return False
    finally:
        os.close(number)


def _lock_file(connection: Connection, run: int) -> Path | None:
    if (file := opening.file_of(connection.engine.url)) is None:
        return None
    resolved = file.resolve()
    return resolved.with_name(f"{resolved.name}-run{run}")


# Processes that were killed leave them. Runs begin one after another, each in a transaction that writes.
def _remove_lock_files(connection: Connection) -> None:
    if (file := _lock_file(connection, 0)) is not None:
        prefix = file.name.removesuffix("0")
        for path in file.parent.glob(f"{glob.escape(prefix)}*"):
            if (number := path.name.removeprefix(prefix)).isdecimal():
                _is_locked(connection, int(number))
