"""Only what the user asked for is reachable: which URLs may be fetched at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from w3lib.url import file_uri_to_path

from fhcrawl.crawling import given_hosts
from fhcrawl.crawling.refusals import RefusedUrl
from fhcrawl.crawling.responses import NOWHERE
from fhcrawl.logical_feed import Role
from fhcrawl.utils import addresses
from fhcrawl.utils.addresses import PORTS, AllowedHosts

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from typing_extensions import Self

    from fhcrawl.utils.addresses import Origin

# One of these is set in the meta of a request for a host that the user gave or allowed: it may have any
# address; its first addresses decide; it may have no special ones, since it had none before.
ANY_ADDRESS = "fhcrawl_any_address"
FIRST_USE = "fhcrawl_first_use"
WAS_PUBLIC = "fhcrawl_was_public"


def allowed_hosts(settings: BaseSettings) -> AllowedHosts:
    """FHCRAWL_ALLOWED_PRIVATE_HOSTS, read.

    :raises ArgumentError: if an entry cannot be used
    """
    return AllowedHosts.of(map(str, settings.getlist("FHCRAWL_ALLOWED_PRIVATE_HOSTS")))


class GuardMiddleware:
    """Lets http and https pass, and files only below the folder of a feed that the user gave as a file.

    A host at a special address must be the very host and port of the feed, and have been at one when that was
    first read; or it must be listed. What a name stands for is only known when it is connected to:
    `GuardedDownloadHandler` looks, unless `ANY_ADDRESS` is set here. Redirects and retries come through here
    again, and so do requests that have come from another machine.
    """

    def __init__(self, allowed: AllowedHosts) -> None:
        self._allowed = allowed
        self._feeds: dict[Origin, str] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read the setting.

        :raises ArgumentError: if it cannot be used
        """
        return cls(allowed_hosts(crawler.settings))

    def process_request(self, request: Request) -> None:
        """Let a request pass.

        :raises RefusedUrl: if it may not be fetched
        """
        for key in (ANY_ADDRESS, FIRST_USE, WAS_PUBLIC):
            request.meta.pop(key, None)
        # No link makes one: it is in a file that the user gave.
        if request.cb_kwargs.get("role") == Role.CAPTURE.value:
            return
        if request.url == NOWHERE:
            raise RefusedUrl("refused-url", "it is no URL that can be fetched")
        feed = request.cb_kwargs.get("feed")
        scheme = urlsplit(request.url).scheme
        if scheme == "file" and feed is not None and urlsplit(feed).scheme == "file":
            _check_folder(request.url, feed)
        elif scheme not in PORTS:
            raise RefusedUrl("refused-url", f"{scheme}: is not followed, only http: and https: are")
        else:
            self._check(request, feed)

    def _check(self, request: Request, feed: str | None) -> None:
        if addresses.has_credentials(request.url):
            raise RefusedUrl("refused-url", "there is a user name in it")
        where = addresses.origin(request.url)
        if feed is not None:
            _check_feed(request, feed)
        key = ANY_ADDRESS if self._allowed.has_name(where) else self._key(request, feed, where)
        if key is not None:
            request.meta[key] = True
            return
        if addresses.special_name(where.host):
            raise RefusedUrl("private-address", "it is on this machine")
        address = addresses.literal(where.host)
        refusal = None if address is None else self._allowed.refusal(address, where.port)
        if refusal is not None:
            raise RefusedUrl("private-address", refusal)

    def _key(self, request: Request, feed: str | None, where: Origin) -> str | None:
        """What is set in the meta of a request for a host that the user gave; None for another one."""
        if feed is not None:
            key = _key_of_given(request, feed, where)
            if key is not None:
                self._feeds[where] = key
            return key
        # RobotsTxtMiddleware asks for a feed's host without saying for which feed. Where a robots.txt is
        # redirected to is not what the user gave.
        hops = request.meta.get("redirect_urls", ())
        is_there = all(addresses.origin(hop) == where for hop in hops)
        return self._feeds.get(where) if is_there else None


def _given(request: Request, feed: str) -> list[str]:
    return given_hosts.urls(feed, request.cb_kwargs.get("options", {}))


def _key_of_given(request: Request, feed: str, where: Origin) -> str | None:
    if where not in map(addresses.origin, _given(request, feed)):
        return None
    carried: dict[str, bool] = request.cb_kwargs.get(given_hosts.SPECIAL) or {}
    if given_hosts.is_fixed(where.host) or carried.get(where.host):
        return ANY_ADDRESS
    if where.host in carried:
        return WAS_PUBLIC
    return FIRST_USE if _is_users(request) else None


def _is_users(request: Request) -> bool:
    """Whether a request is the user's own: neither a link nor a redirect has led to it."""
    known = request.cb_kwargs
    is_link = known.get("via") is not None or known.get("role") in (Role.ARCHIVE.value, Role.PAGE.value)
    return not is_link and "redirect_urls" not in request.meta


def _check_feed(request: Request, feed: str) -> None:
    if urlsplit(feed).scheme not in PORTS:
        raise RefusedUrl("refused-url", "a feed of files may not lead to the net")
    if urlsplit(request.url).scheme == "https":
        return
    host = addresses.origin(request.url).host
    if any(url.startswith("http:") and addresses.origin(url).host == host for url in _given(request, feed)):
        return
    before = (feed, request.cb_kwargs.get("via"), *request.meta.get("redirect_urls", ()))
    for url in filter(None, before):
        if urlsplit(url).scheme == "https" and addresses.origin(url).host == host:
            raise RefusedUrl("downgrade", "it is http: on a host that was reached with https:")


def _check_folder(url: str, feed: str) -> None:
    start = Path(file_uri_to_path(feed)).resolve()
    folder = start if start.is_dir() else start.parent
    if not Path(file_uri_to_path(url)).resolve().is_relative_to(folder):
        raise RefusedUrl("refused-url", "it is outside the folder of the feed")
