"""What differs on PostgreSQL."""

import contextlib
import hashlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import make_url

from fhcrawl.documents.lists import DocumentList, ListedDocument
from fhcrawl.exceptions import StoreError
from fhcrawl.logical_feed import ChainPosition, Role, Verdict
from fhcrawl.logical_feed.results import (
    CommitBatch,
    DocumentFailure,
    DocumentResult,
    Fetch,
    State,
)
from fhcrawl.reasons import ReasonKind
from fhcrawl.store import ChainEnd, Store, statements
from fhcrawl.store.statements import ORDER
from tests.databases import Database
from tests.engine import Engine
from tests.feeds import E, atom
from tests.pipelines import faulty
from tests.projects import Project
from tests.server import FeedServer
from tests.stores import begin_walk, commit

pytestmark = pytest.mark.postgresql_only("round trips, collations, lost connections")

INDEX, A1, A0 = (f"http://example.org/{name}" for name in ("index", "a1", "a0"))
NOW = "2004-01-01T00:00:00Z"
GONE = DocumentFailure(State.MISSING, ReasonKind.HTTP_404, "is missing (404)")
# Random, since indexes are compressed.
LONG = "".join(hashlib.sha256(str(number).encode()).hexdigest() for number in range(128))


# https://www.postgresql.org/docs/current/protocol-message-formats.html
BIND, QUERY, SYNC = b"B", b"Q", b"S"


class Wire:
    """Passes on what clients at `port` say to a server and back; can be cut.

    :param trips: round trips so far: synchronization points with statements before them
    """

    def __init__(self, server: tuple[str, int]) -> None:
        self.trips = 0
        self._has_requested = False
        self._server = server
        self._ends: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        # Closed alone, it would go on accepting until the thread's call returns.
        _close(self._listening)
        self._listening.close()
        self.drop()

    def drop(self) -> None:
        _close(*self._ends)
        for end in self._ends:
            end.close()
        self._ends.clear()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.create_connection(self._server)
            self._ends += (client, server)
            threading.Thread(target=self._questions, args=(client, server), daemon=True).start()
            threading.Thread(target=self._answers, args=(server, client), daemon=True).start()

    def _questions(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            # The first message has no type.
            server.sendall(_message(client, b""))
            while True:
                kind = _exactly(client, 1)
                message = _message(client, kind)
                if kind == BIND:
                    self._has_requested = True
                elif kind == QUERY or (kind == SYNC and self._has_requested):
                    self.trips += 1
                    self._has_requested = False
                server.sendall(message)
        _close(client, server)

    def _answers(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while part := server.recv(1 << 16):
                client.sendall(part)
        _close(client, server)


def _exactly(end: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = end.recv(size - len(received))
        if not part:
            raise EOFError
        received += part
    return received


def _message(end: socket.socket, kind: bytes) -> bytes:
    length = _exactly(end, 4)
    return kind + length + _exactly(end, struct.unpack("!i", length)[0] - 4)


def _close(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def wire_to(url: str) -> Iterator[tuple[Wire, str]]:
    parsed = make_url(url)
    assert parsed.host is not None
    assert parsed.port is not None
    wire = Wire((parsed.host, parsed.port))
    over = parsed.set(port=wire.port).update_query_dict({"sslmode": "disable", "gssencmode": "disable"})
    try:
        yield wire, over.render_as_string(hide_password=False)
    finally:
        wire.cut()


@pytest.fixture
def wired(database: Database) -> Iterator[tuple[Wire, str]]:
    with wire_to(database.url) as made:
        yield made


class Watched(dict[str, "str | int"]):
    def __init__(self, documents: dict[str, str], reads: dict[str, Callable[[], None]]) -> None:
        super().__init__(documents)
        self._reads = reads

    def __getitem__(self, url: str) -> str | int:
        self._reads.get(url, lambda: None)()
        return super().__getitem__(url)


MOST_TRIPS = 10


class TestRoundTrips:
    """How often the database is waited for."""

    @pytest.mark.parametrize("entries", [1, 300])
    @pytest.mark.parametrize(("rel", "most"), [("prev-archive", 10), ("next", 12)])
    def test_document_takes_few(
        self, server: FeedServer, project: Project, rel: str, most: int, entries: int
    ) -> None:
        """What the store has of its entries, of the chain behind it and of a page; its commit."""
        names = ["/index", *(f"/{number}" for number in range(8, 0, -1))]
        for name, behind in zip(names, [*names[1:], None], strict=True):
            some = [E(f"{name} {number}") for number in range(entries)]
            server.serve(name, atom(some, links={rel: behind} if behind else None))
        trips: dict[str, int] = {}
        with wire_to(project.database.url) as (wire, url):

            def count(path: str) -> None:
                trips[path] = wire.trips

            server.on_request = count
            run = project.crawl(server.url("/index"), FHCRAWL_STORE_URL=url)
        assert trips["/2"] - trips["/7"] <= 5 * most
        assert len(run.items) == len(names) * entries
        assert run.stats["fhcrawl/document/processed"] == len(names)

    def test_other_commits_take_few(self, wired: tuple[Wire, str]) -> None:
        wire, url = wired
        store = Store.open(url)
        begin_walk(store, INDEX, store.begin_run(), NOW)
        lost = DocumentResult(Fetch(INDEX, A1, A1, A1, Role.ARCHIVE, ChainPosition(1, -1), NOW), failure=GONE)
        # What it takes to connect does not count.
        store.documents.note_failure(lost)
        before = wire.trips
        store.documents.note_failure(lost)
        assert wire.trips - before <= MOST_TRIPS
        before = wire.trips
        fetch = Fetch(INDEX, INDEX, INDEX, INDEX, Role.SUBSCRIPTION, ChainPosition(1, 0), NOW)
        store.documents.note_confirmation(DocumentResult(fetch))
        assert wire.trips - before <= MOST_TRIPS
        for names in ("abc", "bd"):
            parts = [ListedDocument(name, f"http://example.org/{name}") for name in names]
            before = wire.trips
            commit(store, DocumentResult(fetch, parts=DocumentList(parts)), CommitBatch())
            assert wire.trips - before <= MOST_TRIPS
        steps = [store.documents.find(INDEX, name) for name in "abcd"]
        assert [step and step.position for step in steps] == [None, ChainPosition(1, -2)] * 2
        behind = store.documents.find_next_part(INDEX, "b")
        assert behind == steps[3]
        store.close()


def test_ids_and_urls_may_be_longer_than_a_row_of_an_index(database: Database) -> None:
    feed, archive = (f"http://example.org/{name}?{LONG}" for name in ("index", "a"))
    one, other = E(f"urn:{LONG}:1"), E(f"urn:{LONG}:2")
    documents = {feed: atom([one], prev=archive), archive: atom([other])}
    changes = Engine(database.url, documents).crawl(feed)
    assert [change["id"] for change in changes or ()] == [other.id, one.id]
    revised = E(one.id, "revised", "2005-01-01T00:00:00Z")
    engine = Engine(database.url, {**documents, feed: atom([revised], prev=archive)})
    assert [change["change"] for change in engine.crawl(feed) or ()] == ["updated"]
    assert engine.requested == [feed, archive]
    store = Store.open(database.url)
    assert [found.verdict for found in store.feeds.read()] == [Verdict.COMPLETE]
    assert len(list(store.entries.read([feed]))) == 2
    assert store.documents.find_end(feed, archive, Role.ARCHIVE, 9) == ChainEnd(None, is_loop=False)
    store.close()


def test_times_are_compared_character_by_character(database: Database) -> None:
    """Other collations leave out punctuation at first."""
    Store.open(database.url).close()
    for name in ("entries.order_time", "entries.id", "feeds.url", "documents.key"):
        table, _, column = name.partition(".")
        found = database.rows(
            "SELECT collation_name FROM information_schema.columns "
            f"WHERE table_schema = current_schema AND table_name = '{table}' AND column_name = '{column}'"
        )
        assert found == [("C",)], name


def test_statements_are_not_compiled(database: Database) -> None:
    """A way that is switched off is dear to the planner, and what is dear would be."""
    store = Store.open(database.url)
    with store._database.lookup() as connection:
        plan = connection.exec_driver_sql("EXPLAIN SELECT * FROM feeds WHERE title = 'x'").scalars().all()
    store.close()
    assert "Seq Scan" in plan[0]
    assert [line for line in plan if "JIT" in line] == []


def test_changes_are_looked_up_entry_by_entry_without_statistics(database: Database) -> None:
    """Else all that a complete feed has would be gone through once for each of its entries."""
    store = Store.open(database.url)
    with store._database.transaction() as connection:
        connection.exec_driver_sql(
            "INSERT INTO feeds (id, url, address, location, walk, run, since) "
            "VALUES (1, 'u', 'u', 'u', 1, 0, '')"
        )
        orders = ", ".join(ORDER)
        connection.exec_driver_sql(
            f"INSERT INTO entries (feed_id, id, digest, details, first_seen, fetched, {orders}) "
            "SELECT 1, 'e' || n, md5(n::text), '{}', '', '', 0, '', 0, 1, 0, n "
            "FROM generate_series(1, 8000) n"
        )
        connection.exec_driver_sql("INSERT INTO changes (feed_id, id) SELECT 1, id FROM entries")
    with store._database.lookup() as connection:
        plan = statements.execute(connection, f"EXPLAIN ANALYZE {statements.WINNERS}", {"feed_id": 1})
        lines = plan.scalars().all()
    store.close()
    assert [line for line in lines if "Rows Removed by Join Filter" in line] == []


def test_database_of_another_encoding_is_refused(database: Database) -> None:
    with database.connected(isolation_level="AUTOCOMMIT") as connection:
        name = database.url.rpartition("%3D")[2]
        connection.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING LATIN1 LOCALE 'C'")
    url = database.url.partition("?")[0].rpartition("/")[0]
    with pytest.raises(StoreError, match="has the encoding LATIN1: create one with ENCODING 'UTF8'"):
        Store.open(f"{url}/{name}")


def test_character_that_postgresql_does_not_know_loses_one_document(database: Database) -> None:
    """Pipelines may change entries to what no feed can say."""
    more = faulty.settings("Nul")
    engine = Engine(database.url, {INDEX: atom([E("2")], prev=A1), A1: atom([E("nul")])}, more=more)
    assert [change["id"] for change in engine.crawl(INDEX) or ()] == ["2"]
    store = Store.open(database.url)
    [feed] = store.feeds.read()
    assert [(reason.kind, reason.url) for reason in feed.reasons] == [("store-error", A1)]
    assert "0x00" in feed.reasons[0].detail
    store.close()


class TestConnectionThatIsLost:
    def test_document_in_the_middle_is_read_again_by_the_next_run(self, wired: tuple[Wire, str]) -> None:
        wire, url = wired
        documents = {INDEX: atom([E("3")], prev=A1), A1: atom([E("2")], prev=A0), A0: atom([E("1")])}
        engine = Engine(url, Watched(documents, {A1: wire.drop}))
        assert {change["id"] for change in engine.crawl(INDEX) or ()} == {"3", "1"}
        assert engine.stats["fhcrawl/feed/incomplete"] == 1
        engine = Engine(url, documents)
        assert {change["id"] for change in engine.crawl(INDEX) or ()} == {"2"}
        assert engine.requested == [INDEX, A1, A0]
        assert engine.stats["fhcrawl/feed/complete"] == 1

    def test_lost_connection_is_reported_and_loses_no_change(
        self, server: FeedServer, project: Project
    ) -> None:
        server.serve("/index", atom([E("3")], prev="/a1"))
        server.serve("/a1", atom([E("2")], prev="/a0"))
        server.serve("/a0", atom([E("1")]))
        feed = server.url("/index")
        with wire_to(project.database.url) as (wire, url):
            server.on_request = lambda path: wire.cut() if path == "/a1" else None
            run = project.crawl(feed, FHCRAWL_STORE_URL=url)
        assert run.exit_code == 1
        assert run.items == []
        assert any("The store failed" in line for line in run.warnings())
        assert any("nothing was marked as exported" in line for line in run.warnings())
        assert "secret" not in run.log
        run = project.crawl(feed)
        assert run.changes == {"3": "new", "2": "new", "1": "new"}
        assert project.verdict() == ("complete", [])


class TestSilence:
    """A process that is stopped, or whose machine is gone, in the middle of a transaction."""

    @pytest.fixture(autouse=True)
    def _soon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("fhcrawl.store.opening.SILENT_SECONDS", 2)
        monkeypatch.setattr("fhcrawl.store.opening.BUSY_SECONDS", 1)

    def test_rows_of_a_silent_writer_are_free_again(self, database: Database) -> None:
        silent, other = Store.open(database.url), Store.open(database.url)
        other.begin_run()

        def write() -> None:
            with silent._database.transaction() as connection:
                connection.exec_driver_sql("UPDATE store SET runs = runs + 7")
                # It waits for the row.
                assert other.begin_run() == 2
                connection.exec_driver_sql("SELECT 1")

        with pytest.raises(StoreError, match="idle-in-transaction timeout"):
            write()
        for store in (silent, other):
            store.close()

    def test_slow_iteration_over_feeds_does_not_fail(self, database: Database) -> None:
        store = Store.open(database.url)
        run = store.begin_run()
        for number in range(3):
            begin_walk(store, f"{INDEX}{number}", run, NOW)
        entries = store.feeds.read()
        assert next(entries).feed == f"{INDEX}0"
        time.sleep(3)
        assert [feed.feed for feed in entries] == [f"{INDEX}1", f"{INDEX}2"]
        store.close()
