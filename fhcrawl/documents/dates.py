"""Parses times of feeds into ISO 8601 in UTC ending in `Z`: strings keep more digits than datetime."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

LEAP_SECOND = 60  # RFC 3339, 5.6; RFC 5322, 3.3
CANONICAL = re.compile(r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$", re.ASCII)

MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
USUAL_MONTHS = {name[:3].title(): f"{number:02}" for number, name in enumerate(MONTH_NAMES, 1)}
MONTHS = {
    **{form: number for number, name in enumerate(MONTH_NAMES, 1) for form in (name, name[:3])},
    "sept": 9,
}
# The months of each language in order. Croatian is missing, where listopad is another month than in Polish.
MONTHS_OF_LANGUAGES = {
    "Czech": "leden ledna led|únor února úno|březen března bře|duben dubna dub|květen května kvě"
    "|červen června čvn|červenec července čvc|srpen srpna srp|září zář|říjen října říj"
    "|listopad listopadu|prosinec prosince pro",
    "Danish and Norwegian": "januar|februar|marts mars|april|maj mai|juni|juli|august|september|oktober okt"
    "|november|december desember des",
    "Dutch": "januari|februari|maart mrt|april|mei|juni|juli|augustus|september|oktober okt"
    "|november|december",
    "Finnish": "tammikuuta tammikuu tammi|helmikuuta helmikuu helmi|maaliskuuta maaliskuu maalis"
    "|huhtikuuta huhtikuu huhti|toukokuuta toukokuu touko|kesäkuuta kesäkuu kesä|heinäkuuta heinäkuu heinä"
    "|elokuuta elokuu elo|syyskuuta syyskuu syys|lokakuuta lokakuu loka|marraskuuta marraskuu marras"
    "|joulukuuta joulukuu joulu",
    "French": "janvier janv|février fevrier févr fév fevr|mars|avril avr|mai|juin|juillet juil|août aout aoû"
    "|septembre sept|octobre|novembre|décembre decembre déc",
    "German": "januar jänner jän|februar feber|märz maerz mär mrz|april|mai|juni|juli|august|september"
    "|oktober okt|november|dezember dez",
    "Greek": "ιανουαρίου ιανουάριος ιαν|φεβρουαρίου φεβρουάριος φεβ|μαρτίου μάρτιος μαρ μάρ"
    "|απριλίου απρίλιος απρ|μαΐου μάιος μαϊ μάι|ιουνίου ιούνιος ιουν ιούν|ιουλίου ιούλιος ιουλ ιούλ"
    "|αυγούστου αύγουστος αυγ αύγ|σεπτεμβρίου σεπτέμβριος σεπ|οκτωβρίου οκτώβριος οκτ"
    "|νοεμβρίου νοέμβριος νοε νοέ|δεκεμβρίου δεκέμβριος δεκ",
    "Hungarian": "január|február febr|március márc|április ápr|május máj|június jún|július júl|augusztus"
    "|szeptember szept|október okt|november|december",
    "Italian": "gennaio gen|febbraio feb|marzo mar|aprile apr|maggio mag|giugno giu|luglio lug|agosto ago"
    "|settembre set|ottobre ott|novembre nov|dicembre dic",
    "Polish": "stycznia styczeń sty|lutego luty lut|marca marzec|kwietnia kwiecień kwi|maja maj"
    "|czerwca czerwiec cze|lipca lipiec lip|sierpnia sierpień sie|września wrzesień wrz"
    "|października październik paź|listopada listopad lis|grudnia grudzień gru",
    "Portuguese": "janeiro|fevereiro fev|março marco|abril abr|maio mai|junho|julho|agosto ago|setembro set"
    "|outubro out|novembro|dezembro dez",
    "Romanian": "ianuarie ian|februarie|martie|aprilie|mai|iunie iun|iulie iul|august|septembrie|octombrie"
    "|noiembrie noi|decembrie",
    "Russian": "января январь янв|февраля февраль фев февр|марта март мар|апреля апрель апр|мая май"
    "|июня июнь июн|июля июль июл|августа август авг|сентября сентябрь сен сент|октября октябрь окт"
    "|ноября ноябрь ноя нояб|декабря декабрь дек",
    "Spanish": "enero ene|febrero|marzo|abril abr|mayo may|junio|julio|agosto ago|septiembre setiembre set"
    "|octubre|noviembre|diciembre dic",
    "Swedish": "januari|februari|mars|april|maj|juni|juli|augusti|september|oktober okt|november|december",
    "Turkish": "ocak oca|şubat şub|mart|nisan nis|mayıs|haziran haz|temmuz tem|ağustos ağu|eylül eyl"
    "|ekim eki|kasım kas|aralık ara",
    "Ukrainian": "січня січень січ|лютого лютий лют|березня березень бер|квітня квітень квіт"
    "|травня травень трав|червня червень черв|липня липень лип|серпня серпень серп"
    "|вересня вересень вер|жовтня жовтень жовт|листопада листопад лист|грудня грудень груд",
}
FOREIGN_MONTHS = {
    name: english
    for months in MONTHS_OF_LANGUAGES.values()
    for english, names in zip(USUAL_MONTHS, months.split("|"), strict=True)
    for name in names.split()
}
# Words of these languages around the parts of a date: of, at, o'clock, year.
WORDS = frozenset(
    (
        *("de", "del", "d", "en", "den", "the", "of", "à", "a", "às", "as", "las", "la", "los", "um", "uhr"),
        *("om", "uur", "alle", "ore", "kl", "o", "g", "r", "roku", "г", "года", "в", "у"),
    )
)
WORD = re.compile(r"(?P<word>[^\W\d_]+)\.?")
FIRST_DAY = re.compile(r"\b1(?:er|ère|º|°|o)(?=\s)", re.IGNORECASE)

# Names of zones with one offset. RFC 5322, 4.3 has EST to PDT; IST is missing: it has three meanings.
NAMES_OF_ZONES = (
    "+0000 UT UTC GMT Z WET|-0230 NDT|-0300 ADT BRT ART|-0330 NST|-0400 EDT AST|-0500 EST CDT|-0600 CST MDT"
    "|-0700 MST PDT|-0800 PST AKDT|-0900 AKST|-1000 HST|+0100 BST CET MEZ MET WEST WAT"
    "|+0200 CEST MESZ MEST EET SAST CAT|+0300 EEST MSK EAT|+0400 MSD|+0500 PKT|+0700 WIB|+0800 AWST SGT HKT"
    "|+0900 JST KST|+0930 ACST|+1000 AEST|+1030 ACDT|+1100 AEDT|+1200 NZST|+1300 NZDT"
)
ZONES = {name: zone[:5] for zone in NAMES_OF_ZONES.split("|") for name in zone.split()[1:]}
# RFC 5322, 4.3; RFC 3339, 4.
SPECIFIED = frozenset({"UT", "UTC", "GMT", "Z", "EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT"})
# In the United States, these names mean standard time in winter and daylight time in summer.
US_ZONES = {
    "ET": "America/New_York",
    "CT": "America/Chicago",
    "MT": "America/Denver",
    "PT": "America/Los_Angeles",
    "AKT": "America/Anchorage",
}
# Names from feeds must not become file paths.
_zones = lru_cache(maxsize=1)(available_timezones)

# A weekday, in any language, is skipped: the date suffices.
WEEKDAY = re.compile(r"(?:[^\W\d_]+(?:[ -][^\W\d_]+)?)?\.?\s*,|[^\W\d_]+(?:-[^\W\d_]+)?\.?(?=\s)")
# RFC 5322, 3.2.2: comments in parentheses; RFC 9557, 3.1: suffixes in brackets. Both have names of zones.
COMMENT = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")
HAS_ZONE = re.compile(r":\d\d(?:[.,]\d+)?(?:\s*[ap]\.?m\b\.?)?\s*(?![ap]\.?m\b)[a-z+-]", re.IGNORECASE)

TIME = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d?)(?::(?P<second>\d\d?)(?P<fraction>[.,]\d+)?)?"
    r"(?:\s*(?P<half>[AaPp])\.?\s?[Mm]\b\.?)?"
    # An offset without its sign, if one sign is possible: no other zone has ever had the opposite offset.
    r"(?:\s+(?P<unsigned>00:?00|05:?30|05:?45|1[34]:?00)$)?"
)
ZONE = (
    r"(?P<zone>[A-Z][A-Za-z]+(?:/[A-Z][A-Za-z_+-]+){1,2}|[A-Za-z]{1,5}"
    r"|(?:[A-Za-z]{1,5}\s*)?[+-]\d{1,2}(?::?\d\d)?(?:\s*[A-Za-z]{1,5})?)"
)
MONTH = r"(?P<name>[A-Za-z]{3,9})\.?"
DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?"
AFTER = rf"(?:[\s,]+(?:(?:at|[@-])\s+)?{TIME})?(?:\s*{ZONE})?$"
# RFC 3339, 5.6; ISO 8601's extended format, and W3CDTF's shorter ones.
EXTENDED = re.compile(
    r"(?P<year>\d{4})(?:(?P<mark>[-/.])(?P<month>\d{1,2})(?:(?P=mark)(?P<day>\d{1,2})"
    rf"(?:(?:[Tt]|\s+){TIME})?(?:\s*{ZONE})?)?)?$",
    re.ASCII,
)
# ISO 8601's basic format, and its ordinal dates.
BASIC = re.compile(
    r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)"
    r"(?:(?:[Tt]|\s+)?(?P<hour>\d\d)(?P<minute>\d\d)(?:(?P<second>\d\d)(?P<fraction>[.,]\d+)?)?"
    rf"|(?:[Tt]|\s+){TIME.replace('?P<', '?P<extended_')})?(?:\s*{ZONE})?$",
    re.ASCII,
)
ORDINAL = re.compile(
    rf"(?P<year>\d{{4}})-(?P<ordinal>\d{{3}})(?:(?:[Tt]|\s+){TIME})?(?:\s*{ZONE})?$", re.ASCII
)
# RFC 5322, 3.3 and 4.3; RFC 850, 2.1.4 has hyphens. PHP formats 0000-00-00 as 30 Nov -0001: not a date.
MAIL = re.compile(rf"{DAY}[\s,/-]*{MONTH}(?:[/-]|[\s,]*|\s*-\s+)(?P<year>\d{{2,4}})\b{AFTER}", re.ASCII)
# ISO C's asctime, and the American order.
ASCTIME = re.compile(rf"{MONTH}\s+{DAY}\s+{TIME}(?:\s*{ZONE})?\s+(?P<year>\d{{4}})$", re.ASCII)
AMERICAN = re.compile(rf"{MONTH}\s+{DAY}[\s,]+(?P<year>\d{{4}}){AFTER}", re.ASCII)
YEAR_FIRST = re.compile(rf"(?P<year>\d{{4}})[\s.,/-]+{MONTH}[\s,/-]+{DAY}{AFTER}", re.ASCII)
NUMBERS = (EXTENDED, ORDINAL, BASIC)
NAMES = (MAIL, ASCTIME, AMERICAN, YEAR_FIRST)
INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060\ufeff]")
MINUS_SIGNS = str.maketrans("\u2010\u2011\u2012\u2013\u2212", "-----")
# What software writes with one meaning that the patterns do not have, and what they have for it.
CLOCK = r"\d{1,2}:\d\d(?::\d\d)?"
REWRITTEN = tuple(
    (re.compile(pattern, re.IGNORECASE), usual)
    for pattern, usual in (
        (r"(\d{4})[年년]\s?(\d{1,2})[月월]\s?(\d{1,2})[日일]", r"\1-\2-\3 "),
        # 18h30; 18.30.02 after a year; 6 PM; PM 6:30; the date after the time
        (r"\b(\d{1,2})\s?h\s?(\d\d)\b", r"\1:\2"),
        (r"(?<=[a-z]. \d{4} )(\d{1,2})\.(\d\d)(?=[.\s]|$)", r"\1:\2"),
        (r"(?<=\d{4} \d\d:\d\d)\.(\d\d)(?=\s|$)", r":\1"),
        (r"(?<![\d:.])(1[0-2]|0?[1-9])\s*(?=[ap]\.?\s?m\b)", r"\1:00 "),
        (rf"\b([ap]m)\s+({CLOCK})\b", r"\2 \1"),
        (rf"^({CLOCK}(?:\s*[ap]\.?m\b\.?)?),?\s+((?:{'|'.join(MONTH_NAMES)}|\d)[^:]*)$", r"\2 \1"),
        # 2003-12-13 at 18:30; 13/Dec/2003:18:30
        (r"^(\d{4}-\d\d?-\d\d?)(?:\s*[T,_]\s*|\s+(?:at|-)\s+)(?=\d{1,2}:\d)", r"\1 "),
        (r"(?<=/\d{4}):(?=\d\d:)", " "),
        # + 0100; --0700; :+0100; +01:00:00
        (r"(?<=:\d\d):?(\s?[a-z]{0,5}\s?)([+-])(?:\s|\2)?(?=\d\d?:?\d\d\b)", r"\1\2"),
        (r"(?<=:\d\d)(\s?[+-]\d\d:\d\d):00$", r"\1"),
    )
)
OFFSET = re.compile(r"([+-])([01]?\d|2[0-3])(?::?([0-5]\d))?(?![\d:])", re.ASCII)
LONGEST = 100
# Zero values of software are in the years 0 and 1 (0000-00-00, 0001-01-01); the year 0025 means 2025.
EARLIEST = "1000"
# The formats of nearly every feed, tried first: the other patterns take twice the time.
USUAL_UTC = re.compile(
    r"[12]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$", re.ASCII
)
USUAL_TIME = r"((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)"
USUAL_ZONE = r"([+-])([01]\d|2[0-3]):?([0-5]\d)"
USUAL_EXTENDED = re.compile(rf"(\d{{4}}-\d\d-\d\d)T{USUAL_TIME}(\.\d+)?(?:Z|{USUAL_ZONE})$", re.ASCII)
USUAL_MAIL = re.compile(
    rf"[A-Z][a-z][a-z], (\d\d?) ([A-Z][a-z][a-z]) (\d{{4}}) {USUAL_TIME} (?:GMT|{USUAL_ZONE})$", re.ASCII
)

# The time, or None; and what no feed specification defines about it, as a sentence, or None.
Reading = tuple[str | None, str | None]
UNREADABLE: Reading = (None, None)


def utc(text: str) -> str | None:
    """Convert a time of RFC 3339 (RFC 4287, 3.3), RFC 822 (RSS 2.0) or a similar format to UTC.

    Returns None if the text is ambiguous (03/04/05), not a time, or a time before the year 1000. A time
    without a zone is read as UTC, and an incomplete date as its first moment.
    """
    return read(text)[0]


def read(text: str) -> Reading:
    """Convert a time like `utc`; return also a note on how it was interpreted."""
    text = text.strip()
    if USUAL_UTC.match(text):
        return text, None
    try:
        usual = _read_usual_format(text)
        time, note = (usual, None) if usual else _read_any_format(text)
    except (ValueError, OverflowError):
        return UNREADABLE
    return (time, note) if time and time >= EARLIEST else UNREADABLE


def _read_usual_format(text: str) -> str | None:
    fraction = None
    if match := USUAL_MAIL.match(text):
        day, name, year, time, sign, hours, minutes = match.groups()
        if name not in USUAL_MONTHS:
            return None
        date = f"{year}-{USUAL_MONTHS[name]}-{day.zfill(2)}"
    elif match := USUAL_EXTENDED.match(text):
        date, time, fraction, sign, hours, minutes = match.groups()
    else:
        return None
    moment = f"{date}T{time}"
    local = datetime.fromisoformat(moment)
    if sign and (hours, minutes) != ("00", "00"):
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        moment = (local + (offset if sign == "-" else -offset)).isoformat()
    return f"{moment}{fraction or ''}Z"


def _read_any_format(text: str) -> Reading:
    if len(text) > LONGEST:
        return UNREADABLE
    text = " ".join(INVISIBLE.sub("", text).translate(MINUS_SIGNS).strip("\"'").split())
    if (match := _match_format(text)) is not None:
        return _interpret(match)
    for pattern, usual in REWRITTEN:
        text = pattern.sub(usual, text)
    what = "it is in no specified format"
    if (match := _match_format(text)) is None and (translated := _in_english(text)):
        match, what = _match_format(translated), "its month is not named in English"
    if match is None:
        return UNREADABLE
    time, note = _interpret(match)
    return time, "; ".join(dict.fromkeys(filter(None, (what, note))))


def _match_format(text: str) -> re.Match[str] | None:
    if text[:1].isdigit() and (match := _first_match(NUMBERS, text)):
        return match
    text = COMMENT.sub(_zone_in_brackets, text).strip()
    weekday = WEEKDAY.match(text)
    if weekday and ("," in weekday[0] or weekday[0].rstrip(".").lower() not in MONTHS):
        text = text[weekday.end() :].lstrip(", \t\r\n")
    match = _first_match(NAMES, text) or _first_match(NUMBERS, text)
    is_english = match is None or match.re in NUMBERS or match["name"].lower() in MONTHS
    return match if is_english else None


def _zone_in_brackets(match: re.Match[str]) -> str:
    name = (match[1] or match[2] or "").strip()
    is_zone = name.upper() in ZONES or name in _zones()
    return f" {name}" if is_zone and not HAS_ZONE.search(match.string, 0, match.start()) else " "


def _first_match(forms: tuple[re.Pattern[str], ...], text: str) -> re.Match[str] | None:
    return next((match for form in forms if (match := form.match(text))), None)


def _in_english(text: str) -> str | None:
    first = WORD.match(text)
    # "mar." is Tuesday before a month, in French and other languages.
    if first and first["word"].lower() in FOREIGN_MONTHS:
        following = (word["word"].lower() for word in WORD.finditer(text, first.end()))
        text = text[first.end() :].lstrip() if any(word in FOREIGN_MONTHS for word in following) else text
    months = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal months
        word = match["word"].lower()
        if word in FOREIGN_MONTHS:
            months += 1
            return f" {FOREIGN_MONTHS[word]} "
        return " " if word in WORDS else match[0]

    translated = WORD.sub(replace, FIRST_DAY.sub("1", text))
    return translated if months else None


def _interpret(match: re.Match[str]) -> Reading:
    parts = {name.removeprefix("extended_"): part for name, part in match.groupdict().items() if part}
    date = _local_date(parts)
    hour, minute, second = (int(parts.get(name, 0)) for name in ("hour", "minute", "second"))
    if half := parts.get("half"):
        if not 1 <= hour <= 12:  # noqa: PLR2004
            return UNREADABLE
        hour = hour % 12 + (12 if half in "Pp" else 0)
    fraction = parts.get("fraction", "")[1:]
    # ISO 8601-1:2004, 4.2.3: 24:00:00 is the end of the day.
    end_of_day = (hour, minute, second, fraction.strip("0")) == (24, 0, 0, "")
    if not end_of_day and (hour > 23 or minute > 59 or second > LEAP_SECOND):  # noqa: PLR2004
        return UNREADABLE
    local = date + timedelta(hours=hour, minutes=minute, seconds=second)
    zone = parts.get("zone") or parts.get("unsigned", "")
    offset = _offset(zone, local, strict="name" not in parts)
    if offset is None:
        return UNREADABLE
    time = f"{(local - offset).isoformat()}{'.' if fraction else ''}{fraction}Z"
    notes = ["it is in no specified format"] if match.re in (AMERICAN, YEAR_FIRST) else []
    if zone and zone.upper() not in SPECIFIED and not OFFSET.search(zone):
        minutes = abs(round(offset.total_seconds() / 60))
        sign = "-" if offset < timedelta() else "+"
        notes.append(f"its zone {zone} is taken as {sign}{minutes // 60:02}:{minutes % 60:02}")
    return time, "; ".join(notes) or None


def _local_date(parts: dict[str, str]) -> datetime:
    year = int(parts["year"])
    # RFC 5322, 4.3: years of two digits up to 49 are after 2000; others, and those of three, after 1900.
    if len(parts["year"]) < 4:  # noqa: PLR2004
        year += 2000 if len(parts["year"]) == 2 and year < 50 else 1900  # noqa: PLR2004
    if ordinal := parts.get("ordinal"):
        date = datetime(year, 1, 1) + timedelta(days=int(ordinal) - 1)  # noqa: DTZ001
        if date.year != year:
            raise ValueError(ordinal)
        return date
    name = parts.get("name")
    month = MONTHS.get(name.lower(), 0) if name else int(parts.get("month", 1))
    return datetime(year, month, int(parts.get("day", 1)))  # noqa: DTZ001


# How much a zone is ahead of UTC at a local time; None if it is no zone.
def _offset(zone: str, local: datetime, strict: bool) -> timedelta | None:
    if not zone:
        return timedelta()
    name = US_ZONES.get(zone.upper(), zone)
    if "/" in name and name in _zones():
        return local.replace(tzinfo=ZoneInfo(name)).utcoffset()
    zone = f"+{zone}" if zone[0].isdigit() else zone
    number = zone if zone[0] in "+-" else ZONES.get(zone.upper()) or zone
    match = OFFSET.search(number) if "/" not in zone else None
    if match:
        sign, hours, minutes = match.groups("0")
        return timedelta(hours=int(hours), minutes=int(minutes)) * (-1 if sign == "-" else 1)
    # RFC 5322, 4.3: other names "SHOULD be considered equivalent to '-0000'". RFC 3339 has no names.
    return None if strict or not zone.isalpha() else timedelta()


def shift(time: str, seconds: float) -> str:
    """Return a time in this module's format, moved by a number of seconds."""
    moved = datetime.fromisoformat(time.rstrip("Z")) + timedelta(seconds=seconds)
    return f"{moved.isoformat()}Z"


def elapsed(earlier: str, later: str) -> int:
    """Return the seconds between two times in this module's format; negative if the first is later."""
    begin, end = (datetime.fromisoformat(time.rstrip("Z").partition(".")[0]) for time in (earlier, later))
    return round((end - begin).total_seconds())
