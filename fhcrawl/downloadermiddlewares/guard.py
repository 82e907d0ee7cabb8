"""Only what the user asked for is reachable: which URLs may be fetched at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy.exceptions import IgnoreRequest
from w3lib.url import file_uri_to_path

from fhcrawl.exceptions import FhcrawlError

if TYPE_CHECKING:
    from scrapy import Request

SCHEMES = ("http", "https")


class RefusedUrl(FhcrawlError, IgnoreRequest):  # noqa: N818
    """A URL that came out of a feed and may not be fetched."""


class GuardMiddleware:
    """Lets http and https pass, and files only below the folder of a feed that the user gave as a file."""

    def process_request(self, request: Request) -> None:
        """Let a request pass.

        :raises RefusedUrl: if it may not be fetched
        """
        feed = request.cb_kwargs.get("feed")
        scheme = urlsplit(request.url).scheme
        if feed is None:
            return
        if scheme in SCHEMES:
            if urlsplit(feed).scheme not in SCHEMES:
                raise RefusedUrl("a feed of files may not lead to the net")
        elif scheme != "file" or urlsplit(feed).scheme != "file":
            raise RefusedUrl(f"{scheme}: is not followed, only http: and https: are")
        elif not _is_below(request.url, feed):
            raise RefusedUrl("it is outside the folder of the feed")


def _is_below(url: str, feed: str) -> bool:
    start = Path(file_uri_to_path(feed)).resolve()
    folder = start if start.is_dir() else start.parent
    return Path(file_uri_to_path(url)).resolve().is_relative_to(folder)
