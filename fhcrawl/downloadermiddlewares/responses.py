"""Small middlewares: headers across redirects, validators, and missing pages that are reported as errors."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.downloadermiddlewares import redirect

from fhcrawl.crawling import responses
from fhcrawl.crawling.context import (
    context_of,
    find_context,
    given_urls,
    is_of_web_archive,
    is_own,
    with_context,
)
from fhcrawl.logical_feed.platforms import NAMED, NOT_FOUND
from fhcrawl.utils import addresses

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

logger = logging.getLogger(__name__)


# Scrapy's middleware removes only Cookie and Authorization from a request to another host, and warns that
# RefererMiddleware is missing.
class RedirectMiddleware(redirect.RedirectMiddleware):
    """Sends no Referer.

    A feed's own headers are sent only to its host, like Authorization; credentials in the URL are dropped.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the middleware without connecting to the signal that looks for RefererMiddleware."""
        middleware = cls(crawler.settings)
        middleware.crawler = crawler
        return middleware

    def handle_referer(self, request: Request, response: Response) -> None:
        """Remove the Referer: a server need not know which document led to it."""
        request.headers.pop("Referer", None)
        if not is_own(request):
            # With the slot of the old host, the request would not be delayed in that of the new host.
            request.meta.pop("download_slot", None)

    def process_response(  # type: ignore[override]  # Scrapy's still takes a spider
        self, request: Request, response: Response
    ) -> Request | Response:
        """Return the request for the redirect's target, or the response."""
        location = response.headers.get("Location")
        if location is not None and not is_own(request):
            target = _secured(request, response, addresses.without_credentials(location.decode("latin-1")))
            response.headers["Location"] = target.encode("latin-1")
        redirected = super().process_response(request, response)
        context = find_context(redirected) if isinstance(redirected, Request) else None
        if context is not None:
            own = responses.own_headers(context.walk, redirected.url)
            for name in context.walk.options.headers.keys() - own.keys():
                redirected.headers.pop(name, None)
        return redirected


# `addresses.secured`, unless the redirect would then lead nowhere.
def _secured(request: Request, response: Response, target: str) -> str:
    context = find_context(request)
    if context is None or is_of_web_archive(context):
        return target
    before = filter(None, (context.walk.feed, context.via, response.url))
    secure = addresses.secured(target, given_urls(context.walk), before)
    return target if secure == response.url else secure


class ValidatorsMiddleware:
    """Sends ETag and Last-Modified only to the URL whose response had them.

    It runs for each redirect: from that URL, which removes them, and to that URL, which adds them.
    """

    def process_request(self, request: Request) -> None:
        """Add the validators to a request for a subscription document, or remove them."""
        context = find_context(request)
        if context is None or context.last_reading is None:
            return
        for name in responses.VALIDATED:
            request.headers.pop(name, None)
        request.headers.update(responses.conditions(request))

    def process_response(self, request: Request, response: Response) -> Request | Response:
        """Return the response; for a 304 that names another charset, return an unconditional request."""
        if response.status != responses.NOT_MODIFIED or not responses.conditions(request):
            return response
        context = context_of(request)
        if context.last_reading is None or context.body_digest is None:
            return response
        if not responses.corrects_charset(response, context.body_digest):
            return response
        logger.info("%s is unchanged, but its charset has changed: reading it again", request.url)
        last = replace(context.last_reading, validated_url=None, etag=None, last_modified=None)
        return with_context(request, replace(context, last_reading=last))


class NoPageMiddleware:
    """Returns a 500 of some software for a page that does not exist as the 404 that it means.

    It is not to be retried. Every other 500 is, and is an error.
    """

    def process_response(self, request: Request, response: Response) -> Response:
        """Return the response, or a 404 in its place."""
        context = find_context(request)
        platform = None if context is None else NAMED.get(context.platform or "")
        if context is None or platform is None:
            return response
        is_missing = platform.is_denied(context.requested_url, response.status, response.body)
        return response.replace(status=NOT_FOUND) if is_missing else response
