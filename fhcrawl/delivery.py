"""How an export gets its name and its changes count as exported: both, whenever a process dies."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import logging
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fhcrawl.store import Store

logger = logging.getLogger(__name__)


_LOCKED: set[Path] = set()
BUFFER = 1 << 18  # octets
LOCK_TRIES = 600
LOCK_PAUSE_SECONDS = 0.1
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

    :raises OSError: if it cannot be made
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.iterdir():
        if _is_left(left, path.name):
            left.unlink(missing_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    beside.unlink(missing_ok=True)
    if path.exists():
        copy = shutil.copyfile if mode == "ab" else _touch
        copy(path, beside)
        shutil.copymode(path, beside)
        return beside.open("ab", BUFFER), beside
    return beside.open("wb", BUFFER), beside


def _touch(path: Path, beside: Path) -> None:
    beside.touch()


def _is_left(part: Path, name: str) -> bool:
    """Whether a file was begun by a process that is no more."""
    begin, end = f".{name}.", ".part"
    pid = part.name[len(begin) : -len(end)]
    if not (part.name.startswith(begin) and part.name.endswith(end) and pid.isdecimal()):
        return False
    return Path("/proc/self").exists() and not Path(f"/proc/{pid}").exists()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other exports to a file away; the lock lies in the folder for temporary files.

    :raises OSError: if another process, or this one, writes to it all the time
    """
    if path in _LOCKED:
        raise OSError(errno.EBUSY, "it is named twice", str(path))
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
    lock = Path(tempfile.gettempdir()) / f"fhcrawl-{os.getuid()}-{name}.lock"
    with lock.open("wb") as file:
        for _ in range(LOCK_TRIES):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(LOCK_PAUSE_SECONDS)
        else:
            raise OSError(errno.EBUSY, "another export is writing to it", str(path))
        _LOCKED.add(path)
        try:
            yield
        finally:
            _LOCKED.discard(path)


def close_whole(file: IO[bytes], beside: Path, path: Path) -> WrittenFile:
    """Bring a file to the disk, and close it."""
    file.flush()
    os.fsync(file.fileno())
    stat = os.fstat(file.fileno())
    file.close()
    return WrittenFile(
        str(beside.resolve()), str(path.resolve()), stat.st_ino, stat.st_size, stat.st_mtime_ns
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
            # It fails again on a full disk, which the file is not to fill any longer.
            with contextlib.suppress(OSError):
                file.close()
            beside.unlink(missing_ok=True)


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
    if path.exists() and not (path.is_file() or path.is_dir()):
        return path.open("wb")
    return None


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
    store.note_files(number, [list(file) for file in files])
    _name(files)
    store.end_delivery(number)


def _name(files: list[WrittenFile]) -> None:
    for file in files:
        os.replace(file.written, file.name)


def recover(store: Store) -> None:
    """Make good the deliveries that a process which died had begun.

    If no file has its name yet, the changes are exported anew; if one has, the others get theirs too.
    """
    for number, rows in store.dead_deliveries():
        if settle(store, number, [WrittenFile(*row) for row in rows]):
            logger.info("An export that was cut off has been finished")
        else:
            logger.info("An export was cut off; its changes are exported by the next run of their feeds")


def settle(store: Store, number: int, files: list[WrittenFile]) -> bool:
    """End a delivery that has been cut off, or cancel it; whether its changes count as exported.

    :raises StoreError: if the store fails; then the next run settles it
    """
    if any(file.is_named() for file in files) and all(_publish(file) for file in files):
        store.end_delivery(number)
        return True
    for file in files:
        Path(file.written).unlink(missing_ok=True)
    store.cancel_delivery(number)
    return False


def _publish(file: WrittenFile) -> bool:
    with contextlib.suppress(OSError):
        os.replace(file.written, file.name)
    return file.is_named()
