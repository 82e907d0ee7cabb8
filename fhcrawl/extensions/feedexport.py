"""Exports what changed in a run, whole or not at all."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from scrapy import signals
from scrapy.extensions import feedexport

from fhcrawl import delivery
from fhcrawl.exceptions import FhcrawlError
from fhcrawl.extensions.store import StoreExtension

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot
    from typing_extensions import Self

    from fhcrawl.delivery import WrittenFile

logger = logging.getLogger(__name__)

FAILURES = "feedexport/failed_count/"


class FileFeedStorage(feedexport.FileFeedStorage):
    """Writes beside the file; `FeedExporter` gives what is written its name when all of it is whole.

    Appending copies what is there first, so that the file is at no time cut off.
    """

    beside: Path | None = None
    written: WrittenFile | None = None

    def open(self, spider: Spider) -> IO[bytes]:
        """A file to be written, at its end."""
        mode = "wb" if self.write_mode == "wb" else "ab"
        file, self.beside = delivery.open_beside(Path(self.path), mode)  # type: ignore[arg-type]
        return file

    def store(self, file: IO[bytes]) -> None:
        """Bring the file to the disk."""
        if self.beside is not None:
            self.written = delivery.close_whole(file, self.beside, Path(self.path))

    def discard(self) -> None:
        """Remove what has been written."""
        if self.beside is not None:
            self.beside.unlink(missing_ok=True)


class FeedExporter(feedexport.FeedExporter):
    """Scrapy's feed exports, from the store: one line for each changed entry, its winning version.

    Items are not exported as they are scraped, because a later document may hold a newer version. When the
    spider closes, the changes of this run, and those that earlier runs of its feeds committed and did not
    export, are written. They count as exported when every file has its name; a process that dies between is
    made good by the next one.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._storages: list[FileFeedStorage] = []
        self._failed = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect to the signals of the spider."""
        exporter = cls(crawler)
        crawler.signals.connect(exporter.open_spider, signals.spider_opened)
        crawler.signals.connect(exporter.close_spider, signals.spider_closed)
        return exporter

    def _start_new_batch(self, *args: Any, **kwargs: Any) -> FeedSlot:
        slot = super()._start_new_batch(*args, **kwargs)
        if isinstance(slot.storage, FileFeedStorage):
            self._storages.append(slot.storage)
        return slot

    async def close_spider(self, spider: Spider) -> None:
        """Write the changes, and let them count as exported."""
        extension = StoreExtension.of(self.crawler)
        store, run = extension.store, extension.run
        try:
            for item in store.pending(run):
                self.item_scraped(item, spider)
        except (OSError, FhcrawlError) as error:
            self._fail(error)
        await super().close_spider(spider)
        stats = self.crawler.stats.get_stats()
        if self._failed or any(name.startswith(FAILURES) for name in stats):
            self._discard()
            return
        try:
            written = [storage.written for storage in self._storages]
            delivery.deliver(store, run, [file for file in written if file is not None])
        except (OSError, FhcrawlError) as error:
            self._fail(error)
            self._discard()

    async def _close_slot(self, slot: FeedSlot, spider: Spider) -> None:
        try:
            await super()._close_slot(slot, spider)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self._failed = True
        self.crawler.stats.inc_value(f"{FAILURES}FileFeedStorage")
        logger.error("The export cannot be written: %s", error)

    def _discard(self) -> None:
        for storage in self._storages:
            storage.discard()
        logger.error("Nothing counts as exported; the next run of these feeds exports it")
