"""Reads feed documents: where it is asked to, or as `python -m fhcrawl.crawling.parser FILE`, a process."""

from __future__ import annotations

import gc
import os
import pickle
import sys
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from fhcrawl import documents, logical_feed
from fhcrawl.crawling import spool
from fhcrawl.documents.entry_batches import change_entries
from fhcrawl.documents.html import feed_links
from fhcrawl.documents.xml.elements import LONGEST_URL
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind
from fhcrawl.utils.addresses import without_credentials

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fhcrawl.documents import Bounds, DocumentList, Entry, FeedDocument, Problem

TURN = b"\n"  # it is the other one's
LONGEST_PROBLEM = 1000  # characters
GARBAGE = 100_000  # objects that may be there before a collection


class Job(NamedTuple):
    """A document to be read: the parameters of `documents.read`."""

    body: bytes
    url: str
    content_type: str | None
    links: list[str]
    last_modified: str | None
    keep_originals: bool
    most: Bounds


def read(job: Job) -> FeedDocument | DocumentList:
    """The feed document of a response, with links that hold no user names and passwords, and with digests.

    Or the list of documents that it is.

    :raises NotAFeedError: if it is neither; the error of an HTML page names the page's feeds
    :raises OSError: if it is large, and there is no room for its entries
    """
    entry_sink = spool.collect if len(job.body) >= spool.LARGE else list
    try:
        document = documents.read(*job, entry_sink=entry_sink)
    except NotAFeedError as error:
        if error.kind is ReasonKind.HTML:
            error.feeds = [without_credentials(url) for url in feed_links(job.body, job.url)]
        raise
    if isinstance(document, documents.DocumentList):
        return document
    # One link can have as many relations as fit into it. What is too long to be fetched stays so.
    shown = {url: without_credentials(url)[: LONGEST_URL + 1] for url in set(document.links.values())}
    document.links.update({name: shown[url] for name, url in document.links.items()})
    for name, others in document.other_links.items():
        urls = dict.fromkeys(without_credentials(url)[: LONGEST_URL + 1] for url in others)
        others[:] = [url for url in urls if url != document.links.get(name)]
    document.problems = list(map(_shortened, document.problems))
    change_entries(document.entries, _digest)
    return document


# They are for the log.
def _shortened(problem: Problem) -> Problem:
    if len(problem.entry) + len(problem.detail) <= LONGEST_PROBLEM:
        return problem
    return replace(problem, entry=problem.entry[:LONGEST_PROBLEM], detail=problem.detail[:LONGEST_PROBLEM])


def _digest(entry: Entry) -> None:
    entry.digest = logical_feed.digest(entry)


def put_job(file: int, job: Job) -> None:
    """Write a job to a file, in place of what is there; a large one is never in memory as it is written.

    :param file: descriptor, of a file that other processes have too
    :raises OSError: if it cannot be written
    """
    with _replaced(file) as written:
        pickle.dump(job, written, pickle.HIGHEST_PROTOCOL)


def put_answer(file: int, answer: FeedDocument | DocumentList | Exception) -> None:
    """Write an answer in place of what is there; the parameters are those of `put_job`."""
    with _replaced(file) as written:
        if not isinstance(answer, documents.FeedDocument):
            pickle.dump((answer, 0), written, pickle.HIGHEST_PROTOCOL)
            return
        entries = answer.entries
        pickle.dump((replace(answer, entries=[]), len(entries)), written, pickle.HIGHEST_PROTOCOL)
        spool.write(entries, written)


def take_job(file: int) -> Job:
    """The job that somebody has put into a file."""
    with _reread(file) as read:
        job: Job = pickle.load(read)  # noqa: S301 - it is our own process
        return job


def take_answer(file: int) -> FeedDocument | DocumentList:
    """The document, or the list of documents, that somebody has put into a file.

    :raises Exception: if an exception is there
    """
    with _reread(file) as read:
        answer, number = pickle.load(read)  # noqa: S301 - it is our own process
        if isinstance(answer, Exception):
            raise answer
        document: FeedDocument | DocumentList = answer
        if isinstance(document, documents.FeedDocument):
            document.entries = spool.read(read, number)
        return document


# Memory that has to be had anew for each document takes longer than all the rest: that of a larger buffer
# than pickle's own frames, or of a file that was cut.
@contextmanager
def _replaced(file: int) -> Iterator[BinaryIO]:
    with open(file, "wb", closefd=False) as written:
        written.seek(0)
        if os.fstat(file).st_size >= spool.LARGE:
            written.truncate()
        yield written


@contextmanager
def _reread(file: int) -> Iterator[BinaryIO]:
    with open(file, "rb", closefd=False) as read:
        read.seek(0)
        yield read


def serve(file: int, turns: BinaryIO, answers: BinaryIO) -> None:
    """Put an answer in the place of each job, when it is our turn, until there are no more.

    :param file: where the jobs are, as `put_job` has it
    """
    answers.write(TURN)
    answers.flush()
    while turns.read(len(TURN)):
        try:
            put_answer(file, _answer(take_job(file)))
        except OSError as error:
            # There is no room for it; for the reason there is, in place of the job.
            put_answer(file, error)
        answers.write(TURN)
        answers.flush()


def _answer(job: Job) -> FeedDocument | DocumentList | Exception:
    try:
        return read(job)
    except Exception as error:  # noqa: BLE001 - it is raised where the document was to be read
        return error


def main() -> None:
    """Serve the process that has started this one, until that is no more."""
    # What a document is read into is no garbage before it is sent, and has no cycles.
    gc.freeze()
    gc.set_threshold(GARBAGE)
    # Without a buffer: nothing is left to be written at the end, when nobody may take it.
    with open(sys.stdout.fileno(), "wb", 0, closefd=False) as answers, suppress(BrokenPipeError):
        serve(int(sys.argv[1]), sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
