"""Scrapy's downloader, which keeps to the concurrency of a host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.core import downloader

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from scrapy import Request
    from scrapy.core.downloader import Slot
    from scrapy.http import Response
    from twisted.internet.defer import Deferred


class Downloader(downloader.Downloader):
    """Scrapy's, whose requests count only when their task has begun.

    Scrapy 2.19 sends all that wait for a host as soon as one of them may be sent: it looks at the requests
    on their way in one loop, and with asyncio they are counted after it.
    """

    def _wait_for_download(
        self, slot: Slot, request: Request, queue_dfd: Deferred[Response]
    ) -> Coroutine[Any, Any, None]:
        slot.transferring.add(request)
        return super()._wait_for_download(slot, request, queue_dfd)
