"""The wire between a store and PostgreSQL: counts round trips, and can be cut."""

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator

from sqlalchemy import make_url

# https://www.postgresql.org/docs/current/protocol-message-formats.html
BIND, QUERY, SYNC = b"B", b"Q", b"S"


class Wire:
    """Passes on what clients at `port` say to a server and back.

    :param trips: round trips so far: synchronization points with statements before them
    """

    def __init__(self, server: tuple[str, int]) -> None:
        self.trips = 0
        self._has_asked = False
        self._server = server
        self._ends: list[socket.socket] = []
        self._listening: socket.socket | None = None
        self.port = 0
        self.mend()

    def mend(self) -> None:
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
                self._note(kind)
                server.sendall(message)
        _close(client, server)

    def _note(self, kind: bytes) -> None:
        if kind == BIND:
            self._has_asked = True
        elif kind == QUERY or (kind == SYNC and self._has_asked):
            self.trips += 1
            self._has_asked = False

    def _answers(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while part := server.recv(1 << 16):
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
