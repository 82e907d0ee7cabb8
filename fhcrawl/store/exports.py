"""Deliveries: changes of entries that are being exported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import exists, select

from fhcrawl.exceptions import LeaseError
from fhcrawl.store import leases
from fhcrawl.store.entries import stream_entries
from fhcrawl.store.schema import changes, deliveries, feeds
from fhcrawl.store.session import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator


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
            is_part = changes.c.delivery == number
            yield from stream_entries(connection, is_part, only_changed=True, has_details=has_details)

    def note_files(self, number: int, files: list[list[Any]]) -> None:
        """Store that a delivery's changes are written to temporary files, which are not renamed yet.

        :param files: a `delivery.WrittenFile` each
        :raises LeaseError: if another run has taken the delivery over
        """
        noted = deliveries.update().where(deliveries.c.id == number).values(files=json.dumps(files))
        with self._database.transaction() as connection:
            if not connection.execute(noted).rowcount:
                raise LeaseError("another crawl took this one for dead, and exports its changes")
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
