"""The order of versions, by their own times and the places of their documents."""

from itertools import pairwise

import pytest

from fhcrawl.logical_feed import ChainPosition
from fhcrawl.logical_feed.results import Order, comparable, latest_time, order

LATEST = latest_time("2006-01-01T00:00:00Z")
OLD, NEW, FUTURE = "2003-01-01T00:00:00Z", "2004-01-01T00:00:00Z", "2999-01-01T00:00:00Z"


def at(
    walk: int, step: int = 0, time: str | None = None, of_document: str | None = None, position: int = 0
) -> Order:
    """The order of a version in a subscription document (step 0) or in an archive."""
    claimed = order(time, of_document, ChainPosition(walk, step), position, is_observed=not step)
    return claimed.counted(LATEST)


def page(walk: int, step: int, time: str | None = None) -> Order:
    return order(time, NEW, ChainPosition(walk, step), 0, is_observed=True).counted(LATEST)


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        # Where both have a time of their own, it decides.
        (at(1, -9, NEW, position=5), at(2, 0, OLD)),
        # Then the place: nearer to the subscription document, then a later one.
        (at(1, -1, OLD), at(1, -2, OLD)),
        (at(2, 0, OLD), at(1, 0, OLD)),
        (at(2), at(1)),
        (at(2, -1), at(1)),
        (at(1), at(1, -1)),
        (at(1, -1), at(1, -2)),
        # What the subscription document shows without a time is newer than all that was read before it,
        # and than the archives written.
        (at(2), at(1, 0, NEW)),
        (at(2), at(1, -3, NEW)),
        (at(2), at(2, -1, NEW)),
        # What a later one shows with a time is newer than that: a feed that has changed from RSS to Atom.
        (at(3, 0, OLD), at(2)),
        # Pages are read by each walk too; the subscription document of the same walk is nearer.
        (page(2, -2), at(1, 0, NEW)),
        (at(2, 0, OLD), page(2, -2)),
        # The document's own update time counts in archives only.
        (at(1, 0, OLD), at(1, -1)),
        (at(1, -2, None, NEW), at(1, -1, None, OLD)),
        (at(1, -1, None, NEW), at(1, -2, OLD)),
        (at(1, 0, None, OLD), at(1, -1, None, NEW)),
        (at(2, 0, None, OLD), at(1, 0, None, NEW)),
        # The first of equal entries in a document wins.
        (at(1, 0, OLD, position=0), at(1, 0, OLD, position=1)),
        # A time in the future is none.
        (at(2, 0, OLD), at(1, 0, FUTURE)),
        (at(2, 0, FUTURE), at(1, 0, NEW)),
    ],
)
def test_order_of_two_versions(newer: Order, older: Order) -> None:
    assert newer.is_newer(older)
    assert not older.is_newer(newer)


class TestOrderOfVersions:
    def test_replacing_version_inherits_overrides(self) -> None:
        rss, atom, archive = at(2), at(3, 0, OLD), at(1, -1, NEW)
        assert archive.is_newer(atom)
        assert rss.is_newer(archive)
        assert atom.with_overrides_of(rss).is_newer(archive)

    def test_equal_times_leave_it_to_the_place(self) -> None:
        places = ((1, -2), (1, -1), (1, 0), (2, -1), (2, 0))
        assert all(later.is_newer(before) for before, later in pairwise(at(*place, OLD) for place in places))

    def test_time_more_than_a_day_after_the_fetch_does_not_count(self) -> None:
        assert at(1, 0, "2006-01-02T00:00:00Z").time
        assert not at(1, 0, "2006-01-02T00:00:01Z").time
        assert not at(1, 0, FUTURE).time

    def test_fractions_of_a_second_count(self) -> None:
        times = ["03Z", "03.05Z", "03.25Z", "03.3Z", "04Z"]
        keys = [comparable(f"2003-12-13T18:30:{time}") for time in times]
        assert keys == sorted(keys)

        assert comparable("2003-12-13T18:30:02.50Z") == comparable("2003-12-13T18:30:02.5Z")
        assert comparable("2003-12-13T18:30:20.000Z") == comparable("2003-12-13T18:30:20Z")
