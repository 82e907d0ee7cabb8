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


def test_first_failure_of_a_document_is_the_one_that_is_told() -> None:
    async def fail_twice(result: DocumentResult | None) -> DocumentResult | None:
        pending = PendingDocument(None, asyncio.get_running_loop().create_future(), lambda _: None)
        pending.fetch, pending.result = fetch, result
        pending.mark_failed(ReasonKind.PIPELINE_ERROR, "the cause")
        pending.mark_failed(ReasonKind.ERROR, "what follows from it")
        return pending.result

    fetch = Fetch(URL, URL, URL, URL, Role.SUBSCRIPTION, ChainPosition(1, 0), NOW)
    for parsed in (DocumentResult(fetch), None):
        result = asyncio.run(fail_twice(parsed))
        assert result is not None
        assert result.failure == DocumentFailure(State.FAILED, ReasonKind.PIPELINE_ERROR, "the cause")


# What happens to requests (w: it waits, t: it is taken), those in progress then, and the feeds that are done.
STEPS: dict[str, list[tuple[str, str, list[str]]]] = {
    # What a document leads to waits before the document has ended.
    "its last request has ended": [
        *(("w:a1 t:a1 w:b1 t:b1", "a1 b1", []), ("w:a2", "b1", []), ("t:a2", "a2 b1", [])),
        *(("", "b1", ["a"]), ("", "", ["b"]), ("", "", [])),
    ],
    "a request is made again by itself": [*(("w:a1 t:a1 w:a1", "", []), ("t:a1", "a1", []), ("", "", ["a"]))],
    "it has not begun": [("w: t:", "", [])],
}


def pop_done(under_way: UnderWay, in_progress: set[Request]) -> list[str]:
    under_way.note_ended(in_progress)
    return under_way.pop_done()


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_feed_is_done_once_and_not_before(steps: list[tuple[str, str, list[str]]]) -> None:
    url = "http://example.org/"
    requests = {name: walk_request(url, name[0]) for name in ("a1", "a2", "b1")} | {"": Request(url)}
    under_way = UnderWay()
    for acts, in_progress, done in steps:
        for act, _, name in (word.partition(":") for word in acts.split()):
            (under_way.note_scheduled if act == "w" else under_way.note_taken)(requests[name])
        assert pop_done(under_way, {requests[name] for name in in_progress.split()}) == done


def test_feed_is_not_done_before_all_its_first_requests_are_made() -> None:
    under_way = UnderWay()
    index, subscription, capture = (walk_request("http://example.org/", "a") for _ in range(3))
    with under_way.begun("a"):
        under_way.note_scheduled(index)
        under_way.note_taken(index)
        assert pop_done(under_way, set()) == []
        under_way.note_scheduled(subscription)
    under_way.note_taken(subscription)
    assert pop_done(under_way, {subscription}) == []
    # More requests follow, as those for captures do when all walks have ended.
    under_way.note_scheduled(capture)
    assert pop_done(under_way, set()) == []
    under_way.note_taken(capture)
    assert pop_done(under_way, {capture}) == []
    assert pop_done(under_way, set()) == ["a"]
