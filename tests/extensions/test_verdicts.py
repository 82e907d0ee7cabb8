"""The verdict in every place: the store, the stats, the log's closing lines."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from tests.feeds import E, atom

if TYPE_CHECKING:
    from tests.projects import Process, Project
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


@pytest.mark.parametrize("known", [False, True])
def test_run_that_dies_leaves_no_verdict(server: FeedServer, project: Project, known: bool) -> None:
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


UNREAD = "No feed could be read."


def test_run_that_could_read_no_feed_fails(server: FeedServer, project: Project) -> None:
    server.serve("/page", "<html><body>parked</body></html>")
    server.serve("/index", atom([E("2")], prev="/a1"), headers={"ETag": '"1"'})
    server.serve("/a1", atom([E("1")]))
    unread = [server.url("/missing"), server.url("/page"), "http://127.0.0.1:9/feed"]
    quick = {"RETRY_TIMES": 0, "ROBOTSTXT_OBEY": 0}
    run = project.crawl(*unread, settings=quick)
    assert (run.exit_code, run.stats["fhcrawl/feed/unread"]) == (1, 3)
    assert [warning for warning in run.warnings() if warning.endswith(UNREAD)]
    # One is enough, whether it is new or what it was.
    for documents in ("processed", "unchanged"):
        run = project.crawl(*unread, server.url("/index"), settings=quick)
        assert (run.exit_code, run.stats[f"fhcrawl/document/{documents}"] > 0) == (0, True)
        assert "fhcrawl/feed/unread" not in run.stats
    server.answers["/index"].status = 503
    assert project.crawl(server.url("/index"), settings=quick).exit_code == 1
    assert project.scrapy("subscribe", server.url("/new")).returncode == 0
    assert project.scrapy("crawl", "history", "-a", "due=1").returncode == 1
    # Now nothing is due.
    assert project.scrapy("crawl", "history", "-a", "due=1").returncode == 0


def test_run_that_the_user_has_ended_is_no_failure(server: FeedServer, project: Project) -> None:
    begun: list[Process] = []

    def end(path: str) -> None:
        if path == "/slow":
            begun[0].send_signal(signal.SIGTERM)

    server.serve("/slow", atom([E("1")]), status=503)
    server.on_request = end
    urls = f"feed={server.url('/missing')} {server.url('/slow')}"
    begun.append(project.start("crawl", "history", "-a", urls))
    assert begun[0].wait(60) == 0
