"""Documents and their chains in the store, and the requests for a commit.

The parts of a list form a chain, though none of them links to another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fhcrawl.logical_feed import ChainPosition, Role, absences
from fhcrawl.logical_feed.absences import EarlierReading
from fhcrawl.logical_feed.chain import CHAIN
from fhcrawl.logical_feed.platforms import NUMBERED, PROBE
from fhcrawl.logical_feed.results import CommitBatch, State
from fhcrawl.reasons import ReasonKind
from fhcrawl.store.commit import MAY_HAVE_GROWN, Commit, FeedWriter
from fhcrawl.store.database import Repository
from fhcrawl.store.statements import execute, find_document, id_of_document, with_chain

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from sqlalchemy import Connection, Row

    from fhcrawl.documents.lists import ListedDocument
    from fhcrawl.logical_feed.results import DocumentResult, Fetch

T = TypeVar("T")

OF_KEY = "feed_id = :feed_id AND KEY(key) = KEY(:key)"
# Of a chain from the document `:start`; its end is its oldest document or an unprocessed one, none in a loop.
LINKS = f"""{with_chain("documents.id = :start")}
SELECT documents.* FROM documents JOIN chain ON chain.id = documents.id"""
CHAIN_END = f"{LINKS} WHERE chain.state <> 'processed' OR chain.behind_id IS NULL"
# Of what a check finds changed in a document, which was received after all that the walk has read.
CHECKED_STEP = 1
UNTRIED_PART = """
SELECT * FROM documents WHERE feed_id = :feed_id AND role = 'part' AND state = 'known'
ORDER BY walk DESC, step DESC LIMIT 1
"""


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
        position = ChainPosition(row.walk, row.step)
        return cls(row.key, row.url, Role(row.role), position, row.run, row.platform)


class ChainEnd(NamedTuple):
    """The end of a chain: an unprocessed document, or None at its oldest document.

    :param is_loop: the links lead back to a document of the chain, from `unread`, or to the subscription
        document
    :param is_behind_empty: `unread` was left after many documents without news
    """

    unread: DocumentRef | None
    is_loop: bool
    is_behind_empty: bool = False


class CheckedDocument(NamedTuple):
    """A document that has been read, and is requested again to see whether it has changed.

    :param validated_url: URL whose response had the validators; None if the server's 304s are not believed
    :param received: when its body last came, rather than a 304
    """

    document: DocumentRef
    validated_url: str | None
    etag: str | None
    last_modified: str | None
    received: str | None


class NewerDocument(NamedTuple):
    """The document that links to an older one; `held` as in `DocumentResult`."""

    role: Role
    held: bytes


class Documents(Repository):
    """The documents: `store.documents`."""

    def find(self, feed: str, key: str) -> DocumentRef | None:
        row = self._first(f"SELECT * FROM documents WHERE {OF_KEY}", feed, key=key)
        return None if row is None else DocumentRef.of(row)

    def first_unread_index(self, feed: str, parts: list[ListedDocument]) -> int:
        """Return the index of the first unprocessed part of a list; the number of parts if there is none.

        Those that have failed come after those that were never requested: they cannot use up all requests.
        """
        query = "SELECT key, state FROM documents WHERE feed_id = :feed_id AND role = 'part'"
        states = {row.key: State(row.state) for row in self._select(query, feed)}
        for wanted_states in ({State.KNOWN}, set(State) - {State.PROCESSED}):
            for index, part in enumerate(parts):
                if states.get(part.key, State.KNOWN) in wanted_states:
                    return index
        return len(parts)

    def find_next_part(self, feed: str, key: str) -> DocumentRef | None:
        """Return the first part after another one that is not processed; None if all are."""
        with self._database.lookup() as connection:
            row = find_document(connection, self._database.find_id(connection, feed), key)
            older = None if row is None else document_behind(connection, row)
            return first_unread(connection, older, untried_first=False)

    def find_referrer(self, feed: str, key: str) -> str | None:
        """Return the URL of a document that links to another one of the feed."""
        referrer = f"""SELECT url FROM documents
            WHERE feed_id = :feed_id AND behind_id = {id_of_document("key")}"""
        row = self._first(referrer, feed, key=key)
        return None if row is None else row.url

    def find_newer(self, feed: str, key: str) -> NewerDocument | None:
        """Return the newest document that links to another one, as last read, unless it never changes."""
        newer = f"""SELECT role, held FROM documents
            WHERE feed_id = :feed_id AND behind_id = {id_of_document("key")}
            AND KEY(key) <> KEY(:key) AND held IS NOT NULL
            ORDER BY walk DESC, step DESC LIMIT 1"""
        row = self._first(newer, feed, key=key)
        return None if row is None else NewerDocument(Role(row.role), bytes(row.held))

    def find_formed(self, feed: str, key: str, platform: str) -> str | None:
        """Return the URL of a document's older page if it was constructed by `platform`, not linked."""
        constructed = f"""SELECT url FROM documents
            WHERE platform = :platform AND id = (SELECT behind_id FROM documents WHERE {OF_KEY})"""
        row = self._first(constructed, feed, key=key, platform=platform)
        return None if row is None else row.url

    def find_probe(self, feed: str) -> tuple[bool, str | None]:
        """Return whether numbered pages of a feed are stored, and when a probe for them was answered.

        :return: (False, None) for a feed that has never been probed, or that was not `single` last
        """
        # A probe that was answered has no contents if there are no pages; without an answer, it was not
        # received.
        query = """SELECT sum(CASE WHEN platform = :numbered OR held IS NOT NULL THEN 1 ELSE 0 END) AS pages,
                max(received) AS received
            FROM documents WHERE feed_id = :feed_id AND platform IN (:numbered, :probe)
            AND EXISTS (SELECT 1 FROM feeds WHERE feeds.id = :feed_id AND feeds.kind = 'single')"""
        [row] = self._select(query, feed, numbered=NUMBERED.name, probe=PROBE.name)
        return bool(row.pages), row.received

    def count_shown(self, feed: str) -> int:
        """Return how many entries a feed's subscription document showed when it was read; 0 if unknown."""
        shown = """SELECT held FROM documents
            WHERE id = (SELECT feeds.subscription_id FROM feeds WHERE feeds.id = :feed_id)"""
        row = self._first(shown, feed)
        return 0 if row is None or row.held is None else sum(1 for _ in absences.ids_of(bytes(row.held)))

    def find_end(self, feed: str, key: str, role: Role, run: int) -> ChainEnd | None:
        """Return the first document of a chain that is not processed, from a document on.

        :param role: the role that the link gives to this document; None is returned if it has another one
        :param run: number of this crawl: a chain that reaches the subscription document read in it is a loop
        """
        with self._database.lookup() as connection:
            start = find_document(connection, self._database.find_id(connection, feed), key)
            if start is None:
                return None
            if start.role != role.value:
                return ChainEnd(None, is_loop=True) if start.run == run else None
            end = execute(connection, CHAIN_END, {"start": start.id}).first()
            if end is None:
                chain = {row.id: row for row in execute(connection, LINKS, {"start": start.id})}
                looping = chain.pop(start.id)
                while looping.behind_id in chain:
                    looping = chain.pop(looping.behind_id)
                return ChainEnd(DocumentRef.of(looping), is_loop=True)
        unread = None if end.state == State.PROCESSED.value else DocumentRef.of(end)
        return ChainEnd(unread, is_loop=False, is_behind_empty=end.reason == ReasonKind.EMPTY_ARCHIVES.value)

    def read_urls(self, feed: str) -> list[tuple[str, Role, State]]:
        """Return the URLs of the documents of a feed's chain; the subscription document first."""
        # Where it is polled, and where a redirect led.
        [polled] = self._select("SELECT location, validated_url FROM feeds WHERE id = :feed_id", feed)
        urls = [(url, Role.SUBSCRIPTION, State.KNOWN) for url in (feed, *polled) if url]
        chain = """SELECT url, role, state FROM documents WHERE feed_id = :feed_id AND role = ANY(:roles)
            AND (platform IS NULL OR platform <> :probe OR held IS NOT NULL)"""
        rows = self._select(chain, feed, roles=[role.value for role in CHAIN], probe=PROBE.name)
        return urls + [(row.url, Role(row.role), State(row.state)) for row in rows]

    # -- documents to be requested again ----------------------------------------------------------

    def read_chain(self, feed: str) -> tuple[list[Row[Any]], int | None]:
        """Return the documents of a feed's chain but the first, newest first, and the walk in doubt.

        :return: rows with `is_checkable`, `is_there` (whether the last request succeeded), and `read_walk`,
            the last walk that has read the subscription document; the last walk that has seen an archive
            without an entry, which may be gone, or a change of a document, if the links are a loop, which may
            not exist
        """
        subscription = "documents.id = (SELECT subscription_id FROM feeds WHERE feeds.id = :feed_id)"
        chain = f"""{with_chain(subscription, with_gaps=True)}
            SELECT documents.*, checked = fetched AS is_there,
                documents.state = 'processed' AND documents.checked IS NOT NULL AS is_checkable,
                (SELECT checked_walk FROM documents WHERE {subscription}) AS read_walk,
                (SELECT max(walk) FROM absences
                    WHERE feed_id = :feed_id AND role = 'archive' AND gone IS NULL) AS missed
            FROM documents JOIN chain ON chain.id = documents.id WHERE documents.role <> 'subscription'
            ORDER BY documents.walk DESC, documents.step DESC"""
        rows = self._select(chain, feed)
        doubts = [row.missed for row in rows]
        if all(row.behind_id is not None for row in rows):
            doubts += [row.changed_walk for row in rows]
        walk = max((walk for walk in doubts if walk is not None), default=None)
        return rows, walk

    # Of entries that a check has found edited, the place is not the document's: they are left out.
    def find_growing(self, feed: str, run: int) -> int | None:
        """Return the id of the last page if most pages are oldest first, and `run` has not read it."""
        time = "coalesce(entries.published, entries.updated)"
        spans = f"""{with_chain("documents.id = (SELECT subscription_id FROM feeds WHERE id = :feed_id)")},
            spans AS (SELECT documents.id, documents.behind_id, min({time}) AS oldest, max({time}) AS newest
                FROM chain JOIN documents ON documents.id = chain.id
                JOIN entries ON order_walk = documents.walk AND order_step = documents.step
                WHERE entries.feed_id = :feed_id AND digest <> '' AND {time} IS NOT NULL
                GROUP BY documents.id, documents.behind_id)
            SELECT documents.id FROM chain JOIN documents ON documents.id = chain.id
            WHERE documents.behind_id IS NULL AND role = 'page' AND run <> :run AND (SELECT
                count(CASE WHEN near.newest <= far.oldest AND near.oldest < far.newest THEN 1 END)
                > count(CASE WHEN near.newest > far.oldest THEN 1 END)
                FROM spans AS near JOIN spans AS far ON far.id = near.behind_id)"""
        row = self._first(spans, feed, run=run)
        return None if row is None else row.id

    def find_checked(self, document_id: int) -> CheckedDocument | None:
        """Return a processed document by its id; None if it is not there, or not processed any more."""
        return self._find_checked("documents.id = :id AND state = 'processed'", id=document_id)

    def find_checked_by_key(self, feed: str, key: str) -> CheckedDocument | None:
        """Return a document of a feed that has been read; None if there is none, or if it never changes.

        It is processed, or was until a newer document did not reach back to stored entries.
        """
        of_key = "KEY(feeds.url) = KEY(:feed) AND KEY(documents.key) = KEY(:key)"
        was_read = "held IS NOT NULL AND (state = 'processed' OR detail = :detail)"
        return self._find_checked(f"{of_key} AND {was_read}", feed=feed, key=key, detail=MAY_HAVE_GROWN)

    def _find_checked(self, where: str, **values: object) -> CheckedDocument | None:
        document = f"""SELECT documents.*, feeds.not_modified_ignored
            FROM documents JOIN feeds ON feeds.id = documents.feed_id WHERE {where}"""
        with self._database.lookup() as connection:
            row = execute(connection, document, values).first()
        if row is None:
            return None
        url = row.validated_url if row.not_modified_ignored is None else None
        return CheckedDocument(DocumentRef.of(row), url, row.etag, row.last_modified, row.received)

    def read_earlier(self, fetch: Fetch) -> EarlierReading | None:
        """Return the stored state of a document from before it was read now; None if there is none."""
        place, walk = fetch.position, fetch.walk
        place_now = ChainPosition(walk, CHECKED_STEP if fetch.is_check else place.step)
        contents = """SELECT documents.held, current.held AS current
            FROM documents JOIN feeds ON feeds.id = documents.feed_id
                LEFT JOIN documents AS current ON current.id = feeds.subscription_id
            WHERE documents.feed_id = :feed_id AND KEY(documents.key) = KEY(:key)"""
        row = self._first(contents, fetch.feed, key=fetch.key)
        if row is not None and row.held is not None:
            current = b"" if fetch.role is Role.SUBSCRIPTION else bytes(row.current or b"")
            return EarlierReading(bytes(row.held), current, place, place_now)
        # The document was first found by this walk.
        if place.walk >= walk:
            return None
        missing = "SELECT key FROM absences WHERE feed_id = :feed_id AND role <> 'subscription'"
        keys = {bytes(row.key) for row in self._select(missing, fetch.feed)}
        return EarlierReading(b"", b"", place, place_now, keys) if keys else None

    def has_elsewhere(self, fetch: Fetch, keys: Collection[bytes]) -> bool:
        """Return whether other documents contain all entries with some ids (`absences.digest_of_id`)."""
        others = """SELECT held FROM documents WHERE feed_id = :feed_id AND KEY(key) <> KEY(:key)
            AND held IS NOT NULL AND role IN ('subscription', 'page')"""
        missing = set(keys)
        for row in self._select(others, fetch.feed, key=fetch.key):
            missing.difference_update(absences.ids_of(bytes(row.held)))
        return not missing

    def read_pages(self, feed: str) -> list[int]:
        """Return the ids of the documents of a paged feed, newest first, if all of them were read.

        :return: that of the subscription document alone if this shows as many entries as the feed counts; []
            for another feed, or if the chain has a gap
        """
        subscription = "documents.id = (SELECT subscription_id FROM feeds WHERE feeds.id = :feed_id)"
        chain = f"""{with_chain(subscription, with_gaps=True)}
            SELECT documents.id, documents.role, documents.state, documents.behind_id, checked, held, total
            FROM documents JOIN chain ON chain.id = documents.id JOIN feeds ON feeds.id = documents.feed_id
            ORDER BY documents.walk DESC, documents.step DESC"""
        rows = self._select(chain, feed)
        pages = [row for row in rows if row.role in (Role.SUBSCRIPTION.value, Role.PAGE.value)]
        is_read = all(row.state == State.PROCESSED.value and row.checked for row in rows)
        # Of a chain that goes on with archives, single pages are checked.
        if not is_read or all(row.behind_id is not None for row in pages):
            return []
        shown = [sum(1 for _ in absences.ids_of(bytes(row.held or b""))) for row in pages]
        if not any(shown[1:]) and not 0 < (rows[0].total or 0) <= shown[0]:
            return []
        return [row.id for row in pages]

    # -- commits: all raise LeaseError if another crawl has taken the feed over -------------------

    def write(self, result: DocumentResult, batch: CommitBatch) -> int:
        """Store a document with its entries; return how many entries a complete feed no longer has."""
        return self._write(result, batch, Commit.write)

    def share_ids(self, result: DocumentResult, known: frozenset[str]) -> None:
        """Store which ids a document shows to be shared, beside those `known`: see `results.tell_apart`."""
        fetch, new_ids = result.fetch, result.new_shared_ids
        with self._database.transaction() as connection:
            feed_id = self._leased_feed_id(connection, fetch.feed)
            writer = FeedWriter(self._database, feed_id, fetch.position, fetch.fetched).bind_to(connection)
            writer.share_ids(new_ids, known | new_ids, fetch)
        self._database.shared_ids.pop(fetch.feed, None)

    def note_failure(self, result: DocumentResult) -> None:
        """Store that a document could not be fetched or read; its links to older documents are kept."""
        self._write(result, CommitBatch(), Commit.write_failure)

    def note_confirmation(self, result: DocumentResult) -> None:
        """Store that a subscription document was requested, and is unchanged."""
        self._write(result, CommitBatch(), Commit.write_confirmation)

    def note_check(self, result: DocumentResult) -> None:
        """Store that a document was rechecked, and is unchanged or could not be read."""
        self._write(result, CommitBatch(), Commit.write_check)

    def note_doubt(self, result: DocumentResult) -> None:
        """Store that a feed's server sends 304 for a document that has changed."""
        self._write(result, CommitBatch(), Commit.write_doubt)

    def _write(self, result: DocumentResult, batch: CommitBatch, write: Callable[[Commit], T]) -> T:
        commit = Commit(self._database, result, batch)
        leases = self._database.require_leases()
        with self._database.transaction() as connection:
            leases.check(connection, commit.feed_id)
            written = write(commit.bind_to(connection))
        if result.deletions or result.fetch.role is Role.POST:
            self._database.posts.pop(result.fetch.feed, None)
        return written


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
        part = execute(connection, UNTRIED_PART, {"feed_id": row.feed_id}).first()
        if part is not None:
            return DocumentRef.of(part)
    end = execute(connection, CHAIN_END, {"start": row.id}).first()
    return None if end is None or end.state == State.PROCESSED.value else DocumentRef.of(end)


def document_behind(connection: Connection, row: Row[Any]) -> Row[Any] | None:
    older = execute(connection, "SELECT * FROM documents WHERE id = :id", {"id": row.behind_id})
    return older.first()  # type: ignore[no-any-return]
