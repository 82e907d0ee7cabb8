from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.spiders.test_lists import index, serve_snapshot

if TYPE_CHECKING:
    from tests.projects import Project
    from tests.server import FeedServer

pytestmark = pytest.mark.in_process


def test_pages_that_are_left_are_one_reason(server: FeedServer, project: Project) -> None:
    feed = server.url("/snapshot")
    serve_snapshot(server, "s1", *([str(number)] for number in range(2000)))
    del server.answers["/s1/1"]
    project.crawl(feed, settings={"FHCRAWL_MAX_ARCHIVES": 3})
    [listed] = project.feeds()
    assert [(r["kind"], r["url"], r["detail"]) for r in listed["reasons"]] == [
        ("http-404", server.url("/s1/1"), "is not there (404)"),
        (
            "limit",
            server.url("/s1/3"),
            "was left for a later run: stopped at 3 parts, as FHCRAWL_MAX_ARCHIVES asks",
        ),
        ("known", feed, "names 1,996 documents more that have not been fetched yet"),
    ]
    assert listed["documents"] == {"known": 1997, "missing": 1, "processed": 3}


@pytest.mark.parametrize("name", ["pages", "uris"])
def test_index_of_too_many_pages_is_a_limit_and_nothing_of_it_is_kept(
    server: FeedServer, project: Project, name: str
) -> None:
    body = {"id": "s1", name: ["a"] * 2000, **({"createdAt": "2020"} if name == "pages" else {})}
    server.serve("/snapshot", json.dumps(body), content_type="application/json")
    run = project.crawl(server.url("/snapshot"), settings={"FHCRAWL_MAX_ENTRIES": 1999})
    assert server.asked() == ["/snapshot"]
    assert "names more than 1999 documents: none of them is read, as FHCRAWL_MAX_ENTRIES asks" in run.log
    assert project.verdict() == ("unknown", ["limit"])
    assert project.states() == {"/snapshot": "refused"}


@pytest.mark.real_crawl
def test_pages_that_may_not_be_fetched_count(server: FeedServer, project: Project) -> None:
    pages = [f"http://localhost/{number}" for number in range(100)]
    index_of_them = index(server, "s1", "2023-11-10", *pages)
    server.serve(
        "/snapshot", index_of_them.replace(server.root + "http", "http"), content_type="application/json"
    )
    project.crawl(server.url("/snapshot"), settings={"FHCRAWL_MAX_ARCHIVES": 2})
    assert project.verdict() == ("incomplete", ["private-address", "private-address", "limit", "known"])
