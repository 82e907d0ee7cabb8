"""Redirects, without a Referer, without what is meant for one host alone, and in the turn of the new host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.downloadermiddlewares import redirect

from fhcrawl.crawling.context import find_context
from fhcrawl.crawling.responses import own_headers
from fhcrawl.utils.addresses import without_credentials

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self


class RedirectMiddleware(redirect.RedirectMiddleware):
    """Scrapy's, which without RefererMiddleware would warn that it sends no Referer.

    A feed's own headers stay with its host, like Authorization; credentials in the new URL are dropped.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Without the signal that looks for RefererMiddleware."""
        middleware = cls(crawler.settings)
        middleware.crawler = crawler
        return middleware

    def handle_referer(self, request: Request, response: Response) -> None:
        """Send none: a feed's server need not know by which document we came."""
        request.headers.pop("Referer", None)
        # With the slot of the host that it comes from, it would not take its turn at the one that it goes to.
        request.meta.pop("download_slot", None)

    def process_response(  # type: ignore[override]  # Scrapy's still takes a spider
        self, request: Request, response: Response
    ) -> Request | Response:
        """The request for the new place, or the response."""
        location = response.headers.get("Location")
        if location is not None:
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
