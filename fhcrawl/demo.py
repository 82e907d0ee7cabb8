"""The server of `fhcrawl demo`: a feed of many years that follows RFC 5005, 4.1, and grows and changes."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST_YEAR = 2021
MONTHS_AT_FIRST = 36
ENTRIES_A_MONTH = 12
SHOWN = 15
REVISED_EVERY = 9
TOPICS = ("tides", "harbour lights", "the night ferry", "salt marshes", "old charts", "storm glass")

HEAD = """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:fh="http://purl.org/syndication/history/1.0">
  <title>The Lighthouse Keeper's Log</title>
  <id>urn:uuid:2f0d8a4e-7a0f-4d0c-9d0b-5c3f6f1f9a10</id>
  <updated>{updated}</updated>
  <author><name>The Keeper</name></author>
{links}
"""
ENTRY = """  <entry>
    <id>tag:lighthouse.example,{year}:{number}</id>
    <title>{title}</title>
    <link href="{root}/log/{number}"/>
    <published>{published}</published>
    <updated>{updated}</updated>
    <category term="{topic}"/>
    <content type="html">&lt;p&gt;{text}&lt;/p&gt;</content>
  </entry>
"""


class Month(NamedTuple):
    """The month of an archive; 0 is January of the first year."""

    number: int

    @property
    def path(self) -> str:
        """The path of the archive's URL."""
        return f"/{FIRST_YEAR + self.number // 12}/{self.number % 12 + 1:02}.atom"

    @property
    def begin(self) -> datetime:
        """The first moment of the month."""
        return datetime(FIRST_YEAR + self.number // 12, self.number % 12 + 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Publisher:
    """Serves the subscription document and the archives of a number of months.

    Every ninth entry is revised two months later, and its new version is in that month's archive. Each
    archive repeats the last entry of the one before it. The subscription document contains the newest
    entries, which are in the archives too.

    :param months: number of archives
    """

    months: int
    root: str

    def document(self, path: str) -> str | None:
        """Return the feed document at a path; None if there is none."""
        if path == "/index.atom":
            return self._subscription()
        for number in range(self.months):
            if Month(number).path == path:
                return self._archive(Month(number))
        return None

    def _subscription(self) -> str:
        newest = self.months * ENTRIES_A_MONTH
        entries = [(n, 0) for n in range(newest, newest - SHOWN, -1)]
        links = {"self": "/index.atom", "prev-archive": Month(self.months - 1).path}
        return self._feed(entries, links, Month(self.months).begin, archive=False)

    def _archive(self, month: Month) -> str:
        links = {"current": "/index.atom", "self": month.path}
        if month.number > 0:
            links["prev-archive"] = Month(month.number - 1).path
        if month.number < self.months - 1:
            links["next-archive"] = Month(month.number + 1).path
        first = month.number * ENTRIES_A_MONTH
        entries = [(n, 0) for n in range(first + ENTRIES_A_MONTH, max(first - 1, 0), -1)]
        entries += [(n, 1) for n in self._revised_in(month)]
        return self._feed(entries, links, Month(month.number + 1).begin, archive=True)

    @staticmethod
    def _revised_in(month: Month) -> list[int]:
        first = (month.number - 2) * ENTRIES_A_MONTH
        return [n for n in range(first + 1, first + ENTRIES_A_MONTH + 1) if n > 0 and n % REVISED_EVERY == 0]

    def _feed(
        self, entries: list[tuple[int, int]], links: dict[str, str], updated: datetime, archive: bool
    ) -> str:
        lines = [f'  <link rel="{rel}" href="{self.root}{path}"/>' for rel, path in links.items()]
        if archive:
            lines.append("  <fh:archive/>")
        head = HEAD.format(updated=_time(updated), links="\n".join(lines))
        return head + "".join(self._entry(*entry) for entry in entries) + "</feed>\n"

    def _entry(self, number: int, revision: int) -> str:
        month = Month((number - 1) // ENTRIES_A_MONTH)
        published = month.begin + timedelta(days=2 * ((number - 1) % ENTRIES_A_MONTH), hours=20)
        updated = Month(month.number + 2).begin + timedelta(days=3) if revision else published
        topic = TOPICS[number % len(TOPICS)]
        text = f"Entry {number} of the log, on {topic}." + (" Corrected." if revision else "")
        return ENTRY.format(
            year=published.year,
            number=number,
            title=escape(f"Watch {number}: {topic}"),
            root=self.root,
            published=_time(published),
            updated=_time(updated),
            topic=topic,
            text=text,
        )


def _time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


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
