"""A subclass of fhcrawl's spider."""

from collections.abc import Iterator
from typing import Any, ClassVar

from scrapy import Request
from scrapy.http import Response

from example.items import Page
from fhcrawl.exceptions import ArgumentError
from fhcrawl.items import EntryItem
from fhcrawl.spiders.history import HistorySpider


class PagesSpider(HistorySpider):
    """Crawls the histories of feeds, and the pages that their entries link to.

    Argument: `most`, how many pages at most; without it, all.
    """

    name = "pages"
    custom_settings: ClassVar = {
        "FEEDS": {
            "entries.jsonl": {"format": "jsonlines"},
            "pages.jsonl": {"format": "jsonlines", "item_classes": [Page]},
        },
    }

    def __init__(self, *args: Any, most: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if most is not None and not most.isdecimal():
            raise ArgumentError(f"-a most={most} is not a number")
        self.left = float("inf") if most is None else int(most)

    def parse(self, response: Response, **cb_kwargs: Any) -> Iterator[Any]:
        """Yield what the history needs, and requests for pages."""
        for output in super().parse(response, **cb_kwargs):
            yield output
            if isinstance(output, EntryItem) and output.link and self.left > 0:
                self.left -= 1
                yield Request(output.link, self.parse_page, cb_kwargs={"entry": output.id})

    def parse_page(self, response: Response, entry: str) -> Iterator[Page]:
        """Yield a page."""
        yield Page(entry, response.url, response.css("title::text").get())
