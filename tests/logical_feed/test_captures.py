"""Which captures of a web archive are read, and what they cover."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fhcrawl.documents.dates import shift
from fhcrawl.logical_feed import coverage as rule
from fhcrawl.logical_feed.coverage import (
    CaptureRead,
    Coverage,
    Covered,
    Hole,
    Span,
    coverage_after,
    next_captures,
)
from tests.benchmarks import captures as simulation
from tests.logical_feed.test_coverage import DAY, OPERATIONS, Entry, Publisher, after_days, at, marks

# The number of captures that are read, at most: times as many as would do.
MOST_READ = 1.3


def capture(day: float, shown: str | None, oldest: float | None = None) -> CaptureRead:
    found = None if shown is None else tuple(marks(shown))
    return CaptureRead(at(day), found, None if oldest is None else at(oldest))


def numbers(newest: int, shown: int = 3) -> str:
    return " ".join(str(number) for number in range(newest, newest - shown, -1))


def select(captures: Sequence[CaptureRead], live: Coverage | None = None) -> dict[int, CaptureRead]:
    """Read captures until none is worth it; each one once."""
    times = [one.time for one in captures]
    reads: dict[int, CaptureRead] = {}
    while chosen := next_captures(times, reads, live, every=False):
        assert not reads.keys() & set(chosen)
        reads.update((number, captures[number]) for number in chosen)
    return reads


def covered_by(reads: Iterable[CaptureRead], live: Coverage | None) -> Covered:
    found = rule.covered_by(reads, live)
    assert found is not None
    return found


def live_reads(documents: Mapping[float, str]) -> Coverage:
    found = None
    for day, shown in documents.items():
        found = coverage_after(found, marks(shown), at(day))
    assert found is not None
    return found


# One entry a day, of which three are shown, half a day after it was published.
DAILY = [capture(day, numbers(day), day - 2.5) for day in range(100)]
UNDATED = [one._replace(oldest=None) for one in DAILY]


def test_newest_and_oldest_are_read_first() -> None:
    times = [one.time for one in DAILY]
    assert next_captures(times, {}, None, every=False) == [99, 0]
    assert next_captures(times[:1], {}, None, every=False) == [0]
    assert next_captures([], {}, None, every=False) == []


def test_every_capture_is_read_if_asked_for() -> None:
    times = [one.time for one in DAILY[:4]]
    assert next_captures(times, {2: DAILY[2]}, None, every=True) == [3, 1, 0]


def test_times_of_entries_tell_which_captures_join() -> None:
    """Of those that show three entries, each second one is enough."""
    assert sorted(select(DAILY)) == [0, *range(1, 100, 2)]


def test_gaps_are_halved_if_entries_have_no_times() -> None:
    reads = select(UNDATED)
    assert not covered_by(reads.values(), None).holes
    assert len(reads) < 2 * len(DAILY) / 2


def test_nothing_is_read_between_captures_that_join() -> None:
    assert sorted(select([capture(day, numbers(day // 3)) for day in range(6)])) == [0, 5]


def test_captures_that_cannot_be_read_are_left_out() -> None:
    captures = [
        capture(day, None if day % 10 else numbers(day // 10), (day // 10 - 2) * 10) for day in range(100)
    ]
    reads = select(captures)
    covered = covered_by(reads.values(), None)
    assert covered[:2] == ([Span(at(0), at(90))], [])
    assert select([capture(day, None) for day in range(5)]).keys() == set(range(5))


def test_hole_is_where_no_capture_is_left_to_be_read() -> None:
    captures = [capture(day, numbers(day if day < 50 else day + 20), day - 2) for day in range(100)]
    reads = select(captures)
    assert {49, 50} <= reads.keys()
    spans = [Span(at(0), at(49)), Span(at(50), at(99))]
    covered = covered_by(reads.values(), None)
    assert covered.spans == spans
    assert [(hole.after, hole.before, hole.number) for hole in covered.holes] == [(at(49), at(50), 1)]


def test_url_that_the_feed_has_left_proves_nothing() -> None:
    """It is moved on day 9; its former address still shows what it showed then."""
    captures = [capture(day, numbers(min(day, 9))) for day in range(5, 50)]
    captures += [capture(day + 0.5, numbers(day)) for day in range(20, 40)]
    covered = rule.covered_by(captures, None, of_several=True)
    assert covered is not None
    assert covered.spans[0] == Span(at(5), at(9))
    assert Span(at(20.5), at(39.5)) in covered.spans
    assert all(span.since == span.until for span in covered.spans[1:] if span.since != at(20.5))


def test_captures_of_centuries_ago() -> None:
    captures = [capture(day, numbers(day)) for day in (-50_000, -49_999, -49_998, 0, 1)]
    assert len(covered_by(captures, None).spans) == 2


def test_captures_join_what_the_feed_showed_when_it_was_read() -> None:
    live = live_reads({100: numbers(100)})
    assert sorted(select(DAILY, live)) == [0, *range(1, 100, 2)]
    assert covered_by(select(DAILY, live).values(), live)[:2] == ([Span(at(0), at(100))], [])
    far = live_reads({200: numbers(200)})
    covered = covered_by(select(DAILY, far).values(), far)
    assert covered.spans == [Span(at(0), at(99)), Span(at(200), at(200))]
    assert covered.holes == [Hole(at(99), at(200), 101 * DAY, 98, 1)]


def test_of_captures_in_a_span_of_reads_the_first_is_enough() -> None:
    """It shows the entries before those that the feed shows now."""
    live = live_reads({day: numbers(day) for day in range(90, 120)})
    reads = select(DAILY, live)
    assert sorted(reads) == [0, *range(2, 91, 2)]
    assert covered_by(reads.values(), live)[:2] == ([Span(at(0), at(119))], [])


HOLED = live_reads({day: numbers(day) for day in (*range(10, 20), *range(60, 70))})


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
    reads = select(captures, HOLED)
    assert covered_by(reads.values(), HOLED)[:2] == ([Span(at(a), at(b)) for a, b in spans], holes)
    assert len(reads) < 30


def test_captures_beside_a_hole_are_not_read_if_none_is_in_it() -> None:
    assert select([*DAILY[11:20], *DAILY[60:70]], HOLED) == {}


def test_entries_that_prove_nothing_are_not_counted_on() -> None:
    """Below two that are pinned, three have to be found again of the six that are shown."""
    captures = [capture(day, f"P Q {numbers(day, 6)}", day - 5.5) for day in range(101)]
    reads = select(captures)
    assert not covered_by(reads.values(), None).holes
    assert len(reads) <= 100 / 3 + 3


def test_without_captures_the_reads_are_what_is_covered() -> None:
    """Also where a clock went back, however many reads follow: then no current span is known."""
    back = after_days(marks("5 4 3"), 0, 9, 5)
    again = live_reads({9: "3 2 1", 5: "6 5 4", 6: "9 8 7"})
    for live in (back, again, live_reads({1: "3 2 1", 2: "9 8 7"})):
        assert live is not None
        assert live.holes or live.is_doubtful
        doubted = live.since if live.is_doubtful else None
        assert covered_by([], live) == rule.Covered(
            live.spans, live.holes, live.spans[0].since, live.is_proof, doubted
        )
    assert rule.covered_by([], None) is None


def test_what_the_reads_have_shown_of_the_order_counts_for_captures() -> None:
    """An entry was put below another one: one entry in common proves nothing."""
    captures = [capture(0, "5 4 3"), capture(1, "7 6 5")]
    later: dict[float, str] = {8: "20 19 18", 9: "21 20 19½ 19"}
    assert covered_by(captures, live_reads({8: later[8]})).spans[0] == Span(at(0), at(1))
    assert covered_by(captures, live_reads(later)).spans[:2] == [Span(at(0), at(0)), Span(at(1), at(1))]


operations = st.lists(st.tuples(st.sampled_from((*OPERATIONS, "poll")), st.integers(0, 11)), max_size=60)


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


@given(st.booleans(), st.booleans(), st.sampled_from([None, 0, 0, -5, 5]), operations, st.randoms())
def test_no_entry_is_missed_in_a_span(
    has_times: bool, moves: bool, hint: int | None, performed: list[tuple[str, int]], chance: Random
) -> None:
    publisher = Publisher(has_times, moves)
    history = perform(publisher, performed, hint)
    times = [one.time for one in history.captures]
    reads: dict[int, CaptureRead] = {}
    while chosen := next_captures(times, reads, history.live, every=False):
        assert not reads.keys() & set(chosen)
        # A process that is killed has read some of them.
        for number in chance.sample(chosen, chance.randint(1, len(chosen))):
            reads[number] = history.captures[number]
    depths, covered = dict(history.depths), None
    for one in sorted(reads.values()):
        if one.marks:
            covered = coverage_after(covered, one.marks, one.time)
            depths[one.time] = covered.depth if covered else 0
    seen = {entry.number for time in depths for entry in history.shown[time]}
    found = rule.covered_by(reads.values(), history.live)
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
        reads = simulation.read(captures)
        assert entries(reads.values()) == entries(captures)
        assert covered_by(reads.values(), None).spans == covered_by(captures, None).spans


def entries(captures: Iterable[CaptureRead]) -> set[str]:
    return {entry for one in captures for entry in one.marks or ()}
