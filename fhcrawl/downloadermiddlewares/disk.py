"""Refuses requests and responses while a disk that the crawl writes to is nearly full."""

from __future__ import annotations

import logging
import os
import tempfile
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scrapy.exceptions import NotConfigured

from fhcrawl.crawling.context import feed_of
from fhcrawl.crawling.refusals import LimitReached
from fhcrawl.extensions.feedexport import FeedExporter
from fhcrawl.extensions.store import store_url
from fhcrawl.extensions.warc import WarcExtension
from fhcrawl.reasons import ReasonKind
from fhcrawl.store.opening import file_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

logger = logging.getLogger(__name__)

SETTING = "FHCRAWL_MIN_FREE_DISK"
FULL = "fhcrawl/disk/full"
# This part of a small disk is enough: many machines have no more than 64 MiB for temporary files.
ENOUGH = 1 / 4
MIB = 1024**2


class DiskFull(LimitReached):
    """A request for a document for which there may be no room."""

    kind = ReasonKind.DISK_FULL


class Place(NamedTuple):
    """A file or folder that a crawl writes to.

    :param holds: what it holds, for log lines
    """

    holds: str
    path: Path


class Room(NamedTuple):
    """How many octets of a disk are free, and how many are needed."""

    free: int
    needed: int


class DiskMiddleware:
    """FHCRAWL_MIN_FREE_DISK: how many octets have to be free on each disk; 0 is off.

    The disks are those of a store on SQLite, of exports, of WARC files, and of temporary files. While one of
    them has less, no requests are sent, and responses are not read; documents that are being read are
    committed. The rest is left for a later run, and the exit code is 1.
    """

    def __init__(self, crawler: Crawler, least: int) -> None:
        self._crawler = crawler
        self._least = least
        self._said: set[Path] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read the setting.

        :raises NotConfigured: if it is 0
        """
        least = crawler.settings.getint(SETTING)
        if not least:
            raise NotConfigured
        return cls(crawler, least)

    def process_request(self, request: Request) -> None:
        """Check for room before a request is sent.

        :raises DiskFull: if there may be no room for its response
        """
        self._check(request)

    def process_response(self, request: Request, response: Response) -> Response:
        """Check for room for a response, since others may have filled the disk after the request.

        :raises DiskFull: if there may be no room for it
        """
        self._check(request)
        return response

    def _check(self, request: Request) -> None:
        # A robots.txt passes: without it, every URL of the host would be allowed.
        if feed_of(request) is None:
            return
        for place in self._places:
            room = room_at(place.path, self._least)
            if room is not None and room.free < room.needed:
                self._say(place, room)
                raise DiskFull(f"the disk of {place.holds} is nearly full ({SETTING})")

    def _say(self, place: Place, room: Room) -> None:
        if place.path in self._said:
            return
        self._said.add(place.path)
        self._crawler.stats.inc_value(FULL)
        logger.error(
            "The disk of %s is nearly full: %s has %.1f MiB free, and %.1f are needed (%s); until then, no "
            "document is taken",
            place.holds,
            str(place.path),
            room.free / MIB,
            room.needed / MIB,
            SETTING,
        )

    @cached_property
    def _places(self) -> list[Place]:
        """The places, determined at the first request, when all exports are open."""
        return list(_places(self._crawler))


def _places(crawler: Crawler) -> Iterator[Place]:
    store = file_of(store_url(crawler.settings))
    if store is not None:
        yield Place("the store", store.parent)
    exporter = crawler.get_extension(FeedExporter)
    for path in [] if exporter is None else exporter.paths:
        yield Place("an export", path.parent)
    warc = crawler.get_extension(WarcExtension)
    if warc is not None and warc.folder is not None:
        yield Place("WARC files", warc.folder)
    yield Place("temporary files", Path(tempfile.gettempdir()))


def room_at(path: Path, least: int) -> Room | None:
    """Return the room on the disk of a path; None if it is not known.

    :param path: a path that need not exist
    :param least: how many octets have to be free; on a small disk, the part ENOUGH of its size
    """
    for there in (path, *path.parents):
        with suppress(OSError):
            disk = os.statvfs(there)
            size = disk.f_blocks * disk.f_frsize
            # File systems without a disk (a cloud's, for example) have no size.
            return Room(disk.f_bavail * disk.f_frsize, min(least, int(size * ENOUGH))) if size else None
    return None
