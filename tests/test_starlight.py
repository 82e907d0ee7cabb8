"""A blog of starlight-blog, built anew with each change: all that its author does is found.

Its documents have no times, and its archives are written anew at each build.
"""

from collections.abc import Iterator
from datetime import date, timedelta

import pytest

from tests.faketime import clock
from tests.projects import Project, Run
from tests.server import FeedServer
from tests.starlight import Site, new_site

POSTS, ARCHIVES = 130, 26
BEGIN = date(2027, 1, 1)
# FHCRAWL_RECHECK: each archive once in 30 days, at most 20 in a run.
DAYS, MOST = 30, 20
WEEKS = DAYS // 7 + 1


@pytest.fixture
def site(server: FeedServer) -> Iterator[Site]:
    with new_site(server) as site:
        yield site


# Three builds of a site take a while.
@pytest.mark.timeout(900)
@pytest.mark.any_store("a real publisher; tests/spiders/test_rechecks.py runs on both")
def test_everything_that_the_author_of_a_static_site_does_is_found(
    site: Site, server: FeedServer, project: Project
) -> None:

    def crawl(day: int, *args: str) -> Run:
        return project.crawl(site.feed, args=args, **clock(f"{BEGIN + timedelta(day)} 00:00:00"))

    for number in range(POSTS):
        site.write_nth(number)
    assert len(site.build()) == 1 + ARCHIVES
    assert len(crawl(0).changes) == POSTS
    assert len(set(server.requested())) > ARCHIVES

    new = site.write_nth(POSTS)
    recent, old = site.write_nth(POSTS - 3, "Edited."), site.write_nth(40, "Edited.")
    site.write("backdated", "Found in a drawer.", date(2024, 6, 1))
    deleted = site.remove(70)
    site.build()
    assert crawl(1).changes == {new: "new", recent: "updated"}
    assert server.requested() == ["/blog/rss.xml"]
    found: dict[str, str] = {}
    for week in range(1, WEEKS + 1):
        found |= crawl(1 + 7 * week).changes
        assert 1 < len(set(server.requested())) <= 1 + MOST
    assert found == {old: "updated", site.url("backdated"): "new"}
    [feed] = project.feeds()
    assert (feed["verdict"], feed["reasons"]) == ("complete", [])
    assert feed["checked"] >= f"{BEGIN + timedelta(1)}"

    # All archives are seen once more before the deletion is believed.
    last = 1 + 7 * WEEKS
    while not project.feeds()[0]["absent"]:
        last += 7
        assert last <= 2 * DAYS
        assert crawl(last).changes == {}
    site.build()
    assert crawl(last + 1, "-s", "FHCRAWL_DELETE_ABSENT=1").changes == {deleted: "deleted"}
    assert project.feeds()[0]["entries"] == POSTS + 1
