"""Writes the dump of a store of the current version: `python -m tests.store.dump`, once for each version.

`versions/N-sqlite.sql` and `versions/N-postgresql.sql` create the tables and views of version N.
`versions/N-rows.sql` has the rows, for both.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from fhcrawl.store import Store, schema
from tests import postgresql
from tests.databases import SERVER, Database, new_database
from tests.engine import Engine as Crawl
from tests.feeds import E, atom, tombstone

VERSIONS = Path(__file__).parent / "versions"
FEED, GAP, COMPLETE = (f"http://example.org/{name}" for name in ("feed", "gap", "complete"))
OLDER, MISSING = f"{FEED}/2003", f"{GAP}/2003"
DOCUMENTS: dict[str, str | int] = {
    FEED: atom([E("2", "it's ☃"), E("1", "first")], prev=OLDER, title="Feed"),
    OLDER: atom([E("0", "line\nline", "2001-01-01T00:00:00Z")], prev=None, title="Feed"),
    GAP: atom([E("1")], prev=MISSING, title="Gap"),
    MISSING: 404,
    COMPLETE: atom([E("1"), E("2")], head="<fh:complete/>", title="Complete"),
}
LATER: dict[str, str | int] = {
    FEED: atom([E("3"), E("2", "changed", "2005-01-01T00:00:00Z")], prev=OLDER, title="Feed"),
    COMPLETE: atom(
        [E("2")], head="<fh:complete/>" + tombstone("1", "2005-01-01T00:00:00Z"), title="Complete"
    ),
}
KEEPING = {"FHCRAWL_KEEP_VERSIONS_ENABLED": True}


def crawl_all(url: str) -> None:
    for documents in (DOCUMENTS, DOCUMENTS | LATER):
        for feed in (FEED, GAP, COMPLETE):
            # The changes of the second crawls are not exported.
            crawl = Crawl(url, documents, more=KEEPING)
            (crawl.crawl if documents is DOCUMENTS else crawl.crawl_only)(feed)
    Database(url).execute("UPDATE runs SET owner = 'process 1 on example.org'")


def creation(database: Database) -> list[str]:
    """Return the statements that create a store in an empty database."""
    statements: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        if statement.lstrip().startswith("CREATE"):
            statements.append(statement.strip().replace("%%", "%"))

    event.listen(Engine, "before_cursor_execute", note)
    Store.open(database.url).close()
    event.remove(Engine, "before_cursor_execute", note)
    return statements


def rows(path: str) -> Iterator[str]:
    with closing(sqlite3.connect(path)) as connection:
        inserts = [line for line in connection.iterdump() if line.startswith("INSERT")]
    # A table comes after those that it refers to.
    for table in schema.metadata.sorted_tables:
        yield from (line for line in inserts if line.startswith(f'INSERT INTO "{table.name}"'))


def write(name: str, statements: list[str]) -> None:
    text = "".join(f"{statement.rstrip(';')};\n" for statement in statements)
    (VERSIONS / f"{schema.VERSION}-{name}.sql").write_text(text, encoding="utf-8")


def main() -> None:
    VERSIONS.mkdir(exist_ok=True)
    with new_database() as database:
        write("sqlite", creation(database))
        crawl_all(database.url)
        write("rows", list(rows(database.url.removeprefix("sqlite:///"))))
    with postgresql.serving() as server:
        os.environ[SERVER] = server
        with new_database() as database:
            write("postgresql", creation(database))


if __name__ == "__main__":
    main()
