"""Transactions that PostgreSQL executes while the crawl goes on.

They use libpq's pipeline mode: https://www.psycopg.org/psycopg3/docs/advanced/pipeline.html
"""

from __future__ import annotations

import asyncio
import selectors
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import psycopg
    from sqlalchemy import Connection, Engine

T = TypeVar("T")

# How long to wait for a silent server: its machine is gone then, or it has been stopped.
ANSWER_SECONDS = 120


class Sent(NamedTuple):
    """A transaction that was sent.

    :param resources: the open pipeline and its connection; closing them collects the results
    :param result: for `answered` when the transaction is committed
    :param loop: calls `Pipeline.settle` when results arrive; None if no event loop was running
    """

    resources: ExitStack
    driver: psycopg.Connection[Any]
    result: Any
    answered: Callable[[Any], None]
    loop: asyncio.AbstractEventLoop | None


class Pipeline:
    """Sends transactions without waiting for their results; at most one is pending.

    :param engine: its connections are in autocommit mode
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._sent: Sent | None = None

    def send(
        self,
        write: Callable[[Connection], T],
        answered: Callable[[T | Exception], None],
    ) -> None:
        """Send a transaction, after the pending one.

        If this raises, nothing is written, and `answered` is not called.

        :param write: executes the statements, whose results are not available
        :param answered: called by the event loop or by `settle`: with the result of `write` when that is
            committed, or with the error that prevented it
        """
        self.settle()
        with ExitStack() as resources:
            connection = resources.enter_context(self._engine.connect())
            driver = resources.enter_context(_pipeline(connection))
            connection.exec_driver_sql("BEGIN")
            result = write(connection)
            connection.exec_driver_sql("COMMIT")
            # Otherwise, the server keeps the results until the pipeline is closed.
            driver.pgconn.send_flush_request()
            while driver.pgconn.flush():
                _wait(driver, selectors.EVENT_READ | selectors.EVENT_WRITE)
            self._sent = Sent(resources.pop_all(), driver, result, answered, self._watch(driver))

    def settle(self) -> None:
        """Wait for the pending transaction, if there is one."""
        if self._sent is None:
            return
        (resources, driver, outcome, answered, loop), self._sent = self._sent, None
        if loop is not None and not loop.is_closed():
            loop.remove_reader(driver)
        try:
            with resources:
                _wait(driver, selectors.EVENT_READ)
        except driver.Error as error:
            outcome = error
        answered(outcome)

    def _watch(self, driver: psycopg.Connection[Any]) -> asyncio.AbstractEventLoop | None:
        """Let the running event loop call `settle` when results arrive; return the loop."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return None
        loop.add_reader(driver, self.settle)
        return loop


@contextmanager
def _pipeline(connection: Connection) -> Iterator[psycopg.Connection[Any]]:
    """Open the pipeline of a connection; discard all connections of the engine if this one is lost."""
    driver: Any = connection.connection.driver_connection
    first: BaseException | None = None
    try:
        with driver.pipeline():
            try:
                yield driver
            except BaseException as error:  # noqa: BLE001 - raised below: psycopg would log a warning
                first = error
    except driver.Error as error:
        first = first or error
    if driver.closed:
        connection.invalidate()
        connection.engine.dispose()
    if first is not None:
        raise first


def _wait(driver: psycopg.Connection[Any], events: int) -> None:
    """Wait until the server's socket is ready; close the connection if the server is silent."""
    with selectors.PollSelector() as selector:
        selector.register(driver, events)
        if not selector.select(ANSWER_SECONDS):
            driver.close()
            raise driver.OperationalError(f"the server has been silent for {ANSWER_SECONDS} seconds")
