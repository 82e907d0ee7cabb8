"""A Redis server of the tests' own, on loopback."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.ports import NoServerError, answers, free_port, started

MISSING = "redis-server was not found: apt-get install redis-server, or put its folder on the PATH"


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """Start a server without data, which keeps nothing; its URL.

    :raises NoServerError: if there is none
    """
    program = shutil.which("redis-server")
    if program is None:
        raise NoServerError(MISSING)
    with tempfile.TemporaryDirectory(prefix="fhcrawl-redis-") as folder:
        port = free_port()
        options = {"port": port, "bind": "127.0.0.1", "dir": folder, "save": "", "appendonly": "no"}
        given = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        with started([program, *given], Path(folder) / "log", partial(answers, port)):
            yield f"redis://127.0.0.1:{port}/0"
