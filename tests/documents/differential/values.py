"""Texts, times and URLs of generated documents, in many ways of writing them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from html import escape as escape_all
from html.entities import codepoint2name
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

# What documents may have an entity for.
OWN = "an own text"
TEXTS = (
    "Plain words",
    "Größe, naïve, 5 €",
    "日本語 — “quoted”",
    "a < b && c > d",
    'AT&T\'s "best"',
    "AT&amp;T and &eacute;",
    "<b>bold</b> text",
    "two\n  lines",
    "x\x92y",
    "Ã© twice",
    "😀 beyond",
    "end ]]> end",
    "0",
    OWN,
)
HTML = (
    '<p>See <a href="rel/there?a=1&amp;b=2">this</a> &amp; that</p>',
    "<ul><li>one<li>two</ul>",
    "no markup",
    "5 &lt; 6&nbsp;&eacute;",
    '<img src="/i.png" alt="é"> — <br>\n<b>bold</b>',
    "<p>one</p>\n<p>two <em>three</em></p>",
    "tail<br/>",
)
# Well-formed, so that it can stand without escapes too.
XHTML = (
    '<p>See <a href="rel/there?a=1&amp;b=2">this</a> &amp; that</p>',
    "one <em>two</em> three",
    "<p>one</p><p>Größe<br/>two</p>",
    '<img src="/i.png" alt="x"/> after',
    "only text",
)
FORBIDDEN = (*range(0x20, 0x30), *range(0x80, 0xA0))


class Written(NamedTuple):
    """A text as a document has it.

    :param form: the name of the way of writing it
    :param markup: in the document
    :param means: what a reader of XML gets
    """

    form: str
    markup: str
    means: str


def _cdata(text: str) -> str:
    return "<![CDATA[" + text.replace("]]>", "]]]]><![CDATA[>") + "]]>"


def _mixed(text: str) -> str:
    half = len(text) // 2
    return escape(text[:half]) + _cdata(text[half:])


def _numbers(text: str) -> str:
    return "".join(each if each.isalnum() else f"&#{ord(each)};" for each in text)


def _hexadecimal(text: str) -> str:
    return "".join(each if each.isascii() and each.isalnum() else f"&#x{ord(each):X};" for each in text)


def _with_comment(text: str) -> str:
    half = len(text) // 2
    return f"{escape(text[:half])}<!-- <b>no</b> -->{escape(text[half:])}"


def _with_instruction(text: str) -> str:
    half = len(text) // 2
    return f"{escape(text[:half])}<?php no ?>{escape(text[half:])}"


def named(text: str) -> str:
    """Write HTML's names of characters, which XML does not have."""
    names = (codepoint2name.get(ord(each)) for each in text)
    return "".join(f"&{name};" if name else escape(each) for each, name in zip(text, names, strict=True))


FORMS: dict[str, Callable[[str], str]] = {
    "escaped": escape,
    "quotes escaped": escape_all,
    "CDATA": _cdata,
    "CDATA in part": _mixed,
    "numbers": _numbers,
    "hexadecimal numbers": _hexadecimal,
    "comment": _with_comment,
    "processing instruction": _with_instruction,
}
# These make a document malformed.
REPAIRED_FORMS: dict[str, Callable[[str], str]] = {
    "names of HTML": named,
    "ampersands alone": lambda text: escape(text).replace("&amp; ", "& ").replace("&amp;&amp; ", "&& "),
    "control characters": lambda text: escape(text) + "\x0b",
}


def write(rng: Random, text: str, is_faulty: bool = False) -> Written:
    """Write a text in one of the ways, perhaps with white space around it.

    :param is_faulty: perhaps in a way that XML does not allow
    """
    forms = {**FORMS, **REPAIRED_FORMS} if is_faulty else FORMS
    name = rng.choice(("escaped", "CDATA", *forms, *(REPAIRED_FORMS if is_faulty else ())))
    before, after = rng.choice(((" ", "\n"), ("\n\t", "  "), *[("", "")] * 6))
    if rng.random() < 0.03:
        return Written("empty", rng.choice(("", " ", "\n", "<![CDATA[]]>")), "")
    return Written(name, before + forms[name](text) + after, before + text + after)


# -- times ----------------------------------------------------------------------------------------

UTC = timezone.utc
ZONES = {"+0000": 0, "+0100": 60, "-0330": -210, "-0800": -480, "+0545": 345}
NAMED_ZONES = {
    "GMT": 0,
    "UT": 0,
    "EST": -300,
    "EDT": -240,
    "CST": -360,
    "MDT": -360,
    "PDT": -420,
    "PST": -480,
}
MORE_ZONES = {"CET": 60, "CEST": 120, "MEZ": 60, "BST": 60, "JST": 540, "MSK": 180}
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
LONG_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
GERMAN_WEEKDAYS = ("Mo", "Di", "Mi", "Do", "Fr", "Sa", "So")
GERMAN_MONTHS = (
    "Jan",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "Aug",
    "Sep",
    "Okt",
    "Nov",
    "Dezember",
)
FRENCH_MONTHS = (
    *("janvier", "février", "mars", "avril", "mai", "juin"),
    *("juillet", "août", "septembre", "octobre", "novembre", "décembre"),
)
MOMENTS = tuple(
    datetime(*parts, tzinfo=UTC)
    for parts in (
        (2003, 12, 13, 18, 30, 2),
        (2004, 2, 29, 23, 59, 59),
        (1999, 12, 31, 0, 0, 0),
        (2017, 12, 22, 15, 9, 0),
        (2024, 7, 4, 12, 0, 0),
        (2010, 1, 1, 3, 5, 7),
    )
)


class Time(NamedTuple):
    """A time as a document has it.

    :param form: the name of the way of writing it
    :param text: in the document
    :param means: ISO 8601 in UTC, ending in Z, without fractions; None if nobody can tell
    """

    form: str
    text: str
    means: str | None


def canonical(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _mail_date(local: datetime, year: str = "%Y") -> str:
    return f"{local.day:02} {MONTHS[local.month - 1]} {local.strftime(year)}"


def _in(moment: datetime, minutes: int) -> datetime:
    return moment.astimezone(timezone(timedelta(minutes=minutes)))


def _mail(rng: Random, moment: datetime) -> str:
    zone = rng.choice((*ZONES, *NAMED_ZONES))
    local = _in(moment, {**ZONES, **NAMED_ZONES}[zone])
    return f"{WEEKDAYS[local.weekday()]}, {_mail_date(local)} {local:%H:%M:%S} {zone}"


def _mail_zone(rng: Random, moment: datetime) -> str:
    zone, minutes = rng.choice(list(MORE_ZONES.items()))
    local = _in(moment, minutes)
    return f"{WEEKDAYS[local.weekday()]}, {_mail_date(local)} {local:%H:%M:%S} {zone}"


def _colon(minutes: int) -> str:
    sign = "-" if minutes < 0 else "+"
    return f"{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def _internet(rng: Random, moment: datetime) -> str:
    minutes = rng.choice(list(ZONES.values()))
    return f"{_in(moment, minutes):%Y-%m-%dT%H:%M:%S}{_colon(minutes)}"


def _in_america(rng: Random, moment: datetime) -> str:
    zone, city = rng.choice((("ET", "America/New_York"), ("PT", "America/Los_Angeles")))
    local = moment.astimezone(ZoneInfo(city))
    return f"{WEEKDAYS[local.weekday()]}, {_mail_date(local)} {local:%H:%M:%S} {zone}"


def _us(moment: datetime) -> str:
    hour = moment.hour % 12 or 12
    half = "am" if moment.hour < 12 else "pm"
    return f"{hour}:{moment:%M:%S} {half}"


# The ways of writing a time, each with whether feedparser reads it too.
TIME_FORMS: dict[str, Callable[[Random, datetime], str]] = {
    "RFC 3339": _internet,
    "RFC 3339, Z": lambda _rng, moment: f"{moment:%Y-%m-%dT%H:%M:%SZ}",
    "RFC 3339, fraction": lambda _rng, moment: f"{moment:%Y-%m-%dT%H:%M:%S}.250Z",
    "RFC 3339, small letters": lambda _rng, moment: f"{moment:%Y-%m-%dt%H:%M:%Sz}",
    "RFC 3339, space": lambda _rng, moment: f"{moment:%Y-%m-%d %H:%M:%SZ}",
    "RFC 3339, space and zone": lambda _rng, moment: f"{_in(moment, 60):%Y-%m-%d %H:%M:%S} +01:00",
    "RFC 3339, zone without colon": lambda _rng, moment: f"{_in(moment, 60):%Y-%m-%dT%H:%M:%S}+0100",
    "RFC 3339, no zone": lambda _rng, moment: f"{moment:%Y-%m-%dT%H:%M:%S}",
    "SQL": lambda _rng, moment: f"{moment:%Y-%m-%d %H:%M:%S}",
    "ISO 8601, basic": lambda _rng, moment: f"{moment:%Y%m%dT%H%M%SZ}",
    "RFC 822": _mail,
    "RFC 822, no weekday": lambda rng, moment: _mail(rng, moment).partition(", ")[2],
    "RFC 822, other zones": _mail_zone,
    "RFC 822, two digits": lambda _rng, moment: f"{_mail_date(moment, '%y')} {moment:%H:%M:%S} GMT",
    "RFC 822, long names": lambda _rng, moment: (
        f"{moment.day} {LONG_MONTHS[moment.month - 1]} {moment.year} {moment:%H:%M:%S} +0000"
    ),
    "RFC 822, no zone": lambda _rng, moment: f"{_mail_date(moment)} {moment:%H:%M:%S}",
    "RFC 822, GMT+1": lambda _rng, moment: (
        f"{_mail_date(_in(moment, 60))} {_in(moment, 60):%H:%M:%S} GMT+01:00"
    ),
    "RFC 822, wrong weekday": lambda _rng, moment: (
        f"{WEEKDAYS[moment.weekday() - 1]}, {_mail_date(moment)} {moment:%H:%M:%S} GMT"
    ),
    "RFC 822, comment": lambda _rng, moment: f"{_mail_date(moment)} {moment:%H:%M:%S} +0000 (UTC)",
    "asctime": lambda _rng, moment: (
        f"{WEEKDAYS[moment.weekday()]} {MONTHS[moment.month - 1]} {moment.day:2} {moment:%H:%M:%S %Y}"
    ),
    "a city's zone": lambda _rng, moment: (
        f"{_mail_date(_in(moment, 345))} {_in(moment, 345):%H:%M:%S} Asia/Kathmandu"
    ),
    "Eastern and Pacific time": _in_america,
    "German": lambda _rng, moment: (
        f"{GERMAN_WEEKDAYS[moment.weekday()]}, {moment.day}. {GERMAN_MONTHS[moment.month - 1]}"
        f" {moment:%Y %H:%M:%S}"
    ),
    "French": lambda _rng, moment: f"{moment.day} {FRENCH_MONTHS[moment.month - 1]} {moment:%Y %H:%M:%S}",
    "weekday, American, dash": lambda _rng, moment: (
        f"{moment:%A}, {LONG_MONTHS[moment.month - 1]} {moment.day}, {moment.year} - {_us(moment)}"
    ),
    "American": lambda _rng, moment: (
        f"{LONG_MONTHS[moment.month - 1]} {moment.day}, {moment.year} {_us(moment)}"
    ),
}
DAY_FORMS: dict[str, Callable[[datetime], str]] = {
    "a day": lambda day: f"{day:%Y-%m-%d}",
    "a day, RFC 822": lambda day: f"{WEEKDAYS[day.weekday()]}, {_mail_date(day)}",
    "a day, basic": lambda day: f"{day:%Y%m%d}",
    "a day, slashes": lambda day: f"{day:%Y/%m/%d}",
    "an ordinal day": lambda day: f"{day:%Y-%j}",
    "24:00": lambda day: f"{day - timedelta(days=1):%Y-%m-%d}T24:00:00Z",
}
NO_TIMES = (
    "yesterday",
    "2003-13-45T00:00:00Z",
    "0000-00-00 00:00:00",
    "1071340202",
    "32 Dec 2003 00:00:00 GMT",
)


def write_time(rng: Random) -> Time:
    moment = rng.choice(MOMENTS)
    if rng.random() < 0.06:
        return Time("no time", rng.choice(NO_TIMES), None)
    if rng.random() < 0.1:
        day = moment.replace(hour=0, minute=0, second=0)
        name = rng.choice(list(DAY_FORMS))
        return Time(name, DAY_FORMS[name](day), canonical(day))
    name = rng.choice(("RFC 3339", "RFC 3339, Z", "RFC 822", "RFC 822", *TIME_FORMS))
    text = TIME_FORMS[name](rng, moment)
    return Time(name, rng.choice(("", "", "", " ", "\n  ")) + text, canonical(moment))


# -- URLs -----------------------------------------------------------------------------------------

REFERENCES = (
    "http://example.org/{n}",
    "https://example.org/a/{n}?x=1&y=2",
    "http://example.org/{n}#part",
    "{n}.html",
    "/abs/{n}",
    "../up/{n}?q={n}",
    "//other.example/{n}",
    "http://example.org/é/{n}",
    "mailto:{n}@example.org",
    "?p={n}",
)
BASES = ("http://base.example/x/y", "sub/dir/", "/rooted/", "https://other.example/z/", "../")
