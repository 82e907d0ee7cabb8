"""The places of exports: files, stdout, and Scrapy's feed storages for other places."""

from __future__ import annotations

import contextlib
import csv
import logging
import os
import re
import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.extensions import feedexport
from scrapy.extensions.feedexport import BlockingFeedStorage
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.defer import Deferred
from w3lib.url import file_uri_to_path

from fhcrawl.exceptions import ArgumentError, ExportError, FhcrawlError
from fhcrawl.exporters import delivery
from fhcrawl.items import FIELDS, EntryItem
from fhcrawl.store import opening
from fhcrawl.utils.addresses import without_credentials
from fhcrawl.utils.locks import lock_when_free, locked
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from scrapy.settings import Settings

    from fhcrawl.exporters.delivery import WrittenFile

WITH_END = frozenset({"json", "xml", "parquet"})
OF_LINES = frozenset({"jsonl", "jsonlines", "jl", "csv"})
LONGEST_HEADER = 10_000  # characters
# Scrapy's placeholders that give each batch its own file.
BATCH = re.compile(r"%\(batch_(id|time)\)")


def check_appending(path: Path, options: dict[str, Any]) -> None:
    """Check that an export can be appended to a file.

    :param options: the feed options of the export, as Scrapy completes those of FEEDS
    :raises ExportError: if the file with the appended export would not be valid in its format
    :raises OSError: if the file cannot be read
    """
    if not path.is_file() or not path.stat().st_size:
        return
    shown = str(path)
    place = in_export(shown, options["format"])
    instead = (
        f"crawl without -o, then run `fhcrawl export -o {place}` for the complete history "
        "(-O would keep only the changes)"
    )
    refused = f"Cannot append to {shown}:"
    if options["format"] in WITH_END:
        raise ExportError(f"{refused} {options['format']} files cannot be extended; use jsonl, or {instead}")
    fields = options.get("fields") or FIELDS
    columns = list(fields.values() if isinstance(fields, dict) else fields)
    is_plain = "postprocessing" not in options and not options.get("item_export_kwargs")
    if options["format"] == "csv" and is_plain and _header(path, options) != columns:
        raise ExportError(f"{refused} it has different columns; {instead}")


def line_end(path: Path, options: dict[str, Any]) -> bytes:
    """Return the line end to write before an appended export if the file's last line has none; else b"".

    :raises OSError: if the file cannot be read
    """
    end = "\n".encode(_encoding(options))
    if options["format"] not in OF_LINES or "postprocessing" in options or end != b"\n" or not path.is_file():
        return b""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
        return b"" if file.read(1) in (b"", end) else end


def has_batches(template: str) -> bool:
    """Return whether each delivery to a destination is a separate file.

    :param template: the URI of the destination, with Scrapy's placeholders
    """
    return BATCH.search(template) is not None


def has_placeholders(template: str) -> bool:
    """Return whether the URI of a destination has placeholders of Scrapy's, such as %(time)s."""
    return "%(" in template


def has_no_end(options: dict[str, Any]) -> bool:
    """Return whether more entries can be appended to an export."""
    return options["format"] in OF_LINES and "postprocessing" not in options


def continue_options(options: dict[str, Any], is_file: bool) -> dict[str, Any]:
    """Return the options with which an export of lines is continued.

    :param is_file: the earlier part is in a regular file; else it was written to a stream
    """
    if is_file:
        return {**options, "overwrite": False}
    if options["format"] != "csv":
        return options
    # The header has been written with the earlier part; a stream cannot be read to check for it.
    return {**options, "item_export_kwargs": {**options["item_export_kwargs"], "include_headers_line": False}}


def _encoding(options: dict[str, Any]) -> str:
    return options.get("encoding") or "utf-8"


def _header(path: Path, options: dict[str, Any]) -> list[str]:
    encoding = _encoding(options)
    # Spreadsheets save UTF-8 with a byte order mark.
    encoding = "utf-8-sig" if encoding.lower() == "utf-8" else encoding
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        try:
            return next(csv.reader([file.readline(LONGEST_HEADER)]), [])
        except csv.Error:
            return []


logger = logging.getLogger(__name__)

STDOUT = frozenset({"-", "stdout:", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})


def shown(place: str) -> str:
    """Return a destination for display, without the user name and password of a URL."""
    return without_credentials(place) if is_elsewhere(place) else place


def in_export(place: str, name: str) -> str:
    """Return a destination as the argument of `fhcrawl export -o`, for a shell.

    :param name: name of the format
    """
    if place in STDOUT:
        return f"-:{name}"
    path = printable(shown(place))
    return shlex.quote(path if path.endswith(f".{name}") else f"{path}:{name}")


def refuse_store(place: str, store_url: str) -> None:
    """Check that a destination is no file of the store.

    :raises ArgumentError: if it is one
    :raises StoreError: if the URL of the store cannot be used
    """
    if place in STDOUT or is_elsewhere(place):
        return
    if opening.is_file_of(store_url, Path(_path(place))):
        raise ArgumentError(f"{printable(place)} is a file of the store; choose another path")


def _path(place: str) -> str:
    return file_uri_to_path(place) if place.startswith("file://") else place


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
        with failing(place):
            storage, file = _storage(place, settings)
        with contextlib.closing(file):
            yield file
            with failing(place):
                _store(storage, file)
    else:
        with delivery.replacing(Path(_path(place))) as file:
            yield file


# A storage raises the errors of its library: OSError, ftplib.Error, boto3's and botocore's, NotConfigured.
@contextlib.contextmanager
def failing(place: str) -> Iterator[None]:
    """Convert errors to an `ExportError` that names the destination and the cause."""
    try:
        yield
    except FhcrawlError:
        raise
    except Exception as error:
        logger.debug("Cannot write to %s", shown(place), exc_info=True)
        cause = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
        raise ExportError(f"Cannot write to {shown(place)} ({cause})") from error


def _storage(place: str, settings: Settings) -> tuple[Any, IO[bytes]]:
    scheme = urlsplit(place).scheme
    known = settings.getwithbase("FEED_STORAGES").get(scheme)
    if known is None:
        raise ValueError(f"FEED_STORAGES has no storage for {scheme}; use a path, s3://… or ftp://…")
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
            raise ValueError("this storage works only during a crawl; export to a path, and copy the file")


class FileFeedStorage(feedexport.FileFeedStorage):
    """Writes a temporary file beside the target; `FeedExporter` renames it when the export is complete.

    Appending copies the target first, so that it is complete at any time. It is locked from the copy to the
    renaming. Targets that are not regular files (a pipe, a device) are written directly.
    """

    beside: Path | None = None
    written: WrittenFile | None = None
    # Completes or discards the export of a process that died while it was writing to the file; refuses a file
    # of the store.
    recover: Callable[[Path], None] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lock = ExitStack()
        self._target = Path()
        self._options = kwargs["feed_options"] or {}

    @property
    def target(self) -> Path:
        """The path of the file, with symbolic links resolved."""
        return Path(self.path).resolve()

    async def lock(self) -> None:
        """Wait for the lock on the file, without blocking the crawl."""
        if not delivery.is_special(Path(self.path)):
            self._target = self.target
            self._lock = await lock_when_free(self._target)

    def open(self, spider: Spider) -> IO[bytes]:
        """Return a file to write to, at its end. `release` must be called even if the export fails."""
        special = delivery.open_special(Path(self.path))
        if special is not None:
            return special
        path = self.target
        mode: Literal["wb", "ab"] = "wb" if self.write_mode == "wb" else "ab"
        if path != self._target:
            self._lock.enter_context(locked(path))
            self._target = path
        if self.recover is not None:
            self.recover(path)
        if mode == "ab":
            check_appending(path, self._options)
        file, self.beside = delivery.open_beside(path, mode)
        if mode == "ab":
            file.write(line_end(path, self._options))
        return file

    def store(self, file: IO[bytes]) -> None:
        """Write the file to the disk, and close it."""
        if self.beside is None:
            file.close()
        else:
            self.written = delivery.close_whole(file, self.beside, self._target)

    def release(self) -> None:
        """Remove the temporary file if it was not renamed, and release the lock."""
        with self._lock:
            if self.beside is not None:
                # If this fails, the next export to the file removes it.
                with contextlib.suppress(OSError):
                    self.beside.unlink()


class StdoutFeedStorage(feedexport.StdoutFeedStorage):
    """Flushes its buffer before entries are marked as exported."""

    def open(self, spider: Spider) -> IO[bytes]:
        """Return stdout as a file."""
        return delivery.open_stdout()

    def store(self, file: IO[bytes]) -> None:
        """Flush the buffer."""
        file.close()
