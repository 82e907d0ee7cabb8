"""Subscriptions in the store, and which of them are due."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fhcrawl.documents.dates import shift
from fhcrawl.exceptions import StoreError
from fhcrawl.logical_feed import Verdict
from fhcrawl.logical_feed.polling import Limits
from fhcrawl.store import Said, Store
from fhcrawl.store.schema import feeds
from fhcrawl.utils.clock import now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.databases import Database

URL = "http://example.org/"
THEN, DUE, BEFORE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-01T23:59:59Z"
COMPLETE = Said(URL, Verdict.COMPLETE, [])


@pytest.fixture
def store(database: Database) -> Iterator[Store]:
    opened = Store.open(database.url)
    yield opened
    opened.close()


def set_due(store: Store, url: str, due: str) -> None:
    with store._database.transaction() as connection:
        connection.execute(feeds.update().where(feeds.c.url == url).values(due=due))


def test_feed_is_due_when_its_time_has_come(store: Store) -> None:
    store.subscribe({URL: {}}, THEN)
    assert store.subscribed(THEN) == {URL: {}}
    set_due(store, URL, DUE)
    assert store.subscribed(BEFORE) == {}
    assert store.subscribed(DUE) == store.subscribed() == {URL: {}}


def test_feed_whose_walk_has_begun_and_not_ended_is_due(store: Store) -> None:
    store.subscribe({URL: {}}, THEN)
    set_due(store, URL, DUE)
    run = store.begin_run()
    store.begin_walk(URL, run, THEN)
    assert store.subscribed(BEFORE) == {URL: {}}
    # It was never asked for: there is nothing to be said of it.
    store.note_verdicts(run, [COMPLETE], Limits(1, 1))
    assert store.next_due([URL]) == {URL: None}


def test_only_the_run_that_has_a_feed_plans_it(store: Store) -> None:
    store.subscribe({URL: {}}, THEN)
    run = store.begin_run()
    store.begin_walk(URL, run, THEN)
    with store._database.transaction() as connection:
        connection.execute(feeds.update().values(polled=THEN))
    store.note_verdicts(run - 1, [COMPLETE], Limits(1, 1))
    assert store.next_due([URL]) == {URL: None}
    store.note_verdicts(run, [COMPLETE], Limits(1, 1))
    assert store.next_due([URL, "http://example.org/other"]) == {URL: "2026-01-01T00:00:01Z"}


def test_feed_that_was_polled_at_a_time_that_has_not_come_is_due(store: Store) -> None:
    """A machine's clock was wrong once; one that is some hours ahead is another machine's."""
    for url, polled in {"ahead": shift(now(), 23 * 3600), "wrong": shift(now(), 25 * 3600)}.items():
        store.subscribe({url: {}}, now())
        with store._database.transaction() as connection:
            later = {"polled": polled, "due": shift(polled, 3600)}
            connection.execute(feeds.update().where(feeds.c.url == url).values(later))
    assert list(store.subscribed(now())) == ["wrong"]
    assert list(store.subscribed()) == ["wrong", "ahead"]
    assert store.next_due(["wrong"]) == {"wrong": None}
    assert [(feed.feed, feed.due is None) for feed in store.feeds()] == [("ahead", False), ("wrong", True)]


def test_feeds_that_have_waited_longest_come_first(store: Store) -> None:
    store.subscribe({name: {} for name in ("b", "c", "a")}, "2026-01-01T00:00:00Z")
    set_due(store, "b", "2026-01-03T00:00:00Z")
    set_due(store, "c", DUE)
    assert list(store.subscribed()) == list(store.subscribed("2027-01-01T00:00:00Z")) == ["a", "c", "b"]
    assert list(store.subscribed("2026-01-02T00:00:00Z")) == ["a", "c"]


def test_new_options_make_a_feed_due_and_the_same_again_do_not(store: Store) -> None:
    assert store.subscribe({URL: {"limit": 5}}, THEN) == 1
    set_due(store, URL, DUE)
    assert store.subscribe({URL: {"limit": 5}}, DUE) == 0
    assert store.next_due([URL]) == {URL: DUE}
    assert store.subscribe({URL: {}}, DUE) == 0
    assert store.subscribed(THEN) == {URL: {}}
    [feed] = store.feeds()
    assert feed.subscribed == THEN


def test_nothing_is_unsubscribed_unless_all_are_subscribed(store: Store) -> None:
    store.subscribe({URL: {}}, THEN)
    with pytest.raises(StoreError, match="other is not subscribed"):
        store.unsubscribe([URL, "http://example.org/other"])
    assert store.has_subscriptions()
    store.unsubscribe([URL])
    assert not store.has_subscriptions()


def test_feed_of_which_nothing_was_read_is_forgotten_unless_a_crawl_is_at_work_on_it(store: Store) -> None:
    other = "http://example.org/other"
    store.subscribe({URL: {}, other: {}}, THEN)
    store.begin_walk(URL, store.begin_run(), THEN)
    assert store.unsubscribe([URL, other]) == {URL: False, other: True}
    assert [(feed.feed, feed.subscribed) for feed in store.feeds()] == [(URL, None)]
    with pytest.raises(StoreError, match="is not subscribed"):
        store.unsubscribe([URL])
    store.end_run()
    assert store.unsubscribe([URL]) == {URL: True}
    assert list(store.feeds()) == []
