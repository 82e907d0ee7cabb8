"""What a site lists of its feed's entries: the posts of WordPress's REST API (`/wp/v2/posts`), and sitemaps.

The first check of the posts reads the list in full. A later one reads the 100 posts that were modified last,
and the 100 newest ones: if these are stored, and the total is the expected one, nothing else has changed.
Otherwise it reads the list in full, too. Posts that are missing or outdated are read from the feed, in the
list's order: a feed of WordPress takes `orderby` and `order` as the list does.

A sitemap names pages, not entries: it may omit some, list others that look the same, and lacks what the site
has removed. So it is reported, and never decides a verdict. It tells a reader how much is missing, and where
to get it.

Pure: values in, values out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import asdict, dataclass, replace
from enum import Enum
from html import unescape
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import orjson
from w3lib.url import (
    add_or_replace_parameter,
    add_or_replace_parameters,
    url_query_cleaner,
    url_query_parameter,
)

from fhcrawl.documents.dates import elapsed
from fhcrawl.documents.model import Entry, identifier
from fhcrawl.logical_feed.chain import TO_THE_SECOND
from fhcrawl.logical_feed.results import tell_apart

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Mapping

    from typing_extensions import Self

    from fhcrawl.logical_feed.results import Winner

# REST API Handbook, 'Pagination': per_page is at most 100; X-WP-Total is "the total number of records in the
# collection".
MOST_POSTS = 100
FIELDS = "id,guid,link,modified_gmt"
TOTAL = re.compile(r"[0-9]{1,9}")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}")
# A hundred posts with these fields take about 30 KB; an API that ignores `_fields` sends complete posts.
MOST_OCTETS = 8 * 1024**2
PAGE, ROUTE, POSTS = "paged", "rest_route", "wp/v2/posts"
# The feeds of all posts, below the site's own URL. Feeds of a category, an author or comments have others.
MAIN_PATHS = frozenset({"feed", "feed/rss2", "feed/rss", "feed/atom", "feed/rdf"})
MAIN_QUERIES = frozenset({"rss2", "rss", "atom", "rdf", "feed"})
# RSS 1.0 and 0.92 have no guid.
LINKS_ARE_IDS = ("rdf", "rss")
MOST_PAGES_AGAIN = 100


@dataclass(frozen=True, slots=True)
class StoredResult:
    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | None) -> Self | None:
        return None if text is None else cls(**json.loads(text))


# -- the list of posts -----------------------------------------------------------------------------------


class Post(NamedTuple):
    """:param id: of its entry in a feed
    :param modified: when it was last changed: ISO 8601 in UTC, to the second, without `Z`
    """

    number: int
    id: str
    modified: str


class PostList(NamedTuple):
    """A page of the list; `total` is the number of posts in the complete list."""

    total: int
    posts: list[Post]


def first_page_url(url: str) -> str:
    return url_query_cleaner(url, (PAGE,), remove=True)


def list_url(root: str, feed_url: str) -> str | None:
    """Return the URL of the list of posts; `root` is that of the API. None for a feed of some posts only."""
    api, feed = urlsplit(root), urlsplit(feed_url)
    site = api.path.rstrip("/").rpartition("/")[0] + "/"
    if (api.scheme, api.netloc) != (feed.scheme, feed.netloc) or not feed.path.startswith(site):
        return None
    path = feed.path.removeprefix(site).strip("/")
    query = dict(parse_qsl(feed.query, keep_blank_values=True))
    is_query = path in ("", "index.php") and query.keys() == {"feed"} and query["feed"] in MAIN_QUERIES
    if not is_query and (path not in MAIN_PATHS or query):
        return None
    if url_query_parameter(root, ROUTE) is not None:
        return add_or_replace_parameter(root, ROUTE, f"/{POSTS}")
    return f"{root.rstrip('/')}/{POSTS}"


def read_posts(
    body: bytes, total: str | None, feed_url: str, shared_ids: Container[str] = ()
) -> PostList | None:
    """Return a page of the list of posts; `total` is X-WP-Total. None if the body is not such a page."""
    if total is None or not TOTAL.fullmatch(total) or len(body) > MOST_OCTETS:
        return None
    try:
        items = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(items, list) or len(items) > MOST_POSTS:
        return None
    path_end = url_query_parameter(feed_url, "feed") or urlsplit(feed_url).path.rstrip("/").rpartition("/")[2]
    posts = []
    for item in items:
        match item:
            case {
                "id": int(number),
                "guid": {"rendered": str(guid)},
                "link": str(link),
                "modified_gmt": str(modified),
            } if TIME.fullmatch(modified) and not isinstance(number, bool):
                # A post's link may be the guid of another post whose address has changed since it was
                # published. The API escapes the markup characters of XML, as feeds do.
                post_id = identifier(unescape(link if path_end in LINKS_ARE_IDS else guid))
            case _:
                return None
        if post_id is None:
            return None
        posts.append(Post(number, tell_apart(post_id, Entry(link=unescape(link)), shared_ids), modified))
    return PostList(int(total), posts)


class ListOrder(Enum):
    ALL = "id", "ID", "asc"
    MODIFIED = "modified", "modified", "desc"
    NEWEST = "id", "ID", "desc"


@dataclass(frozen=True, slots=True)
class Listing(StoredResult):
    """The result of a check of the list.

    :param walk: number of the walk that checked it; 0 if no check was completed
    :param size: number of entries on a page of the feed
    :param total: number of posts in the list: `known` of these are stored, `held` as they are listed
    :param unlisted: number of live entries in the store that the publisher has deleted from the list
    :param foreign: number of entries in the feed, now or before, that never were in the list
    :param newest, highest: the last modification time (except future ones) and number of the posts looked for
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

    @classmethod
    def of_walk(cls, text: str | None, walk: int) -> Self | None:
        """Return the stored result if it is of this walk; None if a later walk has not checked the list."""
        listing = cls.from_json(text)
        return listing if listing is not None and listing.walk == walk else None

    def anew(self) -> Self:
        """Return this for a check that reads the complete list, and looks for all posts again."""
        return replace(self, newest="", highest=0)

    @property
    def has_ended(self) -> bool:
        return self.walk > 0

    @property
    def is_whole(self) -> bool:
        """Whether each post is stored as listed."""
        return self.held == self.total

    # A third kind of evidence, besides fh:complete and a chain walked to its end: each entry is looked for in
    # the store, by its id and the time of its last change. A number alone does not tell which entries it
    # counts. If the feed shows entries that the list does not have (other types of posts), their number is
    # unknown.
    @property
    def is_evidence(self) -> bool:
        """Whether each listed post is stored, and the feed has no other entries."""
        return self.is_whole and not self.foreign

    @property
    def in_words(self) -> str:
        text = f"the store has {self.known:,} of the {self.total:,} posts that its WordPress lists"
        if self.held < self.known:
            text += f", {self.known - self.held:,} of them outdated"
        if self.foreign:
            text += f", and {self.foreign:,} that it does not list"
        return text


@dataclass(frozen=True, slots=True)
class ListCheck:
    """A check in progress, as a request carries it; `listing` is the result so far.

    :param is_unchanged: the subscription document is unchanged, and no other one was read
    :param sought: `state` when the pages of the feed were chosen that have been read since, in this order
    :param page: number of the page of the list
    :param read: number of listed posts that the walk has read
    :param again: numbers of pages of the feed, in `order`, with posts that are missing or outdated
    :param is_reading: the request is for the first page of `again`; else it is for a page of the list
    :param has_failed: one of the pages could not be read; the next run looks for it again
    """

    listing: Listing
    feed_url: str
    order: ListOrder
    is_unchanged: bool = False
    sought: tuple[int, str, int] | None = None
    page: int = 1
    read: int = 0
    again: tuple[int, ...] = ()
    is_reading: bool = False
    has_failed: bool = False

    @classmethod
    def begin(cls, api: str, feed_url: str, size: int, before: Listing | None, is_unchanged: bool) -> Self:
        is_short = before is None or before.total <= MOST_POSTS
        order = ListOrder.ALL if is_short else ListOrder.MODIFIED
        return cls(Listing(0, api, size), feed_url, order, is_unchanged)

    @property
    def url(self) -> str:
        in_list, in_feed, direction = self.order.value
        if self.is_reading:
            parameters = {"orderby": in_feed, "order": direction, PAGE: str(self.again[0])}
            return add_or_replace_parameters(self.feed_url, parameters)
        parameters = {"per_page": str(MOST_POSTS), "orderby": in_list, "order": direction}
        parameters |= {"page": str(self.page), "_fields": FIELDS}
        return add_or_replace_parameters(self.listing.api, parameters)

    def after_page(self) -> ListCheck | None:
        """Return the check after a page of the feed; None at the end of a failed one."""
        if len(self.again) > 1:
            return replace(self, again=self.again[1:])
        return None if self.has_failed else replace(self.restarted(), order=self.order, sought=self.state)

    def restarted(self) -> ListCheck:
        listing = Listing(0, self.listing.api, self.listing.size)
        return ListCheck(listing, self.feed_url, ListOrder.ALL, self.is_unchanged)

    @property
    def state(self) -> tuple[int, str, int]:
        """The values that change with the posts of the list, once it is read completely."""
        return self.listing.total, self.listing.newest, self.listing.highest


class StoredEntries(NamedTuple):
    """The number of a feed's live entries, of those that the walk has read, and the last check."""

    walk: int
    live: int
    read: int
    before: Listing | None


# A document has the time of its newest change; in Atom, each entry has one too. WordPress takes all these
# times from the same clock. So a post that was modified after the document was made has a later time than any
# in the document (except in the same second), even if the document is an old copy from a cache.
def is_current(post: Post, winners: Mapping[str, Winner]) -> bool:
    winner = winners.get(post.id)
    return winner is not None and (
        max(winner.order.time, winner.document_time)[:TO_THE_SECOND] >= post.modified
    )


def follow(
    check: ListCheck, listed: PostList, stored: Mapping[str, Winner], entries: StoredEntries, now: str
) -> ListCheck | Listing | None:
    """Return the check after a page of the list, or its result; None if the list changes during the check."""
    before, posts, offset = entries.before, listed.posts, MOST_POSTS * (check.page - 1)
    winners = {entry_id: winner for entry_id, winner in stored.items() if winner.digest}
    if check.order is not ListOrder.NEWEST:
        # A future time comes from a wrong or local clock: later changes may have earlier times.
        times = (post.modified for post in posts if post.modified <= now)
        check = replace(check, listing=replace(check.listing, newest=max((check.listing.newest, *times))))
    missing = [(place, post) for place, post in enumerate(posts, offset) if not is_current(post, winners)]
    if check.sought is None:
        # Posts that were missing before are not looked for again.
        pages = {
            place // check.listing.size + 1
            for place, post in missing
            if before is None
            or before.is_whole
            or before.newest < post.modified <= now
            or post.number > before.highest
        }
        check = replace(check, again=tuple(sorted({*check.again, *pages})[:MOST_PAGES_AGAIN]))
    if check.order is ListOrder.ALL:
        return _count_page(check, listed, winners, entries)
    in_full = check.restarted()
    if before is None or not _reaches_last_check(check, listed, before):
        return in_full
    if check.again and check.order is ListOrder.MODIFIED:
        return replace(check, is_reading=True)
    if missing and (before.is_whole or check.again):
        return in_full
    if check.order is ListOrder.MODIFIED:
        return replace(check, order=ListOrder.NEWEST, listing=replace(check.listing, total=listed.total))
    return _if_unchanged(check, listed, entries, before) or in_full


def _reaches_last_check(check: ListCheck, listed: PostList, before: Listing) -> bool:
    posts, is_by_time = listed.posts, check.order is ListOrder.MODIFIED
    key = attrgetter("modified" if is_by_time else "number")
    if not posts or posts != sorted(posts, key=key, reverse=True):
        return False
    # A post may have been modified again in the second in which it was listed.
    if is_by_time:
        return posts[-1].modified < before.newest
    return posts[-1].number <= before.highest and listed.total == check.listing.total


# A post that was created since has a higher number than all before it, whatever its dates. A draft or a
# private post that was published since has a new modification time, and a scheduled post has a new date, so
# that the walk has read it. So all added posts are found, and the total shows whether others are gone.
def _if_unchanged(
    check: ListCheck, listed: PostList, entries: StoredEntries, before: Listing
) -> Listing | None:
    total, as_before = listed.total, replace(before, walk=entries.walk)
    listing = replace(as_before, total=total, newest=check.listing.newest, highest=listed.posts[0].number)
    is_same_store = entries.live == before.known + before.unlisted
    if not before.is_whole:
        return listing if is_same_store and listing == as_before else None
    expected = entries.live - before.unlisted
    if total == expected or (total < expected and is_same_store):
        return replace(listing, held=total, known=total, unlisted=entries.live - total)
    return None


def _count_page(
    check: ListCheck, listed: PostList, winners: Mapping[str, Winner], entries: StoredEntries
) -> ListCheck | Listing | None:
    listing, before = check.listing, entries.before
    total = listed.total if check.page == 1 else listing.total
    numbers = [listing.highest, *(post.number for post in listed.posts)]
    posts_left = total - MOST_POSTS * (check.page - 1)
    is_full = len(listed.posts) == max(0, min(MOST_POSTS, posts_left))
    if listed.total != total or not is_full or not all(a < b for a, b in pairwise(numbers)):
        return None
    # Posts with the same id, also on different pages of the list, are the same entry: only one is kept.
    by_id = {post.id: post for post in listed.posts if post.id in winners}
    up_to_date = min(listing.held + sum(is_current(post, winners) for post in by_id.values()), entries.live)
    stored = min(listing.known + len(by_id), entries.live)
    read = check.read + sum(winners[entry_id].order.walk == entries.walk for entry_id in by_id)
    listing = replace(listing, total=total, held=up_to_date, known=stored, highest=numbers[-1])
    check = replace(check, listing=listing, read=read)
    if posts_left > MOST_POSTS:
        return replace(check, page=check.page + 1)
    if check.again:
        return replace(check, is_reading=True)
    # WordPress responds with 304 after a post on the first page of its feed was deleted.
    unlisted, foreign = entries.live - stored, 0 if check.is_unchanged else max(entries.read - read, 0)
    # Only a walk that has read all pages can count the entries that are still shown but were never listed.
    if read != stored or check.is_unchanged:
        foreign = max(before.foreign, foreign) if before and before.has_ended else unlisted
    listing = replace(listing, walk=entries.walk, unlisted=unlisted, foreign=foreign)
    # Posts that have changed since, or moved to other pages of the feed, were not looked for.
    if check.sought in (None, check.state) or listing.is_whole:
        return listing
    return replace(listing, newest=before.newest, highest=before.highest) if before else listing.anew()


# -- sitemaps --------------------------------------------------------------------------------------------

MOST_REQUESTS, SITEMAP_SECONDS = 5, 30 * 24 * 60 * 60
# The protocol's limits: 2,048 characters of a URL, 50,000 URLs in a sitemap (sitemaps.org/protocol.html).
LONGEST_URL, MOST_PAGES = 2048, 50_000
DIGITS = re.compile(r"[0-9]+")
SCHEME = re.compile(r"^https?://(?:www\.)?", re.IGNORECASE)
# Parameters that feeds add to their links, to count visitors.
TRACKING = re.compile(r"[?&](?:utm_\w+|ref|source)=[^&]*", re.IGNORECASE)
# A shape counts if at least one in so many entries has it.
LEAST_SHARE = 10
INDEX_PAGE = re.compile(r"/index\.\w+$")
# Sitemaps of an index that come first, and those that are never read: news sitemaps list the last two days.
OF_ENTRIES = re.compile(r"post|blog|article|entr|episode|stor", re.IGNORECASE)
OF_NEWS = re.compile(r"news", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SitemapCheck:
    """A check of a site's sitemaps, as a request carries it.

    :param site: its scheme, host and port
    :param left, requested: URLs of sitemaps still to be read, and of those requested, including this one
    :param is_part: there are more sitemaps than may be requested
    """

    site: str = ""
    left: tuple[str, ...] = ()
    requested: tuple[str, ...] = ()
    is_part: bool = False

    def with_more(self, urls: Iterable[str]) -> SitemapCheck:
        new = dict.fromkeys(url for url in urls if len(url) <= LONGEST_URL and not OF_NEWS.search(url))
        left = [*self.left, *(url for url in new if url not in (*self.left, *self.requested))]
        left.sort(key=lambda url: not OF_ENTRIES.search(url))
        room = MOST_REQUESTS - len(self.requested)
        return replace(self, left=tuple(left[:room]), is_part=self.is_part or len(left) > room)

    def next_check(self) -> SitemapCheck | None:
        if not self.left:
            return None
        return replace(self, left=self.left[1:], requested=(*self.requested, self.left[0]))


@dataclass(frozen=True, slots=True)
class SitemapPost:
    """A page of a sitemap that looks like an entry, as a request carries it.

    :param lastmod: what the sitemap says of its last change; '' for nothing
    :param etag, last_modified, validated_url: as of a `LastReading`, if it was read before
    :param number: how many such pages the crawl has requested for the feed, with this one
    """

    url: str
    lastmod: str
    etag: str | None = None
    last_modified: str | None = None
    validated_url: str | None = None
    number: int = 0


class Pages(NamedTuple):
    """The pages of sitemaps that look like entries: their URLs by key, and the keys that entries link to."""

    listed: Mapping[str, str]
    kept: Collection[str]

    @property
    def missing(self) -> list[str]:
        return sorted(url for key, url in self.listed.items() if key not in self.kept)


@dataclass(frozen=True, slots=True)
class SitemapReport(StoredResult):
    """The result of the last check of the sitemaps.

    :param read: ISO 8601 in UTC
    :param listed: number of pages that look like entries
    :param kept: number of these that were stored
    :param is_part: not all sitemaps were read
    """

    read: str
    listed: int = 0
    kept: int = 0
    is_part: bool = False

    def with_posts(self, posts: int, others: int) -> SitemapReport:
        """Return the report with what was read of the pages since: entries, and pages that are no posts."""
        listed = max(self.listed - others, 0)
        return replace(self, listed=listed, kept=min(self.kept + posts, listed))

    @property
    def in_words(self) -> str:
        least, more = "at least " if self.is_part else "", self.listed - self.kept
        if more <= 0:
            return "its sitemap names no other post" if self.listed else ""
        posts = "post: --from-sitemap reads it" if more == 1 else "posts: --from-sitemap reads them"
        return f"its sitemap names {least}{more:,} more {posts}"


def is_sitemap_due(read: str | None, now: str) -> bool:
    # A time in the future comes from a wrong clock.
    return read is None or not 0 <= elapsed(read, now) < SITEMAP_SECONDS


def comparable_url(url: str) -> str:
    """Return the part of a page's URL that is the same in feeds and sitemaps."""
    return TRACKING.sub("", SCHEME.sub("", url).partition("#")[0]).rstrip("/")


# Digits belong to dates and numbers; the last segment is the name of the entry. So `/2024/05/a-post/` and
# `/2023/11/another/` are alike, and so are `/?p=12` and `/?p=7`; `/about/` and `/2024/05/` are not.
def _shape_of(url: str) -> str:
    path, mark, query = comparable_url(url).partition("?")
    if mark:
        return DIGITS.sub("0", f"{path}?{query}")
    folder, slash, _ = path.rpartition("/")
    return DIGITS.sub("0", folder) + slash if slash else path


def like_entries(pages: Iterable[str], links: list[str]) -> list[str]:
    """Return the pages of a sitemap that look like entries, judged by the links of entries."""
    # A page about the author may have been in the feed, too.
    counted = Counter(map(_shape_of, links)).items()
    shapes = {shape for shape, number in counted if LEAST_SHARE * number >= len(links)}
    has_index = any(map(INDEX_PAGE.search, links))
    of_web = (url for url in pages if len(url) <= LONGEST_URL and urlsplit(url).scheme in ("http", "https"))
    alike = (url for url in of_web if _shape_of(url) in shapes)
    return [url for url in alike if has_index or not INDEX_PAGE.search(urlsplit(url).path)][:MOST_PAGES]


# At the root of a site, a page about its author looks like an entry. But publishers have separate sitemaps
# for entries: only sitemaps that list stored entries count, and others with similar names.
def compare(sitemaps: Mapping[str, Iterable[str]], links: Iterable[str]) -> Pages:
    """Return the pages in sitemaps that look like entries of a feed, by the sitemap's URL."""
    linked = set(map(comparable_url, links))
    by_sitemap = {name: {comparable_url(page): page for page in pages} for name, pages in sitemaps.items()}
    families = {DIGITS.sub("0", name) for name, pages in by_sitemap.items() if linked & pages.keys()}
    listed: dict[str, str] = {}
    for name, pages in by_sitemap.items():
        if DIGITS.sub("0", name) in families:
            listed |= pages
    return Pages(listed, linked & listed.keys())
