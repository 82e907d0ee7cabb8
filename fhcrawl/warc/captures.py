"""Reads captures of feed documents from WARC files, and from ARC files (their predecessor)."""

from __future__ import annotations

import logging
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.exceptions import DownloadCancelledError
from scrapy.http import Headers, Response
from w3lib.url import file_uri_to_path
from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import ChunkedDataReader, DecompressingBufferedReader
from warcio.exceptions import ArchiveLoadFailed
from warcio.recordloader import ArcWarcRecordLoader
from warcio.statusandheaders import StatusAndHeaders, StatusAndHeadersParserException

from fhcrawl.documents.dates import utc
from fhcrawl.exceptions import FhcrawlError
from fhcrawl.utils.addresses import name_of
from fhcrawl.warc.indexes import Listed, is_of_web

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

logger = logging.getLogger(__name__)

OF_DOCUMENTS = ("Content-Type", "Content-Encoding", "Last-Modified", "Link")
TYPES = ("response", "resource", "revisit")
OK, NOT_MODIFIED = "200", "304"
LONGEST_HEAD = 1 << 20  # octets
DAMAGED = (ArchiveLoadFailed, EOFError, OSError, ValueError, zlib.error)

TABLES = """
CREATE TABLE records (
    name TEXT, url TEXT, date TEXT, place TEXT, digest TEXT, has_body INTEGER,
    refers_name TEXT, refers_date TEXT);
CREATE INDEX records_by_name ON records (name, date);
CREATE INDEX records_by_digest ON records (digest);
"""
RESOLVE = """
UPDATE records SET digest = coalesce((
    SELECT earlier.digest FROM records AS earlier
    WHERE earlier.name = records.refers_name AND earlier.digest != '' AND earlier.date <= records.refers_date
    ORDER BY earlier.date DESC LIMIT 1), '')
WHERE digest = ''
"""
# Captures with the same digest are read once, with the time of the latest.
CAPTURES = "SELECT digest, url, max(date) FROM records WHERE name = ? GROUP BY digest ORDER BY 3"
BODY = "SELECT place FROM records WHERE digest = ? AND has_body ORDER BY name != ?, date LIMIT 1"


class CaptureIndex:
    """An index of captures in a temporary database, which is in memory only while it is small.

    :param are_all: there are no other files to which these may refer
    """

    def __init__(self, files: Iterable[str], are_all: bool = True) -> None:
        self._files = list(files)
        self._are_all = are_all
        self._database = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._database.executescript(TABLES)

    def close(self) -> None:
        self._database.close()

    def build(self) -> int:
        """Return the number of captures. Damaged files are logged; their damaged part is skipped."""
        for path in self._files:
            self._database.execute("BEGIN")
            try:
                rows = _records(Path(path))
                self._database.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            except DAMAGED as error:
                detail = " ".join(str(error).split()) or type(error).__name__
                logger.warning("%s is damaged, and is read only up to the damage: %s", path, detail)
            self._database.execute("COMMIT")
        self._database.execute(RESOLVE)
        return int(self._database.execute("SELECT count(*) FROM records").fetchone()[0])

    def find(self, url: str) -> Iterator[Listed]:
        """Yield captures, oldest first; those without a record in these files are skipped."""
        for digest, captured, date in self._database.execute(CAPTURES, (name_of(url),)).fetchall():
            if self.place(url, digest) is not None:
                yield Listed(captured, f"{date}Z", digest)
            elif self._are_all:
                logger.warning(
                    "%s at %sZ: none of the files has the record that it refers to", captured, date
                )

    def place(self, url: str, digest: str) -> str | None:
        """Return the URL of the file with a body, with the offset of its record as the fragment."""
        row = self._database.execute(BODY, (digest, name_of(url))).fetchone() if digest else None
        return row and str(row[0])


# warcio's reader copies a line again for each block of it, and has no limit of length.
class _LineReader(DecompressingBufferedReader):  # type: ignore[misc]
    left = LONGEST_HEAD

    def readline(self, length: int | None = None) -> bytes:
        limit = self.left + 1 if length is None else min(length, self.left + 1)
        line: bytes = super().readline(limit)
        self.left -= len(line)
        if self.left < 0:
            raise ArchiveLoadFailed(f"the head of a record is longer than {LONGEST_HEAD} bytes")
        return line


class _RecordLoader(ArcWarcRecordLoader):  # type: ignore[misc]
    # A name must follow the names of which it is a prefix.
    HTTP_TYPES = ("HTTP/1.0", "HTTP/1.1", "HTTP/2.0", "HTTP/2", "HTTP/3.0", "HTTP/3")

    def parse_record_stream(self, stream: _LineReader, *args: Any, **kwargs: Any) -> Any:
        stream.left = LONGEST_HEAD
        return super().parse_record_stream(stream, *args, **kwargs)

    # The records after one with an invalid HTTP header, whose status is then "-", are read too.
    def load_http_headers(
        self, rec_type: str | None, uri: str | None, stream: IO[bytes], length: int | None
    ) -> StatusAndHeaders | None:
        if rec_type not in TYPES or uri is None:
            return None
        try:
            return super().load_http_headers(rec_type, uri, stream, length)
        except StatusAndHeadersParserException:
            return StatusAndHeaders("-", [])


def _archive(file: IO[bytes]) -> ArchiveIterator:
    records = ArchiveIterator(file, arc2warc=True)
    records.reader, records.loader = _LineReader(file), _RecordLoader(arc2warc=True)
    return records


def _records(path: Path) -> Iterator[tuple[object, ...]]:
    with path.open("rb") as file:
        records = _archive(file)
        for record in records:
            if record.rec_type not in TYPES:
                continue
            header = record.rec_headers.get_header
            place = f"{path.absolute().as_uri()}#{records.get_record_offset()}"
            url, date = header("WARC-Target-URI", "").strip("<>"), _time_without_zone(header("WARC-Date"))
            if not is_of_web(url) or not date:
                continue
            has_body = record.rec_type != "revisit"
            statuses = (OK,) if has_body else (OK, NOT_MODIFIED)
            if record.http_headers and record.http_headers.get_statuscode() not in statuses:
                continue
            digest = header("WARC-Payload-Digest", "")
            # The digest of a truncated record is that of the complete body.
            if has_body and (not digest or getattr(record.raw_stream, "limit", 0)):
                digest = f"{place} {date}"
            refers_name = name_of((header("WARC-Refers-To-Target-URI") or url).strip("<>"))
            refers_date = _time_without_zone(header("WARC-Refers-To-Date")) or date
            yield name_of(url), url, date, place, digest, has_body, refers_name, refers_date


def _time_without_zone(date: str | None) -> str:
    return (utc(date or "") or "").rstrip("Z")


def response(place: str, url: str, limit: int) -> Response:
    """Return a captured response, with its Content-Encoding not decoded.

    :param place: URL of the file, with the offset of the record as its fragment
    :param limit: in octets; 0 is no limit
    :raises DownloadCancelledError: if the body is larger
    :raises FhcrawlError: if it cannot be read
    """
    path, offset = file_uri_to_path(place), int(urlsplit(place).fragment)
    try:
        with Path(path).open("rb") as file:
            file.seek(offset)
            with closing(_archive(file)) as records:
                return _response(next(records), url, limit)
    except (StopIteration, *DAMAGED) as error:
        raise FhcrawlError(f"it cannot be read from {path} at {offset}") from error


def _response(record: Any, url: str, limit: int) -> Response:
    http = record.http_headers
    lines = http.headers if http else [("Content-Type", record.rec_headers.get_header("Content-Type") or "")]
    stream: IO[bytes] = record.raw_stream
    if http and (http.get_header("Transfer-Encoding") or "").lower() == "chunked":
        stream = ChunkedDataReader(stream)
    parts, size = [], 0
    while part := stream.read(1 << 16):
        size += len(part)
        if limit and size > limit:
            raise DownloadCancelledError(f"A captured document is larger than DOWNLOAD_MAXSIZE ({limit})")
        parts.append(part)
    body = b"".join(parts)
    headers = Headers()
    for name, value in lines:
        if name.title() in OF_DOCUMENTS:
            headers.appendlist(name, value.encode("latin-1", "replace"))
    return Response(url, headers=headers, body=body)
