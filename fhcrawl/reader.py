"""Reads feed documents: where it is asked to, or as `python -m fhcrawl.reader`, a process of its own."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import pickle
import signal
import struct
import sys
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from fhcrawl import documents
from fhcrawl.addresses import without_credentials

if TYPE_CHECKING:
    from fhcrawl.documents import Bounds, FeedDocument

LENGTH = struct.Struct("!Q")  # octets of what follows
READY = b"ready\n"
DIED = "reader-died"
GARBAGE = 100_000  # objects that may be there before a collection
PIPE = 1 << 20  # octets; the most that Linux gives to anybody who asks


class Job(NamedTuple):
    """A document to be read: the parameters of `documents.read`."""

    body: bytes
    url: str
    content_type: str | None
    links: list[str]
    last_modified: str | None
    keep_originals: bool
    most: Bounds


def read(job: Job) -> FeedDocument:
    """The feed document of a response, with links that hold no user names and passwords.

    :raises NotAFeedError: if it is none
    """
    document = documents.read(*job)
    document.links.update({name: without_credentials(url) for name, url in document.links.items()})
    return document


def framed(value: object) -> bytes:
    """A value as it goes through a pipe: its length, and what it is pickled."""
    pickled = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(pickled)) + pickled


def serve(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Answer jobs until there are no more."""
    answers.write(READY)
    answers.flush()
    while head := jobs.read(LENGTH.size):
        job = pickle.loads(jobs.read(*LENGTH.unpack(head)))  # noqa: S301 - of our parent
        answers.write(framed(_answer(job)))
        answers.flush()


def _answer(job: Job) -> FeedDocument | Exception:
    try:
        return read(job)
    except Exception as error:  # noqa: BLE001 - it is raised where the document was to be read
        return error


def _widen(pipe: int) -> None:
    """Let a pipe hold a whole document, so that nobody waits for the other side to take it (Linux)."""
    with contextlib.suppress(AttributeError, OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE)


def main() -> None:
    """Serve the process that has started this one."""
    # Ctrl-C goes to both; the crawl still needs this one then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a document is read into is no garbage before it is sent, and has no cycles.
    gc.freeze()
    gc.set_threshold(GARBAGE)
    for pipe in (sys.stdin, sys.stdout):
        _widen(pipe.fileno())
    serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
