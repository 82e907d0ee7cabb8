"""Locks of files that several processes replace, also across users, containers and machines."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import stat
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK_TRIES = 600
LOCK_PAUSE_SECONDS = 0.1
# Links are not followed, and opening a FIFO does not block. NFS locks only files that are open for writing.
FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
FOR_ALL = 0o666
NOT_OPENED = frozenset({errno.ELOOP, errno.EISDIR, errno.ENXIO})  # a link, a folder, a socket

_LOCKED: set[Path] = set()


# The lock is a separate file in the same folder, where every process that replaces the file can write, on any
# mount. A lock on the file itself would be lost when the file is replaced; one on the folder would make
# exports to different files wait for each other. The lock file is removed before the lock is released.
@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a file against other exports; create its folder if it does not exist.

    :param path: a path without symbolic links
    :raises OSError: if another export, of any process, does not release the lock in time; if its folder is
        not writable or does not support locks
    """
    tries = _lock_attempts(path)
    while (lock := next(tries)) is None:
        time.sleep(LOCK_PAUSE_SECONDS)
    with lock:
        yield


async def lock_when_free(path: Path) -> contextlib.ExitStack:
    """Wait for the lock of `locked` without blocking other tasks; return a context that releases it.

    :raises OSError: as `locked`
    """
    tries = _lock_attempts(path)
    while (lock := next(tries)) is None:  # noqa: ASYNC110 - other processes send no events
        await asyncio.sleep(LOCK_PAUSE_SECONDS)
    return lock


def _lock_attempts(path: Path) -> Iterator[contextlib.ExitStack | None]:
    if path in _LOCKED:
        raise OSError(errno.EBUSY, "two exports have this destination", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_name(f".{path.name}.lock")
    for _ in range(LOCK_TRIES):
        if (number := _try_lock(lock)) is None:
            yield None
            continue
        _LOCKED.add(path)
        lock_stack = contextlib.ExitStack()
        lock_stack.callback(os.close, number)
        lock_stack.callback(_remove, number, lock)
        lock_stack.callback(_LOCKED.discard, path)
        yield lock_stack
    raise OSError(errno.EBUSY, "another export is writing to it", str(path))


# None if another process has the lock or has just released it.
def _try_lock(lock: Path) -> int | None:
    number = _open_lock_file(lock)
    if number is None:
        return None
    try:
        if _flock(number, lock) and _is_same_file(number, lock):
            return number
    except OSError:
        os.close(number)
        raise
    os.close(number)
    return None


# None if another process is creating the file.
def _open_lock_file(lock: Path) -> int | None:
    try:
        number = os.open(lock, FLAGS)
    except FileNotFoundError:
        return _create_lock_file(lock)
    except OSError as error:
        if error.errno in NOT_OPENED:
            raise _no_lock(lock) from error
        raise
    status = os.fstat(number)
    # A file with content is not a lock, and must not be removed at the end.
    if not stat.S_ISREG(status.st_mode) or status.st_size:
        os.close(number)
        raise _no_lock(lock)
    return number


def _no_lock(lock: Path) -> OSError:
    return OSError(
        errno.EEXIST, f"{lock.name} in the same folder is not a lock file of an export; remove it", str(lock)
    )


def _create_lock_file(lock: Path) -> int | None:
    try:
        number = os.open(lock, FLAGS | os.O_CREAT | os.O_EXCL, FOR_ALL)
    except FileExistsError:
        return None
    # Other users of the folder can take the lock, whatever the umask is. Some file systems have no modes.
    with contextlib.suppress(PermissionError):
        os.fchmod(number, FOR_ALL)
    return number


def _flock(number: int, lock: Path) -> bool:
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        # Some network file systems have no locks. Without a lock, two exports could overwrite each other.
        _remove(number, lock)
        sentence = "files in its folder cannot be locked; export to another folder, and copy the file"
        raise OSError(error.errno, sentence, str(lock)) from error
    return True


# Between opening and locking the file, its previous owner may have removed it, and another process may have
# created and locked a new one.
def _is_same_file(number: int, lock: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(number), lock.lstat())
    except FileNotFoundError:
        return False


def _remove(number: int, lock: Path) -> None:
    # In a sticky folder, only the user who created the file can remove it.
    with contextlib.suppress(OSError):
        if _is_same_file(number, lock):
            lock.unlink()
