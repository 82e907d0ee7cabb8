"""Documents that were read before, which are requested again to see whether they have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.crawling import reading, requests
from fhcrawl.crawling.context import Recheck, context_of
from fhcrawl.crawling.failures import UNEXPECTED_304
from fhcrawl.documents import as_feed
from fhcrawl.exceptions import ArgumentError, NotAFeedError
from fhcrawl.logical_feed import Role, absences
from fhcrawl.logical_feed.absences import Budget
from fhcrawl.logical_feed.results import DocumentResult, State, is_of_host
from fhcrawl.reasons import OF_HOST, ReasonKind
from fhcrawl.spiders.stages.stage import Row, Stage
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from fhcrawl.crawling.context import RequestContext, WalkContext
    from fhcrawl.crawling.feedcrawl import FeedCrawl
    from fhcrawl.documents import FeedDocument
    from fhcrawl.logical_feed.results import DocumentFailure, Fetch
    from fhcrawl.spiders.stages.stage import Output, Rows


RECHECK, LONGEST_DAYS, MOST_DIGITS = "FHCRAWL_RECHECK", 36_500, 5


def recheck_budget(settings: BaseSettings) -> Budget:
    """:raises ArgumentError: if FHCRAWL_RECHECK is invalid"""
    words = [str(number).strip() for number in settings.getlist(RECHECK)] or ["0"]
    if words == ["0"]:
        return Budget(0, 0)
    numbers = [int(number) for number in words if number.isdecimal() and len(number) <= MOST_DIGITS]
    if len(numbers) != len(words) or len(words) != len(Budget._fields) or max(numbers) > LONGEST_DAYS:
        raise ArgumentError(
            f"{RECHECK} is {','.join(words)!r}; set it to days and a number of documents (30,20), or to 0"
        )
    return Budget(*numbers)


class Rechecks(Stage):
    """Requests some documents of a chain again, except those that this crawl has read (FHCRAWL_RECHECK)."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._budget = recheck_budget(crawler.settings)

    @property
    def rows(self) -> Rows:
        return {Recheck: Row(self._parse, self._lose)}

    def begin(self, feed: FeedCrawl) -> Iterator[Request]:
        return self._recheck(feed, self._due(feed.walk)) if feed.is_chained else iter(())

    def _due(self, walk: WalkContext) -> list[int]:
        rows, doubted_walk = self._store.documents.read_chain(walk.feed)
        if not any(row.read_walk == walk.number for row in rows) or any(
            row.run == walk.run and row.state != State.KNOWN.value and row.reason in OF_HOST for row in rows
        ):
            return []
        if any(row.reason == ReasonKind.EMPTY_ARCHIVES.value for row in rows):
            # The others have no entries of their own, and each run reads more of them.
            sources = self._store.entries.read_documents(walk.feed)
            rows = [row for row in rows if row.url in sources]
        rows = [row for row in rows if row.is_checkable]
        # What this crawl has read is not requested again.
        read = {index for index, row in enumerate(rows) if row.run == walk.run}
        # Recheck out of turn if an archive has lost an entry, which may be gone, or if links from several
        # walks form a loop, which may not exist; but not documents whose last request failed.
        seen = [absences.Seen(row.changed_walk, row.checked_walk) for row in rows]
        doubted = [] if doubted_walk is None else absences.unconfirmed(seen, doubted_walk)
        doubted = [index for index in doubted if rows[index].is_there and index not in read]
        not_first = [*read, *(index for index, row in enumerate(rows) if not row.is_there)]
        last_requests, time_now = [row.fetched for row in rows], now()
        due = absences.due_rechecks(last_requests, time_now, self._budget, doubted, not_first)
        document_ids = [rows[index].id for index in due if index not in read]
        if all(row.role != Role.PAGE.value for row in rows):
            return document_ids
        # With the oldest entries first, new ones come on the last page.
        growing = self._store.documents.find_growing(walk.feed, walk.run)
        return document_ids if growing is None else list(dict.fromkeys([growing, *document_ids]))

    def _recheck(self, feed: FeedCrawl, document_ids: list[int], documents: int = 2) -> Iterator[Request]:
        for position, document_id in enumerate(document_ids, 1):
            checked = self._store.documents.find_checked(document_id)
            if checked is not None:
                yield requests.check(checked, feed.walk, document_ids[position:], documents)
                return

    def _next(
        self, feed: FeedCrawl, context: RequestContext, failure: DocumentFailure | None
    ) -> Iterator[Request]:
        if isinstance(context.task, Recheck) and (failure is None or not is_of_host(failure)):
            yield from self._recheck(feed, context.task.following, context.documents + 1)

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
        following = [*self._next(feed, context_of(response), result.failure)]
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
