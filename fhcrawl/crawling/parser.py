"""Parses feed documents: in this process, or in one of its own.

That is `python -m fhcrawl.crawling.parser FILE MEMORY SECONDS`: the descriptor of the file with the jobs, and
the limits of a document. A process that exceeds one of them ends.
"""

from __future__ import annotations

import gc
import math
import os
import pickle
import resource
import sys
from contextlib import contextmanager, suppress
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from fhcrawl import documents
from fhcrawl.documents import Entry
from fhcrawl.documents.discovery import feed_links
from fhcrawl.documents.xml.elements import LONGEST_URL
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.logical_feed import results
from fhcrawl.reasons import ReasonKind
from fhcrawl.utils.addresses import without_credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fhcrawl.crawling.sitemaps import SitemapDocument
    from fhcrawl.documents import DocumentList, FeedDocument, Problem

    Answer = FeedDocument | DocumentList | SitemapDocument

TURN = b"\n"  # sent to pass the turn to the other process
OUT_OF_MEMORY = 77  # exit status
LONGEST_PROBLEM = 1000  # characters
GARBAGE = 100_000  # allocated objects before a garbage collection
LARGE = 16 * 1024**2  # octets of a file that is truncated before it is written again
FIELDS_OF = attrgetter(*Entry.__dataclass_fields__)


class Job(NamedTuple):
    """A document to parse: the parameters of `documents.read`."""

    body: bytes
    url: str
    content_type: str | None
    links: list[str]
    last_modified: str | None
    keep_originals: bool
    max_entries: int = 0
    keep_head: bool = False
    is_sitemap: bool = False
    is_post: bool = False


def read(job: Job) -> Answer:
    """Parse a document; return a feed document, with digests and without credentials in links, or a list."""
    if job.is_sitemap:
        # Only now: it takes longer to import than most documents to parse.
        from fhcrawl.crawling.sitemaps import read_sitemap

        return read_sitemap(job.body)
    if job.is_post:
        from fhcrawl.crawling.webpages import read_page

        return read_page(job.body, job.url, job.content_type)
    try:
        document = documents.read(*job[:-2])
    except NotAFeedError as error:
        if error.kind is ReasonKind.HTML:
            error.feeds = [without_credentials(url) for url in feed_links(job.body, job.url)]
        raise
    if isinstance(document, documents.DocumentList):
        return document
    # A URL that is too long to fetch must stay too long.
    clean_links(document, lambda url: without_credentials(url)[: LONGEST_URL + 1])
    document.problems = list(map(_shorten, document.problems))
    for entry in document.entries:
        entry.digest = results.digest(entry)
    return document


def clean_links(document: FeedDocument, clean: Callable[[str], str]) -> None:
    """Replace the URLs of a document's links, and remove links that become duplicates."""
    # A link can have many relations: each URL is cleaned once.
    cleaned = {url: clean(url) for url in set(document.links.values())}
    document.links.update({name: cleaned[url] for name, url in document.links.items()})
    for name, urls in document.other_links.items():
        urls[:] = [url for url in dict.fromkeys(map(clean, urls)) if url != document.links.get(name)]


# Problems are logged, and may quote long texts.
def _shorten(problem: Problem) -> Problem:
    if len(problem.entry) + len(problem.detail) <= LONGEST_PROBLEM:
        return problem
    return replace(problem, entry=problem.entry[:LONGEST_PROBLEM], detail=problem.detail[:LONGEST_PROBLEM])


def put_job(descriptor: int, job: Job) -> None:
    with _rewound(descriptor, "wb") as stream:
        pickle.dump(job, stream, pickle.HIGHEST_PROTOCOL)


def put_answer(descriptor: int, answer: Answer | Exception) -> None:
    with _rewound(descriptor, "wb") as stream:
        if not isinstance(answer, documents.FeedDocument):
            pickle.dump((answer, ()), stream, pickle.HIGHEST_PROTOCOL)
            return
        # Pickling columns takes a quarter of the time of pickling objects.
        columns = tuple(zip(*map(FIELDS_OF, answer.entries), strict=True))
        pickle.dump((replace(answer, entries=[]), columns), stream, pickle.HIGHEST_PROTOCOL)


def take_job(descriptor: int) -> Job:
    with _rewound(descriptor, "rb") as stream:
        job: Job = pickle.load(stream)  # noqa: S301 - it is our own process
        return job


def take_answer(descriptor: int) -> Answer:
    """Return what `put_answer` wrote to a file; raise it if it is an exception."""
    with _rewound(descriptor, "rb") as stream:
        answer, columns = pickle.load(stream)  # noqa: S301 - it is our own process
        if isinstance(answer, Exception):
            raise answer
        document: Answer = answer
        if isinstance(document, documents.FeedDocument):
            document.entries = list(map(Entry, *columns)) if columns else []
        return document


# Allocating memory takes longer than everything else here: no buffer is larger than a frame of pickle, and a
# small file is not truncated.
@contextmanager
def _rewound(descriptor: int, mode: str) -> Iterator[Any]:
    with open(descriptor, mode, closefd=False) as stream:
        stream.seek(0)
        if mode == "wb" and os.fstat(descriptor).st_size >= LARGE:
            stream.truncate()
        yield stream


@contextmanager
def limited_memory(octets: int) -> Iterator[None]:
    """Limit the address space of this process to its present size plus `octets`; 0 is no limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    # macOS has no /proc, and ignores the limit.
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().partition(" ")[0])
        size = pages * resource.getpagesize() + octets
        if octets and not 0 <= soft < size:
            resource.setrlimit(resource.RLIMIT_AS, (size, hard))
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def limit_time(seconds: int) -> None:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    _soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    with suppress(ValueError):  # the hard limit is lower
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(usage.ru_utime + usage.ru_stime) + seconds, hard))


def serve(descriptor: int, turns: BinaryIO, answers: BinaryIO, seconds: int = 0) -> None:
    """Replace each job with its answer, in turn with the other process, until that one closes the pipe.

    The process ends if a document takes more memory than there is, or more seconds of CPU than are allowed.
    """
    answers.write(TURN)
    answers.flush()
    while turns.read(len(TURN)):
        if seconds:
            limit_time(seconds)
        try:
            put_answer(descriptor, _read_or_error(take_job(descriptor)))
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        except OSError as error:
            # The disk is full; the error fits in place of the job.
            put_answer(descriptor, error)
        answers.write(TURN)
        answers.flush()


def _read_or_error(job: Job) -> Answer | Exception:
    try:
        return read(job)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - `take_answer` raises it in the crawl
        return error


def main() -> None:
    # The objects of a document are in use until it is sent, and form no cycles.
    gc.freeze()
    gc.set_threshold(GARBAGE)
    descriptor, memory, seconds = map(int, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    # Unbuffered, so that nothing is flushed at exit, when the other process may have ended.
    answers = open(sys.stdout.fileno(), "wb", 0, closefd=False)  # noqa: SIM115
    with answers, suppress(BrokenPipeError), limited_memory(memory):
        serve(descriptor, sys.stdin.buffer, answers, seconds)


if __name__ == "__main__":
    main()
