"""Pages of WordPress's feeds, which no link names, and the list of its posts.

The pages are `?paged=2`, `?paged=3`, … up to the last page.

After the last page, WordPress 6.1 answers 404 with a feed without entries; its generator, Link header and
ETag are those of every other page. It does so for the second page of the feed of all comments. The feed of
one post's comments answers every number with the same entries. A category that never existed has a feed
without entries (200). A feed takes `orderby` and `order` as the list does.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from w3lib.url import (
    add_or_replace_parameter,
    add_or_replace_parameters,
    url_query_cleaner,
    url_query_parameter,
)

from fhcrawl.crawling import responses
from fhcrawl.crawling.context import context_of
from fhcrawl.documents import FeedDocument, link_header, post_list
from fhcrawl.logical_feed import Kind, Link, Role
from fhcrawl.logical_feed.listings import ListOrder

if TYPE_CHECKING:
    from scrapy.http import Response

    from fhcrawl.crawling.context import WalkContext
    from fhcrawl.logical_feed.listings import ListCheck
    from fhcrawl.logical_feed.results import DocumentResult

# The generator in each of WordPress's feeds, and the link to its API in the headers of each response.
GENERATOR = re.compile(
    rb"<generator[^>]*>\s*https?://wordpress\.(?:org|com)/|(?:uri|resource)=.https?://wordpress\.org/"
)
API_RELATION = "https://api.w.org/"
NOT_FOUND = 404
PARAMETER = "paged"
NUMBER = re.compile(r"[0-9]{1,9}")
WALKED = (Role.SUBSCRIPTION, Role.PAGE)
# The feeds of all posts, below the site's own URL. Feeds of a category, an author or comments have others.
MAIN_PATHS = frozenset({"feed", "feed/rss2", "feed/rss", "feed/atom", "feed/rdf"})
MAIN_QUERIES = frozenset({"rss2", "rss", "atom", "rdf", "feed"})
# RSS 1.0 and 0.92 have no guid.
LINKS_ARE_IDS = ("rdf", "rss")
ROUTE, POSTS = "rest_route", "wp/v2/posts"
# How the API, and a feed, are asked for an order of posts.
ORDERS = {
    ListOrder.ALL: ("id", "ID", "asc"),
    ListOrder.MODIFIED: ("modified", "modified", "desc"),
    ListOrder.NEWEST: ("id", "ID", "desc"),
}
DEFAULT_PAGE_SIZE = 10


def with_guess(result: DocumentResult, response: Response) -> DocumentResult:
    """Add the next page, which may exist, to the result of a WordPress feed without such a link.

    Unless the user asks for these pages, only note that there may be some.
    """
    if result.older_document is not None or result.failure is not None or result.kind != Kind.SINGLE.value:
        return result
    fetch, context = result.fetch, context_of(response)
    number = url_query_parameter(fetch.requested_url, PARAMETER, "1") or "1"
    if fetch.role not in WALKED or not NUMBER.fullmatch(number) or response.status == NOT_FOUND:
        return result
    has_link = API_RELATION.encode() in b"".join(response.headers.getlist("Link"))
    if not has_link and GENERATOR.search(response.body) is None:
        return result
    if not context.walk.options.wordpress:
        return replace(result, has_guessable_pages=True)
    # The next run requests the target of a permanent redirect.
    where = fetch.location or fetch.requested_url
    link = Link(Role.PAGE, add_or_replace_parameter(where, PARAMETER, str(int(number) + 1)))
    return replace(result, older_document=link)


def is_guess(url: str, walk: WalkContext) -> bool:
    """Return whether a page was guessed, and may not exist."""
    return walk.options.wordpress and url_query_parameter(url, PARAMETER) is not None


# A server may ignore the number. A linked page that is like the first one is a fault of the publisher's.
def has_no_pages(result: DocumentResult, newer: Role, walk: WalkContext) -> bool:
    """Return whether a page that is like the one before it shows that a feed has no pages.

    :param newer: role of the document before it
    """
    is_linked = result.kind != Kind.SINGLE.value
    return newer is Role.SUBSCRIPTION and not is_linked and is_guess(result.fetch.requested_url, walk)


def no_page() -> FeedDocument:
    """Return an empty document for WordPress's 404 after the last page, whatever its body is."""
    return FeedDocument(
        "rss", None, None, {}, archive=False, complete=False, entries=[], problems=[], fault=None
    )


# -- the list of posts -----------------------------------------------------------------------------------


def first_page(url: str) -> str:
    """Return the URL of a feed's first page, for that of one of its pages."""
    return url_query_cleaner(url, (PARAMETER,), remove=True)


def list_of(response: Response, feed_url: str) -> str | None:
    """Return the URL of the list of a feed's posts; None if there is none, or if it lists other posts.

    :param feed_url: URL of the feed's first page
    """
    links = link_header.links(responses.links(response), response.url)
    root = next((url for relation, url in links if relation == API_RELATION), None)
    if root is None or not responses.is_fetchable(root):
        return None
    api, feed = urlsplit(root), urlsplit(feed_url)
    if (api.scheme, api.netloc) != (feed.scheme, feed.netloc):
        return None
    site = api.path.rstrip("/").rpartition("/")[0] + "/"
    below = feed.path.removeprefix(site).strip("/") if feed.path.startswith(site) else None
    query = dict(parse_qsl(feed.query, keep_blank_values=True))
    is_main = (below in MAIN_PATHS and not query) or (
        below in ("", "index.php") and query.keys() == {"feed"} and query["feed"] in MAIN_QUERIES
    )
    if not is_main:
        return None
    if url_query_parameter(root, ROUTE) is not None:
        return add_or_replace_parameter(root, ROUTE, f"/{POSTS}")
    return f"{root.rstrip('/')}/{POSTS}"


# A post's link may be another post's guid: if that one's address has changed, and its guid is its old one.
def id_field(feed_url: str) -> str:
    """Return the field of a listed post that is the id of its entry in a feed."""
    name = url_query_parameter(feed_url, "feed") or urlsplit(feed_url).path.rstrip("/").rpartition("/")[2]
    return post_list.LINK if name in LINKS_ARE_IDS else post_list.GUID


def url_of_check(check: ListCheck) -> str:
    """Return the URL of the next page of the list, or of the feed, that a check needs."""
    in_list, in_feed, direction = ORDERS[check.order]
    if check.is_reading:
        asked = {"orderby": in_feed, "order": direction, PARAMETER: str(check.again[0])}
        return add_or_replace_parameters(check.feed_url, asked)
    fields = ",".join(post_list.FIELDS)
    asked = {"per_page": str(post_list.MOST_POSTS), "orderby": in_list, "order": direction}
    return add_or_replace_parameters(check.api, {**asked, "page": str(check.page), "_fields": fields})
