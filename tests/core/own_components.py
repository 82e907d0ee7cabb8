"""Components of a user's, of each kind; each counts that it has been used."""

import json
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import BaseSettings
from typing_extensions import Self

from fhcrawl.downloadermiddlewares.guard import GuardMiddleware
from fhcrawl.downloadhandlers import GuardedDownloadHandler
from fhcrawl.spiders.history import HistorySpider

PATH = __name__


class Counts:
    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def count(self) -> None:
        self.crawler.stats.inc_value(f"own/{type(self).__name__}")


class Downloader(Counts):
    def process_request(self, request: Request) -> None:
        self.count()


class Spiders(Counts):
    def process_spider_input(self, response: Response) -> None:
        self.count()


class Pipeline(Counts):
    def process_item(self, item: Any) -> Any:
        self.count()
        return item


class Extension(Counts):
    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.count()


class Handler(GuardedDownloadHandler):
    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawler.stats.inc_value("own/Handler")


COMPONENTS: dict[str, dict[str, Any]] = {
    "DOWNLOADER_MIDDLEWARES": {f"{PATH}.Downloader": 543},
    "SPIDER_MIDDLEWARES": {f"{PATH}.Spiders": 543},
    "ITEM_PIPELINES": {f"{PATH}.Pipeline": 300},
    "EXTENSIONS": {f"{PATH}.Extension": 500},
    "DOWNLOAD_HANDLERS": {"http": f"{PATH}.Handler"},
}
COUNTED = {"own/Downloader", "own/Spiders", "own/Pipeline", "own/Extension", "own/Handler"}
ON_COMMAND_LINE = {name: json.dumps(components) for name, components in COMPONENTS.items()}


class ComponentsSpider(HistorySpider):
    name = "components"
    custom_settings = COMPONENTS


class OwnGuard(GuardMiddleware):
    pass


class NoGuardAddon:
    def update_settings(self, settings: BaseSettings) -> None:
        settings["DOWNLOADER_MIDDLEWARES"].clear()
