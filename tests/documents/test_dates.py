import re
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fhcrawl.documents.dates import FOREIGN_MONTHS, MONTHS_OF_LANGUAGES, read, shift, utc

CANONICAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", re.ASCII)
OFFSETS = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))
# Two days away from the ends, so that every time has one in UTC.
DATETIMES = st.datetimes(datetime(1000, 1, 3), datetime(9999, 12, 29), timezones=OFFSETS)  # noqa: DTZ001


# The texts of each time. Property tests below have all times and zones of RFC 3339 and RFC 5322.
TEXTS = {
    # RFC 4287, 3.3, and RFC 3339, 5.8: their own examples
    "2003-12-13T17:30:02.25Z": ("2003-12-13T18:30:02.25+01:00",),
    "1985-04-12T23:20:50.52Z": ("1985-04-12T23:20:50.52Z",),
    "1937-01-01T11:40:27.87Z": ("1937-01-01T12:00:27.87+00:20",),
    # over the end of a month or a year
    "2004-02-29T00:30:00Z": ("2004-02-28T23:30:00-01:00",),
    "2003-12-31T18:15:00Z": ("2004-01-01T00:00:00+05:45",),
    # historic dates
    "1000-01-01T00:00:00Z": ("1000-01-01T00:00:00Z",),
    "1776-07-04T00:00:00Z": ("1776-07-04", "Thu, 04 Jul 1776 00:00:00 GMT"),
    "1899-12-30T00:00:00Z": ("1899-12-30T00:00:00Z",),
    # RFC 3339, 5.8, and RFC 5322, 3.3: a leap second is the first second of the next minute
    "1991-01-01T00:00:00Z": (
        *("1990-12-31T23:59:60Z", "1990-12-31T15:59:60-08:00", "Mon, 31 Dec 1990 23:59:60 GMT"),
    ),
    "1991-01-01T00:00:00.75Z": ("1990-12-31T23:59:60.75Z",),
    "2003-12-13T18:30:02Z": (
        # RFC 3339, 5.6: "may be lower case", or a space
        *("2003-12-13T18:30:02-00:00", "2003-12-13t18:30:02z", "2003-12-13 18:30:02Z"),
        *("\n\t2003-12-13T18:30:02Z ", "2003-12-13 18:30:02 UTC", "2003/12/13 18:30:02"),
        # a time without a zone is taken as UTC
        *("2003-12-13T18:30:02", "Sat, 13 Dec 2003 18:30:02", "2003-12-13 18:30:02"),
        # RFC 5322, 4.3: names of other zones, and military ones, are "equivalent to -0000"
        *("Sat, 13 Dec 2003 18:30:02 XYZ", "Sat, 13 Dec 2003 18:30:02 IST"),
        *("Sat, 13 Dec 2003 18:30:02 A", "Sat, 13 Dec 2003 18:30:02 y"),
        # ISO 8601, basic format
        *("20031213T183002Z", "20031213T18:30:02Z", "20031213183002", "Sat, 2003-12-13 18:30:02"),
    ),
    # near misses of RFC 3339
    "2003-12-13T18:30:00Z": ("2003-12-13T18:30", "2003-12-13T18:30Z"),
    "2003-12-13T17:30:02Z": ("2003-12-13T18:30:02+0100", "2003-12-13T18:30:02+1"),
    "2003-12-13T19:30:02Z": ("2003-12-13T18:30:02 -01:00",),
    "2003-12-13T18:30:02.5Z": ("2003-12-13T18:30:02.5", "2003-12-13T18:30:02,5Z"),
    "2003-12-13T17:30:02.5Z": ("2003-12-13  18:30:02.5 +0100",),
    "2003-12-13T23:30:02Z": ("2003-12-13 18:30:02 EST",),
    # W3CDTF and ISO 8601: what is left open is its first moment; ordinal dates; dates with a zone
    "2003-01-01T00:00:00Z": ("2003",),
    "2003-12-01T00:00:00Z": ("2003-12",),
    "2003-12-13T00:00:00Z": ("2003-12-13", "20031213", "2003-347", "2003-12-13Z"),
    "2004-12-31T12:00:00Z": ("2004-366T12:00:00Z",),
    "1997-07-16T18:20:00Z": ("1997-07-16T19:20+01:00",),
    "2003-12-13T17:30:00Z": ("20031213T1830+0100",),
    "2003-12-13T18:30:02.250Z": ("20031213T183002.250Z",),
    "2003-12-12T23:00:00Z": ("2003-12-13+01:00",),
    # the end of a day
    "2004-01-01T00:00:00Z": ("2003-12-31T24:00:00Z",),
    "2003-12-31T23:00:00.00Z": ("2003-12-31T24:00:00.00+01:00",),
    "2003-06-04T00:00:00Z": ("03 Jun 2003 24:00:00 GMT",),
    # RFC 5322
    "2003-06-03T09:39:21Z": (
        *("Tue, 3 Jun 2003 09:39:21 UT", "03 Jun 2003 09:39:21 +0000", "Tue, 03 Jun 03 09:39:21 GMT"),
        *("tue, 03 JUN 2003 09:39:21 gmt", " Tue,  03  Jun  2003\n 09:39:21 GMT "),
        # weekdays: full, foreign, wrong, missing, without comma or space
        *("Tuesday, 03 Jun 2003 09:39:21 GMT", "Di, 03 Jun 2003 09:39:21 GMT"),
        *("mar., 03 Jun 2003 09:39:21 GMT", "mar, 03 Jun 2003 09:39:21 GMT"),
        *("周二, 03 Jun 2003 09:39:21 GMT", "Thứ Ba, 03 Jun 2003 09:39:21 GMT"),
        *("Mon, 03 Jun 2003 09:39:21 GMT", ", 03 Jun 2003 09:39:21 GMT", "Tue 03 Jun 2003 09:39:21 GMT"),
        *("Tue,03 Jun 2003 09:39:21 GMT", "Tue , 03 Jun 2003 , 09:39:21 GMT"),
        # months, days
        *("3 June 2003 09:39:21 GMT", "3. Jun 2003 09:39:21 GMT", "03Jun2003 09:39:21 GMT"),
        "03 Jun 2003 9:39:21 GMT",
    ),
    "2003-06-03T09:39:00Z": (
        *("Tue, 03 Jun 2003 09:39 GMT", "2003-6-3 9:39", "Tue, 03 Jun 2003 09:39:00GMT"),
    ),
    "2003-06-03T07:39:00Z": ("Tue, 03 Jun 2003 09:39:00+0200",),
    "2003-06-03T09:39:21.250Z": ("03 Jun 2003 09:39:21.250 GMT",),
    "2003-06-03T00:00:00Z": ("Tue, 03 Jun 2003", "Jun 3, 2003"),
    "2003-06-04T02:39:00Z": ("June 3rd, 2003 9:39 PM EST",),
    "2003-05-03T00:05:00Z": ("May 3, 2003 at 12:05 a.m.",),
    "2003-09-03T09:39:21Z": ("3 Sept. 2003 09:39:21 GMT",),
    # RFC 850 and asctime, as RFC 9110, 5.6.7 quotes them
    "1994-11-06T08:49:37Z": (
        *("Sunday, 06-Nov-94 08:49:37 GMT", "06 - Nov - 1994 08:49:37", "06-Nov- 1994 08:49:37"),
        "Sun Nov  6 08:49:37 1994",
    ),
    "1994-11-06T07:49:37Z": ("Sun Nov  6 08:49:37 CET 1994",),
    # RFC 5322, 4.3: years of two and three digits
    "1999-06-03T09:39:21Z": ("Thu, 03 Jun 99 09:39:21 GMT", "03 Jun 99 09:39:21 GMT"),
    "2049-06-03T09:39:00Z": ("03 Jun 49 09:39 GMT",),
    "1950-06-03T09:39:00Z": ("03 Jun 50 09:39 GMT",),
    "2003-06-03T09:39:01Z": ("03 Jun 103 09:39:01 GMT",),
}


@pytest.mark.parametrize(("text", "time"), [(text, time) for time, texts in TEXTS.items() for text in texts])
def test_time_of_any_known_form_is_given_in_utc(text: str, time: str) -> None:
    assert utc(text) == time


# What software writes that no specification has, by kind; each text means the first moment of its kind.
OTHER_TEXTS = {
    "spaces and invisible characters": (
        *("Sat, 13 Dec 2003\u00a018:30:02 +0000", "2003-12-13\u202f18:30:02", "\u200e13 Dec 2003 18:30:02"),
        *("\ufeff2003-12-13T18:30:02Z", "2003-12-13\u300018:30:02Z", "13 Dec 2003 6:30:02\u202fPM"),
    ),
    "names of zones in brackets": (
        *("Sat, 13 Dec 2003 19:30:02 +0100 (CET)", "Sat, 13 Dec 2003 19:30:02 (CET)"),
        *("2003-12-13T19:30:02+01:00[Europe/Paris]", "2003-12-13T19:30:02[Europe/Paris]"),
        *("2003-12-13 13:30:02 (EST)", "13 Dec 2003 1:30:02 PM (EST)", "13 Dec 2003 18:30:02 GMT (CET)"),
        *("2003-12-13T18:30:02Z[UTC]", "13 Dec 2003 18:30:02 (a comment)", "2003-12-13 18:30:02 [u-ca=iso]"),
    ),
    "halves of the day": (
        *("Sat, 13 Dec 2003 6:30:02 PM", "Sat, 13 Dec 2003 06:30:02PM GMT", "2003-12-13 06:30:02 pm"),
        *("Dec 13, 2003 6:30:02 p. m.", "13 Dec 2003 07:30:02 P.M. +0100", "13 Dec 2003 PM 6:30:02"),
    ),
    "offsets without a sign": (
        *("Sat, 13 Dec 2003 18:30:02 0000", "2003-12-13T18:30:02 00:00", "2003-12-13 18:30:02 0000"),
        *("14 Dec 2003 00:00:02 0530", "2003-12-14T00:15:02 05:45", "14 Dec 2003 07:30:02 1300"),
    ),
    "offsets with other signs": (
        *("13 Dec 2003 19:30:02 + 0100", "13 Dec 2003 11:30:02 --0700", "13 Dec 2003 13:30:02 \u22120500"),
        *("2003-12-13T19:30:02:+01:00", "2003-12-13T19:30:02+01:00:00", "13 Dec 2003 19:30:02 GMT + 01:00"),
    ),
    "separators": (
        *("2003-12-13 at 18:30:02", "2003-12-13, 18:30:02", "2003-12-13T 18:30:02Z", "2003-12-13_18:30:02"),
        *("13/Dec/2003:18:30:02 +0000", "13/Dec/2003 18:30:02", "Sat, 13 Dec 2003 18.30.02 GMT"),
    ),
    "orders": (
        *("18:30:02 13 Dec 2003", "18:30:02, December 13, 2003", "6:30:02 PM, 13 December 2003"),
        *("2003 Dec 13 18:30:02", "2003-Dec-13 18:30:02", "2003, December 13, 18:30:02 GMT"),
        *("18:30:02 2003-12-13", "2003年12月13日 18:30:02", "2003년 12월 13일 18:30:02"),
    ),
    "quotation marks": ('"2003-12-13T18:30:02Z"', "'13 Dec 2003 18:30:02'", '"13 Dec 2003 18:30:02 GMT"'),
}
OTHER_TIMES = {
    "2003-12-03T09:05:03Z": (
        "2003-12-3T9:5:3Z",
        "Wed, 3 Dec 2003 9:5:3 GMT",
        "3 Dec 2003 9:05:3",
        "2003/12/3 9:5:3",
    ),
    "2003-12-13T18:00:00Z": ("December 13, 2003 6PM", "13 Dec 2003 at 6 p.m.", "Dec 13, 2003 1 pm EST"),
    "2003-12-13T18:30:00Z": ("13 Dec 2003 18h30", "13 Dec 2003 18.30", "18:30 13 Dec 2003"),
}


@pytest.mark.parametrize("text", [text for texts in OTHER_TEXTS.values() for text in texts])
def test_text_with_one_meaning_is_read_in_forms_of_software(text: str) -> None:
    assert utc(text) == "2003-12-13T18:30:02Z"


@pytest.mark.parametrize(
    ("text", "time"), [(text, time) for time, texts in OTHER_TIMES.items() for text in texts]
)
def test_short_text_with_one_meaning_is_read_in_forms_of_software(text: str, time: str) -> None:
    assert utc(text) == time


@pytest.mark.parametrize(
    "text",
    [
        *("01/02/2003", "01/02/2003 18:30:02 (CET)", "1-2-2003 6 PM", "06/07/08", "1.2.2003\u00a018:30"),
        # the offset may be ahead of UTC or behind it
        *("13 Dec 2003 18:30:02 0200", "2003-12-13T18:30:02 01:00", "13 Dec 2003 18:30:02 0930"),
        # an offset, a time of the day or a year without its century
        *("2003-12-13 0530", "18:30 2003-12-13 14:00", "03 Jun 20:18:30", "18:30 CET 13 Dec 2003"),
        *("13 Dec 2003 13 PM", "13 Dec 2003 18:30 +-0100", "13 Dec 18:30:02"),
    ],
)
def test_text_with_two_meanings_stays_unread(text: str) -> None:
    assert utc(text) is None


def test_date_in_an_unspecified_format_has_a_note() -> None:
    assert read("2003-12-13 at 18:30")[1] == "it is in no specified format"
    assert read("13 Dec 2003 18:30 0530")[1] == "its zone 0530 is taken as +05:30"


@pytest.mark.parametrize("digits", ["0", "5", "50", "123456", "123456789", "1234567890123456789012"])
@pytest.mark.parametrize("zone", ["Z", "+02:00", ""])
def test_fractions_of_a_second_are_kept_exactly(digits: str, zone: str) -> None:
    hour = "16" if zone == "+02:00" else "18"
    assert utc(f"2003-12-13T18:30:02.{digits}{zone}") == f"2003-12-13T{hour}:30:02.{digits}Z"


@pytest.mark.parametrize(
    "text",
    [
        *("", "  ", "yesterday", "1071340202", "2003-02-29T00:00:00Z", "2003-13-01T00:00:00Z"),
        *("2003-12-32T00:00:00.5Z", "2003-00-10T00:00:00Z", "0000-01-01T00:00:00Z"),
        *("2003-12-13T18:60:00Z", "2003-12-13T18:30:61Z", "2003-12-13T18:30:02.Z"),
        *("2003-12-13T18:30:02Z and more", "2003-12-13T18:30:02ZZ", "٢٠٠٣-12-13T18:30:02Z"),
        *("0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "9999-12-31T23:59:60Z"),
        *("Tue, 99 Jun 2003 09:39:21 GMT", "Tue, 03 Jun 2003 25:39:21 GMT"),
        *("Tue, 03 Foo 2003 09:39:21 GMT", "Tue, 03 Jun 2003 09:39:21 +9999", "9" * 5000),
        # two readings, or none
        *("03/04/2003", "03-04-05", "3.4.2003", "2003-366", "2003-000", "2003-00", "20031301", "200312"),
        *("1071340202000", "2003-12-13T18", "2003-12-13T24:00:01Z", "2003-12-13T24:01:00Z"),
        *("2003-12-13T24:00:00.1Z", "2003-12-13T18:30:02 XYZ", "2003-12-13T18:30:02A"),
        *("Tue, 03 Jun 2003 13:39 PM", "Tue, 03 Jun 2003 0:39 AM"),
        *("Tue, 03 Jun 2003 09:39:21 Europe/Nowhere", "2003-12-13 18:30 Europe/../UTC"),
        "Tue, 31 Feb 2003 09:39:21 GMT",
        *("Tue, 03 Jun 20033 09:39:21 GMT", "Tue, 03 Jun 3 09:39:21 GMT", "Tue, 03 Juneish 2003"),
        # zero values of software, years with a sign, and years that lack their century
        *("0001-01-01T00:00:00Z", "0001-01-01", "00010101", "0001-001", "0001", "1000-01-01T00:00:00+00:01"),
        *("Mon, 01 Jan 0001 00:00:00 +0000", "Mon, 01 Jan 0001 00:00:00 GMT", "Mon Jan  1 00:00:00 0001"),
        *("Wed, 30 Nov -0001 00:00:00 +0000", "-0001-11-30T00:00:00+00:00", "0000-00-00 00:00:00"),
        *("30 Nov -2001", "30-Nov--2001", "30 novembre -2001", "-2001-11-30", "+2001-11-30"),
        *("0025-01-13T08:00:00Z", "Mon, 13 Jan 0025 08:00:00 +0000"),
        *("Jun 2003", "Tuesday", "09:39:21", "about 2003 or so"),
        # RFC 3339, 5.6: time-hour is 00-23 and time-minute 00-59 in a time-numoffset too
        *(f"2003-12-13T18:30:02{offset}" for offset in ("+24:00", "-99:00", "+01:60", "+99:99")),
    ],
)
def test_text_that_is_no_time_gives_none(text: str) -> None:
    assert utc(text) is None


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        *(("GMT", "09:39"), ("UT", "09:39"), ("utc", "09:39"), ("Z", "09:39"), ("+0000", "09:39")),
        *(("-0000", "09:39"), ("+00:00", "09:39"), ("GMT+00:00", "09:39"), ("GMT+0000", "09:39")),
        *(("GMT+1", "08:39"), ("GMT-1", "10:39"), ("UTC+5:30", "04:09"), ("+530", "04:09"), ("+01", "08:39")),
        *(("EST", "14:39"), ("EDT", "13:39"), ("CST", "15:39"), ("CDT", "14:39"), ("MST", "16:39")),
        *(("MDT", "15:39"), ("PST", "17:39"), ("PDT", "16:39"), ("NST", "13:09"), ("HST", "19:39")),
        *(("BST", "08:39"), ("MEZ", "08:39"), ("MESZ", "07:39"), ("CET", "08:39"), ("CEST", "07:39")),
        *(("EET", "07:39"), ("EEST", "06:39"), ("MSK", "06:39"), ("JST", "00:39"), ("ACST", "00:09")),
        *(("+0200 (CEST)", "07:39"), ("+0200 CEST", "07:39"), ("EST -0500", "14:39"), ("(Tuesday)", "09:39")),
    ],
)
@pytest.mark.parametrize("space", [" ", "  "])
def test_zone_is_read_by_name_or_number(zone: str, space: str, expected: str) -> None:
    assert utc(f"Tue, 03 Jun 2003 09:39:00{space}{zone}") == f"2003-06-03T{expected}:00Z"


@given(time=DATETIMES)
def test_iso_form_of_any_time_is_the_same_moment_in_utc(time: datetime) -> None:
    expected = time.astimezone(timezone.utc).replace(tzinfo=None).isoformat() + "Z"
    assert utc(time.isoformat()) == expected


@given(time=DATETIMES.filter(lambda time: time.year >= 1000))
def test_mail_form_of_any_time_is_the_same_moment_in_utc(time: datetime) -> None:
    complete = time.replace(microsecond=0)
    expected = complete.astimezone(timezone.utc).replace(tzinfo=None).isoformat() + "Z"
    assert utc(format_datetime(complete)) == expected


NEARLY_TIMES = st.one_of(
    st.text(),
    st.from_regex(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:?\d\d)?", fullmatch=True),
    st.from_regex(r"[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{1,5} \d\d?:\d\d(:\d\d)? \S{0,6}", fullmatch=True),
    st.lists(st.sampled_from(["Tue, ", "3", "Jun", "2003", "99", ":", "39", "+", "GMT", " ", "T", "Z"])).map(
        "".join
    ),
)


@given(text=NEARLY_TIMES)
def test_any_text_gives_none_or_the_one_form_which_stays_as_it_is(text: str) -> None:
    time = utc(text)
    assert time is None or (CANONICAL.fullmatch(time) and utc(time) == time)


@pytest.mark.parametrize(
    ("time", "seconds", "expected"),
    [
        ("2003-12-13T18:30:02Z", 86400, "2003-12-14T18:30:02Z"),
        ("2003-12-13T18:30:02Z", -3, "2003-12-13T18:29:59Z"),
        ("2003-12-31T23:59:59.250000Z", 1, "2004-01-01T00:00:00.250000Z"),
        ("2003-12-13T18:30:02Z", 0.5, "2003-12-13T18:30:02.500000Z"),
    ],
)
def test_time_is_moved_by_seconds(time: str, seconds: float, expected: str) -> None:
    assert shift(time, seconds) == expected


# --- what no specification defines, and what people mean


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Freitag, 22. Dezember 2017 um 15:09 Uhr", "2017-12-22T15:09"),
        ("Do, 01 Mrz 2018 10:00:00 +0100", "2018-03-01T09:00"),
        ("vendredi 22 décembre 2017 à 15h09", "2017-12-22T15:09"),
        ("lun., 3 août 2020 10:00:00 +0200", "2020-08-03T08:00"),
        ("mar. 3 mars 2020 10:00", "2020-03-03T10:00"),
        *(("1er janvier 2018", "2018-01-01T00:00"), ("Dezember 22, 2017", "2017-12-22T00:00")),
        ("22 de diciembre de 2017 15:09", "2017-12-22T15:09"),
        ("22 dic. 2017, 15:09", "2017-12-22T15:09"),
        ("venerdì 22 dicembre 2017 alle 15:09", "2017-12-22T15:09"),
        ("sexta-feira, 22 de dezembro de 2017 às 15:09", "2017-12-22T15:09"),
        ("sexta-feira 22 de fevereiro de 2017", "2017-02-22T00:00"),
        ("vrijdag 22 maart 2017 om 15:09 uur", "2017-03-22T15:09"),
        ("piątek, 22 grudnia 2017 r., 15:09", "2017-12-22T15:09"),
        ("Пт, 22 дек 2017 15:09:00 +0300", "2017-12-22T12:09"),
        ("22 мая 2017 г. в 15:09", "2017-05-22T15:09"),  # noqa: RUF001 - Russian
        ("fre 22 maj 2017 kl. 15:09", "2017-05-22T15:09"),
        ("Sam, 01 Mai 2004 12:00:00 GMT", "2004-05-01T12:00"),
        ("Fri, 22 Dez 2017 15:09:00 +0100", "2017-12-22T14:09"),
        ("Παρ, 22 Δεκ 2017 15:09:00 GMT", "2017-12-22T15:09"),
    ],
)
def test_month_name_of_another_language_is_read_with_a_note(text: str, expected: str) -> None:
    time, note = read(text)
    assert time == f"{expected}:00Z"
    assert "month" in (note or "")


def test_name_of_a_month_means_the_same_in_all_languages() -> None:
    for language, months in MONTHS_OF_LANGUAGES.items():
        for number, names in enumerate(months.split("|"), 1):
            for name in names.split():
                assert utc(f"3 {name.title()} 2003") == f"2003-{number:02}-03T00:00:00Z", (language, name)
    assert len(FOREIGN_MONTHS) > 250


@pytest.mark.parametrize(
    ("zone", "winter", "summer"),
    [
        *(("Europe/Brussels", "+01:00", "+02:00"), ("America/Argentina/Buenos_Aires", "-03:00", "-03:00")),
        *(("ET", "-05:00", "-04:00"), ("CT", "-06:00", "-05:00"), ("MT", "-07:00", "-06:00")),
        *(("PT", "-08:00", "-07:00"), ("CET", "+01:00", "+01:00"), ("IST", "+00:00", "+00:00")),
    ],
)
def test_unspecified_time_zone_is_read_with_a_note(zone: str, winter: str, summer: str) -> None:
    for month, offset in (("Jan", winter), ("Jul", summer)):
        time, note = read(f"03 {month} 2017 15:09:00 {zone}")
        assert time == utc(f"03 {month} 2017 15:09:00 {offset}")
        assert note == f"its zone {zone} is taken as {offset}"


# RFC 5322, 4.3: "EST is semantically equivalent to -0500", and so on, in summer too.
@pytest.mark.parametrize("zone", ["GMT", "EST", "PDT", "+0200", "+0200 (CEST)", "Z", ""])
@pytest.mark.parametrize("date", ["Sat, 22 Jul 2017 15:09:00", "Sat Jul 22 15:09:00 2017"])
def test_date_in_a_specified_format_has_no_note(date: str, zone: str) -> None:
    text = date if "Jul 22" in date else f"{date} {zone}"
    assert read(text)[1] is None


@pytest.mark.parametrize("dash", [" - ", " @ ", " at ", ", "])
@pytest.mark.parametrize("time", ["3:09pm", "3:09 PM", "15:09", "15:09:00"])
def test_american_date_is_read_with_a_note(dash: str, time: str) -> None:
    found = read(f"Friday, December 22, 2017{dash}{time}")
    assert found == ("2017-12-22T15:09:00Z", "it is in no specified format")
