"""The wire between a store and PostgreSQL: counts round trips, and can be cut."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from typing import TYPE_CHECKING

from sqlalchemy import make_url

if TYPE_CHECKING:
    from collections.abc import Iterator

# https://www.postgresql.org/docs/current/protocol-message-formats.html
PARSE, BIND, QUERY, SYNC = b"P", b"B", b"Q", b"S"
HEAD = 5
WRITES = (b"INSERT", b"UPDATE", b"DELETE")
PATIENCE_SECONDS = 20


class Wire:
    """Passes on what clients at `port` say to a server and back.

    :param before: trips when `hold` was called
    :param trips: round trips so far: what was asked up to each synchronization point, but for statements that
        were only prepared
    :param holds: while this is set, answers wait until something is asked that does not only write, and who
        waits for one before has no luck; then only what is asked counts as a trip
    """

    def __init__(self, server: tuple[str, int]) -> None:
        self.trips = 0
        self.before = 0
        self.holds = False
        self._statements: dict[bytes, bytes] = {}
        self._asked: list[bytes] = []
        self._may_answer = threading.Event()
        self._may_answer.set()
        self._server = server
        self._ends: list[socket.socket] = []
        self._listening: socket.socket | None = None
        self.port = 0
        self.mend()

    def hold(self) -> None:
        """Hold answers from now on, and remember how many trips there were."""
        self.holds = True
        self.before = self.trips

    def release(self) -> int:
        """Hold no more; how many trips there were since."""
        self.holds = False
        self._may_answer.set()
        return self.trips - self.before

    def mend(self) -> None:
        """Accept connections."""
        self._listening = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()

    def cut(self) -> None:
        """End all connections, and accept no more."""
        if self._listening is not None:
            # Closed alone, it would go on accepting until the thread's call returns.
            with contextlib.suppress(OSError):
                self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()
        self.drop()

    def drop(self) -> None:
        """End all connections."""
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._ends.clear()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            server = socket.create_connection(self._server)
            self._ends += (client, server)
            threading.Thread(target=self._questions, args=(client, server), daemon=True).start()
            threading.Thread(target=self._answers, args=(server, client), daemon=True).start()

    def _questions(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            # The first message has no type.
            server.sendall(_message(client, b""))
            while True:
                kind = _exactly(client, 1)
                message = _message(client, kind)
                self._note(kind, message)
                server.sendall(message)
        _close(client, server)

    def _note(self, kind: bytes, message: bytes) -> None:
        if kind == PARSE:
            name, statement, *_ = message[HEAD:].split(b"\0", 2)
            self._statements[name] = statement
        elif kind == BIND:
            _portal, name, *_ = message[HEAD:].split(b"\0", 2)
            self._asked.append(self._statements[name])
        elif kind == QUERY or (kind == SYNC and self._asked):
            self._note_end(self._asked)
            self._asked = []

    def _note_end(self, asked: list[bytes]) -> None:
        if self.holds and asked and all(statement.startswith(WRITES) for statement in asked):
            self._may_answer.clear()
        else:
            self.trips += 1
            self._may_answer.set()

    def _answers(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while part := server.recv(1 << 16):
                if not self._may_answer.wait(PATIENCE_SECONDS):
                    self.release()
                    break
                client.sendall(part)
        _close(client, server)


def _exactly(end: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = end.recv(size - len(received))
        if not part:
            raise EOFError
        received += part
    return received


def _message(end: socket.socket, kind: bytes) -> bytes:
    length = _exactly(end, 4)
    return kind + length + _exactly(end, struct.unpack("!i", length)[0] - 4)


def _close(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def wire_to(url: str) -> Iterator[tuple[Wire, str]]:
    """A wire to a database, and the URL that leads over it."""
    parsed = make_url(url)
    assert parsed.host is not None
    assert parsed.port is not None
    wire = Wire((parsed.host, parsed.port))
    over = parsed.set(port=wire.port).update_query_dict({"sslmode": "disable", "gssencmode": "disable"})
    try:
        yield wire, over.render_as_string(hide_password=False)
    finally:
        wire.cut()
