"""Stores with another version of the schema."""

import hashlib
import subprocess
import sys
from contextlib import closing

import pytest
from sqlalchemy import Connection

from fhcrawl.exceptions import StoreError
from fhcrawl.store import Store, schema
from tests.databases import Database
from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer

# Opens a store in some processes at the very same time; with one more argument, as a version with a step.
AT_ONCE = """
import multiprocessing, sys
from fhcrawl.store import Store, schema

def open_store(barrier, runs):
    barrier.wait()
    store = Store.open(sys.argv[1])
    runs.put(store.begin_run())
    store.close()

if sys.argv[2:]:
    schema.VERSION += 1
    add = "ALTER TABLE feeds ADD COLUMN more TEXT"
    schema.STEPS[schema.VERSION - 1] = lambda connection: connection.exec_driver_sql(add)
processes = multiprocessing.get_context("fork")
barrier, runs = processes.Barrier(6), processes.Queue()
for _ in range(6):
    processes.Process(target=open_store, args=(barrier, runs)).start()
print(*sorted(runs.get(timeout=60) for _ in range(6)))
"""


def add_column(connection: Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE feeds ADD COLUMN more TEXT")


def add_column_and_fail(connection: Connection) -> None:
    add_column(connection)
    connection.exec_driver_sql("ALTER TABLE nowhere ADD COLUMN more TEXT")


@pytest.fixture
def older(database: Database) -> Database:
    with closing(Store.open(database.url)) as store:
        store.begin_run()
        store.walks.begin(["http://example.org/"], 1, "2004-01-01T00:00:00Z")
    return database


def let_version_go_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)


def read_version(database: Database) -> object:
    return database.rows("SELECT schema_version FROM store")


def test_older_store_is_migrated_once_with_its_rows(older: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    # The migration creates the views anew.
    older.execute("DROP VIEW live_entries")
    monkeypatch.setitem(schema.STEPS, schema.VERSION, add_column)
    let_version_go_up(monkeypatch)
    Store.open(older.url).close()
    Store.open(older.url).close()
    assert older.rows("SELECT url, more FROM feeds") == [("http://example.org/", None)]
    assert older.rows("SELECT * FROM live_entries") == []
    assert read_version(older) == [(schema.VERSION,)]


def test_older_store_without_a_step_is_refused(older: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    version = schema.VERSION
    monkeypatch.setitem(schema.STEPS, version, add_column)
    let_version_go_up(monkeypatch)
    let_version_go_up(monkeypatch)
    with pytest.raises(StoreError, match=f"version {version}, but this .* supports only {version + 2}:"):
        Store.open(older.url)
    assert read_version(older) == [(version,)]


def test_newer_store_is_refused(older: Database) -> None:
    older.execute("UPDATE store SET schema_version = 99")
    with pytest.raises(StoreError, match="schema version 99, but this version of fhcrawl supports only"):
        Store.open(older.url)


def test_migration_that_fails_changes_nothing(older: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(schema.STEPS, schema.VERSION, add_column_and_fail)
    version = read_version(older)
    with monkeypatch.context() as patch:
        let_version_go_up(patch)
        with pytest.raises(StoreError, match="nowhere"):
            Store.open(older.url)
    assert read_version(older) == version
    assert older.rows("SELECT * FROM live_entries") == []
    # It would fail if the column were there.
    older.execute("ALTER TABLE feeds ADD COLUMN more TEXT")


@pytest.mark.parametrize("is_older", [False, True], ids=["new", "older"])
def test_processes_that_prepare_one_store_at_once_do_not_race(database: Database, is_older: bool) -> None:
    if is_older:
        Store.open(database.url).close()
    command = [sys.executable, "-c", AT_ONCE, database.url, *(["older"] if is_older else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.split() == ["1", "2", "3", "4", "5", "6"], done.stderr


def test_schema_of_this_version_has_not_changed() -> None:
    """If it has, let `schema.VERSION` go up, and write the new digest here."""
    described = [
        (
            table.name,
            [(one.name, str(one.type), one.nullable, one.primary_key) for one in table.columns],
        )
        for table in schema.metadata.sorted_tables
    ]
    named = (schema.VIEWS, schema.INDEXES, schema.POSTGRESQL_INDEXES)
    digest = hashlib.sha256(repr((described, named)).encode()).hexdigest()[:16]
    assert (schema.VERSION, digest) == (8, "1372675136a75eae")


def test_views_answer_the_documented_queries(server: FeedServer, project: Project) -> None:
    server.serve("/whole", atom([E("1"), E("2")], head="<fh:complete/>", title="Whole"))
    server.serve("/gap", atom([E("1", "text of 1", title="One")], prev="/gone", title="Gap"))
    server.serve("/plain", atom([E("1")], title="Plain"))
    feeds = [server.url(path) for path in ("/whole", "/gap", "/plain")]
    project.crawl(*feeds)
    server.serve("/whole", atom([E("1")], head="<fh:complete/>", title="Whole"))
    project.crawl(*feeds)
    query = project.database.rows
    complete, gap, plain = feeds
    assert query("SELECT feed, feed_title, id FROM live_entries ORDER BY feed") == [
        (gap, "Gap", "1"),
        (plain, "Plain", "1"),
        (complete, "Whole", "1"),
    ]
    assert query("SELECT title, summary, document FROM live_entries WHERE feed_title = 'Gap'") == [
        ("One", "text of 1", gap)
    ]
    columns = "feed, title, kind, verdict, entries, documents_processed, documents_not_processed"
    assert query(f"SELECT {columns} FROM feed_verdicts ORDER BY feed") == [
        (gap, "Gap", "archived", "incomplete", 1, 1, 1),
        (plain, "Plain", "single", "unknown", 1, 1, 0),
        (complete, "Whole", "complete", "complete", 1, 1, 0),
    ]
    assert query("SELECT feed, feed_title, url, kind, detail FROM gaps") == [
        (gap, "Gap", server.url("/gone"), "http-404", "is missing (404)")
    ]
    columns = "gaps.since, first_crawled, last_crawled"
    [(since, first, last)] = query(f"SELECT {columns} FROM gaps JOIN feed_verdicts USING (feed)")
    assert str(first) <= str(since) <= str(last)
