"""Fetches a document again that came incomplete, and at last makes do with what came."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares.retry import get_retry_request

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self


class CutOffMiddleware:
    """With DOWNLOAD_FAIL_ON_DATALOSS off, retries like Scrapy's RetryMiddleware (RETRY_TIMES).

    The entries before the cut are worth having, so that the last attempt's response is passed on.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Use the crawl's settings."""
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        """A request to try again, or the response."""
        if "dataloss" not in response.flags or self._crawler.spider is None:
            return response
        again = get_retry_request(request, spider=self._crawler.spider, reason="cut off")
        return again or response
