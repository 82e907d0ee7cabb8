"""Hosts that serve publishers with faults chosen by a seed, and kill the crawl at a given moment."""

import gzip
import hashlib
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from random import Random
from typing import NamedTuple

from typing_extensions import Self

from tests import server
from tests.chaos.publishers import Answer, Publisher

STATUSES = (500, 502, 503, 429, 404, 410, 403, 304)
BODIES = ("cut", "cut-close", "cut-chunked", "bad-gzip", "cut-gzip", "empty", "html", "reset-amid")
CONNECTIONS = ("reset", "silent", "too-slow", "loop", "to-nowhere")
HARMLESS = ("slow", "gzip", "chunked", "close", "detour")
# Of caches: an earlier copy, and a 304 that is wrong.
COPIES = ("stale", "stale", "304")
HTML = b"<!DOCTYPE html><html><head><title>Oops</title></head><body>Come back later<br></body></html>"
PIECES = 8
SILENCE_SECONDS = 4.0


class Plan(NamedTuple):
    """What goes wrong in a run.

    :param faults: how many of the requests, 0 to 1
    :param changes: before how many of the requests the publisher changes something, 0 to 1
    :param copies: how many of the requests a cache answers, 0 to 1
    """

    faults: float
    changes: float
    copies: float = 0


QUIET = Plan(0, 0)


class Kill(NamedTuple):
    """When a crawl is killed: at a request, counted from 1.

    :param when: `before` the answer, `amid` it, `after` it
    :param delay: seconds from then
    """

    request: int
    when: str
    delay: float


@dataclass
class Hosts:
    """Servers on several addresses of this machine.

    :param kill: when the crawl is to be killed; None: not at a request
    :param strike: kills it
    """

    plan: Plan = QUIET
    kill: Kill | None = None
    strike: Callable[[], None] = lambda: None
    requests: int = 0
    requested: Counter[str] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    over: threading.Event = field(default_factory=threading.Event)
    publishers: dict[str, Publisher] = field(default_factory=dict)
    faults: dict[str, Random] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._servers: list[Server] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.over.set()
        for running in self._servers:
            running.shutdown()
            running.server_close()

    def start(self, address: str) -> str:
        running = Server((address, 0), Handler)
        running.hosts = self
        self._servers.append(running)
        threading.Thread(target=running.serve_forever, args=(0.05,), daemon=True).start()
        return f"http://{address}:{running.server_port}"

    def add(self, publisher: Publisher, rng: Random) -> None:
        self.publishers[publisher.name] = publisher
        self.faults[publisher.name] = rng

    def begin(self, plan: Plan, kill: Kill | None, strike: Callable[[], None]) -> None:
        self.plan, self.kill, self.strike = plan, kill, strike
        self.requests = 0
        self.requested.clear()
        self.over = threading.Event()

    def end(self) -> None:
        """A run is over: nobody waits for an answer any more."""
        self.over.set()

    def ask(self, path: str) -> tuple[Answer | None, str, bool, Kill | None]:
        with self.lock:
            publisher = self.publishers.get(path.split("/")[1])
            if publisher is None:
                return None, "", False, None
            self.requests += 1
            kill = self.kill if self.kill is not None and self.kill.request == self.requests else None
            event = publisher.change() if publisher.rng.random() < self.plan.changes else ""
            fault = self._fault(self.faults[publisher.name])
            answer = publisher.answer(path)
            if fault == "stale":
                answer = publisher.stale(path, self.faults[publisher.name]) or answer
            self.requested[path] += 1
            self.lines.append(f"{self.requests} {path} {event} {fault} {kill or ''}")
            return answer, fault, publisher.validator == "etag", kill

    def _fault(self, rng: Random) -> str:
        if rng.random() < self.plan.copies:
            return rng.choice(COPIES)
        if rng.random() >= self.plan.faults:
            return ""
        kinds = rng.choices((STATUSES, BODIES, CONNECTIONS, HARMLESS), (3, 4, 2, 2))[0]
        return str(rng.choice(kinds))


class Server(ThreadingHTTPServer):
    daemon_threads = True
    hosts: Hosts

    def handle_error(self, *args: object) -> None:
        pass  # the crawl has been killed, or does not want to wait


class Handler(server.Handler):
    wbufsize = 0  # `after` an answer is when it was sent
    disable_nagle_algorithm = True
    server: Server  # type: ignore[assignment]

    def do_GET(self) -> None:  # noqa: N802
        hosts = self.server.hosts
        answer, fault, etags, kill = hosts.ask(self.path)
        over = hosts.over
        if kill is not None and kill.when == "before":
            self._strike(kill)
        if fault.isdecimal():
            self._send(int(fault), HTML, {"Retry-After": "1"} if fault in ("429", "503") else {})
        elif fault in CONNECTIONS:
            self._break(fault, answer, over)
        elif answer is None:
            self._send(404, HTML, {})
        elif answer.location is not None:
            self._send(answer.status, b"", {"Location": answer.location})
        elif answer.status != 200:
            self._send(answer.status, HTML, {})
        else:
            self._document(answer, fault, etags, kill, over)
        if kill is not None and kill.when == "after":
            self._strike(kill)

    def _strike(self, kill: Kill) -> None:
        timer = threading.Timer(kill.delay, self.server.hosts.strike)
        timer.daemon = True
        timer.start()

    def _break(self, fault: str, answer: Answer | None, over: threading.Event) -> None:
        if fault == "reset":
            self.reset()
        elif fault == "silent":
            over.wait(SILENCE_SECONDS)
            self.close_connection = True
        elif fault == "too-slow":
            body = HTML if answer is None else answer.body
            self._head(200, {"Content-Length": str(len(body) + 1)})
            self._dribble(body, SILENCE_SECONDS / PIECES, over)
            self.close_connection = True
        else:
            to = self.path if fault == "loop" else f"{self.path}-nowhere"
            self._send(302 if fault == "loop" else 301, b"", {"Location": to})

    def _document(
        self, answer: Answer, fault: str, etags: bool, kill: Kill | None, over: threading.Event
    ) -> None:
        headers = {"Content-Type": answer.content_type}
        etag = f'"{hashlib.sha256(answer.body).hexdigest()[:12]}"'
        if etags:
            headers["ETag"] = etag
            if self.headers.get("If-None-Match") == etag and fault in ("", "stale"):
                self._send(304, b"", headers)
                return
        elif answer.modified:
            headers["Last-Modified"] = answer.modified
            if self.headers.get("If-Modified-Since") == answer.modified and fault in ("", "stale"):
                self._send(304, b"", headers)
                return
        if kill is not None and kill.when == "amid":
            self._head(200, {**headers, "Content-Length": str(len(answer.body))})
            self._dribble(answer.body[: len(answer.body) // 2], 0, over)
            self._strike(kill)
            over.wait(SILENCE_SECONDS)
            self.close_connection = True
            return
        self._spoiled(answer.body, fault, headers, over)

    def _spoiled(self, body: bytes, fault: str, headers: dict[str, str], over: threading.Event) -> None:
        length = {"Content-Length": str(len(body))}
        part = body[: int(hashlib.sha256(body).hexdigest(), 16) % len(body)]
        if fault in ("cut", "reset-amid"):
            self._head(200, {**headers, **length})
            self.wfile.write(part)
            if fault == "reset-amid":
                self.reset()
            self.close_connection = True
        elif fault in ("cut-close", "close"):
            self._head(200, {**headers, "Connection": "close"})
            self.wfile.write(part if fault == "cut-close" else body)
            self.close_connection = True
        elif fault in ("cut-chunked", "chunked"):
            self._chunked(part if fault == "cut-chunked" else body, headers, complete=fault == "chunked")
        elif fault in ("bad-gzip", "cut-gzip", "gzip"):
            packed = gzip.compress(body)
            sent = {"bad-gzip": body, "cut-gzip": packed[: len(packed) * 2 // 3], "gzip": packed}[fault]
            self._send(200, sent, {**headers, "Content-Encoding": "gzip"})
        elif fault == "slow":
            self._head(200, {**headers, **length})
            self._dribble(body, 0.01, over)
        elif fault == "detour":
            self._send(302, b"", {"Location": self.path})
        else:
            self._send(200, {"empty": b"", "html": HTML}.get(fault, body), headers)

    def _chunked(self, body: bytes, headers: dict[str, str], complete: bool) -> None:
        self._head(200, {**headers, "Transfer-Encoding": "chunked"})
        self.wfile.write(f"{len(body):x}\r\n".encode() + body + b"\r\n" if body else b"")
        if complete:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def _dribble(self, body: bytes, pause: float, over: threading.Event) -> None:
        step = max(1, len(body) // PIECES)
        for begin in range(0, len(body), step):
            self.wfile.write(body[begin : begin + step])
            self.wfile.flush()
            if pause and over.wait(pause):
                return

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self._head(status, {**headers, "Content-Length": str(len(body))})
        if status != 304:
            self.wfile.write(body)
