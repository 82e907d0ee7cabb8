"""The places of exports: files, stdout, and Scrapy's feed storages for other places.

A file is written under a temporary name beside it. Once it is complete, it gets its name, and the changes in
it are marked as exported: both or neither, even if a process dies.
"""

from __future__ import annotations

import asyncio
import contextlib
import csv
import errno
import logging
import os
import re
import secrets
import shlex
import shutil
import stat
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.extensions import feedexport
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.defer import Deferred
from w3lib.url import file_uri_to_path

from fhcrawl.exceptions import ArgumentError, ExportError, FhcrawlError
from fhcrawl.items import FIELDS, EntryItem
from fhcrawl.store import opening
from fhcrawl.utils.addresses import without_credentials
from fhcrawl.utils.locks import lock_when_free, locked
from fhcrawl.utils.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from scrapy.settings import Settings

    from fhcrawl.store import Store

logger = logging.getLogger(__name__)

STDOUT = frozenset({"-", "stdout:", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})
BUFFER = 1 << 18  # octets
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
TOKEN_OCTETS = 4
LEFT = re.compile(rf"[0-9a-f]{{{2 * TOKEN_OCTETS}}}\.part")
MOST_LINKS = 40  # the limit of Linux
WITH_END = frozenset({"json", "xml", "parquet"})
OF_LINES = frozenset({"jsonl", "jsonlines", "jl", "csv"})
LONGEST_HEADER = 10_000  # characters


def shown(place: str) -> str:
    return without_credentials(place) if is_elsewhere(place) else place


def in_export(place: str, name: str) -> str:
    """Return a destination and its format as an argument of `fhcrawl export -o`, quoted for a shell."""
    if place in STDOUT:
        return f"-:{name}"
    path = printable(shown(place))
    return shlex.quote(path if path.endswith(f".{name}") else f"{path}:{name}")


def refuse_store(place: str, store_url: str) -> None:
    """:raises ArgumentError: if a destination is a file of the store"""
    is_file = place not in STDOUT and not is_elsewhere(place)
    if is_file and opening.is_file_of(store_url, _path(place)):
        raise ArgumentError(f"{printable(place)} is a file of the store; choose another path")


def _path(place: str) -> Path:
    return Path(file_uri_to_path(place) if place.startswith("file://") else place)


def is_elsewhere(place: str) -> bool:
    return "://" in place and not place.startswith("file://")


def takes_entries(options: Mapping[str, Any]) -> bool:
    """Return whether a destination of FEEDS is for entries, rather than for other items of a spider."""
    classes = [load_object(item_class) for item_class in options.get("item_classes") or ()]
    return not classes or any(issubclass(item_class, EntryItem) for item_class in classes)


@contextlib.contextmanager
def opened(place: str, settings: Settings) -> Iterator[IO[bytes]]:
    """Open a destination for writing; it has the content once the block has ended without an error.

    :raises ExportError: if a storage of FEED_STORAGES cannot be written to
    :raises OSError: if a file cannot be written
    """
    if not is_elsewhere(place):
        with open_stdout() if place in STDOUT else replacing(_path(place)) as file:
            yield file
        return
    with failing(place):
        scheme = urlsplit(place).scheme
        path = settings.getwithbase("FEED_STORAGES").get(scheme)
        if path is None:
            raise ArgumentError(f"FEED_STORAGES has no storage for {scheme}; use a path, s3://… or ftp://…")
        crawler = Crawler(Spider, settings)
        storage = build_from_crawler(load_object(path), crawler, place, feed_options={"overwrite": True})
        file = storage.open(Spider.from_crawler(crawler, name="export"))
    with contextlib.closing(file):
        yield file
        with failing(place):
            asyncio.run(_store(storage, file))


# A storage raises the errors of its library: OSError, ftplib.Error, boto3's and botocore's, NotConfigured.
@contextlib.contextmanager
def failing(place: str) -> Iterator[None]:
    try:
        yield
    except FhcrawlError:
        raise
    except Exception as error:
        logger.debug("Cannot write to %s", shown(place), exc_info=True)
        cause = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
        raise ExportError(f"Cannot write to {shown(place)} ({cause})") from error


async def _store(storage: Any, file: IO[bytes]) -> None:
    result = storage.store(file)
    # No crawl is running: only Scrapy's storages do not need a reactor to wait for a thread.
    needs_reactor = isinstance(result, Deferred) and not isinstance(storage, feedexport.BlockingFeedStorage)
    if needs_reactor and not result.called:
        raise ValueError("this storage works only during a crawl; export to a path, and copy the file")
    await ensure_awaitable(result)


def check_appending(path: Path, options: Mapping[str, Any]) -> bytes:
    """Check that an export with options of FEEDS can be appended to a file; return what must come before it.

    That is a line end if the file's last line has none.

    :raises ExportError: if the file with the appended export would not be valid in its format
    """
    if not path.is_file() or not path.stat().st_size:
        return b""
    name = options["format"]
    refusal = f"Cannot append to {path}:"
    place = in_export(str(path), name)
    instead = (
        f"crawl without -o, then run `fhcrawl export -o {place}` for the complete history "
        "(-O would keep only the changes)"
    )
    if name in WITH_END:
        raise ExportError(f"{refusal} {name} files cannot be extended; use jsonl, or {instead}")
    fields = options.get("fields") or FIELDS
    columns = list(fields.values() if isinstance(fields, dict) else fields)
    is_plain = "postprocessing" not in options and not options.get("item_export_kwargs")
    if name == "csv" and is_plain and _header(path, options.get("encoding")) != columns:
        raise ExportError(f"{refusal} it has different columns; {instead}")
    try:
        has_lines = takes_lines(options) and "\n".encode(options.get("encoding") or "utf-8") == b"\n"
    except LookupError:  # the exporter refuses an unknown encoding
        has_lines = False
    if not has_lines:
        return b""
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return b"" if file.read(1) == b"\n" else b"\n"


def _header(path: Path, encoding: str | None) -> list[str]:
    # Spreadsheets save UTF-8 with a byte order mark.
    encoding = "utf-8-sig" if encoding is None or encoding.lower() in ("", "utf-8") else encoding
    with path.open(encoding=encoding, errors="replace", newline="") as file:
        try:
            return next(csv.reader([file.readline(LONGEST_HEADER)]), [])
        except csv.Error:
            return []


def takes_lines(options: Mapping[str, Any]) -> bool:
    return options["format"] in OF_LINES and "postprocessing" not in options


class WrittenFile(NamedTuple):
    """A complete file under a temporary name; inode, size and time (ns) identify it under its final name."""

    written: str
    name: str
    inode: int
    size: int
    time: int

    def is_named(self) -> bool:
        try:
            status = Path(self.name).stat()
        except OSError:
            return False
        return (status.st_ino, status.st_size, status.st_mtime_ns) == (self.inode, self.size, self.time)


# If it cannot be removed (the folder is sticky, belongs to another user or does not exist any more), the next
# export to the file removes it.
def _remove(part: Path) -> None:
    with contextlib.suppress(OSError):
        part.unlink()


# The caller has the lock, so every other .part file was left by a dead process, of any PID namespace. This
# includes a file that a dead delivery has recorded: renamed later, it would replace the export that is being
# written. Without it, the delivery is cancelled, and its changes are exported again. `settle` needs no lock:
# a file that it renames before this is copied, and after this there is nothing left to rename.
def _remove_stale_parts(path: Path) -> None:
    prefix = f".{path.name}."
    for part in path.parent.iterdir():
        if part.name.startswith(prefix) and LEFT.fullmatch(part.name, len(prefix)):
            _remove(part)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that replaces `path` once it is complete; a pipe or device is written to directly."""
    storage = FileFeedStorage(str(path.absolute()), feed_options={"overwrite": True})
    try:
        file = storage.open()
        yield file
        storage.store(file)
        if storage.written is not None:
            os.replace(storage.written.written, storage.written.name)
    finally:
        storage.release()


# With PYTHONUNBUFFERED, Python's sys.stdout.buffer does not report a partial write.
def open_stdout() -> IO[bytes]:
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    sys.stdout.flush()
    return os.fdopen(os.dup(sys.stdout.fileno()), "wb")


# The shell's >(gzip > x.gz) is such a path. /dev/stdout may be a file that other processes write to as well,
# or a pipe without a path.
def _descriptor(path: Path) -> int | None:
    folders = {Path("/dev/fd").resolve(), Path("/proc/self/fd").resolve()}
    path = path.absolute()
    for _ in range(MOST_LINKS):
        if path.name.isdecimal() and path.parent.resolve() in folders:
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def deliver(store: Store, number: int, files: Iterable[WrittenFile]) -> None:
    """Rename a delivery's files to their final names, and mark its changes as exported.

    :raises OSError: if one cannot be renamed; then the changes do not count as exported
    :raises StoreError: if the store fails, or if another run has taken the delivery over
    """
    files = list(files)
    for file in files:
        # The only error left for a rename within a folder; all files are checked before any is renamed.
        if Path(file.name).is_dir():
            raise IsADirectoryError(errno.EISDIR, "there is a folder with that name", file.name)
        # Its folder may have been removed since: deliveries to other destinations take time.
        Path(file.written).stat()
    store.exports.note_files(number, [list(file) for file in files])
    for file in files:
        os.replace(file.written, file.name)
    store.exports.end(number)


def recover(store: Store, locked: Path | None = None) -> None:
    """Finish or cancel the deliveries of dead processes.

    If one file of a delivery has been renamed, the others are too; else its changes are exported again.

    :param locked: a file that this process has locked and will replace: the last chance to settle its
        deliveries
    """
    for number, rows in store.exports.find_dead(None if locked is None else str(locked)):
        is_done = settle(store, number, [WrittenFile(*row) for row in rows])
        cancelled = "An export was interrupted; the next crawl of its feeds exports the changes again"
        logger.info("An interrupted export has been completed" if is_done else cancelled)


# A suspended process may resume here. Files are renamed in order: once the first cannot be renamed any more,
# no other one is.
def settle(store: Store, number: int, files: list[WrittenFile]) -> bool:
    """Finish or cancel an interrupted delivery; return whether its changes count as exported.

    :raises StoreError: if the store fails; then the next run settles it
    """
    has_begun = any(file.is_named() for file in files)
    if files and not has_begun:
        _remove(Path(files[0].written))
        has_begun = any(file.is_named() for file in files)
    if has_begun and all(map(_publish, files)):
        store.exports.end(number)
        return True
    for file in files:
        _remove(Path(file.written))
    store.exports.cancel(number)
    return False


def _publish(file: WrittenFile) -> bool:
    with contextlib.suppress(OSError):
        os.replace(file.written, file.name)
    return file.is_named()


class FileFeedStorage(feedexport.FileFeedStorage):
    """Writes a temporary file beside the target, to be renamed once the export is complete.

    Appending copies the target first, so that it is complete at any time. It is locked from the copy to the
    renaming. Targets that are not regular files (a pipe, a device) are written directly.
    """

    # Refuses a file of the store; settles the delivery of a process that died while it wrote to the file.
    recover: Callable[[Path], None] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.written: WrittenFile | None = None
        self._options = kwargs["feed_options"] or {}
        self._lock = ExitStack()
        self._locked: Path | None = None
        self._file: IO[bytes] | None = None
        self._part: Path | None = None

    @property
    def target(self) -> Path:
        return Path(self.path).resolve()

    @property
    def is_special(self) -> bool:
        path = Path(self.path)
        return _descriptor(path) is not None or (path.exists() and not (path.is_file() or path.is_dir()))

    @property
    def is_named_pipe(self) -> bool:
        return Path(self.path).is_fifo() and _descriptor(Path(self.path)) is None

    async def lock(self) -> None:
        if not self.is_special:
            self._locked = self.target
            self._lock = await lock_when_free(self._locked)

    def open(self, spider: Spider | None = None) -> IO[bytes]:
        """Return a file, positioned at its end. `release` must be called even if the export fails."""
        if self.is_special:
            number = _descriptor(Path(self.path))
            number = os.open(self.path, os.O_WRONLY) if number is None else os.dup(number)
            self._file = os.fdopen(number, "wb")
            return self._file
        path = self.target
        if path != self._locked:
            self._lock.enter_context(locked(path))
            self._locked = path
        if self.recover is not None:
            self.recover(path)
        is_appended = self.write_mode != "wb"
        line_end = check_appending(path, self._options) if is_appended else b""
        _remove_stale_parts(path)
        part = path.with_name(f".{path.name}.{secrets.token_hex(TOKEN_OCTETS)}.part")
        is_there = path.exists()
        # No other user can read the new file until it has the permissions of the old one.
        number = os.open(part, NEW_FILE, 0o600 if is_there else 0o666)
        self._part, self._file = part, os.fdopen(number, "wb", BUFFER)
        if is_there:
            os.fchmod(number, stat.S_IMODE(path.stat().st_mode))
        if is_there and is_appended:
            with path.open("rb") as source:
                shutil.copyfileobj(source, self._file, BUFFER)
        self._file.write(line_end)
        return self._file

    def store(self, file: IO[bytes]) -> None:
        if self._part is not None and self._locked is not None:
            file.flush()
            os.fsync(file.fileno())
            status = os.fstat(file.fileno())
            names = str(self._part.resolve()), str(self._locked.resolve())
            self.written = WrittenFile(*names, status.st_ino, status.st_size, status.st_mtime_ns)
        file.close()

    def unlock(self) -> None:
        self._lock.close()

    def release(self) -> None:
        with self._lock:
            if self._file is not None:
                with contextlib.suppress(OSError):  # on a full disk, closing fails again
                    self._file.close()
            if self._part is not None:
                _remove(self._part)


class StdoutFeedStorage(feedexport.StdoutFeedStorage):
    """Flushes its buffer before entries are marked as exported."""

    def open(self, spider: Spider) -> IO[bytes]:
        return open_stdout()

    def store(self, file: IO[bytes]) -> None:
        file.close()
