"""Captures that web archives have of feeds: `--web-archive`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faketime import clock
from tests.feeds import E, atom
from tests.server import Answer, FeedServer
from tests.web_archives import Wayback, captures_of, pywb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.projects import NewProject, Project, Run


@pytest.fixture
def wayback() -> Iterator[FeedServer]:
    with FeedServer() as server:
        server.answers = Wayback()
        yield server


def archive_of(server: FeedServer) -> Wayback:
    assert isinstance(server.answers, Wayback)
    return server.answers


def crawl(project: Project, archive: FeedServer, *feeds: str, path: str = "/web", **settings: object) -> Run:
    given = {"FHCRAWL_WEB_ARCHIVE": archive.url(path), **settings}
    run = project.crawl(*feeds, settings=given)
    assert run.exit_code == 0, run.log
    assert "Traceback" not in run.log
    return run


def test_captures_of_pywb_that_an_own_crawl_has_kept(
    server: FeedServer, project: Project, new_project: NewProject
) -> None:
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
        assert len(captures_of(archive.asked())) == 4
        assert other.verdict() == ("unknown", ["no-history"])
        assert {item["document"] for item in run.items} == {feed, server.url("/old")}
        told = other.scrapy("history", feed, "2019").stdout
        assert f"from {feed}, captured 2020-01-01T00:00:0" in told
        # Nothing twice, nor is the archive asked again what it has.
        assert crawl(other, archive, feed, path="/coll").items == []
        assert archive.asked() == []


@pytest.mark.quick_lane
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
    paths = wayback.asked()
    assert sorted(captures_of(paths)) == ["20080101000000", "20090101000000", "20100601000000"]
    assert len(paths) == 5  # with two indexes
    assert project.verdict() == ("unknown", ["no-history"])
    assert crawl(project, wayback, feed).items == []
    assert wayback.asked() == []
