"""What a web archive says that it has of a feed: CDX answers and TimeMaps."""

import pytest

from tests.feeds import E, atom
from tests.projects import Project, Run
from tests.server import Answer, FeedServer
from tests.web_archives import archive_of, captures_of, crawl, serve

pytestmark = pytest.mark.in_process


def test_memento_timemaps_in_pages(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed, archive = serve(server, wayback, 5), archive_of(wayback)
    archive.timemaps = 2
    run = crawl(project, wayback, feed)
    assert set(run.changes) == {"1", "2", "3", "4", "5", "now"}
    paths = wayback.asked()
    assert len(captures_of(paths)) == 5
    assert [path for path in paths if "/timemap/" in path] == [
        f"/web/timemap/link/{feed}",
        f"/web/timemap/link/1/{feed}",
        f"/web/timemap/link/2/{feed}",
    ]


def test_index_in_parts(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed, archive = serve(server, wayback, 5), archive_of(wayback)
    archive.most = 2
    assert len(crawl(project, wayback, feed).items) == 6
    asked = [path for path in wayback.asked() if path.startswith("/cdx")]
    assert [path.partition("&from=")[2][:14] for path in asked] == [
        *("", "20090102000000", "20090103000000", "20090104000000")
    ]


def index_of(feed: str, *lines: str) -> bytes:
    """An index with a capture that there is, after other lines."""
    row = f'["20090101000000","{feed}","text/xml","200","AAAA"]'
    names = '["timestamp","original","mimetype","statuscode","digest"]'
    return ("[" + ",\n".join([names, *lines, row]) + "]").encode()


def crawl_with(
    server: FeedServer, project: Project, wayback: FeedServer, *lines: str
) -> tuple[Run, list[str]]:
    """Crawl with lines in the index before a capture that there is; the captures that are asked for."""
    feed, archive = serve(server, wayback, 1), archive_of(wayback)
    archive.index = index_of(feed, *(line.replace("{feed}", feed) for line in lines))
    run = crawl(project, wayback, feed)
    return run, captures_of(wayback.asked())


@pytest.mark.real_crawl
@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("[" * 100_000, []),
        ('["20090102000000","' + "x" * 10_000_000 + '","text/xml","200","B"]', ["20090101000000"]),
    ],
    ids=["deep", "long"],
)
def test_hostile_index_takes_little_memory(
    server: FeedServer, project: Project, wayback: FeedServer, line: str, asked: list[str]
) -> None:
    run, found = crawl_with(server, project, wayback, line)
    assert found == asked
    assert run.peak < 400


@pytest.mark.parametrize(
    "lines",
    [
        ['["20090101000000","https://example.org/other","text/xml","200","B"]'],
        ['["99999999999999","{feed}","text/xml","200","B"]', '["no","{feed}","text/xml","200","C"]'],
        ["{}", "null", "[1,2,3,4,5]", "[]"],
    ],
    ids=["another URL", "no time", "no rows"],
)
def test_lines_that_name_no_capture_are_passed_over(
    server: FeedServer, project: Project, wayback: FeedServer, lines: list[str]
) -> None:
    assert crawl_with(server, project, wayback, *lines)[1] == ["20090101000000"]


def test_captures_before_1000_end_no_crawl(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed, archive = serve(server, wayback, 1), archive_of(wayback)
    times = ["00010101000000", "09991231235959"]
    archive.index = index_of(feed, *(f'["{time}","{feed}","text/xml","200","{time}"]' for time in times))
    assert set(crawl(project, wayback, feed).changes) == {"1", "now"}
    assert set(captures_of(wayback.asked())) == {*times, "20090101000000"}
    assert crawl(project, wayback, feed).items == []


@pytest.mark.real_crawl
def test_index_that_is_too_large_or_none(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed, archive = serve(server, wayback, 1), archive_of(wayback)
    archive.index = b"[" + b" " * 20_000_000 + b"]"
    run = crawl(project, wayback, feed, path="")
    assert f"of {feed}: the index is larger than DOWNLOAD_MAXSIZE (" in run.log
    archive.index = b"<html>maintenance</html>"
    run = crawl(project, wayback, feed, path="")
    assert f"of {feed}: the index is missing (404)" in run.log
    archive.index = None
    assert set(crawl(project, wayback, feed).changes) == {"1"}


@pytest.mark.real_crawl
def test_cut_off_index_is_asked_for_from_there(
    server: FeedServer, project: Project, wayback: FeedServer
) -> None:
    feed, archive = serve(server, wayback, 5), archive_of(wayback)
    archive.cuts = 1
    assert len(crawl(project, wayback, feed, RETRY_TIMES=0).items) == 6


def test_index_without_end_is_asked_for_again(
    server: FeedServer, project: Project, wayback: FeedServer
) -> None:
    feed, archive = serve(server, wayback, 1), archive_of(wayback)
    archive.cuts = 9
    run = crawl(project, wayback, feed, RETRY_TIMES=0)
    assert f"of {feed}: the index arrives incomplete, and cannot be resumed" in run.log
    assert len(wayback.asked()) == 1
    archive.cuts = 0
    assert set(crawl(project, wayback, feed).changes) == {"1"}
    # --reset asks again what there is.
    archive.add("20100101000000", feed, atom([E("added")]))
    assert crawl(project, wayback, feed).items == []
    server.asked()
    wayback.asked()
    given = {"FHCRAWL_WEB_ARCHIVE": wayback.url("/web")}
    reset = project.crawl(feed, settings=given, args=("-a", "deltafetch_reset=1"))
    assert set(reset.changes) == {"added"}
    assert captures_of(wayback.asked()) == ["20100101000000"]


def test_timemap_with_redirect_in_its_second(
    server: FeedServer, project: Project, wayback: FeedServer
) -> None:
    """A TimeMap does not say which capture is the redirect."""
    feed, archive = serve(server, wayback, 1), archive_of(wayback)
    archive.timemaps = 10
    archive.add("20090101000000", feed.replace("http:", "https:"), "redirected", status=301)
    given = {"Memento-Datetime": "Thu, 01 Jan 2009 00:00:00 GMT"}
    for scheme, answer in (
        ("http", Answer(atom([E("1")]).encode(), headers=given)),
        ("https", Answer(b"", 301, headers=given)),
    ):
        archive[f"/web/20090101000000id_/{scheme}{feed.removeprefix('http')}"] = answer
    assert set(crawl(project, wayback, feed).changes) == {"1", "now"}
