"""Forms the URLs of older pages that no link names, for the software that `logical_feed.platforms` lists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from w3lib.url import url_query_parameter

from fhcrawl.crawling import responses
from fhcrawl.crawling.context import context_of
from fhcrawl.documents import FeedDocument
from fhcrawl.documents.dates import elapsed
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.logical_feed import FIRST_WALK, Kind, Link, Role
from fhcrawl.logical_feed.platforms import (
    NAMED,
    NUMBERED,
    PROBE,
    PROBED_AGAIN,
    SERVER_ERROR,
    Shown,
    api_of,
    recognise,
)
from fhcrawl.logical_feed.results import CUT, State
from fhcrawl.reasons import ReasonKind
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from typing import Any

    from scrapy import Request
    from scrapy.http import Response

    from fhcrawl.crawling.context import RequestContext
    from fhcrawl.crawling.subscriptions import FeedOptions
    from fhcrawl.documents import DocumentList
    from fhcrawl.logical_feed.absences import EarlierReading
    from fhcrawl.logical_feed.platforms import Platform
    from fhcrawl.logical_feed.results import DocumentFailure, DocumentResult, Fetch
    from fhcrawl.store import Store


def status_meta(platform: str | None) -> dict[str, Any]:
    """Return the meta of the request for an older document of a software (`Link.platform`)."""
    ends = NAMED[platform].ends if platform in NAMED else ()
    # Scrapy requests again what answers 5xx.
    retry = {"dont_retry": True} if max(ends, default=0) >= SERVER_ERROR else {}
    return {"handle_httpstatus_list": list(ends), **retry} if ends else {}


def _row(context: RequestContext) -> Platform | None:
    return NAMED.get(context.platform or "")


def is_missing(response: Response) -> bool:
    """Return whether the response says that a page does not exist whose URL was formed."""
    context = context_of(response)
    row = _row(context)
    # A redirect leads to the last page, or to the first one.
    pages = {url_query_parameter(url, "page") for url in (context.requested_url, response.url)}
    is_redirected = row in (NUMBERED, PROBE) and len(pages) > 1
    return is_redirected or (row is not None and response.status in row.ends)


def is_probe(request: Request | Response) -> bool:
    """Return whether a request, or that of a response, is to see whether a feed has numbered pages."""
    return context_of(request).platform == PROBE.name


def numbered_pages(store: Store, feed: str, options: FeedOptions) -> tuple[Platform | None, bool]:
    """Return the row of the pages of unknown software, if a feed has any or may be probed; whether it was."""
    is_known, probed = store.documents.find_probe(feed)
    if is_known:
        return NUMBERED, True
    # A time in the future was recorded by a wrong clock.
    is_due = probed is None or not 0 <= elapsed(probed, now()) < PROBED_AGAIN
    return PROBE if is_due and options.platforms and options.probe else None, probed is not None


def api(response: Response) -> str | None:
    """Return the URL of the first page of the API that a home page leads to; None if it leads to none."""
    context = context_of(response)
    if not has_api(context) or context.referral is not None or context.checks is not None:
        return None
    url = api_of(response.body, response.url)
    return url if url is not None and responses.is_fetchable(url) else None


def has_api(context: RequestContext) -> bool:
    """Return whether a request is for a home page that leads to an API, or for the API's first page."""
    row = _row(context)
    return row is not None and row.has_api


def check_format(response: Response, document: FeedDocument | DocumentList) -> None:
    """Raise NotAFeedError for a document in place of an API's first page that is not in its format."""
    is_of_api = isinstance(document, FeedDocument) and document.format == "ghost"
    if has_api(context_of(response)) and not is_of_api:
        raise NotAFeedError(ReasonKind.NOT_A_FEED, "it is not the document that the API returns")


def explained(failure: DocumentFailure, context: RequestContext) -> DocumentFailure:
    """Add to a failure that the older entries of a feed are in an API only, if they are."""
    if not has_api(context) or failure.state is State.KNOWN:
        return failure
    return replace(failure, detail=f"{failure.detail}; older entries need {context.platform}'s API")


def no_page() -> FeedDocument:
    """Return an empty document in place of a page that does not exist, whatever its body is."""
    return FeedDocument(
        "rss", None, None, {}, archive=False, complete=False, entries=[], problems=[], fault=None
    )


# A server may ignore what is added to a URL. A linked page that is like the first one is a fault of the
# publisher's, and so is a numbered page: entries may have moved on to the next one.
def is_end(response: Response, result: DocumentResult, newer: Role) -> bool | None:
    """Return whether a page that is like the one before it is the end; None if that says nothing.

    :param newer: role of the document before it
    """
    row = _row(context_of(response))
    if row is PROBE:
        return True
    if row is not None and row.has_api:
        return None
    if row is None or result.kind != Kind.SINGLE.value:
        return False
    return None if row.is_by_time else row.repeats or newer is Role.SUBSCRIPTION


# The feed has no update times. A post that was edited in it comes with its time from the API, which is read
# after each change of the feed.
def is_dated_by_api(
    fetch: Fetch, response: Response, document: FeedDocument, row: Platform | None, store: Store
) -> bool:
    """Return whether a feed's entries are in an API too, whose update times decide."""
    if row is None or not row.has_api or fetch.role is not Role.SUBSCRIPTION:
        return False
    is_wanted = context_of(response).walk.options.platforms
    return is_wanted and _older(fetch, response, document, row, store)[0] is not None


def row_of(fetch: Fetch, response: Response) -> Platform | None:
    context, url = context_of(response), fetch.location or fetch.requested_url
    if context.role is Role.PAGE:
        row = _row(context) if context.walk.options.platforms else None
        return NUMBERED if row is PROBE else row
    if context.role is not Role.SUBSCRIPTION:
        return None
    headers = (
        f"{name.decode('latin-1')}: {b', '.join(values).decode('latin-1')}"
        for name, values in response.headers.items()
    )
    return recognise(url, headers, response.body)


def with_older(
    result: DocumentResult,
    response: Response,
    document: FeedDocument,
    row: Platform | None,
    store: Store,
    earlier: EarlierReading | None = None,
) -> DocumentResult:
    """Add the older page, which may exist, to the result of a document without a link to one.

    If the user does not want these pages, only note that there may be some.
    """
    fetch, walk = result.fetch, context_of(response).walk
    if result.kind != Kind.SINGLE.value or result.older_document is not None or result.failure is not None:
        return result
    if row is None and fetch.role is Role.SUBSCRIPTION and (walk.options.probe or walk.number > FIRST_WALK):
        row, _ = numbered_pages(store, walk.feed, walk.options)
        own = fetch.location or fetch.requested_url
        if row is PROBE and (
            not own.startswith("http") or url_query_parameter(own, "page", keep_blank_values=True) is not None
        ):
            row = None
    if row is None:
        return result
    url, is_cut = _older(fetch, response, document, row, store)
    if is_cut:
        result = replace(result, lost_entries=result.lost_entries or CUT)
    if url is None or url == fetch.feed:
        return result
    if not walk.options.platforms or (row is NUMBERED and not walk.options.probe):
        return replace(result, software=row.name)
    known = _known_url(result, row, url, store, earlier)
    link = None if known is None else Link(Role.PAGE, known, row.name)
    return replace(result, older_document=link, older_key=url if row.has_api else None)


def _known_url(
    result: DocumentResult, row: Platform, url: str, store: Store, earlier: EarlierReading | None
) -> str | None:
    fetch = result.fetch
    if row.has_api:
        # The API that a home page leads to has the key of the home page.
        stored = store.documents.find(fetch.feed, url)
        return url if stored is None else stored.url
    # What the feed showed before, and does not show now, is in the store. So the older page of the earlier
    # feed is that of this one too, if the two overlap: all pages behind it stay what they were.
    if row.moves and earlier is not None and fetch.role is Role.SUBSCRIPTION:
        overlaps = any(map(earlier.has_id, result.versions))
        return (store.documents.find_formed(fetch.feed, fetch.key, row.name) or url) if overlaps else url
    if row.is_by_time and fetch.is_check:
        # What the documents before it held is known to the walk only.
        return store.documents.find_formed(fetch.feed, fetch.key, row.name)
    return url


def _older(
    fetch: Fetch, response: Response, document: FeedDocument, row: Platform, store: Store
) -> tuple[str | None, bool]:
    context = context_of(response)
    is_page, size = fetch.role is Role.PAGE, context.walk.page_size
    if is_page and row.is_by_time and not size:
        size = store.documents.count_shown(fetch.feed)
    times = [time for entry in document.entries if (time := entry.published or entry.updated)]
    last_id = document.entries[-1].id if document.entries else None
    oldest, site = min(times, default=None), document.site and responses.secured(document.site, response)
    shown = Shown(len(document.entries), oldest, last_id, is_page, context.empty, size, site)
    # The next run requests the target of a permanent redirect.
    return row.older(fetch.location or fetch.requested_url, shown)
