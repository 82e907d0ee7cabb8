"""Spiders of a user's: a plain one, and a subclass with requests and items of its own."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response

from fhcrawl.spiders.history import HistorySpider


class PlainSpider(Spider):
    name = "plain"

    def __init__(self, url: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [url]

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"status": response.status, "text": response.body.decode()}


class OwnSpider(HistorySpider):
    """Requests `-a page=URL` after the feeds, and from each document; yields an item of each answer."""

    name = "own"

    def __init__(self, *args: Any, page: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._page = page

    async def start(self) -> AsyncIterator[Request]:
        async for request in super().start():
            yield request
        yield self._own()

    def parse(self, response: Response, **cb_kwargs: Any) -> Iterator[Any]:
        yield from super().parse(response, **cb_kwargs)
        yield self._own()

    def _own(self) -> Request:
        return Request(self._page, self.parse_page, dont_filter=True, headers={"Range": "bytes=0-3"})

    def parse_page(self, response: Response) -> Iterator[Any]:
        yield {"status": response.status, "text": response.body.decode()}
