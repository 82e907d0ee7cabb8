"""What reading a document costs without a crawl, beside feedparser and a bare lxml parse.

Run from the repository's root: python -m benchmarks.reading

A time is that of a call until its result is freed. Memory is what a call adds to the peak of a process that
has imported the reader and holds the document.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from lxml import etree

from benchmarks.measuring import ROOT, arguments, conditions, folder
from benchmarks.server import Chain
from tests.projects import peak_memory

URL = "https://example.org/index.xml"
ENTRY_SIZE = 1450  # octets, on average
SIZES = {"5 KB": 5_000, "150 KB": 150_000}
READERS = ("fhcrawl", "feedparser", "lxml")
TIME_AIMS = {"feedparser": 0.2, "lxml": 3.0}
MEMORY_AIM = 4.0
ENOUGH = 0.1  # seconds; a process repeats short calls


def main() -> None:
    parser = arguments(__doc__, rounds=(5, "how often each is run"), large=(20.0, "MB of the large document"))
    parser.add_argument("--call", nargs=2, help=argparse.SUPPRESS)  # of this benchmark's own processes
    options = parser.parse_args()
    if options.call:
        reader, path = options.call
        print(*_call(_reader(reader), Path(path).read_bytes()))
        return
    print(conditions(options.rounds), flush=True)
    print(f"{'ratio':40}{'median':>8}")
    with folder() as place:
        path = place / "document"
        for name, size in {**SIZES, f"{options.large:g} MB": round(options.large * 1e6)}.items():
            path.write_bytes(Chain(2, max(size // ENTRY_SIZE, 1), "https://example.org").document(1))
            rounds = [{reader: _measure(reader, path) for reader in READERS} for _ in range(options.rounds)]
            for other, aim in TIME_AIMS.items():
                times = median(costs["fhcrawl"][0] / costs[other][0] for costs in rounds)
                print(_line(f"{name}: time, fhcrawl/{other}", times, aim), flush=True)
        memory = median(costs["fhcrawl"][1] for costs in rounds) / path.stat().st_size
        print(_line(f"{name}: memory/document", memory, MEMORY_AIM))


def _line(name: str, ratio: float, aim: float) -> str:
    return f"{name:40}{ratio:8.3f}   at most {aim:g}{', missed' if ratio > aim else ''}"


def _measure(reader: str, path: Path) -> tuple[float, float]:
    command = [sys.executable, "-m", "benchmarks.reading", "--call", reader, str(path)]
    seconds, memory = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.split()
    return float(seconds), float(memory)


def _call(read: Callable[[bytes], Any], body: bytes) -> tuple[float, int]:
    times: list[float] = []
    before = peak_memory()
    while not times or sum(times) < ENOUGH:
        begun = time.perf_counter()
        read(body)
        times.append(time.perf_counter() - begun)
    return median(times), (peak_memory() - before) * 1024


def _reader(name: str) -> Callable[[bytes], Any]:
    if name == "fhcrawl":
        from fhcrawl import documents

        return lambda body: documents.read(body, URL)
    if name == "feedparser":
        import feedparser

        return feedparser.parse  # type: ignore[no-any-return]
    return etree.fromstring


if __name__ == "__main__":
    main()
