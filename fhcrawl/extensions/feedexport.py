"""Exports what changed in a run, whole or not at all."""

from __future__ import annotations

import contextlib
import logging
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from scrapy import signals
from scrapy.extensions import feedexport

from fhcrawl import delivery
from fhcrawl.addresses import without_credentials
from fhcrawl.exceptions import FhcrawlError
from fhcrawl.exporters import appending
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.locks import locked

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot
    from typing_extensions import Self

    from fhcrawl.delivery import WrittenFile
    from fhcrawl.store import Store

logger = logging.getLogger(__name__)

FAILURES = "feedexport/failed_count/"


class FileFeedStorage(feedexport.FileFeedStorage):
    """Writes beside the file; `FeedExporter` gives what is written its name when all of it is whole.

    Appending copies what is there first, so that the file is at no time cut off. From the copy to the name,
    no other export may write to it. What is no regular file (a pipe, a device) is written to as it comes.
    """

    beside: Path | None = None
    written: WrittenFile | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lock = ExitStack()
        self._target = Path()
        self._options = kwargs["feed_options"] or {}

    def open(self, spider: Spider) -> IO[bytes]:
        """A file to be written, at its end."""
        special = delivery.open_special(Path(self.path))
        if special is not None:
            return special
        path = Path(self.path).resolve()
        mode: Literal["wb", "ab"] = "wb" if self.write_mode == "wb" else "ab"
        with ExitStack() as lock:
            lock.enter_context(locked(path))
            if mode == "ab":
                appending.check(path, self._options)
            file, self.beside = delivery.open_beside(path, mode)
            self._lock, self._target = lock.pop_all(), path
        if mode == "ab":
            file.write(appending.line_end(path, self._options))
        return file

    def store(self, file: IO[bytes]) -> None:
        """Bring the file to the disk."""
        if self.beside is None:
            file.close()
        else:
            self.written = delivery.close_whole(file, self.beside, self._target)

    def release(self) -> None:
        """Remove what has not got its name, and let other exports write."""
        with self._lock:
            if self.beside is not None:
                self.beside.unlink(missing_ok=True)


class StdoutFeedStorage(feedexport.StdoutFeedStorage):
    """Writes what is in the buffer before it counts as exported."""

    def open(self, spider: Spider) -> IO[bytes]:
        """Stdout."""
        return delivery.open_stdout()

    def store(self, file: IO[bytes]) -> None:
        """Write what is left."""
        file.close()


class FeedExporter(feedexport.FeedExporter):
    """Scrapy's feed exports, from the store: one line for each changed entry, its winning version.

    Items are not exported as they are scraped, because a later document may hold a newer version. When the
    spider closes, the changes of this run, and those that earlier runs of its feeds committed and did not
    export, are written. They count as exported when every file has its name; a process that dies between is
    made good by the next one.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        # A FEED_STORAGES of the user's has Scrapy's own class for files again.
        self.storages = {
            scheme: FileFeedStorage if storage is feedexport.FileFeedStorage else storage
            for scheme, storage in self.storages.items()
        }
        self._storages: list[FileFeedStorage] = []
        self._failed = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect to the signals of the spider."""
        exporter = cls(crawler)
        crawler.signals.connect(exporter.open_spider, signals.spider_opened)
        crawler.signals.connect(exporter.close_spider, signals.spider_closed)
        return exporter

    @property
    def paths(self) -> list[Path]:
        """Of the files that are exported to; pipes and devices aside."""
        paths = [Path(storage.path).resolve() for storage in self._storages]
        return [path for path in paths if path.is_file() or not path.exists()]

    def _start_new_batch(self, *args: Any, **kwargs: Any) -> FeedSlot:
        slot = super()._start_new_batch(*args, **kwargs)
        if isinstance(slot.storage, FileFeedStorage):
            self._storages.append(slot.storage)
        slot.uri = without_credentials(slot.uri)  # it is what the log shows
        return slot

    async def close_spider(self, spider: Spider) -> None:
        """Write the changes, and let them count as exported."""
        extension = StoreExtension.of(self.crawler)
        number = None
        try:
            number = extension.store.begin_delivery(extension.run)
            for item in extension.store.pending(number):
                self.item_scraped(item, spider)
        except Exception as error:  # noqa: BLE001 - whatever it is, the export is not whole
            self._fail(error)
        await self._close_slots(spider)
        if number is not None:
            self._deliver(extension.store, number)
        for storage in self._storages:
            storage.release()
        if self._failed:
            logger.error("Nothing counts as exported; the next run of these feeds exports it")

    async def _close_slots(self, spider: Spider) -> None:
        """Close files first: what has gone to another place cannot be taken back."""
        files = [slot for slot in self.slots if isinstance(slot.storage, FileFeedStorage)]
        others = [slot for slot in self.slots if slot not in files]
        for slot in files:
            await self._close_slot(slot, spider)
        self.slots = [] if self._has_failed() else others
        await super().close_spider(spider)

    def _has_failed(self) -> bool:
        stats = self.crawler.stats.get_stats()
        self._failed = self._failed or any(name.startswith(FAILURES) for name in stats)
        return self._failed

    def _deliver(self, store: Store, number: int) -> None:
        files = [storage.written for storage in self._storages if storage.written is not None]
        try:
            if not self._has_failed():
                delivery.deliver(store, number, files)
                return
        except (OSError, FhcrawlError) as error:
            self._fail(error)
        with contextlib.suppress(FhcrawlError):
            self._failed = not delivery.settle(store, number, files)

    async def _close_slot(self, slot: FeedSlot, spider: Spider) -> None:
        if self._failed and slot.file is None:
            return
        try:
            await super()._close_slot(slot, spider)
        except Exception as error:  # noqa: BLE001 - whatever it is, the export is not whole
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self._failed = True
        self.crawler.stats.inc_value(f"{FAILURES}FileFeedStorage")
        logger.error("The export cannot be written: %s", error)
