"""Pages of WordPress's feeds, which no link names: `?paged=2`, `?paged=3`, … up to the last page.

After the last page, WordPress 6.1 answers 404 with a feed without entries; its generator, Link header and
ETag are those of every other page. It does so for the second page of the feed of all comments. The feed of
one post's comments answers every number with the same entries. A category that never existed has a feed
without entries (200).
"""

from __future__ import annotations

import re
from dataclasses import replace
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
    from fhcrawl.logical_feed.results import DocumentResult

# The generator in each of WordPress's feeds, and the link to its API in the headers of each response.
GENERATOR = re.compile(
    rb"<generator[^>]*>\s*https?://wordpress\.(?:org|com)/|(?:uri|resource)=.https?://wordpress\.org/"
)
API_LINK = b"https://api.w.org/"
NOT_FOUND = 404
PARAMETER = "paged"
NUMBER = re.compile(r"[0-9]{1,9}")


def with_guess(result: DocumentResult, response: Response) -> DocumentResult:
    """Add the next page, which may exist, to the result of a WordPress feed without such a link.

    Nothing is added while FHCRAWL_WORDPRESS_ENABLED is off.
    """
    if result.older_document is not None or result.failure is not None or result.kind != Kind.SINGLE.value:
        return result
    fetch, context = result.fetch, context_of(response)
    number = url_query_parameter(fetch.requested_url, PARAMETER, "1") or "1"
    if not NUMBER.fullmatch(number) or not context.walk.guesses_pages or not _is_wordpress(response):
        return result
    if context.guessed_from == shown(result):
        # A second page like the first one: there are no pages. A later page may be like the one before it
        # because a page of new entries was published meanwhile: the next run requests it again.
        return replace(result, failure=REPEATS if context.documents > 1 else None)
    # The next run requests the target of a permanent redirect.
    where = fetch.location or fetch.requested_url
    link = Link(Role.PAGE, add_or_replace_parameter(where, PARAMETER, str(int(number) + 1)))
    return replace(result, older_document=link)


def shown(result: DocumentResult) -> str:
    """Return a digest of the entries of a page."""
    ids = "\n".join(version.id for version in result.versions)
    return sha256(ids.encode("utf-8", "surrogatepass")).hexdigest()


def is_guess(url: str, walk: WalkContext) -> bool:
    """Return whether a page that an earlier run left unread was guessed, and may not exist."""
    return walk.guesses_pages and url_query_parameter(url, PARAMETER) is not None


def no_page() -> FeedDocument:
    """Return an empty document for WordPress's 404 after the last page, whatever its body is."""
    return FeedDocument(
        "rss", None, None, {}, archive=False, complete=False, entries=[], problems=[], fault=None
    )


def _is_wordpress(response: Response) -> bool:
    """Return whether a response is from WordPress, and is not its 404."""
    has_link = API_LINK in b"".join(response.headers.getlist("Link"))
    return response.status != NOT_FOUND and (has_link or GENERATOR.search(response.body) is not None)
