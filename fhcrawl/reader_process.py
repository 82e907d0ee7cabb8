"""The process that reads documents beside the crawl."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import sys
from typing import TYPE_CHECKING

from fhcrawl.reader import LENGTH, READY, framed

if TYPE_CHECKING:
    from fhcrawl.documents import FeedDocument
    from fhcrawl.reader import Job

MODULE = "fhcrawl.reader"
BUFFER = 1 << 22  # octets


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
            *(sys.executable, "-m", MODULE),
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
            jobs.write(framed(job))
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
