"""The verdict in every place: the store, the stats, the log's closing lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.feeds import E, atom

if TYPE_CHECKING:
    from tests.crawling import Project
    from tests.server import FeedServer


def stored(project: Project) -> dict[str, tuple[str | None, list[dict[str, str]] | None]]:
    """The verdicts in the database, and their reasons, by the last part of the feed's URL."""
    rows = project.database.rows("SELECT url, verdict, reasons FROM feeds")
    return {
        url.rpartition("/")[2]: (verdict, reasons and json.loads(reasons)) for url, verdict, reasons in rows
    }


def test_every_feed_has_its_verdict_everywhere_after_a_run(server: FeedServer, project: Project) -> None:
    server.serve("/whole", atom([E("1")], head="<fh:complete/>"))
    server.serve("/gap", atom([E("1")], prev="/gone"))
    server.serve("/paged", atom([E("1")], links={"next": "/p2"}))
    server.serve("/p2", atom([E("0")]))
    server.serve("/plain", atom([E("1")]))
    names = ["gap", "paged", "plain", "whole"]
    run = project.crawl(*(server.url(f"/{name}") for name in names))
    said = {feed["feed"].rpartition("/")[2]: (feed["verdict"], feed["reasons"]) for feed in project.feeds()}
    assert {name: verdict for name, (verdict, _) in said.items()} == {
        "gap": "incomplete",
        "paged": "lossy",
        "plain": "unknown",
        "whole": "complete",
    }
    assert stored(project) == said
    assert {name: run.stats[f"fhcrawl/feed/{said[name][0]}"] for name in names} == dict.fromkeys(names, 1)
    for name, (verdict, reasons) in said.items():
        [line] = [line for line in run.log.splitlines() if f"{server.url(f'/{name}')}: " in line]
        assert f": {verdict}, entries: " in line
        assert all(f"{reason['url']} {reason['detail']}" in line for reason in reasons)


def test_gap_that_has_healed_disappears(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("1")], prev="/a1"))
    server.serve("/a1", "", status=503)
    project.crawl(server.url("/index"), settings={"RETRY_TIMES": 0})
    [(verdict, reasons)] = stored(project).values()
    assert (verdict, [reason["kind"] for reason in reasons or ()]) == ("incomplete", ["http-503"])
    server.serve("/a1", atom([E("0")]))
    project.crawl(server.url("/index"))
    assert stored(project) == {"index": ("complete", [])}
    assert project.verdict() == ("complete", [])


def test_limit_of_the_user_is_a_reason_of_its_own(server: FeedServer, project: Project) -> None:
    server.serve("/index", atom([E("2")], prev="/a2"))
    server.serve("/a2", atom([E("1")], prev="/a1"))
    server.serve("/a1", atom([E("0")]))
    run = project.crawl(server.url("/index"), settings={"FHCRAWL_MAX_ARCHIVES": 1})
    [(verdict, reasons)] = stored(project).values()
    assert verdict == "incomplete"
    assert reasons is not None
    assert [(reason["kind"], reason["url"]) for reason in reasons] == [("limit", server.url("/a1"))]
    assert reasons[0]["detail"].endswith("stopped at 1 archive, as FHCRAWL_MAX_ARCHIVES asks")
    assert "fhcrawl/document/failed" not in run.stats


@pytest.mark.parametrize("known", [False, True])
def test_run_that_dies_leaves_no_verdict_in_the_store(
    server: FeedServer, project: Project, known: bool
) -> None:
    server.serve("/index", atom([E("1")], head="<fh:complete/>"))
    if known:
        project.crawl(server.url("/index"))
    process = None

    def kill(path: str) -> None:
        if path == "/index" and process is not None:
            process.kill()

    server.on_request = kill
    process = project.start("crawl", "history", "-a", f"feed={server.url('/index')}")
    process.wait(timeout=60)
    server.on_request = None
    assert stored(project) == {"index": (None, None)}
    project.crawl(server.url("/index"))
    assert stored(project) == {"index": ("complete", [])}
