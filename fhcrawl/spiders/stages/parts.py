"""The documents of a list: the parts of a snapshot, or of a folder."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fhcrawl.crawling import reading, requests
from fhcrawl.crawling.context import context_of
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.logical_feed import Role
from fhcrawl.spiders.stages.stage import CrawlPart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response

    from fhcrawl.crawling.context import RequestContext
    from fhcrawl.crawling.feedcrawl import FeedCrawl
    from fhcrawl.documents import DocumentList
    from fhcrawl.logical_feed.results import Fetch
    from fhcrawl.spiders.stages.stage import Output


class Parts(CrawlPart):
    """Reads the documents of a list, one after another; a part of the stage that has found the list."""

    def begin_list(
        self, feed: FeedCrawl, fetch: Fetch, response: Response, document_list: DocumentList
    ) -> Output:
        store = self._store
        if reading.is_snapshot(fetch, response):
            fetch = replace(fetch, role=Role.INDEX)
            feed.walk = replace(feed.walk, since=document_list.created_at)
            yield requests.subscription(store.walks.read(fetch.feed), feed.walk)
        first_unread = store.documents.first_unread_index(fetch.feed, document_list.documents)
        result, part = reading.list_result(fetch, response, document_list, first_unread)
        self._commits.record_document(response, result, self._commits.compare(result))
        if part is not None:
            yield requests.unlinked(part, feed.walk)

    def parse(self, feed: FeedCrawl, fetch: Fetch, response: Response) -> Output:
        try:
            document = reading.snapshot_page(fetch, self._reader.read(response))
        except NotAFeedError as error:
            failure = reading.parse_failure(response, error)
            self._commits.record_loss(fetch, failure)
            yield from self.next(feed, fetch, context_of(response))
            return
        result, versions = self._read(feed, fetch, response, document)
        following = self.next(feed, fetch, context_of(response))
        yield from self._yield_document(response, document, result, versions, following)

    def next(self, feed: FeedCrawl, fetch: Fetch, context: RequestContext) -> Iterator[Request]:
        part = self._store.documents.find_next_part(fetch.feed, fetch.key)
        if part is not None:
            yield requests.unlinked(part, feed.walk, context.documents + 1)
