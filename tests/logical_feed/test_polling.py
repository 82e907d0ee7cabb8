"""When a feed is due."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fhcrawl.documents import UpdateSchedule
from fhcrawl.documents.dates import elapsed, shift
from fhcrawl.logical_feed import Reason
from fhcrawl.logical_feed.polling import LONGEST, Limits, Poll, freshness, interval, next_due
from fhcrawl.reasons import ReasonKind

MINUTE, HOUR, DAY = 60, 3600, 86400
# A Friday.
NOW = "2026-11-20T12:34:56Z"
WIDE = Limits(0, 30 * DAY)

seconds = st.integers(0, 40 * DAY)
times = seconds.map(lambda before: shift(NOW, -before))
limits = st.tuples(st.integers(0, 2 * DAY), seconds).map(lambda two: Limits(min(two), max(two)))
update_schedules = st.builds(
    UpdateSchedule,
    ttl=st.none() | st.integers(1, 10**9),
    period=st.none() | st.integers(1, 366 * DAY),
    base=st.none() | st.integers(-(10**9), 10**9).map(lambda away: shift(NOW, away)),
    skip_hours=st.lists(st.integers(0, 23), unique=True).map(sorted),
    skip_days=st.lists(st.integers(0, 6), unique=True).map(sorted),
)
polls = st.builds(
    Poll,
    polled=st.just(NOW),
    fresh=st.none() | st.integers(0, LONGEST),
    retry_after=st.none() | seconds.map(lambda later: shift(NOW, later)),
    update_schedule=update_schedules,
    changed=st.none() | times,
    interval=st.none() | seconds,
)
gaps = st.lists(
    st.builds(Reason, st.sampled_from(ReasonKind), st.just("http://example.org/"), st.just(""), times),
    max_size=3,
)


def wait(poll: Poll, missing: list[Reason] | None = None, within: Limits = WIDE) -> int:
    """In how many seconds a feed is due."""
    return elapsed(poll.polled, next_due(poll, missing or [], within))


def gap(kind: str, seconds_ago: int) -> Reason:
    return Reason(ReasonKind(kind), "http://example.org/", "", shift(NOW, -seconds_ago))


@given(polls, gaps, limits)
def test_due_is_within_the_limits_and_waits_for_the_server_within_them(
    poll: Poll, missing: list[Reason], within: Limits
) -> None:
    assert within.shortest <= wait(poll, missing, within) <= within.longest
    later = min(poll.retry_after or "", shift(NOW, within.longest))
    assert next_due(poll, missing, within) >= later


@given(polls, gaps, limits)
def test_due_is_at_no_time_to_be_skipped_unless_the_limits_end_first(
    poll: Poll, missing: list[Reason], within: Limits
) -> None:
    update_schedule = poll.update_schedule
    assume(len(update_schedule.skip_hours) < 24 and len(update_schedule.skip_days) < 7)
    due = next_due(poll, missing, within)
    # Asked again from there, with nothing else to wait for, it is due at once.
    at_due = Poll(due, update_schedule=replace(update_schedule, ttl=None, period=None, base=None))
    assert wait(at_due) == 0 or elapsed(NOW, due) == within.longest


@given(polls, gaps, gaps)
def test_gaps_bring_a_feed_forward_only(poll: Poll, missing: list[Reason], more: list[Reason]) -> None:
    assert wait(poll, missing + more) <= wait(poll, missing)


@given(polls, st.integers(0, LONGEST))
def test_longer_freshness_is_never_due_sooner(poll: Poll, fresh: int) -> None:
    assert wait(poll._replace(fresh=max(fresh, poll.fresh or 0))) >= wait(poll)


@given(seconds, st.none() | seconds, seconds)
def test_average_lies_between_the_average_before_and_the_last_interval(
    ago: int, average: int | None, last: int
) -> None:
    changed = shift(NOW, -ago)
    found = interval(changed, average, shift(changed, last))
    values = [max(1, last)] if average is None else [average, max(1, last)]
    assert found is not None
    assert min(values) <= found <= max(values)


def test_first_change_makes_no_interval_and_neither_do_two_clocks() -> None:
    """Of a change that a clock far ahead or behind has noted, and one by the right clock."""
    assert interval(None, None, NOW) is None
    for between in (-1, LONGEST + 1):
        assert interval(NOW, None, shift(NOW, between)) is None
        assert interval(NOW, DAY, shift(NOW, between)) == DAY


@pytest.mark.parametrize("period", [10 * MINUTE, 3 * HOUR, 2 * DAY])
def test_polls_of_a_regular_feed_settle_at_half_its_period(period: int) -> None:
    changed, average, polled, spacings = NOW, None, NOW, []
    for _ in range(200):
        due = next_due(Poll(polled, changed=changed, interval=average), [], Limits(MINUTE, 30 * DAY))
        spacings.append(elapsed(polled, due))
        if elapsed(NOW, polled) // period < elapsed(NOW, due) // period:
            average = interval(changed, average, due)
            changed = due
        polled = due
    assert all(period / 4 <= spacing <= period * 3 / 4 for spacing in spacings[100:]), spacings


def test_quiet_feed_is_requested_ever_more_rarely() -> None:
    polls = [NOW]
    for _ in range(20):
        polls.append(next_due(Poll(polls[-1], changed=NOW), [], Limits(15 * MINUTE, DAY)))
    spacings = [elapsed(before, due) for before, due in pairwise(polls)]
    assert spacings[:3] == [15 * MINUTE] * 3
    assert spacings == sorted(spacings)
    assert spacings[-1] == DAY


@pytest.mark.parametrize(
    ("poll", "seconds"),
    [
        (Poll(NOW), 0),
        (Poll(NOW, fresh=600), 600),
        (Poll(NOW, update_schedule=UpdateSchedule(ttl=60)), HOUR),
        (Poll(NOW, fresh=600, update_schedule=UpdateSchedule(ttl=60)), HOUR),
        (Poll(NOW, update_schedule=UpdateSchedule(period=DAY)), DAY),
        # At noon the next day, and with a base that is still to come at 12:40.
        (
            Poll(NOW, update_schedule=UpdateSchedule(period=DAY, base="2000-01-01T12:00:00Z")),
            DAY - 34 * MINUTE - 56,
        ),
        (Poll(NOW, update_schedule=UpdateSchedule(period=HOUR, base="2030-01-01T00:40:00Z")), 5 * MINUTE + 4),
        (Poll(NOW, changed=shift(NOW, -HOUR)), HOUR // 2),
        (Poll(NOW, changed=shift(NOW, -HOUR), interval=4 * HOUR), 2 * HOUR),
        (Poll(NOW, changed=shift(NOW, -4 * HOUR), interval=HOUR), 2 * HOUR),
        (Poll(NOW, retry_after=shift(NOW, 7)), 7),
        (Poll(NOW, update_schedule=UpdateSchedule(skip_hours=[12, 13])), HOUR + 25 * MINUTE + 4),
        (Poll(NOW, update_schedule=UpdateSchedule(skip_days=[4, 5])), 35 * HOUR + 25 * MINUTE + 4),
        (Poll(NOW, update_schedule=UpdateSchedule(skip_hours=list(range(24)))), 0),
        (Poll(NOW, update_schedule=UpdateSchedule(skip_days=list(range(7)))), 0),
    ],
)
def test_wait_of_a_poll(poll: Poll, seconds: int) -> None:
    assert wait(poll) == seconds


@pytest.mark.parametrize(
    ("missing", "seconds"),
    [
        ([], DAY),
        ([gap("limit", 9 * DAY)], 0),
        ([gap("known", 9 * DAY)], 0),
        ([gap("timeout", HOUR)], HOUR // 2),
        ([gap("timeout", HOUR), gap("http-500", 20 * MINUTE)], 10 * MINUTE),
        ([gap("http-404", 9 * DAY)], DAY),
        # A page's clock, ahead of ours.
        ([gap("timeout", -HOUR)], 0),
        ([gap("paged", 0), gap("no-history", 0), gap("entries-lost", 0)], DAY),
    ],
)
def test_gaps_are_looked_for_again_the_sooner_the_newer_they_are(missing: list[Reason], seconds: int) -> None:
    assert wait(Poll(NOW, fresh=DAY), missing) == seconds


DATE = "Fri, 20 Nov 2026 12:00:00 GMT"
LATER = "Fri, 20 Nov 2026 13:00:00 GMT"


@pytest.mark.parametrize(
    ("cache_control", "expires", "age", "seconds"),
    [
        *(("", None, None, None), ("private", None, None, None), ("max-age=600", None, None, 600)),
        *(('Public, MAX-AGE="600"', None, None, 600), ("s-maxage=5, max-age=600", None, None, 600)),
        ('private="a, max-age=9", max-age=600', None, None, 600),
        ("max-age=600", LATER, None, 600),
        ("max-age=600", None, "100", 500),
        ("max-age=600", None, "1000", 0),
        ("max-age=600", None, "old", 600),
        ("max-age=soon", LATER, None, 0),
        ("max-age=-1", None, None, 0),
        ("max-age=" + "9" * 5000, None, None, LONGEST),
        ("no-cache, max-age=600", LATER, None, 0),
        ("no-store", LATER, None, 0),
        ("", LATER, None, HOUR),
        ("", LATER, "60", HOUR - 60),
        ("", "Friday, 20-Nov-26 13:00:00 GMT", None, HOUR),
        ("", "0", None, 0),
        ("", "Thu, 01 Jan 1970 00:00:00 GMT", None, 0),
    ],
)
def test_freshness(cache_control: str, expires: str | None, age: str | None, seconds: int | None) -> None:
    assert freshness(cache_control, expires, DATE, age) == seconds


def test_expires_is_ignored_without_a_date() -> None:
    assert freshness("", LATER, None, None) is None
