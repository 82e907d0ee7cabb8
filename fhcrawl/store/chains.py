"""Chains of documents in the store: which document is read next, and what is known of those that were read.

The parts of a list form a chain, though none of them links to another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fhcrawl.documents.lists import NAMESPACE
from fhcrawl.logical_feed import Role, absence
from fhcrawl.logical_feed.absences import EarlierReading, Seen
from fhcrawl.logical_feed.results import State
from fhcrawl.store import statements
from fhcrawl.store.database import Repository
from fhcrawl.store.schema import documents, versions
from fhcrawl.store.statements import ChainEnd, DocumentRef, StoredSnapshot, execute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import ColumnElement, Connection, Row

    from fhcrawl.documents.lists import ListedDocument
    from fhcrawl.logical_feed import ChainPosition
    from fhcrawl.logical_feed.results import DocumentResult

MAY_HAVE_GROWN = "may have changed since it was read"
NOTE_LOST = """
INSERT INTO absences (feed_id, key, below, role, walk, looked, since)
VALUES (:feed_id, :key, :below, :role, :walk, :walk, :since)
ON CONFLICT (feed_id, key) DO UPDATE SET id = excluded.id, below = excluded.below, role = excluded.role,
    walk = excluded.walk, looked = excluded.looked, since = excluded.since, gone = excluded.gone
"""
# What only the order of a plain feed's entries has proved, until another walk confirms it.
FORGET_UNCONFIRMED = """
DELETE FROM absences WHERE feed_id = :feed_id AND below IS NOT NULL AND gone IS NULL
"""


class KnownDocument(NamedTuple):
    """A document of a chain that can be checked.

    :param requested: when it was last requested
    :param is_there: whether that request succeeded
    """

    id: int
    requested: str
    is_there: bool
    seen: Seen


class KnownChain(NamedTuple):
    """A feed's chain without its subscription document.

    :param documents: those that can be checked, the newest first; without those that are unprocessed or never
        change
    :param missed: the last walk in which an archive had lost an entry of which it is not known whether it is
        gone; None for none
    :param looped: the last walk that has seen a change of a document, if the links are a loop; else None
    """

    documents: list[KnownDocument]
    missed: int | None
    looped: int | None


class CheckedDocument(NamedTuple):
    """A document that has been read, and is requested again to see whether it has changed.

    :param validated_url: URL whose response had etag and last_modified; None if there were none, or if the
        server's 304 responses are not believed
    :param received: when its body last came, rather than a 304
    """

    document: DocumentRef
    validated_url: str | None
    etag: str | None
    last_modified: str | None
    received: str | None


class Chains(Repository):
    """The documents of chains that have been read, to be requested again: `store.chains`."""

    def read_chain(self, feed: str) -> KnownChain:
        """Return what is known of a feed's chain, to choose the documents that are checked."""
        subscription = "documents.id = (SELECT subscription_id FROM feeds WHERE feeds.id = :feed_id)"
        chain = f"""{statements.chain(subscription, with_gaps=True)}
            SELECT documents.*,
                documents.state = 'processed' AND documents.checked IS NOT NULL AS is_checkable
            FROM documents JOIN chain ON chain.id = documents.id WHERE documents.role <> 'subscription'
            ORDER BY documents.walk DESC, documents.step DESC"""
        lost = """SELECT max(walk) FROM absences
            WHERE feed_id = :feed_id AND role = 'archive' AND gone IS NULL"""
        with self._database.lookup() as connection:
            of_feed = {"feed_id": self._database.find_id(connection, feed)}
            found: list[Row[Any]] = list(execute(connection, chain, of_feed))
            missed = execute(connection, lost, of_feed).scalar() if found else None
        is_loop = all(row.behind_id is not None for row in found)
        changed = [row.changed_walk for row in found if row.changed_walk is not None] if is_loop else []
        known = [
            KnownDocument(
                row.id, row.fetched, row.fetched == row.checked, Seen(row.changed_walk, row.checked_walk)
            )
            for row in found
            if row.is_checkable
        ]
        return KnownChain(known, missed, max(changed, default=None))

    def find(self, number: int) -> CheckedDocument | None:
        """Return a processed document by its id; None if it is not there, or not processed any more."""
        with self._database.lookup() as connection:
            return _find(connection, "documents.id = :id AND state = 'processed'", id=number)

    def find_by_key(self, feed: str, key: str) -> CheckedDocument | None:
        """Return a document of a feed that has been read; None if there is none, or if it never changes.

        It is processed, or was until a newer document did not reach back to what was known.
        """
        was_read = """feed_id = :feed_id AND KEY(key) = KEY(:key) AND held IS NOT NULL
            AND (state = 'processed' OR detail = :detail)"""
        with self._database.lookup() as connection:
            feed_id = self._database.find_id(connection, feed)
            return _find(connection, was_read, feed_id=feed_id, key=key, detail=MAY_HAVE_GROWN)

    def read_earlier(self, feed: str, key: str, place: ChainPosition, walk: int) -> EarlierReading | None:
        """Return what is known of a document from before this walk; None if nothing is.

        :param place, walk: as in `EarlierReading`
        """
        contents = """SELECT documents.held, current.held AS current
            FROM documents JOIN feeds ON feeds.id = documents.feed_id
                LEFT JOIN documents AS current ON current.id = feeds.subscription_id
            WHERE documents.feed_id = :feed_id AND KEY(documents.key) = KEY(:key)"""
        missing = "SELECT key FROM absences WHERE feed_id = :feed_id AND role <> 'subscription'"
        with self._database.lookup() as connection:
            values = {"feed_id": self._database.find_id(connection, feed), "key": key}
            row = execute(connection, contents, values).first()
            if row is not None and row.held is not None:
                return EarlierReading(bytes(row.held), bytes(row.current or b""), place, walk)
            # What this walk has come to has a place in this walk.
            is_behind = place.walk < walk
            keys = set(map(bytes, execute(connection, missing, values).scalars())) if is_behind else None
        return EarlierReading(b"", b"", place, walk, keys) if keys else None


def _find(connection: Connection, where: str, **values: object) -> CheckedDocument | None:
    document = f"""SELECT documents.*, feeds.not_modified_ignored
        FROM documents JOIN feeds ON feeds.id = documents.feed_id WHERE {where}"""
    row = execute(connection, document, values).first()
    if row is None:
        return None
    url = row.validated_url if row.not_modified_ignored is None else None
    return CheckedDocument(DocumentRef.of(row), url, row.etag, row.last_modified, row.received)


def absence_rows(feed_id: int, result: DocumentResult) -> list[dict[str, object]]:
    """Return the rows of the entries that a document does not hold any more."""
    fetch = result.fetch
    same = {"feed_id": feed_id, "role": fetch.role.value, "walk": fetch.walk, "since": fetch.fetched}
    return [{**same, "key": key, "below": below} for key, below in (result.lost or {}).items()]


def validators_row(result: DocumentResult) -> dict[str, object]:
    """Return the columns of a document or of a feed for the validators of a response."""
    etag, last_modified, _ = result.validators or (None, None, None)
    url = result.fetch.url if etag or last_modified else None
    return {"etag": etag, "last_modified": last_modified, "validated_url": url}


def content_row(result: DocumentResult) -> dict[str, object]:
    """Return the columns of a document that tell whether it has changed when it is requested again."""
    fetch = result.fetch
    return {
        **validators_row(result),
        "received": fetch.fetched,
        "checked": None if result.held is None else fetch.fetched,
        "checked_walk": fetch.walk,
        "changed_walk": fetch.walk,
        "held": result.held,
    }


# -- lists ----------------------------------------------------------------------------------------


def part_rows(feed_id: int, result: DocumentResult) -> Iterator[dict[str, object]]:
    """Yield the rows of the documents that a list names, the last one first: each refers to its successor."""
    parts, start = result.parts or [], result.fetch.position
    same = statements.known_document_row(feed_id, result.fetch, "", "", Role.PART)
    older_key: str | None = None
    for number in range(len(parts), 0, -1):
        key, url = parts[number - 1]
        place = {"walk": start.walk, "step": start.step - number}
        yield {**same, "key": key, "url": url, **place, "behind_key": older_key}
        older_key = key


def is_part(feed_id: int) -> ColumnElement[bool]:
    """Return the condition that a document is a part of a list of the feed."""
    return (documents.c.feed_id == feed_id) & (documents.c.role == Role.PART.value)


def unlisted(connection: Connection, feed_id: int, parts: list[ListedDocument]) -> list[int]:
    """Return the ids of the documents that a feed's list named earlier, and does not name now."""
    listed = {part.key for part in parts}
    named = "SELECT id, key FROM documents WHERE feed_id = :feed_id AND role = 'part'"
    return [row.id for row in execute(connection, named, {"feed_id": feed_id}) if row.key not in listed]


# A subscription document that was a list, and is a feed now, has no parts any more.
def forget_parts(connection: Connection, feed_id: int) -> None:
    """Delete the documents of lists, unless the index of a snapshot names them."""
    execute(
        connection,
        """DELETE FROM documents WHERE feed_id = :feed_id AND role = 'part' AND NOT EXISTS (
            SELECT 1 FROM documents AS lists WHERE lists.feed_id = :feed_id AND lists.role = 'index')""",
        {"feed_id": feed_id},
    )


def first_unread(
    connection: Connection, row: Row[Any] | None, untried_first: bool = True
) -> DocumentRef | None:
    """Return a document to be read; for a part of a list, the first one from it on that is not processed.

    :param row: the row of the document that the subscription document or the index leads to, or None
    :param untried_first: of a list, the first part that was never requested: parts that have failed come
        after those, so that they cannot use up all requests of each run
    """
    if row is None or row.role != Role.PART.value:
        return None if row is None else DocumentRef.of(row)
    if untried_first:
        untried = """SELECT * FROM documents WHERE feed_id = :feed_id AND role = 'part' AND state = 'known'
            ORDER BY walk DESC, step DESC LIMIT 1"""
        part = execute(connection, untried, {"feed_id": row.feed_id}).first()
        if part is not None:
            return DocumentRef.of(part)
    end = execute(connection, statements.chain_ends("documents.id = :start"), {"start": row.id}).first()
    return None if end is None else ChainEnd.of(end).step


def unread_older(connection: Connection, row: Row[Any]) -> DocumentRef | None:
    """Return the document after another one, or the first unprocessed part of a list after it."""
    return first_unread(connection, _behind(connection, row), untried_first=False)


def snapshot(connection: Connection, index: Row[Any]) -> StoredSnapshot:
    """Return the snapshot that precedes a feed.

    :param index: the row of the snapshot's index
    """
    is_read = index.state == State.PROCESSED.value
    part = first_unread(connection, _behind(connection, index))
    return StoredSnapshot(index.key, is_read, index.updated, part)


def _behind(connection: Connection, row: Row[Any]) -> Row[Any] | None:
    older = execute(connection, "SELECT * FROM documents WHERE id = :id", {"id": row.behind_id})
    return older.first()  # type: ignore[no-any-return]


def forget_others(connection: Connection, feed_id: int, result: DocumentResult) -> None:
    """Delete the indexes of other snapshots, when one has been read.

    If this snapshot is older than another one, the feed's older documents have to be read again.
    """
    others = "feed_id = :feed_id AND role = 'index' AND KEY(key) <> KEY(:key)"
    is_older = f"EXISTS (SELECT 1 FROM documents WHERE {others} AND updated > :updated)"
    values = {"feed_id": feed_id, "key": result.fetch.key, "updated": result.updated or ""}
    for statement in (
        f"""UPDATE documents SET state = :state, reason = :reason, detail = :detail, since = :since
        WHERE feed_id = :feed_id AND role IN ('archive', 'page') AND {is_older}""",
        f"""UPDATE feeds SET etag = NULL, last_modified = NULL, validated_url = NULL, body_digest = NULL
        WHERE id = :feed_id AND {is_older}""",
        f"DELETE FROM documents WHERE {others}",
    ):
        execute(connection, statement, {**statements.UNREAD, **values, "since": result.fetch.fetched})


# Snapshot: it is the whole state. A later one has another id, and so have all its entities: those of the
# earlier one are deleted, once all of the later one has been read.
def replace(connection: Connection, feed_id: int, result: DocumentResult, keeps_versions: bool) -> int:
    """Delete the entries of earlier snapshots once a later one has been read; return their number.

    :param keeps_versions: keep the deleted entries as versions, and deletions as rows
    """
    unread_part = """SELECT 1 FROM documents
        WHERE feed_id = :feed_id AND role = 'part' AND state <> 'processed' LIMIT 1"""
    if result.replaces is None or execute(connection, unread_part, {"feed_id": feed_id}).first() is not None:
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
        execute(connection, statement, values)
    changed = ", ".join(f"{name} = :{name}" for name in order)
    deletion = f"UPDATE entries SET digest = '', {changed} WHERE {live}"
    deleted: int = execute(connection, deletion, values | order).rowcount
    return deleted
