"""The store: what is known of each feed, its chain and its entries, in one database."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import create_engine, event, func, select, true
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError as SqlalchemyArgumentError
from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError

from fhcrawl.exceptions import StoreError
from fhcrawl.logical_feed import (
    Kind,
    Loss,
    Order,
    Place,
    Reason,
    Role,
    State,
    Verdict,
    Winner,
    verdict,
)
from fhcrawl.store import schema, statements
from fhcrawl.store.schema import changes, deliveries, documents, entries, feeds
from fhcrawl.store.statements import CONTENT, ORDER, TIMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import Connection, Engine, Row, Select

    from fhcrawl.logical_feed import Version, Visit

JSON_FIELDS = ("authors", "categories", "enclosures")
ROWS_AT_ONCE = 500
NOT_FETCHED = "has not been fetched yet"


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a walk has to know before it begins.

    :param location: where the subscription document is
    :param walk: number of the walk that begins
    :param behind: URL of the document behind the subscription document when it was last read
    :param body_digest: of the subscription document's bytes then; None if it is to be read again anyway
    """

    feed: str
    location: str
    walk: int
    behind: Step | None
    etag: str | None
    last_modified: str | None
    body_digest: str | None


class Step(NamedTuple):
    """A document to be fetched."""

    key: str
    url: str
    role: Role
    place: Place

    def plain(self) -> list[str | int]:
        """The same in values that a request can carry: key, URL, role, walk, step."""
        return [self.key, self.url, self.role.value, *self.place]


class End(NamedTuple):
    """What is behind a document: a step, or nothing, or (neither) a loop."""

    step: Step | None
    loop: bool


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed in the store.

    :param entries: how many live ones
    :param documents: how many in each state
    """

    feed: str
    title: str | None
    kind: Kind | None
    verdict: Verdict
    reasons: list[Reason]
    entries: int
    documents: dict[str, int]
    crawled: str | None


class Store:
    """A database with the tables of `fhcrawl.store.schema`.

    Every method raises `StoreError` if the database fails.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._upserts = statements.Upserts(engine.dialect.name)

    @classmethod
    def open(cls, url: str) -> Store:
        """Open the store at an SQLAlchemy URL; make its tables if there are none.

        :raises StoreError: if it cannot be opened, or was made by a newer fhcrawl
        """
        try:
            parsed = make_url(url)
            shown = parsed.render_as_string(hide_password=True)
        except SqlalchemyArgumentError as error:
            raise StoreError(
                "FHCRAWL_STORE_URL is not a database URL: write something like "
                "sqlite:////var/lib/fhcrawl/store.sqlite"
            ) from error
        if parsed.get_backend_name() not in statements.INSERTS:
            raise StoreError(
                f"FHCRAWL_STORE_URL names a database that fhcrawl does not know ({shown}): "
                f"write sqlite:///PATH or postgresql://…"
            )
        try:
            store = cls(_engine(url))
            store._prepare()
        except (SQLAlchemyError, NoSuchModuleError, ImportError) as error:
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
            schema.metadata.create_all(connection)
            version = connection.scalar(select(schema.store.c.schema_version))
            if version is None:
                connection.execute(
                    schema.store.insert().values(schema_version=schema.VERSION, runs=0)
                )
            elif version != schema.VERSION:
                raise StoreError(
                    f"The store has schema version {version}, and this fhcrawl knows "
                    f"{schema.VERSION}: use the fhcrawl that wrote it"
                )

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise StoreError(f"The store failed: {_cause(error)}") from error

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
                connection.execute(
                    feeds.insert().values(url=feed, location=feed, walk=0, run=run, since=now)
                )
                return Subscription(feed, feed, 1, None, None, None, None)
            connection.execute(feeds.update().where(feeds.c.id == row.id).values(run=run))
            subscription, behind = self._subscription(connection, row)
        processed = subscription is not None and subscription.state == State.PROCESSED.value
        return Subscription(
            feed,
            row.location,
            row.walk + 1,
            behind,
            row.etag if processed else None,
            row.last_modified if processed else None,
            row.body_digest if processed else None,
        )

    def _subscription(
        self, connection: Connection, feed: Row[Any]
    ) -> tuple[Row[Any] | None, Step | None]:
        row = connection.execute(
            select(documents).where(documents.c.id == feed.subscription_id)
        ).first()
        if row is None or row.behind_id is None:
            return row, None
        behind = connection.execute(
            select(documents).where(documents.c.id == row.behind_id)
        ).one()
        return row, _step(behind)

    def forget(self, feed: str) -> None:
        """Let every document of a feed count as not processed; its entries stay."""
        with self._transaction() as connection:
            feed_id = self._feed_id(connection, feed)
            connection.execute(
                documents.update()
                .where(documents.c.feed_id == feed_id)
                .values(state=State.KNOWN.value, reason=State.KNOWN.value, detail=NOT_FETCHED)
            )

    def confirm(self, feed: str, now: str) -> None:
        """Note that a feed's subscription document is still what it was."""
        with self._transaction() as connection:
            connection.execute(feeds.update().where(feeds.c.url == feed).values(crawled=now))

    def end_of(self, feed: str, key: str) -> End | None:
        """The first document that is not processed, at or behind one of a feed.

        :param key: of the document to begin at
        :return: None if the store does not know that document
        """
        with self._transaction() as connection:
            feed_id = self._feed_id(connection, feed)
            start = (documents.c.feed_id == feed_id) & (documents.c.key == key)
            if connection.scalar(select(documents.c.id).where(start)) is None:
                return None
            return _end(connection.execute(statements.chain_ends(start)).first())

    def place(self, feed: str, key: str) -> Place | None:
        """Where a document of a feed was last seen in the chain; None if it is not known."""
        with self._transaction() as connection:
            row = connection.execute(
                select(documents.c.walk, documents.c.step).where(
                    documents.c.feed_id == self._feed_id(connection, feed),
                    documents.c.key == key,
                    documents.c.state == State.PROCESSED.value,
                )
            ).first()
        return None if row is None else Place(row.walk, row.step)

    # -- documents --------------------------------------------------------------------------------

    def winners(self, feed: str, ids: list[str]) -> dict[str, Winner]:
        """The newest versions of some entries of a feed, by id."""
        with self._transaction() as connection:
            feed_id = self._feed_id(connection, feed)
            return self._winners(
                connection, statements.WINNERS_AMONG, {"feed_id": feed_id, "ids": ids}
            )

    @staticmethod
    def _winners(
        connection: Connection, statement: Select[Any], parameters: dict[str, object]
    ) -> dict[str, Winner]:
        return {
            row[0]: Winner(Order(*row[1:6]), row[6], bool(row[7]), row[8])
            for row in connection.execute(statement, parameters)
        }

    def commit(self, visit: Visit) -> int:
        """Store what a visit brought, and mark its document, in one transaction.

        :return: how many entries have been deleted, because a complete feed no longer has them
        """
        with self._transaction() as connection:
            feed_id = self._feed_id(connection, visit.feed)
            document_id = self._put_document(connection, feed_id, visit)
            self._put_entries(connection, feed_id, visit)
            if visit.role is Role.SUBSCRIPTION:
                self._put_subscription(connection, feed_id, document_id, visit)
            return self._delete_absent(connection, feed_id, visit)

    def lose(self, visit: Visit) -> None:
        """Note that a document could not be had; what was behind it stays known."""
        with self._transaction() as connection:
            self._put_document(connection, self._feed_id(connection, visit.feed), visit)

    def _put_document(self, connection: Connection, feed_id: int, visit: Visit) -> int:
        behind_id = self._put_behind(connection, feed_id, visit)
        row = _document_row(feed_id, visit, behind_id)
        connection.execute(self._upserts.document, row)
        found = connection.scalar(
            select(documents.c.id).where(
                documents.c.feed_id == feed_id, documents.c.key == visit.key
            )
        )
        assert found is not None
        return found

    def _put_behind(self, connection: Connection, feed_id: int, visit: Visit) -> int | None:
        if visit.behind is None:
            if visit.loss is None:
                return None
            # What a document said before it was lost still holds.
            return connection.scalar(
                select(documents.c.behind_id).where(
                    documents.c.feed_id == feed_id, documents.c.key == visit.key
                )
            )
        key = visit.behind_key or visit.behind.url
        place = visit.place.before()
        connection.execute(
            self._upserts.known_document,
            {
                "feed_id": feed_id,
                "key": key,
                "url": visit.behind.url,
                "role": visit.behind.role.value,
                "state": State.KNOWN.value,
                "walk": place.walk,
                "step": place.step,
                "lost_entries": 0,
                "reason": State.KNOWN.value,
                "detail": NOT_FETCHED,
                "since": visit.fetched,
            },
        )
        return connection.scalar(
            select(documents.c.id).where(documents.c.feed_id == feed_id, documents.c.key == key)
        )

    def _put_entries(self, connection: Connection, feed_id: int, visit: Visit) -> None:
        rows, new_changes, settled = [], [], []
        for entry_id, (version, fields) in visit.accepted.items():
            rows.append(_entry_row(feed_id, version, fields))
            before = visit.stored.get(entry_id)
            if before is not None and before.pending:
                if before.exported == version.digest:
                    settled.append({"b_feed_id": feed_id, "b_id": entry_id})
                continue
            exported = None if before is None else before.digest
            new_changes.append({"feed_id": feed_id, "id": entry_id, "exported_digest": exported})
        confirmed = [
            _times_row(feed_id, version, fields) for version, fields in visit.confirmed.values()
        ]
        for statement, parameters in (
            (self._upserts.entry, rows),
            (self._upserts.change, new_changes),
            (statements.SETTLE_CHANGE, settled),
            (statements.CONFIRM_ENTRY, confirmed),
        ):
            if parameters:
                connection.execute(statement, parameters)

    def _put_subscription(
        self, connection: Connection, feed_id: int, document_id: int, visit: Visit
    ) -> None:
        etag, last_modified, body_digest = visit.validators or (None, None, None)
        connection.execute(
            feeds.update()
            .where(feeds.c.id == feed_id)
            .values(
                location=visit.asked,
                title=visit.title,
                kind=visit.kind,
                walk=visit.place.walk,
                crawled=visit.fetched,
                etag=etag,
                last_modified=last_modified,
                body_digest=body_digest,
                subscription_id=document_id,
            )
        )

    # RFC 5005, 2: "any entry not actually in the feed document SHOULD NOT be considered part of that feed."
    def _delete_absent(self, connection: Connection, feed_id: int, visit: Visit) -> int:
        if visit.present is None or visit.loss is not None:
            return 0
        stored = self._winners(connection, statements.WINNERS, {"feed_id": feed_id})
        gone = {
            entry_id: winner
            for entry_id, winner in stored.items()
            if winner.digest and entry_id not in visit.present
        }
        if not gone:
            return 0
        walk, step = visit.place
        connection.execute(
            statements.DELETE_ENTRY,
            [{"b_feed_id": feed_id, "b_id": i, "walk": walk, "step": step} for i in gone],
        )
        never_exported = [i for i, w in gone.items() if w.pending and not w.exported]
        exported = {i: w.digest for i, w in gone.items() if not w.pending}
        if never_exported:
            connection.execute(
                statements.SETTLE_CHANGE,
                [{"b_feed_id": feed_id, "b_id": i} for i in never_exported],
            )
        if exported:
            connection.execute(
                self._upserts.change,
                [
                    {"feed_id": feed_id, "id": i, "exported_digest": digest}
                    for i, digest in exported.items()
                ],
            )
        return len(gone)

    # -- exports ----------------------------------------------------------------------------------

    def pending(self, run: int) -> Iterator[dict[str, Any]]:
        """The changes that no export holds yet, of the feeds of a run: entries, oldest first."""
        yield from self._entries(
            _ENTRIES.join(
                changes, (changes.c.feed_id == entries.c.feed_id) & (changes.c.id == entries.c.id)
            ).where(feeds.c.run == run)
        )

    def entries(self, urls: Iterable[str] = ()) -> Iterator[dict[str, Any]]:
        """The live entries of some feeds, or of all: feed by feed, oldest first."""
        chosen = list(urls)
        yield from self._entries(
            _ENTRIES.outerjoin(
                changes, (changes.c.feed_id == entries.c.feed_id) & (changes.c.id == entries.c.id)
            ).where(entries.c.digest != "", feeds.c.url.in_(chosen) if chosen else true())
        )

    def _entries(self, statement: Select[Any]) -> Iterator[dict[str, Any]]:
        statement = statement.add_columns(
            changes.c.id.label("change_id"), changes.c.exported_digest
        ).order_by(entries.c.feed_id, *(entries.c[name] for name in ORDER), entries.c.id)
        with self._transaction() as connection:
            streaming = connection.execution_options(yield_per=ROWS_AT_ONCE)
            for row in streaming.execute(statement):
                yield _fields(row)

    def begin_delivery(self, run: int, files: list[list[Any]]) -> int:
        """Note that a run's changes are written, but not yet under their names.

        :param files: [written file, its name to be, its inode] each
        """
        with self._transaction() as connection:
            result = connection.execute(
                deliveries.insert().values(run=run, files=json.dumps(files))
            )
            return int(result.inserted_primary_key[0])

    def deliveries(self) -> list[tuple[int, int, list[list[Any]]]]:
        """The deliveries that were begun and not ended: number, run and files."""
        with self._transaction() as connection:
            return [
                (row.id, row.run, json.loads(row.files))
                for row in connection.execute(select(deliveries))
            ]

    def end_delivery(self, run: int, number: int | None = None) -> None:
        """Note that all changes of a run's feeds have been exported."""
        with self._transaction() as connection:
            crawled = select(feeds.c.id).where(feeds.c.run == run)
            connection.execute(changes.delete().where(changes.c.feed_id.in_(crawled)))
            if number is not None:
                self._drop_delivery(connection, number)

    def cancel_delivery(self, number: int) -> None:
        """Note that a delivery has come to nothing."""
        with self._transaction() as connection:
            self._drop_delivery(connection, number)

    @staticmethod
    def _drop_delivery(connection: Connection, number: int) -> None:
        connection.execute(deliveries.delete().where(deliveries.c.id == number))

    # -- verdicts ---------------------------------------------------------------------------------

    def feeds(self, run: int | None = None) -> Iterator[Feed]:
        """The feeds of a run, or all, by URL, with their verdicts."""
        wanted = select(feeds).order_by(feeds.c.url)
        if run is not None:
            wanted = wanted.where(feeds.c.run == run)
        with self._transaction() as connection:
            for row in connection.execution_options(yield_per=ROWS_AT_ONCE).execute(wanted):
                yield self._feed(row)

    def _feed(self, row: Row[Any]) -> Feed:
        with self._transaction() as connection:
            kind = None if row.kind is None else Kind(row.kind)
            reached, reasons = verdict(row.url, kind, row.since, self._gaps(connection, row))
            live = (entries.c.feed_id == row.id) & (entries.c.digest != "")
            count = connection.scalar(select(func.count()).select_from(entries).where(live))
            states = connection.execute(
                select(documents.c.state, func.count())
                .where(documents.c.feed_id == row.id)
                .group_by(documents.c.state)
                .order_by(documents.c.state)
            )
            return Feed(
                row.url,
                row.title,
                kind,
                reached,
                reasons,
                count or 0,
                {state: number for state, number in states},
                row.crawled,
            )

    def _gaps(self, connection: Connection, feed: Row[Any]) -> Iterator[Reason]:
        """What is missing of a feed: the end of its chain that is none, and entries that were lost."""
        start = documents.c.id == feed.subscription_id
        if feed.subscription_id is None:
            start = (documents.c.feed_id == feed.id) & (
                documents.c.role == Role.SUBSCRIPTION.value
            )
        ends = connection.execute(statements.chain_ends(start)).all()
        for row in ends:
            if row.state != State.PROCESSED.value:
                yield Reason(row.reason, row.url, row.detail, row.since)
        if not ends:
            detail = "has not been fetched yet" if feed.subscription_id is None else "loops"
            kind = "known" if feed.subscription_id is None else "loop"
            yield Reason(kind, feed.url, detail, feed.since)
        losing = select(documents).where(
            documents.c.feed_id == feed.id, documents.c.lost_entries > 0
        )
        for row in connection.execute(losing.order_by(documents.c.id)):
            detail = f"has {row.lost_entries} entries without an id, which cannot be kept"
            yield Reason("entries-lost", row.url, detail, row.fetched)

    @staticmethod
    def _feed_id(connection: Connection, feed: str) -> int:
        found = connection.scalar(select(feeds.c.id).where(feeds.c.url == feed))
        if found is None:
            raise StoreError(f"The store does not know the feed {feed}")
        return found


_ENTRIES = select(
    feeds.c.url.label("feed"),
    entries.c.id,
    *(entries.c[name] for name in (*CONTENT, *TIMES)),
    entries.c.digest,
).join_from(entries, feeds, feeds.c.id == entries.c.feed_id)


def _engine(url: str) -> Engine:
    engine = create_engine(url)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _configure_sqlite)
    return engine


def _configure_sqlite(connection: Any, record: Any) -> None:
    cursor = connection.cursor()
    # https://www.sqlite.org/wal.html: readers do not wait for the writer, and a commit survives a
    # process that dies.
    cursor.execute("PRAGMA busy_timeout = 30000")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.close()


def _cause(error: BaseException) -> str:
    return str(getattr(error, "orig", None) or error).splitlines()[0]


def _step(row: Row[Any]) -> Step:
    return Step(row.key, row.url, Role(row.role), Place(row.walk, row.step))


def _end(row: Row[Any] | None) -> End:
    if row is None:
        return End(None, loop=True)
    if row.state == State.PROCESSED.value:
        return End(None, loop=False)
    return End(_step(row), loop=False)


def _document_row(feed_id: int, visit: Visit, behind_id: int | None) -> dict[str, object]:
    loss = visit.loss or Loss(State.PROCESSED, "", "")
    return {
        "feed_id": feed_id,
        "key": visit.key,
        "url": visit.asked,
        "role": visit.role.value,
        "state": loss.state.value,
        "walk": visit.place.walk,
        "step": visit.place.step,
        "behind_id": behind_id,
        "updated": visit.updated,
        "lost_entries": visit.lost_entries,
        "reason": loss.kind or None,
        "detail": loss.detail or None,
        "since": visit.fetched if visit.loss else None,
        "fetched": visit.fetched,
    }


def _order_columns(version: Version) -> dict[str, object]:
    return dict(zip(ORDER, version.order, strict=True))


def _entry_row(feed_id: int, version: Version, fields: dict[str, Any]) -> dict[str, object]:
    row = {name: fields[name] for name in (*CONTENT, *TIMES)}
    for name in JSON_FIELDS:
        row[name] = json.dumps(row[name], ensure_ascii=False)
    row["feed_id"] = feed_id
    row["id"] = version.id
    row["digest"] = version.digest
    row.update(zip(ORDER, version.order, strict=True))
    return row


def _times_row(feed_id: int, version: Version, fields: dict[str, Any]) -> dict[str, object]:
    return {
        "b_feed_id": feed_id,
        "b_id": version.id,
        **{name: fields[name] for name in TIMES},
        **_order_columns(version),
    }


def _fields(row: Row[Any]) -> dict[str, Any]:
    """A stored entry's fields, with the change since it was last exported."""
    fields = dict(row._mapping)
    for name in JSON_FIELDS:
        fields[name] = json.loads(fields[name])
    digest, exported = fields.pop("digest"), fields.pop("exported_digest")
    if fields.pop("change_id") is None:
        fields["change"] = None
    elif not digest:
        fields["change"] = "deleted"
    else:
        fields["change"] = "updated" if exported else "new"
    return fields
