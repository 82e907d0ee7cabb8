"""The store: feeds, their chains and their entries, in one database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.exceptions import StoreError
from fhcrawl.store import database, leases, opening, schema
from fhcrawl.store.chains import Chains
from fhcrawl.store.database import Database, Session
from fhcrawl.store.documents import Documents
from fhcrawl.store.entries import Entries, Exports
from fhcrawl.store.feeds import Feeds, Sitemaps
from fhcrawl.store.leases import Leases
from fhcrawl.store.mementos import Captures, Mementos
from fhcrawl.store.subscriptions import Subscriptions
from fhcrawl.store.walk_ends import WalkEnds
from fhcrawl.store.walks import Walks

if TYPE_CHECKING:
    from sqlalchemy import URL


class Store:
    """A database with the tables of `fhcrawl.store.schema`: its run, and a repository for each kind of data.

    Every method, including those of the repositories, raises `StoreError` if the database fails.
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
        self.mementos = Mementos(session)
        self.chains = Chains(session)
        self.walk_ends = WalkEnds(session)
        self.sitemaps = Sitemaps(session)

    @classmethod
    def open_to_read(cls, url: str) -> Store:
        """Open the store, even in a folder that cannot be written to.

        If there is no file yet, none is created: the store is empty, in memory.

        :raises StoreError: if it cannot be opened
        """
        if opening.is_not_made(url):
            return cls(Database.open(opening.IN_MEMORY, shown_as=url))
        try:
            return cls.open(url)
        except StoreError:
            still = opening.immutable(opening.parsed(url))
            if still is None:
                raise
            return cls.open(still)

    @classmethod
    def open(cls, url: str | URL) -> Store:
        """Open the store at an SQLAlchemy URL; create its tables if there are none, migrate older ones.

        :raises StoreError: if it cannot be opened, or has a version that this fhcrawl cannot migrate
        """
        return cls(Database.open(url))

    @property
    def place(self) -> str:
        """The URL of the database, without passwords."""
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

    def wait(self) -> None:
        """Wait for the commit of the transaction that was sent last."""
        self._database.wait()

    def check_writable(self) -> None:
        """Check that the database can be written to, with an UPDATE that changes nothing."""
        with self._database.transaction() as connection:
            connection.execute(schema.store.update().values(runs=schema.store.c.runs))

    def copy_to(self, target: Store) -> dict[str, int]:
        """Copy everything to an empty store; return the number of rows by table.

        :raises StoreError: if this store has no feeds, or the target has some
        """
        with self._database.still() as connection, target._database.transaction() as other:
            return database.copy_rows(connection, other, self.place)

    # -- runs -------------------------------------------------------------------------------------

    def begin_run(self, lease_seconds: int = leases.SECONDS) -> int:
        """Begin a crawl; return its number.

        :param lease_seconds: how long it keeps its feeds after the last renewal
        """
        with self._database.transaction() as connection:
            opening.end_silent(connection)
            run = leases.next_number(connection)
            self._session.leases = Leases(run, lease_seconds)
            self._session.leases.begin(connection)
        return run

    def next_number(self) -> int:
        """Return a new number, for walks that may read the documents again that this run has read."""
        with self._database.transaction() as connection:
            return leases.next_number(connection)

    @property
    def pause(self) -> float:
        """Seconds between two calls of `renew`."""
        return self._session.require_leases().pause

    def renew(self) -> None:
        """Renew the lease of the run, if it is time to."""
        with self._database.transaction() as connection:
            self._session.require_leases().renew(connection)
