"""Opens the store for the other components, and closes it after them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.project import data_path

from fhcrawl.delivery import recover
from fhcrawl.exceptions import ArgumentError
from fhcrawl.store import Store

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from typing_extensions import Self

    from fhcrawl.visit import Loss

FILE = "fhcrawl.sqlite"


def store_url(settings: BaseSettings) -> str:
    """SQLAlchemy URL of the store: FHCRAWL_STORE_URL, else a SQLite file in the project's data directory."""
    url = settings.get("FHCRAWL_STORE_URL")
    if url:
        return str(url)
    try:
        return f"sqlite:///{data_path(FILE, createdir=False)}"
    except NotConfigured as error:
        raise ArgumentError("There is no project here: set FHCRAWL_STORE_URL") from error


class StoreExtension:
    """Holds the store of a crawl, and the number of its run.

    `untold` holds what the store should know and could not be told: losses, by feed.
    """

    def __init__(self, store: Store, run: int) -> None:
        self.store = store
        self.run = run
        self.untold: dict[str, Loss] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """:raises StoreError: if the store cannot be opened"""
        store = Store.open(store_url(crawler.settings))
        recover(store)
        extension = cls(store, store.begin_run())
        crawler.signals.connect(extension.engine_stopped, signal=signals.engine_stopped)
        return extension

    @classmethod
    def of(cls, crawler: Crawler) -> Self:
        """The extension of a crawl."""
        extension = crawler.get_extension(cls)
        if extension is None:
            raise ArgumentError(f"EXTENSIONS has to hold {cls.__module__}.{cls.__name__}")
        return extension

    def engine_stopped(self) -> None:
        """Close the store, when nobody needs it any more."""
        self.store.close()
