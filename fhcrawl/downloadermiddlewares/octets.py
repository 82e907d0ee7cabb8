"""Ends a walk when the octets downloaded for its feed reach the user's limit for one run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from fhcrawl.crawling.context import RECEIVED, find_context, is_of_web_archive, set_walk
from fhcrawl.crawling.refusals import LimitReached
from fhcrawl.logical_feed import Role

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

SETTING = "FHCRAWL_MAX_BYTES"


class OctetsMiddleware:
    """FHCRAWL_MAX_BYTES: how many octets may be downloaded for a feed in one run; 0 is no limit.

    The size of a response is that of its body, compressed or decompressed, or of its entries with what they
    take from the head (`responses.note_growth`), whichever is larger. Redirects and failed
    attempts count too. Captures in WARC files, which are the user's, do not. The first document after the
    subscription document is always fetched, so that each run makes progress.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._octets: dict[tuple[str, int], int] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read the setting, and connect to the signal of responses.

        :raises NotConfigured: if there is no limit
        """
        limit = crawler.settings.getint(SETTING)
        if not limit:
            raise NotConfigured
        middleware = cls(limit)
        crawler.signals.connect(middleware.response_downloaded, signal=signals.response_downloaded)
        return middleware

    def process_request(self, request: Request) -> None:
        """Check the octets of a request's feed against the limit.

        :raises LimitReached: if the limit is reached
        """
        context = find_context(request)
        if self._count(request, 0) >= self._limit and context is not None and context.documents != 1:
            raise LimitReached(f"stopped after {self._limit} octets, as {SETTING} asks")

    def response_downloaded(self, response: Response, request: Request) -> None:
        """Count the octets of a response as it was received."""
        request.meta[RECEIVED] = len(response.body)
        self._count(request, len(response.body))

    def process_response(self, request: Request, response: Response) -> Response:
        """Count the octets by which decompression has enlarged a response."""
        grown = len(response.body) - request.meta.pop(RECEIVED, 0)
        self._count(request, max(grown, 0))
        return response

    # The walk carries the sum: its next request may come from a JOBDIR.
    def _count(self, request: Request, octets: int) -> int:
        """Add octets to the sum of a feed; return the sum, 0 if the request does not count."""
        context = find_context(request)
        # A robots.txt belongs to no feed.
        if context is None or (context.role is Role.CAPTURE and not is_of_web_archive(context)):
            return 0
        walk = context.walk
        key = walk.feed, walk.run
        brought = self._octets[key] = max(self._octets.get(key, 0), walk.octets) + octets
        if brought != walk.octets:
            set_walk(request, replace(walk, octets=brought))
        return brought
