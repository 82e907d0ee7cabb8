"""The store: what is known of each feed, its chain and its entries, in one database."""

from __future__ import annotations

import dataclasses
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import func, literal, select, true

from fhcrawl.exceptions import LeaseError, StoreError
from fhcrawl.logical_feed import Kind, Role
from fhcrawl.logical_feed.visit import State
from fhcrawl.store import (
    copying,
    exports,
    leases,
    lists,
    opening,
    rows,
    schedules,
    schema,
    statements,
    verdicts,
    walks,
)
from fhcrawl.store.chains import Chains, Question, What
from fhcrawl.store.committing import Before, Commit
from fhcrawl.store.database import Database
from fhcrawl.store.details import Details, details, kept_versions
from fhcrawl.store.leases import Leases
from fhcrawl.store.rows import NOT_FETCHED, Capture, End, Feed, KeptVersion, Step, StoredVersion, Subscription
from fhcrawl.store.schema import Keyed, captures, documents, feeds
from fhcrawl.store.upserts import Upserts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sqlalchemy import URL, ColumnElement, Connection

    from fhcrawl.documents.lists import Listed
    from fhcrawl.logical_feed import Winner
    from fhcrawl.logical_feed.polling import Limits
    from fhcrawl.logical_feed.visit import Visit
    from fhcrawl.store.pipeline import Pipeline
    from fhcrawl.store.prepared import Executes
    from fhcrawl.store.verdicts import Said

T = TypeVar("T")

CHAIN = (Role.SUBSCRIPTION, Role.ARCHIVE, Role.PAGE)
FEEDS_REMEMBERED = 10_000
FEEDS_AT_ONCE = 200


class Store:
    """A database with the tables of `fhcrawl.store.schema`.

    Every method raises `StoreError` if the database fails. With `keeps_versions`, what entries were before
    is kept too.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._winners_among = statements.WinnersAmong(database.dialect)
        self._feed_ids: dict[str, int] = {}
        self._leases: Leases | None = None
        self.keeps_versions = False

    # Their statements take longer to build than a look at the store, as before a crawl.
    @cached_property
    def _chains(self) -> Chains:
        return Chains(self._database.dialect)

    @cached_property
    def _upserts(self) -> Upserts:
        return Upserts(self._database.dialect)

    @classmethod
    def open_to_read(cls, url: str) -> Store:
        """Open the store, even if it is a file in a folder where nothing can be written.

        :raises StoreError: if it cannot be opened
        """
        try:
            return cls.open(url)
        except StoreError:
            still = opening.immutable(opening.parsed(url))
            if still is None:
                raise
            return cls.open(still)

    @classmethod
    def open(cls, url: str | URL) -> Store:
        """Open the store at an SQLAlchemy URL; make its tables if there are none, migrate older ones.

        :raises StoreError: if it cannot be opened, or was written by a newer fhcrawl
        """
        return cls(Database.open(url))

    @property
    def place(self) -> str:
        """Its URL, without passwords."""
        return self._database.place

    def close(self) -> None:
        """End the run, if one has begun, and close all connections."""
        try:
            self.end_run()
        finally:
            self._database.close()

    def end_run(self) -> None:
        """End the run, if one has begun."""
        ended, self._leases = self._leases, None
        if ended is not None:
            with self._database.transaction() as connection:
                ended.end(connection)

    @contextmanager
    def _one_by_one(self, feed_id: int) -> Iterator[Connection]:
        """A transaction for a feed of this run."""
        with self._database.transaction() as connection:
            self._living().check(connection, feed_id)
            yield connection

    def _together(
        self,
        pipeline: Pipeline,
        feed_id: int,
        write: Callable[[Executes], T],
        done: Callable[[T | Exception], None],
    ) -> None:
        """A transaction for a feed of this run, which goes to the database at once, and is not waited for.

        None of its statements has a result.
        """
        batch = pipeline.batch()
        self._living().fence(batch, feed_id)
        written = write(batch)
        self._database.send(pipeline, batch, lambda error: done(written if error is None else error))

    def settle(self) -> None:
        """Wait until all that was sent has been answered."""
        self._database.settle()

    def check_writable(self) -> None:
        """Write something that changes nothing."""
        with self._database.transaction() as connection:
            connection.execute(schema.store.update().values(runs=schema.store.c.runs))

    def copy_to(self, target: Store) -> dict[str, int]:
        """Copy everything to a store that is empty; how many rows, by table.

        :raises StoreError: if there is nothing here, or something there
        """
        with self._database.still() as connection, target._database.transaction() as other:
            return copying.copy(connection, other)

    # -- runs and walks ---------------------------------------------------------------------------

    def begin_run(self, job: str | None = None, lease_seconds: int = leases.SECONDS) -> int:
        """Number of a new crawl.

        :param job: its processes may share feeds; None: this one shares with nobody
        :param lease_seconds: how long it keeps its feeds from others after it was last heard of
        """
        with self._database.transaction() as connection:
            run = _next_number(connection)
            self._leases = Leases(run, job, lease_seconds)
            self._leases.begin(connection)
        return run

    def renumber(self, known: Subscription) -> Subscription:
        """The same with a number that no run has: what was read before in this one may be read again."""
        with self._database.transaction() as connection:
            return dataclasses.replace(known, run=_next_number(connection))

    # -- the processes of a job -------------------------------------------------------------------

    def job_lives(self, job: str) -> bool:
        """Whether any process of a job does."""
        with self._database.lookup() as connection:
            return leases.lives(connection, job)

    def overdue(self, runs: list[int]) -> set[int]:
        """Those of some runs that have ended, or were not heard of for too long."""
        with self._database.lookup() as connection:
            return leases.overdue(connection, runs)

    def inherit(self, dead: int) -> None:
        """Answer for the feeds of a run of the same job, which from now on writes nothing.

        :raises StoreError: also if it is in the middle of writing; another try may do
        """
        with self._database.transaction() as connection:
            if connection.dialect.name == schema.POSTGRESQL:
                connection.exec_driver_sql("SET LOCAL lock_timeout = '1s'")
            self._living().inherit(connection, dead)

    def hand_over(self, heir: int) -> None:
        """Let another run of the same job answer for the feeds of this one."""
        with self._database.transaction() as connection:
            self._living().hand_over(connection, heir)

    @property
    def pause(self) -> float:
        """How often `renew` has to be called, in seconds."""
        return self._living().pause

    def renew(self) -> None:
        """Say that the run lives, if it has not been said for that long."""
        with self._database.transaction() as connection:
            self._living().renew(connection)

    def begin_walk(self, feed: str, run: int, now: str) -> Subscription:
        """What is known of a feed, whose next walk is part of a run.

        :param feed: URL of the subscription document, as the user gave it
        :param now: ISO 8601 in UTC
        :raises LeaseError: if another crawl is at work on it
        :raises BegunError: if this job has begun its walk
        """
        known = self.begin_walks([feed], run, now)[feed]
        if isinstance(known, LeaseError):
            raise known
        return known

    def begin_walks(self, urls: list[str], run: int, now: str) -> dict[str, Subscription | LeaseError]:
        """The same of feeds, all or none of them; why a feed is left alone is in its place.

        :param urls: of `FEEDS_AT_ONCE` feeds at most
        """
        with self._database.transaction() as connection:
            begun = walks.begin(connection, self._upserts, self._living(), urls, run, now)
        self._remember({url: number for number, (url, _known) in begun.items()})
        return dict(begun.values())

    def known(self, feed: str) -> Subscription:
        """What is known of a feed whose walk has begun."""
        with self._database.snapshot() as connection:
            return walks.known(connection, feed)

    def forget(self, feed: str, now: str) -> None:
        """Let every document of a feed count as not processed; its entries stay.

        :raises LeaseError: if another crawl is at work on it
        """
        known = select(feeds.c.id).where(statements.is_of(feed)).scalar_subquery()
        unread = {
            "state": State.KNOWN.value,
            "reason": State.KNOWN.value,
            "detail": NOT_FETCHED,
            "since": now,
        }
        with self._database.transaction() as connection:
            walks.claim(connection, self._living(), feed)
            connection.execute(documents.update().where(documents.c.feed_id == known).values(unread))

    def end_of(self, feed: str, key: str, role: Role, run: int) -> End | None:
        """The first document that is not processed, at or behind one of a feed.

        :param key: of the document to begin at
        :param role: what the link that leads there says that it is
        :param run: number of this crawl: a chain that comes to the subscription document read in it is a loop
        :return: None if the store does not know that document, or knows it as something else
        """
        row = self._of_chain(Question(What.END, feed, key))
        if row is None:
            return None
        if row.start_role != role.value:
            return End(None, loop=True) if row.start_run == run else None
        return End.of(None if row.state is None else row)

    def _of_chain(self, question: Question) -> Any:
        """The row that is the answer; None if there is none."""
        if self._chains.knows(question):
            return self._chains.row(question)
        with self._database.lookup() as connection:
            feed_id = self._feed_id(connection, question.feed)
            return self._chains.execute(connection, feed_id, question).first()

    def step(self, feed: str, key: str) -> Step | None:
        """A document of a feed; None if it is not known."""
        row = self._of_chain(Question(What.DOCUMENT, feed, key))
        return None if row is None else Step.of(row)

    def first_unread(self, feed: str, parts: list[Listed]) -> int:
        """The position of the first document of a list that is not processed; if none is, their number."""
        with self._database.lookup() as connection:
            return lists.first_unread(connection, self._feed_id(connection, feed), parts)

    def part_behind(self, feed: str, key: str) -> Step | None:
        """The first document behind one of a list that is not processed; None if all are."""
        with self._database.lookup() as connection:
            row = rows.find_document(connection, self._feed_id(connection, feed), key)
            return None if row is None else lists.unread_behind(connection, row)

    def front_of(self, feed: str, key: str) -> str | None:
        """URL of a document whose link leads to another one of the feed; None if the store knows none."""
        with self._database.lookup() as connection:
            parameters = {"feed_id": self._feed_id(connection, feed), "key": key}
            found: str | None = connection.scalar(statements.FRONT_OF, parameters)
        return found

    def has_feed(self, feed: str) -> bool:
        """Whether the store knows a feed."""
        with self._database.snapshot() as connection:
            return connection.scalar(select(feeds.c.id).where(statements.is_of(feed))) is not None

    def kind_of(self, feed: str) -> Kind | None:
        """What a feed was when it was last read; None if it never was."""
        with self._database.snapshot() as connection:
            kind = connection.scalar(select(feeds.c.kind).where(statements.is_of(feed)))
        return None if kind is None else Kind(kind)

    def urls_of(self, feed: str) -> Iterator[tuple[str, Role]]:
        """Where the documents of a feed's chain are, and what they are; the subscription document first."""
        with self._database.snapshot() as connection:
            feed_id = self._feed_id(connection, feed)
            yield feed, Role.SUBSCRIPTION
            polled = select(feeds.c.location).where(feeds.c.id == feed_id)
            yield connection.execute(polled).scalar_one(), Role.SUBSCRIPTION
            of_chain = documents.c.role.in_(role.value for role in CHAIN)
            chain = select(documents.c.url, documents.c.role).where(documents.c.feed_id == feed_id, of_chain)
            for row in opening.stream(connection, chain):
                yield row.url, Role(row.role)

    # -- documents --------------------------------------------------------------------------------

    def winners(self, feed: str, ids: list[str], latest: str) -> dict[str, Winner]:
        """The newest versions of some entries of a feed, by id, when times until `latest` count."""
        found: dict[str, Winner] = {}
        with self._database.lookup() as connection:
            feed_id = self._feed_id(connection, feed)
            for some in statements.some_at_once(ids):
                found |= rows.winners(self._winners_among.execute(connection, feed_id, some), latest)
        return found

    def versions_of(self, feed: str, entry_id: str) -> list[KeptVersion]:
        """All that is kept of an entry: what it is, then what it was, the newest first."""
        with self._database.snapshot() as connection:
            return kept_versions(connection, self._feed_id(connection, feed), entry_id)

    def compare(self, visit: Visit) -> None:
        """Note in a visit what the store has of its entries.

        In PostgreSQL, what `step` and `end_of` will be asked of the chain behind it is looked up with that.
        """
        ids = list({version.id for version in (*visit.versions, *visit.deletions)})
        self._chains.forget()
        pipeline = self._database.pipeline
        if pipeline is None or (feed_id := self._feed_ids.get(visit.feed)) is None:
            visit.stored = self.winners(visit.feed, ids, visit.latest)
            return
        batch = pipeline.batch()
        self._winners_among.execute(batch, feed_id, ids)
        self._chains.ask_ahead(batch, feed_id, visit)
        winners, *found = self._database.ask(pipeline, batch)
        visit.stored = rows.winners(winners, visit.latest)
        self._chains.note(found)

    def commit(self, visit: Visit) -> int:
        """Store what a visit brought, and mark its document, in one transaction.

        :return: how many entries have been deleted, because a complete feed no longer has them
        :raises LeaseError: if another crawl has taken the feed over
        """
        return self._written(visit, Commit.write)

    def send(self, visit: Visit, done: Callable[[int | Exception], None]) -> None:
        """The same, without a wait for PostgreSQL's answer.

        Whatever is asked of the store from then on sees what has come of it.

        :param done: is called with what `commit` returns or raises, during this call or another one of this
            store, or by the event loop; `settle` waits for that
        """
        self._write(visit, Commit.write, done)

    def commit_piece(self, visit: Visit, is_first: bool) -> None:
        """Store the entries of a piece of a large document, behind which there are more.

        The document counts as unread, whatever it was, until `commit` has marked it.

        :param is_first: no piece of it has been stored
        :raises LeaseError: if another crawl has taken the feed over
        """
        self._written(visit, partial(Commit.write_piece, is_first=is_first), is_piece=True)

    def lose(self, visit: Visit) -> None:
        """Note that a document could not be had; what was behind it stays known.

        :raises LeaseError: if another crawl has taken the feed over
        """
        self._written(visit, Commit.write_loss)

    def confirm(self, visit: Visit) -> None:
        """Note that a feed's subscription document is still what it was.

        :raises LeaseError: if another crawl has taken the feed over
        """
        self._written(visit, Commit.write_confirmation)

    def _written(self, visit: Visit, write: Callable[[Commit], T], is_piece: bool = False) -> T:
        answers: list[T | Exception] = []
        self._write(visit, write, answers.append, is_piece)
        self.settle()
        [answer] = answers
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _write(
        self,
        visit: Visit,
        write: Callable[[Commit], T],
        done: Callable[[T | Exception], None],
        is_piece: bool = False,
    ) -> None:
        self._chains.forget()
        answer: T | Exception
        try:
            before = self._before(visit, is_piece)

            def written(connection: Executes) -> T:
                return write(Commit(connection, self._upserts, before, visit, self.keeps_versions))

            # What a snapshot replaces depends on what is in the store at the very end.
            pipeline = self._database.pipeline
            if pipeline is not None and visit.replaces is None:
                self._together(pipeline, before.feed_id, written, done)
                return
            with self._one_by_one(before.feed_id) as connection:
                answer = written(connection)
        except Exception as error:  # noqa: BLE001 - it is for who is done
            answer = error
        done(answer)

    def _before(self, visit: Visit, is_piece: bool) -> Before:
        matters = Before.matters(visit) and not is_piece
        known = self._feed_ids.get(visit.feed)
        if known is not None and not matters:
            return Before(known, {}, [])
        with self._database.lookup() as connection:
            feed_id = self._feed_id(connection, visit.feed)
            return Before.read(connection, feed_id, visit) if matters else Before(feed_id, {}, [])

    # -- WARC files -------------------------------------------------------------------------------

    def capture_of(self, url: str) -> Capture | None:
        """The last capture of a URL; None if there is none."""
        return self._capture(Keyed(captures.c.url) == Keyed(literal(url)))

    def capture_with(self, digest: str) -> Capture | None:
        """A capture whose body has a digest; None if there is none."""
        return self._capture(captures.c.digest == digest)

    def _capture(self, where: ColumnElement[bool]) -> Capture | None:
        with self._database.snapshot() as connection:
            row = connection.execute(select(captures).where(where).limit(1)).first()
        return None if row is None else Capture(*row)

    def note_capture(self, capture: Capture) -> None:
        """Note what a WARC file has."""
        with self._database.transaction() as connection:
            connection.execute(self._upserts.capture, capture._asdict())

    # -- exports ----------------------------------------------------------------------------------

    def begin_delivery(self, run: int, only_released: bool = False) -> int:
        """Begin to export what no export holds yet, of the feeds of a run; the delivery's number."""
        with self._database.transaction() as connection:
            return exports.begin(connection, _next_number(connection), run, only_released)

    def pending(self, number: int) -> Iterator[dict[str, Any]]:
        """The changes of a delivery: entries, feed by feed, oldest first."""
        with self._database.snapshot() as connection:
            yield from exports.pending(connection, number)

    def entries(self, urls: Iterable[str] = ()) -> Iterator[dict[str, Any]]:
        """The live entries of some feeds, or of all: feed by feed, oldest first."""
        with self._database.snapshot() as connection:
            yield from exports.live(connection, list(urls))

    def versions(self, feed: str, newest_first: bool = False) -> Iterator[StoredVersion]:
        """The newest version of each entry of a feed, those that are deleted too, oldest first."""
        with self._database.snapshot() as connection:
            yield from exports.versions(connection, feed, newest_first)

    def times(self, feed: str) -> tuple[str, str]:
        """When a feed was first crawled, and the newest time of its entries; '' for none. ISO 8601 in UTC."""
        with self._database.snapshot() as connection:
            return exports.times(connection, feed)

    def note_files(self, number: int, files: list[list[Any]]) -> None:
        """Note that a delivery's changes are written, but not yet under their names.

        :param files: a `delivery.WrittenFile` each
        :raises LeaseError: if another run has taken the delivery over
        """
        with self._database.transaction() as connection:
            exports.note_files(connection, number, files)
            if self._leases is not None:
                self._leases.renew(connection)

    def dead_deliveries(self, locked: str | None = None) -> list[tuple[int, list[list[Any]]]]:
        """The deliveries whose process is gone, though they have not ended: number and files.

        :param locked: the name of a file that this process has the lock of: nobody else delivers to it
        """
        with self._database.snapshot() as connection:
            return exports.dead(connection, locked)

    def end_delivery(self, number: int) -> None:
        """Note that the changes of a delivery have been exported."""
        with self._database.transaction() as connection:
            exports.end(connection, number)

    def cancel_delivery(self, number: int) -> None:
        """Note that a delivery has come to nothing."""
        with self._database.transaction() as connection:
            exports.cancel(connection, number)

    # -- verdicts ---------------------------------------------------------------------------------

    def feeds(self, run: int | None = None, urls: Iterable[str] = ()) -> Iterator[Feed]:
        """The feeds that a run still has, or some of them, or all, by URL, with their verdicts."""
        of_run = true() if run is None else (feeds.c.run == run) & feeds.c.released.is_(None)
        if chosen := list(urls):
            of_run &= statements.is_one_of(chosen)
        found = select(feeds).where(of_run).order_by(feeds.c.url)
        with self._database.snapshot() as connection:
            for some in opening.stream(connection, found, FEEDS_AT_ONCE).partitions():
                with self._database.snapshot() as other:
                    read = list(verdicts.read(other, some))
                # Whoever takes them may take their time.
                yield from read

    def count_feeds(self) -> int:
        """How many feeds there are."""
        with self._database.snapshot() as connection:
            return connection.scalar(select(func.count()).select_from(feeds)) or 0

    def details(self, feed: str) -> Details:
        """What a feed's documents and entries say."""
        with self._database.snapshot() as connection:
            return details(connection, self._feed_id(connection, feed))

    def note_verdicts(self, run: int, said: list[Said], limits: Limits, released: bool = False) -> None:
        """Note what a run says, for those who read the database, and when feeds are due.

        :param said: of `FEEDS_AT_ONCE` feeds at most; what another run has taken over is left alone
        :param released: other crawls may have them from now on
        """
        with self._database.transaction() as connection:
            verdicts.note(connection, run, said, limits, released)

    # -- subscriptions, and when feeds are due ------------------------------------------------------

    def subscribe(self, listed: dict[str, dict[str, Any]], now: str) -> int:
        """Note that feeds are to be crawled; how many of them were not before.

        :param listed: what the user says of each, as plain values; it is due now if that is new
        :param now: ISO 8601 in UTC
        """
        with self._database.transaction() as connection:
            for feed in listed:
                new = {"url": feed, "location": feed, "walk": 0, "run": schedules.NO_RUN, "since": now}
                connection.execute(self._upserts.feed, new)
            return schedules.subscribe(connection, listed, now)

    def unsubscribe(self, urls: Iterable[str]) -> dict[str, bool]:
        """Note that feeds are not to be crawled any more; what is stored of them stays.

        :return: of each, whether it is forgotten, subscribed or not, since nothing was ever read of it
        :raises StoreError: if one of them is neither forgotten nor subscribed; then all stay as they were
        """
        with self._database.transaction() as connection:
            return {url: schedules.unsubscribe(connection, url) for url in urls}

    def subscribed(self, due_at: str | None = None) -> dict[str, dict[str, Any]]:
        """The subscribed feeds with the options of each; those that have waited longest first.

        :param due_at: only those that are due at that time, ISO 8601 in UTC
        """
        with self._database.snapshot() as connection:
            return schedules.subscribed(connection, due_at)

    def first_due(self) -> str | None:
        """When the first of the subscribed feeds is due that is not due at once; None if there is none."""
        with self._database.snapshot() as connection:
            return schedules.first_due(connection)

    def has_subscriptions(self) -> bool:
        """Whether any feed is subscribed."""
        with self._database.snapshot() as connection:
            return schedules.has_subscriptions(connection)

    def next_due(self, urls: Iterable[str]) -> dict[str, str | None]:
        """When feeds of some URLs are due, those that the store knows; None: now."""
        found: dict[str, str | None] = {}
        with self._database.snapshot() as connection:
            for some in statements.some_at_once(list(urls)):
                found |= schedules.next_due(connection, some)
        return found

    def _living(self) -> Leases:
        if self._leases is None:
            raise StoreError("No crawl has begun: Store.begin_run() comes first")
        return self._leases

    def _feed_id(self, connection: Connection, feed: str) -> int:
        if (known := self._feed_ids.get(feed)) is not None:
            return known
        found: int | None = connection.scalar(select(feeds.c.id).where(statements.is_of(feed)))
        if found is None:
            raise StoreError(f"The store does not know the feed {feed}")
        self._remember({feed: found})
        return found

    def _remember(self, feed_ids: dict[str, int]) -> None:
        if len(self._feed_ids) + len(feed_ids) > FEEDS_REMEMBERED:
            self._feed_ids.clear()
        self._feed_ids |= feed_ids


def _next_number(connection: Connection) -> int:
    connection.execute(schema.store.update().values(runs=schema.store.c.runs + 1))
    number: int = connection.execute(select(schema.store.c.runs)).scalar_one()
    return number
