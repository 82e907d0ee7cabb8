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


def test_subscription_document_that_becomes_an_archive_is_read_again(
    server: FeedServer, project: Project
) -> None:
    """December's document is live in December, and an archive in January."""
    feed = server.url("/12")
    server.serve("/12", atom([E("d1")], prev="/11"))
    server.serve("/11", archive([E("n1")], current="/12"))
    first = project.crawl(feed)
    server.serve("/12", archive([E("d1"), E("d2"), E("d3")], current="/01", prev="/11"))
    server.serve("/01", atom([E("j1")], prev="/12"))
    second = project.crawl(feed)
    assert set(first.changes) | set(second.changes) == {"n1", "d1", "d2", "d3", "j1"}
    assert project.verdict() == ("complete", [])


LATER = "2004-01-02T00:00:00Z"


@pytest.mark.real_crawl
def test_archives_that_are_cut_anew_while_they_are_walked_leave_the_feed_incomplete_until_the_next_run(
    server: FeedServer, project: Project
) -> None:
    """The revised entry is in no archive any more; the old ones lead to the new ones."""

    def cut_anew(path: str) -> None:
        if path == "/a2":
            server.serve("/index", atom([E("1", "revised", LATER), E("3")], prev="/b2", updated=LATER))
            server.serve("/a1", "", status=301, headers={"Location": "/b1"})

    server.serve("/index", atom([E("3")], prev="/a2"))
    server.serve("/a2", archive([E("2")], prev="/a1"))
    server.serve("/a1", archive([E("0"), E("1")]))
    server.serve("/b2", archive([E("2")], prev="/b1"))
    server.serve("/b1", archive([E("0")]))
    server.on_request = cut_anew
    run = project.crawl(server.url("/index"))
    assert set(run.changes) == {"3", "2", "0"}
    assert project.verdict() == ("incomplete", ["moved"])
    assert f"{server.url('/a1')} leads to another document" in run.log
    server.on_request = None
    assert project.crawl(server.url("/index")).changes == {"1": "new"}
    assert project.verdict() == ("complete", [])


def test_archive_from_which_a_redirect_led_for_a_moment_is_read_by_the_next_run(
    server: FeedServer, project: Project
) -> None:
    """And no other one: not that from which one leads for good."""
    server.serve("/index", atom([E("3")], prev="/a1"))
    server.serve("/a1", "", status=301, headers={"Location": "/b1"})
    server.serve("/b1", archive([E("1")]))
    project.crawl(server.url("/index"))
    project.crawl(server.url("/index"))
    server.serve("/index", atom([E("3")], prev="/a2"))
    server.serve("/a2", "", status=302, headers={"Location": "/b1"})
    project.crawl(server.url("/index"))
    assert project.verdict() == ("incomplete", ["moved"])
    server.serve("/a2", archive([E("2")], prev="/a1"))
    server.asked()
    run = project.crawl(server.url("/index"))
    assert run.changes == {"2": "new"}
    assert server.asked() == ["/index", "/a2"]
    assert project.verdict() == ("complete", [])


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


def test_subscription_document_that_cannot_be_read_does_not_vouch_for_archives_that_have_moved(
    server: FeedServer, project: Project
) -> None:
    index = atom([E("2")], prev="/a1")
    server.serve("/index", index)
    server.serve("/a1", "", status=301, headers={"Location": "/b1"})
    server.serve("/b1", archive([E("1")]))
    project.crawl(server.url("/index"))
    server.serve("/index", "", status=304)
    project.crawl(server.url("/index"))
    assert project.verdict() == ("incomplete", ["http-304"])
    server.serve("/index", index)
    project.crawl(server.url("/index"))
    assert project.verdict() == ("complete", [])


@pytest.mark.parametrize(
    ("target", "links"), [("/a1/", {}), ("/b1", {"self": "/a1"})], ids=["slash", "says that it is the same"]
)
def test_redirect_to_the_same_archive_elsewhere_is_nothing_to_wait_for(
    server: FeedServer, project: Project, target: str, links: dict[str, str]
) -> None:
    server.serve("/index", atom([E("2")], prev="/a1"))
    server.serve("/a1", "", status=301, headers={"Location": target})
    server.serve(target, atom([E("1")], links=links, head="<fh:archive/>"))
    project.crawl(server.url("/index"))
    assert project.verdict() == ("complete", [])


def test_page_that_becomes_an_archive_is_read_again(server: FeedServer, project: Project) -> None:
    feed = server.url("/index")
    server.serve("/index", atom([E("9")], links={"next": "/p2"}))
    server.serve("/p2", atom([E("2")]))
    project.crawl(feed)
    server.serve("/index", atom([E("9")], prev="/p2"))
    server.serve("/p2", archive([E("8"), E("7")], prev="/p1"))
    server.serve("/p1", archive([E("1")]))
    run = project.crawl(feed)
    assert set(run.changes) == {"8", "7", "1"}
    assert project.verdict() == ("complete", [])


def serve_pages(server: FeedServer, newest: int) -> None:
    """Entries from the newest to the first, two on a page."""
    for page, number in enumerate(range(newest, 0, -2), 1):
        links = {"next": f"/index?page={page + 1}"} if number > 2 else {}
        path = "/index" if page == 1 else f"/index?page={page}"
        server.serve(path, atom([E(str(number)), E(str(number - 1))], links=links))


def test_page_that_shows_again_what_the_walk_has_just_read_does_not_end_it(
    server: FeedServer, project: Project
) -> None:
    """While the first page is read, as much is published as the page holds: all others move on by one."""
    serve_pages(server, 6)
    project.crawl(server.url("/index"))
    serve_pages(server, 10)
    server.on_request = lambda path: serve_pages(server, 12) if path == "/index" else None
    run = project.crawl(server.url("/index"))
    assert set(run.changes) == {"10", "9", "8", "7"}


@pytest.mark.parametrize("time", ["2003-12-13T18:30:02Z", None])
def test_feed_that_was_complete_for_a_while_has_its_archives_back(
    server: FeedServer, project: Project, time: str | None
) -> None:
    feed = server.url("/index")
    archived = atom([E("2", updated=time), E("3", updated=time)], prev="/a1", updated=time)
    server.serve("/index", archived)
    server.serve("/a1", atom([E("1", updated=time)], updated=time))
    project.crawl(feed)
    server.serve("/index", atom([E("2", updated=time)], head="<fh:complete/>", updated=time))
    assert project.crawl(feed).changes == {"1": "deleted", "3": "deleted"}
    server.serve("/index", archived)
    assert project.crawl(feed).changes == {"1": "new", "3": "new"}
    assert set(project.logical_feed()) == {"1", "2", "3"}
    assert project.verdict() == ("complete", [])


def test_subscription_document_elsewhere_that_is_lost_takes_the_verdict_back(
    server: FeedServer, project: Project
) -> None:
    feed = server.url("/index")
    server.serve("/index", atom([E("1")], prev="/a1"))
    server.serve("/a1", atom([E("0")]))
    project.crawl(feed)
    server.serve("/index", archive([E("1"), E("2")], current="/new", prev="/a1"))
    project.crawl(feed)
    assert project.verdict() == ("incomplete", ["http-404"])
    server.serve("/new", atom([E("3")], prev="/index"))
    assert set(project.crawl(feed).changes) == {"2", "3"}
    assert project.verdict() == ("complete", [])


def test_several_archives_lead_to_the_subscription_document(server: FeedServer, project: Project) -> None:
    server.serve("/a1", archive([E("1")], current="/a2"))
    server.serve("/a2", archive([E("2")], current="/index", prev="/a1"))
    server.serve("/index", atom([E("3")], prev="/a2"))
    run = project.crawl(server.url("/a1"))
    assert set(run.changes) == {"1", "2", "3"}
    assert project.verdict() == ("complete", [])


def test_archives_that_lead_to_each_other_are_never_complete(server: FeedServer, project: Project) -> None:
    server.serve("/a1", archive([E("1")], current="/a2"))
    server.serve("/a2", archive([E("2")], current="/a1"))
    project.crawl(server.url("/a1"))
    assert len(server.asked()) < 10
    assert project.verdict() == ("incomplete", ["no-current"])


def test_document_that_another_one_comes_after_is_never_the_newest(
    server: FeedServer, project: Project
) -> None:
    """It does not say fh:archive, nor where the newest one is."""
    server.serve("/a2", atom([E("2")], prev="/a1", links={"next-archive": "/index"}))
    server.serve("/a1", archive([E("1")]))
    run = project.crawl(server.url("/a2"))
    assert set(run.changes) == {"1", "2"}
    assert project.verdict() == ("incomplete", ["no-current"])


def test_document_that_names_itself_as_the_one_after_it_is_the_newest(
    server: FeedServer, project: Project
) -> None:
    server.serve("/index", atom([E("2")], prev="/a1", links={"next-archive": "/index"}))
    server.serve("/a1", archive([E("1")]))
    project.crawl(server.url("/index"))
    assert project.verdict() == ("complete", [])


@pytest.mark.parametrize(
    ("head", "links"),
    [("<fh:archive/>", {}), ("", {"next-archive": "/2004"})],
    ids=["fh:archive", "next-archive"],
)
def test_feed_whose_place_has_become_an_archive_is_looked_for_where_the_user_said(
    server: FeedServer, project: Project, head: str, links: dict[str, str]
) -> None:
    """Each year it moves for good to another place, and what it leaves behind does not say where to."""
    server.serve("/index", "", status=301, headers={"Location": "/2003"})
    server.serve("/2003", atom([E("1")]))
    project.crawl(server.url("/index"))
    server.serve("/index", "", status=301, headers={"Location": "/2004"})
    server.serve("/2004", atom([E("3")], prev="/2003"))
    server.serve("/2003", atom([E("1"), E("2")], head=head, links=links))
    assert set(project.crawl(server.url("/index")).changes) == {"2", "3"}
    assert project.verdict() == ("complete", [])
    server.asked()
    project.crawl(server.url("/index"))
    assert server.asked() == ["/2004"]


def test_archive_where_a_feed_was_last_is_read_if_the_feed_is_nowhere_else(
    server: FeedServer, project: Project
) -> None:
    server.serve("/index", "", status=301, headers={"Location": "/2003"})
    server.serve("/2003", atom([E("1")]))
    project.crawl(server.url("/index"))
    server.answers.pop("/index")
    server.serve("/2003", atom([E("1"), E("2")], head="<fh:archive/>"))
    server.asked()
    assert project.crawl(server.url("/index")).changes == {"2": "new"}
    assert server.asked() == ["/2003", "/index", "/2003"]
    assert project.verdict() == ("incomplete", ["no-current"])


@pytest.mark.parametrize(("status", "etag"), [(301, True), (301, False), (302, True), (302, False)])
def test_feed_that_moves_unchanged_is_read_where_it_is_now(
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


def test_archive_that_does_not_say_that_it_is_one_leads_on(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("4")], prev="/a3"))
    server.serve("/a3", atom([E("3")], prev="/a2", links={"current": "/index"}))
    server.serve("/a2", atom([E("2")], links={"current": "/index", "next-archive": "/a3"}))
    run = project.crawl(server.url("/a2"))
    assert set(run.changes) == {"2", "3", "4"}
    assert project.verdict() == ("complete", [])


def test_archives_that_go_on_over_pages_are_lossy(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("3")], prev="/a1"))
    server.serve("/a1", atom([E("2")], links={"next": "/p2"}))
    server.serve("/p2", atom([E("1")]))
    run = project.crawl(server.url("/index"))
    assert set(run.changes) == {"1", "2", "3"}
    assert project.verdict() == ("lossy", ["paged"])


def test_archives_behind_pages_behind_archives_are_lossy(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("4")], prev="/a2"))
    server.serve("/a2", atom([E("3")], links={"next": "/p"}))
    server.serve("/p", atom([E("2")], prev="/a1"))
    server.serve("/a1", archive([E("1")]))
    run = project.crawl(server.url("/index"))
    assert set(run.changes) == {"1", "2", "3", "4"}
    assert project.verdict() == ("lossy", ["paged"])


def test_lost_entries_of_a_document_that_is_no_longer_in_the_chain_do_not_count(
    server: FeedServer, project: Project
) -> None:
    server.serve("/index", atom([E("2")], prev="/a1"))
    server.serve("/a1", atom([E("1"), E(None)]))
    project.crawl(server.url("/index"))
    assert project.verdict() == ("incomplete", ["entries-lost"])
    server.serve("/index", atom([E("2")], prev="/b1"))
    server.serve("/b1", atom([E("1"), E("0")]))
    project.crawl(server.url("/index"))
    assert project.verdict() == ("complete", [])


def test_content_type_that_cannot_be_read_loses_nothing(server: FeedServer, project: Project) -> None:
    header = "application/atom+xml; charset*=utf-8''utf-8; charset*0=utf-8"
    server.serve("/index", atom([E("1")]), content_type=header)
    run = project.crawl(server.url("/index"))
    assert set(run.changes) == {"1"}
    assert "Traceback" not in run.log


def test_answer_304_to_a_first_request_is_a_gap(server: FeedServer, project: Project) -> None:
    server.serve("/index", "", status=304)
    project.scrapy("subscribe", server.url("/index"))
    project.crawl(server.url("/index"))
    assert project.verdict() == ("unknown", ["unreachable", "http-304"])


def test_answer_304_to_a_request_that_has_not_asked_for_it_is_a_gap(
    server: FeedServer, project: Project
) -> None:
    server.serve("/index", atom([E("1")], prev="/a1"), etag=False)
    server.serve("/a1", atom([E("0")]))
    project.crawl(server.url("/index"))
    server.serve("/index", "", status=304)
    run = project.crawl(server.url("/index"))
    assert "fhcrawl/document/unchanged" not in run.stats
    assert project.verdict() == ("incomplete", ["http-304"])


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
def test_link_that_is_no_url_is_no_reason_to_lose_what_comes_later(
    server: FeedServer, project: Project, bad: str
) -> None:
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
