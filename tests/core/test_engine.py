"""The downloader and the priority queue."""

from tests.feeds import E, atom
from tests.projects import Project
from tests.server import FeedServer


def test_host_with_the_most_requests_has_every_second_turn(server: FeedServer, project: Project) -> None:
    paths = [f"/{number}" for number in range(8)]
    arrived: list[str] = []
    server.on_request = arrived.append
    for path in paths:
        server.serve(path, atom([E("1")]))
    with FeedServer(("127.0.0.2", 0)) as second, FeedServer(("127.0.0.3", 0)) as third:
        others = []
        for other in (second, third):
            other.on_request = arrived.append
            for path in ("/first", "/second"):
                other.serve(path, atom([E("1")]))
                others.append(other.url(path))
        settings = {"CONCURRENT_REQUESTS": 1, "ROBOTSTXT_OBEY": False}
        run = project.crawl(*others, *map(server.url, paths), settings=settings)
    assert run.stats["fhcrawl/document/processed"] == len(paths) + len(others)
    of_fullest = [number for number, path in enumerate(arrived) if path in paths]
    assert of_fullest[:4] == list(range(of_fullest[0], of_fullest[0] + 8, 2))
