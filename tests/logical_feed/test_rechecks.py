"""Which documents are checked, and what counts of a document that is read again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fhcrawl.documents.dates import shift
from fhcrawl.logical_feed import ChainPosition, Version, contents
from fhcrawl.logical_feed.absences import SECONDS_A_DAY, Budget, due_rechecks
from fhcrawl.logical_feed.contents import EarlierReading
from fhcrawl.logical_feed.versions import order

NOW = "2010-01-31T00:00:00Z"
HOUR = 3600


def ago(*seconds: float) -> list[str]:
    return [shift(NOW, -one) for one in seconds]


def test_archives_that_were_read_at_once_are_checked_one_by_one() -> None:
    """Three in thirty days: the newest each time, and the two others in turn."""
    assert due_rechecks(ago(*[9 * SECONDS_A_DAY] * 3), NOW, Budget(30, 20)) == []
    assert due_rechecks(ago(*[10 * SECONDS_A_DAY] * 3), NOW, Budget(30, 20)) == [0]
    assert due_rechecks(ago(10 * SECONDS_A_DAY, *[20 * SECONDS_A_DAY] * 2), NOW, Budget(30, 20)) == [0, 1]


def test_no_more_are_checked_than_is_allowed() -> None:
    asked = ago(*[40 * SECONDS_A_DAY] * 9)
    assert due_rechecks(asked, NOW, Budget(30, 4)) == [0, 1, 2, 3]
    assert due_rechecks(asked, NOW, Budget(0, 4)) == due_rechecks([], NOW, Budget(30, 4)) == []


def test_one_check_in_a_run_comes_to_all_documents() -> None:
    assert due_rechecks(ago(1, 40 * SECONDS_A_DAY, 50 * SECONDS_A_DAY), NOW, Budget(30, 1)) == [2]


def test_time_in_the_future_delays_no_check() -> None:
    assert due_rechecks(ago(-SECONDS_A_DAY), NOW, Budget(30, 4)) == [0]


@given(st.lists(st.integers(0, 60 * SECONDS_A_DAY), min_size=1, max_size=50), st.integers(1, 60))
def test_document_that_was_not_requested_for_so_long_is_always_checked(ages: list[int], days: int) -> None:
    found = due_rechecks(ago(*ages), NOW, Budget(days, 1000))
    assert len(set(found)) == len(found)
    assert {index for index, age in enumerate(ages) if age >= days * SECONDS_A_DAY} <= set(found)
    # Those that were unchecked for the longest time come first.
    chosen = [ages[index] for index in found[1:]]
    assert chosen == sorted(chosen, reverse=True)


def requests(documents: int, every_hours: int, budget: Budget, days: int) -> list[int]:
    """How many requests each run of a feed makes."""
    asked = [NOW] * documents
    counts = []
    for hour in range(every_hours, days * 24, every_hours):
        now = shift(NOW, hour * HOUR)
        chosen = due_rechecks(asked, now, budget)
        counts.append(len(chosen))
        for index in chosen:
            asked[index] = now
    return counts


def test_requests_are_spread_over_the_runs() -> None:
    """By default: the newest with each, else one in 30 / n days."""
    default = Budget(30, 20)
    figures = {(n, hours): requests(n, hours, default, 90) for n in (3, 120) for hours in (1, 24)}
    assert {key: max(counts) for key, counts in figures.items()} == {
        (3, 1): 2,
        (3, 24): 2,
        (120, 1): 2,
        (120, 24): 5,
    }
    a_day = {key: sum(counts) / 90 for key, counts in figures.items()}
    assert a_day[3, 1] < 0.3
    assert 4 < a_day[120, 24] < 5.1
    assert 6 < a_day[120, 1] < 8.1


OLD, NEW = "0a" * 16, "0b" * 16
FIRST = ChainPosition(1, -2)
PLACE, NOW_READ = (FIRST, "Z"), (ChainPosition(7, -2), NOW)


def version(entry_id: str, digest: str) -> Version:
    return Version(entry_id, order(None, None, FIRST, 0), digest)


def earlier(held: dict[str, str], current: dict[str, str] | None = None) -> EarlierReading:
    """What a document held, and the subscription document: digests by id."""
    before, now = ([version(*one) for one in some.items()] for some in (held, current or {}))
    return EarlierReading(contents.encode(before, None), contents.encode(now, None), FIRST, 7)


def place_of(found: EarlierReading, entry_id: str, digest: str) -> tuple[ChainPosition, str]:
    """The place and the document's time that count for an entry without a time."""
    order = found.order(entry_id, digest, None, NOW, 0)
    return ChainPosition(order.walk, order.step), f"{order.document_time}Z"


def test_only_what_has_changed_in_the_document_counts_as_read_now() -> None:
    found = earlier({"a": OLD, "b": OLD}, {"d": OLD, "e": OLD})
    places = [place_of(found, *one) for one in [("a", OLD), ("b", NEW), ("c", NEW), ("d", OLD), ("e", NEW)]]
    assert places == [PLACE, NOW_READ, NOW_READ, PLACE, PLACE]
    assert found.unsettled == {"e"}


def test_unsettled_entry_counts_as_changed_when_it_is_read_next() -> None:
    held = contents.encode([version("a", OLD)], None, {"a"})
    assert place_of(EarlierReading(held, b"", FIRST, 7), "a", OLD) == NOW_READ


def test_document_with_another_link_holds_something_else() -> None:
    assert contents.encode([], "http://example.org/1") != contents.encode([], None)
