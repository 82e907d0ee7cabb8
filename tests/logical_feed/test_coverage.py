"""Which spans of time a plain feed was seen for without a hole, by its reads and by captures."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, count
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import captures as simulation
from fhcrawl.documents.dates import shift
from fhcrawl.logical_feed import coverage
from fhcrawl.logical_feed.coverage import (
    WINDOW,
    CaptureRead,
    Coverage,
    Covered,
    Hole,
    Span,
    coverage_after,
    mark,
    next_captures,
)

BEGIN = "2026-03-01T00:00:00Z"
DAY = 86400
MOST_PINNED = 3


def at(days: float) -> str:
    return shift(BEGIN, int(days * DAY))


def marks(shown: str) -> list[str]:
    """Of entries such as `P 5 4'`, the newest first; each ' changes its times, and " its content."""
    return [mark(entry.rstrip("'\""), BEGIN, entry, entry.replace("'", "")) for entry in shown.split()]


def reads(*documents: tuple[float, str]) -> Coverage:
    """Of reads on days of a clock."""
    found = None
    for day, shown in documents:
        found = coverage_after(found, marks(shown), at(day))
    assert found is not None
    return found


def after(*documents: str) -> Coverage:
    """Of reads that are a day apart."""
    return reads(*enumerate(documents))


def numbers(newest: int, shown: int = 3) -> str:
    return " ".join(str(number) for number in range(newest, newest - shown, -1))


@pytest.mark.parametrize(
    ("goes_on", "documents"),
    [
        # Entries below the new ones are found again.
        *((True, ["5 4 3", shown]) for shown in ("5 4 3", "7 6 5", "6 5' 4 3", "3' 5 4", "6 4 3", "4")),
        *((True, ["1", shown]) for shown in ("1", "2 1")),
        *((True, ["P 5 4 3", "P 7 6 5 4"]), (True, ["P 5 4", "7 6 5"]), (True, ["5 4 3", "5 5 4 4"])),
        # An entry is deleted, and one that was pushed out is shown again.
        *((True, ["3 2 1", "5 4 3", "5 4 2"]), (True, ["5 4 3 2 1", "6 5 4 3½ 3 2 1"])),
        # All entries are shown: a backdated one pushes none out.
        *((True, ["5 4 3 1", "5 4 3 2 1"]), (True, ["5 4 3 1", "6 5 4 3 2½ 2 1"])),
        # Nothing proves that it goes on.
        *((False, ["5 4 3", "8 7 6"]), (False, ["1", "2"]), (False, ["5", '5"'])),
        # All entries have other times, but the same order and content.
        *((True, ["5 4 3", shown]) for shown in ("5' 4' 3'", "5 4 3'", "6 5' 4'", "7 6 5' 4' 3'")),
        *(
            (True, ["5", "5'"]),
            (True, ["5 4 3", "5' 4' 3'", "6 5'' 4''"]),
            (True, ["P 5 4 3 2", "P' 6 5' 4' 3'"]),
        ),
        *((False, ["5 4 3", shown]) for shown in ("5' 4'", "7 6 5'", "4' 5' 3'", "5' 4' 3\"", "5' 4' 6")),
        *((False, ["5 4 3", "8' 7' 6'"]), (False, ["P Q R 5 4", "P' Q' R' 7 6"])),
        # Of an update-ordered feed: 6 came before 5 changed.
        (False, ["5 4", "8 5'"]),
        *((False, ["P 5 4", "P 9 8"]), (False, ["P 5 4", "P 5'"]), (False, ["Z 5 4", "9 8 Z'"])),
        # By an order that shows nothing: the last of the new entries may be below many others.
        *((False, ["5 4 3 2 1", shown]) for shown in ("6 5 4 3 2½", "5 4 3 2½ 2")),
        *((False, ["1 2 3", "2 3 4"]), (False, ["5 4 3", "6 3 4 5½"])),
        # The places have changed, not the times.
        (False, ["P 5 4", "5 4½ 4 P 3"]),
        # The last one is the same, and others have left.
        (False, ["5 3 1", "5 7 1"]),
    ],
)
def test_span_goes_on_if_that_is_proven(goes_on: bool, documents: list[str]) -> None:
    last = at(len(documents) - 1)
    assert after(*documents).spans == (
        [Span(BEGIN, last)] if goes_on else [Span(BEGIN, BEGIN), Span(last, last)]
    )


@dataclass(eq=False)
class Entry:
    """An entry of the simulated publisher, sorted by `key`, the greatest first."""

    number: int
    key: float
    version: int = 0
    is_pinned: bool = False
    is_deleted: bool = False
    # How many entries stood above it when it came; None if it was not shown then.
    depth: int | None = 0
    is_read: bool = False


@dataclass
class Publisher:
    """A publisher who keeps the assumptions of the rule.

    :param has_times: entries show when they were updated
    :param moves: an entry that is updated moves to the top
    """

    has_times: bool
    moves: bool
    number_shown: int = 3
    builds: int = 0
    entries: list[Entry] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    def shown(self) -> list[Entry]:
        there = sorted((e for e in self.entries if not e.is_deleted), key=lambda e: -e.key)
        pinned = [entry for entry in there if entry.is_pinned]
        return pinned + [entry for entry in there if not entry.is_pinned][: self.number_shown]

    def document(self) -> list[str]:
        return [self._mark(entry) for entry in self.shown()]

    def _mark(self, entry: Entry) -> str:
        updated = f"{entry.version} {self.builds}" if self.has_times else None
        return mark(f"{entry.number}", None, updated, f"{entry.version}")

    def _top(self) -> float:
        return max((entry.key for entry in self.entries), default=0) + 1

    def _choose(self, number: int) -> Entry | None:
        there = [entry for entry in self.entries if not entry.is_deleted]
        return there[-1 - number % len(there)] if there else None

    def publish(self, number: int) -> None:
        for _ in range(number % 4 + 1):
            self.entries.append(Entry(next(self.numbers), self._top()))

    def backdate(self, number: int) -> None:
        """Insert an entry below some that are not pinned."""
        keys = sorted((entry.key for entry in self.entries), reverse=True)
        if not keys:
            return
        place = number % len(keys)
        below = keys[place + 1] if place + 1 < len(keys) else keys[place] - 1
        entry = Entry(next(self.numbers), (keys[place] + below) / 2)
        self.entries.append(entry)
        shown = self.shown()
        entry.depth = shown.index(entry) if entry in shown else None

    def update(self, number: int) -> None:
        if (entry := self._choose(number)) is not None:
            entry.version += 1
            entry.key = self._top() if self.moves else entry.key

    def delete(self, number: int) -> None:
        if (entry := self._choose(number)) is not None:
            entry.is_deleted = True

    def pin(self, number: int) -> None:
        if (entry := self._choose(number)) is not None:
            is_full = sum(entry.is_pinned for entry in self.entries) == MOST_PINNED
            entry.is_pinned = not entry.is_pinned and not is_full

    def build(self, _number: int) -> None:
        """Give all entries other times."""
        self.builds += 1

    def resize(self, number: int) -> None:
        self.number_shown = number % 6 + 1


OPERATIONS = ("publish", "publish", "backdate", "update", "delete", "pin", "build", "resize", "read", "read")
operations = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 11)), max_size=40)


@given(st.booleans(), st.booleans(), st.sampled_from([WINDOW, MOST_PINNED + 1]), operations)
def test_no_entry_is_missed_in_a_span(
    has_times: bool, moves: bool, window: int, performed: list[tuple[str, int]]
) -> None:
    publisher = Publisher(has_times, moves)
    found: Coverage | None = None
    unread: list[Entry] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage, "WINDOW", window)
        patch.setattr(coverage, "REMEMBERED", 1)
        for hour, (name, number) in enumerate([*performed, ("read", 0)]):
            if name != "read":
                known = len(publisher.entries)
                getattr(publisher, name)(number)
                unread += publisher.entries[known:]
                continue
            time, before = at(hour / 24), found
            found = coverage_after(found, publisher.document(), time)
            if found is None or found.until != time:
                continue
            if before is not None and found.since == before.since:
                shown = publisher.shown()
                missed = [entry for entry in unread if not entry.is_deleted and entry not in shown]
                # Assumption 4: an entry comes below no more entries than any entry before it.
                assert [e for e in missed if e.depth is not None and e.depth <= found.depth] == []
            unread = []


@given(st.lists(st.integers(0, 6), max_size=20))
def test_one_entry_that_is_found_again_suffices(new: list[int]) -> None:
    newest = [3, *accumulate(new, initial=3)]
    found = after(*(numbers(number) for number in newest))
    assert len(found.holes) == sum(number >= 3 for number in new)


def test_entries_without_times_are_recognised_by_their_content() -> None:
    """In a feed that shows two: 6 has come, and then 5 has changed and moved to the top."""
    found = None
    for day, shown in enumerate(("5a 4b", "7d 5c")):
        found = coverage_after(found, [mark(one[0], None, None, one[1]) for one in shown.split()], at(day))
    assert found is not None
    assert found.holes


def test_entries_found_in_another_order_may_be_pinned() -> None:
    """4½ was put below 5; then something else may have been, and 4 may be pinned now."""
    assert not after("5 4 3 2", "5 4½ 4 3", "5 4½").holes
    assert after("5 4 3 2", "5 4½ 4 3", "4 5").holes


def test_empty_document_does_not_end_a_span() -> None:
    assert coverage_after(None, [], BEGIN) is None
    assert after("5 4", "", "6 5").spans == [Span(BEGIN, at(2))]
    assert after("5 4", "", "7 6").spans == [Span(BEGIN, BEGIN), Span(at(2), at(2))]


def test_span_ends_before_a_clock_that_goes_back() -> None:
    known = "5 4 3"
    assert reads((0, known), (9, known), (5, known)).spans == [Span(BEGIN, at(5))]
    assert reads((7, known), (9, known), (5, known)).spans == [Span(at(5), at(5))]


def test_hole_that_a_wrong_clock_has_moved_into_the_past_is_in_no_span() -> None:
    """The clock was four days behind: the hole is after the ninth day, where the next span must not be."""
    before = ((0, "3 2 1"), (9, "4 3 2"), (5, "9 8 7"))
    assert reads(*before, (6, "10 9 8"), (8, "11 10 9")).spans == [Span(BEGIN, at(5))]
    found = reads(*before, (6, "10 9 8"), (10, "11 10 9"), (11, "12 11 10"))
    assert found.spans == [Span(BEGIN, at(5)), Span(at(10), at(11))]
    assert found.holes == [Hole(at(5), at(10), 5 * DAY, None, 1)]


def test_clock_that_was_years_ahead_is_in_doubt_for_a_month() -> None:
    early = ((5000, "2 1"), (1, "3 2"), (2, "4 3"))
    assert reads(*early).spans == [Span(at(1), at(1))]
    assert reads(*early, (32, "5 4"), (33, "6 5")).spans == [Span(at(1), at(1)), Span(at(32), at(33))]


def test_hole_costs_what_the_usual_rate_would_have_brought() -> None:
    """After 4 entries in 2 days: 3 of the 20 in 10 days were seen."""
    found = reads((0, "4 3 2 1"), (1, "6 5 4"), (2, "8 7 6"), (12, "30 29 28"))
    assert found.holes == [Hole(at(2), at(12), 10 * DAY, 17, 1)]


def test_nobody_knows_what_a_hole_costs_in_a_feed_without_a_rate() -> None:
    assert after("1", "2", "3").holes == [Hole(BEGIN, at(1), DAY, None, 1), Hole(at(1), at(2), DAY, None, 1)]


def test_reads_that_are_doubted_continue_no_span() -> None:
    """Of reads on four days, the third was a false confirmation of the second."""
    connected = coverage.doubted(after("3 2 1", "4 3 2", "4 3 2", "5 4 3"), at(1))
    assert connected.spans == [Span(BEGIN, at(1)), Span(at(3), at(3))]
    assert connected.holes == [Hole(at(1), at(3), 2 * DAY, None, 1)]
    # A hole becomes longer.
    lost = coverage.doubted(after("3 2 1", "4 3 2", "4 3 2", "9 8 7"), at(1))
    assert lost.spans == [Span(BEGIN, at(1)), Span(at(3), at(3))]
    assert lost.rate == pytest.approx(1 / DAY)
    # Nothing was confirmed.
    before = after("3 2 1", "4 3 2")
    assert coverage.doubted(before, at(1)) == before
    found = after(*(str(n) for n in range(coverage.MOST_SPANS)))
    number = len(coverage.doubted(replace(found, until=at(90)), at(coverage.MOST_SPANS - 1)).spans)
    assert number == coverage.MOST_SPANS


def test_old_holes_are_merged() -> None:
    number = coverage.MOST_SPANS + 10
    found = after("0 1", "2 0 1", *(str(n) for n in range(3, number + 3)))
    assert len(found.spans) == coverage.MOST_SPANS
    assert sum(hole.number for hole in found.holes) == number
    assert found.holes[0] == Hole(at(1), at(13), 12 * DAY, 0, 12)
    assert [hole.after for hole in found.holes] == [span.until for span in found.spans[:-1]]


def test_rate_of_a_burst_counts_less_with_time() -> None:
    found = after("4 3 2 1", "5 4 3 2", "8 7 6 5")
    assert found.rate * DAY == pytest.approx(2)
    assert found.worst_rate(at(2)) * DAY == pytest.approx(3)
    assert found.worst_rate(at(2 + 30)) * DAY == pytest.approx(2)
    assert found.half_replaced_in(at(2)) == pytest.approx(4 / 2 / 3 * DAY, abs=1)
    assert after("1").half_replaced_in(BEGIN) is None


# The number of captures that are read, at most: times as many as would do.
MOST_READ = 1.3


def capture(day: float, shown: str | None, oldest: float | None = None) -> CaptureRead:
    found = None if shown is None else tuple(marks(shown))
    return CaptureRead(at(day), found, None if oldest is None else at(oldest))


def select(captures: Sequence[CaptureRead], live: Coverage | None = None) -> dict[int, CaptureRead]:
    """Read captures until none is worth it; each one once."""
    times = [one.time for one in captures]
    read: dict[int, CaptureRead] = {}
    while chosen := next_captures(times, read, live, every=False):
        assert not read.keys() & set(chosen)
        read.update((number, captures[number]) for number in chosen)
    return read


def covered_by(read: Iterable[CaptureRead], live: Coverage | None) -> Covered:
    found = coverage.covered_by(read, live)
    assert found is not None
    return found


# One entry a day, of which three are shown, half a day after it was published.
DAILY = [capture(day, numbers(day), day - 2.5) for day in range(100)]


def test_newest_and_oldest_are_read_first_or_all_that_is_unread() -> None:
    times = [one.time for one in DAILY]
    assert next_captures(times, {}, None, every=False) == [99, 0]
    assert next_captures(times[:1], {}, None, every=False) == [0]
    assert next_captures([], {}, None, every=False) == []
    assert next_captures(times[:4], {2: DAILY[2]}, None, every=True) == [3, 1, 0]


def test_times_of_entries_tell_which_captures_join() -> None:
    """Of those that show three entries, each second one is enough."""
    assert sorted(select(DAILY)) == [0, *range(1, 100, 2)]


def test_gaps_are_halved_if_entries_have_no_times() -> None:
    read = select([one._replace(oldest=None) for one in DAILY])
    assert not covered_by(read.values(), None).holes
    assert len(read) < len(DAILY)


def test_nothing_is_read_between_captures_that_join() -> None:
    assert sorted(select([capture(day, numbers(day // 3)) for day in range(6)])) == [0, 5]


def test_captures_that_cannot_be_read_are_left_out() -> None:
    captures = [
        capture(day, None if day % 10 else numbers(day // 10), (day // 10 - 2) * 10) for day in range(100)
    ]
    read = select(captures)
    covered = covered_by(read.values(), None)
    assert covered[:2] == ([Span(at(0), at(90))], [])
    assert select([capture(day, None) for day in range(5)]).keys() == set(range(5))


def test_hole_is_where_no_capture_is_left_to_be_read() -> None:
    captures = [capture(day, numbers(day if day < 50 else day + 20), day - 2) for day in range(100)]
    read = select(captures)
    assert {49, 50} <= read.keys()
    spans = [Span(at(0), at(49)), Span(at(50), at(99))]
    covered = covered_by(read.values(), None)
    assert covered.spans == spans
    assert [(hole.after, hole.before, hole.number) for hole in covered.holes] == [(at(49), at(50), 1)]


def test_url_that_the_feed_has_left_proves_nothing() -> None:
    """It is moved on day 9; its former address still shows what it showed then."""
    captures = [capture(day, numbers(min(day, 9))) for day in range(5, 50)]
    captures += [capture(day + 0.5, numbers(day)) for day in range(20, 40)]
    covered = coverage.covered_by(captures, None, of_several=True)
    assert covered is not None
    assert covered.spans[0] == Span(at(5), at(9))
    assert Span(at(20.5), at(39.5)) in covered.spans
    assert all(span.since == span.until for span in covered.spans[1:] if span.since != at(20.5))


def test_captures_of_centuries_ago() -> None:
    captures = [capture(day, numbers(day)) for day in (-50_000, -49_999, -49_998, 0, 1)]
    assert len(covered_by(captures, None).spans) == 2


def test_captures_join_what_the_feed_showed_when_it_was_read() -> None:
    live = reads((100, numbers(100)))
    assert sorted(select(DAILY, live)) == [0, *range(1, 100, 2)]
    assert covered_by(select(DAILY, live).values(), live)[:2] == ([Span(at(0), at(100))], [])
    far = reads((200, numbers(200)))
    covered = covered_by(select(DAILY, far).values(), far)
    assert covered.spans == [Span(at(0), at(99)), Span(at(200), at(200))]
    assert covered.holes == [Hole(at(99), at(200), 101 * DAY, 98, 1)]


def test_of_captures_in_a_span_of_reads_the_first_is_enough() -> None:
    """It shows the entries before those that the feed shows now."""
    live = reads(*((day, numbers(day)) for day in range(90, 120)))
    read = select(DAILY, live)
    assert sorted(read) == [0, *range(2, 91, 2)]
    assert covered_by(read.values(), live)[:2] == ([Span(at(0), at(119))], [])


HOLED = reads(*((day, numbers(day)) for day in (*range(10, 20), *range(60, 70))))


@pytest.mark.parametrize(
    ("captures", "spans", "holes"),
    [
        (DAILY[15:65], [(10, 69)], []),
        (DAILY[40:65], [(10, 19), (40, 69)], [Hole(at(19), at(40), 21 * DAY, 38 * 21 // 41, 1)]),
        # Three of the 15 are shown by the capture after it.
        ([*DAILY[15:26], *DAILY[40:65]], [(10, 25), (40, 69)], [Hole(at(25), at(40), 15 * DAY, 12, 1)]),
    ],
)
def test_captures_fill_a_hole_between_reads_or_a_part_of_it(
    captures: list[CaptureRead], spans: list[tuple[int, int]], holes: list[Hole]
) -> None:
    assert [hole.entries for hole in HOLED.holes] == [38]
    read = select(captures, HOLED)
    assert covered_by(read.values(), HOLED)[:2] == ([Span(at(a), at(b)) for a, b in spans], holes)
    assert len(read) < 30


def test_captures_beside_a_hole_are_not_read_if_none_is_in_it() -> None:
    assert select([*DAILY[11:20], *DAILY[60:70]], HOLED) == {}


def test_entries_that_prove_nothing_are_not_counted_on() -> None:
    """Below two that are pinned, three have to be found again of the six that are shown."""
    captures = [capture(day, f"P Q {numbers(day, 6)}", day - 5.5) for day in range(101)]
    read = select(captures)
    assert not covered_by(read.values(), None).holes
    assert len(read) <= 100 / 3 + 3


def test_without_captures_the_reads_are_what_is_covered() -> None:
    """Also where a clock went back, however many reads follow: then no current span is known."""
    back = reads((0, "5 4 3"), (9, "5 4 3"), (5, "5 4 3"))
    again = reads((9, "3 2 1"), (5, "6 5 4"), (6, "9 8 7"))
    for live in (back, again, reads((1, "3 2 1"), (2, "9 8 7"))):
        assert live.holes or live.is_doubtful
        doubted = live.since if live.is_doubtful else None
        assert covered_by([], live) == coverage.Covered(
            live.spans, live.holes, live.spans[0].since, live.is_proof, doubted
        )
    assert coverage.covered_by([], None) is None


def test_what_the_reads_have_shown_of_the_order_counts_for_captures() -> None:
    """An entry was put below another one: one entry in common proves nothing."""
    captures = [capture(0, "5 4 3"), capture(1, "7 6 5")]
    live = reads((8, "20 19 18"))
    assert covered_by(captures, live).spans[0] == Span(at(0), at(1))
    live = reads((8, "20 19 18"), (9, "21 20 19½ 19"))
    assert covered_by(captures, live).spans[:2] == [Span(at(0), at(0)), Span(at(1), at(1))]


capture_operations = st.lists(
    st.tuples(st.sampled_from((*OPERATIONS, "poll")), st.integers(0, 11)), max_size=60
)


@dataclass
class History:
    """What a publisher did, and who saw it."""

    captures: list[CaptureRead] = field(default_factory=list)
    shown: dict[str, list[Entry]] = field(default_factory=dict)
    live: Coverage | None = None
    depths: dict[str, int] = field(default_factory=dict)
    came: dict[int, str] = field(default_factory=dict)
    deleted: dict[int, str] = field(default_factory=dict)


def perform(publisher: Publisher, performed: list[tuple[str, int]], hint: int | None) -> History:
    """Let a publisher do something each hour; reads are captures, and polls are made by the feed's reader.

    :param hint: how many hours the times of entries are wrong; None if they have none
    """
    history = History()
    for hour, (name, number) in enumerate(performed):
        time = at(hour / 24)
        if name not in ("read", "poll"):
            known = len(publisher.entries)
            getattr(publisher, name)(number)
            history.came.update((entry.number, time) for entry in publisher.entries[known:])
            gone = (entry for entry in publisher.entries if entry.is_deleted)
            history.deleted.update((e.number, time) for e in gone if e.number not in history.deleted)
            continue
        document = publisher.document()
        if name == "read":
            last = publisher.shown()[-1:]
            oldest = None if hint is None or not last else shift(history.came[last[0].number], hint * 3600)
            found = None if number == 0 else tuple(document)
            history.captures.append(CaptureRead(time, found, oldest))
        else:
            history.live = coverage_after(history.live, document, time)
            history.depths[time] = history.live.depth if history.live else 0
        history.shown[time] = publisher.shown()
    return history


@given(st.booleans(), st.booleans(), st.sampled_from([None, 0, 0, -5, 5]), capture_operations, st.randoms())
def test_no_entry_is_missed_in_a_span_of_captures(
    has_times: bool, moves: bool, hint: int | None, performed: list[tuple[str, int]], chance: Random
) -> None:
    publisher = Publisher(has_times, moves)
    history = perform(publisher, performed, hint)
    times = [one.time for one in history.captures]
    read: dict[int, CaptureRead] = {}
    while chosen := next_captures(times, read, history.live, every=False):
        assert not read.keys() & set(chosen)
        # A process that is killed has read some of them.
        for number in chance.sample(chosen, chance.randint(1, len(chosen))):
            read[number] = history.captures[number]
    depths, covered = dict(history.depths), None
    for one in sorted(read.values()):
        if one.marks:
            covered = coverage_after(covered, one.marks, one.time)
            depths[one.time] = covered.depth if covered else 0
    seen = {entry.number for time in depths for entry in history.shown[time]}
    found = coverage.covered_by(read.values(), history.live)
    for span in found.spans if found else ():
        for entry in publisher.entries:
            came = history.came[entry.number]
            if entry.number in seen or not span.since < came <= span.until:
                continue
            last = max(
                min((t for t in source if t >= came), default="") for source in (history.depths, depths)
            )
            depth = min(depths[time] for time in depths if time >= came)
            is_gone = history.deleted.get(entry.number, "~") <= last
            assert is_gone or entry.depth is None or entry.depth > depth


@pytest.mark.parametrize(
    ("name", "late"),
    [("2 a week, on Tuesdays and Fridays", 0.6), ("1 a week; 5 a day in 5 days each quarter", 0)],
)
def test_few_more_captures_are_read_than_needed(name: str, late: float) -> None:
    assert max(simulation.ratios(simulation.PUBLISHERS[name], True, 1, late)) < MOST_READ


def test_entries_of_the_captures_that_are_read_are_those_of_all() -> None:
    """Of a feed that keeps its order, with bursts and pauses; some captures cannot be read."""
    for publish in list(simulation.PUBLISHERS.values())[2:4]:
        chance = Random(0)  # noqa: S311 - the same each time
        captures = simulation.simulate(publish(chance), [chance.random() * 3650 for _ in range(300)], True)
        captures = [one._replace(marks=None) if chance.random() < 0.1 else one for one in captures]
        read = simulation.read(captures)
        assert entries(read.values()) == entries(captures)
        assert covered_by(read.values(), None).spans == covered_by(captures, None).spans


def entries(captures: Iterable[CaptureRead]) -> set[str]:
    return {entry for one in captures for entry in one.marks or ()}
