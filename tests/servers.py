"""Servers of the tests' own that last for all: PostgreSQL, whatever the stores are on, Redis, WordPress."""

import contextlib
import importlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import pytest

from tests import postgresql, redisserver, wordpress_server
from tests.databases import SERVER
from tests.ports import NoServerError
from tests.wordpress_server import WordPress

T = TypeVar("T")
NO_MOUNT = "a disk of its own needs the right to mount"


def leave_out(why: str) -> NoReturn:
    """Leave out a test for which something is not here: in CI it fails."""
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)  # Not in CI: a machine without the server runs the other tests; `-ra` lists these.


def library(name: str) -> Any:
    """Import a module of a package of the extra `test-all`; leave out the test without it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        leave_out(f"{error.name} is not installed: pip install -e '.[test-all]'")


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """Let a folder be a file system of its own, of some size as mount has it."""
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        leave_out(NO_MOUNT)
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)  # noqa: S607


@contextlib.contextmanager
def _here(server: AbstractContextManager[T]) -> Iterator[T]:
    """Leave out tests whose server is not here; in CI they fail."""
    with contextlib.ExitStack() as stack:
        try:
            running = stack.enter_context(server)
        except NoServerError as error:
            leave_out(str(error))
        yield running


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    known = os.environ.get(SERVER)
    with contextlib.nullcontext(known) if known else _here(postgresql.serving("fsync=off")) as url:
        yield url


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    with _here(redisserver.serving()) as url:
        yield url


@pytest.fixture(scope="session")
def shared_wordpress() -> Iterator[WordPress]:
    with _here(wordpress_server.serving()) as running:
        yield running


@pytest.fixture
def wordpress(shared_wordpress: WordPress) -> WordPress:
    """A WordPress without posts, at URLs without pretty permalinks."""
    shared_wordpress.empty()
    return shared_wordpress
