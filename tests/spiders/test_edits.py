"""Edits in the subscription document, whatever documents say of their own time."""

from __future__ import annotations

import json

import pytest

from tests.projects import Project
from tests.server import FeedServer

pytestmark = pytest.mark.in_process
ATOM = "http://www.w3.org/2005/Atom"
LATE, EARLY = "Tue, 03 Jun 2025 10:00:00 GMT", "Mon, 02 Jun 2025 10:00:00 GMT"


def rss(text: str, built: str | None = None, prev: str = "", more: str = "") -> str:
    date = f"<lastBuildDate>{built}</lastBuildDate>" if built else ""
    link = f'<a:link rel="prev-archive" href="{prev}"/>' if prev else ""
    item = f"<item><guid>1</guid><title>t</title><description>{text}</description>{more}</item>"
    return (
        f'<rss xmlns:a="{ATOM}"><channel><title>T</title>{date}{link}{item if text else ""}</channel></rss>'
    )


def atom(text: str, updated: str) -> str:
    entry = f"<entry><id>1</id><title>t</title><updated>{updated}</updated><summary>{text}</summary></entry>"
    return f'<feed xmlns="{ATOM}"><title>T</title>{entry}</feed>'


def json_feed(text: str) -> str:
    items = [{"id": "1", "summary": text}]
    return json.dumps({"version": "https://jsonfeed.org/version/1.1", "title": "T", "items": items})


RUNS = {
    "the time goes back": [rss("a", LATE), rss("b", EARLY), rss("c", EARLY)],
    "the time disappears": [rss("a", LATE), rss("b"), rss("c")],
    "the time was wrong once": [rss("a", "Fri, 03 Jan 2042 10:00:00 GMT"), rss("b", LATE), rss("c", LATE)],
    "the feed becomes an Atom feed": [
        rss("a", LATE),
        atom("b", "2003-01-01T00:00:00Z"),
        atom("c", "2003-01-02T00:00:00Z"),
    ],
    "it becomes an RSS feed again": [atom("a", "2025-06-03T00:00:00Z"), rss("b", EARLY), rss("c", EARLY)],
    "it becomes a JSON feed": [rss("a", LATE), json_feed("b"), json_feed("c")],
    "items get a time of their own": [
        rss("a", LATE),
        rss("b", LATE, more="<a:updated>2003-01-01T00:00:00Z</a:updated>"),
        rss("c", LATE),
    ],
}


@pytest.mark.parametrize("documents", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("is_complete", [False, True])
def test_edits_of_the_subscription_document_count(
    server: FeedServer, project: Project, documents: list[str], is_complete: bool
) -> None:
    title = "<title>T</title>"
    head = title + '<c:complete xmlns:c="http://purl.org/syndication/history/1.0"/>' if is_complete else title
    for text, document in zip("abc", documents, strict=True):
        server.serve("/index", document.replace(title, head), content_type="text/plain")
        assert project.crawl(server.url("/index")).texts == {"1": text}


def test_archive_with_a_later_time_wins_over_nothing(server: FeedServer, project: Project) -> None:
    server.serve("/old", rss("a", LATE))
    for text in "bc":
        server.serve("/index", rss(text, EARLY, prev="/old"))
        assert project.crawl(server.url("/index")).texts == {"1": text}
    assert project.crawl(server.url("/index"), settings={"FHCRAWL_RECHECK": "0"}).texts == {}


def test_edit_that_a_check_finds_counts(server: FeedServer, project: Project) -> None:
    """The archive has another time now, or none; the subscription document shows the entry no more."""
    server.serve("/index", rss("a", LATE, prev="/old"))
    server.serve("/old", rss("a", LATE))
    project.crawl(server.url("/index"))
    server.serve("/index", rss("", LATE, prev="/old"))
    for text, built in (("b", EARLY), ("c", None)):
        server.serve("/old", rss(text, built))
        run = project.crawl(server.url("/index"), args=("-a", "deltafetch_reset=1"))
        assert run.texts == {"1": text}


def test_stale_copy_does_not_win_over_a_later_update_time(server: FeedServer, project: Project) -> None:
    for text, updated, exported in (("a", "2003", True), ("b", "2004", True), ("a", "2003", False)):
        server.serve("/index", atom(text, f"{updated}-01-01T00:00:00Z"))
        assert bool(project.crawl(server.url("/index")).texts) is exported
