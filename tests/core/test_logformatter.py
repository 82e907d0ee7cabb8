"""What is logged in other words than Scrapy's."""

import socket
from contextlib import closing

from tests.feeds import E, atom
from tests.projects import Project, Run
from tests.server import Answer, FeedServer

ONCE = {"RETRY_TIMES": 0}


def about_robots(run: Run) -> list[str]:
    return [line.partition("] ")[2] for line in run.log.splitlines() if "/robots.txt" in line]


def test_unreachable_host_is_logged_once_with_its_documents(
    project: Project,
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        root = f"http://127.0.0.1:{taken.getsockname()[1]}"
    run = project.crawl(f"{root}/one", f"{root}/two", settings=ONCE)
    refuses = "cannot be fetched: connection refused"
    assert about_robots(run) == [f"INFO: {root}/robots.txt {refuses}"]
    assert [warning for warning in run.warnings() if "Error downloading" in warning] == []
    for feed in ("one", "two"):
        assert f"WARNING: {root}/{feed} {refuses}" in run.warnings()
    assert "Traceback" not in run.log


def test_robots_txt_that_cannot_be_fetched_is_warned_of(server: FeedServer, project: Project) -> None:
    server.answers["/robots.txt"] = Answer(reset=True)
    server.serve("/index", atom([E("1")]))
    run = project.crawl(server.url("/index"), settings=ONCE)
    assert run.changes == {}
    line = about_robots(run)[0]
    assert line.startswith(f"WARNING: {server.url('/robots.txt')} cannot be fetched (")
    assert "Traceback" not in run.log
