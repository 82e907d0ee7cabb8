"""Checks the addresses of connections: a name can resolve to any address, and to another one later."""

from __future__ import annotations

import resource
from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.core.downloader.handlers.http11 import (
    HTTP11DownloadHandler,
    _LenientHTTP11ClientFactory,
    _LenientHTTP11ClientProtocol,
)
from scrapy.exceptions import CannotResolveHostError, DownloadFailedError, DownloadTimeoutError
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet import defer
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IResolutionReceiver
from twisted.python.failure import Failure
from twisted.web._newclient import HEADER, STATUS
from twisted.web.client import HTTPConnectionPool
from zope.interface import implementer

from fhcrawl.crawling.context import ANY_ADDRESS, FIRST_USE, WAS_PUBLIC, find_context, set_walk
from fhcrawl.crawling.failures import HeadersTooLarge, RefusedUrl
from fhcrawl.downloadermiddlewares.guard import allowed_hosts
from fhcrawl.reasons import ReasonKind
from fhcrawl.utils.addresses import PORTS, canonical, special

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.interfaces import IAddress, IHostResolution

    from fhcrawl.utils.addresses import Address, AllowedHosts

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
    """Aborts a response with too many octets of headers, or with too many content codings.

    :param allowed: close a connection to another special address before anything is sent, since names are
        resolved again; None to connect to any address
    """

    def __init__(self, crawler: Crawler, allowed: AllowedHosts | None = None) -> None:
        super().__init__(crawler)
        from twisted.internet import reactor

        limit = self._pool.maxPersistentPerHost
        self._pool = BoundedPool(reactor)  # type: ignore[no-untyped-call]
        self._pool.maxPersistentPerHost = limit
        self._pool._factory = partial(BoundedFactory, allowed)  # type: ignore[assignment]

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
        raise HeadersTooLarge(f"is compressed {number} times")
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
            # Otherwise, it is in use, or closed already.
            if oldest in pool._timeouts:
                pool._timeouts[oldest].cancel()
                pool._removeConnection(where, oldest)  # type: ignore[no-untyped-call]


class BoundedFactory(_LenientHTTP11ClientFactory):
    """Makes the `BoundedProtocol` of a connection, after checking the address of the peer."""

    def __init__(self, allowed: AllowedHosts | None, *args: Any) -> None:
        super().__init__(*args)  # type: ignore[no-untyped-call]
        self._allowed = allowed

    def buildProtocol(self, addr: Any) -> BoundedProtocol:  # noqa: N802
        """Return a protocol that limits the headers; raise RefusedUrl if the address is not allowed."""
        if self._allowed is not None:
            check(self._allowed, addr.host, addr.port)
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


BEFORE = (
    "although its name had a public address before; if that is right, add {} to FHCRAWL_ALLOWED_PRIVATE_HOSTS"
)


class GuardedDownloadHandler(BaseDownloadHandler):
    """Has two handlers for http and https: one for requests that may go to any address, one for others.

    The two share no connections: a connection to a feed's own host must not carry another feed's request.
    Requests with a proxy, which the user has configured, are not checked: the proxy resolves names.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._allowed = allowed_hosts(crawler.settings)
        self._dns_timeout = crawler.settings.getfloat("DNS_TIMEOUT")
        self._anywhere = BoundedDownloadHandler(crawler)
        self._checked = BoundedDownloadHandler(crawler, self._allowed)

    async def download_request(self, request: Request) -> Response:
        """Download a request.

        :raises RefusedUrl: if the host is at a special address that is not allowed
        """
        if request.meta.get(ANY_ADDRESS) or request.meta.get("proxy"):
            return await self._anywhere.download_request(request)
        url = urlparse_cached(request)
        host, port = url.hostname or "", url.port or PORTS[url.scheme]
        timeout = request.meta.get("download_timeout") or self._dns_timeout
        found = await look_up(host, port, timeout)
        if request.meta.get(FIRST_USE):
            return await self._use_first(request, canonical(host), any(map(is_special, found)))
        try:
            # Do not connect to a name with a special address at all.
            for address in found:
                check(self._allowed, address, port)
            return await self._checked.download_request(request)
        except RefusedUrl as error:
            if not request.meta.get(WAS_PUBLIC):
                raise
            raise RefusedUrl(error.kind, f"{error}, {BEFORE.format(host)}") from error

    async def _use_first(self, request: Request, host: str, has_special: bool) -> Response:
        """Download from a host that the user gave, and note the kind of its addresses for later requests.

        :param has_special: some of its addresses are special
        """
        handler = self._anywhere if has_special else self._checked
        response = await handler.download_request(request)
        # A robots.txt belongs to no feed.
        if (context := find_context(request)) is not None:
            special_hosts = {**context.walk.special_hosts, host: has_special}
            set_walk(request, replace(context.walk, special_hosts=special_hosts))
        return response

    async def close(self) -> None:
        """Close the connections."""
        await self._anywhere.close()
        await self._checked.close()


def is_special(host: str) -> bool:
    """Return whether an IP address is special."""
    return special(_address(host)) is not None


def _address(host: str) -> Address:
    return ip_address(host.partition("%")[0])


def check(allowed: AllowedHosts, host: str, port: int) -> None:
    """Check the address of a connection.

    :raises RefusedUrl: if it is not allowed
    """
    refusal = allowed.refusal(_address(host), port)
    if refusal is not None:
        raise RefusedUrl(ReasonKind.PRIVATE_ADDRESS, refusal)


async def look_up(host: str, port: int, timeout: float) -> list[str]:
    """Return the addresses of a host, from the resolver that connections use.

    :param timeout: in seconds
    :raises CannotResolveHostError: if there are none
    :raises DownloadTimeoutError: if the resolver timed out
    """
    from twisted.internet import reactor

    receiver = Addresses()
    reactor.nameResolver.resolveHostName(receiver, host, port)
    try:
        await maybe_deferred_to_future(receiver.complete.addTimeout(timeout, reactor))
    except defer.TimeoutError as error:
        raise DownloadTimeoutError(f"looking up {host} took longer than {timeout} seconds") from error
    if not receiver.found:
        raise CannotResolveHostError(host)
    return receiver.found


@implementer(IResolutionReceiver)
class Addresses:
    """Collects the addresses that a resolver finds."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.complete: Deferred[None] = Deferred()

    def resolutionBegan(self, resolutionInProgress: IHostResolution) -> None:  # noqa: N802, N803
        """Do nothing; the interface requires this method."""

    def addressResolved(self, address: IAddress) -> None:  # noqa: N802
        """Add an address."""
        self.found.append(address.host)

    def resolutionComplete(self) -> None:  # noqa: N802
        """Note that there are no more addresses."""
        self.complete.callback(None)
