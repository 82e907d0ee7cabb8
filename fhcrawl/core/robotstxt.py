"""A robots.txt parser with a limit of size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.robotstxt import ProtegoRobotParser

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

# RFC 9309, 2.5: a crawler may stop reading after 500 kibibytes.
LARGEST = 500 * 1024


class BoundedRobotParser(ProtegoRobotParser):
    """Parses the first 500 KiB of a robots.txt: 32 MiB would block the crawl for 15 seconds."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        """Return the parser of the lines within the limit."""
        return super().from_crawler(crawler, beginning(robotstxt_body))


def beginning(robotstxt_body: bytes) -> bytes:
    """Return the whole lines within LARGEST octets; a rule that is cut off would forbid more URLs."""
    if len(robotstxt_body) <= LARGEST:
        return robotstxt_body
    # RFC 9309, 2.2: a line ends with CR, LF or both.
    end = max(robotstxt_body.rfind(end, 0, LARGEST) for end in (b"\r", b"\n"))
    return robotstxt_body[: end + 1]
