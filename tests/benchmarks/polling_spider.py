"""What asks whether feeds have changed, and does nothing about it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response


class PollingSpider(Spider):
    """Arguments: `polls`, path of a JSON object: the ETag of each URL."""

    name = "polling"
    handle_httpstatus_list = (304,)

    def __init__(self, polls: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.polls: dict[str, str] = json.loads(Path(polls).read_text())

    async def start(self) -> AsyncIterator[Request]:
        for url, etag in self.polls.items():
            yield Request(url, headers={"If-None-Match": etag})

    def parse(self, response: Response, **kwargs: Any) -> None:
        pass
