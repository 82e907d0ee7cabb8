"""The end of walks: which entries are gone at the publisher, and which have another id now.

Both compare entries with the ids that the documents of a chain contained when they were last read.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from fhcrawl.logical_feed import ChainPosition, Kind, Role
from fhcrawl.logical_feed.absences import (
    NamedEntry,
    Seen,
    agreed_walk,
    confirmed,
    contents_of,
    digest_of_id,
    ids_of,
    missed_since,
    renamings,
    short_digest,
    with_other_scheme,
    with_unknown_contents,
)
from fhcrawl.logical_feed.confirmation import Confirmation
from fhcrawl.logical_feed.listings import Listing
from fhcrawl.logical_feed.platforms import NAMED
from fhcrawl.logical_feed.results import State, absence, latest_time
from fhcrawl.store import statements
from fhcrawl.store.commit import FeedWriter
from fhcrawl.store.database import Repository
from fhcrawl.store.statements import ROWS_AT_ONCE, UNREAD, assigned, execute, from_json, insertion
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Row

    from fhcrawl.logical_feed.absences import Renaming
    from fhcrawl.store.database import Database

# New entries that are compared with all entries of the feed together.
ARRIVALS_AT_ONCE = 10_000
# Maximum number of new entries for which the database selects the candidates: databases limit parameters.
FEW = 200

ENTRIES = """
SELECT entries.id, title, link, published, updated, order_walk, order_step
FROM entries WHERE entries.feed_id = :feed_id
"""
# Entries that are live under an id and under a former one.
BOTH_LIVE = """
FROM renames
    JOIN entries AS new ON new.feed_id = renames.feed_id AND KEY(new.id) = KEY(renames.id)
    JOIN entries AS old ON old.feed_id = renames.feed_id AND KEY(old.id) = KEY(renames.former_id)
WHERE new.digest <> '' AND old.digest <> ''
"""
HOLDS = "role IN ('archive', 'page') AND held IS NOT NULL"
# Feeds with a document to which no other one leads, or none of the chain has led.
UNLINKED = f"""
SELECT feed_id FROM documents
WHERE feed_id = ANY(:feeds) AND {HOLDS} AND (left_walk IS NOT NULL
    OR id NOT IN (SELECT behind_id FROM documents WHERE feed_id = ANY(:feeds) AND behind_id IS NOT NULL))
"""
NOTE_LEFT = f"""
{insertion("absences", ("feed_id", "key", "role", "walk", "since"), looked=":walk")}
ON CONFLICT (feed_id, key) DO NOTHING
"""
# They are read again if a document leads to them.
FORGET_LEFT = f"""
UPDATE documents SET {assigned((*UNREAD, "since"))}, held = NULL, left_walk = NULL
WHERE id = :id AND feed_id = :feed_id
"""
DOUBT_PAGE = """
UPDATE documents SET held = :held, changed_walk = :walk, etag = NULL, last_modified = NULL,
    validated_url = NULL
WHERE id = :id AND feed_id = :feed_id
"""
# A walk has read the former id, in no older version, since the last one that has read the new one. The
# publisher may have returned to it: it is compared as a new one is.
HAS_RETURNED = "(old.order_walk > new.order_walk AND old.order_time >= new.order_time)"


class WalkEnd(NamedTuple):
    """What the end of a walk has changed in a feed.

    :param deleted: how many entries were deleted
    :param renamed: how many entries have another id than before, without those stored earlier
    :param example: the id of one of them, and its former id
    :param merged: how many entries were deleted under their former ids
    """

    deleted: int
    renamed: int
    example: tuple[str, str] | None
    merged: int


class WalkEnds(Repository):
    """The end of walks: `store.walk_ends`."""

    def finish(self, run: int, urls: Sequence[str], deletes: bool) -> dict[str, WalkEnd]:
        """Note which entries of feeds have another id, and which are gone; each feed in one transaction.

        :param urls: feeds whose walk has ended; those that another run has taken over are ignored
        :param deletes: delete entries that are gone
        :return: by URL, of the feeds in which there was something to compare
        """
        ends = {}
        with self._database.snapshot() as connection:
            ended_feeds = execute(
                connection,
                f"""SELECT id, EXISTS (SELECT 1 FROM renames WHERE feed_id = feeds.id) AS has_renames
                FROM feeds
                WHERE id = ANY(:feeds) AND run = :run AND (
                    EXISTS (SELECT 1 FROM absences WHERE feed_id = feeds.id)
                    OR feeds.id IN ({UNLINKED})
                    OR EXISTS (SELECT 1 FROM renames WHERE feed_id = feeds.id))
                ORDER BY id""",
                {"feeds": self._database.find_ids(connection, urls), "run": run},
            ).all()
        for feed_id, has_renames in ended_feeds:
            with self._database.transaction() as connection:
                of_run = "SELECT * FROM feeds WHERE id = :feed_id AND run = :run FOR UPDATE"
                feed = execute(connection, of_run, {"feed_id": feed_id, "run": run}).first()
                if feed is not None:
                    walk = _EndedWalk(self._database, connection, feed)
                    # An entry with another id is not gone.
                    renamed, example, merged = walk.resolve_renames() if has_renames else (0, None, 0)
                    gone = walk.mark_gone(deletes)
                    ends[feed.url] = WalkEnd(merged + gone, renamed, example, merged)
        return ends


class _EndedWalk(FeedWriter):
    def __init__(self, database: Database, connection: Connection, feed: Row[Any]) -> None:
        super().__init__(database, feed.id, ChainPosition(feed.walk, 0), now())
        self.bind_to(connection)
        self._feed = feed
        self._chain: list[Row[Any]] = self._execute(
            f"""{statements.with_chain("documents.id = :start")}
            SELECT documents.id, role, documents.state, documents.behind_id, lost_entries, moved_to,
                moved_walk, checked, changed_walk, checked_walk, held IS NOT NULL AS has_content, platform
            FROM documents JOIN chain ON chain.id = documents.id""",
            start=feed.subscription_id,
        ).all()
        self._is_plain = feed.kind == Kind.SINGLE.value and len(self._chain) == 1

    # Nothing can be concluded from a chain with a gap, nor while a document may have lost entries that it
    # has, or may have moved.
    @cached_property
    def _is_chain_complete(self) -> bool:
        return any(row.behind_id is None for row in self._chain) and all(
            row.state == State.PROCESSED.value
            and row.has_content
            and row.checked is not None
            and not row.lost_entries
            and not (row.moved_to is not None and row.moved_walk == self._feed.walk)
            for row in self._chain
        )

    def _ids_by_document(self, wanted_keys: Collection[bytes] | None = None) -> Iterator[set[bytes]]:
        for row in self._chain:
            if row.has_content:
                yield {key for key in self._held_by(row.id) if wanted_keys is None or key in wanted_keys}

    def _held_by(self, document_id: int) -> Iterator[bytes]:
        return ids_of(self._read_held(document_id))

    def _read_held(self, document_id: int) -> bytes:
        held = self._execute("SELECT held FROM documents WHERE id = :id", id=document_id).scalar()
        return bytes(held or b"")

    def _contained_ids(self, wanted_keys: Collection[bytes] | None = None) -> set[bytes]:
        return set().union(*self._ids_by_document(wanted_keys))

    def _delete_live(self, ids: list[str]) -> int:
        rows = statements.execute_among(self._connection, statements.WINNERS, self.feed_id, ids)
        winners = statements.winners(rows, latest_time(now()))
        live = {entry_id: winner for entry_id, winner in winners.items() if winner.digest}
        return self._delete_entries([absence(entry_id, self._place) for entry_id in live], live)

    # -- entries that are gone --------------------------------------------------------------------

    # Returns how many of the entries that are gone were deleted.
    def mark_gone(self, deletes: bool) -> int:
        left_ids = set() if self._is_plain else self._note_left_documents()
        absences = {
            bytes(row.key): row for row in self._execute("SELECT * FROM absences WHERE feed_id = :feed_id")
        }
        keys_below = {bytes(row.below) for row in absences.values() if row.below is not None}
        contained = self._contained_ids(absences.keys() | keys_below) if absences else set()
        for document_id in left_ids:
            contained.update(self._held_by(document_id) if absences else ())
        if self._is_plain:
            contained |= self._unproven_absences(absences, contained)
        else:
            self._doubt_pages(absences.keys() & contained)
        missing_ids = {key: entry_id for key, entry_id, _ in self._live_ids(absences.keys() - contained)}
        self._forget_absences(absences.keys() - missing_ids.keys())
        subscription = next((row for row in self._chain if row.id == self._feed.subscription_id), None)
        if subscription is None or not missing_ids:
            return 0
        agreed_walk = self._last_agreed_walk()
        rows, gone_ids = [], {}
        for key, entry_id in missing_ids.items():
            row = absences[key]
            # Entries that were lost before the feed became a plain feed may be in documents that have left
            # its chain.
            proving_walk = None if self._is_plain and row.below is None else agreed_walk
            since = missed_since(row.walk, row.looked, subscription.changed_walk, self._feed.walk)
            # An unreadable entry of this subscription document may be the missing one.
            if subscription.lost_entries or subscription.state != State.PROCESSED.value:
                since = self._feed.walk + 1
            gone = row.gone or (now() if proving_walk is not None and since <= proving_walk else None)
            rows.append({"key": key, "id": entry_id, "walk": since, "looked": self._feed.walk, "gone": gone})
            if gone:
                gone_ids[key] = entry_id
        self._execute_all(
            """UPDATE absences SET id = :id, walk = :walk, looked = :looked, gone = :gone
            WHERE feed_id = :feed_id AND key = :key""",
            rows,
        )
        if not deletes or not gone_ids:
            return 0
        deleted = self._delete_live(list(gone_ids.values()))
        self._forget_absences(gone_ids)
        return deleted

    # Returns the documents to which none of the chain leads, and which still hold their entries: a later walk
    # must confirm it. Then those of their entries are missing that no other document contains.
    def _note_left_documents(self) -> set[int]:
        query = f"SELECT id, role, left_walk FROM documents WHERE feed_id = :feed_id AND {HOLDS}"
        chain_ids, walk, rows = {row.id for row in self._chain}, self._feed.walk, self._execute(query).all()
        left = [row for row in rows if row.id not in chain_ids]
        marks = {row.id: None for row in rows if row.id in chain_ids and row.left_walk is not None}
        confirmed = []
        if left and self._is_chain_complete and self._has_all_pages:
            marks |= {row.id: walk for row in left if row.left_walk is None}
            confirmed = [row for row in left if row.left_walk not in (None, walk)]
        mark = "UPDATE documents SET left_walk = :walk WHERE feed_id = :feed_id AND id = :id"
        self._execute_all(mark, ({"id": number, "walk": left_walk} for number, left_walk in marks.items()))
        if confirmed:
            self._note_lost_with(confirmed)
        return {row.id for row in left}.difference(row.id for row in confirmed)

    def _note_lost_with(self, documents: list[Row[Any]]) -> None:
        lost = {key: row for row in documents for key in self._held_by(row.id)}
        for contained in self._ids_by_document(lost.keys()):
            for key in contained & lost.keys():
                del lost[key]
        rows = ({"key": key, "role": row.role, "walk": row.left_walk} for key, row in lost.items())
        self._execute_all(NOTE_LEFT, ({"since": now(), **row} for row in rows))
        self._execute_all(FORGET_LEFT, ({**UNREAD, "since": now(), "id": row.id} for row in documents))

    def _forget_absences(self, keys: Collection[bytes]) -> None:
        self._execute_all(
            "DELETE FROM absences WHERE feed_id = :feed_id AND key = :key", ({"key": key} for key in keys)
        )

    # An entry that is missing above another one is certainly removed only while the document contains that
    # one: otherwise, the document may have dropped both.
    def _unproven_absences(
        self, absences: Mapping[bytes, Row[Any]], contained: Collection[bytes]
    ) -> set[bytes]:
        if not absences:
            return set()
        former = "SELECT former_id FROM renames WHERE feed_id = :feed_id AND former_id IS NOT NULL"
        return {digest_of_id(former_id) for former_id in self._execute(former).scalars()} | {
            key
            for key, row in absences.items()
            if row.below is not None and row.gone is None and bytes(row.below) not in contained
        }

    def _live_ids(self, keys: Collection[bytes]) -> Iterator[tuple[bytes, str, bytes]]:
        if keys:
            live = "SELECT id, digest FROM entries WHERE feed_id = :feed_id AND digest <> ''"
            for entry_id, digest in execute(self._connection, live, {"feed_id": self.feed_id}, ROWS_AT_ONCE):
                if (key := digest_of_id(entry_id)) in keys:
                    yield key, entry_id, short_digest(digest)

    # A page contains what is current. If the stored version is from a document that has lost the entry since,
    # such as an old copy from a cache, and only pages that this walk has not read contain it, with another
    # content, these are read again, and their version counts as read then.
    def _doubt_pages(self, keys: Collection[bytes]) -> None:
        pages = [row for row in self._chain if row.role == Role.PAGE.value and row.has_content]
        if not keys or all(row.checked_walk == self._feed.walk for row in pages):
            return
        stored = {key: content for key, _, content in self._live_ids(keys)}
        held = {row.id: self._read_held(row.id) for row in self._chain if row.has_content}
        for encoded in held.values():
            for _place, key, content in contents_of(encoded, stored):
                if content == stored.get(key):
                    del stored[key]
        for row in pages:
            encoded = with_unknown_contents(held[row.id], stored)
            if encoded != held[row.id]:
                self._execute(DOUBT_PAGE, id=row.id, held=encoded, walk=self._feed.walk)

    # The last walk in which all documents were as they are stored; None if that is not certain.
    def _last_agreed_walk(self) -> int | None:
        if not self._is_chain_complete:
            return None
        has_archives = any(row.role == Role.ARCHIVE.value for row in self._chain)
        if self._confirmation is not None and self._confirmation.is_settled and not has_archives:
            # What was missing before the last confirmation.
            return self._confirmation.walk - 1
        if not self._has_all_pages:
            return None
        seen = {row.id: Seen(row.changed_walk, row.checked_walk) for row in self._chain}
        subscription = seen.pop(self._feed.subscription_id)
        if not self._is_plain:
            # The subscription document may have changed since.
            agreed = agreed_walk([*seen.values(), subscription._replace(changed=0)]) if seen else None
            # The subscription document of this walk may be an old copy from a cache.
            return agreed and min(agreed, self._feed.walk - 1)
        # Read by the walk before, and confirmed by this one.
        return None if subscription.checked is None else subscription.checked - 1

    @cached_property
    def _confirmation(self) -> Confirmation | None:
        return cast("Confirmation | None", from_json(self._feed.confirmation, Confirmation.from_json))

    # A page that no link names, and that is missing (404), is the end, or an error; and caches answer any
    # page with the first one. There are certainly no more pages only if those that were read contain all
    # entries that the publisher lists, or if two readings have ended at the same page.
    @cached_property
    def _has_all_pages(self) -> bool:
        is_linked = all(row.role != Role.PAGE.value for row in self._chain)
        # The pages of an API link to each other.
        is_linked |= any(row.platform in NAMED and NAMED[row.platform].has_api for row in self._chain)
        is_confirmed = self._confirmation is not None and self._confirmation.is_settled
        if self._feed.kind != Kind.SINGLE.value or is_linked or is_confirmed:
            return True
        listing = from_json(self._feed.listing, partial(Listing.of_walk, walk=self._feed.walk))
        return listing is not None and listing.is_evidence and len(self._contained_ids()) >= listing.total

    # -- entries with another id ------------------------------------------------------------------

    def resolve_renames(self) -> tuple[int, tuple[str, str] | None, int]:
        count, example = 0, None
        self._execute(
            f"""INSERT INTO renames (feed_id, id, since)
            SELECT renames.feed_id, renames.former_id, renames.since
            {BOTH_LIVE} AND renames.feed_id = :feed_id AND {HAS_RETURNED}"""
        )
        for new_entries in self._read_new_entries():
            pairs = self._find_renamings(new_entries)
            self._note_renamings(pairs)
            count += len(pairs)
            example = example or next(((pair.new.id, pair.old.id) for pair in pairs), None)
        self._execute("DELETE FROM renames WHERE feed_id = :feed_id AND former_id IS NULL")
        return count, example, self._merge_renamed()

    def _read_new_entries(self) -> Iterator[list[NamedEntry]]:
        query = """SELECT DISTINCT id FROM renames
            WHERE feed_id = :feed_id AND former_id IS NULL AND id > :after ORDER BY id LIMIT :limit"""
        live, last_id = f"{ENTRIES} AND digest <> ''", ""
        while ids := list(self._execute(query, after=last_id, limit=ARRIVALS_AT_ONCE).scalars()):
            last_id = ids[-1]
            rows = statements.execute_among(self._connection, live, self.feed_id, ids)
            yield [_named_entry(row) for row in rows]

    def _find_renamings(self, new_entries: list[NamedEntry]) -> list[Renaming]:
        # The publisher has deleted an entry with a tombstone: it is not the one that is new. One that a
        # complete feed does not have any more can be.
        query = f"""{ENTRIES} AND (digest <> '' OR order_tombstone = 0) AND NOT EXISTS (
            SELECT 1 FROM renames
            WHERE renames.feed_id = entries.feed_id AND KEY(renames.former_id) = KEY(entries.id))"""
        values: dict[str, object] = {"feed_id": self.feed_id}
        if len(new_entries) <= FEW:
            query += (
                " AND (id = ANY(:ids) OR link = ANY(:links) OR coalesce(published, updated) = ANY(:times))"
            )
            values["ids"] = [other_id for entry in new_entries if (other_id := with_other_scheme(entry.id))]
            values["links"] = [entry.link for entry in new_entries if entry.link is not None]
            values["times"] = [time for entry in new_entries if (time := entry.published or entry.updated)]
        rows = execute(self._connection, query, values, ROWS_AT_ONCE)
        pairs = renamings(new_entries, map(_named_entry, rows))
        wanted_keys = {digest_of_id(entry.id) for pair in pairs for entry in (pair.new, pair.old)}
        return confirmed(pairs, self._ids_by_document(wanted_keys)) if pairs else []

    def _note_renamings(self, pairs: list[Renaming]) -> None:
        since = self._feed.crawled
        rows = [{"since": since, "id": pair.new.id, "former_id": pair.old.id} for pair in pairs]
        for statement in (
            # An id that returns is not a former one any more; those before it belong to the newest one.
            "DELETE FROM renames WHERE feed_id = :feed_id AND KEY(former_id) = KEY(:id)",
            """UPDATE renames SET id = :id
            WHERE feed_id = :feed_id AND KEY(id) = KEY(:former_id) AND former_id IS NOT NULL""",
            "INSERT INTO renames (feed_id, id, former_id, since) VALUES (:feed_id, :id, :former_id, :since)",
        ):
            self._execute_all(statement, rows)

    # An entry that a document still contains is not a duplicate, and would be read again.
    def _merge_renamed(self) -> int:
        if not self._feed.merge_renamed or not self._is_chain_complete:
            return 0
        rows = self._execute(
            f"""SELECT renames.former_id {BOTH_LIVE}
            AND renames.feed_id = :feed_id AND NOT {HAS_RETURNED}"""
        )
        former_ids = {digest_of_id(former_id): former_id for (former_id,) in rows}
        contained = self._contained_ids(former_ids.keys()) if former_ids else set()
        ids = [entry_id for key, entry_id in former_ids.items() if key not in contained]
        return self._delete_live(ids) if ids else 0


def _named_entry(row: Sequence[Any]) -> NamedEntry:
    return NamedEntry(*row[:5], place=ChainPosition(*row[5:]))  # type: ignore[misc]
