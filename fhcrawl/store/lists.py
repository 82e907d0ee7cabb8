"""Lists of documents in the store: their parts are a chain, which none of them knows of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from fhcrawl.documents.snapshot import NAMESPACE
from fhcrawl.logical_feed import Place, Role, absence
from fhcrawl.store import rows, statements
from fhcrawl.store.rows import End, Step, StoredSnapshot
from fhcrawl.store.schema import changes, documents, entries, feeds
from fhcrawl.visit import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Row

    from fhcrawl.documents.lists import Listed
    from fhcrawl.visit import Visit

KEYS_AT_ONCE = 500


def write(connection: Connection, upsert: Any, feed_id: int, visit: Visit) -> int | None:
    """Write the documents that a list names, and forget those that it does not; the first one's number."""
    parts = visit.parts or []
    behind: int | None = None
    for number, (key, url) in reversed(list(enumerate(parts, 1))):
        row = rows.known_document_row(feed_id, visit, key, url, Role.PART)
        place = Place(visit.place.walk, visit.place.step - number)
        row |= {"walk": place.walk, "step": place.step, "behind_id": behind}
        behind = int(connection.execute(upsert, row).scalar_one())
    listed = {part.key for part in parts}
    stale = [row.id for row in connection.execute(_parts(feed_id)) if row.key not in listed]
    for begin in range(0, len(stale), KEYS_AT_ONCE):
        of_list = documents.c.id.in_(stale[begin : begin + KEYS_AT_ONCE])
        connection.execute(documents.delete().where(of_list))
    return behind


def _parts(feed_id: int) -> Any:
    is_part = (documents.c.feed_id == feed_id) & (documents.c.role == Role.PART.value)
    return select(documents).where(is_part).order_by(documents.c.walk.desc(), documents.c.step.desc())


def unread_parts(connection: Connection, feed_id: int) -> Sequence[Row[Any]]:
    """The documents that a feed's list names and that are not processed, in the order of reading."""
    return connection.execute(_parts(feed_id).where(documents.c.state != State.PROCESSED.value)).all()


def unread(connection: Connection, number: int | None) -> Step | None:
    """A document; if a list has named it and it is processed, the first behind it that is not."""
    row = connection.execute(select(documents).where(documents.c.id == number)).first()
    if row is None or row.role != Role.PART.value:
        return None if row is None else Step.of(row)
    return End.of(connection.execute(statements.CHAIN_ENDS, {"start": number}).first()).step


def first_unread(connection: Connection, feed_id: int, parts: list[Listed]) -> int:
    """The position of the first part that is not processed; how many they are, if none is."""
    for begin in range(0, len(parts), KEYS_AT_ONCE):
        keys = [part.key for part in parts[begin : begin + KEYS_AT_ONCE]]
        done = documents.c.state == State.PROCESSED.value
        found = _parts(feed_id).where(done, documents.c.key.in_(keys))
        read = {row.key for row in connection.execute(found)}
        for position, key in enumerate(keys, begin):
            if key not in read:
                return position
    return len(parts)


def snapshot(connection: Connection, feed_id: int) -> StoredSnapshot | None:
    """The snapshot that a feed goes on from."""
    of_feed = (documents.c.feed_id == feed_id) & (documents.c.role == Role.INDEX.value)
    index = connection.execute(select(documents).where(of_feed)).first()
    if index is None:
        return None
    is_read = index.state == State.PROCESSED.value
    return StoredSnapshot(index.key, is_read, index.updated, unread(connection, index.behind_id))


def forget_others(connection: Connection, feed_id: int, number: int) -> None:
    """Forget the indexes of other snapshots, when one has been read.

    If that is older than another one, the feed has to be read further back.
    """
    of_feed = documents.c.feed_id == feed_id
    indexes = connection.execute(select(documents).where(of_feed, documents.c.role == Role.INDEX.value)).all()
    new = next(row for row in indexes if row.id == number)
    others = [row for row in indexes if row.id != number]
    if any((row.updated or "") > (new.updated or "") for row in others):
        archives = documents.c.role == Role.ARCHIVE.value
        unread_again = {"reason": State.KNOWN.value, "detail": rows.NOT_FETCHED, "since": new.fetched}
        connection.execute(
            documents.update().where(of_feed, archives).values(state=State.KNOWN.value, **unread_again)
        )
        connection.execute(
            feeds.update()
            .where(feeds.c.id == feed_id)
            .values(dict.fromkeys(("etag", "last_modified", "body_digest")))
        )
    for row in others:
        connection.execute(documents.delete().where(documents.c.id == row.id))


# Snapshot: it is the whole state. A later one has another id, and so have all its entities: what is only in
# the earlier one is no longer there. Nothing is deleted before all of the later one has been read.
def replace(connection: Connection, feed_id: int, visit: Visit) -> int:
    """Delete the entries of earlier snapshots, if all of a later one has been read; how many they were."""
    if visit.replaces is None or unread_parts(connection, feed_id):
        return 0
    earlier = _earlier(feed_id, visit.replaces)
    live = earlier & (entries.c.digest != "")
    pending = select(changes.c.id).where(changes.c.feed_id == feed_id)
    # What was deleted, and exported as deleted, in an earlier run never comes back.
    connection.execute(entries.delete().where(earlier, entries.c.digest == "", entries.c.id.not_in(pending)))
    begun = select(entries.c.feed_id, entries.c.id, entries.c.digest).where(
        live, entries.c.id.not_in(pending)
    )
    connection.execute(changes.insert().from_select(["feed_id", "id", "exported_digest"], begun))
    never_exported = changes.c.exported_digest.is_(None) & changes.c.id.in_(select(entries.c.id).where(live))
    connection.execute(changes.delete().where(changes.c.feed_id == feed_id, never_exported))
    order = dict(zip(statements.ORDER, absence("", visit.place).order, strict=True))
    return connection.execute(entries.update().where(live).values(digest="", **order)).rowcount


def _earlier(feed_id: int, prefix: str) -> ColumnElement[bool]:
    """The entries of snapshots with another prefix."""
    is_snapshots = func.substr(entries.c.id, 1, len(NAMESPACE)) == NAMESPACE
    is_other = func.substr(entries.c.id, 1, len(prefix)) != prefix
    return (entries.c.feed_id == feed_id) & is_snapshots & is_other
