"""Computes when a feed is due, by its server's headers, its document's schedule, and its past changes.

Pure: values in, values out; the time of the last poll serves as the clock. Times are ISO 8601 in UTC ending
in `Z`, in whole seconds, so that they can be compared as strings.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple
from urllib.request import parse_http_list

from fhcrawl.documents import UpdateSchedule
from fhcrawl.documents.dates import elapsed, shift, utc
from fhcrawl.reasons import Retry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fhcrawl.logical_feed import Reason

# Weight of the last interval between two changes in their moving average.
WEIGHT = 0.25
# A feed is polled twice in its average interval, so that the average can fall too.
POLLS = 2
LONGEST = 365 * 24 * 60 * 60  # seconds; longer intervals are ignored or cut
DIGITS = 19  # longer numbers exceed LONGEST anyway
HOURS, DAYS = 24, 7
# How long 304 responses are trusted: after that, a document is requested without conditions.
TRUSTED_SECONDS = 8 * 24 * 60 * 60


class Limits(NamedTuple):
    """The user's limits: seconds from the last poll until a feed is due, at least and at most."""

    shortest: int
    longest: int


class Poll(NamedTuple):
    """The data from which the next poll of a feed is computed.

    :param polled: when its subscription document was last requested
    :param fresh: seconds from then for which its server declares it fresh; None if it does not
    :param retry_after: time before which its server accepts no request
    :param update_schedule: the schedule in the document
    :param changed: when the last change of the feed was seen
    :param interval: average seconds between two changes; None after fewer than two changes
    :param half_replaced: seconds in which half of the shown entries may be new; None if unknown
    """

    polled: str
    fresh: int | None = None
    retry_after: str | None = None
    update_schedule: UpdateSchedule = UpdateSchedule()
    changed: str | None = None
    interval: int | None = None
    half_replaced: int | None = None


def interval(changed_before: str | None, average: int | None, changed_now: str) -> int | None:
    """Return the average interval between a feed's changes, in seconds, weighted to the latest."""
    last = -1 if changed_before is None else elapsed(changed_before, changed_now)
    # A negative or very long interval comes from a wrong clock.
    if not 0 <= last <= LONGEST:
        return average
    last = max(1, last)
    return last if average is None else round(average + WEIGHT * (last - average))


def is_due_in_full(received: str | None, now: str) -> bool:
    # The time may be in the future because of a wrong clock.
    return received is None or abs(elapsed(received, now)) > TRUSTED_SECONDS


def next_due(poll: Poll, gaps: Iterable[Reason], limits: Limits) -> str:
    """Return when a feed is due again, within the limits; `gaps` are why it is not complete."""
    regular = max(_declared_interval(poll), _habitual_interval(poll))
    # Missing documents are requested when their retry is due, even if the feed itself is not due yet.
    # The longer a document has been missing, the later it is tried again.
    retries = (
        0 if reason.kind.retry is Retry.SOON else elapsed(reason.since, poll.polled) // POLLS
        for reason in gaps
        if reason.kind.retry is not Retry.NEVER
    )
    seconds = min([regular, *retries])
    if poll.retry_after is not None:
        seconds = max(seconds, elapsed(poll.polled, poll.retry_after))
    latest = shift(poll.polled, limits.longest)
    due = shift(poll.polled, min(max(seconds, limits.shortest), limits.longest))
    return min(_after_skipped_hours(due, poll.update_schedule, latest), latest)


def is_held_back(poll: Poll) -> bool:
    """Return whether a feed requests longer intervals than it takes to replace all entries that it shows."""
    return poll.half_replaced is not None and 2 * poll.half_replaced < _declared_interval(poll)


# RSS 2.0, ttl: "It's a number of minutes that indicates how long a channel can be cached before refreshing
# from the source."
def _declared_interval(poll: Poll) -> int:
    update_schedule = poll.update_schedule
    period = update_schedule.period or 0
    # Syndication module, updateBase: "Defines a base date to be used in concert with updatePeriod and
    # updateFrequency to calculate the publishing schedule."
    if update_schedule.period is not None and update_schedule.base is not None:
        period -= elapsed(update_schedule.base, poll.polled) % update_schedule.period
    return max(poll.fresh or 0, (update_schedule.ttl or 0) * 60, period)


def _habitual_interval(poll: Poll) -> int:
    if poll.changed is None:
        return 0
    # A feed that has not changed for longer than its average interval may not change for as long again.
    habitual = max(poll.interval or 0, elapsed(poll.changed, poll.polled)) // POLLS
    # But no entry should be added and dropped before the next poll.
    return habitual if poll.half_replaced is None else min(habitual, poll.half_replaced)


# RSS 2.0, skipHours: "aggregators, if they support the feature, may not read the channel on hours listed in
# the skipHours element"; skipDays: "Aggregators may not read the channel during days listed in the skipDays
# element."
def _after_skipped_hours(due: str, update_schedule: UpdateSchedule, latest: str) -> str:
    if len(update_schedule.skip_hours) == HOURS or len(update_schedule.skip_days) == DAYS:
        return due
    moment = datetime.fromisoformat(due.rstrip("Z"))
    while moment.hour in update_schedule.skip_hours or moment.weekday() in update_schedule.skip_days:
        moment = moment.replace(minute=0, second=0) + timedelta(hours=1)
    return f"{moment.isoformat()}Z"


def freshness(cache_control: str, expires: str | None, date: str | None, age: str | None) -> int | None:
    """Return for how many seconds from now a response is fresh; None if its header fields do not tell."""
    pairs = (directive.partition("=") for directive in parse_http_list(cache_control))
    directives = {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}
    # RFC 9111, 5.2.2.4 and 5.2.2.5: a response that needs validation, or must not be stored, is never fresh.
    if directives.keys() & {"no-cache", "no-store"}:
        return 0
    # RFC 9111, 5.3: "If a response includes a Cache-Control header field with the max-age directive (Section
    # 5.2.2.1), a recipient MUST ignore the Expires header field."
    if "max-age" in directives:
        lifetime = _seconds(directives["max-age"])
    elif expires is not None and date is not None:
        # RFC 9111, 5.3: a date that is invalid, "0" above all, is in the past.
        expires_at, sent_at = utc(expires), utc(date)
        lifetime = 0 if expires_at is None or sent_at is None else elapsed(sent_at, expires_at)
    else:
        return None
    return min(max(0, lifetime - _seconds(age or "")), LONGEST)


# RFC 9111, 1.2.2: "a non-negative integer, representing time in seconds"; 4.2.1: what is invalid is stale.
def _seconds(text: str) -> int:
    text = text.strip()
    return int(text[:DIGITS]) if text.isascii() and text.isdecimal() else 0
