"""WordPress's feeds, whose pages no link names: `?paged=2`, `?paged=3`, … until there is none.

Behind the last page, WordPress 6.1 answers 404 with a feed without entries; its generator, Link header and
ETag are those of every other page. It does so for the second page of the feed of all comments. The feed of
one post's comments answers every number with the same entries. A category that was never there has a feed
without entries (200).
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from w3lib.url import add_or_replace_parameter, url_query_parameter

from fhcrawl.crawling.context import context_of
from fhcrawl.crawling.reading import REPEATS
from fhcrawl.documents import FeedDocument
from fhcrawl.logical_feed import Kind, Link, Role

if TYPE_CHECKING:
    from scrapy.http import Response

    from fhcrawl.crawling.context import WalkContext
    from fhcrawl.logical_feed.visit import Visit

# What WordPress writes into each feed, and the link to its API that it sends with each response.
GENERATOR = re.compile(
    rb"<generator[^>]*>\s*https?://wordpress\.(?:org|com)/|(?:uri|resource)=.https?://wordpress\.org/"
)
API_LINK = b"https://api.w.org/"
NOT_FOUND = 404
PARAMETER = "paged"
NUMBER = re.compile(r"[0-9]{1,9}")


def guess(visit: Visit, response: Response) -> bool:
    """Note in a visit the page that may be behind a WordPress feed that names none; whether there may be one.

    There is none as long as FHCRAWL_WORDPRESS_ENABLED is off.
    """
    if visit.behind is not None or visit.loss is not None or visit.kind != Kind.SINGLE.value:
        return False
    number = url_query_parameter(visit.asked, PARAMETER, "1") or "1"
    context = context_of(response)
    if not NUMBER.fullmatch(number) or not context.walk.guesses_pages or not _is_wordpress(response):
        return False
    if context.guessed_from == shown(visit):
        # A second page like the first one: there are no pages. A later page may be like the one before it
        # because as many new entries have come meanwhile: the next run asks for it again.
        visit.loss = REPEATS if context.documents > 1 else None
        return False
    # Where a redirect for good has led to is asked for by the next run.
    where = visit.location or visit.asked
    visit.behind = Link(Role.PAGE, add_or_replace_parameter(where, PARAMETER, str(int(number) + 1)))
    return True


def shown(visit: Visit) -> str:
    """Return a digest of the entries that a page shows."""
    ids = "\n".join(version.id for version in visit.versions)
    return sha256(ids.encode("utf-8", "surrogatepass")).hexdigest()


def is_guess(url: str, walk: WalkContext) -> bool:
    """Whether a page that an earlier run has left was guessed: it may not be there."""
    return walk.guesses_pages and url_query_parameter(url, PARAMETER) is not None


def no_page() -> FeedDocument:
    """What WordPress's 404 behind its last page says, whatever its body: there are no more entries."""
    return FeedDocument(
        "rss", None, None, {}, archive=False, complete=False, entries=[], problems=[], fault=None
    )


def _is_wordpress(response: Response) -> bool:
    """Whether a response is WordPress's, and not its 404."""
    has_link = API_LINK in b"".join(response.headers.getlist("Link"))
    return response.status != NOT_FOUND and (has_link or GENERATOR.search(response.body) is not None)
