"""What the store has of documents, and how what they bring is written."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import select

from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.batches import CommitBatch
from fhcrawl.store import lists, rows, statements
from fhcrawl.store.committing import Commit, StoredState
from fhcrawl.store.opening import stream
from fhcrawl.store.rows import ChainEnd, DocumentRef
from fhcrawl.store.schema import documents, feeds
from fhcrawl.store.session import Repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection

    from fhcrawl.documents.lists import ListedDocument
    from fhcrawl.logical_feed.results import DocumentResult
    from fhcrawl.store.session import Session

T = TypeVar("T")

CHAIN = (Role.SUBSCRIPTION, Role.ARCHIVE, Role.PAGE)


class Documents(Repository):
    """The documents and their chains: `store.documents`.

    With `keeps_versions`, what entries were before is kept when a document is committed.
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
        """Return the position of the first part of a list that is not processed; if none is, their number."""
        with self._database.lookup() as connection:
            feed_id = self._session.find_id(connection, feed)
            processed = select(documents.c.key).where(lists.is_part(feed_id), lists.IS_PROCESSED)
            read = set(connection.scalars(processed))
        return next((position for position, part in enumerate(parts) if part.key not in read), len(parts))

    def find_next_part(self, feed: str, key: str) -> DocumentRef | None:
        """Return the first document behind one of a list that is not processed; None if all are."""
        with self._database.lookup() as connection:
            row = rows.find_document(connection, self._session.find_id(connection, feed), key)
            return None if row is None else lists.unread_behind(connection, row)

    def find_referrer(self, feed: str, key: str) -> str | None:
        """Return the URL of a document that links to another one of the feed; None if none is known."""
        with self._database.lookup() as connection:
            parameters = {"feed_id": self._session.find_id(connection, feed), "key": key}
            found: str | None = connection.scalar(statements.FRONT_OF, parameters)
        return found

    def find_end(self, feed: str, key: str, role: Role, run: int) -> ChainEnd | None:
        """Return the first document that is not processed, at or behind one of a feed.

        :param key: of the document to begin at
        :param role: what the link that leads there says that it is
        :param run: number of this crawl: a chain that comes to the subscription document read in it is a loop
        :return: None if the store does not know that document, or knows it as something else
        """
        with self._database.lookup() as connection:
            parameters = {"feed_id": self._session.find_id(connection, feed), "key": key}
            row = connection.execute(statements.END_OF, parameters).first()
        if row is None:
            return None
        if row.start_role != role.value:
            return ChainEnd(None, loop=True) if row.start_run == run else None
        return ChainEnd.of(None if row.state is None else row)

    def read_urls(self, feed: str) -> Iterator[tuple[str, Role]]:
        """Yield the URLs and roles of the documents of a feed's chain; the subscription document first."""
        with self._database.snapshot() as connection:
            feed_id = self._session.find_id(connection, feed)
            yield feed, Role.SUBSCRIPTION
            polled = select(feeds.c.location).where(feeds.c.id == feed_id)
            yield connection.execute(polled).scalar_one(), Role.SUBSCRIPTION
            of_chain = documents.c.role.in_(role.value for role in CHAIN)
            chain = select(documents.c.url, documents.c.role).where(documents.c.feed_id == feed_id, of_chain)
            for row in stream(connection, chain):
                yield row.url, Role(row.role)

    def commit(self, result: DocumentResult, batch: CommitBatch) -> int:
        """Store what a document brought, and mark it, in one transaction.

        :return: how many entries have been deleted, because a complete feed no longer has them
        :raises LeaseError: if another crawl has taken the feed over
        """
        return self._written(result, batch, Commit.write)

    def send(
        self, result: DocumentResult, batch: CommitBatch, done: Callable[[int | Exception], None]
    ) -> None:
        """Do what `commit` does, without a wait for PostgreSQL's answer.

        Whatever is asked of the store from then on sees what has come of it.

        :param done: is called with what `commit` returns or raises, during this call or another one of this
            store, or by the event loop; `Store.settle` waits for that
        """
        self._write(result, batch, Commit.write, done)

    def commit_piece(self, result: DocumentResult, batch: CommitBatch, is_first: bool) -> None:
        """Store the entries of a piece of a large document, behind which there are more.

        The document counts as unread, whatever it was, until `commit` has marked it.

        :param is_first: no piece of it has been stored
        :raises LeaseError: if another crawl has taken the feed over
        """
        write = partial(Commit.write_piece, is_first=is_first)
        self._written(result, batch, write, is_piece=True)

    def note_failure(self, result: DocumentResult) -> None:
        """Note that a document could not be had; what was behind it stays known.

        :raises LeaseError: if another crawl has taken the feed over
        """
        self._written(result, CommitBatch(), Commit.write_failure)

    def note_confirmation(self, result: DocumentResult) -> None:
        """Note that a feed's subscription document is still what it was.

        :raises LeaseError: if another crawl has taken the feed over
        """
        self._written(result, CommitBatch(), Commit.write_confirmation)

    def _written(
        self,
        result: DocumentResult,
        batch: CommitBatch,
        write: Callable[[Commit], T],
        is_piece: bool = False,
    ) -> T:
        answers: list[T | Exception] = []
        self._write(result, batch, write, answers.append, is_piece)
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
        is_piece: bool = False,
    ) -> None:
        self._database.settle()
        answer: T | Exception
        try:
            before = self._before(result, batch, is_piece)
            leases = self._session.require_leases()

            def commit(check: Callable[[Connection, int], None], connection: Connection) -> T:
                check(connection, before.feed_id)
                upserts = self._session.upserts
                return write(Commit(connection, upserts, before, result, batch, self.keeps_versions))

            # What a snapshot replaces depends on what is in the store at the very end.
            if self._database.pipeline is not None and result.replaces is None:
                self._database.send(self._database.pipeline, partial(commit, leases.assert_owner), done)
                return
            with self._database.transaction() as connection:
                answer = commit(leases.check, connection)
        except Exception as error:  # noqa: BLE001 - `done` handles it
            answer = error
        done(answer)

    def _before(self, result: DocumentResult, batch: CommitBatch, is_piece: bool) -> StoredState:
        matters = StoredState.matters(result) and not is_piece
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
