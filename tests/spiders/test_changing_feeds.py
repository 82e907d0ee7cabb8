"""Feeds that are not what they were, and documents that are not what they seem: never a false `complete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.feeds import E, atom

if TYPE_CHECKING:
    from tests.projects import Project
    from tests.server import FeedServer

pytestmark = pytest.mark.in_process


def archive(entries: list[E], current: str = "/index", prev: str | None = None) -> str:
    return atom(entries, prev=prev, links={"current": current}, head="<fh:archive/>")


@pytest.mark.parametrize("settings", [{}, {"DELTAFETCH_ENABLED": 0}], ids=["deltafetch", "no deltafetch"])
def test_archive_that_has_moved_for_good_counts_when_a_later_subscription_document_leads_there(
    server: FeedServer, project: Project, settings: dict[str, int]
) -> None:
    server.serve("/index", atom([E("2")], prev="/a1"))
    server.serve("/a1", "", status=301, headers={"Location": "/b1"})
    server.serve("/b1", archive([E("1")]))
    project.crawl(server.url("/index"), settings=settings)
    assert project.verdict() == ("incomplete", ["moved"])
    # That nothing has changed is no answer.
    run = project.crawl(server.url("/index"), settings=settings)
    assert "fhcrawl/document/unchanged" not in run.stats
    assert project.verdict() == ("complete", [])
    run = project.crawl(server.url("/index"), settings=settings)
    assert ("fhcrawl/document/unchanged" in run.stats) is (not settings)
    assert project.verdict() == ("complete", [])
    server.serve("/a1", "", status=301, headers={"Location": "/c1"})
    server.serve("/c1", archive([E("1")]))
    project.crawl(server.url("/index"), settings={"DELTAFETCH_RESET": 1})
    assert project.verdict() == ("incomplete", ["moved"])


@pytest.mark.parametrize(("status", "etag"), [(301, True), (301, False), (302, True), (302, False)])
def test_unchanged_feed_that_moves_is_read(
    server: FeedServer, project: Project, status: int, etag: bool
) -> None:
    """Its links are relative: the same bytes lead to archives elsewhere."""
    index, feed = atom([E("2")], prev="a1"), server.url("/old/index")
    server.serve("/old/index", index, etag=etag)
    project.crawl(feed)
    assert project.verdict() == ("incomplete", ["http-404"])
    server.serve("/old/index", "", status=status, headers={"Location": "/new/index"})
    server.serve("/new/index", index, etag=etag)
    server.serve("/new/a1", archive([E("1")]))
    assert project.crawl(feed).changes == {"1": "new"}
    assert project.verdict() == ("complete", [])
    server.asked()
    run = project.crawl(feed)
    assert server.asked() == (["/new/index"] if status == 301 else ["/old/index", "/new/index"])
    assert run.stats["fhcrawl/document/unchanged"] == 1


def test_content_type_that_cannot_be_read_loses_nothing(server: FeedServer, project: Project) -> None:
    header = "application/atom+xml; charset*=utf-8''utf-8; charset*0=utf-8"
    server.serve("/index", atom([E("1")]), content_type=header)
    run = project.crawl(server.url("/index"))
    assert set(run.changes) == {"1"}
    assert "Traceback" not in run.log


@pytest.mark.parametrize("name", ["ETag", "Last-Modified"])
@pytest.mark.real_crawl
def test_validators_are_sent_back_as_they_came(server: FeedServer, project: Project, name: str) -> None:
    server.serve("/index", atom([E("1")]), etag=False, headers={name: 'W/"\xe4\xff ,;"'})
    project.crawl(server.url("/index"))
    project.crawl(server.url("/index"))
    sent = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}[name]
    assert server.headers[-1][sent] == 'W/"\xe4\xff ,;"'


def test_link_that_is_no_url_loses_only_what_is_behind_it(server: FeedServer, project: Project) -> None:
    for bad in ("http://127.0.0.1:99999/x", "http://127.0.0.1:abc/", "http://[::1", "urn:x"):
        server.serve("/index", atom([E("1")], prev=bad))
        run = project.crawl(server.url("/index"), args=("-a", "deltafetch_reset=1"))
        assert "Traceback" not in run.log
    assert set(project.logical_feed()) == {"1"}
    assert project.verdict() == ("incomplete", ["refused-url"])


@pytest.mark.parametrize("bad", ["http://127.0.0.1:99999/x", "http://[::1", "urn:x"])
def test_link_that_is_no_url_loses_nothing_later(server: FeedServer, project: Project, bad: str) -> None:
    """Nor is one behind archives that are skipped, or behind a document that has not changed."""
    server.serve("/a1", atom([E("0")], prev=bad))
    later = [([E("1")], "/a1"), ([E("1")], "/a1"), ([E("2")], "/a1"), ([E("3")], bad), ([E("4")], bad)]
    for entries, behind in later:
        server.serve("/index", atom(entries, prev=behind))
        run = project.crawl(server.url("/index"), settings={"LOG_LEVEL": "DEBUG"})
        assert "Traceback" not in run.log
        assert "nowhere" not in run.log
        [feed] = project.feeds()
        assert [(reason["kind"], reason["url"]) for reason in feed["reasons"]] == [("refused-url", bad)]
    assert set(project.logical_feed()) == {"0", "1", "2", "3", "4"}
