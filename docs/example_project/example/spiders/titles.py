"""A spider that has nothing to do with fhcrawl."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response


class TitlesSpider(Spider):
    """Yields the title of a page (`-a url=URL`), and of the pages that it links to."""

    name = "titles"

    async def start(self) -> AsyncIterator[Request]:
        """Yield the request for the first page."""
        yield Request(self.url)

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the title and the requests."""
        yield {"url": response.url, "title": response.css("title::text").get()}
        yield from response.follow_all(css="a")
