"""A robots.txt parser with limits of size."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, NamedTuple

from scrapy.robotstxt import ProtegoRobotParser, RobotParser, decode_robotstxt

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

# RFC 9309, 2.5: a crawler may stop reading after 500 kibibytes.
LARGEST = 500 * 1024
# RFC 9309, 2.2.1: the rules of a group apply to all of its user agents; Protego keeps each rule once for each
# of them. 500 KiB have room for 15,000 user agents with 23,000 rules: 350 million.
MOST_RULES = 100_000
# User agents of a group, which Protego searches for each line of another one.
MOST_AGENTS = 1000
# Rules of the files that are kept parsed: each takes 100 to 200 octets. And what a small file counts for.
MOST_PARSED = 200_000
SMALLEST_PARSED = 100
# What Protego may take for a line of a user agent, and what surely ends the user agents of a group.
AGENT = re.compile(r"\s*user[\s-]*agent", re.IGNORECASE)
CLEAR_AGENT = re.compile(r"\s*user-agent\s*:", re.IGNORECASE)
CLEAR_RULE = re.compile(r"\s*(?:allow|disallow|crawl-delay)\s*:", re.IGNORECASE)


class BoundedRobotParser(RobotParser):
    """Parses the beginning of a robots.txt: 32 MiB would block the crawl for 15 seconds, and take 1.5 GB.

    Scrapy keeps the parsers of all hosts, and one feed can lead to thousands of hosts. So this one keeps the
    file compressed; `RecentParsers` keeps what Protego makes of the files that were used last.
    """

    def __init__(self, robotstxt_body: bytes) -> None:
        self._compressed = zlib.compress(robotstxt_body)

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        """Return the parser of the lines within the limits."""
        return cls(beginning(robotstxt_body))

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Return whether a user agent may request a URL."""
        return recent.parsed(self._compressed).allowed(url, user_agent)

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """Return how many seconds a user agent has to leave between two requests; None if it is free."""
        return recent.parsed(self._compressed).crawl_delay(user_agent)


class RecentParsers:
    """The files that were used last, parsed, by their compressed content: at most MOST_PARSED rules."""

    def __init__(self) -> None:
        self._parsers: dict[bytes, tuple[ProtegoRobotParser, int]] = {}
        self._rules = 0

    def parsed(self, compressed: bytes) -> ProtegoRobotParser:
        """Return a parsed file; it is parsed again if it has not been used for long."""
        kept = self._parsers.pop(compressed, None)
        parser, rules = self._parse(compressed) if kept is None else kept
        self._parsers[compressed] = parser, rules
        while self._rules > MOST_PARSED and len(self._parsers) > 1:
            self._rules -= self._parsers.pop(next(iter(self._parsers)))[1]
        return parser

    def _parse(self, compressed: bytes) -> tuple[ProtegoRobotParser, int]:
        body = zlib.decompress(compressed)
        rules = max(_measure(_lines(body)).rules, SMALLEST_PARSED)
        self._rules += rules
        return ProtegoRobotParser(body, None), rules


recent = RecentParsers()


class Size(NamedTuple):
    """The number of lines within the limits, and of the rules that Protego makes of them at most."""

    lines: int
    rules: int


def beginning(robotstxt_body: bytes) -> bytes:
    """Return the whole lines within LARGEST octets, MOST_RULES and MOST_AGENTS.

    A rule that is cut off would forbid more URLs.
    """
    if len(robotstxt_body) > LARGEST:
        # RFC 9309, 2.2: a line ends with CR, LF or both.
        end = max(robotstxt_body.rfind(end, 0, LARGEST) for end in (b"\r", b"\n")) + 1
        robotstxt_body = robotstxt_body[:end]
    lines = _lines(robotstxt_body)
    number = _measure(lines).lines
    return robotstxt_body if number == len(lines) else "".join(lines[:number]).encode()


def _lines(body: bytes) -> list[str]:
    """Return the lines as Protego splits them: characters like U+2028 end one too."""
    return decode_robotstxt(body, None).splitlines(keepends=True)


def _measure(lines: list[str]) -> Size:
    agents = rules = 0
    is_rule = False
    for number, line in enumerate(lines):
        if AGENT.match(line):
            # Protego keeps a name with an asterisk without it too, and a rule with a "$" as plain text too.
            named = 1 + ("*" in line)
            agents = named if is_rule and CLEAR_AGENT.match(line) else agents + named
            is_rule = False
        else:
            rules += agents * (1 + ("$" in line))
            is_rule = is_rule or CLEAR_RULE.match(line) is not None
        if rules > MOST_RULES or agents > MOST_AGENTS:
            return Size(number, rules)
    return Size(len(lines), rules)
