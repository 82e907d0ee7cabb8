"""How an export gets its name and its changes count as exported: both, whenever a process dies."""

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
# Earlier versions wrote the number of the process there.
LEFT = re.compile(rf"(?:[0-9a-f]{{{2 * TOKEN_OCTETS}}}|[0-9]+)\.part")
MOST_LINKS = 40  # as Linux has it


class WrittenFile(NamedTuple):
    """A file that is written whole, beside the name that it is to have.

    :param inode: tells it from another file of that name, with its size (octets) and time (ns)
    """

    written: str
    name: str
    inode: int
    size: int
    time: int

    def is_named(self) -> bool:
        """Whether it is the file of that name."""
        try:
            found = Path(self.name).stat()
        except OSError:
            return False
        return (found.st_ino, found.st_size, found.st_mtime_ns) == (self.inode, self.size, self.time)


def open_beside(path: Path, mode: Literal["wb", "ab"]) -> tuple[IO[bytes], Path]:
    """A new file beside `path`, with its content if the mode is to append, and with its permissions.

    The caller has the lock of `path`.

    :raises OSError: if it cannot be made
    """
    _remove_left(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(TOKEN_OCTETS)}.part")
    is_there = path.exists()
    # Until it has the permissions of the file, nobody else reads what comes of it.
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


# The caller has the lock, so every other part was left by a dead process, whatever its namespace was. This
# includes a part that a dead delivery has noted: published later, it would undo the export that is being
# written. Without it, the delivery is cancelled, and its changes are exported again. `settle` needs no lock:
# what it publishes before this is copied, and afterwards nothing is left to be published.
def _remove_left(path: Path) -> None:
    begin = f".{path.name}."
    for found in path.parent.iterdir():
        if found.name.startswith(begin) and LEFT.fullmatch(found.name, len(begin)):
            # In a sticky folder, nobody removes what another user has left there.
            with contextlib.suppress(OSError):
                found.unlink()


def _discard(file: IO[bytes], beside: Path) -> None:
    # It fails again on a full disk, which the file is not to fill any longer.
    with contextlib.suppress(OSError):
        file.close()
    beside.unlink(missing_ok=True)


def close_whole(file: IO[bytes], beside: Path, path: Path) -> WrittenFile:
    """Bring a file to the disk, and close it."""
    file.flush()
    os.fsync(file.fileno())
    found = os.fstat(file.fileno())
    file.close()
    return WrittenFile(
        str(beside.resolve()), str(path.resolve()), found.st_ino, found.st_size, found.st_mtime_ns
    )


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which gets its name when it is whole; what is no file (a pipe, say) is written to.

    :raises OSError: if it cannot be written
    """
    special = open_special(path)
    if special is not None:
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


# With PYTHONUNBUFFERED, Python's own does not say that only a part has been written.
def open_stdout() -> IO[bytes]:
    """Stdout for octets, which are written when it is closed.

    :raises OSError: if there is none
    """
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    sys.stdout.flush()
    return os.fdopen(os.dup(sys.stdout.fileno()), "wb")


def open_special(path: Path) -> IO[bytes] | None:
    """What is written to as it comes: a pipe, a device, an open file; None if it is an ordinary path.

    :raises OSError: if it cannot be opened
    """
    number = _descriptor(path)
    if number is not None:
        return os.fdopen(os.dup(number), "wb")
    return path.open("wb") if is_special(path) else None


def is_special(path: Path) -> bool:
    """Whether a path is written to as it comes."""
    return _descriptor(path) is not None or (path.exists() and not (path.is_file() or path.is_dir()))


def is_named_pipe(path: Path) -> bool:
    """Whether a path is a pipe that has a name: when it is closed, its reader takes that for the end."""
    return path.is_fifo() and _descriptor(path) is None


# The shell's >(gzip > x.gz) is one. What /dev/stdout leads to may be a file that others write to as well, or
# a pipe, which has no path.
def _descriptor(path: Path) -> int | None:
    """The number of the open file that a path such as /dev/stdout or /dev/fd/63 names."""
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
    """Put a delivery's files under their names, and let its changes count as exported.

    :raises OSError: if one cannot get its name; then the changes are not exported
    :raises StoreError: if the store fails, or if another run has taken the delivery over
    """
    files = list(files)
    for file in files:
        # What keeps a file, once it is written in the same folder, from its name: found before any has one.
        if Path(file.name).is_dir():
            raise IsADirectoryError(errno.EISDIR, "there is a folder of that name", file.name)
        # Its folder may be gone since it was written: other places take time.
        Path(file.written).stat()
    store.exports.note_files(number, [list(file) for file in files])
    _name(files)
    store.exports.end(number)


def _name(files: list[WrittenFile]) -> None:
    for file in files:
        os.replace(file.written, file.name)


def recover(store: Store, locked: Path | None = None) -> None:
    """Make good the deliveries that a process which died had begun.

    If no file has its name yet, the changes are exported anew; if one has, the others get theirs too.

    :param locked: a file that this process has the lock of: it is about to be another file than the one that
        a delivery has noted, which could not be made good any more
    """
    for number, rows in store.exports.find_dead(None if locked is None else str(locked)):
        if settle(store, number, [WrittenFile(*row) for row in rows]):
            logger.info("An export that was cut off has been finished")
        else:
            logger.info("An export was cut off; its changes are exported by the next run of their feeds")


def settle(store: Store, number: int, files: list[WrittenFile]) -> bool:
    """End a delivery that has been cut off, or cancel it; whether its changes count as exported.

    :raises StoreError: if the store fails; then the next run settles it
    """
    if _has_begun(files) and all(_publish(file) for file in files):
        store.exports.end(number)
        return True
    for file in files:
        _remove(file)
    store.exports.cancel(number)
    return False


# A process that only slept may wake here. Files get their names in their order: when the first one cannot get
# its name any more, no other one does.
def _has_begun(files: list[WrittenFile]) -> bool:
    """Whether any file has its name; if not, none gets it later."""
    if any(file.is_named() for file in files):
        return True
    for first in files[:1]:
        _remove(first)
    return any(file.is_named() for file in files)


def _remove(file: WrittenFile) -> None:
    # If it cannot be removed (a folder that is another user's, or no folder any more), the next export to
    # the file does.
    with contextlib.suppress(OSError):
        Path(file.written).unlink()


def _publish(file: WrittenFile) -> bool:
    with contextlib.suppress(OSError):
        os.replace(file.written, file.name)
    return file.is_named()
