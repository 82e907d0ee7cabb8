"""What a head section says of when its feed changes."""

from __future__ import annotations

import pytest

from fhcrawl.documents import UpdateSchedule
from tests.feeds import E, atom, read, rss

SY = ' xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"'
DAY = 86400


def update_schedule(head: str) -> UpdateSchedule | None:
    return read(rss([E("1")], head=head).encode(), "http://example.org/").update_schedule


def syndication(**elements: str) -> UpdateSchedule | None:
    return update_schedule("".join(f"<sy:{name}{SY}>{text}</sy:{name}>" for name, text in elements.items()))


@pytest.mark.parametrize("document", [atom([E("1")]), rss([E("1")]), '{"version": "1.1", "items": []}'])
def test_most_feeds_say_nothing(document: str) -> None:
    document = document.replace('"1.1"', '"https://jsonfeed.org/version/1.1"')
    assert read(document.encode(), "http://example.org/").update_schedule is None


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("60", 60), (" 5\n", 5), ("0", None), ("-5", None), ("soon", None), ("9" * 10, None), ("٣", None)],
)
def test_ttl_is_a_number_of_minutes(text: str, minutes: int | None) -> None:
    found = update_schedule(f"<ttl>{text}</ttl>")
    assert (found and found.ttl) == minutes


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ({"updatePeriod": "hourly"}, 3600),
        ({"updatePeriod": " Daily ", "updateFrequency": "2"}, DAY // 2),
        ({"updatePeriod": "weekly"}, 7 * DAY),
        ({"updatePeriod": "monthly"}, 30 * DAY),
        ({"updatePeriod": "yearly", "updateFrequency": "365"}, DAY),
        ({"updateFrequency": "4"}, DAY // 4),
        ({"updateBase": "2000-01-01T12:00"}, DAY),
        ({"updatePeriod": "hourly", "updateFrequency": "100000"}, 1),
        ({"updatePeriod": "hourly", "updateFrequency": "often"}, 3600),
        ({"updatePeriod": "never"}, None),
    ],
)
def test_period_is_divided_by_the_frequency(said: dict[str, str], seconds: int | None) -> None:
    found = syndication(**said)
    assert (found and found.period) == seconds


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("2000-01-01T12:00", "2000-01-01T12:00:00Z"),
        ("2000-01-01T12:00:00.1234567+02:00", "2000-01-01T10:00:00Z"),
        ("once", None),
    ],
)
def test_base_is_a_time_without_fractions(text: str, base: str | None) -> None:
    assert syndication(updateBase=text) == UpdateSchedule(period=DAY, base=base)
