"""The store: what is known of each feed, its chain and its entries, in one database."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event, func, select, true
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError as UrlError
from sqlalchemy.exc import SQLAlchemyError

from fhcrawl.exceptions import StoreError
from fhcrawl.logical_feed import Kind, Reason, Role, verdict
from fhcrawl.store import migrations, rows, schema, statements
from fhcrawl.store.committing import Commit
from fhcrawl.store.rows import NOT_FETCHED, End, Feed, Step, Subscription
from fhcrawl.store.schema import changes, deliveries, documents, entries, feeds
from fhcrawl.store.statements import ORDER
from fhcrawl.visit import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from sqlalchemy import URL, Connection, Engine, Row, Select

    from fhcrawl.logical_feed import Winner
    from fhcrawl.visit import Visit

ROWS_AT_ONCE = 500
IDS_AT_ONCE = 500
FEEDS_REMEMBERED = 10_000
# How long another process's transaction is waited for; `timeout` in the URL says otherwise.
BUSY_SECONDS = 30
WRITES = "fhcrawl_writes"


class Store:
    """A database with the tables of `fhcrawl.store.schema`.

    Every method raises `StoreError` if the database fails.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._writer = engine.execution_options(**{WRITES: True})
        self._upserts = statements.Upserts(engine.dialect)
        self._feed_ids: dict[str, int] = {}

    @classmethod
    def open(cls, url: str) -> Store:
        """Open the store at an SQLAlchemy URL; make its tables if there are none, migrate older ones.

        :raises StoreError: if it cannot be opened, or was written by a newer fhcrawl
        """
        parsed = _parsed(url)
        try:
            store = cls(_engine(parsed))
            store._prepare()
        except (SQLAlchemyError, ImportError) as error:
            shown = parsed.render_as_string(hide_password=True)
            raise StoreError(
                f"The store cannot be opened: {shown} ({_cause(error)}); "
                f"make its folder, or set FHCRAWL_STORE_URL to another place"
            ) from error
        return store

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _prepare(self) -> None:
        with self._engine.begin() as connection:
            is_current = migrations.is_current(connection)
        if not is_current:
            with self._writer.begin() as connection:
                migrations.prepare(connection)

    @contextmanager
    def _transaction(self, engine: Engine | None = None) -> Iterator[Connection]:
        try:
            with (engine or self._writer).begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise StoreError(f"The store failed: {_cause(error)}") from error

    def _snapshot(self) -> AbstractContextManager[Connection]:
        """A transaction that only reads, and waits for no writer."""
        return self._transaction(self._engine)

    # -- runs and walks ---------------------------------------------------------------------------

    def begin_run(self) -> int:
        """Number of a new crawl."""
        with self._transaction() as connection:
            connection.execute(schema.store.update().values(runs=schema.store.c.runs + 1))
            return connection.scalar(select(schema.store.c.runs)) or 0

    def begin_walk(self, feed: str, run: int, now: str) -> Subscription:
        """What is known of a feed, whose next walk is part of a run.

        :param feed: URL of the subscription document, as the user gave it
        :param now: ISO 8601 in UTC
        """
        with self._transaction() as connection:
            row = connection.execute(select(feeds).where(feeds.c.url == feed)).first()
            if row is None:
                connection.execute(feeds.insert().values(url=feed, location=feed, walk=0, run=run, since=now))
                return Subscription(feed, feed, walk=1)
            connection.execute(feeds.update().where(feeds.c.id == row.id).values(run=run))
            document = _document(connection, row.subscription_id)
            if document is None or document.state != State.PROCESSED.value:
                return Subscription(feed, row.location, row.walk + 1, crawled=row.crawled)
            behind = _document(connection, document.behind_id)
        return Subscription(
            feed,
            row.location,
            row.walk + 1,
            None if behind is None else Step.of(behind),
            row.etag,
            row.last_modified,
            row.body_digest,
            row.crawled,
        )

    def forget(self, feed: str, now: str) -> None:
        """Let every document of a feed count as not processed; its entries stay."""
        known = select(feeds.c.id).where(feeds.c.url == feed).scalar_subquery()
        unread = {
            "state": State.KNOWN.value,
            "reason": State.KNOWN.value,
            "detail": NOT_FETCHED,
            "since": now,
        }
        with self._transaction() as connection:
            connection.execute(documents.update().where(documents.c.feed_id == known).values(unread))

    def confirm(self, visit: Visit) -> None:
        """Note that a feed's subscription document is still what it was."""
        walk = visit.place.walk
        with self._transaction() as connection:
            feed_id = self._feed_id(connection, visit.feed)
            of_feed = feeds.c.id == feed_id
            connection.execute(feeds.update().where(of_feed).values(crawled=visit.fetched, walk=walk))
            number = select(feeds.c.subscription_id).where(of_feed).scalar_subquery()
            connection.execute(documents.update().where(documents.c.id == number).values(walk=walk))

    def end_of(self, feed: str, key: str, role: Role, run: int) -> End | None:
        """The first document that is not processed, at or behind one of a feed.

        :param key: of the document to begin at
        :param role: what the link that leads there says that it is
        :param run: number of this crawl: a chain that comes to the subscription document read in it is a loop
        :return: None if the store does not know that document, or knows it as something else
        """
        with self._snapshot() as connection:
            row = rows.find_document(connection, self._feed_id(connection, feed), key)
            if row is None:
                return None
            if row.role != role.value:
                return End(None, loop=True) if row.run == run else None
            return End.of(connection.execute(statements.CHAIN_ENDS, {"start": row.id}).first())

    def step(self, feed: str, key: str) -> Step | None:
        """A document of a feed; None if it is not known."""
        with self._snapshot() as connection:
            row = rows.find_document(connection, self._feed_id(connection, feed), key)
        return None if row is None else Step.of(row)

    # -- documents --------------------------------------------------------------------------------

    def winners(self, feed: str, ids: list[str]) -> dict[str, Winner]:
        """The newest versions of some entries of a feed, by id."""
        found: dict[str, Winner] = {}
        with self._snapshot() as connection:
            feed_id = self._feed_id(connection, feed)
            # Databases have a limit of parameters; SQLite's was 999 for long.
            for begin in range(0, len(ids), IDS_AT_ONCE):
                parameters = {"feed_id": feed_id, "ids": ids[begin : begin + IDS_AT_ONCE]}
                found |= rows.winners(connection, statements.WINNERS_AMONG, parameters)
        return found

    def commit(self, visit: Visit) -> int:
        """Store what a visit brought, and mark its document, in one transaction.

        :return: how many entries have been deleted, because a complete feed no longer has them
        """
        with self._transaction() as connection:
            return self._commit(connection, visit).write()

    def lose(self, visit: Visit) -> None:
        """Note that a document could not be had; what was behind it stays known."""
        with self._transaction() as connection:
            self._commit(connection, visit).write_loss()

    def _commit(self, connection: Connection, visit: Visit) -> Commit:
        return Commit(connection, self._upserts, self._feed_id(connection, visit.feed), visit)

    # -- exports ----------------------------------------------------------------------------------

    def pending(self, run: int) -> Iterator[dict[str, Any]]:
        """The changes that no export holds yet, of the feeds of a run: entries, oldest first."""
        yield from self._entries((feeds.c.run == run) & changes.c.id.is_not(None), only_changed=True)

    def entries(self, urls: Iterable[str] = ()) -> Iterator[dict[str, Any]]:
        """The live entries of some feeds, or of all: feed by feed, oldest first."""
        chosen = list(urls)
        of_feeds = feeds.c.url.in_(chosen) if chosen else true()
        yield from self._entries((entries.c.digest != "") & of_feeds, only_changed=False)

    def _entries(self, where: Any, only_changed: bool) -> Iterator[dict[str, Any]]:
        statement = (
            statements.ENTRIES.join(
                changes,
                (changes.c.feed_id == entries.c.feed_id) & (changes.c.id == entries.c.id),
                isouter=not only_changed,
            )
            .where(where)
            .order_by(entries.c.feed_id, *(entries.c[name] for name in ORDER), entries.c.id)
        )
        with self._snapshot() as connection:
            for row in _stream(connection, statement):
                yield rows.exported_fields(row)

    def begin_delivery(self, run: int, files: list[list[Any]]) -> int:
        """Note that a run's changes are written, but not yet under their names; the delivery's number.

        :param files: a `delivery.WrittenFile` each
        """
        noted = deliveries.insert().values(run=run, files=json.dumps(files))
        with self._transaction() as connection:
            return int(connection.execute(noted.returning(deliveries.c.id)).scalar_one())

    def deliveries(self) -> list[tuple[int, int, list[list[Any]]]]:
        """The deliveries that were begun and not ended: number, run and files."""
        with self._snapshot() as connection:
            begun = connection.execute(select(deliveries).order_by(deliveries.c.id)).all()
        return [(row.id, row.run, json.loads(row.files)) for row in begun]

    def end_delivery(self, run: int, number: int) -> None:
        """Note that all changes of a run's feeds have been exported."""
        crawled = select(feeds.c.id).where(feeds.c.run == run)
        with self._transaction() as connection:
            connection.execute(changes.delete().where(changes.c.feed_id.in_(crawled)))
            connection.execute(deliveries.delete().where(deliveries.c.id == number))

    def cancel_delivery(self, number: int) -> None:
        """Note that a delivery has come to nothing."""
        with self._transaction() as connection:
            connection.execute(deliveries.delete().where(deliveries.c.id == number))

    # -- verdicts ---------------------------------------------------------------------------------

    def feeds(self, run: int | None = None) -> Iterator[Feed]:
        """The feeds of a run, or all, by URL, with their verdicts."""
        of_run = true() if run is None else feeds.c.run == run
        with self._snapshot() as connection:
            for row in _stream(connection, select(feeds).where(of_run).order_by(feeds.c.url)):
                yield self._feed(row)

    def _feed(self, row: Row[Any]) -> Feed:
        kind = None if row.kind is None else Kind(row.kind)
        live = (entries.c.feed_id == row.id) & (entries.c.digest != "")
        of_feed = documents.c.feed_id == row.id
        with self._snapshot() as connection:
            if kind is Kind.ARCHIVED and _is_paged(connection, row):
                kind = Kind.PAGED
            since = row.crawled or row.since
            reached, reasons = verdict(row.url, kind, since, _gaps(connection, row))
            states = connection.execute(
                select(documents.c.state, func.count())
                .where(of_feed)
                .group_by(documents.c.state)
                .order_by(documents.c.state)
            ).all()
            count = connection.scalar(select(func.count()).select_from(entries).where(live)) or 0
        by_state = {state: number for state, number in states}  # noqa: C416
        return Feed(row.url, row.title, kind, reached, reasons, count, by_state, row.crawled)

    def _feed_id(self, connection: Connection, feed: str) -> int:
        if (known := self._feed_ids.get(feed)) is not None:
            return known
        found: int | None = connection.scalar(select(feeds.c.id).where(feeds.c.url == feed))
        if found is None:
            raise StoreError(f"The store does not know the feed {feed}")
        if len(self._feed_ids) >= FEEDS_REMEMBERED:
            self._feed_ids.clear()
        self._feed_ids[feed] = found
        return found


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except UrlError as error:
        raise StoreError(
            "FHCRAWL_STORE_URL is not a database URL: write something like "
            "sqlite:////var/lib/fhcrawl/store.sqlite"
        ) from error
    if parsed.get_backend_name() not in statements.DATABASES:
        raise StoreError(
            f"FHCRAWL_STORE_URL names a database that fhcrawl does not know, "
            f"{parsed.get_backend_name()}: write sqlite:///PATH or postgresql://…"
        )
    return parsed


def _engine(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        return create_engine(url)
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS})
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _configure_sqlite(connection: Any, record: Any) -> None:
    # The module would begin transactions by itself, and not before a change of the schema.
    connection.isolation_level = None
    # Entries are rows of one or two thousand bytes: most of a page of 4096 would be wasted.
    connection.execute("PRAGMA page_size = 16384")
    # https://www.sqlite.org/wal.html: readers do not wait for the writer, and a commit survives a
    # process that dies.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA wal_autocheckpoint = 1000")


# https://www.sqlite.org/lang_transaction.html: a transaction that has read and begins to write fails at once,
# without a wait, if another process has written meanwhile; one that begins with IMMEDIATE waits.
def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _cause(error: BaseException) -> str:
    return str(getattr(error, "orig", None) or error).splitlines()[0]


def _stream(connection: Connection, statement: Select[Any]) -> Iterable[Row[Any]]:
    """A statement's rows, without holding all of them in memory."""
    return connection.execution_options(yield_per=ROWS_AT_ONCE).execute(statement)


def _document(connection: Connection, number: int | None) -> Row[Any] | None:
    return connection.execute(select(documents).where(documents.c.id == number)).first()


def _gaps(connection: Connection, feed: Row[Any]) -> Iterator[Reason]:
    """What is missing of a feed: the end of its chain that is none, and entries that were lost."""
    start = documents.c.id == feed.subscription_id
    if feed.subscription_id is None:
        start = (documents.c.feed_id == feed.id) & (documents.c.role == Role.SUBSCRIPTION.value)
    ends = connection.execute(statements.chain_ends(start)).all()
    for row in ends:
        if row.state != State.PROCESSED.value:
            yield Reason(row.reason, row.url, row.detail, row.since)
    if not ends and feed.subscription_id is None:
        yield Reason(State.KNOWN.value, feed.url, NOT_FETCHED, feed.since)
    elif not ends:
        yield Reason("loop", feed.url, "has a chain that is a loop", feed.since)
    for row in connection.execute(statements.losing_entries(start)):
        detail = f"has entries that cannot be kept: {row.lost_entries}"
        yield Reason("entries-lost", row.url, detail, row.fetched)


def _is_paged(connection: Connection, feed: Row[Any]) -> bool:
    """Whether the chain of an archived feed goes on over pages."""
    end = connection.execute(statements.CHAIN_ENDS, {"start": feed.subscription_id}).first()
    return end is not None and end.role == Role.PAGE.value
