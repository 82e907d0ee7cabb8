"""The examples of the pages on PostgreSQL and on several machines, with servers on this machine."""

import itertools
import os
import re
from pathlib import Path

import pytest

from tests.databases import Database
from tests.docs import shell
from tests.docs.pages import SHELL, source
from tests.projects import read_export
from tests.server import FeedServer

pytestmark = [
    pytest.mark.sqlite_only("has a database of its own"),
    pytest.mark.nightly("starts servers, and the commands of the pages"),
]
# What the pages name.
REMOTE = "postgresql://user:password@db.example.org/fhcrawl"
LOCAL = "postgresql:///fhcrawl"
REDIS = "redis://redis.example.org:6379/0"

_numbers = itertools.count(1)


@pytest.fixture
def home(tmp_path: Path, server: FeedServer) -> Path:
    shell.install(tmp_path / "bin")
    shell.serve(server)
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def empty_store(postgresql_url: str) -> str:
    schema = f"docs_{os.getpid()}_{next(_numbers)}"
    Database(postgresql_url).execute(f"CREATE SCHEMA {schema}")
    return f"{postgresql_url}?options=-csearch_path%3D{schema}"


def run(page: str, begin: str, home: Path, server: FeedServer, instead: dict[str, str]) -> str:
    """Run the block of a page that begins with some text; return what it prints."""
    [block] = [block for block in SHELL.findall(source(page)) if block.startswith(begin)]
    names = "|".join(map(re.escape, instead))
    done = shell.run(re.sub(names, lambda name: instead[name[0]], block), home, server)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_crawl_keeps_its_store_in_postgresql(postgresql_url: str, home: Path, server: FeedServer) -> None:
    store = empty_store(postgresql_url)
    run("howto/postgresql", "export FHCRAWL_STORE_URL", home, server, {REMOTE: f"'{store}'"})
    assert len(read_export(home / "entries.jsonl")) == 36
    assert Database(store).rows("SELECT verdict FROM feed_verdicts") == [("complete",)]


def test_store_is_moved_to_postgresql_and_back(postgresql_url: str, home: Path, server: FeedServer) -> None:
    store = empty_store(postgresql_url)
    shell.run("fhcrawl crawl https://example.org/blog.atom", home, server)
    for begin in ("fhcrawl copystore", "FHCRAWL_STORE_URL="):
        printed = run("howto/postgresql", begin, home, server, {LOCAL: f"'{store}'"})
        assert printed.startswith("1 feed, 2 documents, 1 entry copied")
    assert Database(f"sqlite:///{home}/copy.sqlite").rows("SELECT count(*) FROM live_entries") == [(1,)]


def test_worker_of_a_cluster_crawls_what_is_in_its_list(
    postgresql_url: str, redis_url: str, home: Path, server: FeedServer
) -> None:
    (home / "subscriptions.txt").write_text(f"{server.url('/index.atom')}\n{server.url('/podcast.rss')}\n")
    instead = {REMOTE: f"'{empty_store(postgresql_url)}'", REDIS: redis_url}
    run("howto/machines", "export SCRAPY_SETTINGS_MODULE", home, server, instead)
    assert len(read_export(home / "entries-1.jsonl")) == 39
