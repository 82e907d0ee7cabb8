"""Stores that an older fhcrawl has written."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import create_engine, inspect

from fhcrawl.documents.model import DETAILS
from fhcrawl.exceptions import StoreError
from fhcrawl.exporters.columns import Rows
from fhcrawl.store import Store, migrations
from tests.feeds import E, atom

if TYPE_CHECKING:
    from tests.projects import Project
    from tests.server import FeedServer

pytestmark = pytest.mark.sqlite_only("stores of versions from before PostgreSQL")

VERSION_1 = Path(__file__).parent.parent / "data" / "store" / "version-1.sql"
# Opens a store in some processes at the very same time.
AT_ONCE = """
import multiprocessing, sys
from fhcrawl.store import Store

def open_store(barrier, runs):
    barrier.wait()
    store = Store.open(sys.argv[1])
    runs.put(store.begin_run())
    store.close()

processes = multiprocessing.get_context("fork")
barrier, runs = processes.Barrier(6), processes.Queue()
for _ in range(6):
    processes.Process(target=open_store, args=(barrier, runs)).start()
print(*sorted(runs.get(timeout=60) for _ in range(6)))
"""


def write_version_1(path: Path, root: str = "http://feeds.invalid") -> str:
    """A store as the first fhcrawl has left it; its URL."""
    sql = VERSION_1.read_text().replace("http://feeds.invalid", root).replace("FOLDER", str(path.parent))
    path.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(sql)
    return f"sqlite:///{path}"


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def tables(url: str) -> dict[str, Any]:
    engine = create_engine(url)
    found = inspect(engine)
    described = {
        table: (
            {c["name"]: (str(c["type"]), c["nullable"]) for c in found.get_columns(table)},
            found.get_pk_constraint(table)["constrained_columns"],
            sorted((i["name"] or "", i["column_names"], i["unique"]) for i in found.get_indexes(table)),
            sorted(u["column_names"] for u in found.get_unique_constraints(table)),
            sorted((f["constrained_columns"], f["referred_table"]) for f in found.get_foreign_keys(table)),
        )
        for table in found.get_table_names()
    } | {view: found.get_view_definition(view) for view in found.get_view_names()}
    engine.dispose()
    return described


def test_migrated_store_has_the_tables_of_a_new_one(tmp_path: Path) -> None:
    """Fails if schema.py was changed without a step."""
    old, new = write_version_1(tmp_path / "old.sqlite"), f"sqlite:///{tmp_path / 'new.sqlite'}"
    assert tables(old)["store"]
    Store.open(old).close()
    Store.open(new).close()
    assert tables(old) == tables(new)
    assert "live_entries" in tables(old)


def test_crawl_goes_on_in_a_migrated_store(server: FeedServer, project: Project) -> None:
    write_version_1(project.folder / ".scrapy" / "fhcrawl.sqlite", server.root)
    names = ["archived", "limited", "gone", "forbidden", "broken"]
    for name in names:
        server.serve(f"/{name}", atom([E(f"{name} 3")], prev=f"{name}/2", title=name))
        server.serve(f"/{name}/1", atom([E(f"{name} 1")]))
    later = "2004-01-02T00:00:00Z"
    revised = [E("archived 4", updated=later), E("archived 3", "revised", later)]
    server.serve("/archived", atom(revised, prev="archived/2", title="archived", updated=later))
    whole = [E("complete 2", "revised", later)]
    server.serve("/complete", atom(whole, head="<fh:complete/>", title="complete", updated=later))
    run = project.crawl(*(server.url(f"/{name}") for name in [*names, "complete"]))
    assert run.exit_code == 0
    # What charset a subscription document was read in is not known: each is read again, once. Of the
    # archives, only what was missing is fetched.
    assert sorted(server.asked()) == sorted(
        [*(f"/{name}" for name in [*names, "complete"]), *(f"/{name}/1" for name in names)]
    )
    assert run.stats["fhcrawl/document/processed"] == 6 + len(names)
    # What was pending, though its delivery was begun, and what is new.
    assert run.changes == {
        **{f"{name} 1": "new" for name in names},
        "archived 4": "new",
        "archived 3": "updated",
        "complete 2": "updated",
        "complete 1": "deleted",
    }
    assert run.stats["fhcrawl/feed/complete"] == 6
    assert set(project.states().values()) == {"processed"}
    assert [feed["entries"] for feed in project.feeds()] == [4, 3, 1, 3, 3, 3]
    run = project.crawl(server.url("/archived"), server.url("/complete"))
    assert (run.items, run.stats["fhcrawl/document/unchanged"]) == ([], 2)


def test_changes_of_a_delivery_that_was_ended_by_its_file_are_not_exported_again(
    server: FeedServer, project: Project
) -> None:
    write_version_1(project.folder / ".scrapy" / "fhcrawl.sqlite", server.root)
    file = project.folder / "out.jsonl"
    file.write_text("exported\n")
    stat = file.stat()
    with closing(sqlite3.connect(project.folder / ".scrapy" / "fhcrawl.sqlite")) as store, store:
        named = f'[["{file}.part", "{file}", {stat.st_ino}, {stat.st_size}, {stat.st_mtime_ns}]]'
        store.execute("UPDATE deliveries SET files = ?", (named,))
    run = project.crawl(server.url("/complete"), output="later.jsonl")
    assert run.items == []


def test_entries_of_an_older_store_have_the_details_of_their_originals(tmp_path: Path) -> None:
    url = write_version_1(tmp_path / "old.sqlite")
    Store.open(url).close()
    original = (
        '<entry xmlns="http://www.w3.org/2005/Atom" xml:base="/b/" xml:lang="de"><title type="html">t</title>'
        "<summary>s</summary><i:image xmlns:i='http://www.itunes.com/dtds/podcast-1.0.dtd' href='i'/></entry>"
    )
    with closing(sqlite3.connect(tmp_path / "old.sqlite")) as connection, connection:
        connection.execute("UPDATE entries SET original = ? WHERE id = 'archived 3'", (original,))
    with closing(Store.open(url)) as store:
        found = {entry["id"]: [entry[n] for n in DETAILS] for entry in store.entries.read(has_details=True)}
        documents = {entry["id"]: entry["document"] for entry in store.entries.read()}
        rows = Rows(["image", "language"], ["podcast"]).complete(store.entries.read(has_details=True))
        columns = {row["id"]: (row["image"], row["language"]) for row in rows}
    assert columns == {**dict.fromkeys(found, (None, None)), "archived 3": ("http://feeds.invalid/b/i", "de")}
    assert found.pop("archived 3") == ["html", "text", "http://feeds.invalid/b/", "de"]
    assert found == {name: [None, None, documents[name], None] for name in found}


def test_migration_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = write_version_1(tmp_path / "old.sqlite")
    before = dump(tmp_path / "old.sqlite")
    broken = ("ALTER TABLE feeds ADD COLUMN more TEXT", "ALTER TABLE nowhere ADD COLUMN more TEXT")
    monkeypatch.setattr(migrations, "STEPS", (*migrations.STEPS, broken))
    monkeypatch.setattr(migrations, "VERSION", migrations.VERSION + 1)
    with pytest.raises(StoreError, match="no such table: nowhere"):
        Store.open(url)
    assert dump(tmp_path / "old.sqlite") == before


@pytest.mark.parametrize("version", [None, 1])
def test_processes_that_prepare_one_store_at_once_do_not_race(tmp_path: Path, version: int | None) -> None:
    url = f"sqlite:///{tmp_path / 'store.sqlite'}"
    if version is not None:
        write_version_1(tmp_path / "store.sqlite")
    done = subprocess.run(
        [sys.executable, "-c", AT_ONCE, url], capture_output=True, text=True, check=False, timeout=120
    )
    first = 9 if version else 1
    assert done.stdout.split() == [str(run) for run in range(first, first + 6)], done.stderr


def test_store_that_was_never_finished_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection:
        connection.execute("CREATE TABLE store (schema_version INTEGER)")
    with pytest.raises(StoreError, match="begun and never finished"):
        Store.open(f"sqlite:///{tmp_path / 'store.sqlite'}")
