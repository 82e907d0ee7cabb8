"""Feeds that are not what they were, and documents that are not what they seem: never a false `complete`."""

import pytest

from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer

pytestmark = pytest.mark.in_process


def archive(entries: list[E], current: str = "/index", prev: str | None = None) -> str:
    return atom(entries, prev=prev, links={"current": current}, head="<fh:archive/>")


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
