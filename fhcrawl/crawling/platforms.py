"""Forms the URLs of older pages that no link names, for the software that `logical_feed.platforms` lists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

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
    Shown,
    api_of,
    parameter_of,
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
    from fhcrawl.logical_feed.contents import EarlierReading
    from fhcrawl.logical_feed.platforms import Platform
    from fhcrawl.logical_feed.results import DocumentFailure, DocumentResult, Fetch
    from fhcrawl.store import Store


def status_meta(platform: str | None) -> dict[str, Any]:
    """Return the meta of the request for an older document.

    :param platform: as in `Link`
    """
    ends = NAMED[platform].ends if platform in NAMED else ()
    if not ends:
        return {}
    # Scrapy requests again what answers 5xx.
    return {"handle_httpstatus_list": list(ends), **({"dont_retry": True} if max(ends) >= 500 else {})}  # noqa: PLR2004


def is_missing(response: Response) -> bool:
    """Return whether the response says that a page does not exist whose URL was formed."""
    context = context_of(response)
    row = NAMED.get(context.platform or "")
    # A redirect leads to the last page, or to the first one.
    pages = {parameter_of(url, "page") for url in (context.requested_url, response.url)}
    is_redirected = row in (NUMBERED, PROBE) and len(pages) > 1
    return is_redirected or (row is not None and response.status in row.ends)


def is_probe(request: Request | Response) -> bool:
    """Return whether a request, or that of a response, is to see whether a feed has numbered pages."""
    return context_of(request).platform == PROBE.name


def numbered_pages(store: Store, feed: str, options: FeedOptions) -> tuple[Platform | None, bool]:
    """Return how a feed of unknown software names its older pages, and whether that was looked for before.

    :return: None in place of the software if it has none, or if it is not to be probed now
    """
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
    row = NAMED.get(context.platform or "")
    return row is not None and row.has_api


def check_format(response: Response, document: FeedDocument | DocumentList) -> None:
    """Check that a document in place of a home page, or of an API's first page, is in the API's format.

    :raises NotAFeedError: if it is not
    """
    is_of_api = isinstance(document, FeedDocument) and document.format == "ghost"
    if has_api(context_of(response)) and not is_of_api:
        raise NotAFeedError(ReasonKind.NOT_A_FEED, "it is not the document that the API returns")


def explained(failure: DocumentFailure, context: RequestContext) -> DocumentFailure:
    """Return why the older entries of a feed cannot be had, if its software has them in an API only."""
    if not has_api(context) or failure.state is State.KNOWN:
        return failure
    said = f"{failure.detail}; older entries need {context.platform}'s API"
    return replace(failure, detail=said)


def no_page() -> FeedDocument:
    """Return an empty document in place of a page that does not exist, whatever its body is."""
    return FeedDocument(
        "rss", None, None, {}, archive=False, complete=False, entries=[], problems=[], fault=None
    )


def is_end(response: Response, result: DocumentResult, newer: Role) -> bool | None:
    """Return whether a page that is like the one before it is the end; None if that says nothing.

    A server may ignore what is added to a URL. A linked page that is like the first one is a fault of the
    publisher's, and so is a numbered page: entries may have moved on to the next one.

    :param newer: role of the document before it
    """
    row = NAMED.get(context_of(response).platform or "")
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
    """Return whether a feed's entries are in an API too, whose update times decide.

    :param row: as `row_of` returns it
    """
    is_subscription = fetch.role is Role.SUBSCRIPTION
    if (
        row is None
        or not row.has_api
        or not is_subscription
        or not context_of(response).walk.options.platforms
    ):
        return False
    shown = _shown(fetch, response, document, row, store)
    return row.older(fetch.location or fetch.requested_url, shown).url is not None


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

    :param row: as `row_of` returns it
    :param earlier: what is known of the document from before
    """
    fetch, context = result.fetch, context_of(response)
    if result.kind != Kind.SINGLE.value or result.older_document is not None or result.failure is not None:
        return result
    row = row or _numbered(fetch, context, store)
    if row is None:
        return result
    # The next run requests the target of a permanent redirect.
    url = fetch.location or fetch.requested_url
    older = row.older(url, _shown(fetch, response, document, row, store))
    if older.is_cut:
        result = replace(result, lost_entries=result.lost_entries or CUT)
    if older.url is None or older.url == fetch.feed:
        return result
    options = context.walk.options
    if not options.platforms or (row is NUMBERED and not options.probe):
        return replace(result, software=row.name)
    older_url = _known(result, row, older.url, store, earlier)
    link = None if older_url is None else Link(Role.PAGE, older_url, row.name)
    return replace(result, older_document=link, older_key=older.url if row.has_api else None)


def _known(
    result: DocumentResult, row: Platform, url: str, store: Store, earlier: EarlierReading | None
) -> str | None:
    """Return where an older document is, as far as that is known from before; else its formed URL."""
    fetch = result.fetch
    if row.has_api:
        # The API that a home page leads to has the key of the home page.
        known = store.documents.find(fetch.feed, url)
        return url if known is None else known.url
    if row.moves and earlier is not None and fetch.role is Role.SUBSCRIPTION:
        return _kept(result, row, earlier, store) or url
    if row.is_by_time and fetch.is_check:
        # What the documents before it held is known to the walk only.
        return store.documents.find_formed(fetch.feed, fetch.key, row.name)
    return url


def _shown(fetch: Fetch, response: Response, document: FeedDocument, row: Platform, store: Store) -> Shown:
    context = context_of(response)
    is_page, size = fetch.role is Role.PAGE, context.walk.page_size
    if is_page and row.is_by_time and not size:
        size = store.documents.count_shown(fetch.feed)
    times = [time for entry in document.entries if (time := entry.published or entry.updated)]
    last_id = document.entries[-1].id if document.entries else None
    oldest, site = min(times, default=None), document.site and responses.secured(document.site, response)
    return Shown(len(document.entries), oldest, last_id, is_page, context.empty, size, site)


def row_of(fetch: Fetch, response: Response) -> Platform | None:
    """Return the row of the software that has made a document; None if none is recognised."""
    context, url = context_of(response), fetch.location or fetch.requested_url
    if context.role is Role.PAGE:
        found = NAMED.get(context.platform or "") if context.walk.options.platforms else None
        return NUMBERED if found is PROBE else found
    if context.role is not Role.SUBSCRIPTION:
        return None
    named = ((name.decode("latin-1"), values) for name, values in response.headers.items())
    headers = (f"{name}: {b', '.join(values).decode('latin-1')}" for name, values in named)
    return recognise(url, headers, response.body)


def _numbered(fetch: Fetch, context: RequestContext, store: Store) -> Platform | None:
    """Return the row of a subscription document of unknown software that has numbered pages, or may have."""
    walk, url = context.walk, fetch.location or fetch.requested_url
    is_known = walk.options.probe or walk.number > FIRST_WALK
    if context.role is not Role.SUBSCRIPTION or not is_known:
        return None
    found, _ = numbered_pages(store, walk.feed, walk.options)
    has_number = not url.startswith("http") or parameter_of(url, "page") is not None
    return None if found is PROBE and has_number else found


# What the feed showed before, and does not show now, is in the store. So the older page of the earlier feed
# is that of this one too, if the two overlap: all pages behind it stay what they were.
def _kept(result: DocumentResult, row: Platform, earlier: EarlierReading, store: Store) -> str | None:
    """Return the URL of the older page that the feed had when it was read before, if that still holds."""
    if not any(map(earlier.has_id, result.versions)):
        return None
    return store.documents.find_formed(result.fetch.feed, result.fetch.key, row.name)
