"""Crawls of multipart feeds, and of WordPress without links to its pages."""

import pytest

from tests.faketime import clock_at
from tests.feeds import rss
from tests.projects import Project
from tests.server import FeedServer
from tests.spiders.test_wordpress import LIST, api_link, serve_list
from tests.spiders.walks import Play, scripts

pytestmark = pytest.mark.in_process


TYPE = 'multipart/package; boundary="<b>"'


def multipart(*entities: tuple[str, str, str, str]) -> bytes:
    """A page of (Content-ID, day of October 2023, operation, body) entities."""
    parts = [
        f"--<b>\r\nContent-Type: text/plain\r\nContent-ID: <{i}>\r\n"
        f"Last-Modified: Thu, {day} Oct 2023 03:00:13 GMT\r\nOperation-Type: http-equiv={operation}\r\n"
        f"Content-Length: 999\r\n\r\n{body}\r\n"
        for i, day, operation, body in entities
    ]
    return ("".join(parts) + "--<b>--\r\n").encode()


@pytest.mark.real_crawl
@pytest.mark.quick
def test_pages_are_walked_back_and_events_kept(server: FeedServer, project: Project) -> None:
    dated = {"Last-Modified": "Thu, 5 Oct 2023 03:00:13 GMT"}
    newest = multipart(("c@x", "5", "DELETE", "gone"), ("b@x", "5", "PUT", "again"))
    server.serve("/new", newest, content_type=TYPE, headers={"Link": "</old>; rel=prev", **dated})
    oldest = multipart(("a@x", "1", "PUT", "first"), ("b@x", "2", "PUT", "second"))
    server.serve("/old", oldest, content_type=TYPE, headers={"Link": "</new>; rel=next", **dated})
    run = project.crawl(server.url("/new"))
    assert {item["id"]: (item["operation"], item["content"]) for item in run.items} == {
        "a@x": ("PUT", "first"),
        "b@x": ("PUT", "again"),
        "c@x": ("DELETE", "gone"),
    }
    assert {item["updated"] for item in run.items} == {"2023-10-01T03:00:13Z", "2023-10-05T03:00:13Z"}
    assert project.verdict() == ("complete", [])
    server.requested()
    project.crawl(server.url("/new"))
    assert server.requested() == ["/new"]


CHAIN = """
    events /4 7 8 prev:/3; events /3 5 6 prev:/2 next:/4; events /2 3 4 prev:/1 next:/3
    events /1 1 2 next:/2"""
MULTIPART = {
    "a sealed page leads to the newest": f"""
        {CHAIN}; crawl /1; requests /1 /2 /3 /4 /3 /2 /1; exports e1 e2 e3 e4 e5 e6 e7 e8; warns 0
        verdict complete""",
    # RFC 9110, 8.8.1: an ETag is of the body, which Link headers do not change.
    "a newest page that is sealed later leads on though its body is the same": f"""
        {CHAIN}; events /4 7 8 prev:/3 TAG; crawl /4; events /4 7 8 prev:/3 next:/5 TAG; events /5 9 prev:/4
        crawl; requests /4 /5 /4; exports e9; verdict complete""",
    "sealed pages in a circle end the search": """
        events /1 1 next:/2; events /2 2 next:/3; events /3 3 next:/4; events /4 4 next:/2; crawl /1
        requests /1 /2 /3 /4 /2 /3 /4; verdict incomplete no-current""",
    "neighbours that disagree are reported": f"""
        {CHAIN}; events /3 5 6 self:/3b prev:/2 next:/elsewhere; events /2 3 4 prev:/1; crawl /4; warns 2
        logs WARNING: /3: it links to /elsewhere as the newer page, but /4 links to it (and 1 more)
        logs WARNING: /2: it does not link back to the newer page that links to it
        stat fhcrawl/neighbour/disagrees 3; exports e1 e2 e3 e4 e5 e6 e7 e8; verdict complete""",
    "the newest page may be polled at another URL": f"""
        {CHAIN}; events /feed 7 8 self:/4 prev:/3; crawl /feed; warns 0
        events /other 7 8 self: prev:/3; crawl /other; warns 0""",
    "a Last-Modified that goes back is reported": f"""
        {CHAIN}; events /3 5 9 prev:/2 next:/4; crawl /4; warns 1; stat fhcrawl/neighbour/backwards 2
        logs WARNING: /3: Last-Modified goes backwards: 2023-11-09T12:00:00Z, but 2023-11-08T12:00:00Z
        logs 2023-11-08T12:00:00Z on the newer page (and 1 more)""",
    "a page behind a skipped one is not compared": f"""
        {CHAIN}; gone /1; crawl /4; events /1 1 2 next:/2; events /4 7 8 9 prev:/3; crawl; warns 0
        requests /4 /1; verdict complete""",
}


@scripts(MULTIPART, TAG=("", "no-etag"))
def test_multipart(play: Play, script: str) -> None:
    play(script)


PAGES = ["/feed/", *(f"/feed/?paged={number}" for number in (2, 3, 4))]


@pytest.fixture
def wordpress_feed(play: Play, server: FeedServer) -> str:
    """What a real WordPress hardly answers; test_wordpress.py has one."""
    play("/feed/ 3 rss wordpress; /feed/?paged=2 2 rss wordpress; /feed/?paged=3 1 rss wordpress")
    # As WordPress answers behind its last page.
    server.serve("/feed/?paged=4", rss([]), status=404, headers=api_link(server))
    return server.url("/feed/")


@pytest.mark.real_crawl
@pytest.mark.quick
@pytest.mark.usefixtures("wordpress_feed")
def test_pages_are_walked_until_there_is_none(play: Play) -> None:
    play(f"crawl /feed/; requests {' '.join(PAGES)} {LIST}; exports 1 2 3; verdict unknown paged")
    play("crawl; requests /feed/")


@pytest.mark.parametrize(
    ("links", "total", "verdict"),
    [
        ("123", 3, ("complete", [])),
        ("123", 100000000, ("unknown", ["paged"])),
        # The address of the post with the guid 3 has changed; a post that no page shows has it now.
        (("http://x/1", "http://x/2", "http://x/3", "3"), 4, ("lossy", ["paged"])),
    ],
)
def test_list_of_posts_is_believed_only_if_it_is_complete_and_guids_count_first(
    server: FeedServer,
    project: Project,
    wordpress_feed: str,
    links: tuple[str, ...],
    total: int,
    verdict: object,
) -> None:
    serve_list(server, "1234"[: len(links)], links, total=total)
    project.crawl(wordpress_feed)
    assert server.requested()[:5] == [*PAGES, LIST]
    assert project.verdict() == verdict


@pytest.mark.usefixtures("wordpress_feed")
def test_deleted_post_becomes_absent_though_the_list_proves_the_others(
    play: Play, server: FeedServer
) -> None:
    play("/feed/ 6 5 rss wordpress; /feed/?paged=2 4 3 rss wordpress; /feed/?paged=3 2 1 rss wordpress")
    serve_list(server, "123456", "123456", total=6)
    play("days; confirm; crawl /feed/; verdict complete")
    play("/feed/?paged=2 3 2 rss wordpress; /feed/?paged=3 1 rss wordpress")
    serve_list(server, "12356", "12356", total=5)
    play("; ".join(["crawl FHCRAWL_RECHECK=1,1"] * 3))
    play("absent 4; verdict complete; has 1 2 3 4 5 6")


def test_refused_list_is_requested_again_after_the_pause(
    server: FeedServer, project: Project, wordpress_feed: str
) -> None:
    server.serve(LIST, b"", status=429, headers={"Retry-After": "7200"})
    project.crawl(wordpress_feed, settings={"RETRY_ENABLED": 0})
    assert server.requested() == [*PAGES, LIST]
    project.crawl(wordpress_feed)
    assert LIST not in server.requested()
    with clock_at("2100-01-01T00:00:00"):
        project.crawl(wordpress_feed, settings={"RETRY_ENABLED": 0})
    assert LIST in server.requested()


def test_list_elsewhere_is_not_requested(server: FeedServer, project: Project, wordpress_feed: str) -> None:
    elsewhere = '<http://127.0.0.2/wp-json/>; rel="https://api.w.org/"'
    server.answers["/feed/?paged=4"].headers["Link"] = elsewhere
    project.crawl(wordpress_feed)
    assert server.requested() == PAGES
    assert project.verdict() == ("unknown", ["paged"])
