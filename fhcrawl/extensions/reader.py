"""Reads documents beside the crawl, so that a large one holds up no other feed."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from scrapy import signals

from fhcrawl import reader, reading
from fhcrawl.exceptions import ArgumentError, NotAFeedError
from fhcrawl.reader import ReaderProcess

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from fhcrawl.documents import FeedDocument
    from fhcrawl.reader import Job

logger = logging.getLogger(__name__)

OK = 200
# Octets. Smaller documents are read before another process has been asked; for one of so many more, it is
# waited for.
LARGE = 32_768
WORTH_WAITING = 1024**2


class ReaderExtension:
    """Reads the documents of a crawl.

    Large ones are read in a process of its own, from the moment that they are there: a document that takes
    long holds up no other feed, and one that the parser dies of does not take the crawl with it. The process
    begins with the first of them; what comes before it is ready is read here, unless it is very large.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._crawler = crawler
        self._keeps_originals = settings.getbool("FHCRAWL_KEEP_XML_ENABLED")
        self._most = reading.bounds_of(settings)
        self._is_enabled = settings.getbool("FHCRAWL_READER_ENABLED")
        self._start: asyncio.Task[ReaderProcess] | None = None
        self._turn = asyncio.Lock()
        self._begun: dict[Response, asyncio.Task[FeedDocument]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read the settings."""
        return cls(crawler)

    @classmethod
    def of(cls, crawler: Crawler) -> Self:
        """The extension of a crawl."""
        extension = crawler.get_extension(cls)
        if extension is None:
            raise ArgumentError(f"EXTENSIONS has to hold {cls.__module__}.{cls.__name__}")
        return extension

    def begin(self, response: Response) -> None:
        """Begin to read a document, if it is large, and not what it was."""
        if not self._is_enabled or response.status != OK or len(response.body) < LARGE:
            return
        known = response.cb_kwargs.get("body_digest")
        if known is not None and reading.is_unchanged(response, known):
            return
        if self._start is None:
            self._start = asyncio.ensure_future(ReaderProcess.start())
            self._crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)
        if self._start.done() or len(response.body) >= WORTH_WAITING:
            self._begun[response] = asyncio.ensure_future(self._read(self._job(response)))

    async def wait(self, response: Response) -> None:
        """Wait until a document that was begun is read."""
        if response in self._begun:
            await asyncio.wait([self._begun[response]])
            # Not everybody who asked for a document reads it, and asyncio would log that nobody has.
            self._begun[response].exception()

    def read(self, response: Response) -> FeedDocument:
        """The feed document of a response.

        :raises NotAFeedError: if it is none, or if it cannot be read
        """
        if response in self._begun:
            return self._begun[response].result()
        return reader.read(self._job(response))

    def forget(self, response: Response) -> None:
        """Forget a response, whether it was read or not."""
        self._begun.pop(response, None)

    def _job(self, response: Response) -> Job:
        return reading.job(response, self._keeps_originals, self._most)

    async def _read(self, job: Job) -> FeedDocument:
        async with self._turn:
            process = await self._process()
            if process is None:
                return reader.read(job)
            try:
                return await process.read(job)
            except OSError as error:
                self._start = None
                why = f"the process that was to read it is no more: {error}"
                raise NotAFeedError(reader.DIED, why) from error

    async def _process(self) -> ReaderProcess | None:
        """The process, a new one if it is no more; None if there can be none."""
        self._start = self._start or asyncio.ensure_future(ReaderProcess.start())
        try:
            return await self._start
        except OSError as error:
            if self._is_enabled:
                logger.warning(
                    "Documents are read in this process: another one cannot be started (%s)", error
                )
            self._is_enabled = False
            return None

    async def spider_closed(self) -> None:
        """End the process."""
        if self._start is not None and (process := await self._process()) is not None:
            await process.end()
