"""Texts, times and URLs of generated documents, in many ways of writing them."""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from html import escape as escape_all
from html.entities import codepoint2name
from random import Random
from typing import NamedTuple
from xml.sax.saxutils import escape

# What documents may have an entity for.
OWN = "an own text"
TEXTS = (
    *("Plain words", "Größe, naïve, 5 €", "日本語 — “quoted”", "a < b && c > d", 'AT&T\'s "best"'),
    *("AT&amp;T and &eacute;", "<b>bold</b> text", "two\n  lines", "x\x92y", "Ã© twice", "😀 beyond"),
    *("end ]]> end", "0"),
    OWN,
)
HTML = (
    *('<p>See <a href="rel/there?a=1&amp;b=2">this</a> &amp; that</p>', "<ul><li>one<li>two</ul>"),
    *("no markup", "5 &lt; 6&nbsp;&eacute;", '<img src="/i.png" alt="é"> — <br>\n<b>bold</b>'),
    *("<p>one</p>\n<p>two <em>three</em></p>", "tail<br/>"),
)
# Well-formed, so that it can stand without escapes too.
XHTML = (
    *('<p>See <a href="rel/there?a=1&amp;b=2">this</a> &amp; that</p>', "one <em>two</em> three"),
    *("<p>one</p><p>Größe<br/>two</p>", '<img src="/i.png" alt="x"/> after', "only text"),
)


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


def _numbers(text: str) -> str:
    return "".join(each if each.isalnum() else f"&#{ord(each)};" for each in text)


def _hexadecimal(text: str) -> str:
    return "".join(each if each.isascii() and each.isalnum() else f"&#x{ord(each):X};" for each in text)


def _in_the_middle(inserted: str) -> Callable[[str], str]:
    def write(text: str) -> str:
        half = len(text) // 2
        return f"{escape(text[:half])}{inserted}{escape(text[half:])}"

    return write


def named(text: str) -> str:
    """Write HTML's names of characters, which XML does not have."""
    names = (codepoint2name.get(ord(each)) for each in text)
    return "".join(f"&{name};" if name else escape(each) for each, name in zip(text, names, strict=True))


FORMS: dict[str, Callable[[str], str]] = {
    "escaped": escape,
    "quotes escaped": escape_all,
    "CDATA": _cdata,
    "CDATA in part": lambda text: escape(text[:1]) + _cdata(text[1:]),
    "numbers": _numbers,
    "hexadecimal numbers": _hexadecimal,
    "comment": _in_the_middle("<!-- <b>no</b> -->"),
    "processing instruction": _in_the_middle("<?php no ?>"),
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
NAMED_ZONES = {"GMT": 0, "UT": 0, "EST": -300, "EDT": -240, "PDT": -420}
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MOMENTS = tuple(
    datetime(*parts, tzinfo=UTC)
    for parts in ((2003, 12, 13, 18, 30, 2), (2004, 2, 29, 23, 59, 59), (1999, 12, 31, 0, 0, 0))
)


class Time(NamedTuple):
    """A time as a document has it.

    :param means: ISO 8601 in UTC, ending in Z, without fractions; None if nobody can tell
    """

    text: str
    means: str | None


def _in(moment: datetime, minutes: int) -> datetime:
    return moment.astimezone(timezone(timedelta(minutes=minutes)))


def _mail(rng: Random, moment: datetime) -> str:
    zone = rng.choice((*ZONES, *NAMED_ZONES))
    local = _in(moment, {**ZONES, **NAMED_ZONES}[zone])
    weekday, month = WEEKDAYS[local.weekday()], MONTHS[local.month - 1]
    return f"{weekday}, {local.day:02} {month} {local:%Y %H:%M:%S} {zone}"


def _internet(rng: Random, moment: datetime) -> str:
    return _in(moment, rng.choice(list(ZONES.values()))).isoformat()


# `tests/documents/test_dates.py` has many more.
TIME_FORMS: tuple[Callable[[Random, datetime], str], ...] = (
    _internet,
    _mail,
    lambda _rng, moment: f"{moment:%Y-%m-%dT%H:%M:%SZ}",
    lambda _rng, moment: f"{moment:%Y-%m-%dT%H:%M:%S}.250Z",
    lambda _rng, moment: f"{moment:%Y-%m-%d %H:%M:%S}",
)
NO_TIMES = ("yesterday", "2003-13-45T00:00:00Z", "1071340202", "32 Dec 2003 00:00:00 GMT", "", " ")


def write_time(rng: Random) -> Time:
    moment = rng.choice(MOMENTS)
    if rng.random() < 0.09:
        return Time(rng.choice(NO_TIMES), None)
    text = rng.choice(TIME_FORMS)(rng, moment)
    return Time(rng.choice(("", "", "", " ", "\n  ")) + text, f"{moment:%Y-%m-%dT%H:%M:%SZ}")


# -- URLs -----------------------------------------------------------------------------------------

REFERENCES = (
    *("http://example.org/{n}", "https://example.org/a/{n}?x=1&y=2", "http://example.org/{n}#part"),
    *("{n}.html", "/abs/{n}", "../up/{n}?q={n}", "//other.example/{n}", "http://example.org/é/{n}"),
    *("mailto:{n}@example.org", "?p={n}"),
)
BASES = ("http://base.example/x/y", "sub/dir/", "/rooted/", "https://other.example/z/", "../")
