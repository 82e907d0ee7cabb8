"""Scrapy's stats of downloads, corrected for prefetching."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares import stats

from fhcrawl.downloadermiddlewares.prefetch import PREFETCHED

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response


class DownloaderStats(stats.DownloaderStats):
    """Counts a prefetched response once: Scrapy's would count it again when the walk requests it."""

    def process_response(  # type: ignore[override]  # Scrapy's still takes a spider
        self, request: Request, response: Response
    ) -> Request | Response:
        """Count a response unless it was prefetched, and counted then."""
        return response if PREFETCHED in response.flags else super().process_response(request, response)
