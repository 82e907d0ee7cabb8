"""Refuses requests while a disk that the crawl writes to is nearly full."""

from __future__ import annotations

import logging
import os
import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from fhcrawl.crawling.context import feed_of
from fhcrawl.crawling.failures import LimitReached
from fhcrawl.extensions import Component
from fhcrawl.extensions.feedexport import FeedExporter
from fhcrawl.extensions.store import store_url
from fhcrawl.extensions.warc import WarcExtension
from fhcrawl.reasons import ReasonKind
from fhcrawl.store.opening import file_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

SETTING = "FHCRAWL_MIN_FREE_DISK"
FULL = "fhcrawl/disk/full"
# This part of a small disk is enough: many machines have no more than 64 MiB for temporary files.
ENOUGH = 1 / 4
MIB = 1024**2


class DiskFull(LimitReached):
    """A request for a document for which there may be no room."""

    kind = ReasonKind.DISK_FULL


class DiskMiddleware(Component):
    """FHCRAWL_MIN_FREE_DISK: how many octets have to be free on each disk; 0 is off.

    The disks are those of a store on SQLite, of exports, of WARC files, and of temporary files. While one of
    them has less, no documents are requested; those that were requested before are read and committed. The
    rest is left for a later run, and the exit code is 1.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._least = crawler.settings.getint(SETTING)
        if not self._least:
            raise NotConfigured
        self._logged: set[Path] = set()

    def process_request(self, request: Request) -> None:
        """Check for room before a document is requested.

        :raises DiskFull: if there may be no room for it
        """
        # A robots.txt passes: without it, every URL of the host would be allowed.
        if feed_of(request) is None:
            return
        for folder, content in self._folders.items():
            # The folder of an export is created when the export is written.
            disk = os.statvfs(next(path for path in (folder, *folder.parents) if path.exists()))
            free = disk.f_bavail * disk.f_frsize
            # A file system without a disk (a cloud's, for example) has no size: 0 are needed.
            needed = min(self._least, int(disk.f_blocks * disk.f_frsize * ENOUGH))
            if free < needed:
                self._log(folder, content, free, needed)
                raise DiskFull(f"the disk with {content} is nearly full ({SETTING})")

    def _log(self, folder: Path, content: str, free: int, needed: int) -> None:
        if folder in self._logged:
            return
        self._logged.add(folder)
        self._crawler.stats.inc_value(FULL)
        logger.error(
            "The disk with %s is nearly full: %s has %.1f MiB free, but %.1f MiB are needed (%s); "
            "no documents are fetched until there is enough space",
            content,
            folder,
            free / MIB,
            needed / MIB,
            SETTING,
        )

    @cached_property
    def _folders(self) -> dict[Path, str]:
        """The folders and what they hold, determined at the first request, when all exports are open."""
        store = file_of(store_url(self._crawler.settings))
        folders: dict[Path, str] = {} if store is None else {store.parent: "the store"}
        exporter = self._crawler.get_extension(FeedExporter)
        if exporter is not None:
            folders |= {path.parent: "an export" for path in exporter.paths}
        warc = self._crawler.get_extension(WarcExtension)
        if warc is not None and warc.folder is not None:
            folders[warc.folder] = "WARC files"
        return {**folders, Path(tempfile.gettempdir()): "temporary files"}
