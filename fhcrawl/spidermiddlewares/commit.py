"""Commits a document when the last of its entries has passed the pipelines."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from scrapy.spidermiddlewares import httperror
from scrapy.utils.misc import load_object

from fhcrawl import signals
from fhcrawl.crawling import reading
from fhcrawl.crawling.context import feed_of
from fhcrawl.crawling.requests import fetch_from_response
from fhcrawl.exceptions import ArgumentError, FhcrawlError, LeaseError, StoreError
from fhcrawl.extensions import Component
from fhcrawl.extensions.reader import ReaderExtension
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed.results import DocumentFailure, DocumentResult, State, Validators
from fhcrawl.pipelines import EntryVersion, ItemPipelineManager, PendingDocument, describe
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from fhcrawl.documents import FeedDocument
    from fhcrawl.logical_feed import Version, Winner
    from fhcrawl.logical_feed.results import CommitBatch, Fetch

logger = logging.getLogger(__name__)

NOT_STORED = DocumentFailure(
    State.FAILED, ReasonKind.STORE_ERROR, "is unchanged, but that could not be stored"
)


class CommitMiddleware(Component):
    """Counts a document's entries in the pipelines, then commits them, and marks the document as processed.

    Documents of one feed take turns: each is read when the commit of the one before it has been sent, so that
    its entries are compared with that document's. The next one is downloaded meanwhile.
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
        self._error = ""  # the last one of a comparison

    @classmethod
    def of(cls, crawler: Crawler) -> Self:
        middleware = crawler.get_spider_middleware(cls)
        if middleware is None:
            raise FhcrawlError(f"{cls.__name__} is not in SPIDER_MIDDLEWARES")
        return middleware

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        feed = feed_of(response)
        if feed is None:  # a response to a subclass's own request
            async for output in result:
                yield output
            return
        pending = self._begin_turn(feed, response)
        try:
            await self._wait_for_turn(pending, response)
            if feed not in self._extension.skipped_feeds:
                async for output in _count_entries(pending, result):
                    yield output
        except StoreError as error:
            self._extension.fail(error)
            pending.mark_failed(ReasonKind.STORE_ERROR, f"could not be read completely ({describe(error)})")
        except BaseException as error:
            self._mark_failed(pending, feed, f"could not be read completely ({describe(error)})")
            raise
        finally:
            del self._pending[response]
            self._reader.forget(response)
            pending.on_output_ended()

    def _mark_failed(self, pending: PendingDocument, feed: str, detail: str) -> None:
        pending.mark_failed(ReasonKind.ERROR, detail)
        if pending.fetch is None:
            loss = DocumentFailure(State.FAILED, ReasonKind.ERROR, detail)
            self._extension.unrecorded_failures[feed] = loss

    # Must not raise: the next document of the feed waits for the end of this turn.
    def _begin_turn(self, feed: str, response: Response) -> PendingDocument:
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

    async def _wait_for_turn(self, pending: PendingDocument, response: Response) -> None:
        try:
            pending.fetch = fetch_from_response(response)
            self._reader.begin_parsing(response)
        finally:
            # Even after an error: the end of this turn means the end of all turns before it.
            if pending.before is not None:
                await pending.before
        await self._reader.wait_until_parsed(response)

    def compare(self, result: DocumentResult) -> dict[str, Winner] | None:
        """Return the newest stored versions of a document's entries, by id; None after an error."""
        try:
            if result.new_shared_ids:
                known = self._store.entries.read_shared_ids(result.fetch.feed)
                self._store.documents.share_ids(result, known)
            return self._store.entries.compare(result)
        except Exception as error:  # noqa: BLE001 - after any error, no entry can be processed
            self._extension.fail(error)
            self._error = describe(error)
            return None

    def record_document(
        self, response: Response, result: DocumentResult, stored: dict[str, Winner] | None
    ) -> PendingDocument:
        """Set the result of a document, which is final, and the stored versions of its entries."""
        pending = self._pending[response]
        pending.result = result
        pending.batch.counts += result.counts
        if stored is None:
            detail = f"could not be compared with the store ({self._error})"
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
        versions: list[Version | None],
        stored: dict[str, Winner] | None,
        following: Iterable[Request] = (),
    ) -> Iterator[Request | EntryVersion]:
        """Record a document; yield the requests that follow, which are made after that, then its entries."""
        reading.log_problems(result, document)
        pending = self.record_document(response, result, stored)
        yield from following
        yield from _entry_items(pending, document, result, versions)

    def record_loss(self, fetch: Fetch, failure: DocumentFailure, which: str = "") -> None:
        _log(failure, "%s%s %s", fetch.requested_url, which, failure.detail)
        self.record_failure(DocumentResult(fetch, failure=failure))

    def record_failure(self, result: DocumentResult) -> None:
        failure, feed = result.failure, result.fetch.feed
        if failure is not None and feed not in self._extension.skipped_feeds:
            if failure.state is not State.KNOWN:
                self._count("document", failure.state.value)
            self._store_result(self._store.documents.note_failure, result, failure)
        self._send(signals.document_lost, result=result)

    def record_unchanged(self, result: DocumentResult) -> None:
        """Store that a subscription document is unchanged; its older document is left to be read."""
        self._count("document", "unchanged")
        self._store_result(self._store.documents.note_confirmation, result)
        self._send(signals.document_unchanged, result=result)

    def record_doubt(self, fetch: Fetch, since: str, failure: DocumentFailure | None = None) -> None:
        """Store that a server sent 304 for a changed document, or why this could not be checked."""
        if failure is None:
            logger.warning(
                "%s: the server responded 304 (not modified) to a request with the validators of %s, "
                "although there are new entries; from now on, this feed is requested without conditions",
                *(fetch.requested_url, since),
            )
        result = DocumentResult(fetch, validators=Validators(doubted_since=since), failure=failure)
        self._store_result(self._store.documents.note_doubt, result)

    def record_check(self, result: DocumentResult) -> None:
        """Store that a rechecked document is unchanged, or why this could not be checked."""
        failure = result.failure
        if failure is not None:
            url = result.fetch.requested_url
            _log(failure, "%s %s; what was read of it before is kept", url, failure.detail)
        if failure is None or failure.state is not State.KNOWN:
            self._count("check", "failed" if failure else "unchanged")
            self._store_result(self._store.documents.note_check, result)
        self._send(signals.document_lost if failure else signals.document_unchanged, result=result)

    def _store_result(
        self,
        write: Callable[[DocumentResult], None],
        result: DocumentResult,
        failure: DocumentFailure = NOT_STORED,
    ) -> None:
        try:
            write(result)
        except LeaseError as error:
            self._extension.yield_to_other(result.fetch.feed, error)
        except Exception as error:  # noqa: BLE001 - after any error, nothing is stored
            self._extension.give_up(result.fetch.feed, failure, error)

    def _finish(self, pending: PendingDocument) -> None:
        result, batch = pending.result, pending.batch
        if result is None:
            return
        if not pending.is_compared:
            if result.failure is not None:
                self.record_failure(result)
            return
        outcome: int | Exception
        try:
            outcome = self._store.documents.write(result, batch)
        except Exception as error:  # noqa: BLE001 - the document is not stored
            outcome = error
        self._note_outcome(result, batch, outcome)

    def _note_outcome(self, result: DocumentResult, batch: CommitBatch, outcome: int | Exception) -> None:
        if isinstance(outcome, LeaseError):
            self._extension.yield_to_other(result.fetch.feed, outcome)
            return
        if isinstance(outcome, Exception):
            # After any error, the document is not stored.
            url, is_expected = result.fetch.requested_url, isinstance(outcome, StoreError)
            detail = f"could not be stored ({describe(outcome)})"
            logger.error("%s %s", url, detail, exc_info=None if is_expected else outcome)
            if is_expected:
                self._extension.fail(outcome)
            failure = DocumentFailure(State.FAILED, ReasonKind.STORE_ERROR, detail)
            self.record_failure(result.failed(failure))
            return
        for name, count in batch.counts.items():
            self._crawler.stats.inc_value(name, count)
        if outcome:
            self._crawler.stats.inc_value("fhcrawl/entry/deleted", outcome)
        self._count("document", result.failure.state.value if result.failure else "processed")
        if result.fetch.is_check:
            check_outcome = "failed" if result.failure else "unchanged"
            self._count("check", "changed" if batch.accepted or outcome else check_outcome)
        self._send(signals.document_committed, result=result, batch=batch, deleted=outcome)

    def _send(self, signal: object, **kwargs: Any) -> None:
        self._crawler.signals.send_catch_log(signal, spider=self._crawler.spider, **kwargs)

    def _count(self, noun: str, outcome: str) -> None:
        self._crawler.stats.inc_value(f"fhcrawl/{noun}/{outcome}")


def _log(failure: DocumentFailure, message: str, *args: object) -> None:
    logger.log(logging.INFO if failure.state is State.KNOWN else logging.WARNING, message, *args)


async def _count_entries(pending: PendingDocument, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for output in result:
        if isinstance(output, EntryVersion):
            if not pending.is_compared:
                continue
            pending.on_item_yielded()
        yield output


def _entry_items(
    pending: PendingDocument, document: FeedDocument, result: DocumentResult, versions: list[Version | None]
) -> Iterator[EntryVersion]:
    for entry, version in zip(document.entries, versions, strict=True):
        if version is None:
            continue
        item = EntryVersion(
            feed=result.fetch.feed,
            id=version.id,
            title=entry.title,
            link=entry.link,
            published=entry.published,
            updated=entry.updated,
            authors=entry.authors,
            categories=entry.categories,
            summary=entry.summary,
            content=entry.content,
            content_type=entry.content_type,
            enclosures=entry.enclosures,
            operation=entry.operation,
            document=result.fetch.url,
            document_updated=result.metadata.updated,
            title_type=entry.title_type,
            summary_type=entry.summary_type,
            base=entry.base or result.fetch.url,
            language=entry.language or None,
            shared_id=version.shared_id,
        )
        item.version = version
        item.pending = pending
        yield item


# RFC 9110, 15.3.7: 206 is the answer to a request for a range. RFC 3229, 10.4.1: 226 is the answer to a
# request that accepts a difference (A-IM). fhcrawl requests neither: such a response is not complete.
PARTS = (206, 226)


class HttpErrorMiddleware(httperror.HttpErrorMiddleware):
    """Treats a 206 or 226 that was not requested as an error; Scrapy accepts every 2xx."""

    def process_spider_input(self, response: Response) -> None:  # type: ignore[override]
        is_requested = response.request is not None and "Range" in response.request.headers
        if response.status in PARTS and not is_requested and feed_of(response) is not None:
            raise httperror.HttpError(response, "a part of a document")
        super().process_spider_input(response)
