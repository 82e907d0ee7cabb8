"""`scrapy download`: the enclosures of a feed in the store, as files."""

import signal
import threading
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


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (entry("Tides", "http://a/1.mp3?x=1"), "2003-02-01 Tides.mp3"),
        (entry('../a/b\\c: "d"?\x1b\n\u202e <e>|*. ', "http://a/1.MP3"), "2003-02-01 a b c d e.mp3"),
        (entry(None, "http://a/b%2F..%2Fc%20d.mp3"), "2003-02-01 c d.mp3"),
        (entry("", "http://a/"), "2003-02-01 untitled.mp3"),
        (entry("A", "http://a/get.php", "image/png; x=1"), "2003-02-01 A.png"),
        (entry("A", "http://a/file", "no/type"), "2003-02-01 A"),
        (entry("A", "http://[/1.ogg", None), "2003-02-01 A"),
        (entry("A", "http://a/x.long.ending", None), "2003-02-01 A"),
        (entry("A", "http://a/1.ogg", published=None, updated="2004-05-06"), "2004-05-06 A.ogg"),
        (entry("\ud800", "http://a/1.ogg", published=None), "undated 1.ogg"),
        (entry("é" * 500, "http://a/1.ogg"), f"2003-02-01 {'é' * 75}.ogg"),
    ],
)
def test_names_are_safe_on_all_systems(given: dict[str, Any], name: str) -> None:
    [file] = files_of([given])
    assert file.name == name
    assert file.url == given["enclosures"][0]["url"]


def test_names_are_unique_and_stay_the_same() -> None:
    entries = [entry("A", "http://a/1.mp3"), entry("a", "http://a/2.mp3"), entry("B", "http://a/3.mp3")]
    entries[0]["enclosures"] *= 2
    names = [file.name for file in files_of(entries)]
    assert len({name.casefold() for name in names}) == 4
    assert names[-1] == "2003-02-01 B.mp3"
    others = [file.name for file in files_of([entry("A", "http://b/0.mp3"), *entries])]
    assert others[1:] == names


def serve(server: FeedServer, project: Project, *numbers: int) -> str:
    body = rss([E(str(number)) for number in reversed(numbers)], updated=None)
    for number in numbers:
        link = f'<enclosure url="{server.url(f"/{number}.mp3")}" type="{AUDIO}" length="7"/>'
        body = body.replace(f"<guid>{number}</guid>", f"<guid>{number}</guid>{link}")
        server.serve(f"/{number}.mp3", f"audio {number}", content_type=AUDIO)
    server.serve("/podcast", body)
    project.crawl(server.url("/podcast"))
    server.asked()
    return server.url("/podcast")


def download(project: Project, *args: str) -> tuple[int, list[str], list[str]]:
    done = project.scrapy("download", *args, "-d", "files", "-s", f"USER_AGENT={USER_AGENT}")
    return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()


def files(project: Project) -> list[str]:
    return sorted(path.read_text() for path in (project.folder / "files").iterdir())


def test_what_is_there_is_not_downloaded_again(server: FeedServer, project: Project) -> None:
    feed = serve(server, project, 1, 2, 3)
    del server.answers["/2.mp3"]
    code, out, err = download(project, feed)
    assert (code, err) == (1, [f"{server.url('/2.mp3')} is missing (404)"])
    assert out[-1] == "2 downloaded, 0 already there, 1 missing"
    assert files(project) == ["audio 1", "audio 3"]
    assert server.asked() == ["/1.mp3", "/2.mp3", "/3.mp3"]
    server.serve("/2.mp3", "audio 2")
    code, out, err = download(project, feed)
    assert (code, out[-1], err) == (0, "1 downloaded, 2 already there, 0 missing", [])
    assert files(project) == ["audio 1", "audio 2", "audio 3"]
    assert server.asked() == ["/2.mp3"]
    assert download(project, feed)[:2] == (0, ["0 downloaded, 3 already there, 0 missing"])


def test_failures_are_one_line_each(server: FeedServer, project: Project) -> None:
    feed = serve(server, project, 1, 2, 3, 4)
    server.serve("/robots.txt", "User-agent: *\nDisallow: /1.mp3", content_type="text/plain")
    server.serve("/2.mp3", "", content_type=AUDIO)
    server.answers["/3.mp3"] = Answer(b"audio", cut=2)
    server.answers["/4.mp3"] = Answer(status=302, headers={"Location": "http://127.0.0.2:9/private.mp3"})
    code, out, err = download(project, feed)
    assert (code, out) == (1, ["0 downloaded, 0 already there, 4 missing"])
    said = dict(line.split(" ", 1) for line in err)
    assert len(said) == len(err) == 4
    assert said[server.url("/1.mp3")] == "is not fetched: robots.txt disallows it"
    assert said[server.url("/2.mp3")] == "is empty"
    assert said[server.url("/3.mp3")] == "comes incomplete"
    assert said[server.url("/4.mp3")].startswith("is not fetched: ")
    assert files(project) == []


def test_server_that_wants_no_requests_gets_none(server: FeedServer, project: Project) -> None:
    feed = serve(server, project, 1, 2)
    server.answers["/1.mp3"] = Answer(status=503, headers={"Retry-After": "86400"})
    code, _, err = download(project, feed)
    assert code == 1
    assert [line for line in err if "86400 seconds (503), which is more than FHCRAWL_MAX_WAIT" in line] == err
    assert len(err) == 2
    assert server.asked() == ["/1.mp3"]


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
    assert err[-1].endswith(
        f"{server.url('/other')} is not in the store; run fhcrawl crawl {server.url('/other')} first"
    )


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
    process.kill()
    process.wait(60)
    killed.set()
    assert files(project) == ["audio 1"]
    server.asked()
    server.answers["/2.mp3"] = complete
    code, out, err = download(project, feed)
    assert (code, out[-1], err) == (0, "2 downloaded, 1 already there, 0 missing", [])
    assert server.asked() == ["/2.mp3", "/3.mp3"]
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
    server.on_request = lambda path: arrived.set() if path == "/1.mp3" else None
    server.answers["/1.mp3"].delay = 3
    process = project.start("download", feed, "-d", "files", "-s", f"USER_AGENT={USER_AGENT}")
    assert arrived.wait(60)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert files(project) == ["audio 1"]
    assert server.asked() == ["/1.mp3"]
