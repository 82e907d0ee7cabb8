"""The downloader and the priority queue."""

from collections import Counter
from time import monotonic
from types import SimpleNamespace
from typing import Any

from scrapy import Request
from scrapy.core.downloader import Slot

from fhcrawl.core import engine
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


class Downloader(SimpleNamespace):
    __hash__ = object.__hash__  # type: ignore[assignment]


def test_host_that_does_not_answer_delays_no_other_host_of_its_domain() -> None:
    slow, fast, index = Slot(1, 0), Slot(1, 0), Slot(1, 0)
    slots = {"a.example.org": slow, "b.example.org": fast, "b.example.org/index": index}
    downloader: Any = Downloader(slots=slots)
    slow.lastseen, fast.lastseen, index.lastseen = monotonic() - engine.SLOW - 1, monotonic(), monotonic()
    active = Counter([*slots, "c.example.org"])
    assert engine._active_domains(downloader, active) == {
        "example.org": 3,
        "example.org/index": 1,
    }  # nothing was sent yet
    for slot in slots.values():
        slot.transferring.add(Request("http://example.org/"))
    assert engine._active_domains(downloader, active) == {"example.org": 2, "example.org/index": 1}
    # After a pause, it does.
    engine.pause(downloader, "d.example.org", 0)
    assert engine._active_domains(downloader, active) == {"example.org": 3, "example.org/index": 1}
