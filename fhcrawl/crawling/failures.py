"""Converts refusals and Scrapy's failures to `DocumentFailure`: a state, a kind and a sentence for each."""

from __future__ import annotations

import re
from dataclasses import replace
from time import time
from typing import TYPE_CHECKING

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)
from scrapy.spidermiddlewares.httperror import HttpError
from twisted.internet.error import ConnectionClosed

from fhcrawl.crawling.context import BEGUN, header, header_text, timestamp_of
from fhcrawl.exceptions import FhcrawlError
from fhcrawl.logical_feed import polling
from fhcrawl.logical_feed.results import DocumentFailure, State
from fhcrawl.reasons import ReasonKind
from fhcrawl.utils.text import numbered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure


CHALLENGE = "is behind a browser challenge, which a crawler cannot solve"
# Header fields, and their values in the response of a challenge.
HEADERS = {
    "cf-mitigated": {b"challenge"},  # Cloudflare
    "x-vercel-mitigated": {b"challenge"},
    "x-amzn-waf-action": {b"challenge", b"captcha"},
}
# Markers at the beginning of a page: paths and variables that do not occur in these services' ordinary pages.
MARKERS = (
    rb"<title[^>]*>\s*Just a moment\.\.\.",  # Cloudflare
    # Anubis; the apostrophe of "you're" can be a reference.
    rb"<title[^>]*>\s*Making sure you[^<]{1,8}re not a (?:ro)?bot",
    rb"<title[^>]*>\s*DDoS-Guard",
    rb"<title[^>]*>\s*(?:Vercel Security Checkpoint|Checking your browser)",
    rb"_cf_chl_opt\b",
    rb"/\.within\.website/x/cmd/anubis/",
    rb"/\.well-known/sgcaptcha/",  # SiteGround
    rb"\bsucuri_cloudproxy_js\b",
    rb"/_Incapsula_Resource\?",  # Imperva
    rb"//(?:geo\.)?captcha-delivery\.com/",  # DataDome
    rb"\bAwsWafIntegration\b",
    rb"\.gammaspectra\.live/git/go-away/",
)
MARKER = re.compile(b"|".join(MARKERS), re.IGNORECASE)
LONGEST_BEGINNING = 64 * 1024  # octets


def is_challenge(response: Response) -> bool:
    for name, values in HEADERS.items():
        if (response.headers.get(name) or b"").strip().lower() in values:
            return True
    return MARKER.search(response.body[:LONGEST_BEGINNING]) is not None


class RefusedUrl(FhcrawlError, IgnoreRequest):  # noqa: N818
    def __init__(self, kind: ReasonKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class LimitReached(FhcrawlError, IgnoreRequest):  # noqa: N818
    """A request beyond a limit of the user's settings.

    :param wait: seconds during which the server wants no requests
    """

    def __init__(self, message: str, wait: float = 0, kind: ReasonKind = ReasonKind.LIMIT) -> None:
        super().__init__(message)
        self.wait, self.kind = wait, kind


class NotACapture(FhcrawlError, IgnoreRequest):  # noqa: N818
    """A response of a web archive that is no capture of a document."""


class ResponseTooLarge(FhcrawlError, IgnoreRequest):  # noqa: N818
    """A response with too many octets of headers, content codings, or compressed streams."""


SECONDS = "FHCRAWL_MAX_SECONDS"


def time_left(request: Request, seconds: int) -> float | None:
    """Return the seconds that a request's feed has left of FHCRAWL_MAX_SECONDS; None without a limit."""
    begun = request.meta.get(BEGUN)
    return None if not seconds or begun is None else max(begun + seconds - time(), 0)


def time_is_over(seconds: int) -> str:
    """Return why the walk of a feed was stopped, as a sentence without a subject."""
    return f"{SECONDS} limits a crawl to {numbered(seconds, 'second', 'seconds')}"


UNREACHABLE = (ReasonKind.NO_HOST, ReasonKind.CONNECTION_REFUSED)
REFUSES = "cannot be fetched: connection refused"
# RFC 5005, 4.1: publishers "may refuse to serve (e.g., with HTTP status code 403 or 410) or be unable to
# serve (e.g., with HTTP status code 404) an archive document".
STATUSES = {
    206: (State.FAILED, "is sent only in part, although all of it was requested (206)"),
    226: (State.FAILED, "is sent as a delta that was not requested (226)"),
    401: (State.REFUSED, "requires a password (401)"),
    403: (State.REFUSED, "cannot be fetched: access denied (403)"),
    404: (State.MISSING, "is missing (404)"),
    410: (State.MISSING, "has been removed permanently (410)"),
    429: (State.FAILED, "cannot be fetched for now: too many requests"),
    451: (State.REFUSED, "is unavailable for legal reasons (451)"),
}
UNEXPECTED = "cannot be fetched: the server sent an unexpected 304 (not modified)"
UNEXPECTED_304 = DocumentFailure(State.FAILED, ReasonKind.http(304), UNEXPECTED)
NO_SNAPSHOT = DocumentFailure(
    State.INVALID, ReasonKind.NOT_A_SNAPSHOT, "is a feed, not the index of a snapshot"
)
EXCEPTIONS = {
    DownloadTimeoutError: (State.FAILED, ReasonKind.TIMEOUT, "times out"),
    CannotResolveHostError: (State.FAILED, ReasonKind.NO_HOST, "cannot be fetched: host name not found"),
    FileNotFoundError: (State.MISSING, ReasonKind.NO_FILE, "does not exist"),
    PermissionError: (State.REFUSED, ReasonKind.NO_FILE, "cannot be read: permission denied"),
    DownloadConnectionRefusedError: (State.FAILED, ReasonKind.CONNECTION_REFUSED, REFUSES),
    UnsupportedURLSchemeError: (State.REFUSED, ReasonKind.REFUSED_URL, "has an unsupported URL scheme"),
    ResponseDataLossError: (State.FAILED, ReasonKind.CUT_OFF, "arrives incomplete"),
}
# In HttpCompressionMiddleware's message, which begins with the URL.
DECOMPRESSION = "exceeded DOWNLOAD_MAXSIZE"
# In that message, and in those of DownloadCancelledError.
MAXSIZE = re.compile(r"(?:max size|DOWNLOAD_MAXSIZE) \((\d+)")
ROBOTS = "Forbidden by robots.txt"


def document_failure(failure: Failure) -> DocumentFailure:
    result, request = failure_of_error(failure.value), getattr(failure, "request", None)
    if result.kind is not ReasonKind.TIMEOUT or request is None:
        return result
    return replace(result, detail=f"{result.detail} ({describe_attempt(request)})")


def describe_attempt(request: Request) -> str:
    return f"{request.meta.get('download_timeout', 0):g} s, attempt {request.meta.get('retry_times', 0) + 1}"


def failure_of_error(error: BaseException | None) -> DocumentFailure:
    return DocumentFailure(*_state_kind_detail(error))


def _state_kind_detail(error: BaseException | None) -> tuple[State, ReasonKind, str]:
    if isinstance(error, HttpError):
        return _status_failure(error.response)
    for exception, failure in EXCEPTIONS.items():
        if isinstance(error, exception):
            return failure
    if isinstance(error, RefusedUrl):
        return State.REFUSED, error.kind, f"is not fetched: {error}"
    if isinstance(error, LimitReached):
        return State.KNOWN, error.kind, f"was left for a later run: {error}"
    if isinstance(error, (IgnoreRequest, DownloadCancelledError)):
        return _ignored_request(error)
    return State.FAILED, ReasonKind.DOWNLOAD_ERROR, f"cannot be fetched ({_error_text(error)})"


def _status_failure(response: Response) -> tuple[State, ReasonKind, str]:
    status = response.status
    if is_challenge(response):
        return State.REFUSED, ReasonKind.CHALLENGE, f"{CHALLENGE} ({status})"
    default = State.FAILED, f"cannot be fetched: HTTP status {status}"
    state, detail = STATUSES.get(status, default)
    return state, ReasonKind.http(status), detail


def _error_text(error: BaseException | None) -> str:
    # Twisted's exception; Scrapy's has only its repr.
    twisted_error = getattr(error, "__cause__", None)
    reasons = [reason.value for reason in getattr(twisted_error, "reasons", ())]
    if not reasons:
        return str(error) or type(error).__name__
    if all(isinstance(reason, ConnectionClosed) for reason in reasons):
        return "the server closed the connection without a response"
    return "; ".join(f"{type(reason).__name__}: {reason}" for reason in reasons)


def wait_of(failure: Failure) -> float:
    """Return how many seconds to wait before the next request to the server; 0 for no wait."""
    error = failure.value
    if isinstance(error, HttpError):
        return requested_wait(error.response)
    return error.wait if isinstance(error, LimitReached) else 0


def _ignored_request(error: IgnoreRequest | DownloadCancelledError) -> tuple[State, ReasonKind, str]:
    message = str(error)
    if isinstance(error, DownloadCancelledError) or DECOMPRESSION in message:
        maxsize = MAXSIZE.search(message)
        allowed = f"DOWNLOAD_MAXSIZE ({maxsize[1]} bytes)" if maxsize else "DOWNLOAD_MAXSIZE"
        return State.REFUSED, ReasonKind.TOO_LARGE, f"is larger than {allowed}"
    if isinstance(error, NotACapture):
        return State.INVALID, ReasonKind.NOT_A_FEED, message
    if isinstance(error, ResponseTooLarge):
        return State.REFUSED, ReasonKind.TOO_LARGE, message
    if message == ROBOTS:
        return State.REFUSED, ReasonKind.ROBOTS_TXT, "is not fetched: robots.txt disallows it"
    if "redirect" in message:
        return State.FAILED, ReasonKind.REDIRECTS, "has too many redirects"
    detail = f"is not fetched ({message or 'a middleware dropped the request'})"
    return State.REFUSED, ReasonKind.IGNORED, detail


# -- pauses that servers request -------------------------------------------------------------------------

FORBIDDEN, TOO_MANY = 403, 429
# Seconds; for a server that requests a pause without a duration.
PAUSE = 60.0
RATE_LIMITS = ("RateLimit", "X-RateLimit", "X-Rate-Limit")
NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")
REMAINING = re.compile(r"\b(?:r|remaining)\s*=\s*([0-9]+)")
RESET = re.compile(r"\b(?:t|reset)\s*=\s*([0-9]+)")
MILLISECONDS = 1e11  # larger numbers are not seconds since 1970


# RFC 6585, 4: 429 is "too many requests". Some servers send 403 instead.
def requested_wait(response: Response) -> float:
    """Return the seconds until the next request that a response allows; 0 for no wait.

    A 429 always requires a wait, as does a 403 whose rate limit fields allow no more requests.
    """
    seconds = retry_after(response)
    if seconds <= 0 and response.status in (FORBIDDEN, TOO_MANY):
        is_too_many = response.status == TOO_MANY
        resets = [
            0.0 if reset is None else reset
            for remaining, reset in _rate_limits(response)
            if remaining == 0 or (remaining is None and is_too_many)
        ]
        if resets or is_too_many:
            seconds = max(resets, default=0.0)
            seconds = seconds if seconds > 0 else PAUSE
    return min(max(seconds, 0.0), polling.LONGEST)


# draft-ietf-httpapi-ratelimit-headers: `RateLimit: "policy";r=0;t=30`; until -07 `limit=100, remaining=0,
# reset=30`, and until -05 separate fields; older servers send these with the prefix X-.
def _rate_limits(response: Response) -> Iterator[tuple[float | None, float | None]]:
    fields = ", ".join(header_text(value) for value in response.headers.getlist("RateLimit"))
    texts = [
        (match and match[1], reset and reset[1])
        for policy in (fields.split(",") if ";" in fields else [fields])
        for match, reset in [(REMAINING.search(policy), RESET.search(policy))]
    ]
    texts += [(header(response, f"{n}-Remaining"), header(response, f"{n}-Reset")) for n in RATE_LIMITS]
    for remaining, reset in texts:
        if remaining is not None or reset is not None:
            yield _parse_number(remaining), _seconds_to_reset(response, reset)


def _seconds_to_reset(response: Response, text: str | None) -> float | None:
    seconds = timestamp_of(text or "") if (parsed := _parse_number(text)) is None else parsed
    if seconds is None or seconds <= polling.LONGEST:
        return seconds
    if seconds > MILLISECONDS:
        seconds /= 1000
    sent_at = timestamp_of(header(response, "Date") or "")
    return seconds - (time() if sent_at is None else sent_at)


def _parse_number(text: str | None) -> float | None:
    match = NUMBER.fullmatch(text.strip()) if text else None
    return None if match is None else float(match[0])


# RFC 9110, 10.2.3: Retry-After = HTTP-date / delay-seconds.
def retry_after(response: Response) -> float:
    """Return the seconds in Retry-After; 0 without a valid Retry-After.

    A date is compared with the response's `Date`, since the clocks of two machines differ.
    """
    value = (response.headers.get("Retry-After") or b"").decode("latin-1").strip()
    if value.isdecimal() and value.isascii():
        return min(float(value), polling.LONGEST)
    until = timestamp_of(value)
    sent_at = timestamp_of((response.headers.get("Date") or b"").decode("latin-1"))
    return 0.0 if until is None else min(until - (time() if sent_at is None else sent_at), polling.LONGEST)
