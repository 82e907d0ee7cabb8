"""Entries whose id has changed: finds them at the end of a walk, and deletes the former ones if asked to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fhcrawl.logical_feed import ChainPosition
from fhcrawl.logical_feed.absences import (
    NamedEntry,
    confirmed,
    digest_of_id,
    renamings,
    with_other_scheme,
)
from fhcrawl.store import statements
from fhcrawl.store.absences import Absences, held_ids, is_whole, settle_feeds
from fhcrawl.store.database import Repository
from fhcrawl.store.opening import ROWS_AT_ONCE
from fhcrawl.store.schema import renames
from fhcrawl.store.statements import execute, execute_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection, Row

    from fhcrawl.logical_feed.absences import Renaming

# New entries that are looked for among all entries of the feed together.
ARRIVALS_AT_ONCE = 10_000
# Up to so many, the database narrows down the entries to compare with: databases limit parameters.
FEW = 200


ARRIVALS = """
SELECT DISTINCT id FROM renames WHERE feed_id = :feed_id AND former_id IS NULL AND id > :after
ORDER BY id LIMIT :limit
"""
NAMED = """
SELECT entries.id, title, link, published, updated, order_walk, order_step
FROM entries WHERE entries.feed_id = :feed_id
"""
# The publisher has deleted an entry with a tombstone: it is not the one that is new. One that a complete feed
# has no longer can be.
COMPARED = f"""{NAMED} AND (digest <> '' OR order_tombstone = 0) AND NOT EXISTS (
    SELECT 1 FROM renames
    WHERE renames.feed_id = entries.feed_id AND KEY(renames.former_id) = KEY(entries.id))
"""
NOTE = (
    # An id that returns is not a former one any more; those before it belong to the newest one.
    "DELETE FROM renames WHERE feed_id = :feed_id AND KEY(former_id) = KEY(:id)",
    """UPDATE renames SET id = :id
    WHERE feed_id = :feed_id AND KEY(id) = KEY(:former_id) AND former_id IS NOT NULL""",
    "INSERT INTO renames (feed_id, id, former_id, since) VALUES (:feed_id, :id, :former_id, :since)",
)
# What is live under an id and under a former one.
FROM_LIVE = """
FROM renames
    JOIN entries AS new ON new.feed_id = renames.feed_id AND KEY(new.id) = KEY(renames.id)
    JOIN entries AS old ON old.feed_id = renames.feed_id AND KEY(old.id) = KEY(renames.former_id)
WHERE new.digest <> '' AND old.digest <> ''
"""
# A walk has read the former id, in no older version, since the last one that has read the new one. The
# publisher may have returned to it: it is looked at as a new one is.
_has_returned = "(old.order_walk > new.order_walk AND old.order_time >= new.order_time)"
RETURN = f"""
INSERT INTO renames (feed_id, id, since)
SELECT renames.feed_id, renames.former_id, renames.since {FROM_LIVE}
    AND renames.feed_id = :feed_id AND {_has_returned}
"""
FORMER = f"SELECT renames.former_id {FROM_LIVE} AND renames.feed_id = :feed_id AND NOT {_has_returned}"
COUNTS = f"""
SELECT renames.feed_id, count(*) {FROM_LIVE} AND renames.feed_id = ANY(:feeds) GROUP BY renames.feed_id
"""


class Renamed(NamedTuple):
    """What has been found in a feed.

    :param number: how many entries have another id than before, as far as this was not known
    :param example: the id of one of them, and its former id; None without any
    :param deleted: how many entries were deleted under their former ids
    """

    number: int
    example: tuple[str, str] | None
    deleted: int


class Renames(Repository):
    """The entries whose id has changed: `store.renames`."""

    def settle(self, run: int, urls: Sequence[str], keeps_versions: bool) -> dict[str, Renamed]:
        """Look whether the new entries of feeds had other ids before; delete these if the user wants it.

        :param urls: feeds whose walk has ended; those that another run has taken over are ignored
        :param keeps_versions: keep the versions of entries that are deleted
        :return: by feed, of the feeds in which there was something to look at
        """

        def settle_feed(connection: Connection, feed: Row[Any], chain: Sequence[Row[Any]]) -> Renamed:
            number, example, of_feed = 0, None, {"feed_id": feed.id}
            execute(connection, RETURN, of_feed)
            for arrivals in _arrivals(connection, feed.id):
                found = _renamings(connection, feed.id, chain, arrivals)
                _note(connection, feed, found)
                number += len(found)
                example = example or next(((one.new.id, one.old.id) for one in found), None)
            execute(connection, "DELETE FROM renames WHERE feed_id = :feed_id AND former_id IS NULL", of_feed)
            former = _former_to_delete(connection, feed, chain)
            delete = Absences(self._session).delete
            return Renamed(number, example, delete(connection, feed, former, keeps_versions) if former else 0)

        return settle_feeds(self._database, run, urls, renames, settle_feed)


def _arrivals(connection: Connection, feed_id: int) -> Iterator[list[NamedEntry]]:
    """Yield the new entries of a feed that are live, some at a time."""
    live, after = f"{NAMED} AND digest <> ''", ""
    some = {"feed_id": feed_id, "limit": ARRIVALS_AT_ONCE}
    while ids := list(execute(connection, ARRIVALS, {**some, "after": after}).scalars()):
        after = ids[-1]
        yield [_named(row) for row in statements.execute_among(connection, live, feed_id, ids)]


def _named(row: Sequence[Any]) -> NamedEntry:
    return NamedEntry(*row[:5], place=ChainPosition(*row[5:]))  # type: ignore[misc]


def _renamings(
    connection: Connection, feed_id: int, chain: Sequence[Row[Any]], arrivals: list[NamedEntry]
) -> list[Renaming]:
    condition, values = _may_be_like(arrivals)
    compared = f"{COMPARED} AND {condition}"
    others = execute(connection, compared, {"feed_id": feed_id, **values}, ROWS_AT_ONCE)
    found = renamings(arrivals, map(_named, others))
    wanted = {digest_of_id(entry.id) for one in found for entry in (one.new, one.old)}
    return confirmed(found, held_ids(connection, chain, wanted)) if found else []


def _may_be_like(arrivals: list[NamedEntry]) -> tuple[str, dict[str, object]]:
    """Return a condition that holds for all entries which share something with new ones, and its values."""
    if len(arrivals) > FEW:
        return "true", {}
    values: dict[str, object] = {
        "ids": [other for one in arrivals if (other := with_other_scheme(one.id))],
        "links": [one.link for one in arrivals if one.link is not None],
        "times": [time for one in arrivals if (time := one.published or one.updated)],
    }
    return "(id = ANY(:ids) OR link = ANY(:links) OR coalesce(published, updated) = ANY(:times))", values


def _note(connection: Connection, feed: Row[Any], found: Iterable[Renaming]) -> None:
    pairs = [
        {"feed_id": feed.id, "id": one.new.id, "former_id": one.old.id, "since": feed.crawled}
        for one in found
    ]
    for statement in NOTE:
        execute_all(connection, statement, pairs)


# What a document still holds is no duplicate of its publisher's making, and would be read again.
def _former_to_delete(connection: Connection, feed: Row[Any], chain: Sequence[Row[Any]]) -> list[str]:
    """Return the former ids under which entries are live, and that no document of the chain holds."""
    if not feed.merge_renamed or not is_whole(feed, chain):
        return []
    found = execute(connection, FORMER, {"feed_id": feed.id}).scalars()
    former = {digest_of_id(one): one for one in found}
    held = set().union(*held_ids(connection, chain, former.keys())) if former else set()
    return [entry_id for key, entry_id in former.items() if key not in held]
