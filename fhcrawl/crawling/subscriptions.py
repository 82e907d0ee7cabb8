"""Lists of feeds with their options: a text file with a URL a line, OPML, or TOML."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlsplit

from fhcrawl.documents.discovery import read_opml
from fhcrawl.documents.xml import encoding
from fhcrawl.exceptions import ArgumentError, NotAFeedError
from fhcrawl.logical_feed.results import IDS
from fhcrawl.utils.addresses import normalised, tidied, without_credentials
from fhcrawl.warc.indexes import archive_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy.settings import BaseSettings

    from fhcrawl.store.subscriptions import Subscriptions

TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")
# fhNext, fhReversed, …, in lower case.
OPML_ATTRIBUTES = {
    "fhnext": "next",
    "fhreversed": "reversed",
    "fhlimit": "limit",
    "fhplatforms": "platforms",
    "fhprobe": "probe",
    "fhmergerenamed": "merge_renamed",
    "fhwebarchive": "web_archive",
    "fhids": "ids",
}
FEED_TYPES = frozenset({"rss", "atom"})
COMMENT = re.compile(r"(?:^|\s)#")
WHITE_SPACE = re.compile(r"\s")
# What may be a host: a name with a dot, or localhost; then a port, a path and so on.
HOST = re.compile(r"(?:localhost|[\w-]+(?:\.[\w-]+)+)(?::[0-9]+)?(?:[/?#]|$)")
# URLs whose scheme opens a feed reader, as in web pages: feed://example.org/ or feed:https://example.org/.
FEED_SCHEME = re.compile(r"(?:feed|itpc|pcast|podcast):(?://)?", re.IGNORECASE)
OTHER_SCHEME = re.compile(r"https?:|[a-z][a-z0-9+.-]*://", re.IGNORECASE)
# Text after a URL on the same line.
MORE_WORDS = re.compile(r"""\s(?:["'<]|\S*://)""")
# User name and password in an invalid URL, where they may contain any character.
INVALID_USER = re.compile(r"^(?=[^@]*@)((?:[^:/?#]+:)?//)?(?!mailto:)[^@]*:.*@", re.DOTALL)
# A comma between URLs, not within one.
COMMA = re.compile(r",(?=\s|$|https?://|file:)")
BETWEEN = re.compile(r"[,\s]+")
# The suffixes of lists of feeds.
LISTS = frozenset({".opml", ".toml", ".txt"})
LISTED_FILES = "FHCRAWL_LISTED_FILES_ENABLED"
WEB_ARCHIVE = "FHCRAWL_WEB_ARCHIVE"
MOST_DIGITS = 18
MOST_REFUSED = 5
EXAMPLE = "https://example.org/index.atom"
NOTHING_TO_SEND = (
    "No feed is subscribed; give the feeds whose entries to send: fhcrawl crawl --from-store URL, "
    "or -a feed=URL for the spider"
)
NOTHING_SUBSCRIBED = (
    "No feed to crawl; use fhcrawl crawl https://example.org/index.atom, fhcrawl crawl --feeds "
    "subscriptions.txt, or fhcrawl subscribe https://example.org/index.atom. If you are subscribed to feeds, "
    "they are in another store; fhcrawl --help shows which store is used here"
)
TOML_EXAMPLE = '[[feed]]\nurl = "https://example.org/index.atom"\nreversed = true'


@dataclass(frozen=True, slots=True)
class FeedOptions:
    """The user's options of one feed.

    :param next: `archive`: `next` links lead to archives, which do not change
    :param reversed: link relations are swapped
    :param limit: how many archives and pages are fetched in one run, instead of the settings; 0 is no limit
    :param headers: more headers for the requests of this feed
    :param snapshot: URL of the index of a snapshot that the feed continues
    :param platforms: request older pages that no link names, of software that has such pages
    :param probe: request page 2 once, to see whether a feed of unknown software has numbered pages
    :param merge_renamed: delete entries under ids that they had before
    :param web_archive: URL of the web archive whose captures of the feed are read
    :param ids: what identifies entries, one of `results.IDS`; None: the stored value, or `id`
    """

    next: str | None = None
    reversed: bool = False
    limit: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    snapshot: str | None = None
    platforms: bool = True
    probe: bool = False
    merge_renamed: bool = False
    web_archive: str | None = None
    ids: str | None = None

    def plain(self) -> dict[str, Any]:
        """Return the options that differ from the defaults, as plain values."""
        return {name: value for name, value in asdict(self).items() if value != DEFAULTS[name]}


DEFAULTS = asdict(FeedOptions())
NAMES = DEFAULTS.keys()
Listed = dict[str, FeedOptions]


class FeedList(Listed):
    """Feeds with the user's options for each, by URL in the spelling that comes first.

    :ivar titles: those that lists give feeds, by URL
    :ivar refused: a sentence for each line of a list that cannot be used
    """

    def __init__(self) -> None:
        super().__init__()
        self.titles: dict[str, str] = {}
        self.refused: list[str] = []
        self._names: dict[str, str] = {}

    def add(self, url: str, options: FeedOptions, title: str = "") -> None:
        name = self._names.setdefault(normalised(url), url)
        if name not in self or options != FeedOptions():
            self[name] = options
        if title:
            self.titles.setdefault(name, title)

    def add_list(self, other: FeedList) -> None:
        for url, options in other.items():
            self.add(url, options, other.titles.get(url, ""))
        self.refused += other.refused


def from_arguments(
    feed: str | None,
    feeds: str | None,
    snapshot: str | None = None,
    ids: str | None = None,
    base: Path = Path(),
    may_list_files: bool = False,
) -> FeedList:
    """Return the feeds that the spider's arguments name, each once, in their order; none without arguments.

    :param feed: URLs, separated by white space
    :param feeds: path of a list, relative to `base`
    :param snapshot, ids: options of the only feed
    :param may_list_files: the list may name `file:` URLs
    :raises ArgumentError: if there is no feed, if one of `feed` is not a URL, or if the list cannot be used
    """
    listed = FeedList()
    if feed is None and feeds is None and not snapshot:
        return listed
    if not feed and not feeds and snapshot:
        raise ArgumentError(f"A snapshot requires a feed; add the feed's URL, or use {snapshot} as the feed")
    if not feed and not feeds:
        raise ArgumentError(
            "No feed to crawl; use fhcrawl crawl https://example.org/index.atom, or --feeds list.txt"
        )
    _refuse_commas(feed or "", "")
    for url in (feed or "").split():
        listed.add(_feed_url(url, ""), FeedOptions())
    if feeds:
        listed.add_list(from_file(base / feeds, may_list_files))
    if not listed:
        raise ArgumentError("No feed to crawl; use fhcrawl crawl https://example.org/index.atom")
    _add_options(listed, snapshot, ids)
    return listed


def archive_url(url: str | None, listed: Listed) -> str | None:
    """Return the URL of an older document of the only feed, or raise ArgumentError; None without one."""
    if url is None:
        return None
    checked = _feed_url(url, "archive")
    if len(listed) != 1 or normalised(checked) in map(normalised, listed):
        raise ArgumentError(
            "An archive is an older document of one feed; use fhcrawl crawl FEED --archive URL"
        )
    return checked


def choose(stored: Subscriptions, requested: Listed, due_at: str | None) -> Listed:
    """Return the feeds to crawl: the requested ones, or without any, the subscribed feeds.

    :param due_at: only those that are due at this time; None for all
    """
    if not requested:
        return {url: FeedOptions(**options) for url, options in stored.read(due_at).items()}
    names = stored.find_names(requested)
    candidates = {names.get(normalised(url), url): options for url, options in requested.items()}
    candidates = with_subscribed(candidates, stored.read_options(candidates))
    if due_at is None:
        return candidates
    due_times = stored.find_due(candidates)
    return {url: options for url, options in candidates.items() if (due_times.get(url) or "") <= due_at}


def with_web_archive(listed: Listed, settings: BaseSettings) -> Listed:
    """Return feeds with the web archive of FHCRAWL_WEB_ARCHIVE, where they have none.

    :raises ArgumentError: if the setting is not a web archive
    """
    if not settings[WEB_ARCHIVE]:
        return listed
    archive = archive_of(settings[WEB_ARCHIVE], f"--web-archive ({WEB_ARCHIVE})")
    return {feed: replace(o, web_archive=o.web_archive or archive) for feed, o in listed.items()}


def why_none(stored: Subscriptions, requested: Listed, only_due: bool) -> str:
    """Return a sentence that explains why `choose` returned no feeds."""
    if not only_due:
        return NOTHING_SUBSCRIBED
    due_times = filter(None, stored.find_due(requested).values())
    first_due = min(due_times, default=None) if requested else stored.find_first_due()
    return f"No feed is due; the next one is due at {first_due}" if first_due else "No feed is due"


# A requested feed without options has those of its subscription.
def with_subscribed(requested: Listed, subscribed: dict[str, dict[str, Any]]) -> Listed:
    return {
        url: replace(FeedOptions(**subscribed[url]), **options.plain())
        if url in subscribed and options == FeedOptions(snapshot=options.snapshot, ids=options.ids)
        else options
        for url, options in requested.items()
    }


def _add_options(listed: Listed, snapshot: str | None, ids: str | None) -> None:
    if ids is not None and len(listed) > 1:
        raise ArgumentError(
            f'ids applies to only one feed; for several feeds, set ids = "{ids}" for each in a TOML file'
        )
    if snapshot and len(listed) > 1:
        raise ArgumentError(
            "A snapshot applies to only one feed; use fhcrawl crawl FEED --snapshot URL, "
            'or set snapshot = "URL" for each feed in a TOML file'
        )
    url, options = next(iter(listed.items()))
    if ids is not None:
        options = replace(options, ids=ids_of(ids, "ids"))
    if snapshot:
        options = replace(options, snapshot=_snapshot_url(snapshot, url, "snapshot"))
    listed[url] = options


def _snapshot_url(url: str | None, feed: str, where: str) -> str | None:
    checked = None if url is None else _feed_url(url, where)
    if checked == feed:
        raise ArgumentError(f"{where} is the URL of the feed itself; use {feed} without a snapshot")
    return checked


def from_words(words: Iterable[str], may_list_files: bool = False) -> FeedList:
    """Return the feeds that arguments of a command name, each once: URLs, and paths of lists.

    :raises ArgumentError: if a word is neither, or if a list cannot be used
    """
    listed = FeedList()
    for word in words:
        _refuse_commas(word, "fhcrawl subscribe")
        if "://" in word or FEED_SCHEME.match(word):
            listed.add(_feed_url(word, "fhcrawl subscribe"), FeedOptions())
        elif Path(word).exists():
            listed.add_list(from_file(Path(word), may_list_files))
        else:
            raise ArgumentError(
                f"{_without_user(word)} is neither a file nor the URL of a feed; "
                "use the path of a list, or a URL that begins with https://"
            )
    return listed


def from_file(path: Path, may_list_files: bool = False) -> FeedList:
    listed = FeedList()
    for line in _read_lines(path):
        try:
            url = _listed_url(line, may_list_files)
            options = _parse_options(line.options, url, f"{line.where}, {url}")
        except ArgumentError as error:
            listed.refused.append(str(error))
            continue
        listed.add(url, options, line.title)
    if not listed:
        sentences = listed.refused[:MOST_REFUSED]
        if omitted := listed.refused[MOST_REFUSED:]:
            sentences.append(f"and {len(omitted):,} more")
        raise ArgumentError("; ".join(sentences) or f"There are no feeds in {path}; write one URL per line")
    return listed


class _Line(NamedTuple):
    where: str
    url: object
    options: dict[str, Any]
    title: str = ""
    fault: str = ""  # why it cannot be read


def _listed_url(line: _Line, may_list_files: bool) -> str:
    if line.fault:
        raise ArgumentError(f"{line.where}{line.fault}")
    url = _feed_url(_with_scheme(line.url), line.where)
    # The author of a list may have no right to read this machine's files.
    if not may_list_files and urlsplit(url).scheme == "file":
        raise ArgumentError(
            f"{line.where} is a local file, {url}; use fhcrawl crawl URL or fhcrawl subscribe URL, or allow "
            f"local files in lists with -s {LISTED_FILES}=1"
        )
    return url


def _read_lines(path: Path) -> Iterator[_Line]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ArgumentError(
            f"Cannot read the list of feeds {path} ({error.strerror}); "
            "use a text file with one URL per line, an OPML file or a TOML file"
        ) from error
    if path.suffix.lower() == ".toml":
        yield from _from_toml(content, path)
        return
    name, mark = encoding.detect_wide(content) or ("utf-8-sig", 0)
    text = content[mark:].decode(name, "replace")
    yield from _from_opml(content, path) if text.lstrip().startswith("<") else _from_lines(text, path)


def _from_lines(text: str, path: Path) -> Iterator[_Line]:
    for number, line in enumerate(text.splitlines(), 1):
        url = COMMENT.split(line, maxsplit=1)[0].strip()
        if url:
            yield _Line(f"{path}, line {number}", url, {})


# OPML 2.0, 'Subscription lists': outlines with the required attributes type and xmlUrl. Not all programs
# write the type, and not all write the names of attributes as they are there.
def _from_opml(content: bytes, path: Path) -> Iterator[_Line]:
    try:
        outlines, faults = read_opml(content)
    except NotAFeedError as error:
        raise ArgumentError(f"{path} is neither a list of URLs nor OPML: {error}") from error
    reported: set[int] = set()
    for outline in outlines:
        title = f" ({outline.title})" if outline.title else ""
        where, kind = f"{path}, line {outline.line}{title}", outline.attributes.get("type", "").lower()
        # The page of an outline without a feed's URL is searched for a feed.
        names = ("xmlurl", "url", "htmlurl") if outline.is_leaf and kind != "include" else ("xmlurl",)
        url = next(filter(None, (outline.attributes.get(name, "").strip() for name in names)), "")
        if url:
            options = {OPML_ATTRIBUTES[n]: v for n, v in outline.attributes.items() if n in OPML_ATTRIBUTES}
            yield _Line(where, url, options, outline.title)
        elif outline.is_leaf and outline.line in faults:
            reported.add(outline.line)
            fault = faults[outline.line]
            lost_url = f", {_without_user(fault.url)}," if fault.url else ""
            yield _Line(where, "", {}, fault=f"{lost_url} is not well-formed: {fault.message}")
        elif outline.is_leaf and kind in FEED_TYPES:
            yield _Line(where, "", {}, fault=f': xmlUrl is missing; add xmlUrl="{EXAMPLE}"')
    for number in sorted(faults.keys() - reported):
        yield _Line(f"{path}, line {number}", "", {}, fault=f" is not well-formed: {faults[number].message}")


def _from_toml(content: bytes, path: Path) -> Iterator[_Line]:
    try:
        tables = parse_toml(content)["feed"]
        urls_with_options = [(str(table.pop("url")), table) for table in tables]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ArgumentError(
            f"{path} is not a list of feeds in TOML ({error}); an example:\n{TOML_EXAMPLE}"
        ) from error
    for number, (url, options) in enumerate(urls_with_options, 1):
        yield _Line(f"{path}, feed {number}", url, options)


def parse_toml(content: bytes) -> dict[str, Any]:
    """Parse a TOML file.

    :raises ValueError: if it is not TOML, or has an integer of too many digits
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:  # pragma: no cover
        import tomli as tomllib
    parsed = tomllib.loads(content.decode("utf-8-sig"))
    # Python reads such integers in hexadecimal, but does not convert them to the text of a message.
    repr(parsed)
    return parsed


def _parse_options(values: dict[str, Any], feed: str, where: str) -> FeedOptions:
    unknown = values.keys() - NAMES
    if unknown:
        raise ArgumentError(
            f"{where}: there is no option {min(unknown)}; valid options: {', '.join(sorted(NAMES))}"
        )
    next_role = values.get("next")
    if next_role not in (None, "archive", "page"):
        raise ArgumentError(f"{where}: next must be archive or page, not {next_role}")
    headers, web_archive = values.get("headers", {}), values.get("web_archive")
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise ArgumentError(f'{where}: headers must be a table of strings: headers = {{Name = "value"}}')
    return FeedOptions(
        next=next_role,
        reversed=flag(str(values.get("reversed", False)), f"{where}: reversed"),
        limit=_parse_limit(values.get("limit"), where),
        headers=headers,
        snapshot=_snapshot_url(values.get("snapshot"), feed, f"{where}: snapshot"),
        platforms=flag(str(values.get("platforms", True)), f"{where}: platforms"),
        probe=flag(str(values.get("probe", False)), f"{where}: probe"),
        merge_renamed=flag(str(values.get("merge_renamed", False)), f"{where}: merge_renamed"),
        web_archive=web_archive and archive_of(str(web_archive), f"{where}: web_archive"),
        ids=ids_of(values.get("ids"), f"{where}: ids"),
    )


def ids_of(value: object, where: str) -> str | None:
    """Return what identifies the entries of a feed, one of `results.IDS`; None for None."""
    if value is None or value in IDS:
        return value
    raise ArgumentError(f"{where} must be {', '.join(IDS[:-1])} or {IDS[-1]}, not {value}")


def _parse_limit(value: object, where: str) -> int | None:
    if value is not None and not is_number(str(value)):
        raise ArgumentError(f"{where}: limit must be a number of up to {MOST_DIGITS} digits, not {value}")
    return None if value is None else int(str(value))


def is_number(text: str) -> bool:
    """Return whether a text is a number from 0 on that a database and a scheduler can store."""
    return text.isdecimal() and len(text) <= MOST_DIGITS


def flag(value: str, where: str) -> bool:
    """Parse one of TRUE or FALSE, in any case; raise ArgumentError for other text."""
    if value.lower() not in TRUE + FALSE:
        raise ArgumentError(f"{where} must be 1 or 0, not {value}")
    return value.lower() in TRUE


def _prefix(where: str) -> str:
    return f"{where}: " if where else ""


def _refuse_commas(words: str, where: str) -> None:
    if COMMA.search(words) or ("," in words and "://" not in words and not os.path.exists(words)):  # noqa: PTH110
        apart = " ".join(map(without_credentials, filter(None, BETWEEN.split(words))))
        raise ArgumentError(
            f"{_prefix(where)}separate URLs with spaces, not commas: {apart}; if the comma is part of a URL, "
            f"put the URL into a list (--feeds FILE)"
        )


def _with_scheme(word: object) -> object:
    if not isinstance(word, str):
        return word
    is_path = Path(word).suffix.lower() in LISTS and "/" not in word
    if word.startswith("//") or (HOST.match(word) and not is_path):
        word = f"https://{word.removeprefix('//')}"
    # https://url.spec.whatwg.org/#concept-basic-url-parser removes tabs and newlines, and encodes spaces.
    try:
        parts = urlsplit(word)
        is_url = parts.scheme and not WHITE_SPACE.search(parts.netloc) and not MORE_WORDS.search(word)
    except ValueError:
        return word
    word = word.translate(dict.fromkeys(map(ord, "\t\n\r")))
    return WHITE_SPACE.sub(lambda match: quote(match[0]), word) if is_url else word


def _without_feed_scheme(url: str) -> str:
    scheme = FEED_SCHEME.match(url)
    if scheme is None:
        return url
    target = url[scheme.end() :]
    return target if OTHER_SCHEME.match(target) else f"https://{target}"


def _feed_url(url: object, where: str) -> str:
    if not isinstance(url, str):
        raise ArgumentError(f"{_prefix(where)}{url} is not a URL; use a URL such as {EXAMPLE}")
    url = _without_feed_scheme(url)
    try:
        url.encode()  # an argument that is not UTF-8 has surrogates
        parts = urlsplit(url)
        host = None if WHITE_SPACE.search(url) else parts.hostname
        parts.port  # noqa: B018 - raises ValueError if invalid
    except ValueError:
        parts, host = None, None
    if parts is not None and parts.scheme == "file" and not host and parts.path.startswith("/"):
        return tidied(url)
    shown = without_credentials(url) if host else _without_user(url)
    if parts is None or parts.scheme not in ("http", "https") or not host:
        suggestion = _suggestion(url)
        raise ArgumentError(f"{_prefix(where)}{shown} is not the URL of a feed; use {suggestion}")
    # The URL names the feed in the store, the exports and the log.
    if "@" in parts.netloc:
        raise ArgumentError(
            f"{_prefix(where)}the URL of a feed must not contain a user name or a password; use {shown} with "
            f"HTTPAUTH_USER, HTTPAUTH_PASS and HTTPAUTH_DOMAIN, or with headers in a TOML list"
        )
    return tidied(url)


def _without_user(word: str) -> str:
    return INVALID_USER.sub(r"\1", without_credentials(word))


def _suggestion(word: str) -> str:
    if "://" in word:
        return EXAMPLE
    path = Path(word)
    # Path.exists() raises OSError for long words.
    exists = os.path.exists(word)  # noqa: PTH110
    if exists and path.is_dir():
        return f"{path.resolve().as_uri()}/"
    if path.suffix.lower() in LISTS and (exists or "/" not in word):
        return f"fhcrawl crawl --feeds {word}"
    if exists:
        return path.resolve().as_uri()
    return f"https://{word}" if HOST.match(word) else EXAMPLE
