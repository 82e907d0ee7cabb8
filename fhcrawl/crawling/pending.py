"""Documents whose entries are passing through the pipelines, and the unfinished requests of each walk."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from fhcrawl.crawling.context import feed_of
from fhcrawl.items import EntryItem, added_fields
from fhcrawl.logical_feed.results import ADDED, CommitBatch, DocumentFailure, DocumentResult, State
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Container, Iterator

    from scrapy import Request

    from fhcrawl.logical_feed import Version
    from fhcrawl.logical_feed.results import Fetch

logger = logging.getLogger(__name__)

DROPPED = object()


class EntryVersion(EntryItem):
    """An entry that passes through the item pipelines.

    It refers to its version and its document; these are not fields of the item, so that pipelines may copy
    it, turn it into a dictionary or replace it by another EntryItem. Pipelines may also set attributes, which
    are fields that they add: see `added_fields`.
    """

    version: Version
    pending: PendingDocument

    def __copy__(self) -> EntryVersion:
        """Return an item with the same fields, of the same document."""
        copied = object.__new__(EntryVersion)
        vars(copied).update(vars(self))
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the fields alone: deep copies and pickles are of the class EntryItem."""
        return object.__new__, (EntryItem,), dict(self)


# Libraries choose the rules for an item by the name of its class.
EntryVersion.__name__ = EntryVersion.__qualname__ = EntryItem.__name__


class PendingDocument:
    """A response that the spider is parsing, until the commit of its document has succeeded or failed.

    :param before: done when this document may be read; None if no document of the feed precedes it
    :param turn: done when the next document of the feed may be read
    :param fetch: the request and the response; None if they are not known
    :param result: the content of the document; None until the spider has parsed it
    :param batch: the entries that the pipelines returned
    :param is_compared: the spider has parsed the document, and its entries were compared with the store
    :param answer: done when the commit has succeeded or failed; None until it is sent
    :param is_left: `process_spider_output` has ended, and waits no longer for the answer
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
        self._done = done
        self._on_the_way = 0
        self._exhausted = False

    def yielded(self) -> None:
        """Count an item that is sent to the pipelines."""
        self._on_the_way += 1

    def exhausted(self) -> None:
        """Note that the spider has yielded all items."""
        self._exhausted = True
        self._check()

    def on_item_done(self, version: Version, item: object, error: BaseException | None) -> None:
        """Add an item that the pipelines have processed to the batch.

        :param item: what the last pipeline returned, or DROPPED
        :param error: the exception that a pipeline raised, if any
        """
        self._on_the_way -= 1
        if error is not None:
            self.mark_failed(
                ReasonKind.PIPELINE_ERROR, f"lost an entry to an error in the pipelines ({name_of(error)})"
            )
        elif isinstance(item, EntryItem):
            self._accept(version, item)
        elif item is not DROPPED:
            detail = f"lost an entry to a pipeline that returns {type(item).__name__} instead of EntryItem"
            self.mark_failed(ReasonKind.PIPELINE_ERROR, detail)
        self._check()

    def _accept(self, version: Version, item: EntryItem) -> None:
        fields = vars(item)
        if added := added_fields(item):
            try:
                fields = {**fields, ADDED: orjson.dumps(added).decode()}
            except orjson.JSONEncodeError as error:
                names = ", ".join(added)
                detail = (
                    "lost an entry to a pipeline that adds fields that cannot be written as JSON "
                    f"({names}: {error})"
                )
                self.mark_failed(ReasonKind.PIPELINE_ERROR, detail)
                return
        self.batch.accept(version, fields)

    def mark_failed(self, kind: ReasonKind, detail: str) -> None:
        """Add a failure, unless there is one, so that the document is not marked as processed."""
        result = self.result
        if result is None and self.fetch is not None:
            result = DocumentResult(self.fetch)
        if result is not None and result.failure is None:
            self._fail(result, DocumentFailure(State.FAILED, kind, detail))

    def end_in_loop(self, url: str, keeps_link: bool) -> None:
        """End the walk at this document, whose links lead back to it, or to one that the run has read.

        :param keeps_link: store its link, so that the documents of the loop are checked
        """
        if self.result is not None:
            self._fail(
                self.result if keeps_link else replace(self.result, older_document=None),
                DocumentFailure(
                    State.INVALID, ReasonKind.LOOP, f"links back to {url}: the chain forms a loop"
                ),
            )

    def _fail(self, result: DocumentResult, failure: DocumentFailure) -> None:
        self.result = result.failed(failure)
        logger.warning("%s %s", result.fetch.requested_url, failure.detail)

    def note(self, **fields: Any) -> None:
        """Set fields of the result, if there is one."""
        if self.result is not None:
            self.result = replace(self.result, **fields)

    def _check(self) -> None:
        if self._exhausted and not self._on_the_way and not self.turn.done():
            self._done(self)


def name_of(error: BaseException) -> str:
    """Return the type and the message of an error, for the detail of a reason."""
    return f"{type(error).__name__}: {error}"


class UnderWay:
    """Counts, for each feed, the requests of its walk that are in the scheduler or in progress in the engine.

    A request is in progress until everything that it causes is done: the requests that replace it (redirects,
    retries) or follow it are in the scheduler, its entries have passed the pipelines, and `CommitMiddleware`
    has the store's answer. So a feed without requests is done. Requests that are made without the scheduler
    (robots.txt) write nothing to the store, and are not counted.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._in_hand: dict[Request, str] = {}
        self._done: list[str] = []

    def wait(self, request: Request) -> None:
        """Count a request that is in the scheduler."""
        feed = feed_of(request)
        if feed is not None:
            self._counts[feed] += 1

    def take(self, request: Request) -> None:
        """Note that the engine takes a request from the scheduler."""
        feed = feed_of(request)
        if feed is not None:
            self._in_hand[request] = feed

    def end(self, in_hand: Container[Request]) -> None:
        """Forget the requests that have ended.

        :param in_hand: the requests that are in progress
        """
        for request in [request for request in self._in_hand if request not in in_hand]:
            self._end(self._in_hand.pop(request))

    def done(self, in_hand: Container[Request]) -> list[str]:
        """Return the feeds that have been done since the last call; each once.

        :param in_hand: the requests that are in progress
        """
        self.end(in_hand)
        # A feed may have new requests since then: those for captures.
        done = [feed for feed in dict.fromkeys(self._done) if feed not in self._counts]
        self._done = []
        return done

    def is_busy(self, feed: str) -> bool:
        """Return whether a feed has requests, or `done` has not returned it yet."""
        return feed in self._counts or feed in self._done

    @contextmanager
    def begun(self, feed: str) -> Iterator[None]:
        """Keep a feed from being done inside a `with` block, in which more requests are made."""
        self._counts[feed] += 1
        try:
            yield
        finally:
            self._end(feed)

    def _end(self, feed: str) -> None:
        self._counts[feed] -= 1
        if not self._counts[feed]:
            del self._counts[feed]
            self._done.append(feed)
