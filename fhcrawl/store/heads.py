"""The head sections of subscription documents in the store."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select

from fhcrawl.store.schema import feeds, heads
from fhcrawl.store.statements import is_one_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Dialect

    from fhcrawl.documents import HeadSource

# Of the row of `feeds` around it.
DIGEST = select(heads.c.digest).where(heads.c.feed_id == feeds.c.id).scalar_subquery().label("head_digest")


class StoredHead(NamedTuple):
    """The head section of a feed.

    :param original: XML or JSON
    :param document: URL of its document
    """

    original: str
    document: str


class HeadUpserts:
    """The statements that write heads, in the SQL of one database."""

    def __init__(self, dialect: Dialect) -> None:
        insert: Any = import_module(f"sqlalchemy.dialects.{dialect.name}").insert
        new = insert(heads)
        self._first = new.on_conflict_do_nothing()
        names = ("original", "digest", "document")
        self._replacing = new.on_conflict_do_update(
            index_elements=(heads.c.feed_id,), set_={name: new.excluded[name] for name in names}
        )

    def write(self, connection: Connection, feed_id: int, head: HeadSource, document: str) -> None:
        """Write the head of a feed, in place of the one before."""
        connection.execute(self._replacing, _row(feed_id, head, document))

    def write_first(self, connection: Connection, feed_id: int, head: HeadSource, document: str) -> None:
        """Write the head of a feed that has none."""
        connection.execute(self._first, _row(feed_id, head, document))


def _row(feed_id: int, head: HeadSource, document: str) -> dict[str, object]:
    return {"feed_id": feed_id, "original": head.original, "digest": head.digest, "document": document}


def read(connection: Connection, urls: list[str]) -> dict[str, StoredHead]:
    """Return the heads of feeds, by URL; feeds without one are missing."""
    columns = (feeds.c.url, *(heads.c[name] for name in StoredHead._fields))
    joined = select(*columns).join_from(heads, feeds, feeds.c.id == heads.c.feed_id)
    found = connection.execute(joined.where(is_one_of(urls)))
    return {row[0]: StoredHead(*row[1:]) for row in found}


def forget(connection: Connection, feed_ids: Iterable[int]) -> None:
    """Delete the heads of feeds."""
    connection.execute(heads.delete().where(heads.c.feed_id.in_(list(feed_ids))))
