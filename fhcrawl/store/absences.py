"""Entries that no document of their feed's chain holds any more: which of them are gone at the publisher."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import exists, select

from fhcrawl.logical_feed import ChainPosition, Kind, Role
from fhcrawl.logical_feed.absences import (
    Seen,
    digest_of_id,
    ids_of,
    missed_since,
    snapshot_walk,
)
from fhcrawl.logical_feed.listings import Listing
from fhcrawl.logical_feed.platforms import NAMED
from fhcrawl.logical_feed.results import CommitBatch, DocumentResult, Fetch, State
from fhcrawl.store import rows, statements
from fhcrawl.store.committing import Commit, StoredState
from fhcrawl.store.database import Repository
from fhcrawl.store.opening import ROWS_AT_ONCE
from fhcrawl.store.schema import absences, documents, entries, feeds, renames
from fhcrawl.store.statements import execute, execute_all
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Row, Table

    from fhcrawl.store.database import Database

Value = TypeVar("Value")

CHAIN = f"""
{statements.chain("documents.id = :start")}
SELECT documents.id, role, documents.state, documents.behind_id, lost_entries, moved_to, moved_walk, checked,
    changed_walk, checked_walk, held IS NOT NULL AS is_known, platform
FROM documents JOIN chain ON chain.id = documents.id
"""
FORGET = "DELETE FROM absences WHERE feed_id = :feed_id AND key = :key"


def settle_feeds(
    database: Database, run: int, urls: Collection[str], of: Table, settle: Callable[..., Value]
) -> dict[str, Value]:
    """Call a function for feeds of a run that have rows in a table, each locked by a transaction of its own.

    :param urls: feeds whose walk has ended; those that another run has taken over are ignored
    :param settle: takes the connection, the feed's row, and the rows of `CHAIN`
    :return: what it returns, by feed
    """
    is_of_run, is_wanted = feeds.c.run == run, exists().where(of.c.feed_id == feeds.c.id)
    found = select(feeds.c.id).where(statements.is_one_of(list(urls)), is_of_run, is_wanted)
    with database.snapshot() as connection:
        ids = connection.scalars(found.order_by(feeds.c.id)).all()
    settled = {}
    for feed_id in ids:
        with database.transaction() as connection:
            locked = select(feeds).where(feeds.c.id == feed_id, is_of_run).with_for_update()
            if (feed := connection.execute(locked).first()) is not None:
                chain: list[Row[Any]] = list(execute(connection, CHAIN, {"start": feed.subscription_id}))
                settled[feed.url] = settle(connection, feed, chain)
    return settled


class Absences(Repository):
    """The entries that no document holds any more: `store.absences`."""

    def settle(self, run: int, urls: Sequence[str], deletes: bool, keeps_versions: bool) -> dict[str, int]:
        """Look for entries of feeds that documents have lost, and note which of them are gone.

        :param urls: feeds whose walk has ended; those that another run has taken over are ignored
        :param deletes: delete entries that are gone
        :param keeps_versions: keep their versions
        :return: number of deleted entries, by feed, of the feeds that were looked at
        """

        def settle_feed(connection: Connection, feed: Row[Any], chain: Sequence[Row[Any]]) -> int:
            gone = _note(connection, feed, chain)
            if not deletes or not gone:
                return 0
            deleted = self.delete(connection, feed, gone, keeps_versions)
            execute_all(connection, FORGET, [_of(feed.id, digest_of_id(entry_id)) for entry_id in gone])
            return deleted

        return settle_feeds(self._database, run, urls, absences, settle_feed)

    def delete(self, connection: Connection, feed: Row[Any], ids: list[str], keeps_versions: bool) -> int:
        """Delete entries that no document holds; return the number of live entries among them.

        :param feed: the feed's row, locked by the transaction
        :param keeps_versions: keep their versions
        """
        fetch = Fetch(feed.url, "", "", "", Role.SUBSCRIPTION, ChainPosition(feed.walk, 0), now())
        found = statements.execute_among(connection, statements.WINNERS, feed.id, ids)
        winners = rows.winners(found, fetch.latest)
        batch = CommitBatch(stored={i: winner for i, winner in winners.items() if winner.digest})
        before = StoredState(feed.id, {}, [])
        commit = Commit(connection, before, DocumentResult(fetch), batch, keeps_versions)
        return commit.delete_absent(batch.stored)


def _of(feed_id: int, key: bytes) -> dict[str, object]:
    return {"feed_id": feed_id, "key": key}


def _note(connection: Connection, feed: Row[Any], chain: Sequence[Row[Any]]) -> list[str]:
    """Forget what a document holds again, and note what is gone; return the ids of all that is gone."""
    of_feed = select(absences).where(absences.c.feed_id == feed.id)
    known = {bytes(row.key): row for row in connection.execute(of_feed)}
    below = {bytes(row.below) for row in known.values() if row.below is not None}
    held = set().union(*held_ids(connection, chain, known.keys() | below))
    is_plain = _is_plain(feed, chain)
    if is_plain:
        held |= _unproven(connection, feed.id, known, held)
    missing = dict(_live(connection, feed.id, known.keys() - held))
    execute_all(connection, FORGET, [_of(feed.id, key) for key in known.keys() - missing.keys()])
    subscription = next((row for row in chain if row.id == feed.subscription_id), None)
    if subscription is None or not missing:
        return []
    snapshot = _snapshot(connection, feed, chain)
    noted = []
    for key, entry_id in missing.items():
        # What the feed's chain has lost before it became a plain feed may be in documents that have left it.
        proof = None if is_plain and known[key].below is None else snapshot
        since = _noted(known[key], subscription, feed.walk, proof)
        noted.append(_of(feed.id, key) | {"id": entry_id, **since})
    execute_all(
        connection,
        """UPDATE absences SET id = :id, walk = :walk, looked = :looked, gone = :gone
        WHERE feed_id = :feed_id AND key = :key""",
        noted,
    )
    return [str(one["id"]) for one in noted if one["gone"]]


# An entry that is missing above another one is known to be removed only while that one is shown: the document
# may have dropped both since.
def _unproven(
    connection: Connection, feed_id: int, known: Mapping[bytes, Row[Any]], held: Collection[bytes]
) -> set[bytes]:
    """Return which entries a plain feed may have dropped, and which have another id now.

    :param known: the rows of the entries that it has lost
    :param held: what it holds of those below them
    """
    lost = {key: bytes(row.below) for key, row in known.items() if row.below is not None and row.gone is None}
    ids = select(renames.c.former_id).where(renames.c.feed_id == feed_id, renames.c.former_id.is_not(None))
    renamed = {digest_of_id(former_id) for former_id in connection.scalars(ids)} if known else set()
    return {key for key, below in lost.items() if below not in held} | renamed


def held_ids(
    connection: Connection, chain: Iterable[Row[Any]], wanted: Collection[bytes] | None = None
) -> Iterator[set[bytes]]:
    """Yield the digests of those ids that each document of a chain held when it was last read.

    :param chain: rows of `CHAIN`
    :param wanted: those that are looked for; None: all
    """
    for row in chain:
        if row.is_known:
            held = bytes(connection.scalar(select(documents.c.held).where(documents.c.id == row.id)) or b"")
            yield {key for key in ids_of(held) if wanted is None or key in wanted}


def _live(connection: Connection, feed_id: int, keys: Collection[bytes]) -> Iterator[tuple[bytes, str]]:
    """Yield the digests and ids of those live entries whose digests are among some."""
    if keys:
        live = select(entries.c.id).where(entries.c.feed_id == feed_id, entries.c.digest != "")
        # In batches; the option holds for this statement only.
        for (entry_id,) in connection.execute(live, execution_options={"yield_per": ROWS_AT_ONCE}):
            if (key := digest_of_id(entry_id)) in keys:
                yield key, entry_id


def _noted(row: Row[Any], subscription: Row[Any], walk: int, snapshot: int | None) -> dict[str, object]:
    since = missed_since(row.walk, row.looked, subscription.changed_walk, walk)
    # What could not be read of this subscription document may have been the entry.
    if subscription.lost_entries or subscription.state != State.PROCESSED.value:
        since = walk + 1
    is_gone = snapshot is not None and since <= snapshot
    return {"walk": since, "looked": walk, "gone": row.gone or (now() if is_gone else None)}


# Nothing can be said of a chain with a gap, nor while a document may have lost entries that it has, or may
# have moved.
def is_whole(feed: Row[Any], chain: Sequence[Row[Any]]) -> bool:
    """Return whether a chain ends, and all that its documents hold is known.

    :param feed: the feed's row
    :param chain: rows of `CHAIN`
    """
    return any(row.behind_id is None for row in chain) and all(
        row.state == State.PROCESSED.value
        and row.is_known
        and row.checked is not None
        and not row.lost_entries
        and not (row.moved_to is not None and row.moved_walk == feed.walk)
        for row in chain
    )


def _is_plain(feed: Row[Any], chain: Sequence[Row[Any]]) -> bool:
    return bool(feed.kind == Kind.SINGLE.value and len(chain) == 1)


# A page that no link names, and that is missing (404), is the end, or an error; and caches answer any page
# with the first one. That there are no more pages is known only if those that were read hold all that the
# publisher lists.
def _are_all_pages(connection: Connection, feed: Row[Any], chain: Sequence[Row[Any]]) -> bool:
    """Return whether a chain has all pages of its feed; True if links name all of them."""
    if feed.kind != Kind.SINGLE.value or all(row.role != Role.PAGE.value for row in chain):
        return True
    # The pages of an API link to each other.
    if any(row.platform in NAMED and NAMED[row.platform].has_api for row in chain):
        return True
    listing = Listing.of_walk(feed.listing, feed.walk)
    if listing is None or not listing.is_evidence:
        return False
    return len(set().union(*held_ids(connection, chain))) >= listing.total


def _snapshot(connection: Connection, feed: Row[Any], chain: Sequence[Row[Any]]) -> int | None:
    if not is_whole(feed, chain) or not _are_all_pages(connection, feed, chain):
        return None
    seen = {row.id: Seen(row.changed_walk, row.checked_walk) for row in chain}
    subscription = seen.pop(feed.subscription_id)
    if _is_plain(feed, chain):
        # Read by the walk before, and confirmed by this one.
        return None if subscription.checked is None else subscription.checked - 1
    return snapshot_walk(seen.values(), subscription)
