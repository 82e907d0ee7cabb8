"""An older document whose URL the user gives, because the links do not lead to it (`--archive`)."""

import pytest

from tests.feeds import E, atom
from tests.projects import Project, Run
from tests.server import FeedServer

pytestmark = pytest.mark.in_process

OLD = "2001-01-01T00:00:00Z"


@pytest.fixture
def gap(server: FeedServer) -> FeedServer:
    """A feed whose archive 3 is missing, so that nothing leads to archives 2 and 1."""
    server.serve("/feed", atom([E("5", "new", updated=None)], prev="/4"))
    server.serve("/4", atom([E("4")], prev="/3"))
    server.serve("/2", atom([E("2"), E("5", "old", updated=None)], prev="/1", updated=OLD))
    server.serve("/1", atom([E("1")]))
    return server


def crawl(server: FeedServer, project: Project, archive: str | None = None) -> Run:
    server.requested()
    given = () if archive is None else ("-a", f"archive={server.url(archive)}")
    return project.crawl(server.url("/feed"), args=given)


def test_given_archive_and_those_behind_it_are_read_and_the_gap_stays(
    gap: FeedServer, project: Project
) -> None:
    assert crawl(gap, project).changes == {"5": "new", "4": "new"}
    given = crawl(gap, project, "/2")
    assert given.changes == {"2": "new", "1": "new"}
    assert project.logical_feed()["5"]["summary"] == "new"
    for _ in range(2):
        [feed] = project.feeds()
        assert feed["verdict"] == "incomplete"
        assert [(reason["kind"], reason["url"]) for reason in feed["reasons"]] == [
            ("http-404", gap.url("/3"))
        ]
        assert (feed["entries"], feed["absent"]) == (4, 0)
        assert crawl(gap, project).changes == {}
    # The chain is closed.
    gap.serve("/3", atom([E("3")], prev="/2"))
    closed = crawl(gap, project)
    assert closed.changes == {"3": "new"}
    assert project.verdict() == ("complete", [])
    # The archive may have grown meanwhile, which a conditional request finds out.
    assert sorted({*gap.requested()}) == ["/2", "/3", "/feed"]


def test_given_again_it_continues_where_it_stopped(gap: FeedServer, project: Project) -> None:
    gap.serve("/1", "", status=404)
    assert crawl(gap, project, "/2").changes == {"5": "new", "4": "new", "2": "new"}
    gap.serve("/1", atom([E("1")]))
    assert crawl(gap, project, "/2").changes == {"1": "new"}
    assert project.verdict() == ("incomplete", ["http-404"])


def test_archive_of_the_chain_is_requested_once(gap: FeedServer, project: Project) -> None:
    assert crawl(gap, project, "/4").changes == {"5": "new", "4": "new"}
    assert gap.requested().count("/4") == 1


def test_page_of_the_chain_is_left_to_the_walk(server: FeedServer, project: Project) -> None:
    server.serve("/feed", atom([E("2")], links={"next": "/1"}))
    server.serve("/1", atom([E("1")]))
    for requested in (["/feed", "/1"], ["/feed"]):
        crawl(server, project, "/1")
        assert [path for path in server.requested() if path != "/robots.txt"] == requested


@pytest.mark.parametrize("why", ["robots.txt", "404"])
def test_archive_that_cannot_be_read_is_reported(gap: FeedServer, project: Project, why: str) -> None:
    if why == "404":
        gap.serve("/2", "", status=404)
    else:
        gap.serve("/robots.txt", "User-agent: *\nDisallow: /2", content_type="text/plain")
    run = crawl(gap, project, "/2")
    assert run.changes == {"5": "new", "4": "new"}
    assert ("/2" in gap.requested()) == (why == "404")
    assert [line for line in run.warnings() if f"WARNING: {gap.url('/2')} " in line and why in line]
    assert project.verdict() == ("incomplete", ["http-404"])


def test_archive_of_a_feed_that_was_never_read_is_not_requested(server: FeedServer, project: Project) -> None:
    server.serve("/2", atom([E("2")]))
    run = crawl(server, project, "/2")
    assert "/2" not in server.requested()
    assert run.changes == {}
    assert [feed["entries"] for feed in project.feeds()] in ([], [0])


@pytest.mark.parametrize(
    ("feeds", "archive"),
    [
        ((), "/2"),
        (("/feed", "/2"), "/1"),
        (("/feed",), "/feed"),
    ],
)
def test_wrong_combination_is_a_sentence(
    gap: FeedServer, project: Project, feeds: tuple[str, ...], archive: str
) -> None:
    done = project.scrapy("crawl", "history", *map(gap.url, feeds), "--archive", gap.url(archive))
    sentence = "An archive is an older document of one feed; use fhcrawl crawl FEED --archive URL"
    assert (done.returncode, done.stderr.strip().endswith(sentence)) == (2, True)
    assert gap.requested() == []
