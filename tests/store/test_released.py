"""Feeds that a run which is still at work has finished with: other runs may have them."""

from collections.abc import Iterator

import pytest
from sqlalchemy import select

from fhcrawl.exceptions import LeaseError, StoreError
from fhcrawl.logical_feed import Verdict
from fhcrawl.logical_feed.polling import Limits
from fhcrawl.store import Store, VerdictRecord
from fhcrawl.store.schema import entries, versions
from tests.databases import Database
from tests.store.test_leases import FEED, NOW, opened, read, refuse_all_writes
from tests.stores import begin_walk

OTHER = "http://example.org/other"


@pytest.fixture
def one(database: Database) -> Iterator[Store]:
    yield from opened(database)


@pytest.fixture
def two(database: Database) -> Iterator[Store]:
    yield from opened(database)


def begun(store: Store, *titles: str) -> int:
    run = store.begin_run()
    store.walks.begin([FEED, OTHER], run, NOW)
    store.documents.commit(*read(run, *titles))
    return run


def release(store: Store, run: int) -> None:
    store.feeds.note_verdicts(run, [VerdictRecord(FEED, Verdict.COMPLETE, [])], Limits(1, 1), released=True)


def titles(store: Store, run: int, only_released: bool = False) -> list[str]:
    number = store.exports.begin(run, only_released)
    found = [entry["title"] for entry in store.exports.read_changes(number)]
    store.exports.cancel(number)
    return found


def test_feed_that_a_run_has_finished_with_is_another_ones(
    one: Store, two: Store, database: Database
) -> None:
    first, second = begun(one, "a"), two.begin_run()
    with pytest.raises(LeaseError, match="is reading it"):
        begin_walk(two, FEED, second, NOW)
    with pytest.raises(LeaseError):
        two.walks.forget(FEED, NOW)
    release(one, first)
    two.walks.forget(FEED, NOW)
    known = two.walks.begin([FEED, OTHER], second, NOW)
    assert not isinstance(known[FEED], LeaseError)
    assert isinstance(known[OTHER], LeaseError)
    two.documents.commit(*read(second, "b"))
    with pytest.raises(LeaseError):
        begin_walk(one, FEED, first, NOW)
    # The end of the first run is nothing to the feed any more.
    assert [feed.feed for feed in one.feeds.read(first)] == [OTHER]
    release(one, first)
    assert database.rows(f"SELECT released, verdict FROM feeds WHERE url = '{FEED}'") == [(None, None)]
    assert titles(one, first) == []
    assert titles(two, second) == ["b"]


def test_run_writes_nothing_more_to_a_feed_that_it_has_finished_with(one: Store) -> None:
    run = begun(one, "a")
    release(one, run)
    refuse_all_writes(one, run)
    answers: list[int | Exception] = []
    one.documents.send(*read(run, "b"), answers.append)
    one.wait()
    assert isinstance(answers[0], LeaseError)
    assert titles(one, run) == ["a"]
    # Its own, if it begins anew.
    begin_walk(one, FEED, run, NOW)
    one.documents.commit(*read(run, "b"))
    assert titles(one, run) == ["b"]


def test_feed_is_deleted_with_all_that_is_stored_of_it_unless_a_crawl_has_it(
    one: Store, two: Store, database: Database
) -> None:
    run = begun(one, "a")
    with one._database.transaction() as connection:
        same = select(*(entries.c[column.name] for column in versions.c))
        connection.execute(versions.insert().from_select(versions.c.keys(), same))
    with pytest.raises(StoreError, match=f"{FEED} is being crawled; delete it"):
        two.subscriptions.delete([FEED])
    release(one, run)
    number = one.exports.begin(run, only_released=True)
    with pytest.raises(StoreError, match=f"{FEED} is being crawled; delete it"):
        two.subscriptions.delete([FEED])
    one.exports.cancel(number)
    with pytest.raises(StoreError, match="/new is not in the store"):
        two.subscriptions.delete([FEED, "http://example.org/new"])
    tables = ("versions", "changes", "entries", "documents")
    assert [database.rows(f"SELECT count(*) FROM {name}") for name in tables[:3]] == [[(1,)]] * 3
    assert two.subscriptions.delete([FEED]) == {FEED: 1}
    assert [database.rows(f"SELECT count(*) FROM {name}") for name in tables] == [[(0,)]] * 4
    assert [feed.feed for feed in two.feeds.read()] == [OTHER]
    # It begins anew.
    begin_walk(two, FEED, second := two.begin_run(), NOW)
    two.documents.commit(*read(second, "c"))
    assert titles(two, second) == ["c"]


def test_feed_is_said_once(one: Store) -> None:
    run = begun(one, "a")
    assert [feed.feed for feed in one.feeds.read(run, [FEED])] == [FEED]
    release(one, run)
    assert list(one.feeds.read(run, [FEED])) == []
    assert [feed.feed for feed in one.feeds.read(run)] == [OTHER]


def test_feed_is_nobodys_while_its_changes_are_delivered(one: Store, two: Store) -> None:
    first, second = begun(one, "a"), two.begin_run()
    assert titles(one, first, only_released=True) == []
    release(one, first)
    number = one.exports.begin(first, only_released=True)
    with pytest.raises(LeaseError, match="is reading it"):
        begin_walk(two, FEED, second, NOW)
    assert [entry["title"] for entry in one.exports.read_changes(number)] == ["a"]
    one.exports.end(number)
    begin_walk(two, FEED, second, NOW)
    two.documents.commit(*read(second, "b"))
    assert titles(one, first) == []
    assert titles(two, second) == ["b"]


def test_delivery_of_other_feeds_keeps_nobody_from_a_feed(one: Store, two: Store) -> None:
    first = begun(one)
    release(one, first)
    one.exports.begin(first)
    assert begin_walk(two, FEED, two.begin_run(), NOW).feed == FEED


def test_feed_of_which_nothing_was_read_is_forgotten_when_it_is_released(one: Store, two: Store) -> None:
    first = one.begin_run()
    one.walks.begin([FEED, OTHER], first, NOW)
    release(one, first)
    assert two.subscriptions.remove([FEED]) == {FEED: True}
    assert [feed.feed for feed in two.feeds.read()] == [OTHER]
