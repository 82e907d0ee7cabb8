"""Work that is left for later runs: what comes first and fails for ever delays the rest by one run at most.

The queues: documents that are checked, captures of a feed, indexes of captures, documents of a list, pages
of a feed that a publisher lists. A chain has one document that is requested next; feeds and deliveries do not
wait for each other.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.databases import NewDatabase, examples
from tests.feeds import E, atom
from tests.projects import Project
from tests.server import Answer, FeedServer
from tests.spiders.test_rechecks import FEED, Publisher
from tests.spiders.test_wordpress import api_link, serve_list
from tests.spiders.walks import Play
from tests.web_archives import archive_of, captures_of, crawl

FAILURES = [401, 403, 404, 429, 451, 500, 503, "<html>"]
RUNS = 8


@settings(max_examples=examples(15))
@given(
    st.integers(3, 7),
    st.integers(2, 4),
    st.sampled_from(FAILURES),
    st.integers(0, 2),
)
def test_checks(
    new_database: NewDatabase, archives: int, budget: int, failure: str | int, failing: int
) -> None:
    names = [str(number) for number in range(archives, 0, -1)]
    first: list[dict[str, int]] = []
    for fails in (False, True):
        with new_database() as database:
            publisher = Publisher(database)
            publisher.link(names, "new")
            publisher.crawl()
            if fails:
                publisher.served[f"{FEED}/{names[failing]}"] = failure
            seen: dict[str, int] = {}
            for run in range(RUNS):
                publisher.crawl({"FHCRAWL_RECHECK": f"1,{budget}"})
                for url in publisher.requested[1:]:
                    seen.setdefault(url, run)
            first.append(seen)
    without, with_failure = first
    assert set(with_failure) == set(without)
    assert all(with_failure[url] <= run + 1 for url, run in without.items())


@pytest.mark.in_process
def test_captures(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    feed, archive = server.url("/feed"), archive_of(wayback)
    server.serve("/feed", atom([E("now")]))
    stamps = [f"200901{day:02}000000" for day in range(1, 20)]
    for stamp in stamps:
        archive.add(stamp, feed, atom([E(stamp)]))
    # The last ones are requested first; after five failures, the archive is left for the run.
    failing = [f"/web/{stamp}id_/{feed}" for stamp in stamps[-5:]]
    for path in failing:
        archive[path] = Answer(b"", 500)
    every: dict[str, Any] = {"FHCRAWL_ALL_CAPTURES_ENABLED": True, "RETRY_TIMES": 0}
    assert set(crawl(project, wayback, feed, **every).changes) == {"now"}
    assert set(crawl(project, wayback, feed, **every).changes) == set(stamps[:-5])
    for path in failing:
        del archive[path]
    wayback.requested()
    assert set(crawl(project, wayback, feed, **every).changes) == set(stamps[-5:])
    assert len(captures_of(wayback.requested())) == 5


@pytest.mark.in_process
def test_indexes_of_captures(server: FeedServer, project: Project, wayback: FeedServer) -> None:
    archive = archive_of(wayback)
    feeds = [server.url(f"/{number}") for number in range(8)]
    for feed in feeds:
        server.serve(feed.removeprefix(server.root), atom([E("now")]))
        archive.add("20090101000000", feed, atom([E("then")]))
    get = archive.get

    def fail_for_some(path: str, default: object = None) -> object:
        is_index = path.startswith("/cdx/")
        fails = is_index and any(
            f"%2F{number}&" in path or path.endswith(f"%2F{number}") for number in range(5)
        )
        return Answer(b"", 500) if fails else get(path, default)

    archive.get = fail_for_some  # type: ignore[method-assign]
    found: set[str] = set()
    for _ in range(2):
        run = crawl(project, wayback, *feeds, output=None, RETRY_TIMES=0)
        found |= {row[0] for row in project.database.rows("SELECT document FROM entries WHERE id = 'then'")}
    assert run.stats
    assert found == set(feeds[5:])


@pytest.mark.in_process
def test_documents_of_a_list(play: Play) -> None:
    play("snapshot s a b c; /s/0 403" + 3 * "; crawl /snapshot FHCRAWL_MAX_ARCHIVES=1" + "; has s:1:0 s:2:0")


@pytest.mark.in_process
def test_pages_of_a_publishers_list(server: FeedServer, project: Project) -> None:
    """Both hold listed posts that the walk has not found; the first of them fails."""
    feed, link = server.url("/feed/"), api_link(server)
    server.serve("/feed/", atom([E("d")]), headers=link, etag=False)
    for number in (2, 3, 4):
        server.serve(f"/feed/?paged={number}", "", status=404, headers=link, etag=False)
    serve_list(server, "abcd", total=4)
    server.serve("/feed/?orderby=ID&order=ASC&paged=1", "", status=403)
    project.crawl(feed)
    pages = [path for path in server.requested() if "orderby" in path]
    assert len(pages) > 1
