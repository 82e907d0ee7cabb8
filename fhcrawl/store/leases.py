"""Which crawl may write what of a feed: one at a time, or the processes of one job.

A feed belongs to the last run that began to walk it, until that run is over: it has ended, its time has
run out, or its process is gone. The clock is the database's.
"""

from __future__ import annotations

import os
import socket
import time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, case, cast, exists, extract, func, null, select

from fhcrawl.exceptions import LeaseError
from fhcrawl.store.schema import Number, deliveries, feeds, runs

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

NOW = cast(extract("epoch", func.now()), Number)
SECONDS = 300
TAKEN_OVER = "another crawl has taken it over, because this one was silent for too long"
# Renewed when a third of it has passed, so that two renewals may fail.
RENEWALS = 3
PROC = Path("/proc")
NO_MACHINE = "-"
# Of what /proc/PID/stat has behind the name: proc(5).
STATE, START = 0, 19

IS_REFERRED_TO = exists().where(feeds.c.run == runs.c.id) | exists().where(deliveries.c.run == runs.c.id)
HOLDER = (
    select(feeds.c.run, runs.c.owner)
    .outerjoin_from(feeds, runs, runs.c.id == feeds.c.run)
    .where(feeds.c.id == bindparam("feed_id"))
    .with_for_update(of=feeds)
)


class Leases:
    """The leases of a run.

    :param job: names the job that this process is part of; None: the run is all of it
    :param seconds: how long the run counts as living after a renewal
    """

    def __init__(self, run: int, job: str | None = None, seconds: int = SECONDS) -> None:
        self.owner = f"{this_process()} {run}" if job is None else f"job {job}"
        self._run = run
        self._seconds = seconds
        self._renewed = time.monotonic()

    @property
    def pause(self) -> float:
        """Seconds between renewals."""
        return self._seconds / RENEWALS

    def begin(self, connection: Connection) -> None:
        """Note the run, and forget those that nothing belongs to any more."""
        connection.execute(runs.delete().where(runs.c.expires <= NOW, ~IS_REFERRED_TO))
        living = NOW + self._seconds
        connection.execute(runs.insert().values(id=self._run, owner=self.owner, expires=living))

    def renew(self, connection: Connection) -> None:
        """Count as living, if it is time to say so; the other processes of the job too."""
        if time.monotonic() - self._renewed < self.pause:
            return
        mine = runs.c.owner == self.owner
        connection.execute(runs.update().where(mine).values(expires=NOW + self._seconds))
        self._renewed = time.monotonic()

    def end(self, connection: Connection) -> None:
        """Count as over."""
        connection.execute(runs.update().where(runs.c.id == self._run).values(expires=0))

    def claim(self, connection: Connection, run: int) -> None:
        """Check that a feed of another run may be taken over.

        :raises LeaseError: if not
        """
        holder = _living(connection, run)
        if holder is not None and holder.owner != self.owner:
            raise LeaseError(f"another crawl is at work on it ({_shown(holder.owner)})")

    def check(self, connection: Connection, feed_id: int) -> None:
        """Check that a feed still belongs to this run; nobody can take it before the transaction ends.

        :raises LeaseError: if another run has taken it over
        """
        holder = connection.execute(HOLDER, {"feed_id": feed_id}).first()
        if holder is None or holder.owner != self.owner:
            raise LeaseError(TAKEN_OVER)
        self.renew(connection)

    def fence(self, connection: Connection, feed_id: int) -> None:
        """The same without a result: PostgreSQL fails, in a way that `explain` knows."""
        is_held = exists().where(runs.c.id == feeds.c.run, runs.c.owner == self.owner)
        kept = feeds.update().where(feeds.c.id == feed_id)
        connection.execute(kept.values(run=case((is_held, feeds.c.run), else_=null())))
        self.renew(connection)


def explain(error: BaseException) -> None:
    """
    :raises LeaseError: if an error of PostgreSQL's is that of a fence
    """
    found = getattr(getattr(error, "orig", error), "diag", None)
    if found is not None and (found.table_name, found.column_name) == (feeds.name, feeds.c.run.name):
        raise LeaseError(TAKEN_OVER) from error


def is_over(connection: Connection, run: int) -> bool:
    """Whether a run has ended, or can be taken to have."""
    return _living(connection, run) is None


def _living(connection: Connection, run: int) -> Row[Any] | None:
    """The run, or another one of its job."""
    owner = select(runs.c.owner).where(runs.c.id == run).scalar_subquery()
    row = connection.execute(select(runs).where(runs.c.owner == owner, runs.c.expires > NOW)).first()
    return None if row is None or _is_gone(row.owner) else row


@lru_cache(1)
def this_process() -> str:
    """Names this process, for all time: its host, machine, number and start."""
    pid = os.getpid()
    return f"process {socket.gethostname()} {_machine()} {pid} {_start(pid)}"


def _machine() -> str:
    """Where process numbers mean the same: one boot of one machine, and one namespace of it."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{(PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return NO_MACHINE


def _start(pid: int) -> str | None:
    """When a process began; None if there is none of that number, or nobody but its parent knows it."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[STATE] in "ZX" else fields[START]


def _is_gone(owner: str) -> bool:
    """Whether an owner is a process of this machine that is no more."""
    kind, _, named = owner.partition(" ")
    if kind != "process":
        return False
    _host, machine, pid, start, _run = named.split(" ")
    return machine == _machine() != NO_MACHINE and _start(int(pid)) != start


def _shown(owner: str) -> str:
    kind, _, named = owner.partition(" ")
    if kind != "process":
        return owner
    host, _machine, pid, *_ = named.split(" ")
    return f"process {pid} on {host}"
