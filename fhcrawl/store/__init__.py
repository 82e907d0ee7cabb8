"""The database of logical feeds and their chains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.exceptions import StoreError
from fhcrawl.store import database, leases, opening
from fhcrawl.store.database import Database
from fhcrawl.store.documents import ChainEnd, CheckedDocument, DocumentRef, Documents
from fhcrawl.store.downloads import Download, Downloads
from fhcrawl.store.entries import Entries, Exports
from fhcrawl.store.feeds import (
    FEEDS_AT_ONCE,
    ChainNode,
    Details,
    Feeds,
    LatestEntry,
    StoredSitemaps,
    VerdictRecord,
)
from fhcrawl.store.leases import Leases
from fhcrawl.store.mementos import Memento, Mementos, StoredCaptures, TimeMap
from fhcrawl.store.statements import execute, insertion
from fhcrawl.store.subscriptions import Subscriptions
from fhcrawl.store.verdicts import Feed
from fhcrawl.store.walk_ends import WalkEnds
from fhcrawl.store.walks import StoredSnapshot, Walks, WalkStart

if TYPE_CHECKING:
    from sqlalchemy import URL

__all__ = [
    "FEEDS_AT_ONCE",
    "ChainEnd",
    "ChainNode",
    "CheckedDocument",
    "Details",
    "DocumentRef",
    "Download",
    "Feed",
    "LatestEntry",
    "Memento",
    "Store",
    "StoredSnapshot",
    "TimeMap",
    "VerdictRecord",
    "WalkStart",
]

NOTE_ROBOTS = f"""
{insertion("robots", ("host", "body", "read", "unreachable"))} ON CONFLICT (host) DO UPDATE SET
    body = coalesce(excluded.body, robots.body),
    read = CASE WHEN excluded.body IS NULL THEN robots.read ELSE excluded.read END,
    unreachable = CASE WHEN excluded.body IS NULL AND robots.unreachable <> robots.read
        THEN robots.unreachable ELSE excluded.unreachable END
RETURNING body, read, unreachable
"""

KEEPS_VERSIONS = "SELECT keeps_versions FROM store"


class Store:
    """A database with the tables of `fhcrawl.store.schema`: its run, and a repository for each kind of data.

    Every method, including those of the repositories, raises `StoreError` if the database fails.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.walks = Walks(database)
        self.feeds = Feeds(database)
        self.documents = Documents(database)
        self.entries = Entries(database)
        self.exports = Exports(database)
        self.subscriptions = Subscriptions(database)
        self.captures = StoredCaptures(database)
        self.mementos = Mementos(database)
        self.walk_ends = WalkEnds(database)
        self.sitemaps = StoredSitemaps(database)
        self.downloads = Downloads(database)

    @classmethod
    def open_to_read(cls, url: str) -> Store:
        """Open the store, even in a folder that cannot be written to.

        If there is no file yet, none is created: the store is empty, in memory.
        """
        if opening.can_be_created(url):
            return cls(Database.open(opening.IN_MEMORY, shown_as=url))
        try:
            return cls.open(url)
        except StoreError:
            immutable_url = opening.immutable(opening.parsed(url))
            if immutable_url is None:
                raise
            return cls.open(immutable_url)

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
        run_leases, self._database.leases = self._database.leases, None
        if run_leases is not None:
            with self._database.transaction() as connection:
                run_leases.end(connection)

    def check_writable(self) -> None:
        """Check that the database can be written to, with an UPDATE that changes nothing."""
        with self._database.transaction() as connection:
            execute(connection, "UPDATE store SET runs = runs")

    def copy_to(self, target: Store) -> dict[str, int]:
        """Copy everything to an empty store, as it is when this begins; return the number of rows by table.

        Both stores then have the same changes to export.
        """
        with self._database.snapshot() as source, target._database.transaction() as destination:
            return database.copy_rows(source, destination, self.place)

    # -- runs -------------------------------------------------------------------------------------

    @property
    def keeps_versions(self) -> bool:
        """Whether crawls keep earlier versions of entries."""
        with self._database.lookup() as connection:
            return bool(execute(connection, KEEPS_VERSIONS).scalar_one())

    def begin_run(self, lease_seconds: int = leases.SECONDS, keep_versions: bool | None = None) -> int:
        """Begin a crawl; return its number.

        :param lease_seconds: how long it keeps its feeds after the last renewal
        :param keep_versions: whether this and all later crawls keep earlier versions of entries; None: as
            the last crawl that had a value
        """
        with self._database.transaction() as connection:
            if keep_versions is not None:
                execute(connection, "UPDATE store SET keeps_versions = :value", {"value": int(keep_versions)})
            self._database.keeps_versions = bool(execute(connection, KEEPS_VERSIONS).scalar_one())
            run = leases.next_number(connection)
            self._database.leases = Leases(run, lease_seconds)
            self._database.leases.begin(connection)
        return run

    def next_number(self) -> int:
        """Return a new run number, for walks that may reread documents of this run."""
        with self._database.transaction() as connection:
            return leases.next_number(connection)

    @property
    def pause(self) -> float:
        """Seconds between two calls of `renew`."""
        return self._database.require_leases().pause

    def renew(self) -> None:
        """Renew the lease of the run, unless it was renewed within `pause`."""
        with self._database.transaction() as connection:
            self._database.require_leases().renew(connection)

    def note_robots(self, host: str, body: bytes | None, time: int) -> tuple[bytes | None, int, int]:
        """Store the robots.txt of a host; return the last one, when it was read, and since when it is not.

        :param body: None if it is unreachable
        """
        row = {"host": host, "body": body, "read": 0 if body is None else time, "unreachable": time}
        with self._database.transaction() as connection:
            last_body, read, unreachable = execute(connection, NOTE_ROBOTS, row).one()
        return last_body, read, unreachable
