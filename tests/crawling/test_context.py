"""What a request of a walk carries is the same in another process."""

from __future__ import annotations

import json
import pickle
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.utils.request import request_from_dict

from fhcrawl.crawling.context import (
    CONTEXT,
    LastReading,
    OlderDocument,
    Referral,
    RequestContext,
    WalkContext,
    cb_kwargs_of,
    context_of,
    feed_of,
    find_context,
    set_walk,
    with_context,
)
from fhcrawl.crawling.subscriptions import FeedOptions
from fhcrawl.exceptions import ContextError
from fhcrawl.logical_feed import ChainPosition, NewerPage, Role
from fhcrawl.logical_feed.listings import ListCheck, ListOrder
from fhcrawl.logical_feed.results import DocumentFailure, State
from fhcrawl.reasons import ReasonKind

URL = "https://example.org/feed"
CONTEXT_OF_URL = RequestContext(WalkContext(URL, 1), URL, Role.SUBSCRIPTION, ChainPosition(1, 0))

text = st.text(max_size=9)
maybe = st.none() | text
number = st.integers(-(2**53), 2**53)
roles = st.sampled_from(Role)
places = st.builds(ChainPosition, number, number)
losses = st.builds(DocumentFailure, st.sampled_from(State), st.builds(ReasonKind, text), text)
options = st.builds(
    FeedOptions,
    next=maybe,
    reversed=st.booleans(),
    limit=st.none() | number,
    headers=st.dictionaries(text, text, max_size=2),
    snapshot=maybe,
    wordpress=st.booleans(),
    merge_renamed=st.booleans(),
    web_archive=maybe,
)
walks = st.builds(
    WalkContext,
    feed=text,
    run=number,
    options=options,
    since=maybe,
    page_size=number,
    begun=st.none() | st.floats(allow_nan=False),
    octets=number,
    special_hosts=st.dictionaries(text, st.booleans(), max_size=2),
    number=number,
)
last_readings = st.builds(
    LastReading,
    is_new=st.booleans(),
    body_digest=maybe,
    validated_url=maybe,
    etag=maybe,
    last_modified=maybe,
    older_document=st.none() | st.builds(OlderDocument, text, text, roles, places),
)
checks = st.builds(
    ListCheck,
    api=text,
    feed_url=text,
    size=number,
    order=st.sampled_from(ListOrder),
    page=number,
    total=st.none() | number,
    held=number,
    known=number,
    read=number,
    newest=text,
    highest=number,
    again=st.lists(number, max_size=3).map(tuple),
    is_reading=st.booleans(),
    sought=st.lists(st.sampled_from(ListOrder), max_size=3).map(tuple),
    whole=text,
    is_unchanged=st.booleans(),
)
contexts = st.builds(
    RequestContext,
    walk=walks,
    requested_url=text,
    role=roles,
    position=places,
    via=maybe,
    documents=number,
    last_reading=st.none() | last_readings,
    referral=st.none() | st.builds(Referral, number, text, st.none() | losses),
    is_given=st.booleans(),
    archive=maybe,
    is_last=st.booleans(),
    left_over=st.booleans(),
    page_digest=maybe,
    guessed_from=maybe,
    newer=st.none() | st.builds(NewerPage, st.lists(text, max_size=2), maybe, maybe),
    fetched=maybe,
    memento=st.none() | number,
    record=st.none() | number,
    checks=st.none() | st.lists(number, max_size=2),
    list_check=st.none() | checks,
)
WITHOUT_CONTEXT = Request("https://example.org/robots.txt", cb_kwargs={"context": "a user's"})


def request_with(plain: dict[str, Any]) -> Request:
    return Request(URL, cb_kwargs={CONTEXT: plain})


def by_json(request: Request) -> Request:
    return request.replace(cb_kwargs=json.loads(json.dumps(request.cb_kwargs)))


def by_pickle(request: Request) -> Request:
    return request_from_dict(pickle.loads(pickle.dumps(request.to_dict())))  # noqa: S301 - what it has just made


@given(contexts)
def test_context_is_the_same_in_another_process(context: RequestContext) -> None:
    sent = Request(URL, cb_kwargs=cb_kwargs_of(context))
    for got in (sent, by_json(sent), by_pickle(sent)):
        read = context_of(got)
        # An enum's member and a named tuple are equal to what they are made of.
        assert (read, repr(read), got.cb_kwargs) == (context, repr(context), sent.cb_kwargs)
        assert feed_of(got) == context.walk.feed
    assert json.loads(json.dumps(sent.cb_kwargs)) == sent.cb_kwargs


def test_all_fields_are_drawn() -> None:
    """A field whose plain value is not read back needs a line in `TYPED`."""
    drawn = (walks, last_readings, contexts, options)
    for cls, strategy in zip((WalkContext, LastReading, RequestContext, FeedOptions), drawn, strict=True):
        assert all(f"{field.name}=" in repr(strategy) for field in fields(cls))


def test_what_is_the_default_is_not_carried() -> None:
    walk = {"feed": URL, "run": 1}
    plain = {"walk": walk, "requested_url": URL, "role": "subscription", "position": [1, 0]}
    assert cb_kwargs_of(CONTEXT_OF_URL) == {CONTEXT: plain}


@pytest.mark.parametrize("name", ["walk", "requested_url", "role", "position"])
def test_missing_key_is_named(name: str) -> None:
    plain = cb_kwargs_of(CONTEXT_OF_URL)[CONTEXT]
    del plain[name]
    with pytest.raises(ContextError, match=f"RequestContext .*: {name} is missing$"):
        find_context(request_with(plain))


def test_unknown_key_is_named() -> None:
    plain = cb_kwargs_of(CONTEXT_OF_URL)[CONTEXT]
    with pytest.raises(ContextError, match=r"RequestContext .*: colour is unknown$"):
        find_context(request_with({**plain, "colour": "blue"}))
    walk = {"feed": URL, "options": {}, "step": 1}
    with pytest.raises(ContextError, match=r"WalkContext .*: run is missing, step is unknown$"):
        find_context(request_with({**plain, "walk": walk}))


def test_request_of_no_walk_has_no_context() -> None:
    assert (find_context(WITHOUT_CONTEXT), feed_of(WITHOUT_CONTEXT)) == (None, None)
    with pytest.raises(ContextError, match="robots"):
        context_of(WITHOUT_CONTEXT)


def test_copies_of_a_request_do_not_change_together() -> None:
    request = Request(URL, cb_kwargs={"own": 1, **cb_kwargs_of(CONTEXT_OF_URL)})
    copy = request.replace(url=f"{URL}/2")
    set_walk(copy, replace(context_of(copy).walk, octets=5))
    other = with_context(request, replace(CONTEXT_OF_URL, documents=7), url=f"{URL}/3")
    assert context_of(request) == CONTEXT_OF_URL
    assert (context_of(copy).walk.octets, context_of(other).documents) == (5, 7)
    assert [one.cb_kwargs["own"] for one in (request, copy, other)] == [1, 1, 1]
    assert other.url == f"{URL}/3"
