import asyncio
import io
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fhcrawl.crawling import parser
from fhcrawl.crawling.parser import TURN, Job
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.extensions.reader import ReaderProcess
from fhcrawl.logical_feed import results
from tests.feeds import E, atom, feed_of, read_feed

URL = "https://example.org/feed"


def job(body: str, *, keep_originals: bool = True) -> Job:
    links = ['<https://me:secret@example.org/older>; rel="prev-archive"']
    return Job(body.encode(), URL, "application/atom+xml", links, None, keep_originals)


def feed_with(inside: str) -> str:
    return atom([]).replace("</feed>", f"{inside}</feed>")


def test_process_answers_as_reading_here_does(tmp_path: Path) -> None:
    documents = [atom([E(str(number)) for number in range(count)]) for count in (2, 2001, 0)]
    with (tmp_path / "exchange").open("w+b") as file:
        for body in (*documents, atom([E("3")]) + "<", "<html><body>no feed</body></html>", documents[0]):
            turns = io.BytesIO()
            parser.put_job(file.fileno(), job(body))
            parser.serve(file.fileno(), io.BytesIO(TURN), turns)
            assert turns.getvalue() == TURN * 2
            assert answer(lambda: parser.take_answer(file.fileno())) == answer(lambda: parser.read(job(body)))  # noqa: B023


def answer(read: Callable[[], Any]) -> object:
    try:
        return read()
    except NotAFeedError as error:
        return error.kind, str(error)


def test_entries_that_are_read_know_their_digest_and_links_hold_no_password() -> None:
    feed = read_feed(job(atom([E("1")])))
    assert [entry.digest for entry in feed.entries] == [results.digest(*feed.entries)]
    assert feed.links == {"prev-archive": "https://example.org/older"}


ACQUISITION = "<link rel='http://opds-spec.org/acquisition' href='book'/>"


def catalogue_entry(name: str, kind: str, more: str = "") -> str:
    link = f"<link href='{name}' type='application/atom+xml; {kind}profile=opds-catalog'/>"
    return f"<entry><id>tag:{name}</id><title>T</title>{link}{more}</entry>"


NAVIGATION, UNKNOWN_KIND = catalogue_entry("n", "kind=navigation; "), catalogue_entry("u", "type=feed; ")
ACQUISITIONS = [catalogue_entry(str(number), "kind=acquisition; ") for number in range(7)]
FIRST_FIVE = ", ".join(f"https://example.org/{number}" for number in range(5))


@pytest.mark.parametrize(
    ("entries", "feeds"),
    [
        ([NAVIGATION, ACQUISITIONS[3]], "https://example.org/3"),
        ([NAVIGATION, UNKNOWN_KIND], "https://example.org/n, https://example.org/u"),
        (ACQUISITIONS, f"{FIRST_FIVE} and 2 more"),
    ],
)
def test_navigation_catalogue_is_no_feed_and_its_feeds_are_named(entries: list[str], feeds: str) -> None:
    with pytest.raises(NotAFeedError, match=f"^it is an OPDS navigation catalogue, with the feeds {feeds}$"):
        parser.read(job(feed_with("".join(entries))))


@pytest.mark.parametrize(
    "entries",
    [
        [NAVIGATION, catalogue_entry("u", "type=feed; ", ACQUISITION)],
        [catalogue_entry("e", "type=entry; ")],
        [NAVIGATION, "<entry><id>tag:post</id><title>T</title></entry>"],
    ],
)
def test_acquisition_feed_is_read(entries: list[str]) -> None:
    assert len(read_feed(job(feed_with("".join(entries)))).entries) == len(entries)


def test_little_is_left_of_longer_documents(tmp_path: Path) -> None:
    large = [E(number, text="x" * (parser.LARGE // 2)) for number in "12"]
    with (tmp_path / "exchange").open("w+b") as file:
        for number, text in enumerate((atom(large), atom([E("3")]))):
            parser.put_job(file.fileno(), job(text))
            assert parser.take_job(file.fileno()) == job(text)
            parser.put_answer(file.fileno(), parser.read(job(text)))
            found = feed_of(parser.take_answer(file.fileno())).entries
            assert [entry.id for entry in found] == [["1", "2"], ["3"]][number]
        assert os.fstat(file.fileno()).st_size < 10_000


def test_process_reads_one_document_after_the_other_and_ends() -> None:
    async def run() -> int:
        process = await ReaderProcess.start()
        # Ctrl-C does not reach the process, which may not even have been able to ignore it yet.
        assert os.getsid(process.pid) != os.getsid(0)
        for number in range(3):
            large = job(atom([E(str(number), text="x" * 500_000)]))
            assert await process.read(large) == parser.read(large)
        with pytest.raises(NotAFeedError, match="HTML page"):
            await process.read(job("<html><body>no feed</body></html>"))
        return await process.end()

    assert asyncio.run(run()) == 0


def test_reading_in_a_process_that_is_no_more_fails() -> None:
    async def run() -> int:
        process = await ReaderProcess.start()
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(ChildProcessError, match="status -9"):
            await process.read(job(atom([E("1")])))
        return await process.end()

    assert asyncio.run(run()) == -signal.SIGKILL


# lxml does not survive every failed allocation of libxml2's.
OUT_OF_MEMORY = f"more memory than FHCRAWL_READER_MEMORY|status -{int(signal.SIGSEGV)}"


@pytest.mark.parametrize(
    ("limits", "body", "why"),
    [
        ((32 * 1024**2, 0), feed_with("<entry/>" * 500_000), OUT_OF_MEMORY),
        ((32 * 1024**2, 0), feed_with("<entry></b></entry>" * 99_000), OUT_OF_MEMORY),
        ((32 * 1024**2, 0), '{"a":[' + "[]," * 999_999 + "0]}", OUT_OF_MEMORY),
        ((0, 1), feed_with("<entry></b></entry>" * 99_000), "more time than FHCRAWL_READER_TIMEOUT"),
    ],
    ids=["memory", "memory while repairing", "memory for JSON", "time"],
)
def test_document_that_exceeds_a_limit_ends_the_process(limits: tuple[int, int], body: str, why: str) -> None:
    async def run() -> None:
        process = await ReaderProcess.start(*limits)
        assert feed_of(await process.read(job(atom([E("1")])))).entries
        with pytest.raises(ChildProcessError, match=why):
            await process.read(job(body))
        assert process.has_ended

    asyncio.run(run())


def test_memory_is_limited_for_a_while() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(MemoryError), parser.limited_memory(64 * 1024**2):
        bytes(128 * 1024**2)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_parser_process_that_cannot_write_its_result_raises_and_ends() -> None:
    async def run() -> int:
        process = await ReaderProcess.start()
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
        with pytest.raises(OSError, match="File too large"):
            await process.read(job(atom([E("1", text="x" * 2_000_000)])))
        return process.pid

    assert not Path(f"/proc/{asyncio.run(run())}").exists()


def test_parser_process_with_a_closed_pipe_ends_silently(tmp_path: Path) -> None:
    with (tmp_path / "exchange").open("w+b") as file:
        parser.put_job(file.fileno(), job(atom([E("1")])))
        command = [sys.executable, "-m", "fhcrawl.crawling.parser", str(file.fileno()), "0", "0"]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with subprocess.Popen(command, pass_fds=[file.fileno()], **pipes) as process:  # type: ignore[call-overload]
            assert process.stdout.read(len(TURN)) == TURN
            process.stdout.close()
            process.stdin.write(TURN)
            process.stdin.close()
            assert process.stderr.read() == b""
    assert process.returncode == 0
