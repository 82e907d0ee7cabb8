"""Processes that run `scrapy`, forked from one that has imported it: what most of their time would go to."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from tests.projects import ROOT
from tests.spooling import in_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from typing_extensions import Self

    from tests.chaos.crash_points import Moment

# In the environment: documents come in pieces of so many entries, 0 for whole ones; and seconds between looks
# for feeds that are done, "" for as ever, with which FHCRAWL_EXPORT_SECONDS may be a part of a second.
PIECE, LOOKS = "TEST_PIECE", "TEST_LOOKS"
PRELOADED = (
    "scrapy.core.downloader.handlers.http11",
    "scrapy.core.engine",
    "scrapy.crawler",
    "fhcrawl.commands.crawl",
    "fhcrawl.commands.export",
    "fhcrawl.extensions.feedexport",
    "fhcrawl.extensions.release",
    "fhcrawl.extensions.verdicts",
    "fhcrawl.spidermiddlewares.deltafetch",
    "fhcrawl.spiders.history",
    "tests.chaos.crash_points",
    "psycopg",
)


class Forge:
    """Starts one process after the other.

    :param environment: what they have of their own
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = {**os.environ, **environment}

    def __enter__(self) -> Self:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.fork_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            cwd=ROOT,
            env=self._environment,
        )
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.communicate()

    def start(self, args: list[str], folder: Path, log: Path, moment: Moment | None = None) -> Forged:
        """Start `scrapy` in a folder; what it says goes to a log.

        :param moment: it is killed right before that
        """
        if self._server.stdin is None:
            raise RuntimeError("not entered")
        order = {"args": args, "folder": str(folder), "log": str(log), "moment": moment}
        self._server.stdin.write(json.dumps(order) + "\n")
        return Forged(self._server, int(self._answer()))

    def _answer(self) -> str:
        return "" if self._server.stdout is None else self._server.stdout.readline()


class Forged:
    """A process.

    :param code: its exit code, negative for a signal; None while it runs
    """

    def __init__(self, server: subprocess.Popen[str], pid: int) -> None:
        self._server = server
        self._handle: int | None = os.pidfd_open(pid)
        self._lock = threading.Lock()
        self.code: int | None = None

    def wait(self, seconds: float) -> int | None:
        """Wait so long for its end, or shorter; its exit code."""
        stdout = self._server.stdout
        if self.code is None and stdout is not None and select.select([stdout], [], [], seconds)[0]:
            self.code = os.waitstatus_to_exitcode(int(stdout.readline()))
        return self.code

    def kill(self) -> None:
        """End it with SIGKILL, if it has not ended; nothing else is killed, whoever has its number since."""
        with self._lock, contextlib.suppress(ProcessLookupError):
            if self._handle is not None:
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)  # type: ignore[attr-defined,unused-ignore]

    def close(self) -> None:
        """Kill it, and forget it."""
        self.kill()
        while self.wait(1) is None:
            pass
        with self._lock:
            handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


@contextlib.contextmanager
def looking(seconds: float) -> Iterator[None]:
    """Let this process look so often for feeds that are done; 0: as ever."""
    from fhcrawl.core import checks
    from fhcrawl.extensions import release

    with pytest.MonkeyPatch.context() as changed:
        if seconds:
            changed.setattr(release, "LOOKS_AGAIN_SECONDS", seconds)
            changed.delitem(checks.OUR_NUMBERS, "FHCRAWL_EXPORT_SECONDS")
        yield


def serve() -> None:
    """Fork for each line."""
    for name in PRELOADED:
        import_module(name)
    if "twisted.internet.reactor" in sys.modules:
        raise RuntimeError("a reactor cannot be forked")
    with in_pieces(int(os.environ[PIECE]) or None), looking(float(os.environ[LOOKS] or 0)):
        for line in sys.stdin:
            pid = os.fork()
            if not pid:
                _become(json.loads(line))
            print(pid, flush=True)
            print(os.waitpid(pid, 0)[1], flush=True)


def _become(order: dict[str, Any]) -> None:
    from scrapy import cmdline

    from tests.chaos.crash_points import Moment, die_before

    if order["moment"] is not None:
        die_before(Moment(*order["moment"]))
    os.chdir(order["folder"])
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDWR)
    for target, source in ((0, nothing), (1, log), (2, log)):
        os.dup2(source, target)
    cmdline.execute(["scrapy", *order["args"]])


if __name__ == "__main__":
    serve()
