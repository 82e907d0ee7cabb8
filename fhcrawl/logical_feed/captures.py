"""Which captures of a web archive are worth reading, and which spans of time they cover.

Pure: values in, values out. Times are ISO 8601 in UTC, in whole seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fhcrawl.logical_feed.coverage import Coverage, Hole, Span


class CaptureRead(NamedTuple):
    """A capture that was read, or that could not be read.

    :param time: when it was captured: Memento-Datetime, of the capture that was served
    :param marks: `coverage.mark` of its entries, in document order, `coverage.WINDOW` at most; None: it could
        not be read
    """

    time: str
    marks: tuple[str, ...] | None


class Covered(NamedTuple):
    """The spans that captures and the feed's own reads cover, oldest first, and the holes between them."""

    spans: list[Span]
    holes: list[Hole]


def next_captures(
    times: Sequence[str], reads: Mapping[int, CaptureRead], live: Coverage | None, *, every: bool
) -> list[int]:
    """Return the indexes of the captures that are worth reading next; [] if there are none.

    :param times: of the captures with distinct contents, ascending
    :param reads: the captures that were read, by their indexes
    :param live: the coverage of the feed by its own reads
    :param every: read each capture
    """
    return [number for number in reversed(range(len(times))) if number not in reads]


def covered_by(reads: Iterable[CaptureRead], live: Coverage | None) -> Covered:
    """Return what captures and the feed's own reads cover."""
    return Covered(live.spans, live.holes) if live else Covered([], [])
