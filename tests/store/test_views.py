"""The store in the hands of people who open it with SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.feeds import E, atom

if TYPE_CHECKING:
    from tests.projects import Project
    from tests.server import FeedServer

pytestmark = [pytest.mark.in_process, pytest.mark.full_lane("many crawls")]


@pytest.fixture
def crawled(server: FeedServer, project: Project) -> FeedServer:
    """A whole feed that has lost an entry since, one with a gap, and one that says nothing of its past."""
    server.serve("/whole", atom([E("1"), E("2")], head="<fh:complete/>", title="Whole"))
    server.serve("/gap", atom([E("1", "text of 1", title="One")], prev="/gone", title="Gap"))
    server.serve("/plain", atom([E("1")], title="Plain"))
    feeds = [server.url(path) for path in ("/whole", "/gap", "/plain")]
    project.crawl(*feeds)
    server.serve("/whole", atom([E("1")], head="<fh:complete/>", title="Whole"))
    project.crawl(*feeds)
    return server


def query(project: Project, sql: str) -> list[tuple[object, ...]]:
    return project.database.rows(sql)


def test_views_answer_what_one_asks_first(crawled: FeedServer, project: Project) -> None:
    whole, gap, plain = (crawled.url(path) for path in ("/whole", "/gap", "/plain"))
    assert query(project, "SELECT feed, feed_title, id FROM live_entries ORDER BY feed") == [
        (gap, "Gap", "1"),
        (plain, "Plain", "1"),
        (whole, "Whole", "1"),
    ]
    assert query(project, "SELECT title, summary, document FROM live_entries WHERE feed_title = 'Gap'") == [
        ("One", "text of 1", gap)
    ]
    columns = "feed, title, kind, verdict, entries, documents_processed, documents_not_processed"
    assert query(project, f"SELECT {columns} FROM feed_verdicts ORDER BY feed") == [
        (gap, "Gap", "archived", "incomplete", 1, 1, 1),
        (plain, "Plain", "single", "unknown", 1, 1, 0),
        (whole, "Whole", "complete", "complete", 1, 1, 0),
    ]
    assert query(project, "SELECT feed, feed_title, url, kind, detail FROM gaps") == [
        (gap, "Gap", crawled.url("/gone"), "http-404", "is not there (404)")
    ]
    [(since, first, last)] = query(
        project,
        "SELECT gaps.since, first_crawled, last_crawled FROM gaps JOIN feed_verdicts USING (feed)",
    )
    assert str(first) <= str(since) <= str(last)
