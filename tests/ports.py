"""Ports on loopback, and programs that serve there."""

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

START_SECONDS = 120
PAUSE_SECONDS = 0.05


class NoServerError(Exception):
    """A program is missing, or does not start; the message names the remedy."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


@contextlib.contextmanager
def started(
    command: Sequence[str],
    log: Path,
    is_up: Callable[[], bool],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Iterator[None]:
    """Run a server; it is killed at the end, with all that it has started.

    :param log: file of its output
    :param cwd: the folder of that file if None
    :raises NoServerError: if it does not start
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=cwd or log.parent, env=env, stdout=output, stderr=output, start_new_session=True
        )
    try:
        until = time.monotonic() + START_SECONDS
        while not is_up():
            if time.monotonic() > until or process.poll() is not None:
                reported = log.read_text(errors="replace").strip()[-2000:]
                raise NoServerError(f"{command[0]} does not start: {reported}")
            time.sleep(PAUSE_SECONDS)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()
