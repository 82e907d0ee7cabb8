"""The state that a store and its repositories share."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from sqlalchemy import select

from fhcrawl.exceptions import StoreError
from fhcrawl.store.schema import feeds
from fhcrawl.store.statements import Upserts, is_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from fhcrawl.store.database import Database
    from fhcrawl.store.leases import Leases

FEEDS_REMEMBERED = 10_000


class Session:
    """The database, the leases of the current run, and the ids of feeds.

    :param leases: None until a run begins
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.leases: Leases | None = None
        self._feed_ids: dict[str, int] = {}
        self._heads: dict[int, str] = {}

    # Built at first use: they take longer than a lookup, as in commands that only read.
    @cached_property
    def upserts(self) -> Upserts:
        """Statements that insert rows or update them."""
        return Upserts(self.database.dialect)

    def require_leases(self) -> Leases:
        """Return the leases of the run.

        :raises StoreError: if no run has begun
        """
        if self.leases is None:
            raise StoreError("No crawl has begun: Store.begin_run() comes first")
        return self.leases

    def remembered_id(self, feed: str) -> int | None:
        """Return the id of a feed if it is in memory."""
        return self._feed_ids.get(feed)

    def find_id(self, connection: Connection, feed: str) -> int:
        """Return the id of a feed.

        :raises StoreError: if the store does not know it
        """
        if (known := self._feed_ids.get(feed)) is not None:
            return known
        found: int | None = connection.scalar(select(feeds.c.id).where(is_of(feed)))
        if found is None:
            raise StoreError(f"The store does not know the feed {feed}")
        self.remember_ids({feed: found})
        return found

    def remember_ids(self, feed_ids: dict[str, int]) -> None:
        """Keep the ids of feeds in memory, by URL."""
        if len(self._feed_ids) + len(feed_ids) > FEEDS_REMEMBERED:
            self._feed_ids.clear()
        self._feed_ids |= feed_ids

    def remember_heads(self, digests: dict[int, str]) -> None:
        """Keep the digests of feeds' heads in memory, by feed id."""
        if len(self._heads) + len(digests) > FEEDS_REMEMBERED:
            self._heads.clear()
        self._heads |= digests

    def take_head(self, feed_id: int) -> str | None:
        """Return the digest of a feed's head if it is in memory, once: another one may replace it."""
        return self._heads.pop(feed_id, None)


class Repository:
    """Base class of what reads and writes one kind of data in a store."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._database = session.database
