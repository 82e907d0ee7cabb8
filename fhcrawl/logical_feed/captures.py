"""Which captures of a web archive are worth reading, and which spans of time they cover.

Two captures join if the later one still shows an entry that the earlier one showed, as two reads of a feed do
(see `coverage`, whose assumptions hold here too): what was captured between them shows no other entries, but
for revisions and entries that were deleted again. So few captures have to be read: the newest, the oldest,
and between those that do not join, the earliest one that is likely to join the later one; if it did not, the
one in the middle. It ends where all join, or no unread capture lies between two that do not.

The times of entries tell where to look, and prove nothing: if they are wrong, more captures are read.

Pure: values in, values out. Times are ISO 8601 in UTC, in whole seconds.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.documents.dates import elapsed, shift
from fhcrawl.logical_feed.chain import TO_THE_SECOND
from fhcrawl.logical_feed.coverage import MARK, Hole, Span, coverage_after

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fhcrawl.logical_feed.coverage import Coverage

# Before and after all times.
MIN_TIME, MAX_TIME = "", "~"
# Entries are dated before they are seen: captures are meant to have as much more in common as this part of an
# entry takes on average.
SPARE = 0.5


class CaptureRead(NamedTuple):
    """A capture that was read, or that could not be read.

    :param time: when it was captured: Memento-Datetime, of the capture that was served
    :param marks: `coverage.mark` of its entries, in document order, `coverage.WINDOW` at most; None: it could
        not be read
    :param oldest: when the last entry that has a time was published, or else updated; None if none has one
    """

    time: str
    marks: tuple[str, ...] | None
    oldest: str | None = None


class Covered(NamedTuple):
    """What captures and the feed's own reads cover.

    :param spans, holes: oldest first
    :param read: when the feed itself was first read, as far as is known; None if it never was
    :param is_proof: entries are shown in an order that proves something: see `Coverage`
    :param doubted: when the feed itself was read last, if an earlier read was later by the clock
    """

    spans: list[Span]
    holes: list[Hole]
    read: str | None
    is_proof: bool
    doubted: str | None = None


def next_captures(
    times: Sequence[str], reads: Mapping[int, CaptureRead], live: Coverage | None, *, every: bool
) -> list[int]:
    """Return the indexes of the captures that are worth reading next; [] if there are none.

    :param times: of the captures with distinct contents, ascending
    :param reads: the captures that were read, by their indexes
    :param live: the coverage of the feed by its own reads
    :param every: read each capture
    """
    unread = [number for number in range(len(times)) if number not in reads]
    if every:
        return unread[::-1]
    unread_times = [times[number] for number in unread]
    chosen = {index for gap in _gaps(reads.values(), live) for index in _choose(unread_times, *gap)}
    return [unread[index] for index in sorted(chosen, reverse=True)]


def covered_by(
    reads: Iterable[CaptureRead], live: Coverage | None, *, of_several: bool = False
) -> Covered | None:
    """Return what captures and the feed's own reads cover; None if nothing was read.

    Spans that have time in common are one: what came in it was seen in both.

    :param of_several: the captures are of several URLs: see `_compared`
    """
    last = deque(_compared(reads, live, of_several=of_several), maxlen=1)
    if not last:
        return None
    captured = last[0][1]
    spans, holes_of_reads = (live.spans, live.holes) if live else ([], [])
    for new in captured.spans:
        same = [span for span in spans if span.since <= new.until and new.since <= span.until]
        if same and new.since == new.until:
            continue
        since, until = (min(s.since for s in (new, *same)), max(s.until for s in (new, *same)))
        spans = [*(span for span in spans if span not in same), Span(since, until)]
    spans.sort(key=lambda span: span.since)
    wider = [*holes_of_reads, *captured.holes]
    holes = [_hole(before.until, after.since, wider) for before, after in pairwise(spans)]
    doubted = live.since if live and live.is_doubtful else None
    return Covered(spans, holes, live.spans[0].since if live else None, (live or captured).is_proof, doubted)


def _hole(after: str, before: str, wider: Iterable[Hole]) -> Hole:
    """Return the hole between two spans, which is a part of wider ones: of all reads, or of captures."""
    around = min((h for h in wider if h.after <= after and before <= h.before), key=lambda hole: hole.seconds)
    seconds = elapsed(after, before)
    entries = around.entries and round(around.entries * seconds / max(1, around.seconds))
    return Hole(after, before, seconds, entries, around.number)


# A URL that the feed has left may go on to show what it showed then: that proves nothing of the time since.
def _compared(
    reads: Iterable[CaptureRead], live: Coverage | None, *, of_several: bool = False
) -> Iterator[tuple[CaptureRead, Coverage]]:
    """Yield captures, and the feed's own last read, in order of time, each with the coverage after it.

    :param of_several: leave out captures that show nothing new
    """
    shown, own = [read for read in reads if read.marks], None
    if live:
        marks = (live.known[begin : begin + MARK] for begin in range(0, live.shown * MARK, MARK))
        # The newest capture before it is likely to join it.
        own = CaptureRead(live.read, tuple(marks), live.read)
        shown.append(own)
    covered = None
    for read in sorted(shown, key=lambda read: read.time):
        is_first = covered is None
        if of_several and read is not own and covered and not covered.has_news(read.marks or ()):
            continue
        covered = coverage_after(covered, read.marks or (), read.time)
        if covered and is_first and live:
            covered = replace(covered, depth=live.depth)
        if covered:
            yield read, covered


def _gaps(
    reads: Iterable[CaptureRead], live: Coverage | None
) -> Iterator[tuple[str, str, str, str, str | None]]:
    """Yield the times in which entries may have been missed.

    Of each: its ends (times of reads, or ends of spans of the feed's own reads), the times of the reads
    beside it, and when the earliest capture was made that is likely to join the later read, if that is known.
    """
    compared = list(_compared(reads, live))
    left = MIN_TIME
    for read, covered in compared:
        if covered.since == read.time:
            reach = _reach(read, compared[-1][1].depth)
            yield from ((*ends, left, read.time, reach) for ends in _uncovered(left, read.time, live))
        left = read.time
    yield from ((*ends, left, MAX_TIME, None) for ends in _uncovered(left, MAX_TIME, live))


def _uncovered(left: str, right: str, live: Coverage | None) -> Iterator[tuple[str, str]]:
    """Yield the parts of a time that are in none of the spans of the feed's own reads."""
    for span in live.spans if live else ():
        if left < min(span.since, right):
            yield left, min(span.since, right)
        left = max(left, span.until)
    if left < right:
        yield left, right


def _reach(read: CaptureRead, depth: int) -> str | None:
    """Return when the earliest capture was made that is likely to join a later one; None if nobody knows.

    :param depth: of the feed: see `Coverage`
    """
    if read.oldest is None or read.oldest > read.time:
        return None
    # The capture that was made when the last entry had come shows that one on top, and no newer one.
    shown = len(read.marks or ())
    common = min(depth + SPARE, shown - 1)
    return shift(read.time[:TO_THE_SECOND], -elapsed(read.oldest, read.time) * (1 - common / shown))


def _choose(
    times: Sequence[str], after: str, before: str, left: str, right: str, reach: str | None
) -> list[int]:
    """Return the places of the captures that are worth reading because of a gap: see `_gaps`.

    :param times: of the captures that were not read
    """
    inside = range(bisect_right(times, after), bisect_left(times, before))
    if after == MIN_TIME or before == MAX_TIME:
        return [*inside[: after == MIN_TIME], *inside[len(inside) - (before == MAX_TIME) :]]
    # Captures beside the gap join it to the spans that the feed's own reads cover.
    earlier = range(bisect_right(times, left), inside.start)[-1:]
    later = range(inside.stop, bisect_left(times, right))[:1]
    if not inside and after != left and before != right:
        return []  # nor do these join if the reads did not
    if later:
        return [*later]
    places = [*earlier, *inside]
    if places and reach and reach > left:
        return [min(max(bisect_left(times, reach), places[0]), places[-1])]
    return places[len(places) // 2 :][:1]
