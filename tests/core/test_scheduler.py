"""The scheduler knows which feeds are done, and says of none that it is if it cannot know."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from scrapy import Request
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from fhcrawl.core.engine import Scheduler
from fhcrawl.extensions.store import StoreExtension
from fhcrawl.spiders.history import HistorySpider
from fhcrawl.store import Store
from tests.contexts import walk_request

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
        # Ours asks the downloader which host is next.
        settings.set("SCHEDULER_PRIORITY_QUEUE", "scrapy.pqueues.ScrapyPriorityQueue")
        settings.set("EXTENSIONS", {"fhcrawl.extensions.store.StoreExtension": 0})
        settings.set("EXTENSIONS_BASE", {})
        crawler = get_crawler(HistorySpider, settings.copy_to_dict())
        stores.append(StoreExtension.of(crawler).store)
        spider = HistorySpider.from_crawler(crawler, feed=FEED)
        crawler.spider = spider
        crawler.engine = cast("Any", SimpleNamespace(_slot=SimpleNamespace(inprogress=set())))
        scheduler = Scheduler.from_crawler(crawler)
        scheduler.open(spider)
        return scheduler

    yield opened
    for store in stores:
        store.close()


def request(path: str) -> Request:
    return walk_request(f"{FEED}{path}", FEED, dont_filter=True)


def test_feed_is_not_done_while_an_earlier_process_has_left_requests(
    open_scheduler: Callable[[], Scheduler],
) -> None:
    """JOBDIR: nobody knows of which feeds they are before they are taken."""
    scheduler = open_scheduler()
    scheduler.enqueue_request(request("/a2"))
    scheduler.close("shutdown")
    scheduler = open_scheduler()
    scheduler.enqueue_request(request(""))
    for _ in range(2):
        assert scheduler.next_request() is not None
        scheduler.note_ended()
        assert scheduler.done() == []
    scheduler.close("finished")
    scheduler = open_scheduler()
    scheduler.enqueue_request(request(""))
    assert scheduler.next_request() is not None
    assert scheduler.done() == [FEED]
    scheduler.close("finished")


def test_requests_that_have_ended_are_not_kept(open_scheduler: Callable[[], Scheduler]) -> None:
    """While captures are left to be read, nobody asks which feeds are done."""
    scheduler = open_scheduler()
    for number in range(3):
        scheduler.enqueue_request(request(f"/{number}"))
        scheduler.next_request()
    scheduler.note_ended()
    assert not scheduler._under_way._in_hand
    assert scheduler.done() == [FEED]
    scheduler.close("finished")
