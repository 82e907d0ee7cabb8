"""Servers of the tests' own that last for all: PostgreSQL, whatever the stores are on, Redis, WordPress."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, NoReturn

import pytest

from tests import postgresql, redisserver, wordpress_server
from tests.databases import SERVER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.wordpress_server import WordPress


def leave_out(why: str) -> NoReturn:
    """Leave out a test for which something is not here: in CI it fails."""
    if os.environ.get("CI"):
        pytest.fail(why)
    # Somebody who has no such server, or may not mount, can run the other tests.
    pytest.skip(why)  # never in CI; elsewhere, it is said which tests were left out, and why


@contextlib.contextmanager
def _here() -> Iterator[None]:
    """Leave out tests whose server is not here; in CI they fail."""
    try:
        yield
    except (postgresql.NoServerError, redisserver.NoServerError, wordpress_server.NoServerError) as error:
        leave_out(str(error))


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    if SERVER in os.environ:
        yield os.environ[SERVER]
        return
    with contextlib.ExitStack() as stack:
        with _here():
            url = stack.enter_context(postgresql.serving("fsync=off"))
        yield url


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    with contextlib.ExitStack() as stack:
        with _here():
            url = stack.enter_context(redisserver.serving())
        yield url


@pytest.fixture(scope="session")
def shared_wordpress() -> Iterator[WordPress]:
    with contextlib.ExitStack() as stack:
        with _here():
            running = stack.enter_context(wordpress_server.serving())
        yield running


@pytest.fixture
def wordpress(shared_wordpress: WordPress) -> WordPress:
    """A WordPress without posts, at URLs without pretty permalinks."""
    shared_wordpress.empty()
    return shared_wordpress
