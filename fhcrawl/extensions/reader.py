"""Parses documents in another process, so that a large one does not block other feeds."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import tempfile
from contextlib import suppress
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from scrapy import signals

from fhcrawl.crawling import parser, requests
from fhcrawl.crawling.context import context_of, header, request_of
from fhcrawl.crawling.failures import time_is_over, time_left
from fhcrawl.crawling.parser import OUT_OF_MEMORY, TURN, Job, put_job, take_answer
from fhcrawl.documents import FeedDocument, as_feed
from fhcrawl.exceptions import NotAFeedError, TimeIsOverError
from fhcrawl.extensions import Component
from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.listings import SitemapCheck
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from fhcrawl.crawling.parser import Answer
    from fhcrawl.crawling.sitemaps import SitemapDocument
    from fhcrawl.documents import DocumentList

    Task = asyncio.Task[Answer]


MODULE = "fhcrawl.crawling.parser"
TOO_MUCH_MEMORY = "parsing it takes more memory than FHCRAWL_READER_MEMORY allows"
ENDS = {
    OUT_OF_MEMORY: TOO_MUCH_MEMORY,
    -signal.SIGXCPU: "parsing it takes more time than FHCRAWL_READER_TIMEOUT allows",
}


# Parses one document at a time; it ends when this process ends.
class ReaderProcess:
    def __init__(self, process: asyncio.subprocess.Process, file: IO[bytes]) -> None:
        if process.stdout is None or process.stdin is None:
            raise RuntimeError("the process has no pipes")
        self._process, self._file = process, file
        self._answers, self._turns = process.stdout, process.stdin

    @property
    def pid(self) -> int:
        return self._process.pid

    # The limits for a document are octets and seconds of CPU time; 0 is no limit.
    @classmethod
    async def start(cls, memory: int = 0, seconds: int = 0) -> ReaderProcess:
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
        reader = cls(process, file)
        await reader._wait_for_turn()
        return reader

    # After an OSError or TimeoutError, the process has ended.
    async def read(self, job: Job, seconds: float | None = None) -> Answer:
        try:
            put_job(self._file.fileno(), job)
            self._turns.write(TURN)
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
            await self._answers.readexactly(len(TURN))
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            status = await self.end()
            message = ENDS.get(status, f"the parser process ended with status {status}")
            raise ChildProcessError(message) from error

    @property
    def has_ended(self) -> bool:
        return self._process.returncode is not None

    async def kill(self) -> None:
        if not self.has_ended:
            self._process.kill()
        await self.end()

    # Returns the exit status, or the negative number of a signal.
    async def end(self) -> int:
        self._turns.close()
        self._file.close()
        return await self._process.wait()


logger = logging.getLogger(__name__)

OK = range(200, 300)
# Octets. Smaller documents are parsed faster in this process; a document of WORTH_WAITING waits until the
# process is ready.
LARGE = 32_768
GZIP = b"\x1f\x8b"
WORTH_WAITING = 128 * 1024


class ReaderExtension(Component):
    """Parses the documents of a crawl; large ones in a separate process, one at a time.

    So a slow one does not block small ones, and one that exceeds the limits of that process, or crashes the
    parser, does not end the crawl. The process is started for the first of them.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        self._keeps_originals = settings.getbool("FHCRAWL_KEEP_XML_ENABLED")
        self._max_entries = settings.getint("FHCRAWL_MAX_ENTRIES")
        self._is_enabled = settings.getbool("FHCRAWL_READER_ENABLED")
        self._limits = settings.getint("FHCRAWL_READER_MEMORY"), settings.getint("FHCRAWL_READER_TIMEOUT")
        self._feed_seconds = settings.getint("FHCRAWL_MAX_SECONDS")
        self._starting: asyncio.Task[ReaderProcess] | None = None
        self._turn = asyncio.Lock()
        self._tasks_by_response: dict[Response, Task] = {}
        self._tasks: set[Task] = set()

    def begin_parsing(self, response: Response) -> None:
        request = request_of(response)
        context = context_of(request)
        # A sitemap of 10 KB can be one of 10 MB; web pages take longer than feeds.
        is_slow = response.body.startswith(GZIP) or context.role is Role.POST
        size = len(response.body) + WORTH_WAITING * is_slow
        is_large = response.status in OK and size >= LARGE
        if not self._is_enabled or not is_large or context.role is Role.TIMEMAP:
            return
        digest = context.body_digest
        is_unchanged = digest is not None and requests.is_unchanged(response, digest)
        if is_unchanged:
            return
        starting = self._starting or self._begin_process()
        if not starting.done() and size < WORTH_WAITING:
            return
        task = asyncio.ensure_future(self._read(self._job(request, response), request))
        self._tasks.add(task)
        task.add_done_callback(self._done)
        self._tasks_by_response[response] = task

    def _done(self, task: Task) -> None:
        self._tasks.discard(task)
        # Retrieve the exception, which asyncio would log if the spider does not read the document.
        if not task.cancelled():
            task.exception()

    async def wait_until_parsed(self, response: Response) -> None:
        if response in self._tasks_by_response:
            await asyncio.wait([self._tasks_by_response[response]])

    def read(self, response: Response) -> FeedDocument:
        """:raises NotAFeedError: if the response is not a feed, or cannot be parsed"""
        return as_feed(self.read_any(response))

    def read_any(self, response: Response) -> FeedDocument | DocumentList:
        """Return the document or the list of documents; links are `requests.secured`."""
        document: Any = self._answer(response)
        if isinstance(document, FeedDocument):
            parser.clean_links(document, partial(requests.secured, response=response))
        return document  # type: ignore[no-any-return]

    def read_sitemap(self, response: Response) -> SitemapDocument:
        """:raises NotAFeedError: if the response is not a sitemap, or cannot be parsed"""
        document: Any = self._answer(response)
        return document  # type: ignore[no-any-return]

    def _answer(self, response: Response) -> Answer:
        if response in self._tasks_by_response:
            return self._tasks_by_response[response].result()
        return parser.read(self._job(request_of(response), response))

    def _job(self, request: Request, response: Response) -> Job:
        return Job(
            response.body,
            response.url,
            header(response, "Content-Type"),
            requests.links(response),
            header(response, "Last-Modified"),
            self._keeps_originals,
            self._max_entries,
            keep_head=context_of(request).role is Role.SUBSCRIPTION,
            is_sitemap=context_of(request).purpose is SitemapCheck,
            is_post=context_of(request).role is Role.POST,
        )

    def forget(self, response: Response) -> None:
        self._tasks_by_response.pop(response, None)

    async def _read(self, job: Job, request: Request) -> Answer:
        async with self._turn:
            process = await self._process()
            if process is None:
                return parser.read(job)
            try:
                return await process.read(job, time_left(request, self._feed_seconds))
            except OSError as error:
                self._starting = None
                if isinstance(error, TimeoutError):
                    raise TimeIsOverError(ReasonKind.LIMIT, time_is_over(self._feed_seconds)) from error
                raise NotAFeedError(ReasonKind.TOO_LARGE, str(error)) from error

    # None if no process can be started.
    async def _process(self) -> ReaderProcess | None:
        try:
            process = await (self._starting or self._begin_process())
            if process.has_ended:
                await process.end()
                process = await self._begin_process()
        except OSError as error:
            if self._is_enabled:
                logger.warning(
                    "Documents are parsed in this process, because another one cannot be started (%s)", error
                )
            self._is_enabled = False
            return None
        return process

    def _begin_process(self) -> asyncio.Task[ReaderProcess]:
        self._crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)
        self._starting = asyncio.ensure_future(ReaderProcess.start(*self._limits))
        return self._starting

    async def spider_closed(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._starting is not None:
            with suppress(OSError):
                await (await self._starting).kill()
