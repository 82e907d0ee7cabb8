"""How far a crawl has come: feeds done and to do, documents, entries, the walks under way."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.results import State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fhcrawl.logical_feed.batches import CommitBatch
    from fhcrawl.logical_feed.results import DocumentResult

# A feed beyond them is counted, but not by itself.
MOST_FEEDS = 10_000
WINDOW_SECONDS = 10.0


@dataclass(slots=True)
class Counts:
    """What came of a feed, or of all of them.

    :param documents: that were read, or are what they were
    """

    documents: int = 0
    new: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def entries(self) -> int:
        """All that has changed."""
        return self.new + self.updated + self.deleted

    def outcomes(self) -> str:
        """The same in words."""
        return f"{self.new:,} new, {self.updated:,} updated, {self.deleted:,} deleted"


@dataclass(slots=True)
class Walk:
    """A feed that is under way.

    :param back_to: how far back in time it has come: ISO 8601 in UTC, None if no document says
    :param pending: the documents that have been asked for and are not done
    """

    name: str
    counts: Counts
    back_to: str | None = None
    pending: set[str] = field(default_factory=set)


class Rate(NamedTuple):
    """How many in a second."""

    documents: float
    entries: float


class Progress:
    """What the signals of a crawl say, added up.

    :param feeds: how many there are to do
    """

    def __init__(self, feeds: int) -> None:
        self.feeds = feeds
        self.total = Counts()
        self.problems = 0
        # Of the walks, those that do not only wait for their turn.
        self.under_way: dict[str, Walk] = {}
        self._walks: dict[str, Walk] = {}
        self._begun = 0
        self._left: set[str] = set()
        self._counts: dict[str, Counts] = {}
        self._samples: deque[tuple[float, int, int]] = deque()

    @property
    def done(self) -> int:
        """How many feeds are done."""
        return min(self._begun, self.feeds) - len(self._walks)

    def of(self, feed: str) -> Counts | None:
        """What came of a feed; None if nobody knows."""
        return self._counts.get(feed)

    def ask(self, feed: str, url: str, role: str) -> None:
        """A document of a feed is to be fetched, or to be fetched again."""
        walk = self._walk(feed)
        if role == Role.SUBSCRIPTION.value:
            # Another one may turn out to be it: then there is no word about this one.
            walk.pending.clear()
        walk.pending.add(url)

    def begin(self, feed: str | None) -> None:
        """A document of a feed is being fetched."""
        if feed in self._walks:
            self.under_way.setdefault(feed, self._walks[feed])

    def _walk(self, feed: str) -> Walk:
        if feed in self._walks:
            return self._walks[feed]
        counts = self._counts.get(feed)
        if counts is None:
            self._begun += 1
            counts = Counts()
            if len(self._counts) < MOST_FEEDS:
                self._counts[feed] = counts
        walk = self._walks[feed] = Walk(feed, counts)
        return walk

    def _end(self, feed: str) -> None:
        del self._walks[feed]
        self.under_way.pop(feed, None)

    def commit(self, result: DocumentResult, batch: CommitBatch, deleted: int) -> None:
        """A document is in the store."""
        walk = self._end_document(result)
        self.problems += result.failure is not None
        new, updated = (batch.counts[f"fhcrawl/entry/{outcome}"] for outcome in ("new", "updated"))
        for counts in (walk.counts, self.total):
            counts.documents += result.failure is None
            counts.new += new
            counts.updated += updated
            counts.deleted += deleted
        walk.name = result.title or walk.name if result.fetch.role is Role.SUBSCRIPTION else walk.name
        times = [time for time in (walk.back_to, _time(result)) if time]
        walk.back_to = min(times, default=None)

    def confirm(self, result: DocumentResult) -> None:
        """A subscription document is what it was."""
        walk = self._end_document(result)
        walk.counts.documents += 1
        self.total.documents += 1

    def lose(self, result: DocumentResult) -> None:
        """A document could not be had."""
        self._end_document(result)
        self.problems += result.failure is not None and result.failure.state is not State.KNOWN

    def leave(self, feeds: Iterable[str]) -> None:
        """These feeds are not crawled any further."""
        for feed in set(feeds) - self._left:
            self._left.add(feed)
            self._walk(feed)
            self._end(feed)

    def _end_document(self, result: DocumentResult) -> Walk:
        walk = self._walk(result.fetch.feed)
        walk.pending.discard(result.fetch.requested_url)
        if not walk.pending:
            self._end(result.fetch.feed)
        return walk

    def rate(self, time: float) -> Rate:
        """How fast it has been of late.

        :param time: of now, in seconds from any moment
        """
        self._samples.append((time, self.total.documents, self.total.entries))
        while len(self._samples) > 2 and time - self._samples[1][0] >= WINDOW_SECONDS:  # noqa: PLR2004
            self._samples.popleft()
        begin, documents, entries = self._samples[0]
        seconds = time - begin
        if seconds <= 0:
            return Rate(0, 0)
        return Rate((self.total.documents - documents) / seconds, (self.total.entries - entries) / seconds)


def _time(result: DocumentResult) -> str | None:
    """A document's own time, or that of its last entry, which mostly is the oldest."""
    return result.updated or (result.versions[-1].order.time if result.versions else None)


def line(progress: Progress, rate: Rate) -> str:
    """How far a crawl has come, in one line."""
    total = progress.total
    problems = f"; problems: {progress.problems}" if progress.problems else ""
    return (
        f"Feeds: {progress.done:,} of {progress.feeds:,} done, {len(progress.under_way):,} under way; "
        f"documents: {total.documents:,} ({rate.documents * 60:.0f}/min); "
        f"entries: {total.outcomes()} ({rate.entries * 60:.0f}/min){problems}"
    )
