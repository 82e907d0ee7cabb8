"""A feed that is given by several URLs is stored once, under one of them."""

import json

import pytest

from tests.feeds import E, atom
from tests.in_process import MemoryServer
from tests.projects import Project
from tests.server import FeedServer

pytestmark = pytest.mark.in_process
LOOPBACK = {"FHCRAWL_ALLOWED_PRIVATE_HOSTS": "127.0.0.0/8"}


def page(*links: str) -> str:
    return f"<!DOCTYPE html><html><head>{''.join(links)}</head><p>Hello"


def link(href: str, title: str = "") -> str:
    return f'<link rel="alternate" type="application/atom+xml" href="{href}" title="{title}">'


def redirect(server: FeedServer, path: str, status: int) -> None:
    server.serve(path, "", status=status, headers={"Location": server.url("/feed")})


def stored(project: Project) -> dict[str, int]:
    return {feed["feed"]: feed["entries"] for feed in project.feeds()}


class TestSpellings:
    def test_spellings_of_a_url_are_one_feed(self, server: FeedServer, project: Project) -> None:
        server.serve("/x", atom([E("1")]))
        run = project.crawl(server.url("/x"), server.url("/x#top"), server.url("/x").replace("http", "HTTP"))
        assert run.changes == {"1": "new"}
        assert stored(project) == {server.url("/x"): 1}
        again = server.url("/x#top")
        assert project.scrapy("subscribe", again).stdout.startswith("Newly subscribed: 1")
        assert len(stored(project)) == 1
        assert json.loads(project.scrapy("feeds", again, "--json").stdout)[0]["entries"] == 1
        assert '"1"' in project.scrapy("export", "-o", "-:jsonl", "--feed", again).stdout
        assert project.scrapy("history", again, "1").returncode == 0
        assert "no longer subscribed" in project.scrapy("unsubscribe", again).stdout


class TestPages:
    @pytest.mark.both_stores
    @pytest.mark.parametrize("order", ["/ /feed", "/feed /", "/feed, /", "/, /feed"])
    def test_page_and_its_feed_are_one_feed(self, server: FeedServer, project: Project, order: str) -> None:
        server.serve("/", page(link("/feed#x")), content_type="text/html")
        server.serve("/feed", atom([E("2")], prev="/a1"))
        server.serve("/a1", atom([E("1")]))
        done = [project.crawl(*map(server.url, paths.split())) for paths in order.split(", ")]
        exported = [(item["feed"], item["id"]) for run in done for item in run.items]
        assert sorted(exported) == [(server.url("/feed"), "1"), (server.url("/feed"), "2")]
        assert all("Traceback" not in run.log for run in done)
        assert any(f"Found the feed {server.url('/feed')}" in run.log for run in done)
        assert stored(project) == {server.url("/feed"): 2}
        assert project.verdict() == ("complete", [])

    def test_page_leads_to_its_feed_each_time(self, server: FeedServer, project: Project) -> None:
        server.serve("/", page(link("/feed")), content_type="text/html")
        server.serve("/feed", atom([E("1")]))
        project.crawl(server.url("/"))
        server.serve("/feed", atom([E("2"), E("1")]))
        assert project.crawl(server.url("/")).changes == {"2": "new"}
        assert stored(project) == {server.url("/feed"): 2}

    @pytest.mark.parametrize("is_known", [False, True])
    def test_subscription_of_a_page_moves_to_the_feed(
        self, server: FeedServer, project: Project, is_known: bool
    ) -> None:
        server.serve("/", page(link("/feed")), content_type="text/html")
        server.serve("/feed", atom([E("1")]))
        if is_known:
            project.crawl(server.url("/feed"))
        (project.folder / "list.toml").write_text(
            f'[[feed]]\nurl = "{server.root}"\nreversed = true\nheaders = {{X-Key = "k"}}\n'
        )
        assert project.scrapy("subscribe", "list.toml").returncode == 0
        server.asked()
        project.crawl()
        assert stored(project) == {server.url("/feed"): 1}
        [(url, options, subscribed)] = project.database.rows("SELECT url, options, subscribed FROM feeds")
        assert (url, json.loads(options)) == (
            server.url("/feed"),
            {"headers": {"X-Key": "k"}, "reversed": True},
        )
        assert subscribed is not None

    def test_headers_of_a_page_are_not_those_of_its_feed_elsewhere(
        self, server: FeedServer, project: Project
    ) -> None:
        with MemoryServer() as other:
            server.serve("/", page(link(other.url("/feed"))), content_type="text/html")
            other.serve("/feed", atom([E("1")]))
            (project.folder / "list.toml").write_text(
                f'[[feed]]\nurl = "{server.root}"\nheaders = {{X-Key = "k"}}\n'
            )
            project.scrapy("subscribe", "list.toml")
            for _run in range(2):
                project.crawl(settings=LOOPBACK)
            assert not any("X-Key" in headers for headers in other.headers)
            assert stored(project) == {other.url("/feed"): 1}
            assert project.database.rows("SELECT options, special FROM feeds") == [(None, 0)]

    def test_feed_of_a_page_on_a_private_host_is_refused(self, server: FeedServer, project: Project) -> None:
        with MemoryServer() as other:
            server.serve("/", page(link(other.url("/feed"))), content_type="text/html")
            other.serve("/feed", atom([E("1")]))
            project.scrapy("subscribe", server.url("/"))
            for _run in range(2):
                project.crawl()
                assert project.verdict() == ("unknown", ["not-read", "private-address"])
            assert other.asked() == []
        assert stored(project) == {server.url("/"): 0}

    def test_page_whose_feed_cannot_be_read_keeps_its_name(
        self, server: FeedServer, project: Project
    ) -> None:
        server.serve("/", page(link("/feed")), content_type="text/html")
        project.scrapy("subscribe", server.url("/"))
        project.crawl()
        assert stored(project) == {server.url("/"): 0}
        server.serve("/feed", atom([E("1")]))
        project.crawl()
        assert stored(project) == {server.url("/feed"): 1}

    def test_server_that_answers_by_turns_ends(self, server: FeedServer, project: Project) -> None:
        """Each URL is a feed, then a page that leads to the other one, then a feed."""
        feed = atom([E("1")])

        def turn(path: str) -> None:
            others = {"/": "/feed", "/feed": "/"}
            if path in others and server.requests.count(path) % 2 == (path == "/feed"):
                server.serve(path, page(link(others[path])), content_type="text/html")
            elif path in others:
                server.serve(path, feed)

        server.on_request = turn
        for path in ("/", "/feed"):
            turn(path)
        project.crawl(server.url("/"), settings={"CLOSESPIDER_PAGECOUNT": 20})
        assert server.asked() == ["/", "/feed", "/feed"]


class TestRedirects:
    @pytest.mark.parametrize("status", [301, 308])
    @pytest.mark.parametrize("at_once", [False, True])
    def test_new_url_that_redirects_to_a_feed_is_that_feed(
        self, server: FeedServer, project: Project, status: int, at_once: bool
    ) -> None:
        server.serve("/feed", atom([E("1")]))
        redirect(server, "/old", status)
        runs = [("/feed", "/old")] if at_once else [("/feed",), ("/old",)]
        done = [project.crawl(*map(server.url, paths)) for paths in runs]
        assert [i["feed"] for run in done for i in run.items] == [server.url("/feed")]
        assert f"Found the feed {server.url('/feed')}" in done[-1].log
        assert stored(project) == {server.url("/feed"): 1}

    @pytest.mark.parametrize("at_once", [False, True])
    def test_feeds_that_move_to_one_url_are_one_feed(
        self, server: FeedServer, project: Project, at_once: bool
    ) -> None:
        server.serve("/feed", atom([E("1")]))
        for path in ("/a", "/b"):
            redirect(server, path, 301)
        runs = [("/a", "/b", "/feed")] if at_once else [("/a",), ("/b",), ("/feed",)]
        for paths in runs:
            project.crawl(*map(server.url, paths))
        [(url, entries)] = stored(project).items()
        assert entries == 1
        assert url == server.url("/feed" if at_once else "/a")

    def test_target_of_a_redirect_has_spellings_too(self, server: FeedServer, project: Project) -> None:
        server.serve("/feed", atom([E("1")]))
        to = {"Location": server.url("/feed#x").replace("http", "HTTP")}
        server.serve("/old", "", status=301, headers=to)
        project.crawl(server.url("/feed"))
        project.crawl(server.url("/old"))
        assert stored(project) == {server.url("/feed"): 1}

    def test_archive_that_leads_to_a_stored_feed_is_that_feed(
        self, server: FeedServer, project: Project
    ) -> None:
        current = f'<link xmlns="http://www.w3.org/2005/Atom" rel="current" href="{server.url("/feed")}"/>'
        archive = '<fh:archive xmlns:fh="http://purl.org/syndication/history/1.0"/>'
        server.serve("/feed", atom([E("2")], prev="/a1"))
        server.serve("/a1", atom([E("1")], head=archive + current))
        project.crawl(server.url("/feed"))
        assert project.crawl(server.url("/a1")).items == []
        assert stored(project) == {server.url("/feed"): 2}

    def test_subscription_moves_to_the_stored_feed(self, server: FeedServer, project: Project) -> None:
        server.serve("/feed", atom([E("1")]))
        redirect(server, "/old", 301)
        project.crawl(server.url("/feed"))
        project.scrapy("subscribe", server.url("/old"))
        project.crawl()
        [(url, subscribed)] = project.database.rows("SELECT url, subscribed FROM feeds")
        assert url == server.url("/feed")
        assert subscribed is not None

    def test_temporary_redirect_is_another_feed(self, server: FeedServer, project: Project) -> None:
        server.serve("/feed", atom([E("1")]))
        redirect(server, "/old", 302)
        project.crawl(server.url("/feed"), server.url("/old"))
        assert len(stored(project)) == 2


@pytest.mark.both_stores
class TestDuplicates:
    @pytest.fixture
    def two(self, server: FeedServer, project: Project) -> tuple[str, str]:
        """A feed that was stored twice before its publisher moved one of them to the other, which is kept."""
        server.serve("/feed", atom([E("3"), E("2")]))
        server.serve("/old", atom([E("2"), E("1")]))
        project.crawl(server.url("/feed"), server.url("/old"))
        redirect(server, "/old", 301)
        project.crawl(server.url("/old"), output=None)
        return server.url("/feed"), server.url("/old")

    def test_duplicates_are_reported_and_merged(
        self, server: FeedServer, project: Project, two: tuple[str, str]
    ) -> None:
        kept, other = two
        assert stored(project) == {kept: 2, other: 3}
        command = f"fhcrawl unsubscribe --merge-into {kept} {other}"
        lines = project.scrapy("feeds").stdout.splitlines()
        assert [line for line in lines if command in line and line.startswith(f"{kept} and {other} ")]
        assert {feed["feed"]: feed["duplicates"] for feed in project.feeds()} == {
            kept: [other],
            other: [kept],
        }
        project.scrapy("subscribe", other)
        done = project.scrapy("unsubscribe", "--merge-into", f"{kept}#x", other)
        assert done.stdout == f"{other} is merged into {kept}; entries added: 1\n"
        assert stored(project) == {kept: 3}
        assert "unsubscribe" not in project.scrapy("feeds").stdout
        assert [feed["duplicates"] for feed in project.feeds()] == [[]]
        [(subscribed,)] = project.database.rows("SELECT subscribed FROM feeds")
        assert subscribed is not None
        # "3" of the other name was never exported; that of the kept one was.
        assert project.crawl(kept).items == []
        server.serve("/feed", atom([E("1", title="edited"), E("3"), E("2")]))
        assert project.crawl(kept).changes == {"1": "updated"}

    def test_merge_moves_what_is_left_to_be_exported(self, server: FeedServer, project: Project) -> None:
        server.serve("/feed", atom([E("2")]))
        server.serve("/old", atom([E("2"), E("1")]))
        project.crawl(server.url("/old"), output=None)
        project.crawl(server.url("/feed"))
        project.scrapy("unsubscribe", "--merge-into", server.url("/feed"), server.url("/old"))
        assert project.crawl(server.url("/feed")).changes == {"1": "new"}

    def test_merge_tells_nothing_twice(self, server: FeedServer, project: Project) -> None:
        server.serve("/feed", atom([E("2", title="a"), E("1")]))
        server.serve("/old", atom([E("2", title="b"), E("1")]))
        project.crawl(server.url("/old"))
        project.crawl(server.url("/feed"), output=None)
        project.scrapy("unsubscribe", "--merge-into", server.url("/feed"), server.url("/old"))
        assert project.crawl(server.url("/feed")).changes == {"2": "updated"}

    def test_merge_keeps_versions(self, server: FeedServer, project: Project) -> None:
        keeps = {"FHCRAWL_KEEP_VERSIONS_ENABLED": 1}
        server.serve("/feed", atom([E("1", title="new")]))
        for title in ("old", "new"):
            server.serve("/old", atom([E("1", title=title), E("0", title=title)]))
            project.crawl(server.url("/old"), server.url("/feed"), settings=keeps)
        project.scrapy("unsubscribe", "--merge-into", server.url("/feed"), server.url("/old"))
        for entry_id in "10":
            assert "old" in project.scrapy("history", server.url("/feed"), entry_id).stdout

    @pytest.mark.parametrize("missing", [0, 1])
    def test_feeds_that_are_not_there_are_not_merged(
        self, server: FeedServer, project: Project, two: tuple[str, str], missing: int
    ) -> None:
        names = [*two]
        names[missing] = server.url("/other")
        done = project.scrapy("unsubscribe", "--merge-into", *names)
        assert done.returncode == 2
        assert "is not in the store" in done.stderr
        assert len(stored(project)) == 2

    def test_feed_is_not_merged_into_itself(self, project: Project, two: tuple[str, str]) -> None:
        assert "is the feed to keep" in project.scrapy("unsubscribe", "--merge-into", two[0], two[0]).stderr
        assert len(stored(project)) == 2
