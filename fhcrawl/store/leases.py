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

from fhcrawl.exceptions import LeaseError, StoreError
from fhcrawl.store import opening
from fhcrawl.store.statements import POSTGRESQL, execute

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sqlalchemy import Connection, Row

SECONDS = 300
# Maximum duration of a lease.
LONGEST = 24 * 60 * 60
# A run that expires much later was recorded by a wrong clock; its feeds would be locked until then.
LIVES = f"expires > UNIX_TIME() AND expires <= UNIX_TIME() + {2 * LONGEST}"
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

# The feeds of a delivery must not change while it is read. There are few deliveries, and mostly none; a feed
# may have many changes.
IS_DELIVERED_BY_ITS_RUN = """
EXISTS (SELECT 1 FROM deliveries WHERE deliveries.run = feeds.run AND EXISTS (
    SELECT 1 FROM changes WHERE changes.feed_id = feeds.id AND changes.delivery = deliveries.id))
"""


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
        execute(
            connection,
            f"""DELETE FROM runs WHERE NOT ({LIVES})
                AND NOT EXISTS (SELECT 1 FROM feeds WHERE feeds.run = runs.id)
                AND NOT EXISTS (SELECT 1 FROM deliveries WHERE deliveries.run = runs.id)""",
        )
        owner = f"process {os.getpid()} on {socket.gethostname()}"
        insert = "INSERT INTO runs (id, owner, expires) VALUES (:run, :owner, UNIX_TIME() + :seconds)"
        execute(connection, insert, {"run": self.run, "owner": owner, "seconds": self._seconds})

    def _take_lock(self, connection: Connection) -> None:
        if connection.dialect.name == POSTGRESQL:
            # The connection stays open in the engine's pool. If it is lost, the next renewal locks again.
            execute(connection, TRY_LOCK, {"run": self.run})
        elif (path := _lock_file(connection, self.run)) is not None:
            try:
                mode = path.with_name(path.name.rpartition("-")[0]).stat().st_mode & 0o666
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
            except OSError as error:
                raise StoreError(f"The store failed: {error}") from error
            self._lock.callback(os.close, descriptor)
            self._lock.callback(path.unlink, missing_ok=True)
            with contextlib.suppress(OSError):  # a file system without locks: the lease has to expire
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def renew(self, connection: Connection) -> None:
        """Renew the lease, if a third of it has passed."""
        if time.monotonic() - self._renewed < self.pause:
            return
        renewal = "UPDATE runs SET expires = UNIX_TIME() + :seconds WHERE id = :run"
        execute(connection, renewal, {"run": self.run, "seconds": self._seconds})
        if connection.dialect.name == POSTGRESQL:
            self._take_lock(connection)
        self._renewed = time.monotonic()

    def end(self, connection: Connection) -> None:
        execute(connection, "UPDATE runs SET expires = 0 WHERE id = :run", {"run": self.run})
        self._lock.close()

    def refusals(self, connection: Connection, rows: Sequence[Row[Any]]) -> dict[int, LeaseError]:
        """Return why this run cannot claim some feeds, by id.

        :param rows: the feeds' rows, locked by the transaction
        """
        self.renew(connection)
        owners = holders(connection, rows)
        refusals = {}
        for row in rows:
            if row.id in owners and row.run != self.run:
                refusals[row.id] = LeaseError(f"another crawl is reading it ({owners[row.id]})")
            elif row.id in owners and row.released is not None:
                refusals[row.id] = LeaseError(EXPORTED)
        return refusals

    def require_free(self, connection: Connection, row: Row[Any]) -> None:
        """Raise LeaseError unless this run may claim a feed, whose row is locked."""
        for refusal in self.refusals(connection, [row]).values():
            raise refusal

    def check(self, connection: Connection, feed_id: int) -> None:
        """Check that a feed still belongs to this run, and lock it until the end; else `LeaseError`."""
        lock = "SELECT run, released FROM feeds WHERE id = :feed_id FOR UPDATE"
        holder = execute(connection, lock, {"feed_id": feed_id}).first()
        if holder is None or holder.run != self.run:
            raise LeaseError(TAKEN_OVER)
        if holder.released is not None:
            raise LeaseError(FINISHED)
        self.renew(connection)


def holders(connection: Connection, rows: Sequence[Row[Any]]) -> dict[int, str]:
    """Return the owners of the living runs that have not finished with feeds, or export them, by feed id.

    :param rows: the feeds' rows, locked by the transaction
    """
    released = [row.id for row in rows if row.released is not None]
    undelivered = f"SELECT id FROM feeds WHERE id = ANY(:feeds) AND NOT {IS_DELIVERED_BY_ITS_RUN}"
    free_ids = set(execute(connection, undelivered, {"feeds": released}).scalars()) if released else set()
    held_rows = [row for row in rows if row.id not in free_ids]
    owners = {run: living_owner(connection, run) for run in {row.run for row in held_rows}}
    return {row.id: owner for row in held_rows if (owner := owners[row.run]) is not None}


def next_number(connection: Connection) -> int:
    """Return a number that no run and no delivery has."""
    execute(connection, "UPDATE store SET runs = runs + 1")
    number: int = execute(connection, "SELECT runs FROM store").scalar_one()
    return number


def living_owner(connection: Connection, run: int) -> str | None:
    """Return who a run belongs to; None if it has ended or expired, or its process has died."""
    query = f"SELECT owner FROM runs WHERE id = :run AND {LIVES}"
    owner: str | None = execute(connection, query, {"run": run}).scalar()
    return owner if owner is not None and _is_locked(connection, run) else None


# Removes the lock file of a process that has died.
def _is_locked(connection: Connection, run: int) -> bool:
    if connection.dialect.name == POSTGRESQL:
        # Trying to lock would succeed in the session that has the lock.
        return execute(connection, IS_LOCKED, {"run": run}).first() is not None
    path = _lock_file(connection, run)
    if path is None:
        return True
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        return not isinstance(error, FileNotFoundError)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        with contextlib.suppress(OSError):  # in a folder that is not writable
            path.unlink()
        return False
    finally:
        os.close(descriptor)


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
