"""What a worker makes good of a dead one, without processes."""

from __future__ import annotations

import os
from contextlib import closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from redis import Redis
from scrapy.utils.test import get_crawler

from fhcrawl.cluster.board import Board
from fhcrawl.cluster.extension import ClusterExtension
from fhcrawl.exporters import delivery
from fhcrawl.store import Store, leases
from tests.store.test_leases import FEED, NOW
from tests.store.test_leases import read as subscription
from tests.stores import begin_walk

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.databases import Database


class Worker:
    """A worker of a job with its own store and board."""

    def __init__(self, url: str, server: Redis, job: str, before: str | None) -> None:
        self.store = Store.open(url)
        self.run = self.store.begin_run(job)
        self.board = Board(server, "extension", 60)
        assert self.board.join(job, f"{leases.this_process()} {self.run}", before)

    def close(self) -> None:
        self.board.leave()
        self.store.close()


def read(worker: Worker, content: str) -> None:
    result, batch = subscription(worker.run, content)
    batch.stored = worker.store.entries.find_winners(FEED, ["1"], NOW)
    worker.store.documents.commit(result, batch)


def changes(worker: Worker) -> list[tuple[str, str]]:
    number = worker.store.exports.begin(worker.run)
    return [(entry["title"], entry["change"]) for entry in worker.store.exports.read_changes(number)]


def test_what_a_dead_worker_has_in_its_file_counts_as_exported_before_its_feed_goes_on(
    database: Database, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lost Redis, exported, and was killed between the name of its file and the mark in the store."""
    monkeypatch.setattr("fhcrawl.cluster.extension.PATIENCE_SECONDS", 0.0)
    job = f"{tmp_path.name} {os.getpid()}"
    with (
        Redis.from_url(redis_url) as server,
        closing(Worker(database.url, server, job, None)) as successor,
        closing(Worker(database.url, server, job, job)) as dead,
    ):
        begin_walk(dead.store, FEED, dead.run, NOW)
        read(dead, "a")
        number = dead.store.exports.begin(dead.run)
        file, beside = delivery.open_beside(tmp_path / "out.jsonl", "wb")
        written = delivery.close_whole(file, beside, tmp_path / "out.jsonl")
        dead.store.exports.note_files(number, [list(written)])
        os.replace(written.written, written.name)
        dead.board.claim_feed(FEED, {})
        database.execute(f"UPDATE runs SET expires = 1 WHERE id = {dead.run}")

        extension = ClusterExtension(get_crawler(), successor.store, successor.run, successor.board)
        extension.look_after_others(cast("Any", SimpleNamespace(first=lambda *_: ())))
        assert [feed.feed for feed in successor.store.feeds.read(successor.run)] == [FEED]
        read(successor, "b")
        assert changes(successor) == [("b", "updated")]
