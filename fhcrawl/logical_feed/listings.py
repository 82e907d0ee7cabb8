"""Compares a WordPress feed with the list of posts in its site's REST API (`/wp/v2/posts`).

The first check reads the list in full. A later one reads the 100 posts that were modified last, and the 100
newest ones: if these are stored, and the total is the expected one, nothing else has changed. Otherwise it
reads the list in full, too. Posts that are missing or outdated are read from the feed, in the list's order.

A feed of WordPress takes `orderby` and `order` as the list does.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, replace
from enum import Enum
from html import unescape
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import orjson
from w3lib.url import (
    add_or_replace_parameter,
    add_or_replace_parameters,
    url_query_cleaner,
    url_query_parameter,
)

from fhcrawl.documents.identifiers import identifier
from fhcrawl.logical_feed.chain import TO_THE_SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

    from fhcrawl.logical_feed.versions import Winner

# REST API Handbook, 'Pagination': per_page is at most 100; X-WP-Total is "the total number of records in the
# collection".
MOST_POSTS = 100
FIELDS = ("id", "guid", "link", "modified_gmt")
TOTAL = re.compile(r"[0-9]{1,9}")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}")
# A hundred posts with these fields take about 30 KB; an API that ignores `_fields` sends their texts too.
MOST_OCTETS = 8 * 1024**2
PAGE, ROUTE, POSTS = "paged", "rest_route", "wp/v2/posts"
# The feeds of all posts, below the site's own URL. Feeds of a category, an author or comments have others.
MAIN_PATHS = frozenset({"feed", "feed/rss2", "feed/rss", "feed/atom", "feed/rdf"})
MAIN_QUERIES = frozenset({"rss2", "rss", "atom", "rdf", "feed"})
# RSS 1.0 and 0.92 have no guid.
LINKS_ARE_IDS = ("rdf", "rss")
MOST_PAGES_AGAIN = 100
NO_WALK = 0


class Post(NamedTuple):
    """A post.

    :param id: of its entry in a feed
    :param modified: when it was last changed: ISO 8601 in UTC, to the second, without `Z`
    """

    number: int
    id: str
    modified: str


class PostList(NamedTuple):
    """A page of the list; `total` is the number of posts in the full list."""

    total: int
    posts: list[Post]


def first_page(url: str) -> str:
    """Return the URL of a feed's first page, for that of one of its pages."""
    return url_query_cleaner(url, (PAGE,), remove=True)


def list_url(root: str, feed_url: str) -> str | None:
    """Return the URL of the list of a feed's posts; None if the feed is not that of all posts.

    :param root: URL of the API
    :param feed_url: URL of the feed's first page
    """
    api, feed = urlsplit(root), urlsplit(feed_url)
    site = api.path.rstrip("/").rpartition("/")[0] + "/"
    if (api.scheme, api.netloc) != (feed.scheme, feed.netloc) or not feed.path.startswith(site):
        return None
    path = feed.path.removeprefix(site).strip("/")
    query = dict(parse_qsl(feed.query, keep_blank_values=True))
    by_query = path in ("", "index.php") and query.keys() == {"feed"} and query["feed"] in MAIN_QUERIES
    if not by_query and (path not in MAIN_PATHS or query):
        return None
    if url_query_parameter(root, ROUTE) is not None:
        return add_or_replace_parameter(root, ROUTE, f"/{POSTS}")
    return f"{root.rstrip('/')}/{POSTS}"


def read_posts(body: bytes, total: str | None, feed_url: str) -> PostList | None:
    """Return a page of the list of posts; None if it is none.

    :param total: the response's X-WP-Total
    """
    if total is None or not TOTAL.fullmatch(total) or len(body) > MOST_OCTETS:
        return None
    try:
        listed = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(listed, list) or len(listed) > MOST_POSTS:
        return None
    # A post's link may be another post's guid: if that one's address has changed since it was published.
    name = url_query_parameter(feed_url, "feed") or urlsplit(feed_url).path.rstrip("/").rpartition("/")[2]
    posts = [post for item in listed if (post := _post(item, name in LINKS_ARE_IDS)) is not None]
    return PostList(int(total), posts) if len(posts) == len(listed) else None


def _post(item: object, has_link_as_id: bool) -> Post | None:
    if not isinstance(item, dict):
        return None
    number, guid, link, modified = (item.get(name) for name in FIELDS)
    rendered = guid.get("rendered") if isinstance(guid, dict) else None
    text = link if has_link_as_id else rendered
    # The API escapes what is markup in XML, as feeds do.
    post_id = identifier(unescape(text)) if isinstance(text, str) else None
    if type(number) is not int or post_id is None:
        return None
    if not isinstance(modified, str) or not TIME.fullmatch(modified):
        return None
    return Post(number, post_id, modified)


class ListOrder(str, Enum):
    """In which order a check reads the list, and pages of the feed."""

    ALL = "all"
    MODIFIED = "modified"
    NEWEST = "newest"


# `orderby` of the API and of a feed, and `order`.
PARAMETERS = {
    ListOrder.ALL: ("id", "ID", "asc"),
    ListOrder.MODIFIED: ("modified", "modified", "desc"),
    ListOrder.NEWEST: ("id", "ID", "desc"),
}


@dataclass(frozen=True, slots=True)
class Listing:
    """The result of the last check.

    :param walk: number of the walk that has made it; NO_WALK if no check has come to its end
    :param api: URL of the list
    :param size: number of entries on a page of the feed
    :param total: number of posts in the list
    :param held: how many of them are stored as they are listed
    :param known: how many of them are stored, as they are listed or as they were before
    :param unlisted: how many live entries of the store are not in the list: the publisher has deleted them
    :param foreign: how many entries the feed shows, or has shown, that never were in the list
    :param newest: the last time of modification, apart from times to come, up to which posts were looked for
    :param highest: the highest number of such a post
    """

    walk: int
    api: str
    size: int
    total: int = 0
    held: int = 0
    known: int = 0
    unlisted: int = 0
    foreign: int = 0
    newest: str = ""
    highest: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether each post is stored as it was listed."""
        return self.held == self.total

    def to_json(self) -> str:
        """Return this for the store."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | None) -> Self | None:
        """Return what was stored; None for None."""
        return None if text is None else cls(**json.loads(text))

    @classmethod
    def of_walk(cls, text: str | None, walk: int) -> Self | None:
        """Return what was stored, if it is of a walk; None if a later one has not checked the list."""
        listing = cls.from_json(text)
        return listing if listing is not None and listing.walk == walk else None

    @property
    def has_ended(self) -> bool:
        """Whether a check has come to its end."""
        return self.walk != NO_WALK

    def anew(self) -> Self:
        """Return this for a check that reads the list in full, and looks for all posts again."""
        return replace(self, newest="", highest=0)

    # Why a third kind of evidence, besides fh:complete and a chain walked to its end: the publisher names
    # each entry by its id, with the time of its last change, so that every single one is looked for in the
    # store. A number alone is no such evidence: it does not say which entries it counts. Where the feed shows
    # what the list does not name (other types of posts), there may be more of these than anybody knows.
    @property
    def is_evidence(self) -> bool:
        """Whether each entry that the publisher lists is stored, and the feed shows no others."""
        return self.is_whole and not self.foreign

    @property
    def in_words(self) -> str:
        """The rest of a sentence about the feed."""
        text = f"the store has {self.known:,} of the {self.total:,} posts that its WordPress lists"
        if self.held < self.known:
            text += f", {self.known - self.held:,} of them outdated"
        if self.foreign:
            text += f", and {self.foreign:,} that it does not list"
        return text


@dataclass(frozen=True, slots=True)
class ListCheck:
    """A check under way, as a request carries it.

    :param feed_url: URL of the feed's first page
    :param page: number of the page of the list
    :param again: numbers of pages of the feed, in `order`, with posts that are missing or outdated
    :param is_reading: the request is for the first of these; else it is for a page of the list
    :param sought: the state of the list when these pages were chosen, which have been read since; '' if
        there were none in this order
    :param is_unchanged: the subscription document is unchanged, and no other one was read
    :param read: number of listed posts that the walk has read
    :param has_failed: one of the pages could not be read: it is looked for again by the next run
    """

    api: str
    feed_url: str
    size: int
    order: ListOrder
    page: int = 1
    total: int | None = None
    held: int = 0
    known: int = 0
    read: int = 0
    newest: str = ""
    highest: int = 0
    again: tuple[int, ...] = ()
    is_reading: bool = False
    sought: str = ""
    is_unchanged: bool = False
    has_failed: bool = False

    @property
    def url(self) -> str:
        """URL of the next page of the list, or of the feed."""
        in_list, in_feed, direction = PARAMETERS[self.order]
        if self.is_reading:
            parameters = {"orderby": in_feed, "order": direction, PAGE: str(self.again[0])}
            return add_or_replace_parameters(self.feed_url, parameters)
        parameters = {"per_page": str(MOST_POSTS), "orderby": in_list, "order": direction}
        parameters |= {"page": str(self.page), "_fields": ",".join(FIELDS)}
        return add_or_replace_parameters(self.api, parameters)

    def restarted(self, order: ListOrder, sought: str = "") -> ListCheck:
        """Return the check that reads the list from its beginning."""
        return ListCheck(
            self.api, self.feed_url, self.size, order, sought=sought, is_unchanged=self.is_unchanged
        )

    def after_page(self) -> ListCheck | None:
        """Return how the check goes on after a page of the feed; None at the end of a failed one."""
        if len(self.again) > 1:
            return replace(self, again=self.again[1:])
        return None if self.has_failed else self.restarted(self.order, self.state)

    @property
    def state(self) -> str:
        """What changes when posts of the list do, after all of it was read."""
        return f"{self.total} {self.newest} {self.highest}"


class StoredEntries(NamedTuple):
    """What the store has of a feed.

    :param walk: number of the walk
    :param live: number of live entries
    :param read: how many of them this walk has read
    :param before: the last check; None if there was none
    """

    walk: int
    live: int
    read: int
    before: Listing | None


def begin(
    api: str, feed_url: str, size: int, before: Listing | None, is_unchanged: bool = False
) -> ListCheck:
    """Return a check that begins; the parameters are those of `ListCheck`.

    :param before: the last check
    """
    is_short = before is None or before.total <= MOST_POSTS
    order = ListOrder.ALL if is_short else ListOrder.MODIFIED
    return ListCheck(api, feed_url, size, order, is_unchanged=is_unchanged)


# An entry comes from a document that says when the newest change in it was made; in Atom, each entry says so
# too. WordPress takes all these times from one clock. So a post that was modified after the document was made
# is modified later than any time in it (except in the same second), however old a cache's copy of the
# document is, and whenever the walk has read it.
def is_held(post: Post, stored: Mapping[str, Winner]) -> bool:
    """Return whether the store has a post as it is listed."""
    winner = _find(post, stored)
    if winner is None:
        return False
    return max(winner.order.time, winner.document_time)[:TO_THE_SECOND] >= post.modified


def _find(post: Post, stored: Mapping[str, Winner]) -> Winner | None:
    winner = stored.get(post.id)
    return winner if winner is not None and winner.digest else None


def follow(
    check: ListCheck, listed: PostList, stored: Mapping[str, Winner], entries: StoredEntries, now: str
) -> ListCheck | Listing | None:
    """Return how a check goes on after a page of the list, or its result; None if the list changes meanwhile.

    :param stored: the newest versions of the listed entries, by id
    :param now: when the page was fetched, ISO 8601 in UTC
    """
    before = entries.before
    if check.order is not ListOrder.NEWEST:
        # A time to come is of a wrong clock, or a local one: later changes may have earlier times.
        times = (post.modified for post in listed.posts if post.modified <= now)
        check = replace(check, newest=max((check.newest, *times)))
    missing = [index for index, post in enumerate(listed.posts) if not is_held(post, stored)]
    if not check.sought:
        # Posts that could not be found before are not looked for again.
        first = MOST_POSTS * (check.page - 1)
        pages = {
            (first + index) // check.size + 1
            for index in missing
            if before is None
            or before.is_whole
            or before.newest < listed.posts[index].modified <= now
            or listed.posts[index].number > before.highest
        }
        check = replace(check, again=tuple(sorted({*check.again, *pages})[:MOST_PAGES_AGAIN]))
    if check.order is ListOrder.ALL:
        return _count(check, listed, stored, entries)
    in_full = check.restarted(ListOrder.ALL)
    if before is None or not _reaches(check, listed, before):
        return in_full
    if check.again and check.order is ListOrder.MODIFIED:
        return replace(check, is_reading=True)
    if missing and (before.is_whole or check.again):
        return in_full
    if check.order is ListOrder.MODIFIED:
        return replace(check, order=ListOrder.NEWEST, total=listed.total)
    return _unchanged(check, listed, entries, before) or in_full


def _reaches(check: ListCheck, listed: PostList, before: Listing) -> bool:
    """Return whether the beginning of a list has all posts that are new since the last check."""
    if check.order is ListOrder.MODIFIED:
        times = [post.modified for post in listed.posts]
        # A post may have been modified again in the second in which it was listed.
        return bool(times) and times == sorted(times, reverse=True) and times[-1] < before.newest
    numbers = [post.number for post in listed.posts]
    is_ordered = bool(numbers) and numbers == sorted(numbers, reverse=True)
    return listed.total == check.total and is_ordered and numbers[-1] <= before.highest


# A post that was made since has a higher number than all before it, whatever its dates say. A draft or a
# private post that was published since has a new time of modification, and a post that was scheduled has a
# new date, so that the walk has read it. So all posts that were added are known, and the total says whether
# others are gone.
def _unchanged(check: ListCheck, listed: PostList, entries: StoredEntries, before: Listing) -> Listing | None:
    """Return the result if nothing has changed but posts that are stored, or are gone; else None."""
    total, highest = listed.total, listed.posts[0].number
    listing = replace(before, walk=entries.walk, total=total, newest=check.newest, highest=highest)
    is_same_store = entries.live == before.known + before.unlisted
    if not before.is_whole:
        return listing if is_same_store and listing == replace(before, walk=entries.walk) else None
    expected = entries.live - before.unlisted
    if total == expected or (total < expected and is_same_store):
        return replace(listing, held=total, known=total, unlisted=entries.live - total)
    return None


def _count(
    check: ListCheck, listed: PostList, stored: Mapping[str, Winner], entries: StoredEntries
) -> ListCheck | Listing | None:
    """Count the posts of a page of the full list, which is ordered by their numbers."""
    posts, total = listed.posts, listed.total if check.total is None else check.total
    numbers = [check.highest, *(post.number for post in posts)]
    first = MOST_POSTS * (check.page - 1)
    is_full = len(posts) == max(0, min(MOST_POSTS, total - first))
    if listed.total != total or not is_full or not all(a < b for a, b in pairwise(numbers)):
        return None
    # Posts that have the same id are one entry: only one of them can be kept.
    by_id = {post.id: post for post in posts}.values()
    winners = [_find(post, stored) for post in by_id]
    check = replace(
        check,
        total=total,
        # Posts on two pages of the list may have the same id, too.
        held=min(check.held + sum(is_held(post, stored) for post in by_id), entries.live),
        known=min(check.known + sum(winner is not None for winner in winners), entries.live),
        read=check.read + sum(w is not None and w.order.walk == entries.walk for w in winners),
        highest=numbers[-1],
    )
    if first + MOST_POSTS < total:
        return replace(check, page=check.page + 1)
    if check.again:
        return replace(check, is_reading=True)
    unlisted = entries.live - check.known
    counts = total, check.held, check.known, unlisted, _foreign(check, entries, unlisted)
    listing = Listing(entries.walk, check.api, check.size, *counts, check.newest, check.highest)
    # Posts that have changed since, or moved to other pages of the feed, were not looked for.
    if check.sought in ("", check.state) or listing.is_whole:
        return listing
    before = entries.before
    return replace(listing, newest=before.newest, highest=before.highest) if before else listing.anew()


# WordPress calls its feed unchanged (304) after a post was deleted that is on its first page.
def _foreign(check: ListCheck, entries: StoredEntries, unlisted: int) -> int:
    """Return how many entries the feed shows that were never listed, as far as can be known."""
    shown = 0 if check.is_unchanged else max(entries.read - check.read, 0)
    # Only a walk that has read all pages tells which of these are still shown.
    if check.read == check.known and not check.is_unchanged:
        return shown
    before = entries.before
    return max(before.foreign, shown) if before and before.has_ended else unlisted
