"""Processes that run `scrapy`, forked from one that has imported it: what most of their time would go to."""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module, reload
from pathlib import Path
from pkgutil import walk_packages
from typing import IO, TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    # A command that only connects to the server starts without site-packages.
    from typing_extensions import Self

ROOT = Path(__file__).parent.parent
# What `scrapy` imports, packages with all that is in them; not what installs a reactor.
PRELOADED = (
    *("fhcrawl", "protego", "psycopg", "queuelib", "scrapy.commands", "scrapy.core.downloader.handlers"),
    *("scrapy.core.engine", "scrapy.crawler", "scrapy.downloadermiddlewares", "scrapy.extensions"),
    *("scrapy.pqueues", "scrapy.spidermiddlewares", "scrapy.squeues"),
    *("sqlalchemy.dialects.postgresql.psycopg", "sqlalchemy.dialects.sqlite.pysqlite", "sqlite3"),
    "stringprep",
)
# What Python and its libraries read when they start.
STARTING = ("PYTHON", "LD_", "LC_", "LANG", "TZ", "MALLOC")
# Of these, what `_open_streams` does as Python does.
OF_STREAMS = ("PYTHONIOENCODING", "PYTHONUNBUFFERED")
Call = tuple[str, list[Any]]

_ends: list[object] = []


def can_fork(environment: Mapping[str, str]) -> bool:
    """Return whether a process with an environment differs from others only in what it reads later."""
    changed = {name for name, _ in environment.items() ^ os.environ.items()} - {"PYTHONPATH", *OF_STREAMS}
    is_ours = environment.get("PYTHONPATH") == str(ROOT)
    return is_ours and sys.platform == "linux" and not any(name.startswith(STARTING) for name in changed)


class ForkedProcess:
    """A process, with the attributes and methods of `subprocess.Popen` that the tests use."""

    def __init__(self, connection: socket.socket, args: Sequence[str]) -> None:
        self._connection, self._lock = connection, threading.Lock()
        self._answers = connection.makefile("r", encoding="ascii")
        self.args = args
        self.pid = int(self._answers.readline())
        self._handle: int | None = os.pidfd_open(self.pid)
        self.returncode: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.wait()

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; return the exit code.

        :param timeout: seconds
        :raises subprocess.TimeoutExpired: if it runs longer
        """
        end = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            if self.returncode is None:
                left = None if end is None else max(end - time.monotonic(), 0)
                if not _is_readable(self._connection, left):
                    raise subprocess.TimeoutExpired(self.args, timeout or 0)
                self.returncode = os.waitstatus_to_exitcode(int(self._answers.readline()))
                self._close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it has not ended; nothing else gets it, whoever has its number since."""
        handle = self._handle
        if handle is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, number)  # type: ignore[attr-defined,unused-ignore]

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def _close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)
        self._answers.close()
        self._connection.close()


def _is_readable(connection: socket.socket, seconds: float | None) -> bool:
    return bool(select.select([connection], [], [], seconds)[0])


class ForkServer:
    """Starts processes.

    :param control: the connection to the server; every process that has it may start some
    """

    def __init__(self, control: socket.socket) -> None:
        self._lock = threading.Lock()
        self.control = control

    def start(
        self,
        args: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        streams: Sequence[int],
        before: Sequence[Call] = (),
        program: str = "scrapy",
    ) -> ForkedProcess:
        """Start `scrapy`, or `fhcrawl`, in a session of its own.

        :param streams: file descriptors of its standard input, output and error
        :param before: what it calls first: names, as `package.module:function`, and arguments
        """
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            socket.send_fds(self.control, [b"."], [theirs.fileno(), *streams])
        order = {
            "program": program,
            "args": list(args),
            "folder": str(folder),
            "env": dict(environment),
            "before": before,
        }
        ours.sendall(json.dumps(order).encode() + b"\n")
        return ForkedProcess(ours, [program, *args])


@cache
def running() -> ForkServer:
    """Return the server of this process, and start it first if it does not run."""
    ours, theirs = socket.socketpair()
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.fork_server", str(theirs.fileno())],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    # It ends when nobody has the connection; what it has started goes on.
    atexit.register(server.wait)
    atexit.register(ours.close)
    return ForkServer(ours)


def forward(control: int, program: str, args: Sequence[str]) -> int:
    server = ForkServer(socket.socket(fileno=control))
    return server.start(args, Path.cwd(), os.environ, (0, 1, 2), program=program).wait()


def preload() -> None:
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            package = import_module(name)
            for module in walk_packages(getattr(package, "__path__", ()), f"{name}.", onerror=lambda _: None):
                if not module.name.endswith("__main__"):
                    with contextlib.suppress(ImportError):
                        import_module(module.name)


def serve(control: socket.socket) -> None:
    with warnings.catch_warnings():
        # Of Scrapy's about its deprecated modules.
        warnings.simplefilter("ignore")
        preload()
    if "twisted.internet.reactor" in sys.modules:
        raise RuntimeError("a reactor cannot be forked")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        _, handles, _, _ = socket.recv_fds(control, 1, 4)
        if not handles:
            return
        if not os.fork():
            control.close()
            _oversee(*handles)
            return
        for handle in handles:
            os.close(handle)


def _oversee(connection: int, *streams: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with socket.socket(fileno=connection) as answers:
        with answers.makefile("r", encoding="utf-8") as orders:
            order = json.loads(orders.readline())
        pid = os.fork()
        if pid:
            for handle in streams:
                os.close(handle)
            # Whoever started it may have gone.
            with contextlib.suppress(BrokenPipeError):
                answers.sendall(b"%d\n" % pid)
                answers.sendall(b"%d\n" % os.waitpid(pid, 0)[1])
            os._exit(0)
    os.setsid()
    for target, handle in enumerate(streams):
        os.dup2(handle, target)
        os.close(handle)
    _become_scrapy(order)


def _become_scrapy(order: dict[str, Any]) -> None:
    from scrapy import cmdline

    from fhcrawl import settings

    os.environ.clear()
    os.environ.update(order["env"])
    _open_streams()
    os.chdir(order["folder"])
    sys.path[0] = order["folder"]
    # It has read the environment.
    reload(settings)
    for name, arguments in order["before"]:
        module, _, function = name.partition(":")
        getattr(import_module(module), function)(*arguments)
    sys.argv = [order["program"], *order["args"]]
    try:
        if order["program"] == "scrapy":
            cmdline.execute()
        else:
            import_module("fhcrawl.__main__").main()
    except SystemExit as exit_:
        _ends.append(exit_.code)
        raise


def _open_streams() -> None:
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "").partition(":")
    encoding, errors = encoding or sys.stdout.encoding, errors or sys.stdout.errors or "strict"
    is_unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), encoding, errors)
    for name, number, how in (("stdout", 1, errors), ("stderr", 2, "backslashreplace")):
        raw = io.FileIO(number, "wb", closefd=False)
        binary = raw if is_unbuffered else io.BufferedWriter(raw)
        by_line = number == 2 or raw.isatty()
        text = io.TextIOWrapper(
            cast("IO[bytes]", binary), encoding, how, line_buffering=by_line, write_through=is_unbuffered
        )
        setattr(sys, name, text)


def _end() -> None:
    """End a command that has exited: to free all that was preloaded took most of the time of a short one."""
    if _ends and isinstance(_ends[0], int):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_ends[0])


if __name__ == "__main__":
    # Registered before all others: it is called after them.
    atexit.register(_end)
    connection, *command = sys.argv[1:]
    if command:
        sys.exit(forward(int(connection), command[0], command[1:]))
    serve(socket.socket(fileno=int(connection)))
