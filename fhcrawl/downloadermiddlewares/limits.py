"""Ends a walk where the user's limits ask for it; the verdict says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.exceptions import LimitReached
from fhcrawl.logical_feed import Role

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from typing_extensions import Self

SETTINGS = {Role.ARCHIVE.value: "FHCRAWL_MAX_ARCHIVES", Role.PAGE.value: "FHCRAWL_MAX_PAGES"}


class LimitsMiddleware:
    """FHCRAWL_MAX_ARCHIVES and FHCRAWL_MAX_PAGES, for each feed and run; 0 is no limit."""

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
        limit = self._limits.get(role, 0)
        if limit and request.cb_kwargs.get("documents", 0) > limit:
            raise LimitReached(f"stopped at {limit} {role}s, as {SETTINGS[role]} asks")
