"""What is known of processed documents, to see whether they have changed when they are requested again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import literal, select

from fhcrawl.logical_feed.absences import EarlierReading, Seen
from fhcrawl.logical_feed.results import State
from fhcrawl.store.database import Repository
from fhcrawl.store.rows import DocumentRef
from fhcrawl.store.schema import Keyed, documents, feeds
from fhcrawl.store.statements import chain, execute

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Row

    from fhcrawl.logical_feed import ChainPosition
    from fhcrawl.logical_feed.results import DocumentResult

# What a document held, and what the subscription document holds.
HELD = """
SELECT documents.held, current.held AS current
FROM documents JOIN feeds ON feeds.id = documents.feed_id
    LEFT JOIN documents AS current ON current.id = feeds.subscription_id
WHERE documents.feed_id = :feed_id AND KEY(documents.key) = KEY(:key)
"""
MISSED = """
SELECT max(walk) FROM absences WHERE feed_id = :feed_id AND role = 'archive' AND gone IS NULL
"""
MISSING = "SELECT key FROM absences WHERE feed_id = :feed_id AND role <> 'subscription'"
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
# The documents of a feed's chain but the subscription document, newest first.
OLDER_DOCUMENTS = f"""
{chain("documents.id = (SELECT subscription_id FROM feeds WHERE feeds.id = :feed_id)", with_gaps=True)}
SELECT documents.*, documents.state = 'processed' AND documents.checked IS NOT NULL AS is_checkable
FROM documents JOIN chain ON chain.id = documents.id WHERE documents.role <> 'subscription'
ORDER BY documents.walk DESC, documents.step DESC
"""


MAY_HAVE_GROWN = "may have changed since it was read"
IS_PROCESSED = documents.c.state == State.PROCESSED.value


class KnownDocument(NamedTuple):
    """A document of a chain that can be checked.

    :param requested: when it was last requested
    :param is_there: whether that request succeeded
    """

    id: int
    requested: str
    is_there: bool
    seen: Seen

    @classmethod
    def of(cls, row: Row[Any]) -> KnownDocument:
        """Return the document of a row of `OLDER_DOCUMENTS`."""
        seen = Seen(row.changed_walk, row.checked_walk)
        return cls(row.id, row.fetched, row.fetched == row.checked, seen)


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

    @classmethod
    def of(cls, row: Row[Any]) -> CheckedDocument:
        """Return the document of a row of `documents`, with its feed's `not_modified_ignored`."""
        url = row.validated_url if row.not_modified_ignored is None else None
        return cls(DocumentRef.of(row), url, row.etag, row.last_modified, row.received)


class Rechecks(Repository):
    """The processed documents of chains, to be requested again: `store.rechecks`."""

    def read_chain(self, feed: str) -> KnownChain:
        """Return what is known of a feed's chain, to choose the documents that are checked."""
        with self._database.lookup() as connection:
            of_feed = {"feed_id": self._session.find_id(connection, feed)}
            rows: list[Row[Any]] = list(execute(connection, OLDER_DOCUMENTS, of_feed))
            missed = execute(connection, MISSED, of_feed).scalar() if rows else None
        is_loop = all(row.behind_id is not None for row in rows)
        changed = [row.changed_walk for row in rows if row.changed_walk is not None] if is_loop else []
        known = [KnownDocument.of(row) for row in rows if row.is_checkable]
        return KnownChain(known, missed, max(changed, default=None))

    def find(self, number: int) -> CheckedDocument | None:
        """Return a processed document by its id; None if it is not there, or not processed any more."""
        with self._database.lookup() as connection:
            return _find(connection, documents.c.id == number, IS_PROCESSED)

    def find_by_key(self, feed: str, key: str) -> CheckedDocument | None:
        """Return a document of a feed that has been read; None if there is none, or if it never changes.

        It is processed, or was until a newer document did not reach back to what was known.
        """
        with self._database.lookup() as connection:
            of_feed = documents.c.feed_id == self._session.find_id(connection, feed)
            is_key = Keyed(documents.c.key) == Keyed(literal(key))
            was_read = IS_PROCESSED | (documents.c.detail == MAY_HAVE_GROWN)
            return _find(connection, of_feed, is_key, documents.c.held.is_not(None), was_read)

    def read_earlier(self, feed: str, key: str, place: ChainPosition, walk: int) -> EarlierReading | None:
        """Return what is known of a document from before this walk; None if nothing is.

        :param place, walk: as in `EarlierReading`
        """
        with self._database.lookup() as connection:
            parameters = {"feed_id": self._session.find_id(connection, feed), "key": key}
            row = execute(connection, HELD, parameters).first()
            if row is None or row.held is None:
                # What this walk has come to has a place in this walk.
                is_behind = place.walk < walk
                missing = execute(connection, MISSING, parameters).scalars().all() if is_behind else ()
                lost = set(map(bytes, missing))
                return EarlierReading(b"", b"", place, walk, lost) if lost else None
        return EarlierReading(bytes(row.held), bytes(row.current or b""), place, walk)


def _find(connection: Connection, *conditions: ColumnElement[bool]) -> CheckedDocument | None:
    found = select(documents, feeds.c.not_modified_ignored).join(feeds)
    row = connection.execute(found.where(*conditions)).first()
    return None if row is None else CheckedDocument.of(row)


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
