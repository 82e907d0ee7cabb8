"""Follows redirects without a Referer and a host's own headers, in the download slot of the new host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.downloadermiddlewares import redirect

from fhcrawl.crawling.context import find_context, is_own
from fhcrawl.crawling.responses import own_headers
from fhcrawl.utils.addresses import without_credentials

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self


class RedirectMiddleware(redirect.RedirectMiddleware):
    """Sends no Referer, without Scrapy's warning that RefererMiddleware is missing.

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
            response.headers["Location"] = without_credentials(location.decode("latin-1")).encode("latin-1")
        redirected = super().process_response(request, response)
        if isinstance(redirected, Request):
            _drop_own_headers(redirected)
        return redirected


def _drop_own_headers(request: Request) -> None:
    context = find_context(request)
    if context is not None:
        own = own_headers(context.walk, request.url)
        for name in context.walk.options.headers.keys() - own.keys():
            request.headers.pop(name, None)
