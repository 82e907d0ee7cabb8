"""Entries' own XML in the store."""

import pytest
from lxml import etree

from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer

pytestmark = [pytest.mark.in_process, pytest.mark.full_lane("many crawls")]

OURS = "{urn:ours}note"


def feed(entry: E, note: str) -> str:
    inside = f'<note xmlns="urn:ours">{note}</note></entry>'
    return atom([entry]).replace("</entry>", inside)


def notes(project: Project) -> list[str | None]:
    """What the kept XML says of the entries; None where none is kept."""
    kept = [original for (original,) in project.database.rows("SELECT original FROM entries ORDER BY id")]
    return [None if xml is None else etree.fromstring(xml).findtext(OURS) for xml in kept]


def test_winning_version_is_kept_whole(server: FeedServer, project: Project) -> None:
    server.serve("/index", feed(E("1", "old", "2003-01-01T00:00:00Z"), "first"))
    project.crawl(server.url("/index"))
    assert notes(project) == ["first"]
    server.serve("/index", feed(E("1", "new", "2004-01-01T00:00:00Z"), "second"))
    project.crawl(server.url("/index"))
    assert notes(project) == ["second"]
    server.serve("/index", feed(E("1", "stale", "2002-01-01T00:00:00Z"), "third"))
    project.crawl(server.url("/index"))
    assert notes(project) == ["second"]


def test_what_has_no_field_is_no_change_but_is_kept(server: FeedServer, project: Project) -> None:
    server.serve("/index", feed(E("1"), "first"))
    project.crawl(server.url("/index"))
    server.serve("/index", feed(E("1"), "second"))
    run = project.crawl(server.url("/index"))
    assert (run.changes, notes(project)) == ({}, ["second"])


@pytest.mark.parametrize("text", ["text", "other"])
def test_setting_keeps_nothing_more_and_nothing_that_is_out_of_date(
    server: FeedServer, project: Project, text: str
) -> None:
    off = {"FHCRAWL_KEEP_XML_ENABLED": 0}
    server.serve("/index", feed(E("1"), "first"))
    project.crawl(server.url("/index"))
    server.serve("/index", feed(E("1", text, "2004-01-01T00:00:00Z"), "second"))
    project.crawl(server.url("/index"), settings=off)
    assert notes(project) == (["first"] if text == "text" else [None])
