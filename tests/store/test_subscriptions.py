"""Subscriptions in the store, and which of them are due."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from fhcrawl.documents.dates import shift
from fhcrawl.exceptions import StoreError
from fhcrawl.logical_feed import Verdict
from fhcrawl.logical_feed.polling import Limits
from fhcrawl.store import Store, VerdictRecord
from fhcrawl.store.schema import feeds
from fhcrawl.utils.clock import now
from tests.databases import Database
from tests.stores import begin_walk

URL = "http://example.org/"
THEN, DUE, BEFORE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-01T23:59:59Z"
COMPLETE = VerdictRecord(URL, Verdict.COMPLETE, [])


@pytest.fixture
def store(database: Database) -> Iterator[Store]:
    with closing(Store.open(database.url)) as opened:
        yield opened


def set_due(store: Store, url: str, due: str) -> None:
    with store._database.transaction() as connection:
        connection.execute(feeds.update().where(feeds.c.url == url).values(due=due))


def test_title_of_a_list_is_that_of_a_feed_without_one(store: Store) -> None:
    other = f"{URL}other"
    store.subscriptions.add({URL: {}}, THEN, {URL: "Mine", other: "Not subscribed"})
    store.subscriptions.add({URL: {}, other: {}}, THEN, {URL: "Later"})
    store.subscriptions.add_titles({other: "Theirs"})
    assert {feed.feed: feed.title for feed in store.feeds.read()} == {URL: "Mine", other: "Theirs"}


def test_feed_whose_walk_has_begun_and_not_ended_is_due(store: Store) -> None:
    store.subscriptions.add({URL: {}}, THEN)
    set_due(store, URL, DUE)
    run = store.begin_run()
    begin_walk(store, URL, run, THEN)
    assert store.subscriptions.read(BEFORE) == {URL: {}}
    # It was never requested, so there is nothing to report.
    store.feeds.note_verdicts(run, [COMPLETE], Limits(1, 1))
    assert store.subscriptions.find_due([URL]) == {URL: None}


def test_only_the_run_that_has_a_feed_plans_it(store: Store) -> None:
    store.subscriptions.add({URL: {}}, THEN)
    run = store.begin_run()
    begin_walk(store, URL, run, THEN)
    with store._database.transaction() as connection:
        connection.execute(feeds.update().values(polled=THEN))
    store.feeds.note_verdicts(run - 1, [COMPLETE], Limits(1, 1))
    assert store.subscriptions.find_due([URL]) == {URL: None}
    store.feeds.note_verdicts(run, [COMPLETE], Limits(1, 1))
    assert store.subscriptions.find_due([URL, "http://example.org/other"]) == {URL: "2026-01-01T00:00:01Z"}


def test_feed_that_was_polled_at_a_time_that_has_not_come_is_due(store: Store) -> None:
    """A machine's clock was wrong once; one that is some hours ahead is another machine's."""
    for url, polled in {"ahead": shift(now(), 23 * 3600), "wrong": shift(now(), 25 * 3600)}.items():
        store.subscriptions.add({url: {}}, now())
        with store._database.transaction() as connection:
            later = {"polled": polled, "due": shift(polled, 3600)}
            connection.execute(feeds.update().where(feeds.c.url == url).values(later))
    assert list(store.subscriptions.read(now())) == ["wrong"]
    assert list(store.subscriptions.read()) == ["wrong", "ahead"]
    assert store.subscriptions.find_due(["wrong"]) == {"wrong": None}
    assert [(feed.feed, feed.due is None) for feed in store.feeds.read()] == [
        ("ahead", False),
        ("wrong", True),
    ]


def test_feeds_are_due_when_their_time_has_come_the_oldest_first(store: Store) -> None:
    store.subscriptions.add({name: {} for name in ("b", "c", "a")}, THEN)
    set_due(store, "b", "2026-01-03T00:00:00Z")
    set_due(store, "c", DUE)
    assert list(store.subscriptions.read(BEFORE)) == ["a"]
    assert list(store.subscriptions.read(DUE)) == ["a", "c"]
    for time in ((), ("2027-01-01T00:00:00Z",)):
        assert list(store.subscriptions.read(*time)) == ["a", "c", "b"]


def test_new_options_make_a_feed_due_and_the_same_again_do_not(store: Store) -> None:
    assert store.subscriptions.add({URL: {"limit": 5}}, THEN) == 1
    set_due(store, URL, DUE)
    assert store.subscriptions.add({URL: {"limit": 5}}, DUE) == 0
    assert store.subscriptions.find_due([URL]) == {URL: DUE}
    assert store.subscriptions.add({URL: {}}, DUE) == 0
    assert store.subscriptions.read(THEN) == {URL: {}}
    [feed] = store.feeds.read()
    assert feed.subscribed == THEN


def test_nothing_is_unsubscribed_unless_all_are_subscribed(store: Store) -> None:
    store.subscriptions.add({URL: {}}, THEN)
    with pytest.raises(StoreError, match="other is not subscribed"):
        store.subscriptions.remove([URL, "http://example.org/other"])
    assert store.subscriptions.exist()
    begin_walk(store, URL, store.begin_run(), THEN)
    store.subscriptions.remove([URL])
    assert not store.subscriptions.exist()
    with pytest.raises(
        StoreError, match="is not subscribed; to delete its entries, use unsubscribe --delete"
    ):
        store.subscriptions.remove([URL])


def test_feed_of_which_nothing_was_read_is_forgotten_unless_a_crawl_is_at_work_on_it(store: Store) -> None:
    other = "http://example.org/other"
    store.subscriptions.add({URL: {}, other: {}}, THEN)
    begin_walk(store, URL, store.begin_run(), THEN)
    assert store.subscriptions.remove([URL, other]) == {URL: False, other: True}
    assert [(feed.feed, feed.subscribed) for feed in store.feeds.read()] == [(URL, None)]
    with pytest.raises(StoreError, match="is not subscribed"):
        store.subscriptions.remove([URL])
    store.end_run()
    assert store.subscriptions.remove([URL]) == {URL: True}
    assert list(store.feeds.read()) == []
