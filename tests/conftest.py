from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import pytest

from tests import postgresql
from tests.crawling import Project
from tests.databases import SERVER, Database, new_database, on_postgresql
from tests.server import FeedServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest_plugins = ["tests.browser"]
STORES = ("sqlite", "postgresql")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--store", choices=STORES, default="sqlite", help="where the tests keep their stores")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "sqlite_only: of what only SQLite does")
    config.addinivalue_line("markers", "postgresql_only: of what only PostgreSQL does")
    # The processes of pytest-xdist share the server, by the environment.
    if config.getoption("--store") == "sqlite" or hasattr(config, "workerinput"):
        return
    server = contextlib.ExitStack()
    try:
        # Tests lose no data that anybody wants back.
        os.environ[SERVER] = server.enter_context(postgresql.serving("fsync=off", "max_connections=200"))
    except postgresql.NoServerError as error:
        raise pytest.UsageError(f"--store=postgresql: {error}") from error
    config.add_cleanup(server.close)


def pytest_report_header(config: pytest.Config) -> str:
    store = config.getoption("--store")
    others = "; --store=postgresql runs those of the store on PostgreSQL" if store == "sqlite" else ""
    return f"stores: {store}{others}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = config.getoption("--store")
    [elsewhere] = [store for store in STORES if store != here]
    left_out = [item for item in items if item.get_closest_marker(f"{elsewhere}_only")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture
def server() -> Iterator[FeedServer]:
    with FeedServer() as running:
        yield running


@pytest.fixture
def database() -> Iterator[Database]:
    with new_database() as made:
        yield made


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    if not on_postgresql():
        yield Project(tmp_path)
        return
    with new_database() as made:
        yield Project(tmp_path, made.url)
