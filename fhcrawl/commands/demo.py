"""`fhcrawl demo`: serves a feed on this machine and crawls it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shlex
import shutil
import sys
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.exceptions import UsageError

from fhcrawl.core import command
from fhcrawl.core.components import add_components
from fhcrawl.utils import interrupts

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

FOLDER = Path("fhcrawl-demo")
HOST, PORT = "127.0.0.1", 8642
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


class Command(command.Command):
    requires_crawler_process = True
    default_settings: ClassVar[dict[str, object]] = {}
    usage = "[--anew]"
    description = (
        "Serve an archived feed of several years on this machine, crawl it and print a summary. Run it "
        "again: the publisher has added a month and revised an entry, and only the changes are fetched. All "
        "files are in the folder fhcrawl-demo."
    )
    examples = (
        "fhcrawl demo",
        "fhcrawl demo --anew",
    )
    options: ClassVar[dict[str, dict[str, Any]]] = {
        "--anew": {"action": "store_true", "help": "delete the folder and start over"}
    }

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        super().process_options(args, opts)
        if not opts.loglevel:
            self.settings.set("LOG_LEVEL", "WARNING", priority="cmdline")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from fhcrawl.commands.crawl import check

        if opts.anew:
            shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(exist_ok=True)
        run = len(list(FOLDER.glob("run-*.jsonl"))) + 1
        output, store = FOLDER / f"run-{run}.jsonl", (FOLDER / "store.sqlite").resolve()
        self.settings.set("FEEDS", {str(output): {"format": "jsonlines"}}, "cmdline")
        self.settings.set("FHCRAWL_STORE_URL", f"sqlite:///{store}", "cmdline")
        self.settings.set("USER_AGENT", "fhcrawl-demo (+https://localhost/)", "cmdline")
        with _serve(run) as url:
            add_components(self.settings)
            check(self.settings, {"feed": url})
            print(f"Run {run}: serving a feed at {url} and crawling its history")
            crawler = self.crawler_process.create_crawler("history")
            self.run_crawl(crawler, feed=url)
        if self.signals.number == 1:
            interrupts.tell()
        if self.signals.number:
            return
        if not output.exists():
            self.exitcode = 1
        if not self.exitcode:
            _summarise(run, crawler.stats.get_stats(), output, store)


# The port is that of earlier runs: the store identifies the feed by its URL.
@contextlib.contextmanager
def _serve(run: int) -> Iterator[str]:
    port_file = FOLDER / "port"
    port = int(port_file.read_text()) if port_file.exists() else PORT
    try:
        server = _Server((HOST, port), _Handler)
    except OSError as error:
        if port_file.exists():
            raise UsageError(
                f"Port {port}, which earlier runs used, is not available ({error.strerror}); try again "
                f"later, or start over with 'fhcrawl demo --anew'",
                print_help=False,
            ) from error
        server = _Server((HOST, 0), _Handler)
    port_file.write_text(str(server.server_port))
    server.publisher = Publisher(MONTHS_AT_FIRST + run - 1, f"http://{HOST}:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"{server.publisher.root}/index.atom"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    publisher: Publisher


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: two would be delayed (Nagle, delayed acknowledgement)
    server: _Server

    def do_GET(self) -> None:
        document = self.server.publisher.document(self.path)
        if document is None:
            self._send(404, b"", {})
            return
        body = document.encode()
        etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        headers = {"Content-Type": "application/atom+xml", "ETag": etag}
        if self.headers.get("If-None-Match") == etag:
            self._send(304, b"", headers)
        else:
            self._send(200, body, headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass  # the crawl logs its requests


def _summarise(run: int, stats: dict[str, Any], output: Path, store: Path) -> None:
    def count(name: str) -> int:
        return int(stats.get(f"fhcrawl/{name}", 0))

    verdict = next(word for word in ("complete", "incomplete", "lossy", "unknown") if count(f"feed/{word}"))
    with output.open(encoding="utf-8") as file:
        changes = [json.loads(line)["change"] for line in file]
    fetched = count("document/processed") + count("document/unchanged")
    repeated = count("entry/duplicate") + count("entry/stale")
    skipped, fhcrawl = stats.get("deltafetch/skipped", 0), _program()
    print(f"""
Documents  {fetched} fetched{", the rest already processed" if skipped else ""}
Exported   {len(changes)} entries: {changes.count("new")} new, {changes.count("updated")} updated
Repeated   {repeated} in several documents: each is exported once, in its newest version
Verdict    {verdict}
File       {output.resolve()}
Store      {store}

Run it again: the publisher adds a month, and only what is new is fetched.
To see this feed's verdict, and export all of its entries:
    {fhcrawl} feeds -s FHCRAWL_STORE_URL=sqlite:///{FOLDER}/store.sqlite
    {fhcrawl} export -s FHCRAWL_STORE_URL=sqlite:///{FOLDER}/store.sqlite -o history.jsonl
To crawl a feed of your own:
    {fhcrawl} crawl https://example.org/index.atom -o entries.jsonl""")


def _program() -> str:
    script, installed = Path(sys.argv[0]).with_name("fhcrawl"), shutil.which("fhcrawl")
    if not script.exists() or (installed and script.samefile(installed)):
        return "fhcrawl"
    below = script.is_relative_to(Path.cwd())
    return shlex.quote(str(script.relative_to(Path.cwd()) if below else script))


# RFC 5005, 4.1: a subscription document, and monthly archives. Every ninth entry is revised two months later,
# and its new version is in that month's archive. Each archive repeats the last entry of the one before it.
@dataclass(frozen=True)
class Publisher:
    months: int
    root: str

    def document(self, path: str) -> str | None:
        if path == "/index.atom":
            newest = self.months * ENTRIES_A_MONTH
            entries = [(number, False) for number in range(newest, newest - SHOWN, -1)]
            links = {"self": path, "prev-archive": _path(self.months - 1)}
            return self._feed(entries, links, _begin(self.months), archive=False)
        return next((self._archive(month) for month in range(self.months) if _path(month) == path), None)

    def _archive(self, month: int) -> str:
        links = {"current": "/index.atom", "self": _path(month)}
        if month > 0:
            links["prev-archive"] = _path(month - 1)
        if month < self.months - 1:
            links["next-archive"] = _path(month + 1)
        first = month * ENTRIES_A_MONTH
        entries = [(number, False) for number in range(first + ENTRIES_A_MONTH, max(first - 1, 0), -1)]
        revisable = range(first - 2 * ENTRIES_A_MONTH + 1, first - ENTRIES_A_MONTH + 1)
        entries += [(number, True) for number in revisable if number > 0 and number % REVISED_EVERY == 0]
        return self._feed(entries, links, _begin(month + 1), archive=True)

    def _feed(
        self, entries: list[tuple[int, bool]], links: dict[str, str], updated: datetime, archive: bool
    ) -> str:
        lines = [f'  <link rel="{rel}" href="{self.root}{path}"/>' for rel, path in links.items()]
        if archive:
            lines.append("  <fh:archive/>")
        head = HEAD.format(updated=_time(updated), links="\n".join(lines))
        return head + "".join(self._entry(*entry) for entry in entries) + "</feed>\n"

    def _entry(self, number: int, is_revised: bool) -> str:
        month, position = divmod(number - 1, ENTRIES_A_MONTH)
        published = _begin(month) + timedelta(days=2 * position, hours=20)
        updated = _begin(month + 2) + timedelta(days=3) if is_revised else published
        topic = TOPICS[number % len(TOPICS)]
        return ENTRY.format(
            year=published.year,
            number=number,
            title=f"Watch {number}: {topic}",
            root=self.root,
            published=_time(published),
            updated=_time(updated),
            topic=topic,
            text=f"Entry {number} of the log, on {topic}." + (" Corrected." if is_revised else ""),
        )


def _path(month: int) -> str:
    return f"/{FIRST_YEAR + month // 12}/{month % 12 + 1:02}.atom"


def _begin(month: int) -> datetime:
    return datetime(FIRST_YEAR + month // 12, month % 12 + 1, 1, tzinfo=timezone.utc)


def _time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
