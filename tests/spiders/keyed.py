"""A user's spider, whose archives have a session in their URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fhcrawl.spiders.history import HistorySpider

if TYPE_CHECKING:
    from scrapy import Request


class KeyedSpider(HistorySpider):
    name = "keyed"

    def _request(self, *args: Any, **kwargs: Any) -> Request:
        request = super()._request(*args, **kwargs)
        if "?" in request.url:
            request.meta["deltafetch_key"] = request.url.partition("?")[0]
        return request
