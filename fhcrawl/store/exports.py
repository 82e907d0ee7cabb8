"""What exports read of the store, and what they note there of the changes that they deliver."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import exists, func, select, true

from fhcrawl.exceptions import LeaseError
from fhcrawl.logical_feed.ordering import latest_time
from fhcrawl.store import leases, rows, statements
from fhcrawl.store.opening import stream
from fhcrawl.store.rows import StoredVersion
from fhcrawl.store.schema import changes, deliveries, entries, feeds
from fhcrawl.store.statements import counted_order
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection


def begin(connection: Connection, number: int, run: int, only_released: bool = False) -> int:
    """Begin to export what no export holds yet, of the feeds of a run; the delivery's number.

    :param number: it must never come again: a process that slept, and whose delivery another one has settled
        meanwhile, would end the delivery that has its number
    :param only_released: only of those that the run has finished with
    """
    connection.execute(deliveries.insert().values(id=number, run=run, files="[]"))
    waits = exists().where(changes.c.feed_id == feeds.c.id, changes.c.delivery.is_(None))
    # Another run that claims one of them comes before this delivery, or finds it.
    crawled = select(feeds.c.id).where(feeds.c.run == run, waits).order_by(feeds.c.id).with_for_update()
    if only_released:
        crawled = crawled.where(feeds.c.released.is_not(None))
    mine = changes.c.delivery.is_(None) & changes.c.feed_id.in_(crawled)
    connection.execute(changes.update().where(mine).values(delivery=number))
    return number


def pending(connection: Connection, number: int) -> Iterator[dict[str, Any]]:
    """The changes of a delivery: entries, feed by feed, oldest first."""
    return _entries(connection, changes.c.delivery == number, only_changed=True)


def live(connection: Connection, urls: list[str]) -> Iterator[dict[str, Any]]:
    """The live entries of some feeds, or of all: feed by feed, oldest first."""
    of_feeds = statements.is_one_of(urls) if urls else true()
    return _entries(connection, (entries.c.digest != "") & of_feeds, only_changed=False)


def _entries(connection: Connection, where: Any, only_changed: bool) -> Iterator[dict[str, Any]]:
    statement = (
        statements.ENTRIES.join(changes, statements.CHANGE_OF_ENTRY, isouter=not only_changed)
        .where(where)
        .order_by(entries.c.feed_id, *counted_order(entries), entries.c.id)
    )
    return map(rows.exported_fields, stream(connection, statement.params(latest=latest_time(now()))))


def versions(connection: Connection, feed: str, newest_first: bool) -> Iterator[StoredVersion]:
    """The newest version of each entry of a feed, those that are deleted too, oldest first."""
    order = (*counted_order(entries), entries.c.id)
    statement = (
        statements.VERSIONS.outerjoin(changes, statements.CHANGE_OF_ENTRY)
        .where(statements.is_of(feed))
        .order_by(*(column.desc() if newest_first else column for column in order))
    )
    return map(StoredVersion.of, stream(connection, statement.params(latest=latest_time(now()))))


def times(connection: Connection, feed: str) -> tuple[str, str]:
    """When a feed was first crawled, and the newest time of its entries; '' for none. ISO 8601 in UTC."""
    time, *_ = counted_order(entries)
    latest = select(func.max(time)).where(entries.c.feed_id == feeds.c.id)
    statement = select(feeds.c.since, latest.scalar_subquery()).where(statements.is_of(feed))
    since, newest = connection.execute(statement, {"latest": latest_time(now())}).one()
    return since, f"{newest}Z" if newest else ""


def note_files(connection: Connection, number: int, files: list[list[Any]]) -> None:
    """Note that a delivery's changes are written, but not yet under their names.

    :param files: a `delivery.WrittenFile` each
    :raises LeaseError: if another run has taken the delivery over
    """
    noted = deliveries.update().where(deliveries.c.id == number).values(files=json.dumps(files))
    if not connection.execute(noted).rowcount:
        raise LeaseError("another crawl took this one for dead, and exports its changes")


def dead(connection: Connection, locked: str | None = None) -> list[tuple[int, list[list[Any]]]]:
    """The deliveries whose process is gone, though they have not ended: number and files.

    :param locked: the name of a file that this process has the lock of, so that nobody else delivers to it;
        a worker of a job may be gone long before its lease has run out, and one that could not end its
        delivery need not be gone
    """
    begun = connection.execute(select(deliveries).order_by(deliveries.c.id)).all()
    found = [(row.id, row.run, json.loads(row.files)) for row in begun]
    return [
        (number, files)
        for number, run, files in found
        if leases.is_dead(connection, run) or any(name == locked for _written, name, *_ in files)
    ]


def end(connection: Connection, number: int) -> None:
    """Note that the changes of a delivery have been exported."""
    connection.execute(changes.delete().where(changes.c.delivery == number))
    connection.execute(deliveries.delete().where(deliveries.c.id == number))


def cancel(connection: Connection, number: int) -> None:
    """Note that a delivery has come to nothing."""
    connection.execute(changes.update().where(changes.c.delivery == number).values(delivery=None))
    connection.execute(deliveries.delete().where(deliveries.c.id == number))
