"""Entries whose id has changed: finds them at the end of a walk, and deletes the former ones if asked to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Text, bindparam, exists, func, null, or_, select, true

from fhcrawl.logical_feed import ChainPosition
from fhcrawl.logical_feed.contents import digest_of_id
from fhcrawl.logical_feed.renames import NamedEntry, Search, confirmed, with_other_scheme
from fhcrawl.store import statements
from fhcrawl.store.absences import CHAIN, Absences, held_ids, is_whole
from fhcrawl.store.database import Repository
from fhcrawl.store.opening import ROWS_AT_ONCE
from fhcrawl.store.schema import Keyed, entries, feeds, renames

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Column, ColumnElement, Connection, Row

    from fhcrawl.logical_feed.renames import Renaming

# New entries that are looked for among all entries of the feed together.
ARRIVALS_AT_ONCE = 10_000
# Up to so many, the database narrows down the entries to compare with: databases limit parameters.
FEW = 200


def _is(column: Column[str], name: str) -> ColumnElement[bool]:
    """Return the condition that a column has the value of a parameter, which an index finds."""
    return Keyed(column) == Keyed(bindparam(name, type_=Text()))


_of_feed = renames.c.feed_id == bindparam("b_feed_id")
ARRIVALS = (
    select(renames.c.id)
    .distinct()
    .where(_of_feed, renames.c.former_id.is_(None), renames.c.id > bindparam("after"))
    .order_by(renames.c.id)
    .limit(ARRIVALS_AT_ONCE)
)
FORGET_ARRIVALS = renames.delete().where(_of_feed, renames.c.former_id.is_(None))
_names = (entries.c.title, entries.c.link, entries.c.published, entries.c.updated)
NAMED = select(entries.c.id, *_names, entries.c.order_walk, entries.c.order_step).where(
    entries.c.feed_id == bindparam("feed_id")
)
_is_live = entries.c.digest != ""
_has_new_id = exists().where(
    renames.c.feed_id == entries.c.feed_id, Keyed(renames.c.former_id) == Keyed(entries.c.id)
)
# The publisher has deleted an entry with a tombstone: it is not the one that is new. One that a complete feed
# has no longer can be.
COMPARED = NAMED.where(_is_live | (entries.c.order_tombstone == 0), ~_has_new_id)
# An id that returns is not a former one any more; those before it belong to the newest one.
RETURNED = renames.delete().where(_of_feed, _is(renames.c.former_id, "b_id"))
INHERIT = (
    renames.update()
    .where(_of_feed, _is(renames.c.id, "b_former_id"), renames.c.former_id.is_not(None))
    .values(id=bindparam("b_id"))
)
NOTE = renames.insert().values(
    {name: bindparam(f"b_{name}") for name in ("feed_id", "id", "former_id", "since")}
)
_new, _old = entries.alias("new"), entries.alias("old")


def of_live(columns: Sequence[Any]) -> Any:
    """Return the query of what is live under an id and under a former one, without conditions on feeds."""
    return (
        select(*columns)
        .select_from(renames)
        .join(_new, (_new.c.feed_id == renames.c.feed_id) & (Keyed(_new.c.id) == Keyed(renames.c.id)))
        .join(_old, (_old.c.feed_id == renames.c.feed_id) & (Keyed(_old.c.id) == Keyed(renames.c.former_id)))
        .where(_new.c.digest != "", _old.c.digest != "")
    )


# A walk has read the former id, in no older version, since the last one that has read the new one. The
# publisher may have returned to it: it is looked at as a new one is.
_has_returned = (_old.c.order_walk > _new.c.order_walk) & (_old.c.order_time >= _new.c.order_time)
RETURN = renames.insert().from_select(
    ["feed_id", "id", "former_id", "since"],
    of_live([renames.c.feed_id, renames.c.former_id, null(), renames.c.since]).where(_of_feed, _has_returned),
)
FORMER = of_live([renames.c.former_id]).where(_of_feed, ~_has_returned)
COUNTS = (
    of_live([renames.c.feed_id, func.count()])
    .where(renames.c.feed_id.in_(bindparam("feeds", expanding=True)))
    .group_by(renames.c.feed_id)
)


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
        to_look_at = exists().where(renames.c.feed_id == feeds.c.id)
        found = select(feeds.c.url, feeds.c.id).where(
            statements.is_one_of(list(urls)), feeds.c.run == run, to_look_at
        )
        with self._database.snapshot() as connection:
            numbers = {row.url: row.id for row in connection.execute(found.order_by(feeds.c.id))}
        return {url: self._settle(run, one, keeps_versions) for url, one in numbers.items()}

    def _settle(self, run: int, feed_id: int, keeps_versions: bool) -> Renamed:
        of_run = select(feeds).where(feeds.c.id == feed_id, feeds.c.run == run).with_for_update()
        with self._database.transaction() as connection:
            feed = connection.execute(of_run).first()
            if feed is None:
                return Renamed(0, None, 0)
            chain: list[Row[Any]] = list(connection.execute(CHAIN, {"start": feed.subscription_id}))
            number, example = 0, None
            connection.execute(RETURN, {"b_feed_id": feed_id})
            for arrivals in self._arrivals(connection, feed_id):
                found = _renamings(connection, feed_id, chain, arrivals)
                _note(connection, feed, found)
                number += len(found)
                example = example or next(((one.new.id, one.old.id) for one in found), None)
            connection.execute(FORGET_ARRIVALS, {"b_feed_id": feed_id})
            former = _former_to_delete(connection, feed, chain)
            absences = Absences(self._session)
            deleted = absences.delete(connection, feed, former, keeps_versions) if former else 0
        return Renamed(number, example, deleted)

    def _arrivals(self, connection: Connection, feed_id: int) -> Iterator[list[NamedEntry]]:
        """Yield the new entries of a feed that are live, some at a time."""
        among = statements.among(NAMED.where(_is_live), "ids", self._database.dialect)
        after = ""
        while ids := list(connection.scalars(ARRIVALS, {"b_feed_id": feed_id, "after": after})):
            after = ids[-1]
            yield [
                _named(row)
                for some in statements.some_at_once(ids)
                for row in connection.execute(among, {"feed_id": feed_id, "ids": some})
            ]


def _named(row: Sequence[Any]) -> NamedEntry:
    return NamedEntry(*row[:5], place=ChainPosition(*row[5:]))  # type: ignore[misc]


def _renamings(
    connection: Connection, feed_id: int, chain: Sequence[Row[Any]], arrivals: list[NamedEntry]
) -> list[Renaming]:
    """Return those of some new entries that had another id before."""
    search = Search(arrivals)
    compared = COMPARED.where(_may_be_like(arrivals))
    # In batches; the option holds for this statement only.
    options = {"yield_per": ROWS_AT_ONCE}
    for row in connection.execute(compared, {"feed_id": feed_id}, execution_options=options):
        search.offer(_named(row))
    found = search.found()
    wanted = {digest_of_id(entry.id) for one in found for entry in (one.new, one.old)}
    return confirmed(found, held_ids(connection, chain, wanted)) if found else []


def _may_be_like(arrivals: list[NamedEntry]) -> ColumnElement[bool]:
    """Return a condition that holds for all entries which share something with new ones."""
    if len(arrivals) > FEW:
        return true()
    times = {one.published or one.updated for one in arrivals} - {None}
    ids = {with_other_scheme(one.id) for one in arrivals} - {None}
    links = {one.link for one in arrivals} - {None}
    return or_(
        entries.c.id.in_(ids),
        entries.c.link.in_(links),
        func.coalesce(entries.c.published, entries.c.updated).in_(times),
    )


def _note(connection: Connection, feed: Row[Any], found: Iterable[Renaming]) -> None:
    pairs = [
        {"b_feed_id": feed.id, "b_id": one.new.id, "b_former_id": one.old.id, "b_since": feed.crawled}
        for one in found
    ]
    if pairs:
        for statement in (RETURNED, INHERIT, NOTE):
            connection.execute(statement, pairs)


# What a document still holds is no duplicate of its publisher's making, and would be read again.
def _former_to_delete(connection: Connection, feed: Row[Any], chain: Sequence[Row[Any]]) -> list[str]:
    """Return the former ids under which entries are live, and that no document of the chain holds."""
    if not feed.merge_renamed or not is_whole(feed, chain):
        return []
    former = {digest_of_id(one): one for one in connection.scalars(FORMER, {"b_feed_id": feed.id})}
    held = set().union(*held_ids(connection, chain, former.keys())) if former else set()
    return [entry_id for key, entry_id in former.items() if key not in held]
