"""Reads pages of posts as Ghost's Content API has them (docs.ghost.org/content-api)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fhcrawl.documents.dates import utc
from fhcrawl.documents.head_links import HeadLinks
from fhcrawl.documents.identifiers import identifier
from fhcrawl.documents.json_text import array, clean, line, original, string
from fhcrawl.documents.model import Entry, FeedDocument, Problem
from fhcrawl.documents.modules import date_problem, enclosure, is_length
from fhcrawl.documents.xml import elements

if TYPE_CHECKING:
    from fhcrawl.documents.json_text import Json, Object

POSTS = "posts"
PAGE = re.compile(r"(?<=[?&])page=[^&#]*")
# As Media RSS has it in the feed.
IMAGE = "image/*"


def read(found: Json, url: str, keep_originals: bool) -> FeedDocument | None:
    """Read a page of posts; None if it is other JSON.

    The posts are removed from `found`.

    :param keep_originals: keep the JSON of each post; numbers in it become strings
    """
    page = _member(_member(found.members, "meta"), "pagination")
    if not page or not isinstance(found.members.get(POSTS), list):
        return None
    problems: list[Problem] = []
    links, total = HeadLinks(), line(page, "total") or ""
    if is_length(following := line(page, "next") or ""):
        links.add("next", _numbered(url, following))
    return FeedDocument(
        format="ghost",
        title=None,
        updated=None,
        links=links.first,
        archive=False,
        complete=False,
        entries=[
            _entry(post if isinstance(post, dict) else {}, number, url, keep_originals, problems)
            for number, post in enumerate(found.members.pop(POSTS), 1)
        ],
        problems=problems,
        fault=None,
        total=int(total) if is_length(total) else None,
    )


def _member(holder: Object, name: str) -> Object:
    value = holder.get(name)
    return value if isinstance(value, dict) else {}


def _numbered(url: str, number: str) -> str:
    url = url.partition("#")[0]
    if PAGE.search(url):
        return PAGE.sub(f"page={number}", url)
    return f"{url}{'&' if '?' in url else '?'}page={number}"


def _entry(post: Object, number: int, url: str, keep_original: bool, problems: list[Problem]) -> Entry:
    link, image = line(post, "url"), line(post, "feature_image")
    title, content = line(post, "title"), string(post, "html")
    summary = string(post, "custom_excerpt") or string(post, "excerpt")
    entry = Entry(
        id=identifier(post["id"]) if isinstance(post.get("id"), str) else None,
        title=title,
        link=elements.resolve(link, url) if link else None,
        published=utc(string(post, "published_at") or ""),
        updated=utc(string(post, "updated_at") or ""),
        authors=_names(post, "authors"),
        categories=_names(post, "tags"),
        summary=summary,
        content=content,
        content_type="html" if content else None,
        enclosures=[enclosure(elements.resolve(image, url), IMAGE, None)] if image else [],
        title_type="text" if title else None,
        summary_type="text" if summary else None,
        original=original(post) if keep_original else None,
    )
    name = entry.id or entry.link or entry.title or f"item {number}"
    if entry.id is None:
        problems.append(Problem("no-id", name, "it has no id"))
    for key, time in (("published_at", entry.published), ("updated_at", entry.updated)):
        if post.get(key) is not None:
            problems.extend(date_problem(name, key, post[key], time))
    return entry


# A tag whose name begins with # is internal; `include=tags` leaves it out, as the feed does.
def _names(post: Object, of: str) -> list[str]:
    given: list[Any] = [each for each in array(post, of) if isinstance(each, dict)]
    return list(dict.fromkeys(clean(name) for each in given if (name := line(each, "name"))))
