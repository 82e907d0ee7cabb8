"""Ends a walk where the user's limits ask for it, and says so in the verdict."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from fhcrawl import signals
from fhcrawl.clock import now
from fhcrawl.logical_feed import Loss, Place, Role, State, Visit
from fhcrawl.logs import printable

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

SETTINGS = {Role.ARCHIVE: "FHCRAWL_MAX_ARCHIVES", Role.PAGE: "FHCRAWL_MAX_PAGES"}


class LimitsMiddleware(BaseSpiderMiddleware):
    """Drops requests beyond FHCRAWL_MAX_ARCHIVES and FHCRAWL_MAX_PAGES, for each feed and run; 0 is no limit."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._limits = {role: crawler.settings.getint(name) for role, name in SETTINGS.items()}

    def get_processed_request(
        self, request: Request, response: Response | None
    ) -> Request | None:
        """The request, if it is within the limits."""
        known = request.cb_kwargs
        role = Role(known.get("role", Role.SUBSCRIPTION))
        limit = self._limits.get(role, 0)
        if not limit or known.get("documents", 0) <= limit:
            return request
        detail = f"was left for a later run: stopped at {limit} {role.value}s, as {SETTINGS[role]} asks"
        logger.info("%s %s", printable(request.url), detail)
        self.crawler.signals.send_catch_log(
            signals.document_lost,
            visit=Visit(
                feed=known["feed"],
                key=request.meta.get("deltafetch_key") or known["asked"],
                asked=known["asked"],
                url=request.url,
                role=role,
                place=Place(known["walk"], known["step"]),
                fetched=now(),
                loss=Loss(State.KNOWN, "limit", detail),
            ),
            spider=self.crawler.spider,
        )
        return None
