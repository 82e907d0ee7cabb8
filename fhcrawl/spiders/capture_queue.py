"""The captures of feeds in WARC files, in the order in which the spider requests them."""

from __future__ import annotations

import logging
from base64 import b64encode
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from fhcrawl.crawling import requests
from fhcrawl.crawling.context import WalkContext
from fhcrawl.exceptions import StoreError
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.logical_feed import Kind, Role
from fhcrawl.spiders.selection import Selection
from fhcrawl.utils.addresses import name_of
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler

    from fhcrawl.crawling.subscriptions import Listed
    from fhcrawl.logical_feed.results import DocumentResult
    from fhcrawl.store import Store, TimeMap

logger = logging.getLogger(__name__)

EVERY = "FHCRAWL_ALL_CAPTURES_ENABLED"
# The web archive that all WARC files are, in the store.
ARCHIVE = "file:"
# Octets of digests, and characters of these in base64.
DIGEST_SIZE, DIGEST = 9, 12


class CaptureQueue:
    """Makes the requests for captures, one after another for each feed.

    The store has the captures of all URLs that were looked for, and for each feed, in the TimeMap of its URL,
    which files were looked through: a digest of the URLs, and one of each file's path, size and time. Those
    files are not opened again unless there are captures in them that are still to be read.

    :param files: paths of the WARC files
    :param feeds: the feeds of the crawl
    """

    def __init__(self, crawler: Crawler, files: Sequence[str], feeds: Listed) -> None:
        # Scrapy imports this module in each crawl; few read captures.
        from fhcrawl.warc.captures import Captures

        self._extension = StoreExtension.of(crawler)
        self._every = crawler.settings.getbool(EVERY)
        self._files = {_digest(_identity(path)): path for path in files}
        self._feeds = feeds
        self._selections: dict[str, Selection] = {}
        looked_through = self._looked_through()
        self._opened = {name: path for name, path in self._files.items() if name not in looked_through}
        self._captures = Captures(self._opened.values(), len(self._opened) == len(self._files))

    @property
    def _store(self) -> Store:
        return self._extension.store

    def _looked_through(self) -> set[str]:
        """Return the digests of the files in which nothing can be found for any of the feeds."""
        try:
            feeds = [feed for feed in self._feeds if self._store.feeds.read_kind(feed) is not Kind.COMPLETE]
            return set(self._files).intersection(*map(self._looked_through_for, feeds))
        except StoreError:  # a feed that has never been read
            return set()

    def _looked_through_for(self, feed: str) -> set[str]:
        known = self._find_timemaps(feed)
        urls, files = self._read_files(feed, known)
        is_same = urls == _digest_of(self._urls(feed, known))
        has_unread = Selection(self._every).choose(self._store.mementos, feed, known)
        return set(files) if is_same and not has_unread else set()

    def _read_files(self, feed: str, known: Iterable[TimeMap]) -> tuple[str, list[str]]:
        """Return the digest of the URLs that were looked for, and those of the files."""
        read = next((timemap.read for timemap in known if timemap.url == feed), None) or ""
        urls, *files = (read[at : at + DIGEST] for at in range(0, len(read) or 1, DIGEST))
        return urls, files

    def _urls(self, feed: str, known: Iterable[TimeMap]) -> dict[str, tuple[str, int]]:
        """Return the URLs whose captures are wanted, with their depth, by name."""
        found = {name_of(timemap.url): (timemap.url, timemap.depth) for timemap in known}
        for url, role, _state in self._store.documents.read_urls(feed):
            found.setdefault(name_of(url), (url, int(role is not Role.SUBSCRIPTION)))
        return found

    async def build(self) -> None:
        """Read the index of the files."""
        count = await run_in_thread(self._captures.build)
        logger.info("Captures in the WARC files: %d", count)
        if closed := len(self._files) - len(self._opened):
            said = "WARC files that are not opened, since all of them that is worth it was read: %d"
            logger.info(said, closed)

    def close(self) -> None:
        """Close the index."""
        self._captures.close()

    def first(self) -> list[Request]:
        """Return the requests for the first capture of each feed."""
        try:
            wanted = [feed for feed in self._feeds if feed not in self._extension.skipped_feeds]
            has_captures = [self._want_known(feed) for feed in wanted]
            first = [request for feed in wanted for request in self.next(feed)]
        except StoreError as error:
            self._extension.fail(error)
            return []
        if has_captures and not any(has_captures):
            logger.warning("No capture of these feeds is in the WARC files", extra={"is_for_users": True})
        return first

    def _want_known(self, feed: str) -> bool:
        """Look for the captures of a feed's documents; return whether there are any."""
        # RFC 5005, 2: an entry that is not in the document is not part of the feed, even if it was before.
        if self._store.feeds.read_kind(feed) is Kind.COMPLETE:
            logger.info("%s is a complete feed: no capture of it is read", printable(feed))
            return False
        self._selections[feed] = Selection(self._every)
        known = {name_of(timemap.url) for timemap in self._find_timemaps(feed)}
        for name, (url, depth) in self._urls(feed, self._find_timemaps(feed)).items():
            self._look_for(feed, url, depth, is_kept=url == feed or name in known)
        self._note_files(feed)
        return bool(self._store.mementos.find_captures(self._find_timemaps(feed)))

    def want(self, feed: str, url: str, depth: int) -> None:
        """Look for the captures of a document that a capture leads to.

        :param depth: number of links from a subscription document to it
        """
        if name_of(url) not in self._urls(feed, self._find_timemaps(feed)):
            self._look_for(feed, url, depth, is_kept=True)
            self._note_files(feed)

    def _look_for(self, feed: str, url: str, depth: int, is_kept: bool) -> None:
        """Store the captures of a URL.

        :param is_kept: also keep that there are none
        """
        found = [(*one, False) for one in self._captures.find(url)]
        if not found and not is_kept:
            return
        name, mementos = name_of(url), self._store.mementos
        if not any(name_of(timemap.url) == name for timemap in self._find_timemaps(feed)):
            mementos.add_timemap(feed, ARCHIVE, url, depth)
        if found:
            [timemap] = (one for one in self._find_timemaps(feed) if name_of(one.url) == name)
            mementos.add(feed, timemap, found, timemap.read)

    # Before its captures are read: those that are not are found in the store.
    def _note_files(self, feed: str) -> None:
        """Store which files were looked through for all URLs of a feed."""
        known = self._find_timemaps(feed)
        urls, files = self._read_files(feed, known)
        now = _digest_of(self._urls(feed, known))
        read = sorted({*self._opened, *(files if urls == now else ())})
        [own] = (timemap for timemap in known if timemap.url == feed)
        self._store.mementos.add(feed, own, [], now + "".join(read))

    def next(self, feed: str) -> Iterator[Request]:
        """Yield the request for the next capture of a feed, if there is one."""
        selection = self._selections.get(feed)
        if selection is None or feed in self._extension.skipped_feeds:
            return
        while selection.chosen or selection.choose(self._store.mementos, feed, self._find_timemaps(feed)):
            found = selection.take()
            place = found and self._captures.place(found.url, found.digest)
            if found is not None and place is not None:
                walk = WalkContext(feed, self._extension.run, self._feeds[feed])
                yield requests.capture(found, selection.depth, place, walk)
                return
            if found is not None:
                selection.failed.add(found.id)

    def note_read(self, result: DocumentResult) -> None:
        """Note what a capture has shown, before it is committed."""
        self._selections[result.fetch.feed].note_read(result)

    def _find_timemaps(self, feed: str) -> list[TimeMap]:
        return self._store.mementos.find_timemaps(feed, ARCHIVE)


def _identity(path: str) -> str:
    stat = Path(path).stat()
    return f"{Path(path).absolute()} {stat.st_size} {stat.st_mtime_ns}"


def _digest_of(names: Iterable[str]) -> str:
    return _digest("\n".join(sorted(names)))


def _digest(text: str) -> str:
    return b64encode(
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_SIZE).digest()
    ).decode()
