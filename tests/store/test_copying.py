"""A store that is copied to another database, and back."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fhcrawl.store import Store, database, schema
from tests.databases import Database, new_database
from tests.engine import Engine
from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer

NOT_EMPTY = "The target store already has feeds: use a new file or an empty database"


@pytest.fixture
def crawled(server: FeedServer, project: Project) -> list[str]:
    server.serve("/whole", atom([E("2"), E("1")], prev="/whole1"))
    server.serve("/whole1", atom([E("0", "é ☃", "2001-01-01T00:00:00Z")]))
    server.serve("/gap", atom([E("1")], prev="/gone"))
    server.serve("/complete", atom([E("1"), E("2")], head="<fh:complete/>"))
    feeds = [server.url(f"/{name}") for name in ("whole", "gap", "complete")]
    project.crawl(*feeds)
    server.serve("/complete", atom([E("2")], head="<fh:complete/>"))
    server.serve("/whole", atom([E("3"), E("2"), E("1")], prev="/whole1"))
    project.crawl(*feeds, output=None)
    return feeds


def told(project: Project, *options: str) -> tuple[list[dict[str, Any]], str]:
    exported = project.scrapy("export", "-o", "-:jsonl", *options)
    assert exported.returncode == 0, exported.stderr
    feeds = json.loads(project.scrapy("feeds", "--json", *options).stdout)
    return [{**feed, "stated": ""} for feed in feeds], exported.stdout


def test_copy_and_back_has_the_same_feeds(server: FeedServer, project: Project, crawled: list[str]) -> None:
    before = told(project)
    assert [len(before[0]), before[1].count("\n")] == [3, 6]
    there = f"sqlite:///{project.folder / 'there.sqlite'}"
    done = project.scrapy("copystore", there)
    assert (done.returncode, done.stdout) == (0, "3 feeds, 5 documents, 7 entries copied\n"), done.stderr
    again = project.scrapy("copystore", there)
    assert (again.returncode, NOT_EMPTY in again.stderr) == (2, True)
    assert told(project, "-s", f"FHCRAWL_STORE_URL={there}") == before
    with new_database() as back:
        done = project.scrapy("copystore", back.url, "-s", f"FHCRAWL_STORE_URL={there}")
        assert done.returncode == 0, done.stderr
        store = {"FHCRAWL_STORE_URL": back.url}
        assert told(project, "-s", f"FHCRAWL_STORE_URL={back.url}") == before
        # New rows get numbers of their own, nothing is fetched again, and what was pending is exported.
        server.serve("/gone", atom([E("0")]))
        server.serve("/new", atom([E("1")], prev="/new1"))
        server.serve("/new1", atom([E("0")]))
        server.requested()
        run = project.crawl(*crawled, server.url("/new"), settings=store)
    assert sorted(server.requested()) == ["/complete", "/gap", "/gone", "/new", "/new1", "/whole"]
    assert run.stats["fhcrawl/feed/complete"] == 4
    changes = sorted((item["feed"].rpartition("/")[2], item["id"], item["change"]) for item in run.items)
    assert changes == [
        *(("complete", "1", "deleted"), ("gap", "0", "new"), ("new", "0", "new"), ("new", "1", "new")),
        ("whole", "3", "new"),
    ]


def test_file_of_a_store_is_its_owners_only(tmp_path: Path) -> None:
    """It has the headers of private feeds."""
    path = tmp_path / "new.sqlite"
    store = Store.open(f"sqlite:///{path}")
    store.begin_run()
    assert {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {
        "new.sqlite": 0o600,
        "new.sqlite-wal": 0o600,
        "new.sqlite-shm": 0o600,
        "new.sqlite-run1": 0o600,
    }
    store.close()
    path.chmod(0o640)
    Store.open(f"sqlite:///{path}").close()
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.sqlite_only("names the path of its store")
def test_store_without_feeds_is_not_copied(project: Project) -> None:
    done = project.scrapy("copystore", f"sqlite:///{project.folder / 'there.sqlite'}")
    reported = f"There are no feeds to copy in sqlite:///{project.folder}/.scrapy/fhcrawl.sqlite: set "
    assert (done.returncode, reported in done.stderr) == (2, True)


@pytest.mark.usefixtures("crawled")
def test_copy_that_fails_leaves_nothing(project: Project) -> None:
    with new_database() as there:
        Store.open(there.url).close()
        there.refuse("changes", "NEW.id = '3'", "the disk is full")
        done = project.scrapy("copystore", there.url)
        assert done.returncode == 1
        assert "The store failed: the disk is full" in done.stderr
        assert "Traceback" not in done.stderr
        assert there.rows("SELECT id FROM entries") == []
        assert there.rows("SELECT runs FROM store") == [(0,)]


def test_copy_during_a_crawl_has_the_state_of_its_beginning(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = "http://example.org/feed"

    def crawl(store_url: str, *ids: str, export: bool = True) -> list[tuple[str, str]]:
        engine = Engine(store_url, {feed: atom([E(name) for name in ids], head="<fh:complete/>")})
        if not export:
            engine.crawl_only(feed)
            return []
        return sorted((change["id"], change["change"]) for change in engine.crawl(feed) or [])

    def rows(store_url: str) -> list[list[Any]]:
        tables = (table.name for table in schema.metadata.sorted_tables)
        return [sorted(Database(store_url).rows(f"SELECT * FROM {name}"), key=repr) for name in tables]

    crawl(url, "1", "2")
    crawl(url, "2", "3", export=False)
    before = rows(url)
    copy_table, exported = database._copy_table, []

    def copy_after_crawl(source: Any, target: Any, table: Any) -> int:
        # The next table is copied after a crawl that has exported what is pending.
        if table is schema.runs:
            exported.extend(crawl(url, "2", "4"))
        return copy_table(source, target, table)

    monkeypatch.setattr(database, "_copy_table", copy_after_crawl)
    with new_database() as copy:
        with closing(Store.open(url)) as store, closing(Store.open(copy.url)) as target:
            store.copy_to(target)
        assert rows(copy.url) == before
        # Deleted: 1, and 3 before it was exported.
        assert exported == [("1", "deleted"), ("4", "new")]
        # The copy does not know that the original has exported 1.
        assert crawl(copy.url, "2", "3") == [("1", "deleted"), ("3", "new")]
        assert crawl(url, "2", "4") == crawl(copy.url, "2", "3") == []
