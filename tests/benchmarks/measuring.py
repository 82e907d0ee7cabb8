"""What a process costs: time, CPU time and memory."""

import compileall
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
PROC = Path("/proc")
LOG = "log.txt"
LOOKS_AGAIN = 0.05  # seconds
RSS_UNITS_IN_A_MIB = 1024**2 if sys.platform == "darwin" else 1024


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
        """Seconds that it would have taken if it had not waited for a CPU."""
        return self.wall - self.waited


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
        """Look now and then."""
        while not self._done.wait(LOOKS_AGAIN):
            self.waited = max(self.waited, _waited(self._pid))
            for pid in _family(self._pid):
                # The latest counts: a process has its parent's memory before it runs a program.
                self._peaks[pid] = _peak(pid) or self._peaks.get(pid, 0)

    def end(self) -> int:
        """The sum of what each had at most, in KiB; 0 if the system does not say."""
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


def measure(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> Cost:
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
            env={**_environment(), **(environment or {})},
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
    """Compile the package, as whoever installs it does; without, each process might compile it anew."""
    compileall.compile_dir(ROOT / "fhcrawl", quiet=1)


def _environment() -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY_")}
    return {**ours, "PYTHONPATH": str(ROOT), "no_proxy": "127.0.0.1"}
