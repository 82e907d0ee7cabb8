"""Creates the tables and views of a new store, and migrates those of an older version of the schema.

Every change of a table or a view needs a new `VERSION`. Until the first release, that is all: a store with
another version is refused. From then on, a change also needs a step in `STEPS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import inspect, select, text

from fhcrawl.exceptions import StoreError
from fhcrawl.store import schema, views

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

# Of the tables in `schema`, and of the views.
VERSION = 1
# Each step changes the tables of one version, its key, into those of the next. The views are dropped before
# the steps and created again after them, so the step for a change of a view does nothing. Released steps
# never change.
STEPS: dict[int, Callable[[Connection], None]] = {}
# An arbitrary number for the lock of the processes that prepare one store at the same time.
POSTGRESQL_LOCK = 5005


def is_current(connection: Connection) -> bool:
    """Return whether the tables exist, in this fhcrawl's version.

    :raises StoreError: if they have a version that this fhcrawl cannot migrate
    """
    return _version(connection) == VERSION


def prepare(connection: Connection) -> None:
    """Create or migrate the tables; in a transaction that locks out other writers.

    :raises StoreError: if they have a version that this fhcrawl cannot migrate
    """
    if connection.dialect.name == schema.POSTGRESQL:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": POSTGRESQL_LOCK})
    # Another process may have done this while this one waited.
    version = _version(connection)
    if version is None:
        schema.metadata.create_all(connection, checkfirst=False)
        views.create(connection)
        connection.execute(schema.store.insert().values(schema_version=VERSION, runs=0))
    elif version < VERSION:
        views.drop(connection)
        for number in range(version, VERSION):
            STEPS[number](connection)
        views.create(connection)
        connection.execute(schema.store.update().values(schema_version=VERSION))


def _version(connection: Connection) -> int | None:
    """Return the version of the schema; None if there are no tables."""
    if not inspect(connection).has_table(schema.store.name):
        return None
    version: int | None = connection.scalar(select(schema.store.c.schema_version))
    if version is None:
        raise StoreError("The store was begun and never finished; nothing is in it: remove it")
    if version > VERSION or not STEPS.keys() >= set(range(version, VERSION)):
        raise StoreError(
            f"The store has schema version {version}, and this fhcrawl knows {VERSION}: "
            f"use the fhcrawl that wrote it, or set FHCRAWL_STORE_URL to another place"
        )
    return version
