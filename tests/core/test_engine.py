"""The downloader, the priority queue and the scheduler."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any, cast

import pytest
from scrapy import Request
from scrapy.core.downloader import Slot
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from fhcrawl.core import engine
from fhcrawl.core.engine import Scheduler
from fhcrawl.crawling import compat, pauses
from fhcrawl.crawling.context import context_of
from fhcrawl.exceptions import ArgumentError
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.spiders.history import HistorySpider
from fhcrawl.store import Store
from tests.contexts import walk_request
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
    slow, fast, index = Slot(1, 0, 0), Slot(1, 0, 0), Slot(1, 0, 0)
    slots = {"a.example.org": slow, "b.example.org": fast, "b.example.org/index": index}
    downloader: Any = Downloader(slots=slots)
    slow.lastseen, fast.lastseen, index.lastseen = monotonic() - engine.SLOW - 1, monotonic(), monotonic()
    active = Counter([*slots, "c.example.org"])
    assert engine._count_active(downloader, active) == {
        "example.org": 3,
        "example.org/index": 1,
    }  # nothing was sent yet
    for slot in slots.values():
        slot.transferring.add(Request("http://example.org/"))
    assert engine._count_active(downloader, active) == {"example.org": 2, "example.org/index": 1}
    # After a pause, it does.
    pauses.pause(downloader, "d.example.org", 0)
    assert engine._count_active(downloader, active) == {"example.org": 3, "example.org/index": 1}


FEED = "http://example.org/feed"


@pytest.fixture
def open_scheduler(tmp_path: Path) -> Iterator[Callable[[], Scheduler]]:
    stores: list[Store] = []

    def opened() -> Scheduler:
        settings = Settings()
        settings.setmodule("fhcrawl.settings")
        settings.set("FHCRAWL_STORE_URL", f"sqlite:///{tmp_path / 'store.sqlite'}")
        settings.set("TWISTED_REACTOR_ENABLED", False)
        settings.set("JOBDIR", str(tmp_path / "job"))
        # Ours gets the next host from the downloader.
        settings.set("SCHEDULER_PRIORITY_QUEUE", "scrapy.pqueues.ScrapyPriorityQueue")
        settings.set("EXTENSIONS", {"fhcrawl.extensions.store.StoreExtension": 0})
        settings.set("EXTENSIONS_BASE", {})
        crawler = get_crawler(HistorySpider, settings.copy_to_dict())
        stores.append(StoreExtension.of(crawler).store)
        spider = HistorySpider.from_crawler(crawler, feed=FEED)
        crawler.spider = spider
        spider.follow = lambda request: iter(())  # type: ignore[method-assign]
        crawler.engine = cast("Any", SimpleNamespace(_slot=SimpleNamespace(inprogress=set(), closing=True)))
        scheduler = Scheduler.from_crawler(crawler)
        scheduler.open(spider)
        return scheduler

    yield opened
    for store in stores:
        store.close()


def request(path: str) -> Request:
    return walk_request(f"{FEED}{path}", FEED, dont_filter=True)


def test_feed_is_done_when_the_requests_of_an_earlier_process_are(
    open_scheduler: Callable[[], Scheduler],
) -> None:
    scheduler = open_scheduler()
    assert list(StoreExtension.of(scheduler.spider.crawler).begin_walks({FEED: {}}))
    for path in ("/a2", "/a1"):
        scheduler.enqueue_request(request(path))
    scheduler.close("shutdown")
    StoreExtension.of(scheduler.spider.crawler).store.close()
    scheduler = open_scheduler()
    for path, done in (("/a1", []), ("/a2", [FEED])):
        taken = scheduler.next_request()
        assert taken is not None
        assert taken.url == f"{FEED}{path}"
        assert context_of(taken).walk.run == 2
        scheduler.note_ended()
        assert scheduler.done() == done
    scheduler.close("finished")


def test_requests_that_have_ended_are_not_kept(open_scheduler: Callable[[], Scheduler]) -> None:
    scheduler = open_scheduler()
    for number in range(3):
        scheduler.enqueue_request(request(f"/{number}"))
        scheduler.next_request()
    scheduler.note_ended()
    assert not scheduler._under_way._in_progress
    assert scheduler.done() == [FEED]
    scheduler.close("finished")


# As in Scrapy 2.18, whose engine has no other attribute for it.
def test_scheduler_is_found_in_each_version_of_scrapy() -> None:
    scheduler = object()
    opened, closed = SimpleNamespace(_slot=SimpleNamespace(scheduler=scheduler)), SimpleNamespace(_slot=None)
    assert compat.scheduler_of(cast("Any", opened)) is scheduler
    assert compat.scheduler_of(cast("Any", closed)) is compat.scheduler_of(None) is None


@pytest.mark.parametrize(("path", "names", "consequence"), compat.PRIVATE)
def test_missing_private_names_are_reported(
    path: str, names: str, consequence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compat.check_private_names()
    for name in names.split():
        gone = (path, f"{name}_of_another_version", consequence)
        monkeypatch.setattr(compat, "PRIVATE", (gone,))
        with pytest.raises(ArgumentError, match=rf"With Scrapy 2\..*{consequence}: .*{gone[1]} is missing"):
            compat.check_private_names()
    monkeypatch.undo()
    monkeypatch.delattr("scrapy.core.scheduler.Scheduler._dq")
    with pytest.raises(ArgumentError, match=r"JOBDIR cannot continue: .*Scheduler\._dq is missing"):
        engine.Downloader(get_crawler(HistorySpider))
