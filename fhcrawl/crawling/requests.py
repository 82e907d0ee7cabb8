"""The requests of a walk, and the header fields of their responses."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from time import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urlsplit

from scrapy import Request

from fhcrawl.crawling.context import (
    CAPTURED,
    DELTAFETCH_ENABLED,
    DELTAFETCH_KEY,
    INDEX_SLOT,
    RESPONSE,
    CaptureRequest,
    Doubt,
    Fallback,
    LastReading,
    Recheck,
    Referral,
    RequestContext,
    WalkContext,
    cb_kwargs_of,
    context_of,
    find_context,
    header,
    header_text,
    request_of,
    special_hosts_from_store,
    special_hosts_to_store,
    timestamp_of,
    user_urls,
    with_context,
    with_learned,
)
from fhcrawl.crawling.sitemaps import MOST_OCTETS
from fhcrawl.documents import detection
from fhcrawl.documents.dates import shift
from fhcrawl.documents.formats import multipart
from fhcrawl.documents.links import HISTORY, header_links
from fhcrawl.documents.xml.elements import LONGEST_URL
from fhcrawl.logical_feed import FIRST_WALK, ChainPosition, Role, chain, polling
from fhcrawl.logical_feed.chain import EARLIEST_WALK, FeedQuirks
from fhcrawl.logical_feed.platforms import NAMED, NUMBERED, PROBE, SERVER_ERROR, WORDPRESS
from fhcrawl.logical_feed.results import Fetch, latest_time
from fhcrawl.reasons import ReasonKind
from fhcrawl.utils import addresses
from fhcrawl.utils.addresses import tidied
from fhcrawl.utils.clock import now
from fhcrawl.warc import indexes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy.http import Response

    from fhcrawl.crawling.subscriptions import FeedOptions
    from fhcrawl.logical_feed import Link
    from fhcrawl.logical_feed.chain import NewerPage
    from fhcrawl.logical_feed.listings import ListCheck, SitemapCheck, SitemapPost
    from fhcrawl.logical_feed.results import DocumentFailure, DocumentResult
    from fhcrawl.store import CheckedDocument, DocumentRef, Memento, WalkStart

# RFC 9110, 15.4: 301 and 308 are permanent: "the target resource has been assigned a new permanent URI".
NOT_MODIFIED = 304
PERMANENT = (301, 308)
# The URL of requests for URLs that cannot be fetched; GuardMiddleware refuses it.
UNFETCHABLE_URL = "nowhere://nowhere/"
VALIDATED = ("If-None-Match", "If-Modified-Since")
CHECK_PRIORITY = -1
REFUSALS = tuple(map(ReasonKind.http, (401, 403, 404)))
# The meta of requests for documents that are fetched even if they are processed; and of conditional ones.
ALWAYS: dict[str, Any] = {DELTAFETCH_ENABLED: False}
CONDITIONAL = {**ALWAYS, "handle_httpstatus_list": [NOT_MODIFIED]}


# The spider receives the statuses that end the pages of a platform.
def status_meta(platform: str | None) -> dict[str, Any]:
    ends = NAMED[platform].ends if platform in NAMED else ()
    # Scrapy retries 5xx responses.
    retry = {"dont_retry": True} if max(ends, default=0) >= SERVER_ERROR else {}
    return {"handle_httpstatus_list": list(ends), **retry} if ends else {}


def first(start: WalkStart, options: FeedOptions) -> Iterator[Request]:
    """Yield the first requests of a walk: for the subscription document, or for the index of a snapshot.

    Yield the request for the first unread page of a snapshot too.
    """
    snapshot = start.snapshot
    index = options.snapshot or (snapshot.url if snapshot else None)
    walk = WalkContext(
        start.feed,
        start.run,
        replace(options, snapshot=index),
        special_hosts=special_hosts_from_store(start, index),
        number=start.walk,
        sitemaps=start.has_due_sitemap,
        is_confirmable=start.is_confirmable,
    )
    if snapshot is not None and snapshot.is_read and snapshot.url == index:
        walk = replace(walk, since=snapshot.created_at)
        if snapshot.part is not None:
            yield unlinked(snapshot.part, walk)
        index = None
    if index is None:
        yield subscription(start, walk)
    else:
        yield _request(walk, index, Role.SUBSCRIPTION, ChainPosition(start.walk, 0), ALWAYS)


def subscription(start: WalkStart, walk: WalkContext) -> Request:
    """Return the request for a subscription document, conditional unless the user's options have changed."""
    if start.body_digest is not None and start.body_digest.partition(" ")[2] != options_key(walk):
        start = start.without_validators()
    last_reading = LastReading(
        is_new=start.crawled is None,
        body_digest=start.body_digest,
        validated_url=start.validated_url,
        etag=start.etag,
        last_modified=start.last_modified,
        older_document=start.older_document,
        received=_received_if_too_old(start.received, start.validated_url),
        is_listed=start.is_listed,
        is_empty=start.is_empty,
    )
    place = ChainPosition(start.walk, 0)
    return _request(walk, start.location, Role.SUBSCRIPTION, place, CONDITIONAL, last_reading=last_reading)


def _received_if_too_old(received: str | None, validated_url: str | None) -> str | None:
    is_due = validated_url is not None and polling.is_due_in_full(received, now())
    return received if is_due else None


def conditional(walk: WalkContext, response: Response) -> Request:
    """Return the request for a document again, with the validators that it had before it has changed."""
    context = replace(context_of(response), walk=walk)
    last_reading = context.last_reading or LastReading()
    task = Doubt(last_reading.received or "")
    context = replace(context, last_reading=replace(last_reading, body_digest=None, received=None), task=task)
    return _with_target(context, {**CONDITIONAL, "dont_retry": True})


def subscription_elsewhere(
    walk: WalkContext,
    fetch: Fetch,
    response: Response,
    url: str,
    failure: DocumentFailure | None = None,
    is_page: bool = False,
) -> Request:
    """Return the request for the subscription document that another document, or a web page, names.

    :param failure: what was wrong with that other document, or with documents before it
    """
    # If the user's URL fails too, the document that led there is read as an archive.
    fallback = Fallback(archive=fetch.requested_url) if url == fetch.feed else None
    return _request(
        walk,
        url,
        Role.SUBSCRIPTION,
        fetch.position,
        ALWAYS,
        via=response.url,
        referral=_referral(response, url, failure, is_page),
        fallback=fallback,
    )


def _referral(response: Response, url: str, failure: DocumentFailure | None, is_page: bool) -> Referral:
    context = context_of(response)
    earlier = context.referral
    count = 1 if earlier is None else earlier.number + 1
    # Brent's algorithm: for a loop of any length, one of the marks lies in the loop.
    is_marked = count & (count - 1) == 0
    mark = url if earlier is None or is_marked else earlier.mark
    is_page = is_page or (earlier is not None and earlier.is_page)
    return Referral(count, mark, failure, context.is_new, is_page)


def api(walk: WalkContext, fetch: Fetch, response: Response, url: str) -> Request:
    """Return the request for the first page of an API, in place of the home page that leads to it."""
    referral = _referral(response, url, None, is_page=True)
    context = replace(context_of(response), walk=walk, requested_url=url, via=response.url, referral=referral)
    return _with_target(context, {**ALWAYS, DELTAFETCH_KEY: fetch.key})


def at_other_url(
    walk: WalkContext, fetch: Fetch, context: RequestContext, failure: DocumentFailure
) -> Iterator[Request]:
    """Yield the request for another URL of a document after a failure, if there is one."""
    # The target of a permanent redirect may have been removed, or the redirect may have been a mistake. A
    # server that sends Retry-After is still in use.
    is_elsewhere = fetch.requested_url not in (fetch.feed, walk.options.snapshot) and context.via is None
    if fetch.role is Role.SUBSCRIPTION and is_elsewhere and fetch.retry_after is None:
        yield _request(walk, fetch.feed, Role.SUBSCRIPTION, fetch.position, ALWAYS, fallback=Fallback())
    # The API rejects the key that its home page contained then.
    is_api = context.is_of_api and context.referral is None and fetch.key != fetch.requested_url
    if is_api and failure.kind in REFUSALS:
        home = replace(context, walk=walk, requested_url=fetch.key, fallback=Fallback())
        yield _with_target(home, {**ALWAYS, DELTAFETCH_KEY: fetch.key})


def archive_again(walk: WalkContext, fetch: Fetch, archive: str) -> Request:
    """Return the request for the archive that led to the user's URL, after that URL has failed."""
    fallback = Fallback(is_last=True)
    return _request(walk, archive, Role.SUBSCRIPTION, fetch.position, ALWAYS, fallback=fallback)


def older_document(
    walk: WalkContext,
    result: DocumentResult,
    response: Response,
    link: Link,
    newer: NewerPage | None,
    barren: int,
    has_joined: bool,
    newer_joins: bool,
) -> Request:
    context, older = context_of(response), result.fetch.position.older_position()
    # A probe that is made again has been processed.
    meta = {**(ALWAYS if link.platform == PROBE.name else {}), **status_meta(link.platform)}
    if link.key is not None:
        meta[DELTAFETCH_KEY] = link.key
    return _request(
        walk,
        link.url,
        link.role,
        # A page that a check has found has its place in the walk that reads it.
        older._replace(walk=walk.number) if link.role is Role.PAGE else older,
        meta,
        via=response.url,
        documents=context.documents + 1,
        platform=link.platform,
        has_joined=has_joined,
        newer_joins=newer_joins,
        barren=barren,
        empty=0 if result.versions else context.empty + 1,
        newer=newer,
    )


def known_older_document(walk: WalkContext, fetch: Fetch, response: Response, older: DocumentRef) -> Request:
    """Return the request for the next unread document of a chain; the subscription document is unchanged."""
    # An archive keeps its position; a page gets the position in the walk that reads it.
    position = fetch.position.older_position() if older.role is Role.PAGE else older.position
    return _request(
        walk,
        older.url,
        older.role,
        position,
        {**({DELTAFETCH_KEY: older.key} if older.key != older.url else {}), **status_meta(older.platform)},
        via=response.url,
        documents=1,
        platform=older.platform,
    )


def with_response(request: Request, response: Response) -> Request:
    """Return a request that gets the response to an earlier one, if both are for the same document."""
    earlier_meta = request_of(response).meta
    urls = [*earlier_meta.get("redirect_urls", ()), response.url]
    if request.url in urls:
        first = urls.index(request.url)
        reasons = earlier_meta.get("redirect_reasons", [])[first:]
        # A response with its request, which has callbacks, could not be stored in a JOBDIR.
        request.meta[RESPONSE] = response.replace(request=None)
        request.meta.update({"redirect_urls": urls[first:-1], "redirect_reasons": reasons} if reasons else {})
    return request


def last_page(walk: WalkContext, fetch: Fetch, response: Response, url: str) -> Request:
    """Return the request for the page that a page without `next` calls the last one."""
    place = fetch.position.older_position()
    return _request(walk, url, Role.LISTED, place, ALWAYS, via=response.url)


def unlinked(document: DocumentRef, walk: WalkContext, documents: int = 1) -> Request:
    """Return the request for a document that no other one links to: a part of a list, or a given archive."""
    key, url, role, position, *_ = document
    return _request(walk, url, role, position, {DELTAFETCH_KEY: key}, documents=documents)


def check(checked: CheckedDocument, walk: WalkContext, task: Recheck, documents: int) -> Request:
    """Return the request for a document that has been read, to see whether it has changed."""
    document = checked.document
    # A probe that has found no page is not checked.
    platform = NUMBERED.name if document.platform == PROBE.name else document.platform
    ends = status_meta(platform).get("handle_httpstatus_list", [])
    meta = {
        **ALWAYS,
        DELTAFETCH_KEY: document.key,
        "handle_httpstatus_list": [NOT_MODIFIED, *ends],
        "dont_retry": True,
    }
    return _request(
        walk,
        document.url,
        document.role,
        document.position,
        meta,
        CHECK_PRIORITY,  # the walk comes first
        documents=documents,
        last_reading=_last_reading(checked),
        task=task,
        platform=platform,
    )


def _last_reading(checked: CheckedDocument) -> LastReading:
    return LastReading(
        validated_url=checked.validated_url,
        etag=checked.etag,
        last_modified=checked.last_modified,
        received=_received_if_too_old(checked.received, checked.validated_url),
    )


def again_conditionally(request: Request, checked: CheckedDocument) -> Request:
    key, url, _role, position, *_ = checked.document
    last_reading = _last_reading(checked)
    context = replace(context_of(request), requested_url=url, position=position, last_reading=last_reading)
    meta = {**request.meta, **CONDITIONAL, DELTAFETCH_KEY: key}
    return with_context(request, context, **request_target(url, context.walk), meta=meta)


def in_place_of(request: Request, older: DocumentRef, via: str | None) -> Request:
    """Return the request for the next unread document, to which `via` links, in place of a processed one."""
    replaced_keys = (DELTAFETCH_KEY, "handle_httpstatus_list", "dont_retry")
    meta = {key: value for key, value in request.meta.items() if key not in replaced_keys}
    key, url, role, position, _run, platform = older
    meta |= status_meta(platform)
    if key != url:
        meta[DELTAFETCH_KEY] = key
    context = context_of(request)
    # The newer page is compared only with the page that it links to.
    newer = context.newer if context.requested_url == url else None
    context = replace(context, requested_url=url, position=position, via=via, newer=newer, platform=platform)
    # The next unread document after read archives may be a page, which keeps its role: it may change.
    if role is Role.PAGE:
        context = replace(context, role=Role.PAGE, left_over=True)
    return with_context(request, context, **request_target(url, context.walk), meta=meta)


def capture(
    memento: Memento, depth: int, url: str, walk: WalkContext, documents: int = 0, is_in_warc: bool = False
) -> Request:
    """Return the request for a capture in a WARC file, or in a web archive.

    :param depth: number of links from a subscription document to it
    :param url: of the file, with the offset of the record as its fragment; or that the web archive has for it
    """
    # A version with a date in the future must not take precedence forever.
    time = min(memento.time, now())
    context = RequestContext(
        walk,
        memento.url,
        Role.CAPTURE,
        chain.position_of_capture(time, depth),
        documents=documents,
        task=CaptureRequest(time, memento.id, is_in_warc),
    )
    return _archive_request(context, url, 0, **{DELTAFETCH_KEY: url})


# Without the user's headers for the feed, which may be credentials.
def _archive_request(context: RequestContext, url: str, priority: int = 0, **meta: Any) -> Request:
    cb_kwargs = cb_kwargs_of(context)
    return Request(url, meta={**ALWAYS, **meta}, dont_filter=True, cb_kwargs=cb_kwargs, priority=priority)


def timemap(url: str, query: str, walk: WalkContext, documents: int, comes_last: bool = False) -> Request:
    """Return the request for what a web archive has of a URL.

    :param documents: how many requests the archive has had for the feed in this run, with this one
    :param comes_last: after the requests of other feeds
    """
    priority = CHECK_PRIORITY if comes_last else 0
    context = RequestContext(walk, url, Role.TIMEMAP, ChainPosition(EARLIEST_WALK, 0), documents=documents)
    slot = f"{urlsplit(walk.options.web_archive or '').hostname}{INDEX_SLOT}"
    most = indexes.LONGEST_ANSWER
    return _archive_request(context, query, priority, download_maxsize=most, download_slot=slot)


def list_check(
    walk: WalkContext, place: ChainPosition, via: str, documents: int, check: ListCheck
) -> Request:
    meta = {**ALWAYS, **(status_meta(WORDPRESS.name) if check.is_reading else {})}
    return _request(walk, check.url, Role.LISTED, place, meta, via=via, documents=documents, task=check)


def sitemap(
    walk: WalkContext, place: ChainPosition, via: str, check: SitemapCheck, validators: Mapping[str, Any]
) -> Request:
    meta = {**CONDITIONAL, "dont_retry": True, "download_maxsize": MOST_OCTETS}
    context = {"via": via, "task": check, "last_reading": LastReading(**validators)}
    return _request(walk, check.requested[-1], Role.LISTED, place, meta, CHECK_PRIORITY, **context)


def sitemap_post(walk: WalkContext, via: str, post: SitemapPost) -> Request:
    meta, place = {**CONDITIONAL, "dont_retry": True}, ChainPosition(EARLIEST_WALK, walk.number)
    last = LastReading(etag=post.etag, last_modified=post.last_modified, validated_url=post.validated_url)
    context = {"via": via, "task": post, "last_reading": last}
    return _request(walk, post.url, Role.POST, place, meta, CHECK_PRIORITY, **context)


def of_task(walk: WalkContext, url: str, task: object, via: str | None = None) -> Request:
    """Return the request of a stage for a document that is not in the chain.

    :param task: an object of the stage's own, which can be pickled; its class selects the row of the stage
    :param via: URL of the document that links to it
    """
    meta, place = {**ALWAYS, "dont_retry": True}, ChainPosition(walk.number, 0)
    return _request(walk, url, Role.LISTED, place, meta, CHECK_PRIORITY, via=via, task=task)


def _request(
    walk: WalkContext,
    url: str,
    role: Role,
    position: ChainPosition,
    meta: dict[str, Any],
    priority: int = 0,
    **context: Any,
) -> Request:
    return _with_target(RequestContext(walk, url, role, position, **context), meta, priority)


def _with_target(context: RequestContext, meta: dict[str, Any], priority: int = 0) -> Request:
    # Scrapy's duplicate filter would drop an archive that two feeds share, and end a loop without a reason.
    return Request(
        **request_target(context.requested_url, context.walk),
        meta=meta,
        priority=priority,
        dont_filter=True,
        cb_kwargs=cb_kwargs_of(context),
    )


def unstored(
    url: str, walk: WalkContext, role: Role, number: int = 0, via: str | None = None, **arguments: Any
) -> Request:
    """Return the request of a spider without a store.

    :param number: how many documents come before it in its chain
    """
    place = ChainPosition(FIRST_WALK, -number)
    context = RequestContext(walk, url, role, place, via=via, documents=number)
    target = request_target(url, walk)
    return Request(**target, dont_filter=True, cb_kwargs=cb_kwargs_of(context), **arguments)


# -- responses -------------------------------------------------------------------------------------------


def fetch_from_request(request: Request, wait: float = 0) -> Fetch:
    """Return the fetch of a request without a response, whose server requires a pause of `wait` seconds."""
    fetch = _fetch(request, request.url)
    return replace(fetch, retry_after=shift(now(), int(wait))) if wait > 0 else fetch


def fetch_from_response(response: Response) -> Fetch:
    fetch = _fetch(request_of(response), response.url)
    if fetch.role is not Role.SUBSCRIPTION:
        return fetch
    lines = [line.decode("latin-1") for line in response.headers.getlist("Cache-Control")]
    dates = (header(response, name) for name in ("Expires", "Date", "Age"))
    return replace(fetch, freshness_lifetime=polling.freshness(", ".join(lines), *dates))


def _fetch(request: Request, url: str) -> Fetch:
    context, time_now = context_of(request), now()
    capture = context.task if isinstance(context.task, CaptureRequest) else None
    captured_at, place = None if capture is None else capture.time, context.position
    if (served_at := request.meta.get(CAPTURED)) is not None:
        captured_at, place = served_at, chain.position_of_capture(served_at, -place.step)
    return Fetch(
        feed=context.walk.feed,
        key=request.meta.get(DELTAFETCH_KEY) or context.requested_url,
        requested_url=context.requested_url,
        url=url,
        role=context.role,
        position=place,
        fetched=captured_at or time_now,
        latest=latest_time(time_now),
        run=context.walk.run,
        location=_permanent_location(request, context.requested_url, url),
        special=special_hosts_to_store(with_learned(context.walk, request)),
        walk=context.walk.number,
        capture_id=None if capture is None else capture.id,
        is_check=isinstance(context.task, Recheck),
        is_referred=context.referral is not None,
        has_joined=context.has_joined,
    )


def _permanent_location(request: Request, location: str, url: str) -> str:
    targets = [*request.meta.get("redirect_urls", [])[1:], url]
    for reason, target in zip(request.meta.get("redirect_reasons", ()), targets, strict=False):
        if reason not in PERMANENT:
            break
        location = tidied(target)
    return location


def quirks_of(options: FeedOptions) -> FeedQuirks:
    """Return how the publisher deviates from RFC 5005, from the user's options."""
    return FeedQuirks(options.next == "archive", options.reversed)


def options_key(walk: WalkContext) -> str:
    options = {
        "next": walk.options.next,
        "reversed": walk.options.reversed,
        "platforms": None if walk.options.platforms else "no",
        "probe": "yes" if walk.options.platforms and walk.options.probe else None,
        "ids": walk.options.ids,
    }
    return ",".join(f"{name}={value}" for name, value in options.items() if value)


def secured(url: str, response: Response) -> str:
    """Return the URL of a link with https: if it is an http: URL on a host that was reached with https:."""
    context = context_of(response)
    if context.role is Role.CAPTURE or not url.startswith("http:"):
        return url
    return secured_after(url, context, response.url)


def secured_after(url: str, context: RequestContext, reached_url: str) -> str:
    """Return `addresses.secured` of a URL to which a document or redirect at another URL leads."""
    leading_urls = filter(None, (context.walk.feed, context.via, reached_url))
    return addresses.secured(url, user_urls(context.walk), leading_urls)


def user_headers(walk: WalkContext, url: str) -> dict[str, str]:
    """Return the user's headers for a feed; {} for another host, since they may be credentials."""
    return walk.options.headers if urlsplit(url).netloc == urlsplit(walk.feed).netloc else {}


def request_target(url: str, walk: WalkContext) -> dict[str, Any]:
    fetched = url if is_fetchable(url) else UNFETCHABLE_URL
    return {"url": fetched, "headers": user_headers(walk, fetched)}


def is_fetchable(url: str) -> bool:
    if len(url) > LONGEST_URL:
        return False
    try:
        parts = urlsplit(url)
        # Reading `port` raises ValueError for an invalid one.
        has_host = (parts.port or 1) and bool(parts.hostname)
        Request(url)
    except ValueError:
        return False
    return bool(has_host) or parts.scheme not in ("http", "https")


# RFC 9110, 8.8: a validator identifies a representation of one resource. If a redirect has a new target, the
# server would compare the validators with those of another document.
def conditions(request: Request) -> dict[str, bytes]:
    """Return the header fields of a conditional request, with the octets that were received."""
    context = find_context(request)
    last = None if context is None else context.last_reading
    url = None if last is None or last.received is not None else last.validated_url
    if last is None or url is None or urldefrag(url).url != urldefrag(request.url).url:
        return {}
    values = (last.etag, last.last_modified)
    return {name: v.encode("latin-1") for name, v in zip(VALIDATED, values, strict=True) if v}


def was_conditional(response: Response) -> bool:
    return bool(conditions(request_of(response)))


# RFC 9110, 8.8.1: a strong validator changes with "the representation data that would be observable in the
# content"; Link headers are no content. A multipart page gets its `next` when it is sealed, with the same
# body. 8.8.2.1: a Last-Modified later than the response itself is not the time of a modification: a
# client that sends it may get 304 responses forever.
def validators(response: Response) -> tuple[str | None, str | None]:
    """Return ETag and Last-Modified as received; None if they do not cover the links, or are invalid."""
    in_headers = header_links(links(response), response.url)
    is_multipart = multipart.is_multipart(header(response, "Content-Type"))
    if is_multipart or not HISTORY.isdisjoint({*in_headers.first, *in_headers.others}):
        return None, None
    last_modified = header(response, "Last-Modified")
    modified = timestamp_of(last_modified or "")
    sent_at = timestamp_of(header(response, "Date") or "")
    if modified is not None and modified > (time() if sent_at is None else sent_at):
        last_modified = None
    return header(response, "ETag"), last_modified


# RFC 9111, 3.2: the header fields of a 304 response replace the stored ones. But servers send it with a media
# type that is not the document's, or without the charset; neither is evidence of a change.
def corrects_charset(response: Response, body_digest: str) -> bool:
    """Return whether a 304 response declares another charset than the one of the stored document."""
    media_type, charset = _media_type_and_charset(response)
    _digest, stored_type, stored_charset = f"{body_digest.partition(' ')[0]};;".split(";")[:3]
    return bool(charset) and media_type == stored_type and charset != stored_charset


def is_unchanged(response: Response, body_digest: str) -> bool:
    """Return whether a document is unchanged, by its status or by its bytes."""
    stored_digest, _, _options_key = body_digest.partition(" ")
    return response.status == NOT_MODIFIED or _body_digest(response) == stored_digest


def body_digest(response: Response, walk: WalkContext) -> str:
    """Return a digest of a response's bytes, URL and relevant headers, with the feed's `options_key`."""
    return f"{_body_digest(response)} {options_key(walk)}".rstrip()


# The same bytes at another URL may have other links, since relative references are resolved against the URL.
# With another charset, they are another text.
def _body_digest(response: Response) -> str:
    digest = hashlib.sha256(response.body)
    for text in (response.url, *links(response), detection.boundary(header(response, "Content-Type"))):
        digest.update(b"\n" + text.encode())
    return ";".join((digest.hexdigest(), *_media_type_and_charset(response)))


def _media_type_and_charset(response: Response) -> tuple[str, str]:
    return detection.declared(header(response, "Content-Type"))


def links(response: Response) -> list[str]:
    """Return the Link headers: a multipart page gets one more when it is sealed, with the same body."""
    return list(map(header_text, response.headers.getlist("Link")))
