"""Reads update schedules: elements of RSS 2.0, and of RSS 1.0's syndication module."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fhcrawl.documents.dates import utc
from fhcrawl.documents.model import UpdateSchedule
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.namespaces import braced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fhcrawl.documents.xml.elements import Head

SY = braced("sy")
PERIOD, FREQUENCY, BASE = f"{SY}updatePeriod", f"{SY}updateFrequency", f"{SY}updateBase"
HOUR = 60 * 60
DAY = 24 * HOUR
# Syndication module, updatePeriod: "Acceptable values are: hourly, daily, weekly, monthly, yearly."
PERIODS = {"hourly": HOUR, "daily": DAY, "weekly": 7 * DAY, "monthly": 30 * DAY, "yearly": 365 * DAY}
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
LONGEST_NUMBER = 9  # digits
EMPTY = UpdateSchedule()


def read(head: Head, namespace: str) -> UpdateSchedule | None:
    """Read the schedule in a head section's children; return None if there is none.

    :param namespace: namespace of RSS's own elements, in braces
    """
    if head.keys().isdisjoint(_names(namespace)):
        return None
    period = _period(head)
    schedule = UpdateSchedule(
        ttl=_number(elements.line_of(head, f"{namespace}ttl")),
        period=period,
        base=None if period is None else _base(head),
        skip_hours=sorted(set(_hours(head, namespace))),
        skip_days=sorted(set(_days(head, namespace))),
    )
    return None if schedule == EMPTY else schedule


@cache
def _names(namespace: str) -> frozenset[str]:
    own = (f"{namespace}{name}" for name in ("ttl", "skipHours", "skipDays"))
    return frozenset({PERIOD, FREQUENCY, BASE, *own})


def _number(text: str | None) -> int | None:
    if text is None or not (text.isascii() and text.isdecimal()) or len(text) > LONGEST_NUMBER:
        return None
    return int(text) or None


# Syndication module, updateFrequency: "A positive integer indicates how many times in that period the channel
# is updated."
def _period(head: Head) -> int | None:
    if not head.keys() & {PERIOD, FREQUENCY, BASE}:
        return None
    # updatePeriod: "If omitted, daily is assumed."
    period = PERIODS.get((elements.line_of(head, PERIOD) or "daily").lower())
    # updateFrequency: "If omitted a value of 1 is assumed."
    frequency = _number(elements.line_of(head, FREQUENCY)) or 1
    return None if period is None else max(1, period // frequency)


def _base(head: Head) -> str | None:
    base = utc(elements.line_of(head, BASE) or "")
    return None if base is None else f"{base.rstrip('Z').partition('.')[0]}Z"


# RSS 2.0, skipHours: "a number between 0 and 23, representing a time in GMT". Some feeds count from 1 to 24.
def _hours(head: Head, namespace: str) -> Iterator[int]:
    for text in _children(head, f"{namespace}skipHours", "hour"):
        if text.isascii() and text.isdecimal() and len(text) <= len("24") and int(text) <= 24:  # noqa: PLR2004
            yield int(text) % 24


def _days(head: Head, namespace: str) -> Iterator[int]:
    for text in _children(head, f"{namespace}skipDays", "day"):
        if text.lower() in DAYS:
            yield DAYS.index(text.lower())


def _children(head: Head, tag: str, name: str) -> Iterator[str]:
    for element in head.get(tag, ())[:1]:
        for child in element:
            if elements.local_name(child) == name and (text := elements.line(child)):
                yield text
