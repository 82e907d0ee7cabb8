"""The shell examples of the documentation work, also with servers on this machine, and print what pages show.

`pytest tests/docs -m "not nightly" --update-golden` rewrites the outputs. Read the diff before you commit it.
"""

import itertools
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests import fork_server
from tests.databases import Database
from tests.docs import shell
from tests.docs.pages import CONSOLE, DOCS, PAGES, PROMPT, SHELL, Example, examples, source
from tests.projects import ROOT, read_export
from tests.server import FeedServer

pytestmark = pytest.mark.sqlite_only("the store that a reader has by default, or one of its own")
nightly = pytest.mark.nightly("starts servers, and the commands of the pages")
WITH_CONSOLE = [page for page in PAGES if CONSOLE.search(source(page))]
# The page is about commands in the folder of a project.
IN_PROJECT = "howto/scrapy"


@pytest.fixture
def home(tmp_path: Path, server: FeedServer) -> Path:
    shell.install(tmp_path / "bin", _control())
    shell.serve(server)
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.mark.slow("starts the commands of the pages")
@pytest.mark.parametrize("page", WITH_CONSOLE)
def test_examples_print_what_is_shown(
    page: str, home: Path, server: FeedServer, request: pytest.FixtureRequest
) -> None:
    if page == IN_PROJECT:
        shutil.copy(ROOT / "scrapy.cfg", home)
    for path in (DOCS / "examples").iterdir():
        (home / path.name).write_text(path.read_text("utf-8").replace(shell.SITE, server.root), "utf-8")
    before = source(page)
    after = CONSOLE.sub(lambda block: "".join(_run(e, home, server) for e in examples(block[0])), before)
    if request.config.getoption("--update-golden") and shell.comparable(after) != shell.comparable(before):
        (DOCS / f"{page}.md").write_text(after, "utf-8")
    assert shell.comparable(after) == shell.comparable(source(page))


def _control() -> int | None:
    return fork_server.running().control.fileno() if sys.platform == "linux" else None


def _run(example: Example, home: Path, server: FeedServer) -> str:
    done = shell.run(example.command, home, server, _control())
    assert done.returncode == 0, (example.command, done.stdout)
    assert example.output is None or done.stdout, example.command
    shown = "" if example.output is None else shell.as_printed(done.stdout, home, server) + "\n"
    return f"{PROMPT}{example.command}\n{shown}"


# What the pages name.
REMOTE = "postgresql://user:password@db.example.org/fhcrawl"
LOCAL = "postgresql:///fhcrawl"
REDIS = "redis://redis.example.org:6379/0"

_numbers = itertools.count(1)


def empty_store(postgresql_url: str) -> str:
    schema = f"docs_{os.getpid()}_{next(_numbers)}"
    Database(postgresql_url).execute(f"CREATE SCHEMA {schema}")
    return f"{postgresql_url}?options=-csearch_path%3D{schema}"


def run(page: str, begin: str, home: Path, server: FeedServer, instead: dict[str, str]) -> str:
    [block] = [block for block in SHELL.findall(source(page)) if block.startswith(begin)]
    names = "|".join(map(re.escape, instead))
    done = shell.run(re.sub(names, lambda name: instead[name[0]], block), home, server, _control())
    assert done.returncode == 0, done.stdout
    return done.stdout


@nightly
def test_crawl_keeps_its_store_in_postgresql(postgresql_url: str, home: Path, server: FeedServer) -> None:
    store = empty_store(postgresql_url)
    run("howto/postgresql", "export FHCRAWL_STORE_URL", home, server, {REMOTE: f"'{store}'"})
    assert len(read_export(home / "entries.jsonl")) == 36
    assert Database(store).rows("SELECT verdict FROM feed_verdicts") == [("complete",)]


@nightly
def test_store_is_moved_to_postgresql_and_back(postgresql_url: str, home: Path, server: FeedServer) -> None:
    store = empty_store(postgresql_url)
    shell.run("fhcrawl crawl https://example.org/blog.atom", home, server, _control())
    for begin in ("fhcrawl copystore postgresql:", "FHCRAWL_STORE_URL="):
        printed = run("howto/move", begin, home, server, {LOCAL: f"'{store}'"})
        assert printed.startswith("1 feed, 2 documents, 1 entry copied")
    assert Database(f"sqlite:///{home}/copy.sqlite").rows("SELECT count(*) FROM live_entries") == [(1,)]


@nightly
def test_worker_of_a_cluster_crawls_what_is_in_its_list(
    postgresql_url: str, redis_url: str, home: Path, server: FeedServer
) -> None:
    (home / "subscriptions.txt").write_text(f"{server.url('/index.atom')}\n{server.url('/podcast.rss')}\n")
    instead = {REMOTE: f"'{empty_store(postgresql_url)}'", REDIS: redis_url}
    run("howto/machines", "export SCRAPY_SETTINGS_MODULE", home, server, instead)
    assert len(read_export(home / "entries-1.jsonl")) == 39
