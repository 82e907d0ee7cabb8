"""The subscribed feeds, when feeds are due, and feeds that are one feed at the publisher."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from fhcrawl.documents import UpdateSchedule
from fhcrawl.exceptions import StoreError
from fhcrawl.logical_feed import FIRST_WALK, polling
from fhcrawl.logical_feed.chain import position_of_capture
from fhcrawl.logical_feed.polling import Poll, interval
from fhcrawl.logical_feed.results import latest_time
from fhcrawl.store import leases
from fhcrawl.store.database import Repository
from fhcrawl.store.schema import metadata, versions
from fhcrawl.store.statements import assigned, execute, from_json
from fhcrawl.utils.addresses import may_have_headers, normalised
from fhcrawl.utils.clock import now as time_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sqlalchemy import Connection, Row

    from fhcrawl.logical_feed import Reason
    from fhcrawl.logical_feed.coverage import Coverage
    from fhcrawl.logical_feed.polling import Limits
    from fhcrawl.logical_feed.results import DocumentResult

T = TypeVar("T")

# The run of feeds that were subscribed before any crawl claimed them.
NO_RUN = 0
ADD_FEED = f"""
INSERT INTO feeds (url, address, location, walk, run, since)
VALUES (:url, :address, :url, 0, {NO_RUN}, :since) ON CONFLICT DO NOTHING
"""
SUBSCRIBE = "UPDATE feeds SET subscribed = :since WHERE KEY(address) = KEY(:address) AND subscribed IS NULL"
ADD_TITLE = "UPDATE feeds SET title = :title WHERE KEY(address) = KEY(:address) AND title IS NULL"
SET_OPTIONS = """
UPDATE feeds SET options = :options, due = NULL
WHERE KEY(address) = KEY(:address) AND NOT options IS NOT DISTINCT FROM :options
"""


class Subscriptions(Repository):
    """The subscribed feeds: `store.subscriptions`."""

    def add(self, feeds: dict[str, dict[str, Any]], now: str, titles: Mapping[str, str] | None = None) -> int:
        """Subscribe feeds; return how many of them were not subscribed before.

        :param feeds: the user's options for each, as plain values; a feed with new options is due now
        :param titles: those that feeds have until they are read, by URL
        """
        added = 0
        with self._database.transaction() as connection:
            for feed, options in feeds.items():
                values = new_row(feed, now) | {"options": _to_json(options)}
                execute(connection, ADD_FEED, values)
                added += execute(connection, SUBSCRIBE, values).rowcount
                execute(connection, SET_OPTIONS, values)
            for feed, title in sorted((titles or {}).items()):
                execute(connection, ADD_TITLE, {"address": normalised(feed), "title": title})
        return added

    def add_titles(self, titles: Mapping[str, str]) -> None:
        """Give titles to feeds that have none, by their URLs."""
        if titles:
            self.add({}, "", titles)

    def remove(self, urls: Iterable[str]) -> dict[str, bool]:
        """Unsubscribe feeds; their documents and entries stay.

        :return: for each, whether its row was deleted, since none of its documents was ever read
        :raises StoreError: if one of them is neither subscribed nor can be deleted; then nothing changes
        """
        return self._delete(_remove, urls)

    def delete(self, urls: Iterable[str]) -> dict[str, int]:
        """Delete feeds with all that is stored of them, in one transaction.

        :return: for each, the number of its live entries
        :raises StoreError: if a crawl has one of them, or it is not in the store; then nothing changes
        """
        return self._delete(_delete_stored, urls)

    def _delete(self, delete: Callable[[Connection, str], T], urls: Iterable[str]) -> dict[str, T]:
        with self._database.transaction() as connection:
            deleted = {url: delete(connection, url) for url in urls}
        for url in deleted:
            self._database.feed_ids.pop(url, None)
        return deleted

    def read(self, due_at: str | None = None) -> dict[str, dict[str, Any]]:
        """Return the options of the subscribed feeds, or of those due; those due longest first."""
        # A poll at a future time was recorded by a wrong clock, and so was its due time.
        due = "CASE WHEN polled > :latest THEN '' ELSE coalesce(due, '') END"
        until = "" if due_at is None else f"AND {due} <= :due_at"
        query = f"SELECT url, options FROM feeds WHERE subscribed IS NOT NULL {until} ORDER BY {due}, id"
        rows = self._select(query, latest=latest_time(due_at or time_now()), due_at=due_at)
        return {url: from_json(options) if options else {} for url, options in rows}

    def read_options(self, urls: Iterable[str]) -> dict[str, dict[str, Any]]:
        query = "SELECT url, options FROM feeds WHERE KEY(url) = ANY(KEYS(:urls)) AND options IS NOT NULL"
        return {url: from_json(options) for url, options in self._select(query, urls=list(urls))}

    def find_names(self, urls: Iterable[str]) -> dict[str, str]:
        """Return the URLs of stored feeds, by normalised URL."""
        query = "SELECT address, url FROM feeds WHERE KEY(address) = ANY(KEYS(:addresses))"
        return dict(self._select(query, addresses=[*map(normalised, urls)]))

    def exist(self) -> bool:
        return self._scalar("SELECT 1 FROM feeds WHERE subscribed IS NOT NULL LIMIT 1") is not None

    def find_first_due(self) -> str | None:
        """Return when the first subscribed feed is due, except those due at once; None if there is none."""
        due: str | None = self._scalar("SELECT min(due) FROM feeds WHERE subscribed IS NOT NULL")
        return due

    def find_due(self, urls: Iterable[str]) -> dict[str, str | None]:
        """Return when stored feeds are due, by URL, whether subscribed or not; None: now."""
        query = "SELECT url, polled, due FROM feeds WHERE KEY(address) = ANY(KEYS(:addresses))"
        return {row.url: due(row) for row in self._select(query, addresses=[*map(normalised, urls)])}


def new_row(url: str, now: str) -> dict[str, object]:
    return {"url": url, "address": normalised(url), "since": now}


def _to_json(options: dict[str, Any]) -> str | None:
    return json.dumps(options, ensure_ascii=False, sort_keys=True) if options else None


def _count_live(connection: Connection, feed_id: int) -> int:
    live = "SELECT count(*) FROM entries WHERE feed_id = :feed_id AND digest <> ''"
    number: int = execute(connection, live, {"feed_id": feed_id}).scalar_one()
    return number


def _remove(connection: Connection, feed: str) -> bool:
    row = lock(connection, feed).get(feed)
    if row is not None and is_empty(connection, row.id) and not leases.holders(connection, [row]):
        delete_rows(connection, [row.id])
        return True
    if row is None:
        raise StoreError(f"{feed} is not subscribed; `fhcrawl feeds` lists the feeds")
    if row.subscribed is None:
        raise StoreError(f"{feed} is not subscribed; to delete its entries, use unsubscribe --delete")
    execute(connection, "UPDATE feeds SET subscribed = NULL, options = NULL WHERE id = :id", {"id": row.id})
    return False


def _delete_stored(connection: Connection, feed: str) -> int:
    row = lock(connection, feed).get(feed)
    if row is None:
        raise StoreError(f"{feed} is not in the store; `fhcrawl feeds` lists the feeds")
    if leases.holders(connection, [row]):
        raise StoreError(f"{feed} is being crawled; delete it when the crawl has ended")
    count = _count_live(connection, row.id)
    delete_rows(connection, [row.id])
    return count


def delete_rows(connection: Connection, feed_ids: list[int]) -> None:
    for table in reversed(metadata.sorted_tables):
        if "feed_id" in table.columns:
            execute(connection, f"DELETE FROM {table.name} WHERE feed_id = ANY(:feeds)", {"feeds": feed_ids})
    execute(connection, "DELETE FROM feeds WHERE id = ANY(:feeds)", {"feeds": feed_ids})
    unused = "NOT EXISTS (SELECT 1 FROM feeds WHERE feeds.site = sitemaps.site)"
    execute(connection, f"DELETE FROM sitemaps WHERE {unused}", {})


def is_empty(connection: Connection, feed_id: int) -> bool:
    """Return whether neither a document nor an entry of a feed was ever read."""
    query = """SELECT 1 FROM feeds WHERE id = :feed_id AND (
        EXISTS (SELECT 1 FROM documents WHERE feed_id = feeds.id AND state = 'processed')
        OR EXISTS (SELECT 1 FROM entries WHERE feed_id = feeds.id))"""
    return execute(connection, query, {"feed_id": feed_id}).first() is None


def due(row: Row[Any]) -> str | None:
    """Return when the feed of a row is due; None: now."""
    is_by_wrong_clock = row.polled is not None and row.polled > latest_time(time_now())
    return None if is_by_wrong_clock else row.due


def change_rate_row(result: DocumentResult) -> dict[str, object]:
    """Return the columns for the change rate that a feed's server and document declare."""
    fetch, schedule = result.fetch, result.metadata.update_schedule
    rhythm = None if schedule is None else json.dumps(asdict(schedule))
    return {"polled": fetch.fetched, "fresh_seconds": fetch.freshness_lifetime, "rhythm": rhythm}


def plan_row(
    row: Row[Any], coverage: Coverage | None, reasons: Iterable[Reason], limits: Limits
) -> dict[str, object]:
    """Return the columns for a feed's next due time; {} if it was never polled: it is due now."""
    if row.polled is None:
        return {}
    poll = _poll(row, coverage)
    due = polling.next_due(poll, reasons, limits)
    return {"changed": poll.changed, "change_seconds": poll.interval, "due": due}


def is_held_back(row: Row[Any], coverage: Coverage) -> bool:
    """Return whether the poll interval of a feed or its server causes holes: `polling.is_held_back`."""
    return row.polled is not None and polling.is_held_back(_poll(row, coverage))


def _poll(row: Row[Any], coverage: Coverage | None) -> Poll:
    changed, seconds = row.changed, row.change_seconds
    if row.news is not None and row.news != changed:
        changed, seconds = row.news, interval(changed, seconds, row.news)
    rhythm = UpdateSchedule(**from_json(row.rhythm)) if row.rhythm else UpdateSchedule()
    half_replaced = None if coverage is None else coverage.half_replaced_in(row.polled)
    return Poll(row.polled, row.fresh_seconds, row.retry_after, rhythm, changed, seconds, half_replaced)


# -- feeds that are one feed at the publisher -----------------------------------------------------

_is_missing = (
    "NOT EXISTS (SELECT 1 FROM entries AS kept WHERE kept.feed_id = :new AND KEY(kept.id) = KEY({}.id))"
)
_version = ", ".join(column.name for column in versions.c if column.name != "feed_id")
MOVE = (
    "UPDATE aliases SET feed_id = :new WHERE feed_id = :old",
    """INSERT INTO aliases (feed_id, address) SELECT CAST(:new AS INTEGER), address FROM feeds WHERE id = :old
    ON CONFLICT (KEY(address)) DO UPDATE SET feed_id = excluded.feed_id""",
    # An entry that was exported for the duplicate is not exported as new for the kept feed.
    """UPDATE changes SET exported_digest = (
        SELECT CASE WHEN moved.id IS NULL THEN nullif(entries.digest, '') ELSE moved.exported_digest END
        FROM entries LEFT JOIN changes AS moved
            ON moved.feed_id = entries.feed_id AND KEY(moved.id) = KEY(entries.id)
        WHERE entries.feed_id = :old AND KEY(entries.id) = KEY(changes.id))
    WHERE feed_id = :new AND exported_digest IS NULL""",
    """DELETE FROM changes WHERE feed_id = :new AND delivery IS NULL AND exported_digest = (
        SELECT digest FROM entries WHERE entries.feed_id = :new AND KEY(entries.id) = KEY(changes.id))""",
    f"""INSERT INTO versions (feed_id, {_version}) SELECT CAST(:new AS INTEGER), {_version} FROM versions
    WHERE feed_id = :old ON CONFLICT (feed_id, KEY(id), digest) DO NOTHING""",
    f"UPDATE changes SET feed_id = :new WHERE feed_id = :old AND {_is_missing.format('changes')}",
    # The walks of two feeds cannot be compared: an entry that moves counts as read from a copy of the kept
    # feed, so that each walk's version of it is newer.
    f"""UPDATE entries SET feed_id = :new,
        order_overrides = CASE WHEN order_overrides >= {FIRST_WALK} THEN :walk ELSE order_overrides END,
        order_step = CASE WHEN order_walk >= {FIRST_WALK} THEN 0 ELSE order_step END,
        order_walk = CASE WHEN order_walk >= {FIRST_WALK} THEN :walk ELSE order_walk END
    WHERE feed_id = :old AND {_is_missing.format("entries")}""",
    """UPDATE downloads SET feed_id = :new WHERE feed_id = :old AND NOT EXISTS (
        SELECT 1 FROM downloads AS kept WHERE kept.feed_id = :new AND kept.key = downloads.key)""",
)


def lock(connection: Connection, *urls: str) -> dict[str, Row[Any]]:
    """Lock feeds, and return their rows by URL; feeds that are not in the store are missing."""
    # In the order of `Walks.begin`, so that two crawls do not deadlock.
    query = "SELECT * FROM feeds WHERE KEY(url) = ANY(KEYS(:urls)) ORDER BY id FOR UPDATE"
    return {row.url: row for row in execute(connection, query, {"urls": list(urls)})}


def duplicates(connection: Connection) -> list[tuple[str, str]]:
    """Return the feeds that are stored under two names: the one to keep, and the other one."""
    # Two feeds that have moved to one URL, and a feed that has moved to the URL of another one.
    rows = execute(
        connection,
        """SELECT moved.location AS location, moved.url AS url, other.url AS other, other.id AS other_id
        FROM feeds AS moved JOIN feeds AS other ON KEY(other.url) = KEY(moved.location)
        WHERE moved.location <> moved.url AND other.location = other.url
        UNION ALL
        SELECT moved.location, moved.url, other.url, other.id
        FROM feeds AS moved JOIN feeds AS other ON KEY(other.location) = KEY(moved.location)
        WHERE moved.location <> moved.url AND other.location <> other.url AND other.id < moved.id""",
    ).all()
    # The feed that has its own URL; else the one that was stored first.
    kept = {
        row.location: row.other
        for row in sorted(rows, key=lambda row: (row.other == row.location, -row.other_id))
    }
    names = {(row.location, name) for row in rows for name in (row.url, row.other)}
    return [(kept[location], name) for location, name in sorted(names) if kept[location] != name]


def merge(connection: Connection, old: Row[Any], new: Row[Any]) -> int:
    """Move what only the first of two feeds has to the other one, and delete it; return the entries moved.

    :param old, new: their rows, locked by the transaction
    """
    values: dict[str, object] = {"title": new.title or old.title}
    if old.subscribed is not None:
        options = new.options or _options_for_url(new.url, old)
        values |= {"subscribed": new.subscribed or old.subscribed, "options": options}
        if options != new.options:
            values["due"] = None
    execute(connection, f"UPDATE feeds SET {assigned(values)} WHERE id = :new", {**values, "new": new.id})
    before = _count_live(connection, new.id)
    walk = position_of_capture(old.crawled or old.since, 0).walk
    for statement in MOVE:
        execute(connection, statement, {"old": old.id, "new": new.id, "walk": walk})
    delete_rows(connection, [old.id])
    return _count_live(connection, new.id) - before


# Headers may be credentials: another host does not get them.
def _options_for_url(url: str, old: Row[Any]) -> str | None:
    if not old.options or may_have_headers(url, old.url):
        return old.options  # type: ignore[no-any-return]
    options = {name: value for name, value in from_json(old.options).items() if name != "headers"}
    return _to_json(options)
