"""Renames an export's file and marks its changes as exported: both or neither, even if a process dies."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import secrets
import shutil
import stat
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, NamedTuple

from fhcrawl.utils.locks import locked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fhcrawl.store import Store

logger = logging.getLogger(__name__)

BUFFER = 1 << 18  # octets
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
TOKEN_OCTETS = 4
LEFT = re.compile(rf"[0-9a-f]{{{2 * TOKEN_OCTETS}}}\.part")
MOST_LINKS = 40  # the limit of Linux


class WrittenFile(NamedTuple):
    """A complete file under a temporary name in the folder of its final name.

    :param inode: with the size (octets) and time (ns), identifies the file under its final name
    """

    written: str
    name: str
    inode: int
    size: int
    time: int

    def is_named(self) -> bool:
        """Return whether the file has its final name."""
        try:
            found = Path(self.name).stat()
        except OSError:
            return False
        return (found.st_ino, found.st_size, found.st_mtime_ns) == (self.inode, self.size, self.time)


def open_beside(path: Path, mode: Literal["wb", "ab"]) -> tuple[IO[bytes], Path]:
    """Create a file in the folder of `path` with its permissions, and in mode 'ab' with its content.

    The caller has the lock of `path`.

    :raises OSError: if it cannot be created
    """
    _remove_left(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(TOKEN_OCTETS)}.part")
    is_there = path.exists()
    # No other user can read the new file until it has the permissions of the old one.
    number = os.open(beside, NEW_FILE, 0o600 if is_there else 0o666)
    file = os.fdopen(number, "wb", BUFFER)
    try:
        if is_there:
            os.fchmod(number, stat.S_IMODE(path.stat().st_mode))
        if is_there and mode == "ab":
            with path.open("rb") as source:
                shutil.copyfileobj(source, file, BUFFER)
    except OSError:
        _discard(file, beside)
        raise
    return file, beside


# The caller has the lock, so every other .part file was left by a dead process, of any PID namespace. This
# includes a file that a dead delivery has recorded: renamed later, it would replace the export that is being
# written. Without it, the delivery is cancelled, and its changes are exported again. `settle` needs no lock:
# a file that it renames before this is copied, and after this there is nothing left to rename.
def _remove_left(path: Path) -> None:
    begin = f".{path.name}."
    for found in path.parent.iterdir():
        if found.name.startswith(begin) and LEFT.fullmatch(found.name, len(begin)):
            # In a sticky folder, files of other users cannot be removed.
            with contextlib.suppress(OSError):
                found.unlink()


def _discard(file: IO[bytes], beside: Path) -> None:
    # On a full disk, closing fails again; the file is removed to free its space.
    with contextlib.suppress(OSError):
        file.close()
    beside.unlink(missing_ok=True)


def close_whole(file: IO[bytes], beside: Path, path: Path) -> WrittenFile:
    """Flush a file to the disk and close it."""
    file.flush()
    os.fsync(file.fileno())
    found = os.fstat(file.fileno())
    file.close()
    return WrittenFile(
        str(beside.resolve()), str(path.resolve()), found.st_ino, found.st_size, found.st_mtime_ns
    )


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that replaces `path` once it is complete; a pipe or device is written to directly.

    :raises OSError: if it cannot be written
    """
    if (special := open_special(path)) is not None:
        with special:
            yield special
        return
    path = path.resolve()
    with locked(path):
        file, beside = open_beside(path, "wb")
        try:
            yield file
            close_whole(file, beside, path)
            os.replace(beside, path)
        finally:
            _discard(file, beside)


# With PYTHONUNBUFFERED, Python's sys.stdout.buffer does not report a partial write.
def open_stdout() -> IO[bytes]:
    """Open stdout as a binary file, which is flushed when it is closed.

    :raises OSError: if there is none
    """
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    sys.stdout.flush()
    return os.fdopen(os.dup(sys.stdout.fileno()), "wb")


def open_special(path: Path) -> IO[bytes] | None:
    """Open a pipe, device or file descriptor, which is written to directly; None for an ordinary path.

    :raises OSError: if it cannot be opened
    """
    if (number := _descriptor(path)) is not None:
        return os.fdopen(os.dup(number), "wb")
    return path.open("wb") if is_special(path) else None


def is_special(path: Path) -> bool:
    """Return whether a path is a pipe, device or file descriptor, which is written to directly."""
    return _descriptor(path) is not None or (path.exists() and not (path.is_file() or path.is_dir()))


def is_named_pipe(path: Path) -> bool:
    """Return whether a path is a named pipe, whose reader sees the end when it is closed."""
    return path.is_fifo() and _descriptor(path) is None


# The shell's >(gzip > x.gz) is such a path. /dev/stdout may be a file that other processes write to as well,
# or a pipe without a path.
def _descriptor(path: Path) -> int | None:
    """Return the file descriptor that a path names, as /dev/stdout or /dev/fd/63 does; else None."""
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
        # The only error that is left for a rename within a folder; checked before any file is renamed.
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

    :param locked: a file that this process has locked and will replace; deliveries to it are settled first,
        since they could not be after that
    """
    for number, rows in store.exports.find_dead(None if locked is None else str(locked)):
        is_done = settle(store, number, [WrittenFile(*row) for row in rows])
        again = "An export was interrupted; the next crawl of its feeds exports the changes again"
        logger.info("An interrupted export has been completed" if is_done else again)


def settle(store: Store, number: int, files: list[WrittenFile]) -> bool:
    """Finish or cancel an interrupted delivery; return whether its changes count as exported.

    :raises StoreError: if the store fails; then the next run settles it
    """
    if _has_begun(files) and all(_publish(file) for file in files):
        store.exports.end(number)
        return True
    for file in files:
        _remove(file)
    store.exports.cancel(number)
    return False


# A suspended process may resume here. Files are renamed in order: once the first cannot be renamed any more,
# no other one is.
def _has_begun(files: list[WrittenFile]) -> bool:
    """Return whether any file has its final name; if not, prevent that one is renamed later."""
    if any(file.is_named() for file in files):
        return True
    for first in files[:1]:
        _remove(first)
    return any(file.is_named() for file in files)


def _remove(file: WrittenFile) -> None:
    # If it cannot be removed (the folder belongs to another user or does not exist any more), the next
    # export to the file removes it.
    with contextlib.suppress(OSError):
        Path(file.written).unlink()


def _publish(file: WrittenFile) -> bool:
    with contextlib.suppress(OSError):
        os.replace(file.written, file.name)
    return file.is_named()
