"""Reads feed documents: where it is asked to, or as `python -m fhcrawl.reader FILE`, a process."""

from __future__ import annotations

import gc
import pickle
import signal
import sys
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from fhcrawl import documents
from fhcrawl.addresses import without_credentials

if TYPE_CHECKING:
    from fhcrawl.documents import Bounds, FeedDocument

TURN = b"\n"  # it is the other one's
DIED = "reader-died"
GARBAGE = 100_000  # objects that may be there before a collection
BUFFER = 1 << 18  # octets


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


def put(file: int, value: object) -> None:
    """Write a value to a file, in place of what is there; a large one is never in memory as it is written.

    :param file: descriptor, of a file that other processes have too
    :raises OSError: if it cannot be written
    """
    with open(file, "wb", BUFFER, closefd=False) as written:
        written.seek(0)
        written.truncate()
        pickle.dump(value, written, pickle.HIGHEST_PROTOCOL)


def take(file: int) -> Any:
    """The value that somebody has put into a file."""
    with open(file, "rb", BUFFER, closefd=False) as read:
        read.seek(0)
        return pickle.load(read)  # noqa: S301 - it is our own process


def serve(file: int, turns: BinaryIO, answers: BinaryIO) -> None:
    """Put an answer in the place of each job, when it is our turn, until there are no more.

    :param file: where the jobs are, as `take` has it
    """
    answers.write(TURN)
    answers.flush()
    while turns.read(len(TURN)):
        put(file, _answer(take(file)))
        answers.write(TURN)
        answers.flush()


def _answer(job: Job) -> FeedDocument | Exception:
    try:
        return read(job)
    except Exception as error:  # noqa: BLE001 - it is raised where the document was to be read
        return error


def main() -> None:
    """Serve the process that has started this one."""
    # Ctrl-C goes to both; the crawl still needs this one then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a document is read into is no garbage before it is sent, and has no cycles.
    gc.freeze()
    gc.set_threshold(GARBAGE)
    serve(int(sys.argv[1]), sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
