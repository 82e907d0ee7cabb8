"""The item pipelines: drops duplicates, and reports the outcome of each entry to its document."""

from __future__ import annotations

import logging
from asyncio import CancelledError
from typing import TYPE_CHECKING, Any

import orjson
from scrapy import pipelines
from scrapy.exceptions import DropItem

from fhcrawl.extensions.feedexport import ItemExporter
from fhcrawl.items import EntryItem, added_fields
from fhcrawl.logical_feed import Outcome, Winner
from fhcrawl.logical_feed.results import (
    PIPELINE_FIELDS,
    CommitBatch,
    DocumentFailure,
    DocumentResult,
    State,
    decide,
    have_same_files,
)
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from fhcrawl.logical_feed import Version
    from fhcrawl.logical_feed.results import Fetch

logger = logging.getLogger(__name__)

STATS = {outcome: f"fhcrawl/entry/{outcome.value}" for outcome in Outcome}
DROPPED, LOST = "fhcrawl/entry/dropped", "fhcrawl/entry/lost"


class EntryVersion(EntryItem):
    """An entry that passes through the item pipelines, with its version and document.

    These are not fields: pipelines may copy the item, turn it into a dictionary or replace it by another
    EntryItem. They may also set attributes, which are fields that they add: see `added_fields`.
    """

    version: Version
    pending: PendingDocument

    def __copy__(self) -> EntryVersion:
        copied = object.__new__(EntryVersion)
        vars(copied).update(vars(self))
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        return object.__new__, (EntryItem,), dict(self)


# Libraries look up the rules of an item by its class name.
EntryVersion.__name__ = EntryVersion.__qualname__ = EntryItem.__name__


class PendingDocument:
    """A response that the spider is parsing, until the commit of its document has succeeded or failed.

    :param before: done when this document may be read; None if no document of the feed precedes it
    :param turn: done when the next document of the feed may be read
    :param fetch: the request and the response; None if unknown
    :param result: the content of the document; None until the spider has parsed it
    :param batch: the entries that the pipelines returned
    :param is_compared: the spider has parsed the document, and its entries were compared with the store
    """

    def __init__(
        self,
        before: asyncio.Future[None] | None,
        turn: asyncio.Future[None],
        done: Callable[[PendingDocument], None],
    ) -> None:
        self.before = before
        self.turn = turn
        self.fetch: Fetch | None = None
        self.result: DocumentResult | None = None
        self.batch = CommitBatch()
        self.is_compared = False
        self._done = done
        self._losses: list[str] = []
        self._items_under_way = 0
        self._has_ended = False

    def on_item_yielded(self) -> None:
        self._items_under_way += 1

    def on_output_ended(self) -> None:
        self._has_ended = True
        self._finish_if_done()

    def on_item_done(self, loss: str | None = None) -> None:
        """Note that the pipelines have returned an entry, dropped it, or lost it because of `loss`."""
        self._items_under_way -= 1
        if loss is not None:
            self._losses.append(loss)
            self.batch.counts[LOST] += 1
        self._finish_if_done()

    def mark_failed(self, kind: ReasonKind, detail: str) -> None:
        result = self.result
        if result is None and self.fetch is not None:
            result = DocumentResult(self.fetch)
        if result is not None and result.failure is None:
            self._fail(result, DocumentFailure(State.FAILED, kind, detail))

    def _fail(self, result: DocumentResult, failure: DocumentFailure) -> None:
        self.result = result.failed(failure)
        logger.warning("%s %s", result.fetch.requested_url, failure.detail)

    def _finish_if_done(self) -> None:
        if not self._has_ended or self._items_under_way or self.turn.done():
            return
        if self._losses:
            lost = "an entry" if len(self._losses) == 1 else f"{len(self._losses):,} entries"
            self.mark_failed(ReasonKind.PIPELINE_ERROR, f"lost {lost}: {self._losses[0]}")
        self._done(self)


def describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


class DropVersion(DropItem):
    """Drops a version that is counted by its outcome."""


class DuplicatesPipeline:
    """Compares each version with the newest one so far (RFC 5005, 4.2)."""

    def process_item(self, item: object) -> object:
        if not isinstance(item, EntryVersion):
            return item
        version, batch = item.version, item.pending.batch
        winner = batch.winners.get(version.id)
        outcome = decide(version, winner)
        if outcome in (Outcome.NEW, Outcome.UPDATED):
            batch.winners[version.id] = Winner(version.with_overrides_of(winner).order, version.digest)
            item.change = outcome.value
            return item
        batch.counts[STATS[outcome]] += 1
        if outcome is Outcome.STALE:
            batch.supersede(version, vars(item))
        if winner is not None and outcome is Outcome.DUPLICATE and version.order.is_newer(winner.order):
            version = version.with_overrides_of(winner)
            batch.winners[version.id] = winner._replace(order=version.order)
            files = {} if have_same_files(winner, item.enclosures) else {"enclosures": None}
            batch.confirmed[version.id] = (version, {**vars(item), **files})
        raise DropVersion(f"{outcome.value} version of {version.id!r}", log_level="DEBUG")


# Returns why the entry is lost.
def _accept(batch: CommitBatch, version: Version, item: object) -> str | None:
    if not isinstance(item, EntryItem):
        return f"a pipeline returned {type(item).__name__} instead of EntryItem"
    fields = vars(item)
    if added_values := added_fields(item):
        try:
            fields = {**fields, PIPELINE_FIELDS: orjson.dumps(added_values).decode()}
        except orjson.JSONEncodeError as error:
            added_names = ", ".join(added_values)
            return f"a pipeline added fields that cannot be written as JSON ({added_names}: {error})"
    is_updated = version.id in batch.accepted
    outcome = Outcome.UPDATED if is_updated else decide(version, batch.stored.get(version.id))
    batch.counts[STATS[outcome]] += 1
    batch.accept(version, fields)
    return None


# Scrapy has no signal for the end of all items of a response, nor for an item that is lost to a cancellation.
class ItemPipelineManager(pipelines.ItemPipelineManager):
    """Calls the entry's document when the entry is accepted, dropped, or lost to an error."""

    _has_checked = False

    async def process_item_async(self, item: Any) -> Any:
        if not isinstance(item, EntryVersion):
            output = await self._process(item)
            self._warn_of_unexported(item)
            return output
        pending = item.pending
        try:
            output = await self._process(item)
        except DropItem as error:
            if not isinstance(error, DropVersion):
                pending.batch.counts[DROPPED] += 1
            pending.on_item_done()
            raise
        except Exception as error:
            pending.on_item_done(f"an error in the pipelines ({describe(error)})")
            raise
        pending.on_item_done(_accept(pending.batch, item.version, output))
        return output

    async def _process(self, item: Any) -> Any:
        try:
            return await super().process_item_async(item)
        except CancelledError as error:
            # A pipeline awaited a cancelled task. Scrapy would end only the task of this response.
            raise RuntimeError("a pipeline was cancelled") from error

    def _warn_of_unexported(self, item: Any) -> None:
        crawler = self.crawler
        if crawler is None or self._has_checked or not crawler.settings.getdict("FEEDS"):
            return
        self._has_checked = True
        if crawler.get_extension(ItemExporter) is None:
            logger.warning(
                "Items of type %s are not exported, because -o exports only entries of feeds; to export "
                "them, add a destination with item_classes to FEEDS",
                type(item).__name__,
            )
