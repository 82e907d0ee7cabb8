"""Checks whether documents that were read before have changed (FHCRAWL_RECHECK)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from fhcrawl.crawling import reading, rechecks, responses, versions
from fhcrawl.crawling.context import context_of
from fhcrawl.extensions.reader import ReaderExtension
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed.results import DocumentResult
from fhcrawl.spidermiddlewares.commit import CommitMiddleware

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from fhcrawl.crawling.context import RequestContext
    from fhcrawl.items import EntryVersion
    from fhcrawl.logical_feed.results import DocumentFailure, Fetch
    from fhcrawl.store import Store


class Rechecks:
    """The checks of a crawl; `logical_feed.rechecks` has their rules."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    def begin(self, fetch: Fetch, context: RequestContext) -> Iterator[Request]:
        """Yield the request for the first document of a feed that is to be checked, if any is."""
        return rechecks.first(self._store, self._crawler.settings, fetch, context)

    def parse(self, response: Response) -> Iterator[Request | EntryVersion]:
        """Parse a document that was read before: yield the request for the next one, then its entries."""
        fetch, context = responses.fetch_from_response(response), context_of(response)
        read = rechecks.read(fetch, response, ReaderExtension.of(self._crawler).read, self._store)
        if not isinstance(read, reading.ReadDocument):
            yield from self.end(fetch, context, read)
            return
        pending = self._commits.record_document(response, read.result)
        yield from rechecks.following(self._store, context)
        yield from versions.items(pending, read)

    def end(
        self, fetch: Fetch, context: RequestContext, failure: DocumentFailure | None
    ) -> Iterator[Request]:
        """Note a check without a new document; yield the request for the next one."""
        self._commits.record_check(DocumentResult(fetch, failure=failure))
        yield from rechecks.following(self._store, context, failure)

    @cached_property
    def _commits(self) -> CommitMiddleware:
        return CommitMiddleware.of(self._crawler)

    @property
    def _store(self) -> Store:
        return StoreExtension.of(self._crawler).store
