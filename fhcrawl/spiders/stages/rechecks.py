"""The documents of a chain that are due to be requested again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.crawling.context import Recheck
from fhcrawl.exceptions import ArgumentError
from fhcrawl.logical_feed import Role, absences
from fhcrawl.logical_feed.absences import Budget
from fhcrawl.logical_feed.results import State
from fhcrawl.reasons import OF_HOST, ReasonKind
from fhcrawl.spiders.stages.checks import Checks
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from fhcrawl.crawling.context import WalkContext
    from fhcrawl.crawling.feedcrawl import FeedCrawl
    from fhcrawl.spiders.stages.stage import Rows


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


class Rechecks(Checks):
    """Requests some documents of a chain again, except those that this crawl has read (FHCRAWL_RECHECK)."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._budget = recheck_budget(crawler.settings)

    @property
    def rows(self) -> Rows:
        return {Recheck: self._row}

    def begin(self, feed: FeedCrawl) -> Iterator[Request]:
        return self._request(feed, Recheck(self._due(feed.walk))) if feed.is_chained else iter(())

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
