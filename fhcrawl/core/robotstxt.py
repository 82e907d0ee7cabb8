"""How much of a robots.txt is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.robotstxt import ProtegoRobotParser

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

# RFC 9309, 2.5: a crawler may stop reading after 500 kibibytes.
LARGEST = 500 * 1024


class BoundedRobotParser(ProtegoRobotParser):
    """Scrapy's, which holds up all else for 15 seconds, and takes 1.5 GB, for a robots.txt of 32 MiB."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        """Read the rules up to a size."""
        return super().from_crawler(crawler, beginning(robotstxt_body))


def beginning(robotstxt_body: bytes) -> bytes:
    """The lines that count; half a rule would forbid more than the whole one."""
    if len(robotstxt_body) <= LARGEST:
        return robotstxt_body
    # RFC 9309, 2.2: a line ends with CR, LF or both.
    return robotstxt_body[: max(robotstxt_body.rfind(end, 0, LARGEST) for end in (b"\r", b"\n")) + 1]
