"""A machine whose clock was wrong once: what was compared then is compared again, and nothing waits."""

from pathlib import Path

import pytest

from fhcrawl.documents.dates import elapsed
from fhcrawl.utils.clock import now
from tests.faketime import clock, clock_at
from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer

pytestmark = pytest.mark.in_process
# Of a machine without a battery; and of one whose clock was set by mistake.
PAST, FUTURE = "2000-01-01T00:00:00", "2040-01-01T00:00:00"
OLD, NEW = "2003-01-01T00:00:00Z", "2004-01-01T00:00:00Z"


def serve(server: FeedServer, *more: E) -> None:
    """The archive holds the newer version; the subscription document, which is nearer, the older one."""
    server.serve("/", atom([E("1", "old", OLD), *more], prev="/a", updated=NEW))
    server.serve("/a", atom([E("1", "new", NEW)], updated=NEW))


@pytest.mark.real_crawl
def test_version_that_won_by_a_wrong_clock_loses(project: Project, server: FeedServer) -> None:
    serve(server)
    wrong = project.crawl(server.url("/"), **clock(PAST.replace("T", " ")))
    assert wrong.texts == {"1": "old"}
    assert server.asked() == ["/", "/a"]
    right = project.crawl(server.url("/"))
    assert (right.changes, right.texts) == ({"1": "updated"}, {"1": "new"})
    assert server.asked() == ["/", "/a"]
    assert project.verdict() == ("complete", [])
    again = project.crawl(server.url("/"))
    assert again.items == []
    assert again.stats["fhcrawl/document/unchanged"] == 1
    assert server.asked() == ["/"]


DUE = ("-a", "due=1")


def test_nothing_waits_for_a_time_that_a_wrong_clock_has_noted(project: Project, server: FeedServer) -> None:
    server.serve("/", atom([E("1")], prev="/gone"), headers={"Cache-Control": "max-age=3600"})
    assert project.scrapy("subscribe", server.url("/")).returncode == 0
    with clock_at(FUTURE):
        ahead = project.crawl(args=DUE)
    assert ahead.changes == {"1": "new"}
    [feed] = project.feeds()
    assert [reason["since"][:4] for reason in feed["reasons"]] == ["2040"]
    assert feed["due"] is None
    assert server.asked() == ["/", "/gone"]
    project.crawl(args=DUE)
    assert server.asked() == ["/", "/gone"]
    [feed] = project.feeds()
    assert [elapsed(reason["since"], now()) // 3600 for reason in feed["reasons"]] == [0]
    assert 0 < elapsed(now(), feed["due"]) <= 3600
    assert "No feed is due" in project.crawl(args=DUE).log


def test_files_of_a_folder_are_read_again_too(project: Project, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "1.atom").write_text(atom([E("1", "new", NEW)], updated=NEW))
    (folder / "2.atom").write_text(atom([E("1", "old", OLD)], updated=OLD))
    with clock_at(PAST):
        assert project.crawl(folder.as_uri() + "/").texts == {"1": "old"}
    assert project.crawl(folder.as_uri() + "/").texts == {"1": "new"}
