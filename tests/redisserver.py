"""A Redis server of the tests' own, on loopback."""

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.ports import free_port

MISSING = "redis-server was not found: apt-get install redis-server, or put its folder on the PATH"
START_SECONDS = 60
PAUSE_SECONDS = 0.05


class NoServerError(Exception):
    """There is no Redis here, or it does not start; says what to do."""


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
        log = Path(folder) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen([program, *given], stdout=output, stderr=output)
        try:
            _wait(process, port, log)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(PAUSE_SECONDS)
    raise NoServerError(f"redis-server does not start: {log.read_text(errors='replace')}")
