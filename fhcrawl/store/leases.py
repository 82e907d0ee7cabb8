"""Leases: which crawl may write to a feed, one at a time.

A feed belongs to the last run that began to walk it, until that run has finished with it (`released`) or has
ended, its lease has expired, or its process has died. The clock is the database's.
"""

from __future__ import annotations

import os
import socket
import time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, cast, exists, extract, func, select

from fhcrawl.exceptions import LeaseError
from fhcrawl.store.schema import POSTGRESQL, Number, changes, deliveries, feeds, runs, store
from fhcrawl.store.statements import execute

if TYPE_CHECKING:
    from collections.abc import Iterable

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
PROC = Path("/proc")
NO_MACHINE = "-"
HIDDEN = "hidden"
# Indexes of the fields of /proc/PID/stat after the name: proc(5).
STATE, START = 0, 19

IS_REFERRED_TO = exists().where(feeds.c.run == runs.c.id) | exists().where(deliveries.c.run == runs.c.id)
HOLDER = """
SELECT feeds.run, feeds.released, runs.owner FROM feeds LEFT JOIN runs ON runs.id = feeds.run
WHERE feeds.id = :feed_id
"""
# The feeds of a delivery must not change while it is read. There are few deliveries, and mostly none; a feed
# may have many changes.
_is_delivered = exists().where(changes.c.feed_id == feeds.c.id, changes.c.delivery == deliveries.c.id)
IS_DELIVERED_BY_ITS_RUN = exists().where(deliveries.c.run == feeds.c.run, _is_delivered)
RELEASED = select(feeds.c.id).where(
    feeds.c.id.in_(bindparam("released", expanding=True)),
    feeds.c.released.is_not(None),
    ~IS_DELIVERED_BY_ITS_RUN,
)


class Leases:
    """The leases of a run.

    :param seconds: how long a lease lasts after a renewal
    """

    def __init__(self, run: int, seconds: int = SECONDS) -> None:
        self.owner = f"{this_process()} {run}"
        self.run = run
        self._seconds = seconds
        self._renewed = time.monotonic()

    @property
    def pause(self) -> float:
        """Seconds between renewals."""
        return self._seconds / RENEWALS

    def begin(self, connection: Connection) -> None:
        """Store the run, and delete ended runs that no feed or delivery refers to."""
        connection.execute(runs.delete().where(~LIVES, ~IS_REFERRED_TO))
        living = NOW + self._seconds
        connection.execute(runs.insert().values(id=self.run, owner=self.owner, expires=living))

    def renew(self, connection: Connection) -> None:
        """Renew the lease, if a third of it has passed."""
        if time.monotonic() - self._renewed < self.pause:
            return
        mine = (runs.c.id == self.run) & (runs.c.owner == self.owner)
        connection.execute(runs.update().where(mine).values(expires=NOW + self._seconds))
        self._renewed = time.monotonic()

    def end(self, connection: Connection) -> None:
        """End the lease."""
        connection.execute(runs.update().where(runs.c.id == self.run).values(expires=0))

    def released(self, connection: Connection, rows: Iterable[Row[Any]]) -> set[int]:
        """Return the ids of those feeds that their runs have finished with: any run may claim them.

        :param rows: the feeds' rows, locked by the transaction
        """
        numbers = [row.id for row in rows if row.released is not None]
        if not numbers:
            return set()
        return set(connection.scalars(RELEASED, {"released": numbers}))

    def claim(self, connection: Connection, run: int) -> None:
        """Check that a feed of another run may be taken over.

        :raises LeaseError: if not
        """
        owner = _living_owner(connection, run)
        if owner not in (None, self.owner):
            raise LeaseError(f"another crawl is reading it ({shown(owner)})")

    def check(self, connection: Connection, feed_id: int) -> None:
        """Check that a feed still belongs to this run, and lock it until the transaction ends.

        :raises LeaseError: if another run has taken it over, or this one has finished with it
        """
        lock = "FOR UPDATE OF feeds" if connection.dialect.name == POSTGRESQL else ""
        holder = execute(connection, f"{HOLDER} {lock}", {"feed_id": feed_id}).first()
        if holder is None or holder.owner != self.owner:
            raise LeaseError(TAKEN_OVER)
        if holder.released is not None:
            raise LeaseError(FINISHED)
        self.renew(connection)

    def assert_owner(self, connection: Connection, feed_id: int) -> None:
        """Make the transaction fail, without a read, unless the feed is this run's (see `is_lease_error`)."""
        # `feeds.run` is NOT NULL.
        is_held = "SELECT 1 FROM runs WHERE runs.id = feeds.run AND runs.owner = :owner"
        execute(
            connection,
            f"""UPDATE feeds SET run = CASE WHEN EXISTS ({is_held}) AND released IS NULL THEN run END
            WHERE id = :feed_id""",
            {"feed_id": feed_id, "owner": self.owner},
        )
        self.renew(connection)


def is_lease_error(error: Exception) -> bool:
    """Return whether an error of PostgreSQL or SQLAlchemy comes from `Leases.assert_owner`."""
    diag = getattr(getattr(error, "orig", error), "diag", None)
    return diag is not None and (diag.table_name, diag.column_name) == (feeds.name, feeds.c.run.name)


def next_number(connection: Connection) -> int:
    """Return a number that no run and no delivery has."""
    connection.execute(store.update().values(runs=store.c.runs + 1))
    number: int = connection.execute(select(store.c.runs)).scalar_one()
    return number


def is_dead(connection: Connection, run: int) -> bool:
    """Return whether a run has ended, its lease has expired, or its process has died."""
    return _living_owner(connection, run) is None


def _living_owner(connection: Connection, run: int) -> str | None:
    """Return the owner of a run that is alive; None if it is not."""
    owner: str | None = connection.scalar(select(runs.c.owner).where(runs.c.id == run, LIVES))
    return None if owner is None or is_gone(owner) else owner


@lru_cache(1)
def this_process() -> str:
    """Return the unique name of this process as an owner: its host, machine, number and start."""
    pid = os.getpid()
    return f"process {socket.gethostname()} {_machine()} {pid} {_start(pid)}"


def _machine() -> str:
    """Return an id of the space in which process numbers and start times are comparable.

    That is one boot, one PID namespace, and one time namespace: it shifts the start times of processes.
    """
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        spaces = [PROC / "self/ns/pid"]
        if (shifted := PROC / "self/ns/time").is_symlink():  # Linux has it since 5.6
            spaces.append(shifted)
        # Without a /proc of its own, a PID namespace shows the processes of another one.
        is_own = str((PROC / "self").readlink()) == str(os.getpid())
        return "/".join((boot, *(str(space.readlink()) for space in spaces))) if is_own else NO_MACHINE
    except OSError:
        return NO_MACHINE


def _start(pid: int) -> str | None:
    """Return when a process began; None if it does not exist; HIDDEN if only its owner can read that.

    /proc may hide the processes of other users, or their start times: proc(5), hidepid.
    """
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return HIDDEN if _is_of_another_user(pid) else None
    return None if fields[STATE] in "ZX" else fields[START]


def _is_of_another_user(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return False


def is_gone(owner: str) -> bool:
    """Return whether an owner is a process of this machine that has ended."""
    _process, _host, machine, pid, start, _run = owner.split(" ")
    return machine == _machine() != NO_MACHINE and _start(int(pid)) not in (start, HIDDEN)


def shown(owner: str) -> str:
    """Return an owner as messages show it."""
    _process, host, _machine, pid, *_ = owner.split(" ")
    return f"process {pid} on {host}"
