"""The spider that fetches the documents of one feed for `validation.HistoryCheck`, without a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider

from fhcrawl.core.components import COMPONENTS
from fhcrawl.crawling import requests
from fhcrawl.crawling.context import WalkContext, context_of, header, request_of
from fhcrawl.crawling.failures import loss_of
from fhcrawl.crawling.parser import limited_memory
from fhcrawl.logical_feed.results import State
from fhcrawl.utils.clock import now
from fhcrawl.validation import Fetched, Loss

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from fhcrawl.validation import HistoryCheck

# The components that need a store, or serve one; all extensions and pipelines do.
WITHOUT = {
    "DOWNLOADER_MIDDLEWARES": ("fhcrawl.downloadermiddlewares.limits.DiskMiddleware",),
    "SPIDER_MIDDLEWARES": (
        "fhcrawl.spidermiddlewares.commit.CommitMiddleware",
        "fhcrawl.spidermiddlewares.deltafetch.DeltaFetch",
    ),
    "ITEM_PIPELINES": tuple(COMPONENTS["ITEM_PIPELINES"]),
    "EXTENSIONS": tuple(path for path, order in COMPONENTS["EXTENSIONS"].items() if order is not None),
}
REPLACED = {
    # Sequential requests cannot exceed a limit; fhcrawl's classes need the store.
    "DOWNLOADER": "scrapy.core.downloader.Downloader",
    "SCHEDULER": "scrapy.core.scheduler.Scheduler",
    "ITEM_PROCESSOR": "scrapy.pipelines.ItemPipelineManager",
}
# Header fields that the rules read.
FIELDS = ("Content-Type", "Cache-Control", "Expires", "Date", "Age", "ETag", "Last-Modified")


def remove_store(settings: BaseSettings) -> None:
    """Remove the store, and the components that use it, from the settings of a crawl."""
    for name, paths in WITHOUT.items():
        for path in paths:
            settings[name].set(path, None, "cmdline")
    for name, path in REPLACED.items():
        settings.set(name, path, "cmdline")
    settings.set("FEEDS", {}, "cmdline")


class CheckSpider(Spider):
    """Fetches the documents of a check, one at a time, as politely as a crawl.

    It has no name, so that `scrapy list` omits it: the command `check` runs it.

    :param check: the check; the command reads its findings when the crawl has ended
    """

    def __init__(self, check: HistoryCheck, url: str) -> None:
        super().__init__("check")
        self.feeds = [url]
        self._check = check
        self._walk = WalkContext(url, run=0)

    async def start(self) -> AsyncIterator[Request]:
        for request in self._next():
            yield request

    def parse(self, response: Response, **cb_kwargs: Any) -> list[Request]:
        self._walk = context_of(response).walk
        headers = {name.lower(): header(response, name) for name in FIELDS}
        lines = (line.decode("latin-1") for line in response.headers.getlist("Cache-Control"))
        headers["cache-control"] = ", ".join(lines)
        fetched = Fetched(
            url=response.url,
            body=response.body,
            status=response.status,
            headers={name: value for name, value in headers.items() if value},
            links=tuple(requests.links(response)),
            redirects=tuple(request_of(response).meta.get("redirect_reasons", ())),
            fetched=now(),
            is_cut="dataloss" in response.flags,
        )
        with limited_memory(self.settings.getint("FHCRAWL_READER_MEMORY")):
            self._check.take(fetched)
        return self._next()

    def lose(self, failure: Failure) -> list[Request]:
        reason = loss_of(failure)
        self._check.take(Loss(reason.detail, reason.state is State.KNOWN))
        return self._next()

    def _next(self) -> list[Request]:
        wanted = self._check.wanted
        if wanted is None:
            return []
        arguments = {"callback": self.parse, "errback": self.lose}
        request = requests.unstored(
            wanted.url, self._walk, wanted.role, wanted.number, wanted.via, **arguments
        )
        if wanted.headers:
            request.meta["handle_httpstatus_list"] = [requests.NOT_MODIFIED]
            request.headers.update(wanted.headers)
        return [request]
