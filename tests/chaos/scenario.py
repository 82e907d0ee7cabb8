"""One seed: publishers, hosts, runs that are killed and started again, and what must hold."""

import contextlib
import os
import random
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fhcrawl.logical_feed import shown_verdict
from fhcrawl.store import Feed, Store
from tests import fork_server
from tests.chaos.crash_points import COMMIT, COMMIT_AFTER_RENAME, RENAME, Moment
from tests.chaos.documents import Style
from tests.chaos.oracle import (
    BrokenPromise,
    Reader,
    check_claim,
    check_complete,
    check_once,
    demand,
    read_lines,
)
from tests.chaos.publishers import Archived, Complete, Paged
from tests.chaos.server import QUIET, Hosts, Kill, Plan
from tests.fork_server import ForkedProcess
from tests.projects import Project, new_project, read_export

ADDRESSES = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
RUN_SECONDS = 120
# How many of a run's moments can be its last one; most runs have fewer commits.
MOMENTS = {COMMIT: 25, RENAME: 1, COMMIT_AFTER_RENAME: 3}
# In worlds whose runs release and export feeds as soon as they are done.
EARLY_MOMENTS = {COMMIT: 40, RENAME: 4, COMMIT_AFTER_RENAME: 12}
EXPORT = "all.jsonl"


@dataclass(frozen=True)
class Round:
    """A run of the crawl.

    :param output: file of its export; None: it exports nothing
    :param kill: it is killed at a request
    :param moment: it is killed right before that, if it lives so long
    """

    settings: dict[str, object]
    output: str | None
    plan: Plan = QUIET
    kill: Kill | None = None
    moment: Moment | None = None


def seeded(seed: object) -> random.Random:
    return random.Random(str(seed))  # noqa: S311


class World:
    def __init__(self, seed: int, project: Project) -> None:
        self.seed = seed
        self.folder = project.folder
        self.environment = project.environment()
        self.rng = seeded(seed)
        self.database = project.database
        self.hosts = Hosts()
        self.early = seeded(f"{seed} early")
        # Seconds between looks for feeds that are done; 0: as ever.
        self.looks = self.early.choice((0, 0.01, 0.01))
        # Old copies, deletions and checks; days pass between the runs.
        self.caches = seeded(f"{seed} caches")
        self.has_caches = self.caches.random() < 0.5
        self.recheck = self.caches.choice(("1,2", "1,100", "30,20"))
        self.deletes = self.caches.random() < 0.5
        self.days = 0
        # Runs that are stopped, and that later ones continue.
        self.jobs = seeded(f"{seed} jobs")
        self.has_jobs = self.jobs.random() < 0.4
        self.reader = Reader()
        self.appends = self.rng.random() < 0.3
        self.number = 0
        self.taken = 0

    def run(self) -> None:
        """Live through it.

        :raises BrokenPromise: if something does not hold that must hold
        """
        with self.hosts:
            self._populate()
            for _ in range(self.rng.randint(2, 4)):
                self._change_meanwhile()
                is_killed = self._run(self._drawn())
                # What a later change hides shows if nothing changes before the next run.
                if is_killed and self.rng.random() < 0.5:
                    self._run(self._calm())
            self._change_meanwhile()
            for publisher in self.hosts.publishers.values():
                publisher.settle()
                publisher.note()
            self._run(self._calm())
            # Pages that a stale copy has displaced are checked.
            for _ in range(3 * self.has_caches):
                self._run(self._calm())
            self._check_complete()

    def _populate(self) -> None:
        roots = [self.hosts.start(address) for address in ADDRESSES]
        kinds: list[type[Archived | Paged | Complete]] = [Archived, Paged, Complete, Archived]
        kinds = kinds[: self.rng.randint(2, 4)]
        for number, kind in enumerate(kinds):
            root = roots[number % len(roots)]
            elsewhere = self.rng.choice(roots) if self.rng.random() < 0.3 else root
            style = Style(
                self.rng.choice(("atom", "rss")),
                self.rng.choice(("own", "own", "coarse", "document", "none")),
                self.rng.random() < 0.7,
            )
            own = seeded(f"{self.seed} publisher {number}")
            validator = self.rng.choice(("etag", "modified"))
            publisher = kind(f"{kind.kind}{number}", root, elsewhere, style, own, validator)
            self.hosts.add(publisher, seeded(f"{self.seed} faults {number}"))

    def _change_meanwhile(self) -> None:
        for publisher in self.hosts.publishers.values():
            for _ in range(self.rng.choice((0, 0, 1, 2, 5))):
                event = publisher.change()
                self.hosts.lines.append(f"meanwhile {publisher.name} {event}")

    def _output(self) -> str:
        return EXPORT if self.appends else f"run{self.number}.jsonl"

    def _calm(self) -> Round:
        return Round({"DOWNLOAD_TIMEOUT": 60, "RETRY_TIMES": 1}, self._output())

    def _drawn(self) -> Round:
        rng = self.rng
        kill, moment = None, None
        if rng.random() < 0.5:
            kill = Kill(
                rng.randint(1, 20), rng.choice(("before", "amid", "after")), rng.choice((0, 0, 0.005, 0.03))
            )
        if rng.random() < 0.7:
            what = rng.choice((COMMIT, COMMIT, COMMIT, RENAME, COMMIT_AFTER_RENAME))
            moment = Moment(what, rng.randint(1, MOMENTS[what]))
            if self.looks and self.early.random() < 0.5:
                moment = Moment(what, self.early.randint(1, EARLY_MOMENTS[what]))
        settings: dict[str, object] = {
            "DOWNLOAD_TIMEOUT": 1,
            "RETRY_TIMES": rng.choice((0, 0, 1)),
            "REDIRECT_MAX_TIMES": 3,
        }
        if rng.random() < 0.15:
            settings |= {"FHCRAWL_MAX_ARCHIVES": rng.randint(1, 3), "FHCRAWL_MAX_PAGES": rng.randint(1, 3)}
        if rng.random() < 0.1:
            settings["DELTAFETCH_RESET"] = 1
        if self.has_jobs and self.jobs.random() < 0.7:
            settings["JOBDIR"] = self.folder / "job"
            settings["CLOSESPIDER_PAGECOUNT"] = self.jobs.choice((0, 0, 1, 2, 4, 8))
        copies = self.caches.choice((0, 0.1, 0.3)) if self.has_caches else 0
        plan = Plan(rng.choice((0, 0.1, 0.3, 0.6)), rng.choice((0, 0.1, 0.3)), copies)
        return Round(settings, None if rng.random() < 0.15 else self._output(), plan, kill, moment)

    # -- runs -------------------------------------------------------------------------------------

    def _run(self, drawn: Round) -> bool:
        self.number += 1
        self.days += self.caches.choice((0, 1, 2, 9)) if self.has_caches else 0
        self.hosts.lines.append(f"-- run {self.number}, day {self.days}: {drawn}")
        log, began = self.folder / f"run{self.number}.log", time.monotonic()
        crawl = self._start(self._arguments(drawn), log, drawn.moment)
        self.hosts.begin(drawn.plan, drawn.kill, crawl.kill)
        try:
            self._wait(crawl, drawn)
        finally:
            self.hosts.end()
            crawl.kill()
            crawl.wait()
        took = f"{time.monotonic() - began:.1f} s, {self.hosts.requests} requests"
        self.hosts.lines.append(f"-- ended with {crawl.returncode} after {took}")
        reported = log.read_text(errors="replace")
        demand("Traceback" not in reported, "no traceback", log)
        is_killed = crawl.returncode == -signal.SIGKILL
        # The servers' faults may have hit every feed.
        expected = int("No feed could be read" in reported)
        demand(is_killed or crawl.returncode == expected, "a run ends well", crawl.returncode, log)
        self._check_claims(None if is_killed else reported)
        if drawn.plan == QUIET:
            # The second one proves that a 304 is wrong, the third one confirms a page.
            often = {path: number for path, number in self.hosts.requested.items() if number > 3}
            demand(not often, "a document is requested once", often)
        return is_killed

    def _arguments(self, drawn: Round) -> list[str]:
        feeds = " ".join(publisher.feed for publisher in self.hosts.publishers.values())
        output = () if drawn.output is None else ("-o", drawn.output)
        settings = {"FHCRAWL_ALLOWED_PRIVATE_HOSTS": "127.0.0.0/8", **drawn.settings}
        if self.has_caches:
            settings |= {"FHCRAWL_RECHECK": self.recheck, "FHCRAWL_DELETE_ABSENT": self.deletes}
        if self.looks:
            settings["FHCRAWL_EXPORT_SECONDS"] = self.early.choice((0.02, 0.02, 0.1, 0))
        given = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
        return ["crawl", "history", "-a", f"feed={feeds}", *output, *given]

    def _start(self, args: list[str], log: Path, moment: Moment | None = None) -> ForkedProcess:
        before = [("tests.chaos.crash_points:prepare", [self.looks, moment, self.days])]
        with log.open("wb") as file, Path(os.devnull).open("rb") as nothing:
            streams = (nothing.fileno(), file.fileno(), file.fileno())
            return fork_server.running().start(args, self.folder, self.environment, streams, before)

    def _wait(self, crawl: ForkedProcess, drawn: Round) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            crawl.wait(RUN_SECONDS)
        demand(crawl.poll() is not None, "a run ends", drawn)

    # -- what must hold ---------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, Feed], dict[str, dict[str, dict[str, Any]]]]:
        if not self.database.exists():
            return {}, {}
        store = Store.open(self.database.url)
        feeds = {feed.feed: feed for feed in store.feeds.read()}
        entries: dict[str, dict[str, dict[str, Any]]] = {url: {} for url in feeds}
        for entry in store.entries.read():
            entries[entry["feed"]][entry["id"]] = entry
        store.close()
        return feeds, entries

    def _check_claims(self, reported: str | None) -> None:
        feeds, entries = self._state()
        for publisher in self.hosts.publishers.values():
            feed = feeds.get(publisher.feed)
            if feed is None:
                continue
            self.hosts.lines.append(f"{publisher.name}: {feed}")
            check_claim(publisher, feed, entries[publisher.feed])
            if reported is not None:
                line = f"{publisher.feed}: {shown_verdict(feed.verdict_in_words)}, entries: {feed.entries}"
                demand(line in reported, "the log's closing lines say the verdict", line)

    def _check_complete(self) -> None:
        self._take_exports()
        log = self.folder / "export.log"
        export = self._start(["export", "-o", "whole.jsonl"], log)
        demand(export.wait(RUN_SECONDS) == 0, "scrapy export", log)
        exported = read_export(self.folder / "whole.jsonl")
        feeds, stored = self._state()
        for publisher in self.hosts.publishers.values():
            entries = {entry["id"]: entry for entry in exported if entry["feed"] == publisher.feed}
            check_complete(publisher, feeds[publisher.feed], entries)
            for entry in stored[publisher.feed].values():
                demand(entry["change"] is None, "everything has been exported", entry)
        self.reader.check(exported)

    def _take_exports(self) -> None:
        if self.appends:
            self.reader.take(read_lines(self.folder / EXPORT))
            return
        for number in range(self.number):
            path = self.folder / f"run{number}.jsonl"
            lines = read_lines(path)
            check_once(lines, path)
            self.reader.take(lines)

    def write(self) -> None:
        (self.folder / "hosts.log").write_text("\n".join(self.hosts.lines) + "\n", encoding="utf-8")


def live(seed: int, folder: Path) -> str | None:
    folder.mkdir(parents=True)
    with new_project(folder) as project:
        world = World(seed, project)
        try:
            world.run()
        except BrokenPromise as broken:
            return str(broken)
        finally:
            world.write()
    return None
