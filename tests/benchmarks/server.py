"""Serves feeds from a process of its own, which ends when its standard input does."""

import asyncio
import contextlib
import hashlib
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from tests.benchmarks.chain import Chain

ROOT = Path(__file__).parent.parent.parent
# Stands for the root of a feed in the documents, which are the same for all feeds.
ANY_ROOT = "http://root.invalid"
BACKLOG = 1000


@dataclass(frozen=True)
class Site:
    """What is served: feeds, spread over hosts at `first_host` and the addresses behind it.

    :param documents: of each feed, the subscription document among them
    :param entries: in each document
    :param lazy: documents are made for each request, and not before the first one
    :param delay: seconds before each answer
    :param busy: so many feeds are on the first host, whatever the others have
    :param port: of the hosts; 0: one that is free, of each
    """

    documents: int
    entries: int
    lazy: bool = False
    delay: float = 0
    feeds: int = 1
    hosts: int = 1
    busy: int = 0
    port: int = 0
    first_host: str = "127.0.0.1"

    def host_of(self, feed: int) -> int:
        """The number of the host that a feed is on."""
        return 0 if feed < self.busy else feed % self.hosts


class Server:
    """Answers requests for a site's documents, and for robots.txt, which is not there."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._chain = Chain(site.documents, site.entries, ANY_ROOT)
        numbers = range(0) if site.lazy else range(1, site.documents + 1)
        self._documents = {number: self._chain.document(number) for number in numbers}

    async def serve(self) -> list[str]:
        """Begin to serve; the URLs of the feeds."""
        roots = []
        for number in range(self._site.hosts):
            host = str(IPv4Address(self._site.first_host) + number)
            listening = socket.create_server((host, self._site.port), backlog=BACKLOG)
            roots.append(f"http://{host}:{listening.getsockname()[1]}")
            await asyncio.start_server(self._connection, sock=listening)
        index = self._chain.path(self._site.documents)
        hosts = map(self._site.host_of, range(self._site.feeds))
        return [f"{roots[host]}/{feed}{index}" for feed, host in enumerate(hosts)]

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
                headers = dict(line.lower().partition(": ")[::2] for line in lines)
                await asyncio.sleep(self._site.delay)
                writer.write(self._answer(first.split(" ")[1], headers))
                await writer.drain()

    def _answer(self, path: str, headers: dict[str, str]) -> bytes:
        """Head and body."""
        _, feed, *rest = path.split("/", 2)
        number = self._chain.number(f"/{rest[0]}") if rest else None
        if number is None:
            return _answer("404 Not Found", b"")
        root = f"http://{headers['host']}/{feed}"
        document = self._documents.get(number) or self._chain.document(number)
        body = document.replace(ANY_ROOT.encode(), root.encode())
        etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        if headers.get("if-none-match") == etag:
            return _answer("304 Not Modified", b"", etag)
        return _answer("200 OK", body, etag)


def _answer(status: str, body: bytes, etag: str | None = None) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/atom+xml\r\nContent-Length: {len(body)}\r\n"
    validator = f"ETag: {etag}\r\n" if etag else ""
    return f"{head}{validator}\r\n".encode() + body


@contextlib.contextmanager
def serving(documents: int, entries: int, **more: Any) -> Iterator[str]:
    """Serve one feed; yields the subscription document's URL.

    :param more: the others of `Site`
    """
    with serving_feeds(Site(documents, entries, **more)) as [url]:
        yield url


@contextlib.contextmanager
def serving_feeds(site: Site) -> Iterator[list[str]]:
    """Serve a site; yields the URLs of the feeds."""
    command = [sys.executable, "-m", __name__, json.dumps(asdict(site))]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the server has no pipes")
        try:
            yield process.stdout.readline().split()
        finally:
            process.stdin.close()


async def main() -> None:
    """Serve until the standard input ends."""
    print(*await Server(Site(**json.loads(sys.argv[1]))).serve(), flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
