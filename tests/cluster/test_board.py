"""What the workers of a job share, on a real Redis."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

import pytest
from redis import Redis

from fhcrawl.cluster.board import Board, Item
from fhcrawl.exceptions import ClusterError

if TYPE_CHECKING:
    from collections.abc import Iterator

_numbers = itertools.count(1)


@pytest.fixture
def server(redis_url: str) -> Iterator[Redis]:
    with Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def name() -> str:
    return f"board {os.getpid()} {next(_numbers)}"


@pytest.fixture
def one(server: Redis, name: str) -> Board:
    return joined(server, name, "one", None)


@pytest.fixture
def two(server: Redis, name: str, one: Board) -> Board:
    return joined(server, name, "two", one.job)


def joined(server: Redis, name: str, worker: str, before: str | None, job: str = "job 1") -> Board:
    board = Board(server, name, 60)
    assert board.join(job, worker, before)
    return board


def item(feed: str, host: str = "example.org", request: str = "{}") -> Item:
    return Item(feed, host, {"limit": 1}, request)


def taken(board: Board) -> str | None:
    found = board.take()
    return None if found is None else found.item.feed


def test_host_is_asked_by_one_worker_at_a_time(one: Board, two: Board) -> None:
    one.put(item("a"), item("b"))
    assert taken(one) == "a"
    assert (taken(one), taken(two)) == (None, None)
    assert not two.take_host("example.org")
    two.leave_host("example.org", 0, "")
    assert taken(two) is None
    one.leave_host("example.org", 0, "")
    assert taken(two) == "b"


def test_host_that_asks_for_time_gets_it_from_all(one: Board, two: Board) -> None:
    one.put(item("a"), item("b"))
    one.put(item("c", "example.net"))
    assert taken(one) == "a"
    one.leave_host("example.org", 60, "slowly")
    assert taken(two) == "c"
    assert taken(two) is None
    assert not one.take_host("example.org")


def test_what_a_host_asks_for_goes_with_it(one: Board, two: Board) -> None:
    one.put(item("a"), item("b"))
    one.take()
    one.leave_host("example.org", 0, "slowly")
    found = two.take()
    assert found is not None
    assert found == (item("b"), "slowly")


def test_feed_is_read_by_one_worker_at_a_time(one: Board, two: Board) -> None:
    one.put(item("a", "example.org"), item("a", "example.net"))
    assert taken(one) == "a"
    assert taken(two) is None
    assert not two.rest()
    one.release_feed("a", [item("a", "example.com")])
    assert two.queued() == 2
    assert taken(two) == "a"


def test_hosts_take_turns(one: Board) -> None:
    one.put(*(item(f"{host}{number}", host) for host in "hi" for number in (1, 2)))
    order = []
    while (found := one.take()) is not None:
        order.append(found.item.feed)
        one.leave_host(found.item.host, 0, "")
    assert sorted(order[:2]) != ["h1", "h2"]
    assert set(order) == {"h1", "h2", "i1", "i2"}


def test_job_ends_when_no_worker_has_anything_to_do(one: Board, two: Board) -> None:
    assert not one.rest()
    two.put(item("a"))
    assert not two.rest()
    assert taken(two) == "a"
    assert not two.rest()
    two.release_feed("a")
    assert two.rest()
    assert one.rest()
    assert one.current() is None


def test_worker_that_works_again_rests_no_more(one: Board, two: Board) -> None:
    assert not one.rest()
    two.put(item("a"))
    assert taken(one) == "a"
    one.release_feed("a")
    assert not two.rest()
    assert one.rest()


def test_what_a_dead_worker_had_is_taken_over(one: Board, two: Board) -> None:
    one.put(item("a"), item("b", "example.net"), item("c"))
    assert one.claim_feed("begun", {"reversed": True})
    assert not two.claim_feed("begun", {})
    assert {taken(one), taken(one)} == {"a", "b"}
    assert two.take_over("one") == {"a": {"limit": 1}, "b": {"limit": 1}, "begun": {"reversed": True}}
    assert two.members() == {"two"}
    # Its hosts may be asked, but by itself.
    assert taken(two) == "c"
    assert not one.release_feed("a", [item("a")])
    one.put(item("d", "example.com"))
    assert not one.claim_feed("e", {})
    assert two.queued() == 0
    two.put(item("d", "example.com"))
    assert taken(one) is None
    assert taken(two) == "d"


def test_hosts_that_are_still_asked_stay_in_hand(server: Redis, name: str) -> None:
    board = Board(server, name, 0)
    assert board.join("job 1", "one", None)
    other = joined(server, name, "two", "job 1")
    board.put(item("a"), item("b"))
    assert taken(board) == "a"
    board._microseconds = 60_000_000
    board.keep_hosts(["example.org", "example.net"])
    assert taken(other) is None


def test_new_job_takes_the_place_of_one_that_is_given_up(server: Redis, name: str, one: Board) -> None:
    one.put(item("a"))
    other = Board(server, name, 60)
    assert not other.join("job 2", "two", None)
    assert not other.join("job 2", "two", "job 0")
    assert other.join("job 2", "two", "job 1")
    assert other.queued() == 0
    assert other.current() == "job 2"
    assert one.rest()
    assert not list(server.scan_iter(f"fhcrawl:{name}:job 1:*"))


def test_nothing_is_left_in_redis_when_a_job_has_ended(server: Redis, name: str, one: Board) -> None:
    one.put(item("a"))
    one.take()
    one.leave_host("example.org", 60, "slowly")
    one.release_feed("a")
    assert one.rest()
    assert not list(server.scan_iter(f"fhcrawl:{name}*"))


def test_redis_that_fails_is_a_sentence() -> None:
    board = Board(Redis(port=1), "nowhere", 60)
    with pytest.raises(ClusterError, match=r"Redis failed: .*see to it, and to REDIS_URL"):
        board.current()
