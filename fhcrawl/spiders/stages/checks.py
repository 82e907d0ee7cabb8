"""Documents that were read before, which are requested again to see whether they have changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fhcrawl.crawling import reading, requests
from fhcrawl.crawling.context import Recheck, context_of
from fhcrawl.crawling.failures import UNEXPECTED_304
from fhcrawl.documents import as_feed
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.logical_feed.results import DocumentResult, is_of_host
from fhcrawl.spiders.stages.stage import Row, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response

    from fhcrawl.crawling.context import RequestContext
    from fhcrawl.crawling.feedcrawl import FeedCrawl
    from fhcrawl.documents import FeedDocument
    from fhcrawl.logical_feed.absences import EarlierReading
    from fhcrawl.logical_feed.results import DocumentFailure, Fetch
    from fhcrawl.spiders.stages.stage import Output


class Checks(Stage):
    """Requests documents of a chain again, one after another. A failed request takes nothing away."""

    @property
    def _row(self) -> Row:
        return Row(self._parse, self._lose)

    def _request(self, feed: FeedCrawl, task: Recheck, documents: int = 2) -> Iterator[Request]:
        for position, document_id in enumerate(task.following, 1):
            checked = self._store.documents.find_checked(document_id)
            if checked is not None:
                following = replace(task, following=task.following[position:])
                yield requests.check(checked, feed.walk, following, documents)
                return

    def _next(
        self,
        feed: FeedCrawl,
        context: RequestContext,
        failure: DocumentFailure | None,
        result: DocumentResult | None = None,
        earlier: EarlierReading | None = None,
    ) -> Iterator[Request]:
        """Yield the request for the next document.

        :param result, earlier: of a document that was received, and of its earlier reading
        """
        if isinstance(context.task, Recheck) and (failure is None or not is_of_host(failure)):
            yield from self._request(feed, context.task, context.documents + 1)

    def _parse(self, feed: FeedCrawl, fetch: Fetch, response: Response) -> Output:
        if response.status == requests.NOT_MODIFIED:
            result = reading.unchanged_result(fetch, response)
            result = result if requests.was_conditional(response) else result.failed(UNEXPECTED_304)
            yield from self._end(feed, result, context_of(response))
            return
        try:
            document = as_feed(self._parse_response(response))
        except NotAFeedError as error:
            yield from self._lose(feed, fetch, response, reading.parse_failure(response, error))
        else:
            yield from self._read_document(feed, fetch, response, document)

    def _read_document(
        self, feed: FeedCrawl, fetch: Fetch, response: Response, document: FeedDocument
    ) -> Output:
        result, versions, earlier = self._read_of_chain(feed, fetch, response, document)
        newer = self._find_repeated(feed, result, document, versions)
        if newer is not None and reading.is_end(response, result, newer.role):
            yield from self._read_document(feed, fetch, response, reading.empty_document())
            return
        following = [*self._next(feed, context_of(response), result.failure, result, earlier)]
        following += self._last_page(feed, response, document, result)
        if reading.has_hidden_news(response, result, earlier):
            following.append(requests.conditional(feed.walk, response))
        # If the oldest document links to an older one now, the chain has grown.
        follows = reading.has_grown(result, earlier)
        yield from self._finish(feed, response, document, result, versions, earlier, following, follows)

    def _lose(
        self, feed: FeedCrawl, fetch: Fetch, request: Request | Response, failure: DocumentFailure
    ) -> Iterator[Request]:
        yield from self._end(feed, DocumentResult(fetch, failure=failure), context_of(request))

    def _end(self, feed: FeedCrawl, result: DocumentResult, context: RequestContext) -> Iterator[Request]:
        self._commits.record_check(result)
        yield from self._next(feed, context, result.failure)
