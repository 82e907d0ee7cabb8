"""Ends a walk where the user's limits ask for it; the verdict says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

from fhcrawl.exceptions import FhcrawlError
from fhcrawl.logical_feed import Role

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from typing_extensions import Self

SETTINGS = {Role.ARCHIVE.value: "FHCRAWL_MAX_ARCHIVES", Role.PAGE.value: "FHCRAWL_MAX_PAGES"}


class LimitReached(FhcrawlError, IgnoreRequest):  # noqa: N818
    """A request beyond a limit that the user has set."""


class LimitsMiddleware:
    """FHCRAWL_MAX_ARCHIVES and FHCRAWL_MAX_PAGES, or a feed's own limit, in one run; 0 is no limit."""

    def __init__(self, limits: dict[str, int]) -> None:
        self._limits = limits

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read the settings."""
        return cls({role: crawler.settings.getint(name) for role, name in SETTINGS.items()})

    def process_request(self, request: Request) -> None:
        """Let a request pass.

        :raises LimitReached: if it is beyond a limit
        """
        role = request.cb_kwargs.get("role", "")
        given = request.cb_kwargs.get("options", {}).get("limit")
        limit = self._limits.get(role, 0) if given is None else given
        if limit and role in SETTINGS and request.cb_kwargs.get("documents", 0) > limit:
            asks = SETTINGS[role] if given is None else "the list of feeds"
            raise LimitReached(f"stopped at {limit} {role}s, as {asks} asks")
