"""Scrapy's download handler, with limits for headers, content codings, and idle connections."""

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

# Octets. DOWNLOAD_MAXSIZE is for bodies; Twisted limits only the length of a line, and reports a longer one
# as a closed connection. Servers send some KB; octets of the body that are read together with the last header
# count too (Twisted reads 64 KiB at a time).
LONGEST_HEADERS = 128 * 1024
# Content codings of one body; they are decoded one after the other, each up to DOWNLOAD_MAXSIZE.
MOST_ENCODINGS = 3
# Idle connections, which Twisted keeps for 240 seconds. With many hosts, a process that may have 1024 files
# open, as is usual, could open no more connections, nor its store.
MOST_IDLE = 250
# The number of files that a process may have open is divided by this; idle connections may use one share.
SHARES = 4


class BoundedDownloadHandler(HTTP11DownloadHandler):
    """Aborts a response with too many octets of headers, or with too many content codings."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        from twisted.internet import reactor

        limit = self._pool.maxPersistentPerHost
        self._pool = BoundedPool(reactor)  # type: ignore[no-untyped-call]
        self._pool.maxPersistentPerHost = limit
        self._pool._factory = BoundedFactory

    async def download_request(self, request: Request) -> Response:
        """Download a request.

        :raises HeadersTooLarge: if the response has too many octets of headers, or too many content codings
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
    # Scrapy ignores unknown codings, but decodes the header as UTF-8, and encodes text as UTF-8.
    if not encodings.isascii():
        response.headers["Content-Encoding"] = encodings.decode("latin-1")


class BoundedPool(HTTPConnectionPool):
    """Keeps at most `MOST_IDLE` idle connections in all pools of the process, and closes the oldest one."""

    _put_back: ClassVar[dict[Any, tuple[BoundedPool, Any]]] = {}

    def _putConnection(self, key: Any, connection: Any) -> None:  # noqa: N802
        super()._putConnection(key, connection)  # type: ignore[no-untyped-call]
        self._put_back.pop(connection, None)
        self._put_back[connection] = self, key
        files, _limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        if len(self._put_back) > min(MOST_IDLE, files // SHARES):
            oldest = next(iter(self._put_back))
            pool, where = self._put_back.pop(oldest)
            pool._close(where, oldest)

    def _close(self, key: Any, connection: Any) -> None:
        # Otherwise, it is in use, or closed already.
        if connection in self._timeouts:
            self._timeouts[connection].cancel()
            self._removeConnection(key, connection)  # type: ignore[no-untyped-call]


class BoundedFactory(_LenientHTTP11ClientFactory):
    """Makes the `BoundedProtocol` of a connection."""

    def buildProtocol(self, addr: Any) -> BoundedProtocol:  # noqa: N802
        """Return a protocol that limits the headers."""
        return BoundedProtocol(self._quiescentCallback)  # type: ignore[no-untyped-call]


class BoundedProtocol(_LenientHTTP11ClientProtocol):
    """Counts the octets of the headers of each response."""

    _received = 0

    def request(self, request: Any) -> Deferred[Any]:
        """Send a request, and start to count."""
        self._received = 0
        response = super().request(request)
        if self._parser is not None:
            self._parser.MAX_LENGTH = LONGEST_HEADERS
        return response

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        """Process received octets, or abort the response if its headers are too large."""
        if self._parser is not None and self._parser.state in (STATUS, HEADER):
            self._received += len(data)
            if self._received > LONGEST_HEADERS:
                error = HeadersTooLarge(f"has headers of more than {LONGEST_HEADERS // 1024} KiB")
                self._giveUp(Failure(error))  # type: ignore[no-untyped-call]
                return
        super().dataReceived(data)  # type: ignore[no-untyped-call]
