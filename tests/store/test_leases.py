"""Which of several crawls may write to a feed, and when a run that is still at work has finished with it."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select

from fhcrawl import items
from fhcrawl.exceptions import LeaseError, StoreError
from fhcrawl.exporters import storages
from fhcrawl.logical_feed import ChainPosition, Role, Verdict, Version
from fhcrawl.logical_feed.polling import Limits
from fhcrawl.logical_feed.results import CommitBatch, DocumentResult, Fetch, Order
from fhcrawl.store import Store, VerdictRecord, WalkStart
from fhcrawl.store.schema import entries, versions
from tests.databases import Database
from tests.stores import begin_walk, commit, write_part

FEED, OTHER = "http://example.org/index", "http://example.org/other"
NOW = "2004-01-01T00:00:00Z"
FIELDS: dict[str, object] = {
    **dict.fromkeys(items.ALL_FIELDS),
    "authors": [],
    "categories": [],
    "enclosures": [],
}


@pytest.fixture
def one(database: Database) -> Iterator[Store]:
    with closing(Store.open(database.url)) as store:
        yield store


@pytest.fixture
def two(database: Database) -> Iterator[Store]:
    with closing(Store.open(database.url)) as store:
        yield store


def read(run: int, *contents: str) -> tuple[DocumentResult, CommitBatch]:
    """What is committed of the subscription document, whose entry has been edited."""
    fetch = Fetch(FEED, FEED, FEED, FEED, Role.SUBSCRIPTION, ChainPosition(1, 0), NOW, run=run)
    batch = CommitBatch()
    for content in contents:
        version = Version("1", Order(0, "", 0, 1, 0, 0), content)
        batch.accepted = {"1": (version, {**FIELDS, "title": content})}
    return DocumentResult(fetch, kind="single"), batch


def refuse_all_writes(store: Store, run: int, why: str | None = None) -> None:
    result, batch = read(run, "late")
    with pytest.raises(LeaseError, match=why):
        commit(store, result, batch)
    for write in (store.documents.note_failure, store.documents.note_confirmation):
        with pytest.raises(LeaseError, match=why):
            write(result)


def test_feed_belongs_to_one_run_until_that_has_ended(one: Store, two: Store) -> None:
    first, second = one.begin_run(), two.begin_run()
    begin_walk(one, FEED, first, NOW)
    with pytest.raises(LeaseError, match=f"another crawl is reading it .process {os.getpid()} on "):
        begin_walk(two, FEED, second, NOW)
    with pytest.raises(LeaseError):
        two.walks.forget(FEED, NOW)
    assert [feed.feed for feed in one.feeds.read(first)] == [FEED]
    assert list(two.feeds.read(second)) == []
    begin_walk(two, OTHER, second, NOW)
    one.close()
    assert begin_walk(two, FEED, second, NOW).feed == FEED


def test_feeds_that_begin_together_are_refused_one_by_one(one: Store, two: Store) -> None:
    begin_walk(one, FEED, one.begin_run(), NOW)
    second = two.begin_run()
    others = ["http://example.org/b", "http://example.org/a"]
    begun = two.walks.begin([others[0], FEED, others[1]], second, NOW)
    assert isinstance(begun.pop(FEED), LeaseError)
    assert begun == {url: WalkStart(url, url, 1, second) for url in others}
    assert [feed.feed for feed in two.feeds.read(second)] == sorted(others)


def test_run_whose_feed_was_taken_over_writes_nothing(one: Store, two: Store, database: Database) -> None:
    first, second = one.begin_run(), two.begin_run()
    begin_walk(one, FEED, first, NOW)
    commit(one, *read(first, "before"))
    database.execute(f"UPDATE runs SET expires = 1 WHERE id = {first}")
    begin_walk(two, FEED, second, NOW)
    refuse_all_writes(one, first, "has taken over the feed")
    two.close()
    with pytest.raises(LeaseError):
        commit(one, *read(first, "after"))
    assert [entry["title"] for entry in one.entries.read()] == ["before"]
    assert list(one.exports.read_changes(one.exports.begin(first))) == []


def test_lease_is_renewed_when_due(one: Store, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def expires() -> int:
        [[seconds]] = database.rows("SELECT expires FROM runs")
        return int(seconds)

    begin_walk(one, FEED, run := one.begin_run(lease_seconds=90), NOW)
    assert one.pause == 30
    database.execute("UPDATE runs SET expires = 1")
    one.renew()
    assert expires() == 1
    later = time.monotonic() + 31
    monkeypatch.setattr("fhcrawl.store.leases.time.monotonic", lambda: later)
    one.renew()
    assert expires() > 1
    database.execute("UPDATE runs SET expires = 1")
    later += 31
    # Nobody has taken its feed in between.
    commit(one, *read(run, "after"))
    assert expires() > 1
    assert [entry["title"] for entry in one.entries.read()] == ["after"]


CRAWL = f"""
import sys
from fhcrawl.store import Store
store = Store.open(sys.argv[1])
run = store.begin_run()
store.walks.begin(["{FEED}"], run, "{NOW}")
print(store.exports.begin(run), flush=True)
sys.stdin.read()
"""


def test_lease_of_a_process_that_is_gone_is_free_at_once(two: Store, database: Database) -> None:
    run = two.begin_run()
    command = [sys.executable, "-c", CRAWL, database.url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "3\n"
        with pytest.raises(LeaseError, match=f"process {process.pid} on "):
            begin_walk(two, FEED, run, NOW)
        assert two.exports.find_dead() == []
        process.kill()
        process.wait()
        deadline = time.monotonic() + 60
        # PostgreSQL may not have noticed yet.
        while not two.exports.find_dead():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert begin_walk(two, FEED, run, NOW).walk == 1


@pytest.mark.parametrize(("days", "is_free"), [(-1, True), (1, False), (3, True)])
def test_lease_that_has_expired_or_ends_later_than_any_can_is_free(
    one: Store, two: Store, database: Database, days: int, is_free: bool
) -> None:
    """Its process is suspended, or it was noted by a wrong clock, before the machine was started anew."""
    begin_walk(one, FEED, first := one.begin_run(), NOW)
    one.exports.begin(first)
    database.execute(f"UPDATE runs SET expires = {int(time.time()) + days * 24 * 3600}")
    run = two.begin_run()
    assert bool(two.exports.find_dead()) is is_free
    if is_free:
        assert begin_walk(two, FEED, run, NOW).walk == 1
    else:
        with pytest.raises(LeaseError):
            begin_walk(two, FEED, run, NOW)


def test_without_file_locks_the_expiry_decides(
    one: Store, two: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(number: int, how: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fhcrawl.store.leases.fcntl.flock", refuse)
    begin_walk(one, FEED, one.begin_run(), NOW)
    with pytest.raises(LeaseError):
        begin_walk(two, FEED, two.begin_run(), NOW)


def test_run_leaves_no_lock_file(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to("store")
    stores = [Store.open(f"sqlite:///{tmp_path}/{name}") for name in ("store", "linked")]
    for store in stores:
        store.begin_run()
    assert sorted(path.name for path in tmp_path.glob("*-run*")) == ["store-run1", "store-run2"]
    stores[0].close()
    # A process that was killed leaves its own.
    (tmp_path / "store-run7").touch()
    with closing(Store.open(f"sqlite:///{tmp_path}/store")) as store:
        store.begin_run()
        assert sorted(path.name for path in tmp_path.glob("*-run*")) == ["store-run2", "store-run3"]
    stores[1].close()
    assert list(tmp_path.glob("*-run*")) == []


def test_delivery_of_a_living_run_is_its_own(one: Store, two: Store, tmp_path: Path) -> None:
    first, number = begin_delivery(one)
    two.begin_run()
    storages.recover(two)
    deliver(one, number, tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").exists()
    assert list(one.exports.read_changes(one.exports.begin(first))) == []


def test_delivery_that_was_taken_for_dead_delivers_nothing_and_leaves_those_of_others_alone(
    one: Store, two: Store, database: Database, tmp_path: Path
) -> None:
    _first, number = begin_delivery(one)
    database.execute("UPDATE runs SET expires = 1")
    second = two.begin_run()
    storages.recover(two)
    begin_walk(two, FEED, second, NOW)
    with pytest.raises(LeaseError, match="considered this one dead"):
        deliver(one, number, tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()
    other = two.exports.begin(second)
    with pytest.raises(LeaseError, match="considered this one dead"):
        one.exports.note_files(number, [])
    one.exports.end(number)
    one.exports.cancel(number)
    assert [entry["title"] for entry in two.exports.read_changes(other)] == ["a"]
    two.exports.note_files(other, [])


def begin_delivery(store: Store) -> tuple[int, int]:
    run = store.begin_run()
    begin_walk(store, FEED, run, NOW)
    commit(store, *read(run, "a"))
    return run, store.exports.begin(run)


def deliver(store: Store, number: int, path: Path) -> None:
    storages.deliver(store, number, [write_part(path)])


def test_runs_begin_before_they_write_and_are_forgotten_in_the_end(one: Store, database: Database) -> None:
    with pytest.raises(StoreError, match="No crawl has begun"):
        begin_walk(one, FEED, 1, NOW)
    for _ in range(3):
        begin_walk(one, FEED, one.begin_run(), NOW)
        one.close()
    one.begin_run()
    assert database.rows("SELECT id FROM runs ORDER BY id") == [(3,), (4,)]


def begun(store: Store, *titles: str) -> int:
    run = store.begin_run()
    store.walks.begin([FEED, OTHER], run, NOW)
    commit(store, *read(run, *titles))
    return run


def release(store: Store, run: int) -> None:
    store.feeds.note_verdicts(run, [VerdictRecord(FEED, Verdict.COMPLETE, [])], Limits(1, 1), released=True)


def titles(store: Store, run: int, only_released: bool = False) -> list[str]:
    number = store.exports.begin(run, only_released)
    found = [entry["title"] for entry in store.exports.read_changes(number)]
    store.exports.cancel(number)
    return found


def test_feed_that_a_run_has_finished_is_another_ones(one: Store, two: Store, database: Database) -> None:
    first, second = begun(one, "a"), two.begin_run()
    release(one, first)
    two.walks.forget(FEED, NOW)
    known = two.walks.begin([FEED, OTHER], second, NOW)
    assert not isinstance(known[FEED], LeaseError)
    assert isinstance(known[OTHER], LeaseError)
    commit(two, *read(second, "b"))
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
    assert [feed.feed for feed in one.feeds.read(run, [FEED])] == [FEED]
    release(one, run)
    assert list(one.feeds.read(run, [FEED])) == []
    refuse_all_writes(one, run)
    assert titles(one, run) == ["a"]
    # Its own, if it begins anew.
    begin_walk(one, FEED, run, NOW)
    commit(one, *read(run, "b"))
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
    commit(two, *read(second, "c"))
    assert titles(two, second) == ["c"]


def test_feed_cannot_be_leased_while_its_changes_are_delivered(one: Store, two: Store) -> None:
    first, second = begun(one, "a"), two.begin_run()
    assert titles(one, first, only_released=True) == []
    release(one, first)
    number = one.exports.begin(first, only_released=True)
    with pytest.raises(LeaseError, match="is reading it"):
        begin_walk(two, FEED, second, NOW)
    assert [entry["title"] for entry in one.exports.read_changes(number)] == ["a"]
    one.exports.end(number)
    begin_walk(two, FEED, second, NOW)
    commit(two, *read(second, "b"))
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
