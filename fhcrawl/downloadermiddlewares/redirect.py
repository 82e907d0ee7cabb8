"""Redirects, without a Referer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares import redirect

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self


class RedirectMiddleware(redirect.RedirectMiddleware):
    """Scrapy's, which without RefererMiddleware would warn that it sends no Referer."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Without the signal that looks for RefererMiddleware."""
        middleware = cls(crawler.settings)
        middleware.crawler = crawler
        return middleware

    def handle_referer(self, request: Request, response: Response) -> None:
        """Send none: a feed's server need not know by which document we came."""
        request.headers.pop("Referer", None)
