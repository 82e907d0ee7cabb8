"""The second reading of a feed's pages, which confirms that they were the feed."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from fhcrawl.crawling.context import Confirm
from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.absences import ids_of
from fhcrawl.logical_feed.confirmation import Confirmation, agree
from fhcrawl.logical_feed.results import is_of_host
from fhcrawl.spiders.stages.checks import Checks
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

    from fhcrawl.crawling.context import RequestContext
    from fhcrawl.crawling.feedcrawl import FeedCrawl
    from fhcrawl.logical_feed.absences import EarlierReading
    from fhcrawl.logical_feed.results import DocumentFailure, DocumentResult
    from fhcrawl.spiders.stages.stage import Rows

logger = logging.getLogger(__name__)


class Confirmations(Checks):
    """Reads the pages of a feed once more, newest first, if all were read (FHCRAWL_CONFIRM_PAGES)."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._most = crawler.settings.getint("FHCRAWL_CONFIRM_PAGES")

    @property
    def rows(self) -> Rows:
        return {Confirm: self._row}

    def begin(self, feed: FeedCrawl) -> Iterator[Request]:
        last = feed.last
        if not self._most or last is None or (last.is_unchanged and not feed.walk.is_confirmable):
            return
        known = self._store.feeds.read_confirmation(feed.url)
        if not known.is_due(now()) if known is not None else self._is_listed(feed):
            return
        pages = self._store.documents.read_pages(feed.url)
        if known is not None and known.left in pages:
            pages = pages[pages.index(known.left) :]
        left = next(iter(pages[self._most :]), None)
        yield from self._request(feed, Confirm(pages[: self._most], left=left))

    # The publisher's list proves as much.
    def _is_listed(self, feed: FeedCrawl) -> bool:
        if not feed.is_listed:
            return False
        listing = self._store.feeds.read_stored_entries(feed.url, feed.walk.number).before
        return listing is not None and listing.walk == feed.walk.number and listing.is_evidence

    def _next(
        self,
        feed: FeedCrawl,
        context: RequestContext,
        failure: DocumentFailure | None,
        result: DocumentResult | None = None,
        earlier: EarlierReading | None = None,
    ) -> Iterator[Request]:
        task = context.task
        if not isinstance(task, Confirm):
            return
        if failure is not None:
            task = replace(task, agrees=None)
        elif task.agrees and result is not None:
            task = self._compared(task, result, earlier)
        is_over = failure is not None and is_of_host(failure)
        following = [] if is_over else [*self._request(feed, task, context.documents + 1)]
        if not following:
            self._conclude(feed, task)
        yield from following

    # What newer entries have pushed off a page is known, and on a later one, except for the last page.
    def _compared(self, task: Confirm, result: DocumentResult, earlier: EarlierReading | None) -> Confirm:
        fetch, held = result.fetch, result.held
        if earlier is None or held is None or not agree(earlier.encoded, held):
            return replace(task, agrees=False)
        lost = ids_of(earlier.encoded) if task.following else ()
        task = replace(task, pushed=task.pushed.union(lost).difference(ids_of(held)))
        new_ids = [version.id for version in result.versions if not earlier.had_id(version)]
        if not new_ids or fetch.role is Role.SUBSCRIPTION:
            return task
        known_ids = self._store.entries.find_winners(fetch.feed, new_ids, fetch.latest).keys()
        return replace(task, agrees=known_ids >= set(new_ids))

    def _conclude(self, feed: FeedCrawl, task: Confirm) -> None:
        if task.agrees is None or not self._store.documents.read_pages(feed.url):
            return
        known = self._store.feeds.read_confirmation(feed.url) or Confirmation()
        if not task.agrees or (task.pushed and task.left is None):
            known = known.after_difference(now())
            logger.info("%s: its pages have changed since they were read", feed.url)
        elif task.left is not None:
            known = replace(known, left=task.left)
        else:
            known = known.after_agreement(feed.walk.number)
        with self._unless_taken(feed.url):
            self._store.feeds.note_confirmation(feed.url, known)
