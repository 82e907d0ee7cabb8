"""Writes every response to WARC files (FHCRAWL_WARC)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from fhcrawl.exceptions import StoreError
from fhcrawl.extensions import Component
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.utils.datadir import base_of
from fhcrawl.warc import naming

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from fhcrawl.store.rows import Capture
    from fhcrawl.warc.writing import WarcFiles

logger = logging.getLogger(__name__)

OK = 200
SCHEMES = ("http://", "https://")
FAILED = "fhcrawl/warc/failed"


class WarcExtension(Component):
    """Writes each response when it is downloaded: before it is decompressed, and before any middleware.

    Responses from Scrapy's HTTP cache are not written.

    :raises ArgumentError: if FHCRAWL_WARC is invalid
    :raises NotConfigured: if it is not set
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        path = settings["FHCRAWL_WARC"]
        if not path or crawler.spider is None:
            raise NotConfigured
        named = naming.Parameters(crawler.spider)
        naming.check(path, named)
        from fhcrawl.warc import writing

        info = writing.info(settings["USER_AGENT"], settings.getbool("ROBOTSTXT_OBEY"))
        largest = settings.getint("FHCRAWL_WARC_MAX_SIZE")
        base = base_of(settings, vars(crawler.spider))
        template = naming.template_of(path)
        self._files: WarcFiles | None = writing.WarcFiles(template, named, largest, info, base)
        crawler.signals.connect(self.response_downloaded, signal=signals.response_downloaded)
        crawler.signals.connect(self._close, signal=signals.spider_closed)

    @property
    def folder(self) -> Path | None:
        """The folder of the files; None if no more are written."""
        return None if self._files is None else self._files.folder

    def response_downloaded(self, response: Response, request: Request) -> None:
        """Write a response and its request."""
        if self._files is None or not response.url.startswith(SCHEMES):
            return
        from fhcrawl.warc import writing

        earlier = self._earlier(response, request)
        headers = writing.record_headers(response, request, earlier)
        try:
            capture = self._files.append(response, request, headers)
        except OSError as error:
            said = "The rest of this crawl is missing from the WARC files: they cannot be written (%s)"
            self._crawler.stats.inc_value(FAILED)
            logger.error(said, error.strerror)
            self._close()
            return
        is_revisit = "WARC-Profile" in headers
        self._crawler.stats.inc_value(f"fhcrawl/warc/{'revisit' if is_revisit else 'response'}")
        if response.status == OK and not is_revisit and "dataloss" not in response.flags:
            self._note(capture)

    def _earlier(self, response: Response, request: Request) -> Capture | None:
        """Return the capture that a response repeats; None if its body has to be written."""
        from fhcrawl.warc import writing

        store = StoreExtension.of(self._crawler).store
        try:
            if writing.is_not_modified(response, request):
                return store.captures.find(writing.target(response.url))
            # The file of an earlier capture may have been removed; `is_kept` checks that.
            same = store.captures.find_body(writing.digest(response.body)) if response.body else None
        except StoreError:
            return None
        return same if same is not None and writing.is_kept(same) else None

    def _note(self, capture: Capture) -> None:
        extension = StoreExtension.of(self._crawler)
        try:
            extension.store.captures.add(capture)
        except StoreError as error:
            extension.fail(error)

    def _close(self) -> None:
        """Close the last file, and rename it."""
        files, self._files = self._files, None
        try:
            if files is not None:
                files.close()
        except OSError as error:
            self._crawler.stats.inc_value(FAILED)
            logger.error("A WARC file could not be closed and keeps its temporary name (%s)", error.strerror)
