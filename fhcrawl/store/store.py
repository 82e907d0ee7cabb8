"""The store: what is known of each feed, its chain and its entries, in one database."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from fhcrawl.exceptions import StoreError
from fhcrawl.store import copying, leases, opening, schema
from fhcrawl.store.captures import Captures
from fhcrawl.store.database import Database
from fhcrawl.store.documents import Documents
from fhcrawl.store.entries import Entries
from fhcrawl.store.exports import Exports
from fhcrawl.store.feeds import Feeds
from fhcrawl.store.leases import Leases
from fhcrawl.store.session import Session
from fhcrawl.store.subscriptions import Subscriptions
from fhcrawl.store.walks import Walks

if TYPE_CHECKING:
    from sqlalchemy import URL

    from fhcrawl.store.rows import Subscription


class Store:
    """A database with the tables of `fhcrawl.store.schema`: the run, and a repository for each kind of thing.

    Every method, also of the repositories, raises `StoreError` if the database fails.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._session = session = Session(database)
        self.walks = Walks(session)
        self.feeds = Feeds(session)
        self.documents = Documents(session)
        self.entries = Entries(session)
        self.exports = Exports(session)
        self.subscriptions = Subscriptions(session)
        self.captures = Captures(session)

    @classmethod
    def open_to_read(cls, url: str) -> Store:
        """Open the store, even if it is a file in a folder where nothing can be written.

        :raises StoreError: if it cannot be opened
        """
        try:
            return cls.open(url)
        except StoreError:
            still = opening.immutable(opening.parsed(url))
            if still is None:
                raise
            return cls.open(still)

    @classmethod
    def open(cls, url: str | URL) -> Store:
        """Open the store at an SQLAlchemy URL; make its tables if there are none, migrate older ones.

        :raises StoreError: if it cannot be opened, or was written by a newer fhcrawl
        """
        return cls(Database.open(url))

    @property
    def place(self) -> str:
        """Its URL, without passwords."""
        return self._database.place

    def close(self) -> None:
        """End the run, if one has begun, and close all connections."""
        try:
            self.end_run()
        finally:
            self._database.close()

    def end_run(self) -> None:
        """End the run, if one has begun."""
        ended, self._session.leases = self._session.leases, None
        if ended is not None:
            with self._database.transaction() as connection:
                ended.end(connection)

    def settle(self) -> None:
        """Wait until all that was sent has been answered."""
        self._database.settle()

    def check_writable(self) -> None:
        """Write something that changes nothing."""
        with self._database.transaction() as connection:
            connection.execute(schema.store.update().values(runs=schema.store.c.runs))

    def copy_to(self, target: Store) -> dict[str, int]:
        """Copy everything to a store that is empty; how many rows, by table.

        :raises StoreError: if there is nothing here, or something there
        """
        with self._database.still() as connection, target._database.transaction() as other:
            return copying.copy(connection, other)

    # -- runs -------------------------------------------------------------------------------------

    def begin_run(self, job: str | None = None, lease_seconds: int = leases.SECONDS) -> int:
        """Begin a crawl; its number.

        :param job: its processes may share feeds; None: this one shares with nobody
        :param lease_seconds: how long it keeps its feeds from others after it was last heard of
        """
        with self._database.transaction() as connection:
            run = leases.next_number(connection)
            self._session.leases = Leases(run, job, lease_seconds)
            self._session.leases.begin(connection)
        return run

    def renumber(self, known: Subscription) -> Subscription:
        """The same with a number that no run has: what was read before in this one may be read again."""
        with self._database.transaction() as connection:
            return dataclasses.replace(known, run=leases.next_number(connection))

    # -- the processes of a job -------------------------------------------------------------------

    def job_lives(self, job: str) -> bool:
        """Whether any process of a job does."""
        with self._database.lookup() as connection:
            return leases.lives(connection, job)

    def overdue(self, runs: list[int]) -> set[int]:
        """Those of some runs that have ended, or were not heard of for too long."""
        with self._database.lookup() as connection:
            return leases.overdue(connection, runs)

    def take_over_run(self, dead: int) -> None:
        """Answer for the feeds of a run of the same job, which from now on writes nothing.

        :raises StoreError: also if it is in the middle of writing; another try may do
        """
        with self._database.transaction() as connection:
            if connection.dialect.name == schema.POSTGRESQL:
                connection.exec_driver_sql("SET LOCAL lock_timeout = '1s'")
            self._session.require_leases().take_over_run(connection, dead)

    def hand_over(self, successor: int) -> None:
        """Let another run of the same job answer for the feeds of this one."""
        with self._database.transaction() as connection:
            self._session.require_leases().hand_over(connection, successor)

    @property
    def pause(self) -> float:
        """How often `renew` has to be called, in seconds."""
        return self._session.require_leases().pause

    def renew(self) -> None:
        """Say that the run lives, if it has not been said for that long."""
        with self._database.transaction() as connection:
            self._session.require_leases().renew(connection)
