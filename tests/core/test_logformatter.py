"""What Scrapy logs of a host that cannot be reached."""

import socket
from contextlib import closing

from tests.projects import Project


def test_unreachable_host_is_logged_with_its_documents_and_without_a_traceback(project: Project) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        root = f"http://127.0.0.1:{taken.getsockname()[1]}"
    run = project.crawl(f"{root}/one", f"{root}/two", settings={"RETRY_TIMES": 0})
    for feed in ("one", "two"):
        assert f"WARNING: {root}/{feed} cannot be fetched: connection refused" in run.warnings()
    assert "Error downloading" not in run.log
    assert "Traceback" not in run.log
