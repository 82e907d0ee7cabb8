"""Crawls of multipart feeds, and of WordPress without links to its pages."""

import json

import pytest

from tests.feeds import rss
from tests.projects import Project
from tests.server import FeedServer
from tests.spiders.walks import Play

pytestmark = pytest.mark.in_process


def multipart(*entities: tuple[str, str, str, str], boundary: str = "<b>") -> bytes:
    """A page of (Content-ID, day of October 2023, operation, body) entities."""
    parts = [
        f"--{boundary}\r\nContent-Type: text/plain\r\nContent-ID: <{i}>\r\n"
        f"Last-Modified: Thu, {day} Oct 2023 03:00:13 GMT\r\nOperation-Type: http-equiv={operation}\r\n"
        f"Content-Length: 999\r\n\r\n{body}\r\n"
        for i, day, operation, body in entities
    ]
    return ("".join(parts) + f"--{boundary}--\r\n").encode()


class TestMultipart:
    TYPE = 'multipart/package; boundary="<b>"'

    @pytest.mark.real_crawl
    @pytest.mark.quick_lane
    def test_pages_are_walked_back_and_events_kept(self, server: FeedServer, project: Project) -> None:
        dated = {"Last-Modified": "Thu, 5 Oct 2023 03:00:13 GMT"}
        newest = multipart(("c@x", "5", "DELETE", "gone"), ("b@x", "5", "PUT", "again"))
        server.serve("/new", newest, content_type=self.TYPE, headers={"Link": "</old>; rel=prev", **dated})
        oldest = multipart(("a@x", "1", "PUT", "first"), ("b@x", "2", "PUT", "second"))
        server.serve("/old", oldest, content_type=self.TYPE, headers={"Link": "</new>; rel=next", **dated})
        run = project.crawl(server.url("/new"))
        assert {item["id"]: (item["operation"], item["content"]) for item in run.items} == {
            "a@x": ("PUT", "first"),
            "b@x": ("PUT", "again"),
            "c@x": ("DELETE", "gone"),
        }
        assert {item["updated"] for item in run.items} == {"2023-10-01T03:00:13Z", "2023-10-05T03:00:13Z"}
        assert project.verdict() == ("complete", [])
        server.asked()
        project.crawl(server.url("/new"))
        assert server.asked() == ["/new"]

    def serve(
        self, server: FeedServer, path: str, /, *days: int, dated: int | None = None, **links: str
    ) -> None:
        entities = [(f"{day}@x", str(day), "PUT", "x") for day in days]
        header = ", ".join(f"<{target}>; rel={relation}" for relation, target in links.items())
        modified = {"Last-Modified": f"Thu, {dated or days[-1]} Oct 2023 03:00:13 GMT"}
        server.serve(path, multipart(*entities), content_type=self.TYPE, headers={"Link": header, **modified})

    def serve_chain(self, server: FeedServer) -> None:
        self.serve(server, "/4", 7, 8, self="/4", prev="/3")
        self.serve(server, "/3", 5, 6, self="/3", prev="/2", next="/4")
        self.serve(server, "/2", 3, 4, self="/2", prev="/1", next="/3")
        self.serve(server, "/1", 1, 2, self="/1", next="/2")

    def test_sealed_page_leads_to_the_newest(self, server: FeedServer, project: Project) -> None:
        self.serve_chain(server)
        run = project.crawl(server.url("/1"))
        assert server.asked() == ["/1", "/2", "/3", "/4", "/3", "/2", "/1"]
        assert len(run.changes) == 8
        assert run.warnings() == []
        assert project.verdict() == ("complete", [])

    # RFC 9110, 8.8.1: an ETag is of the body, which Link headers do not change.
    @pytest.mark.parametrize("has_etag", [False, True])
    def test_newest_page_that_is_sealed_later_leads_on_though_its_body_is_the_same(
        self, server: FeedServer, project: Project, has_etag: bool
    ) -> None:
        self.serve_chain(server)
        server.answers["/4"].etag = has_etag
        project.crawl(server.url("/4"))
        server.asked()
        self.serve(server, "/4", 7, 8, self="/4", prev="/3", next="/5")
        self.serve(server, "/5", 9, self="/5", prev="/4")
        server.answers["/4"].etag = has_etag
        run = project.crawl(server.url("/4"))
        assert server.asked() == ["/4", "/5", "/4"]
        assert run.changes == {"9@x": "new"}
        assert project.verdict() == ("complete", [])

    def test_sealed_pages_in_a_circle_end_the_search(self, server: FeedServer, project: Project) -> None:
        self.serve(server, "/1", 1, self="/1", next="/2")
        self.serve(server, "/2", 2, self="/2", next="/3")
        self.serve(server, "/3", 3, self="/3", next="/4")
        self.serve(server, "/4", 4, self="/4", next="/2")
        project.crawl(server.url("/1"))
        assert len(server.asked()) < 10
        assert project.verdict() == ("incomplete", ["no-current"])

    def test_neighbours_that_disagree_are_reported(self, server: FeedServer, project: Project) -> None:
        self.serve_chain(server)
        self.serve(server, "/3", 5, 6, self="/3b", prev="/2", next="/elsewhere")
        self.serve(server, "/2", 3, 4, self="/2", prev="/1")
        run = project.crawl(server.url("/4"))
        assert run.warnings() == [
            f"WARNING: {server.url('/3')}: it links to {server.url('/elsewhere')} as the newer page, "
            f"but {server.url('/4')} links to it (and 1 more)",
            f"WARNING: {server.url('/2')}: it does not link back to the newer page that links to it",
        ]
        assert run.stats["fhcrawl/neighbour/disagrees"] == 3
        assert len(run.changes) == 8
        assert project.verdict() == ("complete", [])

    def test_newest_page_may_be_polled_at_another_url(self, server: FeedServer, project: Project) -> None:
        self.serve_chain(server)
        self.serve(server, "/feed", 7, 8, self="/4", prev="/3")
        assert project.crawl(server.url("/feed")).warnings() == []
        self.serve(server, "/other", 7, 8, prev="/3")
        assert project.crawl(server.url("/other")).warnings() == []

    def test_last_modified_that_goes_back_is_reported(self, server: FeedServer, project: Project) -> None:
        self.serve_chain(server)
        self.serve(server, "/3", 5, 9, self="/3", prev="/2", next="/4")
        run = project.crawl(server.url("/4"))
        assert run.warnings() == [
            f"WARNING: {server.url('/3')}: Last-Modified goes backwards: 2023-10-09T03:00:13Z, "
            f"but 2023-10-08T03:00:13Z on the newer page (and 1 more)"
        ]
        assert run.stats["fhcrawl/neighbour/backwards"] == 2

    def test_page_behind_a_skipped_one_is_not_compared(self, server: FeedServer, project: Project) -> None:
        self.serve_chain(server)
        first = server.answers.pop("/1")
        project.crawl(server.url("/4"))
        server.answers["/1"] = first
        self.serve(server, "/4", 7, 8, 9, self="/4", prev="/3")
        server.asked()
        assert project.crawl(server.url("/4")).warnings() == []
        assert server.asked() == ["/4", "/1"]
        assert project.verdict() == ("complete", [])


PAGES = ("/feed/", *(f"/feed/?paged={number}" for number in (2, 3, 4)))
LIST = "/wp-json/wp/v2/posts?per_page=100&orderby=id&order=asc&page=1&_fields=id%2Cguid%2Clink%2Cmodified_gmt"


@pytest.fixture
def wordpress_feed(play: Play, server: FeedServer) -> str:
    """What a real WordPress hardly answers; test_wordpress.py has one."""
    play("/feed/ 3 rss wordpress; /feed/?paged=2 2 rss wordpress; /feed/?paged=3 1 rss wordpress")
    # As WordPress answers behind its last page.
    link = {"Link": f'<{server.url("/wp-json/")}>; rel="https://api.w.org/"'}
    server.serve("/feed/?paged=4", rss([]), status=404, headers=link)
    return server.url("/feed/")


@pytest.mark.real_crawl
@pytest.mark.quick_lane
def test_pages_are_walked_until_there_is_none(
    server: FeedServer, project: Project, wordpress_feed: str
) -> None:
    run = project.crawl(wordpress_feed)
    assert server.asked() == [*PAGES, LIST]
    assert set(run.changes) == {"1", "2", "3"}
    assert project.verdict() == ("lossy", ["paged"])
    project.crawl(wordpress_feed)
    assert server.asked() == ["/feed/"]


@pytest.mark.usefixtures("wordpress_feed")
def test_pages_are_not_walked_if_not_wanted(play: Play) -> None:
    # The feed is unchanged when it is crawled without.
    play("crawl /feed/ opt:platforms=false; exports 3; verdict unknown platform; crawl; exports 1 2")


# Of the posts, the numbers, and what links to them; the number of all posts.
@pytest.mark.parametrize(
    ("links", "total", "verdict"),
    [
        ("123", "3", ("complete", [])),
        ("123", "100000000", ("lossy", ["paged"])),
        # The address of the post with the guid 3 has changed; a post that no page shows has it now.
        (("http://x/1", "http://x/2", "http://x/3", "3"), "4", ("lossy", ["paged"])),
    ],
)
def test_list_of_posts_is_believed_only_if_it_is_complete_and_guids_count_first(
    server: FeedServer,
    project: Project,
    wordpress_feed: str,
    links: tuple[str, ...],
    total: str,
    verdict: object,
) -> None:
    posts = [
        {"id": n, "guid": {"rendered": f"{n}"}, "link": link, "modified_gmt": "2003-12-13T18:30:02"}
        for n, link in enumerate(links, 1)
    ]
    header = {"X-WP-Total": total}
    server.serve(LIST, json.dumps(posts), content_type="application/json", headers=header)
    project.crawl(wordpress_feed)
    assert server.asked()[:5] == [*PAGES, LIST]
    assert project.verdict() == verdict


def test_list_of_posts_elsewhere_is_not_requested(
    server: FeedServer, project: Project, wordpress_feed: str
) -> None:
    elsewhere = '<http://127.0.0.2/wp-json/>; rel="https://api.w.org/"'
    server.answers["/feed/?paged=4"].headers["Link"] = elsewhere
    project.crawl(wordpress_feed)
    assert server.asked() == list(PAGES)
    assert project.verdict() == ("lossy", ["paged"])
