"""Exports the changes of a run, completely or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import shlex
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.extensions import feedexport
from scrapy.extensions.postprocessing import PostProcessingManager
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.misc import build_from_crawler, load_object

from fhcrawl.exceptions import ExportError, FhcrawlError
from fhcrawl.exporters import storages
from fhcrawl.exporters.rows import CHOSEN_PROFILES, Rows
from fhcrawl.exporters.storages import FileFeedStorage, StdoutFeedStorage, takes_entries
from fhcrawl.extensions import Component
from fhcrawl.extensions.store import StoreExtension, store_url
from fhcrawl.items import ALL_FIELDS, FIELDS
from fhcrawl.utils.addresses import without_credentials
from fhcrawl.utils.datadir import SCRAPYD_JOB
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.extensions.feedexport import FeedSlot
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from fhcrawl.exporters.storages import WrittenFile
    from fhcrawl.store import Store

logger = logging.getLogger(__name__)

ENTRIES_AT_ONCE = 100
# A command for more feeds would be too long to read.
MOST_CHOSEN = 3
# Scrapy's placeholders that give each batch its own file.
BATCH = re.compile(r"%\(batch_(id|time)\)")
# Scrapy's storages write directly to the file, which is incomplete until the end, and do not flush stdout.
STORAGES = {
    feedexport.FileFeedStorage: FileFeedStorage,
    feedexport.StdoutFeedStorage: StdoutFeedStorage,
}


# Scrapy's commands warn if no extension is a subclass of its own, which parses and checks FEEDS.
class FeedExporter(Component, feedexport.FeedExporter):
    """Exports from the store: the winning version of each changed entry.

    Items are not exported as they are scraped, because a later document may contain a newer version. When the
    spider closes, the changes of this run are exported, and those that earlier runs committed and did not
    export: of the requested feeds, or without any, of all subscribed feeds, whether they were crawled or not.
    They are marked as exported when every file is renamed; if the process dies before that, the next one
    completes the export.

    FHCRAWL_EXPORT_SECONDS: if every target can take more than one delivery, the changes of feeds that are
    done are exported at this interval, in the same way. Files are locked only during a delivery.
    """

    def __init__(self, crawler: Crawler) -> None:
        Component.__init__(self, crawler)
        feedexport.FeedExporter.__init__(self, crawler)
        self.feeds = {uri: options for uri, options in self.feeds.items() if takes_entries(options)}
        if not self.feeds:
            raise NotConfigured
        for uri, options in self.feeds.items():
            # All items from the store are entries, and dictionaries.
            if options.get("item_classes") and "item_filter" not in options:
                self.filters[uri] = feedexport.ItemFilter(None)
        # By URI template: the last exported slot, and the path of the last opened one that is a file.
        self._previous: dict[str, FeedSlot] = {}
        self._paths: dict[str, Path] = {}
        # The slots of the current delivery, with those of full batches.
        self._delivery_slots: list[FeedSlot] = []
        self._uploads: list[asyncio.Future[None]] = []
        self._has_failed = self._has_warned = False
        # The numbers of changes that were exported in this run, and that are left for the next one.
        self.exported = self.unexported = 0
        self._export_loop: AsyncioLoopingCall | LoopingCall | None = None
        self._early_export: asyncio.Task[None] | None = None
        crawler.signals.connect(self.open_spider, signals.spider_opened)
        crawler.signals.connect(self.close_spider, signals.spider_closed)

    @property
    def nothing_new(self) -> str:
        place, result = "FILE", "nothing was written"
        if len(self.feeds) == 1:
            [(template, options)] = self.feeds.items()
            if (path := self._paths.get(template)) is not None:
                result = f"{printable(template)} {'is unchanged' if path.exists() else 'was not written'}"
            if "%(" not in template:
                # The file of the changes is kept.
                folder, slash, name = template.rpartition("/")
                is_stdout = template in storages.STDOUT
                other = template if is_stdout else f"{folder}{slash}complete-{name}"
                place = storages.in_export(other, options["format"])
        feeds = list(getattr(self._crawler.spider, "requested", ()))
        chosen = "".join(f"--feed {shlex.quote(printable(feed))} " for feed in feeds[:MOST_CHOSEN])
        command = f"fhcrawl export {chosen if len(feeds) <= MOST_CHOSEN else ''}-o {place}"
        return f"Nothing new since the last export: {result}. The complete history: `{command}`"

    @property
    def only_appends(self) -> bool:
        """Whether each target is appended to, or has a new file for each run."""
        return all(
            "%(" in template
            or (template in self._paths and self._paths[template].exists() and not options.get("overwrite"))
            for template, options in self.feeds.items()
        )

    def open_spider(self, spider: Spider) -> None:
        self._open_slots(spider)
        seconds = self.settings.getfloat("FHCRAWL_EXPORT_SECONDS")
        if seconds and all(map(_takes_more_deliveries, self.slots)):
            self._export_loop = create_looping_call(self._export_early, spider)
            self._export_loop.start(seconds, now=False)

    def _export_early(self, spider: Spider) -> None:
        extension = StoreExtension.of(self._crawler)
        is_exporting = self._early_export is not None and not self._early_export.done()
        if extension.has_released and not extension.has_failed and not is_exporting:
            extension.has_released = False
            self._early_export = asyncio.ensure_future(self._export(spider, is_last=False))

    async def close_spider(self, spider: Spider) -> None:
        if self._export_loop is not None and self._export_loop.running:
            self._export_loop.stop()
        if self._early_export is not None:
            await self._early_export
        await self._export(spider, is_last=True)
        extension, requested = StoreExtension.of(self._crawler), getattr(spider, "requested", ())
        with contextlib.suppress(FhcrawlError):
            self.unexported = extension.store.exports.count_unexported(extension.run, requested)
        await self._crawler.signals.send_catch_log_async(signals.feed_exporter_closed)

    async def _export(self, spider: Spider, is_last: bool) -> None:
        extension = StoreExtension.of(self._crawler)
        self._has_failed = False
        number, count = None, 0
        try:
            self._open_slots(spider)
            # Not earlier: a walk of a feed cannot begin while it is exported. A worker may never end.
            if is_last or not getattr(spider, "crawls_subscribed", True):
                extension.store.exports.adopt(extension.run, getattr(spider, "requested", ()))
            number = extension.store.exports.begin(extension.run, only_released=not is_last)
            count = await self._write_changes(extension.store, number, spider, is_last)
        except Exception as error:  # noqa: BLE001 - any error makes the export incomplete
            self._fail(error)
        if count or is_last or self._has_failed:
            await self._close_slots()
        is_recorded = number is None or self._deliver(extension.store, number)
        for slot in self._delivery_slots:
            if _written(slot) is not None and not self._has_failed:
                self._note_stored(slot)
            self._prepare_next(slot, is_recorded)
        self._delivery_slots, self.slots = [], []
        if not self._has_failed:
            self.exported += count
            return
        extension.has_released = True
        next_try = (
            "the next run of these feeds exports these entries" if is_last else "it will be tried again later"
        )
        logger.error("The export has failed, so nothing was marked as exported; %s", next_try)

    def _open_slots(self, spider: Spider) -> None:
        if not self.slots:
            self.slots = [self._open_slot(uri, spider, self._previous.get(uri)) for uri in self.feeds]

    def _open_slot(self, template: str, spider: Spider, previous: FeedSlot | None) -> FeedSlot:
        options = self.feeds[template]
        batch = 1 if previous is None else previous.batch_id + 1
        uri = feedexport.apply_uri_params(template, _uri_params(spider, options["uri_params"], batch))
        classes = self.storages
        storage = classes.get(urlsplit(uri).scheme, classes["file"])
        slot = feedexport.FeedSlot(
            build_from_crawler(STORAGES.get(storage, storage), self._crawler, uri, feed_options=options),
            uri,
            options["format"],
            options["store_empty"],
            batch,
            template,
            self.filters[template],
            options,
            spider,
            self.exporters,
            self.settings,
            self._crawler,
        )
        self._delivery_slots.append(slot)
        if isinstance(slot.storage, FileFeedStorage):
            slot.storage.recover = self._recover_target
            self._paths[template] = slot.storage.target
            # The reader of a named pipe waits for its end; Scrapyd links its jobs to their items.
            slot.store_empty |= slot.storage.is_named_pipe or hasattr(spider, SCRAPYD_JOB)
        slot.uri = without_credentials(slot.uri)  # the log shows it
        return slot

    def _recover_target(self, path: Path) -> None:
        storages.refuse_store(str(path), store_url(self.settings))
        storages.recover(StoreExtension.of(self._crawler).store, path)

    async def _write_changes(self, store: Store, number: int, spider: Spider, is_last: bool) -> int:
        fields = (name for slot in self.slots for name in slot.feed_options["fields"] or ())
        rows = Rows(fields, self.settings.getlist(CHOSEN_PROFILES))
        changes = store.exports.read_changes(number, has_details=rows.need_details)
        count = 0
        for count, item in enumerate(rows.complete(changes), 1):
            if count == 1:
                await _lock_files(self.slots)
            await self._write_item(item, spider)
            if not is_last and not count % ENTRIES_AT_ONCE:
                # Let other feeds continue.
                await asyncio.sleep(0)
        if is_last and not count:
            await _lock_files([slot for slot in self.slots if slot.store_empty and slot.batch_id == 1])
        return count

    # Scrapy's `item_scraped` loses the slots if one of them fails.
    async def _write_item(self, item: dict[str, Any], spider: Spider) -> None:
        if len(item) != len(FIELDS) and not self._has_warned:
            self._warn_of_unnamed(item)
        for number, slot in enumerate(self.slots):
            with storages.failing(slot.uri):
                if not slot.filter.accepts(item):
                    continue
                slot.start_exporting()
                slot.exporter.export_item(item)  # type: ignore[union-attr]
                slot.itemcount += 1
                size = slot.feed_options["batch_item_count"]
                if size and slot.itemcount >= size:
                    await self._end_batch(slot)
                    self.slots[number] = self._open_slot(slot.uri_template, spider, slot)

    # There may be more batches than a process may have files open. The first slot keeps its lock, so that
    # another export with the same template waits for the delivery.
    async def _end_batch(self, slot: FeedSlot) -> None:
        if not isinstance(slot.storage, FileFeedStorage):
            self._upload(slot)
            return
        await self._close(slot)
        if slot.batch_id != 1:
            slot.storage.unlock()

    def _warn_of_unnamed(self, item: dict[str, Any]) -> None:
        exported = {name for slot in self.slots for name in slot.feed_options["fields"] or item}
        if missing := ", ".join(sorted(item.keys() - exported - set(ALL_FIELDS))):
            self._has_warned = True
            logger.warning(
                "These fields of entries are not exported, because they are not in FHCRAWL_ADDED_FIELDS: %s",
                missing,
            )

    async def _close_slots(self) -> None:
        # Other targets are closed only if that succeeds: a delivery to them cannot be undone.
        for slot in self.slots:
            if isinstance(slot.storage, FileFeedStorage):
                await self._close(slot)
        for slot in self.slots:
            if not (self._has_failed or isinstance(slot.storage, FileFeedStorage)):
                self._upload(slot)
        await asyncio.gather(*self._uploads)
        self._uploads.clear()

    def _upload(self, slot: FeedSlot) -> None:
        self._uploads.append(asyncio.ensure_future(self._close(slot)))

    async def _close(self, slot: FeedSlot) -> None:
        if self._has_failed:
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
                file = slot.file
                if isinstance(file, PostProcessingManager):
                    file.close()
                    file = file.file
                await ensure_awaitable(slot.storage.store(file))  # type: ignore[arg-type]
        except FhcrawlError as error:
            self._fail(error, storage)
            return
        # A file gets its name with the whole delivery.
        if _written(slot) is None:
            self._note_stored(slot)
        await self._crawler.signals.send_catch_log_async(signals.feed_slot_closed, slot=slot)

    def _note_stored(self, slot: FeedSlot) -> None:
        logger.info("Stored %s feed (%d items) in: %s", slot.format, slot.itemcount, slot.uri)
        self._crawler.stats.inc_value(f"feedexport/success_count/{type(slot.storage).__name__}")

    # Whether the outcome of the delivery is in the store.
    def _deliver(self, store: Store, number: int) -> bool:
        files = [written for slot in self._delivery_slots if (written := _written(slot)) is not None]
        try:
            if not self._has_failed:
                storages.deliver(store, number, files)
                return True
        except (OSError, FhcrawlError) as error:
            self._fail(error)
        with contextlib.suppress(FhcrawlError):
            self._has_failed = not storages.settle(store, number, files)
            return True
        return False

    # What the next delivery to the target continues: the number of the batch, the file, the table.
    def _prepare_next(self, slot: FeedSlot, is_recorded: bool) -> None:
        written, template = _written(slot), slot.uri_template
        # If the store could not end the delivery, a file that has its name counts as exported once the store
        # can be told (`storages.recover`): the next delivery may not replace it.
        has_final_name = not is_recorded and written is not None and written.is_named()
        if slot.file is not None and (has_final_name or not self._has_failed):
            options = self.feeds[template]
            self._previous[template] = slot
            if BATCH.search(template):
                pass
            elif written is not None:
                self.feeds[template] = {**options, "overwrite": False}
            elif slot.itemcount and options["format"] == "csv":
                # The header has been written; a stream cannot be read to check for it.
                export_options = {**options["item_export_kwargs"], "include_headers_line": False}
                self.feeds[template] = {**options, "item_export_kwargs": export_options}
        if isinstance(slot.storage, FileFeedStorage):
            slot.storage.release()

    def _fail(self, error: Exception, storage: str = FileFeedStorage.__name__) -> None:
        self._has_failed = True
        self._crawler.stats.inc_value(f"feedexport/failed_count/{storage}")
        sentence = error if isinstance(error, ExportError) else f"The export could not be written: {error}"
        logger.error("%s", sentence)


def _written(slot: FeedSlot) -> WrittenFile | None:
    return slot.storage.written if isinstance(slot.storage, FileFeedStorage) else None


def _uri_params(spider: Spider, function: Any, batch: int) -> dict[str, Any]:
    now = datetime.now(tz=timezone.utc)
    params = {
        **{name: getattr(spider, name) for name in dir(spider)},
        "time": now.replace(microsecond=0).isoformat().replace(":", "-"),
        "batch_time": now.isoformat().replace(":", "-"),
        "batch_id": batch,
    }
    changed = load_object(function)(params, spider) if function else None
    return params if changed is None else changed


# Opening a file would wait for its lock too, but block the crawl: the run's leases would expire.
async def _lock_files(slots: list[FeedSlot]) -> None:
    files = [slot.storage for slot in slots if isinstance(slot.storage, FileFeedStorage)]
    # Sorted, so that two crawls that export to the same files cannot deadlock.
    for storage in sorted(files, key=lambda storage: storage.target):
        with storages.failing(storage.path):
            await storage.lock()


def _takes_more_deliveries(slot: FeedSlot) -> bool:
    if BATCH.search(slot.uri_template):
        return True
    storage = slot.storage
    # The reader of a named pipe gets end-of-file after the first delivery.
    is_pipe = isinstance(storage, FileFeedStorage) and storage.is_named_pipe
    is_open = isinstance(storage, (FileFeedStorage, StdoutFeedStorage)) and not is_pipe
    return is_open and storages.takes_lines(slot.feed_options)


class ItemExporter(feedexport.FeedExporter):
    """Exports items at once, as Scrapy does, to places of FEEDS whose `item_classes` are not entries."""

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
