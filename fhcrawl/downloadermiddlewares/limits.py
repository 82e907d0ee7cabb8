"""Refuses requests beyond the limits on documents, time and octets; the verdict reports it."""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import DownloadTimeoutError, NotConfigured

from fhcrawl.crawling.context import BEGUN, OCTETS, RECEIVED, find_context, is_of_user, is_of_web_archive
from fhcrawl.crawling.failures import SECONDS, LimitReached, time_is_over
from fhcrawl.extensions import Component
from fhcrawl.logical_feed import Role
from fhcrawl.reasons import ReasonKind
from fhcrawl.utils.text import numbered

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
# What a limit counts, if that differs from the role.
NOUNS = {Role.LISTED: Role.PAGE, Role.TIMEMAP: Role.CAPTURE}
# A publisher may write nothing for more than a year, with an archive for each month. Calendars and lists of
# pages that never end link to older documents forever.
MOST_BARREN = 20


class LimitsMiddleware(Component):
    """FHCRAWL_MAX_ARCHIVES, …_PAGES and …_CAPTURES, or a feed's own limit, and FHCRAWL_MAX_SECONDS.

    Captures in WARC files, the user's own, are not limited. A feed's time begins with its first request.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._limits = {role: settings.getint(name) for role, name in SETTINGS.items()}
        self._seconds = settings.getint(SECONDS)
        self._timeout = settings.getfloat("DOWNLOAD_TIMEOUT")
        self._begun: dict[tuple[str, int], float] = {}

    def process_request(self, request: Request) -> None:
        context = find_context(request)
        if context is not None and context.role in SETTINGS:
            role, own_limit = context.role, context.walk.options.limit
            limit = self._limits[role] if own_limit is None else own_limit
            if limit and context.documents > limit:
                source = SETTINGS[role] if own_limit is None else "the list of feeds"
                noun = NOUNS.get(role, role).value
                raise LimitReached(f"{source} limits a crawl to {numbered(limit, noun, f'{noun}s')}")
            if context.barren >= MOST_BARREN:
                message = f"the {MOST_BARREN} documents before it have no new entries"
                raise LimitReached(message, kind=ReasonKind.EMPTY_ARCHIVES)
        if self._seconds:
            self._limit_time(request)

    def process_exception(self, request: Request, exception: Exception) -> None:
        if self._seconds and isinstance(exception, DownloadTimeoutError):
            self._limit_time(request)

    def _limit_time(self, request: Request) -> None:
        if is_of_user(request):
            return
        context = find_context(request)
        # A robots.txt belongs to no feed; all feeds of its host wait for it.
        seconds_left: float = self._seconds
        if context is not None:
            # The walk carries the time: its next request may come from a JOBDIR.
            walk = context.walk
            begun = self._begun.setdefault((walk.feed, walk.run), walk.begun or time())
            request.meta[BEGUN] = begun
            seconds_left += begun - time()
        if seconds_left <= 0:
            raise LimitReached(time_is_over(self._seconds))
        request.meta["download_timeout"] = min(
            seconds_left, request.meta.get("download_timeout", self._timeout)
        )


MAX_OCTETS = "FHCRAWL_MAX_BYTES"


class OctetsMiddleware(Component):
    """FHCRAWL_MAX_BYTES: how many octets may be downloaded for a feed in one run.

    The size of a response is that of its body, compressed or decompressed, or of its entries
    (`FeedCrawl.count_octets`), whichever is larger. Redirects and failed attempts count, captures in WARC
    files do not. The first document after the subscription document is always fetched.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._limit = crawler.settings.getint(MAX_OCTETS)
        if not self._limit:
            raise NotConfigured
        self._octets: dict[tuple[str, int], int] = {}
        crawler.signals.connect(self.response_downloaded, signal=signals.response_downloaded)

    def process_request(self, request: Request) -> None:
        context = find_context(request)
        if self._add_octets(request, 0) >= self._limit and context is not None and context.documents != 1:
            raise LimitReached(f"{MAX_OCTETS} limits a crawl to {self._limit} bytes")

    def response_downloaded(self, response: Response, request: Request) -> None:
        request.meta[RECEIVED] = len(response.body)
        self._add_octets(request, len(response.body))

    def process_response(self, request: Request, response: Response) -> Response:
        grown = len(response.body) - request.meta.pop(RECEIVED, 0)
        self._add_octets(request, max(grown, 0))
        return response

    # The walk carries the sum, which is returned: its next request may come from a JOBDIR.
    def _add_octets(self, request: Request, octets: int) -> int:
        context = find_context(request)
        # A robots.txt belongs to no feed.
        if context is None or (context.role is Role.CAPTURE and not is_of_web_archive(context)):
            return 0
        walk = context.walk
        key = walk.feed, walk.run
        total = self._octets[key] = max(self._octets.get(key, 0), walk.octets) + octets
        request.meta[OCTETS] = total
        return total
