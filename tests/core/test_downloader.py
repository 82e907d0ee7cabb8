from __future__ import annotations

from typing import TYPE_CHECKING

from tests.feeds import E, atom

if TYPE_CHECKING:
    from tests.projects import Project
    from tests.server import FeedServer


def test_one_request_at_a_time_goes_to_a_host(server: FeedServer, project: Project) -> None:
    paths = [f"/{number}" for number in range(12)]
    for path in paths:
        server.serve(path, atom([E("1")]), delay=0.05)
    run = project.crawl(*map(server.url, paths))
    assert run.stats["fhcrawl/document/processed"] == len(paths)
    assert server.busiest == 1
