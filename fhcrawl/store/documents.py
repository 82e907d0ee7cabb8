"""Documents in the store: queries of documents and their chains, and the requests for a commit.

The parts of a list form a chain, though none of them links to another.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sqlalchemy import select

from fhcrawl.logical_feed import CHAIN, ChainPosition, Role, absences
from fhcrawl.logical_feed.absences import EarlierReading, Seen
from fhcrawl.logical_feed.platforms import NUMBERED, PROBE
from fhcrawl.logical_feed.results import CommitBatch, State
from fhcrawl.reasons import ReasonKind
from fhcrawl.store.commit import MAY_HAVE_GROWN, Commit, StoredState
from fhcrawl.store.database import Repository
from fhcrawl.store.opening import stream
from fhcrawl.store.schema import feeds
from fhcrawl.store.statements import execute, find_document, id_of_document, with_chain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection, Row

    from fhcrawl.documents.lists import ListedDocument
    from fhcrawl.logical_feed.results import DocumentResult
    from fhcrawl.store.database import Database

T = TypeVar("T")

OF_KEY = "feed_id = :feed_id AND KEY(key) = KEY(:key)"
# The oldest document of a chain, or an unprocessed one; none in a loop.
CHAIN_END = f"""{with_chain("documents.id = :start")}
SELECT documents.* FROM documents JOIN chain ON chain.id = documents.id
WHERE chain.state <> 'processed' OR chain.behind_id IS NULL"""


class DocumentRef(NamedTuple):
    """A document to be fetched.

    :param run: number of the last crawl that read it or tried to; None if none did
    :param platform: as in `Link`
    """

    key: str
    url: str
    role: Role
    position: ChainPosition
    run: int | None = None
    platform: str | None = None

    @classmethod
    def of(cls, row: Row[Any]) -> DocumentRef:
        """Return the document of a row of `documents`."""
        position = ChainPosition(row.walk, row.step)
        return cls(row.key, row.url, Role(row.role), position, row.run, row.platform)


class ChainEnd(NamedTuple):
    """The end of a chain: an unprocessed document, or None at its oldest document.

    :param loop: the links lead back to a document of the chain, from `step`, or to the subscription document
    :param is_behind_empty: `step` was left unread after many documents without news
    """

    step: DocumentRef | None
    loop: bool
    is_behind_empty: bool = False

    @classmethod
    def of(cls, row: Row[Any]) -> ChainEnd:
        """Return the chain's end for the row of `chain_ends`."""
        is_behind_empty = row.reason == ReasonKind.EMPTY_ARCHIVES.value
        step = None if row.state == State.PROCESSED.value else DocumentRef.of(row)
        return cls(step, loop=False, is_behind_empty=is_behind_empty)


class KnownDocument(NamedTuple):
    """A document of a chain that can be checked.

    :param requested: when it was last requested
    :param is_there: whether that request succeeded
    """

    id: int
    requested: str
    is_there: bool
    seen: Seen


class KnownChain(NamedTuple):
    """A feed's chain without its subscription document.

    :param documents: those that can be checked, the newest first; without those that are unprocessed or never
        change
    :param missed: the last walk in which an archive had lost an entry of which it is not known whether it is
        gone; None for none
    :param looped: the last walk that has seen a change of a document, if the links are a loop; else None
    """

    documents: list[KnownDocument]
    missed: int | None
    looped: int | None


class CheckedDocument(NamedTuple):
    """A document that has been read, and is requested again to see whether it has changed.

    :param validated_url: URL whose response had etag and last_modified; None if there were none, or if the
        server's 304 responses are not believed
    :param received: when its body last came, rather than a 304
    """

    document: DocumentRef
    validated_url: str | None
    etag: str | None
    last_modified: str | None
    received: str | None


class NewerDocument(NamedTuple):
    """The document that links to an older one.

    :param held: see `DocumentResult`
    """

    role: Role
    held: bytes


class Documents(Repository):
    """The documents and their chains: `store.documents`.

    With `keeps_versions`, a commit keeps the earlier versions of entries.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.keeps_versions = False

    def _first(self, sql: str, feed: str, **values: object) -> Row[Any] | None:
        return next(iter(self._select(sql, feed, **values)), None)

    def find(self, feed: str, key: str) -> DocumentRef | None:
        """Return a document of a feed; None if it is not known."""
        row = self._first(f"SELECT * FROM documents WHERE {OF_KEY}", feed, key=key)
        return None if row is None else DocumentRef.of(row)

    def find_first_unread(self, feed: str, parts: list[ListedDocument]) -> int:
        """Return the index of the first unprocessed part of a list; the number of parts if there is none.

        Those that have failed come after those that were never requested: they cannot use up all requests.
        """
        states = "SELECT key, state FROM documents WHERE feed_id = :feed_id AND role = 'part'"
        known = {row.key: State(row.state) for row in self._select(states, feed)}
        for wanted in ({State.KNOWN}, set(State) - {State.PROCESSED}):
            for number, part in enumerate(parts):
                if known.get(part.key, State.KNOWN) in wanted:
                    return number
        return len(parts)

    def find_next_part(self, feed: str, key: str) -> DocumentRef | None:
        """Return the first part after another one that is not processed; None if all are."""
        with self._database.lookup() as connection:
            row = find_document(connection, self._database.find_id(connection, feed), key)
            older = None if row is None else document_behind(connection, row)
            return first_unread(connection, older, untried_first=False)

    def find_referrer(self, feed: str, key: str) -> str | None:
        """Return the URL of a document that links to another one of the feed; None if none is known."""
        referrer = f"""SELECT url FROM documents
            WHERE feed_id = :feed_id AND behind_id = {id_of_document("key")}"""
        row = self._first(referrer, feed, key=key)
        return None if row is None else row.url

    def find_newer(self, feed: str, key: str) -> NewerDocument | None:
        """Return the newest document that links to another one of the feed, as it was last read.

        :return: None if it is not known, or never changes
        """
        newer = f"""SELECT role, held FROM documents
            WHERE feed_id = :feed_id AND behind_id = {id_of_document("key")}
            AND KEY(key) <> KEY(:key) AND held IS NOT NULL
            ORDER BY walk DESC, step DESC LIMIT 1"""
        row = self._first(newer, feed, key=key)
        return None if row is None else NewerDocument(Role(row.role), bytes(row.held))

    def find_formed(self, feed: str, key: str, platform: str) -> str | None:
        """Return the URL of the older page of a document, if no link names it.

        :param platform: the software that names it so; None is returned if it is another one
        """
        formed = f"""SELECT url FROM documents
            WHERE platform = :platform AND id = (SELECT behind_id FROM documents WHERE {OF_KEY})"""
        row = self._first(formed, feed, key=key, platform=platform)
        return None if row is None else row.url

    def find_probe(self, feed: str) -> tuple[bool, str | None]:
        """Return whether a feed is known to have numbered pages, and when a probe for them was answered.

        :return: (False, None) for a feed that has never been probed, or that was not `single` last
        """
        # A probe that was answered has no contents if there are no pages; without an answer, it was not
        # received.
        probed = """SELECT sum(CASE WHEN platform = :numbered OR held IS NOT NULL THEN 1 ELSE 0 END) AS pages,
                max(received) AS received
            FROM documents WHERE feed_id = :feed_id AND platform IN (:numbered, :probe)
            AND EXISTS (SELECT 1 FROM feeds WHERE feeds.id = :feed_id AND feeds.kind = 'single')"""
        [row] = self._select(probed, feed, numbered=NUMBERED.name, probe=PROBE.name)
        return bool(row.pages), row.received

    def count_shown(self, feed: str) -> int:
        """Return how many entries a feed's subscription document showed when it was read; 0 if unknown."""
        shown = """SELECT held FROM documents
            WHERE id = (SELECT feeds.subscription_id FROM feeds WHERE feeds.id = :feed_id)"""
        row = self._first(shown, feed)
        return 0 if row is None or row.held is None else sum(1 for _ in absences.ids_of(bytes(row.held)))

    def find_end(self, feed: str, key: str, role: Role, run: int) -> ChainEnd | None:
        """Return the first document of a chain that is not processed, from a document on.

        :param key: key of the document to begin at
        :param role: the role that the link gives to this document
        :param run: number of this crawl: a chain that reaches the subscription document read in it is a loop
        :return: None if the store does not have that document, or has it with another role
        """
        end = f"""{with_chain(OF_KEY)}
            SELECT start.id AS start_id, start.role AS start_role, start.run AS start_run, ends.*
            FROM (SELECT id, role, run FROM documents WHERE {OF_KEY}) AS start
            LEFT JOIN (
                SELECT documents.* FROM documents JOIN chain ON chain.id = documents.id
                WHERE chain.state <> 'processed' OR chain.behind_id IS NULL
            ) AS ends ON true"""
        row = self._first(end, feed, key=key)
        if row is None:
            return None
        if row.start_role != role.value:
            return ChainEnd(None, loop=True) if row.start_run == run else None
        if row.state is None:
            with self._database.lookup() as connection:
                return ChainEnd(_end_of_loop(connection, row.start_id), loop=True)
        return ChainEnd.of(row)

    def read_urls(self, feed: str) -> Iterator[tuple[str, Role, State]]:
        """Yield the URLs of the documents of a feed's chain; the subscription document first."""
        with self._database.snapshot() as connection:
            feed_id = self._database.find_id(connection, feed)
            yield feed, Role.SUBSCRIPTION, State.KNOWN
            # Where it is polled, and where a redirect led.
            polled = select(feeds.c.location, feeds.c.validated_url).where(feeds.c.id == feed_id)
            for url in filter(None, connection.execute(polled).one()):
                yield url, Role.SUBSCRIPTION, State.KNOWN
            values = {"feed_id": feed_id, "roles": [role.value for role in CHAIN], "probe": PROBE.name}
            chain = """SELECT url, role, state FROM documents WHERE feed_id = :feed_id AND role = ANY(:roles)
                AND (platform IS NULL OR platform <> :probe OR held IS NOT NULL)"""
            with stream(connection, chain, values) as found:
                for row in found:
                    yield row.url, Role(row.role), State(row.state)

    def commit(self, result: DocumentResult, batch: CommitBatch) -> int:
        """Store a document with its entries in one transaction.

        :return: number of entries deleted because a complete feed no longer has them
        :raises LeaseError: if another crawl has taken the feed over
        """
        return self._written(result, batch, Commit.write)

    def send(
        self, result: DocumentResult, batch: CommitBatch, done: Callable[[int | Exception], None]
    ) -> None:
        """Do what `commit` does, without waiting for PostgreSQL's answer.

        Later calls of this store see the result.

        :param done: called with what `commit` returns or raises, during this call or another one of this
            store, or by the event loop; `Store.wait` waits for it
        """
        self._write(result, batch, Commit.write, done)

    def note_failure(self, result: DocumentResult) -> None:
        """Store that a document could not be fetched or read; the older documents stay known.

        :raises LeaseError: if another crawl has taken the feed over
        """
        self._written(result, CommitBatch(), Commit.write_failure)

    def note_confirmation(self, result: DocumentResult) -> None:
        """Store that a feed's subscription document has not changed; errors as `note_failure`."""
        self._written(result, CommitBatch(), Commit.write_confirmation)

    def note_check(self, result: DocumentResult) -> None:
        """Store that a document was checked, and has not changed, or could not be read; as `note_failure`."""
        self._written(result, CommitBatch(), Commit.write_check)

    def note_doubt(self, result: DocumentResult) -> None:
        """Store that a feed's server sends 304 for a document that has changed; as `note_failure`."""
        self._written(result, CommitBatch(), Commit.write_doubt)

    def _written(self, result: DocumentResult, batch: CommitBatch, write: Callable[[Commit], T]) -> T:
        answers: list[T | Exception] = []
        self._write(result, batch, write, answers.append)
        self._database.wait()
        [answer] = answers
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _write(
        self,
        result: DocumentResult,
        batch: CommitBatch,
        write: Callable[[Commit], T],
        done: Callable[[T | Exception], None],
    ) -> None:
        self._database.wait()
        answer: T | Exception
        try:
            before = StoredState.read(self._database, result, batch)
            leases, pipeline = self._database.require_leases(), self._database.pipeline

            def commit(check: Callable[[Connection, int], None], connection: Connection) -> T:
                check(connection, before.feed_id)
                return write(Commit(connection, before, result, batch, self.keeps_versions))

            # What a snapshot replaces depends on the store's state at the time of the commit.
            if pipeline is not None and result.replaces is None:
                self._database.send(pipeline, partial(commit, leases.assert_owner), done)
                return
            with self._database.transaction() as connection:
                answer = commit(leases.check, connection)
        except Exception as error:  # noqa: BLE001 - `done` handles it
            answer = error
        done(answer)


def _end_of_loop(connection: Connection, start: int) -> DocumentRef:
    """Return the document that leads back to a document before it, in a chain that is a loop.

    :param start: id of the chain's first document
    """
    links = with_chain("documents.id = :start")
    found = execute(
        connection,
        f"{links} SELECT documents.* FROM documents JOIN chain ON chain.id = documents.id",
        {"start": start},
    )
    left = {row.id: row for row in found}
    row = left.pop(start)
    while row.behind_id in left:
        row = left.pop(row.behind_id)
    return DocumentRef.of(row)


class Chains(Repository):
    """The documents of chains that have been read, to be requested again: `store.chains`."""

    def read_chain(self, feed: str) -> KnownChain:
        """Return what is known of a feed's chain, to choose the documents that are checked."""
        subscription = "documents.id = (SELECT subscription_id FROM feeds WHERE feeds.id = :feed_id)"
        chain = f"""{with_chain(subscription, with_gaps=True)}
            SELECT documents.*,
                documents.state = 'processed' AND documents.checked IS NOT NULL AS is_checkable
            FROM documents JOIN chain ON chain.id = documents.id WHERE documents.role <> 'subscription'
            ORDER BY documents.walk DESC, documents.step DESC"""
        lost = """SELECT max(walk) FROM absences
            WHERE feed_id = :feed_id AND role = 'archive' AND gone IS NULL"""
        with self._database.lookup() as connection:
            of_feed = {"feed_id": self._database.find_id(connection, feed)}
            found: list[Row[Any]] = list(execute(connection, chain, of_feed))
            missed = execute(connection, lost, of_feed).scalar() if found else None
        is_loop = all(row.behind_id is not None for row in found)
        changed = [row.changed_walk for row in found if row.changed_walk is not None] if is_loop else []
        known = [
            KnownDocument(
                row.id, row.fetched, row.fetched == row.checked, Seen(row.changed_walk, row.checked_walk)
            )
            for row in found
            if row.is_checkable
        ]
        return KnownChain(known, missed, max(changed, default=None))

    def find(self, number: int) -> CheckedDocument | None:
        """Return a processed document by its id; None if it is not there, or not processed any more."""
        with self._database.lookup() as connection:
            return _find(connection, "documents.id = :id AND state = 'processed'", id=number)

    def find_by_key(self, feed: str, key: str) -> CheckedDocument | None:
        """Return a document of a feed that has been read; None if there is none, or if it never changes.

        It is processed, or was until a newer document did not reach back to what was known.
        """
        was_read = """feed_id = :feed_id AND KEY(key) = KEY(:key) AND held IS NOT NULL
            AND (state = 'processed' OR detail = :detail)"""
        with self._database.lookup() as connection:
            feed_id = self._database.find_id(connection, feed)
            return _find(connection, was_read, feed_id=feed_id, key=key, detail=MAY_HAVE_GROWN)

    def read_earlier(self, feed: str, key: str, place: ChainPosition, walk: int) -> EarlierReading | None:
        """Return what is known of a document from before this walk; None if nothing is.

        :param place, walk: as in `EarlierReading`
        """
        contents = """SELECT documents.held, current.held AS current
            FROM documents JOIN feeds ON feeds.id = documents.feed_id
                LEFT JOIN documents AS current ON current.id = feeds.subscription_id
            WHERE documents.feed_id = :feed_id AND KEY(documents.key) = KEY(:key)"""
        missing = "SELECT key FROM absences WHERE feed_id = :feed_id AND role <> 'subscription'"
        with self._database.lookup() as connection:
            values = {"feed_id": self._database.find_id(connection, feed), "key": key}
            row = execute(connection, contents, values).first()
            if row is not None and row.held is not None:
                return EarlierReading(bytes(row.held), bytes(row.current or b""), place, walk)
            # What this walk has come to has a place in this walk.
            is_behind = place.walk < walk
            keys = set(map(bytes, execute(connection, missing, values).scalars())) if is_behind else None
        return EarlierReading(b"", b"", place, walk, keys) if keys else None


def _find(connection: Connection, where: str, **values: object) -> CheckedDocument | None:
    document = f"""SELECT documents.*, feeds.not_modified_ignored
        FROM documents JOIN feeds ON feeds.id = documents.feed_id WHERE {where}"""
    row = execute(connection, document, values).first()
    if row is None:
        return None
    url = row.validated_url if row.not_modified_ignored is None else None
    return CheckedDocument(DocumentRef.of(row), url, row.etag, row.last_modified, row.received)


def first_unread(
    connection: Connection, row: Row[Any] | None, untried_first: bool = True
) -> DocumentRef | None:
    """Return a document to be read; for a part of a list, the first one from it on that is not processed.

    :param row: the row of the document that the subscription document or the index leads to, or None
    :param untried_first: of a list, the first part that was never requested: parts that have failed come
        after those, so that they cannot use up all requests of each run
    """
    if row is None or row.role != Role.PART.value:
        return None if row is None else DocumentRef.of(row)
    if untried_first:
        untried = """SELECT * FROM documents WHERE feed_id = :feed_id AND role = 'part' AND state = 'known'
            ORDER BY walk DESC, step DESC LIMIT 1"""
        part = execute(connection, untried, {"feed_id": row.feed_id}).first()
        if part is not None:
            return DocumentRef.of(part)
    end = execute(connection, CHAIN_END, {"start": row.id}).first()
    return None if end is None else ChainEnd.of(end).step


def document_behind(connection: Connection, row: Row[Any]) -> Row[Any] | None:
    older = execute(connection, "SELECT * FROM documents WHERE id = :id", {"id": row.behind_id})
    return older.first()  # type: ignore[no-any-return]
