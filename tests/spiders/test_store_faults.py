"""A store that fails: a sentence, an exit code, and nothing lost when the fault is over."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests import servers
from tests.databases import Database
from tests.feeds import E, atom
from tests.projects import Project, read_export
from tests.server import FeedServer

LOCKED = "database is locked; another process is writing to it"
pytestmark = pytest.mark.sqlite_only("files that are locked, read-only, damaged or gone")


def store_of(project: Project) -> Path:
    return project.folder / ".scrapy" / "fhcrawl.sqlite"


def impatient(project: Project) -> dict[str, object]:
    return {"FHCRAWL_STORE_URL": f"sqlite:///{store_of(project)}?timeout=0.5"}


@pytest.fixture
def feed(server: FeedServer, project: Project) -> str:
    """A feed of five documents, of which two have been read and exported."""
    server.serve("/index", atom([E("5")], prev="/a4"))
    for number in (4, 3, 2):
        server.serve(f"/a{number}", atom([E(str(number))], prev=f"/a{number - 1}"))
    server.serve("/a1", atom([E("1")]))
    (project.folder / ".scrapy").mkdir(exist_ok=True)
    return server.url("/index")


def crawl_some(project: Project, feed: str) -> None:
    run = project.crawl(feed, settings={"FHCRAWL_MAX_ARCHIVES": 1})
    assert run.changes == {"5": "new", "4": "new"}


def assert_complete(project: Project, feed: str, exported: list[str]) -> None:
    """One more run gives the complete logical feed, and the exports together hold each change once."""
    run = project.crawl(feed)
    assert run.exit_code == 0, run.log
    assert sorted(exported + list(run.changes)) == list("12345")
    assert set(project.logical_feed()) == set("12345")
    assert project.verdict() == ("complete", [])
    assert project.crawl(feed).items == []


@pytest.fixture
def small_disk(project: Project) -> Iterator[Path]:
    folder = store_of(project).parent
    with servers.small_disk(folder, "2m"):
        yield folder


def fill(folder: Path) -> None:
    with (folder / "filler").open("wb", 0) as filler, contextlib.suppress(OSError):
        while filler.write(b"x" * 4096):
            pass
    assert not shutil.disk_usage(folder).free


def crawl_while(
    server: FeedServer, project: Project, feed: str, happens: Callable[[], object], sentence: str
) -> list[str]:
    """Crawl; while the archive a3 is requested, something happens to the store."""

    def happen(path: str) -> None:
        if path == "/a3":
            server.on_request = None
            happens()

    server.on_request = happen
    run = project.crawl(feed, settings=impatient(project))
    assert run.exit_code == 1
    assert "Traceback" not in run.log
    reported = [w for w in run.warnings() if w.removeprefix("ERROR: ").startswith("The store")]
    assert len(reported) == 2, run.log
    assert sentence in reported[0]
    advice = "Fix the cause, then run the crawl again: it continues where it stopped."
    cause, _, rest = reported[1].removeprefix("ERROR: The store has failed: ").partition(". Fix")
    assert f"Fix{rest}" == advice
    assert cause in reported[0]
    assert run.stats["fhcrawl/store/failed"] >= 1
    # The walk ends: only the next archive is on its way already.
    assert "/a1" not in server.requested()
    return list(run.changes)


def test_store_that_another_process_locks(server: FeedServer, project: Project, feed: str) -> None:
    with closing(sqlite3.connect(store_of(project), isolation_level=None, check_same_thread=False)) as other:
        exported = crawl_while(server, project, feed, lambda: other.execute("BEGIN EXCLUSIVE"), LOCKED)
    assert exported == []
    assert_complete(project, feed, exported)


@pytest.mark.in_process
def test_own_lock_that_is_lost_does_not_cancel_the_export(
    server: FeedServer, project: Project, feed: str
) -> None:
    """As when PostgreSQL is restarted: the lock ends with the connection."""

    def lose(path: str) -> None:
        if path == "/a2":
            [lock] = store_of(project).parent.glob("fhcrawl.sqlite-run*")
            lock.unlink()

    server.on_request = lose
    run = project.crawl(feed)
    assert "considered this one dead" not in run.log
    assert (run.exit_code, sorted(run.changes)) == (0, list("12345"))


def test_full_disk(server: FeedServer, project: Project, small_disk: Path, feed: str) -> None:
    exported = crawl_while(server, project, feed, lambda: fill(small_disk), "free up space on its disk")
    (small_disk / "filler").unlink()
    assert_complete(project, feed, exported)


def test_store_that_is_gone(server: FeedServer, project: Project, feed: str) -> None:
    here, there = store_of(project).parent, project.folder / "moved"
    exported = crawl_while(server, project, feed, lambda: here.rename(there), "The store's file is missing")
    assert exported == []
    assert not here.exists()
    there.rename(here)
    assert_complete(project, feed, exported)


def cut_off(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def overwrite(path: Path) -> None:
    path.write_text("This is no database, and never was one." * 100)


def make_newer(path: Path) -> None:
    Database(f"sqlite:///{path}").execute("UPDATE store SET schema_version = 99")


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (cut_off, "malformed); restore a backup"),
        (overwrite, "file is not a database); check FHCRAWL_STORE_URL; if it is right, restore a backup"),
        (make_newer, "by a newer version of fhcrawl (schema version 99; this one supports "),
    ],
    ids=["cut off", "no database", "newer schema"],
)
def test_store_that_cannot_be_read_stops_every_command_and_stays_as_it_is(
    server: FeedServer, project: Project, feed: str, harm: Callable[[Path], None], sentence: str
) -> None:
    crawl_some(project, feed)
    path = store_of(project)
    copy = path.read_bytes()
    harm(path)
    harmed = path.read_bytes()
    server.requested()
    for command in (("crawl", "history", "-a", f"feed={feed}"), ("feeds",), ("export", "-o", "whole.jsonl")):
        done = project.scrapy(*command)
        assert done.returncode == (2 if harm is make_newer else 1)
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr
    assert server.requested() == []
    assert path.read_bytes() == harmed
    assert not (project.folder / "whole.jsonl").exists()
    path.write_bytes(copy)
    assert_complete(project, feed, ["5", "4"])


def test_locked_store_stops_the_crawl_at_once(server: FeedServer, project: Project, feed: str) -> None:
    crawl_some(project, feed)
    server.requested()
    with closing(sqlite3.connect(store_of(project), isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        run = project.crawl(feed, settings=impatient(project))
        assert [feed["entries"] for feed in project.feeds()] == [2]
    assert run.exit_code == 1
    assert LOCKED in run.log
    assert "Traceback" not in run.log
    assert server.requested() == []
    assert_complete(project, feed, ["5", "4"])


def test_store_that_fails_at_first_is_one_sentence(server: FeedServer, project: Project, feed: str) -> None:
    """Its check before that has found nothing."""
    crawl_some(project, feed)
    server.requested()
    project.database.refuse("runs", "true", "no room")
    run = project.crawl(feed)
    assert run.exit_code == 1
    (reported,) = run.warnings()
    assert reported.startswith("ERROR: Cannot start the crawl: The store")
    assert "no room" in reported
    assert "Traceback" not in run.log
    assert server.requested() == []
    project.database.mend("runs")
    assert_complete(project, feed, ["5", "4"])


def test_feed_that_cannot_be_forgotten_is_left(server: FeedServer, project: Project, feed: str) -> None:
    """It was to be read again, and what is not has not been seen."""
    crawl_some(project, feed)
    server.serve("/other", atom([E("other")]))
    server.requested()
    project.database.refuse("documents", "NEW.state = 'known'", "no room", "UPDATE")
    run = project.crawl(feed, server.url("/other"), args=("-a", "deltafetch_reset=1"))
    assert run.exit_code == 1
    assert any("/index: unknown" in reported and "was not crawled" in reported for reported in run.warnings())
    assert "Traceback" not in run.log
    assert server.requested() == ["/other"]
    assert run.changes == {"other": "new"}


def scrapy_without_rights(project: Project, *args: str) -> subprocess.CompletedProcess[str]:
    """Run `scrapy` so that it may not write what its file modes forbid, even for root."""
    prefix = ("setpriv", "--bounding-set=-dac_override", "--inh-caps=-all") if os.geteuid() == 0 else ()
    return subprocess.run(
        [*prefix, sys.executable, "-m", "scrapy", *args],
        cwd=project.folder,
        env=project.environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("folder", [0o755, 0o555], ids=["the file", "the file and its folder"])
def test_read_only_store_is_not_crawled(server: FeedServer, project: Project, feed: str, folder: int) -> None:
    crawl_some(project, feed)
    path = store_of(project)
    path.chmod(0o444)
    path.parent.chmod(folder)
    server.requested()
    done = scrapy_without_rights(project, "crawl", "history", "-a", f"feed={feed}")
    assert (done.returncode, server.requested()) == (1, [])
    assert "attempt to write a readonly database" in done.stderr
    assert "make its file and folder writable" in done.stderr
    assert "Traceback" not in done.stderr
    done = scrapy_without_rights(project, "feeds")
    assert done.returncode == 0, done.stderr
    assert feed in done.stdout
    done = scrapy_without_rights(project, "export", "-o", "whole.jsonl")
    assert done.returncode == 0, done.stderr
    assert {entry["id"] for entry in read_export(project.folder / "whole.jsonl")} == {"5", "4"}
    path.parent.chmod(0o755)
    path.chmod(0o644)
    assert_complete(project, feed, ["5", "4"])


def test_read_only_file_that_is_no_store_has_the_name_that_the_user_gave_it(project: Project) -> None:
    path = project.folder / "ça va" / "store.sqlite"
    path.parent.mkdir()
    overwrite(path)
    path.parent.chmod(0o555)
    url = f"sqlite:///{path}"
    done = scrapy_without_rights(project, "feeds", "-s", f"FHCRAWL_STORE_URL={url}")
    path.parent.chmod(0o755)
    assert done.returncode == 1
    assert f"cannot be opened: {make_url(url).render_as_string()} (file is not a database)" in done.stderr


@pytest.mark.in_process
@pytest.mark.parametrize(
    "column",
    [
        *(f"entries.{name}" for name in ("authors", "details", "added")),
        *(f"feeds.{name}" for name in ("options", "rhythm", "reasons", "listing", "sitemap")),
        *("coverage.earlier", "deliveries.files", "heads.original"),
    ],
)
def test_damaged_column_is_reported_in_a_sentence(server: FeedServer, project: Project, column: str) -> None:
    server.serve("/index", atom([E("2"), E("1")]))
    url = server.url("/index")
    project.scrapy("subscribe", url)
    project.crawl(url)
    table, name = column.split(".")
    with closing(sqlite3.connect(store_of(project), isolation_level=None)) as store:
        if table == "deliveries":
            store.execute("INSERT INTO deliveries (id, run, files) VALUES (77, 77, '')")
        assert store.execute(f"UPDATE {table} SET {name} = '{{'").rowcount
    server.serve("/index", atom([E("3"), E("1", "changed")]))
    failed = 0
    for command in (
        *(["feeds"], ["export", "-o", "-:jsonl"], ["export", "-o", "-:atom"], ["history", url, "1"]),
        *(["report", "-o", "report.html"], ["crawl", "history", "-a", f"feed={url}"]),
    ):
        done = project.scrapy(*command)
        # The log of a crawl has tracebacks, with the cause before the sentence.
        assert done.stderr.count("JSONDecodeError:") <= done.stderr.count("StoreError: The store is damaged")
        assert command[0] == "crawl" or "Traceback" not in done.stderr
        assert done.returncode in (0, 1), (command, done.stderr)
        failed += "The store is damaged" in done.stderr
    assert failed or not column.startswith("entries")
