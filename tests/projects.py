"""Runs fhcrawl as its users do: `scrapy` in a process of its own."""

import contextlib
import csv
import gc
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy.statscollectors import StatsCollector

from fhcrawl.items import FIELDS
from tests import fork_server
from tests.databases import Database, new_database, on_postgresql
from tests.fork_server import ForkedProcess

Process = subprocess.Popen[bytes] | ForkedProcess
# A file or its descriptor; mypy would not know it from a variable of the environment.
Stream = Any

NewProject = Callable[[Path], AbstractContextManager["Project"]]

ROOT = fork_server.ROOT
STATS_FILE = "TEST_STATS_FILE"
PEAK = "test/peak_memory"
GARBAGE = "test/is_garbage_collected"
FROZEN = "test/frozen_objects"
CPU = "test/cpu_seconds"
USER_AGENT = "fhcrawl-tests (+https://example.org/)"
# The columns of `fhcrawl export`.
EXPORTED = [name for name in FIELDS if name != "change"]
OURS = ("fhcrawl/", "deltafetch/")


class JsonStatsCollector(StatsCollector):
    def _persist_stats(self, stats: dict[str, Any]) -> None:
        stats[PEAK], stats[CPU] = peak_memory(), time.process_time()
        stats[GARBAGE], stats[FROZEN] = gc.isenabled(), gc.get_freeze_count()
        Path(os.environ[STATS_FILE]).write_text(json.dumps(stats, default=str))


def peak_memory() -> int:
    """Of this process, in KiB; getrusage's begins with what the process had that started it (Linux)."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(status.read_text().partition("VmHWM:")[2].split()[0])


def changes_of(items: list[dict[str, Any]]) -> dict[str, str]:
    """By id; asserts that no entry is exported twice."""
    found = {item["id"]: item["change"] for item in items}
    assert len(found) == len(items)
    return found


@dataclass
class Run:
    exit_code: int
    log: str
    all_stats: dict[str, Any] = field(default_factory=dict)
    items: list[dict[str, Any]] = field(default_factory=list)

    @property
    def stats(self) -> dict[str, Any]:
        return {name: v for name, v in self.all_stats.items() if name.startswith(OURS)}

    @property
    def peak(self) -> float:
        return float(self.all_stats[PEAK]) / 1024

    @property
    def changes(self) -> dict[str, str]:
        return changes_of(self.items)

    @property
    def texts(self) -> dict[str, str]:
        return {item["id"]: item["summary"] for item in self.items}

    def warnings(self) -> list[str]:
        return [
            line.partition("] ")[2]
            for line in self.log.splitlines()
            if "] WARNING: " in line or "] ERROR: " in line
        ]


class Project:
    """A folder with scrapy.cfg, and so a data directory of its own.

    :param store_url: None for the store of that directory; else a database on PostgreSQL
    """

    def __init__(self, folder: Path, store_url: str | None = None) -> None:
        self.folder = folder
        self._deployment = "embedded" if store_url is None else "postgres"
        self.database = Database(store_url or f"sqlite:///{folder / '.scrapy' / 'fhcrawl.sqlite'}")
        shutil.copy(ROOT / "scrapy.cfg", folder)

    @property
    def deployment(self) -> dict[str, str]:
        """The environment variables that name the store."""
        url = "" if self._deployment == "embedded" else self.database.url
        return {"SCRAPY_PROJECT": self._deployment, "FHCRAWL_STORE_URL": url}

    def environment(self, **extra: str) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "FHCRAWL_DATA_DIR": "",
            **self.deployment,
            STATS_FILE: str(self.folder / "stats.json"),
            **extra,
        }

    def scrapy(
        self, *args: str, stdout: Stream = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run `scrapy`.

        :param stdout: its standard output; None: it is returned
        """
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            with self.start(*args, stdout=stdout or out, stderr=err, **environment) as process:
                try:
                    code = process.wait(120)
                except BaseException:
                    process.kill()
                    raise
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(process.args, code, out.read(), err.read())

    def start(
        self,
        *args: str,
        stdin: Stream = None,
        stdout: Stream = None,
        stderr: Stream = None,
        **environment: str,
    ) -> Process:
        """Start `scrapy` in a session of its own.

        :param stdin: its standard input, /dev/null if None; so are the others
        """
        env = self.environment(**environment)
        with Path(os.devnull).open("r+b", 0) as nothing:
            streams = [_number(nothing if stream is None else stream) for stream in (stdin, stdout, stderr)]
            if fork_server.can_fork(env):
                return fork_server.running().start(args, self.folder, env, streams)
            given: dict[str, Any] = dict(zip(("stdin", "stdout", "stderr"), streams, strict=True))
            command = [sys.executable, "-m", "scrapy", *args]
            return subprocess.Popen(command, cwd=self.folder, env=env, start_new_session=True, **given)

    def crawl(
        self,
        *feeds: str,
        settings: Mapping[str, object] | None = None,
        args: tuple[str, ...] = (),
        output: str | None = "out.jsonl",
        spider: str = "history",
        **environment: str,
    ) -> Run:
        """`scrapy crawl history`, with the export of this run alone."""
        (self.folder / "stats.json").unlink(missing_ok=True)
        command = ["crawl", spider]
        if feeds:
            command += ["-a", "feed=" + " ".join(feeds)]
        if output is not None:
            (self.folder / output).unlink(missing_ok=True)
            command += ["-o", output]
        command += ["-s", "STATS_CLASS=tests.projects.JsonStatsCollector", "-s", f"USER_AGENT={USER_AGENT}"]
        # Most tests are about the first reading of pages.
        for name, value in {"FHCRAWL_CONFIRM_PAGES": 0, **(settings or {})}.items():
            command += ["-s", f"{name}={value}"]
        done = self.scrapy(*command, *args, **environment)
        run = Run(done.returncode, done.stderr, self.stats())
        if output is not None and (self.folder / output).exists():
            run.items = read_export(self.folder / output)
        return run

    def stats(self) -> dict[str, Any]:
        path = self.folder / "stats.json"
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return found

    def states(self) -> dict[str, str]:
        rows = self.database.rows("SELECT url, state FROM documents")
        return {urlsplit(url)._replace(scheme="", netloc="").geturl(): state for url, state in rows}

    def feeds(self) -> list[dict[str, Any]]:
        done = self.scrapy("feeds", "--json")
        assert done.returncode == 0, done.stderr
        listed: list[dict[str, Any]] = json.loads(done.stdout)
        return listed

    def verdict(self) -> tuple[str, list[str]]:
        [feed] = self.feeds()
        return feed["verdict"], [reason["kind"] for reason in feed["reasons"]]

    def logical_feed(self) -> dict[str, dict[str, Any]]:
        """`scrapy export`: the entries by id (of one feed)."""
        done = self.scrapy("export", "-o", "whole.jsonl")
        assert done.returncode == 0, done.stderr
        items = read_export(self.folder / "whole.jsonl")
        by_id = {item["id"]: item for item in items}
        assert len(by_id) == len(items)
        return by_id


def _number(stream: Stream) -> int:
    number: int = stream if isinstance(stream, int) else stream.fileno()
    return number


@contextlib.contextmanager
def new_project(folder: Path, kind: type[Project] = Project) -> Iterator[Project]:
    """A project in a folder, with an empty store: that of its data directory, or one on the server."""
    if not on_postgresql():
        yield kind(folder)
        return
    with new_database() as made:
        yield kind(folder, made.url)


def read_export(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8-sig") as file:
            return [dict(row) for row in csv.DictReader(file)]
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]
