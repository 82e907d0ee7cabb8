"""Crawls of what publishers do besides plain archived feeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.feeds import E, atom, rss, tombstone
from tests.in_process import MemoryServer
from tests.server import Answer, FeedServer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.projects import Project

pytestmark = pytest.mark.in_process
LOOPBACK = {"FHCRAWL_ALLOWED_PRIVATE_HOSTS": "127.0.0.0/8,localhost"}


class TestPages:
    def test_next_of_the_page_that_last_names_is_not_followed(
        self, server: FeedServer, project: Project
    ) -> None:
        server.serve("/index", atom([E("2")], links={"next": "/p2", "last": "/p2"}))
        server.serve("/p2", atom([E("1")], links={"next": "/index", "last": "/p2"}))
        project.crawl(server.url("/index"))
        assert server.asked() == ["/index", "/p2"]
        assert project.verdict() == ("lossy", ["paged"])

    def test_page_that_repeats_the_one_before_it_ends_the_walk(
        self, server: FeedServer, project: Project
    ) -> None:
        """A server that answers any page number with the last page."""
        server.serve("/index", atom([E("2")], links={"next": "/p?2"}))
        for page in (2, 3, 4):
            server.serve(f"/p?{page}", atom([E("1")], links={"next": "/p?3"}))
        server.serve("/p?3", atom([E("1")], links={"next": "/p?4"}))
        server.answers["/p?2"] = server.answers["/p?4"] = server.answers["/p?3"]
        run = project.crawl(server.url("/index"))
        assert server.asked() == ["/index", "/p?2", "/p?4"]
        assert set(run.changes) == {"1", "2"}
        assert project.verdict() == ("lossy", ["repeats", "paged"])

    def test_paging_links_may_lead_to_another_host(self, server: FeedServer, project: Project) -> None:
        with MemoryServer() as other:
            server.serve("/index", atom([E("2")], links={"next": other.url("/p2")}))
            other.serve("/p2", atom([E("1")]))
            run = project.crawl(server.url("/index"), settings=LOOPBACK)
        assert set(run.changes) == {"1", "2"}

    def test_later_run_that_finds_the_walk_unfinished_goes_on(
        self, server: FeedServer, project: Project
    ) -> None:
        server.serve("/index", atom([E("3")], links={"next": "/p2"}))
        server.serve("/p2", atom([E("2")], links={"next": "/p3"}))
        project.crawl(server.url("/index"))
        assert project.verdict() == ("lossy", ["http-404", "paged"])
        server.serve("/p3", atom([E("1")]))
        server.asked()
        run = project.crawl(server.url("/index"))
        assert server.asked() == ["/index", "/p2", "/p3"]
        assert run.changes == {"1": "new"}


class TestLinkHeaders:
    @pytest.mark.parametrize("write", [atom, rss])
    def test_history_links_in_headers_are_followed(
        self, server: FeedServer, project: Project, write: type
    ) -> None:
        server.serve("/index", write([E("2")]), headers={"Link": '</a1>; rel="prev-archive"'})
        server.serve("/a1", write([E("1")]))
        run = project.crawl(server.url("/index"))
        assert set(run.changes) == {"1", "2"}
        assert project.verdict() == ("complete", [])

    def test_links_of_the_document_come_first(self, server: FeedServer, project: Project) -> None:
        header = {"Link": '</other>; rel="prev-archive"'}
        server.serve("/index", atom([E("2")], prev="/a1"), headers=header)
        server.serve("/a1", atom([E("1")]))
        project.crawl(server.url("/index"))
        assert server.asked() == ["/index", "/a1"]


class TestStartingPoints:
    @pytest.mark.real_crawl
    def test_html_page_leads_to_its_feed(self, server: FeedServer, project: Project) -> None:
        page = (
            '<!DOCTYPE html><html><head><link rel="stylesheet" href="/x.css">'
            '<link rel="Alternate" type="application/atom+xml" href="/index"></head><p>Hello'
        )
        server.serve("/", page, content_type="text/html")
        server.serve("/index", atom([E("2")], prev="/a1"))
        server.serve("/a1", atom([E("1")]))
        run = project.crawl(server.url("/"))
        assert {item["feed"] for item in run.items} == {server.url("/")}
        assert f"its feed is {server.url('/index')}" in run.log
        server.asked()
        project.crawl(server.url("/"))
        assert server.asked() == ["/index"]
        assert project.verdict() == ("complete", [])

    @pytest.mark.parametrize("at_once", [False, True], ids=["of an earlier run", "of this run"])
    def test_page_whose_feed_is_known_is_not_stored_too(
        self, server: FeedServer, project: Project, at_once: bool
    ) -> None:
        page = '<html><head><link rel="alternate" type="application/atom+xml" href="/feed"></head></html>'
        server.serve("/", page, content_type="text/html")
        server.serve("/feed", atom([E("1")]))
        runs = (
            [(server.url("/"), server.url("/feed"))]
            if at_once
            else [(server.url("/feed"),), (server.url("/"),)]
        )
        done = [project.crawl(*feeds) for feeds in runs]
        assert [item["feed"] for run in done for item in run.items] == [server.url("/feed")]
        assert (
            f"its feed is in the store: {server.url('/feed')}\n  What to do: crawl that feed" in done[-1].log
        )
        [feed] = project.feeds()
        assert (feed["feed"], feed["entries"]) == (server.url("/feed"), 1)
        server.serve("/feed", atom([E("2"), E("1")]))
        assert project.crawl(server.url("/feed")).changes == {"2": "new"}

    def test_html_page_without_a_feed_is_a_gap(self, server: FeedServer, project: Project) -> None:
        server.serve("/", "<html><head><title>x</title></head></html>", content_type="text/html")
        run = project.crawl(server.url("/"))
        assert run.stats["fhcrawl/document/invalid"] == 1

    def test_error_page_of_a_known_feed_leads_nowhere(self, server: FeedServer, project: Project) -> None:
        server.serve("/index", atom([E("1")]))
        server.serve("/other", atom([E("other")]))
        project.crawl(server.url("/index"))
        page = '<html><head><link rel="alternate" type="application/atom+xml" href="/other"></head></html>'
        server.serve("/index", page, content_type="text/html")
        run = project.crawl(server.url("/index"))
        assert run.items == []
        assert run.stats["fhcrawl/document/invalid"] == 1

    @pytest.mark.parametrize("status", [301, 308])
    def test_feed_that_has_moved_for_good_keeps_its_name_and_history(
        self, server: FeedServer, project: Project, status: int
    ) -> None:
        server.serve("/old", "", status=status, headers={"Location": "/new"})
        server.serve("/new", atom([E("2")], prev="/a1"))
        server.serve("/a1", atom([E("1")]))
        run = project.crawl(server.url("/old"))
        assert {item["feed"] for item in run.items} == {server.url("/old")}
        server.asked()
        server.serve("/new", atom([E("3")], prev="/a1"))
        run = project.crawl(server.url("/old"))
        assert server.asked() == ["/new"]
        assert run.changes == {"3": "new"}
        assert project.verdict() == ("complete", [])

    @pytest.mark.parametrize("later", [Answer(status=404), Answer(b"<html><body>parked</body></html>")])
    def test_feed_that_has_moved_by_mistake_is_found_where_it_was(
        self, server: FeedServer, project: Project, later: Answer
    ) -> None:
        server.serve("/index", "", status=301, headers={"Location": "/new"})
        server.serve("/new", atom([E("2")], prev="/a1"))
        server.serve("/a1", atom([E("1")]))
        project.crawl(server.url("/index"))
        server.answers["/new"] = later
        lost = project.crawl(server.url("/index"))
        [[reason]] = [feed["reasons"] for feed in project.feeds()]
        assert reason["kind"] in ("http-404", "html")
        assert reason["url"] == server.url("/new")
        assert [lost.stats.get(f"fhcrawl/document/{state}") for state in ("missing", "invalid")].count(1) == 1
        server.serve("/index", atom([E("3"), E("2")], prev="/a1"))
        server.asked()
        run = project.crawl(server.url("/index"))
        assert server.asked() == ["/new", "/index"]
        assert run.changes == {"3": "new"}
        assert project.verdict() == ("complete", [])
        server.asked()
        project.crawl(server.url("/index"))
        assert server.asked() == ["/index"]

    def test_feed_whose_server_says_when_to_ask_again_is_not_looked_for_elsewhere(
        self, server: FeedServer, project: Project
    ) -> None:
        server.serve("/index", "", status=301, headers={"Location": "/new"})
        server.serve("/new", atom([E("1")], prev="/a0"))
        server.serve("/a0", atom([E("0")]))
        project.crawl(server.url("/index"))
        server.serve("/new", "", status=503, headers={"Retry-After": "1"})
        server.asked()
        project.crawl(server.url("/index"), settings={"RETRY_ENABLED": 0})
        assert server.asked() == ["/new"]
        assert project.verdict() == ("incomplete", ["http-503"])

    def test_feed_that_an_html_page_has_named_is_asked_for_again_when_it_was_away(
        self, server: FeedServer, project: Project
    ) -> None:
        page = '<html><head><link rel="alternate" type="application/atom+xml" href="/feed"></head></html>'
        server.serve("/", page, content_type="text/html")
        server.serve("/feed", atom([E("1")], prev="/a0"))
        server.serve("/a0", atom([E("0")]))
        feed, server.answers["/feed"] = server.answers["/feed"], Answer(status=404)
        project.crawl(server.url("/"))
        # Where the user said that it is has just been read.
        assert server.asked() == ["/", "/feed"]
        server.answers["/feed"] = feed
        project.crawl(server.url("/"))
        server.answers["/feed"] = Answer(status=404)
        project.crawl(server.url("/"))
        assert project.verdict() == ("incomplete", ["http-404"])
        server.answers["/feed"] = feed
        project.crawl(server.url("/"))
        assert project.verdict() == ("complete", [])

    def test_feed_that_is_redirected_for_now_is_asked_for_as_before(
        self, server: FeedServer, project: Project
    ) -> None:
        server.serve("/old", "", status=301, headers={"Location": "/then"})
        server.serve("/then", "", status=302, headers={"Location": "/new"})
        server.serve("/new", atom([E("1")]))
        project.crawl(server.url("/old"))
        server.asked()
        project.crawl(server.url("/old"))
        assert server.asked() == ["/then", "/new"]

    @pytest.mark.real_crawl
    def test_files_are_a_feed(self, project: Project, tmp_path: Path) -> None:
        folder = tmp_path / "feeds"
        folder.mkdir()
        (folder / "index.atom").write_text(atom([E("2")], prev="old/a1.atom"))
        (folder / "old").mkdir()
        (folder / "old" / "a1.atom").write_text(atom([E("1")], prev="../../secret.atom"))
        (tmp_path / "secret.atom").write_text(atom([E("secret")]))
        run = project.crawl((folder / "index.atom").as_uri())
        assert set(run.changes) == {"1", "2"}
        assert project.verdict() == ("incomplete", ["refused-url"])

    def test_feed_from_the_net_leads_to_no_file(
        self, server: FeedServer, project: Project, tmp_path: Path
    ) -> None:
        (tmp_path / "secret.atom").write_text(atom([E("secret")]))
        server.serve("/index", atom([E("1")], prev=(tmp_path / "secret.atom").as_uri()))
        run = project.crawl(server.url("/index"))
        assert set(run.changes) == {"1"}
        assert project.verdict() == ("incomplete", ["refused-url"])

    @pytest.mark.parametrize(
        "prev", ["ftp://127.0.0.1:9/a", "mailto:x@example.org", "javascript:x", "data:,x"]
    )
    def test_other_schemes_are_not_followed(self, server: FeedServer, project: Project, prev: str) -> None:
        server.serve("/index", atom([E("1")], prev=prev))
        run = project.crawl(server.url("/index"))
        assert "Traceback" not in run.log
        assert project.verdict() == ("incomplete", ["refused-url"])

    @pytest.mark.real_crawl
    def test_credentials_do_not_leave_for_another_host(self, server: FeedServer, project: Project) -> None:
        domain = server.root.removeprefix("http://")
        credentials = {"HTTPAUTH_USER": "ann", "HTTPAUTH_PASS": "secret", "HTTPAUTH_DOMAIN": domain}
        with FeedServer() as other:
            other_host = other.root.replace("127.0.0.1", "localhost")
            server.serve("/index", atom([E("2")], prev=f"{other_host}/a1"))
            other.serve("/a1", atom([E("1")]))
            run = project.crawl(server.url("/index"), settings={**credentials, **LOOPBACK})
            sent = [headers.get("Authorization") for headers in server.headers]
            sent_elsewhere = [headers.get("Authorization") for headers in other.headers]
        assert set(run.changes) == {"1", "2"}
        assert any(sent)
        assert not any(sent_elsewhere)


class TestOddPublishers:
    def crawl(self, project: Project, server: FeedServer, options: str) -> None:
        listed = project.folder / "feeds.toml"
        listed.write_text(f'[[feed]]\nurl = "{server.url("/index")}"\n{options}\n')
        self.run = project.crawl(args=("-a", "feeds=feeds.toml"), settings=LOOPBACK)

    def test_next_as_archives(self, server: FeedServer, project: Project) -> None:
        server.serve("/index", atom([E("3")], links={"next": "/a2"}))
        server.serve("/a2", atom([E("2")], links={"next": "/a1"}))
        server.serve("/a1", atom([E("1")]))
        self.crawl(project, server, 'next = "archive"')
        assert set(self.run.changes) == {"1", "2", "3"}
        assert project.verdict() == ("complete", [])

    def test_reversed_links(self, server: FeedServer, project: Project) -> None:
        server.serve("/index", atom([E("3")], links={"next-archive": "/a2"}))
        server.serve("/a2", atom([E("2")], links={"next-archive": "/a1", "prev-archive": "/index"}))
        server.serve("/a1", atom([E("1")], links={"prev-archive": "/a2"}))
        self.crawl(project, server, "reversed = true")
        assert server.asked() == ["/index", "/a2", "/a1"]
        assert project.verdict() == ("complete", [])

    @pytest.mark.parametrize(
        ("option", "link"), [('next = "archive"', "next"), ("reversed = true", "next-archive")]
    )
    def test_feed_that_is_to_be_read_in_another_way_is_read_again(
        self, server: FeedServer, project: Project, option: str, link: str
    ) -> None:
        """Though its subscription document has not changed."""
        server.serve("/index", atom([E("3")], links={link: "/a2"}))
        server.serve("/a2", atom([E("2")], links={link: "/a1"}))
        server.serve("/a1", atom([E("1")]))
        self.crawl(project, server, "")
        before = project.verdict()
        assert before[0] != "complete"
        self.crawl(project, server, option)
        assert project.verdict() == ("complete", [])
        assert set(project.logical_feed()) == {"1", "2", "3"}
        server.asked()
        self.crawl(project, server, option)
        assert server.asked() == ["/index"]
        self.crawl(project, server, "")
        assert project.verdict() == before

    def test_more_headers(self, server: FeedServer, project: Project) -> None:
        server.serve("/index", atom([E("2")], prev="/a1"))
        server.serve("/a1", atom([E("1")]))
        self.crawl(project, server, 'headers = {X-Key = "k"}')
        assert [headers.get("X-Key") for headers in server.headers][-2:] == ["k", "k"]

    def test_more_headers_stay_with_the_feeds_host(self, server: FeedServer, project: Project) -> None:
        with MemoryServer() as other:
            server.serve("/index", atom([E("2")], prev=other.url("/a1")))
            other.serve("/a1", atom([E("1")]))
            self.crawl(project, server, 'headers = {X-Key = "k"}')
            assert not any(headers.get("X-Key") for headers in other.headers)
        assert set(self.run.changes) == {"1", "2"}

    def test_more_headers_stay_with_the_feeds_host_where_archives_are_skipped(
        self, server: FeedServer, project: Project
    ) -> None:
        with MemoryServer() as other:
            server.serve("/index", atom([E("2")], prev="/a1"))
            server.serve("/a1", atom([E("1")], prev=other.url("/a0")))
            other.serve("/a0", "", status=404)
            self.crawl(project, server, 'headers = {X-Key = "k"}')
            server.serve("/index", atom([E("3")], prev="/a1"))
            other.asked()
            self.crawl(project, server, 'headers = {X-Key = "k"}')
            assert other.headers
            assert not any(headers.get("X-Key") for headers in other.headers)

    def test_limit(self, server: FeedServer, project: Project) -> None:
        server.serve("/index", atom([E("3")], prev="/a2"))
        server.serve("/a2", atom([E("2")], prev="/a1"))
        server.serve("/a1", atom([E("1")]))
        self.crawl(project, server, "limit = 1")
        assert set(self.run.changes) == {"2", "3"}
        assert project.verdict() == ("incomplete", ["limit"])


class TestDeletedEntries:
    def test_tombstone_in_any_document_removes_an_older_entry(
        self, server: FeedServer, project: Project
    ) -> None:
        server.serve("/index", atom([E("4")], prev="/a2", head=tombstone("1", "2004-01-01T00:00:00Z")))
        buried = tombstone("2", "2004-01-01T00:00:00Z") + tombstone("4", "2002-01-01T00:00:00Z")
        server.serve("/a2", atom([E("3")], prev="/a1", head=buried))
        server.serve("/a1", atom([E("1"), E("2")]))
        run = project.crawl(server.url("/index"))
        assert set(run.changes) == {"3", "4"}
        assert set(project.logical_feed()) == {"3", "4"}

    @pytest.mark.real_crawl
    def test_deleted_entry_is_exported_once_and_may_come_back(
        self, server: FeedServer, project: Project
    ) -> None:
        feed = server.url("/index")
        server.serve("/index", atom([E("1"), E("2")]))
        project.crawl(feed)
        server.serve("/index", atom([E("2")], head=tombstone("1", "2003-12-13T18:30:02Z")))
        run = project.crawl(feed)
        assert run.changes == {"1": "deleted"}
        assert run.stats["fhcrawl/entry/deleted"] == 1
        assert set(project.logical_feed()) == {"2"}
        server.serve("/index", atom([E("1", "back", "2003-12-14T00:00:00Z"), E("2")]))
        assert project.crawl(feed).changes == {"1": "new"}

    def test_tombstone_that_comes_before_its_entry_counts(self, server: FeedServer, project: Project) -> None:
        """The archive with the entry is only reached in a later run."""
        feed = server.url("/index")
        server.serve("/index", atom([E("2")], prev="/a1", head=tombstone("1", "2004-01-01T00:00:00Z")))
        project.crawl(feed)
        server.serve("/a1", atom([E("1")]))
        run = project.crawl(feed)
        assert run.items == []
        assert run.stats["fhcrawl/entry/stale"] == 1
        assert set(project.logical_feed()) == {"2"}
