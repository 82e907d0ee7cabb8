"""When a feed is done: nothing of it waits, and nothing is in the engine's hand."""

from __future__ import annotations

from scrapy import Request

from fhcrawl.crawling.pending import UnderWay
from tests.contexts import walk_request


def request(feed: str | None = "a") -> Request:
    url = "http://example.org/"
    return Request(url) if feed is None else walk_request(url, feed)


def test_feed_is_done_once_when_its_last_request_has_ended() -> None:
    under_way, first, older, other = UnderWay(), request(), request(), request("b")
    for one in (first, other):
        under_way.wait(one)
        under_way.take(one)
    assert under_way.done({first, other}) == []
    # What a document leads to waits before the document has ended.
    under_way.wait(older)
    assert under_way.done({other}) == []
    under_way.take(older)
    assert under_way.done({older, other}) == []
    assert under_way.done({other}) == ["a"]
    assert under_way.done(set()) == ["b"]
    assert under_way.done(set()) == []


def test_feed_is_not_done_before_all_its_first_requests_are_made() -> None:
    under_way, index, subscription = UnderWay(), request(), request()
    with under_way.begun("a"):
        under_way.wait(index)
        under_way.take(index)
        assert under_way.done(set()) == []
        under_way.wait(subscription)
    under_way.take(subscription)
    assert under_way.done({subscription}) == []
    assert under_way.done(set()) == ["a"]


def test_request_that_is_made_again_by_itself_counts_again() -> None:
    under_way, again = UnderWay(), request()
    under_way.wait(again)
    under_way.take(again)
    under_way.wait(again)
    assert under_way.done(set()) == []
    under_way.take(again)
    assert under_way.done({again}) == []
    assert under_way.done(set()) == ["a"]


def test_feed_of_which_more_is_asked_is_not_done_yet() -> None:
    """As captures are, when all walks have ended."""
    under_way, capture = UnderWay(), request()
    with under_way.begun("a"):
        pass
    under_way.wait(capture)
    assert under_way.done(set()) == []
    under_way.take(capture)
    assert under_way.done({capture}) == []
    assert under_way.done(set()) == ["a"]


def test_requests_of_no_feed_do_not_count() -> None:
    under_way, nobodys = UnderWay(), request(None)
    under_way.wait(nobodys)
    under_way.take(nobodys)
    assert under_way.done(set()) == []
