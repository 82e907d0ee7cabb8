"""Merges two feeds in the store that are one feed at the publisher."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from fhcrawl.logical_feed import FIRST_WALK, position_of_capture
from fhcrawl.store import subscriptions
from fhcrawl.store.committing import KEEP_VERSION
from fhcrawl.store.schema import entries, feeds, versions
from fhcrawl.store.statements import execute, is_one_of
from fhcrawl.utils.addresses import may_have_headers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Row

# What was exported of an entry by the name of the duplicate is not exported as new by that of the kept feed.
SAID_OF_DUPLICATE = """
UPDATE changes SET exported_digest = (
    SELECT CASE WHEN said.id IS NULL THEN nullif(entries.digest, '') ELSE said.exported_digest END
    FROM entries LEFT JOIN changes AS said
        ON said.feed_id = entries.feed_id AND KEY(said.id) = KEY(entries.id)
    WHERE entries.feed_id = :old AND KEY(entries.id) = KEY(changes.id))
WHERE feed_id = :new AND exported_digest IS NULL
"""
SETTLED = """
DELETE FROM changes WHERE feed_id = :new AND delivery IS NULL AND exported_digest = (
    SELECT digest FROM entries WHERE entries.feed_id = :new AND KEY(entries.id) = KEY(changes.id))
"""
_names = ", ".join(column.name for column in versions.c if column.name != "feed_id")
MOVE_VERSIONS = f"""
INSERT INTO versions (feed_id, {_names}) SELECT CAST(:new AS INTEGER), {_names} FROM versions
WHERE feed_id = :old {KEEP_VERSION}
"""
_is_missing = (
    "NOT EXISTS (SELECT 1 FROM entries AS kept WHERE kept.feed_id = :new AND KEY(kept.id) = KEY({}.id))"
)
MOVE_CHANGES = f"UPDATE changes SET feed_id = :new WHERE feed_id = :old AND {_is_missing.format('changes')}"
# The walks of two feeds cannot be compared: an entry that moves counts as read from a copy of the kept feed,
# so that each walk's version of it is newer.
MOVE_ENTRIES = f"""
UPDATE entries SET feed_id = :new,
    order_overrides = CASE WHEN order_overrides >= {FIRST_WALK} THEN :walk ELSE order_overrides END,
    order_step = CASE WHEN order_walk >= {FIRST_WALK} THEN 0 ELSE order_step END,
    order_walk = CASE WHEN order_walk >= {FIRST_WALK} THEN :walk ELSE order_walk END
WHERE feed_id = :old AND {_is_missing.format("entries")}
"""
# Two feeds that have moved to one URL, and a feed that has moved to the URL of another one.
DUPLICATES = """
SELECT moved.location AS location, moved.url AS url, other.url AS other, other.id AS other_id
FROM feeds AS moved JOIN feeds AS other ON KEY(other.url) = KEY(moved.location)
WHERE moved.location <> moved.url AND other.location = other.url
UNION ALL
SELECT moved.location, moved.url, other.url, other.id
FROM feeds AS moved JOIN feeds AS other ON KEY(other.location) = KEY(moved.location)
WHERE moved.location <> moved.url AND other.location <> other.url AND other.id < moved.id
"""
AT_LOCATION = """
SELECT url FROM feeds WHERE KEY(location) = KEY(:url) AND location <> url AND url <> :besides
ORDER BY id LIMIT 1
"""


def rows_of(connection: Connection, *urls: str) -> dict[str, Row[Any]]:
    """Lock feeds, and return their rows by URL; without those that the store does not know."""
    # In the order of `Walks.begin`, so that two crawls do not deadlock.
    found = connection.execute(select(feeds).where(is_one_of([*urls])).order_by(feeds.c.id).with_for_update())
    return {row.url: row for row in found}


def duplicates(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield the feeds that are stored under two names: the one to keep, and the other one."""
    found = execute(connection, DUPLICATES, {}).all()
    # The feed that has its own URL; else the one that is known longest.
    kept = {
        row.location: row.other
        for row in sorted(found, key=lambda row: (row.other == row.location, -row.other_id))
    }
    names = {(row.location, name) for row in found for name in (row.url, row.other)}
    for location, name in sorted(names):
        if kept[location] != name:
            yield kept[location], name


def merge(connection: Connection, old: Row[Any], new: Row[Any]) -> int:
    """Move what only the first of two feeds has to the other one, and delete the first one.

    :return: the number of live entries that were moved
    """
    _move_subscription(connection, old, new)
    place = position_of_capture(old.crawled or old.since, 0)
    values = {"old": old.id, "new": new.id, "walk": place.walk}
    live = select(func.count()).where(entries.c.feed_id == new.id, entries.c.digest != "")
    before = connection.scalar(live) or 0
    for statement in (SAID_OF_DUPLICATE, SETTLED, MOVE_VERSIONS, MOVE_CHANGES, MOVE_ENTRIES):
        execute(connection, statement, values)
    subscriptions.delete_rows(connection, [old.id])
    return (connection.scalar(live) or 0) - before


def _move_subscription(connection: Connection, old: Row[Any], new: Row[Any]) -> None:
    values: dict[str, object] = {"title": new.title or old.title}
    if old.subscribed is not None:
        options = new.options or _options_at(new.url, old)
        values |= {"subscribed": new.subscribed or old.subscribed, "options": options}
        if options != new.options:
            values["due"] = None
    connection.execute(feeds.update().where(feeds.c.id == new.id).values(values))


def _options_at(url: str, old: Row[Any]) -> str | None:
    """Return the options of a feed for another URL of it."""
    if not old.options or may_have_headers(url, old.url):
        return old.options  # type: ignore[no-any-return]
    options = {name: value for name, value in json.loads(old.options).items() if name != "headers"}
    return json.dumps(options, ensure_ascii=False, sort_keys=True) if options else None
