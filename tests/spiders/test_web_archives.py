"""Captures that web archives have of feeds: `--web-archive`."""

from dataclasses import replace

import pytest

from tests.faketime import clock, clock_at
from tests.feeds import E, atom
from tests.projects import NewProject, Project
from tests.server import Answer, FeedServer
from tests.web_archives import archive_of, captures_of, crawl, pywb, serve

pytestmark = pytest.mark.in_process
ITUNES = "http://www.itunes.com/dtds/podcast-1.0.dtd"


@pytest.mark.slow("the smoke test of pywb")
@pytest.mark.real_crawl
def test_captures_of_a_crawl_in_pywb(server: FeedServer, project: Project, new_project: NewProject) -> None:
    feed = server.url("/feed")
    kept = {"FHCRAWL_WARC": "kept/%(time)s-%(serial)02d.warc.gz"}
    for year in (2019, 2020, 2021):
        server.serve("/feed", atom([E(str(year)), E(str(year - 1))], prev="/old", title=f"In {year}"))
        server.serve("/old", atom([E("old")]))
        project.crawl(feed, settings=kept, **clock(f"{year}-01-01 00:00:00"))
    # Now, its publisher has the last entry alone.
    server.serve("/feed", atom([E("2022")]))
    del server.answers["/old"]
    elsewhere = project.folder / "elsewhere"
    elsewhere.mkdir()
    files = sorted((project.folder / "kept").glob("*.warc.gz"))
    with pywb(project.folder / "pywb", files) as archive, new_project(elsewhere) as other:
        run = crawl(other, archive, feed, path="/coll")
        assert set(run.changes) == {"2018", "2019", "2020", "2021", "2022", "old"}
        assert len(captures_of(archive.requested())) == 4
        assert other.verdict() == ("unknown", ["no-history", "holes"])
        assert {item["document"] for item in run.items} == {feed, server.url("/old")}
        told = other.scrapy("history", feed, "2019").stdout
        assert f"from {feed}, captured 2020-01-01T00:" in told
        # No change twice, and no second request to the archive for its index.
        assert crawl(other, archive, feed, path="/coll").items == []
        assert archive.requested() == []


@pytest.mark.real_crawl
@pytest.mark.quick
def test_captures_of_the_wayback_machine(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed, archive = server.url("/feed"), archive_of(wayback)
    server.serve("/feed", atom([E("3")]))
    archive.add("20090101000000", feed, atom([E("1")]))
    archive.add("20090201000000", feed, b"<html>gone</html>", status=404)
    archive.add("20100101000000", feed.replace("http:", "https:"), atom([E("2")], prev="/old"))
    archive.add("20100601000000", feed, atom([E("2")], prev="/old"))
    archive.add("20080101000000", server.url("/old"), atom([E("0")]))
    run = crawl(project, wayback, feed)
    assert run.changes == {"0": "new", "1": "new", "2": "new", "3": "new"}
    paths = wayback.requested()
    assert sorted(captures_of(paths)) == ["20080101000000", "20090101000000", "20100601000000"]
    assert len(paths) == 5  # with two indexes
    assert project.verdict() == ("unknown", ["no-history", "holes"])
    assert crawl(project, wayback, feed).items == []
    assert wayback.requested() == []


@pytest.mark.both_stores
def test_captures_of_a_feed_that_is_gone(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed = serve(server, wayback, 2)
    del server.answers["/feed"]
    assert set(crawl(project, wayback, feed).changes) == {"1", "2"}
    assert project.verdict() == ("unknown", ["only-captures", "http-404", "holes"])


@pytest.mark.real_crawl
def test_run_goes_on_where_one_was_killed(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed = serve(server, wayback, 6)
    args = ("-a", f"feed={feed}", "-s", f"FHCRAWL_WEB_ARCHIVE={wayback.url('/web')}")
    # It dies between two captures.
    with project.start("crawl", "history", *args) as process:
        wayback.on_request = lambda path: (
            process.kill() if captures_of([path]) == ["20090104000000"] else None
        )
        process.wait(60)
    wayback.on_request = None
    first = captures_of(wayback.requested())
    assert first[-1] == "20090104000000"
    assert len(first) == 3
    run = crawl(project, wayback, feed)
    second = captures_of(wayback.requested())
    # Only the request that was under way is repeated.
    assert set(first) & set(second) == {"20090104000000"}
    assert set(project.logical_feed()) == {"1", "2", "3", "4", "5", "6", "now"}
    # What was committed and not exported is in the next export.
    assert set(run.changes) == {"1", "2", "3", "4", "5", "6", "now"}


def test_budget_of_a_run(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed = serve(server, wayback, 5)
    number = []
    for _ in range(4):
        run = crawl(project, wayback, feed, FHCRAWL_MAX_CAPTURES=3)
        number.append(len(captures_of(wayback.requested())))
    assert number == [2, 3, 0, 0]
    assert len(project.logical_feed()) == 6
    assert "fhcrawl/document/failed" not in run.stats


@pytest.mark.parametrize("seconds", ["1000", None], ids=["Retry-After", "nothing"])
def test_wait_is_kept(server: FeedServer, project: Project, wayback: FeedServer, seconds: str | None) -> None:
    feed, archive = serve(server, wayback, 5), archive_of(wayback)
    requests = {"Retry-After": seconds} if seconds else {}
    for day in range(1, 6):
        archive[f"/web/2009010{day}000000id_/{feed}"] = Answer(b"", 429, headers=requests)
    run = crawl(project, wayback, feed, FHCRAWL_MAX_WAIT=30)
    assert "is skipped for the rest of this run: its server allows no requests before 20" in run.log
    assert len(captures_of(wayback.requested())) == 1
    assert set(run.changes) == {"now"}
    archive.clear()
    # Nor does the next run ask.
    crawl(project, wayback, feed)
    assert wayback.requested() == []
    # When the time is over, one does.
    with clock_at("2040-01-01T00:00:00"):
        run = project.crawl(feed, settings={"FHCRAWL_WEB_ARCHIVE": wayback.url("/web")})
    assert set(run.changes) == {"1", "2", "3", "4", "5"}


@pytest.mark.real_crawl
def test_short_wait_is_waited_for(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed, archive = serve(server, wayback, 1), archive_of(wayback)
    path = f"/web/20090101000000id_/{feed}"
    archive[path] = Answer(b"", 503, headers={"Retry-After": "1"})

    def mend(requested: str) -> None:
        if requested == path:
            archive.pop(path, None)

    wayback.on_request = mend
    assert set(crawl(project, wayback, feed).changes) == {"1", "now"}
    assert captures_of(wayback.requested()) == ["20090101000000"] * 2


def test_captures_that_cannot_be_read(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed, archive = server.url("/feed"), archive_of(wayback)
    server.serve("/feed", atom([E("now")]))
    server.serve("/elsewhere", atom([E("not captured")]))
    archive.add("20090101000000", feed, atom([E("cut"), E("off")])[:-30])
    archive.add("20090102000000", feed, "<html>The archive is busy.</html>", headers={"Content-Type": "x/y"})
    archive.add("20090103000000", feed, atom([E("whole")]), headers={"Content-Type": "text/html"})
    archive.add("20090104000000", feed, atom([E("coded")]), headers={"Content-Encoding": "gzip"})
    gone = f"/web/20090105000000id_/{feed}"
    archive.add("20090105000000", feed, "gone")
    archive[gone] = Answer(b"", 404)
    # Its own redirect, as it was captured: the publisher's document of today is no capture.
    archive.add("20090106000000", feed, "leads away")
    away = {"Location": server.url("/elsewhere")}
    archive[f"/web/20090106000000id_/{feed}"] = Answer(b"", 302, headers=away)
    archive.add("20090107000000", feed, "no time")
    archive[f"/web/20090107000000id_/{feed}"] = Answer(atom([E("when?")]).encode())
    archive.add("20090108000000", feed, "an error that was captured")
    then = {"Memento-Datetime": "Thu, 08 Jan 2009 00:00:00 GMT", "Retry-After": "5000"}
    archive[f"/web/20090108000000id_/{feed}"] = Answer(b"busy", 503, headers=then)
    run = crawl(project, wayback, feed, RETRY_TIMES=0)
    assert set(run.changes) == {"cut", "whole", "coded", "now"}
    assert server.requested() == ["/feed"]
    assert len(captures_of(wayback.requested())) == 8
    assert project.verdict() == ("unknown", ["no-history", "holes"])
    reported = {line.partition("Z ")[2] for line in run.warnings() if " at 2009-" in line}
    assert reported == {
        "is not a feed: it is an HTML page",
        "is missing (404)",
        "is not fetched: it is not in the web archive",
        "is not a capture: the web archive does not say when it was made",
        "is not a document, but a captured response with status 503",
    }
    crawl(project, wayback, feed)
    assert captures_of(wayback.requested()) == []


@pytest.mark.parametrize("is_mended", [True, False])
def test_cut_off_capture(server: FeedServer, project: Project, wayback: FeedServer, is_mended: bool) -> None:
    feed, archive = serve(server, wayback, 0), archive_of(wayback)
    archive.add("20090101000000", feed, atom([E("first"), E("last")]))
    archive.cut_captures.add("20090101000000")
    run = crawl(project, wayback, feed, RETRY_TIMES=0)
    assert "last" not in run.changes
    if is_mended:
        archive.cut_captures.clear()
    assert ("last" in crawl(project, wayback, feed, RETRY_TIMES=0).changes) is is_mended
    crawl(project, wayback, feed)
    assert captures_of(wayback.requested()) == ["20090101000000"] * 2


@pytest.mark.parametrize(("every", "there"), [(0, 2015), (1, 2009)])
def test_capture_of_another_time_counts_as_what_it_is(
    server: FeedServer, project: Project, wayback: FeedServer, every: int, there: int
) -> None:
    feed, archive = server.url("/feed"), archive_of(wayback)
    archive.redirects = False
    for year in (2009, 2015):
        archive.add(f"{year}0101000000", feed, atom([E("1", f"of {year}")]))
    # The index promises what is not there: the archive serves what is nearest, years away.
    archive.index = archive.get(f"/cdx/search/cdx?url={feed}&limit=9").body
    archive.captures = [one for one in archive.captures if one.stamp.startswith(str(there))]
    server.serve("/feed", atom([E("now")]))
    crawl(project, wayback, feed, FHCRAWL_ALL_CAPTURES_ENABLED=every)
    assert len(captures_of(wayback.requested())) == 1
    told = project.scrapy("history", feed, "1").stdout
    assert f"captured {there}-01-01T00:00:00Z" in told
    crawl(project, wayback, feed, FHCRAWL_ALL_CAPTURES_ENABLED=every)
    assert wayback.requested() == []


def test_octets_of_captures_count(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed = serve(server, wayback, 3)
    requested = []
    for _ in range(3):
        crawl(project, wayback, feed, FHCRAWL_MAX_BYTES=1)
        requested.append(len(wayback.requested()))
    # Each run makes progress: the index first, then a capture.
    assert requested == [1, 1, 1]


def test_feeds_that_have_no_captures(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed = serve(server, wayback, 1)
    crawl(project, wayback, feed)
    counted = "SELECT count(*) FROM mementos UNION ALL SELECT count(*) FROM timemaps"
    assert project.database.rows(counted) == [(1,), (1,)]
    assert project.scrapy("unsubscribe", "--delete", feed).returncode == 0
    assert project.database.rows(counted) == [(0,), (0,)]
    server.serve("/feed", atom([E("now")], head="<fh:complete/>"))
    wayback.requested()
    assert set(crawl(project, wayback, feed).changes) == {"now"}
    assert wayback.requested() == []
    assert project.verdict() == ("complete", [])


@pytest.mark.parametrize("every", [0, 1])
def test_same_captures_are_one(server: FeedServer, project: Project, wayback: FeedServer, every: int) -> None:
    feed, archive = server.url("/feed"), archive_of(wayback)
    server.serve("/feed", atom([E("now")]))
    for day in range(1, 8):
        archive.add(f"200901{day:02}000000", feed, atom([E("same")]))
    run = crawl(project, wayback, feed, FHCRAWL_ALL_CAPTURES_ENABLED=every)
    assert set(run.changes) == {"same", "now"}
    assert captures_of(wayback.requested()) == ["20090107000000"]


@pytest.mark.real_crawl
def test_archive_gets_single_requests(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    archive, feeds = archive_of(wayback), [server.url(f"/{name}") for name in "abcd"]
    for feed in feeds:
        server.serve(feed.removeprefix(server.root), atom([E("now")]))
        archive.add("20090101000000", feed, atom([E("1")]))
        archive[f"/web/20090101000000id_/{feed}"] = replace(
            archive.get(f"/web/20090101000000id_/{feed}"), delay=0.1
        )
    run = crawl(project, wayback, *feeds, output=None, CONCURRENT_REQUESTS_PER_DOMAIN=8)
    assert run.stats["fhcrawl/entry/new"] == 8
    # One for a capture, and one for an index.
    assert wayback.busiest <= 2
    assert len(captures_of(wayback.requested())) == 4


def test_headers_are_not_for_the_archive(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed = serve(server, wayback, 1)
    listed = (
        f'[[feed]]\nurl = "{feed}"\nweb_archive = "{wayback.url("/web")}"\nheaders = {{X-Key = "secret"}}\n'
    )
    (project.folder / "feeds.toml").write_text(listed)
    run = project.crawl(args=("-a", "feeds=feeds.toml"))
    assert set(run.changes) == {"1", "now"}
    assert any(headers.get("X-Key") == "secret" for headers in server.headers)
    assert len(wayback.headers) == 3
    assert all("X-Key" not in headers for headers in wayback.headers)


@pytest.mark.real_crawl
def test_archive_of_a_network_is_listed(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed = serve(server, wayback, 1)
    by_name = wayback.root.replace("127.0.0.1", "localhost.localdomain")
    run = project.crawl(feed, settings={"FHCRAWL_WEB_ARCHIVE": f"{by_name}/web"})
    assert wayback.requested() == []
    assert "Cannot find out what" in run.log


def test_missing_archive_former_address(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    """Captures of an archive that is gone, and of other addresses; none of what a walk has read."""
    feed, archive = server.url("/feed"), archive_of(wayback)
    server.answers["/feed"] = Answer(b"", 302, headers={"Location": "/now"})
    server.serve("/now", atom([E("5")], prev="/4"))
    server.serve("/4", atom([E("4")], prev="/3"))
    archive.add("20090101000000", server.url("/4"), atom([E("4 as it was")]))
    archive.add("20090102000000", server.url("/3"), atom([E("3")]))
    moved = f'<itunes:new-feed-url xmlns:itunes="{ITUNES}"> {server.url("/new")} </itunes:new-feed-url>'
    archive.add("20080101000000", feed, atom([E("1")], head=moved))
    archive.add("20080201000000", server.url("/new"), atom([E("2")]))
    archive.add("20080301000000", server.url("/now"), atom([E("2.5")]))
    run = crawl(project, wayback, feed)
    assert set(run.changes) == {"1", "2", "2.5", "3", "4", "5"}
    assert "20090101000000" not in captures_of(wayback.requested())
    assert project.verdict() == ("incomplete", ["http-404"])
    # With all, that too; and nothing else again.
    assert set(crawl(project, wayback, feed, FHCRAWL_ALL_CAPTURES_ENABLED=1).changes) == {"4 as it was"}
    assert captures_of(wayback.requested()) == ["20090101000000"]


def test_former_address_that_never_changes(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    """No capture of the address of today is left out because of one of the former address."""
    archive = archive_of(wayback)
    server.answers["/feed"] = Answer(b"", 301, headers={"Location": "/now"})
    shown = {number: [E(str(one)) for one in range(number, number - 3, -1)] for number in range(3, 30)}
    server.serve("/now", atom(shown[29]))
    for month in range(1, 13):
        archive.add(
            f"2009{month:02}01000000", server.url("/feed"), atom(shown[3], updated=f"2009-{month:02}-01")
        )
        archive.add(f"2009{month:02}15000000", server.url("/now"), atom(shown[3 + 2 * month]))
    run = crawl(project, wayback, server.url("/feed"))
    assert set(run.changes) == {str(number) for number in range(1, 30)}


SHOWN, LAST = 10, 90


def day(number: int, time: str) -> str:
    month, of_month = divmod(number, 28)
    return f"2009-{month + 1:02}-{of_month + 1:02}T{time}Z"


def daily(newest: int) -> str:
    return atom(
        [E(str(number), updated=day(number, "00:00:00")) for number in range(newest, newest - SHOWN, -1)]
    )


def serve_days(archive: FeedServer, feed: str, days: range) -> None:
    for number in days:
        stamp = "".join(filter(str.isdigit, day(number, "12:00:00")))
        archive_of(archive).add(stamp, feed, daily(number))


def test_captures_join_reads_of_the_feed(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed = server.url("/feed")
    server.serve("/feed", daily(LAST))
    serve_days(wayback, feed, range(SHOWN, LAST))
    run = crawl(project, wayback, feed)
    assert set(run.changes) == {str(number) for number in range(1, LAST + 1)}
    # Each ninth one would do.
    assert len(captures_of(wayback.requested())) <= (LAST - SHOWN) / 9 * 1.3
    [known] = project.feeds()
    assert known["verdict"] == "unknown"
    assert [span["since"] for span in known["spans"]] == [day(SHOWN, "12:00:00")]
    assert known["holes"] == []
    [reason] = known["reasons"]
    captured = f"anything before {known['crawled'][:10]} is from captures"
    assert reason["detail"].endswith(f"; nothing has been missed since 2009-01-11; {captured}")


def test_captures_cover_a_gone_feed(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed = server.url("/feed")
    serve_days(wayback, feed, range(10, 15))
    serve_days(wayback, feed, range(30, 36))
    crawl(project, wayback, feed)
    [known] = project.feeds()
    assert known["verdict"] == "unknown"
    only, *_, hole = known["reasons"]
    assert (only["kind"], hole["kind"]) == ("only-captures", "holes")
    assert only["detail"].endswith("; entries may have been missed between 2009-01-11 and 2009-02-08")
    assert [(hole["after"], hole["before"]) for hole in known["holes"]] == [
        (day(14, "12:00:00"), day(30, "12:00:00"))
    ]


def test_memento_timemaps_in_pages(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed, archive = serve(server, wayback, 5), archive_of(wayback)
    archive.timemaps = 2
    run = crawl(project, wayback, feed)
    assert set(run.changes) == {"1", "2", "3", "4", "5", "now"}
    paths = wayback.requested()
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
    requested = [path for path in wayback.requested() if path.startswith("/cdx")]
    assert [path.partition("&from=")[2][:14] for path in requested] == [
        *("", "20090102000000", "20090103000000", "20090104000000")
    ]


def index_of(feed: str, *lines: str) -> bytes:
    row = f'["20090101000000","{feed}","text/xml","200","AAAA"]'
    names = '["timestamp","original","mimetype","statuscode","digest"]'
    return ("[" + ",\n".join([names, *lines, row]) + "]").encode()


@pytest.mark.real_crawl
@pytest.mark.parametrize(
    ("line", "requested"),
    [
        ("[" * 100_000, []),
        ('["20090102000000","' + "x" * 10_000_000 + '","text/xml","200","B"]', ["20090101000000"]),
    ],
    ids=["deep", "long"],
)
def test_hostile_index_takes_little_memory(
    server: FeedServer, project: Project, wayback: FeedServer, line: str, requested: list[str]
) -> None:
    feed, archive = serve(server, wayback, 1), archive_of(wayback)
    archive.index = index_of(feed, line)
    run = crawl(project, wayback, feed)
    assert captures_of(wayback.requested()) == requested
    assert run.peak < 400


def test_captures_before_1000_end_no_crawl(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed, archive = serve(server, wayback, 1), archive_of(wayback)
    times = ["00010101000000", "09991231235959"]
    archive.index = index_of(feed, *(f'["{time}","{feed}","text/xml","200","{time}"]' for time in times))
    assert set(crawl(project, wayback, feed).changes) == {"1", "now"}
    assert set(captures_of(wayback.requested())) == {*times, "20090101000000"}
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
def test_incomplete_index_is_resumed(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed, archive = serve(server, wayback, 5), archive_of(wayback)
    archive.cuts = 1
    assert len(crawl(project, wayback, feed, RETRY_TIMES=0).items) == 6


def test_index_that_always_arrives_incomplete_is_requested_by_the_next_run(
    server: FeedServer, project: Project, wayback: FeedServer
) -> None:
    feed, archive = serve(server, wayback, 1), archive_of(wayback)
    archive.cuts = 9
    run = crawl(project, wayback, feed, RETRY_TIMES=0)
    assert f"of {feed}: the index arrives incomplete, and cannot be resumed" in run.log
    assert len(wayback.requested()) == 1
    archive.cuts = 0
    assert set(crawl(project, wayback, feed).changes) == {"1"}
    # --reset requests the index again.
    archive.add("20100101000000", feed, atom([E("added")]))
    assert crawl(project, wayback, feed).items == []
    server.requested()
    wayback.requested()
    given = {"FHCRAWL_WEB_ARCHIVE": wayback.url("/web")}
    reset = project.crawl(feed, settings=given, args=("-a", "deltafetch_reset=1"))
    assert set(reset.changes) == {"added"}
    assert captures_of(wayback.requested()) == ["20100101000000"]


def test_timemap_with_redirect_at_once(server: FeedServer, project: Project, wayback: FeedServer) -> None:
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
