"""What the store knows of one feed: its documents in the order of its chain, its entries by month."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import func, select

from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.ordering import latest_time
from fhcrawl.store.rows import KeptVersion, kept_version
from fhcrawl.store.schema import documents, entries, feeds
from fhcrawl.store.statements import ENTRY, VERSIONS_BEFORE, counted_order
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import ColumnElement, Connection

TO_THE_MONTH = len("2003-12")
RECENT = 21


class Document(NamedTuple):
    """A document of a feed.

    :param behind: number of the document that its link names
    :param updated: its own update time
    :param reason: why it is not processed, for programs; `detail` is the same in words
    :param since: since when that is so
    :param fetched: when it was last read, or asked for; None if it never was
    """

    id: int
    behind: int | None
    url: str
    role: str
    state: str
    updated: str | None
    lost_entries: int
    reason: str | None
    detail: str | None
    since: str | None
    fetched: str | None


@dataclass(frozen=True, slots=True)
class Details:
    """What a feed's documents and entries say. Times are ISO 8601 in UTC.

    :param since: when the feed was first crawled
    :param months: how many live entries each month has, by `2003-12`, in order; an entry's time is when it
        was published, else its or its document's update time; '' for those without a time
    :param first, last: the first and the last of these times
    :param recent: when the entries last changed, newest first; at most `RECENT`
    :param chain: the documents from the subscription document back
    :param snapshot: those from the index of a snapshot on, that the feed goes on from
    :param beside: how many documents are in neither, because no document names them any more
    """

    since: str
    months: dict[str, int]
    first: str | None
    last: str | None
    recent: list[str]
    chain: list[Document]
    snapshot: list[Document]
    beside: int


def details(connection: Connection, feed_id: int) -> Details:
    """Read what is known of a feed."""
    feed = connection.execute(select(feeds).where(feeds.c.id == feed_id)).one()
    live = (entries.c.feed_id == feed_id) & (entries.c.digest != "")
    months, first, last = _months(connection, live)
    known = _documents(connection, feed_id)
    start = feed.subscription_id or _first(known, Role.SUBSCRIPTION)
    chain = list(_chain(known, start))
    snapshot = list(_chain(known, _first(known, Role.INDEX)))
    beside = len(known.keys() - {document.id for document in (*chain, *snapshot)})
    return Details(feed.since, months, first, last, _recent(connection, live), chain, snapshot, beside)


def kept_versions(connection: Connection, feed_id: int, entry_id: str) -> list[KeptVersion]:
    """Read all that is kept of an entry: what it is, then what it was, the newest first."""
    wanted = {"feed_id": feed_id, "id": entry_id}
    current = connection.execute(ENTRY, wanted).all()
    before = connection.execute(VERSIONS_BEFORE, {**wanted, "latest": latest_time(now())}).all()
    return [kept_version(row, number == 0) for number, row in enumerate([*current, *before])]


def _months(
    connection: Connection, live: ColumnElement[bool]
) -> tuple[dict[str, int], str | None, str | None]:
    time = func.coalesce(entries.c.published, entries.c.updated, counted_order(entries)[0])
    month = func.substr(time, 1, TO_THE_MONTH).label("month")
    counted = select(month, func.count(), func.min(time), func.max(time)).where(live).group_by(month.name)
    rows = sorted(tuple(row) for row in connection.execute(counted, {"latest": latest_time(now())}))
    dated = [row for row in rows if row[0]]
    first, last = (dated[0][2], dated[-1][3]) if dated else (None, None)
    return {row[0]: row[1] for row in rows}, first, last


def _recent(connection: Connection, live: ColumnElement[bool]) -> list[str]:
    counted, *_ = counted_order(entries)
    time = func.coalesce(entries.c.updated, entries.c.published, counted).label("time")
    newest = select(time).where(live).distinct().order_by(time.desc()).limit(RECENT)
    found = connection.execute(newest, {"latest": latest_time(now())})
    return [row.time for row in found if row.time]


def _documents(connection: Connection, feed_id: int) -> dict[int, Document]:
    columns = (documents.c["behind_id" if name == "behind" else name] for name in Document._fields)
    found = connection.execute(select(*columns).where(documents.c.feed_id == feed_id))
    return {row[0]: Document(*row) for row in found}


def _first(known: dict[int, Document], role: Role) -> int | None:
    return next((number for number, document in known.items() if document.role == role.value), None)


def _chain(known: dict[int, Document], start: int | None) -> Iterator[Document]:
    """The documents from one on, each once: a chain can be a loop."""
    seen = set()
    while start in known and start not in seen:
        seen.add(start)
        yield known[start]
        start = known[start].behind
