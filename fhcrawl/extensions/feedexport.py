"""Exports the changes of a run, completely or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.extensions import feedexport
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.defer import ensure_awaitable

from fhcrawl.exceptions import ExportError, FhcrawlError
from fhcrawl.exporters import delivery, storages
from fhcrawl.exporters.columns import CHOSEN_PROFILES, Rows
from fhcrawl.exporters.storages import FileFeedStorage, StdoutFeedStorage, takes_entries
from fhcrawl.extensions.store import StoreExtension, store_url
from fhcrawl.items import ALL_FIELDS, FIELDS
from fhcrawl.utils.addresses import without_credentials
from fhcrawl.utils.datadir import SCRAPYD_JOB
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall
    from typing_extensions import Self

    from fhcrawl.store import Store

logger = logging.getLogger(__name__)

FAILURES = "feedexport/failed_count/"
ENTRIES_AT_ONCE = 100


class FeedExporter(feedexport.FeedExporter):
    """Exports from the store: the winning version of each changed entry.

    Items are not exported as they are scraped, because a later document may hold a newer version. When the
    spider closes, the changes of this run are exported, and those that earlier runs of its feeds committed
    and did not export. They are marked as exported when every file is renamed; if the process dies before
    that, the next one completes the export.

    FHCRAWL_EXPORT_SECONDS: if every target can take more than one delivery, the changes of feeds that are
    done are exported at this interval, in the same way. Files are locked only during a delivery.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.feeds = {uri: options for uri, options in self.feeds.items() if takes_entries(options)}
        if not self.feeds:
            raise NotConfigured
        for uri, options in self.feeds.items():
            # All items from the store are entries, and dictionaries.
            if options.get("item_classes") and "item_filter" not in options:
                self.filters[uri] = feedexport.ItemFilter(None)
        # If the user sets FEED_STORAGES, it may name Scrapy's class for files.
        self.storages = {
            scheme: FileFeedStorage if storage is feedexport.FileFeedStorage else storage
            for scheme, storage in self.storages.items()
        }
        # The number of the next batch of each target, by URI template.
        self._batches = dict.fromkeys(self.feeds, 1)
        # The slots of the current delivery.
        self._started: list[FeedSlot] = []
        # The paths of files, by URI template.
        self._paths: dict[str, Path] = {}
        self._failed = self._has_noted = False
        # Whether the store knows what has become of it.
        self._is_settled = True
        self._failures = 0
        # The number of changes that were exported in this run.
        self.exported = 0
        self._calls: AsyncioLoopingCall | LoopingCall | None = None
        self._early: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect to the signals of the spider."""
        exporter = cls(crawler)
        crawler.signals.connect(exporter.open_spider, signals.spider_opened)
        crawler.signals.connect(exporter.close_spider, signals.spider_closed)
        return exporter

    @property
    def paths(self) -> list[Path]:
        """The paths of the regular files that are exported to."""
        return [path for path in self._paths.values() if path.is_file() or not path.exists()]

    @property
    def nothing_new(self) -> str:
        """A sentence for the end of a run that had nothing to export."""
        place, what = "FILE", "nothing was written"
        if len(self.feeds) == 1:
            [(template, options)] = self.feeds.items()
            path = self._paths.get(template)
            if path is not None:
                shown = printable(template)
                what = f"{shown} {'is unchanged' if path.exists() else 'was not written'}"
            if not storages.has_placeholders(template):
                place = storages.in_export(template, options["format"])
        return f"Nothing new since the last export: {what}. The complete history: `fhcrawl export -o {place}`"

    @property
    def only_appends(self) -> bool:
        """Whether every target has the earlier changes: a file that is appended to, or one for each run."""
        return all(map(self._has_earlier, self.feeds))

    def _has_earlier(self, template: str) -> bool:
        path = self._paths.get(template)
        is_continued = path is not None and path.exists() and not self.feeds[template].get("overwrite")
        return is_continued or storages.has_placeholders(template)

    def open_spider(self, spider: Spider) -> None:
        """Open the targets, and start to export feeds that are done, if FHCRAWL_EXPORT_SECONDS is set."""
        super().open_spider(spider)
        seconds = self.settings.getfloat("FHCRAWL_EXPORT_SECONDS")
        if seconds and all(map(_takes_more, self.slots)):
            self._calls = create_looping_call(self._export_done, spider)
            self._calls.start(seconds, now=False)

    def _export_done(self, spider: Spider) -> None:
        extension = StoreExtension.of(self.crawler)
        is_at_it = self._early is not None and not self._early.done()
        if extension.has_released and not extension.has_failed and not is_at_it:
            extension.has_released = False
            self._early = asyncio.ensure_future(self._export(spider, is_last=False))

    async def close_spider(self, spider: Spider) -> None:
        """Export the remaining changes."""
        if self._calls is not None and self._calls.running:
            self._calls.stop()
        if self._early is not None:
            await self._early
        await self._export(spider, is_last=True)
        await super().close_spider(spider)

    async def _export(self, spider: Spider, is_last: bool) -> None:
        extension = StoreExtension.of(self.crawler)
        self._failed, self._is_settled, self._failures = False, True, self._count_failures()
        number, count = None, 0
        try:
            self._open_slots(spider)
            number = extension.store.exports.begin(extension.run, only_released=not is_last)
            fields = (name for slot in self.slots for name in slot.feed_options["fields"] or ())
            rows = Rows(fields, self.settings.getlist(CHOSEN_PROFILES))
            changes = extension.store.exports.read_changes(number, has_details=rows.need_details)
            count = await self._write(rows.complete(changes), spider, is_last)
            if is_last and not count:
                await self._lock_files(
                    [slot for slot in self.slots if slot.store_empty and slot.batch_id == 1]
                )
        except Exception as error:  # noqa: BLE001 - any error makes the export incomplete
            self._fail(error)
        if count or is_last or self._failed:
            await self._close_slots(spider)
        if number is not None:
            self._deliver(extension.store, number)
        self.exported += 0 if self._failed else count
        self._note_batches()
        for storage in _files(self._started):
            storage.release()
        self._started, self.slots = [], []
        if self._failed:
            extension.has_released = True
            when = (
                "the next run of these feeds exports these entries"
                if is_last
                else "it will be tried again later"
            )
            logger.error("The export has failed, so nothing was marked as exported; %s", when)

    def _open_slots(self, spider: Spider) -> None:
        if self.slots:
            return
        for template, batch in self._batches.items():
            options = self.feeds[template]
            # Scrapy reads only the number of the previous slot.
            before: Any = SimpleNamespace(batch_id=batch - 1)
            uri_params = self._get_uri_params(spider, options["uri_params"], before)
            uri = feedexport.apply_uri_params(template, uri_params)
            self.slots.append(self._start_new_batch(batch, uri, options, spider, template))

    def _start_new_batch(self, *args: Any, **kwargs: Any) -> FeedSlot:
        slot = super()._start_new_batch(*args, **kwargs)
        self._started.append(slot)
        if isinstance(slot.storage, FileFeedStorage):
            slot.storage.recover = self._prepare
            self._paths[slot.uri_template] = slot.storage.target
        slot.store_empty = slot.store_empty or _is_awaited(slot)
        slot.uri = without_credentials(slot.uri)  # the log shows it
        return slot

    def _prepare(self, path: Path) -> None:
        storages.refuse_store(str(path), store_url(self.settings))
        delivery.recover(StoreExtension.of(self.crawler).store, path)

    async def _write(self, items: Iterator[dict[str, Any]], spider: Spider, is_last: bool) -> int:
        count = 0
        for count, item in enumerate(items, 1):
            if count == 1:
                await self._lock_files(self._started)
            self._note_unnamed(item)
            self._write_item(item, spider)
            if not is_last and not count % ENTRIES_AT_ONCE:
                # Let other feeds continue.
                await asyncio.sleep(0)
        return count

    def _note_unnamed(self, item: dict[str, Any]) -> None:
        """Log, once, that a field which a pipeline has added is in no export."""
        if len(item) == len(FIELDS) or self._has_noted:
            return
        named = {name for slot in self.slots for name in slot.feed_options["fields"] or item}
        if unnamed := ", ".join(sorted(item.keys() - named - set(ALL_FIELDS))):
            self._has_noted = True
            logger.warning(
                "These fields of entries are not exported, because they are not in FHCRAWL_ADDED_FIELDS: %s",
                unnamed,
            )

    def _write_item(self, item: dict[str, Any], spider: Spider) -> None:
        slots, self.slots = self.slots, []
        followers: list[FeedSlot] = []
        for slot in slots:
            # Scrapy's method begins the next batch of the slots that are full.
            self.slots = [slot]
            try:
                with storages.failing(slot.uri):
                    self.item_scraped(item, spider)
            finally:
                followers += self.slots
                self.slots = [*followers, *slots[len(followers) :]]

    # Opening a file would wait for its lock too, but block the crawl: the run's leases would expire.
    async def _lock_files(self, slots: list[FeedSlot]) -> None:
        # Sorted, so that two crawls that export to the same files cannot deadlock.
        for storage in sorted(_files(slots), key=lambda storage: storage.target):
            with storages.failing(storage.path):
                await storage.lock()

    async def _close_slots(self, spider: Spider) -> None:
        """Close files first, and other targets only if that succeeds: what they are sent cannot be undone."""
        files = [slot for slot in self.slots if isinstance(slot.storage, FileFeedStorage)]
        others = [slot for slot in self.slots if slot not in files]
        for slot in files:
            await self._close_slot(slot, spider)
        for slot in () if self._has_failed() else others:
            self._schedule_slot_close(slot, spider)
        if self._pending_close_tasks:
            await asyncio.wait([asyncio.ensure_future(task) for task in self._pending_close_tasks])

    def _count_failures(self) -> int:
        stats = self.crawler.stats.get_stats()
        return sum(count for name, count in stats.items() if name.startswith(FAILURES))

    def _has_failed(self) -> bool:
        self._failed = self._failed or self._count_failures() > self._failures
        return self._failed

    def _deliver(self, store: Store, number: int) -> None:
        files = [storage.written for storage in _files(self._started) if storage.written is not None]
        try:
            if not self._has_failed():
                delivery.deliver(store, number, files)
                return
        except (OSError, FhcrawlError) as error:
            self._fail(error)
        self._is_settled = False
        with contextlib.suppress(FhcrawlError):
            self._failed = not delivery.settle(store, number, files)
            self._is_settled = True

    # A file that has its name, of a delivery that the store could not end, counts as exported when the store
    # can be told (`delivery.recover`): the next delivery may not replace it.
    def _note_batches(self) -> None:
        """Make the next delivery continue after this one: the next batch, or appending to the file."""
        for slot in self._started:
            written = slot.storage.written if isinstance(slot.storage, FileFeedStorage) else None
            is_named = written is not None and not self._is_settled and written.is_named()
            if slot.file is None or (self._failed and not is_named):
                continue
            template = slot.uri_template
            self._batches[template] = slot.batch_id + 1
            if not storages.has_batches(template):
                is_file = written is not None
                if is_file or slot.itemcount:
                    self.feeds[template] = storages.continue_options(self.feeds[template], is_file)

    # Scrapy's method logs a traceback if the disk is full.
    async def _close_slot(self, slot: FeedSlot, spider: Spider) -> None:
        if self._failed:
            with contextlib.suppress(OSError):  # on a full disk, closing fails too
                if slot.file is not None:
                    slot.file.close()
            return
        if not slot.itemcount and not (slot.store_empty and slot.batch_id == 1):
            return
        storage = type(slot.storage).__name__
        try:
            with storages.failing(slot.uri):
                slot.start_exporting()
                slot.finish_exporting()
                await ensure_awaitable(slot.storage.store(self._get_file(slot)))
        except FhcrawlError as error:
            self._fail(error, storage)
            return
        logger.info("Stored %s feed (%d items) in: %s", slot.format, slot.itemcount, slot.uri)
        self.crawler.stats.inc_value(f"feedexport/success_count/{storage}")
        await self.crawler.signals.send_catch_log_async(signals.feed_slot_closed, slot=slot)

    def _fail(self, error: Exception, storage: str = FileFeedStorage.__name__) -> None:
        self._failed = True
        self.crawler.stats.inc_value(f"{FAILURES}{storage}")
        is_sentence = isinstance(error, ExportError)
        logger.error("%s", error if is_sentence else f"The export could not be written: {error}")


def _files(slots: list[FeedSlot]) -> list[FileFeedStorage]:
    return [slot.storage for slot in slots if isinstance(slot.storage, FileFeedStorage)]


def _is_awaited(slot: FeedSlot) -> bool:
    """Return whether a target is written to even if nothing has changed and FEED_STORE_EMPTY is off.

    This holds for a named pipe, whose reader waits for its end; and for the items of Scrapyd's jobs, which
    link to them.
    """
    if not isinstance(slot.storage, FileFeedStorage):
        return False
    return delivery.is_named_pipe(Path(slot.storage.path)) or hasattr(slot.spider, SCRAPYD_JOB)


def _takes_more(slot: FeedSlot) -> bool:
    """Return whether a target can take more than one delivery in a run."""
    if storages.has_batches(slot.uri_template):
        return True
    if not storages.has_no_end(slot.feed_options):
        return False
    if isinstance(slot.storage, FileFeedStorage):
        # The reader of a named pipe gets end-of-file after the first delivery.
        return not delivery.is_named_pipe(Path(slot.storage.path))
    return isinstance(slot.storage, StdoutFeedStorage)


class ItemExporter(feedexport.FeedExporter):
    """Exports items as Scrapy does, each at once, to the places of FEEDS whose `item_classes` are no entries.

    `fhcrawl.extensions.feedexport.FeedExporter` exports entries, to all other places.
    """

    def __init__(self, crawler: Crawler) -> None:
        if all(map(takes_entries, crawler.settings.getdict("FEEDS").values())):
            raise NotConfigured
        super().__init__(crawler)
        of_entries = self.settings.getdictorlist("FEED_EXPORT_FIELDS")
        self.feeds = {
            # FEED_EXPORT_FIELDS are the fields of entries; `fields` of a place are its own.
            uri: {**options, "fields": None if options["fields"] == of_entries else options["fields"]}
            for uri, options in self.feeds.items()
            if not takes_entries(options)
        }
        self.storages = {
            scheme: feedexport.FileFeedStorage if storage is FileFeedStorage else storage
            for scheme, storage in self.storages.items()
        }
