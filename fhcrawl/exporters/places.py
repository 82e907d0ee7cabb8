"""Opens the destination of an export: a file, stdout, or one of Scrapy's feed storages (S3, FTP …)."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import BlockingFeedStorage
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.defer import Deferred
from w3lib.url import file_uri_to_path

from fhcrawl.exceptions import ExportError, FhcrawlError
from fhcrawl.exporters import delivery
from fhcrawl.items import EntryItem
from fhcrawl.utils.addresses import without_credentials

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy.settings import Settings

logger = logging.getLogger(__name__)

STDOUT = frozenset({"-", "stdout:", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})


def shown(place: str) -> str:
    """Return a destination for display, without the user name and password of a URL."""
    if not is_elsewhere(place):
        return place
    return without_credentials(place)


def is_elsewhere(place: str) -> bool:
    """Return whether a destination is neither a path nor stdout."""
    return "://" in place and not place.startswith("file://")


def takes_entries(options: Mapping[str, Any]) -> bool:
    """Return whether a destination is for entries, and not for items of a spider's own.

    :param options: its options in FEEDS: `item_classes` are classes, or their paths
    """
    classes = [load_object(one) for one in options.get("item_classes") or ()]
    return not classes or any(issubclass(one, EntryItem) for one in classes)


@contextlib.contextmanager
def opened(place: str, settings: Settings) -> Iterator[IO[bytes]]:
    """Open a destination for writing; it has the content once the block has ended without an error.

    :param place: a path, a file: URL, - for stdout, or a URL that FEED_STORAGES has a class for
    :raises ExportError: if a feed storage cannot be written to
    :raises OSError: if the file cannot be written
    """
    if place in STDOUT:
        with delivery.open_stdout() as file:
            yield file
    elif is_elsewhere(place):
        with _elsewhere(place, settings) as file:
            yield file
    else:
        path = file_uri_to_path(place) if place.startswith("file://") else place
        with delivery.replacing(Path(path)) as file:
            yield file


@contextlib.contextmanager
def _elsewhere(place: str, settings: Settings) -> Iterator[IO[bytes]]:
    with failing(place):
        storage, file = _storage(place, settings)
    with contextlib.closing(file):
        yield file
        with failing(place):
            _store(storage, file)


# A storage raises the errors of its library: OSError, ftplib.Error, boto3's and botocore's, NotConfigured.
@contextlib.contextmanager
def failing(place: str) -> Iterator[None]:
    """Convert errors to an `ExportError` that names the destination and the cause."""
    try:
        yield
    except FhcrawlError:
        raise
    except Exception as error:
        logger.debug("%s cannot be written", shown(place), exc_info=True)
        raise ExportError(f"{shown(place)} cannot be written ({_cause(error)})") from error


def _cause(error: Exception) -> str:
    said = (isinstance(error, OSError) and error.strerror) or str(error)
    return said or type(error).__name__


def _storage(place: str, settings: Settings) -> tuple[Any, IO[bytes]]:
    scheme = urlsplit(place).scheme
    known = settings.getwithbase("FEED_STORAGES").get(scheme)
    if known is None:
        raise ValueError(f"FEED_STORAGES has nothing for {scheme}: write a path, or s3://… or ftp://…")
    crawler = Crawler(Spider, settings)
    storage = build_from_crawler(load_object(known), crawler, place, feed_options={"overwrite": True})
    return storage, storage.open(Spider.from_crawler(crawler, name="export"))


def _store(storage: Any, file: IO[bytes]) -> None:
    # No crawl is running, so that there is no reactor to wait for a thread.
    if isinstance(storage, BlockingFeedStorage):
        storage._store_in_thread(file)
        return
    done = storage.store(file)
    if isinstance(done, Deferred):
        failures: list[Any] = []
        done.addErrback(failures.append)
        for failure in failures:
            failure.raiseException()
        if not done.called:
            raise ValueError("this storage needs a running crawl: export to a path, and copy the file")
