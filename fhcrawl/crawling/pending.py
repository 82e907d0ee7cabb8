"""A document whose entries are on their way through the pipelines."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from fhcrawl.items import EntryItem
from fhcrawl.logical_feed.batches import CommitBatch
from fhcrawl.logical_feed.results import DocumentFailure, DocumentResult, State
from fhcrawl.reasons import ReasonKind
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from fhcrawl.logical_feed import Version
    from fhcrawl.logical_feed.results import Fetch

logger = logging.getLogger(__name__)

DROPPED = object()


class PendingDocument:
    """A response that the spider reads, until the store has answered the commit of its document.

    :param before: done when this document may be read; None if none of the feed is before it
    :param turn: done when the next document of the feed may be read
    :param fetch: what was asked for, and came; None if that is not known
    :param result: what the document says; None until the spider has read it
    :param batch: what the pipelines have made of its entries
    :param is_compared: the spider has read the document, and the store has been asked about its entries
    :param answer: done when the store has answered the commit; None as long as nothing was sent
    :param is_left: nobody waits for that any more
    :param piece: the number of the piece of the document whose entries are on the way, from 1
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
        self.answer: asyncio.Future[None] | None = None
        self.is_left = False
        self.piece = 1
        self._all_done: asyncio.Future[None] | None = None
        self._done = done
        self._on_the_way = 0
        self._yielded = 0
        self._exhausted = False

    def yielded(self) -> int:
        """Count an item that goes to the pipelines; how many that are."""
        self._on_the_way += 1
        self._yielded += 1
        return self._yielded

    async def wait_for_items(self) -> None:
        """Wait until no item is on the way."""
        if self._on_the_way:
            self._all_done = asyncio.get_running_loop().create_future()
            await self._all_done

    def exhausted(self) -> None:
        """Note that the spider has yielded all."""
        self._exhausted = True
        self._check()

    def on_item_done(self, version: Version, item: object, error: Exception | None) -> None:
        """Take an item that is through the pipelines.

        :param item: what came out of them, or DROPPED
        :param error: that it was lost to, if it was
        """
        self._on_the_way -= 1
        if error is not None:
            self.mark_failed(
                ReasonKind.PIPELINE_ERROR, f"lost an entry to an error in the pipelines ({name_of(error)})"
            )
        elif isinstance(item, EntryItem):
            self.batch.accept(version, vars(item))
        elif item is not DROPPED:
            detail = f"lost an entry to a pipeline that returns {type(item).__name__}, no EntryItem"
            self.mark_failed(ReasonKind.PIPELINE_ERROR, detail)
        self._check()

    def mark_failed(self, kind: ReasonKind, detail: str) -> None:
        """Leave the document unmarked, if nothing else does already."""
        result = self.result
        if result is None and self.fetch is not None:
            result = DocumentResult(self.fetch)
        if result is not None and result.failure is None:
            self._fail(result, DocumentFailure(State.FAILED, kind, detail))

    def end_in_loop(self, url: str) -> None:
        """End the walk with this document, which links back to one that has been read."""
        if self.result is not None:
            result = replace(self.result, older_document=None)
            self._fail(
                result,
                DocumentFailure(State.INVALID, ReasonKind.LOOP, f"links back to {url}: the chain is a loop"),
            )

    def _fail(self, result: DocumentResult, failure: DocumentFailure) -> None:
        self.result = result.failed(failure)
        logger.warning("%s %s", printable(result.fetch.requested_url), failure.detail)

    def note_older_key(self, key: str) -> None:
        """Note what names the next older document in the store."""
        if self.result is not None:
            self.result = replace(self.result, older_key=key)

    def note_left_over(self) -> None:
        """Note that the document is a page that an earlier walk has left unread, or one behind it."""
        if self.result is not None:
            self.result = replace(self.result, is_left_over=True)

    def _check(self) -> None:
        if self._on_the_way:
            return
        if self._all_done is not None and not self._all_done.done():
            self._all_done.set_result(None)
        if self._exhausted and not self.turn.done():
            self._done(self)


def name_of(error: BaseException) -> str:
    """Return the type and the message of an error, for a reason."""
    return printable(f"{type(error).__name__}: {error}")
