"""Feeds that could never be read: what is said of them, and what stays of them."""

from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer

QUICK = {"RETRY_TIMES": 0, "ROBOTSTXT_OBEY": 0}
UNREACHABLE = ("unknown", "not-read")


def rows(project: Project) -> list[int]:
    """The number of rows in the tables that know of feeds."""
    return [project.database.rows(f"SELECT count(*) FROM {name}")[0][0] for name in ("feeds", "documents")]


def test_feed_that_could_never_be_read_is_not_read(server: FeedServer, project: Project) -> None:
    server.serve("/page", "<!DOCTYPE html><html><body>parked</body></html>", content_type="text/html")
    kinds = {
        server.url("/gone"): "http-404",
        server.url("/page"): "html",
        "http://127.0.0.1:9/feed": "connection-refused",
    }
    project.scrapy("subscribe", *kinds)
    run = project.crawl(*kinds, settings=QUICK)
    # Exit code 1, since nothing of what was given could be read.
    assert (run.exit_code, run.stats["fhcrawl/feed/unknown"]) == (1, 3)
    for feed in project.feeds():
        first, cause = feed["reasons"]
        assert (feed["verdict"], first["kind"]) == UNREACHABLE
        assert (first["url"], first["detail"]) == (feed["feed"], "has never been read")
        assert cause["kind"] == kinds[feed["feed"]]
        assert f"{feed['feed']}: not read, entries: 0; {feed['feed']} has never been read; " in run.log
    assert "3 feeds: 3 not read" in run.log
    assert "What to do: check in a browser whether there is a feed at this URL" in run.log
    # Most are not subscribed: to them, `unsubscribe` would answer with an error.
    assert "remove a subscription to the wrong one with `fhcrawl unsubscribe`" in run.log
    assert "3 feeds: 3 not read" in project.scrapy("feeds").stdout
    # In the view of gaps, the cause counts alone.
    assert len(project.database.rows("SELECT kind FROM gaps")) == 3


def test_feed_that_could_never_be_read_leaves_nothing_behind(server: FeedServer, project: Project) -> None:
    server.serve("/one", atom([E("1")]))
    feeds = [server.url("/gone"), server.url("/one"), server.url("/gone2")]
    run = project.crawl(*feeds, settings=QUICK)
    assert (run.exit_code, run.stats["fhcrawl/feed/unknown"]) == (0, 3)
    assert rows(project) == [1, 1]
    assert [feed["feed"] for feed in project.feeds()] == [server.url("/one")]
    # Nothing stands in the way of reading it later.
    server.serve("/gone", atom([E("2")], head="<fh:complete/>"))
    assert project.crawl(server.url("/gone")).changes == {"2": "new"}


def test_feed_that_is_done_early_leaves_nothing_behind(server: FeedServer, project: Project) -> None:
    """While another feed is being read, the one that is done is released."""
    seen: list[list[int]] = []
    server.serve("/one", atom([E("1")], prev="/a1"))
    server.serve("/a1", atom([E("0")]), delay=4)
    server.on_request = lambda path: seen.append(rows(project)) if path == "/a1" else None
    project.crawl(
        server.url("/gone"), server.url("/one"), settings={**QUICK, "CONCURRENT_REQUESTS_PER_DOMAIN": 2}
    )
    assert seen
    assert rows(project) == [1, 2]


def test_run_with_due_remembers_when_to_ask_again(server: FeedServer, project: Project) -> None:
    (project.folder / "feeds.txt").write_text(server.url("/gone"))
    args = ("-a", "feeds=feeds.txt", "-a", "due=1")
    project.crawl(args=args, settings=QUICK)
    assert project.verdict() == ("unknown", ["not-read", "http-404"])
    server.asked()
    project.crawl(args=args, settings=QUICK)
    assert server.asked() == []
