"""`scrapy download`: the enclosures of a feed in the store, as files."""

import json
import mimetypes
import signal
import threading
import time
from collections.abc import Iterator
from io import BufferedIOBase
from typing import Any

import pytest

from fhcrawl.commands.download import Command
from fhcrawl.spiders.enclosures import files_of
from tests.feeds import E, rss
from tests.projects import USER_AGENT, Project
from tests.server import Answer, FeedServer

pytestmark = [pytest.mark.in_process, pytest.mark.any_store("reads it as exports do")]
AUDIO = "audio/mpeg"


def entry(title: str | None, url: str, kind: str | None = AUDIO, **fields: Any) -> dict[str, Any]:
    given = {"id": url, "title": title, "published": "2003-02-01T08:00:00Z", "updated": None, **fields}
    return {**given, "document": "", "enclosures": [{"url": url, "type": kind, "length": None}]}


def name_of(given: dict[str, Any], sent_type: str = "") -> str:
    [file] = files_of("", [given], [])
    assert file.url == given["enclosures"][0]["url"]
    return file.stem + file.ending(sent_type)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (entry("Tides", "http://a/1.mp3?x=1"), "2003-02-01 Tides.mp3"),
        (entry('../a/b\\c: "d"?\x1b\n\u202e <e>|*. ', "http://a/1.MP3"), "2003-02-01 a b c d e.mp3"),
        (entry(None, "http://a/b%2F..%2Fc%20d.mp3"), "2003-02-01 c d.mp3"),
        (entry("", "http://a/"), "2003-02-01 untitled.mp3"),
        (entry("A", "http://[/1.ogg", None), "2003-02-01 A"),
        (entry("A", "http://a/1.ogg", None, published=None, updated="2004-05-06"), "2004-05-06 A.ogg"),
        (entry("\ud800", "http://a/1.ogg", None, published=None), "undated 1.ogg"),
        (entry("é" * 500, "http://a/1.ogg", None), f"2003-02-01 {'é' * 75}.ogg"),
    ],
)
def test_names_are_safe_on_all_systems(given: dict[str, Any], name: str) -> None:
    assert name_of(given) == name


@pytest.mark.parametrize(
    ("path", "listed", "sent", "ending"),
    [
        ("1.mp3", "audio/mpeg", "video/mp4", ".mp4"),  # the response's type comes first
        ("1.mp3", "audio/flac", "application/octet-stream", ".flac"),
        ("1.OPUS", None, "", ".opus"),
        ("1.opus", AUDIO, "audio/ogg", ".opus"),  # a name that such files have
        ("1.jpeg", "image/png", "image/jpg", ".jpeg"),
        ("v1.20", "Audio/X-M4A; x=1", AUDIO, ".m4a"),  # servers send audio/mpeg for any audio
        ("1", "image/png", AUDIO, ".mp3"),
        ("1", "application/epub+zip", "application/zip", ".epub"),
        ("book", "application/x-mobipocket-ebook", "binary/octet-stream", ".mobi"),
        ("3.html", AUDIO, "", ".mp3"),
        ("get.php", "image/webp", "", ".webp"),
        ("example.com", None, "no/type", ""),
    ],
)
def test_endings_do_not_depend_on_the_machine(
    path: str, listed: str | None, sent: str, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mimetypes, "guess_extension", lambda *_: ".wrong")
    assert name_of(entry("A", f"http://a/{path}", listed), sent) == f"2003-02-01 A{ending}"


def test_newest_files_come_first_and_undated_ones_last() -> None:
    given = [
        entry("new", "http://a/1", published="2004-01-01T00:30:00+01:00"),
        entry("undated", "http://a/2", published=None),
        entry("old", "http://a/3"),
        entry("newest", "http://a/4", published="2004-01-01T00:00:00Z"),
    ]
    assert [file.stem.split()[1] for file in files_of("", given, [])] == ["newest", "new", "old", "undated"]


def test_records_belong_to_the_same_file_of_an_entry() -> None:
    given = entry("A", "https://a.example.org/1.mp3?token=1")
    given["enclosures"] *= 2
    given["enclosures"] = [{**one, "url": f"{one['url']}{n}"} for n, one in enumerate(given["enclosures"])]
    first = [file.record for file in files_of("", [given], [])]
    assert len({record.key for record in first}) == 2
    reordered = {**given, "title": "B", "published": None, "enclosures": given["enclosures"][::-1]}
    for records in (first, first[::-1]):
        keys = [file.record.key for file in files_of("", [reordered], records)]
        assert keys == [one.key for one in first[::-1]]
    moved = [
        {**one, "url": one["url"].replace("a.", "b.").replace("n=", "n=x")} for one in given["enclosures"]
    ]
    again = files_of("", [{**given, "enclosures": moved}], first[::-1])
    assert {file.record.key for file in again} == {one.key for one in first}
    other = files_of("", [{**given, "id": "other"}], first)
    assert not {file.record.key for file in other} & {one.key for one in first}


def serve(server: FeedServer, project: Project, *numbers: int) -> str:
    body = rss([E(str(number)) for number in reversed(numbers)], updated=None)
    for number in numbers:
        link = f'<enclosure url="{server.url(f"/{number}.mp3")}" type="{AUDIO}" length="7"/>'
        body = body.replace(f"<guid>{number}</guid>", f"<guid>{number}</guid>{link}")
        server.serve(f"/{number}.mp3", f"audio {number}", content_type=AUDIO)
    server.serve("/podcast", body)
    project.crawl(server.url("/podcast"))
    server.requested()
    return server.url("/podcast")


def download(project: Project, *args: str) -> tuple[int, list[str], list[str]]:
    done = project.scrapy("download", *args, "-d", "files", "-s", f"USER_AGENT={USER_AGENT}")
    return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()


def files(project: Project) -> list[str]:
    """The contents of complete files; a killed process leaves its lock, which is hidden."""
    paths = (project.folder / "files").iterdir()
    return sorted(path.read_text() for path in paths if path.suffix != ".part" and path.name[0] != ".")


def test_what_is_there_is_not_downloaded_again(server: FeedServer, project: Project) -> None:
    feed = serve(server, project, 1, 2, 3)
    del server.answers["/2.mp3"]
    code, out, err = download(project, feed)
    assert (code, err) == (1, [f"{server.url('/2.mp3')} is missing (404)"])
    assert out[-1] == "2 downloaded, 0 already there, 1 missing"
    assert files(project) == ["audio 1", "audio 3"]
    assert server.requested() == ["/3.mp3", "/2.mp3", "/1.mp3"]
    server.serve("/2.mp3", "audio 2")
    code, out, err = download(project, feed)
    assert (code, out[-1], err) == (0, "1 downloaded, 2 already there, 0 missing", [])
    assert files(project) == ["audio 1", "audio 2", "audio 3"]
    assert server.requested() == ["/2.mp3"]
    assert download(project, feed)[:2] == (0, ["0 downloaded, 3 already there, 0 missing"])


def test_failures_are_one_line_each(server: FeedServer, project: Project) -> None:
    feed = serve(server, project, 1, 2, 3, 4)
    server.serve("/robots.txt", "User-agent: *\nDisallow: /1.mp3", content_type="text/plain")
    server.serve("/2.mp3", "", content_type=AUDIO)
    server.answers["/3.mp3"] = Answer(b"audio", cut=2)
    server.answers["/4.mp3"] = Answer(status=302, headers={"Location": "http://127.0.0.2:9/private.mp3"})
    code, out, err = download(project, feed)
    assert (code, out) == (1, ["0 downloaded, 0 already there, 4 missing"])
    reported = dict(line.split(" ", 1) for line in err)
    assert len(reported) == len(err) == 4
    assert reported[server.url("/1.mp3")] == "is not fetched: robots.txt disallows it"
    assert reported[server.url("/2.mp3")] == "is empty"
    assert reported[server.url("/3.mp3")] == "comes incomplete"
    assert reported[server.url("/4.mp3")].startswith("is not fetched: ")
    assert files(project) == []


def serve_titled(server: FeedServer, project: Project, *entries: E) -> str:
    """Serve a podcast whose entries have the file `/ID.mp3`, and crawl it."""
    body = rss(list(entries), updated=None)
    for one in entries:
        link = f'<enclosure url="{server.url(f"/{one.id}.mp3")}" type="{AUDIO}" length="7"/>'
        body = body.replace(f"<guid>{one.id}</guid>", f"<guid>{one.id}</guid>{link}")
        server.serve(f"/{one.id}.mp3", f"audio {one.id}", content_type=AUDIO)
    server.serve("/podcast", body)
    project.crawl(server.url("/podcast"))
    server.requested()
    return server.url("/podcast")


def names(project: Project) -> dict[str, str]:
    return {path.name: path.read_text() for path in (project.folder / "files").iterdir()}


def test_files_keep_their_names(server: FeedServer, project: Project) -> None:
    feed = serve_titled(server, project, E("1", title="News", updated="2003-01-01T00:00:00Z"))
    assert download(project, feed)[0] == 0
    before = names(project)
    assert before == {"2003-01-01 News.mp3": "audio 1"}
    new = E("2", title="news", updated="2003-01-01T00:00:00Z")
    serve_titled(server, project, new, E("1", title="Old news", updated="2003-01-09T00:00:00Z"))
    assert download(project, feed)[1][-1] == "1 downloaded, 1 already there, 0 missing"
    assert server.requested() == ["/2.mp3"]
    assert names(project) == before | {"2003-01-01 news (2).mp3": "audio 2"}
    (project.folder / "files" / "2003-01-01 News.mp3").unlink()
    assert download(project, feed)[1][-1] == "1 downloaded, 1 already there, 0 missing"
    assert names(project) == before | {"2003-01-01 news (2).mp3": "audio 2"}


def test_files_of_others_are_not_replaced(server: FeedServer, project: Project) -> None:
    feed = serve_titled(server, project, E("1", title="A"), E("2", title="B"))
    folder = project.folder / "files"
    folder.mkdir()
    (folder / "2003-12-13 A.mp3").write_text("a file of the user")
    (folder / "2003-12-13 B.mp3").write_text("audio 2")  # the store has been lost
    assert download(project, feed)[0] == 0
    assert names(project) == {
        "2003-12-13 A.mp3": "a file of the user",
        "2003-12-13 A (2).mp3": "audio 1",
        "2003-12-13 B.mp3": "audio 2",
    }


def test_texts_are_no_media(server: FeedServer, project: Project) -> None:
    feed = serve(server, project, *range(5))
    right = dict(server.answers)
    server.serve("/0.mp3", "Too many requests", content_type="text/plain; charset=utf-8")
    server.serve("/1.mp3", '{"error": 1}', content_type="application/problem+json")
    server.serve("/2.mp3", "\ufeff\n <!DocType HTML><title>Log in</title>", content_type=AUDIO)
    server.serve("/3.mp3", "<HTML lang='en'>", content_type="")
    code, out, err = download(project, feed)
    assert (code, out[-1]) == (1, "1 downloaded, 0 already there, 4 missing")
    assert len(err) == 4
    assert all(" is not fetched: the server sent " in line for line in err)
    assert files(project) == ["audio 4"]
    server.answers = right
    assert download(project, feed)[1][-1] == "4 downloaded, 1 already there, 0 missing"
    assert files(project) == [f"audio {number}" for number in range(5)]


def test_pages_that_a_feed_lists_as_files_are_downloaded() -> None:
    [file] = files_of("", [entry("A", "http://a/transcript.html", "text/html")], [])
    assert not file.is_text_instead("text/html", b"<!DOCTYPE html>")
    [file] = files_of("", [entry("A", "http://a/1.pdf", None)], [])
    assert file.is_text_instead("", b"<!DOCTYPE html>")
    assert not file.is_text_instead("application/pdf", b"%PDF-<html")


def test_other_sizes_are_reported(server: FeedServer, project: Project) -> None:
    feed = serve(server, project, 1, 2, 3)
    server.serve("/2.mp3", "audio 2 is longer", content_type=AUDIO)
    server.serve("/3.mp3", "audio 3...", content_type=AUDIO)
    code, out, err = download(project, feed)
    assert (code, out[-1]) == (0, "3 downloaded, 0 already there, 0 missing")
    assert err == [f"{server.url('/2.mp3')} has 17 bytes, but 7 by the feed; it is kept"]


def test_newest_files_of_several_feeds(server: FeedServer, project: Project) -> None:
    months = [E(f"{n}", title=f"{n}", updated=f"2003-0{n}-01T00:00:00Z") for n in (1, 2, 3)]
    feed = serve_titled(server, project, *months)
    other = server.url("/other")
    server.serve(
        "/other",
        rss([E("9", title="other")]).replace(
            "</guid>", f'</guid><enclosure url="{server.url("/9.mp3")}" type="{AUDIO}"/>'
        ),
    )
    server.serve("/9.mp3", "audio 9", content_type=AUDIO)
    project.crawl(other)
    server.requested()
    assert download(project, feed, "--limit", "1")[1] == [
        "2003-03-01 3.mp3",
        "1 downloaded, 0 already there, 0 missing",
    ]
    assert download(project, feed, "--limit", "1")[1] == ["0 downloaded, 1 already there, 0 missing"]
    assert download(project, feed, "--since", "2003-02")[1][0] == "2003-02-01 2.mp3"
    assert download(project, "--limit", "1")[0] == 2
    assert download(project, feed, "--limit", "0")[0] == download(project, feed, "--since", "x")[0] == 2
    assert download(project, feed, other)[1][-1] == "2 downloaded, 2 already there, 0 missing"
    assert project.scrapy("subscribe", feed, other).returncode == 0
    assert download(project)[1] == ["0 downloaded, 4 already there, 0 missing"]


def test_server_that_wants_no_requests_gets_none(server: FeedServer, project: Project) -> None:
    feed = serve(server, project, 1, 2)
    server.answers["/2.mp3"] = Answer(status=503, headers={"Retry-After": "86400"})
    code, _, err = download(project, feed)
    assert code == 1
    assert [line for line in err if "86400 seconds (503), which is more than FHCRAWL_MAX_WAIT" in line] == err
    assert len(err) == 2
    assert server.requested() == ["/2.mp3"]


def test_host_has_one_download_at_a_time(server: FeedServer, project: Project) -> None:
    feed = serve(server, project, *range(6))
    for number in range(6):
        server.answers[f"/{number}.mp3"].delay = 0.05
    assert download(project, feed, "-s", "DOWNLOAD_DELAY=0", "-s", "AUTOTHROTTLE_ENABLED=0")[0] == 0
    assert server.busiest == 1


def test_feed_that_was_not_crawled_is_refused(server: FeedServer, project: Project) -> None:
    serve(server, project, 1)
    code, out, err = download(project, server.url("/other"))
    assert (code, out) == (2, [])
    assert f"{server.url('/other')} is not in the store" in err[-1]


@pytest.mark.real_crawl
def test_killed_download_goes_on_behind_the_complete_files(server: FeedServer, project: Project) -> None:
    feed = serve(server, project, 1, 2, 3)
    arrived, killed = threading.Event(), threading.Event()

    def hang(_: Any) -> None:
        arrived.set()
        killed.wait(60)

    complete, server.answers["/2.mp3"] = server.answers["/2.mp3"], Answer(raw=hang)
    process = project.start("download", feed, "-d", "files", "-s", f"USER_AGENT={USER_AGENT}")
    assert arrived.wait(60)
    # The next request is sent before the file of the one before it has its name.
    end = time.monotonic() + 60
    while files(project) != ["audio 3"] and time.monotonic() < end:
        time.sleep(0.05)
    process.kill()
    process.wait(60)
    killed.set()
    assert files(project) == ["audio 3"]
    server.requested()
    server.answers["/2.mp3"] = complete
    code, out, err = download(project, feed)
    assert (code, out[-1], err) == (0, "2 downloaded, 1 already there, 0 missing", [])
    assert server.requested() == ["/2.mp3", "/1.mp3"]
    assert files(project) == ["audio 1", "audio 2", "audio 3"]


def test_files_after_a_signal_are_left_for_the_next_run(
    server: FeedServer, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = serve(server, project, 1, 2, 3)

    def interrupted(command: Command, *_args: object, **_spider: object) -> None:
        command.signals.number = 1

    monkeypatch.setattr(Command, "run_crawl", interrupted)
    assert download(project, feed)[1] == ["0 downloaded, 0 already there, 3 left for the next run"]


@pytest.mark.real_crawl
def test_a_signal_ends_the_download_after_the_file_in_progress(server: FeedServer, project: Project) -> None:
    feed = serve(server, project, 1, 2, 3)
    arrived = threading.Event()
    server.on_request = lambda path: arrived.set() if path == "/3.mp3" else None
    server.answers["/3.mp3"].delay = 3
    process = project.start("download", feed, "-d", "files", "-s", f"USER_AGENT={USER_AGENT}")
    assert arrived.wait(60)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert files(project) == ["audio 3"]
    assert server.requested() == ["/3.mp3"]


ETAG = '"v1"'


def partly(body: bytes, begin: int, end: int, etag: str = ETAG, total: int | None = None) -> Answer:
    """Answer a part of a body from `begin`, as 206 unless that is 0, and break the connection at `end`."""
    status = (
        f"206 Partial\r\nContent-Range: bytes {begin}-{len(body) - 1}/{total or len(body)}"
        if begin
        else "200 OK"
    )
    fields = f"Content-Type: {AUDIO}\r\nETag: {etag}\r\nContent-Length: {len(body) - begin}"

    def write(output: BufferedIOBase) -> None:
        output.write(f"HTTP/1.1 {status}\r\n{fields}\r\n\r\n".encode() + body[begin:end])
        output.flush()

    return Answer(raw=write)


BODY = b"ID3" + bytes(range(256)) * 400
CASES: dict[str, tuple[Answer, Answer, dict[str, str | None], int]] = {
    "the rest": (
        partly(BODY, 0, 50_000),
        partly(BODY, 50_000, len(BODY)),
        {"Range": "bytes=50000-", "If-Range": ETAG},
        0,
    ),
    "changed": (partly(b"x" * 90_000, 0, 50_000), Answer(BODY, content_type=AUDIO), {"If-Range": ETAG}, 0),
    "other size": (partly(BODY, 0, 50_000), partly(BODY, 50_000, len(BODY), total=9), {"If-Range": ETAG}, 1),
    "other part": (partly(BODY, 0, 50_000), partly(BODY, 40_000, len(BODY)), {"If-Range": ETAG}, 1),
    "weak": (partly(BODY, 0, 50_000, 'W/"1"'), Answer(BODY, content_type=AUDIO), {"Range": None}, 0),
}


@pytest.mark.real_crawl
@pytest.mark.parametrize("case", CASES)
def test_interrupted_file_is_resumed(server: FeedServer, project: Project, case: str) -> None:
    feed = serve(server, project, 1)
    server.answers["/1.mp3"], then, fields, code = CASES[case]
    arguments = ("-s", "RETRY_TIMES=0")
    assert download(project, feed, *arguments)[0] == 1
    [part] = (project.folder / "files").iterdir()
    assert (part.suffix, part.stat().st_size) == (".part", 50_000)
    server.requested()
    server.answers["/1.mp3"] = then
    assert download(project, feed, *arguments)[0] == code
    sent = server.headers[-1]
    assert {name: sent.get(name) for name in fields} == fields
    contents = [path.read_bytes() for path in (project.folder / "files").iterdir()]
    assert contents == [BODY if code == 0 else BODY[:50_000]]


@pytest.mark.real_crawl
def test_part_that_the_server_refuses_is_requested_again(server: FeedServer, project: Project) -> None:
    feed = serve(server, project, 1)
    server.answers["/1.mp3"] = partly(BODY, 0, 50_000)
    assert download(project, feed, "-s", "RETRY_TIMES=0")[0] == 1
    answers: Iterator[Answer] = iter([Answer(status=416), Answer(BODY, content_type=AUDIO)])
    server.requested()

    def change(path: str) -> None:
        if path == "/1.mp3" and server.requests.count(path) == 1:
            server.answers["/1.mp3"] = next(answers)

    server.answers["/1.mp3"] = next(answers)
    server.on_request = change
    assert download(project, feed, "-s", "RETRY_TIMES=0")[0] == 0
    assert server.requested() == ["/1.mp3", "/1.mp3"]


@pytest.mark.real_crawl
def test_files_are_not_kept_in_memory(server: FeedServer, project: Project) -> None:
    feed = serve(server, project, 1)
    octets = 150 * 1024**2

    def write(output: BufferedIOBase) -> None:
        output.write(f"HTTP/1.1 200 OK\r\nContent-Type: {AUDIO}\r\nContent-Length: {octets}\r\n\r\n".encode())
        output.writelines(bytes(1024**2) for _ in range(150))

    server.answers["/1.mp3"] = Answer(raw=write)
    (project.folder / "stats.json").unlink()
    assert download(project, feed, "-s", "STATS_CLASS=tests.projects.JsonStatsCollector")[0] == 0
    [path] = (project.folder / "files").iterdir()
    assert path.stat().st_size == octets
    assert json.loads((project.folder / "stats.json").read_text())["test/peak_memory"] < octets / 1024
