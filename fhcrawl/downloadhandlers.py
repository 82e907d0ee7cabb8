"""Download handlers: http: and https: with checks of addresses; file: with folders and WARC records."""

from __future__ import annotations

import os
import resource
import stat
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.core.downloader.handlers.file import FileDownloadHandler
from scrapy.core.downloader.handlers.http11 import (
    HTTP11DownloadHandler,
    _LenientHTTP11ClientFactory,
    _LenientHTTP11ClientProtocol,
    _ScrapyAgent,
)
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    NotSupported,
)
from scrapy.http import Response
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet import defer
from twisted.internet.interfaces import IResolutionReceiver
from twisted.python.failure import Failure
from twisted.web._newclient import HEADER, STATUS
from w3lib.url import file_uri_to_path
from zope.interface import implementer

from fhcrawl.crawling.context import ANY_ADDRESS, FIRST_USE, SPECIAL_HOSTS, WAS_PUBLIC, find_context
from fhcrawl.crawling.failures import RefusedUrl, ResponseTooLarge
from fhcrawl.crawling.partfiles import PART_FILE
from fhcrawl.documents.lists import URI_LIST
from fhcrawl.downloadermiddlewares.guard import allowed_hosts
from fhcrawl.logical_feed import Role
from fhcrawl.reasons import ReasonKind
from fhcrawl.utils.addresses import PORTS, canonical, special

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from twisted.internet.interfaces import IAddress, IHostResolution

    from fhcrawl.crawling.partfiles import PartFile
    from fhcrawl.utils.addresses import AllowedHosts

# Octets. Servers send some KB; octets of the body that are read together with the last header count too
# (Twisted reads 64 KiB at a time).
LONGEST_HEADERS = 128 * 1024
# Content codings of one body; they are decoded one after the other, each up to DOWNLOAD_MAXSIZE.
MOST_ENCODINGS = 3
# Idle connections of a handler, which Twisted keeps for 240 seconds; but at most one in so many of the files
# that a process may have open, usually 1024: with many hosts, there would be none left for the store.
MOST_IDLE, SHARES = 250, 4


# Scrapy has no limit for headers (DOWNLOAD_MAXSIZE is for bodies; Twisted limits only the length of a line,
# and reports a longer one as a closed connection), and none for the idle connections to all hosts.
class BoundedDownloadHandler(HTTP11DownloadHandler):
    """Aborts a response with too many octets of headers, or with too many content codings.

    :param allowed: close a connection to another special address before anything is sent, since names are
        resolved again; None to connect to any address
    """

    def __init__(self, crawler: Crawler, allowed: AllowedHosts | None = None) -> None:
        super().__init__(crawler)
        self._pool._factory = partial(BoundedFactory, allowed)  # type: ignore[assignment]

    async def download_request(self, request: Request) -> Response:
        files, _limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        if len(self._pool._timeouts) > min(MOST_IDLE, files // SHARES):
            self._pool.closeCachedConnections()  # type: ignore[no-untyped-call]
        if (part := request.meta.get(PART_FILE)) is not None:
            part.set_range(request)
        try:
            response = await super().download_request(request)
        except DownloadFailedError as error:
            for reason in getattr(error.__cause__, "reasons", ()):
                if reason.check(ResponseTooLarge):
                    raise reason.value from error
            raise
        encodings = b",".join(response.headers.getlist("Content-Encoding"))
        number = encodings.count(b",") + 1
        if number > MOST_ENCODINGS:
            raise ResponseTooLarge(f"is compressed {number} times")
        # Scrapy ignores unknown codings, but decodes the header as UTF-8, and encodes text as UTF-8.
        if not encodings.isascii():
            response.headers["Content-Encoding"] = encodings.decode("latin-1")
        return response


class BoundedFactory(_LenientHTTP11ClientFactory):
    def __init__(self, allowed: AllowedHosts | None, *args: Any) -> None:
        super().__init__(*args)  # type: ignore[no-untyped-call]
        self._allowed = allowed

    def buildProtocol(self, addr: Any) -> BoundedProtocol:  # noqa: N802
        if self._allowed is not None:
            check(self._allowed, addr.host, addr.port)
        return BoundedProtocol(self._quiescentCallback)  # type: ignore[no-untyped-call]


class BoundedProtocol(_LenientHTTP11ClientProtocol):
    _received = 0

    def request(self, request: Any) -> defer.Deferred[Any]:
        self._received = 0
        response = super().request(request)
        if self._parser is not None:
            self._parser.MAX_LENGTH = LONGEST_HEADERS
        return response.addCallback(_delivered_to_file)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        if self._parser is not None and self._parser.state in (STATUS, HEADER):
            self._received += len(data)
            if self._received > LONGEST_HEADERS:
                error = ResponseTooLarge(f"has headers of more than {LONGEST_HEADERS // 1024} KiB")
                self._giveUp(Failure(error))  # type: ignore[no-untyped-call]
                return
        super().dataReceived(data)  # type: ignore[no-untyped-call]


# Scrapy keeps bodies in memory.
def _delivered_to_file(response: Any) -> Any:
    deliver = response.deliverBody

    def deliver_body(reader: Any) -> None:
        part: PartFile | None = reader._request.meta.get(PART_FILE)
        headers = _ScrapyAgent._headers_from_twisted_response(response)
        sent = Response(reader._request.url, response.code, headers)
        # Compressed bodies are decompressed in memory.
        if part is not None and "Content-Encoding" not in headers and part.begin(sent):
            reader._bodybuf, part.abort = part, reader._finished.cancel
        deliver(reader)

    response.deliverBody = deliver_body
    return response


# HTTP11DownloadHandler connects to any address that a name resolves to.
class GuardedDownloadHandler(BaseDownloadHandler):
    """Uses two handlers for http and https: one for requests that may go to any address, one for others.

    The two share no connections. Requests with a proxy are not checked: the proxy resolves names.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._allowed = allowed_hosts(crawler.settings)
        self._dns_timeout = crawler.settings.getfloat("DNS_TIMEOUT")
        self._anywhere = BoundedDownloadHandler(crawler)
        self._checked = BoundedDownloadHandler(crawler, self._allowed)

    async def download_request(self, request: Request) -> Response:
        # The spider may have lost the host while the request waited.
        if (check_request := getattr(self.crawler.spider, "check_request", None)) is not None:
            check_request(request)
        if proxy := request.meta.get("proxy"):
            return await self._fetch_through(proxy, request)
        if request.meta.get(ANY_ADDRESS):
            return await self._anywhere.download_request(request)
        url = urlparse_cached(request)
        host, port = url.hostname or "", url.port or PORTS[url.scheme]
        addresses = await look_up(host, port, request.meta.get("download_timeout") or self._dns_timeout)
        if request.meta.get(FIRST_USE):
            has_special = any(special(ip_address(_without_zone(address))) for address in addresses)
            return await self._fetch_first(request, canonical(host), has_special)
        try:
            # Do not connect to a name with a special address at all.
            for address in addresses:
                check(self._allowed, address, port)
            return await self._checked.download_request(request)
        except RefusedUrl as error:
            if not request.meta.get(WAS_PUBLIC):
                raise
            raise RefusedUrl(
                error.kind,
                f"{error}, although its name had a public address before; if that is right, add {host} to "
                "FHCRAWL_ALLOWED_PRIVATE_HOSTS",
            ) from error

    async def _fetch_through(self, proxy: str, request: Request) -> Response:
        if not proxy.startswith(("http://", "https://")):
            raise NotSupported(f"the proxy {proxy} is not supported; use an HTTP proxy")
        try:
            return await self._anywhere.download_request(request)
        except (CannotResolveHostError, DownloadConnectionRefusedError) as error:
            raise DownloadFailedError(f"the proxy {proxy} cannot be reached: {error}") from error

    # Records, for later requests, whether a host that the user gave has a special address.
    async def _fetch_first(self, request: Request, host: str, has_special: bool) -> Response:
        handler = self._anywhere if has_special else self._checked
        response = await handler.download_request(request)
        request.meta[SPECIAL_HOSTS] = {**request.meta.get(SPECIAL_HOSTS, {}), host: has_special}
        return response

    async def close(self) -> None:
        await self._anywhere.close()
        await self._checked.close()


def _without_zone(host: str) -> str:
    return host.partition("%")[0]


def check(allowed: AllowedHosts, host: str, port: int) -> None:
    refusal = allowed.refusal(ip_address(_without_zone(host)), port)
    if refusal is not None:
        raise RefusedUrl(ReasonKind.PRIVATE_ADDRESS, refusal)


# Uses the resolver of connections.
async def look_up(host: str, port: int, timeout: float) -> list[str]:
    from twisted.internet import reactor

    receiver = Addresses()
    reactor.nameResolver.resolveHostName(receiver, host, port)
    try:
        await maybe_deferred_to_future(receiver.complete.addTimeout(timeout, reactor))
    except defer.TimeoutError as error:
        raise DownloadTimeoutError(f"looking up {host} took longer than {timeout} seconds") from error
    if not receiver.addresses:
        raise CannotResolveHostError(host)
    return receiver.addresses


@implementer(IResolutionReceiver)
class Addresses:
    def __init__(self) -> None:
        self.addresses: list[str] = []
        self.complete: defer.Deferred[None] = defer.Deferred()

    def resolutionBegan(self, resolutionInProgress: IHostResolution) -> None:  # noqa: N802, N803
        pass

    def addressResolved(self, address: IAddress) -> None:  # noqa: N802
        self.addresses.append(address.host)

    def resolutionComplete(self) -> None:  # noqa: N802
        self.complete.callback(None)


# Scrapy's handler does not support folders.
class FolderDownloadHandler(FileDownloadHandler):
    """Reads files, lists folders, and reads records of WARC files; obeys DOWNLOAD_MAXSIZE."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._limit = crawler.settings.getint("DOWNLOAD_MAXSIZE")

    async def download_request(self, request: Request) -> Response:
        context = find_context(request)
        if context is not None and context.role is Role.CAPTURE:
            from fhcrawl.warc import captures

            return await run_in_thread(captures.response, request.url, context.requested_url, self._limit)
        path = Path(file_uri_to_path(request.url))
        listing = await run_in_thread(self._list_folder, path)
        if listing is None:
            return await super().download_request(request)
        return Response(request.url, headers={"Content-Type": URI_LIST}, body=listing)

    # None for a file that is not too large.
    def _list_folder(self, path: Path) -> bytes | None:
        if path.is_dir():
            return "".join(f"{url}\r\n" for url in sorted(_files(path), reverse=True)).encode("ascii")
        if self._limit and path.stat().st_size > self._limit:
            raise DownloadCancelledError(f"{path} is larger than DOWNLOAD_MAXSIZE ({self._limit})")
        return None


def _files(folder: Path) -> Iterator[str]:
    errors: list[OSError] = []
    for parent, names, files in os.walk(folder, onerror=errors.append):
        names[:] = [name for name in names if not name.startswith(".")]
        for name in files:
            if not name.startswith(".") and (url := _url_with_state(Path(parent, name))):
                yield url
    for error in errors:
        if Path(error.filename) == folder:
            raise error
        yield f"{Path(error.filename).absolute().as_uri()}#unreadable"


# None unless the file is regular: reading a pipe might never end.
def _url_with_state(path: Path) -> str | None:
    url = path.absolute().as_uri()
    try:
        status = path.stat()
    except OSError:
        return f"{url}#unreadable"
    return f"{url}#{status.st_mtime_ns}-{status.st_size}" if stat.S_ISREG(status.st_mode) else None
