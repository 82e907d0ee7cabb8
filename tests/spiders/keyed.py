"""A user's spider, whose archives have a session in their URL."""

from typing import Any

from scrapy import Request

from fhcrawl.spiders.history import HistorySpider


class KeyedSpider(HistorySpider):
    name = "keyed"

    def _request(self, *args: Any, **kwargs: Any) -> Request:
        request = super()._request(*args, **kwargs)
        if "?" in request.url:
            request.meta["deltafetch_key"] = request.url.partition("?")[0]
        return request
