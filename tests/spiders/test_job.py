"""A crawl with JOBDIR that is stopped and continued requests each document once."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faketime import clock_at
from tests.feeds import E, atom
from tests.projects import Project, Run
from tests.server import FeedServer
from tests.spiders.test_sitemaps import posts, urlset
from tests.web_archives import archive_of, captures_of

pytestmark = pytest.mark.in_process

NUMBER = 12
Crawl = Callable[..., Run]


@pytest.fixture
def crawl(server: FeedServer, project: Project) -> Crawl:
    for number in range(NUMBER):
        server.serve(
            "/archived" if number == NUMBER - 1 else f"/a{number}",
            atom([E(f"a {number}")], prev=f"/a{number - 1}" if number else None),
        )
        links = {"next": f"/p{number - 1}"} if number else {}
        server.serve(
            "/paged" if number == NUMBER - 1 else f"/p{number}", atom([E(f"p {number}")], links=links)
        )

    def crawled(*paths: str, pages: int = 0, job: bool = True, args: tuple[str, ...] = ()) -> Run:
        settings: dict[str, object] = {"CLOSESPIDER_PAGECOUNT": pages}
        if job:
            settings["JOBDIR"] = project.folder / "job"
        return project.crawl(*map(server.url, paths), settings=settings, args=args)

    return crawled


def times(server: FeedServer) -> set[int]:
    return set(Counter(path for path in server.requests if path != "/robots.txt").values())


@pytest.mark.both_stores
@pytest.mark.parametrize("paths", [("/archived",), ("/paged",), ("/archived", "/paged")], ids=" ".join)
@pytest.mark.parametrize("args", [(), ("-a", "deltafetch_reset=1")], ids=["", "reset"])
def test_each_document_is_requested_once(
    crawl: Crawl, server: FeedServer, project: Project, paths: tuple[str, ...], args: tuple[str, ...]
) -> None:
    runs = [crawl(*paths, pages=3, args=args) for _ in range(3)]
    assert "Resuming crawl" in runs[-1].log
    runs.append(crawl(*paths, args=args))
    assert times(server) == {1}, server.requests
    exported = [item["id"] for run in runs for item in run.items]
    assert sorted(exported) == sorted(f"{path[1]} {n}" for path in paths for n in range(NUMBER))
    assert [feed["entries"] for feed in project.feeds()] == [NUMBER] * len(paths)
    if "/archived" in paths:
        assert runs[-1].stats["fhcrawl/feed/complete"] == 1


def test_feed_of_another_crawl_begins_again(crawl: Crawl, server: FeedServer) -> None:
    """What was queued belongs to an earlier walk."""
    crawl("/archived", pages=5)
    assert crawl("/archived", job=False).stats["fhcrawl/feed/complete"] == 1
    server.requests.clear()
    run = crawl("/archived")
    assert server.requested() == ["/archived"]
    assert run.stats["fhcrawl/feed/complete"] == 1


def test_feed_of_a_new_store_begins_again(crawl: Crawl, server: FeedServer, project: Project) -> None:
    crawl("/archived", pages=5)
    project.scrapy("unsubscribe", "--delete", server.url("/archived"))
    assert not project.feeds()
    run = crawl("/archived")
    assert run.stats["fhcrawl/feed/complete"] == 1
    assert len(run.items) == NUMBER


def _cut(job: Path) -> None:
    for file in job.glob("requests.queue/*/*"):
        file.write_bytes(file.read_bytes()[:7])


def _kill(job: Path) -> None:
    (job / "requests.queue/active.json").unlink()


@pytest.mark.parametrize("damage", [_cut, _kill])
def test_feed_begins_again_if_its_queue_is_lost(
    crawl: Crawl, server: FeedServer, project: Project, damage: Callable[[Path], None]
) -> None:
    crawl("/archived", pages=5)
    server.requests.clear()
    damage(project.folder / "job")
    run = crawl("/archived")
    assert run.exit_code == 0
    assert ("cannot be read" in run.log) is (damage is _cut)
    assert run.stats["fhcrawl/feed/complete"] == 1
    assert 0 < len(run.items) < NUMBER - 1
    assert times(server) == {1}
    assert len(server.requested()) == len(run.items) + 1


ITUNES = 'xmlns:i="http://www.itunes.com/dtds/podcast-1.0.dtd"'
STAGES = {
    "FHCRAWL_SITEMAPS_ENABLED": 1,
    "FHCRAWL_RECHECK": "1,20",
    "CLOSESPIDER_PAGECOUNT": 2,  # with robots.txt
    "CONCURRENT_REQUESTS": 1,
}


def test_crawl_that_is_stopped_in_each_stage_continues(
    server: FeedServer, project: Project, wayback: FeedServer
) -> None:
    feed, archive = server.url("/feed"), archive_of(wayback)
    head = f"<i:new-feed-url {ITUNES}>{server.url('/new')}</i:new-feed-url>"
    first = [E("3", link=server.url("/posts/3/"))]
    server.serve("/feed", atom(first, links={"next": "/p2"}))
    server.serve("/new", atom([E("3")]))
    server.serve("/p2", atom([E("2", link=server.url("/posts/2/"))], links={"next": "/p1"}))
    server.serve("/p1", atom([E("1", link=server.url("/posts/1/"))]))
    server.serve("/sitemap.xml", urlset(server, *posts(1, 2, 3, 4)))
    archive.add("20090101000000", feed, atom([E("0")]))
    with clock_at("2010-01-01T00:00:00"):
        project.crawl(feed)
    server.serve("/feed", atom(first, links={"next": "/p2"}, head=head))
    server.requests.clear()
    settings = {**STAGES, "JOBDIR": project.folder / "job", "FHCRAWL_WEB_ARCHIVE": wayback.url("/web")}
    documents = ["/feed", "/new", "/sitemap.xml", "/p2", "/p1"]
    with clock_at("2010-03-01T00:00:00"):
        runs = [project.crawl(feed, settings=settings) for _ in range(len(documents) + 3)]
    assert [path for path in server.requests if path != "/robots.txt"] == documents
    paths = [path for path in wayback.requested() if path != "/robots.txt"]
    assert len(paths) == len(set(paths)) == 3
    assert captures_of(paths) == ["20090101000000"]
    assert [item["id"] for run in runs for item in run.items] == ["0"]
    assert "/posts/4/" in project.scrapy("feeds", "--missing").stdout
