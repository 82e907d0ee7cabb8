"""Middlewares for responses: decompression, truncated bodies, redirects, validators, missing pages."""

from __future__ import annotations

import logging
import sys
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import brotli
from scrapy import Request
from scrapy.downloadermiddlewares import httpcompression, redirect
from scrapy.downloadermiddlewares.retry import get_retry_request
from scrapy.exceptions import DownloadTimeoutError, ResponseDataLossError
from scrapy.utils.gz import gzip_magic_number

from fhcrawl.crawling import requests
from fhcrawl.crawling.context import (
    CAPTURED,
    RESPONSE,
    CaptureRequest,
    context_of,
    find_context,
    header,
    is_of_user,
    is_of_web_archive,
    with_context,
)
from fhcrawl.crawling.failures import NotACapture, ResponseTooLarge, describe_attempt
from fhcrawl.documents.dates import utc
from fhcrawl.documents.links import header_targets
from fhcrawl.exceptions import FhcrawlError
from fhcrawl.extensions import Component
from fhcrawl.logical_feed.platforms import NOT_FOUND
from fhcrawl.utils import addresses
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

logger = logging.getLogger(__name__)

CHUNK = 65_536  # octets of input or output of a decompressor at a time
FIRST_CHUNK = 1024  # octets of a stream, which may be much shorter than CHUNK
# Streams that one body may consist of: each takes some microseconds, even if it is empty.
MOST_STREAMS = 10_000
# Gzip files that a server compresses again, or that were compressed twice. There are files that decompress to
# themselves.
MOST_UNDECLARED = 2
GZIP_NAMES, GZIP_BEGIN = (b"gzip", b"x-gzip"), b"\x1f\x8b\x08"
GZIP, RAW = zlib.MAX_WBITS | 16, -zlib.MAX_WBITS


class NoEndError(FhcrawlError):
    """A compressed body whose end is missing or wrong."""


# Scrapy's middleware returns the data before a fault, and does not detect gzip that no header declares.
class HttpCompressionMiddleware(httpcompression.HttpCompressionMiddleware):
    """Decompresses gzip by its magic number too, and retries incomplete bodies (RETRY_TIMES)."""

    def __init__(self, *, crawler: Crawler) -> None:
        super().__init__(crawler=crawler)
        self._crawler = crawler
        self._limit = crawler.settings.getint("DOWNLOAD_MAXSIZE")

    def process_response(self, request: Request, response: Response, *_: Any) -> Request | Response:
        """:raises ResponseDataLossError: if the body is still incomplete after all retries"""
        limit = request.meta.get("download_maxsize", self._limit)
        for _undeclared in range(1 + MOST_UNDECLARED):
            response = _with_actual_encoding(response)
            if not is_complete(response.body, _codings(response), limit):
                retry = get_retry_request(request, spider=self._crawler.spider, reason="truncated")  # type: ignore[arg-type]
                if retry is None:
                    raise ResponseDataLossError
                return retry
            response = super().process_response(request, response)  # type: ignore[assignment]
            if not gzip_magic_number(response):
                break
        return response


# Some archives and crawlers keep decompressed bodies with the original header, and some servers declare twice
# what they have compressed once: declare gzip as the last coding, once, only if the body begins with it.
def _with_actual_encoding(response: Response) -> Response:
    names = _codings(response)
    is_declared = bool(names) and names[-1] in GZIP_NAMES
    while names and names[-1] in GZIP_NAMES:
        names.pop()
    if gzip_magic_number(response) and (is_declared or not names or names[-1] not in DECOMPRESS):
        names.append(b"gzip")
    headers = response.headers.copy()
    headers.setlist("Content-Encoding", [b", ".join(names)] if names else [])
    return response.replace(headers=headers)


def _codings(response: Response) -> list[bytes]:
    fields = b",".join(response.headers.getlist("Content-Encoding"))
    return [name.strip().lower() for name in fields.split(b",") if name.strip()]


def is_complete(body: bytes, names: list[bytes], limit: int) -> bool:
    """Return whether a body with these codings is complete, or larger than `limit`."""
    try:
        while body and names and names[-1] in DECOMPRESS:
            pieces, size = [], 0
            for piece in DECOMPRESS[names.pop()](body):
                size += len(piece)
                if 0 < limit < size:
                    return True
                if names:  # there is another coding
                    pieces.append(piece)
            body = b"".join(pieces)
    except (NoEndError, zlib.error, brotli.error, zstd.ZstdError):
        return False
    return True


def _count_stream(streams: int) -> int:
    if streams == MOST_STREAMS:
        raise ResponseTooLarge(f"consists of more than {MOST_STREAMS} compressed streams")
    return streams + 1


def _gunzip(body: bytes) -> Iterator[bytes]:
    # RFC 1952, 2.2: "A gzip file consists of a series of members". Other data behind a member is ignored.
    member = streams = 0
    while member >= 0:
        streams = _count_stream(streams)
        end = yield from _inflated(zlib.decompressobj(GZIP), body, member)
        member = body.find(GZIP_BEGIN, end)


# RFC 9110, 8.4.1.2: deflate is zlib's format; "some non-conformant implementations send the "deflate"
# compressed data without the zlib wrapper".
def _undeflate(body: bytes) -> Iterator[bytes]:
    try:
        zlib.decompressobj().decompress(body, 1)
        stream = zlib.decompressobj()
    except zlib.error:
        stream = zlib.decompressobj(RAW)
    yield from _inflated(stream, body, 0)


# Returns the position after the stream.
def _inflated(stream: Any, body: bytes, position: int) -> Generator[bytes, None, int]:
    size = FIRST_CHUNK
    while not stream.eof:
        piece = body[position : position + size]
        size = CHUNK
        if not piece:
            yield stream.flush()
            if not stream.eof:
                raise NoEndError
        position += len(piece)
        while piece:
            yield stream.decompress(piece, CHUNK)
            piece = stream.unconsumed_tail
    return position - len(stream.unused_data)


def _unbrotli(body: bytes) -> Iterator[bytes]:
    stream = brotli.Decompressor()
    for position in range(0, len(body), CHUNK):
        piece = stream.process(body[position : position + CHUNK], output_buffer_limit=CHUNK)
        while piece:
            yield piece
            piece = b"" if stream.is_finished() else stream.process(b"", output_buffer_limit=CHUNK)
    if not stream.is_finished():
        raise NoEndError


# RFC 8878, 3.1: "Zstandard compressed data is made up of one or more frames."
def _unzstd(body: bytes) -> Iterator[bytes]:
    stream, streams = zstd.ZstdDecompressor(), 1
    for position in range(0, len(body), CHUNK):
        piece = body[position : position + CHUNK]
        while piece or not (stream.eof or stream.needs_input):
            if stream.eof:
                stream, streams = zstd.ZstdDecompressor(), _count_stream(streams)
            yield stream.decompress(piece, CHUNK)
            piece = stream.unused_data
    if not stream.eof:
        raise NoEndError


DECOMPRESS: dict[bytes, Callable[[bytes], Iterator[bytes]]] = {
    **dict.fromkeys(GZIP_NAMES, _gunzip),
    b"deflate": _undeflate,
    b"br": _unbrotli,
    b"zstd": _unzstd,
}


class CutOffMiddleware(Component):
    """With DOWNLOAD_FAIL_ON_DATALOSS off, retries truncated responses (RETRY_TIMES), and logs timeouts."""

    def process_response(self, request: Request, response: Response) -> Request | Response:
        if "dataloss" not in response.flags or self._crawler.spider is None:
            return response
        retry = get_retry_request(request, spider=self._crawler.spider, reason="truncated")
        return retry or response

    def process_exception(self, request: Request, exception: Exception) -> None:
        settings, meta = self._crawler.settings, request.meta
        most = 0 if meta.get("dont_retry") else meta.get("max_retry_times", settings.getint("RETRY_TIMES"))
        if isinstance(exception, DownloadTimeoutError) and meta.get("retry_times", 0) < most:
            logger.warning("%s times out (%s): trying again", request.url, describe_attempt(request))


# Scrapy's middleware removes only Cookie and Authorization from a request to another host, and warns that
# RefererMiddleware is missing.
class RedirectMiddleware(redirect.RedirectMiddleware):
    """Sends no Referer, a feed's own headers only to its host, and no credentials of redirects."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler.settings)
        middleware.crawler = crawler
        return middleware

    def handle_referer(self, request: Request, response: Response) -> None:
        request.headers.pop("Referer", None)
        if not is_of_user(request):
            # With the slot of the old host, the request would not be delayed in that of the new host.
            request.meta.pop("download_slot", None)

    def process_response(  # type: ignore[override]  # Scrapy's still takes a spider
        self, request: Request, response: Response
    ) -> Request | Response:
        location = response.headers.get("Location")
        if location is not None and not is_of_user(request):
            target = _secured(request, response, addresses.without_credentials(location.decode("latin-1")))
            response.headers["Location"] = target.encode("latin-1")
        redirected = super().process_response(request, response)
        context = find_context(redirected) if isinstance(redirected, Request) else None
        if context is not None:
            allowed_headers = requests.user_headers(context.walk, redirected.url)
            for name in context.walk.options.headers.keys() - allowed_headers.keys():
                redirected.headers.pop(name, None)
        return redirected


# `addresses.secured`, unless the redirect would then lead nowhere.
def _secured(request: Request, response: Response, target: str) -> str:
    context = find_context(request)
    if context is None or is_of_web_archive(context):
        return target
    secure = requests.secured_after(target, context, response.url)
    return target if secure == response.url else secure


class ValidatorsMiddleware:
    """Sends ETag and Last-Modified only to the URL whose response had them.

    After a 304 that names another charset, the document is requested without conditions. A document that was
    read under another feed's name in this crawl is not requested again.
    """

    def process_request(self, request: Request) -> Response | None:
        response: Response | None = request.meta.pop(RESPONSE, None)
        context = find_context(request)
        if response is not None or context is None or context.last_reading is None:
            return response
        for name in requests.VALIDATED:
            request.headers.pop(name, None)
        request.headers.update(requests.conditions(request))
        return None

    def process_response(self, request: Request, response: Response) -> Request | Response:
        if response.status != requests.NOT_MODIFIED or not requests.conditions(request):
            return response
        context = context_of(request)
        if context.last_reading is None or context.body_digest is None:
            return response
        if not requests.corrects_charset(response, context.body_digest):
            return response
        logger.info("%s is unchanged, but its charset has changed: reading it again", request.url)
        last = replace(context.last_reading, validated_url=None, etag=None, last_modified=None)
        return with_context(request, replace(context, last_reading=last))


class NoPageMiddleware:
    """Changes a 500, which some software sends for a page that does not exist, to a 404."""

    def process_response(self, request: Request, response: Response) -> Response:
        context = find_context(request)
        if context is None or context.software is None:
            return response
        is_missing = context.software.is_denied(context.requested_url, response.status, response.body)
        return response.replace(status=NOT_FOUND) if is_missing else response


OK = 200
# The relations of an archive's own links: RFC 7089, 2.2.
ARCHIVE_RELATIONS = frozenset({"original", "timegate", "timemap", "memento"})
TO_THE_SECOND = len("2003-12-13T18:30:02")


class MementosMiddleware:
    """Sets the time and the URL of a capture.

    An archive may serve another capture than the requested one; the time in its response is used. This
    middleware precedes retries and redirects: an archived 302 or 404 is not the archive's own response.
    """

    def process_response(self, request: Request, response: Response) -> Response:
        """:raises NotACapture: if the response is not a capture, or is a captured error"""
        context = find_context(request)
        capture = None if context is None else context.task
        if context is None or not isinstance(capture, CaptureRequest) or capture.is_in_warc:
            return response
        if "Memento-Datetime" not in response.headers and response.status != OK:
            return response
        time = utc(header(response, "Memento-Datetime") or "")
        if time is None:
            raise NotACapture("is not a capture: the web archive does not say when it was made")
        if response.status != OK:
            raise NotACapture(f"is not a document, but a captured response with status {response.status}")
        request.meta[CAPTURED] = min(f"{time[:TO_THE_SECOND]}Z", now())
        headers = response.headers.copy()
        link_headers = headers.pop("Link", [])
        url = context.requested_url
        if of_document := [value for value in link_headers if not _is_of_archive(value, url)]:
            headers.setlist("Link", of_document)
        return response.replace(url=url, headers=headers)


# The next capture is not the next page.
def _is_of_archive(link_header: bytes, url: str) -> bool:
    targets = header_targets([link_header.decode("latin-1")], url)
    return any(relation in ARCHIVE_RELATIONS for relation, _target in targets)
