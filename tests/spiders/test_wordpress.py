"""Crawls of a real WordPress, whose pages no link names."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from w3lib.url import url_query_cleaner

if TYPE_CHECKING:
    from tests.projects import Project
    from tests.wordpress_server import WordPress

ON = {"FHCRAWL_WORDPRESS_ENABLED": 1}
NO_HISTORY = ("unknown", ["no-history"])
PAGED = ("lossy", ["paged"])
NEWS = 2
# Of each feed: requests of the first run, entries, and what is said of it. WordPress shows ten at a time, and
# one more request finds the end.
FEEDS = {
    "/?feed=rss2": (13, 120, PAGED),
    "/?feed=atom": (13, 120, PAGED),
    f"/?feed=rss2&cat={NEWS}": (4, 30, PAGED),
    f"/?feed=rdf&cat={NEWS}": (4, 30, PAGED),
    "/?feed=rss2&s=Text+77": (2, 1, NO_HISTORY),
    "/?feed=comments-rss2": (2, 10, NO_HISTORY),
    "/?feed=comments-atom": (2, 10, NO_HISTORY),
    "/?feed=rss2&p=1": (2, 10, NO_HISTORY),
    "/?feed=rss2&cat=999": (2, 0, NO_HISTORY),
}
# A 404 whose body is a feed without entries.
MISSING = "/?feed=rss2&author=1&paged=99"


def asked(wordpress: WordPress) -> Counter[str]:
    """How often each feed was asked for, with its pages."""
    return Counter(url_query_cleaner(path, ("paged",), remove=True) for path in wordpress.requests())


def test_feeds_of_each_kind_are_walked_to_the_end_and_no_farther(
    wordpress: WordPress, project: Project
) -> None:
    wordpress.post(1, 90)
    wordpress.post(91, 120, NEWS)
    wordpress.comment(12)
    wordpress.requests()
    missing = url_query_cleaner(MISSING, ("paged",), remove=True)
    feeds = [wordpress.url(path) for path in (*FEEDS, MISSING)]
    run = project.crawl(*feeds, settings=ON)
    assert asked(wordpress) == {"/robots.txt": 1, missing: 1} | {path: n for path, (n, _, _) in FEEDS.items()}
    assert run.all_stats["finish_reason"] == "finished"
    run = project.crawl(*feeds, settings=ON)
    assert asked(wordpress) == {"/robots.txt": 1, missing: 1} | dict.fromkeys(FEEDS, 1)
    assert not run.items
    found = {
        feed["feed"]: (feed["entries"], (feed["verdict"], [reason["kind"] for reason in feed["reasons"]]))
        for feed in project.feeds()
    }
    # What was never read leaves nothing behind.
    assert found == {wordpress.url(path): (entries, said) for path, (_, entries, said) in FEEDS.items()}


def test_later_run_asks_for_what_is_new(wordpress: WordPress, project: Project) -> None:
    wordpress.post(1, 25)
    wordpress.use_permalinks()
    wordpress.requests()
    feed = wordpress.url("/feed/")
    run = project.crawl(feed, settings=ON)
    pages = [f"/feed/?paged={number}" for number in (2, 3, 4)]
    assert wordpress.requests() == ["/robots.txt", "/feed/", *pages]
    assert len(run.changes) == 25
    # One entry of each page moves to the next one.
    wordpress.post(26, 26)
    wordpress.requests()
    run = project.crawl(feed, settings=ON)
    assert wordpress.requests() == ["/robots.txt", "/feed/", "/feed/?paged=2"]
    assert list(run.changes.values()) == ["new"]
    # Another document, with the same entries.
    wordpress.run("update_option('blogname', 'Another title'); wp_update_post(['ID' => 1]);")
    run = project.crawl(feed, settings=ON)
    assert wordpress.requests() == ["/robots.txt", "/feed/"]
    assert not run.items
    assert project.verdict() == PAGED
