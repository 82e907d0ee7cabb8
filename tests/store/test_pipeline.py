"""Transactions that are sent to PostgreSQL, and their results."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from psycopg import DatabaseError, OperationalError
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from fhcrawl.store import database as pipelines
from fhcrawl.store import opening
from fhcrawl.store.database import Pipeline
from tests.databases import Database

pytestmark = pytest.mark.postgresql_only("pipelines")

TEXTS = ["", "a", "NULL", '"quoted"', "back\\slash", "{1,2}", "two\nlines", "für 雪 🙂", None]


@pytest.fixture
def engine(database: Database) -> Iterator[Engine]:
    database.execute("CREATE TABLE kept (id INTEGER PRIMARY KEY, word TEXT)")
    *_, engine = opening.modes(opening.engine(opening.parsed(database.url)))
    yield engine
    engine.dispose()


@pytest.fixture
def pipeline(engine: Engine) -> Iterator[Pipeline]:
    pipeline = Pipeline(engine)
    yield pipeline
    pipeline.wait()


class RefusedError(Exception):
    """What a writer raises."""


def keep(*ids: int) -> Callable[[Connection], int]:
    def write(connection: Connection) -> int:
        for number in ids:
            connection.exec_driver_sql("INSERT INTO kept VALUES (%s, '100 %%')", (number,))
        return len(ids)

    return write


def send(pipeline: Pipeline, write: Callable[[Connection], Any], answered: Callable[[Any], None]) -> None:
    try:
        pipeline.send(write, answered)
    except (DatabaseError, DBAPIError) as error:
        answered(error)


def kept(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        found = text("SELECT id FROM kept WHERE word = :word ORDER BY id")
        return list(connection.scalars(found, {"word": "100 %"}))


def test_only_a_transaction_that_fails_is_undone(engine: Engine, pipeline: Pipeline) -> None:
    answers: list[object] = []
    for ids in ((1, 2), (3, 1, 4), (5,)):
        send(pipeline, keep(*ids), answers.append)
    pipeline.wait()
    assert kept(engine) == [1, 2, 5]
    assert (answers[0], answers[2]) == (2, 1)
    assert "UniqueViolation" in repr(answers[1])

    def write(connection: Connection) -> None:
        keep(6)(connection)
        raise RefusedError

    with pytest.raises(RefusedError):
        pipeline.send(write, answers.append)
    assert len(answers) == 3
    pipeline.send(keep(7), answers.append)
    pipeline.wait()
    assert kept(engine) == [1, 2, 5, 7]


def test_transaction_is_committed_without_a_wait(database: Database, pipeline: Pipeline) -> None:
    pipeline.send(keep(1), lambda answer: None)
    deadline = time.monotonic() + 60
    while database.rows("SELECT id FROM kept") != [(1,)]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_answers_come_while_the_event_loop_runs(engine: Engine, pipeline: Pipeline) -> None:
    async def wait() -> object:
        answer = asyncio.get_running_loop().create_future()
        send(pipeline, keep(1), answer.set_result)
        return await asyncio.wait_for(answer, 60)

    # Each time in another loop.
    assert asyncio.run(wait()) == 1
    assert "UniqueViolation" in repr(asyncio.run(wait()))
    assert kept(engine) == [1]


def test_result_is_delivered_once_after_the_loop_is_closed(engine: Engine, pipeline: Pipeline) -> None:
    async def send() -> None:
        pipeline.send(keep(1), answers.append)

    answers: list[object] = []
    # Whether it comes while the loop is closed depends on the server.
    asyncio.run(send())
    pipeline.wait()
    pipeline.wait()
    assert answers == [1]


def test_who_is_answered_may_send(engine: Engine, pipeline: Pipeline) -> None:
    def again(answer: int | Exception) -> None:
        answers.append(kept(engine))
        pipeline.send(keep(2), answers.append)
        pipeline.wait()

    answers: list[object] = []
    pipeline.send(keep(1), again)
    pipeline.wait()
    assert answers == [[1], 1]
    assert kept(engine) == [1, 2]


def test_transaction_may_be_larger_than_network_buffers(engine: Engine, pipeline: Pipeline) -> None:
    def write(connection: Connection) -> None:
        for number in range(8):
            connection.exec_driver_sql("INSERT INTO kept VALUES (%s, %s)", (number, "x" * 4_000_000))

    answers: list[object] = []
    pipeline.send(write, answers.append)
    pipeline.wait()
    assert answers == [None]


def test_statement_may_be_prepared_later(database: Database, engine: Engine, pipeline: Pipeline) -> None:
    def write(connection: Connection) -> None:
        keep(1)(connection)
        connection.exec_driver_sql("INSERT INTO later VALUES (%s)", (1,))

    answers: list[object] = []
    send(pipeline, write, answers.append)
    pipeline.wait()
    assert kept(engine) == []
    database.execute("CREATE TABLE later (id INTEGER)")
    pipeline.send(write, answers.append)
    pipeline.wait()
    assert kept(engine) == [1]
    assert ["later" in str(answer) for answer in answers] == [True, False]


def test_lists_and_strings_come_as_they_are(engine: Engine) -> None:
    numbers = [*range(len(TEXTS) - 1), None]
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(
            "SELECT unnest(%s::TEXT[]), unnest(%s::INTEGER[]), unnest(%s::TEXT[]), %s::TEXT, true",
            (TEXTS, numbers, [None] * len(TEXTS), TEXTS[7]),
        ).all()
    assert [tuple(row) for row in rows] == [
        (word, number, None, TEXTS[7], True) for word, number in zip(TEXTS, numbers, strict=True)
    ]


@pytest.mark.parametrize("value", ["a\0b", ["a", "a\0b"]])
def test_string_with_nul_fails_its_transaction(engine: Engine, pipeline: Pipeline, value: object) -> None:
    def write(connection: Connection) -> None:
        keep(1)(connection)
        connection.exec_driver_sql("SELECT %s::TEXT", (value,))

    answers: list[object] = []
    send(pipeline, write, answers.append)
    pipeline.wait()
    assert isinstance(answers[0], Exception)
    assert kept(engine) == []


def test_server_that_is_silent_is_not_waited_for_for_ever(
    engine: Engine, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(connection: Connection) -> None:
        keep(1)(connection)
        os.kill(pids[0], signal.SIGSTOP)

    with engine.connect() as connection:
        pids = connection.exec_driver_sql("SELECT pg_backend_pid()").scalars().all()
    monkeypatch.setattr(pipelines, "ANSWER_SECONDS", 1)
    answers: list[object] = []
    try:
        pipeline.send(write, answers.append)
        pipeline.wait()
    finally:
        os.kill(pids[0], signal.SIGCONT)
    assert isinstance(answers[0], OperationalError)
    assert "not responded for 1 seconds" in str(answers[0])
    pipeline.send(keep(2), answers.append)
    pipeline.wait()
    assert answers[1:] == [1]
