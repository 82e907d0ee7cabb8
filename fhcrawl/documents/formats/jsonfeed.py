"""Reads JSON Feed 1.1 and 1.0 (jsonfeed.org), and pages of posts as Ghost's Content API has them."""

from __future__ import annotations

import json
import re
from json.decoder import JSONDecoder
from typing import TYPE_CHECKING, Any, NamedTuple

from fhcrawl.documents.dates import utc
from fhcrawl.documents.links import Links
from fhcrawl.documents.model import NO_CHARACTERS, Entry, FeedDocument, Problem, identifier
from fhcrawl.documents.modules import date_problem, enclosure, file, inherit, shared, unsigned
from fhcrawl.documents.xml import elements
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


Object = dict[str, Any]

ITEMS = "items"


class Number(str):
    """The digits of a number as written."""

    __slots__ = ()


class Json(NamedTuple):
    """A JSON object without its `items` array; `lost` counts the items of duplicate arrays."""

    members: Object
    items: list[Any] | None
    lost: int = 0


# RFC 8259, 4: of members with the same name, many implementations report only the last.
def _count_lost_items(pairs: list[tuple[str, Any]]) -> int:
    arrays = [value for name, value in pairs if name == ITEMS]
    return sum(len(value) for value in arrays[:-1] if isinstance(value, list))


_decoder = JSONDecoder(parse_int=Number, parse_float=Number)
_decoder_of_lost = JSONDecoder(parse_int=Number, parse_float=Number, object_pairs_hook=_count_lost_items)


def parse(body: bytes) -> Json:
    """:raises NotAFeedError: `not-json` if it is truncated or malformed"""
    # RFC 8259, 8.1: JSON is UTF-8. Other bytes become U+FFFD in texts, but not in ids, which must differ.
    encoding = json.detect_encoding(body)
    try:
        text = body.decode(encoding, "surrogateescape" if encoding.startswith("utf-8") else "surrogatepass")
        value = _decoder.decode(text)
        lost = _decoder_of_lost.decode(text) if text.count(f'"{ITEMS}"') > 1 else 0
    except ValueError as error:
        raise NotAFeedError(ReasonKind.NOT_JSON, f"it is truncated or not JSON ({error})") from error
    except RecursionError as error:
        raise NotAFeedError(ReasonKind.NOT_JSON, "it is JSON with too many nesting levels") from error
    members: Object = value if isinstance(value, dict) else {}
    items = members.pop(ITEMS) if isinstance(members.get(ITEMS), list) else None
    return Json(members, items, lost)


def lost_items(document: Json) -> Iterator[Problem]:
    if document.lost:
        detail = "it has several lists of items, and only the last one is read; skipped items"
        yield Problem("entry-lost", "", f"{detail}: {document.lost}")


def array(holder: Object, name: str) -> list[Any]:
    value = holder.get(name)
    return value if isinstance(value, list) else []


def string(holder: Object, name: str) -> str | None:
    """Return a member that is a string or a number, and not blank; else None."""
    value = holder.get(name)
    return clean(value) if isinstance(value, str) and value and not value.isspace() else None


def line(holder: Object, name: str) -> str | None:
    """Return a member like `string`, stripped."""
    value = string(holder, name)
    return value.strip() if value else None


def clean(value: str) -> str:
    return NO_CHARACTERS.sub("\ufffd", value)


def unique(values: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(filter(None, values)))


def original(item: Object) -> bytes:
    return clean(json.dumps(item, ensure_ascii=False)).encode()


# --- JSON Feed

START = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?[\s\x00]*\{")
VERSION = re.compile(r"https?://(?:www\.)?jsonfeed\.org/version/", re.IGNORECASE)
# Versions without their URL, and members of items that tell them from other JSON.
BARE_VERSIONS = frozenset({"1", "1.0", "1.1"})
CONTENTS = frozenset({"content_html", "content_text"})
LINKS = {"feed_url": "self", "home_page_url": "alternate", "next_url": "next"}
TIMES = ("date_published", "date_modified")
GHOST_TIMES = ("published_at", "updated_at")
GHOST_POSTS = "posts"
PAGE = re.compile(r"(?<=[?&])page=[^&#]*")


def is_json(body: bytes) -> bool:
    return START.match(body) is not None


def read(document: Json, url: str, keep_originals: bool) -> FeedDocument | None:
    """Read a JSON Feed; one without items is an empty feed with a fault. Returns None for other JSON."""
    feed, items = document.members, document.items
    # JSON Feed 1.1, version: the URL of the version of the format that the feed uses.
    problems: list[Problem] = []
    if not VERSION.match(string(feed, "version") or ""):
        if not _has_bare_version(document):
            return None
        problems.append(Problem("nonstandard", "", "its version is not a URL; it is read as JSON Feed"))
    links = Links()
    for name, relation in LINKS.items():
        # JSON Feed 1.1, next_url: the feed is paged. Some programs write null, '' or false for no URL.
        if feed.get(name) not in (None, "", False):
            reference = line(feed, name)
            links.add(relation, elements.resolve(reference, url).partition("#")[0] if reference else "")
    problems.extend(lost_items(document))
    authors, language = shared(author_names(feed, "", problems)), _language(feed)
    entries = _read_all(items or [], _read_item, url, problems, keep_originals)
    # JSON Feed 1.1, authors: an item without them has the feed's.
    inherit(entries, authors, language)
    return FeedDocument(
        format="json",
        title=line(feed, "title"),
        links=links.first,
        other_links=links.others,
        entries=entries,
        problems=problems,
        fault=None if items is not None else "it has no items",
    )


def _has_bare_version(document: Json) -> bool:
    if string(document.members, "version") not in BARE_VERSIONS:
        return False
    first = document.items[0] if document.items else None
    return isinstance(first, dict) and "id" in first and not CONTENTS.isdisjoint(first)


def _read_all(
    items: list[Any],
    read_item: Callable[[Object, int, str, list[Problem]], Entry],
    url: str,
    problems: list[Problem],
    keep_originals: bool,
) -> list[Entry]:
    entries = []
    for number, value in enumerate(items, 1):
        item = value if isinstance(value, dict) else {}
        entry = read_item(item, number, url, problems)
        entry.original = original(item) if keep_originals else None
        entries.append(entry)
    return entries


def _read_item(item: Object, number: int, url: str, problems: list[Problem]) -> Entry:
    # JSON Feed 1.1, url and external_url: the permalink, and the page elsewhere that the item is about.
    link, summary = line(item, "url") or line(item, "external_url"), string(item, "summary")
    html, text = string(item, "content_html"), string(item, "content_text")
    entry = _new_entry(item, url, link, summary, html, TIMES)
    if text and not html:
        entry.content, entry.content_type = text, "text"
    entry.categories = unique(clean(tag).strip() for tag in array(item, "tags") if isinstance(tag, str))
    entry.language = _language(item)
    name = _entry_name(entry, number)
    for attachment in array(item, "attachments"):
        members = attachment if isinstance(attachment, dict) else {"url": attachment}
        reference, *details = file((member, line(members, member)) for member in members)
        if reference:
            entry.enclosures.append(enclosure(elements.resolve(reference, url), *details))
        else:
            problems.append(Problem("empty-enclosure", name, "its attachment names no file"))
    entry.authors = author_names(item, name, problems)
    problems.extend(_faults(entry, item, name, TIMES))
    return entry


def _new_entry(
    item: Object, url: str, link: str | None, summary: str | None, html: str | None, times: tuple[str, str]
) -> Entry:
    title = line(item, "title")
    published, updated = (utc(string(item, time) or "") for time in times)
    return Entry(
        # JSON Feed 1.1, id: a number is read as a string.
        id=identifier(item["id"]) if isinstance(item.get("id"), str) else None,
        title=title,
        link=elements.resolve(link, url) if link else None,
        published=published,
        updated=updated,
        summary=summary,
        content=html,
        content_type="html" if html else None,
        # JSON Feed 1.1, title and summary: plain text.
        title_type="text" if title else None,
        summary_type="text" if summary else None,
    )


def _entry_name(entry: Entry, number: int) -> str:
    return entry.id or entry.link or entry.title or f"item {number}"


def _faults(entry: Entry, item: Object, name: str, times: tuple[str, str]) -> Iterator[Problem]:
    # JSON Feed 1.1: an item without an id must be discarded.
    if entry.id is None:
        yield Problem("no-id", name, "it has no id")
    for key, time in zip(times, (entry.published, entry.updated), strict=True):
        if item.get(key) is not None:
            yield from date_problem(name, key, item[key], time)


# JSON Feed 1.0 has `author`; 1.1 has `authors`, which takes precedence.
def author_names(holder: Object, name: str, problems: list[Problem]) -> list[str]:
    """Return the author names of a feed or an item; the URL of an author without a name."""
    listed = [author for author in array(holder, "authors") if _is_author(author)]
    if not listed and _is_author(holder.get("author")):
        listed = [holder["author"]]
    if any(isinstance(author, str) for author in listed):
        problems.append(Problem("nonstandard", name, "its author is a string; it is read as a name"))
    authors = [{"name": author} if isinstance(author, str) else author for author in listed]
    return unique(line(author, "name") or line(author, "url") for author in authors)


def _is_author(value: Any) -> bool:
    return isinstance(value, (dict, str)) and not isinstance(value, Number)


def _language(holder: Object) -> str | None:
    value = line(holder, "language")
    return value if value and len(value) <= elements.LONGEST_LANGUAGE else None


# docs.ghost.org/content-api
def read_ghost(document: Json, url: str, keep_originals: bool) -> FeedDocument | None:
    """Read a page of Ghost's posts, and remove them from `document`; None for other JSON."""
    meta = document.members.get("meta")
    page = meta.get("pagination") if isinstance(meta, dict) else None
    if not isinstance(page, dict) or not page or not isinstance(document.members.get(GHOST_POSTS), list):
        return None
    problems: list[Problem] = []
    links, next_number = Links(), unsigned(line(page, "next"))
    # A page without posts is behind the last one, whatever it names as the next one.
    if document.members[GHOST_POSTS] and next_number is not None:
        page_url, parameter = url.partition("#")[0], f"page={next_number}"
        if not PAGE.search(page_url):
            page_url += f"{'&' if '?' in page_url else '?'}{parameter}"
        links.add("next", PAGE.sub(parameter, page_url))
    return FeedDocument(
        format="ghost",
        links=links.first,
        entries=_read_all(document.members.pop(GHOST_POSTS), _read_post, url, problems, keep_originals),
        problems=problems,
        total=unsigned(line(page, "total")),
    )


def _read_post(post: Object, number: int, url: str, problems: list[Problem]) -> Entry:
    summary = string(post, "custom_excerpt") or string(post, "excerpt")
    entry = _new_entry(post, url, line(post, "url"), summary, string(post, "html"), GHOST_TIMES)
    entry.authors = _ghost_names(post, "authors")
    # A tag whose name begins with # is internal; `include=tags` leaves it out, as the feed does.
    entry.categories = _ghost_names(post, "tags")
    # As media:content in the feed.
    if image := line(post, "feature_image"):
        entry.enclosures = [enclosure(elements.resolve(image, url), "image/*", None)]
    problems.extend(_faults(entry, post, _entry_name(entry, number), GHOST_TIMES))
    return entry


def _ghost_names(post: Object, member: str) -> list[str]:
    return unique(line(item, "name") for item in array(post, member) if isinstance(item, dict))
