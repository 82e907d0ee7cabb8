"""The order of versions, by the times that count."""

import pytest

from fhcrawl.logical_feed import ChainPosition
from fhcrawl.logical_feed.versions import Order, comparable, latest_time, order

LATEST = latest_time("2006-01-01T00:00:00Z")
OLD, NEW = "2003-01-01T00:00:00Z", "2004-01-01T00:00:00Z"
WALK = ChainPosition(1, 0)


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        # A later update time wins over everything.
        (order(NEW, None, ChainPosition(1, -9), 5), order(OLD, NEW, ChainPosition(2, 0), 0)),
        # An entry without a time has its document's.
        (order(None, NEW, WALK, 0), order(OLD, NEW, WALK, 0)),
        (order(NEW, OLD, WALK, 0), order(None, OLD, WALK, 0)),
        # No time at all is the oldest.
        (order(OLD, None, ChainPosition(1, -5), 9), order(None, None, ChainPosition(2, 0), 0)),
        # Equal times leave it to the document's time.
        (order(OLD, NEW, ChainPosition(1, -9), 0), order(OLD, OLD, ChainPosition(2, 0), 0)),
        # The first of equal entries in a document wins.
        (order(OLD, NEW, WALK, 0), order(OLD, NEW, WALK, 1)),
    ],
)
def test_order_of_two_versions(later: Order, earlier: Order) -> None:
    assert later.counted(LATEST) > earlier.counted(LATEST)


class TestOrderOfVersions:
    def test_equal_documents_leave_it_to_the_place(self) -> None:
        places = [ChainPosition(*place) for place in ((1, -2), (1, -1), (1, 0), (2, -1), (2, 0))]
        orders = [order(OLD, NEW, place, 0).counted(LATEST) for place in places]
        assert orders == sorted(orders)
        assert len(set(orders)) == 5

    @pytest.mark.parametrize(
        ("time", "counts"),
        [("2006-01-02T00:00:00Z", True), ("2006-01-02T00:00:01Z", False), ("2999-01-01T00:00:00Z", False)],
    )
    def test_time_more_than_a_day_after_the_fetch_does_not_count(self, time: str, counts: bool) -> None:
        assert bool(order(time, None, WALK, 0).counted(LATEST).time) is counts
        assert bool(order(None, time, WALK, 0).counted(LATEST).document_time) is counts

    def test_future_time_falls_back_to_the_documents(self) -> None:
        assert order("2999-01-01T00:00:00Z", OLD, WALK, 0).counted(LATEST).time == comparable(OLD)

    def test_fractions_of_a_second_count(self) -> None:
        times = ["03Z", "03.05Z", "03.25Z", "03.3Z", "04Z"]
        keys = [comparable(f"2003-12-13T18:30:{time}") for time in times]
        assert keys == sorted(keys)

    def test_fractions_that_are_equal_are_equal(self) -> None:
        assert comparable("2003-12-13T18:30:02.50Z") == comparable("2003-12-13T18:30:02.5Z")
        assert comparable("2003-12-13T18:30:20.000Z") == comparable("2003-12-13T18:30:20Z")
