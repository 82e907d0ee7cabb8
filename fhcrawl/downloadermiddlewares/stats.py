"""Scrapy's stats of downloads, with prefetching."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares import stats

from fhcrawl.downloadermiddlewares.prefetch import PREFETCHED

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response


class DownloaderStats(stats.DownloaderStats):
    """Scrapy's, which would count a prefetched response when it comes, and again when it is asked for."""

    def process_response(  # type: ignore[override]  # Scrapy's has an argument that nobody may pass
        self, request: Request, response: Response
    ) -> Request | Response:
        """Count a response that comes from the net."""
        return response if PREFETCHED in response.flags else super().process_response(request, response)
