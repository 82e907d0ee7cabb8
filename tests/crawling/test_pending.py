"""A document whose entries are passing through the pipelines."""

import asyncio

import pytest
from scrapy import Request

from fhcrawl.extensions.store import UnderWay
from fhcrawl.logical_feed import ChainPosition, Role
from fhcrawl.logical_feed.results import DocumentFailure, DocumentResult, Fetch, State
from fhcrawl.pipelines import PendingDocument
from fhcrawl.reasons import ReasonKind
from tests.contexts import walk_request

URL, NOW = "http://example.org/index", "2026-01-01T00:00:00Z"


@pytest.mark.parametrize("is_parsed", [True, False])
def test_first_failure_of_a_document_is_the_one_that_is_told(is_parsed: bool) -> None:
    async def fail_twice() -> DocumentResult | None:
        pending = PendingDocument(None, asyncio.get_running_loop().create_future(), lambda _: None)
        pending.fetch = Fetch(URL, URL, URL, URL, Role.SUBSCRIPTION, ChainPosition(1, 0), NOW)
        pending.result = DocumentResult(pending.fetch) if is_parsed else None
        pending.mark_failed(ReasonKind.PIPELINE_ERROR, "the cause")
        pending.mark_failed(ReasonKind.ERROR, "what follows from it")
        return pending.result

    result = asyncio.run(fail_twice())
    assert result is not None
    assert result.failure == DocumentFailure(State.FAILED, ReasonKind.PIPELINE_ERROR, "the cause")


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
