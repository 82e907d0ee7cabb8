"""How benchmarks run crawls, what a process costs (time, CPU time and memory), and tables of costs."""

import argparse
import compileall
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from statistics import median
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parent
PROC = Path("/proc")
LOG = "log.txt"
LOOKS_AGAIN = 0.05  # seconds
RSS_UNITS_IN_A_MIB = 1024**2 if sys.platform == "darwin" else 1024
OUTPUT = "out.jsonl"
STORE = ".scrapy/fhcrawl.sqlite"
FEEDS = "feeds.txt"
# As fhcrawl has them; everything else is Scrapy's default.
PLAIN_SETTINGS = {"LOG_LEVEL": "INFO", "ROBOTSTXT_OBEY": True, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
WIDTH = 28
RATIO_HEAD = f"{'ratio':{WIDTH}}{'wall':>8}{'CPU':>8}   target (of wall)"


class Cost(NamedTuple):
    """:param wall: seconds
    :param cpu: seconds, user and system, with the processes that it has started
    :param memory: the most that was resident, in MiB; of several processes, the sum of what each had at most
    :param waited: seconds that it could have run, but others had the CPUs; 0 where the system does not say
    """

    wall: float
    cpu: float
    memory: float
    waited: float = 0.0

    @property
    def undisturbed(self) -> float:
        return self.wall - self.waited


Round = dict[str, Cost]


class Watch(threading.Thread):
    """Looks at a process and those that it has started, as long as they are there.

    :param waited: how long its first thread has waited for a CPU, in seconds
    """

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._done = threading.Event()
        self._peaks: dict[int, int] = {}
        self.waited = 0.0
        self.start()

    def run(self) -> None:
        while not self._done.wait(LOOKS_AGAIN):
            self.waited = max(self.waited, _waited(self._pid))
            for pid in _family(self._pid):
                # The latest counts: a process has its parent's memory before it runs a program.
                self._peaks[pid] = _peak(pid) or self._peaks.get(pid, 0)

    def end(self) -> int:
        self._done.set()
        self.join()
        return sum(self._peaks.values())


def _family(pid: int) -> Iterator[int]:
    yield pid
    try:
        tasks = list((PROC / str(pid) / "task").iterdir())
        children = " ".join((task / "children").read_text() for task in tasks)
    except OSError:  # it is no more
        return
    for child in map(int, children.split()):
        yield from _family(child)


def _peak(pid: int) -> int:
    try:
        status = (PROC / str(pid) / "status").read_text()
    except OSError:
        return 0
    return int((status.partition("VmHWM:")[2].split() or "0")[0])


def _waited(pid: int) -> float:
    try:
        # https://docs.kernel.org/scheduler/sched-stats.html: time on the CPU, time waiting for it, in ns.
        return int((PROC / str(pid) / "schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def measure(command: list[str], folder: Path) -> Cost:
    """Run Python with some arguments in a folder.

    The system counts what is resident from the fork on, so that this process has to stay smaller than
    those that it measures.

    :raises SystemExit: if it fails, with the end of what it printed
    """
    _compile()
    os.sync()  # what the last one wrote is not this one's to wait for
    log = folder / LOG
    begun = time.perf_counter()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=folder,
            env=environment(),
            stdout=output,
            stderr=output,
        )
        watch = Watch(process.pid)
        _pid, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    peak = max(usage.ru_maxrss / RSS_UNITS_IN_A_MIB, watch.end() / 1024)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        end = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}\n{end}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, peak, watch.waited)


@cache
def _compile() -> None:
    compileall.compile_dir(ROOT / "fhcrawl", quiet=1)


# Without the machine's proxies, which are looked up for each request, even of hosts that are exempt.
def environment() -> dict[str, str]:
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("SCRAPY_") and not name.lower().endswith("_proxy")
    }
    return {**ours, "PYTHONPATH": str(ROOT)}


def conditions(rounds: int) -> str:
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("Scrapy", "lxml"))
    return (
        f"{rounds} rounds; Python {platform.python_version()}, {versions}, {os.cpu_count()} CPUs, "
        f"load {os.getloadavg()[0]:.1f}"
    )


def arguments(description: str | None, **given: tuple[float, str]) -> argparse.ArgumentParser:
    """A parser of options that are numbers: their default values, and what they are."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, (default, what) in given.items():
        parser.add_argument(
            f"--{name}", type=type(default), default=default, help=f"{what} (default: {default})"
        )
    return parser


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="fhcrawl-benchmark-") as name:
        yield Path(name)


@contextmanager
def project() -> Iterator[Path]:
    with folder() as path:
        shutil.copy(ROOT / "scrapy.cfg", path)
        yield path


def command(*words: str) -> list[str]:
    return ["-m", "scrapy", *words]


def fhcrawl(feed: str, settings: Mapping[str, object] | None = None) -> list[str]:
    return command("crawl", "history", "-a", f"feed={feed}", "-o", OUTPUT, *given(settings or {}))


def fhcrawl_list(urls: list[str], project: Path, settings: Mapping[str, object] | None = None) -> list[str]:
    """The command that crawls feeds, whose list it writes into the project's folder."""
    (project / FEEDS).write_text("\n".join(urls))
    return command("crawl", "history", "-a", f"feeds={FEEDS}", "-o", OUTPUT, *given(settings or {}))


def plain(argument: str) -> list[str]:
    spider = str(HERE / "plain_spider.py")
    return ["-m", "scrapy", "runspider", spider, "-a", argument, *given(PLAIN_SETTINGS)]


def given(settings: Mapping[str, object]) -> list[str]:
    return [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]


def expect_stat(what: str, folder: Path, name: str, number: int) -> None:
    if not re.search(rf"'{name}': {number}\b", (folder / LOG).read_text(errors="replace")):
        raise SystemExit(f"{what}: its log does not say that {name} is {number}")


def expect_lines(what: str, folder: Path, number: int) -> None:
    path = folder / OUTPUT
    count = path.read_bytes().count(b"\n") if path.exists() else 0
    if count != number:
        raise SystemExit(f"{what}: {count} entries instead of {number}")


def reported(number: int, costs: Round) -> str:
    return f"round {number}: " + ", ".join(f"{name} {cost.wall:.2f} s" for name, cost in costs.items())


def table(contestants: Mapping[str, str], rounds: list[Round]) -> str:
    head = f"{'':{WIDTH}}{'wall s':^16}{'CPU s':^16}{'peak MiB':^16}".rstrip()
    columns = " " * WIDTH + f"{'median':>8}{'min':>8}" * 3
    lines = [
        f"{name}  {what:{WIDTH - 3}}{_columns([each[name] for each in rounds])}"
        for name, what in contestants.items()
        if name in rounds[0]
    ]
    return "\n".join(["", head, columns, *lines, ""])


def _columns(costs: list[Cost]) -> str:
    wall, cpu, memory = ([cost[i] for cost in costs] for i in range(3))
    times = "".join(f"{median(values):8.2f}{min(values):8.2f}" for values in (wall, cpu))
    return f"{times}{median(memory):8.1f}{min(memory):8.1f}"


def ratio(one: str, other: str, rounds: list[Round], aim: float) -> str:
    """How much more one costs than another: the median over the rounds."""
    wall = median(each[one].wall / each[other].wall for each in rounds)
    cpu = median(each[one].cpu / each[other].cpu for each in rounds)
    return f"{one + '/' + other:{WIDTH}}{wall:8.3f}{cpu:8.3f}   at most {aim}"
