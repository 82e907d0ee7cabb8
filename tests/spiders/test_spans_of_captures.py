"""What captures of a feed cover, and how few of them are read for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.feeds import E, atom
from tests.web_archives import archive_of, captures_of, crawl

if TYPE_CHECKING:
    from tests.projects import Project
    from tests.server import FeedServer

pytestmark = pytest.mark.in_process
SHOWN, LAST = 10, 90


def day(number: int, time: str) -> str:
    month, of_month = divmod(number, 28)
    return f"2009-{month + 1:02}-{of_month + 1:02}T{time}Z"


def document(newest: int) -> str:
    """With the entries of the last days, of one a day."""
    return atom(
        [E(str(number), updated=day(number, "00:00:00")) for number in range(newest, newest - SHOWN, -1)]
    )


def serve(archive: FeedServer, feed: str, days: range) -> None:
    for number in days:
        stamp = "".join(filter(str.isdigit, day(number, "12:00:00")))
        archive_of(archive).add(stamp, feed, document(number))


def test_captures_join_the_reads_of_the_feed(
    server: FeedServer, project: Project, wayback: FeedServer
) -> None:
    feed = server.url("/feed")
    server.serve("/feed", document(LAST))
    serve(wayback, feed, range(SHOWN, LAST))
    run = crawl(project, wayback, feed)
    assert set(run.changes) == {str(number) for number in range(1, LAST + 1)}
    # Each ninth one would do.
    assert len(captures_of(wayback.asked())) <= (LAST - SHOWN) / 9 * 1.3
    [known] = project.feeds()
    assert known["verdict"] == "unknown"
    assert [span["since"] for span in known["spans"]] == [day(SHOWN, "12:00:00")]
    assert known["holes"] == []
    [reason] = known["reasons"]
    captured = f"before {known['crawled'][:10]} by captures"
    assert reason["detail"].endswith(f"; unknown before 2009-01-11, seamless since; {captured}")


def test_captures_of_a_feed_that_is_gone_are_covered_between_them(
    server: FeedServer, project: Project, wayback: FeedServer
) -> None:
    feed = server.url("/feed")
    serve(wayback, feed, range(10, 15))
    serve(wayback, feed, range(30, 36))
    crawl(project, wayback, feed)
    [known] = project.feeds()
    assert known["verdict"] == "unknown"
    only, *_, hole = known["reasons"]
    assert (only["kind"], hole["kind"]) == ("only-captures", "holes")
    assert only["detail"].endswith("; unknown before 2009-01-11 and after 2009-02-08, with holes between")
    assert [(hole["after"], hole["before"]) for hole in known["holes"]] == [
        (day(14, "12:00:00"), day(30, "12:00:00"))
    ]
