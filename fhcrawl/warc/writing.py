"""Writes responses to WARC files."""

from __future__ import annotations

import base64
import hashlib
import http
import os
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from fhcrawl import __version__
from fhcrawl.store.rows import Capture
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import Collection

    from scrapy import Request
    from scrapy.http import Headers, Response

OPEN = ".open"
VERSION = "WARC/1.1"
PROFILES = "http://netpreserve.org/warc/1.1/revisit/"
NOT_MODIFIED = 304
CONDITIONS = (b"If-Modified-Since", b"If-None-Match")
# Other headers of requests are not written, because they could be credentials.
HARMLESS = frozenset((b"Accept", b"Accept-Encoding", b"Accept-Language", *CONDITIONS, b"User-Agent"))
SECRET = frozenset({b"Set-Cookie", b"Set-Cookie2"})


class WarcFile:
    """One WARC file; until it is closed, its name ends in `.open`.

    Each response is appended at once, so that the file remains readable if the process dies.
    """

    def __init__(self, path: Path, info: dict[str, str]) -> None:
        """:raises OSError: if it cannot be created"""
        self.path = path
        self._open = Path(f"{path}{OPEN}")
        self._file = self._open.open("xb", buffering=0)
        self._buffer = BytesIO()
        self._writer = WARCWriter(self._buffer, gzip=path.suffix == ".gz", warc_version=VERSION)
        record = self._writer.create_warcinfo_record(path.name, info)
        self._id = record.rec_headers.get_header("WARC-Record-ID")
        self._writer.write_record(record)
        self._flush()

    @property
    def size(self) -> int:
        """The size in octets."""
        return self._file.tell()

    def append(self, response: Response, request: Request, headers: dict[str, str]) -> Capture:
        """Write a response and its request.

        :param headers: headers of the WARC record; with WARC-Profile it is a revisit record, without the body
        :raises OSError: if it cannot be written; then the file is not changed
        """
        record_type = "revisit" if "WARC-Profile" in headers else "response"
        body = b"" if record_type == "revisit" else response.body
        url, of_file = target(response.url), {"WARC-Warcinfo-ID": self._id}
        create = self._writer.create_warc_record
        kept = create(
            url,
            record_type,
            payload=BytesIO(body),
            length=len(body),
            http_headers=_answer(response),
            warc_headers_dict={**headers, **of_file},
        )
        asked = create(url, "request", http_headers=_question(request), warc_headers_dict=of_file)
        self._writer.write_request_response_pair(asked, kept)
        self._flush()
        said = kept.rec_headers.get_header
        payload, record = said("WARC-Payload-Digest", ""), said("WARC-Record-ID")
        return Capture(url, payload, record, said("WARC-Date"), str(self.path), self._id)

    def _flush(self) -> None:
        """Append the whole buffer; on an error, append nothing."""
        written, begin = memoryview(self._buffer.getvalue()), self.size
        try:
            while written:
                written = written[self._file.write(written) :]
        except OSError:
            self._file.truncate(begin)
            raise
        self._buffer.seek(0)
        self._buffer.truncate()

    def close(self) -> None:
        """Close the file and remove `.open` from its name.

        :raises OSError: if it cannot be closed
        """
        os.fsync(self._file.fileno())
        self._file.close()
        self._open.rename(self.path)


@dataclass
class WarcFiles:
    """A series of WARC files, each created when it is needed.

    :param template: path with placeholders, from `template_of`
    :param largest: size in octets after which a new file is begun; 0 is no limit
    :param base: base of a relative path
    """

    template: str
    named: dict[str, Any]
    largest: int
    info: dict[str, str]
    base: Path = Path()
    _serial: int = field(default=0, init=False)
    _file: WarcFile | None = field(default=None, init=False)

    def append(self, response: Response, request: Request, headers: dict[str, str]) -> Capture:
        """Write a response and its request to the current file; see `WarcFile.append`."""
        if self._file is None:
            self._file = self._next()
        capture = self._file.append(response, request, headers)
        if self.largest and self._file.size >= self.largest:
            self.close()
        return capture

    def close(self) -> None:
        """Close the current file.

        :raises OSError: if it cannot be closed
        """
        if self._file is not None:
            file, self._file = self._file, None
            file.close()

    @property
    def folder(self) -> Path:
        """The folder of the current file, or of the first one if there is none yet."""
        return self._path().parent

    def _path(self) -> Path:
        return (self.base / (self.template % self.named)).absolute()

    def _next(self) -> WarcFile:
        while True:
            self._serial += 1
            self.named["serial"] = self._serial
            path = self._path()
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists():
                continue
            try:
                return WarcFile(path, self.info)
            except FileExistsError:
                continue


def info(user_agent: str, robots: bool) -> dict[str, str]:
    """Return the fields of the warcinfo record."""
    return {
        "software": f"fhcrawl/{__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "robots": "obey" if robots else "ignore",
        "http-header-user-agent": printable(user_agent),
    }


def digest(body: bytes) -> str:
    """Return the digest of a body in the form of WARC-Payload-Digest."""
    return f"sha1:{base64.b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode('ascii')}"


def is_kept(capture: Capture) -> bool:
    """Return whether the file of a capture still exists and has not been replaced by another one."""
    return any(_file_id(Path(f"{capture.file}{ending}")) == capture.file_id for ending in ("", OPEN))


def _file_id(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            record = next(ArchiveIterator(file), None)
    except (OSError, ArchiveLoadFailed):
        return None
    return None if record is None else record.rec_headers.get_header("WARC-Record-ID")


def is_not_modified(response: Response, request: Request) -> bool:
    """Return whether a response is 304 (Not Modified) to a conditional request."""
    return response.status == NOT_MODIFIED and any(name in request.headers for name in CONDITIONS)


def record_headers(response: Response, request: Request, earlier: Capture | None) -> dict[str, str]:
    """Return the headers of a response's WARC record.

    :param earlier: an earlier capture with the same body; None if there is none
    """
    headers = {}
    if response.ip_address is not None:
        headers["WARC-IP-Address"] = str(response.ip_address)
    if "dataloss" in response.flags:
        headers["WARC-Truncated"] = "disconnect"
    if is_not_modified(response, request):
        headers["WARC-Profile"] = f"{PROFILES}server-not-modified"
    elif earlier is not None:
        headers["WARC-Profile"] = f"{PROFILES}identical-payload-digest"
    if earlier is not None:
        headers["WARC-Refers-To"] = earlier.record
        headers["WARC-Refers-To-Target-URI"] = earlier.url
        headers["WARC-Refers-To-Date"] = earlier.date
        headers["WARC-Payload-Digest"] = earlier.digest
    return headers


def target(url: str) -> str:
    """Return a URL without user name, password and fragment."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()


class HttpHeaders(StatusAndHeaders):  # type: ignore[misc]
    """warcio's headers, without its encoding of characters that are not ASCII."""

    def to_ascii_bytes(self, filter_func: Any = None) -> bytes:
        """Return the headers in Latin-1, unchanged."""
        written: bytes = self.to_bytes(filter_func, "latin-1")
        return written


# Scrapy keeps neither the reason phrase nor the order and case of header names.
def _answer(response: Response) -> HttpHeaders:
    try:
        phrase = http.HTTPStatus(response.status).phrase
    except ValueError:
        phrase = ""
    protocol = response.protocol if response.protocol in ("HTTP/1.0", "HTTP/1.1") else "HTTP/1.1"
    names = [name for name in response.headers if name not in SECRET]
    return HttpHeaders(f"{response.status} {phrase}", _lines(response.headers, names), protocol)


def _question(request: Request) -> HttpHeaders:
    parts = urlsplit(target(request.url))
    asked = parts._replace(scheme="", netloc="").geturl() or "/"
    names = [name for name in request.headers if name in HARMLESS]
    lines = [("Host", parts.netloc), *_lines(request.headers, names)]
    return HttpHeaders(f"{request.method} {asked} HTTP/1.1", lines, is_http_request=True)


def _lines(headers: Headers, names: Collection[bytes]) -> list[tuple[str, str]]:
    return [
        (name.decode("latin-1"), value.decode("latin-1")) for name in names for value in headers.getlist(name)
    ]
