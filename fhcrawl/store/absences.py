"""Entries that no document of their feed's chain holds any more: which of them are gone at the publisher."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import exists, select

from fhcrawl.logical_feed import ChainPosition, Kind, Role
from fhcrawl.logical_feed.absences import Seen, is_gone, missed_since, snapshot_walk
from fhcrawl.logical_feed.contents import digest_of_id, ids_of
from fhcrawl.logical_feed.listings import Listing
from fhcrawl.logical_feed.results import CommitBatch, DocumentResult, Fetch, State
from fhcrawl.store import rows, statements
from fhcrawl.store.committing import Commit, StoredState
from fhcrawl.store.database import Repository
from fhcrawl.store.opening import ROWS_AT_ONCE
from fhcrawl.store.schema import absences, documents, entries, feeds
from fhcrawl.store.statements import execute, execute_all
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from sqlalchemy import Connection, Row

CHAIN = f"""
{statements.chain("documents.id = :start")}
SELECT documents.id, role, documents.state, documents.behind_id, lost_entries, moved_to, moved_walk, checked,
    changed_walk, checked_walk, held IS NOT NULL AS is_known
FROM documents JOIN chain ON chain.id = documents.id
"""
FORGET = "DELETE FROM absences WHERE feed_id = :feed_id AND key = :key"


class Missing(NamedTuple):
    """An entry that no document holds.

    :param key: digest of its id
    """

    key: bytes
    id: str
    row: Row[Any]


class Absences(Repository):
    """The entries that no document holds any more: `store.absences`."""

    def settle(self, run: int, urls: Sequence[str], deletes: bool, keeps_versions: bool) -> dict[str, int]:
        """Look for entries of feeds that documents have lost, and note which of them are gone.

        :param urls: feeds whose walk has ended; those that another run has taken over are ignored
        :param deletes: delete entries that are gone
        :param keeps_versions: keep their versions
        :return: number of deleted entries, by feed, of the feeds that were looked at
        """
        missed = exists().where(absences.c.feed_id == feeds.c.id)
        found = select(feeds.c.url, feeds.c.id).where(
            statements.is_one_of(list(urls)), feeds.c.run == run, missed
        )
        with self._database.snapshot() as connection:
            numbers = {row.url: row.id for row in connection.execute(found.order_by(feeds.c.id))}
        return {url: self._settle(run, one, deletes, keeps_versions) for url, one in numbers.items()}

    def _settle(self, run: int, feed_id: int, deletes: bool, keeps_versions: bool) -> int:
        of_run = select(feeds).where(feeds.c.id == feed_id, feeds.c.run == run).with_for_update()
        with self._database.transaction() as connection:
            feed = connection.execute(of_run).first()
            if feed is None:
                return 0
            chain: list[Row[Any]] = list(execute(connection, CHAIN, {"start": feed.subscription_id}))
            gone = _note(connection, feed, chain)
            if not deletes or not gone:
                return 0
            deleted = self.delete(connection, feed, gone, keeps_versions)
            execute_all(connection, FORGET, [_of(feed_id, digest_of_id(entry_id)) for entry_id in gone])
            return deleted

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
    held = set().union(*held_ids(connection, chain, known.keys()))
    missing = list(_missing(connection, feed.id, {key: row for key, row in known.items() if key not in held}))
    forgotten = known.keys() - {one.key for one in missing}
    execute_all(connection, FORGET, [_of(feed.id, key) for key in forgotten])
    subscription = next((row for row in chain if row.id == feed.subscription_id), None)
    if subscription is None or not missing:
        return []
    snapshot = _snapshot(connection, feed, chain)
    noted = [_noted(one, subscription, feed.walk, snapshot) for one in missing]
    execute_all(
        connection,
        """UPDATE absences SET id = :id, walk = :walk, looked = :looked, gone = :gone
        WHERE feed_id = :feed_id AND key = :key""",
        [_of(feed.id, one.key) | values for one, values in zip(missing, noted, strict=True)],
    )
    return [one.id for one, values in zip(missing, noted, strict=True) if values["gone"]]


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


def _missing(connection: Connection, feed_id: int, lost: dict[bytes, Row[Any]]) -> Iterator[Missing]:
    """Yield the live entries among some that no document holds."""
    if lost:
        live = select(entries.c.id).where(entries.c.feed_id == feed_id, entries.c.digest != "")
        # In batches; the option holds for this statement only.
        for (entry_id,) in connection.execute(live, execution_options={"yield_per": ROWS_AT_ONCE}):
            key = digest_of_id(entry_id)
            if key in lost:
                yield Missing(key, entry_id, lost[key])


def _noted(one: Missing, subscription: Row[Any], walk: int, snapshot: int | None) -> dict[str, object]:
    row = one.row
    since = missed_since(row.walk, row.looked, subscription.changed_walk, walk)
    # What could not be read of this subscription document may have been the entry.
    if subscription.lost_entries or subscription.state != State.PROCESSED.value:
        since = walk + 1
    gone = row.gone or (now() if is_gone(since, snapshot) else None)
    return {"id": one.id, "walk": since, "looked": walk, "gone": gone}


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


# A guessed page that is not there (404) is the end, or an error; and caches answer any page with the first
# one. That there are no more pages is known only if those that were read hold all that the publisher lists.
def _are_all_pages(connection: Connection, feed: Row[Any], chain: Sequence[Row[Any]]) -> bool:
    """Return whether a chain has all pages of its feed; True if no page of it was guessed."""
    if feed.kind != Kind.SINGLE.value or all(row.role != Role.PAGE.value for row in chain):
        return True
    listing = Listing.of_walk(feed.listing, feed.walk)
    if listing is None or not listing.is_evidence:
        return False
    return len(set().union(*held_ids(connection, chain))) >= listing.total


def _snapshot(connection: Connection, feed: Row[Any], chain: Sequence[Row[Any]]) -> int | None:
    """Return what `snapshot_walk` says of a chain; None if the chain is not whole."""
    if not is_whole(feed, chain) or not _are_all_pages(connection, feed, chain):
        return None
    seen = {row.id: Seen(row.changed_walk, row.checked_walk) for row in chain}
    subscription = seen.pop(feed.subscription_id)
    return snapshot_walk(seen.values(), subscription)
