"""Plots of numbers over time, as SVG. Pure: values in, markup out.

Positions along the time axis are percentages and text has a fixed size, so that a plot fills the width of its
container and is readable on a phone. The style sheet sets colours, by class.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from fhcrawl.documents.dates import elapsed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fhcrawl.logical_feed.coverage import Hole, Span

MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")
TO_THE_MONTH, TO_THE_DAY, TO_THE_MINUTE = map(len, ("2003-12", "2003-12-13", "2003-12-13T18:30"))
YEAR = 12
MOST_BINS = 40
MOST_LABELS = 4  # more would overlap on a phone
SPANS = (1, 3, YEAR, 5 * YEAR, 10 * YEAR, 50 * YEAR, 100 * YEAR, 500 * YEAR)  # months
HEIGHT = 120  # pixels; limit of the tallest bar
BELOW = 22  # pixels, for the labels of the time axis
ABOVE = 8  # pixels, so that the top label is not cropped
TOP = 100  # units of a bar's height
MOST_STEPS = 3
TIMELINE = 18  # pixels; height of a timeline
LEAST_PART = 0.005  # of a timeline, so that a short hole is seen
FEWEST_COLUMNS = 8  # limits the width of a bar
# Of the columns, the part that stands for the time before the first one, if that is not known.
BEFORE = 8
# The pattern of unknown time; one for the page, which has an element with this id.
HATCH = Markup(
    '<svg class="hatch" width="0" height="0" aria-hidden="true"><pattern id="hatch" width="6" height="6" '
    'patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M1 0V6"/></pattern></svg>'
)


class Bin(NamedTuple):
    """A span of time.

    :param label: `2003-12`, `2003 Q4`, `2003` or `2000 to 2009`
    :param entries: number of entries in it
    :param total: number of entries up to its end
    :param is_known: False if there may be entries in it that are not known
    """

    label: str
    entries: int
    total: int
    is_known: bool = True


def bins(months: Mapping[str, int], limit: int = MOST_BINS, gap_before: str | None = None) -> list[Bin]:
    """Sum up months to at most `limit` spans, including empty ones.

    :param months: numbers by `2003-12`; other keys are ignored
    :param gap_before: time before which not all is known; ISO 8601
    """
    counted = {_number(month): count for month, count in months.items() if MONTH.fullmatch(month)}
    if not counted:
        return []
    first, last = min(counted), max(counted)
    span = next((s for s in SPANS if last // s - first // s < limit), SPANS[-1])
    sums: Counter[int] = Counter()
    for month, count in counted.items():
        sums[month // span] += count
    known_from = _number(gap_before) // span if gap_before else 0
    numbers = range(first // span, last // span + 1)
    return [
        Bin(_label(number * span, span), sums[number], total, number >= known_from)
        for number, total in zip(numbers, accumulate(sums[number] for number in numbers), strict=True)
    ]


def _number(month: str) -> int:
    return int(month[:4]) * YEAR + int(month[5:TO_THE_MONTH]) - 1


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
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2  # 1, 2, 5, 10, 20, 50 …
    steps = -(-max(highest, 1) // step)
    return [step * number for number in range(steps + 1)]


def bars(drawn: Sequence[Bin], label: str, gap_before: str | None = None, is_growth: bool = False) -> Markup:
    """Draw the number of entries in each span; the time before a gap is hatched.

    :param label: description for screen readers
    :param gap_before: as for `bins`
    :param is_growth: draw the total number of entries up to the end of each span
    """
    kind, values = ("growth", [b.total for b in drawn]) if is_growth else ("bars", [b.entries for b in drawn])
    top = ticks(max(values, default=0))
    columns = max(len(drawn), FEWEST_COLUMNS)
    begin = -(-columns // BEFORE) if gap_before else 0
    parts = [
        *(_grid(tick, top[-1]) for tick in top),
        _hatched(drawn, begin, columns, gap_before) if gap_before else "",
        _columns(drawn, values, top[-1], begin, columns),
        *_labels(drawn, begin, columns),
    ]
    head = Markup('<svg class="plot {}" role="img" aria-label="{}" width="100%" height="{}">')
    return head.format(kind, label, HEIGHT + ABOVE + BELOW) + Markup("").join(parts) + Markup("</svg>")


def _grid(tick: int, top: int) -> Markup:
    y = round(ABOVE + HEIGHT * (1 - tick / top), 1)
    line = Markup('<line x2="100%" y1="{0}" y2="{0}"/><text x="-8" y="{0}" dy=".35em">{1}</text>')
    return line.format(f"{y:g}", f"{tick:,}")


def _hatched(drawn: Sequence[Bin], begin: int, columns: int, gap_before: str) -> Markup:
    unknown = begin + sum(not span.is_known for span in drawn)
    width = f"{unknown * 100 / (begin + columns):.4g}"
    hatched = Markup(
        '<rect class="hatched" y="{}" width="{}%" height="{}" fill="url(#hatch)">'
        "<title>before {}: unknown</title></rect>"
    )
    return hatched.format(ABOVE, width, HEIGHT, gap_before[:TO_THE_MONTH])


def _columns(drawn: Sequence[Bin], values: Sequence[int], top: int, begin: int, columns: int) -> Markup:
    """Return the bars, which are strokes, and their tooltips, each over the whole height of the plot."""
    shown = [i for i, value in enumerate(values) if value]
    strokes = "".join(
        f"M{begin + i}.5 {TOP}V{min(TOP - 1, round(TOP * (1 - values[i] / top)))}" for i in shown
    )
    tooltip = Markup('<rect x="{}"><title>{}: {}</title></rect>')
    tooltips = (tooltip.format(begin + i, drawn[i].label, f"{values[i]:,}") for i in shown)
    inner = Markup('<svg y="{}" height="{}" viewBox="0 0 {} {}" preserveAspectRatio="none"><path d="{}"/>')
    head = inner.format(ABOVE, HEIGHT, begin + columns, TOP, strokes)
    return head + Markup("").join(tooltips) + Markup("</svg>")


def _labels(drawn: Sequence[Bin], begin: int, columns: int) -> Iterator[Markup]:
    every = -(-(begin + columns) // MOST_LABELS)
    text = Markup('<text class="x" x="{}%" y="{}">{}</text>')
    for position in range(0, len(drawn), every):
        middle = (begin + position + 0.5) * 100 / (begin + columns)
        first = drawn[position].label.partition(" to ")[0]
        yield text.format(f"{middle:.4g}", HEIGHT + ABOVE + BELOW - 5, first)


def timeline(spans: Sequence[Span], holes: Sequence[Hole], label: str) -> Markup:
    """Draw spans of time, and the holes between them, which are hatched.

    :param spans: at least one, oldest first
    :param holes: one after each span but the last
    :param label: description for screen readers
    """
    parts = [(span.since, span.until, False) for span in spans]
    for number, hole in enumerate(holes):
        parts.insert(2 * number + 1, (hole.after, hole.before, True))
    least = max(1, LEAST_PART * elapsed(spans[0].since, spans[-1].until))
    lengths = [max(least, elapsed(begin, end)) for begin, end, _ in parts]
    begins = [0, *accumulate(lengths)]
    drawn = (
        _part(part, 100 * begin / begins[-1], 100 * length / begins[-1])
        for part, begin, length in zip(parts, begins, lengths, strict=False)
    )
    head = Markup('<svg class="plot timeline" role="img" aria-label="{}" width="100%" height="{}">')
    ends = Markup('<text class="from" y="{0}">{1}</text><text x="100%" y="{0}">{2}</text>')
    days = (time[:TO_THE_DAY] for time in (spans[0].since, spans[-1].until))
    below = ends.format(TIMELINE + BELOW - 5, *days)
    return head.format(label, TIMELINE + BELOW) + Markup("").join(drawn) + below + Markup("</svg>")


def _part(part: tuple[str, str, bool], begin: float, width: float) -> Markup:
    since, until, is_hole = part
    rect = Markup(
        '<rect class="{}" x="{:.4g}%" width="{:.4g}%" height="{}"{}><title>{} to {}: {}</title></rect>'
    )
    kind, fill, said = ("hole", Markup(' fill="url(#hatch)"'), "hole") if is_hole else ("span", "", "no hole")
    times = (time[:TO_THE_MINUTE].replace("T", " ") for time in (since, until))
    return rect.format(kind, begin, width, TIMELINE, fill, *times, said)
