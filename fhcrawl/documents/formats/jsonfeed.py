"""Reads JSON Feed 1.1 and 1.0 (jsonfeed.org)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fhcrawl.documents.dates import utc
from fhcrawl.documents.head_links import HeadLinks
from fhcrawl.documents.identifiers import identifier
from fhcrawl.documents.json_text import Number, array, clean, line, original, string
from fhcrawl.documents.model import Entry, FeedDocument, Problem
from fhcrawl.documents.modules import date_problem, enclosure, shared
from fhcrawl.documents.xml import elements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fhcrawl.documents.json_text import Json, Object

START = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?[\s\x00]*\{")
VERSION = re.compile(r"https?://(?:www\.)?jsonfeed\.org/version/", re.IGNORECASE)
# JSON Feed's versions without their URL, and members of its items that tell them from other JSON.
BARE_VERSIONS = frozenset({"1", "1.0", "1.1"})
CONTENTS = frozenset({"content_html", "content_text"})
LINKS = {"feed_url": "self", "home_page_url": "alternate", "next_url": "next"}


def is_json(body: bytes) -> bool:
    """Return whether a body begins like a JSON object."""
    return START.match(body) is not None


def read(found: Json, url: str, keep_originals: bool) -> FeedDocument | None:
    """Read a JSON Feed, one without items as an empty feed with a fault; None if it is other JSON.

    :param keep_originals: keep the JSON of each entry; numbers in it become strings
    """
    # JSON Feed 1.1, version: the URL of the version of the format that the feed uses.
    problems: list[Problem] = []
    if not VERSION.match(string(found.members, "version") or ""):
        if not _has_bare_version(found):
            return None
        problems.append(Problem("nonstandard", "", "its version is not a URL; it is read as JSON Feed"))
    feed = found.members
    links = _links(feed, url)
    if found.lost:
        detail = f"it has several lists of items, and only the last one is read; skipped items: {found.lost}"
        problems.append(Problem("entry-lost", "", detail))
    return FeedDocument(
        format="json",
        title=line(feed, "title"),
        updated=None,
        links=links.first,
        other_links=links.others,
        archive=False,
        complete=False,
        entries=list(_entries(found, url, keep_originals, problems)),
        problems=problems,
        fault=None if found.items is not None else "it has no items",
    )


def _has_bare_version(found: Json) -> bool:
    if string(found.members, "version") not in BARE_VERSIONS:
        return False
    first = found.items[0] if found.items else None
    return isinstance(first, dict) and "id" in first and not CONTENTS.isdisjoint(first)


def _entries(found: Json, url: str, keep_originals: bool, problems: list[Problem]) -> Iterator[Entry]:
    authors = shared(author_names(found.members, "", problems))
    language = _language(found.members)
    for number, given in enumerate(found.items or (), 1):
        item = given if isinstance(given, dict) else {}
        entry = read_item(item, url, authors, problems, number)
        entry.language = entry.language or language
        if keep_originals:
            entry.original = original(item)
        yield entry


# JSON Feed 1.1, next_url: the URL of a feed with the next items: the feed is paged. Some programs write null,
# an empty string or false for a missing property.
def _links(feed: Object, url: str) -> HeadLinks:
    found = HeadLinks()
    for name, relation in LINKS.items():
        if feed.get(name) not in (None, "", False):
            reference = line(feed, name)
            found.add(relation, elements.resolve(reference, url).partition("#")[0] if reference else "")
    return found


def read_item(item: Object, url: str, feed_authors: list[str], problems: list[Problem], number: int) -> Entry:
    """Read an item; its faults are added to `problems`."""
    # JSON Feed 1.1, url and external_url: the permalink, and the page elsewhere that the item is about.
    link = line(item, "url") or line(item, "external_url")
    html = string(item, "content_html")
    content = html or string(item, "content_text")
    tags = (clean(tag).strip() for tag in array(item, "tags") if isinstance(tag, str))
    title, summary = line(item, "title"), string(item, "summary")
    entry = Entry(
        # JSON Feed 1.1, id: one that is a number is to be taken as a string.
        id=identifier(item["id"]) if isinstance(item.get("id"), str) else None,
        title=title,
        link=elements.resolve(link, url) if link else None,
        published=utc(string(item, "date_published") or ""),
        updated=utc(string(item, "date_modified") or ""),
        categories=list(dict.fromkeys(filter(None, tags))),
        summary=summary,
        content=content,
        content_type=("html" if html else "text") if content else None,
        enclosures=[
            enclosure(elements.resolve(file, url), line(each, "mime_type"), line(each, "size_in_bytes"))
            for each in array(item, "attachments")
            if isinstance(each, dict) and (file := line(each, "url"))
        ],
        # JSON Feed 1.1, title and summary: plain text.
        title_type="text" if title else None,
        summary_type="text" if summary else None,
        language=_language(item),
    )
    name = entry.id or entry.link or entry.title or f"item {number}"
    # JSON Feed 1.1, authors: an item without them has the feed's.
    entry.authors = author_names(item, name, problems) or list(feed_authors)
    # JSON Feed 1.1: an item without an id must be discarded.
    if entry.id is None:
        problems.append(Problem("no-id", name, "it has no id"))
    for key, time in (("date_published", entry.published), ("date_modified", entry.updated)):
        if item.get(key) is not None:
            problems.extend(date_problem(name, key, item[key], time))
    return entry


# JSON Feed 1.0 has `author`; 1.1 has `authors`, which takes precedence.
def author_names(holder: Object, name: str, problems: list[Problem]) -> list[str]:
    """Return the names, else the URLs, of the authors of a feed or an item."""
    given = [author for author in array(holder, "authors") if _is_author(author)]
    if not given and _is_author(holder.get("author")):
        given = [holder["author"]]
    if any(isinstance(author, str) for author in given):
        problems.append(Problem("nonstandard", name, "its author is a string; it is read as a name"))
    authors = [{"name": author} if isinstance(author, str) else author for author in given]
    names = (line(author, "name") or line(author, "url") for author in authors)
    return list(dict.fromkeys(filter(None, names)))


def _is_author(value: Any) -> bool:
    return isinstance(value, (dict, str)) and not isinstance(value, Number)


def _language(holder: Object) -> str | None:
    value = line(holder, "language")
    return value if value and len(value) <= elements.LONGEST_LANGUAGE else None
