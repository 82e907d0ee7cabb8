"""What a response and its request say, beside the document: what was asked for, headers, bytes."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import replace
from datetime import timezone
from email.utils import parsedate_to_datetime
from time import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urlsplit

from scrapy import Request

from fhcrawl.crawling import given_hosts
from fhcrawl.crawling.context import DELTAFETCH_KEY, context_of, find_context, set_walk
from fhcrawl.crawling.parser import Job
from fhcrawl.documents import Bounds, detection, limits
from fhcrawl.documents.dates import shift
from fhcrawl.documents.xml.elements import LONGEST_URL
from fhcrawl.exceptions import FhcrawlError
from fhcrawl.logical_feed import Role, polling
from fhcrawl.logical_feed.ordering import latest_time
from fhcrawl.logical_feed.relations import FeedQuirks
from fhcrawl.logical_feed.results import Fetch
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from fhcrawl.crawling.context import WalkContext
    from fhcrawl.crawling.subscriptions import FeedOptions

# RFC 9110, 15.4: 301 and 308 are permanent: "the target resource has been assigned a new permanent URI".
NOT_MODIFIED = 304
PERMANENT = (301, 308)
# The URL of requests for what is no URL that can be fetched: they are refused like others.
UNFETCHABLE_URL = "nowhere://nowhere/"
VALIDATED = ("If-None-Match", "If-Modified-Since")


def request_of(response: Response) -> Request:
    """The request of a response: after a redirect another one, but with the first's cb_kwargs and meta."""
    if response.request is None:
        raise FhcrawlError(f"A response without a request: {response.url}")
    return response.request


def fetch_from_request(request: Request, wait: float = 0) -> Fetch:
    """Return what was asked for, if nothing came.

    :param wait: for how many seconds the server wants no request
    """
    fetch = _fetch(request, request.url)
    return replace(fetch, retry_after=shift(fetch.fetched, int(wait))) if wait > 0 else fetch


def fetch_from_response(response: Response) -> Fetch:
    """Return what was asked for, and came."""
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
        special=given_hosts.to_store(context.walk),
    )


def note_growth(response: Response, size: int) -> None:
    """Let a document count with what is stored of it, if that is more (FHCRAWL_MAX_BYTES).

    Requests that are made after this hand it on.

    :param size: octets that are stored
    """
    if size > len(response.body):
        walk = context_of(response).walk
        set_walk(response, replace(walk, octets=walk.octets + size - len(response.body)))


def _location(request: Request, location: str, url: str) -> str:
    """Where a document is from now on: as far as all redirects were permanent.

    :param location: where it was asked for
    """
    targets = [*request.meta.get("redirect_urls", [])[1:], url]
    for reason, target in zip(request.meta.get("redirect_reasons", ()), targets, strict=False):
        if reason not in PERMANENT:
            break
        location = target
    return location


def quirks_of(options: FeedOptions) -> FeedQuirks:
    """What the user says of the publisher."""
    return FeedQuirks(options.next == "archive", options.reversed)


def options_key(walk: WalkContext) -> str:
    """How a feed is read, by what the user says of it; '' for what all others are read like."""
    says = {
        "next": walk.options.next,
        "reversed": walk.options.reversed,
        "wordpress": walk.guesses_pages,
    }
    return ",".join(f"{name}={value}" for name, value in says.items() if value)


def own_headers(walk: WalkContext, url: str) -> dict[str, str]:
    """The headers that the user gave for a feed; they may be credentials, and stay with the feed's host."""
    return walk.options.headers if urlsplit(url).netloc == urlsplit(walk.feed).netloc else {}


def request_target(url: str, walk: WalkContext) -> dict[str, Any]:
    """The URL and the user's headers of a request for a document, as a request's arguments."""
    fetched = url if is_fetchable(url) else UNFETCHABLE_URL
    return {"url": fetched, "headers": own_headers(walk, fetched)}


def is_fetchable(url: str) -> bool:
    """Whether a request can be made of a URL at all."""
    if len(url) > LONGEST_URL:
        return False
    try:
        parts = urlsplit(url)
        # A port that is none is only found when it is asked for.
        named = (parts.port or 1) and bool(parts.hostname)
        Request(url)
    except ValueError:
        return False
    return bool(named) or parts.scheme not in ("http", "https")


# RFC 9110, 8.8: a validator is of a representation of one resource. Where a redirect leads elsewhere than
# before, what its server says to another one's is about another document.
def conditions(request: Request) -> dict[str, bytes]:
    """The header fields that make a request for a subscription document conditional, in the octets that came.

    There are none unless the request is for the very URL whose response brought the validators.
    """
    context = find_context(request)
    last = None if context is None else context.last_reading
    url = None if last is None else last.validated_url
    if last is None or url is None or urldefrag(url).url != urldefrag(request.url).url:
        return {}
    values = (last.etag, last.last_modified)
    return {name: v.encode("latin-1") for name, v in zip(VALIDATED, values, strict=True) if v}


def was_asked_whether(response: Response, body_digest: str | None) -> bool:
    """Whether a document was asked for only if it has changed.

    :param body_digest: `body_digest` of what it was; None if that is not known
    """
    return body_digest is not None and bool(conditions(request_of(response)))


# RFC 9111, 3.2: the header fields of a 304 response replace the stored ones. But servers send a media type
# that is not the document's with it, or leave the charset out; neither says anything of the document.
def corrects_charset(response: Response, body_digest: str) -> bool:
    """Whether a 304 response names another charset than the one that the document was read in.

    :param body_digest: `body_digest` of what it was
    """
    media_type, charset = _declared(response)
    _digest, known_type, known_charset = f"{body_digest.partition(' ')[0]};;".split(";")[:3]
    return bool(charset) and media_type == known_type and charset != known_charset


def is_unchanged(response: Response, body_digest: str) -> bool:
    """Whether a document is what it was, by its status or by its bytes.

    :param body_digest: `body_digest` of what it was
    """
    known, _, _way = body_digest.partition(" ")
    return response.status == NOT_MODIFIED or _body_digest(response) == known


def body_digest(response: Response, walk: WalkContext) -> str:
    """Of a subscription document's bytes, URL and headers that count, with the way in which it was read."""
    return f"{_body_digest(response)} {options_key(walk)}".rstrip()


# The same bytes at another URL may lead elsewhere: relative references are resolved against it. And with
# another charset they are another text.
def _body_digest(response: Response) -> str:
    boundary = detection.boundary(header(response, "Content-Type"))
    return ";".join((digest(response, response.url, *links(response), boundary), *_declared(response)))


def _declared(response: Response) -> tuple[str, str]:
    """Media type and charset of the Content-Type header, without ';' and white space."""
    return detection.declared(header(response, "Content-Type"))


def is_read_like(body_digest: str, walk: WalkContext) -> bool:
    """Whether a document was read as what the user says now would have it read."""
    _digest, _, way = body_digest.partition(" ")
    return way == options_key(walk)


def digest(response: Response, *headers: str) -> str:
    """Of a response's bytes, and of headers."""
    found = hashlib.sha256(response.body)
    for header in headers:
        found.update(b"\n" + header.encode())
    return found.hexdigest()


def links(response: Response) -> list[str]:
    """The Link headers: a page of a multipart feed that is sealed has one more, and the same body."""
    return list(map(_text, response.headers.getlist("Link")))


def header(response: Response, name: str) -> str | None:
    """A header; None if there is none."""
    value = response.headers.get(name)
    return _text(value) if value else None


# RFC 9110, 5.5: "a recipient of CR, LF, or NUL within a field value MUST either reject the message or replace
# each of those characters with SP". Twisted leaves NUL to us.
def _text(value: bytes) -> str:
    return value.replace(b"\0", b" ").decode("latin-1")


def bounds_of(settings: BaseSettings) -> Bounds:
    """What the user's settings allow a document to hold."""
    given = (settings.getint(f"FHCRAWL_MAX_{name.upper()}") for name in Bounds._fields)
    return Bounds(*(number or none for number, none in zip(given, limits.NONE, strict=True)))


def job(response: Response, keep_originals: bool, most: Bounds) -> Job:
    """What is to be read of a response.

    :param keep_originals: entries are to know their own XML or JSON
    :param most: what it may hold
    """
    return Job(
        response.body,
        response.url,
        header(response, "Content-Type"),
        links(response),
        header(response, "Last-Modified"),
        keep_originals,
        most,
    )


# RFC 9110, 10.2.3: Retry-After = HTTP-date / delay-seconds.
def retry_after(response: Response) -> float:
    """How many seconds a response asks to wait; 0 if it does not, or nothing that can be read.

    A date is compared with the response's own (`Date`): the clocks of two machines differ. Nobody is believed
    to ask for more than `polling.LONGEST`.
    """
    return min(_retry_after(response), polling.LONGEST)


def _retry_after(response: Response) -> float:
    value = (response.headers.get("Retry-After") or b"").decode("latin-1").strip()
    if value.isdecimal() and value.isascii():
        return float(value)
    until, now = _seconds(value), _seconds((response.headers.get("Date") or b"").decode("latin-1"))
    return 0.0 if until is None else until - (time() if now is None else now)


def _seconds(http_date: str) -> float | None:
    with contextlib.suppress(ValueError, TypeError, IndexError, OverflowError):
        date = parsedate_to_datetime(http_date)
        return (date if date.tzinfo else date.replace(tzinfo=timezone.utc)).timestamp()
    return None
