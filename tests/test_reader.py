from __future__ import annotations

import asyncio
import io
import os
import pickle
import signal
from typing import TYPE_CHECKING

import pytest

from fhcrawl import reader
from fhcrawl.documents import Bounds
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reader import LENGTH, READY, Job, framed
from fhcrawl.reader_process import ReaderProcess
from tests.feeds import E, atom

if TYPE_CHECKING:
    from collections.abc import Iterator

URL = "https://example.org/feed"


def job(body: str, *, keep_originals: bool = True) -> Job:
    links = ['<https://me:secret@example.org/older>; rel="prev-archive"']
    return Job(body.encode(), URL, "application/atom+xml", links, None, keep_originals, Bounds())


def answers(written: bytes) -> Iterator[object]:
    file = io.BytesIO(written.removeprefix(READY))
    while head := file.read(LENGTH.size):
        yield pickle.loads(file.read(*LENGTH.unpack(head)))  # noqa: S301 - the test's own


def test_process_answers_as_reading_here_does() -> None:
    documents = [atom([E("1"), E("2")]), "<html><body>no feed</body></html>", atom([E("3")]) + "<"]
    output = io.BytesIO()
    reader.serve(io.BytesIO(b"".join(framed(job(body)) for body in documents)), output)
    first, second, third = answers(output.getvalue())
    assert output.getvalue().startswith(READY)
    assert first == reader.read(job(documents[0]))
    assert isinstance(second, NotAFeedError)
    with pytest.raises(NotAFeedError) as here:
        reader.read(job(documents[1]))
    assert (second.kind, str(second)) == (here.value.kind, str(here.value))
    assert third == reader.read(job(documents[2]))


def test_links_of_a_document_hold_no_password() -> None:
    assert reader.read(job(atom([]))).links == {"prev-archive": "https://example.org/older"}


def test_process_reads_one_document_after_the_other_and_ends() -> None:
    async def run() -> tuple[list[object], int]:
        process = await ReaderProcess.start()
        read = [await process.read(job(atom([E(str(n), text="x" * 500_000)]))) for n in range(3)]
        with pytest.raises(NotAFeedError, match="HTML page"):
            await process.read(job("<html><body>no feed</body></html>"))
        return [*read], await process.end()

    read, status = asyncio.run(run())
    assert read == [reader.read(job(atom([E(str(n), text="x" * 500_000)]))) for n in range(3)]
    assert status == 0


def test_reading_in_a_process_that_is_no_more_fails() -> None:
    async def run() -> int:
        process = await ReaderProcess.start()
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(ChildProcessError, match="status -9"):
            await process.read(job(atom([E("1")])))
        return await process.end()

    assert asyncio.run(run()) == -signal.SIGKILL
