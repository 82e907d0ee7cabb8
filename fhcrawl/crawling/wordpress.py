"""The list of posts of a WordPress, with which its feed is compared; `logical_feed.platforms` has its pages.

After the last page, WordPress 6.1 answers 404 with a feed without entries; its generator, Link header and
ETag are those of every other page. It does so for the second page of the feed of all comments. The feed of
one post's comments answers every number with the same entries. A category that never existed has a feed
without entries (200). A feed takes `orderby` and `order` as the list does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from w3lib.url import (
    add_or_replace_parameter,
    add_or_replace_parameters,
    url_query_cleaner,
    url_query_parameter,
)

from fhcrawl.crawling import responses
from fhcrawl.documents import link_header, post_list
from fhcrawl.logical_feed import Role
from fhcrawl.logical_feed.listings import ListOrder

if TYPE_CHECKING:
    from scrapy.http import Response

    from fhcrawl.logical_feed.listings import ListCheck

# The relation of the link to its API, in the headers of each response.
API_RELATION = "https://api.w.org/"
PARAMETER = "paged"
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
