"""Entries in the store, their earlier versions, and the deliveries of their changes to exports."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fhcrawl.documents import model
from fhcrawl.exceptions import LeaseError
from fhcrawl.logical_feed import ChainPosition, Winner
from fhcrawl.logical_feed.chain import captured_at
from fhcrawl.logical_feed.listings import comparable_url
from fhcrawl.logical_feed.results import latest_time
from fhcrawl.store import leases, statements
from fhcrawl.store.database import Repository
from fhcrawl.store.schema import ALL_DELETED, ALL_VERSIONS, DELETED, entries
from fhcrawl.store.statements import (
    CHANGE_OF_ENTRY,
    CONTENT,
    JSON_FIELDS,
    OF_POST,
    ORIGINAL,
    TIMES,
    by_counted_order,
    counted_time,
    execute,
    from_json,
    insertion,
    stream,
)
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Iterator, Sequence

    from sqlalchemy import Connection, Row

    from fhcrawl.logical_feed.results import DocumentResult


LABELS = "SELECT entries.id, title, published, updated FROM entries WHERE entries.feed_id = :feed_id"
SHARING = """SELECT id, details FROM entries WHERE feed_id = :feed_id AND details LIKE '%"shared_id":%'"""
# Entries that a walk has read from a web page.
POSTS = f"""
SELECT DISTINCT entries.id, entries.link FROM sitemap_posts JOIN entries ON {OF_POST}
WHERE sitemap_posts.feed_id = :feed_id
"""
ENTRIES_COLUMNS = (
    "feed",
    *(str(column.name) for column in entries.c if column.name in {"id", *CONTENT, *TIMES}),
    *("added", "digest", "change_id", "exported_digest"),
)
# With what the optional fields are computed from, and the counted time.
OPTIONAL_COLUMNS = f"""entries.details, entries.original, entries.first_seen, entries.fetched,
    (SELECT JSON_LIST(renames.former_id) FROM renames WHERE renames.feed_id = entries.feed_id
        AND KEY(renames.id) = KEY(entries.id) AND renames.former_id IS NOT NULL) AS former_ids,
    {counted_time("entries")} AS time"""
# Lists of authors and categories repeat.
LISTS_REMEMBERED = 1000
ORDER_OF_ENTRIES = f"entries.feed_id, {by_counted_order('entries')}, entries.id"
# The versions of an entry together, entries by their oldest version.
ORDER_OF_VERSIONS = f"""entries.feed_id,
    min({counted_time("entries")}) OVER (PARTITION BY entries.feed_id, entries.id), entries.id,
    entries.is_newest, {by_counted_order("entries")}"""


class Source(NamedTuple):
    """What `Entries.read` reads: a table, and expressions for the times and states of its rows."""

    table: str = "entries"
    condition: str = "entries.digest <> ''"
    order: str = ORDER_OF_ENTRIES
    deleted: str = DELETED
    state: str = "CASE WHEN entries.digest = '' THEN 'deleted' ELSE 'current' END"


LIVE = Source()
VERSIONS = Source(
    f"{ALL_VERSIONS} AS entries",
    "1 = 1",
    ORDER_OF_VERSIONS,
    "entries.deleted",
    "CASE WHEN entries.digest = '' THEN 'deleted' WHEN is_newest = 1 THEN 'current' ELSE 'superseded' END",
)
DELETED_ENTRIES = Source(
    f"{ALL_DELETED} AS entries",
    "1 = 1",
    "entries.feed_id, entries.deleted, entries.id",
    "entries.deleted",
    "entries.state",
)
# Entries with earlier versions, and deleted ones.
CHANGED = f"""
SELECT * FROM (SELECT id, title, {DELETED} AS deleted, coalesce(updated, published, document_updated) AS time,
    (SELECT count(*) FROM versions
        WHERE versions.feed_id = entries.feed_id AND KEY(versions.id) = KEY(entries.id)) AS earlier
    FROM entries WHERE feed_id = :feed_id ORDER BY {by_counted_order("entries")}, id) AS counted
WHERE deleted IS NOT NULL OR earlier > 0
"""


class StoredVersion(NamedTuple):
    """The newest version of an entry, or its deletion, as the feed writers read it.

    :param original: the entry's source in XML or JSON; None if it is not kept
    :param time: its update time, or its document's: ISO 8601 in UTC without the `Z`, '' for none
    """

    fields: dict[str, Any]
    original: str | None
    time: str
    is_deleted: bool


class KeptVersion(NamedTuple):
    """A current or earlier version of an entry.

    :param state: `current`, `superseded` or `deleted`
    :param captured: when a web archive captured the version's document; None if a walk read it
    """

    state: str
    captured: str | None
    fields: dict[str, Any]


class Entries(Repository):
    """The entries and their earlier versions: `store.entries`."""

    def compare(self, result: DocumentResult) -> dict[str, Winner]:
        """Return the newest stored versions of a document's entries, by id.

        A deletion under a shared id becomes that of all entries that have it.
        """
        feed, versions, deletions = result.fetch.feed, result.versions, result.deletions
        sharing = {version.id: version.shared_id for version in versions if version.shared_id is not None}
        shared_deletions = {v.id: v for v in deletions if v.id in self.read_shared_ids(feed)}
        if shared_deletions:
            sharing |= {row.id: from_json(row.details)["shared_id"] for row in self._select(SHARING, feed)}
            deletions.extend(
                shared_deletions[shared_id]._replace(id=entry_id)
                for entry_id, shared_id in sharing.items()
                if shared_id in shared_deletions
            )
        ids = {version.id for version in (*versions, *deletions)} | set(sharing.values())
        winners = self.find_winners(feed, list(ids), result.fetch.latest)
        for entry_id, shared_id in sharing.items():
            winner = winners.get(shared_id)
            if winner is not None and winner.order.tombstone:
                winners.setdefault(entry_id, Winner(winner.order, ""))
        return winners

    def read_shared_ids(self, feed: str) -> frozenset[str]:
        """Return the ids that several entries of a feed have: see `results.tell_apart`."""
        known = self._database.shared_ids
        if feed not in known:
            rows = self._select("SELECT id FROM shared_ids WHERE feed_id = :feed_id", feed)
            known[feed] = frozenset(row.id for row in rows)
        return known[feed]

    def read_posts(self, feed: str) -> dict[str, str]:
        """Return the ids of a feed's live entries from web pages, by `comparable_url` of their links."""
        known = self._database.posts
        if feed not in known:
            known[feed] = {comparable_url(row.link): row.id for row in self._select(POSTS, feed) if row.link}
        return known[feed]

    def find_winners(self, feed: str, ids: list[str], latest: str) -> dict[str, Winner]:
        """Return the newest versions of some entries of a feed, by id, judged by times up to `latest`."""
        with self._database.lookup() as connection:
            feed_id = self._database.find_id(connection, feed)
            rows = statements.execute_among(connection, statements.WINNERS, feed_id, ids) if ids else ()
            return statements.winners(rows, latest)

    def find_labels(self, feed: str, ids: list[str]) -> dict[str, tuple[str | None, ...]]:
        """Return title and times, which stay the same if a publisher writes other tokens into its URLs."""
        with self._database.lookup() as connection:
            feed_id = self._database.find_id(connection, feed)
            rows = statements.execute_among(connection, LABELS, feed_id, ids) if ids else ()
            return {row[0]: tuple(row[1:]) for row in rows}

    def read_documents(self, feed: str) -> set[str]:
        """Return the URLs of the documents that the live entries of a feed are from."""
        documents = "SELECT DISTINCT document FROM entries WHERE feed_id = :feed_id AND digest <> ''"
        return {row.document for row in self._select(documents, feed)}

    def count_sources(self, feed: str) -> tuple[int, int]:
        """Return from how many documents the live entries of a feed come, and how many have no date."""
        statement = """SELECT count(DISTINCT document), count(*) - count(coalesce(published, updated))
            FROM entries WHERE feed_id = :feed_id AND digest <> ''"""
        [(documents, undated)] = self._select(statement, feed)
        return documents, undated

    def read(
        self, urls: Iterable[str] = (), has_details: bool = False, source: Source = LIVE
    ) -> Generator[dict[str, Any]]:
        """Yield the live entries of some feeds, or of all: feed by feed, oldest first.

        :param has_details: with their optional fields and `original`
        :param source: read all versions of entries, or deleted entries
        """
        condition, values = source.condition, dict[str, object]()
        with self._database.snapshot() as connection:
            if chosen_urls := list(urls):
                values["feeds"] = self._database.find_ids(connection, chosen_urls)
                condition += " AND entries.feed_id = ANY(:feeds)"
            yield from _stream_entries(connection, condition, values, has_details=has_details, source=source)

    def read_versions(self, feed: str, newest_first: bool = False) -> Iterator[StoredVersion]:
        """Yield the newest version of each entry of a feed, including deletions, oldest first."""
        direction = "DESC" if newest_first else "ASC"
        order = f"{by_counted_order('entries', direction)}, entries.id {direction}"
        statement = _entries_query("KEY(feeds.url) = KEY(:url)", order)
        values: dict[str, object] = {"url": feed, "latest": latest_time(now())}
        with self._database.snapshot() as connection, stream(connection, statement, values) as rows:
            for row in rows:
                yield StoredVersion(_all_fields(row), row.original, row.time, not row.digest)

    def read_kept_versions(self, feed: str, entry_id: str) -> list[KeptVersion]:
        """Return the current version of an entry, then its earlier ones, newest first.

        A deletion has the last title, the time of the deletion as `updated`, and its document.
        """
        with self._database.snapshot() as connection:
            values = {"feed_id": self._database.find_id(connection, feed), "id": entry_id}
            values["latest"] = latest_time(now())
            rows = execute(
                connection,
                f"""SELECT * FROM {ALL_VERSIONS} AS entries WHERE feed_id = :feed_id AND KEY(id) = KEY(:id)
                ORDER BY is_newest DESC, {by_counted_order("entries", "DESC")}""",
                values,
            ).all()
            deletions = {row: _fields_of_deletion(connection, row) for row in rows if row.deleted}
        kept = []
        for row in rows:
            state = "deleted" if row.deleted else "current" if row.is_newest else "superseded"
            fields = {name: getattr(row, name) for name in ("id", *TIMES, *CONTENT)}
            fields |= {name: list(_list_from_json(fields[name])) for name in JSON_FIELDS}
            fields |= deletions.get(row, {})
            place = ChainPosition(row.order_walk, row.order_step)
            kept.append(KeptVersion(state, captured_at(place), fields))
        return kept

    def read_changed(self, feed: str) -> list[Row[Any]]:
        """Return the entries of a feed that have several versions or are deleted, oldest first: `CHANGED`."""
        return list(self._select(CHANGED, feed, latest=latest_time(now())))


# Subscription documents change their place in each walk.
def _fields_of_deletion(connection: Connection, row: Row[Any]) -> dict[str, str | None]:
    query = """SELECT url FROM documents
        WHERE feed_id = :feed_id AND step = :order_step AND (walk = :order_walk OR role = 'subscription')
        ORDER BY walk DESC"""
    document = execute(connection, query, row._asdict()).scalar()
    return {**dict.fromkeys(TIMES), "updated": row.deleted, "document": document}


def _stream_entries(
    connection: Connection,
    where: str,
    values: dict[str, object],
    only_changed: bool = False,
    has_details: bool = False,
    source: Source = LIVE,
) -> Iterator[dict[str, Any]]:
    statement = _entries_query(where, source.order, only_changed, has_details, source)
    fields_of = _all_fields if has_details else _exported_fields
    with stream(connection, statement, {**values, "latest": latest_time(now())}) as rows:
        yield from map(fields_of, rows)


def _entries_query(
    where: str, order: str, only_changed: bool = False, has_details: bool = True, source: Source = LIVE
) -> str:
    details = f"{OPTIONAL_COLUMNS}, {source.deleted} AS deleted, {source.state} AS state"
    expressions = {
        "feed": "feeds.url AS feed",
        "change_id": "changes.id AS change_id",
        "exported_digest": "changes.exported_digest",
    }
    columns = [expressions.get(name, f"entries.{name}") for name in ENTRIES_COLUMNS]
    return f"""
    SELECT {", ".join([*columns, details] if has_details else columns)}
    FROM {source.table} JOIN feeds ON feeds.id = entries.feed_id
        {"" if only_changed else "LEFT"} JOIN changes ON {CHANGE_OF_ENTRY}
    WHERE {where} ORDER BY {order}"""


@lru_cache(LISTS_REMEMBERED)
def _list_from_json(text: str) -> tuple[Any, ...]:
    return tuple(from_json(text))


def _exported_fields(row: Sequence[Any]) -> dict[str, Any]:
    fields = dict(zip(ENTRIES_COLUMNS, row, strict=True))
    for name in JSON_FIELDS:
        fields[name] = list(_list_from_json(fields[name]))
    digest, exported_digest, added = (fields.pop(name) for name in ("digest", "exported_digest", "added"))
    if fields.pop("change_id") is None:
        fields["change"] = None
    elif not digest:
        fields["change"] = "deleted"
    else:
        fields["change"] = "updated" if exported_digest else "new"
    return fields | from_json(added) if added else fields


def _all_fields(row: Row[Any]) -> dict[str, Any]:
    fields = _exported_fields(row[: len(ENTRIES_COLUMNS)])
    details = {**dict.fromkeys(model.DETAILS), "base": fields["document"], **from_json(row.details)}
    former_ids = sorted(from_json(row.former_ids))
    times = {"first_seen": row.first_seen, "fetched": row.fetched, "deleted": row.deleted}
    stored = {ORIGINAL: row.original, "former_ids": former_ids, **times, "state": row.state}
    return {**fields, **details, **stored}


def _among(urls: Collection[str]) -> str:
    return "KEY(url) = ANY(KEYS(:urls))" if urls else "subscribed IS NOT NULL"


class Exports(Repository):
    """The deliveries: `store.exports`."""

    def adopt(self, run: int, urls: Collection[str] = ()) -> None:
        """Give a run the feeds of dead runs with changes to export, and count its crawl of them as finished.

        :param urls: of the feeds; without any, the subscribed feeds
        """
        values: dict[str, object] = {"run": run, "urls": list(urls)}
        # In the order of `Walks.begin`, so that two crawls do not deadlock.
        pending = f"""SELECT id, run FROM feeds WHERE run <> :run AND {_among(urls)} AND EXISTS (
            SELECT 1 FROM changes WHERE changes.feed_id = feeds.id AND changes.delivery IS NULL)
            ORDER BY id FOR UPDATE"""
        # An interrupted delivery is settled first (`storages.recover`): its file may have these changes.
        adoption = f"""UPDATE feeds SET run = :run, released = 1
            WHERE id = ANY(:feeds) AND NOT {leases.IS_DELIVERED_BY_ITS_RUN}"""
        with self._database.transaction() as connection:
            rows = execute(connection, pending, values).all()
            # A living run exports its changes itself.
            dead = {r for r in {row.run for row in rows} if leases.living_owner(connection, r) is None}
            values["feeds"] = [row.id for row in rows if row.run in dead]
            execute(connection, adoption, values)

    def count_unexported(self, run: int, urls: Collection[str] = ()) -> int:
        """Return how many changes of a run's feeds, and of those of `adopt`, are not exported yet."""
        of_feeds = f"SELECT id FROM feeds WHERE run = :run OR {_among(urls)}"
        query = f"SELECT count(*) FROM changes WHERE feed_id IN ({of_feeds})"
        return int(self._scalar(query, run=run, urls=list(urls)))

    def begin(self, run: int, only_released: bool = False) -> int:
        """Begin to export the changes of a run's feeds, or those it has finished with; return a number."""
        with self._database.transaction() as connection:
            # Numbers are never reused: a process that was suspended, and whose delivery another one has
            # recovered meanwhile, would end the delivery that has its number now.
            number = leases.next_number(connection)
            values = {"number": number, "run": run, "files": "[]"}
            execute(connection, insertion("deliveries", ("run", "files"), id=":number"), values)
            released = "AND released IS NOT NULL" if only_released else ""
            # A run that claims one of these feeds at the same time comes before this delivery, or sees it.
            execute(
                connection,
                f"""UPDATE changes SET delivery = :number WHERE delivery IS NULL AND feed_id IN (
                    SELECT id FROM feeds WHERE run = :run {released}
                    AND EXISTS (SELECT 1 FROM changes AS change
                        WHERE change.feed_id = feeds.id AND change.delivery IS NULL)
                    ORDER BY id FOR UPDATE)""",
                values,
            )
        return number

    def read_changes(self, number: int, has_details: bool = False) -> Iterator[dict[str, Any]]:
        """Yield the entries changed in a delivery, feed by feed, oldest first, as `Entries.read`."""
        with self._database.snapshot() as connection:
            yield from _stream_entries(
                connection, "changes.delivery = :delivery", {"delivery": number}, True, has_details
            )

    def note_files(self, number: int, files: list[list[Any]]) -> None:
        """Store that a delivery's changes are written to temporary files (`storages.WrittenFile`).

        :raises LeaseError: if another run has taken the delivery over
        """
        note = "UPDATE deliveries SET files = :files WHERE id = :number"
        with self._database.transaction() as connection:
            if not execute(connection, note, {"files": json.dumps(files), "number": number}).rowcount:
                raise LeaseError("another crawl considered this one dead and exports its changes")
            if self._database.leases is not None:
                self._database.leases.renew(connection)

    def find_dead(self, locked: str | None = None) -> list[tuple[int, list[list[Any]]]]:
        """Return the number and files of each delivery that was not ended, though its process has.

        :param locked: name of a file that this process has locked: deliveries to it are dead too. One that
            could not be ended may belong to a process that still runs, and a process on another machine may
            have ended long before its lease expires
        """
        with self._database.snapshot() as connection:
            rows = execute(connection, "SELECT * FROM deliveries ORDER BY id").all()
            # A lost connection loses this run's lock.
            own = None if self._database.leases is None else self._database.leases.run
            return [
                (row.id, files)
                for row in rows
                for files in [from_json(row.files)]
                if (row.run != own and leases.living_owner(connection, row.run) is None)
                or any(name == locked for _written, name, *_ in files)
            ]

    def end(self, number: int) -> None:
        """Mark the changes of a delivery as exported."""
        self._end(number, "DELETE FROM changes WHERE delivery = :number")

    def cancel(self, number: int) -> None:
        """Discard a delivery; its changes are to be exported again."""
        self._end(number, "UPDATE changes SET delivery = NULL WHERE delivery = :number")

    def _end(self, number: int, change: str) -> None:
        with self._database.transaction() as connection:
            execute(connection, change, {"number": number})
            execute(connection, "DELETE FROM deliveries WHERE id = :number", {"number": number})
