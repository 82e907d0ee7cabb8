"""Documents in the store: queries, and the commit of a document with its entries."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from sqlalchemy import select

from fhcrawl.logical_feed import CHAIN, Role, absences
from fhcrawl.logical_feed.platforms import NUMBERED, PROBE
from fhcrawl.logical_feed.results import CommitBatch, State
from fhcrawl.store import lists, rows, statements
from fhcrawl.store.committing import Commit, StoredState
from fhcrawl.store.database import Repository
from fhcrawl.store.opening import stream
from fhcrawl.store.rows import ChainEnd, DocumentRef
from fhcrawl.store.schema import documents, feeds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection

    from fhcrawl.documents.lists import ListedDocument
    from fhcrawl.logical_feed.results import DocumentResult
    from fhcrawl.store.database import Session

T = TypeVar("T")

# A document and the end of its chain.
_of_key = "feed_id = :feed_id AND KEY(key) = KEY(:key)"
END_OF = f"""
{statements.chain(_of_key)}
SELECT start.id AS start_id, start.role AS start_role, start.run AS start_run, ends.*
FROM (SELECT id, role, run FROM documents WHERE {_of_key}) AS start
LEFT JOIN (
    SELECT documents.* FROM documents JOIN chain ON chain.id = documents.id
    WHERE chain.state <> 'processed' OR chain.behind_id IS NULL
) AS ends ON true
"""


NEWER_THAN = f"""
SELECT role, held FROM documents
WHERE feed_id = :feed_id AND behind_id = {statements.id_of_document("key")} AND KEY(key) <> KEY(:key)
    AND held IS NOT NULL
ORDER BY walk DESC, step DESC LIMIT 1
"""


FORMED = f"""
SELECT url FROM documents
WHERE platform = :platform AND id = (SELECT behind_id FROM documents WHERE {_of_key})
"""
# A probe that was answered has no contents if there are no pages; without an answer, it was not received.
PROBED = f"""
SELECT sum(CASE WHEN platform = '{NUMBERED.name}' OR held IS NOT NULL THEN 1 ELSE 0 END) AS pages,
    max(received) AS received
FROM documents WHERE feed_id = :feed_id AND platform IN ('{NUMBERED.name}', '{PROBE.name}')
    AND EXISTS (SELECT 1 FROM feeds WHERE feeds.id = :feed_id AND feeds.kind = 'single')
"""
SHOWN = """
SELECT held FROM documents WHERE id = (SELECT feeds.subscription_id FROM feeds WHERE feeds.id = :feed_id)
"""


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

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.keeps_versions = False

    def find(self, feed: str, key: str) -> DocumentRef | None:
        """Return a document of a feed; None if it is not known."""
        with self._database.lookup() as connection:
            row = rows.find_document(connection, self._session.find_id(connection, feed), key)
        return None if row is None else DocumentRef.of(row)

    def find_first_unread(self, feed: str, parts: list[ListedDocument]) -> int:
        """Return the index of the first unprocessed part of a list; the number of parts if there is none.

        Those that have failed come after those that were never requested: they cannot use up all requests.
        """
        with self._database.lookup() as connection:
            feed_id = self._session.find_id(connection, feed)
            states = select(documents.c.key, documents.c.state).where(lists.is_part(feed_id))
            known = {key: State(state) for key, state in connection.execute(states)}
        found = [known.get(part.key, State.KNOWN) for part in parts]
        unread = [number for number, state in enumerate(found) if state is not State.PROCESSED]
        untried = (number for number in unread if found[number] is State.KNOWN)
        return next(untried, unread[0] if unread else len(parts))

    def find_next_part(self, feed: str, key: str) -> DocumentRef | None:
        """Return the first part after another one that is not processed; None if all are."""
        with self._database.lookup() as connection:
            row = rows.find_document(connection, self._session.find_id(connection, feed), key)
            return None if row is None else lists.unread_older(connection, row)

    def find_referrer(self, feed: str, key: str) -> str | None:
        """Return the URL of a document that links to another one of the feed; None if none is known."""
        with self._database.lookup() as connection:
            parameters = {"feed_id": self._session.find_id(connection, feed), "key": key}
            front = f"""SELECT documents.url FROM documents
            WHERE feed_id = :feed_id AND behind_id = {statements.id_of_document("key")}"""
            found: str | None = statements.execute(connection, front, parameters).scalar()
        return found

    def find_newer(self, feed: str, key: str) -> NewerDocument | None:
        """Return the newest document that links to another one of the feed, as it was last read.

        :return: None if it is not known, or never changes
        """
        with self._database.lookup() as connection:
            parameters = {"feed_id": self._session.find_id(connection, feed), "key": key}
            row = statements.execute(connection, NEWER_THAN, parameters).first()
        return None if row is None else NewerDocument(Role(row.role), bytes(row.held))

    def find_formed(self, feed: str, key: str, platform: str) -> str | None:
        """Return the URL of the older page of a document, if no link names it.

        :param platform: the software that names it so; None is returned if it is another one
        """
        with self._database.lookup() as connection:
            parameters = {"feed_id": self._session.find_id(connection, feed), "key": key}
            parameters |= {"platform": platform}
            found: str | None = statements.execute(connection, FORMED, parameters).scalar()
        return found

    def find_probe(self, feed: str) -> tuple[bool, str | None]:
        """Return whether a feed is known to have numbered pages, and when a probe for them was answered.

        :return: (False, None) for a feed that has never been probed, or that was not `single` last
        """
        with self._database.lookup() as connection:
            parameters = {"feed_id": self._session.find_id(connection, feed)}
            row = statements.execute(connection, PROBED, parameters).one()
        return bool(row.pages), row.received

    def count_shown(self, feed: str) -> int:
        """Return how many entries a feed's subscription document showed when it was read; 0 if unknown."""
        with self._database.lookup() as connection:
            parameters = {"feed_id": self._session.find_id(connection, feed)}
            held = statements.execute(connection, SHOWN, parameters).scalar()
        return 0 if held is None else sum(1 for _ in absences.ids_of(bytes(held)))

    def find_end(self, feed: str, key: str, role: Role, run: int) -> ChainEnd | None:
        """Return the first document of a chain that is not processed, from a document on.

        :param key: key of the document to begin at
        :param role: the role that the link gives to this document
        :param run: number of this crawl: a chain that reaches the subscription document read in it is a loop
        :return: None if the store does not have that document, or has it with another role
        """
        with self._database.lookup() as connection:
            parameters = {"feed_id": self._session.find_id(connection, feed), "key": key}
            row = statements.execute(connection, END_OF, parameters).first()
            if row is None:
                return None
            if row.start_role != role.value:
                return ChainEnd(None, loop=True) if row.start_run == run else None
            if row.state is None:
                return ChainEnd(_end_of_loop(connection, row.start_id), loop=True)
        return ChainEnd.of(row)

    def read_urls(self, feed: str) -> Iterator[tuple[str, Role, State]]:
        """Yield the URLs of the documents of a feed's chain; the subscription document first."""
        with self._database.snapshot() as connection:
            feed_id = self._session.find_id(connection, feed)
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
            store, or by the event loop; `Store.settle` waits for it
        """
        self._write(result, batch, Commit.write, done)

    def note_failure(self, result: DocumentResult) -> None:
        """Store that a document could not be fetched or read; the older documents stay known.

        :raises LeaseError: if another crawl has taken the feed over
        """
        self._written(result, CommitBatch(), Commit.write_failure)

    def note_confirmation(self, result: DocumentResult) -> None:
        """Store that a feed's subscription document has not changed.

        :raises LeaseError: if another crawl has taken the feed over
        """
        self._written(result, CommitBatch(), Commit.write_confirmation)

    def note_check(self, result: DocumentResult) -> None:
        """Store that a document was checked, and has not changed, or could not be read.

        :raises LeaseError: if another crawl has taken the feed over
        """
        self._written(result, CommitBatch(), Commit.write_check)

    def note_doubt(self, result: DocumentResult) -> None:
        """Store that a feed's server sends 304 for a document that has changed.

        :raises LeaseError: if another crawl has taken the feed over
        """
        self._written(result, CommitBatch(), Commit.write_doubt)

    def _written(
        self,
        result: DocumentResult,
        batch: CommitBatch,
        write: Callable[[Commit], T],
    ) -> T:
        answers: list[T | Exception] = []
        self._write(result, batch, write, answers.append)
        self._database.settle()
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
        self._database.settle()
        answer: T | Exception
        try:
            before = self._before(result, batch)
            if result.head is not None:
                before = before._replace(head=self._session.take_head(before.feed_id))
            leases = self._session.require_leases()

            def commit(check: Callable[[Connection, int], None], connection: Connection) -> T:
                check(connection, before.feed_id)
                return write(Commit(connection, before, result, batch, self.keeps_versions))

            # What a snapshot replaces depends on the store's state at the time of the commit.
            if self._database.pipeline is not None and result.replaces is None:
                self._database.send(self._database.pipeline, partial(commit, leases.assert_owner), done)
                return
            with self._database.transaction() as connection:
                answer = commit(leases.check, connection)
        except Exception as error:  # noqa: BLE001 - `done` handles it
            answer = error
        done(answer)

    def _before(self, result: DocumentResult, batch: CommitBatch) -> StoredState:
        matters = StoredState.matters(result)
        known = self._session.remembered_id(result.fetch.feed)
        if known is not None and not matters:
            return StoredState(known, {}, [])
        with self._database.lookup() as connection:
            feed_id = self._session.find_id(connection, result.fetch.feed)
            return (
                StoredState.read(connection, feed_id, result, batch)
                if matters
                else StoredState(feed_id, {}, [])
            )


def _end_of_loop(connection: Connection, start: int) -> DocumentRef:
    """Return the document that leads back to a document before it, in a chain that is a loop.

    :param start: id of the chain's first document
    """
    links = statements.chain("documents.id = :start")
    found = statements.execute(
        connection,
        f"{links} SELECT documents.* FROM documents JOIN chain ON chain.id = documents.id",
        {"start": start},
    )
    left = {row.id: row for row in found}
    row = left.pop(start)
    while row.behind_id in left:
        row = left.pop(row.behind_id)
    return DocumentRef.of(row)
