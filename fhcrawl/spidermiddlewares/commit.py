"""Commits a document when the last of its entries has passed the pipelines."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import load_object

from fhcrawl import signals
from fhcrawl.crawling import reading
from fhcrawl.crawling.context import feed_of
from fhcrawl.crawling.responses import fetch_from_response
from fhcrawl.exceptions import ArgumentError, FhcrawlError, LeaseError, StoreError
from fhcrawl.extensions import Component
from fhcrawl.extensions.reader import ReaderExtension
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import Link
from fhcrawl.logical_feed.results import DocumentFailure, DocumentResult, State
from fhcrawl.pipelines import EntryVersion, ItemPipelineManager, PendingDocument, name_of
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from fhcrawl.documents import FeedDocument
    from fhcrawl.logical_feed import Version
    from fhcrawl.logical_feed.results import CommitBatch, Fetch
    from fhcrawl.store import DocumentRef

logger = logging.getLogger(__name__)

NOT_NOTED = DocumentFailure(
    State.FAILED, ReasonKind.STORE_ERROR, "is unchanged, but that could not be stored"
)


class CommitMiddleware(Component):
    """Counts a document's entries in the pipelines, then commits them, and marks the document as processed.

    Documents of one feed take turns: each is read when the commit of the one before it has been sent, so that
    its entries are compared with that document's. The next one is downloaded meanwhile.

    :raises ArgumentError: if the setting ITEM_PROCESSOR names a class that tells nobody what it has done
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if not issubclass(load_object(crawler.settings["ITEM_PROCESSOR"]), ItemPipelineManager):
            path = f"{ItemPipelineManager.__module__}.{ItemPipelineManager.__name__}"
            raise ArgumentError(f"ITEM_PROCESSOR must be {path} or a subclass of it")
        self._extension = StoreExtension.of(crawler)
        self._store = self._extension.store
        self._reader = ReaderExtension.of(crawler)
        self._pending: dict[Response, PendingDocument] = {}
        self._turns: dict[str, asyncio.Future[None]] = {}

    @classmethod
    def of(cls, crawler: Crawler) -> Self:
        """Return the middleware of a crawl.

        :raises FhcrawlError: if SPIDER_MIDDLEWARES has none
        """
        found = crawler.get_spider_middleware(cls)
        if found is None:
            raise FhcrawlError(f"{cls.__name__} is not in SPIDER_MIDDLEWARES")
        return found

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Wait for the document's turn, then count the items of the spider; ignore feeds that are skipped.

        A response to a request of a subclass's own passes.
        """
        feed = feed_of(response)
        if feed is None:
            async for output in result:
                yield output
            return
        pending = self._line_up(feed, response)
        try:
            await self._take_turn(pending, response)
            if feed not in self._extension.skipped_feeds:
                async for output in self._count_entries(pending, result):
                    yield output
        except StoreError as error:
            self._extension.fail(error)
            pending.mark_failed(ReasonKind.STORE_ERROR, f"could not be read completely ({name_of(error)})")
        except BaseException as error:
            self._mark_failed(pending, feed, f"could not be read completely ({name_of(error)})")
            raise
        finally:
            del self._pending[response]
            self._reader.forget(response)
            pending.exhausted()
            # Until the answer, Scrapy counts the response as in progress: the crawl does not end.
            if pending.answer is not None:
                await pending.answer
            pending.is_left = True

    async def _count_entries(
        self, pending: PendingDocument, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        async for output in result:
            if not isinstance(output, EntryVersion):
                yield output
                continue
            if not pending.is_compared:
                continue
            pending.yielded()
            yield output

    # Nothing here may raise: the next document of the feed waits for the end of this turn.
    def _line_up(self, feed: str, response: Response) -> PendingDocument:
        turn = asyncio.get_running_loop().create_future()

        def done(pending: PendingDocument) -> None:
            try:
                self._finish(pending)
            finally:
                if self._turns.get(feed) is turn:
                    del self._turns[feed]
                turn.set_result(None)

        pending = self._pending[response] = PendingDocument(self._turns.get(feed), turn, done)
        self._turns[feed] = turn
        return pending

    async def _take_turn(self, pending: PendingDocument, response: Response) -> None:
        try:
            pending.fetch = fetch_from_response(response)
            self._reader.begin(response)
        finally:
            # Even after an error: the end of this turn means the end of all turns before it.
            if pending.before is not None:
                await pending.before
        await self._reader.wait(response)

    def _mark_failed(self, pending: PendingDocument, feed: str, detail: str) -> None:
        """Add a failure to a document, or to the feed if the document is unknown."""
        pending.mark_failed(ReasonKind.ERROR, detail)
        if pending.fetch is None:
            loss = DocumentFailure(State.FAILED, ReasonKind.ERROR, detail)
            self._extension.unrecorded_failures[feed] = loss

    def find(self, response: Response) -> PendingDocument | None:
        """Return the pending document of a response; None if the spider has not parsed it."""
        pending = self._pending.get(response)
        return None if pending is None or pending.result is None else pending

    def record_document(self, response: Response, result: DocumentResult) -> PendingDocument:
        """Set the result of a document, and compare its entries with the store."""
        pending = self._pending[response]
        pending.result = result
        pending.batch.counts += result.counts
        try:
            stored = self._store.entries.compare(result)
        except Exception as error:  # noqa: BLE001 - after any error, no entry can be processed
            self._extension.fail(error)
            detail = f"could not be compared with the store ({name_of(error)})"
            pending.mark_failed(ReasonKind.STORE_ERROR, detail)
        else:
            pending.batch.compare(stored, result.deletions)
            pending.is_compared = True
        self._send(signals.document_read, result=result, batch=pending.batch, response=response)
        return pending

    def yield_document(
        self,
        response: Response,
        document: FeedDocument,
        result: DocumentResult,
        found: list[Version | None],
        following: Iterable[Request] = (),
    ) -> Iterator[Request | EntryVersion]:
        """Record a document; yield the requests that follow, which are made after that, then its entries.

        :param found: see `reading.read_document`
        """
        reading.log_problems(result, document)
        pending = self.record_document(response, result)
        yield from following
        yield from _items(pending, document, result, found)

    def lose(self, fetch: Fetch, failure: DocumentFailure, of: str = "") -> None:
        """Log a failure, and store it.

        :param of: which capture of the URL has failed
        """
        say = logger.info if failure.state is State.KNOWN else logger.warning
        say("%s%s %s", fetch.requested_url, of, failure.detail)
        self.record_failure(DocumentResult(fetch, failure=failure))

    def record_failure(self, result: DocumentResult) -> None:
        """Store the failure of a document, and send `document_lost`."""
        failure, feed = result.failure, result.fetch.feed
        if failure is not None and feed not in self._extension.skipped_feeds:
            if failure.state is not State.KNOWN:
                self._count("document", failure.state.value)
            self._tell(self._store.documents.note_failure, result, failure)
        self._send(signals.document_lost, result=result)

    def record_unchanged(self, result: DocumentResult, older: DocumentRef | None) -> None:
        """Store that a subscription document is unchanged, and send `document_unchanged`.

        :param older: the older document that is left to be read
        """
        link = None if older is None else Link(older.role, older.url)
        result = replace(result, older_document=link)
        self._count("document", "unchanged")
        self._tell(self._store.documents.note_confirmation, result, NOT_NOTED)
        self._send(signals.document_unchanged, result=result)

    def record_doubt(self, fetch: Fetch, since: str, failure: DocumentFailure | None = None) -> None:
        """Store that a server has sent 304 for a document that has changed, or that this is not known.

        :param since: when the document was received before that
        :param failure: why it is not known
        """
        if failure is None:
            logger.warning(
                "%s: the server responded 304 (not modified) to a request with the validators of %s, "
                "although there are new entries; from now on, this feed is requested without conditions",
                *(fetch.requested_url, since),
            )
        doubted = DocumentResult(fetch, doubted_since=since, failure=failure)
        self._tell(self._store.documents.note_doubt, doubted, NOT_NOTED)

    def record_check(self, result: DocumentResult) -> None:
        """Store that a document that was requested again is unchanged, or why that is not known."""
        failure = result.failure
        if failure is None:
            self._count("check", "unchanged")
            self._tell(self._store.documents.note_check, result, NOT_NOTED)
            self._send(signals.document_unchanged, result=result)
            return
        say = logger.info if failure.state is State.KNOWN else logger.warning
        say("%s %s; what was read of it before is kept", result.fetch.requested_url, failure.detail)
        if failure.state is not State.KNOWN:
            self._count("check", "failed")
            self._tell(self._store.documents.note_check, result, NOT_NOTED)
        self._send(signals.document_lost, result=result)

    def _tell(
        self, tell: Callable[[DocumentResult], None], result: DocumentResult, failure: DocumentFailure
    ) -> None:
        """Call a method of the store; on an error, skip the feed, with a failure for the end of the run."""
        try:
            tell(result)
        except LeaseError as error:
            self._extension.yield_to_other(result.fetch.feed, error)
        except Exception as error:  # noqa: BLE001 - after any error, nothing is stored
            self._extension.give_up(result.fetch.feed, failure, error)

    def _finish(self, pending: PendingDocument) -> None:
        """Send the commit of a document, or store its failure if it was not compared."""
        result, batch = pending.result, pending.batch
        if result is None:
            return
        if not pending.is_compared:
            if result.failure is not None:
                self.record_failure(result)
            return
        pending.answer = answer = asyncio.get_running_loop().create_future()

        def done(outcome: int | Exception) -> None:
            try:
                self._note(result, batch, outcome)
            finally:
                if not answer.done():
                    answer.set_result(None)

        self._store.documents.send(result, batch, done)
        if pending.is_left:
            self._store.wait()

    def _note(self, result: DocumentResult, batch: CommitBatch, outcome: int | Exception) -> None:
        """Process the outcome of a commit."""
        if isinstance(outcome, LeaseError):
            self._extension.yield_to_other(result.fetch.feed, outcome)
        elif isinstance(outcome, Exception):
            # After any error, the document is not stored.
            self.record_failure(self._uncommitted(result, outcome))
        else:
            self._note_committed(result, batch, outcome)

    def _note_committed(self, result: DocumentResult, batch: CommitBatch, deleted: int) -> None:
        for name, count in batch.counts.items():
            self._crawler.stats.inc_value(name, count)
        if deleted:
            self._crawler.stats.inc_value("fhcrawl/entry/deleted", deleted)
        self._count("document", result.failure.state.value if result.failure else "processed")
        if result.fetch.is_check:
            unless_changed = "failed" if result.failure else "unchanged"
            self._count("check", "changed" if batch.accepted or deleted else unless_changed)
        self._send(signals.document_committed, result=result, batch=batch, deleted=deleted)

    def _uncommitted(self, result: DocumentResult, error: Exception) -> DocumentResult:
        detail = f"could not be stored ({name_of(error)})"
        exc_info = None if isinstance(error, StoreError) else error
        logger.error("%s %s", result.fetch.requested_url, detail, exc_info=exc_info)
        if isinstance(error, StoreError):
            self._extension.fail(error)
        return result.failed(DocumentFailure(State.FAILED, ReasonKind.STORE_ERROR, detail))

    def _send(self, signal: object, **kwargs: Any) -> None:
        self._crawler.signals.send_catch_log(signal, spider=self._crawler.spider, **kwargs)

    def _count(self, noun: str, outcome: str) -> None:
        self._crawler.stats.inc_value(f"fhcrawl/{noun}/{outcome}")


def _items(
    pending: PendingDocument, document: FeedDocument, result: DocumentResult, found: list[Version | None]
) -> Iterator[EntryVersion]:
    for entry, version in zip(document.entries, found, strict=True):
        if version is None:
            continue
        item = EntryVersion(
            result.fetch.feed,
            version.id,
            entry.title,
            entry.link,
            entry.published,
            entry.updated,
            entry.authors,
            entry.categories,
            entry.summary,
            entry.content,
            entry.content_type,
            entry.enclosures,
            entry.operation,
            result.fetch.url,
            result.updated,
            title_type=entry.title_type,
            summary_type=entry.summary_type,
            base=entry.base or result.fetch.url,
            language=entry.language or None,
        )
        item.version = version
        item.pending = pending
        yield item
