"""Files for the bodies of responses, which are resumed after an interruption."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from fhcrawl.crawling.context import header

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import FileIO
    from pathlib import Path

    from scrapy import Request
    from scrapy.http import Response

    from fhcrawl.store import Download

PART_FILE = "fhcrawl_part_file"  # the key of a request's meta
OK, PART = 200, 206
CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class PartFile:
    """The file of a body until it is complete; it remains if the download is interrupted.

    Its name depends on the validators, so that only parts of the same representation are joined.

    :param record: of the last attempt
    :param save: stores the record of an attempt when it begins
    """

    def __init__(self, folder: Path, record: Download, save: Callable[[Download], None]) -> None:
        self._folder, self._save = folder, save
        self._file: FileIO | None = None
        self._begin = 0
        self.error: OSError | None = None
        self.abort: Callable[[], None] | None = None  # ends the response whose body is being written
        self._set_record(record)

    def _set_record(self, record: Download) -> None:
        representation = f"{record.key} {record.etag} {record.last_modified} {record.size}"
        self.record = record
        self.path = self._folder / f"{hashlib.sha256(representation.encode()).hexdigest()[:16]}.part"

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.is_file() else 0

    def set_range(self, request: Request) -> None:
        """Make a request one for the rest of the file."""
        self.close()
        etag, self._begin = self.record.etag or "", 0
        # RFC 9110, 13.1.5: If-Range requires a strong validator.
        validator = self.record.last_modified if not etag or etag.startswith("W/") else etag
        if validator and (size := self.size):
            self._begin = size
            request.headers.update({"Range": f"bytes={size}-", "If-Range": validator})
        else:
            request.headers.pop("Range", None)
            request.headers.pop("If-Range", None)

    def begin(self, response: Response) -> bool:
        """Open the file for the body of a response; return False if that is no file, or another part.

        :raises OSError: if it cannot be opened
        :raises StoreError: if the attempt cannot be stored
        """
        if response.status == PART:
            match = CONTENT_RANGE.fullmatch(header(response, "Content-Range") or "")
            sizes = ("*", str(self.record.size or match[2])) if match else ()
            if match is None or not 0 < int(match[1]) == self._begin or match[2] not in sizes:
                return False
        elif response.status == OK:
            length, modified = header(response, "Content-Length"), header(response, "Last-Modified")
            self.discard()
            record = self.record._replace(
                size=int(length) if length else None,
                digest=None,
                time=None,
                etag=header(response, "ETag"),
                # RFC 9110, 8.8.2.2: weak if it is not earlier than Date.
                last_modified=None if modified == header(response, "Date") else modified,
            )
            self._set_record(record)
            self._save(record)
        else:
            return False
        self._file = self.path.open("ab" if response.status == PART else "wb", buffering=0)
        return True

    @property
    def is_begun(self) -> bool:
        return self._file is not None

    # Scrapy uses the following methods of io.BytesIO.

    def write(self, octets: bytes) -> None:
        view = memoryview(octets)
        try:
            while view and self._file is not None:
                view = view[self._file.write(view) :]
        except OSError as error:
            self.error = error
            if self.abort is not None:
                self.abort()

    def getvalue(self) -> bytes:
        return b""

    def truncate(self, _size: int) -> None:
        """Discard the file, since the body is larger than DOWNLOAD_MAXSIZE."""
        self.discard()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def discard(self) -> None:
        self.close()
        self.path.unlink(missing_ok=True)
