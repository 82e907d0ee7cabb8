import contextlib
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer

pytestmark = pytest.mark.any_store("which process parses a document")

LARGE = "x" * 40_000
PROCESS = b"-m\0fhcrawl.crawling.parser\0"
IN_READER = """
import os, signal, sys, time
from pathlib import Path
if sys.orig_argv[-5:-3] == ["-m", "fhcrawl.crawling.parser"]:"""


def serve_chain(server: FeedServer, documents: int, marked: int | None = None) -> str:
    """A chain of large documents, the newest at once, the others when the process for them is ready.

    :param marked: one that is so large that it waits for the process
    """
    for number in range(documents):
        prev = server.url(f"/{number - 1}") if number else None
        text = LARGE * 30 + " MARKED" if number == marked else LARGE
        delay = 0 if number == documents - 1 else 1.5 if number == documents - 2 else 0.1
        server.serve(f"/{number}", atom([E(str(number), text=text)], prev=prev), delay=delay)
    return server.url(f"/{documents - 1}")


def beginning_with(project: Project, program: str) -> str:
    """The PYTHONPATH of a crawl whose processes begin with some Python."""
    folder = project.folder / "path"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(program)
    return f"{project.environment()['PYTHONPATH']}{os.pathsep}{folder}"


def changed_readers(project: Project, statements: str) -> str:
    """The PYTHONPATH of a crawl whose process for reading does something else to marked documents."""
    return beginning_with(
        project,
        f"{IN_READER}\n"
        "    from fhcrawl import documents\n"
        "    read = documents.read\n"
        "    def changed(body, *args, **kwargs):\n"
        "        if b'MARKED' in body:\n"
        f"            {statements}\n"
        "        return read(body, *args, **kwargs)\n"
        "    documents.read = changed\n",
    )


def readers(parent: int) -> list[int]:
    """The processes that read documents for another one (Linux)."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent and PROCESS in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.quick
def test_large_documents_are_the_same_wherever_they_are_read(server: FeedServer, project: Project) -> None:
    feed = serve_chain(server, 5)
    beside = project.crawl(feed)
    here = project.crawl(feed, settings={"FHCRAWL_READER_ENABLED": False}, args=("-a", "deltafetch_reset=1"))
    assert (beside.exit_code, beside.log.count("ERROR"), project.verdict()) == (0, 0, ("complete", []))
    assert sorted(beside.changes) == list("01234")
    assert here.stats["fhcrawl/entry/duplicate"] == 5


@pytest.mark.parametrize(
    ("statement", "settings", "why"),
    [
        ("os.kill(os.getpid(), 11)", {}, "the parser process ended with status -11"),
        ("bytearray(600 * 1024**2)", {}, "parsing it takes more memory than FHCRAWL_READER_MEMORY allows"),
        (
            "while True: pass",
            {"FHCRAWL_READER_TIMEOUT": 1},
            "parsing it takes more time than FHCRAWL_READER_TIMEOUT allows",
        ),
    ],
)
def test_document_that_the_process_never_ends_with_is_a_gap_and_the_next_one_is_read(
    server: FeedServer, project: Project, statement: str, settings: dict[str, int], why: str
) -> None:
    path = changed_readers(project, statement)
    feed, other = serve_chain(server, 4, marked=1), server.url("/other/1")
    server.serve("/other/1", atom([E("o1", text=LARGE)], prev=server.url("/other/0")))
    server.serve("/other/0", atom([E("o0", text=LARGE)]), delay=6)
    two_at_once = {"CONCURRENT_REQUESTS_PER_DOMAIN": 2}
    run = project.crawl(feed, other, settings={**two_at_once, **settings}, PYTHONPATH=path)
    assert run.exit_code == 0
    assert sorted(run.changes) == ["2", "3", "o0", "o1"]
    sentence, *_ = run.warnings()
    assert sentence == f"WARNING: {server.url('/1')} could not be read: {why}"
    verdicts = {found["feed"]: found for found in project.feeds()}
    assert verdicts[other]["verdict"] == "complete"
    assert verdicts[feed]["verdict"] == "incomplete"
    assert [reason["kind"] for reason in verdicts[feed]["reasons"]] == ["too-large"]
    healed = project.crawl(feed)
    assert sorted(healed.changes) == ["0", "1"]
    assert {found["verdict"] for found in project.feeds()} == {"complete"}


def test_process_that_was_killed_in_between_loses_no_document(server: FeedServer, project: Project) -> None:
    feed = serve_chain(server, 5, marked=1)
    killed: list[int] = []

    def kill(path: str) -> None:
        if path == "/1":
            killed.extend(readers(process.pid))
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    server.on_request = kill
    process = project.start("crawl", "history", "-a", f"feed={feed}", "-o", "out.jsonl")
    assert process.wait(100) == 0
    assert len(killed) == 1
    assert project.verdict() == ("complete", [])


def test_document_that_takes_long_holds_up_no_small_one(server: FeedServer, project: Project) -> None:
    # It is read to its end only when the other feed has been read to its own.
    go = project.folder / "go"
    path = changed_readers(project, f"while not Path({os.fspath(go)!r}).exists(): time.sleep(0.05)")
    feed, other = serve_chain(server, 3, marked=1), server.url("/other/2")
    for number in range(3):
        prev = server.url(f"/other/{number - 1}") if number else None
        server.serve(f"/other/{number}", atom([E(f"o{number}")], prev=prev), delay=1.5)
    server.on_request = lambda path: go.touch() if path == "/other/0" else None
    run = project.crawl(feed, other, settings={"CONCURRENT_REQUESTS_PER_DOMAIN": 2}, PYTHONPATH=path)
    assert run.exit_code == 0
    assert sorted(run.changes) == ["0", "1", "2", "o0", "o1", "o2"]


def test_without_a_process_documents_are_read_here(server: FeedServer, project: Project) -> None:
    path = beginning_with(project, f"{IN_READER}\n    os._exit(1)\n")
    run = project.crawl(serve_chain(server, 4), PYTHONPATH=path)
    assert sorted(run.changes) == list("0123")
    why = "another one cannot be started (the parser process ended with status 1)"
    assert len([line for line in run.warnings() if why in line]) == 1
    assert project.verdict() == ("complete", [])


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda sent: sent.name)
def test_process_ends_with_the_crawl(server: FeedServer, project: Project, sent: signal.Signals) -> None:
    feed = serve_chain(server, 6)
    reached = threading.Event()
    server.on_request = lambda path: reached.set() if path == "/2" else None
    with (project.folder / "log").open("wb") as log:
        process = project.start("crawl", "history", "-a", f"feed={feed}", "-o", "out.jsonl", stderr=log)
    assert reached.wait(60)
    until(lambda: readers(process.pid))
    found = readers(process.pid)
    # To the process group, as a terminal does for Ctrl-C.
    (os.killpg if sent is signal.SIGINT else os.kill)(process.pid, sent)
    process.wait(60)
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in found))
    assert "Traceback" not in (project.folder / "log").read_text()
    if sent is signal.SIGKILL:
        return
    exported = [json.loads(line) for line in (project.folder / "out.jsonl").read_text().splitlines()]
    rest = project.crawl(feed, output="rest.jsonl")
    assert sorted([item["id"] for item in exported] + list(rest.changes)) == list("012345")


@pytest.mark.parametrize("status", [200, 203])
def test_very_large_document_waits_for_the_process(server: FeedServer, project: Project, status: int) -> None:
    path = changed_readers(project, "os.kill(os.getpid(), signal.SIGSEGV)")
    feed = serve_chain(server, 1, marked=0)
    server.answers["/0"].status = status
    project.scrapy("subscribe", feed)
    run = project.crawl(feed, PYTHONPATH=path)
    assert run.exit_code == 1
    assert project.verdict() == ("unknown", ["not-read", "too-large"])


def test_large_document_that_is_what_it_was_is_not_read_again(server: FeedServer, project: Project) -> None:
    read = project.folder / "read"
    path = changed_readers(project, f"Path({os.fspath(read)!r}).touch()")
    server.serve("/0", atom([E("0", text=LARGE * 30 + "MARKED")]), etag=False)
    project.crawl(server.url("/0"), PYTHONPATH=path)
    read.unlink()
    run = project.crawl(server.url("/0"), PYTHONPATH=path)
    assert run.stats == {"fhcrawl/document/unchanged": 1, "fhcrawl/feed/unknown": 1}
    assert not read.exists()


def test_broken_document_that_nobody_reads_is_no_error_of_ours(server: FeedServer, project: Project) -> None:
    server.serve("/0", "no feed " + LARGE * 30)
    project.scrapy("subscribe", server.url("/0"))
    run = project.crawl(server.url("/0"))
    assert "never retrieved" not in run.log
    assert project.verdict() == ("unknown", ["not-read", "not-xml"])


def test_reading_ends_when_the_time_of_its_feed_is_over(server: FeedServer, project: Project) -> None:
    path = changed_readers(project, "time.sleep(600)")
    feed = serve_chain(server, 2, marked=0)
    run = project.crawl(feed, settings={"FHCRAWL_MAX_SECONDS": 6}, PYTHONPATH=path)
    assert sorted(run.changes) == ["1"]
    [reason] = project.feeds()[0]["reasons"]
    assert (reason["kind"], reason["url"]) == ("limit", server.url("/0"))
    assert reason["detail"].endswith("FHCRAWL_MAX_SECONDS limits a crawl to 6 seconds")
