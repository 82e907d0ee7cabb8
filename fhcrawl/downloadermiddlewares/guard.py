"""Refuses requests to URLs that links in a feed must not reach."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies

from w3lib.url import file_uri_to_path

from fhcrawl.crawling.context import (
    ANY_ADDRESS,
    FIRST_USE,
    SPECIAL_HOSTS,
    WAS_PUBLIC,
    find_context,
    has_fixed_address,
    is_of_user,
    is_of_web_archive,
    user_urls,
)
from fhcrawl.crawling.failures import RefusedUrl
from fhcrawl.crawling.requests import UNFETCHABLE_URL
from fhcrawl.logical_feed import Role
from fhcrawl.reasons import ReasonKind
from fhcrawl.utils import addresses
from fhcrawl.utils.addresses import PORTS, AllowedHosts

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from typing_extensions import Self

    from fhcrawl.crawling.context import RequestContext
    from fhcrawl.utils.addresses import Origin

logger = logging.getLogger(__name__)

PRIVATE_HOSTS = "FHCRAWL_ALLOWED_PRIVATE_HOSTS"


def allowed_hosts(settings: BaseSettings) -> AllowedHosts:
    """:raises ArgumentError: if an entry of FHCRAWL_ALLOWED_PRIVATE_HOSTS is invalid"""
    return AllowedHosts.of(map(str, settings.getlist(PRIVATE_HOSTS)))


class GuardMiddleware:
    """Allows http and https, and files below the folder of a feed that the user passed as a file.

    A host at a special address must be the host and port of the feed, and have been at a special address when
    that was first read; or it must be listed. `GuardedDownloadHandler` checks the addresses of names.
    Redirects, retries, and the requests of a subclass's own callbacks and pipelines pass through here too.
    """

    def __init__(self, allowed: AllowedHosts) -> None:
        self._allowed = allowed
        self._feeds: dict[Origin, str] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        # Python, by which Scrapy reads the variable, compares names only.
        networks = [name for name in getproxies().get("no", "").split(",") if "/" in name]
        if networks:
            message = "no_proxy contains networks (%s), which have no effect: list the hosts instead"
            logger.warning(message, ",".join(networks), extra={"is_for_users": True})
        return cls(allowed_hosts(crawler.settings))

    def process_request(self, request: Request) -> None:
        for key in (ANY_ADDRESS, FIRST_USE, WAS_PUBLIC):
            request.meta.pop(key, None)
        context = find_context(request)
        scheme = urlsplit(request.url).scheme
        if is_of_web_archive(context):
            _check_archive(request.url, context)
        elif context is not None and context.role is Role.CAPTURE and scheme == "file":
            # The URL of a record in the user's WARC files; links cannot lead to these.
            return
        if request.url == UNFETCHABLE_URL:
            raise RefusedUrl(ReasonKind.REFUSED_URL, "it is not a URL that can be fetched")
        if scheme == "file" and context is not None and urlsplit(context.walk.feed).scheme == "file":
            _check_folder(request.url, context.walk.feed)
        elif scheme not in PORTS:
            raise RefusedUrl(
                ReasonKind.REFUSED_URL, f"only http: and https: URLs are fetched, not {scheme}: ones"
            )
        else:
            self._check_network_url(request, context)

    def process_exception(self, request: Request, exception: Exception) -> None:
        if isinstance(exception, RefusedUrl) and is_of_user(request):
            is_private = exception.kind is ReasonKind.PRIVATE_ADDRESS
            instead = f"; to allow it, use {PRIVATE_HOSTS}" if is_private else ""
            logger.warning("%s is not requested: %s%s", request.url, exception, instead)

    def _check_network_url(self, request: Request, context: RequestContext | None) -> None:
        if addresses.has_credentials(request.url):
            raise RefusedUrl(ReasonKind.REFUSED_URL, "it contains a user name")
        where = addresses.origin(request.url)
        if context is not None and not is_of_web_archive(context):
            _check_feed(request, context)
        key = ANY_ADDRESS if self._allowed.has(where) else self._allowing_key(request, context, where)
        if key is not None:
            request.meta[key] = True
            return
        if addresses.special_name(where.host):
            raise RefusedUrl(ReasonKind.PRIVATE_ADDRESS, "it is on this machine")
        address = addresses.literal(where.host)
        refusal = None if address is None else self._allowed.refusal(address, where.port)
        if refusal is not None:
            raise RefusedUrl(ReasonKind.PRIVATE_ADDRESS, refusal)

    # The key to set in the meta of a request for a host of the user's; None for another host.
    def _allowing_key(self, request: Request, context: RequestContext | None, where: Origin) -> str | None:
        if context is not None:
            key = _key_of_user_host(request, context, where)
            if key is not None:
                self._feeds[where] = key
            return key
        # RobotsTxtMiddleware's requests do not name the feed. The target of a redirected robots.txt is not a
        # host that the user gave.
        hops = request.meta.get("redirect_urls", ())
        return self._feeds.get(where) if all(addresses.origin(hop) == where for hop in hops) else None


def _key_of_user_host(request: Request, context: RequestContext, where: Origin) -> str | None:
    if is_of_web_archive(context):
        # A name may resolve to another address later: an archive on this network must be listed by address.
        return ANY_ADDRESS if has_fixed_address(where.host) else None
    if where not in map(addresses.origin, user_urls(context.walk)):
        return None
    special_hosts = {**context.walk.special_hosts, **request.meta.get(SPECIAL_HOSTS, {})}
    if has_fixed_address(where.host) or special_hosts.get(where.host):
        return ANY_ADDRESS
    if where.host in special_hosts:
        return WAS_PUBLIC
    # The user gave the URL if neither a link nor a redirect led to it.
    is_link = context.via is not None or context.role in (Role.ARCHIVE, Role.PAGE)
    return None if is_link or "redirect_urls" in request.meta else FIRST_USE


# A captured redirect may lead to the publisher's site.
def _check_archive(url: str, context: RequestContext | None) -> None:
    archive = None if context is None else context.walk.options.web_archive
    if archive is None or addresses.origin(url) != addresses.origin(archive):
        raise RefusedUrl(ReasonKind.REFUSED_URL, "it is not in the web archive")


def _check_feed(request: Request, context: RequestContext) -> None:
    feed = context.walk.feed
    if urlsplit(feed).scheme not in PORTS:
        raise RefusedUrl(ReasonKind.REFUSED_URL, "a feed in local files must not lead to the network")
    earlier_urls = filter(None, (feed, context.via, *request.meta.get("redirect_urls", ())))
    if addresses.is_downgrade(request.url, user_urls(context.walk), earlier_urls):
        raise RefusedUrl(ReasonKind.DOWNGRADE, "it is an http: URL on a host that was reached with https:")


def _check_folder(url: str, feed: str) -> None:
    start = Path(file_uri_to_path(feed)).resolve()
    folder = start if start.is_dir() else start.parent
    if not Path(file_uri_to_path(url)).resolve().is_relative_to(folder):
        raise RefusedUrl(ReasonKind.REFUSED_URL, "it is outside the folder of the feed")
