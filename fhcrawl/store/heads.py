"""The head sections of subscription documents in the store."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, func, select

from fhcrawl.store.schema import Text, feeds, heads
from fhcrawl.store.statements import is_one_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Dialect

    from fhcrawl.documents import HeadSource

IS_CURRENT = heads.c.until.is_(None)
# Of the row of `feeds` around it.
DIGEST = (
    select(heads.c.digest)
    .where(heads.c.feed_id == feeds.c.id, IS_CURRENT)
    .scalar_subquery()
    .label("head_digest")
)
SUPERSEDE = (
    heads.update()
    .where(heads.c.feed_id == bindparam("b_feed_id"), IS_CURRENT, heads.c.digest != bindparam("b_digest"))
    .values(until=bindparam("b_until", type_=Text))
)


class StoredHead(NamedTuple):
    """A head section of a feed.

    :param original: XML or JSON
    :param document: URL of its document
    :param since: when it was first read, ISO 8601 in UTC
    :param until: when another one replaced it; None for the current one
    """

    original: str
    document: str
    since: str
    until: str | None


class HeadUpserts:
    """The statements that write heads, in the SQL of one database."""

    def __init__(self, dialect: Dialect) -> None:
        insert = import_module(f"sqlalchemy.dialects.{dialect.name}").insert
        target: dict[str, Any] = {"index_elements": (heads.c.feed_id,), "index_where": IS_CURRENT}
        self._first = insert(heads).on_conflict_do_nothing(**target)
        new: Any = insert(heads)
        names = ("original", "digest", "document", "since")
        self._replacing = new.on_conflict_do_update(**target, set_={n: new.excluded[n] for n in names})

    def write(
        self,
        connection: Connection,
        feed_id: int,
        head: HeadSource,
        document: str,
        now: str,
        keeps_versions: bool,
    ) -> None:
        """Write the current head of a feed, in place of the one before.

        :param keeps_versions: keep that one too
        """
        if keeps_versions:
            connection.execute(SUPERSEDE, {"b_feed_id": feed_id, "b_digest": head.digest, "b_until": now})
        connection.execute(self._replacing, _row(feed_id, head, document, now))

    def write_first(
        self, connection: Connection, feed_id: int, head: HeadSource, document: str, now: str
    ) -> None:
        """Write the head of a feed that has none."""
        connection.execute(self._first, _row(feed_id, head, document, now))


def _row(feed_id: int, head: HeadSource, document: str, now: str) -> dict[str, object]:
    said = {"original": head.original, "digest": head.digest, "document": document}
    return {"feed_id": feed_id, **said, "since": now, "until": None}


def read_current(connection: Connection, urls: list[str]) -> dict[str, StoredHead]:
    """Return the current heads of feeds, by URL; feeds without one are missing."""
    columns = (feeds.c.url, *(heads.c[name] for name in StoredHead._fields))
    joined = select(*columns).join_from(heads, feeds, feeds.c.id == heads.c.feed_id)
    found = connection.execute(joined.where(IS_CURRENT, is_one_of(urls)))
    return {row[0]: StoredHead(*row[1:]) for row in found}


def read_all(connection: Connection, feed_id: int) -> list[StoredHead]:
    """Return the heads of a feed, newest first."""
    columns = (heads.c[name] for name in StoredHead._fields)
    order = func.coalesce(heads.c.until, "~").desc(), heads.c.since.desc()
    found = connection.execute(select(*columns).where(heads.c.feed_id == feed_id).order_by(*order))
    return [StoredHead(*row) for row in found]


def forget(connection: Connection, feed_ids: Iterable[int]) -> None:
    """Delete the heads of feeds."""
    connection.execute(heads.delete().where(heads.c.feed_id.in_(list(feed_ids))))
