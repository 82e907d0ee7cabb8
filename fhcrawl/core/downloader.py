"""A downloader that does not exceed the concurrency per host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.core import downloader

from fhcrawl.core.components import check_components

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from scrapy import Request
    from scrapy.core.downloader import Slot
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.defer import Deferred


class Downloader(downloader.Downloader):
    """Counts a request as being transferred before its task starts.

    Scrapy 2.19 can exceed the limit per host: one loop sends the queued requests of a slot and looks at
    `slot.transferring`, to which asyncio tasks add their requests only after the loop.

    :raises ArgumentError: if the crawl lacks a component that it needs, because another add-on has removed it
    """

    def __init__(self, crawler: Crawler) -> None:
        check_components(crawler.settings)
        super().__init__(crawler)

    def _wait_for_download(
        self, slot: Slot, request: Request, queue_dfd: Deferred[Response]
    ) -> Coroutine[Any, Any, None]:
        slot.transferring.add(request)
        return super()._wait_for_download(slot, request, queue_dfd)
