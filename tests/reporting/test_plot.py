"""Plots: numbers that can be read, whatever the times are."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from fhcrawl.logical_feed.coverage import Hole, Span
from fhcrawl.reporting import plot

MONTHS = st.dictionaries(
    st.builds("{:04}-{:02}".format, st.integers(0, 9999), st.integers(1, 12)),
    st.integers(1, 10**6),
    min_size=1,
)


def bars_of(svg: etree._Element) -> list[tuple[float, int]]:
    """Return the middle of each bar, in columns, and its top, in units from the top of the plot."""
    [path] = svg.iterfind("svg/path")
    found = re.findall(r"M([\d.]+) (\d+)V(\d+)", path.get("d", ""))
    assert {bottom for _, bottom, _ in found} == {str(plot.TOP)}
    return [(float(middle), int(top)) for middle, _, top in found]


def test_months_are_drawn_without_holes() -> None:
    assert plot.bins({"2003-12": 3, "2004-02": 1, "": 9, "2004-13": 9}) == [
        *(("2003-12", 3, 3, True), ("2004-01", 0, 3, True), ("2004-02", 1, 4, True)),
    ]


@pytest.mark.parametrize(
    ("gap_before", "known"),
    [("2003-12-31T23:59:59Z", [True] * 3), ("2004-01-01T00:00:00Z", [False, True, True])],
)
def test_spans_before_a_gap_are_not_known(gap_before: str, known: list[bool]) -> None:
    drawn = plot.bins({"2003-12": 3, "2004-02": 1}, gap_before=gap_before)
    assert [span.is_known for span in drawn] == known
    # The year of the gap counts as known: it begins in it.
    drawn = plot.bins({"1990-01": 1, "2004-02": 1}, gap_before=gap_before)
    assert next(span.label for span in drawn if span.is_known) == gap_before[:4]


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
    (_, highest), (_, lower) = bars_of(svg)
    assert highest == 0 < lower < plot.TOP
    assert {"0", "1,000", "2003-12"} <= {text.text for text in svg.iter("text")}


def test_time_before_a_gap_is_hatched() -> None:
    months = {"2003-12": 1, "2004-02": 1}
    gap_before = "2004-02-03T00:00:00Z"
    svg = etree.fromstring(plot.bars(plot.bins(months, gap_before=gap_before), "", gap_before))
    [hatched] = svg.iterfind("rect")
    assert (hatched.get("fill"), hatched[0].text) == ("url(#hatch)", "before 2004-02: unknown")
    assert 'id="hatch"' in plot.HATCH
    assert "hatch" not in plot.bars(plot.bins(months), "")


def test_growth_adds_up() -> None:
    svg = etree.fromstring(plot.bars(plot.bins({"2003-12": 2, "2004-02": 1}), "", is_growth=True))
    assert [title.text for title in svg.iter("title")] == ["2003-12: 2", "2004-01: 2", "2004-02: 3"]


@given(MONTHS, st.one_of(st.none(), st.datetimes().map(lambda time: time.isoformat())))
def test_bars_stay_within_the_plot(months: dict[str, int], gap_before: str | None) -> None:
    drawn = plot.bins(months, 24, gap_before)
    assert len(drawn) <= 24
    svg = etree.fromstring(plot.bars(drawn, "", gap_before))
    [inner] = svg.iterfind("svg")
    columns = int(inner.get("viewBox", "").split()[2])
    for middle, top in bars_of(svg):
        assert 0.5 <= middle <= columns - 0.5
        assert 0 <= top < plot.TOP
    for label in svg.iterfind("text[@class='x']"):
        assert 0 < float(label.get("x", "").rstrip("%")) < 100
    for hatched in svg.iterfind("rect"):
        assert 0 < float(hatched.get("width", "").rstrip("%")) <= 100


def test_spans_and_holes_fill_a_timeline_in_their_order() -> None:
    spans = [
        Span("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        Span("2026-01-03T00:00:00Z", "2026-01-05T00:00:00Z"),
    ]
    holes = [Hole(spans[0].until, spans[1].since, 2 * 86400, None, 1)]
    svg = etree.fromstring(plot.timeline(spans, holes, "Said & done"))
    assert svg.get("aria-label") == "Said & done"
    drawn = [(part.get("class"), part.findtext("title")) for part in svg.iterfind("rect")]
    assert drawn == [
        ("span", "2026-01-01 00:00 to 2026-01-01 00:00: no hole"),
        ("hole", "2026-01-01 00:00 to 2026-01-03 00:00: hole"),
        ("span", "2026-01-03 00:00 to 2026-01-05 00:00: no hole"),
    ]
    # A read alone is visible too.
    assert all(float(part.get("width", "").rstrip("%")) > 0.1 for part in svg.iterfind("rect"))
    assert [text.text for text in svg.iterfind("text")] == ["2026-01-01", "2026-01-05"]
