"""Times of feeds, as ISO 8601 in UTC ending in `Z`; strings, because feeds have more digits than datetime."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

LEAP_SECOND = 60  # RFC 3339, 5.6; RFC 5322, 3.3
RFC822_LEAP_SECOND = re.compile(r"(\d\d:\d\d):60\b", re.ASCII)
CANONICAL = re.compile(r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$", re.ASCII)
RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[Tt\s](\d\d):(\d\d)(?::(\d\d)([.,]\d+)?)?\s*(?:([Zz])|([+-])([01]\d|2[0-3]):?([0-5]\d))?)?$",
    re.ASCII,
)


def utc(text: str) -> str | None:
    """A time of RFC 3339 (RFC 4287, 3.3), or else of RFC 822 (RSS 2.0); None if it is neither.

    Fractions of a second are kept as they are. A time without a zone is taken as UTC.
    """
    text = text.strip()
    try:
        if CANONICAL.match(text):
            datetime.fromisoformat(text[:-1])
            return text
        return _rfc3339(text) or _rfc822(text)
    except (ValueError, OverflowError, IndexError, TypeError):
        return None


def _rfc3339(text: str) -> str | None:
    match = RFC3339.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, _, sign, hours, minutes = match.groups("0")
    time = datetime(int(year), int(month), int(day), int(hour), int(minute))  # noqa: DTZ001
    if int(second) > LEAP_SECOND:
        return None
    time += timedelta(seconds=int(second))
    if sign != "0":
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        time += offset if sign == "-" else -offset
    digits = "" if fraction == "0" else "." + fraction[1:]
    return f"{time.isoformat()}{digits}Z"


def _rfc822(text: str) -> str | None:
    text, leap_seconds = RFC822_LEAP_SECOND.subn(r"\1:59", text)
    time = parsedate_to_datetime(text) + timedelta(seconds=leap_seconds)
    if time.tzinfo is not None:
        time = time.astimezone(timezone.utc)
    return f"{time.replace(tzinfo=None, microsecond=0).isoformat()}Z"


def shift(time: str, seconds: float) -> str:
    """A time of this module's form, moved by a number of seconds."""
    moved = datetime.fromisoformat(time.rstrip("Z")) + timedelta(seconds=seconds)
    return f"{moved.isoformat()}Z"
