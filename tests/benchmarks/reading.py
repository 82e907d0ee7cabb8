"""What reading a document costs without a crawl, beside feedparser, fastfeedparser and a bare lxml parse.

Run from the repository's root: python -m tests.benchmarks.reading

A time is that of a call until what it gives is freed again: fhcrawl's tree is freed before it returns. Memory
is what a call adds to a process that has imported the reader and holds the document.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import tempfile
import time
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from lxml import etree

from tests.benchmarks.chain import Chain
from tests.benchmarks.measuring import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lxml.etree import _Element

THIS = ["-m", "tests.benchmarks.reading"]
FORMATS = ("Atom", "RSS")
URL = "https://example.org/index.xml"
ATOM = "{http://www.w3.org/2005/Atom}"
ENTRY_SIZE = 1450  # bytes, on average
SMALL = (5_000, 150_000)
MEGABYTE = 1_000_000
LARGE = 20.0  # MB
MIB = 1024**2
ENOUGH = 0.1  # seconds; a process repeats short calls
READERS = ("fhcrawl", "feedparser", "fastfeedparser", "lxml")
TIME_TARGETS = {"feedparser": "0.2", "fastfeedparser": None, "lxml": "3"}
MEMORY_TARGET = "4"


class Document(NamedTuple):
    """:param name: format and size
    :param entries: how many are in it
    :param large: its memory is measured too
    """

    name: str
    path: Path
    entries: int
    large: bool

    @property
    def size(self) -> int:
        return self.path.stat().st_size


class Reading(NamedTuple):
    """:param seconds: the median of a process's calls
    :param memory: in MiB; None if it has not been measured
    """

    seconds: float
    memory: float | None


Round = dict[tuple[str, str], Reading]  # by document and reader


def main() -> None:
    options = _options()
    if options.call:
        reader, path, entries = options.call
        _call(reader, Path(path).read_bytes(), int(entries))
        return
    if options.write:
        folder, entries = options.write
        _write(Path(folder), int(entries))
        return
    print(_conditions(options), flush=True)
    with tempfile.TemporaryDirectory(prefix="fhcrawl-benchmark-") as name:
        documents = list(_documents(Path(name), options.large))
        rounds = [_round(documents, Path(name), number) for number in range(1, options.rounds + 1)]
        print(_table(documents, rounds))
        print("\n".join([f"{'ratio':48}{'median':>8}   target", *_ratios(documents, rounds)]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="how often each is run (default: 5)")
    parser.add_argument(
        "--large", type=float, default=LARGE, metavar="MB", help="size of the large documents (default: 20)"
    )
    parser.add_argument(
        "--no-large",
        dest="large",
        action="store_const",
        const=None,
        help="leave the large documents out, and with them the memory",
    )
    # What a process of this benchmark's own is started with.
    parser.add_argument("--call", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--write", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def _conditions(options: argparse.Namespace) -> str:
    names = ("lxml", "feedparser", "fastfeedparser")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    return f"{options.rounds} rounds; Python {platform.python_version()}, {versions}, {os.cpu_count()} CPUs"


# -- the documents --------------------------------------------------------------------------------


def _documents(folder: Path, large: float | None) -> Iterator[Document]:
    sizes = (*SMALL, *(() if large is None else (round(large * MEGABYTE),)))
    for size in sizes:
        entries = max(size // ENTRY_SIZE, 1)
        # This process has to stay small: the system counts what is resident when another one is started.
        measure([*THIS, "--write", str(folder), str(entries)], folder)
        for format_ in FORMATS:
            name = f"{format_}, {_size(size)}"
            yield Document(name, _path(folder, format_, entries), entries, size not in SMALL)


def _write(folder: Path, entries: int) -> None:
    atom = Chain(2, entries, "https://example.org").document(1)
    for format_, body in zip(FORMATS, (atom, rss(atom)), strict=True):
        _path(folder, format_, entries).write_bytes(body)


def _path(folder: Path, format_: str, entries: int) -> Path:
    return folder / f"{format_}-{entries}.xml"


def _size(size: int) -> str:
    return f"{size / MEGABYTE:g} MB" if size >= MEGABYTE else f"{size / 1000:g} KB"


def rss(atom: bytes) -> bytes:
    """The same in RSS 2.0, as publishing systems write it."""
    feed = etree.fromstring(atom)
    head = (
        '<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"'
        ' xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/"'
        ' xmlns:content="http://purl.org/rss/1.0/modules/content/"'
        ' xmlns:fh="http://purl.org/syndication/history/1.0">\n<channel>\n'
        f"{_tag('title', feed.findtext(f'{ATOM}title'))}<link>https://example.org/</link>\n"
        f"<lastBuildDate>{_date(feed, 'updated')}</lastBuildDate>\n<fh:archive/>\n"
        f'<atom:link rel="self" href="{URL}" type="application/rss+xml"/>\n'
    )
    items = "".join(_item(entry) for entry in feed.iterchildren(f"{ATOM}entry"))
    return f"{head}{items}</channel>\n</rss>\n".encode()


def _item(entry: _Element) -> str:
    links = {link.get("rel"): link for link in entry.iterchildren(f"{ATOM}link")}
    summary = entry.findtext(f"{ATOM}summary")
    parts = [
        f"<item>\n{_tag('title', entry.findtext(f'{ATOM}title'))}",
        _tag("link", links["alternate"].get("href")),
        f'<guid isPermaLink="false">{entry.findtext(f"{ATOM}id")}</guid>\n',
        f"<pubDate>{_date(entry, 'published')}</pubDate>\n",
        *(_tag("dc:creator", name.text) for name in entry.iterfind(f"{ATOM}author/{ATOM}name")),
        *(_tag("category", category.get("term")) for category in entry.iterfind(f"{ATOM}category")),
        _tag("description", summary) if summary else "",
        f"<content:encoded><![CDATA[{entry.findtext(f'{ATOM}content')}]]></content:encoded>\n",
    ]
    if "enclosure" in links:
        url, length, type_ = (
            quoteattr(links["enclosure"].get(name, "")) for name in ("href", "length", "type")
        )
        parts.append(f"<enclosure url={url} length={length} type={type_}/>\n")
    return "".join([*parts, "</item>\n"])


def _tag(name: str, text: str | None) -> str:
    return f"<{name}>{escape(text or '')}</{name}>\n"


def _date(element: _Element, name: str) -> str:
    text = element.findtext(f"{ATOM}{name}") or ""
    return format_datetime(datetime.fromisoformat(text.replace("Z", "+00:00")), usegmt=False)


# -- one measurement, in a process of its own -----------------------------------------------------


def _call(reader: str, body: bytes, entries: int) -> None:
    """Print how many seconds a call takes; without entries, only import and hold what it needs.

    :raises SystemExit: if the reader finds another number of entries
    """
    read, count = _reader(reader)
    if not entries:
        return
    times: list[float] = []
    while not times or sum(times) < ENOUGH:
        begun = time.perf_counter()
        read(body)
        times.append(time.perf_counter() - begun)
    print(median(times), flush=True)
    # The memory of large documents is measured, and a second call would add to it.
    if len(body) < MEGABYTE and (found := count(read(body))) != entries:
        raise SystemExit(f"{reader} finds {found} entries instead of {entries}")


def _reader(name: str) -> tuple[Callable[[bytes], Any], Callable[[Any], int]]:
    """What reads a document, and what counts its entries."""
    if name == "fhcrawl":
        from fhcrawl import documents

        return (lambda body: documents.read(body, URL)), (lambda document: len(document.entries))
    if name == "feedparser":
        import feedparser

        return feedparser.parse, (lambda document: len(document.entries))
    if name == "fastfeedparser":
        import fastfeedparser

        return fastfeedparser.parse, (lambda document: len(document.entries))
    return etree.fromstring, (lambda root: sum(1 for _ in root.iter(f"{ATOM}entry", "item")))


def _round(documents: list[Document], folder: Path, number: int) -> Round:
    begun = time.perf_counter()
    readings = {
        (document.name, reader): _measured(reader, document, folder)
        for document in documents
        for reader in READERS
    }
    print(f"round {number}: {time.perf_counter() - begun:.1f} s", flush=True)
    return readings


def _measured(reader: str, document: Document, folder: Path) -> Reading:
    call = [*THIS, "--call", reader, str(document.path)]
    memory = measure([*call, str(document.entries)], folder).memory
    seconds = float((folder / "log.txt").read_text())
    return Reading(seconds, memory - measure([*call, "0"], folder).memory if document.large else None)


# -- the report -----------------------------------------------------------------------------------


def _table(documents: list[Document], rounds: list[Round]) -> str:
    lines = ["", f"{'median':16}{'bytes':>10}" + "".join(f"{reader:>16}" for reader in READERS)]
    for document in documents:
        readings = {reader: [each[document.name, reader] for each in rounds] for reader in READERS}
        times = [1000 * median(one.seconds for one in all_) for all_ in readings.values()]
        lines.append(f"{document.name:16}{document.size:10}" + "".join(f"{ms:13.3f} ms" for ms in times))
        if document.large:
            peaks = [_memory(all_) for all_ in readings.values()]
            lines.append(f"{'  peak memory':26}" + "".join(f"{peak:12.1f} MiB" for peak in peaks))
    return "\n".join([*lines, ""])


def _memory(readings: list[Reading]) -> float:
    return median(reading.memory or 0 for reading in readings)


def _ratios(documents: list[Document], rounds: list[Round]) -> Iterator[str]:
    for document in documents:
        for other, target in TIME_TARGETS.items():
            times = [(each[document.name, "fhcrawl"], each[document.name, other]) for each in rounds]
            ratio = median(ours.seconds / theirs.seconds for ours, theirs in times)
            yield _ratio(f"{document.name}: time, fhcrawl/{other}", ratio, target)
        if document.large:
            memory = _memory([each[document.name, "fhcrawl"] for each in rounds])
            yield _ratio(f"{document.name}: memory/document", memory * MIB / document.size, MEMORY_TARGET)


def _ratio(name: str, ratio: float, target: str | None) -> str:
    if target is None:
        return f"{name:48}{ratio:8.3f}"
    return f"{name:48}{ratio:8.3f}   at most {target}{', missed' if ratio > float(target) else ''}"


if __name__ == "__main__":
    main()
