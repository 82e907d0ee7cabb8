"""Serves a chain from a process of its own, which ends when its standard input does."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.chain import NAMINGS, Chain

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent.parent
HOST = "127.0.0.1"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ChainServer

    def do_GET(self) -> None:
        time.sleep(self.server.delay)
        # One write for head and body: two would wait for each other.
        self.wfile.write(self.server.answer(self.path, self.headers.get("If-None-Match")))

    def log_message(self, *args: object) -> None:
        pass


class ChainServer(ThreadingHTTPServer):
    """The server. Documents are made before the first request, or (lazy) for each request.

    :param delay: seconds before each answer
    :param everywhere: on all addresses of this machine, each of which has the chain as a feed of its own
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, documents: int, entries: int, lazy: bool, delay: float, naming: str, everywhere: bool
    ) -> None:
        super().__init__(("" if everywhere else HOST, 0), Handler)
        self.delay = delay
        root = "" if everywhere else f"http://{HOST}:{self.server_port}"
        self._chain = Chain(documents, entries, root, naming)
        numbers = range(0) if lazy else range(1, documents + 1)
        self._documents = {number: self._chain.document(number) for number in numbers}

    def answer(self, path: str, if_none_match: str | None) -> bytes:
        """Head and body."""
        number = self._chain.number(path)
        if number is None:
            return _answer("404 Not Found", b"")
        body = self._documents.get(number) or self._chain.document(number)
        etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        if if_none_match == etag:
            return _answer("304 Not Modified", b"", etag)
        return _answer("200 OK", body, etag)


def _answer(status: str, body: bytes, etag: str | None = None) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/atom+xml\r\nContent-Length: {len(body)}\r\n"
    validator = f"ETag: {etag}\r\n" if etag else ""
    return f"{head}{validator}\r\n".encode() + body


@contextlib.contextmanager
def serving(
    documents: int,
    entries: int,
    *,
    lazy: bool = False,
    delay: float = 0,
    naming: str = "counter",
    everywhere: bool = False,
) -> Iterator[str]:
    """Start the server; yields the subscription document's URL."""
    given = [str(documents), str(entries), "--delay", str(delay), "--naming", naming]
    switches = [*(["--lazy"] if lazy else []), *(["--everywhere"] if everywhere else [])]
    command = [sys.executable, "-m", __name__, *given, *switches]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the server has no pipes")
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", type=int)
    parser.add_argument("entries", type=int)
    parser.add_argument("--lazy", action="store_true")
    parser.add_argument("--everywhere", action="store_true")
    parser.add_argument("--delay", type=float, default=0)
    parser.add_argument("--naming", choices=NAMINGS, default="counter")
    server = ChainServer(**vars(parser.parse_args()))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://{HOST}:{server.server_port}/index.atom", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
