"""Reads feed documents, in this process or in one of its own: `python -m fhcrawl.reader`."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pickle
import signal
import struct
import sys
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from fhcrawl import documents
from fhcrawl.addresses import without_credentials

if TYPE_CHECKING:
    from fhcrawl.documents import Bounds, FeedDocument

LENGTH = struct.Struct("!Q")  # octets of what follows
READY = b"ready\n"
DIED = "reader-died"
BUFFER = 1 << 22  # octets
PIPE = 1 << 20  # octets; the most that Linux gives to anybody who asks


class Job(NamedTuple):
    """A document to be read: the parameters of `documents.read`."""

    body: bytes
    url: str
    content_type: str | None
    links: list[str]
    last_modified: str | None
    keep_originals: bool
    most: Bounds


def read(job: Job) -> FeedDocument:
    """The feed document of a response, with links that hold no user names and passwords.

    :raises NotAFeedError: if it is none
    """
    document = documents.read(*job)
    document.links.update({name: without_credentials(url) for name, url in document.links.items()})
    return document


class ReaderProcess:
    """A process that reads documents, one after the other. It ends when this one does."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @classmethod
    async def start(cls) -> ReaderProcess:
        """Start it.

        :raises OSError: if that cannot be done
        """
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", __name__),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            limit=BUFFER,
        )
        started = cls(process)
        await started._receive(len(READY))
        return started

    async def read(self, job: Job) -> FeedDocument:
        """Read a document there.

        :raises NotAFeedError: if it is none
        :raises OSError: if the process is no more; then it has been waited for
        """
        jobs = _pipes(self._process)[1]
        with contextlib.suppress(ConnectionError):
            jobs.write(_framed(job))
            await jobs.drain()
        (length,) = LENGTH.unpack(await self._receive(LENGTH.size))
        answer = pickle.loads(await self._receive(length))  # noqa: S301 - it is our own process
        if isinstance(answer, Exception):
            raise answer
        document: FeedDocument = answer
        return document

    async def _receive(self, length: int) -> bytes:
        try:
            return await _pipes(self._process)[0].readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise ChildProcessError(f"it ended with status {await self.end()}") from error

    async def end(self) -> int:
        """Let it end, and wait until it has; its exit status, or minus the number of a signal."""
        _pipes(self._process)[1].close()
        return await self._process.wait()


def _pipes(process: asyncio.subprocess.Process) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if process.stdout is None or process.stdin is None:
        raise RuntimeError("the process has no pipes")
    return process.stdout, process.stdin


def _framed(value: object) -> bytes:
    pickled = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(pickled)) + pickled


def serve(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Answer jobs until there are no more."""
    answers.write(READY)
    answers.flush()
    while head := jobs.read(LENGTH.size):
        job = pickle.loads(jobs.read(*LENGTH.unpack(head)))  # noqa: S301 - of our parent
        answers.write(_framed(_answer(job)))
        answers.flush()


def _answer(job: Job) -> FeedDocument | Exception:
    try:
        return read(job)
    except Exception as error:  # noqa: BLE001 - it is raised where the document was to be read
        return error


def _widen(pipe: int) -> None:
    """Let a pipe hold a whole document, so that nobody waits for the other side to take it (Linux)."""
    with contextlib.suppress(AttributeError, OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE)


def main() -> None:
    """Serve the process that has started this one."""
    # Ctrl-C goes to both; the crawl still needs this one then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for pipe in (sys.stdin, sys.stdout):
        _widen(pipe.fileno())
    serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
