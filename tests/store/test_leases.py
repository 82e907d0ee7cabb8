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
from fhcrawl.logical_feed.results import CommitBatch, DocumentResult, Fetch
from fhcrawl.logical_feed.versions import Order
from fhcrawl.store import Store, Subscription, leases
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


OTHER_MACHINE = "process elsewhere 0/pid:[1] 1 1 1"


def of_this_machine(pid: int, start: str | None) -> str:
    _process, host, machine, *_ = leases.this_process().split(" ")
    return f"process {host} {machine} {pid} {start} 1"


def gone() -> str:
    """The owner of a process that has ended."""
    code = "from fhcrawl.store import leases; print(leases.this_process(), 1)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("owner", "is_free"),
    [
        (gone().strip(), True),
        (of_this_machine(os.getpid(), "1"), True),
        (of_this_machine(1, leases._start(1)), False),
        (OTHER_MACHINE, False),
    ],
    ids=["ended", "number used again", "living", "of another machine"],
)
def test_lease_of_a_process_that_is_gone_is_free_at_once(
    one: Store, two: Store, database: Database, owner: str, is_free: bool
) -> None:
    begin_walk(one, FEED, one.begin_run(), NOW)
    one.exports.begin(1)
    database.execute(f"UPDATE runs SET owner = '{owner}'")
    run = two.begin_run()
    if is_free:
        assert begin_walk(two, FEED, run, NOW).walk == 1
    else:
        with pytest.raises(LeaseError):
            begin_walk(two, FEED, run, NOW)
    assert bool(two.exports.find_dead()) is is_free
    database.execute("UPDATE runs SET expires = 1 WHERE id = 1")
    assert begin_walk(two, FEED, run, NOW).walk == 1
    assert two.exports.find_dead()


@pytest.mark.parametrize(("days", "is_free"), [(1, False), (3, True)])
def test_lease_that_ends_later_than_any_can_is_free(
    one: Store, two: Store, database: Database, days: int, is_free: bool
) -> None:
    """It was noted by a clock that was wrong, before the machine was started anew."""
    begin_walk(one, FEED, first := one.begin_run(), NOW)
    one.exports.begin(first)
    expires = int(time.time()) + days * 24 * 3600
    database.execute(f"UPDATE runs SET owner = '{OTHER_MACHINE}', expires = {expires}")
    run = two.begin_run()
    assert bool(two.exports.find_dead()) is is_free
    if is_free:
        assert begin_walk(two, FEED, run, NOW).walk == 1
    else:
        with pytest.raises(LeaseError):
            begin_walk(two, FEED, run, NOW)


def test_process_that_proc_hides_is_living(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It shows those of other users to nobody but root, if it was mounted so."""
    ours, gone_by = of_this_machine(1, "1"), gone()

    def kill(pid: int, sent: int) -> None:
        assert sent == 0
        raise PermissionError if pid == 1 else ProcessLookupError

    machine = leases._machine()
    monkeypatch.setattr(leases, "_machine", lambda: machine)
    monkeypatch.setattr(leases, "PROC", tmp_path)
    monkeypatch.setattr("fhcrawl.store.leases.os.kill", kill)
    assert not leases.is_gone(ours)
    assert leases.is_gone(gone_by)


@pytest.mark.parametrize("number", [os.getpid(), 1], ids=["own /proc", "that of another PID namespace"])
def test_processes_are_compared_where_their_numbers_and_start_times_can_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int
) -> None:
    boot, spaces = tmp_path / "sys/kernel/random/boot_id", tmp_path / str(number) / "ns"
    boot.parent.mkdir(parents=True)
    boot.write_text("boot\n")
    spaces.mkdir(parents=True)
    (spaces / "pid").symlink_to("pid:[1]")
    (tmp_path / "self").symlink_to(str(number))
    monkeypatch.setattr(leases, "PROC", tmp_path)
    is_own = number == os.getpid()
    assert leases._machine() == ("boot/pid:[1]" if is_own else leases.NO_MACHINE)
    # A time namespace shifts the start times of processes.
    (spaces / "time").symlink_to("time:[2]")
    assert leases._machine() == ("boot/pid:[1]/time:[2]" if is_own else leases.NO_MACHINE)


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
