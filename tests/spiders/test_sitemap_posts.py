"""Crawls that read the posts that only a sitemap names (FHCRAWL_SITEMAP_POSTS)."""

import importlib.util

import pytest

from tests.faketime import clock_at
from tests.projects import Project, Run
from tests.server import FeedServer
from tests.spiders.test_sitemaps import NAMESPACE, posts, publish

pytestmark = [pytest.mark.in_process, pytest.mark.slow("needs trafilatura")]
TEXT = "A paragraph of the post, which is long enough for anybody to see that it is the text of an article. "


def page(server: FeedServer, number: int, *, head: str = "", canonical: str | None = None) -> str:
    return f"""<!doctype html><html><head><title>Post {number}</title>
        <link rel="canonical" href="{canonical or server.url(f"/posts/{number}/")}">
        <meta property="article:published_time" content="2003-01-{number:02}T12:00:00+01:00">
        <meta property="article:modified_time" content="2003-02-{number:02}T12:00:00+01:00">
        <meta name="author" content="Ann Bee"><meta name="description" content="About {number}">
        <meta property="article:tag" content="life">{head}</head>
        <body><article><h1>Post {number}</h1><p>{number}: {TEXT}</p><p>{TEXT}</p></article></body></html>"""


def urlset(server: FeedServer, lastmods: dict[int, str]) -> str:
    urls = "".join(
        f"<url><loc>{server.url(f'/posts/{number}/')}</loc><lastmod>{lastmod}</lastmod></url>"
        for number, lastmod in lastmods.items()
    )
    return f'<?xml version="1.0"?><urlset {NAMESPACE}>{urls}</urlset>'


def serve(server: FeedServer, *numbers: int, shown: tuple[int, ...] = (8, 9)) -> None:
    publish(server, *shown)
    server.serve("/sitemap.xml", urlset(server, {n: f"2003-01-{n:02}" for n in (*numbers, *shown)}))
    for number in (*numbers, *shown):
        server.serve(f"/posts/{number}/", page(server, number), content_type="text/html; charset=utf-8")


def crawl(project: Project, server: FeedServer, limit: int = 1000, **settings: object) -> Run:
    server.requested()
    settings = {"FHCRAWL_SITEMAPS_ENABLED": 1, "FHCRAWL_SITEMAP_POSTS": limit, **settings}
    return project.crawl(server.url("/feed"), settings=settings)


def read(server: FeedServer) -> list[str]:
    return [path for path in server.requested() if path.startswith("/posts/")]


def test_page_becomes_an_entry(project: Project, server: FeedServer) -> None:
    serve(server, 1)
    run = crawl(project, server)
    [entry] = [item for item in run.items if item["id"] == server.url("/posts/1/")]
    content = entry.pop("content")
    assert content.count("A paragraph") == 2
    assert "<p>" in content
    expected = {
        "link": server.url("/posts/1/"),
        "document": server.url("/posts/1/"),
        "title": "Post 1",
        "published": "2003-01-01T11:00:00Z",
        "updated": "2003-02-01T11:00:00Z",
        "authors": ["Ann Bee"],
        "categories": ["life"],
        "summary": "About 1",
        "content_type": "html",
    }
    assert {name: entry[name] for name in expected} == expected
    [feed] = project.feeds()
    assert feed["entries"] == 3
    assert (feed["sitemap"]["listed"], feed["sitemap"]["kept"]) == (3, 3)
    assert project.verdict() == ("unknown", ["no-history"])
    assert "its sitemap names no other post" in feed["reasons"][0]["detail"]
    assert not project.scrapy("feeds", "--missing").stdout
    crawl(project, server)
    assert read(server) == []


def test_next_crawl_reads_the_rest_newest_first(project: Project, server: FeedServer) -> None:
    serve(server, 3, 1, 5, 2, 4)
    crawl(project, server, 2)
    assert read(server) == posts(5, 4)
    assert "names 3 more posts: --from-sitemap reads them" in project.feeds()[0]["reasons"][0]["detail"]
    crawl(project, server, 2)
    assert read(server) == posts(3, 2)
    crawl(project, server, 0)
    assert read(server) == []
    crawl(project, server, 2)
    assert read(server) == posts(1)


def test_page_that_is_no_post_is_requested_once(project: Project, server: FeedServer) -> None:
    serve(server, 1, 2, 3, 4)
    server.serve("/posts/2/", "<html><body><p>Hello</p></body></html>", content_type="text/html")
    server.serve("/posts/3/", "", status=404)
    server.serve("/posts/4/", "", status=503)
    crawl(project, server)
    assert read(server) == posts(4, 3, 2, 1)
    [feed] = project.feeds()
    assert (feed["entries"], feed["sitemap"]["listed"], feed["sitemap"]["kept"]) == (3, 4, 3)
    assert project.verdict() == ("unknown", ["no-history"])
    crawl(project, server)
    assert read(server) == posts(4)


def test_changed_lastmod_requests_a_page_again_conditionally(project: Project, server: FeedServer) -> None:
    serve(server, 1, 2, 3)
    for number in (1, 2):
        server.serve(
            f"/posts/{number}/", page(server, number), content_type="text/html", headers={"ETag": '"1"'}
        )
    with clock_at("2004-01-01T00:00:00"):
        crawl(project, server)
    assert read(server) == posts(3, 2, 1)
    lastmods = {1: "2003-06-01", 2: "2003-06-02", 3: "2003-01-03", 8: "2003-06-08", 9: "2003-06-09"}
    server.serve("/sitemap.xml", urlset(server, lastmods))
    server.serve("/posts/1/", page(server, 1).replace("About 1", "Edited"), content_type="text/html")
    server.serve("/posts/2/", "", status=304)
    server.headers.clear()
    server.requests.clear()
    with clock_at("2004-03-01T00:00:00"):
        run = crawl(project, server)
    sent = {
        path: headers.get("If-None-Match")
        for path, headers in zip(server.requests, server.headers, strict=True)
        if "posts" in path
    }
    assert sent == {"/posts/2/": '"1"', "/posts/1/": '"1"'}
    assert [(item["id"], item["summary"]) for item in run.items] == [(server.url("/posts/1/"), "Edited")]
    with clock_at("2004-03-02T00:00:00"):
        crawl(project, server)
    assert read(server) == []


@pytest.mark.both_stores
def test_feed_that_shows_the_entry_replaces_it(project: Project, server: FeedServer) -> None:
    serve(server, 1, 2)
    crawl(project, server)
    publish(server, 1, 8, 9)
    run = crawl(project, server)
    changes = [(item["id"], item["change"]) for item in run.items]
    assert sorted(changes) == [("1", "new"), (server.url("/posts/1/"), "deleted")]
    publish(server, 1, 7, 8, 9)
    run = crawl(project, server)
    assert [(item["id"], item["change"]) for item in run.items] == [("7", "new")]
    assert {*project.logical_feed()} == {"1", "7", "8", "9", server.url("/posts/2/")}
    assert project.feeds()[0]["renamed"] == 0
    assert read(server) == []


def test_version_of_the_feed_is_newer(project: Project, server: FeedServer) -> None:
    """A feed whose ids are links shows the entry, with no time, or an older one."""
    serve(server, 1, 2)
    crawl(project, server)
    shown = "".join(
        f"<item><title>Of the feed</title><link>{server.url(path)}</link></item>" for path in posts(1, 2)
    )
    server.serve("/feed", f"<rss version='2.0'><channel><title>T</title>{shown}</channel></rss>")
    run = crawl(project, server)
    assert {(item["title"], item["change"]) for item in run.items} == {("Of the feed", "updated")}
    assert len(run.items) == 2


def test_page_of_a_known_entry_at_another_url(project: Project, server: FeedServer) -> None:
    serve(server, 1)
    body = page(server, 1, canonical=server.url("/posts/9/"))
    server.serve("/posts/1/", body, content_type="text/html")
    run = crawl(project, server)
    assert {item["id"] for item in run.items} == {"8", "9"}


def test_robots_txt_is_obeyed(project: Project, server: FeedServer) -> None:
    serve(server, 1, 2)
    server.serve("/robots.txt", "User-agent: *\nDisallow: /posts/2/\n")
    crawl(project, server)
    assert read(server) == posts(1)


def test_stopped_crawl_continues(project: Project, server: FeedServer) -> None:
    serve(server, 1, 2, 3, 4)
    settings = {"JOBDIR": project.folder / "job", "CLOSESPIDER_PAGECOUNT": 2, "CONCURRENT_REQUESTS": 1}
    items, paths = [], []
    for _ in range(12):
        items += [item["id"] for item in crawl(project, server, 3, **settings).items]
        paths += read(server)
        if len(paths) == 3:
            break
    assert paths == posts(4, 3, 2)
    assert len(items) == len(set(items)) == 5


def test_missing_extra_is_a_sentence(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "fhcrawl.commands.crawl.find_spec", lambda name: None if name == "trafilatura" else find(name)
    )
    done = project.scrapy("crawl", "history", "http://localhost/feed", "--from-sitemap")
    assert done.returncode == 2
    assert (
        "requires trafilatura: run pip install 'fhcrawl[posts]', or with pipx: pipx inject fhcrawl trafil"
        in done.stderr
    )
