"""Reads the indexes of web archives: responses of CDX servers, and TimeMaps (RFC 7089).

The first kind of index that an archive supports is used:

- The Wayback Machine's CDX server: an array of arrays, of which the first has the names of the fields.
- pywb's: an object a line.
- A TimeMap of links, in one or more pages.

Everything in an index may be hostile. Of a capture, only its time and its digest are used, and its URL if it
is the requested one, except for what archives do not distinguish.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from fhcrawl.documents.links import link_values
from fhcrawl.documents.xml.elements import resolve
from fhcrawl.exceptions import ArgumentError, NoIndexError
from fhcrawl.utils.addresses import PORTS, has_credentials, name_of, origin

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORT_NAMES = {"wayback": "https://web.archive.org/web"}
# Octets of a page of an index, which has some 150 for each capture; and characters of one of its lines.
LONGEST_ANSWER = 16 * 1024**2
LONGEST_LINE = 16_384
# Captures that are requested at once. A server may return fewer; from MAY_BE_PART on, there may be more.
MOST_AT_ONCE, MAY_BE_PART = 10_000, 1_000
# Rows of a page that are read, if a server returns more than that; and pages of a TimeMap.
MOST_ROWS, MOST_PAGES = 2 * MOST_AT_ONCE, 100
LONGEST_DIGEST = 128
STAMP = re.compile(r"[0-9]{14}", re.ASCII)
STAMP_FORMAT = "%Y%m%d%H%M%S"
# The URL of a capture, from the archive's own part on: a time, a modifier, and the URL that was captured.
CAPTURED = re.compile(r"/([0-9]{14})(?:[a-z]{2}_)?/(https?:/.*)$", re.ASCII | re.DOTALL)
# Characters that are not escaped in a URL within the path of another one.
SAFE = ":/?&=%;,@+~!$()*'"
OK, REVISIT = "200", "warc/revisit"
# The names of fields, the Wayback Machine's last.
TIME, URL, STATUS, DIGEST = ("timestamp",), ("url", "original"), ("status", "statuscode"), ("digest",)
MIME = ("mime", "mimetype")


class Listed(NamedTuple):
    url: str  # of the captured document
    time: str  # ISO 8601 in UTC
    # Of the body, in the form of the index; the time and URL if the index has none. For a WARC record without
    # a digest: its place and date, because files are rewritten.
    digest: str
    is_revisit: bool = False  # without a body of its own


class IndexPage(NamedTuple):
    captures: list[Listed]  # of the requested URL, in the order of the index
    last: str = ""  # the last time in the page, of any capture, as the index has it; "" for none
    has_more: bool = False  # the index may have more captures after that
    pages: tuple[str, ...] = ()  # URLs of other pages of a TimeMap
    unread: int = 0  # lines that could not be read


def archive_of(archive: str, where: str) -> str:
    """Return the URL of a web archive from its URL or short name, such as `wayback`.

    :param where: the option or setting, for the error message
    :raises ArgumentError: if it is neither
    """
    url = SHORT_NAMES.get(archive, archive).rstrip("/")
    try:
        parts, has_user = urlsplit(url), has_credentials(url)
        is_url = parts.scheme in PORTS and bool(origin(url).host) and url.isprintable() and " " not in url
    except ValueError:
        is_url = has_user = False
    if not is_url or has_user or parts.query or parts.fragment:
        raise ArgumentError(
            f"{where} is {archive}, which is not a web archive: use {' or '.join(SHORT_NAMES)}, or "
            f"the part of its URLs before the time of a capture, such as {SHORT_NAMES['wayback']}"
        )
    return url


def capture_url(archive: str, time: str, url: str) -> str:
    """Return the URL of a capture as it was received, without the archive's changes."""
    stamp = re.sub(r"[^0-9]", "", time)[:14]
    return f"{archive}/{stamp}id_/{url}"


# The Wayback Machine's CDX server (0), pywb's, and a TimeMap.
KINDS, TIMEMAP = 3, 2


def query(kind: int, archive: str, url: str, since: str = "") -> str:
    """Return the URL of an index of captures, from a time on (in the form of the index)."""
    parameters = {"url": url, "output": "json", "limit": MOST_AT_ONCE} | ({"from": since} if since else {})
    if kind == 0:
        parts = urlsplit(archive)
        parameters |= {"fl": "timestamp,original,mimetype,statuscode,digest", "showResumeKey": "true"}
        return f"{parts.scheme}://{parts.netloc}/cdx/search/cdx?{urlencode(parameters)}"
    if kind == 1:
        return f"{archive}/cdx?{urlencode(parameters)}"
    return f"{archive}/timemap/link/{quote(url, safe=SAFE)}"


def read(body: bytes, timemap: str | None, url: str, is_cut: bool = False) -> IndexPage:
    """Parse a page of an index of the captures of a URL.

    :param timemap: URL of the requested TimeMap; None for a CDX server
    :param is_cut: the end of the page is missing
    :raises NoIndexError: if it is no index
    """
    text = body.decode("utf-8", "replace")
    if timemap is not None:
        return _read_timemap(text, timemap, url)._replace(has_more=is_cut)
    stripped = text.lstrip("\ufeff \t\r\n")
    rows = _rows_of_array(stripped) if stripped.startswith("[") else _rows_of_lines(stripped)
    captures, last, number, unread, has_more = [], "", 0, 0, is_cut
    for place, row in enumerate(rows):
        if place == MOST_ROWS:
            has_more = True
            break
        if row is None:
            unread += 1
            continue
        if RESUMES in row:
            has_more = True
            continue
        number += 1
        stamp = _text(row, TIME)
        last = max(last, stamp) if STAMP.fullmatch(stamp) else last
        capture = _parse_row(row, stamp, url)
        if capture is not None:
            captures.append(capture)
    return IndexPage(captures, last, has_more or number >= MAY_BE_PART, unread=unread)


RESUMES = "resume key"
Row = dict[str, Any] | None


def _rows_of_array(text: str) -> Iterator[Row]:
    elements = _elements(text)
    names = next(elements, None)
    if names == []:
        return
    if not isinstance(names, list) or not set(TIME) <= {name for name in names if isinstance(name, str)}:
        raise NoIndexError("it does not begin with field names")
    for element in elements:
        if not isinstance(element, list):
            yield None
        elif len(element) == 1:
            # "After the end of the query, the <resumption key> will be printed on a separate line".
            yield {RESUMES: element[0]}
        elif len(element) == len(names):
            yield dict(zip(map(str, names), element, strict=True))
        elif element:
            yield None


# Yields the elements of a JSON array: [] if it is empty, and CUT if its end is missing.
def _elements(text: str) -> Iterator[Any]:
    decoder, position = json.JSONDecoder(), 1
    while True:
        between = BETWEEN.match(text, position)
        position = between.end() if between else position
        if text.startswith("]", position):
            if position == 1:
                yield []
            return
        try:
            element, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            yield CUT
            return
        yield element


CUT = ["cut off"]
BETWEEN = re.compile(r"[\s,]*")


def _rows_of_lines(text: str) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n")):
        if not line.strip():
            continue
        try:
            row = json.loads(line) if len(line) <= LONGEST_LINE else None
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict) or not any(name in row for name in TIME):
            row = None
        if row is None and not number:
            raise NoIndexError("it is not JSON")
        yield row


def _text(row: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := row.get(name), str)), "")


def _parse_row(row: dict[str, Any], stamp: str, url: str) -> Listed | None:
    # A revisit has the status of the capture that it repeats, that of its own response (304), or none.
    is_revisit = _text(row, MIME) == REVISIT
    if not is_revisit and _text(row, STATUS) not in (OK, "-", ""):
        return None
    time, captured = _time(stamp), _text(row, URL)
    if time is None or not _is_capture_of(captured, url):
        return None
    digest = _text(row, DIGEST)
    # "-" is what CDX files have for a field without a value.
    has_digest = (
        digest != "-" and 0 < len(digest) <= LONGEST_DIGEST and digest.isascii() and digest.isprintable()
    )
    return Listed(captured, time, digest if has_digest else _substitute_digest(time, captured), is_revisit)


# A redirect from http: to https: is often captured in the same second as where it leads.
def _substitute_digest(time: str, url: str) -> str:
    return f"{time} {url}"[:LONGEST_DIGEST]


def _time(stamp: str) -> str | None:
    if not STAMP.fullmatch(stamp):
        return None
    try:
        return f"{datetime.strptime(stamp, STAMP_FORMAT).isoformat()}Z"  # noqa: DTZ007 - UTC
    except ValueError:
        return None


def is_of_web(url: str) -> bool:
    """Return whether a URL is one that web archives have captures of."""
    try:
        return urlsplit(url).scheme in PORTS and len(url) <= LONGEST_LINE
    except ValueError:
        return False


def _is_capture_of(captured: str, url: str) -> bool:
    is_plain = is_of_web(captured) and captured.isprintable() and "#" not in captured
    return is_plain and not has_credentials(captured) and key(captured) == key(url)


def key(url: str) -> str:
    """Return a key that is equal for URLs that web archives do not distinguish: by scheme, www., or case."""
    return name_of(url).lower().removeprefix("www.").rstrip("/")


OF_TIMEMAPS = frozenset({"memento", "original", "timemap", "timegate"})


# RFC 7089, 5: a list of links in the format of Link headers (RFC 6690); a memento's is of the relation
# "memento". 5.1.1: a TimeMap may point to other TimeMaps, by the relation "timemap".
def _read_timemap(text: str, timemap: str, url: str) -> IndexPage:
    pages: dict[str, bool] = {}
    captures, unread, is_timemap = [], 0, False
    for target, parameters in link_values(text):
        relation = frozenset(parameters.get("rel", "").lower().split())
        is_timemap = is_timemap or not relation.isdisjoint(OF_TIMEMAPS)
        if "timemap" in relation and "self" not in relation and len(pages) < MOST_PAGES:
            pages[resolve(target or "", timemap)] = True
        if "memento" not in relation:
            continue
        match = CAPTURED.search(f"/{target}") if len(target or "") <= LONGEST_LINE else None
        time = _time(match[1]) if match else None
        if match is None or time is None:
            unread += 1
        elif _is_capture_of(match[2], url):
            captures.append(Listed(match[2], time, _substitute_digest(time, match[2])))
    if not is_timemap:
        raise NoIndexError("it is not a TimeMap")
    pages.pop(timemap, None)
    return IndexPage(captures, pages=tuple(pages), unread=unread)
