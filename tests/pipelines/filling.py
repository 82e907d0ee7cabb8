"""A pipeline of a user that fills a table of its own: a file with a row for each item."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any, ClassVar

from scrapy.crawler import Crawler
from typing_extensions import Self

from tests.pipelines.faulty import CHOSEN

TABLE = "table.jsonl"


class Fills:
    under_way: ClassVar[int] = 0

    async def process_item(self, item: Any) -> Any:
        type(self).under_way += 1
        row = {**item, "under_way": self.under_way}
        await asyncio.sleep(0.005)
        type(self).under_way -= 1
        if item.id == os.environ.get(CHOSEN):
            raise asyncio.CancelledError
        _append(row)
        return item


class FillsAndIsInterrupted(Fills):
    """The crawl is interrupted while the first entries are processed."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        assert self._crawler.engine is not None
        if item.id == "7":
            self._stopped = asyncio.ensure_future(self._crawler.engine.close_spider_async(reason="shutdown"))
        await asyncio.sleep(0.1)
        return await super().process_item(item)


def _append(row: dict[str, Any]) -> None:
    with Path(TABLE).open("a") as file:
        file.write(json.dumps(row) + "\n")
