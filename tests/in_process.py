"""Runs `scrapy` in the process of the tests, without network and reactor: all of a crawl but what HTTP adds.

A test with the marker `in_process` has these as its fixtures `project` and `server`.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import logging
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from email.utils import formatdate
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock
from weakref import WeakValueDictionary

from scrapy import Request, cmdline
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.exceptions import DownloadConnectionRefusedError, DownloadTimeoutError
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.log import _uninstall_scrapy_root_handler
from scrapy.utils.project import get_project_settings
from twisted.logger import globalLogPublisher
from typing_extensions import Self

from fhcrawl.crawling.context import ANY_ADDRESS, FIRST_USE
from fhcrawl.downloadhandlers import GuardedDownloadHandler
from fhcrawl.utils.addresses import canonical
from tests import projects
from tests.projects import Process, Project, Stream
from tests.server import Answer, FeedServer

# Nobody listens there.
_ports = itertools.count(10_000)


class MemoryServer(FeedServer):
    """Answers requests of this process; with `reset` and `raw`, answers need a connection."""

    servers: ClassVar[WeakValueDictionary[str, MemoryServer]] = WeakValueDictionary()

    def __init__(self) -> None:
        self.forget()
        self._netloc = f"127.0.0.1:{next(_ports)}"
        self.servers[self._netloc] = self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.servers.pop(self._netloc, None)

    @property
    def root(self) -> str:
        return f"http://{self._netloc}"


class MemoryDownloadHandler(GuardedDownloadHandler):
    """Asks the servers of this process; every address is a private one that the user has given."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._anywhere = self._checked = _Memory(crawler)  # type: ignore[assignment]

    async def download_request(self, request: Request) -> Response:
        if request.meta.get(FIRST_USE) and not request.meta.get(ANY_ADDRESS):
            return await self._fetch_first(request, canonical(urlparse_cached(request).hostname or ""), True)
        return await self._anywhere.download_request(request)


class _Memory:
    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    async def download_request(self, request: Request) -> Response:
        url = urlparse_cached(request)
        server = MemoryServer.servers.get(url.netloc.rpartition("@")[2])
        if server is None:
            raise DownloadConnectionRefusedError(url.netloc)
        sent = {str(name): value for name, value in request.headers.to_unicode_dict().items()}
        answer = server.note(url._replace(scheme="", netloc="", fragment="").geturl() or "/", sent)
        if answer.raw or answer.reset:
            raise ValueError("mark the test real_crawl: this answer needs a connection")
        await self._wait(answer, request)
        server.note_end()
        answer, fields = answer.reply(sent.get("If-None-Match"))
        headers = Headers({"Date": formatdate(usegmt=True)})
        for name, value in fields:
            headers.appendlist(name, value)
        body = answer.body[: answer.cut]
        flags = [] if answer.cut is None else ["dataloss"]
        kind = responsetypes.from_args(headers=headers, url=request.url, body=body)
        return kind(request.url, answer.status, headers, body, flags, protocol="HTTP/1.1")

    async def _wait(self, answer: Answer, request: Request) -> None:
        timeout = request.meta.get("download_timeout") or self._crawler.settings.getfloat("DOWNLOAD_TIMEOUT")
        await asyncio.sleep(min(answer.delay, timeout))
        if answer.delay >= timeout:
            raise DownloadTimeoutError(request.url)

    async def close(self) -> None:
        pass


class _CrawlerProcess(AsyncCrawlerProcess):
    """Leaves signals to pytest; a process without a crawl is closed too."""

    last: ClassVar[Any] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        type(self).last = self
        super().__init__(*args, **kwargs)

    @classmethod
    def end(cls) -> None:
        process, cls.last = cls.last, None
        if process is not None and process._reactorless_loop is not None:
            process._close_loop()

    def start(self, stop_after_crawl: bool = True, install_signal_handlers: bool = False) -> None:
        super().start(stop_after_crawl, install_signal_handlers=False)


class InProcessProject(Project):
    """Its commands run here, one after another."""

    def scrapy(
        self, *args: str, stdout: Stream = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            with _as_before(), mock.patch.dict(os.environ, self.environment(**environment), clear=True):
                os.chdir(self.folder)
                with contextlib.redirect_stdout(stdout or out), contextlib.redirect_stderr(err):
                    code = _execute(["scrapy", *args])
            for file in (out, err):
                file.seek(0)
            return subprocess.CompletedProcess(args, code, out.read(), err.read())

    def start(self, *args: str, **options: Any) -> Process:
        raise RuntimeError("mark the test real_crawl: it needs a process")


def _execute(argv: list[str]) -> int:
    settings = get_project_settings()
    settings.set("TWISTED_REACTOR_ENABLED", False, "cmdline")
    handlers = dict.fromkeys(("http", "https"), f"{__name__}.{MemoryDownloadHandler.__name__}")
    settings.set("DOWNLOAD_HANDLERS", handlers, "project")
    with (
        mock.patch.object(cmdline, "AsyncCrawlerProcess", _CrawlerProcess),
        mock.patch.object(gc, "freeze"),
        mock.patch.object(sys, "argv", argv),
    ):
        try:
            cmdline.execute(list(argv), settings)
        except SystemExit as exit_:
            return exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
        finally:
            _CrawlerProcess.end()
    raise AssertionError("a command exits")


@contextlib.contextmanager
def _as_before() -> Iterator[None]:
    folder, path, pipe = Path.cwd(), list(sys.path), signal.getsignal(signal.SIGPIPE)
    level, observers = logging.root.level, list(globalLogPublisher._observers)
    try:
        yield
    finally:
        os.chdir(folder)
        sys.path[:] = path
        signal.signal(signal.SIGPIPE, pipe)
        gc.enable()
        _uninstall_scrapy_root_handler()
        logging.captureWarnings(False)
        logging.root.setLevel(level)
        globalLogPublisher._observers[:] = observers


def new_project(folder: Path) -> AbstractContextManager[Project]:
    """A project in a folder, with an empty store, whose commands run in this process."""
    return projects.new_project(folder, InProcessProject)
