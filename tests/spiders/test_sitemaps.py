"""Crawls that look at the sitemaps of a feed's site."""

import gzip
import json

import pytest

from fhcrawl.crawling.sitemaps import read_sitemap
from tests.faketime import clock_at
from tests.projects import Project, Run
from tests.server import FeedServer

pytestmark = pytest.mark.in_process
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
POSTS = 12


def urlset(server: FeedServer, *paths: str, inner: str = "") -> str:
    urls = "".join(f"<url><loc> {server.url(path)} </loc>{inner}</url>" for path in paths)
    return f'<?xml version="1.0"?><urlset {NAMESPACE}>{urls}</urlset>'


def index(server: FeedServer, *paths: str) -> str:
    named = "".join(f"<sitemap><loc>{server.url(path)}</loc></sitemap>" for path in paths)
    return f"<sitemapindex {NAMESPACE}>{named}</sitemapindex>"


def posts(*numbers: int) -> list[str]:
    return [f"/posts/{number}/" for number in numbers]


def publish(server: FeedServer, *numbers: int, head: str = "") -> None:
    items = "".join(
        f"<item><title>t</title><guid isPermaLink='false'>{number}</guid>"
        f"<link>{server.url(path)}</link></item>"
        for number, path in zip(numbers, posts(*numbers), strict=True)
    )
    server.serve("/feed", f"<rss version='2.0'><channel><title>T</title>{head}{items}</channel></rss>")


def crawl(project: Project, server: FeedServer, **settings: object) -> Run:
    server.requested()
    return project.crawl(server.url("/feed"), settings={"FHCRAWL_SITEMAPS_ENABLED": 1, **settings})


def missing(project: Project) -> list[str]:
    return project.scrapy("feeds", "--missing").stdout.split()


def test_pages_that_are_not_kept_are_reported(project: Project, server: FeedServer) -> None:
    publish(server, 11, 12)
    server.serve("/sitemap.xml", urlset(server, "/", "/about/", *posts(*range(1, POSTS + 1))))
    crawl(project, server)
    assert server.requested() == ["/feed", "/sitemap.xml"]
    [feed] = project.feeds()
    assert feed["verdict"] == "unknown"
    assert "; its sitemap names 10 more posts: --from-sitemap reads them" in feed["reasons"][0]["detail"]
    assert (feed["sitemap"]["listed"], feed["sitemap"]["kept"]) == (12, 2)
    assert sorted(missing(project)) == sorted(server.url(path) for path in posts(*range(1, 11)))
    [reported] = json.loads(project.scrapy("feeds", "--json", "--missing").stdout)
    assert reported["missing"] == missing(project)
    project.scrapy("report", "-o", "report.html")
    assert server.url("/posts/3/") in (project.folder / "report.html").read_text()


def test_missing_pages_are_urls_of_the_web_in_ascii(project: Project, server: FeedServer) -> None:
    links = (server.url("/posts/1/"), "file:///posts/1/")
    items = "".join(f"<item><title>{link}</title><link>{link}</link></item>" for link in links)
    server.serve("/feed", f"<rss version='2.0'><channel>{items}</channel></rss>")
    others = urlset(server, "/posts/\x7f\u009b31m/", "/posts/é'%7e/", *posts(1))
    others = others.replace("</urlset>", "<url><loc>file:///posts/2/</loc></url></urlset>")
    server.serve("/sitemap.xml", others)
    crawl(project, server)
    expected = [server.url("/posts/%7F%C2%9B31m/"), server.url("/posts/%C3%A9'%7e/")]
    assert sorted(missing(project)) == expected
    [reported] = json.loads(project.scrapy("feeds", "--json", "--missing").stdout)
    assert sorted(reported["missing"]) == expected


def test_robots_txt_names_sitemaps_and_an_index_names_others(project: Project, server: FeedServer) -> None:
    publish(server, 3)
    server.serve("/robots.txt", f"User-agent: *\nDisallow: /x\nSitemap: {server.url('/map.xml')}\n")
    server.serve("/map.xml", "", status=302, headers={"Location": "/index.xml"})
    server.serve("/index.xml", index(server, "/pages.xml", "/news.xml", "/posts.xml.gz"))
    server.serve("/posts.xml.gz", gzip.compress(urlset(server, *posts(1, 2, 3)).encode()))
    server.serve("/pages.xml", urlset(server, *posts(9)))
    crawl(project, server)
    assert server.requested() == ["/feed", "/map.xml", "/index.xml", "/posts.xml.gz", "/pages.xml"]
    assert missing(project) == [server.url(path) for path in posts(1, 2)]


# The list of the last two days' news has other pages, or the same ones.
def test_news_are_no_list(project: Project, server: FeedServer) -> None:
    publish(server, 3)
    news = "<n:news xmlns:n='http://www.google.com/schemas/sitemap-news/0.9'/>"
    server.serve("/sitemap.xml", urlset(server, *posts(2, 3), inner=news))
    crawl(project, server)
    assert project.feeds()[0]["sitemap"]["listed"] == 0


def test_sitemaps_are_read_once_in_thirty_days(project: Project, server: FeedServer) -> None:
    publish(server, 3)
    with clock_at("2004-01-01T00:00:00"):
        crawl(project, server)
    assert "/sitemap.xml" in server.requested()
    assert project.feeds()[0]["sitemap"] == {
        "read": "2004-01-01T00:00:00Z", "listed": 0, "kept": 0, "is_part": False,
    }  # fmt: skip
    with clock_at("2004-01-30T00:00:00"):
        crawl(project, server)
    assert "/sitemap.xml" not in server.requested()
    server.serve("/sitemap.xml", urlset(server, *posts(2, 3)))
    # The feed is unchanged.
    with clock_at("2004-02-01T00:00:00"):
        crawl(project, server)
    assert "/sitemap.xml" in server.requested()
    assert missing(project) == [server.url("/posts/2/")]


COMPLETE = "<complete xmlns='http://purl.org/syndication/history/1.0'/>"


@pytest.mark.parametrize(("head", "enabled"), [(COMPLETE, 1), ("", 0)])
def test_when_sitemaps_are_not_read(project: Project, server: FeedServer, head: str, enabled: int) -> None:
    publish(server, 3, head=head)
    for _ in range(2):
        crawl(project, server, FHCRAWL_SITEMAPS_ENABLED=enabled)
        assert "/sitemap.xml" not in server.requested()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        *((body, 200) for body in ("", "<html><p>No", "<urlset", "no URL", b"\x1f\x8bno gzip")),
        ("", 404),
        ("", 503),
    ],
)
def test_no_sitemap_is_no_fault(project: Project, server: FeedServer, body: str | bytes, status: int) -> None:
    publish(server, 3)
    server.serve("/sitemap.xml", body, status=status)
    run = crawl(project, server)
    assert run.exit_code == 0
    assert all("sitemap" not in warning for warning in run.warnings())
    assert project.verdict() == ("unknown", ["no-history"])


def test_text_file_is_a_sitemap() -> None:
    assert read_sitemap(b"https://example.org/1\r\n\r\nhttps://example.org/2\n") == (
        {"https://example.org/1": "", "https://example.org/2": ""},
        False,
    )


def publish_sections(server: FeedServer, *names: str) -> list[str]:
    """Serve feeds of one site, with an entry each."""
    for number, name in enumerate(names):
        item = (
            f"<item><guid isPermaLink='false'>g</guid><link>{server.url(f'/{name}/{number}/')}</link></item>"
        )
        server.serve(f"/{name}.rss", f"<rss version='2.0'><channel><title>T</title>{item}</channel></rss>")
    return [server.url(f"/{name}.rss") for name in names]


SECTIONS = [f"section{letter}" for letter in "abcdefgh"]


def test_sitemaps_of_a_site_are_requested_once_for_all_of_its_feeds(
    project: Project, server: FeedServer
) -> None:
    feeds = publish_sections(server, *SECTIONS)
    pages = [f"/{name}/{number}/" for name in SECTIONS for number in range(100, 110)]
    own = [f"/{name}/{number}/" for number, name in enumerate(SECTIONS)]
    etag = {"ETag": '"1"'}
    server.serve("/sitemap.xml", index(server, "/map1.xml", "/map2.xml"), headers=etag)
    server.serve("/map1.xml", urlset(server, *own), headers=etag)
    server.serve("/map2.xml", urlset(server, *pages), headers=etag)
    with clock_at("2004-01-01T00:00:00"):
        project.crawl(*feeds, settings={"FHCRAWL_SITEMAPS_ENABLED": 1})
    requested = server.requested()
    assert [path for path in requested if "map" in path] == ["/sitemap.xml", "/map1.xml", "/map2.xml"]
    for feed, section in zip(project.feeds(), SECTIONS, strict=True):
        assert (feed["sitemap"]["listed"], feed["sitemap"]["kept"]) == (11, 1), feed
        assert "its sitemap names 10 more posts" in feed["reasons"][0]["detail"]
        assert project.scrapy("feeds", feed["feed"], "--missing").stdout.split() == [
            server.url(f"/{section}/{number}/") for number in range(100, 110)
        ]
    # A feed that is new in this period is compared with what was read.
    more = publish_sections(server, *SECTIONS, "sectioni")[-1]
    with clock_at("2004-01-20T00:00:00"):
        project.crawl(*feeds, more, settings={"FHCRAWL_SITEMAPS_ENABLED": 1})
    assert "/sitemap.xml" not in server.requested()
    assert [feed["sitemap"]["read"][:10] for feed in project.feeds()] == ["2004-01-01"] * 9
    for path in ("/sitemap.xml", "/map1.xml", "/map2.xml"):
        server.serve(path, "", status=304)
    with clock_at("2004-02-01T00:00:00"):
        project.crawl(*feeds, more, settings={"FHCRAWL_SITEMAPS_ENABLED": 1})
    maps = [
        (path, sent.get("If-None-Match"))
        for path, sent in zip(server.requests, server.headers, strict=True)
        if "map" in path
    ]
    assert maps == [(path, '"1"') for path in ("/sitemap.xml", "/map1.xml", "/map2.xml")]
    assert {feed["sitemap"]["listed"] for feed in project.feeds()[:8]} == {11}


def test_links_to_another_site_request_nothing_there(project: Project, server: FeedServer) -> None:
    links = "".join(f"<item><link>http://victim.example.com/{number}/</link></item>" for number in range(5))
    server.serve("/feed", f"<rss version='2.0'><channel><title>T</title>{links}</channel></rss>")
    run = crawl(project, server)
    assert server.requested() == ["/feed"]
    assert "victim.example.com/sitemap.xml" not in run.log
    # Its links are not read again for thirty days.
    [(report,)] = project.database.rows("SELECT sitemap FROM feeds")
    assert report is not None
    assert project.feeds()[0]["sitemap"] is None


def test_robots_txt_names_no_sitemaps_of_another_host_for_its_feeds(
    project: Project, server: FeedServer
) -> None:
    with type(server)() as other:
        publish(server, 3)
        publish(other, 3)
        named = "".join(f"Sitemap: {server.url(f'/other{number}.xml')}\n" for number in range(5))
        other.serve("/robots.txt", f"{named}Sitemap: http://victim.example.com/sitemap.xml\n")
        server.serve("/sitemap.xml", urlset(server, *posts(2, 3)))
        settings = {"FHCRAWL_SITEMAPS_ENABLED": 1, "CONCURRENT_REQUESTS": 1}
        project.crawl(other.url("/feed"), server.url("/feed"), settings=settings)
        assert "/sitemap.xml" in server.requested()
        assert missing(project) == [server.url("/posts/2/")]


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("seconds", [30, 86_400])
def test_refused_sitemap_is_postponed_as_is_the_feed(
    project: Project, server: FeedServer, status: int, seconds: int
) -> None:
    publish(server, 3)
    server.serve("/sitemap.xml", "", status=status, headers={"Retry-After": str(seconds)})
    with clock_at("2004-01-01T00:00:00"):
        crawl(project, server)
    assert "/sitemap.xml" in server.requested()
    [(retry_after, due)] = project.database.rows("SELECT retry_after, due FROM feeds")
    assert due >= retry_after >= "2004-01-01T00:00:30Z"
    assert project.feeds()[0]["sitemap"] is None
    server.serve("/sitemap.xml", urlset(server, *posts(2, 3)))
    if seconds == 86_400:
        with clock_at("2004-01-01T12:00:00"):
            crawl(project, server)
        assert server.requested() == ["/feed"]
    with clock_at("2004-01-02T00:01:00"):
        crawl(project, server)
    assert "/sitemap.xml" in server.requested()
    assert missing(project) == [server.url("/posts/2/")]
