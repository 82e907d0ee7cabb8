"""Lists of documents in the store: their parts form a chain, though none of them links to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import exists, literal, select

from fhcrawl.documents.lists import NAMESPACE
from fhcrawl.logical_feed import Role, absence
from fhcrawl.logical_feed.results import State
from fhcrawl.store import rows, statements
from fhcrawl.store.rows import ChainEnd, DocumentRef, StoredSnapshot
from fhcrawl.store.schema import Keyed, documents, feeds, versions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import ColumnElement, Connection, Row

    from fhcrawl.documents.lists import ListedDocument
    from fhcrawl.logical_feed.results import DocumentResult

_index = documents.alias("snapshot_index")
IS_PROCESSED = documents.c.state == State.PROCESSED.value


def part_rows(feed_id: int, result: DocumentResult) -> Iterator[dict[str, object]]:
    """Yield the rows of the documents that a list names, the last one first: each refers to its successor."""
    parts, start = result.parts or [], result.fetch.position
    same = rows.known_document_row(feed_id, result.fetch, "", "", Role.PART)
    older_key: str | None = None
    for number in range(len(parts), 0, -1):
        key, url = parts[number - 1]
        place = {"walk": start.walk, "step": start.step - number}
        yield {**same, "key": key, "url": url, **place, "behind_key": older_key}
        older_key = key


def unlisted(connection: Connection, feed_id: int, parts: list[ListedDocument]) -> list[int]:
    """Return the ids of the documents that a feed's list named earlier, and does not name now."""
    listed = {part.key for part in parts}
    named = select(documents.c.id, documents.c.key).where(is_part(feed_id))
    return [number for number, key in connection.execute(named) if key not in listed]


def is_part(feed_id: int) -> ColumnElement[bool]:
    """Return the condition that a document is a part of a list of the feed."""
    return (documents.c.feed_id == feed_id) & (documents.c.role == Role.PART.value)


# A subscription document that was a list, and is a feed now, has no parts any more.
def forget_parts(connection: Connection, feed_id: int) -> None:
    """Delete the documents of lists, unless the index of a snapshot names them."""
    has_index = exists().where(_index.c.feed_id == feed_id, _index.c.role == Role.INDEX.value)
    connection.execute(documents.delete().where(is_part(feed_id), ~has_index))


def unread(connection: Connection, row: Row[Any] | None) -> DocumentRef | None:
    """Return a document to be read; for a processed part of a list, the first part after it that is not.

    :param row: the document's row, or None
    """
    if row is None or row.role != Role.PART.value:
        return None if row is None else DocumentRef.of(row)
    ends = statements.chain_ends("documents.id = :start")
    end = statements.execute(connection, ends, {"start": row.id}).first()
    return None if end is None else ChainEnd.of(end).step


def first_unread(connection: Connection, row: Row[Any] | None) -> DocumentRef | None:
    """Return the document that a run begins with; of a list, the first part that was never requested.

    Parts that have failed come after those: they cannot use up all requests of each run.

    :param row: the row of the document that the subscription document or the index leads to, or None
    """
    if row is not None and row.role == Role.PART.value:
        untried = select(documents).where(is_part(row.feed_id), documents.c.state == State.KNOWN.value)
        in_order = untried.order_by(documents.c.walk.desc(), documents.c.step.desc()).limit(1)
        found = connection.execute(in_order).first()
        if found is not None:
            return DocumentRef.of(found)
    return unread(connection, row)


def unread_older(connection: Connection, row: Row[Any]) -> DocumentRef | None:
    """Return the unread document after another one, as `unread` does; None if there is none."""
    older = select(documents).where(documents.c.id == row.behind_id)
    return unread(connection, connection.execute(older).first())


def snapshot(connection: Connection, index: Row[Any]) -> StoredSnapshot:
    """Return the snapshot that precedes a feed.

    :param index: the row of the snapshot's index
    """
    is_read = index.state == State.PROCESSED.value
    first = connection.execute(select(documents).where(documents.c.id == index.behind_id)).first()
    return StoredSnapshot(index.key, is_read, index.updated, first_unread(connection, first))


def forget_others(connection: Connection, feed_id: int, result: DocumentResult) -> None:
    """Delete the indexes of other snapshots, when one has been read.

    If this snapshot is older than another one, the feed's older documents have to be read again.
    """
    others = (
        (_index.c.feed_id == feed_id)
        & (_index.c.role == Role.INDEX.value)
        & (Keyed(_index.c.key) != Keyed(literal(result.fetch.key)))
    )
    is_older = exists().where(others, _index.c.updated > (result.updated or ""))
    is_of_chain = documents.c.role.in_((Role.ARCHIVE.value, Role.PAGE.value))
    chain = (documents.c.feed_id == feed_id) & is_of_chain
    unread_again = rows.UNREAD | {"since": result.fetch.fetched}
    connection.execute(documents.update().where(chain, is_older).values(unread_again))
    validators = dict.fromkeys(("etag", "last_modified", "validated_url", "body_digest"))
    connection.execute(feeds.update().where(feeds.c.id == feed_id, is_older).values(validators))
    connection.execute(documents.delete().where(documents.c.id.in_(select(_index.c.id).where(others))))


# Snapshot: it is the whole state. A later one has another id, and so have all its entities: those of the
# earlier one are deleted, once all of the later one has been read.
def replace(connection: Connection, feed_id: int, result: DocumentResult, keeps_versions: bool) -> int:
    """Delete the entries of earlier snapshots once a later one has been read; return their number.

    :param keeps_versions: keep the deleted entries as versions, and deletions as rows
    """
    unread_parts = select(documents.c.id).where(is_part(feed_id), ~IS_PROCESSED).limit(1)
    if result.replaces is None or connection.execute(unread_parts).first() is not None:
        return 0
    # A snapshot's id may begin with another one's and ':'. An entity's id is the prefix and two positions.
    earlier = f"""entries.feed_id = :feed_id AND substr(entries.id, 1, {len(NAMESPACE)}) = :namespace
        AND (substr(entries.id, 1, :length) <> :prefix OR substr(entries.id, :length + 1) NOT LIKE '%:%'
            OR substr(entries.id, :length + 1) LIKE '%:%:%')"""
    live = f"{earlier} AND entries.digest <> ''"
    is_pending = f"EXISTS (SELECT 1 FROM changes WHERE {statements.CHANGE_OF_ENTRY})"
    prefix = result.replaces
    values = {"feed_id": feed_id, "namespace": NAMESPACE, "prefix": prefix, "length": len(prefix)}
    names = ", ".join(versions.columns.keys())
    order = dict(zip(statements.ORDER, absence("", result.fetch.position).order, strict=True))
    for statement in (
        f"""INSERT INTO versions ({names}) SELECT {names} FROM entries WHERE {live}
        ON CONFLICT (feed_id, KEY(id), digest) DO NOTHING"""
        if keeps_versions
        # Earlier deletions that have been exported never come back.
        else f"DELETE FROM entries WHERE {earlier} AND entries.digest = '' AND NOT {is_pending}",
        f"""INSERT INTO changes (feed_id, id, exported_digest)
        SELECT feed_id, id, digest FROM entries WHERE {live} AND NOT {is_pending}""",
        # No export has these, or the last one said that they are deleted.
        f"""DELETE FROM changes WHERE feed_id = :feed_id AND coalesce(exported_digest, '') = ''
        AND EXISTS (SELECT 1 FROM entries WHERE {live} AND {statements.CHANGE_OF_ENTRY})""",
    ):
        statements.execute(connection, statement, values)
    changed = ", ".join(f"{name} = :{name}" for name in order)
    delete = f"UPDATE entries SET digest = '', {changed} WHERE {live}"
    deleted: int = statements.execute(connection, delete, values | order).rowcount
    return deleted
