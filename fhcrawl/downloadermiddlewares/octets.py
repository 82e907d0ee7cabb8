"""Ends a walk when its feed has brought as many octets as the user allows in one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotConfigured

from fhcrawl.crawling.refusals import LimitReached
from fhcrawl.logical_feed import Role

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

SETTING = "FHCRAWL_MAX_BYTES"
# The meta key of how many octets a response had as it came, before it was decompressed.
RECEIVED = "fhcrawl_received"


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
        known = request.cb_kwargs
        if _counts(known) and self._count(known, 0) >= self._most and known.get("documents") != 1:
            raise LimitReached(f"stopped after {self._most} octets, as {SETTING} asks")

    def response_downloaded(self, response: Response, request: Request) -> None:
        """Count a response as it came, whatever becomes of it."""
        if _counts(request.cb_kwargs):
            request.meta[RECEIVED] = len(response.body)
            self._count(request.cb_kwargs, len(response.body))

    def process_response(self, request: Request, response: Response) -> Response:
        """Count what a response has grown by when it was decompressed."""
        if _counts(request.cb_kwargs):
            grown = len(response.body) - request.meta.pop(RECEIVED, 0)
            self._count(request.cb_kwargs, max(grown, 0))
        return response

    # It goes with the walk: another process may have read what was before.
    def _count(self, known: dict[str, Any], octets: int) -> int:
        """Add to what a feed has brought; returns how many octets that are."""
        feed: str = known["feed"]
        before = max(self._octets.get(feed, 0), known.get("octets", 0))
        known["octets"] = self._octets[feed] = before + octets
        return self._octets[feed]


# A robots.txt is nobody's.
def _counts(known: dict[str, Any]) -> bool:
    return "feed" in known and known["role"] != Role.CAPTURE.value
