"""Where the CPU time of a crawl goes: samples of its stack, in its own processes.

A sample counts for the CPU time since the one before it. It belongs to the innermost frame of its stack that
is known here: what SQLAlchemy does for the store is the store's.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

FOLDER = "FHCRAWL_BENCHMARK_SAMPLES"
HERE = Path(__file__).parent
INTERVAL = 0.002  # seconds of CPU time
START, OTHER = "start-up, end", "all else"
# By what files and folders are called; the first one that fits counts.
KNOWN = {
    "fhcrawl/documents/xml/parsing.py": "parse",
    "fhcrawl/documents/xml/parsed.py": "parse",
    "fhcrawl/documents/xml/parsers.py": "parse",
    "fhcrawl/documents/xml/recovery.py": "parse",
    "fhcrawl/documents/xml/encoding.py": "parse",
    "fhcrawl/documents/xml/repair.py": "parse",
    "fhcrawl/documents/": "extract",
    "fhcrawl/crawling/reading.py": "extract",
    "fhcrawl/crawling/responses.py": "extract",
    "fhcrawl/extensions/reader.py": "to and from the reading process",
    "fhcrawl/crawling/parser.py": "to and from the reading process",
    "fhcrawl/crawling/parser_process.py": "to and from the reading process",
    "fhcrawl/logical_feed/versions.py": "deduplication",
    "fhcrawl/logical_feed/results.py": "deduplication",
    "fhcrawl/pipelines.py": "deduplication",
    "fhcrawl/spidermiddlewares/deltafetch.py": "deduplication",
    "fhcrawl/store/": "store",
    "fhcrawl/exporters/": "export",
    "fhcrawl/extensions/feedexport.py": "export",
    "fhcrawl/exporters/delivery.py": "export",
    "scrapy/exporters.py": "export",
    "scrapy/extensions/feedexport.py": "export",
    "fhcrawl/pipelines/": "Scrapy's item machinery",
    "fhcrawl/spidermiddlewares/": "Scrapy's item machinery",
    "fhcrawl/spiders/": "Scrapy's item machinery",
    "fhcrawl/items.py": "Scrapy's item machinery",
    "scrapy/core/scraper.py": "Scrapy's item machinery",
    "scrapy/core/spidermw.py": "Scrapy's item machinery",
    "scrapy/spidermiddlewares/": "Scrapy's item machinery",
    "scrapy/pipelines/": "Scrapy's item machinery",
    "scrapy/utils/asyncio.py": "Scrapy's item machinery",
    "scrapy/utils/defer.py": "Scrapy's item machinery",
    "scrapy/core/": "download",
    "scrapy/downloadermiddlewares/": "download",
    "scrapy/http/": "download",
    "scrapy/pqueues.py": "download",
    "scrapy/squeues.py": "download",
    "fhcrawl/downloadermiddlewares/": "download",
    "fhcrawl/downloadhandlers/": "download",
    "fhcrawl/core/engine.py": "download",
    "twisted/web/": "download",
    "twisted/internet/tcp.py": "download",
    "twisted/internet/asyncioreactor.py": "download",
}
# Reading the store for an export is the export's.
EXPORTS = "close_spider"
LOOP = ("asyncio/base_events.py", "run_forever")
SERVE = ("fhcrawl/crawling/parser.py", "serve")


class Sampler:
    """Counts the seconds of this process by what they are for."""

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._last = 0.0
        self._places: dict[str, str | None] = {}

    def sample(self, _signal: int, frame: FrameType | None) -> None:
        """Count what has passed since the last sample."""
        now = time.process_time()
        self._seconds[self._purpose(frame)] += now - self._last
        self._last = now

    def write(self) -> None:
        """Leave what was counted in the folder."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        self._seconds[START] += time.process_time() - self._last
        path = Path(os.environ[FOLDER]) / f"{os.getpid()}.json"
        path.write_text(json.dumps(self._seconds))

    def _purpose(self, frame: FrameType | None) -> str:
        found: str | None = None
        is_running = False
        while frame is not None:
            code = frame.f_code
            place = self.place(code.co_filename)
            found = found or place
            if place == "export" and code.co_name == EXPORTS:
                found = place
            is_running |= any(
                code.co_name == name and code.co_filename.endswith(file) for file, name in (LOOP, SERVE)
            )
            frame = frame.f_back
        return found or OTHER if is_running else START

    def place(self, file: str) -> str | None:
        """What the code of a file is for; None if it is not known here."""
        if file not in self._places:
            path = file.replace(os.sep, "/")
            self._places[file] = next((what for part, what in KNOWN.items() if f"/{part}" in path), None)
        return self._places[file]


def begin() -> None:
    """Sample this process to its end."""
    sampler = Sampler()
    signal.signal(signal.SIGPROF, sampler.sample)
    signal.siginterrupt(signal.SIGPROF, False)
    atexit.register(sampler.write)
    signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)


def environment(folder: Path) -> dict[str, str]:
    """What lets the processes of a command be sampled, which leave what they count in a folder."""
    path = os.pathsep.join(map(str, (HERE / "sampling", HERE.parent.parent)))
    return {FOLDER: str(folder), "PYTHONPATH": path}


def seconds(folder: Path) -> dict[str, float]:
    """What all processes have counted together."""
    total: defaultdict[str, float] = defaultdict(float)
    for file in folder.glob("*.json"):
        for what, number in json.loads(file.read_text()).items():
            total[what] += number
    return total


def table(counted: dict[str, float], cpu: float, entries: int) -> str:
    """The seconds by what they are for.

    :param cpu: seconds that all of it took; what the samples sum up to is scaled to it
    """
    total = sum(counted.values())
    lines = [f"{'where the time goes':34}{'CPU s':>8}{'µs an entry':>14}{'share':>8}"]
    for what, number in sorted(counted.items(), key=lambda item: -item[1]):
        lines.append(_line(what, cpu * number / total, entries) + f"{number / total:8.1%}")
    return "\n".join([*lines, _line("all", cpu, entries)])


def _line(what: str, seconds: float, entries: int) -> str:
    return f"{what:34}{seconds:8.2f}{1e6 * seconds / entries:14.1f}"
