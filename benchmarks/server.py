"""Serves chains of generated Atom documents from a process that ends when its standard input does."""

import asyncio
import contextlib
import hashlib
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import cached_property
from ipaddress import IPv4Address
from pathlib import Path
from random import Random
from typing import Any
from xml.sax.saxutils import escape

ROOT = Path(__file__).parent.parent
# Stands for the root of a feed in the documents, which are the same for all feeds.
ANY_ROOT = "http://root.invalid"
BACKLOG = 1000
FIRST = datetime(2004, 1, 1)  # noqa: DTZ001
BETWEEN = timedelta(minutes=37)
TEXT = """
    about above across after again against almost along although always among archive around asked away
    because become been before began begin behind believe between both bridge brought built café called
    came cannot carried cause century certain change children choose city clear close coming common company
    complete consider could country course cover crossed décembre despite different does done down during
    each early earth either enough even evening every example façade family feed few find first follow
    found from further gave general given going government great group grown had half happened hard have
    heard held help here high history house however hundred idea important into island itself joined just
    keep kind knew known land language large last later learned least leave left less letter life light
    line little lived local long looked made many matter maybe mean measure might minutes moment month more
    morning most mountain move much must naïve name near never next night nothing number often once only
    open order other outside over page paper part passed people perhaps place planned point possible
    present problem provide published question quite rather reached read really reason record remain report
    result right river road room same season second seemed seen several short should showed simple since
    small something sometimes soon speak stand started station still stood story street summer system table
    taken than their there these things think third those thought through time today together told took
    toward town travel true turned under until upon usual very village voice walked wanted watched water
    week weather went were what when where which while whole whose winter within without women words work
    world would write year young über Zürich
"""
WORDS = TEXT.split()
NAMES = ("Ada Byron", "Jean-Luc Moreau", "Søren Larsen", "Mei Lin 林梅", "Ivana Horvat", "John O'Neill")
TOPICS = ("archives", "books", "city", "events", "maps & plans", "music", "notes", "rail", "weather")
SEPARATORS = (" ",) * 9 + (", ",)


@dataclass(frozen=True)
class Chain:
    """A feed's documents, the same every time: number 1 is the oldest, the last the subscription document.

    :param documents: how many, the subscription document among them
    :param entries: in each of them
    :param root: URL of the server
    """

    documents: int
    entries: int
    root: str

    @property
    def paths(self) -> list[str]:
        return [self.path(number) for number in range(1, self.documents + 1)]

    def path(self, number: int) -> str:
        return "/index.atom" if number == self.documents else f"/archive/{number}.atom"

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {path: number for number, path in enumerate(self.paths, 1)}

    def number(self, path: str) -> int | None:
        return self._numbers.get(path)

    def document(self, number: int) -> bytes:
        newest = number * self.entries - 1
        random = Random(number)  # noqa: S311
        entries = [_entry(newest - i, random) for i in range(self.entries)]
        return "".join([self._head(number, newest), *entries, "</feed>\n"]).encode()

    def _head(self, number: int, newest: int) -> str:
        links = [_link("self", self.root + self.path(number))]
        if number > 1:
            links.append(_link("prev-archive", self.root + self.path(number - 1)))
        if number < self.documents:
            links.append(_link("current", self.root + self.path(self.documents)))
        return (
            '<?xml version="1.0" encoding="utf-8"?>\n'
            '<feed xmlns="http://www.w3.org/2005/Atom"'
            ' xmlns:fh="http://purl.org/syndication/history/1.0">\n'
            "<title>A long story</title>\n<id>tag:example.org,2004:story</id>\n"
            f"<updated>{_time(newest, 1)}</updated>\n{''.join(links)}"
            f"{'<fh:archive/>' if number < self.documents else ''}\n"
        )


def _time(number: int, minutes: int = 0) -> str:
    return f"{(FIRST + number * BETWEEN + timedelta(minutes=minutes)).isoformat()}Z"


def _link(rel: str, href: str, more: str = "") -> str:
    return f'<link rel="{rel}" href="{escape(href)}"{more}/>\n'


def _sentence(random: Random, words: int) -> str:
    chosen = random.choices(WORDS, k=words)
    separators = random.choices(SEPARATORS, k=words - 1)
    text = "".join(part for pair in zip(chosen, separators, strict=False) for part in pair)
    return f"{text[:1].upper()}{text[1:]}{chosen[-1]}."


def _entry(number: int, random: Random) -> str:
    authors = random.sample(NAMES, 1 if number % 7 else 2)
    topics = random.sample(TOPICS, 1 + number % 3)
    page = f"https://example.org/{2004 + number // 14000}/{number}/{random.choice(WORDS)}.html"
    parts = [
        f"<entry>\n<id>tag:example.org,2004:entry/{number}</id>\n",
        f"<title>{escape(_sentence(random, random.randint(3, 11)))}</title>\n",
        _link("alternate", page, ' type="text/html"'),
        f"<published>{_time(number)}</published>\n<updated>{_time(number, number % 2)}</updated>\n",
        *(f"<author><name>{escape(name)}</name></author>\n" for name in authors),
        *(f'<category term="{escape(topic)}"/>\n' for topic in topics),
    ]
    if number % 10 == 0:
        file = f"https://example.org/media/{number}.mp3"
        parts.append(_link("enclosure", file, f' type="audio/mpeg" length="{random.randrange(10**8)}"'))
    if number % 5:
        parts.append(f"<summary>{escape(_sentence(random, random.randint(10, 40)))}</summary>\n")
    parts.append(f'<content type="html">{escape(_html(random, page))}</content>\n</entry>\n')
    return "".join(parts)


def _html(random: Random, page: str) -> str:
    paragraphs = [
        f"<p>{_sentence(random, random.randint(8, 20))} {_sentence(random, random.randint(8, 20))}</p>\n"
        for _ in range(random.randint(2, 5))
    ]
    word = random.choice(WORDS)
    paragraphs.insert(1, f'<p>See <a href="{page}#{word}">{word} &amp; more</a> <em>{word}</em>.</p>\n')
    return "".join(paragraphs)


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
        return 0 if feed < self.busy else feed % self.hosts


class Server:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._chain = Chain(site.documents, site.entries, ANY_ROOT)
        numbers = range(0) if site.lazy else range(1, site.documents + 1)
        self._documents = {number: self._chain.document(number) for number in numbers}

    async def serve(self) -> list[str]:
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
    with serving_feeds(Site(documents, entries, **more)) as [url]:
        yield url


@contextlib.contextmanager
def serving_feeds(site: Site) -> Iterator[list[str]]:
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
    print(*await Server(Site(**json.loads(sys.argv[1]))).serve(), flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
