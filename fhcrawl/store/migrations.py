"""Creates the tables and views of a new store, and migrates those of an older fhcrawl."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlalchemy import inspect, select, text

from fhcrawl.exceptions import StoreError
from fhcrawl.store import schema, views

if TYPE_CHECKING:
    from sqlalchemy import Connection

# The steps from one version of the schema to the next: the first leads from version 1 to 2, and so on, each a
# few statements that SQLite and PostgreSQL both know. To change the schema, change schema.py and add a step
# at the end; a test compares the results of both. Released steps never change. Every migration drops the
# views and creates them again: a change of a view needs an empty step.
STEPS: tuple[tuple[str, ...], ...] = (
    # 2: which runs are alive, and hold the leases of their feeds; the delivery that a change is part of.
    (
        "CREATE TABLE runs (id INTEGER NOT NULL PRIMARY KEY, owner TEXT NOT NULL, expires INTEGER NOT NULL)",
        "ALTER TABLE changes ADD COLUMN delivery INTEGER",
        "UPDATE changes SET delivery = (SELECT max(deliveries.id) FROM deliveries"
        " JOIN feeds ON feeds.run = deliveries.run WHERE feeds.id = changes.feed_id)",
    ),
    # 3: the entries' own XML.
    ("ALTER TABLE entries ADD COLUMN original TEXT",),
    # 4: the verdict at the end of a crawl.
    ("ALTER TABLE feeds ADD COLUMN verdict TEXT", "ALTER TABLE feeds ADD COLUMN reasons TEXT"),
    # 5: subscriptions, and when feeds are due.
    (
        *(
            f"ALTER TABLE feeds ADD COLUMN {name} TEXT"
            for name in ("subscribed", "options", "polled", "retry_after", "rhythm", "news", "changed", "due")
        ),
        "ALTER TABLE feeds ADD COLUMN fresh_seconds INTEGER",
        "ALTER TABLE feeds ADD COLUMN change_seconds INTEGER",
    ),
    # 6: the views.
    (),
    # 7: captures in WARC files; earlier versions of entries.
    (
        "CREATE TABLE captures (url TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, record TEXT NOT NULL,"
        " date TEXT NOT NULL, file TEXT NOT NULL, file_id TEXT NOT NULL)",
        "CREATE INDEX captures_by_digest ON captures (digest)",
        "CREATE TABLE versions (feed_id INTEGER NOT NULL REFERENCES feeds (id), id TEXT NOT NULL, title TEXT,"
        " link TEXT, published TEXT, updated TEXT, authors TEXT, categories TEXT, summary TEXT, content TEXT,"
        " content_type TEXT, enclosures TEXT, operation TEXT, document TEXT, document_updated TEXT,"
        " digest TEXT NOT NULL, order_time TEXT NOT NULL, order_tombstone INTEGER NOT NULL,"
        " order_document_time TEXT NOT NULL, order_walk INTEGER NOT NULL, order_step INTEGER NOT NULL,"
        " order_position INTEGER NOT NULL, original TEXT, UNIQUE (feed_id, id, digest))",
    ),
    # 8: archives that have moved.
    (
        "ALTER TABLE documents ADD COLUMN moved_to TEXT",
        "ALTER TABLE documents ADD COLUMN moved_walk INTEGER",
    ),
    # 9: the URL of validators; feeds that a crawl has finished with; whether a feed's host had a special
    # address; times in the future.
    (
        "ALTER TABLE feeds ADD COLUMN validated_url TEXT",
        "ALTER TABLE feeds ADD COLUMN released INTEGER",
        "ALTER TABLE feeds ADD COLUMN special INTEGER",
        "ALTER TABLE documents ADD COLUMN uncounted TEXT",
    ),
    # 10: the fields that pipelines add to entries. The view of gaps is without `unreachable`.
    ("ALTER TABLE entries ADD COLUMN added TEXT", "ALTER TABLE versions ADD COLUMN added TEXT"),
    # 11: optional fields of entries; the heads of feeds, for which each subscription document is read again.
    (
        "ALTER TABLE entries ADD COLUMN details TEXT",
        "ALTER TABLE versions ADD COLUMN details TEXT",
        "CREATE TABLE heads (feed_id INTEGER NOT NULL REFERENCES feeds (id), original TEXT NOT NULL,"
        " digest TEXT NOT NULL, document TEXT NOT NULL, since TEXT NOT NULL, until TEXT)",
        "CREATE INDEX heads_by_feed ON heads (feed_id)",
        "CREATE UNIQUE INDEX heads_current ON heads (feed_id) WHERE until IS NULL",
        "UPDATE feeds SET etag = NULL, last_modified = NULL, validated_url = NULL, body_digest = NULL",
    ),
    # 12: the coverage of plain feeds, for which their documents are read again.
    (
        "CREATE TABLE coverage (feed_id INTEGER NOT NULL PRIMARY KEY REFERENCES feeds (id),"
        " known TEXT NOT NULL, shown INTEGER NOT NULL, depth INTEGER NOT NULL, since TEXT NOT NULL,"
        " until TEXT NOT NULL, earlier TEXT NOT NULL, entries INTEGER NOT NULL, seconds INTEGER NOT NULL,"
        " burst_entries INTEGER NOT NULL, burst_seconds INTEGER NOT NULL, burst TEXT)",
        "UPDATE feeds SET etag = NULL, last_modified = NULL, validated_url = NULL, body_digest = NULL"
        " WHERE kind IN ('single', 'paged')",
    ),
    # 13: what a feed's publisher says of the number of its entries. The view of gaps is without `wordpress`.
    (
        "ALTER TABLE feeds ADD COLUMN total INTEGER",
        "ALTER TABLE feeds ADD COLUMN guessable INTEGER",
        "ALTER TABLE feeds ADD COLUMN listing TEXT",
    ),
    # 14: what the documents of chains held when they were last read, to check whether they have changed; and
    # what no document holds any more.
    (
        *(
            f"ALTER TABLE documents ADD COLUMN {name} TEXT"
            for name in ("etag", "last_modified", "validated_url", "checked")
        ),
        "ALTER TABLE documents ADD COLUMN checked_walk INTEGER",
        "ALTER TABLE documents ADD COLUMN changed_walk INTEGER",
        "ALTER TABLE documents ADD COLUMN held BLOB",
        "UPDATE documents SET checked = fetched WHERE state = 'processed'"
        " AND role IN ('subscription', 'archive', 'page')",
        "CREATE TABLE absences (feed_id INTEGER NOT NULL REFERENCES feeds (id), key BLOB NOT NULL, id TEXT,"
        " role TEXT NOT NULL, walk INTEGER NOT NULL, looked INTEGER NOT NULL, since TEXT NOT NULL, gone TEXT,"
        " UNIQUE (feed_id, key))",
    ),
    # 15: entries whose id has changed.
    (
        "ALTER TABLE feeds ADD COLUMN merge_renamed INTEGER",
        "CREATE TABLE renames (feed_id INTEGER NOT NULL REFERENCES feeds (id), id TEXT NOT NULL,"
        " former_id TEXT, since TEXT NOT NULL)",
        "CREATE INDEX renames_by_id ON renames (feed_id, KEYED(id))",
        "CREATE INDEX renames_by_former_id ON renames (feed_id, KEYED(former_id))",
    ),
    # 16: what web archives have of feeds.
    (
        "CREATE TABLE timemaps (id SERIAL NOT NULL PRIMARY KEY,"
        " feed_id INTEGER NOT NULL REFERENCES feeds (id), archive TEXT NOT NULL, url TEXT NOT NULL,"
        " depth INTEGER NOT NULL, read TEXT, retry_after TEXT)",
        "CREATE INDEX timemaps_by_feed ON timemaps (feed_id)",
        "CREATE TABLE mementos (id SERIAL NOT NULL PRIMARY KEY,"
        " feed_id INTEGER NOT NULL REFERENCES feeds (id),"
        " timemap_id INTEGER NOT NULL REFERENCES timemaps (id), url TEXT NOT NULL, time TEXT NOT NULL,"
        " digest TEXT NOT NULL, state TEXT NOT NULL, captured TEXT, marks TEXT, oldest TEXT,"
        " UNIQUE (timemap_id, digest))",
        "CREATE INDEX mementos_by_feed ON mementos (feed_id)",
    ),
)
VERSION = 1 + len(STEPS)
# An arbitrary number for the lock of the processes that prepare one store at the same time.
POSTGRESQL_LOCK = 5005
KEYED = re.compile(r"KEYED\((\w+)\)")


def is_current(connection: Connection) -> bool:
    """Return whether the tables exist, in this fhcrawl's version.

    :raises StoreError: if a newer fhcrawl has written them
    """
    return _version(connection) == VERSION


def prepare(connection: Connection) -> None:
    """Create or migrate the tables; in a transaction that locks out other writers.

    :raises StoreError: if a newer fhcrawl has written them
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": POSTGRESQL_LOCK})
    # Another process may have done this while this one waited.
    version = _version(connection)
    if version is None:
        schema.metadata.create_all(connection, checkfirst=False)
        views.create(connection)
        connection.execute(schema.store.insert().values(schema_version=VERSION, runs=0))
    elif version < VERSION:
        _migrate(connection, version)


def _version(connection: Connection) -> int | None:
    """Return the version of the schema; None if there are no tables."""
    if not inspect(connection).has_table(schema.store.name):
        return None
    version: int | None = connection.scalar(select(schema.store.c.schema_version))
    if version is None:
        raise StoreError("The store was begun and never finished; nothing is in it: remove it")
    if version > VERSION:
        raise StoreError(
            f"The store has schema version {version}, and this fhcrawl knows {VERSION}: "
            f"use the fhcrawl that wrote it, or a newer one"
        )
    return version


def _in_words_of(database: str, statement: str) -> str:
    """Return a statement of a step in the SQL of a database; `KEYED(name)` is `schema.Keyed`."""
    if database != schema.POSTGRESQL:
        return KEYED.sub(r"\1", statement).replace(" SERIAL", " INTEGER")
    words = statement.replace(" TEXT", ' TEXT COLLATE "C"').replace(" BLOB", " BYTEA")
    words = words.replace(" SERIAL", " BIGSERIAL")
    return KEYED.sub(r"(CASE WHEN length(\1) <= 500 THEN \1 ELSE left(\1, 500) || md5(\1) END)", words)


def _migrate(connection: Connection, version: int) -> None:
    views.drop(connection)
    for step in STEPS[version - 1 :]:
        for statement in step:
            connection.exec_driver_sql(_in_words_of(connection.dialect.name, statement))
    views.create(connection)
    connection.execute(schema.store.update().values(schema_version=VERSION))
