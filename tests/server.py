"""A feed server on loopback that does what a test tells it to, and records the requests."""

from __future__ import annotations

import contextlib
import hashlib
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase

from typing_extensions import Self


@dataclass
class Answer:
    """What a path answers.

    :param cut: send only so many bytes of the body, though Content-Length promises all
    :param delay: seconds before the answer
    :param reset: break the connection instead
    :param etag: whether there is an ETag: that of the body, or this one
    :param raw: writes the complete answer, from the status line on, until the other side has had enough
    """

    body: bytes = b""
    status: int = 200
    content_type: str = "application/atom+xml"
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    delay: float = 0
    reset: bool = False
    etag: bool | str = True
    raw: Callable[[BufferedIOBase], None] | None = None

    def reply(self, known: str | None) -> tuple[Answer, list[tuple[str, str]]]:
        """Return what is answered to a request, and its header.

        :param known: If-None-Match
        """
        of_body = f'"{hashlib.sha256(self.body).hexdigest()[:12]}"'
        etag = self.etag if isinstance(self.etag, str) else of_body
        is_known = self.etag and self.status == 200 and known == etag
        answer = Answer(status=304, content_type=self.content_type) if is_known else self
        fields = [("ETag", etag)] if answer.body and answer.etag else []
        return answer, [*fields, ("Content-Type", answer.content_type), *answer.headers.items()]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    server: Server

    def do_GET(self) -> None:
        feeds = self.server.feeds
        answer = feeds.note(self.path, dict(self.headers.items()))
        time.sleep(answer.delay)
        feeds.note_end()
        if answer.raw is not None:
            self.close_connection = True
            with contextlib.suppress(OSError):
                answer.raw(self.wfile)
        elif answer.reset:
            self.reset()
        else:
            self.answer(answer)

    def reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def answer(self, answer: Answer) -> None:
        answer, fields = answer.reply(self.headers.get("If-None-Match"))
        self.send_response(answer.status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body[: answer.cut])
        if answer.cut is not None:
            self.close_connection = True

    def log_message(self, *args: object) -> None:
        pass

    def finish(self) -> None:
        # A test has broken the connection, or the crawler has been killed.
        with contextlib.suppress(OSError, ValueError):
            super().finish()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    feeds: FeedServer


class FeedServer:
    """The server: set `answers[path]`, read `requests`.

    `arrivals` has the time of each request, `busiest` how many were answered at once.
    """

    def __init__(self, address: tuple[str, int] = ("127.0.0.1", 0)) -> None:
        self.forget()
        self._server = Server(address, Handler)
        self._server.feeds = self
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def forget(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.arrivals: list[float] = []
        self.busy = self.busiest = 0
        self.lock = threading.Lock()
        self.on_request: Callable[[str], None] | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def root(self) -> str:
        return f"http://{self._server.server_address[0]!s}:{self._server.server_port}"

    def url(self, path: str) -> str:
        return self.root + path

    def serve(self, path: str, body: str | bytes, **kwargs: object) -> None:
        encoded = body.encode() if isinstance(body, str) else body
        self.answers[path] = Answer(encoded, **kwargs)  # type: ignore[arg-type]

    def note(self, path: str, headers: dict[str, str]) -> Answer:
        with self.lock:
            answer = self.answers.get(path)
            self.requests.append(path)
            self.headers.append(headers)
            self.arrivals.append(time.monotonic())
            self.busy += 1
            self.busiest = max(self.busiest, self.busy)
        if self.on_request is not None:
            self.on_request(path)
        return Answer(status=404) if answer is None else answer

    def note_end(self) -> None:
        with self.lock:
            self.busy -= 1

    def requested(self) -> list[str]:
        """The paths that were requested since the last call, without robots.txt."""
        with self.lock:
            paths, self.requests = self.requests, []
            self.headers = []
            self.arrivals = []
        return [path for path in paths if path != "/robots.txt"]
