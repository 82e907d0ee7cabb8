"""An HTTP server for the demo's publisher."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from fhcrawl.demo.publisher import Publisher

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "127.0.0.1"


class Handler(BaseHTTPRequestHandler):
    """Responds with a feed document, with 304 if the client has it, or with 404."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: two would be delayed (Nagle, delayed acknowledgement)
    server: DemoServer

    def do_GET(self) -> None:
        """Send a feed document, 304 or 404."""
        document = self.server.publisher.document(self.path)
        if document is None:
            self._answer(404, b"", {})
            return
        body = document.encode()
        etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        headers = {"Content-Type": "application/atom+xml", "ETag": etag}
        if self.headers.get("If-None-Match") == etag:
            self._answer(304, b"", headers)
        else:
            self._answer(200, body, headers)

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Do nothing: the crawl logs its requests."""


class DemoServer(ThreadingHTTPServer):
    """The server, with the publisher whose documents it serves."""

    daemon_threads = True

    def __init__(self, port: int, months: int) -> None:
        super().__init__((HOST, port), Handler)
        self.publisher = Publisher(months, f"http://{HOST}:{self.server_port}")


@contextlib.contextmanager
def serve(port: int, months: int) -> Iterator[str]:
    """Serve a feed with a number of archives in a thread; yield the subscription document's URL.

    :param port: 0 for any
    :raises OSError: if the port is in use
    """
    server = DemoServer(port, months)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"{server.publisher.root}/index.atom"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
