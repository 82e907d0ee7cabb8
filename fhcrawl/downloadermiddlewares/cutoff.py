"""Retries incomplete responses, and finally passes on the incomplete one."""

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

    The last attempt's response is passed on, because the entries before the cut are useful.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the middleware of a crawler."""
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        """Return a request to retry an incomplete response, or the response."""
        if "dataloss" not in response.flags or self._crawler.spider is None:
            return response
        again = get_retry_request(request, spider=self._crawler.spider, reason="cut off")
        return again or response
