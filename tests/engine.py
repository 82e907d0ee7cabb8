"""A crawl without network and reactor: the real spider, middlewares, pipelines and store, step by step.

For tests that need thousands of crawls; everything that Scrapy's engine adds is tested with real crawls.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from types import SimpleNamespace
from typing import Any, cast

from scrapy import Request, signals
from scrapy.exceptions import DropItem
from scrapy.http import TextResponse
from scrapy.settings import Settings
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.test import get_crawler
from twisted.python.failure import Failure

from fhcrawl import signals as our_signals
from fhcrawl.core.components import COMPONENTS
from fhcrawl.crawling.context import feed_of
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed.results import CommitBatch, DocumentResult
from fhcrawl.pipelines import ItemPipelineManager
from fhcrawl.spidermiddlewares.commit import CommitMiddleware
from fhcrawl.spidermiddlewares.deltafetch import DeltaFetch
from fhcrawl.spiders.history import HistorySpider
from fhcrawl.store import Store

logger = logging.getLogger(__name__)

EXTENSIONS = ("StoreExtension", "ReaderExtension", "VerdictsExtension")


class Killed(BaseException):
    """The process dies here."""


class Engine:
    """Crawls `documents`: bodies by URL, or the status that a URL answers with instead.

    :param life: how many entries go through the pipelines before it dies; None for ever
    :param more: more settings
    """

    def __init__(
        self,
        store_url: str,
        documents: Mapping[str, str | int],
        life: int | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        settings = Settings()
        settings.setmodule("fhcrawl.settings")
        settings.set("FHCRAWL_STORE_URL", store_url, "cmdline")
        extensions = COMPONENTS["EXTENSIONS"].items()
        settings.set("EXTENSIONS", {n: order for n, order in extensions if n.endswith(EXTENSIONS)})
        settings.set("ITEM_PIPELINES", COMPONENTS["ITEM_PIPELINES"])
        settings.set("EXTENSIONS_BASE", {})
        settings.set("ADDONS", {})  # fhcrawl's would add the other extensions
        settings.set("TWISTED_REACTOR_ENABLED", False)
        settings.set("FHCRAWL_READER_ENABLED", False)
        settings.set("FHCRAWL_SITEMAPS_ENABLED", False)
        settings.set("FHCRAWL_RECHECK", [])  # the tests' clocks leap
        settings.set("FHCRAWL_CONFIRM_PAGES", 0)  # most tests are about the first reading
        settings.update(more or {})
        self._crawler = get_crawler(HistorySpider, settings.copy_to_dict())
        self._documents = documents
        self._life = life
        self.committed: list[tuple[DocumentResult, CommitBatch]] = []
        self.requested: list[str] = []

    @property
    def store(self) -> Store:
        return StoreExtension.of(self._crawler).store

    @property
    def stats(self) -> dict[str, int]:
        stats = self._crawler.stats.get_stats()
        return {name: value for name, value in stats.items() if name.startswith("fhcrawl/")}

    def crawl(self, feed: str) -> list[dict[str, Any]] | None:
        return self._crawl(feed, export=True)

    def crawl_only(self, feed: str) -> None:
        self._crawl(feed, export=False)

    def crawl_subscribed(self) -> list[dict[str, Any]] | None:
        return self._crawl(None, export=True)

    def _crawl(self, feed: str | None, export: bool) -> list[dict[str, Any]] | None:
        crawler = self._crawler
        crawler.spider = spider = HistorySpider.from_crawler(crawler, feed=feed)
        extension = StoreExtension.of(crawler)
        crawler.signals.connect(self._commit, signal=our_signals.document_committed)
        self._commits = CommitMiddleware.from_crawler(crawler)
        self._deltafetch = DeltaFetch.from_crawler(crawler)
        self._pipelines = ItemPipelineManager.from_crawler(crawler)
        self._pipelines.methods["process_item"].appendleft(self._live)
        middlewares = SimpleNamespace(middlewares=[self._commits, self._deltafetch])
        scraper = SimpleNamespace(itemproc=self._pipelines, spidermw=middlewares)
        crawler.engine = cast("Any", SimpleNamespace(scraper=scraper))
        crawler.signals.send_catch_log(signals.spider_opened, spider=spider)
        try:
            asyncio.run(self._run(spider))
            number = extension.store.exports.begin(extension.run)
            exported = list(extension.store.exports.read_changes(number))
            settle = extension.store.exports.end if export else extension.store.exports.cancel
            settle(number)
            crawler.signals.send_catch_log(signals.spider_closed, spider=spider, reason="finished")
        except Killed:
            return None
        else:
            return exported
        finally:
            extension.store.close()

    def _live(self, item: Any) -> Any:
        if self._life is not None:
            self._life -= 1
            if self._life < 0:
                raise Killed
        return item

    def _commit(self, result: DocumentResult, batch: CommitBatch) -> None:
        self.committed.append((result, batch))

    async def _run(self, spider: HistorySpider) -> None:
        requests = deque([request async for request in spider.start()])
        while requests:
            request = requests.popleft()
            self.requested.append(request.url)
            document = self._documents[request.url]
            if isinstance(document, int):
                requests += _fail(spider, TextResponse(request.url, status=document, request=request))
            else:
                await self._answer(
                    spider, TextResponse(request.url, body=document.encode(), request=request), requests
                )
            if feed_of(request) not in map(feed_of, requests):
                requests += spider.follow(request)

    async def _answer(self, spider: HistorySpider, response: TextResponse, requests: deque[Request]) -> None:
        try:
            await self._scrape(spider, response, requests)
        except Exception:  # as Scrapy's scraper: a bug in one callback is logged, and the crawl goes on
            logger.exception("Spider error processing %s", response.request)

    async def _scrape(self, spider: HistorySpider, response: TextResponse, requests: deque[Request]) -> None:
        async for output in self._output(spider, response):
            if isinstance(output, Request):
                requests.append(output)
            else:
                await self._item(output)

    async def _output(self, spider: HistorySpider, response: TextResponse) -> AsyncIterator[Any]:
        assert response.request is not None
        callback = response.request.callback or spider.parse
        yielded = _asynchronous(callback(response, **response.request.cb_kwargs))
        through = self._deltafetch.process_spider_output(response, yielded)
        async for output in self._commits.process_spider_output(response, through):
            yield output

    async def _item(self, item: Any) -> None:
        with contextlib.suppress(DropItem):
            await self._pipelines.process_item_async(item)


def _fail(spider: HistorySpider, response: TextResponse) -> list[Request]:
    failure = Failure(HttpError(response))  # type: ignore[no-untyped-call]
    failure.request = response.request  # type: ignore[attr-defined]
    return spider.lose(failure)


async def _asynchronous(outputs: Iterable[Any]) -> AsyncIterator[Any]:
    for output in outputs:
        yield output
