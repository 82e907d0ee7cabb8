"""Locks of files that several processes replace, also across users, containers and machines."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import stat
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK_SECONDS, LOCK_PAUSE_SECONDS = 60.0, 0.1
# Other users of the folder can take the lock, whatever the umask is.
FOR_ALL = 0o666
NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})

_LOCKED: set[Path] = set()


# The lock is a separate file in the same folder, where every process that replaces the file can write, on any
# mount. A lock on the file itself would be lost when the file is replaced; one on the folder would make
# exports to different files wait for each other.
@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a file against other exports; create its folder if it does not exist.

    :param path: a path without symbolic links
    :raises OSError: if another export, of any process, does not release the lock in time; if its folder is
        not writable or does not support locks
    """
    with _lock(path, LOCK_SECONDS):
        yield


async def lock_when_free(path: Path) -> contextlib.ExitStack:
    """Wait for the lock of `locked` without blocking other tasks; return a context that releases it.

    :raises OSError: as `locked`
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + LOCK_SECONDS
    while loop.time() < until:
        with contextlib.suppress(BlockingIOError):
            return _lock(path, 0)
        await asyncio.sleep(LOCK_PAUSE_SECONDS)  # other processes send no events
    return _lock(path, 0)


def _lock(path: Path, seconds: float) -> contextlib.ExitStack:
    if path in _LOCKED:
        raise OSError(errno.EBUSY, "two exports have this destination", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.with_name(f".{path.name}.lock")
    with contextlib.suppress(FileNotFoundError):
        status = file.lstat()
        # A file with content is not a lock: it must not be truncated, nor removed at the end.
        if not stat.S_ISREG(status.st_mode) or status.st_size:
            sentence = f"{file.name} in the same folder is not a lock file of an export; remove it"
            raise OSError(errno.EEXIST, sentence, str(file))
    # Without a lock, two exports could overwrite each other.
    lock = FileLock(file, seconds, FOR_ALL, False, poll_interval=LOCK_PAUSE_SECONDS, fallback_to_soft=False)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(lock)
        except Timeout:
            raise BlockingIOError(errno.EAGAIN, "another export is writing to it", str(path)) from None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            sentence = "files in its folder cannot be locked; export to another folder, and copy the file"
            raise OSError(error.errno, sentence, str(file)) from error
        _LOCKED.add(path)
        stack.callback(_LOCKED.discard, path)
        stack.callback(_remove, file, file.lstat())
        return stack.pop_all()


# Before the lock is released: a process that has opened the file notices that it was removed.
def _remove(lock: Path, status: os.stat_result) -> None:
    # In a sticky folder, only the user who created the file can remove it.
    with contextlib.suppress(OSError):
        if os.path.samestat(status, lock.lstat()):
            lock.unlink()
