"""Ends a walk at the limits on documents, time and octets; the verdict reports it."""

from __future__ import annotations

from dataclasses import replace
from time import time
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import DownloadTimeoutError, NotConfigured

from fhcrawl.crawling.context import RECEIVED, find_context, is_of_web_archive, is_own, set_walk
from fhcrawl.crawling.failures import LimitReached, NothingNew
from fhcrawl.extensions import Component
from fhcrawl.logical_feed import Role

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

SETTINGS = {
    Role.ARCHIVE: "FHCRAWL_MAX_ARCHIVES",
    Role.PART: "FHCRAWL_MAX_ARCHIVES",
    Role.PAGE: "FHCRAWL_MAX_PAGES",
    Role.LISTED: "FHCRAWL_MAX_PAGES",
    Role.CAPTURE: "FHCRAWL_MAX_CAPTURES",
    Role.TIMEMAP: "FHCRAWL_MAX_CAPTURES",
}
# What they count, where that is not the role.
NOUNS = {Role.LISTED: Role.PAGE, Role.TIMEMAP: Role.CAPTURE}
SECONDS = "FHCRAWL_MAX_SECONDS"
# A publisher may write nothing for more than a year, with an archive for each month. Calendars and lists of
# pages that never end link to an older document for ever.
MOST_BARREN = 20


class LimitsMiddleware(Component):
    """FHCRAWL_MAX_ARCHIVES and its neighbours, or a feed's own limit, and FHCRAWL_MAX_SECONDS, in one run.

    0 is no limit. Captures in WARC files, the user's own, are not limited. A feed's time begins with its
    first request; a download that is in progress at its end is aborted. After `MOST_BARREN` documents in a
    row without news, the rest is left to the next run, which goes on behind them.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._limits = {role: settings.getint(name) for role, name in SETTINGS.items()}
        self._seconds = settings.getint(SECONDS)
        self._timeout = settings.getfloat("DOWNLOAD_TIMEOUT")
        self._begun: dict[tuple[str, int], float] = {}

    def process_request(self, request: Request) -> None:
        """Check a request against the limits, and shorten its timeout to the time that is left.

        :raises LimitReached: if it is beyond a limit
        """
        context = find_context(request)
        if context is not None and context.role in SETTINGS:
            role, given = context.role, context.walk.options.limit
            limit = self._limits[role] if given is None else given
            if limit and context.documents > limit:
                asks = SETTINGS[role] if given is None else "the list of feeds"
                noun = NOUNS.get(role, role).value
                raise LimitReached(f"{asks} limits a crawl to {_number(limit, noun)}")
            if context.barren >= MOST_BARREN:
                raise NothingNew(f"the {MOST_BARREN} documents before it have no new entries")
        if self._seconds:
            self._limit_time(request)

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Distinguish the end of a feed's time from a server that does not answer.

        :raises LimitReached: if the feed's time is over
        """
        if self._seconds and isinstance(exception, DownloadTimeoutError):
            self._limit_time(request)

    def _limit_time(self, request: Request) -> None:
        if is_own(request):
            return
        left = self._left(request)
        if left <= 0:
            raise LimitReached(time_is_over(self._seconds))
        request.meta["download_timeout"] = min(left, request.meta.get("download_timeout", self._timeout))

    # A robots.txt belongs to no feed; all feeds of its host wait for it.
    def _left(self, request: Request) -> float:
        context = find_context(request)
        if context is None:
            return self._seconds
        # The walk carries the time: its next request may come from a JOBDIR.
        walk = context.walk
        begun = self._begun.setdefault((walk.feed, walk.run), walk.begun or time())
        if begun != walk.begun:
            set_walk(request, replace(walk, begun=begun))
        return begun + self._seconds - time()


def time_left(request: Request, seconds: int) -> float | None:
    """Return how many seconds a request's feed has left; None if its time is not limited.

    :param seconds: FHCRAWL_MAX_SECONDS
    """
    context = find_context(request)
    begun = None if context is None else context.walk.begun
    return None if not seconds or begun is None else max(begun + seconds - time(), 0)


def time_is_over(seconds: int) -> str:
    """Return why the walk of a feed was stopped, as a sentence without a subject."""
    return f"{SECONDS} limits a crawl to {_number(seconds, 'second')}"


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


OCTETS = "FHCRAWL_MAX_BYTES"


class OctetsMiddleware(Component):
    """FHCRAWL_MAX_BYTES: how many octets may be downloaded for a feed in one run; 0 is no limit.

    The size of a response is that of its body, compressed or decompressed, or of its entries with what they
    take from the head (`responses.note_growth`), whichever is larger. Redirects and failed
    attempts count too. Captures in WARC files, which are the user's, do not. The first document after the
    subscription document is always fetched, so that each run makes progress.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._limit = crawler.settings.getint(OCTETS)
        if not self._limit:
            raise NotConfigured
        self._octets: dict[tuple[str, int], int] = {}
        crawler.signals.connect(self.response_downloaded, signal=signals.response_downloaded)

    def process_request(self, request: Request) -> None:
        """Check the octets of a request's feed against the limit.

        :raises LimitReached: if the limit is reached
        """
        context = find_context(request)
        if self._count(request, 0) >= self._limit and context is not None and context.documents != 1:
            raise LimitReached(f"{OCTETS} limits a crawl to {self._limit} bytes")

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
