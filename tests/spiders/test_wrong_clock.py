"""A machine whose clock was wrong once: what was compared then is compared again, and nothing waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fhcrawl.documents.dates import elapsed
from fhcrawl.utils.clock import now
from tests.engine import Engine
from tests.faketime import clock, clock_at
from tests.feeds import E, atom

if TYPE_CHECKING:
    from pathlib import Path

    from tests.databases import Database
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
def test_older_version_that_won_by_a_wrong_clock_loses_by_the_right_one(
    project: Project, server: FeedServer
) -> None:
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


def test_version_that_lost_to_an_older_one_while_the_clock_was_wrong_wins_again(
    project: Project, server: FeedServer
) -> None:
    """The archive was read by a right clock, and is not read while it is wrong."""
    serve(server)
    assert project.crawl(server.url("/")).texts == {"1": "new"}
    serve(server, E("2", "more", NEW))
    with clock_at(PAST):
        assert project.crawl(server.url("/")).texts == {"1": "old", "2": "more"}
    server.asked()
    assert project.crawl(server.url("/")).texts == {"1": "new"}
    assert server.asked() == ["/", "/a"]
    assert project.crawl(server.url("/")).items == []
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


INDEX, PAGE = "http://example.org/index", "http://example.org/page"


def crawl(database: Database, served: dict[str, str | int], time: str) -> tuple[dict[str, str], list[str]]:
    """What a crawl at a time exports, texts by id, and what it asks for."""
    engine = Engine(database.url, served)
    with clock_at(time):
        changes = engine.crawl(INDEX)
    assert changes is not None
    return {change["id"]: change["summary"] for change in changes}, engine.asked


@pytest.mark.parametrize("relation", ["prev-archive", "next"])
def test_document_with_a_time_in_the_future_is_read_again_once_when_that_has_come(
    database: Database, relation: str
) -> None:
    served: dict[str, str | int] = {
        INDEX: atom([E("1", "old", OLD)], links={relation: PAGE}, updated=OLD),
        PAGE: atom([E("1", "new", "2012-01-01T00:00:00Z")], updated=OLD),
    }
    assert crawl(database, served, "2010-01-01T00:00:00") == ({"1": "old"}, [INDEX, PAGE])
    assert crawl(database, served, "2011-01-01T00:00:00") == ({}, [INDEX])
    assert crawl(database, served, "2011-12-31T00:00:00") == ({"1": "new"}, [INDEX, PAGE])
    assert crawl(database, served, "2012-01-01T00:00:00") == ({}, [INDEX])


@pytest.mark.parametrize("relation", ["prev-archive", "next"])
def test_version_that_won_by_a_clock_that_was_ahead_loses_by_the_right_one(
    database: Database, relation: str
) -> None:
    """Its time has not come, whatever that clock said."""
    served: dict[str, str | int] = {
        INDEX: atom([E("1", "right", NEW)], links={relation: PAGE}, updated=NEW),
        PAGE: atom([E("1", "mistyped", "2030-01-01T00:00:00Z")], updated=OLD),
    }
    assert crawl(database, served, "2040-01-01T00:00:00") == ({"1": "mistyped"}, [INDEX, PAGE])
    assert crawl(database, served, "2026-01-01T00:00:00") == ({"1": "right"}, [INDEX, PAGE])
    assert crawl(database, served, "2026-01-02T00:00:00") == ({}, [INDEX])


@pytest.mark.parametrize("relation", ["prev-archive", "next"])
def test_version_that_a_clock_that_was_ahead_has_replaced_is_read_again(
    database: Database, relation: str
) -> None:
    """Its document was read by the right clock, before the one that replaces it."""
    served: dict[str, str | int] = {
        INDEX: atom([], links={relation: PAGE}, updated=OLD),
        PAGE: atom([E("1", "right", NEW)], updated=OLD),
    }
    assert crawl(database, served, "2026-01-01T00:00:00") == ({"1": "right"}, [INDEX, PAGE])
    served[INDEX] = atom([E("1", "mistyped", "2030-01-01T00:00:00Z")], links={relation: PAGE}, updated=OLD)
    assert crawl(database, served, "2040-01-01T00:00:00")[0] == {"1": "mistyped"}
    assert crawl(database, served, "2026-01-02T00:00:00") == ({"1": "right"}, [INDEX, PAGE])
    assert crawl(database, served, "2026-01-03T00:00:00") == ({}, [INDEX])


def test_document_that_is_to_be_read_again_and_is_gone_is_missing(database: Database) -> None:
    """Nothing is claimed of what it would have said."""
    served: dict[str, str | int] = {
        INDEX: atom([E("1", "old", OLD)], prev=PAGE, updated=OLD),
        PAGE: atom([E("1", "new", NEW)], updated=OLD),
    }
    crawl(database, served, "2000-01-01T00:00:00")
    gone = {**served, PAGE: 404}
    for _ in range(2):
        assert crawl(database, gone, "2026-01-01T00:00:00") == ({}, [INDEX, PAGE])
        [(reasons,)] = database.rows("SELECT reasons FROM feeds")
        assert '"http-404"' in reasons
    assert crawl(database, served, "2026-01-01T00:00:00") == ({"1": "new"}, [INDEX, PAGE])


def test_files_of_a_folder_are_read_again_too(project: Project, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "1.atom").write_text(atom([E("1", "new", NEW)], updated=NEW))
    (folder / "2.atom").write_text(atom([E("1", "old", OLD)], updated=OLD))
    with clock_at(PAST):
        assert project.crawl(folder.as_uri() + "/").texts == {"1": "old"}
    assert project.crawl(folder.as_uri() + "/").texts == {"1": "new"}
