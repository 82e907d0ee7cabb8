"""Crawls that keep what they fetch in WARC files."""

import gzip
import hashlib
import resource
import signal
import subprocess
import sys
import time
from base64 import b32encode
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response, TextResponse
from warcio.archiveiterator import ArchiveIterator

from fhcrawl.reporting.summary import FAILURES
from fhcrawl.warc.writing import WarcFiles, record_headers
from tests.feeds import E, atom
from tests.projects import Project, Run
from tests.server import FeedServer

PROFILE = "http://netpreserve.org/warc/1.1/revisit/"
SETTINGS = {"FHCRAWL_WARC": "kept/%(name)s-%(serial)03d.warc.gz"}


def records(path: Path, kinds: tuple[str, ...] = ("response", "revisit")) -> list[dict[str, Any]]:
    found = []
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            if record.rec_type in kinds:
                body = record.raw_stream.read()
                http = record.http_headers
                headers = dict(record.rec_headers.headers)
                found.append({**headers, "line": http and http.statusline, "http": http, "body": body})
    return found


def warcio(*args: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "warcio.cli", *args]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def crawl(project: Project, *urls: str, **settings: object) -> Run:
    run = project.crawl(*urls, settings={**SETTINGS, **settings})
    assert run.exit_code == 0, run.log
    return run


@pytest.mark.quick
@pytest.mark.parametrize("name", ["kept/%(name)s.warc.gz", "kept/%(name)s.warc"])
def test_other_tools_read_responses_as_they_came(server: FeedServer, project: Project, name: str) -> None:
    compressed = gzip.compress(atom([E("2")], prev="/1").encode())
    server.serve("/feed?a=b", compressed, headers={"Content-Encoding": "gzip", "X-Name": "caf\xe9; d=\xe9"})
    server.serve("/1", atom([E("1")], prev="/gone"))
    run = crawl(project, server.url("/feed?a=b"), FHCRAWL_WARC=name)
    assert run.stats["fhcrawl/warc/response"] == 4
    [path] = (project.folder / "kept").iterdir()
    assert path.name == f"history-00001{name[13:]}"
    robots, feed, archive, gone = records(path)
    assert [r["WARC-Target-URI"] for r in (robots, feed, archive, gone)] == [
        server.url(requested) for requested in ("/robots.txt", "/feed?a=b", "/1", "/gone")
    ]
    assert (feed["line"], gone["line"]) == ("200 OK", "404 Not Found")
    assert feed["body"] == compressed
    digest = b32encode(hashlib.sha1(compressed, usedforsecurity=False).digest()).decode()
    assert feed["WARC-Payload-Digest"] == f"sha1:{digest}"
    assert feed["http"].get_header("Content-Encoding") == "gzip"
    assert feed["WARC-IP-Address"] == "127.0.0.1"
    requested = records(path, ("request",))[1]
    assert requested["WARC-Concurrent-To"] == feed["WARC-Record-ID"]
    assert requested["http"].protocol == "GET"
    assert requested["line"] == "/feed?a=b HTTP/1.1"
    assert requested["http"].get_header("Host") == server.root.removeprefix("http://")
    [info] = records(path, ("warcinfo",))
    assert info["WARC-Filename"] == path.name
    assert b"software: fhcrawl/" in info["body"]
    assert feed["WARC-Warcinfo-ID"] == info["WARC-Record-ID"]
    written = path.read_bytes()
    written = gzip.decompress(written) if name.endswith(".gz") else written
    assert written.startswith(b"WARC/1.1\r\n")
    assert b"\r\nX-Name: caf\xe9; d=\xe9\r\n" in written
    checked = warcio("check", "-v", path.name, folder=path.parent)
    assert (checked.returncode, checked.stdout.count("digest pass")) == (0, 9), checked.stdout
    index = warcio("index", "-f", "warc-type,offset", path.name, folder=path.parent)
    assert index.stdout.count('"response"') == 4


def test_unchanged_documents_are_revisits(server: FeedServer, project: Project) -> None:
    server.serve("/feed", atom([E("2")]))
    server.serve("/other", atom([E("1")]), etag=False)
    crawl(project, server.url("/feed"), server.url("/other"))
    run = crawl(project, server.url("/feed"), server.url("/other"))
    assert run.stats["fhcrawl/warc/revisit"] == 2
    first, second = (project.folder / "kept" / f"history-00{number}.warc.gz" for number in (1, 2))
    before, after = ({r["WARC-Target-URI"]: r for r in records(path)} for path in (first, second))
    for path, profile, line in (
        ("/feed", "server-not-modified", "304 Not Modified"),
        ("/other", "identical-payload-digest", "200 OK"),
    ):
        old, new = before[server.url(path)], after[server.url(path)]
        assert (new["WARC-Type"], new["WARC-Profile"]) == ("revisit", PROFILE + profile)
        assert (new["line"], new["body"]) == (line, b"")
        assert new["WARC-Refers-To"] == old["WARC-Record-ID"]
        assert new["WARC-Refers-To-Target-URI"] == server.url(path)
        assert new["WARC-Refers-To-Date"] == old["WARC-Date"]
        assert new["WARC-Payload-Digest"] == old["WARC-Payload-Digest"]
    assert warcio("check", second.name, folder=second.parent).returncode == 0
    # A body in a file that is gone is kept again.
    first.unlink()
    second.unlink()
    crawl(project, server.url("/other"))
    [_robots, kept] = records(first)
    assert (kept["WARC-Type"], len(kept["body"])) == ("response", len(server.answers["/other"].body))


def test_304_to_an_unconditional_request_is_not_a_revisit() -> None:
    answer = Response("http://127.0.0.1/feed", status=304)
    assert record_headers(answer, Request(answer.url), None) == {}
    requested = Request(answer.url, headers={"If-None-Match": '"1"'})
    assert record_headers(answer, requested, None) == {"WARC-Profile": f"{PROFILE}server-not-modified"}


def test_files_are_rotated_by_size_and_none_is_overwritten(server: FeedServer, project: Project) -> None:
    server.serve("/feed", atom([E("2")], prev="/1"))
    server.serve("/1", atom([E("1")]))
    (project.folder / "kept").mkdir()
    (project.folder / "kept" / "history-002.warc.gz").write_text("mine")
    crawl(project, server.url("/feed"), FHCRAWL_WARC_MAX_SIZE=1)
    files = {path.name: path for path in (project.folder / "kept").iterdir()}
    assert sorted(files) == [f"history-00{number}.warc.gz" for number in (1, 2, 3, 4)]
    assert files.pop("history-002.warc.gz").read_text() == "mine"
    assert [len(records(path)) for path in files.values()] == [1, 1, 1]
    assert all(len(records(path, ("warcinfo",))) == 1 for path in files.values())


def test_credentials_are_never_written(server: FeedServer, project: Project) -> None:
    server.serve("/feed", atom([E("1")]), headers={"Set-Cookie": "session=hunter1"})
    (project.folder / "feeds.toml").write_text(
        f'[[feed]]\nurl = "{server.url("/feed")}"\nheaders = {{X-Key = "hunter2", Cookie = "hunter3"}}\n'
    )
    host = server.root.removeprefix("http://")
    secrets = {"HTTPAUTH_USER": "hunter4", "HTTPAUTH_PASS": "hunter5", "HTTPAUTH_DOMAIN": host}
    settings = {**SETTINGS, **secrets, "FHCRAWL_WARC": "kept/x.warc"}
    run = project.crawl(settings=settings, args=("-a", "feeds=feeds.toml"))
    assert run.exit_code == 0
    sent = server.headers[server.requests.index("/feed")]
    assert {"X-Key", "Authorization", "Cookie"} <= sent.keys()
    written = (project.folder / "kept" / "x-00001.warc").read_bytes()
    assert b"GET /feed" in written
    for secret in (b"hunter", b"X-Key", b"Authorization", b"Cookie"):
        assert secret not in written


def test_truncated_response_is_marked_as_truncated(server: FeedServer, project: Project) -> None:
    body = atom([E("2"), E("1")]).encode()
    server.serve("/feed", body, cut=len(body) - 30)
    crawl(project, server.url("/feed"), RETRY_TIMES=0)
    [_robots, feed] = records(project.folder / "kept" / "history-001.warc.gz")
    assert (feed["WARC-Truncated"], feed["body"]) == ("disconnect", body[:-30])


def test_killed_process_leaves_an_unfinished_file_of_records(server: FeedServer, project: Project) -> None:
    server.serve("/feed", atom([E("1")], prev="/slow"))
    server.serve("/slow", atom([E("0")]), delay=60)
    settings = ("-s", f"FHCRAWL_WARC={SETTINGS['FHCRAWL_WARC']}")
    process = project.start("crawl", "history", "-a", f"feed={server.url('/feed')}", *settings)
    deadline = time.monotonic() + 100
    while "/slow" not in server.requests and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    [path] = (project.folder / "kept").iterdir()
    assert path.name == "history-001.warc.gz.open"
    assert [r["WARC-Target-URI"] for r in records(path)] == [server.url("/robots.txt"), server.url("/feed")]
    # The next crawl takes the next number.
    server.answers["/slow"].delay = 0
    crawl(project, server.url("/feed"))
    names = {path.name for path in (project.folder / "kept").iterdir()}
    assert names == {"history-001.warc.gz.open", "history-002.warc.gz"}


def test_disk_that_is_full_ends_the_files_and_not_the_crawl(server: FeedServer, project: Project) -> None:
    server.serve("/feed", atom([E("2")], prev="/1"))
    server.serve("/1", atom([E("1")]))
    (project.folder / "kept").write_text("no folder")
    run = project.crawl(server.url("/feed"), settings=SETTINGS)
    assert run.exit_code == 1
    assert run.stats["fhcrawl/warc/failed"] == 1
    assert len(run.items) == 2
    reported, last = run.warnings()
    assert last == f"ERROR: {FAILURES['fhcrawl/warc/failed']}"
    assert reported.startswith(
        "ERROR: The rest of this crawl is missing from the WARC files: they cannot be written ("
    )


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("kept/x.gz", "use a path that ends in .warc.gz, or in .warc"),
        ("kept/%(nme)s.warc.gz", "has an unknown placeholder ('nme')"),
        ("kept/%(name)d.warc.gz", "has an unknown placeholder"),
    ],
)
def test_path_that_cannot_be_used_gets_a_sentence(project: Project, path: str, sentence: str) -> None:
    run = project.crawl("http://feeds.invalid/", settings={"FHCRAWL_WARC": path})
    assert run.exit_code == 2
    assert sentence in run.log
    assert "Traceback" not in run.log


def test_record_that_does_not_fit_on_the_disk_is_not_half_there(tmp_path: Path) -> None:
    files = WarcFiles(str(tmp_path / "x-%(serial)d.warc"), {}, 0, {"software": "test"})
    request = Request("http://feeds.invalid/")
    response = TextResponse(request.url, body=b"one", protocol="HTTP/1.1")
    files.append(response, request, None)
    size = (tmp_path / "x-1.warc.open").stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            files.append(response.replace(body=b"two" * 1000), request, None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    files.close()
    assert [record["body"] for record in records(tmp_path / "x-1.warc")] == [b"one"]
    assert (tmp_path / "x-1.warc").stat().st_size == size
