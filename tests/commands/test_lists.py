"""Lists of feeds with lines that cannot be used, and the titles that lists give."""

import pytest

from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer

pytestmark = pytest.mark.in_process


@pytest.fixture
def bad(server: FeedServer, project: Project) -> str:
    server.serve("/a", atom([E("1")], title="Own title"))
    host = server.url("/b").removeprefix("http://")
    (project.folder / "list.opml").write_text(
        f"""<opml><body><outline text="Mine" xmlUrl="{server.url("/a")}"/>
        <outline text="Other" xmlUrl="{server.url("/b")}" htmlUrl="https://example.org/?a=1&b=2"/>
        <outline text="Secret" xmlUrl="http://ann:s3cret@{host}"/>
        <outline text="Odd" xmlUrl="gopher://example.org/"/></body></opml>"""
    )
    return "list.opml"


def named(log: str) -> list[str]:
    assert "s3cret" not in log
    return [place for place in ("line 1", "line 2", "line 3 (Secret)", "line 4 (Odd)") if place in log]


def test_feeds_of_a_list_are_subscribed_but_for_those_that_are_named(bad: str, project: Project) -> None:
    done = project.scrapy("subscribe", bad)
    assert (done.returncode, named(done.stderr)) == (1, ["line 3 (Secret)", "line 4 (Odd)"])
    assert len(done.stderr.splitlines()) == 2
    assert done.stdout == "Newly subscribed: 2; already subscribed: 0; invalid: 2\n"
    assert [feed["title"] for feed in project.feeds()] == ["Mine", "Other"]
    project.crawl()
    assert [feed["title"] for feed in project.feeds()] == ["Own title", "Other"]


def test_feeds_of_a_list_are_crawled_but_for_those_that_are_named(
    bad: str, server: FeedServer, project: Project
) -> None:
    server.serve("/b", atom([E("2")], title=""))
    run = project.crawl(args=("-a", f"feeds={bad}"))
    assert (run.exit_code, run.stats["fhcrawl/feed/refused"]) == (1, 2)
    assert named(run.log) == ["line 3 (Secret)", "line 4 (Odd)"]
    assert "The list of feeds has invalid lines" in run.log
    assert set(run.changes) == {"1", "2"}
    # A feed without a title keeps that of the list.
    assert [feed["title"] for feed in project.feeds()] == ["Own title", "Other"]


def test_list_without_a_feed_is_refused(project: Project) -> None:
    (project.folder / "list.txt").write_text("# nothing\n")
    done = project.scrapy("subscribe", "list.txt")
    assert (done.returncode, "There are no feeds in list.txt" in done.stderr) == (2, True)
