"""Reads feed documents that were captured in WARC files (or in ARC files, which came before them)."""

from __future__ import annotations

import logging
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple
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
from fhcrawl.utils.clock import now
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

logger = logging.getLogger(__name__)

GZIP = b"\x1f\x8b"
OF_DOCUMENTS = ("Content-Type", "Content-Encoding", "Last-Modified", "Link")
TYPES = ("response", "resource", "revisit")
OK, NOT_MODIFIED = "200", "304"
LONGEST_HEAD = 1 << 20  # octets
PORTS = {"http": ":80", "https": ":443"}
DAMAGED = (ArchiveLoadFailed, EOFError, OSError, ValueError, zlib.error)

TABLES = """
CREATE TABLE records (
    name TEXT, url TEXT, date TEXT, place TEXT, digest TEXT, has_body INTEGER,
    refers_name TEXT, refers_date TEXT);
CREATE INDEX records_by_name ON records (name, date);
CREATE INDEX records_by_digest ON records (digest);
CREATE TABLE wanted (feed TEXT, name TEXT, PRIMARY KEY (feed, name));
CREATE TABLE queue (feed TEXT, place TEXT, url TEXT, date TEXT, depth INTEGER);
CREATE INDEX queue_by_feed ON queue (feed);
"""
RESOLVE = """
UPDATE records SET digest = coalesce((
    SELECT earlier.digest FROM records AS earlier
    WHERE earlier.name = records.refers_name AND earlier.digest != '' AND earlier.date <= records.refers_date
    ORDER BY earlier.date DESC LIMIT 1), '')
WHERE digest = ''
"""
# The same again is read once, as what was there at the last time.
CAPTURES = "SELECT digest, url, max(date) FROM records WHERE name = ? GROUP BY digest ORDER BY 3"
BODY = "SELECT place FROM records WHERE digest = ? AND has_body ORDER BY name != ?, date LIMIT 1"


class Capture(NamedTuple):
    """A document that was captured.

    :param place: URL of the file, and as its fragment the offset of the record
    :param date: when, ISO 8601 in UTC
    :param depth: how many links lead to it from a subscription document
    """

    place: str
    url: str
    date: str
    depth: int


class Captures:
    """What is in some files, in a temporary database, which is in memory only as far as it is small."""

    def __init__(self, files: Iterable[str]) -> None:
        self._files = list(files)
        self._database = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._database.executescript(TABLES)

    def close(self) -> None:
        """Remove the database."""
        self._database.close()

    def build(self) -> int:
        """Look through the files; how many captures they hold. What is damaged is said, and left out."""
        latest = _comparable(now())
        for path in self._files:
            self._database.execute("BEGIN")
            try:
                rows = _records(Path(path), latest)
                self._database.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            except DAMAGED as error:
                said = printable(" ".join(str(error).split()))
                logger.warning("%s is read up to where it is damaged: %s", path, said or type(error).__name__)
            self._database.execute("COMMIT")
        self._database.execute(RESOLVE)
        return int(self._database.execute("SELECT count(*) FROM records").fetchone()[0])

    def want(self, feed: str, url: str, depth: int) -> None:
        """Let the captures of a URL be read for a feed, the oldest first."""
        name = _name(url)
        added = self._database.execute("INSERT OR IGNORE INTO wanted VALUES (?, ?)", (feed, name))
        if not added.rowcount:
            return
        for digest, captured, date in self._database.execute(CAPTURES, (name,)).fetchall():
            body = self._database.execute(BODY, (digest, name)).fetchone() if digest else None
            if body is None:
                logger.warning("%s at %sZ: what it refers to is in no file", printable(captured), date)
                continue
            row = (feed, body[0], captured, f"{date}Z", depth)
            self._database.execute("INSERT INTO queue VALUES (?, ?, ?, ?, ?)", row)

    def next(self, feed: str) -> Capture | None:
        """What is to be read next; None if nothing is."""
        chosen = "SELECT rowid, place, url, date, depth FROM queue WHERE feed = ? ORDER BY rowid LIMIT 1"
        row = self._database.execute(chosen, (feed,)).fetchone()
        if row is None:
            return None
        self._database.execute("DELETE FROM queue WHERE rowid = ?", row[:1])
        return Capture(*row[1:])


def _name(url: str) -> str:
    """What captures of one document have in common: old ones are often http: where it is https: now."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url  # it is no URL: no capture has it
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(PORTS.get(parts.scheme, ":80"))
    return f"{host}{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"


class _LineReader(DecompressingBufferedReader):  # type: ignore[misc]
    """Reads lines within a bound; warcio's would copy a line once for each block that is read of it.

    :raises ArchiveLoadFailed: if the lines of a record's head (WARC's and HTTP's), and the empty ones before
        the next record, have more than LONGEST_HEAD octets
    """

    left = LONGEST_HEAD

    def readline(self, length: int | None = None) -> bytes:
        """Read a line, or so many octets of it."""
        most = self.left + 1 if length is None else min(length, self.left + 1)
        line: bytes = super().readline(most)
        self.left -= len(line)
        if self.left < 0:
            raise ArchiveLoadFailed(f"the head of a record is longer than {LONGEST_HEAD} octets")
        return line


class _RecordLoader(ArcWarcRecordLoader):  # type: ignore[misc]
    # A prefix comes behind what it is one of.
    HTTP_TYPES = ("HTTP/1.0", "HTTP/1.1", "HTTP/2.0", "HTTP/2", "HTTP/3.0", "HTTP/3")

    def parse_record_stream(self, stream: _LineReader, *args: Any, **kwargs: Any) -> Any:
        """Read the head of the next record."""
        stream.left = LONGEST_HEAD
        return super().parse_record_stream(stream, *args, **kwargs)

    # What is wrong with one record's HTTP is no reason to leave out those behind it.
    def load_http_headers(
        self, rec_type: str | None, uri: str | None, stream: IO[bytes], length: int | None
    ) -> StatusAndHeaders | None:
        """The HTTP head of a capture; one with a status that is none if it cannot be read."""
        if rec_type not in TYPES or uri is None:
            return None
        try:
            return super().load_http_headers(rec_type, uri, stream, length)
        except StatusAndHeadersParserException:
            return StatusAndHeaders("-", [])


def _archive(file: IO[bytes]) -> ArchiveIterator:
    """The records of a file, from where it is."""
    records = ArchiveIterator(file, arc2warc=True)
    records.reader, records.loader = _LineReader(file), _RecordLoader(arc2warc=True)
    return records


def _records(path: Path, latest: str) -> Iterator[tuple[object, ...]]:
    """The rows of a file's captures.

    :param latest: the time that no capture can be later than
    """
    with path.open("rb") as file:
        records = _archive(file)
        for record in records:
            row = _row(record, latest) if record.rec_type in TYPES else None
            offset = records.get_record_offset()
            if row is None:
                continue
            place = f"{path.absolute().as_uri()}#{offset}"
            url, date, digest, refers_url, refers_date = row
            has_body = record.rec_type != "revisit"
            # Of a record that is cut off, the digest is another one's.
            if has_body and (not digest or getattr(record.raw_stream, "limit", 0)):
                digest = place
            yield _name(url), url, date, place, digest, has_body, _name(refers_url), refers_date


def _row(record: Any, latest: str) -> tuple[str, str, str, str, str] | None:
    """URL, date and digest of a capture, URL and date of what it refers to; None for what is of no use."""
    said = record.rec_headers.get_header
    url = (said("WARC-Target-URI") or "").strip("<>")
    # A clock that was wrong must not let a version win for ever.
    date = min(_comparable(said("WARC-Date")), latest)
    answers = (OK, NOT_MODIFIED) if record.rec_type == "revisit" else (OK,)
    if not _is_of_web(url) or not date:
        return None
    if record.http_headers and record.http_headers.get_statuscode() not in answers:
        return None
    refers = (said("WARC-Refers-To-Target-URI") or url).strip("<>")
    refers_date = min(_comparable(said("WARC-Refers-To-Date")) or date, latest)
    return url, date, said("WARC-Payload-Digest") or "", refers, refers_date


def _is_of_web(url: str) -> bool:
    try:
        return urlsplit(url).scheme in PORTS
    except ValueError:
        return False


def _comparable(date: str | None) -> str:
    return (utc(date or "") or "").rstrip("Z")


def response(place: str, url: str, limit: int) -> Response:
    """A response as it was captured, still in its Content-Encoding.

    :param place: URL of the file, and as its fragment the offset of the record
    :param url: that it was captured for
    :param limit: octets that it may have; 0 is no limit
    :raises DownloadCancelledError: if it has more
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
    body = _read(stream, limit)
    headers = Headers()
    for name, value in lines:
        if name.title() in OF_DOCUMENTS:
            headers.appendlist(name, value.encode("latin-1", "replace"))
    # Some write down what they have decompressed.
    if headers.get("Content-Encoding") == b"gzip" and not body.startswith(GZIP):
        del headers["Content-Encoding"]
    return Response(url, headers=headers, body=body)


def _read(stream: IO[bytes], limit: int) -> bytes:
    parts, size = [], 0
    while part := stream.read(1 << 16):
        size += len(part)
        if limit and size > limit:
            raise DownloadCancelledError(f"A captured document is larger than {limit} octets")
        parts.append(part)
    return b"".join(parts)
