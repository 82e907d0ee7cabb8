"""fhcrawl on a real Scrapyd on loopback: deployed with scrapyd-deploy, scheduled, cancelled."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen
from zipfile import ZipFile

import pytest

from fhcrawl.core.components import COMPONENTS
from fhcrawl.items import FIELDS
from tests.docs.pages import source
from tests.feeds import E, atom
from tests.ports import free_port, started
from tests.projects import ROOT, USER_AGENT, changes_of, read_export
from tests.server import FeedServer

pytestmark = pytest.mark.sqlite_only("the deployment that the egg has by default")
nightly = pytest.mark.nightly("starts Scrapyd, and jobs in it")
# The newest of an archived feed's documents is the subscription document.
ARCHIVES = 8
HELD = "/archive-5"
MEMUSAGE = "scrapy.extensions.memusage.MemoryUsage"
GRACEFULLY = "shutting down gracefully"
PROJECT = ("fhcrawl", "pipelines_config", "setup.py", "pyproject.toml", "scrapy.cfg", "README.md", "LICENSE")
TARGET = "http://localhost:6800"
# The version in the egg, which differs from the one installed beside Scrapyd.
VERSION = "1.2.3+egg"
PATIENCE_SECONDS = 120
PAUSE_SECONDS = 0.1
CONFIGURATION = """\
[scrapyd]
bind_address = 127.0.0.1
http_port = {port}
items_dir = items
poll_interval = 0.2
"""
OURS = ("FHCRAWL_", "PYTHONPATH", "SCRAPY", "XDG_")


@dataclass
class Job:
    scrapyd: Scrapyd
    id: str

    def path(self, kind: str, ending: str) -> Path:
        return self.scrapyd.folder / kind / "fhcrawl" / "history" / f"{self.id}.{ending}"

    @property
    def log(self) -> str:
        return self.scrapyd.get(f"/logs/fhcrawl/history/{self.id}.log")

    def has_items(self) -> bool:
        return self.path("items", "jl").exists()

    @property
    def items(self) -> list[dict[str, Any]]:
        lines = self.scrapyd.get(f"/items/fhcrawl/history/{self.id}.jl").splitlines()
        return [json.loads(line) for line in lines]

    @property
    def changes(self) -> dict[str, str]:
        return changes_of(self.items)

    def is_finished(self) -> bool:
        jobs = json.loads(self.scrapyd.get("/listjobs.json?project=fhcrawl"))
        return any(job["id"] == self.id for job in jobs["finished"])

    def wait(self) -> Job:
        wait_for(self.is_finished, "the end of a job")
        return self

    def cancel(self, **signal: str) -> str:
        answer = self.scrapyd.post("cancel.json", project="fhcrawl", job=self.id, **signal)
        return str(answer["prevstate"])


class Scrapyd:
    def __init__(self, folder: Path) -> None:
        self.home, self.folder, self.project = folder / "home", folder / "server", folder / "project"
        for made in (self.home, self.folder, self.project):
            made.mkdir()
        self._port = free_port()
        self.root = f"http://127.0.0.1:{self._port}"
        (self.folder / "scrapyd.conf").write_text(CONFIGURATION.format(port=self._port))
        for name in PROJECT:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, self.project / name)
        _replace(self.project / "scrapy.cfg", TARGET, self.root)
        _replace(self.project / "fhcrawl" / "__init__.py", "__version__ = ", f'__version__ = "{VERSION}"  # ')

    @property
    def data(self) -> Path:
        return self.home / ".local" / "share" / "fhcrawl"

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        return {**kept, "HOME": str(self.home)}

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        command = [sys.executable, "-m", "scrapyd"]
        with started(command, self.folder / "scrapyd.log", self._answers, env=self.environment()):
            yield

    def _answers(self) -> bool:
        with contextlib.suppress(URLError, ConnectionError):
            self.get("/daemonstatus.json")
            return True
        return False

    @property
    def log(self) -> str:
        return (self.folder / "scrapyd.log").read_text(encoding="utf-8", errors="replace")

    def get(self, path: str) -> str:
        with urlopen(self.root + path) as response:  # noqa: S310 - on loopback
            text: str = response.read().decode()
        return text

    def post(self, service: str, **data: str | list[str]) -> dict[str, Any]:
        body = urlencode(data, doseq=True).encode()
        with urlopen(f"{self.root}/{service}", body) as response:  # noqa: S310 - on loopback
            answer: dict[str, Any] = json.load(response)
        assert answer["status"] == "ok", answer
        return answer

    def command(self, *command: str, **environment: str) -> str:
        done = subprocess.run(
            [str(Path(sys.executable).with_name(command[0])), *command[1:]],
            cwd=self.project,
            env={**self.environment(), **environment},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def egg(self) -> list[str]:
        [egg] = (self.folder / "eggs" / "fhcrawl").iterdir()
        return ZipFile(egg).namelist()

    def schedule(self, settings: Mapping[str, object] | None = None, **arguments: str) -> Job:
        given = {"USER_AGENT": f"fhcrawl/{VERSION} {USER_AGENT}", **(settings or {})}
        setting = [f"{name}={value}" for name, value in given.items()]
        answer = self.post("schedule.json", project="fhcrawl", spider="history", setting=setting, **arguments)
        return Job(self, answer["jobid"])


def wait_for(happens: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not happens():
        assert time.monotonic() < end, f"{what} was waited for"
        time.sleep(PAUSE_SECONDS)


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture(scope="module")
def scrapyd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scrapyd]:
    server = Scrapyd(tmp_path_factory.mktemp("scrapyd"))
    with server.running():
        # It exits with 0 even if Scrapyd reports an error.
        assert '"spiders": 1, "status": "ok"' in server.command(*documented("scrapyd-deploy"))
        yield server


def documented(program: str, feed: str = "") -> list[str]:
    """The command that the documentation has, with a feed in the place of its example."""
    [line] = re.findall(rf"^({program} .*|{program})$", source("howto/scrapyd"), re.MULTILINE)
    return str(line).replace("https://example.org/index.atom", feed).split()


def serve_chain(server: FeedServer) -> None:
    """Each archive has an entry of its own, and an old version of one that the subscription document has."""
    for number in range(ARCHIVES):
        old = E("moved", f"version {number}", f"2003-01-0{number + 1}T00:00:00Z")
        entries = [E(str(number), updated=f"2003-01-0{number + 1}T00:00:00Z"), old]
        prev = f"/archive-{number - 1}" if number else None
        server.serve(f"/archive-{number}", atom(entries, prev=prev, updated=None))
    newest = [E("newest"), E("moved", "newest version")]
    server.serve("/index", atom(newest, prev=f"/archive-{ARCHIVES - 1}"))


@nightly
def test_egg_holds_the_complete_project(scrapyd: Scrapyd) -> None:
    names = scrapyd.egg()
    packages = {
        name.partition("/")[0] for name in names if name.endswith(".py") and not name.startswith("EGG")
    }
    assert packages == {"fhcrawl", "pipelines_config"}
    assert {"pipelines_config/embedded.py", "fhcrawl/reporting/templates/page.html"} <= set(names)


@pytest.mark.slow("the smoke test of Scrapyd")
def test_second_job_serves_what_has_changed_since_the_first(scrapyd: Scrapyd, server: FeedServer) -> None:
    serve_chain(server)
    feed = server.url("/index")
    printed = scrapyd.command(*documented("scrapyd-client", feed))
    first = Job(scrapyd, printed.split()[-1]).wait()
    everything = {str(number): "new" for number in range(ARCHIVES)}
    assert first.changes == {**everything, "newest": "new", "moved": "new"}
    assert all(tuple(item) == tuple(FIELDS) for item in first.items)
    # It is the egg's code that has run, not what is installed beside Scrapyd.
    assert server.headers[-1]["User-Agent"].startswith(f"fhcrawl/{VERSION} ")

    server.requested()
    server.serve("/index", atom([E("newest", "changed", "2003-12-14T00:00:00Z")], prev="/archive-7"))
    second = scrapyd.schedule(feed=feed).wait()
    assert second.changes == {"newest": "updated"}
    # It shows nothing but an edited entry: the archive behind it may have grown.
    assert server.requested() == ["/index", "/archive-7"]
    assert (scrapyd.data / "fhcrawl.sqlite").exists()
    assert scrapyd.schedule(feed=feed).wait().items == []


@nightly
def test_components_of_a_user_do_not_replace_fhcrawls(scrapyd: Scrapyd, server: FeedServer) -> None:
    server.serve("/index", atom([E("1")], prev="http://127.0.0.1:1/private"))
    settings = {**dict.fromkeys(COMPONENTS, "{}"), "EXTENSIONS": f'{{"{MEMUSAGE}": 5}}'}
    job = scrapyd.schedule({**settings, "DOWNLOAD_HANDLERS": "{}"}, feed=server.url("/index")).wait()
    assert job.changes == {"1": "new"}
    assert "http://127.0.0.1:1/private is not fetched" in job.log


@nightly
def test_arguments_and_settings_pass_through(scrapyd: Scrapyd, server: FeedServer, tmp_path: Path) -> None:
    serve_chain(server)
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "subscriptions.txt").write_text(server.url("/index"))
    settings = {
        "FHCRAWL_DATA_DIR": tmp_path,
        "FHCRAWL_MAX_ARCHIVES": 2,
        "FHCRAWL_WARC": "captures/%(name)s.warc.gz",
    }
    run = scrapyd.schedule(settings, feeds="lists/subscriptions.txt").wait()
    assert run.changes.keys() == {"newest", "moved", "7", "6"}
    assert (tmp_path / "fhcrawl.sqlite").exists()
    assert (tmp_path / "captures" / "history-00001.warc.gz").exists()
    server.requested()
    again = scrapyd.schedule(settings, feeds="lists/subscriptions.txt", deltafetch_reset="1").wait()
    assert again.items == []
    assert server.requested() == ["/index", "/archive-7", "/archive-6"]
    more = scrapyd.schedule(settings, feeds="lists/subscriptions.txt", warc="captures").wait()
    assert "Captures in the WARC files: " in more.log


@nightly
def test_subscriptions_are_crawled_when_they_are_due(
    scrapyd: Scrapyd, server: FeedServer, tmp_path: Path
) -> None:
    serve_chain(server)
    scrapyd.command("scrapy", "subscribe", server.url("/index"), FHCRAWL_DATA_DIR=str(tmp_path))
    settings = {"FHCRAWL_DATA_DIR": tmp_path}
    assert len(scrapyd.schedule(settings, due="1").wait().items) == ARCHIVES + 2
    server.requested()
    assert "No feed is due" in scrapyd.schedule(settings, due="1").wait().log
    assert server.requested() == []


@nightly
def test_wrong_argument_is_a_sentence_without_passwords_in_the_log(scrapyd: Scrapyd, tmp_path: Path) -> None:
    settings = {"FHCRAWL_DATA_DIR": tmp_path}
    log = scrapyd.schedule(settings, feeds="nowhere.txt").wait().log
    assert f"ERROR: Cannot read the list of feeds {tmp_path}/nowhere.txt (No such file or directory)" in log
    log = scrapyd.schedule(feed="http://user:verysecret@127.0.0.1/index").wait().log
    assert "ERROR: the URL of a feed must not contain" in log
    assert "verysecret" not in log
    # Scrapyd itself logs how it starts its jobs.
    ours = [line for line in scrapyd.log.splitlines() if "verysecret" in line and " args=[" not in line]
    assert ours == []


@nightly
@pytest.mark.parametrize("signal", [{}, {"signal": "TERM"}], ids=["INT", "TERM"])
def test_cancelled_job_has_exported_what_it_found_and_the_next_goes_on(
    scrapyd: Scrapyd, server: FeedServer, tmp_path: Path, signal: dict[str, str]
) -> None:
    serve_chain(server)
    settings = {"FHCRAWL_DATA_DIR": tmp_path}
    with held(server) as requested:
        cancelled = scrapyd.schedule(settings, feed=server.url("/index"))
        assert requested.wait(PATIENCE_SECONDS)
        assert cancelled.cancel(**signal) == "running"
        wait_for(lambda: GRACEFULLY in cancelled.log, "the signal")
    cancelled.wait()
    # The document that is under way is read to its end.
    assert cancelled.changes.keys() == {"newest", "moved", "7", "6", "5"}
    assert f"{server.url('/index')}: incomplete, entries: 5" in cancelled.log

    server.requested()
    following = scrapyd.schedule(settings, feed=server.url("/index")).wait()
    assert server.requested() == [
        "/index",
        "/archive-4",
        "/archive-3",
        "/archive-2",
        "/archive-1",
        "/archive-0",
    ]
    assert following.changes == dict.fromkeys("01234", "new")
    assert by_id(cancelled.items + following.items) == logical_feed(scrapyd, tmp_path)


@nightly
@pytest.mark.parametrize("signals", [[{}, {}], [{"signal": "KILL"}]], ids=["twice", "KILL"])
def test_what_a_killed_job_found_is_among_the_items_of_the_next(
    scrapyd: Scrapyd, server: FeedServer, tmp_path: Path, signals: list[dict[str, str]]
) -> None:
    serve_chain(server)
    settings = {"FHCRAWL_DATA_DIR": tmp_path}
    with held(server) as requested:
        killed = scrapyd.schedule(settings, feed=server.url("/index"))
        assert requested.wait(PATIENCE_SECONDS)
        for signal in signals:
            killed.cancel(**signal)
            wait_for(lambda: GRACEFULLY in killed.log or killed.is_finished(), "the signal")
        killed.wait()
    assert not killed.has_items()

    server.requested()
    following = scrapyd.schedule(settings, feed=server.url("/index")).wait()
    assert server.requested()[:2] == ["/index", HELD]
    assert len(following.items) == ARCHIVES + 2
    assert by_id(following.items) == logical_feed(scrapyd, tmp_path)


@contextlib.contextmanager
def held(server: FeedServer) -> Iterator[threading.Event]:
    """Delay a document's response; the event is set when the request comes."""
    requested, goes_on = threading.Event(), threading.Event()

    def hold(path: str) -> None:
        if path == HELD:
            requested.set()
            goes_on.wait(PATIENCE_SECONDS)

    server.on_request = hold
    try:
        yield requested
    finally:
        server.on_request = None
        goes_on.set()


def by_id(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(items, key=itemgetter("id"))


def logical_feed(scrapyd: Scrapyd, data: Path) -> list[dict[str, Any]]:
    scrapyd.command("scrapy", "export", "-o", "whole.jsonl", FHCRAWL_DATA_DIR=str(data))
    entries = read_export(scrapyd.project / "whole.jsonl")
    return by_id([{**entry, "change": "new"} for entry in entries])
