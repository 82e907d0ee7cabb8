"""Plots: numbers that can be read, whatever the times are."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from fhcrawl.reporting import plot

MONTHS = st.dictionaries(
    st.builds("{:04}-{:02}".format, st.integers(0, 9999), st.integers(1, 12)),
    st.integers(1, 10**6),
    min_size=1,
)


def test_months_are_drawn_without_holes() -> None:
    assert plot.bins({"2003-12": 3, "2004-02": 1, "": 9, "2004-13": 9}) == [
        ("2003-12", 3, 3),
        ("2004-01", 0, 3),
        ("2004-02", 1, 4),
    ]


@pytest.mark.parametrize(
    ("last", "labels"),
    [
        ("2004-01", ["2003-12", "2004-01"]),
        ("2010-01", ["2003 Q4", "2004 Q1"]),
        ("2030-01", ["2003", "2004"]),
        ("2199-01", ["2000 to 2004", "2005 to 2009"]),
        ("9999-12", ["2000 to 2499", "2500 to 2999"]),
    ],
)
def test_the_longer_the_history_the_longer_the_spans(last: str, labels: list[str]) -> None:
    assert [span.label for span in plot.bins({"2003-12": 1, last: 1})[:2]] == labels


def test_nothing_is_drawn_of_nothing() -> None:
    assert plot.bins({"": 3}) == []


@given(MONTHS)
def test_every_entry_is_in_one_of_a_few_spans(months: dict[str, int]) -> None:
    drawn = plot.bins(months)
    assert len(drawn) <= plot.MOST_BINS
    assert sum(span.entries for span in drawn) == sum(months.values()) == drawn[-1].total


@given(st.integers(0, 10**9))
def test_axis_has_round_numbers_up_to_the_highest(highest: int) -> None:
    ticks = plot.ticks(highest)
    assert ticks[0] == 0
    assert ticks[-2] < max(highest, 1) <= ticks[-1]
    assert len(ticks) <= plot.MOST_STEPS + 1
    assert re.fullmatch("[125]0*", str(ticks[1]))
    assert {later - earlier for earlier, later in itertools.pairwise(ticks)} == {ticks[1]}


def test_bars_have_their_numbers_and_heights() -> None:
    drawn = plot.bins({"2003-12": 1000, "2004-01": 250})
    svg = etree.fromstring(plot.bars(drawn, 'a "label" & more'))
    assert svg.get("aria-label") == 'a "label" & more'
    assert [title.text for title in svg.iter("title")] == ["2003-12: 1,000", "2004-01: 250"]
    high, low = (float(group[2].get("height", "")) for group in svg.iter("g"))
    assert high == plot.HEIGHT
    assert low == plot.HEIGHT / 4
    assert [text.text for text in svg.iter("text")] == ["0", "500", "1,000", "2003-12"]


def test_growth_adds_up() -> None:
    svg = etree.fromstring(plot.growth(plot.bins({"2003-12": 2, "2004-02": 1}), ""))
    assert [title.text for title in svg.iter("title")] == ["2003-12: 2", "2004-01: 2", "2004-02: 3"]


@given(MONTHS)
def test_bars_stay_within_the_plot(months: dict[str, int]) -> None:
    svg = etree.fromstring(plot.bars(plot.bins(months), ""))
    for rect in svg.iter("rect"):
        x, width = (float(rect.get(name, "").rstrip("%")) for name in ("x", "width"))
        assert 0 <= x <= x + width <= 100.1
        assert 0 <= float(rect.get("height", "")) <= plot.HEIGHT
