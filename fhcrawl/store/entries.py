"""Entries in the store, and their earlier versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import true

from fhcrawl.logical_feed.versions import latest_time
from fhcrawl.store import rows, statements
from fhcrawl.store.opening import stream
from fhcrawl.store.rows import KeptVersion, StoredVersion
from fhcrawl.store.schema import changes, entries
from fhcrawl.store.session import Repository
from fhcrawl.store.statements import counted_order
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import Connection

    from fhcrawl.logical_feed import Winner
    from fhcrawl.logical_feed.results import DocumentResult
    from fhcrawl.store.session import Session


class Entries(Repository):
    """The entries and their earlier versions: `store.entries`."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        dialect = session.database.dialect
        self._winners_among = statements.WinnersAmong(dialect)

    def compare(self, result: DocumentResult) -> dict[str, Winner]:
        """Return the newest stored versions of a document's entries, by id."""
        ids = list({version.id for version in (*result.versions, *result.deletions)})
        return self.find_winners(result.fetch.feed, ids, result.fetch.latest)

    def find_winners(self, feed: str, ids: list[str], latest: str) -> dict[str, Winner]:
        """Return the newest versions of some entries of a feed, by id, judged by times up to `latest`."""
        found: dict[str, Winner] = {}
        with self._database.lookup() as connection:
            feed_id = self._session.find_id(connection, feed)
            for some in statements.some_at_once(ids):
                found |= rows.winners(self._winners_among.execute(connection, feed_id, some), latest)
        return found

    def read(self, urls: Iterable[str] = (), has_details: bool = False) -> Iterator[dict[str, Any]]:
        """Yield the live entries of some feeds, or of all: feed by feed, oldest first.

        :param has_details: with their optional fields and `original`
        """
        chosen = list(urls)
        of_feeds = statements.is_one_of(chosen) if chosen else true()
        with self._database.snapshot() as connection:
            is_live = entries.c.digest != ""
            yield from stream_entries(connection, is_live & of_feeds, has_details=has_details)

    def read_versions(self, feed: str, newest_first: bool = False) -> Iterator[StoredVersion]:
        """Yield the newest version of each entry of a feed, including deletions, oldest first."""
        order = (*counted_order(entries), entries.c.id)
        statement = (
            statements.VERSIONS.outerjoin(changes, statements.CHANGE_OF_ENTRY)
            .where(statements.is_of(feed))
            .order_by(*(column.desc() if newest_first else column for column in order))
        )
        with self._database.snapshot() as connection:
            found = stream(connection, statement.params(latest=latest_time(now())))
            yield from map(StoredVersion.of, found)

    def read_kept_versions(self, feed: str, entry_id: str) -> list[KeptVersion]:
        """Return the current version of an entry, then its earlier ones, newest first."""
        with self._database.snapshot() as connection:
            wanted = {"feed_id": self._session.find_id(connection, feed), "id": entry_id}
            current = connection.execute(statements.ENTRY, wanted).all()
            latest = {"latest": latest_time(now())}
            before = connection.execute(statements.VERSIONS_BEFORE, wanted | latest).all()
        return [rows.kept_version(row, number == 0) for number, row in enumerate([*current, *before])]


def stream_entries(
    connection: Connection, where: Any, only_changed: bool = False, has_details: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield the fields of entries, feed by feed, oldest first.

    :param only_changed: leave out entries without a change since they were exported
    :param has_details: with their optional fields and `original`
    """
    statement = (
        (statements.WHOLE_ENTRIES if has_details else statements.ENTRIES)
        .join(changes, statements.CHANGE_OF_ENTRY, isouter=not only_changed)
        .where(where)
        .order_by(entries.c.feed_id, *counted_order(entries), entries.c.id)
    )
    fields_of = rows.whole_fields if has_details else rows.exported_fields
    return map(fields_of, stream(connection, statement.params(latest=latest_time(now()))))
