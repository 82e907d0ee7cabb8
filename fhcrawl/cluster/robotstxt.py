"""Shares each robots.txt between workers, so that one of them fetches it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares import robotstxt
from scrapy.http import Response
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.defer import Deferred

from fhcrawl.cluster.extension import ClusterExtension
from fhcrawl.core.robotstxt import beginning

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.robotstxt import RobotParser


class RobotsTxtMiddleware(robotstxt.RobotsTxtMiddleware):
    """Scrapy's middleware; it looks for a robots.txt in Redis before it fetches it."""

    async def robot_parser(self, request: Request) -> RobotParser | None:
        """Return the parser of a host's robots.txt."""
        netloc = urlparse_cached(request).netloc
        if netloc not in self._parsers:
            said = ClusterExtension.of(self.crawler).board.robots(netloc)
            if said is not None:
                self._parsers[netloc] = Deferred()
                await super()._parse_robots(Response(request.url, body=said), netloc, request)
        return await super().robot_parser(request)

    async def _parse_robots(self, response: Response, netloc: str, request: Request) -> None:
        ClusterExtension.of(self.crawler).board.note_robots(netloc, beginning(response.body))
        await super()._parse_robots(response, netloc, request)
