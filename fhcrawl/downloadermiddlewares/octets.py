"""Ends a walk when its feed has brought as many octets as the user allows in one run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from fhcrawl.crawling.context import RECEIVED, find_context, set_walk
from fhcrawl.crawling.refusals import LimitReached
from fhcrawl.logical_feed import Role

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

SETTING = "FHCRAWL_MAX_BYTES"


class OctetsMiddleware:
    """FHCRAWL_MAX_BYTES: how many octets a feed may bring in one run; 0 is no limit.

    A response counts with its size as it came or decompressed, or with what its entries have from the
    document's head (`responses.note_growth`), whichever is larger; redirects, failed attempts and what is
    fetched ahead count too. Captures do not: they are files of the user's, and are read again in each run.
    The first document that a walk goes on with is always taken, so that each run gets further.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._octets: dict[str, int] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read the setting, and connect to the arrival of responses.

        :raises NotConfigured: if there is no limit
        """
        most = crawler.settings.getint(SETTING)
        if not most:
            raise NotConfigured
        middleware = cls(most)
        crawler.signals.connect(middleware.response_downloaded, signal=signals.response_downloaded)
        return middleware

    def process_request(self, request: Request) -> None:
        """Let a request pass.

        :raises LimitReached: if its feed has brought enough
        """
        context = find_context(request)
        if self._count(request, 0) >= self._most and context is not None and context.documents != 1:
            raise LimitReached(f"stopped after {self._most} octets, as {SETTING} asks")

    def response_downloaded(self, response: Response, request: Request) -> None:
        """Count a response as it came, whatever becomes of it."""
        request.meta[RECEIVED] = len(response.body)
        self._count(request, len(response.body))

    def process_response(self, request: Request, response: Response) -> Response:
        """Count what a response has grown by when it was decompressed."""
        grown = len(response.body) - request.meta.pop(RECEIVED, 0)
        self._count(request, max(grown, 0))
        return response

    # It goes with the walk: another process may have read what was before.
    def _count(self, request: Request, octets: int) -> int:
        """Add to what a feed has brought; returns how many octets that are, 0 if it does not count."""
        context = find_context(request)
        # A robots.txt is nobody's.
        if context is None or context.role is Role.CAPTURE:
            return 0
        walk = context.walk
        brought = max(self._octets.get(walk.feed, 0), walk.octets) + octets
        self._octets[walk.feed] = brought
        if brought != walk.octets:
            set_walk(request, replace(walk, octets=brought))
        return brought
