"""Prefetches the documents of a chain whose URLs can be predicted."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy import signals as scrapy_signals
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http.request import NO_CALLBACK

from fhcrawl import signals
from fhcrawl.crawling.context import AHEAD, RECEIVED, context_of, feed_of, find_context, with_context
from fhcrawl.exceptions import FhcrawlError
from fhcrawl.logical_feed import Role, archive_urls

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.core.downloader import Slot
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from fhcrawl.logical_feed.results import DocumentResult

PREFETCHED = "prefetched"
AGAIN = ("retry_times", "redirect_times")
OF_THE_DOWNLOAD = ("download_slot", "download_latency", RECEIVED)
REDIRECTS = (301, 302, 303, 307, 308)
ERRORS = 400
# How many of the latest URLs the predictions use; the first URL is used too.
LEARNT_FROM = 13
# A chain has so many prefetched documents more than its host's concurrency.
AT_HAND = 3


class Fetched(FhcrawlError, IgnoreRequest):  # noqa: N818
    """Carries the response of a prefetched request past the middlewares that process the walk's responses."""

    def __init__(self, response: Response) -> None:
        super().__init__("fetched ahead")
        self.response = response


class PrefetchedRequest:
    """A request for a document that the walk has not requested yet.

    :param task: returns its response, or None if that cannot be used
    :param is_sent: it has passed the middlewares before this one
    :param is_wanted: the walk may still request the document
    """

    task: asyncio.Task[Response | None]

    def __init__(self, request: Request) -> None:
        self.request = request
        self.is_sent = False
        self.is_wanted = True

    @property
    def size(self) -> int:
        """The size of its response in octets; 0 until that is complete."""
        response = self.task.result() if self.task.done() else None
        return 0 if response is None else len(response.body)


class Chain:
    """The requests of a feed's walk, and the requests that are prefetched for it.

    :param last: the latest request of the walk
    :param predicted: the URLs that the walk will probably request next
    :param held: prefetched requests, by URL, in the order of the chain
    :param missed: how many prefetched requests the walk did not use
    :param scheduled: URL of the latest document in the scheduler
    """

    def __init__(self) -> None:
        self.last: Request | None = None
        self.seen: list[str] = []
        self.predicted: list[str] = []
        self.held: dict[str, PrefetchedRequest] = {}
        self.missed = 0
        self.scheduled = ""

    def ask(self, request: Request, limit: int) -> None:
        """Predict the next URLs from a request of the walk."""
        self.last = request
        self.scheduled = context_of(request).requested_url
        self.seen.append(request.url)
        del self.seen[1:-LEARNT_FROM]
        self.predicted = archive_urls.ahead(self.seen, limit - self.missed)

    def discard_before(self, url: str) -> list[PrefetchedRequest]:
        """Remove and return the requests before a URL that the walk requests; all, if it is not held."""
        passed = list(self.held)
        if url in self.held:
            passed = passed[: passed.index(url)]
        return [self.held.pop(one) for one in passed]


class PrefetchMiddleware:
    """FHCRAWL_PREFETCH: how many documents are prefetched for each chain, at most; 0 is off.

    The number is also limited to the concurrency of the chain's host and AT_HAND more, which are parsed until
    the walk requests them. More would save no time.

    A chain is a linked list, but its URLs nearly always follow a pattern. When two predictions in a row
    were right, the next documents are prefetched, by requests that pass all middlewares and the host's slot.
    A response is used when the walk requests that URL, with the same headers, as if it had just been
    downloaded. No other component knows: the walk's request gets the redirects and failures. The middleware
    has to come after those that complete or refuse a request.
    """

    def __init__(self, crawler: Crawler, limit: int) -> None:
        self._crawler = crawler
        self._limit = limit
        self._most_of_all = crawler.settings.getint("CONCURRENT_REQUESTS")
        self._largest = crawler.settings.getint("SCRAPER_SLOT_MAX_ACTIVE_SIZE")
        self._chains: dict[str, Chain] = {}
        self._held: set[PrefetchedRequest] = set()
        self._tasks: set[asyncio.Task[Response | None]] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read the settings, and connect to the signals that show where a chain ends."""
        limit = crawler.settings.getint("FHCRAWL_PREFETCH")
        if not limit:
            raise NotConfigured
        middleware = cls(crawler, limit)
        connect = crawler.signals.connect
        connect(middleware.request_scheduled, signal=scrapy_signals.request_scheduled)
        connect(middleware.spider_error, signal=scrapy_signals.spider_error)
        connect(middleware.spider_closed, signal=scrapy_signals.spider_closed)
        for signal in (signals.document_committed, signals.document_lost):
            connect(middleware.document_done, signal=signal)
        return middleware

    async def process_request(self, request: Request) -> Response | None:
        """Return the prefetched response for a request, if there is one."""
        if AHEAD in request.meta:
            _send(request.meta[AHEAD])
            return None
        if not _is_predictable(request) or any(key in request.meta for key in AGAIN):
            return None
        chain = self._chains.setdefault(context_of(request).walk.feed, Chain())
        for passed in chain.discard_before(request.url):
            self._miss(chain, passed)
        ahead = chain.held.pop(request.url, None)
        chain.ask(request, self._limit)
        # Later, so that this request is the first in its host's slot.
        asyncio.get_running_loop().call_soon(self._fetch_more, chain)
        return None if ahead is None else await self._use(chain, ahead, request)

    def process_response(self, request: Request, response: Response) -> Response:
        """Take a prefetched response; errors pass, so that the other middlewares see them.

        :raises Fetched: with the response
        """
        if AHEAD in request.meta and response.status < ERRORS:
            raise Fetched(response)
        return response

    async def _use(self, chain: Chain, ahead: PrefetchedRequest, request: Request) -> Response | None:
        # Do not wait for a request that is known to differ: its headers are complete when it is sent.
        response = await ahead.task if not ahead.is_sent or _is_same(request, ahead.request) else None
        if response is None or not _is_same(request, ahead.request):
            self._miss(chain, ahead)
            return None
        self._held.discard(ahead)
        self._count("hit")
        meta = ahead.request.meta
        request.meta.update({key: meta[key] for key in OF_THE_DOWNLOAD if key in meta})
        response.flags.append(PREFETCHED)
        return response

    def _miss(self, chain: Chain, ahead: PrefetchedRequest) -> None:
        self._held.discard(ahead)
        ahead.is_wanted = False
        chain.missed += 1
        if ahead.task.done():
            self._settle(chain, ahead)
        else:
            ahead.task.add_done_callback(lambda _task: self._settle(chain, ahead))

    def _settle(self, chain: Chain, ahead: PrefetchedRequest) -> None:
        if ahead.is_sent:
            self._count("miss")
        else:
            chain.missed -= 1

    def _count(self, outcome: str) -> None:
        self._crawler.stats.inc_value(f"fhcrawl/prefetch/{outcome}")

    # -- prefetching ---------------------------------------------------------------------------------

    def _fetch_more(self, chain: Chain) -> None:
        wanted = [(distance, url) for distance, url in enumerate(chain.predicted, 1) if url not in chain.held]
        if not wanted or chain.last is None or not self._has_room(chain, chain.last):
            return
        distance, url = wanted[0]
        chain.held[url] = ahead = _ahead_of(chain.last, url, distance)
        ahead.task = task = asyncio.ensure_future(self._fetch(ahead.request))
        self._held.add(ahead)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _task: self._fetch_more(chain))
        # Fetch the next one when this one is in the slot, and is counted.
        asyncio.get_running_loop().call_soon(self._fetch_more, chain)

    async def _fetch(self, request: Request) -> Response | None:
        engine = self._crawler.engine
        # The spider may have been closed meanwhile.
        if not engine.needs_backout():
            try:
                await engine.download_async(request)
            except Fetched as fetched:
                return fetched.response if _is_usable(fetched.response) else None
            except Exception:  # noqa: BLE001, S110 - the walk's own request gets any error
                pass
        return None

    def _has_room(self, chain: Chain, request: Request) -> bool:
        if len(chain.held) + chain.missed >= self._limit or self._crawler.engine.needs_backout():
            return False
        if self._most_of_all and len(self._held) >= self._most_of_all:
            return False
        if sum(ahead.size for ahead in self._held) >= self._largest:
            return False
        downloader = self._crawler.engine.downloader
        key = downloader.get_slot_key(request)
        slot = downloader.slots.get(key)
        if slot is None or len(chain.held) >= slot.concurrency + AT_HAND:
            return False
        return self._has_slot_room(key, slot)

    # One may wait in the slot, so that the host is never idle; more would delay the walk's requests, or be
    # sent after the end of the chain.
    def _has_slot_room(self, key: str, slot: Slot) -> bool:
        on_the_way = sum(
            not ahead.task.done() and ahead.request not in slot.active and self._slot_key(ahead) == key
            for ahead in self._held
        )
        free = 0 if slot.delay else slot.free_transfer_slots()
        return len(slot.queue) + on_the_way <= free

    def _slot_key(self, ahead: PrefetchedRequest) -> str:
        return self._crawler.engine.downloader.get_slot_key(ahead.request)

    # -- the end -------------------------------------------------------------------------------------

    def request_scheduled(self, request: Request) -> None:
        """Note the URL of the walk's next request."""
        context = find_context(request)
        chain = None if context is None else self._chains.get(context.walk.feed)
        if context is not None and context.checks is None and chain is not None:
            chain.scheduled = context.requested_url

    def document_done(self, result: DocumentResult) -> None:
        """Discard the prefetched requests of a feed if the walk requests no document after this one."""
        feed = result.fetch.feed
        chain = self._chains.get(feed)
        if chain is not None and chain.scheduled == result.fetch.requested_url:
            self._forget(feed)

    def spider_error(self, response: Response | None) -> None:
        """Discard the prefetched requests of a feed with a document that could not be parsed."""
        if response is not None and response.request is not None:
            self._forget(feed_of(response))

    async def spider_closed(self) -> None:
        """Discard all prefetched requests."""
        for feed in list(self._chains):
            self._forget(feed)
        await asyncio.gather(*self._tasks)

    def _forget(self, feed: str | None) -> None:
        chain = None if feed is None else self._chains.pop(feed, None)
        if chain is not None:
            chain.predicted = []
            for ahead in chain.discard_before(""):
                self._miss(chain, ahead)


# Not checks, which follow no pattern. Not pages, since entries move to later pages while pages are read. A
# page that is fetched before the page that links to it, which may be retried, would lack the entries that
# have moved since.
def _is_predictable(request: Request) -> bool:
    context = find_context(request)
    return context is not None and context.role is Role.ARCHIVE and context.checks is None


def _is_usable(response: Response) -> bool:
    if response.status in REDIRECTS:
        return "Location" in response.headers
    return response.status == 200 and "dataloss" not in response.flags  # noqa: PLR2004


def _is_same(one: Request, other: Request) -> bool:
    """Return whether two requests for one URL are equivalent."""
    return (one.method, one.body, one.headers, one.meta.get("proxy")) == (
        other.method,
        other.body,
        other.headers,
        other.meta.get("proxy"),
    )


def _send(ahead: PrefetchedRequest) -> None:
    """Mark a request as sent; raise IgnoreRequest if the walk does not need it any more."""
    if not ahead.is_wanted:
        raise IgnoreRequest("nobody will ask for it any more")
    ahead.is_sent = True


def _ahead_of(request: Request, url: str, distance: int) -> PrefetchedRequest:
    """Return the request that a walk would make `distance` documents later, without retries and callbacks."""
    context = context_of(request)
    ahead = PrefetchedRequest(
        with_context(
            request,
            replace(context, requested_url=url, documents=context.documents + distance),
            url=url,
            callback=NO_CALLBACK,
            errback=None,
            meta={**request.meta, "dont_retry": True},
        )
    )
    ahead.request.meta[AHEAD] = ahead
    return ahead
