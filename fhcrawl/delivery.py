"""How an export gets its name and its changes count as exported: both, whenever a process dies."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import shutil
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fhcrawl.store import Store

logger = logging.getLogger(__name__)


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
    """A new file beside `path`, with its content if the mode is to append.

    :raises OSError: if it cannot be made
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f".{path.name}.*.part"):
        if not _is_alive(left):
            left.unlink(missing_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    if mode == "ab" and path.exists():
        shutil.copyfile(path, beside)
        return beside.open("ab"), beside
    return beside.open("wb"), beside


def _is_alive(part: Path) -> bool:
    pid = part.name.split(".")[-2]
    return not pid.isdigit() or Path(f"/proc/{pid}").exists() or not Path("/proc/self").exists()


def close_whole(file: IO[bytes], beside: Path, path: Path) -> WrittenFile:
    """Bring a file to the disk, and close it."""
    file.flush()
    os.fsync(file.fileno())
    stat = os.fstat(file.fileno())
    file.close()
    return WrittenFile(
        str(beside.resolve()), str(path.resolve()), stat.st_ino, stat.st_size, stat.st_mtime_ns
    )


def publish(file: WrittenFile) -> bool:
    """Put a file under its name; true if it is there, even if another process has put it there."""
    with contextlib.suppress(OSError):
        os.replace(file.written, file.name)
        return True
    return file.is_named()


def deliver(store: Store, run: int, files: Iterable[WrittenFile]) -> None:
    """Put a run's files under their names, and let its changes count as exported.

    :raises OSError: if one cannot get its name; then the changes are not exported
    """
    files = list(files)
    for file in files:
        # The one thing that keeps a file, once it is written, from its name: find it before any has one.
        if Path(file.name).is_dir():
            raise IsADirectoryError(errno.EISDIR, "there is a folder of that name", file.name)
    number = store.begin_delivery(run, [list(file) for file in files])
    try:
        for file in files:
            os.replace(file.written, file.name)
    except OSError:
        store.cancel_delivery(number)
        raise
    store.end_delivery(run, number)


def recover(store: Store) -> None:
    """Finish the deliveries that a process which died had begun."""
    for number, run, rows in store.deliveries():
        published = [publish(WrittenFile(*row)) for row in rows]
        if all(published):
            store.end_delivery(run, number)
            logger.info("An export that was cut off has been finished")
        else:
            store.cancel_delivery(number)
            logger.warning("An export that was cut off is lost; its changes are exported again")
