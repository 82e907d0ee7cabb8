"""Writes responses to WARC files."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http
import os
from dataclasses import dataclass, field
from io import BytesIO, FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from fhcrawl import __version__
from fhcrawl.store.mementos import Capture
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import Collection

    from scrapy import Request
    from scrapy.http import Headers, Response

    from fhcrawl.store.mementos import StoredCaptures

OPEN = ".open"
VERSION = "WARC/1.1"
PROFILES = "http://netpreserve.org/warc/1.1/revisit/"
NOT_MODIFIED = 304
CONDITIONS = (b"If-Modified-Since", b"If-None-Match")
# Other headers of requests are not written, because they could be credentials.
HARMLESS = frozenset((b"Accept", b"Accept-Encoding", b"Accept-Language", *CONDITIONS, b"User-Agent"))
SECRET = frozenset({b"Set-Cookie", b"Set-Cookie2"})


@dataclass
class WarcFiles:
    """A series of WARC files, each created when it is needed; until closed, its name ends in `.open`."""

    template: str  # path with placeholders, from `check_template`
    placeholders: dict[str, Any]  # their values; `serial` is set here
    largest: int  # size in octets after which a new file is begun; 0 is no limit
    info: dict[str, str]
    base: Path = Path()  # of a relative path
    _serial: int = field(default=0, init=False)
    _file: FileIO | None = field(default=None, init=False)

    def append(self, response: Response, request: Request, earlier: Capture | None) -> tuple[Capture, bool]:
        """Write a response and its request; return whether the record is a revisit of an earlier capture.

        :raises OSError: if it cannot be written; then the file is not changed
        """
        file = self._file or self._create()
        headers = record_headers(response, request, earlier)
        is_revisit = "WARC-Profile" in headers
        body = b"" if is_revisit else response.body
        url, file_headers = _target(response.url), {"WARC-Warcinfo-ID": self._id}
        create = self._writer.create_warc_record
        record = create(
            url,
            "revisit" if is_revisit else "response",
            payload=BytesIO(body),
            length=len(body),
            http_headers=_response_headers(response),
            warc_headers_dict={**headers, **file_headers},
        )
        request_record = create(
            url, "request", http_headers=_request_headers(request), warc_headers_dict=file_headers
        )
        self._writer.write_request_response_pair(request_record, record)
        self._flush(file)
        if self.largest and file.tell() >= self.largest:
            self.close()
        header = record.rec_headers.get_header
        digest, record_id = header("WARC-Payload-Digest", ""), header("WARC-Record-ID")
        return Capture(url, digest, record_id, header("WARC-Date"), str(self._path), self._id), is_revisit

    def _create(self) -> FileIO:
        while True:
            self._serial = self.placeholders["serial"] = self._serial + 1
            path = self._path
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                with contextlib.suppress(FileExistsError):
                    file = FileIO(f"{path}{OPEN}", "xb")
                    break
        self._buffer = BytesIO()
        self._writer = WARCWriter(self._buffer, gzip=path.suffix == ".gz", warc_version=VERSION)
        record = self._writer.create_warcinfo_record(path.name, self.info)
        self._id = record.rec_headers.get_header("WARC-Record-ID")
        self._writer.write_record(record)
        self._flush(file)
        self._file = file
        return file

    # Each response is written at once, so that the file remains readable if the process dies. On an error,
    # nothing is appended.
    def _flush(self, file: FileIO) -> None:
        written, begin = memoryview(self._buffer.getvalue()), file.tell()
        try:
            while written:
                written = written[file.write(written) :]
        except OSError:
            file.truncate(begin)
            raise
        self._buffer.seek(0)
        self._buffer.truncate()

    def close(self) -> None:
        """Close the current file, and remove `.open` from its name.

        :raises OSError: if it cannot be closed
        """
        if self._file is not None:
            file, self._file = self._file, None
            os.fsync(file.fileno())
            file.close()
            Path(f"{self._path}{OPEN}").rename(self._path)

    @property
    def _path(self) -> Path:
        return (self.base / (self.template % self.placeholders)).absolute()


def info(user_agent: str, robots: bool) -> dict[str, str]:
    return {
        "software": f"fhcrawl/{__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "robots": "obey" if robots else "ignore",
        "http-header-user-agent": printable(user_agent),
    }


def digest(body: bytes) -> str:
    """Return the digest in the form of WARC-Payload-Digest."""
    return f"sha1:{base64.b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode('ascii')}"


def find_earlier(captures: StoredCaptures, response: Response, request: Request) -> Capture | None:
    """Return the capture that a response repeats; None if its body must be written.

    :raises StoreError: if the store cannot be read
    """
    if _is_not_modified(response, request):
        return captures.find(_target(response.url))
    capture = captures.find_by_digest(digest(response.body)) if response.body else None
    # The file of the capture may have been removed or replaced.
    files = (Path(f"{capture.file}{ending}") for ending in ("", OPEN)) if capture is not None else ()
    return (
        capture if capture is not None and any(_file_id(file) == capture.file_id for file in files) else None
    )


def _file_id(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            record = next(ArchiveIterator(file), None)
    except (OSError, ArchiveLoadFailed):
        return None
    return None if record is None else record.rec_headers.get_header("WARC-Record-ID")


def _is_not_modified(response: Response, request: Request) -> bool:
    return response.status == NOT_MODIFIED and any(name in request.headers for name in CONDITIONS)


# With WARC-Profile, for a revisit record.
def record_headers(response: Response, request: Request, earlier: Capture | None) -> dict[str, str]:
    headers = {}
    if response.ip_address is not None:
        headers["WARC-IP-Address"] = str(response.ip_address)
    if "dataloss" in response.flags:
        headers["WARC-Truncated"] = "disconnect"
    if _is_not_modified(response, request):
        headers["WARC-Profile"] = f"{PROFILES}server-not-modified"
    elif earlier is not None:
        headers["WARC-Profile"] = f"{PROFILES}identical-payload-digest"
    if earlier is not None:
        headers["WARC-Refers-To"] = earlier.record
        headers["WARC-Refers-To-Target-URI"] = earlier.url
        headers["WARC-Refers-To-Date"] = earlier.date
        headers["WARC-Payload-Digest"] = earlier.digest
    return headers


# Without user name, password and fragment.
def _target(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()


# warcio's class encodes characters that are not ASCII.
class HttpHeaders(StatusAndHeaders):  # type: ignore[misc]
    def to_ascii_bytes(self, filter_func: Any = None) -> bytes:
        written: bytes = self.to_bytes(filter_func, "latin-1")
        return written


# Scrapy keeps neither the reason phrase nor the order and case of header names.
def _response_headers(response: Response) -> HttpHeaders:
    try:
        phrase = http.HTTPStatus(response.status).phrase
    except ValueError:
        phrase = ""
    protocol = response.protocol if response.protocol in ("HTTP/1.0", "HTTP/1.1") else "HTTP/1.1"
    names = [name for name in response.headers if name not in SECRET]
    return HttpHeaders(f"{response.status} {phrase}", _lines(response.headers, names), protocol)


def _request_headers(request: Request) -> HttpHeaders:
    parts = urlsplit(_target(request.url))
    path = parts._replace(scheme="", netloc="").geturl() or "/"
    names = [name for name in request.headers if name in HARMLESS]
    lines = [("Host", parts.netloc), *_lines(request.headers, names)]
    return HttpHeaders(f"{request.method} {path} HTTP/1.1", lines, is_http_request=True)


def _lines(headers: Headers, names: Collection[bytes]) -> list[tuple[str, str]]:
    return [
        (name.decode("latin-1"), value.decode("latin-1")) for name in names for value in headers.getlist(name)
    ]
