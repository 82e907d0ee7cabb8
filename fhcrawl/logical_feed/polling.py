"""When a feed is due: by what its server and its document say, and by how often it has changed.

Pure: values in, values out; the time of the last poll is the clock. Times are ISO 8601 in UTC ending in `Z`,
in whole seconds, so that they can be compared as strings.
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

# How much the last interval between two changes counts in their average.
WEIGHT = 0.25
# A feed is asked for twice in the time that it takes to change, so that the average can fall too.
POLLS = 2
LONGEST = 365 * 24 * 60 * 60  # seconds that anybody is believed
DIGITS = 19  # of a number that are read: more are longer than LONGEST anyway
HOURS, DAYS = 24, 7


class Limits(NamedTuple):
    """The user's limits: how many seconds after the last poll a feed is due, at least and at most."""

    shortest: int
    longest: int


class Poll(NamedTuple):
    """What is known of when a feed changes.

    :param polled: when its subscription document was last asked for
    :param fresh: for how many seconds from then its server calls that fresh; None if it does not say
    :param retry_after: before which its server wants no request
    :param update_schedule: what the document says
    :param changed: when the feed was last found to have changed
    :param interval: seconds between two such times on average; None if there were not two
    """

    polled: str
    fresh: int | None = None
    retry_after: str | None = None
    update_schedule: UpdateSchedule = UpdateSchedule()
    changed: str | None = None
    interval: int | None = None


def interval(changed: str | None, average: int | None, news: str) -> int | None:
    """The average interval between a feed's changes, when it has changed again: the last ones count more.

    :param changed: when it was found to have changed before
    :param average: the average interval until then, in seconds
    :param news: when it is found to have changed now
    """
    last = -1 if changed is None else elapsed(changed, news)
    # What is less, or more than anybody is believed, is between two clocks, of which one was wrong.
    if not 0 <= last <= LONGEST:
        return average
    last = max(1, last)
    return last if average is None else round(average + WEIGHT * (last - average))


def next_due(poll: Poll, gaps: Iterable[Reason], limits: Limits) -> str:
    """When a feed is due again; never before the limits' shortest time and never after their longest.

    :param gaps: the reasons why the feed is not complete
    """
    regular = max(poll.fresh or 0, _scheduled_interval(poll), _habitual(poll))
    # What is missing is looked for again when that is due, even if no news can be expected yet.
    seconds = min([regular, *(_gap(reason, poll) for reason in gaps if reason.kind.retry is not Retry.NEVER)])
    if poll.retry_after is not None:
        seconds = max(seconds, elapsed(poll.polled, poll.retry_after))
    latest = shift(poll.polled, limits.longest)
    due = shift(poll.polled, min(max(seconds, limits.shortest), limits.longest))
    return min(_not_skipped(due, poll.update_schedule, latest), latest)


# RSS 2.0, ttl: "It's a number of minutes that indicates how long a channel can be cached before refreshing
# from the source."
def _scheduled_interval(poll: Poll) -> int:
    update_schedule = poll.update_schedule
    period = update_schedule.period or 0
    # Syndication module, updateBase: "Defines a base date to be used in concert with updatePeriod and
    # updateFrequency to calculate the publishing schedule."
    if update_schedule.period is not None and update_schedule.base is not None:
        period -= elapsed(update_schedule.base, poll.polled) % update_schedule.period
    return max((update_schedule.ttl or 0) * 60, period)


def _habitual(poll: Poll) -> int:
    if poll.changed is None:
        return 0
    # One that is quiet for longer than it was on average may be so for as long again.
    return max(poll.interval or 0, elapsed(poll.changed, poll.polled)) // POLLS


# What has been missing for long will be missing for long; a server that is down has time to come up.
def _gap(reason: Reason, poll: Poll) -> int:
    return 0 if reason.kind.retry is Retry.SOON else elapsed(reason.since, poll.polled) // POLLS


# RSS 2.0, skipHours: "aggregators, if they support the feature, may not read the channel on hours listed in
# the skipHours element"; skipDays: "Aggregators may not read the channel during days listed in the skipDays
# element."
def _not_skipped(due: str, update_schedule: UpdateSchedule, latest: str) -> str:
    if len(update_schedule.skip_hours) == HOURS or len(update_schedule.skip_days) == DAYS:
        return due
    moment = datetime.fromisoformat(due.rstrip("Z"))
    while moment.hour in update_schedule.skip_hours or moment.weekday() in update_schedule.skip_days:
        moment = moment.replace(minute=0, second=0) + timedelta(hours=1)
    return f"{moment.isoformat()}Z"


def freshness(cache_control: str, expires: str | None, date: str | None, age: str | None) -> int | None:
    """For how many seconds from now a response is fresh; None if its header fields do not say.

    :param cache_control: the fields of that name, joined by commas
    :param date: the response's own time
    :param age: the seconds that it has spent in caches on the way
    """
    directives = _directives(cache_control)
    # RFC 9111, 5.2.2.4 and 5.2.2.5: what may not be used without asking, or not be stored, is never fresh.
    if directives.keys() & {"no-cache", "no-store"}:
        return 0
    # RFC 9111, 5.3: "If a response includes a Cache-Control header field with the max-age directive (Section
    # 5.2.2.1), a recipient MUST ignore the Expires header field."
    if "max-age" in directives:
        lifetime = _seconds(directives["max-age"])
    elif expires is not None and date is not None:
        lifetime = _lifetime(expires, date)
    else:
        return None
    return min(max(0, lifetime - _seconds(age or "")), LONGEST)


def _directives(cache_control: str) -> dict[str, str]:
    named = (directive.partition("=") for directive in parse_http_list(cache_control))
    return {name.strip().lower(): value.strip().strip('"') for name, _, value in named}


# RFC 9111, 1.2.2: "a non-negative integer, representing time in seconds"; 4.2.1: what is invalid is stale.
def _seconds(text: str) -> int:
    text = text.strip()
    return int(text[:DIGITS]) if text.isascii() and text.isdecimal() else 0


# RFC 9111, 5.3: a date that is invalid, "0" above all, is in the past.
def _lifetime(expires: str, date: str) -> int:
    end, begin = utc(expires), utc(date)
    return 0 if end is None or begin is None else elapsed(begin, end)
