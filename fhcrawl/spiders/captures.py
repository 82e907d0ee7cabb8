"""Reads captures of feeds, in WARC files and in web archives, when all walks have ended."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from fhcrawl.crawling import reading, responses, versions
from fhcrawl.crawling.context import context_of
from fhcrawl.crawling.failures import loss_of, wait_of
from fhcrawl.exceptions import LeaseError, NotAFeedError, StoreError
from fhcrawl.extensions.reader import ReaderExtension
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.results import DocumentResult, State
from fhcrawl.reasons import ReasonKind
from fhcrawl.spidermiddlewares.commit import CommitMiddleware
from fhcrawl.spiders.capture_queue import CaptureQueue
from fhcrawl.spiders.web_archives import WebArchives, outcome_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from fhcrawl.crawling.subscriptions import Listed
    from fhcrawl.documents import FeedDocument
    from fhcrawl.items import EntryVersion
    from fhcrawl.logical_feed import Link
    from fhcrawl.logical_feed.results import DocumentFailure, Fetch

logger = logging.getLogger(__name__)

FILE = "file:"


class Captures:
    """The captures of a crawl; its methods return requests without callbacks.

    :param files: paths of WARC files
    :param feeds: the feeds of the crawl
    """

    def __init__(self, crawler: Crawler, files: Sequence[str], feeds: Listed) -> None:
        self._crawler = crawler
        self._in_files = CaptureQueue(crawler, files, feeds) if files else None
        self._in_archives = WebArchives(crawler, feeds)

    async def build(self) -> None:
        """Read the index of the WARC files."""
        if self._in_files is not None:
            await self._in_files.build()

    def close(self) -> None:
        """Close the index of the WARC files."""
        if self._in_files is not None:
            self._in_files.close()

    def first(self) -> list[Request]:
        """Return the requests for the first capture of each feed."""
        found = [] if self._in_files is None else self._in_files.first()
        try:
            found.extend(self._in_archives.first())
        except StoreError as error:
            self._extension.fail(error)
        return found

    def parse(self, response: Response) -> Iterator[Request | EntryVersion]:
        """Parse a capture: yield the request for the next one, then its entries."""
        fetch = responses.fetch_from_response(response)
        try:
            document = ReaderExtension.of(self._crawler).read(response)
        except NotAFeedError as error:
            failure = self._outcome(fetch, response, reading.unread(response, error))
            self._lose(fetch, failure)
            self._source(fetch).note_read(DocumentResult(fetch, failure=failure))
            yield from self._next(fetch)
            return
        read = reading.read_document(fetch, response, document)
        self._want_others(fetch, document, read.result.older_document)
        # The links of a capture do not belong to the feed's chain today.
        result = replace(read.result, older_document=None)
        if result.failure is not None:
            result = result.failed(self._outcome(fetch, response, result.failure))
        self._source(fetch).note_read(result)
        reading.log_problems(result, document)
        pending = self._commits.record_document(response, result)
        yield from self._next(fetch)
        yield from versions.items(pending, read)

    # Whether a body was cut off on its way, or in the archive, the next request for it tells.
    def _outcome(self, fetch: Fetch, response: Response, failure: DocumentFailure) -> DocumentFailure:
        """Return the failure of a capture that was served: another request would bring the same, or more."""
        if "dataloss" in response.flags and self._source(fetch) is self._in_archives:
            return replace(failure, state=State.FAILED, kind=ReasonKind.CUT_OFF)
        return _final(failure)

    def _want_others(self, fetch: Fetch, document: FeedDocument, older: Link | None) -> None:
        """Want the captures of the documents that a capture leads to."""
        queue = self._source(fetch)
        if older is not None:
            queue.want(fetch.feed, older.url, 1 - fetch.position.step)
        # A podcast has moved; an archive of it has not.
        if document.new_url is not None and not fetch.position.step:
            queue.want(fetch.feed, document.new_url, 0)

    def parse_timemap(self, response: Response) -> Iterator[Request]:
        """Parse what a web archive has of a document; yield the next request."""
        fetch = responses.fetch_from_response(response)
        yield from self._stored(fetch, self._in_archives.parse_timemap(response, fetch))

    def lose(self, failure: Failure) -> Iterator[Request]:
        """Note why a request has failed; yield the next one."""
        request = failure.request  # type: ignore[attr-defined]
        wait, reason, context = wait_of(failure), loss_of(failure), context_of(request)
        fetch = responses.fetch_from_request(request)
        if context.role is Role.CAPTURE and context.memento is None:
            self._lose(fetch, _final(reason))
            self._source(fetch).note_read(DocumentResult(fetch, failure=reason))
            yield from () if reason.state is State.KNOWN else self._next(fetch)
            return
        if fetch.memento is not None and reason.state is not State.KNOWN:
            self._lose(fetch, outcome_of(reason))
        yield from self._stored(fetch, self._in_archives.lose(fetch, reason, wait))

    def _next(self, fetch: Fetch) -> Iterator[Request]:
        yield from self._stored(fetch, self._source(fetch).next(fetch.feed))

    def _source(self, fetch: Fetch) -> CaptureQueue | WebArchives:
        """Return what has made the request for a capture."""
        of_files = self._in_files
        return self._in_archives if of_files is None or not fetch.key.startswith(FILE) else of_files

    def _stored(self, fetch: Fetch, following: Iterator[Request]) -> Iterator[Request]:
        """Yield requests whose making needs the store; note its errors."""
        try:
            yield from following
        except LeaseError as error:
            self._extension.yield_to_other(fetch.feed, error)
        except StoreError as error:
            self._extension.fail(error)

    def _lose(self, fetch: Fetch, failure: DocumentFailure) -> None:
        say = logger.info if failure.state is State.KNOWN else logger.warning
        say("%s at %s %s", fetch.requested_url, fetch.fetched, failure.detail)
        self._commits.record_failure(DocumentResult(fetch, failure=failure))

    @cached_property
    def _commits(self) -> CommitMiddleware:
        return CommitMiddleware.of(self._crawler)

    @property
    def _extension(self) -> StoreExtension:
        return StoreExtension.of(self._crawler)


def _final(failure: DocumentFailure) -> DocumentFailure:
    """Return the failure of a capture that is not asked for again."""
    return replace(failure, state=State.INVALID) if failure.state is State.FAILED else failure
