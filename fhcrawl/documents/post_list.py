"""Reads a page of the list of posts in WordPress's REST API (`/wp/v2/posts`)."""

from __future__ import annotations

import re
from html import unescape
from typing import NamedTuple

import orjson

from fhcrawl.documents.identifiers import identifier

# REST API Handbook, 'Pagination': per_page is at most 100; X-WP-Total is "the total number of records in the
# collection".
MOST_POSTS = 100
GUID, LINK = "guid", "link"
FIELDS = ("id", GUID, LINK, "modified_gmt")
TOTAL = re.compile(r"[0-9]{1,9}")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}")
# A hundred posts with these fields take about 30 KB; an API that ignores `_fields` sends their texts too.
MOST_OCTETS = 8 * 1024**2


class Post(NamedTuple):
    """A post.

    :param id: of its entry in a feed
    :param modified: when it was last changed: ISO 8601 in UTC, to the second, without `Z`
    """

    number: int
    id: str
    modified: str


class PostList(NamedTuple):
    """A page of the list; `total` is the number of posts on all pages."""

    total: int
    posts: list[Post]


def read(body: bytes, total: str | None, id_field: str = GUID) -> PostList | None:
    """Return a page of a list of posts; None if it is none.

    :param total: the response's X-WP-Total
    :param id_field: what the feed has as ids of entries, GUID or LINK
    """
    if total is None or not TOTAL.fullmatch(total) or len(body) > MOST_OCTETS:
        return None
    try:
        items = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(items, list) or len(items) > MOST_POSTS:
        return None
    posts = [post for item in items if (post := _post(item, id_field)) is not None]
    return PostList(int(total), posts) if len(posts) == len(items) else None


def _post(item: object, id_field: str) -> Post | None:
    if not isinstance(item, dict):
        return None
    number, guid, link, modified = (item.get(name) for name in FIELDS)
    rendered = guid.get("rendered") if isinstance(guid, dict) else None
    own_id = link if id_field == LINK else rendered
    # The API escapes what is markup in XML, as feeds do.
    post_id = identifier(unescape(own_id)) if isinstance(own_id, str) else None
    if type(number) is not int or post_id is None:
        return None
    if not isinstance(modified, str) or not TIME.fullmatch(modified):
        return None
    return Post(number, post_id, modified)
