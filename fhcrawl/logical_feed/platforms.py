"""Publishing software whose feeds have older entries at URLs that no link names: one row for each.

A row says how the software is recognised, how the URL of the older document is formed from what a document
shows, and what ends the walk. A document at such a URL is a page that may not exist.

Pure: values in, values out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, datetime, timedelta, timezone
from html import unescape
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from w3lib.url import url_query_parameter

from fhcrawl.documents.xml.elements import resolve
from fhcrawl.logical_feed.chain import TO_THE_SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NOT_FOUND, TOO_MANY, SERVER_ERROR = 404, 429, 500
NUMBER = re.compile(r"[0-9]{1,9}")
YEAR = re.compile(r"[0-9]{4}")
# Elements of Atom and RSS, or a comment, that name the software. Bounded, for hostile documents.
GENERATOR = re.compile(
    rb"<(?:\w{1,20}:)?generator(?:Agent)?\b[^>]{0,300}>(?:\s*<!\[CDATA\[)?[^<]{0,200}"
    rb"|<!--\s*generator=[^>]{0,200}"
)
MOST_GENERATORS = 3
ENTRY = re.compile(rb"<(?:\w{1,20}:)?(?:entry|item)[\s>]")
LAST_ENTRY = (b"</entry>", b"</item>")
# If all entries are requested at once, this many times as many as the document shows are requested.
TIMES_AS_MANY = 10
# The time zone of a publisher's year is unknown.
ZONE = timedelta(hours=14)
# After so many consecutive periods of time without entries, no earlier ones are requested.
MOST_EMPTY = 2
GITHUB_TAG = re.compile(r"^tag:github\.com,2008:Repository/[0-9]+/(.+)$")
# In ids of gitweb and of cgit.
COMMIT = re.compile(r"(?:;h=|^urn:sha1:)([0-9a-f]{40})$")
# A page of them has the ancestors of one commit, in the order of time.
ANCESTORS = "commits of merged branches may be missing"
# Trac's message for a page after the last one, in any language; its own faults have other messages.
TRAC_MESSAGE = re.compile(rb'<p class="message">[^<]{0,200}?\b([0-9]{1,9})\b')


class Shown(NamedTuple):
    """The data of a document from which the URL of the older one is formed.

    :param number: number of its entries
    :param oldest: publication time, else update time, of the oldest entry; ISO 8601 in UTC
    :param last_id: id of the last entry
    :param is_page: it is not the subscription document
    :param empty: number of consecutive documents without entries before it
    :param size: number of entries of the subscription document; 0 if unknown
    :param site: URL of its web page
    """

    number: int
    oldest: str | None = None
    last_id: str | None = None
    is_page: bool = False
    empty: int = 0
    size: int = 0
    site: str | None = None


if TYPE_CHECKING:
    Form = Callable[[str, Shown], str | None]


@dataclass(frozen=True, slots=True)
class Platform:
    """A publishing software.

    :param name: for people
    :param form: returns the URL of the older document; None if there is none
    :param generator: the generator that its documents declare
    :param header: a name and the value of a response header, as a regular expression for `Name: value`
    :param url: the URLs of its feeds that have older documents; without `generator` and `header`, the URL
        alone identifies it
    :param ids: an element that documents of its feeds have
    :param ends: statuses of a page that does not exist
    :param denial: text in the body of a 500 for a page that does not exist, with its number as first group
    :param repeats: after the last page, the server returns it again, or the page itself
    :param moves: the URL of the older document depends on the entries shown, and changes with each new entry
    :param is_by_time: each page is a period of time, which may have no entries, or more than are shown
    :param caveat: what its older documents may lack, for people; its feeds are never `complete` by them
    :param has_api: the older document is a web page, which leads to an API with all entries (`api_of`)
    :param pages: the name of its pages, for people
    """

    name: str
    form: Form
    pages: str
    generator: re.Pattern[bytes] | None = None
    header: re.Pattern[str] | None = None
    url: re.Pattern[str] | None = None
    ids: re.Pattern[bytes] | None = None
    ends: tuple[int, ...] = (NOT_FOUND,)
    denial: re.Pattern[bytes] | None = None
    repeats: bool = False
    moves: bool = False
    is_by_time: bool = False
    caveat: str = ""
    has_api: bool = False

    def is_denied(self, url: str, status: int, body: bytes) -> bool:
        """Return whether an error response means that the page at a URL does not exist."""
        match = self.denial.search(body) if self.denial is not None and status == SERVER_ERROR else None
        return match is not None and match[1].decode() == url_query_parameter(url, "page")

    def older(self, url: str, shown: Shown) -> tuple[str | None, bool]:
        """Return the URL of the older document, None at the end, and whether the newer one may be cut.

        A document is cut if it shows only the newest entries of its period of time.
        """
        if not shown.number and not (self.is_by_time and shown.is_page):
            return None, False
        formed = self.form(url, shown)
        # A page with more entries than the feed has another limit or no limit.
        is_full = shown.is_page and 0 < shown.size == shown.number
        return (None, is_full) if formed == url else (formed, is_full and self.is_by_time)


# -- URLs ------------------------------------------------------------------------------------------------


def _key(pair: str) -> str:
    return unquote(pair.partition("=")[0])


# The rest of the URL is unchanged: for `Special%3ANewPages`, a server may redirect or respond with 404.
def with_parameter(url: str, parameter: str, value: str) -> str:
    parts, new = urlsplit(url), f"{parameter}={quote(value, safe='')}"
    # With their separators: gitweb's are semicolons.
    pairs = re.split("([&;])", parts.query) if parts.query else []
    is_there = any(_key(pair) == parameter for pair in pairs)
    changed = [new if _key(pair) == parameter else pair for pair in pairs]
    if not is_there:
        changed += ["&", new] if pairs else [new]
    return urlunsplit(parts._replace(query="".join(changed)))


def _numeric_parameter(url: str, parameter: str, default: int) -> int | None:
    value = url_query_parameter(url, parameter) or str(default)
    return int(value) if NUMBER.fullmatch(value) else None


# The number of the next page, or of its first entry.
def numbered(parameter: str, first: int = 1, is_of_entries: bool = False) -> Form:
    def older_url(url: str, shown: Shown) -> str | None:
        number = _numeric_parameter(url, parameter, first)
        step = shown.number if is_of_entries else 1
        return None if number is None else with_parameter(url, parameter, str(number + step))

    return older_url


def numbered_path(url: str, shown: Shown) -> str | None:
    parts = urlsplit(url)
    folder, _, last_segment = parts.path.rstrip("/").rpartition("/")
    if shown.is_page and not NUMBER.fullmatch(last_segment):
        return None
    path = f"{folder}/{int(last_segment) + 1}/" if shown.is_page else f"{folder}/{last_segment}/2/"
    return urlunsplit(parts._replace(path=path))


# The time of the oldest entry shown; without a format, in milliseconds since 1970.
def before_oldest(parameter: str, time_format: str) -> Form:
    def older_url(url: str, shown: Shown) -> str | None:
        moment = _moment(shown.oldest)
        if moment is None:
            return None
        time = moment.strftime(time_format) if time_format else str(int(moment.timestamp() * 1000))
        return with_parameter(url, parameter, time)

    return older_url


# The part of the last id that a group of a regular expression matches.
def from_last_id(parameter: str, last_id: re.Pattern[str]) -> Form:
    def older_url(url: str, shown: Shown) -> str | None:
        match = last_id.search(shown.last_id or "")
        return None if match is None else with_parameter(url, parameter, match[1])

    return older_url


# The number of entries to show.
def with_more_entries(parameter: str) -> Form:
    def older_url(url: str, shown: Shown) -> str | None:
        requested = _numeric_parameter(url, parameter, 0)
        if requested is None or shown.number < requested:
            return None
        number = str(TIMES_AS_MANY * shown.number)
        return with_parameter(url, parameter, number) if NUMBER.fullmatch(number) else None

    return older_url


# A year before the last segment of the path, which must match `name`.
def yearly(name: re.Pattern[str]) -> Form:
    def older_url(url: str, shown: Shown) -> str | None:
        parts = urlsplit(url)
        folder, _, file_name = parts.path.rpartition("/")
        site, _, year = folder.rpartition("/")
        has_year = YEAR.fullmatch(year) is not None
        if not name.fullmatch(file_name) or has_year is not shown.is_page:
            return None
        moment = _moment(shown.oldest)
        if not shown.is_page:
            path = f"{folder}/{moment.year:04}/{file_name}" if moment else None
        else:
            # A server that shows the same entries for each year ignores the year.
            fits = shown.empty + 1 < MOST_EMPTY
            if shown.number:
                fits = moment is not None and int(year) in {(moment - ZONE).year, (moment + ZONE).year}
            path = f"{site}/{int(year) - 1:04}/{file_name}" if fits and int(year) > 1 else None
        return None if path is None else urlunsplit(parts._replace(path=path))

    return older_url


# The feeds of tags and authors link to the home page too, but its API has all posts.
def home(url: str, shown: Shown) -> str | None:
    if shown.is_page or shown.site is None:
        return None
    path = urlsplit(shown.site).path.rstrip("/")
    return shown.site if urlsplit(url).path.rstrip("/") == f"{path}/rss" else None


SCRIPT = re.compile(rb"<script\b([^<>]{0,2000})>", re.IGNORECASE)
DATA = re.compile(rb"\bdata-(key|api|ghost|sodo-search)\s*=\s*[\"']([^\"']{1,500})[\"']", re.IGNORECASE)
SITES = (b"ghost", b"sodo-search")
CONTENT_API = "ghost/api/content/"
ALL_POSTS = "posts/?key={}&limit=100&page=1&include=authors,tags&formats=html"


def api_of(body: bytes, url: str) -> str | None:
    """Return the URL of the first page of all posts in the API that a Ghost home page declares."""
    for script in SCRIPT.finditer(body):
        attributes = DATA.findall(script[1])
        data = {name.lower(): unescape(value.decode("utf-8", "replace")) for name, value in attributes}
        apis = [resolve(data[b"api"], url)] if b"api" in data else []
        apis += [resolve(CONTENT_API, resolve(data[name], url)) for name in SITES if name in data]
        for api in apis:
            if b"key" in data and _host(api) == _host(url):
                return f"{api.rstrip('/')}/{ALL_POSTS.format(quote(data[b'key'], safe=''))}"
    return None


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return None


def _moment(time: str | None) -> datetime | None:
    if time is None:
        return None
    try:
        moment = datetime.fromisoformat(time[:TO_THE_SECOND]).replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    return moment if MINYEAR < moment.year < MAXYEAR else None


# -- the table -------------------------------------------------------------------------------------------

WORDPRESS = Platform(
    "WordPress",
    numbered("paged"),
    "`?paged=2`, `?paged=3`",
    generator=re.compile(rb">\s*https?://wordpress\.(?:org|com)/|(?:uri|resource)=.https?://wordpress\.org/"),
    header=re.compile(r"Link: .*https://api\.w\.org/", re.IGNORECASE | re.DOTALL),
)
PLATFORMS = (
    WORDPRESS,
    Platform(
        "Redmine",
        numbered("page"),
        "`/news.atom?page=2`",
        generator=re.compile(rb"\bRedmine\b"),
        url=re.compile(r"/news\.atom(?:[?#]|$)"),
    ),
    Platform(
        "Trac",
        before_oldest("from", "%Y-%m-%d"),
        "`?from=` the day of the oldest entry",
        generator=re.compile(rb">\s*Trac "),
        url=re.compile(r"/timeline(?:[?#]|$)"),
        repeats=True,
        moves=True,
    ),
    Platform(
        "Trac queries",
        numbered("page"),
        "`&page=2`",
        generator=re.compile(rb">\s*Trac "),
        url=re.compile(r"/query(?:[?#]|$)"),
        denial=TRAC_MESSAGE,
    ),
    Platform(
        "MediaWiki",
        before_oldest("offset", "%Y%m%d%H%M%S"),
        "`&offset=` the time of the oldest entry",
        generator=re.compile(rb">\s*MediaWiki "),
        url=re.compile(r"[?&]feed=(?:atom|rss)\b"),
        repeats=True,
        moves=True,
    ),
    Platform(
        "MediaWiki contributions",
        before_oldest("offset", "%Y%m%d%H%M%S"),
        "`&offset=` the time of the oldest entry",
        generator=re.compile(rb">\s*MediaWiki "),
        url=re.compile(r"[?&]action=feedcontributions\b"),
        repeats=True,
        moves=True,
    ),
    Platform(
        "DokuWiki",
        with_more_entries("num"),
        "`?num=` ten times as many entries",
        generator=re.compile(rb"FeedCreator"),
        url=re.compile(r"/feed\.php(?:[?#]|$)"),
    ),
    Platform(
        "Fossil",
        with_more_entries("n"),
        "`?n=` ten times as many entries",
        generator=re.compile(rb">\s*Fossil version\b"),
        url=re.compile(r"/timeline\.rss(?:[?#]|$)"),
    ),
    Platform(
        "hgweb",
        with_more_entries("revcount"),
        "`?revcount=` ten times as many entries",
        url=re.compile(r"/(?:atom|rss)-log(?:[/?#]|$)"),
    ),
    Platform(
        "gitweb",
        from_last_id("h", COMMIT),
        "`&h=` the last commit",
        generator=re.compile(rb">\s*gitweb\b"),
        url=re.compile(r"[?;&]a=(?:atom|rss)\b"),
        repeats=True,
        moves=True,
        caveat=ANCESTORS,
    ),
    Platform(
        "cgit",
        from_last_id("h", COMMIT),
        "`/atom/?h=` the last commit",
        url=re.compile(r"/atom/(?:[?#]|$)"),
        ids=re.compile(rb"<id>\s*urn:sha1:[0-9a-f]{40}\s*</id>"),
        repeats=True,
        moves=True,
        caveat=ANCESTORS,
    ),
    Platform(
        "Tiny Tiny RSS",
        numbered("offset", first=0, is_of_entries=True),
        "`&offset=60`, `&offset=120`",
        generator=re.compile(rb">\s*Tiny Tiny RSS\b"),
        url=re.compile(r"/public\.php\?(?:[^#]*&)?op=rss\b"),
    ),
    Platform(
        "blosxom",
        yearly(re.compile(r"index\.\w+")),
        "`/2003/index.rss`",
        generator=re.compile(rb"\bblosxom\b", re.IGNORECASE),
        is_by_time=True,
    ),
    Platform(
        "ABlog",
        yearly(re.compile(r"atom\.xml")),
        "`/2003/atom.xml`",
        generator=re.compile(rb"\bABlog\b", re.IGNORECASE),
        is_by_time=True,
    ),
    Platform(
        "Ghost",
        home,
        "the Content API that the home page links to",
        generator=re.compile(rb">(?:\s*<!\[CDATA\[)?\s*Ghost (?:[3-9]|[1-9][0-9])\b"),
        url=re.compile(r"/rss/?(?:[?#]|$)"),
        ends=(),
        has_api=True,
    ),
    Platform(
        "Ghost before 3",
        numbered_path,
        "`/rss/2/`",
        generator=re.compile(rb">(?:\s*<!\[CDATA\[)?\s*Ghost [0-2]\."),
        url=re.compile(r"/rss(?:/[0-9]+)?/?(?:[?#]|$)"),
        repeats=True,
    ),
    Platform(
        "Squarespace",
        before_oldest("offset", ""),
        "`&offset=` the time of the oldest entry",
        generator=re.compile(rb"squarespace\.com"),
        url=re.compile(r"[?&]format=rss\b"),
        repeats=True,
        moves=True,
    ),
    Platform(
        "Joomla",
        numbered("limitstart", first=0, is_of_entries=True),
        "`&limitstart=10`, `&limitstart=20`",
        generator=re.compile(rb"\bJoomla!"),
    ),
    Platform(
        "Discourse",
        numbered("page", first=0),
        "`/latest.rss?page=1`, `?page=2`",
        header=re.compile(r"X-Discourse-Route:", re.IGNORECASE),
        url=re.compile(r"/latest\.rss(?:[?#]|$)"),
    ),
    Platform(
        "GitHub",
        from_last_id("after", GITHUB_TAG),
        "`/releases.atom?after=` the last tag",
        url=re.compile(r"^https?://github\.com/[^/?#]+/[^/?#]+/(?:releases|tags)\.atom(?:[?#]|$)"),
        repeats=True,
        moves=True,
    ),
    Platform(
        "arXiv",
        numbered("start", first=0, is_of_entries=True),
        "`&start=10`, `&start=20`",
        url=re.compile(r"^https?://export\.arxiv\.org/api/query\?"),
    ),
    Platform(
        "Forem",
        numbered("page"),
        "`https://dev.to/feed/USER?page=2`",
        url=re.compile(r"^https?://dev\.to/feed(?:[/?#]|$)"),
    ),
)
# Pages of unknown software. The request for page 2 shows whether a feed has pages: with any other response,
# there may be none. A 429 proves nothing.
NUMBERED = Platform("numbered pages", numbered("page"), "`?page=2`", repeats=True)
PROBE = replace(NUMBERED, name="probe", ends=(*(s for s in range(400, 500) if s != TOO_MANY), SERVER_ERROR))
# After so many seconds, a feed without pages is probed again.
PROBED_AGAIN = 30 * 24 * 60 * 60
NAMED = {platform.name: platform for platform in (*PLATFORMS, NUMBERED, PROBE)}


def recognise(url: str, headers: Iterable[str], body: bytes) -> Platform | None:
    """Return the software of a feed, if it has older documents at URLs that no document links to.

    :param headers: of the response, each as `Name: value`
    """
    # RFC 4287, 4.2.11: an entry's source is another feed, with a generator of its own.
    first, last = ENTRY.search(body), max(map(body.rfind, LAST_ENTRY))
    head = body if first is None else body[: first.start()] + (body[last:] if last > 0 else b"")
    generator = b"\n".join(match[0] for match in islice(GENERATOR.finditer(head), MOST_GENERATORS))
    lines = list(headers)
    for row in PLATFORMS:
        if row.url is not None and not row.url.search(url):
            continue
        if row.ids is not None and not row.ids.search(body):
            continue
        if row.generator is not None and row.generator.search(generator):
            return row
        if any(map(row.header.match, lines)) if row.header is not None else row.generator is None:
            return row
    return None
