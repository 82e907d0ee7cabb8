"""A robots.txt parser with limits of size, which keeps the sitemaps that the files name."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from scrapy.robotstxt import ProtegoRobotParser
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.sitemap import sitemap_urls_from_robots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.crawler import Crawler
    from typing_extensions import Self

# RFC 9309, 2.5: a crawler may stop reading after 500 kibibytes.
LARGEST = 500 * 1024
# RFC 9309, 2.2.1: the rules of a group apply to all of its user agents. Protego keeps each rule once for each
# of them: 56 KB with 1,000 user agents and 3,000 rules would block the crawl for 15 seconds.
MOST_RULES = 100_000
# What Protego may take for a line of a user agent, and what surely ends the user agents of a group.
AGENT = re.compile(rb"\s*user[\s-]*agent", re.IGNORECASE)
CLEAR_AGENT = re.compile(rb"\s*user-agent\s*:", re.IGNORECASE)
# Of each crawl: the sitemaps that robots.txt files have named, by the sitemaps' scheme and host; a file says
# nothing of those on other hosts (sitemaps.org/protocol.html, 'Sitemap file location').
SITEMAPS: WeakKeyDictionary[Crawler, LocalCache[str, list[str]]] = WeakKeyDictionary()
HOSTS_REMEMBERED, MOST_SITEMAPS = 10_000, 5
CLEAR_RULE = re.compile(rb"\s*(?:allow|disallow|crawl-delay)\s*:", re.IGNORECASE)


class BoundedRobotParser(ProtegoRobotParser):
    """Parses the first 500 KiB of a robots.txt: 32 MiB would block the crawl for 15 seconds."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        """Return the parser of the lines within the limit."""
        body = beginning(robotstxt_body)
        named = SITEMAPS.setdefault(crawler, LocalCache(HOSTS_REMEMBERED))
        for url in sitemap_urls_from_robots(body):
            with contextlib.suppress(ValueError):
                parts = urlsplit(url)
                urls = named.get(f"{parts.scheme}://{parts.netloc}", [])
                named[f"{parts.scheme}://{parts.netloc}"] = list(dict.fromkeys([*urls, url]))[:MOST_SITEMAPS]
        return super().from_crawler(crawler, body)


def beginning(robotstxt_body: bytes) -> bytes:
    """Return the lines within LARGEST octets and MOST_RULES; a rule that is cut off would forbid more."""
    if len(robotstxt_body) > LARGEST:
        # RFC 9309, 2.2: a line ends with CR, LF or both.
        end = max(robotstxt_body.rfind(end, 0, LARGEST) for end in (b"\r", b"\n"))
        robotstxt_body = robotstxt_body[: end + 1]
    lines = robotstxt_body.splitlines(keepends=True)
    agents = rules = 0
    has_rule = False
    for number, line in enumerate(lines):
        # Protego also keeps a name without its asterisk, and a rule with "$" as plain text.
        if AGENT.match(line):
            names = 1 + (b"*" in line)
            agents = names if has_rule and CLEAR_AGENT.match(line) else agents + names
            has_rule = False
        else:
            rules += agents * (1 + (b"$" in line))
            has_rule = has_rule or CLEAR_RULE.match(line) is not None
        if rules > MOST_RULES:
            return b"".join(lines[:number])
    return robotstxt_body


def sitemaps(crawler: Crawler, site: str) -> Sequence[str]:
    """Return the URLs of the sitemaps that a robots.txt of this crawl has named; [] if none has.

    :param site: their scheme and host
    """
    named = SITEMAPS.get(crawler)
    return [] if named is None else named.get(site, [])
