"""Redirects, without a Referer, and in the turn of the host that they lead to."""

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
        # With the slot of the host that it comes from, it would not take its turn at the one that it goes to.
        request.meta.pop("download_slot", None)
