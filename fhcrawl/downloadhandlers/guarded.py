"""Checks the addresses of connections: a name can resolve to any address, and to another one later."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.exceptions import CannotResolveHostError, DownloadTimeoutError
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet import defer
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IResolutionReceiver
from zope.interface import implementer

from fhcrawl.crawling.context import ANY_ADDRESS, FIRST_USE, WAS_PUBLIC, find_context, set_walk
from fhcrawl.crawling.refusals import RefusedUrl
from fhcrawl.downloadermiddlewares.guard import allowed_hosts
from fhcrawl.downloadhandlers.bounded import BoundedDownloadHandler, BoundedFactory
from fhcrawl.reasons import ReasonKind
from fhcrawl.utils.addresses import PORTS, canonical, special

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.interfaces import IAddress, IHostResolution

    from fhcrawl.utils.addresses import Address, AllowedHosts

BEFORE = (
    "and its name led to a public address before; if that is right, list {} in FHCRAWL_ALLOWED_PRIVATE_HOSTS"
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
        self._checked = CheckedDownloadHandler(crawler, self._allowed)

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


class CheckedDownloadHandler(BoundedDownloadHandler):
    """Closes a connection to a special address before anything is sent, since names are resolved again."""

    def __init__(self, crawler: Crawler, allowed: AllowedHosts) -> None:
        super().__init__(crawler)
        self._pool._factory = partial(CheckedFactory, allowed)  # type: ignore[assignment]


class CheckedFactory(BoundedFactory):
    """Makes the protocol of a connection after checking the address of the peer."""

    def __init__(self, allowed: AllowedHosts, *args: Any) -> None:
        super().__init__(*args)  # type: ignore[no-untyped-call]
        self._allowed = allowed

    def buildProtocol(self, addr: Any) -> Any:  # noqa: N802
        """Return a protocol; raise RefusedUrl if the address of the peer is not allowed."""
        check(self._allowed, addr.host, addr.port)
        return super().buildProtocol(addr)


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
    :raises DownloadTimeoutError: if the resolver does not answer in time
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
