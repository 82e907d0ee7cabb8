"""A real Scrapyd on loopback, to which this project is deployed as its users do it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen
from zipfile import ZipFile

from tests.ports import free_port
from tests.projects import ROOT, USER_AGENT

PROJECT = ("fhcrawl", "pipelines_config", "setup.py", "pyproject.toml", "scrapy.cfg", "README.md", "LICENSE")
TARGET = "http://localhost:6800"
# What the egg says of itself; what is installed beside Scrapyd says otherwise.
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
    """A job that has ended, or is under way."""

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
        """Of each item, by id; asserts that there is none twice."""
        items = self.items
        found = {item["id"]: item["change"] for item in items}
        assert len(found) == len(items)
        return found

    def is_finished(self) -> bool:
        jobs = json.loads(self.scrapyd.get("/listjobs.json?project=fhcrawl"))
        return any(job["id"] == self.id for job in jobs["finished"])

    def wait(self) -> Job:
        wait_for(self.is_finished, "the end of a job")
        return self

    def cancel(self, **signal: str) -> str:
        """Ask Scrapyd to end it; in which state it was."""
        answer = self.scrapyd.post("cancel.json", project="fhcrawl", job=self.id, **signal)
        state: str = answer["prevstate"]
        return state


class Scrapyd:
    """Scrapyd in a folder of its own, and a copy of the project that is deployed from another one."""

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
        with (self.folder / "scrapyd.log").open("ab") as log:
            server = subprocess.Popen(
                [sys.executable, "-m", "scrapyd"],
                cwd=self.folder,
                env=self.environment(),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            wait_for(lambda: server.poll() is not None or self._answers(), "Scrapyd")
            assert server.poll() is None, self.log
            yield
        finally:
            # Its jobs too.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, 9)
            server.wait()

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
