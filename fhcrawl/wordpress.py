"""WordPress's feeds, whose pages no link names: `?paged=2`, `?paged=3`, … until there is none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from w3lib.url import add_or_replace_parameter, url_query_parameter

from fhcrawl.documents import FeedDocument
from fhcrawl.logical_feed import Kind, Link, Role

if TYPE_CHECKING:
    from scrapy.http import Response

    from fhcrawl.visit import Visit

# What WordPress writes into each feed, and the link to its API that it sends with each response.
GENERATOR = re.compile(rb"<generator[^>]*>\s*https?://wordpress\.(?:org|com)/|uri=.https?://wordpress\.org/")
API_LINK = b"https://api.w.org/"
NOT_FOUND = 404


def page_behind(visit: Visit, response: Response) -> Link | None:
    """The page behind a WordPress feed that names none; None if it is no WordPress's, or names one.

    Nor is there one as long as FHCRAWL_WORDPRESS_ENABLED is off.
    """
    if not response.cb_kwargs["options"].get("wordpress"):
        return None
    if visit.behind is not None or visit.loss is not None or visit.kind != Kind.SINGLE.value:
        return None
    if not GENERATOR.search(response.body) and API_LINK not in b"".join(response.headers.getlist("Link")):
        return None
    number = url_query_parameter(visit.asked, "paged", "1") or "1"
    if not number.isdecimal():
        return None
    return Link(Role.PAGE, add_or_replace_parameter(visit.asked, "paged", str(int(number) + 1)))


def no_page() -> FeedDocument:
    """What WordPress's 404 behind its last page says: there are no more entries."""
    return FeedDocument(
        "rss", None, None, {}, archive=False, complete=False, entries=[], problems=[], fault=None
    )
