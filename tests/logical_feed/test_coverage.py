"""Which spans of time a plain feed was seen for without a hole."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fhcrawl.documents.dates import shift
from fhcrawl.logical_feed import coverage
from fhcrawl.logical_feed.coverage import WINDOW, Coverage, Hole, Span, coverage_after, mark

BEGIN = "2026-03-01T00:00:00Z"
HOUR, DAY = 3600, 86400
MOST_PINNED = 3


def at(days: float) -> str:
    return shift(BEGIN, int(days * DAY))


def marks(shown: str) -> list[str]:
    """Of entries such as `P 5 4'`, the newest first; each ' is a change of its times."""
    return [mark(entry.rstrip("'"), BEGIN, entry, "") for entry in shown.split()]


def after(*documents: str) -> Coverage:
    """Of reads that are a day apart."""
    found = None
    for day, shown in enumerate(documents):
        found = coverage_after(found, marks(shown), at(day))
    assert found is not None
    return found


def after_days(known: list[str], *days: float) -> Coverage | None:
    found = None
    for day in days:
        found = coverage_after(found, known, at(day))
    return found


@pytest.mark.parametrize(
    "documents",
    [
        ["5 4 3", "5 4 3"],
        ["5 4 3", "7 6 5"],
        ["1", "1"],
        ["1", "2 1"],
        ["5 4 3", "6 5' 4 3"],
        ["5 4 3", "3' 5 4"],
        ["5 4 3", "6 4 3"],
        ["5 4 3", "4"],
        ["P 5 4 3", "P 7 6 5 4"],
        # An entry is deleted, and one that was pushed out is shown again.
        ["3 2 1", "5 4 3", "5 4 2"],
        ["5 4 3 2 1", "6 5 4 3½ 3 2 1"],
        ["P 5 4", "7 6 5"],
        ["5 4 3", "5 5 4 4"],
        # All entries are shown: a backdated one pushes none out.
        ["5 4 3 1", "5 4 3 2 1"],
        ["5 4 3 1", "6 5 4 3 2½ 2 1"],
    ],
)
def test_span_goes_on_if_entries_below_the_new_ones_are_found_again(documents: list[str]) -> None:
    assert after(*documents).spans == [Span(BEGIN, at(len(documents) - 1))]


@pytest.mark.parametrize(
    "documents",
    [
        ["5 4 3", "8 7 6"],
        ["1", "2"],
        # Of an update-ordered feed: 6 came before 5 changed.
        ["5 4", "8 5'"],
        ["5", "5'"],
        ["P 5 4", "P 9 8"],
        ["P 5 4", "P 5'"],
        ["Z 5 4", "9 8 Z'"],
        # By an order that shows nothing: the last of the new entries may stand before many others.
        ["5 4 3 2 1", "6 5 4 3 2½"],
        ["1 2 3", "2 3 4"],
        ["5 4 3", "6 3 4 5½"],
        ["5 4 3 2 1", "5 4 3 2½ 2"],
        # The places have changed, not the times.
        ["P 5 4", "5 4½ 4 P 3"],
        # The last one is the same, and others have left.
        ["5 3 1", "5 7 1"],
    ],
)
def test_span_ends_if_nothing_proves_that_it_goes_on(documents: list[str]) -> None:
    assert after(*documents).spans == [Span(BEGIN, BEGIN), Span(at(1), at(1))]


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
    entries: list[Entry] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    def shown(self) -> list[Entry]:
        there = sorted((e for e in self.entries if not e.is_deleted), key=lambda e: -e.key)
        pinned = [entry for entry in there if entry.is_pinned]
        return pinned + [entry for entry in there if not entry.is_pinned][: self.number_shown]

    def document(self) -> list[str]:
        return [self._mark(entry) for entry in self.shown()]

    def _mark(self, entry: Entry) -> str:
        updated = f"{entry.version}" if self.has_times else None
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

    def resize(self, number: int) -> None:
        self.number_shown = number % 6 + 1


OPERATIONS = ("publish", "publish", "backdate", "update", "delete", "pin", "resize", "read", "read")
operations = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 11)), max_size=40)


@given(st.booleans(), st.booleans(), st.sampled_from([WINDOW, MOST_PINNED + 1]), operations)
def test_no_entry_is_missed_in_a_span(
    has_times: bool, moves: bool, window: int, performed: list[tuple[str, int]]
) -> None:
    publisher = Publisher(has_times, moves)
    found: Coverage | None = None
    document: list[str] = []
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
            time, before, same = at(hour / 24), found, document
            document = publisher.document()
            found = (
                found.confirm(time) if found and document == same else coverage_after(found, document, time)
            )
            if found is None or found.until != time:
                continue
            if before is not None and found.since == before.since:
                shown = publisher.shown()
                missed = [entry for entry in unread if not entry.is_deleted and entry not in shown]
                # Assumption 4: an entry comes below no more entries than any entry before it.
                assert [e for e in missed if e.depth is not None and e.depth <= found.depth] == []
            unread = []


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 6)), max_size=20))
def test_one_entry_that_is_found_again_suffices(polls: list[tuple[int, int]]) -> None:
    """Of a feed to which entries are added, and that shows at least as many of them as before."""
    newest, shown, found, holes = 3, 3, coverage_after(None, marks("3 2 1"), BEGIN), 0
    for day, (new, _) in enumerate(polls, 1):
        newest += new
        found = coverage_after(found, marks(" ".join(str(newest - n) for n in range(shown))), at(day))
        holes += new >= shown
        assert found is not None
        assert len(found.holes) == holes


def test_entries_without_times_are_recognised_by_their_content() -> None:
    """In a feed that shows two: 6 has come, and then 5 has changed and moved to the top."""
    before = coverage_after(None, [mark("5", None, None, "a"), mark("4", None, None, "b")], BEGIN)
    found = coverage_after(before, [mark("7", None, None, "d"), mark("5", None, None, "c")], at(1))
    assert found is not None
    assert found.holes


def test_entries_found_in_another_order_may_be_pinned() -> None:
    """4½ was put below 5; then something else may have been, and 4 may be pinned now."""
    assert not after("5 4 3 2", "5 4½ 4 3", "5 4½").holes
    assert after("5 4 3 2", "5 4½ 4 3", "4 5").holes


def test_same_document_proves_nothing_if_entries_come_below_all_of_it() -> None:
    disordered = after("5 4 3", "5 4 3½ 3", "5 4")
    assert disordered.confirm(at(3)) == disordered
    assert after("5 4").confirm(at(3)).spans == [Span(BEGIN, at(3))]


def test_empty_document_says_nothing() -> None:
    assert coverage_after(None, [], BEGIN) is None
    assert after("5 4", "", "6 5").spans == [Span(BEGIN, at(2))]
    assert after("5 4", "", "7 6").spans == [Span(BEGIN, BEGIN), Span(at(2), at(2))]


def test_span_ends_before_a_clock_that_goes_back() -> None:
    known = marks("5 4 3")
    found = coverage_after(after_days(known, 0, 9), known, at(5))
    assert found is not None
    assert found.spans == [Span(BEGIN, at(5))]
    assert found.confirm(at(20)) == found
    found = coverage_after(after_days(known, 7, 9), known, at(5))
    assert found is not None
    assert found.spans == [Span(at(5), at(5))]


def after_a_clock_that_goes_back(*days: float) -> Coverage:
    """Of three reads, the last of which finds nothing again, by days of the clock; then of more reads."""
    found = None
    for shown, early in (("3 2 1", 0), ("4 3 2", 9), ("9 8 7", 5)):
        found = coverage_after(found, marks(shown), at(early))
    for number, day in enumerate(days, 10):
        found = coverage_after(found, marks(f"{number} {number - 1} {number - 2}"), at(day))
    assert found is not None
    return found


def test_hole_that_a_wrong_clock_has_moved_into_the_past_is_in_no_span() -> None:
    """The clock was four days behind: the hole is after the ninth day, where the next span must not be."""
    assert after_a_clock_that_goes_back(6, 8).spans == [Span(BEGIN, at(5))]
    found = after_a_clock_that_goes_back(6, 10, 11)
    assert found.spans == [Span(BEGIN, at(5)), Span(at(10), at(11))]
    assert found.holes == [Hole(at(5), at(10), 5 * DAY, None, 1)]


def test_clock_that_was_years_ahead_is_in_doubt_for_a_month() -> None:
    found = after_days(marks("2 1"), 5000)
    for day, shown in enumerate(("3 2", "4 3"), 1):
        found = coverage_after(found, marks(shown), at(day))
    assert found is not None
    assert found.spans == [Span(at(1), at(1))]
    for day, shown in ((32, "5 4"), (33, "6 5")):
        found = coverage_after(found, marks(shown), at(day))
    assert found is not None
    assert found.spans == [Span(at(1), at(1)), Span(at(32), at(33))]


def test_hole_costs_what_the_usual_rate_would_have_brought() -> None:
    """After 4 entries in 2 days: 3 of the 20 in 10 days were seen."""
    found = coverage_after(after("4 3 2 1", "6 5 4", "8 7 6"), marks("30 29 28"), at(12))
    assert found is not None
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
    number = len(coverage.doubted(found.confirm(at(90)), at(coverage.MOST_SPANS - 1)).spans)
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
