"""Crawls that complete feeds with what web archives have of them."""

import gzip
import os
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from fhcrawl.exceptions import ArgumentError
from fhcrawl.warc import warc_files
from fhcrawl.warc.captures import CaptureIndex
from fhcrawl.warc.writing import digest
from tests.feeds import E, atom
from tests.projects import NewProject, Project, Run
from tests.server import FeedServer

pytestmark = pytest.mark.in_process
slow = pytest.mark.slow("many crawls")

LONG = atom([E("1", "x" * 5000)])
REVISIT = "http://netpreserve.org/warc/1.0/revisit/"


class Archive:
    """A web archive's file."""

    def __init__(self, path: Path, *, compressed: bool = True) -> None:
        self.path = path
        self._buffer = BytesIO()
        self._writer = WARCWriter(self._buffer, gzip=compressed)

    def add(self, url: str, date: str, body: str | bytes, **more: Any) -> None:
        body = body.encode() if isinstance(body, str) else body
        kind, status = more.get("kind", "response"), more.get("status", "200 OK")
        protocol = more.get("protocol", "HTTP/1.1")
        lines = list({"Content-Type": "application/atom+xml", **more.get("http", {})}.items())
        record = self._writer.create_warc_record(
            url,
            kind,
            payload=BytesIO(body),
            length=len(body),
            http_headers=None if kind == "resource" else StatusAndHeaders(status, lines, protocol),
            warc_headers_dict={"WARC-Date": date, **more.get("warc", {})},
        )
        self._writer.write_record(record)
        self.path.write_bytes(self._buffer.getvalue())


def read(project: Project, *urls: str, path: str = "old.warc.gz", **kwargs: Any) -> Run:
    run = project.crawl(*urls, args=("-a", f"warc={path}"), **kwargs)
    assert run.exit_code == 0, run.log
    return run


@pytest.fixture
def archive(project: Project) -> Archive:
    return Archive(project.folder / "old.warc.gz")


@pytest.mark.parametrize("compressed", [True, False])
def test_captures_complete_a_feed_as_it_is(server: FeedServer, project: Project, compressed: bool) -> None:
    archive = Archive(project.folder / "old.warc.gz", compressed=compressed)
    feed = server.url("/feed")
    archive.add(feed, "2009-01-01T00:00:00Z", atom([E("1", updated="2009-01-01T00:00:00Z")]))
    archive.add(server.url("/other"), "2009-01-01T00:00:00Z", atom([E("other")]))
    archive.add(feed, "2010-01-01T00:00:00Z", b"<html>gone</html>", status="404 Not Found")
    archive.add(
        # Of an earlier time, when it was not yet https:, say.
        feed.replace("http:", "https:"),
        "2011-01-01T00:00:00Z",
        gzip.compress(atom([E("2", updated="2011-01-01T00:00:00Z")]).encode()),
        http={"Content-Encoding": "gzip"},
    )
    server.serve("/feed", atom([E("3", updated="2024-01-01T00:00:00Z")]))
    run = read(project, feed)
    assert run.changes == {"1": "new", "2": "new", "3": "new"}
    assert {item["document"] for item in run.items} == {feed, feed.replace("http:", "https:")}
    assert server.requested() == ["/feed"]
    assert run.stats["fhcrawl/document/processed"] == 3
    assert project.verdict() == ("unknown", ["no-history", "holes"])
    # Once more, it is the same.
    assert read(project, feed).items == []


@slow
def test_files_without_captures_are_told(server: FeedServer, project: Project, archive: Archive) -> None:
    archive.add(server.url("/other"), "2009-01-01T00:00:00Z", atom([E("other")]))
    server.serve("/feed", atom([E("1")]))
    reported = "WARNING: The WARC files have no captures of these feeds"
    assert reported in read(project, server.url("/feed")).log
    archive.add(server.url("/feed"), "2009-01-01T00:00:00Z", atom([E("0")]))
    assert reported not in read(project, server.url("/feed")).log


@slow
def test_lost_feed_is_read_from_an_archive(server: FeedServer, project: Project, archive: Archive) -> None:
    archive.add(server.url("/feed"), "2009-01-01T00:00:00Z", atom([E("1")], prev="/old", title="Old"))
    archive.add(server.url("/old"), "2008-01-01T00:00:00Z", atom([E("0")], prev="/older"))
    archive.add(server.url("/older"), "2008-06-01T00:00:00Z", atom([E("-1")]), kind="resource")
    run = read(project, server.url("/feed"))
    assert set(run.changes) == {"1", "0", "-1"}
    assert server.requested() == ["/feed"]
    assert project.verdict() == ("unknown", ["only-captures", "http-404"])
    [feed] = project.feeds()
    reported = "has never been read directly; its entries are from captures"
    assert (feed["title"], feed["reasons"][0]["detail"]) == ("Old", reported)
    advice = project.scrapy("feeds").stdout
    assert ("nothing, if the feed no longer exists;" in advice, "unsubscribe" in advice) == (True, False)


OLD, NEW = "2009-01-01", "2010-01-01"
TWO = atom([E("2")], prev="/1")
WRONG = atom([E("1", "wrong clock", "2012-01-01T00:00:00Z")], updated=None)
RIGHT = atom([E("1", "right", f"{NEW}T00:00:00Z")], updated=f"{NEW}T00:00:00Z")
BROKEN = {f"/feed {OLD}": "<html>parked</html>", f"/feed {NEW}": atom([E("0")])[:-5]}
AT_ONCE = {f"/feed {OLD}": atom([E("1", "new")], prev="/1"), f"/1 {OLD}": atom([E("1", "old")])}
TEXTS = dict.fromkeys("012", "text")
Verdict = tuple[str, list[str]]
# What archives have, what is served, the texts of the entries, and the verdict if it matters.
CAPTURED: dict[str, tuple[dict[str, str], dict[str, str], dict[str, str], Verdict | None]] = {
    "the gap of a missing archive stays": (
        *({f"/1 {OLD}": atom([E("1")])}, {"/feed": TWO}, {"1": "text", "2": "text"}),
        ("incomplete", ["http-404"]),
    ),
    "a broken capture is no reason": (
        *(BROKEN, {"/feed": TWO, "/1": atom([E("1")])}, TEXTS, ("complete", [])),
    ),
    # In 2009, 2012 was the future.
    "wrong clock": ({f"/feed {OLD}": WRONG}, {"/feed": RIGHT}, {"1": "right"}, None),
    "an archive captured with the subscription document is older": (AT_ONCE, {}, {"1": "new"}, None),
    "bound of documents": ({f"/feed {OLD}": LONG, f"/feed {NEW}": atom([E("2")])}, {}, {"2": "text"}, None),
    "a link leads to no WARC file": (
        *({f"/secret {OLD}": atom([E("secret")])}, {"/feed": atom([E("1")], prev="WARC#0")}, {"1": "text"}),
        ("incomplete", ["refused-url"]),
    ),
}


@slow
@pytest.mark.parametrize(("captures", "live", "texts", "verdict"), CAPTURED.values(), ids=CAPTURED)
def test_feed_with_captures(
    server: FeedServer,
    project: Project,
    archive: Archive,
    captures: dict[str, str],
    live: dict[str, str],
    texts: dict[str, str],
    verdict: Verdict | None,
) -> None:
    for number, (place, body) in enumerate(captures.items(), 1):
        path, _, date = place.partition(" ")
        archive.add(server.url(path), f"{date}T00:00:00.{number}Z", body)
    for path, body in live.items():
        server.serve(path, body.replace("WARC", archive.path.as_uri()))
    assert read(project, server.url("/feed"), settings={"DOWNLOAD_MAXSIZE": 4000}).texts == texts
    assert verdict is None or project.verdict() == verdict


@slow
def test_live_document_is_newer_than_captures(server: FeedServer, project: Project, archive: Archive) -> None:
    archive.add(server.url("/feed"), "2011-01-01T00:00:00Z", atom([E("1", "b"), E("2", "b")]))
    server.serve("/feed", atom([E("1", "live")]))
    assert read(project, server.url("/feed")).texts == {"1": "live", "2": "b"}
    # Whichever comes first.
    archive.add(server.url("/feed"), "2009-01-01T00:00:00Z", atom([E("1", "a"), E("2", "a")]))
    assert read(project, server.url("/feed")).items == []


@slow
def test_revisits_are_resolved_if_possible(server: FeedServer, project: Project, archive: Archive) -> None:
    feed, same = server.url("/feed"), f"{REVISIT}identical-payload-digest"
    other = Archive(project.folder / "other.warc.gz")
    mirrored = atom([E("1", "a", "2009-01-01T00:00:00Z")])
    other.add(server.url("/mirror"), "2008-01-01T00:00:00Z", mirrored)
    other.add("dns:example.org", "2008-01-01T00:00:00Z", "x", kind="resource")
    payload = {"WARC-Profile": same, "WARC-Payload-Digest": digest(mirrored.encode())}
    archive.add(feed, "2010-01-01T00:00:00Z", "", kind="revisit", warc=payload)
    # Not what it was: it refers to what is in no file.
    unknown = {**payload, "WARC-Payload-Digest": "sha1:" + "A" * 32}
    archive.add(feed, "2011-01-01T00:00:00Z", "", kind="revisit", warc=unknown)
    archive.add(feed, "2012-01-01T00:00:00Z", atom([E("2", "b", "2015-01-01T00:00:00Z")], updated=None))
    # In 2016 it was still the same: then 2015 was no future any more.
    unchanged = {"WARC-Profile": f"{REVISIT}server-not-modified"}
    archive.add(feed, "2016-01-01T00:00:00Z", "", kind="revisit", warc=unchanged, status="304 Not Modified")
    archive.add(feed, "2017-01-01T00:00:00Z", atom([E("2", "c", "2014-01-01T00:00:00Z")]))
    keeps = {"FHCRAWL_KEEP_VERSIONS_ENABLED": 1}
    run = read(project, feed, path="old.warc.gz other.warc.gz", settings=keeps)
    assert run.texts == {"1": "a", "2": "b"}
    kept = project.scrapy("history", feed, "2").stdout.splitlines()
    assert [line.split()[-1] for line in kept[1::2]] == ["2016-01-01T00:00:00Z", "2017-01-01T00:00:00Z"]
    assert any("at 2011-01-01T00:00:00Z: none of the files has the record" in w for w in run.warnings())


@slow
def test_complete_feed_has_no_older_entries(server: FeedServer, project: Project, archive: Archive) -> None:
    archive.add(server.url("/feed"), "2009-01-01T00:00:00Z", atom([E("left")]))
    server.serve("/feed", atom([E("1")], head="<fh:complete/>"))
    for _ in range(2):
        read(project, server.url("/feed"))
    assert set(project.logical_feed()) == {"1"}
    assert project.verdict() == ("complete", [])


@slow
def test_captured_page_does_not_end_walks(server: FeedServer, project: Project, archive: Archive) -> None:
    server.serve("/feed", atom([E("1")], links={"next": "/2"}))
    server.serve("/2", atom([E("0")]))
    project.crawl(server.url("/feed"))
    later = atom([E("9")], links={"next": "/2"})
    archive.add(server.url("/feed"), "2020-01-01T00:00:00Z", later)
    server.answers["/feed"].status = 503
    read(project, server.url("/feed"), settings={"RETRY_TIMES": 0})
    server.serve("/feed", later)
    server.serve("/2", atom([E("8")]))
    assert set(project.crawl(server.url("/feed")).changes) == {"8"}


@slow
def test_kept_files_have_the_same_feed(server: FeedServer, project: Project, new_project: NewProject) -> None:
    server.serve("/feed", atom([E("4")], prev="/3"))
    server.serve(
        "/3", gzip.compress(atom([E("3")], prev="/2").encode()), headers={"Content-Encoding": "gzip"}
    )
    server.serve("/2", atom([E("2"), E("1")]))
    kept = {"FHCRAWL_WARC": "kept/%(serial)02d.warc.gz", "FHCRAWL_WARC_MAX_SIZE": 1000}
    project.crawl(server.url("/feed"), settings=kept)
    server.serve("/feed", atom([E("5")], prev="/3"))
    project.crawl(server.url("/feed"), settings=kept)
    live = project.logical_feed()
    server.answers = {}
    elsewhere = project.folder / "elsewhere"
    elsewhere.mkdir()
    with new_project(elsewhere) as other:
        read(other, server.url("/feed"), path=str(project.folder / "kept"))
        assert other.logical_feed() == live
    assert len(live) == 5


@slow
def test_arc_files_are_read(server: FeedServer, project: Project) -> None:
    http = b"HTTP/1.0 200 OK\r\nContent-Type: application/atom+xml\r\n\r\n" + atom([E("1")]).encode()
    head = b"2 0 Archive\nURL IP-address Archive-date Content-type Archive-length\n"
    url = server.url("/feed")
    (project.folder / "old.arc").write_bytes(
        f"filedesc://old.arc 0.0.0.0 20050101000000 text/plain {len(head)}\n".encode()
        + head
        + f"\n{url} 127.0.0.1 20050101000000 application/atom+xml {len(http)}\n".encode()
        + http
        + b"\n"
    )
    assert set(read(project, url, path="old.arc").changes) == {"1"}


@slow
@pytest.mark.parametrize("begin", [b"", b"WARC/1.0\r\nWARC-Type: ", b"WARC/1.0\r\n" + b"a: b\r\n" * 200_000])
@pytest.mark.parametrize("is_gzip", [False, True])
def test_damaged_file_is_read_as_far_as_it_goes(
    archive: Archive, is_gzip: bool, begin: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    archive.add("http://example.org/feed", "2009-01-01T00:00:00Z", atom([E("1")]))
    endless = gzip.compress(begin + b"x" * (1 << 22), 1)
    with archive.path.open("ab") as file:
        file.write(endless if is_gzip else b"\x1f\x8b\x08\x00broken" + begin)
    with closing(CaptureIndex([str(archive.path)])) as captures:
        assert captures.build() == len(list(captures.find("http://example.org/feed"))) == 1
    reported = "read only up to the damage: the head of a record is longer than 1048576 bytes"
    assert (reported in caplog.text) is is_gzip
    assert len(caplog.text) < 1000


@slow
def test_many_records_with_heads_only_are_no_damage(tmp_path: Path) -> None:
    """Their heads are longer together than the bound of one."""
    head = b"WARC/1.0\r\nWARC-Type: revisit\r\nWARC-Target-URI: http://example.org/feed\r\n"
    head += b"WARC-Date: 2009-01-01T00:00:00Z\r\nX: %b\r\nContent-Length: 0\r\n\r\n\r\n\r\n" % (
        b"x" * 500_000
    )
    (tmp_path / "old.warc").write_bytes(head * 5)
    with closing(CaptureIndex([str(tmp_path / "old.warc")])) as captures:
        assert captures.build() == 5


@slow
@pytest.mark.parametrize(
    ("url", "more", "is_read"),
    [
        ("http://a.example/2", {"protocol": "HTTP/2"}, True),
        ("http://a.example/2", {"protocol": "SPDY/31"}, False),
        ("http://a.example/2", {"kind": "request", "protocol": "BREW", "status": "/ HTTP/1.1"}, False),
        ("http://[.example/2", {}, False),
        ("", {}, False),
    ],
)
def test_useless_record_hides_no_others(
    tmp_path: Path, url: str, more: dict[str, Any], is_read: bool
) -> None:
    archive, date = Archive(tmp_path / "old.warc", compressed=False), "2010-01-01T00:00:00Z"
    archive.add("http://a.example/1", date, "<feed>1</feed>")
    archive.add(url, date, "<feed>2</feed>", **more)
    archive.add("http://a.example/3", date, "<feed>3</feed>")
    with closing(CaptureIndex([str(archive.path)])) as captures:
        assert captures.build() == 2 + is_read
        assert len(list(captures.find("http://a.example/3"))) == 1
        assert list(captures.find("http://[.example/2")) == []


@slow
@pytest.mark.parametrize("year", ["1001", "9999"])
def test_capture_of_a_wrong_clock_counts_as_no_later_than_now(
    server: FeedServer, project: Project, archive: Archive, year: str
) -> None:
    date = f"{year}-12-31T23:59:59Z"
    archive.add(server.url("/feed"), date, atom([E("1", "wrong clock", "9998-01-01T00:00:00Z"), E("0")]))
    same = {"WARC-Refers-To-Date": date, "WARC-Refers-To-Target-URI": server.url("/feed")}
    archive.add(server.url("/feed"), date, "", kind="revisit", status="304 Not Modified", warc=same)
    server.serve("/feed", atom([E("1", "right", "2010-01-01T00:00:00Z")]))
    run = read(project, server.url("/feed"))
    assert run.texts["1"] == "right"
    assert set(run.texts) == {"0", "1"}
    assert "Traceback" not in run.log


@slow
@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("none.warc.gz", "none.warc.gz does not exist"),
        (".", "--warc requires a file"),
        ("old.warc.gz feed.json", "--warc: feed.json is not a WARC or ARC file; use the path of one"),
    ],
)
def test_files_that_cannot_be_used_get_a_sentence_before_the_first_request(
    server: FeedServer, project: Project, archive: Archive, path: str, sentence: str
) -> None:
    server.serve("/feed", atom([E("1")]))
    if "feed.json" in path:
        archive.add(server.url("/feed"), "2009-01-01T00:00:00Z", atom([E("0")]))
        (project.folder / "feed.json").write_text("{}")
    run = project.crawl(server.url("/feed"), args=("-a", f"warc={path}"))
    assert (run.exit_code, sentence in run.log, "Traceback" in run.log) == (2, True, False)
    assert server.requested() == []
    if "feed.json" in path:
        # In a folder, files are told by their names.
        assert set(read(project, server.url("/feed"), path=".").changes) == {"0", "1"}


RECORD = b"WARC/1.1\r\nWARC-Type: response\r\n"


NO_FILES = {
    "JSON": b'{"version": "https://jsonfeed.org/version/1.1"}',
    "URLs": b"http://example.org/feed\nhttp://example.org/other\n",
    "gzip": gzip.compress(b"<feed/>"),
    "empty": b"",
}
FILES = {
    "WARC": RECORD,
    "WARC, gzip": gzip.compress(RECORD),
    "cut off": gzip.compress(RECORD)[:10],
    "damaged": b"\x1f\x8b\x08\x00damaged",
    "ARC": b"filedesc://old file.arc 0.0.0.0 20050101000000 text/plain 76\n",
    "ARC, cut": b"http://example.org/feed 127.0.0.1 20050101000000 application/atom+xml 99\n",
}


@pytest.mark.parametrize("name", [*NO_FILES, *FILES])
def test_file_is_looked_at_where_it_begins(tmp_path: Path, name: str) -> None:
    (tmp_path / "old").write_bytes({**NO_FILES, **FILES}[name])
    if name in FILES:
        assert warc_files("old", tmp_path) == [str(tmp_path / "old")]
        return
    with pytest.raises(ArgumentError, match="is not a WARC or ARC file; use the path of one"):
        warc_files("old", tmp_path)


SHOWN, FIRST, LAST = 10, 20, 70
DAMAGED = "it is damaged"
NOT_OPENED = "INFO: WARC files that were not opened, because everything useful in them has been read: "


def day(number: int, hour: int) -> str:
    month, of_month = divmod(number, 28)
    return f"2009-{month + 1:02}-{of_month + 1:02}T{hour:02}:00:00Z"


def document(newest: int, shown: int = SHOWN, **more: Any) -> str:
    numbers = range(newest, newest - shown, -1)
    return atom([E(str(number), updated=day(number, 0)) for number in numbers], **more)


def fill(archive: Archive, feed: str, days: range) -> None:
    for number in days:
        archive.add(feed, day(number, 12), document(number))


def spoil(path: Path) -> None:
    stat = path.stat()
    path.write_bytes(path.read_bytes()[:20].ljust(stat.st_size, b"\0"))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.fixture
def feed(server: FeedServer) -> str:
    server.serve("/feed", document(LAST))
    return server.url("/feed")


def captured(run: Run) -> int:
    return int(run.stats.get("fhcrawl/document/processed", 0))


def test_captures_are_read_once_and_files_are_not_opened_again(
    project: Project, archive: Archive, feed: str
) -> None:
    fill(archive, feed, range(FIRST, LAST))
    run = read(project, feed)
    assert set(run.changes) == {str(number) for number in range(FIRST - SHOWN + 1, LAST + 1)}
    # Each ninth of 50 would do; and the feed itself.
    assert captured(run) <= 50 / 9 * 1.3 + 2
    [known] = project.feeds()
    assert (len(known["spans"]), known["holes"]) == (1, [])
    spoil(archive.path)
    run = read(project, feed)
    assert (run.items, captured(run)) == ([], 0)
    assert DAMAGED not in run.log
    assert f"{NOT_OPENED}1" in run.log
    # What is in another file is read.
    later = Archive(project.folder / "later.warc.gz")
    later.add(feed, day(FIRST - 5, 12), document(FIRST - 5))
    same = {"WARC-Payload-Digest": digest(document(FIRST).encode())}
    later.add(feed, day(FIRST, 18), "", kind="revisit", warc=same)
    run = read(project, feed, path="old.warc.gz later.warc.gz")
    assert set(run.changes) == {"6", "7", "8", "9", "10"}
    assert captured(run) == 1
    assert "in no file" not in run.log
    assert f"{NOT_OPENED}1" in run.log


@slow
def test_limited_run_is_continued_and_the_setting_reads_all_captures(project: Project, feed: str) -> None:
    fill(Archive(project.folder / "old.warc.gz"), feed, range(FIRST, LAST))
    bounds: list[dict[str, Any]] = [{"CLOSESPIDER_PAGECOUNT": 3}, {"CLOSESPIDER_PAGECOUNT": 3}, {}]
    numbers = [captured(read(project, feed, settings=bound)) for bound in bounds]
    assert set(project.logical_feed()) == {str(number) for number in range(FIRST - SHOWN + 1, LAST + 1)}
    assert all(numbers)
    assert sum(numbers) <= 50 / 9 * 1.3 + 2
    every = {"FHCRAWL_ALL_CAPTURES_ENABLED": 1}
    numbers += [captured(read(project, feed, settings=every)) for _ in range(2)]
    assert (sum(numbers), numbers[-1]) == (50 + 1, 0)


@slow
def test_files_are_opened_for_another_feed_and_for_a_document_that_a_later_capture_leads_to(
    server: FeedServer, project: Project, archive: Archive, feed: str
) -> None:
    other = server.url("/other")
    archive.add(feed, day(20, 12), document(20))
    archive.add(other, day(20, 12), document(120, 1))
    archive.add(server.url("/older"), day(20, 12), document(200, 1))
    read(project, feed)
    server.serve("/other", document(121, 1))
    assert set(read(project, feed, other).changes) == {"120", "121"}
    later = Archive(project.folder / "later.warc.gz")
    later.add(feed, day(15, 12), document(15, prev="/older"))
    paths = "old.warc.gz later.warc.gz"
    assert "6" in read(project, feed, path=paths).changes
    # It was not looked for in the file that was not opened.
    assert set(read(project, feed, path=paths).changes) == {"200"}
    # Nor was one that a crawl without files has found.
    archive.add(server.url("/lost"), day(60, 12), document(300, 1))
    read(project, feed, path=paths)
    server.serve("/feed", document(LAST, prev="/lost"))
    project.crawl(feed)
    assert set(read(project, feed, path=paths).changes) == {"300"}
    spoil(archive.path)
    assert DAMAGED not in read(project, feed, path=paths).log


@slow
def test_capture_that_cannot_be_read_is_not_tried_again(
    project: Project, archive: Archive, feed: str
) -> None:
    archive.add(feed, day(20, 12), "<html>parked</html>")
    archive.add(feed, day(21, 12), document(21))
    assert f"WARNING: {feed} at {day(20, 12)} " in read(project, feed).log
    spoil(archive.path)
    run = read(project, feed)
    assert captured(run) == 0
    assert DAMAGED not in run.log


@slow
def test_file_that_is_written_anew_under_its_name(project: Project, feed: str) -> None:
    """Records without digests are known by their places, and by their dates."""
    for number in (FIRST, FIRST + 1):
        body = f"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n\r\n{document(number)}"
        head = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {feed}\r\nWARC-Date: {day(number, 12)}\r\n"
            f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        (project.folder / "old.warc").write_text(f"{head}{body}\r\n\r\n", newline="")
        assert str(number) in read(project, feed, path="old.warc").changes
