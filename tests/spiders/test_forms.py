"""Crawls of what publishers do besides plain archived feeds."""

from pathlib import Path

import pytest

from tests.feeds import E, atom, rss
from tests.in_process import MemoryServer
from tests.projects import Project
from tests.server import FeedServer

pytestmark = pytest.mark.in_process
LOOPBACK = {"FHCRAWL_ALLOWED_PRIVATE_HOSTS": "127.0.0.0/8,localhost"}


class TestPages:
    def test_paging_links_may_lead_to_another_host(self, server: FeedServer, project: Project) -> None:
        with MemoryServer() as other:
            server.serve("/index", atom([E("2")], links={"next": other.url("/p2")}))
            other.serve("/p2", atom([E("1")]))
            run = project.crawl(server.url("/index"), settings=LOOPBACK)
        assert set(run.changes) == {"1", "2"}


class TestLinkHeaders:
    @pytest.mark.parametrize("write", [atom, rss])
    def test_links_in_headers_are_followed(self, server: FeedServer, project: Project, write: type) -> None:
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
        assert {item["feed"] for item in run.items} == {server.url("/index")}
        assert f"Found the feed {server.url('/index')}" in run.log
        server.asked()
        project.crawl(server.url("/"))
        assert server.asked() == ["/", "/index"]
        assert project.verdict() == ("complete", [])

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

    def test_feed_on_the_net_leads_to_no_file(
        self, server: FeedServer, project: Project, tmp_path: Path
    ) -> None:
        (tmp_path / "secret.atom").write_text(atom([E("secret")]))
        server.serve("/index", atom([E("1")], prev=(tmp_path / "secret.atom").as_uri()))
        run = project.crawl(server.url("/index"))
        assert set(run.changes) == {"1"}
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
        # Pages that were read before as they are now agree.
        assert project.verdict() in (before, ("complete", []))

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

    def test_more_headers_stay_where_archives_are_skipped(self, server: FeedServer, project: Project) -> None:
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
        self.crawl(project, server, "limit = 1")
        assert project.verdict() == ("incomplete", ["limit"])
