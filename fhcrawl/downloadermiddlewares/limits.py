"""Ends a walk at the user's limits; the verdict reports it."""

from __future__ import annotations

from dataclasses import replace
from time import time
from typing import TYPE_CHECKING

from scrapy.exceptions import DownloadTimeoutError

from fhcrawl.crawling.context import find_context, is_own, set_walk
from fhcrawl.crawling.refusals import LimitReached
from fhcrawl.logical_feed import Role

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from fhcrawl.crawling.context import RequestContext

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


class LimitsMiddleware:
    """FHCRAWL_MAX_ARCHIVES and its neighbours, or a feed's own limit, and FHCRAWL_MAX_SECONDS, in one run.

    0 is no limit. Captures in WARC files, the user's own, are not limited. A feed's time begins with its
    first request; a download that is in progress at its end is aborted.
    """

    def __init__(self, limits: dict[Role, int], seconds: int, timeout: float) -> None:
        self._limits = limits
        self._seconds = seconds
        self._timeout = timeout
        self._begun: dict[tuple[str, int], float] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read the settings."""
        settings = crawler.settings
        limits = {role: settings.getint(name) for role, name in SETTINGS.items()}
        return cls(limits, settings.getint(SECONDS), settings.getfloat("DOWNLOAD_TIMEOUT"))

    def process_request(self, request: Request) -> None:
        """Check a request against the limits, and shorten its timeout to the time that is left.

        :raises LimitReached: if it is beyond a limit
        """
        context = find_context(request)
        if context is not None and context.role in SETTINGS:
            self._limit_documents(context)
        if self._seconds:
            self._limit_time(request)

    def _limit_documents(self, context: RequestContext) -> None:
        role, given = context.role, context.walk.options.limit
        limit = self._limits[role] if given is None else given
        if limit and context.documents > limit:
            asks = SETTINGS[role] if given is None else "the list of feeds"
            noun = NOUNS.get(role, role).value
            raise LimitReached(f"stopped at {_number(limit, noun)}, as {asks} asks")

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
    return f"stopped after {_number(seconds, 'second')}, as {SECONDS} asks"


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
