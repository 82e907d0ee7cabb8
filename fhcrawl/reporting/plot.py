"""Plots of numbers over time, as SVG. Pure: values in, markup out.

Positions along the time axis are percentages and text has a fixed size, so that a plot fills the width of its
container and is readable on a phone. The style sheet sets colours, by class.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")
YEAR = 12
MOST_BINS = 40
MOST_LABELS = 4  # more would overlap on a phone
SPANS = (1, 3, YEAR, 5 * YEAR, 10 * YEAR, 50 * YEAR, 100 * YEAR, 500 * YEAR)  # months
HEIGHT = 160  # pixels; limit of the tallest bar
BELOW = 22  # pixels, for the labels of the time axis
ABOVE = 8  # pixels, so that the top label is not cropped
MOST_STEPS = 4
FEWEST_COLUMNS = 8  # limits the width of a bar
GAP = 0.12  # between bars, as a fraction of a bar's width


class Bin(NamedTuple):
    """A span of time.

    :param label: `2003-12`, `2003 Q4`, `2003` or `2000 to 2009`
    :param entries: number of entries in it
    :param total: number of entries up to its end
    """

    label: str
    entries: int
    total: int


def bins(months: Mapping[str, int]) -> list[Bin]:
    """Sum up months to at most MOST_BINS spans, including empty ones.

    :param months: numbers by `2003-12`; other keys are ignored
    """
    counted = {_number(month): count for month, count in months.items() if MONTH.fullmatch(month)}
    if not counted:
        return []
    first, last = min(counted), max(counted)
    span = next((s for s in SPANS if last // s - first // s < MOST_BINS), SPANS[-1])
    sums: dict[int, int] = {}
    for month, count in counted.items():
        sums[month // span] = sums.get(month // span, 0) + count
    return list(_running(sums, first // span, last // span, span))


def _running(sums: dict[int, int], first: int, last: int, span: int) -> Iterator[Bin]:
    total = 0
    for number in range(first, last + 1):
        count = sums.get(number, 0)
        total += count
        yield Bin(_label(number * span, span), count, total)


def _number(month: str) -> int:
    return int(month[:4]) * YEAR + int(month[5:]) - 1


def _label(month: int, span: int) -> str:
    year = f"{month // YEAR:04}"
    if span < YEAR:
        of_year = month % YEAR
        return f"{year}-{of_year + 1:02}" if span == 1 else f"{year} Q{of_year // 3 + 1}"
    return year if span == YEAR else f"{year} to {(month + span) // YEAR - 1:04}"


def ticks(highest: int) -> list[int]:
    """Return round numbers from 0 to the first that is not below `highest`, in at most `MOST_STEPS` steps."""
    step = 1
    while step * MOST_STEPS < highest:
        step = _next_step(step)
    steps = -(-max(highest, 1) // step)
    return [step * number for number in range(steps + 1)]


def _next_step(step: int) -> int:
    """Return the next number of 1, 2, 5, 10, 20, 50 …"""
    return step * 5 // 2 if str(step)[0] == "2" else step * 2


def bars(drawn: Sequence[Bin], label: str) -> Markup:
    """Draw the number of entries in each span.

    :param label: description for screen readers
    """
    return _svg(drawn, [span.entries for span in drawn], label, GAP)


def growth(drawn: Sequence[Bin], label: str) -> Markup:
    """Draw the total number of entries up to the end of each span."""
    return _svg(drawn, [span.total for span in drawn], label, 0)


def _svg(drawn: Sequence[Bin], values: Sequence[int], label: str, gap: float) -> Markup:
    scale = ticks(max(values, default=0))
    parts = [
        *(_grid(tick, scale[-1]) for tick in scale),
        *(_column(i, drawn[i].label, values[i], scale[-1], len(drawn), gap) for i in range(len(drawn))),
        *_labels(drawn),
    ]
    head = Markup('<svg class="plot" role="img" aria-label="{}" width="100%" height="{}">')
    return head.format(label, HEIGHT + ABOVE + BELOW) + Markup("").join(parts) + Markup("</svg>")


def _y(value: int, top: int) -> float:
    return round(ABOVE + HEIGHT * (1 - value / top), 1)


def _grid(tick: int, top: int) -> Markup:
    line = Markup('<line x1="0" x2="100%" y1="{0}" y2="{0}"/><text x="-8" y="{0}" dy=".35em">{1}</text>')
    return line.format(_y(tick, top), f"{tick:,}")


def _column(position: int, label: str, value: int, top: int, columns: int, gap: float) -> Markup:
    """Return a bar and its tooltip, which is shown over the whole height of the plot."""
    if not value:
        return Markup("")
    width = 100 / max(columns, FEWEST_COLUMNS)
    column = Markup(
        '<g><title>{}: {}</title><rect class="hit" x="{}%" width="{}%" y="{}" height="{}"/>'
        '<rect x="{}%" width="{}%" y="{}" height="{}"/></g>'
    )
    y = _y(value, top)
    x, inner = position * width, width * (1 - gap)
    return column.format(
        *(label, f"{value:,}", round(x, 2), round(width, 2), ABOVE, HEIGHT),
        *(round(x + width * gap / 2, 2), round(inner, 2), y, round(ABOVE + HEIGHT - y, 1)),
    )


def _labels(drawn: Sequence[Bin]) -> Iterator[Markup]:
    columns = max(len(drawn), FEWEST_COLUMNS)
    every = -(-columns // MOST_LABELS)
    text = Markup('<text class="x" x="{}%" y="{}">{}</text>')
    for position in range(0, len(drawn), every):
        middle = (position + 0.5) * 100 / columns
        first = drawn[position].label.partition(" to ")[0]
        yield text.format(round(middle, 2), HEIGHT + ABOVE + BELOW - 5, first)
