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
from fhcrawl.warc import Placeholders, check_template

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from fhcrawl.warc.writing import WarcFiles

logger = logging.getLogger(__name__)

OK = 200
SCHEMES = ("http://", "https://")
FAILED = "fhcrawl/warc/failed"


class WarcExtension(Component):
    """Writes each response when it is downloaded: before it is decompressed, and before any middleware.

    :raises ArgumentError: if FHCRAWL_WARC is invalid
    :raises NotConfigured: if it is not set
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        path = settings["FHCRAWL_WARC"]
        if not path or crawler.spider is None:
            raise NotConfigured
        placeholders = Placeholders(crawler.spider)
        template = check_template(path, placeholders)
        from fhcrawl.warc.writing import WarcFiles, info

        self._files: WarcFiles | None = WarcFiles(
            template,
            placeholders,
            largest=settings.getint("FHCRAWL_WARC_MAX_SIZE"),
            info=info(settings["USER_AGENT"], settings.getbool("ROBOTSTXT_OBEY")),
            base=base_of(settings, vars(crawler.spider)),
        )
        crawler.signals.connect(self.response_downloaded, signal=signals.response_downloaded)
        crawler.signals.connect(self._close, signal=signals.spider_closed)

    def response_downloaded(self, response: Response, request: Request) -> None:
        if self._files is None or not response.url.startswith(SCHEMES):
            return
        from fhcrawl.warc.writing import find_earlier

        extension = StoreExtension.of(self._crawler)
        try:
            earlier = find_earlier(extension.store.captures, response, request)
        except StoreError:
            earlier = None
        try:
            capture, is_revisit = self._files.append(response, request, earlier)
        except OSError as error:
            message = "The rest of this crawl is missing from the WARC files: they cannot be written (%s)"
            self._crawler.stats.inc_value(FAILED)
            logger.error(message, error.strerror)
            self._close()
            return
        self._crawler.stats.inc_value(f"fhcrawl/warc/{'revisit' if is_revisit else 'response'}")
        if response.status == OK and not is_revisit and "dataloss" not in response.flags:
            try:
                extension.store.captures.add(capture)
            except StoreError as error:
                extension.fail(error)

    def _close(self) -> None:
        files, self._files = self._files, None
        try:
            if files is not None:
                files.close()
        except OSError as error:
            self._crawler.stats.inc_value(FAILED)
            logger.error("A WARC file could not be closed and keeps its temporary name (%s)", error.strerror)
