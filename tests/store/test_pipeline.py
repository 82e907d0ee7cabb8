"""Batches of statements for PostgreSQL, and their answers."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import pytest
from psycopg import DataError, OperationalError
from sqlalchemy import text

from fhcrawl.store import opening
from fhcrawl.store import pipeline as pipelines
from fhcrawl.store.pipeline import STATEMENTS_REMEMBERED, Pipeline, Wire

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import Error

    from fhcrawl.store.pipeline import Batch
    from tests.databases import Database

pytestmark = pytest.mark.postgresql_only("pipelines")

TEXTS = ["", "a", "NULL", '"quoted"', "back\\slash", "{1,2}", "two\nlines", "für 雪 🙂", None]


@pytest.fixture
def pipeline(database: Database) -> Iterator[Pipeline]:
    database.execute("CREATE TABLE kept (id INTEGER PRIMARY KEY, word TEXT)")
    engine = opening.engine(opening.parsed(database.url))
    pipeline = Pipeline(engine)
    yield pipeline
    pipeline.close()
    engine.dispose()


def keep(pipeline: Pipeline, *ids: int) -> Batch:
    """An insertion of each."""
    batch = pipeline.batch()
    for number in ids:
        batch.exec_driver_sql("INSERT INTO kept VALUES (%s, '100 %%')", (number,))
    return batch


def kept(pipeline: Pipeline) -> list[int]:
    """What is there, as what is sent next sees it."""
    batch = pipeline.batch()
    batch.execute(text("SELECT id FROM kept WHERE word = :word ORDER BY id"), {"word": "100 %"})
    [rows] = pipeline.ask(batch)
    return [row.id for row in rows]  # type: ignore[attr-defined]


def test_batch_that_fails_is_undone_and_those_around_it_are_not(pipeline: Pipeline) -> None:
    answers: list[Error | None] = []
    for ids in ((1, 2), (3, 1), (4,)):
        pipeline.send(keep(pipeline, *ids), answers.append)
    assert kept(pipeline) == [1, 2, 4]
    assert [answer and answer.sqlstate for answer in answers] == [None, "23505", None]


def test_answers_come_while_the_event_loop_runs(pipeline: Pipeline) -> None:
    async def wait() -> object:
        answer = asyncio.get_running_loop().create_future()
        pipeline.send(keep(pipeline, 1), answer.set_result)
        return await asyncio.wait_for(answer, 60)

    # Each time in another loop.
    assert asyncio.run(wait()) is None
    assert asyncio.run(wait()).sqlstate == "23505"  # type: ignore[attr-defined]
    assert kept(pipeline) == [1]


def test_who_is_answered_may_send_and_ask(pipeline: Pipeline) -> None:
    found: list[object] = []

    def again(error: Error | None) -> None:
        pipeline.send(keep(pipeline, 2), found.append)
        found.append(kept(pipeline))

    pipeline.send(keep(pipeline, 1), again)
    pipeline.settle()
    assert found == [None, [1, 2]]


def test_statements_may_be_more_than_are_remembered(pipeline: Pipeline) -> None:
    for _ in range(2):
        batch = pipeline.batch()
        for number in range(STATEMENTS_REMEMBERED + 10):
            batch.exec_driver_sql(f"SELECT {number} + %s::INTEGER AS number", (1,))
        found = pipeline.ask(batch)
        assert [rows[0][0] for rows in found] == list(range(1, STATEMENTS_REMEMBERED + 11))


def test_statement_that_cannot_be_prepared_can_be_later(pipeline: Pipeline, database: Database) -> None:
    answers: list[str | None] = []

    def count() -> None:
        batch = keep(pipeline, 1)
        batch.exec_driver_sql("INSERT INTO later VALUES (%s)", (1,))
        pipeline.send(batch, lambda error: answers.append(None if error is None else error.sqlstate))

    count()
    assert kept(pipeline) == []
    database.execute("CREATE TABLE later (id INTEGER)")
    count()
    assert kept(pipeline) == [1]
    assert answers == ["42P01", None]


def test_lists_and_strings_come_as_they_are(pipeline: Pipeline) -> None:
    batch = pipeline.batch()
    numbers = [*range(len(TEXTS) - 1), None]
    batch.exec_driver_sql(
        "SELECT unnest(%s::TEXT[]), unnest(%s::INTEGER[]), unnest(%s::TEXT[]), %s::TEXT, true",
        (TEXTS, numbers, [None] * len(TEXTS), TEXTS[7]),
    )
    [rows] = pipeline.ask(batch)
    assert [tuple(row) for row in rows] == [
        (word, number, None, TEXTS[7], True) for word, number in zip(TEXTS, numbers, strict=True)
    ]


@pytest.mark.parametrize("value", ["a\0b", ["a", "a\0b"]])
def test_nothing_is_sent_of_what_cannot_be_said(pipeline: Pipeline, value: object) -> None:
    batch = keep(pipeline, 1)
    batch.exec_driver_sql("SELECT %s::TEXT", (value,))
    with pytest.raises(DataError, match="NUL"):
        pipeline.send(batch, lambda error: None)
    assert kept(pipeline) == []


def test_loop_looks_for_no_answer_when_none_is_to_come(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> int:
        monkeypatch.undo()
        raise OperationalError("the connection is lost")

    async def send() -> bool:
        monkeypatch.setattr(Wire, "send", fail)
        # What is asked then goes over a new connection, which the loop would look at for ever.
        pipeline.send(keep(pipeline, 1), lambda error: found.append(kept(pipeline)))
        return pipeline._loop is not None

    found: list[object] = []
    assert not asyncio.run(send())
    assert found == [[]]


def test_server_that_is_silent_is_not_waited_for_for_ever(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = pipeline.batch()
    batch.exec_driver_sql("SELECT pg_backend_pid() AS pid", ())
    [[(pid,)]] = pipeline.ask(batch)
    monkeypatch.setattr(pipelines, "ANSWER_SECONDS", 1)
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(OperationalError, match="silent for 1 seconds"):
            kept(pipeline)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert kept(pipeline) == []
