"""The process that parses documents for the crawl."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from typing import IO, TYPE_CHECKING

from fhcrawl.crawling.parser import OUT_OF_MEMORY, TURN, put_job, take_answer

if TYPE_CHECKING:
    from fhcrawl.crawling.parser import Job
    from fhcrawl.documents import DocumentList, FeedDocument

MODULE = "fhcrawl.crawling.parser"
TOO_MUCH_MEMORY = "parsing it takes more memory than FHCRAWL_READER_MEMORY allows"
ENDS = {
    OUT_OF_MEMORY: TOO_MUCH_MEMORY,
    -signal.SIGXCPU: "parsing it takes more time than FHCRAWL_READER_TIMEOUT allows",
}


class ReaderProcess:
    """A process that parses documents, one at a time. It ends when this process ends.

    :param file: an unnamed temporary file, through which the two processes exchange documents
    """

    def __init__(self, process: asyncio.subprocess.Process, file: IO[bytes]) -> None:
        self._process = process
        self._file = file

    @property
    def pid(self) -> int:
        """The process ID."""
        return self._process.pid

    @classmethod
    async def start(cls, memory: int = 0, seconds: int = 0) -> ReaderProcess:
        """Start the process.

        :param memory: octets that it may use for a document; 0 is no limit
        :param seconds: of CPU that it may use for a document; 0 is no limit
        :raises OSError: if it cannot be started
        """
        file = tempfile.TemporaryFile()  # noqa: SIM115 - `end` closes it
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", MODULE, *map(str, (file.fileno(), memory, seconds))),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=[file.fileno()],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            # Ctrl-C is sent to all processes of a terminal's session; the crawl still needs this one then.
            start_new_session=True,
        )
        started = cls(process, file)
        await started._wait_for_turn()
        return started

    async def read(self, job: Job, seconds: float | None = None) -> FeedDocument | DocumentList:
        """Parse a document in the process.

        :param seconds: timeout; None is no limit
        :raises NotAFeedError: if it is no feed document
        :raises TimeoutError: after the timeout
        :raises OSError: if the process has ended, at one of its limits for example, or if there is no room;
            it has ended then in any case
        """
        try:
            put_job(self._file.fileno(), job)
            _pipes(self._process)[1].write(TURN)
            await asyncio.wait_for(self._wait_for_turn(), seconds)
            return take_answer(self._file.fileno())
        except asyncio.TimeoutError as error:
            await self.kill()
            raise TimeoutError(f"parsing it takes longer than {seconds:.0f} seconds") from error
        except OSError:
            await self.end()
            raise

    async def _wait_for_turn(self) -> None:
        try:
            await _pipes(self._process)[0].readexactly(len(TURN))
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            status = await self.end()
            said = ENDS.get(status, f"the parser process ended with status {status}")
            raise ChildProcessError(said) from error

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended, because it was killed, for example."""
        return self._process.returncode is not None

    async def kill(self) -> None:
        """Kill the process, even if it is parsing a document."""
        if not self.has_ended:
            self._process.kill()
        await self.end()

    async def end(self) -> int:
        """Make the process end, and wait for it; return its exit status, or minus the number of a signal."""
        _pipes(self._process)[1].close()
        self._file.close()
        return await self._process.wait()


def _pipes(process: asyncio.subprocess.Process) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if process.stdout is None or process.stdin is None:
        raise RuntimeError("the process has no pipes")
    return process.stdout, process.stdin
