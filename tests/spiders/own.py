"""Spiders of a user's: a plain one, and subclasses."""

import os
from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response

from fhcrawl.pipelines import EntryVersion
from fhcrawl.spiders.history import HistorySpider
from tests.pipelines.faulty import CHOSEN


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


class KeyedSpider(HistorySpider):
    """Its archives have a session in their URL."""

    name = "keyed"

    def prepare(self, request: Request) -> Request:
        request = super().prepare(request)
        if "?" in request.url:
            request.meta["deltafetch_key"] = request.url.partition("?")[0]
        return request


class BreakingSpider(HistorySpider):
    """It raises at an entry."""

    name = "breaking"

    def parse(self, response: Response, *args: Any, **kwargs: Any) -> Iterator[Request | EntryVersion]:
        for output in super().parse(response, *args, **kwargs):
            if isinstance(output, EntryVersion) and output.id == os.environ.get(CHOSEN):
                raise ValueError("a bug in a spider")
            yield output
