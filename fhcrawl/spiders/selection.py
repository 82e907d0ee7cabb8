"""The captures of a feed that are worth reading, one after another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fhcrawl.logical_feed.captures import CaptureRead, next_captures
from fhcrawl.logical_feed.coverage import WINDOW

if TYPE_CHECKING:
    from fhcrawl.logical_feed.results import DocumentResult
    from fhcrawl.store import Memento, TimeMap
    from fhcrawl.store.mementos import Mementos


@dataclass
class Selection:
    """The captures of a feed in one archive that are read next.

    :param every: read all of them
    :param chosen: in reverse order
    :param depth: of the documents that were captured: see `TimeMap`
    :param asked: the capture that was requested last
    :param noted: what captures have shown in this run, which is committed later: by their ids, or by their
        times if they were served in place of others
    :param failed: ids of captures that could not be read in this run
    :param settled: ids of the TimeMaps that have no more captures that are worth reading
    """

    every: bool
    chosen: list[Memento] = field(default_factory=list)
    depth: int = 0
    asked: Memento | None = None
    noted: dict[int | str, CaptureRead] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    settled: set[int] = field(default_factory=set)

    def choose(self, store: Mementos, feed: str, known: list[TimeMap]) -> bool:
        """Choose the captures of TimeMaps that are worth reading next; return whether there are any."""
        live = store.find_coverage(feed)
        # A URL that the feed has left may go on to show what it showed then: each is compared with itself.
        for timemap in known:
            if timemap.id in self.settled:
                continue
            found = store.find_captures([timemap])
            known_reads = ((number, self._read(one)) for number, one in enumerate(found))
            reads = {number: read for number, read in known_reads if read is not None}
            times, depth = [one.time for one in found], timemap.depth
            chosen = next_captures(times, reads, None if depth else live, every=self.every)
            if chosen:
                self.chosen, self.depth = [found[number] for number in reversed(chosen)], depth
                break
            self.settled.add(timemap.id)
        return bool(self.chosen)

    def take(self) -> Memento | None:
        """Return the capture to be requested next; None if none is chosen."""
        if not self.chosen:
            return None
        self.asked = self.chosen.pop()
        return self.asked

    def note_read(self, result: DocumentResult) -> None:
        """Note what the capture that was requested last has shown, before it is committed."""
        if self.asked is None:
            return
        time = result.fetch.fetched
        is_read = result.failure is None and result.shown is not None
        marks = tuple((result.shown or [])[:WINDOW]) if is_read else None
        read = self.noted[self.asked.id] = CaptureRead(time, marks, result.oldest)
        if time != self.asked.time:
            self.noted[time] = read
            self.chosen = [one for one in self.chosen if one.time != time]

    def _read(self, memento: Memento) -> CaptureRead | None:
        """Return what a capture has shown; None if it was not read yet."""
        noted = self.noted.get(memento.id) or self.noted.get(memento.time)
        if noted is not None:
            return noted
        if memento.id in self.failed:
            return CaptureRead(memento.time, None)
        return memento.read
