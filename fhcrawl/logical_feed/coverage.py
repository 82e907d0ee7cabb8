"""Coverage of a plain feed: the spans of time in which its entries were seen without a hole.

A feed that shows its newest entries was seen without a hole between two reads if the later one still shows an
entry that the earlier one showed: all newer entries are above it. That holds under these assumptions:

1. Newest first: a new entry comes above older ones, and the document leaves out only the oldest. How many
   entries it shows may vary; it always shows one that is not pinned.
2. Pinned entries come above all others. So an entry above a new one proves nothing.
3. An entry that moves to another place has another time than before; if entries have no times, another
   content. So an entry with another time, or an edited one without a time, proves nothing, unless the
   document still shows all that new entries have not pushed out, more than half of what it showed, in the
   same order and with the same content: the publisher has given these entries other times.
4. A backdated entry comes below some of the entries that are shown, but below no more of them than any
   entry before it: the greatest number that was seen is `depth`, with pinned entries. So more than `depth`
   entries have to be found again. Or all that was shown is still shown, and the last entry is
   the same: nothing has been left out.

An entry that is added and deleted between two reads is no longer part of the feed: no hole. Where an
assumption is seen to be broken, fewer entries count as found again: the rule errs towards holes. So it does
for feeds that list the oldest entries first, or by rank, and if the oldest entry shown is edited.

Two captures of a web archive join as two reads do: what was captured between them shows no other entries, but
for revisions and entries that were deleted again. So few captures have to be read: the newest, the oldest,
and between those that do not join, the earliest one that is likely to join the later one; if it did not, the
one in the middle. The times of entries tell where to look, and prove nothing: if they are wrong, more
captures are read.

Pure: values in, values out. Times are ISO 8601 in UTC, in whole seconds.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from fhcrawl.documents.dates import elapsed, shift
from fhcrawl.logical_feed.chain import TO_THE_SECOND, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# Complete and archived feeds provide their complete history (RFC 5005, 2 and 4).
COVERED_KINDS = (Kind.SINGLE, Kind.PAGED)
# Of a document with more entries, only the newest are compared.
WINDOW = 256
# Octets of digests, and characters of the first, of the first two, and of all three in base64.
ID_SIZE, TIME_SIZE, CONTENT_SIZE = 6, 3, 3
ID, TIMED, MARK = 8, 12, 16
# Entries that are no longer shown return when newer ones are deleted: so many are remembered.
REMEMBERED = 32
MOST_SPANS = 50
# Bursts are measured in intervals of this length at least; after a month, a burst counts half.
SHORTEST_BURST = 60 * 60
HALF_LIFE = 30 * 24 * 60 * 60
# If all entries are new, this many times as many are assumed to have been published.
AT_A_HOLE = 2
# How long a clock that has gone back is doubted; a clock that was years ahead must not count for ever.
DOUBT = 30 * 24 * 60 * 60
# Before and after all times.
MIN_TIME, MAX_TIME = "", "~"
# Entries are dated before they are seen: captures should overlap by this part of an entry more.
SPARE = 0.5


def mark(entry_id: str, published: str | None, updated: str | None, digest: str) -> str:
    """Return digests that identify a shown entry: of its id, its times or else its content, and that."""
    times = f"{published} {updated}" if published or updated else digest
    octets = (
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()
        for text, size in ((entry_id, ID_SIZE), (times, TIME_SIZE), (digest, CONTENT_SIZE))
    )
    return b64encode(b"".join(octets)).decode()


def mark_of_id(entry_id: str) -> str:
    """Return the beginning of the marks of an entry."""
    return mark(entry_id, None, None, "")[: ID_SIZE * 4 // 3]


def split_marks(joined_marks: str) -> tuple[str, ...]:
    return tuple(joined_marks[begin : begin + MARK] for begin in range(0, len(joined_marks), MARK))


@dataclass(frozen=True, slots=True)
class Span:
    """A time span between two reads in which no entry was missed."""

    since: str
    until: str


@dataclass(frozen=True, slots=True)
class Hole:
    """The time between two reads in which entries may have been missed.

    :param after, before: times of the two reads
    :param entries: estimate of the missed entries, by the usual rate of the feed; None if unknown
    :param number: number of merged holes: old ones are merged, with the spans between them
    """

    after: str
    before: str
    seconds: int
    entries: int | None
    number: int


class EarlierSpan(NamedTuple):
    """A span that a hole follows: `lost` and `number` are the hole's `entries` and `number`."""

    since: str
    until: str
    lost: int | None
    number: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """The time for which a feed is covered, and the data that the next read is compared with.

    :param known: marks of the entries that the last read showed, in document order, then of some before them
    :param shown: number of those that the last read showed, WINDOW at most
    :param depth: maximum number of known entries above a new one
    :param since, until: the current span; `until` is the time of the last read. If `since` is later, the
        clock has gone back, and there is no current span: see `_with_hole`
    :param earlier: the spans before it, oldest first
    :param entries: number of new entries in all spans
    :param seconds: length of the earlier spans
    :param burst_entries, burst_seconds, burst: the interval with the highest rate, and when it ended
    """

    known: str
    shown: int
    since: str
    until: str
    depth: int = 0
    earlier: tuple[EarlierSpan, ...] = ()
    entries: int = 0
    seconds: int = 0
    burst_entries: int = 0
    burst_seconds: int = SHORTEST_BURST
    burst: str | None = None

    @property
    def spans(self) -> list[Span]:
        current = [] if self.is_doubtful else [Span(self.since, self.until)]
        return [*(Span(span.since, span.until) for span in self.earlier), *current]

    @property
    def holes(self) -> list[Hole]:
        return [
            Hole(span.until, next_span.since, elapsed(span.until, next_span.since), span.lost, span.number)
            for span, next_span in zip(self.earlier, self.spans[1:], strict=False)
        ]

    # Whether the clock has gone back since the last span began.
    @property
    def is_doubtful(self) -> bool:
        return self.since > self.until

    @property
    def _seconds(self) -> int:
        return self.seconds + max(0, elapsed(self.since, self.until))

    @property
    def is_proof(self) -> bool:
        """Whether the entries of the last read suffice to recognise them in the next one."""
        return self.shown > self.depth

    @property
    def rate(self) -> float:
        """New entries per second, on average; 0 if unknown."""
        return self.entries / max(1, self._seconds)

    def worst_rate(self, now: str) -> float:
        if self.burst is None:
            return self.rate
        age = max(0, elapsed(self.burst, now))
        decay: float = 0.5 ** (age / HALF_LIFE)
        return max(self.rate, self.burst_entries / self.burst_seconds * decay)

    def half_replaced_in(self, now: str) -> int | None:
        """Return the seconds in which half of the shown entries may be replaced; None if unknown."""
        rate = self.worst_rate(now)
        return None if not rate else int(max(1, self.shown - self.depth) / 2 / rate)


def coverage_after(
    before: Coverage | None, shown: Sequence[str], time: str, is_lossy: bool = False
) -> Coverage | None:
    """Return the coverage of a feed after a read that showed entries with these marks.

    :param is_lossy: the read showed an entry that cannot be kept
    """
    mark_by_id: dict[str, str] = {}
    for entry in shown[:WINDOW]:
        mark_by_id.setdefault(entry[:ID], entry)
    marks = list(mark_by_id.values())
    if not marks:
        return before  # proves nothing: entries may have been added and removed since
    if before is None:
        return Coverage("".join(marks), len(marks), time, time)
    earlier_marks = split_marks(before.known)
    earlier_ids = {entry[:ID] for entry in earlier_marks}
    times, earlier_times = ([entry[:TIMED] for entry in each] for each in (marks, earlier_marks))
    contents, earlier_contents = ([e[:ID] + e[TIMED:] for e in each] for each in (marks, earlier_marks))
    earlier_places, same_contents = _places(times, earlier_times), _places(contents, earlier_contents)
    is_new = [entry[:ID] not in earlier_ids for entry in marks]
    gone_marks = [entry for entry in earlier_marks if entry[:ID] not in mark_by_id][: len(marks) + REMEMBERED]
    depth = max(before.depth, _depth(earlier_places, is_new))
    is_seamless = not is_lossy and (
        _number_joined(earlier_places) > depth
        or _has_only_other_times(before, same_contents, sum(is_new), depth)
        or _shows_all_again(before, earlier_times, times, depth)
    )
    burst_entries = new_entries = sum(is_new)
    if not before.is_doubtful and time >= before.until and is_seamless:
        coverage = replace(before, until=time, entries=before.entries + new_entries)
    else:
        # The number of new entries is unknown: at least those that are shown.
        coverage, burst_entries = _with_hole(before, new_entries, time), AT_A_HOLE * new_entries
    seconds = max(SHORTEST_BURST, elapsed(before.until, time))
    if burst_entries and burst_entries / seconds >= before.worst_rate(time):
        coverage = replace(coverage, burst_entries=burst_entries, burst_seconds=seconds, burst=time)
    return replace(coverage, known="".join([*marks, *gone_marks]), shown=len(marks), depth=depth)


# The places at which the last read, or one before it, showed the same entries; None for others.
def _places(marks: Iterable[str], earlier_marks: Iterable[str]) -> list[int | None]:
    place_by_mark = {entry: place for place, entry in enumerate(earlier_marks)}
    return [place_by_mark.get(entry) for entry in marks]


# The greatest number of earlier entries above a new one. New entries at the end prove nothing: all earlier
# ones may be pinned, or the document shows more than before.
def _depth(earlier_places: list[int | None], is_new: list[bool]) -> int:
    depth = number_above = number_above_new = 0
    for place, is_entry_new in zip(earlier_places, is_new, strict=True):
        if place is not None:
            depth, number_above = number_above_new, number_above + 1
        elif is_entry_new:
            number_above_new = number_above
    return depth


# Count the entries at the end of a document that were read before, and still have their order.
def _number_joined(earlier_places: list[int | None]) -> int:
    number, place_below = 0, None
    for place in reversed(earlier_places):
        if place is None or (place_below is not None and place > place_below):
            break
        number, place_below = number + 1, place
    return number


def _has_only_other_times(
    before: Coverage, same_contents: list[int | None], new_entries: int, depth: int
) -> bool:
    places = [place for place in same_contents if place is not None]
    shows_rest = places == sorted(places) and len(places) + new_entries >= before.shown
    return shows_rest and _number_joined(same_contents) > max(depth, before.shown // 2)


# No entry has been dropped at the end of the document, unless a new entry was added below all others, which
# has not happened before. Entries beyond the WINDOW are unknown.
def _shows_all_again(before: Coverage, earlier_marks: Sequence[str], marks: list[str], depth: int) -> bool:
    past = earlier_marks[: before.shown]
    is_whole = max(len(past), len(marks)) < WINDOW
    return is_whole and past[-1] == marks[-1] and set(past) <= set(marks) and depth < len(past)


# A clock that was ahead has not seen the future: spans end before this read.
def _with_hole(before: Coverage, new_entries: int, time: str) -> Coverage:
    since, spans = max(time, before.since, before.until), list(before.earlier)
    # If the clock was ahead before, a span begins with this read. If it is behind now, this read is the
    # latest one, whatever its time: a span that begins with it would contain this hole as soon as the clock
    # is right. It is unknown which is the case. So no span begins before the clock has reached the latest
    # time again, or a month has passed.
    if before.is_doubtful and elapsed(spans[-1].until, time) > DOUBT:
        since = time
    if not before.is_doubtful:
        usual = before.rate * elapsed(before.until, time)
        lost = max(0, round(usual) - new_entries) if before.rate and since == time else None
        spans.append(EarlierSpan(before.since, before.until, lost, 1))
    past = [span for span in spans[:-1] if span.since <= time]
    earlier = [
        span._replace(since=min(span.since, time), until=min(span.until, time)) for span in (*past, spans[-1])
    ]
    return replace(before, since=since, until=time, earlier=_merge_oldest(earlier), seconds=before._seconds)


def doubted(covered: Coverage, since: str) -> Coverage:
    """Return the coverage with a hole between `since`, when the feed was last seen, and the last read."""
    if covered.is_doubtful or covered.until <= since:
        return covered
    spans, begins, seconds = list(covered.earlier), covered.since, covered.seconds
    if covered.since <= since:
        spans.append(EarlierSpan(covered.since, since, None, 1))
        begins, seconds = covered.until, seconds + elapsed(covered.since, since)
    elif spans and spans[-1].since <= since < spans[-1].until:
        seconds -= elapsed(since, spans[-1].until)
        spans[-1] = spans[-1]._replace(until=since)
    return replace(covered, since=begins, earlier=_merge_oldest(spans), seconds=seconds)


def _merge_oldest(spans: list[EarlierSpan]) -> tuple[EarlierSpan, ...]:
    # The oldest spans are merged: a single hole replaces a span and the holes beside it.
    while len(spans) >= MOST_SPANS:
        first, second = spans[:2]
        is_known = first.lost is not None and second.lost is not None
        lost = (first.lost or 0) + (second.lost or 0) if is_known else None
        spans[:2] = [first._replace(lost=lost, number=first.number + second.number)]
    return tuple(spans)


# -- captures --------------------------------------------------------------------------------------------


class CaptureRead(NamedTuple):
    """A capture that was read, or that could not be read.

    :param time: Memento-Datetime of the served capture
    :param marks: marks of its entries, in document order, WINDOW at most; None if it could not be read
    :param oldest: publication time, else update time, of the last entry that has one
    """

    time: str
    marks: tuple[str, ...] | None
    oldest: str | None = None


class Covered(NamedTuple):
    """The time that captures and the feed's own reads cover.

    :param spans, holes: oldest first
    :param read: earliest stored time at which the feed itself was read
    :param is_proof: the order of the entries proves something: see `Coverage`
    :param doubted: when the feed itself was last read, if an earlier read was later by the clock
    """

    spans: list[Span]
    holes: list[Hole]
    read: str | None
    is_proof: bool
    doubted: str | None = None


def next_captures(
    times: Sequence[str], reads: Mapping[int, CaptureRead], live: Coverage | None, *, every: bool
) -> list[int]:
    """Return the indexes of the captures worth reading next; [] if there are none.

    :param times: of the captures with distinct contents, ascending
    :param live: the coverage of the feed by its own reads
    """
    unread = [number for number in range(len(times)) if number not in reads]
    if every:
        return unread[::-1]
    unread_times = [times[number] for number in unread]
    chosen = {index for gap in _gaps(reads.values(), live) for index in _captures_in_gap(unread_times, gap)}
    return [unread[index] for index in sorted(chosen, reverse=True)]


def covered_by(
    reads: Iterable[CaptureRead], live: Coverage | None, *, of_several: bool = False
) -> Covered | None:
    """Return what captures and the feed's own reads cover; None if nothing was read.

    Overlapping spans are merged, because both contain the entries of the time that they share.

    :param of_several: the captures are of several URLs; those that show nothing new are ignored
    """
    compared = list(_with_coverages(reads, live, of_several=of_several))
    if not compared:
        return None
    captured = compared[-1][1]
    spans, holes_of_reads = (live.spans, live.holes) if live else ([], [])
    for new in captured.spans:
        joined = [span for span in spans if span.since <= new.until and new.since <= span.until]
        if joined and new.since == new.until:
            continue
        since, until = (
            min(span.since for span in (new, *joined)),
            max(span.until for span in (new, *joined)),
        )
        spans = [*(span for span in spans if span not in joined), Span(since, until)]
    spans.sort(key=lambda span: span.since)
    wider = [*holes_of_reads, *captured.holes]
    holes = [_hole_within(before.until, after.since, wider) for before, after in pairwise(spans)]
    doubted = live.since if live and live.is_doubtful else None
    return Covered(spans, holes, live.spans[0].since if live else None, (live or captured).is_proof, doubted)


def _hole_within(after: str, before: str, wider: Iterable[Hole]) -> Hole:
    around = min((h for h in wider if h.after <= after and before <= h.before), key=lambda h: h.seconds)
    seconds = elapsed(after, before)
    entries = around.entries and round(around.entries * seconds / max(1, around.seconds))
    return Hole(after, before, seconds, entries, around.number)


def _with_coverages(
    reads: Iterable[CaptureRead], live: Coverage | None, *, of_several: bool = False
) -> Iterator[tuple[CaptureRead, Coverage]]:
    shown_reads, live_read = [capture for capture in reads if capture.marks], None
    if live:
        # The newest capture before it is likely to join it.
        last_read = live.spans[-1].until
        live_read = CaptureRead(last_read, split_marks(live.known)[: live.shown], last_read)
        shown_reads.append(live_read)
    coverage = None
    for capture in sorted(shown_reads, key=lambda capture: capture.time):
        marks, before = capture.marks or (), coverage
        # A URL that the feed has left may keep its last content, which proves nothing about the time since.
        if of_several and capture is not live_read and before:
            ids = {entry[:ID] for entry in split_marks(before.known)}
            if all(entry[:ID] in ids for entry in marks):
                continue
        coverage = coverage_after(before, marks, capture.time)
        if coverage and before is None and live:
            coverage = replace(coverage, depth=live.depth)
        if coverage:
            yield capture, coverage


class _Gap(NamedTuple):
    """A time that no read covers.

    :param left_read, right_read: times of the captures that were read before and after it
    :param join_time: a capture of this time probably has entries in common with that of `right_read`
    """

    begin: str
    end: str
    left_read: str
    right_read: str
    join_time: str | None


def _gaps(reads: Iterable[CaptureRead], live: Coverage | None) -> Iterator[_Gap]:
    compared = list(_with_coverages(reads, live))
    left = MIN_TIME
    for read, covered in compared:
        if covered.since == read.time:
            join_time = _earliest_join(read, compared[-1][1].depth)
            for begin, end in _without_live(left, read.time, live):
                yield _Gap(begin, end, left, read.time, join_time)
        left = read.time
    for begin, end in _without_live(left, MAX_TIME, live):
        yield _Gap(begin, end, left, MAX_TIME, None)


def _without_live(since: str, until: str, live: Coverage | None) -> Iterator[tuple[str, str]]:
    for span in live.spans if live else ():
        if since < min(span.since, until):
            yield since, min(span.since, until)
        since = max(since, span.until)
    if since < until:
        yield since, until


def _earliest_join(read: CaptureRead, depth: int) -> str | None:
    if read.oldest is None or read.oldest > read.time:
        return None
    # The capture made when the last entry was published shows that entry first, and no newer one.
    shown = len(read.marks or ())
    shared_entries = min(depth + SPARE, shown - 1)
    return shift(read.time[:TO_THE_SECOND], -elapsed(read.oldest, read.time) * (1 - shared_entries / shown))


# The indexes of the captures to read next in a gap: one that halves it, or those at its ends.
def _captures_in_gap(times: Sequence[str], gap: _Gap) -> list[int]:
    is_first, is_last = gap.begin == MIN_TIME, gap.end == MAX_TIME
    inside = range(bisect_right(times, gap.begin), bisect_left(times, gap.end))
    if is_first or is_last:
        return [*inside[:is_first], *inside[len(inside) - is_last :]]
    # Captures beside the gap join it to the spans that the feed's own reads cover.
    earlier = range(bisect_right(times, gap.left_read), inside.start)[-1:]
    later = range(inside.stop, bisect_left(times, gap.right_read))[:1]
    if not inside and gap.begin != gap.left_read and gap.end != gap.right_read:
        return []  # the reads did not join, so these do not either
    if later:
        return [*later]
    places = [*earlier, *inside]
    if places and gap.join_time and gap.join_time > gap.left_read:
        return [min(max(bisect_left(times, gap.join_time), places[0]), places[-1])]
    return places[len(places) // 2 :][:1]
