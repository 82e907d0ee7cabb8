"""Stores with another version of the schema."""

import re
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from fhcrawl.exceptions import StoreError
from fhcrawl.store import Store, schema
from tests.databases import Database, NewDatabase, on_postgresql
from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer
from tests.store.dump import COMPLETE, FEED, GAP, VERSIONS

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
    schema.STEPS[schema.VERSION - 1] = ("ALTER TABLE feeds ADD COLUMN more TEXT",)
processes = multiprocessing.get_context("fork")
barrier, runs = processes.Barrier(6), processes.Queue()
for _ in range(6):
    processes.Process(target=open_store, args=(barrier, runs)).start()
print(*sorted(runs.get(timeout=60) for _ in range(6)))
"""


ADD_COLUMNS = (
    'ALTER TABLE feeds ADD COLUMN more TEXT COLLATE "C"',
    "ALTER TABLE feeds ADD COLUMN number BIGINT NOT NULL DEFAULT 5",
)
FAIL = "ALTER TABLE nowhere ADD COLUMN more TEXT"
OCTETS = re.compile(r"\bX'([0-9A-F]+)'")

# What each database has of its tables, views and indexes; the table of its sequences is without order.
MASTER = "SELECT type, name, sql FROM sqlite_master"
COLUMNS = """SELECT table_name, ordinal_position, column_name, data_type, collation_name, is_nullable,
    column_default FROM information_schema.columns WHERE table_schema = current_schema()"""
CONSTRAINTS = """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = current_schema()::regnamespace"""
INDEXES = "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()"
VIEWS = "SELECT viewname, definition FROM pg_views WHERE schemaname = current_schema()"


def load(database: Database, version: int) -> None:
    """Restore the dump of a version in an empty database."""
    kinds = ("postgresql" if on_postgresql() else "sqlite", "rows")
    creation, rows = ((VERSIONS / f"{version}-{kind}.sql").read_text(encoding="utf-8") for kind in kinds)
    if on_postgresql():
        database.execute(creation, OCTETS.sub(r"'\\x\1'", rows))
        return
    with closing(sqlite3.connect(database.url.removeprefix("sqlite:///"))) as connection:
        connection.executescript(creation + rows)


def described(database: Database) -> list[str]:
    queries = (COLUMNS, CONSTRAINTS, INDEXES, VIEWS) if on_postgresql() else (MASTER,)
    parts = (" ".join(map(str, row)) for query in queries for row in database.rows(query))
    # PostgreSQL names the schema of each store; SQLite keeps the white space of each statement.
    return sorted(" ".join(re.sub(r"test_\d+_\d+\.", "", part).split()).replace(" ,", ",") for part in parts)


@pytest.fixture
def older(database: Database) -> Database:
    """A store of this version, which becomes an older one with `let_version_go_up`."""
    load(database, schema.VERSION)
    return database


def let_version_go_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)


def read_version(database: Database) -> object:
    return database.rows("SELECT schema_version FROM store")


def test_older_store_is_migrated_once_with_its_rows(older: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    # The migration creates the views anew.
    older.execute("DROP VIEW live_entries")
    monkeypatch.setitem(schema.STEPS, schema.VERSION, ADD_COLUMNS)
    let_version_go_up(monkeypatch)
    Store.open(older.url).close()
    Store.open(older.url).close()
    assert older.rows("SELECT url, more, number FROM feeds ORDER BY id") == [
        (FEED, None, 5),
        (GAP, None, 5),
        (COMPLETE, None, 5),
    ]
    assert older.rows("SELECT count(*) FROM live_entries") == [(6,)]
    assert read_version(older) == [(schema.VERSION,)]


def test_older_store_without_a_step_is_refused(older: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    version = schema.VERSION
    monkeypatch.setitem(schema.STEPS, version + 1, ADD_COLUMNS)
    let_version_go_up(monkeypatch)
    let_version_go_up(monkeypatch)
    with pytest.raises(StoreError, match=rf"too old \(schema version {version}\): use that version, or"):
        Store.open(older.url)
    assert read_version(older) == [(version,)]


def test_newer_store_is_refused(older: Database) -> None:
    older.execute("UPDATE store SET schema_version = 99")
    with pytest.raises(StoreError, match=r"a newer version of fhcrawl \(schema version 99; .*: upgrade"):
        Store.open(older.url)


def test_migration_that_fails_changes_nothing(older: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(schema.STEPS, schema.VERSION, (*ADD_COLUMNS, FAIL))
    version = read_version(older)
    with monkeypatch.context() as patch:
        let_version_go_up(patch)
        with pytest.raises(StoreError, match="nowhere"):
            Store.open(older.url)
    assert read_version(older) == version
    assert older.rows("SELECT count(*) FROM live_entries") == [(6,)]
    # It would fail if the column were there.
    older.execute("ALTER TABLE feeds ADD COLUMN more TEXT")


@pytest.mark.parametrize("is_older", [False, True], ids=["new", "older"])
def test_processes_that_prepare_one_store_at_once_do_not_race(database: Database, is_older: bool) -> None:
    if is_older:
        Store.open(database.url).close()
    command = [sys.executable, "-c", AT_ONCE, database.url, *(["older"] if is_older else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.split() == ["1", "2", "3", "4", "5", "6"], done.stderr


def test_store_is_not_migrated_while_a_crawl_is_running(
    older: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Store.open(older.url)) as crawl:
        crawl.begin_run()
        monkeypatch.setitem(schema.STEPS, schema.VERSION, ADD_COLUMNS)
        version = read_version(older)
        let_version_go_up(monkeypatch)
        with pytest.raises(StoreError, match=r"older one is running \(process \d+ on .*\): wait until"):
            Store.open(older.url)
        assert read_version(older) == version
    Store.open(older.url).close()
    assert read_version(older) == [(schema.VERSION,)]


def test_there_is_a_dump_of_every_version_that_can_be_migrated() -> None:
    """If there is none of this version, run `python -m tests.store.dump`."""
    dumped = sorted(int(path.name.partition("-")[0]) for path in VERSIONS.glob("*-rows.sql"))
    assert dumped == [*sorted(schema.STEPS), schema.VERSION] == list(range(dumped[0], schema.VERSION + 1))


@pytest.mark.parametrize("version", [*sorted(schema.STEPS), schema.VERSION])
def test_store_of_every_version_becomes_like_a_new_one(
    version: int, database: Database, new_database: NewDatabase
) -> None:
    """If the schema has changed, raise `schema.VERSION`, and add a step (CONTRIBUTING.md)."""
    load(database, version)
    with closing(Store.open(database.url)) as store:
        read = [(e["feed"], e["id"], e["summary"], e["change"]) for e in store.entries.read()]
    assert sorted(read) == [
        (COMPLETE, "2", "text", None),
        (FEED, "0", "line\nline", None),
        (FEED, "1", "first", None),
        (FEED, "2", "changed", "updated"),
        (FEED, "3", "text", "new"),
        (GAP, "1", "text", None),
    ]
    assert database.rows("SELECT feed, verdict FROM feed_verdicts ORDER BY feed") == [
        (COMPLETE, "complete"),
        (FEED, "complete"),
        (GAP, "incomplete"),
    ]
    with new_database() as new:
        Store.open(new.url).close()
        assert described(database) == described(new)


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
