"""Which captures in WARC files are read, and which files are opened for that."""

import os
from pathlib import Path
from typing import Any

import pytest

from fhcrawl.warc.writing import digest
from tests.feeds import E, atom
from tests.projects import Project, Run
from tests.server import FeedServer
from tests.warc.test_captures import Archive, read

pytestmark = [pytest.mark.in_process, pytest.mark.full_lane("many crawls")]

SHOWN, FIRST, LAST = 10, 20, 70
READ = "fhcrawl/document/processed"
DAMAGED = "it is damaged"
NOT_OPENED = "INFO: WARC files that were not opened, because everything useful in them has been read: "


def day(number: int, hour: int) -> str:
    month, of_month = divmod(number, 28)
    return f"2009-{month + 1:02}-{of_month + 1:02}T{hour:02}:00:00Z"


def document(newest: int, shown: int = SHOWN, **more: Any) -> str:
    """With the entries of the last days, of one a day."""
    numbers = range(newest, newest - shown, -1)
    return atom([E(str(number), updated=day(number, 0)) for number in numbers], **more)


def fill(archive: Archive, feed: str, days: range) -> None:
    for number in days:
        archive.add(feed, day(number, 12), document(number))


def spoil(path: Path) -> None:
    """Make a file unreadable but for its first octets, with the same size and time."""
    stat = path.stat()
    path.write_bytes(path.read_bytes()[:20].ljust(stat.st_size, b"\0"))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.fixture
def feed(server: FeedServer) -> str:
    server.serve("/feed", document(LAST))
    return server.url("/feed")


def captured(run: Run) -> int:
    """How many captures it has read, if the feed has not changed since the run before."""
    return int(run.stats.get(READ, 0))


@pytest.mark.quick_lane
def test_captures_are_read_once_and_files_are_not_opened_again(project: Project, feed: str) -> None:
    archive = Archive(project.folder / "old.warc.gz")
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


def test_every_capture_is_read_if_asked_for(project: Project, feed: str) -> None:
    fill(Archive(project.folder / "old.warc.gz"), feed, range(FIRST, FIRST + 10))
    settings = {"FHCRAWL_ALL_CAPTURES_ENABLED": 1}
    assert captured(read(project, feed, settings=settings)) == 10 + 1
    assert captured(read(project, feed, settings=settings)) == 0


def test_run_goes_on_where_one_has_ended(project: Project, feed: str) -> None:
    fill(Archive(project.folder / "old.warc.gz"), feed, range(FIRST, LAST))
    settings = {"CLOSESPIDER_PAGECOUNT": 3}
    numbers = [captured(read(project, feed, settings=settings)) for _ in range(2)]
    numbers.append(captured(read(project, feed)))
    assert set(project.logical_feed()) == {str(number) for number in range(FIRST - SHOWN + 1, LAST + 1)}
    assert all(numbers)
    assert sum(numbers) <= 50 / 9 * 1.3 + 2


def test_files_are_opened_for_another_feed_and_for_a_document_that_a_later_capture_leads_to(
    server: FeedServer, project: Project, feed: str
) -> None:
    archive, other = Archive(project.folder / "old.warc.gz"), server.url("/other")
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
    spoil(archive.path)
    assert DAMAGED not in read(project, feed, path=paths).log


def test_files_are_opened_for_a_document_that_a_crawl_without_them_has_found(
    server: FeedServer, project: Project, feed: str
) -> None:
    archive = Archive(project.folder / "old.warc.gz")
    archive.add(feed, day(60, 12), document(60))
    archive.add(server.url("/lost"), day(60, 12), document(200, 1))
    read(project, feed)
    server.serve("/feed", document(LAST, prev="/lost"))
    project.crawl(feed)
    assert set(read(project, feed).changes) == {"200"}


def test_capture_that_cannot_be_read_is_not_tried_again(project: Project, feed: str) -> None:
    archive = Archive(project.folder / "old.warc.gz")
    archive.add(feed, day(20, 12), "<html>parked</html>")
    archive.add(feed, day(21, 12), document(21))
    assert f"WARNING: {feed} at {day(20, 12)} " in read(project, feed).log
    spoil(archive.path)
    run = read(project, feed)
    assert captured(run) == 0
    assert DAMAGED not in run.log


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
