"""A download handler for `file:` URLs: files, folders, and records of WARC files."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.core.downloader.handlers.file import FileDownloadHandler
from scrapy.exceptions import DownloadCancelledError
from scrapy.http import Response
from scrapy.utils.asyncio import run_in_thread
from w3lib.url import file_uri_to_path

from fhcrawl.crawling.context import find_context
from fhcrawl.documents.lists import URI_LIST
from fhcrawl.logical_feed import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler


class FolderDownloadHandler(FileDownloadHandler):
    """Reads files, lists folders, and reads records of WARC files; obeys DOWNLOAD_MAXSIZE."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._limit = crawler.settings.getint("DOWNLOAD_MAXSIZE")

    async def download_request(self, request: Request) -> Response:
        """Return the bytes of a file, or a list of the files below a folder (`text/uri-list`, RFC 2483, 5).

        For a capture, return the response in the WARC record whose offset is the URL's fragment.

        :raises DownloadCancelledError: if the file is too large
        :raises FhcrawlError: if there is no such record
        :raises OSError: if the file cannot be read
        """
        context = find_context(request)
        if context is not None and context.role is Role.CAPTURE:
            from fhcrawl.warc import captures

            return await run_in_thread(captures.response, request.url, context.requested_url, self._limit)
        path = Path(file_uri_to_path(request.url))
        listing = await run_in_thread(self._look, path)
        if listing is None:
            return await super().download_request(request)
        return Response(request.url, headers={"Content-Type": URI_LIST}, body=listing)

    def _look(self, path: Path) -> bytes | None:
        """Return the list of the files below a folder; None for a file that is not too large."""
        if path.is_dir():
            return "".join(f"{url}\r\n" for url in sorted(_files(path), reverse=True)).encode("ascii")
        if self._limit and path.stat().st_size > self._limit:
            raise DownloadCancelledError(f"{path} is larger than DOWNLOAD_MAXSIZE ({self._limit})")
        return None


def _files(folder: Path) -> Iterator[str]:
    """Yield the URLs of the files below a folder; the fragments, time and size, change when a file changes.

    Hidden files and folders, and links to folders, are left out. Folders that cannot be read are included, so
    that reading them fails and is reported.
    """
    unread: list[OSError] = []
    for parent, names, files in os.walk(folder, onerror=unread.append):
        names[:] = [name for name in names if not name.startswith(".")]
        for name in files:
            if not name.startswith(".") and (url := _url(Path(parent, name))):
                yield url
    for error in unread:
        if Path(error.filename) == folder:
            raise error
        yield f"{Path(error.filename).absolute().as_uri()}#unreadable"


def _url(path: Path) -> str | None:
    """Return the URL of a regular file; None for anything else (a pipe, say), which might be endless."""
    url = path.absolute().as_uri()
    try:
        found = path.stat()
    except OSError:
        return f"{url}#unreadable"
    return f"{url}#{found.st_mtime_ns}-{found.st_size}" if stat.S_ISREG(found.st_mode) else None
