"""Entries in the store, their earlier versions, and the deliveries of their changes to exports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import exists, select

from fhcrawl.exceptions import LeaseError
from fhcrawl.logical_feed.results import latest_time
from fhcrawl.store import leases, statements
from fhcrawl.store.database import Repository
from fhcrawl.store.opening import stream
from fhcrawl.store.schema import changes, deliveries, feeds
from fhcrawl.store.statements import KeptVersion, StoredVersion, by_counted_order
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import Connection

    from fhcrawl.logical_feed import Winner
    from fhcrawl.logical_feed.results import DocumentResult


LABELS = "SELECT entries.id, title, published, updated FROM entries WHERE entries.feed_id = :feed_id"


class Label(NamedTuple):
    """Title and times of an entry, which stay the same if its publisher writes other tokens into its URLs."""

    title: str | None
    published: str | None
    updated: str | None


class Entries(Repository):
    """The entries and their earlier versions: `store.entries`."""

    def compare(self, result: DocumentResult) -> dict[str, Winner]:
        """Return the newest stored versions of a document's entries, by id."""
        ids = list({version.id for version in (*result.versions, *result.deletions)})
        return self.find_winners(result.fetch.feed, ids, result.fetch.latest)

    def find_winners(self, feed: str, ids: list[str], latest: str) -> dict[str, Winner]:
        """Return the newest versions of some entries of a feed, by id, judged by times up to `latest`."""
        with self._database.lookup() as connection:
            feed_id = self._session.find_id(connection, feed)
            found = statements.execute_among(connection, statements.WINNERS, feed_id, ids) if ids else ()
            return statements.winners(found, latest)

    def find_labels(self, feed: str, ids: list[str]) -> dict[str, Label]:
        """Return title and times of some entries of a feed, by id."""
        with self._database.lookup() as connection:
            feed_id = self._session.find_id(connection, feed)
            found = statements.execute_among(connection, LABELS, feed_id, ids) if ids else ()
            return {row[0]: Label(*row[1:]) for row in found}

    def read(self, urls: Iterable[str] = (), has_details: bool = False) -> Iterator[dict[str, Any]]:
        """Yield the live entries of some feeds, or of all: feed by feed, oldest first.

        :param has_details: with their optional fields and `original`
        """
        where, chosen = "entries.digest <> ''", list(urls)
        with self._database.snapshot() as connection:
            if chosen:
                of_feeds = select(feeds.c.id).where(statements.is_one_of(chosen))
                chosen_ids = list(connection.scalars(of_feeds))
                where += " AND entries.feed_id = ANY(:feeds)"
            else:
                chosen_ids = []
            yield from _stream_entries(connection, where, {"feeds": chosen_ids}, has_details=has_details)

    def read_versions(self, feed: str, newest_first: bool = False) -> Iterator[StoredVersion]:
        """Yield the newest version of each entry of a feed, including deletions, oldest first."""
        direction = "DESC" if newest_first else "ASC"
        order = f"{by_counted_order('entries', direction)}, entries.id {direction}"
        statement = statements.entries_with_changes("KEY(feeds.url) = KEY(:url)", order)
        values: dict[str, object] = {"url": feed, "latest": latest_time(now())}
        with self._database.snapshot() as connection, stream(connection, statement, values) as found:
            yield from map(StoredVersion.of, found)

    def read_kept_versions(self, feed: str, entry_id: str) -> list[KeptVersion]:
        """Return the current version of an entry, then its earlier ones, newest first."""
        with self._database.snapshot() as connection:
            wanted = {"feed_id": self._session.find_id(connection, feed), "id": entry_id}
            of_entry = "feed_id = :feed_id AND KEY(id) = KEY(:id)"
            found = statements.execute(connection, f"SELECT * FROM entries WHERE {of_entry}", wanted)
            current = found.all()
            before = statements.execute(
                connection,
                f"SELECT * FROM versions WHERE {of_entry} ORDER BY {by_counted_order('versions', 'DESC')}",
                {**wanted, "latest": latest_time(now())},
            ).all()
        return [statements.kept_version(row, number == 0) for number, row in enumerate([*current, *before])]


def _stream_entries(
    connection: Connection,
    where: str,
    values: dict[str, object],
    only_changed: bool = False,
    has_details: bool = False,
) -> Iterator[dict[str, Any]]:
    """Yield the fields of entries, feed by feed, oldest first.

    :param only_changed: leave out entries without a change since they were exported
    :param has_details: with their optional fields and `original`
    """
    order = f"entries.feed_id, {by_counted_order('entries')}, entries.id"
    statement = statements.entries_with_changes(where, order, only_changed, has_details)
    fields_of = statements.whole_fields if has_details else statements.exported_fields
    with stream(connection, statement, {**values, "latest": latest_time(now())}) as found:
        yield from map(fields_of, found)


class Exports(Repository):
    """The deliveries: `store.exports`."""

    def begin(self, run: int, only_released: bool = False) -> int:
        """Begin to export the changes of a run's feeds that no export has yet; return the delivery's number.

        :param only_released: only of feeds that the run has finished with
        """
        with self._database.transaction() as connection:
            # Numbers are never reused: a process that was suspended, and whose delivery another one has
            # recovered meanwhile, would end the delivery that has its number now.
            number = leases.next_number(connection)
            connection.execute(deliveries.insert().values(id=number, run=run, files="[]"))
            waits = exists().where(changes.c.feed_id == feeds.c.id, changes.c.delivery.is_(None))
            # A run that claims one of these feeds at the same time comes before this delivery, or sees it.
            crawled = select(feeds.c.id).where(feeds.c.run == run, waits).order_by(feeds.c.id)
            if only_released:
                crawled = crawled.where(feeds.c.released.is_not(None))
            mine = changes.c.delivery.is_(None) & changes.c.feed_id.in_(crawled.with_for_update())
            connection.execute(changes.update().where(mine).values(delivery=number))
        return number

    def read_changes(self, number: int, has_details: bool = False) -> Iterator[dict[str, Any]]:
        """Yield the entries changed in a delivery, feed by feed, oldest first.

        :param has_details: with their optional fields and `original`
        """
        with self._database.snapshot() as connection:
            yield from _stream_entries(
                connection, "changes.delivery = :delivery", {"delivery": number}, True, has_details
            )

    def note_files(self, number: int, files: list[list[Any]]) -> None:
        """Store that a delivery's changes are written to temporary files, which are not renamed yet.

        :param files: a `storages.WrittenFile` each
        :raises LeaseError: if another run has taken the delivery over
        """
        noted = deliveries.update().where(deliveries.c.id == number).values(files=json.dumps(files))
        with self._database.transaction() as connection:
            if not connection.execute(noted).rowcount:
                raise LeaseError("another crawl considered this one dead and exports its changes")
            if self._session.leases is not None:
                self._session.leases.renew(connection)

    def find_dead(self, locked: str | None = None) -> list[tuple[int, list[list[Any]]]]:
        """Return the number and files of each delivery that was not ended, though its process has.

        :param locked: name of a file that this process has locked: deliveries to it are dead too. One that
            could not be ended may belong to a process that still runs, and a process on another machine may
            have ended long before its lease expires
        """
        with self._database.snapshot() as connection:
            begun = connection.execute(select(deliveries).order_by(deliveries.c.id)).all()
            found = [(row.id, row.run, json.loads(row.files)) for row in begun]
            return [
                (number, files)
                for number, run, files in found
                if leases.is_dead(connection, run) or any(name == locked for _written, name, *_ in files)
            ]

    def end(self, number: int) -> None:
        """Mark the changes of a delivery as exported."""
        with self._database.transaction() as connection:
            connection.execute(changes.delete().where(changes.c.delivery == number))
            connection.execute(deliveries.delete().where(deliveries.c.id == number))

    def cancel(self, number: int) -> None:
        """Discard a delivery; its changes are to be exported again."""
        with self._database.transaction() as connection:
            connection.execute(changes.update().where(changes.c.delivery == number).values(delivery=None))
            connection.execute(deliveries.delete().where(deliveries.c.id == number))
