"""Functions on responses and requests, without parsing the document: context, headers, digests."""

from __future__ import annotations

import contextlib
import hashlib
import re
from dataclasses import replace
from datetime import timezone
from email.utils import parsedate_to_datetime
from time import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urlsplit

from scrapy import Request

from fhcrawl.crawling.context import (
    DELTAFETCH_KEY,
    context_of,
    find_context,
    given_urls,
    set_walk,
    special_hosts_to_store,
)
from fhcrawl.documents import detection
from fhcrawl.documents.dates import shift
from fhcrawl.documents.formats import multipart
from fhcrawl.documents.links import HISTORY, header_links
from fhcrawl.documents.xml.elements import LONGEST_URL
from fhcrawl.exceptions import FhcrawlError
from fhcrawl.logical_feed import Role, polling
from fhcrawl.logical_feed.chain import FeedQuirks
from fhcrawl.logical_feed.results import Fetch
from fhcrawl.logical_feed.versions import latest_time
from fhcrawl.utils import addresses
from fhcrawl.utils.addresses import normalised
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from fhcrawl.crawling.context import LastReading, WalkContext
    from fhcrawl.crawling.subscriptions import FeedOptions

# RFC 9110, 15.4: 301 and 308 are permanent: "the target resource has been assigned a new permanent URI".
NOT_MODIFIED = 304
PERMANENT = (301, 308)
# The URL of requests for URLs that cannot be fetched; GuardMiddleware refuses it.
UNFETCHABLE_URL = "nowhere://nowhere/"
FORBIDDEN, TOO_MANY = 403, 429
# Seconds, where a server asks for a pause and does not say how long.
PAUSE = 60.0
RATE_LIMITS = ("RateLimit", "X-RateLimit", "X-Rate-Limit")
NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")
REMAINING = re.compile(r"\b(?:r|remaining)\s*=\s*([0-9]+)")
RESET = re.compile(r"\b(?:t|reset)\s*=\s*([0-9]+)")
MILLISECONDS = 1e11  # larger numbers are not seconds since 1970
VALIDATED = ("If-None-Match", "If-Modified-Since")


def request_of(response: Response) -> Request:
    """Return the request of a response; after a redirect, with the cb_kwargs and meta of the first one."""
    if response.request is None:
        raise FhcrawlError(f"A response without a request: {response.url}")
    return response.request


def fetch_from_request(request: Request, wait: float = 0) -> Fetch:
    """Return the fetch of a request without a response, whose server asks for a pause of `wait` seconds."""
    fetch = _fetch(request, request.url)
    return replace(fetch, retry_after=shift(fetch.fetched, int(wait))) if wait > 0 else fetch


def fetch_from_response(response: Response) -> Fetch:
    """Return the fetch of a response."""
    fetch = _fetch(request_of(response), response.url)
    if fetch.role is not Role.SUBSCRIPTION:
        return fetch
    lines = [line.decode("latin-1") for line in response.headers.getlist("Cache-Control")]
    dates = (header(response, name) for name in ("Expires", "Date", "Age"))
    return replace(fetch, freshness_lifetime=polling.freshness(", ".join(lines), *dates))


def _fetch(request: Request, url: str) -> Fetch:
    context, moment = context_of(request), now()
    return Fetch(
        feed=context.walk.feed,
        key=request.meta.get(DELTAFETCH_KEY) or context.requested_url,
        requested_url=context.requested_url,
        url=url,
        role=context.role,
        position=context.position,
        fetched=context.fetched or moment,
        latest=latest_time(moment),
        run=context.walk.run,
        location=_location(request, context.requested_url, url),
        special=special_hosts_to_store(context.walk),
        walk=context.walk.number,
        capture_id=context.capture_id,
        is_check=context.checks is not None,
        has_joined=context.has_joined,
    )


def note_growth(response: Response, size: int) -> None:
    """Count a document with the octets of its stored entries, if these are more (FHCRAWL_MAX_BYTES).

    Requests that are made after this call carry the sum.
    """
    if size > len(response.body):
        walk = context_of(response).walk
        set_walk(response, replace(walk, octets=walk.octets + size - len(response.body)))


def _location(request: Request, location: str, url: str) -> str:
    targets = [*request.meta.get("redirect_urls", [])[1:], url]
    for reason, target in zip(request.meta.get("redirect_reasons", ()), targets, strict=False):
        if reason not in PERMANENT:
            break
        location = normalised(target)
    return location


def quirks_of(options: FeedOptions) -> FeedQuirks:
    """Return how the publisher deviates from RFC 5005, as the user's options say."""
    return FeedQuirks(options.next == "archive", options.reversed)


def options_key(walk: WalkContext) -> str:
    """Return the options that change how documents are parsed, as a text; '' for the defaults."""
    says = {
        "next": walk.options.next,
        "reversed": walk.options.reversed,
        "platforms": None if walk.options.platforms else "no",
        "probe": "yes" if walk.options.platforms and walk.options.probe else None,
        "ids": walk.options.ids,
    }
    return ",".join(f"{name}={value}" for name, value in says.items() if value)


def secured(url: str, response: Response) -> str:
    """Return the URL of a link with https: if it is an http: URL on a host that was reached with https:."""
    context = context_of(response)
    if context.role is Role.CAPTURE or not url.startswith("http:"):
        return url
    before = filter(None, (context.walk.feed, context.via, response.url))
    return addresses.secured(url, given_urls(context.walk), before)


def own_headers(walk: WalkContext, url: str) -> dict[str, str]:
    """Return the user's headers for a feed; {} for another host, since they may be credentials."""
    return walk.options.headers if urlsplit(url).netloc == urlsplit(walk.feed).netloc else {}


def request_target(url: str, walk: WalkContext) -> dict[str, Any]:
    """Return the URL and the user's headers for a document, as arguments of `Request`."""
    fetched = url if is_fetchable(url) else UNFETCHABLE_URL
    return {"url": fetched, "headers": own_headers(walk, fetched)}


def is_fetchable(url: str) -> bool:
    """Return whether a request can be made for a URL."""
    if len(url) > LONGEST_URL:
        return False
    try:
        parts = urlsplit(url)
        # Reading `port` raises ValueError for an invalid one.
        named = (parts.port or 1) and bool(parts.hostname)
        Request(url)
    except ValueError:
        return False
    return bool(named) or parts.scheme not in ("http", "https")


# RFC 9110, 8.8: a validator is of a representation of one resource. Where a redirect has another target than
# before, that server would compare the validators with another document's.
def conditions(request: Request) -> dict[str, bytes]:
    """Return the header fields that make a request conditional, with the octets that were received."""
    context = find_context(request)
    last = None if context is None else context.last_reading
    url = None if last is None or last.received is not None else last.validated_url
    if last is None or url is None or urldefrag(url).url != urldefrag(request.url).url:
        return {}
    values = (last.etag, last.last_modified)
    return {name: v.encode("latin-1") for name, v in zip(VALIDATED, values, strict=True) if v}


# RFC 9110, 8.8.1: a strong validator changes with "the representation data that would be observable in the
# content"; Link headers are no content. A multipart page gets its `next` when it is sealed, with the same
# body. 8.8.2.1: a Last-Modified later than the response itself is no time of a modification: whoever sends it
# back may get a 304 for ever.
def validators(response: Response) -> tuple[str | None, str | None]:
    """Return ETag and Last-Modified, as received; None each if they say nothing of the links or the time."""
    in_headers = header_links(links(response), response.url)
    is_multipart = multipart.is_multipart(header(response, "Content-Type"))
    if is_multipart or not HISTORY.isdisjoint({*in_headers.first, *in_headers.others}):
        return None, None
    last_modified = header(response, "Last-Modified")
    modified, date = _seconds(last_modified or ""), _seconds(header(response, "Date") or "")
    if modified is not None and modified > (time() if date is None else date):
        last_modified = None
    return header(response, "ETag"), last_modified


# RFC 9111, 4.3.4: the header fields of a 304 response replace the stored ones; those that it lacks stay.
def validators_now(response: Response, last: LastReading) -> tuple[str | None, str | None]:
    """Return ETag and Last-Modified of an unchanged document."""
    etag, last_modified = validators(response)
    if response.status == NOT_MODIFIED:
        return etag or last.etag, last_modified or last.last_modified
    return etag, last_modified


# RFC 9111, 3.2: the header fields of a 304 response replace the stored ones. But servers send it with a media
# type that is not the document's, or without the charset; neither is evidence of a change.
def corrects_charset(response: Response, body_digest: str) -> bool:
    """Return whether a 304 response names another charset than that in which the document was read."""
    media_type, charset = _declared(response)
    _digest, known_type, known_charset = f"{body_digest.partition(' ')[0]};;".split(";")[:3]
    return bool(charset) and media_type == known_type and charset != known_charset


def is_unchanged(response: Response, body_digest: str) -> bool:
    """Return whether a document is unchanged, by its status or by its bytes."""
    known, _, _way = body_digest.partition(" ")
    return response.status == NOT_MODIFIED or _body_digest(response) == known


def body_digest(response: Response, walk: WalkContext) -> str:
    """Return a digest of a response's bytes, URL and relevant headers, with the feed's `options_key`."""
    return f"{_body_digest(response)} {options_key(walk)}".rstrip()


# The same bytes at another URL may have other links, since relative references are resolved against the URL.
# With another charset, they are another text.
def _body_digest(response: Response) -> str:
    boundary = detection.boundary(header(response, "Content-Type"))
    return ";".join((digest(response, response.url, *links(response), boundary), *_declared(response)))


def _declared(response: Response) -> tuple[str, str]:
    return detection.declared(header(response, "Content-Type"))


def is_read_like(body_digest: str, walk: WalkContext) -> bool:
    """Return whether a document was read with the options that the feed has now."""
    _digest, _, way = body_digest.partition(" ")
    return way == options_key(walk)


def digest(response: Response, *headers: str) -> str:
    """Return the SHA-256 of a response's bytes and of header values."""
    found = hashlib.sha256(response.body)
    for header in headers:
        found.update(b"\n" + header.encode())
    return found.hexdigest()


def links(response: Response) -> list[str]:
    """Return the Link headers: a multipart page gets one more when it is sealed, with the same body."""
    return list(map(_text, response.headers.getlist("Link")))


def header(response: Response, name: str) -> str | None:
    """Return the value of a header; None if there is none."""
    value = response.headers.get(name)
    return _text(value) if value else None


# RFC 9110, 5.5: "a recipient of CR, LF, or NUL within a field value MUST either reject the message or replace
# each of those characters with SP". Twisted leaves NUL to us.
def _text(value: bytes) -> str:
    return value.replace(b"\0", b" ").decode("latin-1")


# RFC 6585, 4: 429 is "too many requests". Some servers send 403 where they mean it.
def wait_asked(response: Response) -> float:
    """Return for how many seconds a response asks that its server be sent no requests; 0 if it does not ask.

    A 429 always asks, and so does a 403 with rate limit fields that leave no request.
    """
    asked = retry_after(response)
    if asked <= 0 and response.status in (FORBIDDEN, TOO_MANY):
        is_too_many = response.status == TOO_MANY
        resets = [
            0.0 if reset is None else reset
            for remaining, reset in _rate_limits(response)
            if remaining == 0 or (remaining is None and is_too_many)
        ]
        if resets or is_too_many:
            asked = max(resets, default=0.0)
            asked = asked if asked > 0 else PAUSE
    return min(max(asked, 0.0), polling.LONGEST)


# draft-ietf-httpapi-ratelimit-headers: `RateLimit: "policy";r=0;t=30`; until -07 `limit=100, remaining=0,
# reset=30`, and until -05 fields of their own, as others had them with X- before.
def _rate_limits(response: Response) -> Iterator[tuple[float | None, float | None]]:
    given = ", ".join(_text(value) for value in response.headers.getlist("RateLimit"))
    texts = [
        (match and match[1], reset and reset[1])
        for policy in (given.split(",") if ";" in given else [given])
        for match, reset in [(REMAINING.search(policy), RESET.search(policy))]
    ]
    texts += [(header(response, f"{n}-Remaining"), header(response, f"{n}-Reset")) for n in RATE_LIMITS]
    for remaining, reset in texts:
        if remaining is not None or reset is not None:
            yield _number(remaining), _reset(response, reset)


def _reset(response: Response, text: str | None) -> float | None:
    number = _seconds(text or "") if (given := _number(text)) is None else given
    if number is None or number <= polling.LONGEST:
        return number
    if number > MILLISECONDS:
        number /= 1000
    sent = _seconds(header(response, "Date") or "")
    return number - (time() if sent is None else sent)


def _number(text: str | None) -> float | None:
    match = NUMBER.fullmatch(text.strip()) if text else None
    return None if match is None else float(match[0])


# RFC 9110, 10.2.3: Retry-After = HTTP-date / delay-seconds.
def retry_after(response: Response) -> float:
    """Return how many seconds a response asks to wait; 0 without a valid Retry-After.

    A date is compared with the response's `Date`, since the clocks of two machines differ.
    """
    value = (response.headers.get("Retry-After") or b"").decode("latin-1").strip()
    if value.isdecimal() and value.isascii():
        return min(float(value), polling.LONGEST)
    until, now = _seconds(value), _seconds((response.headers.get("Date") or b"").decode("latin-1"))
    return 0.0 if until is None else min(until - (time() if now is None else now), polling.LONGEST)


def _seconds(http_date: str) -> float | None:
    with contextlib.suppress(ValueError, TypeError, IndexError, OverflowError):
        date = parsedate_to_datetime(http_date)
        return (date if date.tzinfo else date.replace(tzinfo=timezone.utc)).timestamp()
    return None
