"""Which of several crawls may write to a feed."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from fhcrawl import items
from fhcrawl.exceptions import LeaseError, StoreError
from fhcrawl.exporters import storages
from fhcrawl.logical_feed import ChainPosition, Role, Version
from fhcrawl.logical_feed.results import CommitBatch, DocumentResult, Fetch, Order
from fhcrawl.store import Store, Subscription
from tests.databases import Database
from tests.stores import begin_walk

FEED = "http://example.org/index"
NOW = "2004-01-01T00:00:00Z"
FIELDS: dict[str, object] = {**dict.fromkeys(items.FIELDS), "authors": [], "categories": [], "enclosures": []}


@pytest.fixture
def one(database: Database) -> Iterator[Store]:
    yield from opened(database)


@pytest.fixture
def two(database: Database) -> Iterator[Store]:
    yield from opened(database)


def opened(database: Database) -> Iterator[Store]:
    store = Store.open(database.url)
    yield store
    store.close()


def read(run: int, *contents: str) -> tuple[DocumentResult, CommitBatch]:
    """What is committed of the subscription document, whose entry has been edited."""
    fetch = Fetch(FEED, FEED, FEED, FEED, Role.SUBSCRIPTION, ChainPosition(1, 0), NOW, run=run)
    batch = CommitBatch()
    for content in contents:
        version = Version("1", Order(0, "", 0, 1, 0, 0), content)
        batch.accepted = {"1": (version, {**FIELDS, "title": content})}
    return DocumentResult(fetch, kind="single"), batch


def refuse_all_writes(store: Store, run: int, why: str | None = None) -> None:
    """See a store refuse to write anything about the feed."""
    result, batch = read(run, "late")
    documents = store.documents
    writes = (
        partial(documents.commit, result, batch),
        partial(documents.note_failure, result),
        partial(documents.note_confirmation, result),
    )
    for write in writes:
        with pytest.raises(LeaseError, match=why):
            write()


def test_feed_belongs_to_one_run_until_that_has_ended(one: Store, two: Store) -> None:
    first, second = one.begin_run(), two.begin_run()
    begin_walk(one, FEED, first, NOW)
    with pytest.raises(LeaseError, match=f"another crawl is reading it .process {os.getpid()} on "):
        begin_walk(two, FEED, second, NOW)
    with pytest.raises(LeaseError):
        two.walks.forget(FEED, NOW)
    assert [feed.feed for feed in one.feeds.read(first)] == [FEED]
    assert list(two.feeds.read(second)) == []
    begin_walk(two, "http://example.org/other", second, NOW)
    one.close()
    assert begin_walk(two, FEED, second, NOW).feed == FEED


def test_feeds_that_begin_together_are_refused_one_by_one(one: Store, two: Store) -> None:
    begin_walk(one, FEED, one.begin_run(), NOW)
    second = two.begin_run()
    others = ["http://example.org/b", "http://example.org/a"]
    begun = two.walks.begin([others[0], FEED, others[1]], second, NOW)
    assert isinstance(begun.pop(FEED), LeaseError)
    assert begun == {url: Subscription(url, url, 1, second) for url in others}
    assert [feed.feed for feed in two.feeds.read(second)] == sorted(others)


def test_run_whose_feed_was_taken_over_writes_nothing_more(
    one: Store, two: Store, database: Database
) -> None:
    first, second = one.begin_run(), two.begin_run()
    begin_walk(one, FEED, first, NOW)
    one.documents.commit(*read(first, "before"))
    database.execute(f"UPDATE runs SET expires = 1 WHERE id = {first}")
    begin_walk(two, FEED, second, NOW)
    refuse_all_writes(one, first, "has taken over the feed")
    two.close()
    with pytest.raises(LeaseError):
        one.documents.commit(*read(first, "after"))
    assert [entry["title"] for entry in one.entries.read()] == ["before"]
    assert list(one.exports.read_changes(one.exports.begin(first))) == []


def test_run_that_was_silent_goes_on_if_nobody_has_taken_its_feed(one: Store, database: Database) -> None:
    run = one.begin_run()
    begin_walk(one, FEED, run, NOW)
    database.execute("UPDATE runs SET expires = 1")
    one.documents.commit(*read(run, "after"))
    assert [entry["title"] for entry in one.entries.read()] == ["after"]


def test_lease_is_renewed_when_it_is_due(
    one: Store, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    one.documents.commit(*read(run))
    assert expires() > 1


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


def test_file_system_without_locks_leaves_it_to_the_expiry(
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
    assert [path.name for path in tmp_path.glob("*-run*")] == ["store-run2"]
    stores[1].close()


def test_delivery_of_a_living_run_is_its_own(one: Store, two: Store, tmp_path: Path) -> None:
    first = one.begin_run()
    begin_walk(one, FEED, first, NOW)
    one.documents.commit(*read(first, "a"))
    number = one.exports.begin(first)
    written = storages.Part(tmp_path / "out.jsonl").complete()
    two.begin_run()
    storages.recover(two)
    storages.deliver(one, number, [written])
    assert (tmp_path / "out.jsonl").exists()
    assert list(one.exports.read_changes(one.exports.begin(first))) == []


def test_delivery_that_was_taken_for_dead_delivers_nothing(
    one: Store, two: Store, database: Database, tmp_path: Path
) -> None:
    first = one.begin_run()
    begin_walk(one, FEED, first, NOW)
    one.documents.commit(*read(first, "a"))
    number = one.exports.begin(first)
    database.execute("UPDATE runs SET expires = 1")
    second = two.begin_run()
    storages.recover(two)
    begin_walk(two, FEED, second, NOW)
    written = storages.Part(tmp_path / "out.jsonl").complete()
    with pytest.raises(LeaseError, match="considered this one dead"):
        storages.deliver(one, number, [written])
    assert not (tmp_path / "out.jsonl").exists()
    assert len(list(two.exports.read_changes(two.exports.begin(second)))) == 1


def test_process_that_slept_leaves_the_deliveries_of_others_alone(
    one: Store, two: Store, database: Database
) -> None:
    """Another one has settled its delivery meanwhile, and begun one of its own."""
    first = one.begin_run()
    begin_walk(one, FEED, first, NOW)
    one.documents.commit(*read(first, "a"))
    number = one.exports.begin(first)
    database.execute("UPDATE runs SET expires = 1")
    second = two.begin_run()
    storages.recover(two)
    begin_walk(two, FEED, second, NOW)
    other = two.exports.begin(second)
    with pytest.raises(LeaseError, match="considered this one dead"):
        one.exports.note_files(number, [])
    one.exports.end(number)
    one.exports.cancel(number)
    assert [entry["title"] for entry in two.exports.read_changes(other)] == ["a"]
    two.exports.note_files(other, [])


def test_runs_that_nothing_belongs_to_are_forgotten(one: Store, database: Database) -> None:
    for _ in range(3):
        begin_walk(one, FEED, one.begin_run(), NOW)
        one.close()
    one.begin_run()
    assert database.rows("SELECT id FROM runs ORDER BY id") == [(3,), (4,)]


def test_store_without_a_run_writes_nothing(one: Store) -> None:
    with pytest.raises(StoreError, match="No crawl has begun"):
        begin_walk(one, FEED, 1, NOW)
