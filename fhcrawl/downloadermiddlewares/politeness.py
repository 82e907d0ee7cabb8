"""Obeys Crawl-delay (robots.txt), Retry-After, and rate limits."""

from __future__ import annotations

import logging
import re
from time import monotonic
from typing import TYPE_CHECKING

from scrapy import signals

from fhcrawl.core.engine import domain_of, host_of, pause
from fhcrawl.crawling.context import find_context, is_of_web_archive, is_own
from fhcrawl.crawling.failures import LimitReached, is_challenge
from fhcrawl.crawling.responses import FORBIDDEN, TOO_MANY, wait_asked
from fhcrawl.exceptions import StoreError
from fhcrawl.extensions import Component
from fhcrawl.logical_feed.polling import LONGEST
from fhcrawl.utils.addresses import is_of_this_machine

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.core.downloader import Downloader
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser

logger = logging.getLogger(__name__)

SETTING = "FHCRAWL_MAX_WAIT"
# RFC 9110, 10.2.3: Retry-After says how long a service is expected to be unavailable (503). RFC 6585, 4: or
# how long to wait after too many requests (429), for which some servers send 403.
PAUSE_STATUSES = (FORBIDDEN, TOO_MANY, 503)
# Seconds between two requests for captures to a web archive, which come one at a time; and between two to its
# index. That of the Wayback Machine allows 30 a minute: 24 leave room for others at the same address.
ARCHIVE_DELAY = 1.0
INDEX_DELAY = 60 / 24
CONTACT = re.compile(r"https?://(?!scrapy\.org)|[^\s@]+@[^\s@]+")


class PolitenessMiddleware(Component):
    """Delays requests to a host that asks for time between them, and to a registered domain after a 429.

    The hosts of a domain are taken for one server. One that asks for more than FHCRAWL_MAX_WAIT seconds (0 is
    no limit) is sent no requests of walks in this run.
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
        """Warn if USER_AGENT has no contact, unless all feeds are on this machine."""
        agent = self._crawler.settings["USER_AGENT"] or ""
        if not CONTACT.search(agent) and not _stays_here(spider):
            logger.warning(
                "USER_AGENT has no contact for server administrators: add one, for example with "
                "-s USER_AGENT='%s (+%s)' or in settings.py",
                agent.partition(" ")[0],
                "https://example.org/who-crawls",
            )

    def robots_parsed(self, robotparser: RobotParser, request: Request) -> None:
        """Apply the Crawl-delay of a host, unless the user set a delay for it in DOWNLOAD_SLOTS."""
        settings, key = self._crawler.settings, self._downloader.get_slot_key(request)
        host = host_of(key)
        # The user agent as in RobotsTxtMiddleware.
        own = settings["ROBOTSTXT_USER_AGENT"] or request.headers.get("User-Agent")
        delay = min(robotparser.crawl_delay(own or settings["USER_AGENT"]) or 0.0, LONGEST)
        if self._has_delay(host) or not delay > 0:
            return
        if self._is_too_long(delay):
            self._refused[host] = f"its robots.txt requires {delay:.0f} seconds between requests"
            return
        for slot in {host, key}:
            self._slow_down(slot, delay, jitter=0.0)

    def _slow_down(self, host: str, delay: float, **others: float) -> None:
        """Set the least delay of a host, and other settings of its slot."""
        known = self._downloader.per_slot_settings.setdefault(host, {})
        delay = max(delay, known.get("delay", self._crawler.settings.getfloat("DOWNLOAD_DELAY")))
        known.update(others, delay=delay)
        self._delays[host] = delay
        slot = self._downloader.slots.get(host)
        if slot is not None:
            slot.delay = max(slot.delay, delay)
            for name, value in others.items():
                setattr(slot, name, value)

    def _has_delay(self, host: str) -> bool:
        """Return whether the user has set a delay for a host."""
        return "delay" in self._crawler.settings.getdict("DOWNLOAD_SLOTS").get(host, {})

    def response_downloaded(self, request: Request) -> None:
        """Raise the delay that AutoThrottle has set to the Crawl-delay."""
        key = self._downloader.get_slot_key(request)
        slot = self._downloader.slots.get(key)
        if slot is not None and key in self._delays:
            slot.delay = max(slot.delay, self._delays[key])

    def process_request(self, request: Request) -> None:
        """Check whether the host of a request may be sent requests.

        :raises LimitReached: if it asks for more than FHCRAWL_MAX_WAIT
        """
        if is_own(request):
            return
        # The key of the slot that the request was already in, or the host.
        key = self._downloader.get_slot_key(request)
        self._check(key)
        if is_of_web_archive(find_context(request)) and key not in self._archives:
            self._archives.add(key)
            self._slow_down_archive(key, is_of_this_machine(request.url))

    def _slow_down_archive(self, key: str, is_local: bool) -> None:
        host = host_of(key)
        if self._has_delay(host):
            delay = float(self._crawler.settings.getdict("DOWNLOAD_SLOTS")[host]["delay"])
            self._slow_down(key, delay, concurrency=1)
        elif key == host or is_local:
            self._slow_down(key, 0.0 if is_local else ARCHIVE_DELAY, concurrency=1)
        else:
            self._slow_down(key, INDEX_DELAY, concurrency=1, jitter=0.0)

    def process_response(self, request: Request, response: Response) -> Response:
        """Send the registered domain no requests for the time that a response asks for.

        Return a 403 that asks for a pause as a 429, which it means.

        :raises LimitReached: if that is more than FHCRAWL_MAX_WAIT
        """
        if response.status not in PAUSE_STATUSES:
            return response
        if is_challenge(response):
            request.meta["dont_retry"] = True
            return response
        wait = wait_asked(response)
        if wait > 0:
            key = self._downloader.get_slot_key(request)
            if self._is_too_long(wait):
                asks = f"its server requires a pause of {wait:.0f} seconds ({response.status})"
                self._pauses[domain_of(key)] = asks, monotonic() + wait
            else:
                pause(self._downloader, key, wait)
            if not is_own(request):
                self._check(key)
                if response.status == FORBIDDEN:
                    return response.replace(status=TOO_MANY)
        return response

    def _check(self, key: str) -> None:
        host, domain = host_of(key), domain_of(key)
        if host in self._refused:
            raise LimitReached(f"{self._refused[host]}, which is more than {SETTING} allows")
        if domain in self._pauses:
            asks, until = self._pauses[domain]
            raise LimitReached(f"{asks}, which is more than {SETTING} allows", max(0, until - monotonic()))

    def _is_too_long(self, seconds: float) -> bool:
        return bool(self._longest) and seconds > self._longest

    @property
    def _downloader(self) -> Downloader:
        downloader: Downloader = self._crawler.engine.downloader
        return downloader


def _stays_here(spider: Spider) -> bool:
    """Return whether all feeds are on this machine."""
    try:
        feeds = getattr(spider, "feeds", ())
        return bool(feeds) and all(map(is_of_this_machine, feeds))
    except StoreError:  # the spider logs it
        return False
