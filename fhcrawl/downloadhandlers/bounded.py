"""Scrapy's download handler, with bounds for what comes before the body, and for idle connections."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.core.downloader.handlers.http11 import (
    HTTP11DownloadHandler,
    _LenientHTTP11ClientFactory,
    _LenientHTTP11ClientProtocol,
)
from scrapy.exceptions import DownloadFailedError
from twisted.python.failure import Failure
from twisted.web._newclient import HEADER, STATUS
from twisted.web.client import HTTPConnectionPool

from fhcrawl.crawling.refusals import HeadersTooLarge

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.defer import Deferred

# DOWNLOAD_MAXSIZE is for bodies, and Twisted bounds only the length of a line, of which it says that the
# connection was closed. Servers send some KB; what comes of the body with the last of the headers counts too
# (Twisted reads 64 KiB at a time).
LONGEST_HEADERS = 128 * 1024
# One after the other, each up to DOWNLOAD_MAXSIZE.
MOST_ENCODINGS = 3
# Twisted keeps each for 240 seconds. With many hosts, a process that may have 1024 files open, as is usual,
# could open no more connections, nor its store.
MOST_IDLE = 250
# Of the files that a process may have open: idle connections, and all else.
SHARES = 4


class BoundedDownloadHandler(HTTP11DownloadHandler):
    """Gives up a response with endless headers, or with a body that is compressed again and again."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        from twisted.internet import reactor

        most = self._pool.maxPersistentPerHost
        self._pool = BoundedPool(reactor)  # type: ignore[no-untyped-call]
        self._pool.maxPersistentPerHost = most
        self._pool._factory = BoundedFactory

    async def download_request(self, request: Request) -> Response:
        """Download.

        :raises HeadersTooLarge: if the headers are too much
        """
        try:
            response = await super().download_request(request)
        except DownloadFailedError as error:
            for reason in getattr(error.__cause__, "reasons", ()):
                if reason.check(HeadersTooLarge):
                    raise reason.value from error
            raise
        _check_encodings(response)
        return response


def _check_encodings(response: Response) -> None:
    encodings = b",".join(response.headers.getlist("Content-Encoding"))
    number = encodings.count(b",") + 1
    if number > MOST_ENCODINGS:
        raise HeadersTooLarge(f"is compressed {number} times over")
    # One that nobody knows is none. For Scrapy it is text, even if its octets are none.
    if not encodings.isascii():
        response.headers["Content-Encoding"] = encodings.decode("latin-1")


class BoundedPool(HTTPConnectionPool):
    """Keeps `MOST_IDLE` connections, with the process's other pools; the one put back first is closed."""

    _put_back: ClassVar[dict[Any, tuple[BoundedPool, Any]]] = {}

    def _putConnection(self, key: Any, connection: Any) -> None:  # noqa: N802
        super()._putConnection(key, connection)  # type: ignore[no-untyped-call]
        self._put_back.pop(connection, None)
        self._put_back[connection] = self, key
        files, _most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if len(self._put_back) > min(MOST_IDLE, files // SHARES):
            oldest = next(iter(self._put_back))
            pool, where = self._put_back.pop(oldest)
            pool._close(where, oldest)

    def _close(self, key: Any, connection: Any) -> None:
        # Else it is in use, or closed already.
        if connection in self._timeouts:
            self._timeouts[connection].cancel()
            self._removeConnection(key, connection)  # type: ignore[no-untyped-call]


class BoundedFactory(_LenientHTTP11ClientFactory):
    """Makes the protocol of a connection."""

    def buildProtocol(self, addr: Any) -> BoundedProtocol:  # noqa: N802
        """A protocol that counts."""
        return BoundedProtocol(self._quiescentCallback)  # type: ignore[no-untyped-call]


class BoundedProtocol(_LenientHTTP11ClientProtocol):
    """Counts what comes before a body."""

    _received = 0

    def request(self, request: Any) -> Deferred[Any]:
        """Send a request."""
        self._received = 0
        response = super().request(request)
        if self._parser is not None:
            self._parser.MAX_LENGTH = LONGEST_HEADERS
        return response

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        """Give up when it is too much."""
        if self._parser is not None and self._parser.state in (STATUS, HEADER):
            self._received += len(data)
            if self._received > LONGEST_HEADERS:
                error = HeadersTooLarge(f"has headers of more than {LONGEST_HEADERS // 1024} KiB")
                self._giveUp(Failure(error))  # type: ignore[no-untyped-call]
                return
        super().dataReceived(data)  # type: ignore[no-untyped-call]
