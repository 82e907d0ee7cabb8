"""Obeys robots.txt with its Crawl-delay, Retry-After, and rate limits."""

from __future__ import annotations

import asyncio
import logging
import re
from http import HTTPStatus
from itertools import islice
from time import monotonic, time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.downloadermiddlewares import robotstxt
from scrapy.exceptions import DownloadCancelledError, IgnoreRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.robotstxt import ProtegoRobotParser
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.python.failure import Failure

from fhcrawl.crawling.compat import EXACT_DELAY
from fhcrawl.crawling.context import find_context, is_of_user, is_of_web_archive
from fhcrawl.crawling.failures import (
    FORBIDDEN,
    TOO_MANY,
    UNREACHABLE,
    LimitReached,
    failure_of_error,
    is_challenge,
    requested_wait,
    wait_of,
)
from fhcrawl.crawling.pauses import domain_of, host_of, pause
from fhcrawl.exceptions import StoreError
from fhcrawl.extensions import Component
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed.polling import LONGEST
from fhcrawl.utils.addresses import is_of_this_machine, registered_domain, site

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Spider
    from scrapy.core.downloader import Downloader
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser
    from typing_extensions import Self


logger = logging.getLogger(__name__)

SETTING = "FHCRAWL_MAX_WAIT"
# RFC 9110, 10.2.3: Retry-After is how long a service is expected to be unavailable (503). RFC 6585, 4: how
# long to wait after too many requests (429), for which some servers send 403.
PAUSE_STATUSES = (FORBIDDEN, TOO_MANY, 503)
# Seconds between two requests for captures to a web archive, which come one at a time; and between two to its
# index. That of the Wayback Machine allows 30 a minute: 24 leave room for others at the same address.
ARCHIVE_DELAY = 1.0
INDEX_DELAY = 60 / 24
CONTACT = re.compile(r"https?://(?!scrapy\.org)|[^\s@]+@[^\s@]+")


class PolitenessMiddleware(Component):
    """Delays requests to a host with a Crawl-delay, and to a registered domain after a 429.

    If the delay is longer than FHCRAWL_MAX_WAIT seconds, walks send it no more requests in this run.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._longest = crawler.settings.getint(SETTING)
        self._refused: dict[str, str] = {}  # by host
        self._pauses: dict[str, tuple[str, float]] = {}  # by registered domain
        self._delays: dict[str, float] = {}
        self._archives: set[str] = set()
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self.robots_parsed, signal=signals.robots_parsed)
        crawler.signals.connect(self.response_downloaded, signal=signals.response_downloaded)

    def spider_opened(self, spider: Spider) -> None:
        agent = self._crawler.settings["USER_AGENT"] or ""
        if not CONTACT.search(agent) and not _is_local(spider):
            logger.warning(
                "USER_AGENT has no contact for server administrators: add one, for example with "
                "-s USER_AGENT='%s (+%s)' or in your settings module",
                agent.partition(" ")[0],
                "https://example.org/who-crawls",
            )

    def robots_parsed(self, robotparser: RobotParser, request: Request) -> None:
        settings, key = self._crawler.settings, self._downloader.get_slot_key(request)
        host, rules = host_of(key), getattr(robotparser, "rp", None)
        named = islice(getattr(rules, "sitemaps", ()), MOST_SITEMAPS)
        SITEMAPS.setdefault(self._crawler, LocalCache(HOSTS_REMEMBERED))[site(request.url)] = [*named]
        # The user agent as in RobotsTxtMiddleware.
        agent = settings["ROBOTSTXT_USER_AGENT"] or request.headers.get("User-Agent")
        delay = min(robotparser.crawl_delay(agent or settings["USER_AGENT"]) or 0.0, LONGEST)
        if self._has_delay(host) or not delay > 0:
            return
        if self._is_too_long(delay):
            self._refused[host] = f"its robots.txt requires {delay:.0f} seconds between requests"
            return
        for slot in {host, key}:
            self._slow_down(slot, delay, **EXACT_DELAY)

    def _slow_down(self, host: str, delay: float, **values: float) -> None:
        settings = self._downloader.per_slot_settings.setdefault(host, {})
        delay = max(delay, settings.get("delay", self._crawler.settings.getfloat("DOWNLOAD_DELAY")))
        settings.update(values, delay=delay)
        self._delays[host] = delay
        slot = self._downloader.slots.get(host)
        if slot is not None:
            slot.delay = max(slot.delay, delay)
            for name, value in values.items():
                setattr(slot, name, value)

    # The user may have set a delay.
    def _has_delay(self, host: str) -> bool:
        return "delay" in self._crawler.settings.getdict("DOWNLOAD_SLOTS").get(host, {})

    def response_downloaded(self, request: Request) -> None:
        key = self._downloader.get_slot_key(request)
        slot = self._downloader.slots.get(key)
        if slot is not None and key in self._delays:
            slot.delay = max(slot.delay, self._delays[key])

    def process_request(self, request: Request) -> None:
        if is_of_user(request):
            return
        # The key of the slot that the request was already in, or the host.
        key = self._downloader.get_slot_key(request)
        self._check_limits(key)
        if is_of_web_archive(find_context(request)) and key not in self._archives:
            self._archives.add(key)
            host, is_local = host_of(key), is_of_this_machine(request.url)
            if self._has_delay(host):
                delay = float(self._crawler.settings.getdict("DOWNLOAD_SLOTS")[host]["delay"])
                self._slow_down(key, delay, concurrency=1)
            elif key == host or is_local:
                self._slow_down(key, 0.0 if is_local else ARCHIVE_DELAY, concurrency=1)
            else:
                self._slow_down(key, INDEX_DELAY, concurrency=1, **EXACT_DELAY)

    def process_response(self, request: Request, response: Response) -> Response:
        if response.status not in PAUSE_STATUSES:
            return response
        if is_challenge(response):
            request.meta["dont_retry"] = True
            return response
        wait = requested_wait(response)
        if wait > 0:
            key = self._downloader.get_slot_key(request)
            if self._is_too_long(wait):
                refusal = f"its server requires a pause of {wait:.0f} seconds ({response.status})"
                self._pauses[domain_of(key)] = refusal, monotonic() + wait
            else:
                pause(self._downloader, key, wait)
            if not is_of_user(request):
                self._check_limits(key)
                if response.status == FORBIDDEN:
                    return response.replace(status=TOO_MANY)
        return response

    def _check_limits(self, key: str) -> None:
        host, domain = host_of(key), domain_of(key)
        if host in self._refused:
            raise LimitReached(f"{self._refused[host]}, which is more than {SETTING} allows")
        if domain in self._pauses:
            refusal, until = self._pauses[domain]
            raise LimitReached(f"{refusal}, which is more than {SETTING} allows", max(0, until - monotonic()))

    def _is_too_long(self, seconds: float) -> bool:
        return bool(self._longest) and seconds > self._longest

    @property
    def _downloader(self) -> Downloader:
        downloader: Downloader = self._crawler.engine.downloader
        return downloader


def _is_local(spider: Spider) -> bool:
    try:
        feeds = getattr(spider, "feeds", ())
        return bool(feeds) and all(map(is_of_this_machine, feeds))
    except StoreError:  # the spider logs it
        return False


# Seconds. RFC 9309, 2.4: how long to use a stored robots.txt. 2.3.1.4: after how long ("for example, 30
# days") an unreachable one counts as unavailable. How long until a process requests it again.
ROBOTS_USED, ROBOTS_UNREACHABLE, ROBOTS_AGAIN = 24 * 60 * 60, 30 * 24 * 60 * 60, 60


class RobotsTxtMiddleware(robotstxt.RobotsTxtMiddleware):
    """Allows nothing while robots.txt is unreachable (RFC 9309, 2.3.1.4), unless a recent one is stored."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        # By host and port: the rules, or why they are unreachable; and until when.
        self._robots: dict[str, asyncio.Task[RobotParser | Exception | None]] = {}
        self._again: dict[str, float] = {}

    async def robot_parser(self, request: Request) -> RobotParser | None:
        url = urlparse_cached(request)
        robots_url = f"{url.scheme}://{url.netloc}/robots.txt"
        if url.netloc in self._again and self._again[url.netloc] < monotonic():
            del self._again[url.netloc], self._robots[url.netloc]
        if url.netloc not in self._robots:
            self._robots[url.netloc] = asyncio.ensure_future(self._fetch(robots_url, url.netloc, request))
        robots = await self._robots[url.netloc]
        if not isinstance(robots, Exception):
            return robots
        failure = failure_of_error(robots)
        # A host that does not answer is the reason itself, without more attempts.
        if isinstance(robots, LimitReached) or failure.kind in UNREACHABLE:
            request.meta["dont_retry"] = True
            raise robots
        raise LimitReached(f"{robots_url} {failure.detail}", wait_of(Failure(robots)), failure.kind)  # type: ignore[no-untyped-call]

    async def _fetch(self, url: str, netloc: str, request: Request) -> RobotParser | Exception | None:
        try:
            body = await self._download(url)
            self._note(netloc, beginning(body))
        except Exception as error:  # noqa: BLE001 - of middlewares, too
            stored = self._recover(error, url, netloc)
            if not isinstance(stored, bytes):
                return stored
            body = stored
        parser_class = load_object(self.crawler.settings["ROBOTSTXT_PARSER"])
        parser: RobotParser = build_from_crawler(parser_class, self.crawler, body)
        robots_parsed = {"signal": signals.robots_parsed, "robotparser": parser, "request": request}
        await self.crawler.signals.send_catch_log_async(**robots_parsed)
        return parser

    async def _download(self, url: str) -> bytes:
        stats, meta = self.crawler.stats, {"dont_obey_robotstxt": True}
        stats.inc_value("robotstxt/request_count")
        robots = Request(url, priority=self.DOWNLOAD_PRIORITY, meta=meta, callback=NO_CALLBACK)
        response: Response = await self.crawler.engine.download_async(robots)
        stats.inc_value("robotstxt/response_count")
        stats.inc_value(f"robotstxt/response_status_count/{response.status}")
        if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise HttpError(response)
        # 2.3.1.3: it is unavailable, and allows everything; the body is an error page.
        return b"" if response.status >= HTTPStatus.BAD_REQUEST else response.body

    # Returns the stored body, or what `robot_parser` needs.
    def _recover(self, error: Exception, url: str, netloc: str) -> bytes | Exception | None:
        if not isinstance(error, IgnoreRequest):
            failure = failure_of_error(error)
            # A host that cannot be reached is reported with each of its documents.
            level = logging.INFO if failure.kind in UNREACHABLE else logging.WARNING
            logger.log(level, "%s %s", url, failure.detail)
            self.crawler.stats.inc_value(f"robotstxt/exception_count/{type(error)}")
        elif not isinstance(error, (HttpError, LimitReached)):
            # Others, such as too many redirects, mean that it is unavailable (2.3.1.2).
            return None
        if isinstance(error, DownloadCancelledError):
            return None
        body, read, unreachable = self._note(netloc, None)
        if body is not None and time() - read < ROBOTS_USED:
            return body
        if time() - unreachable >= ROBOTS_UNREACHABLE:
            return None
        self._again[netloc] = monotonic() + ROBOTS_AGAIN
        return error

    def _note(self, netloc: str, body: bytes | None) -> tuple[bytes | None, int, float]:
        if (extension := self.crawler.get_extension(StoreExtension)) is not None:
            try:
                return extension.store.note_robots(netloc, body, int(time()))
            except StoreError as error:
                extension.fail(error)
        return None, 0, time()


# RFC 9309, 2.5: a crawler may stop reading after 500 kibibytes.
LARGEST = 500 * 1024
# RFC 9309, 2.2.1: the rules of a group apply to all of its user agents. Protego keeps each rule once for each
# of them: 56 KB with 1,000 user agents and 3,000 rules would block the crawl for 15 seconds.
MOST_RULES = 100_000
# What Protego may parse as a User-agent line, and what always ends the user agents of a group.
AGENT = re.compile(rb"\s*user[\s-]*agent", re.IGNORECASE)
CLEAR_AGENT = re.compile(rb"\s*user-agent\s*:", re.IGNORECASE)
# By crawl: the sitemaps that robots.txt files list, by the site (`addresses.site`).
SITEMAPS: WeakKeyDictionary[Crawler, LocalCache[str, list[str]]] = WeakKeyDictionary()
HOSTS_REMEMBERED, MOST_SITEMAPS = 10_000, 5
CLEAR_RULE = re.compile(rb"\s*(?:allow|disallow|crawl-delay)\s*:", re.IGNORECASE)


# Scrapy's parser has no limit of size.
class BoundedRobotParser(ProtegoRobotParser):
    """Parses the first 500 KiB of a robots.txt: 32 MiB would block the crawl for 15 seconds."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        return super().from_crawler(crawler, beginning(robotstxt_body))


def beginning(robotstxt_body: bytes) -> bytes:
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


def sitemaps(crawler: Crawler, url: str) -> Sequence[str]:
    """Return the URLs of a site's sitemaps: those that its robots.txt has named, else its `/sitemap.xml`.

    By sitemaps.org/protocol.html, 'Sitemaps & Cross Submits', a
    robots.txt may name sitemaps on other hosts: those of the same registered domain count.
    """
    named = SITEMAPS[crawler].get(url, []) if crawler in SITEMAPS else []
    return [other for other in named if is_of_domain(other, url)] or [f"{url}/sitemap.xml"]


def is_of_domain(url: str, other: str) -> bool:
    """Return whether the hosts of two URLs have the same registered domain."""
    try:
        host, other_host = urlsplit(url).hostname, urlsplit(other).hostname
    except ValueError:
        return False
    return bool(host and other_host) and registered_domain(host) == registered_domain(other_host)
