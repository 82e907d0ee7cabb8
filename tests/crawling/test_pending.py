"""A document whose entries are passing through the pipelines."""

from __future__ import annotations

import asyncio

import pytest

from fhcrawl.crawling.pending import PendingDocument
from fhcrawl.logical_feed import ChainPosition, Role
from fhcrawl.logical_feed.results import DocumentFailure, DocumentResult, Fetch, State
from fhcrawl.reasons import ReasonKind

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
