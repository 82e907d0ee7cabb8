"""Documents that are made to use up memory or time: each loses itself, and never without a word.

benchmarks/hostile.py has all kinds.
"""

import gzip
import os
import time
import zlib
from collections.abc import Callable
from io import BufferedIOBase
from pathlib import Path

import brotli
import pytest

from benchmarks.hostile import KINDS
from tests.feeds import E, atom
from tests.projects import NewProject, Project, Run
from tests.server import Answer, FeedServer

pytestmark = [
    pytest.mark.any_store("what reading a document may cost"),
    pytest.mark.nightly("crawls documents that are made to use up memory or time"),
]

MIB = 1024**2
LARGEST = 20 * MIB
# What memory they take is looked at in one process.
SETTINGS = {"DOWNLOAD_MAXSIZE": LARGEST, "RETRY_TIMES": 0, "FHCRAWL_READER_ENABLED": False}
HEAD = (
    '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:fh="http://purl.org/syndication/history/1.0"><fh:archive/>'
    "<title>t</title><id>urn:feed</id><updated>2003-12-13T18:30:02Z</updated>"
)
FIRST = "<entry><id>first</id><title>t</title><updated>2003-12-13T18:30:02Z</updated>{}</entry>"
MILLION = 10**6
TEN_GB = 10 * 1024**3
START = b"HTTP/1.1 200 OK\r\nContent-Type: application/atom+xml\r\n"


def gzip_of_zeros(size: int) -> bytes:
    """Deflate can say the same block again and again; nobody gets as far as the checksum."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    start = squeeze.compress(b"\0" * MIB) + squeeze.flush(zlib.Z_FULL_FLUSH)
    block = squeeze.compress(b"\0" * MIB) + squeeze.flush(zlib.Z_FULL_FLUSH)
    return start + block * (size // MIB - 1) + squeeze.flush()


def brotli_of_zeros(size: int) -> bytes:
    squeeze = brotli.Compressor(quality=1)
    return b"".join([*(squeeze.process(b"\0" * MIB) for _ in range(size // MIB)), squeeze.finish()])


def zstd_of_zeros(size: int) -> bytes:
    """Zstandard can say one byte 128 KiB times (RFC 8878, 3.1.1.2.2: RLE_Block), again and again."""
    frame_header = bytes.fromhex("28b52ffd") + bytes([0x00, 0x58])
    block = ((128 * 1024 << 3) | (1 << 1)).to_bytes(3, "little") + b"\0"
    last = ((128 * 1024 << 3) | (1 << 1) | 1).to_bytes(3, "little") + b"\0"
    return frame_header + block * (size // (128 * 1024) - 1) + last


def encoded(encoding: str, body: bytes) -> Answer:
    return Answer(body, headers={"Content-Encoding": encoding}, etag=False)


def document(inner: str) -> Answer:
    return Answer(f"{HEAD}{inner}</feed>".encode(), etag=False)


def again_and_again(start: bytes, piece: bytes, pause: float = 0) -> Answer:
    def send(file: BufferedIOBase) -> None:
        file.write(start)
        while True:
            file.write(piece)
            if pause:
                file.flush()
                time.sleep(pause)

    return Answer(raw=send)


def in_gzips(times: int) -> Answer:
    body = b"<feed/>"
    for _ in range(times):
        squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
        body = squeeze.compress(body) + squeeze.flush()
    return encoded(", ".join(["gzip"] * times), body)


CHUNK = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
BOMBS: dict[str, tuple[Callable[[], Answer], str, str]] = {
    "10 GB in gzip": (lambda: encoded("gzip", gzip_of_zeros(TEN_GB)), "too-large", "DOWNLOAD_MAXSIZE"),
    "1 GB in brotli": (lambda: encoded("br", brotli_of_zeros(1024**3)), "too-large", "DOWNLOAD_MAXSIZE"),
    "10 GB in zstd": (lambda: encoded("zstd", zstd_of_zeros(TEN_GB)), "too-large", "DOWNLOAD_MAXSIZE"),
    "gzip in gzip in gzip": (lambda: in_gzips(50), "too-large", "is compressed 50 times"),
    "endless body": (
        lambda: again_and_again(START + b"Transfer-Encoding: chunked\r\n\r\n", CHUNK),
        "too-large",
        "DOWNLOAD_MAXSIZE",
    ),
    "endless headers": (
        lambda: again_and_again(START, b"X-More: " + b"x" * 1000 + b"\r\n"),
        "too-large",
        "has headers of more than 128 KiB",
    ),
    "endless line of a header": (
        lambda: again_and_again(START + b"X-More: ", b"x" * 1000),
        "too-large",
        "has headers of more than 128 KiB",
    ),
    "endless header": (
        lambda: again_and_again(START, b" folded " * 100 + b"\r\n"),
        "too-large",
        "has headers of more than 128 KiB",
    ),
    "text of 50 MB": (
        lambda: document(FIRST.format("<content>" + "x" * 50 * MILLION + "</content>")),
        "too-large",
        "DOWNLOAD_MAXSIZE",
    ),
}


@pytest.fixture(scope="module")
def allowed_peak(tmp_path_factory: pytest.TempPathFactory, new_project: NewProject) -> float:
    """What the largest allowed document costs: one whose entries all have to be mended."""
    entry = FIRST.format("<summary>" + "a & b " * 250 + "</summary>")
    entries = "".join(entry.replace("first", str(n)) for n in range(LARGEST // len(entry)))
    folder: Path = tmp_path_factory.mktemp("allowed")
    with FeedServer() as server, new_project(folder) as project:
        server.serve("/index", HEAD + entries[: LARGEST - 1000].rpartition("<entry>")[0] + "</feed>")
        run = project.crawl(server.url("/index"), settings=SETTINGS)
    assert run.stats["fhcrawl/entry/new"] > 10_000
    return run.peak


@pytest.mark.parametrize("bomb", BOMBS)
def test_bomb_loses_itself_and_costs_no_more_than_an_allowed_document(
    server: FeedServer, project: Project, allowed_peak: float, bomb: str
) -> None:
    make, kind, sentence = BOMBS[bomb]
    server.serve("/index", atom([E("top")], prev="/bomb"))
    server.answers["/bomb"] = make()
    server.serve("/good", atom([E("good 2")], prev="/good1"))
    server.serve("/good1", atom([E("good 1")]))
    run = project.crawl(server.url("/index"), server.url("/good"), settings=SETTINGS)
    assert run.exit_code == 0
    assert {"top", "good 1", "good 2"} <= set(run.changes) <= {"top", "good 1", "good 2", "first"}
    assert run.stats["fhcrawl/feed/complete"] == run.stats["fhcrawl/feed/incomplete"] == 1
    by_feed = {feed["feed"]: feed for feed in project.feeds()}
    # Beside it, tiny entries have no ids.
    [reason] = [r for r in by_feed[server.url("/index")]["reasons"] if r["kind"] != "entries-lost"]
    assert reason["kind"] == kind
    assert reason["url"] == server.url("/bomb")
    assert sentence in reason["detail"]
    assert "Traceback" not in run.log
    assert run.peak < allowed_peak * 1.05


def test_newest_entries_up_to_the_bound_are_kept(server: FeedServer, project: Project) -> None:
    dated = [E(day, updated=f"2003-01-0{day}T00:00:00Z") for day in "123"]
    server.serve("/index", atom(dated, prev="/a1"))
    server.serve("/a1", atom([E("0")]))
    run = project.crawl(server.url("/index"), settings={"FHCRAWL_MAX_ENTRIES": 2})
    assert set(run.changes) == {"3", "2", "0"}
    assert project.verdict() == ("incomplete", ["too-large"])
    assert "has 3 entries: only the newest 2 are read (FHCRAWL_MAX_ENTRIES)" in run.log
    run = project.crawl(server.url("/index"))
    assert set(run.changes) == {"1"}
    assert project.verdict() == ("complete", [])


def test_external_entities_and_doctypes_are_not_fetched_and_not_read(
    server: FeedServer, project: Project
) -> None:
    secret = project.folder / "secret.txt"
    secret.write_text("what nobody may read")
    server.serve("/secret", "what nobody may fetch")
    url = server.url("/secret")
    doctype = (
        f'<!DOCTYPE feed SYSTEM "{url}" [<!ENTITY file SYSTEM "{secret.as_uri()}">'
        f'<!ENTITY net SYSTEM "{url}"><!ENTITY % more SYSTEM "{url}">%more;]>'
    )
    document = atom([E("2", "[&file;&net;]".replace("&", "\0")), E("1")]).replace("\0", "&")
    server.serve("/index", document.replace("<feed", doctype + "<feed", 1))
    run = project.crawl(server.url("/index"))
    assert server.requested() == ["/index"]
    assert "nobody may" not in str(run.items) + run.log
    assert set(run.changes) == {"1", "2"}


def test_feed_that_dribbles_is_ended_and_the_next_run_goes_on(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("3")], prev="/a2"))
    server.serve("/a2", atom([E("2")], prev="/a1"))
    server.answers["/a1"] = again_and_again(START + b"Content-Length: 9999\r\n\r\n", b" ", pause=0.1)
    server.serve("/good", atom([E("good")]))
    began = time.monotonic()
    feeds = (server.url("/index"), server.url("/good"))
    run = project.crawl(*feeds, settings={"FHCRAWL_MAX_SECONDS": 3})
    assert time.monotonic() - began < 60
    assert set(run.changes) == {"3", "2", "good"}
    [reason] = next(feed for feed in project.feeds() if feed["kind"] == "archived")["reasons"]
    assert reason["kind"] == "limit"
    assert reason["detail"].endswith("FHCRAWL_MAX_SECONDS limits a crawl to 3 seconds")
    server.serve("/a1", atom([E("1")]))
    server.requested()
    run = project.crawl(*feeds)
    assert set(run.changes) == {"1"}
    assert sorted(server.requested()) == ["/a1", "/good", "/index"]


HOSTILE_SIZE = 24 * MIB
MOST_MEMORY = 1024  # MiB, of both processes
HOSTILE_SETTINGS = {"FHCRAWL_MAX_ENTRIES": 1000, "FHCRAWL_MAX_ARCHIVES": 2, "RETRY_TIMES": 0}
SAID = {
    "index, a million pages": ["too-large"],
    "index, one long URL": ["too-large"],
    "JSON, small objects": ["too-large"],
    "JSON, empty objects": ["too-large"],
    "Atom, empty entries": ["too-large"],
    "HTML, links to feeds": ["html"],
}
# Says in a file what is read in the crawl's own process.
TELLING = """
import sys
from pathlib import Path

if sys.orig_argv[-5:-3] != ["-m", "fhcrawl.crawling.parser"]:
    import json
    from lxml import etree
    def telling(function, number):
        def told(*args, **kwargs):
            if len(args[number]) > 100_000:
                Path({file!r}).open("a").write(f"{{function}}\\n")
            return function(*args, **kwargs)
        return told
    json.loads = telling(json.loads, 0)
    json.JSONDecoder.decode = telling(json.JSONDecoder.decode, 1)
    etree.fromstring = telling(etree.fromstring, 0)
"""


@pytest.fixture
def told(tmp_path: Path) -> Path:
    (tmp_path / "sitecustomize.py").write_text(TELLING.format(file=str(tmp_path / "told")))
    return tmp_path / "told"


def crawl_hostile(project: Project, told: Path, *feeds: str) -> Run:
    path = f"{project.environment()['PYTHONPATH']}{os.pathsep}{told.parent}"
    return project.crawl(*feeds, settings=HOSTILE_SETTINGS, PYTHONPATH=path)


def test_hostile_documents_cost_the_crawl_little_and_a_feed_beside_them_is_complete(
    server: FeedServer, project: Project, told: Path
) -> None:
    server.serve("/feed", atom([E("2")], prev="/behind"))
    server.serve("/behind", atom([E("1")]))
    crawl_hostile(project, told, server.url("/feed"))
    paths = {kind: f"/{number}" for number, kind in enumerate(SAID)}
    for kind, path in paths.items():
        body = gzip.compress(KINDS[kind].make(HOSTILE_SIZE), 1)
        encoded = {"Content-Encoding": "gzip"}
        server.answers[path] = Answer(body, content_type=KINDS[kind].content_type, headers=encoded)
    project.scrapy("subscribe", *map(server.url, paths.values()))  # or what is never read is forgotten
    run = crawl_hostile(project, told, server.url("/feed"), *map(server.url, paths.values()))
    assert run.exit_code == 0
    assert not told.exists(), told.read_text()
    assert run.peak < MOST_MEMORY
    found = {feed["feed"]: feed for feed in project.feeds()}
    assert found[server.url("/feed")]["verdict"] == "complete"
    kinds = {
        kind: sorted({reason["kind"] for reason in found[server.url(path)]["reasons"]} - {"not-read"})
        for kind, path in paths.items()
    }
    assert kinds == SAID
    assert project.database.rows("SELECT count(*) FROM documents") == [(2 + len(SAID),)]
