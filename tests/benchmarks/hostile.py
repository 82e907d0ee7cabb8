"""What documents cost that are made to use up memory or time, with a feed beside each in the same crawl.

Run from the repository's root: python -m tests.benchmarks.hostile [-k PART OF A KIND] [--mib 32]

Peak is the most memory that the crawl's process and the one that reads documents had, summed; CPU is that of
the crawl's own process, its start included; feeds is what `scrapy feeds` takes afterwards.
"""

import argparse
import gzip
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.hostile_documents import FOLDER, KINDS, MIB, Hostile
from tests.benchmarks.measuring import Watch
from tests.feeds import E, atom
from tests.projects import CPU, USER_AGENT, Project
from tests.server import Answer, FeedServer

MOST_MEMORY, MOST_CPU = 1024, 10
SETTINGS = {
    "RETRY_TIMES": 0,
    "FHCRAWL_MAX_ARCHIVES": 10,  # pages that an index names are documents of their own
    "STATS_CLASS": "tests.projects.JsonStatsCollector",
    "USER_AGENT": USER_AGENT,
}
HEADINGS = f"{'kind':36} {'MiB':>5} {'KiB sent':>8} {'peak':>5} {'CPU':>5} {'wall':>6} {'feeds':>5}  verdicts"


class Cost(NamedTuple):
    """:param peak: MiB
    :param cpu: seconds, of the crawl's own process
    :param feeds: seconds
    :param said: the verdict of the feed with the document, the kinds of its reasons and their number
    :param beside: the verdict of the feed beside it
    """

    sent: int
    peak: float
    cpu: float
    wall: float
    feeds: float
    said: str
    beside: str

    @property
    def is_bounded(self) -> bool:
        """Whether it is what a document may cost."""
        return self.peak <= MOST_MEMORY and self.cpu <= MOST_CPU and self.beside == "complete"


def cost(hostile: Hostile, body: bytes) -> Cost:
    """Crawl a document, and a feed beside it."""
    sent = gzip.compress(body, 1)
    with FeedServer() as server, FeedServer() as beside, tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder))
        beside.serve("/feed", atom([E("2")], prev="/behind"))
        beside.serve("/behind", atom([E("1")]))
        server.serve("/hostile", atom([E("1")]))
        headers = {"Content-Encoding": "gzip", **({"Link": hostile.link} if hostile.link else {})}
        server.answers[hostile.path] = Answer(sent, content_type=hostile.content_type, headers=headers)
        path = "/hostile" if hostile.path == "/robots.txt" else hostile.path
        return _crawl(project, server.url(path), beside.url("/feed"), len(sent))


def cost_of_folder(files: int) -> Cost:
    """Crawl a folder, and a feed beside it."""
    with FeedServer() as beside, tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder))
        beside.serve("/feed", atom([E("2")], prev="/behind"))
        beside.serve("/behind", atom([E("1")]))
        feed = Path(folder, "feed")
        feed.mkdir()
        for number in range(files):
            (feed / f"{number}{'a' * 200}").touch()
        return _crawl(project, feed.as_uri(), beside.url("/feed"), 0)


def _crawl(project: Project, feed: str, beside: str, sent: int) -> Cost:
    # What is never read is forgotten, unless it is subscribed.
    project.scrapy("subscribe", feed)
    begun = time.monotonic()
    settings = [f"-s{name}={value}" for name, value in SETTINGS.items()]
    command = ["crawl", "history", "-a", f"feed={feed} {beside}", "-o", "out.jsonl", *settings]
    with (project.folder / "log").open("wb") as log:
        process = project.start(*command, stderr=log)
        watch = Watch(process.pid)
        process.wait()
    wall, peak = time.monotonic() - begun, watch.end() / 1024
    begun = time.monotonic()
    by_feed = {one["feed"]: one for one in project.feeds()}
    listed = time.monotonic() - begun
    found = by_feed[feed]
    kinds = ",".join(dict.fromkeys(reason["kind"] for reason in found["reasons"]))
    said = f"{found['verdict']} ({kinds}: {len(found['reasons'])})"
    return Cost(sent, peak, project.stats().get(CPU, 0), wall, listed, said, by_feed[beside]["verdict"])


def main() -> None:
    """Print a line for each kind; the exit code is 1 if one of them costs too much."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-k", default="", metavar="TEXT", help="only the kinds whose names have it")
    parser.add_argument("--mib", type=float, default=32.0, help="the size of the documents")
    given = parser.parse_args()
    size = int(given.mib * MIB)
    print(HEADINGS, flush=True)
    is_bounded = True
    for kind, hostile in KINDS.items():
        if given.k not in kind:
            continue
        body = hostile.make(size)
        is_bounded &= _print(kind, len(body), cost(hostile, body))
        del body
    if given.k in FOLDER:
        is_bounded &= _print(FOLDER, size, cost_of_folder(size // 320))
    sys.exit(not is_bounded)


def _print(kind: str, size: int, measured: Cost) -> bool:
    sent, peak, cpu, wall, feeds, said, beside = measured
    print(
        f"{kind:36} {size / MIB:5.1f} {sent / 1024:8.0f} {peak:5.0f} {cpu:5.1f} {wall:6.1f} {feeds:5.1f}  "
        f"{said}; beside it: {beside}{'' if measured.is_bounded else '  TOO MUCH'}",
        flush=True,
    )
    return measured.is_bounded


if __name__ == "__main__":
    main()
