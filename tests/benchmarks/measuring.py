"""What a process costs: time, CPU time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
RSS_UNITS_IN_A_MIB = 1024**2 if sys.platform == "darwin" else 1024


class Cost(NamedTuple):
    """:param wall: seconds
    :param cpu: seconds, user and system
    :param memory: the most that was resident, in MiB
    """

    wall: float
    cpu: float
    memory: float


def measure(command: list[str], folder: Path) -> Cost:
    """Run Python with some arguments in a folder.

    The system counts what is resident from the fork on, so that this process has to stay smaller than
    those that it measures.

    :raises SystemExit: if it fails, with the end of what it printed
    """
    os.sync()  # what the last one wrote is not this one's to wait for
    log = folder / "log.txt"
    begun = time.perf_counter()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *command], cwd=folder, env=_environment(), stdout=output, stderr=output
        )
        _pid, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        end = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}\n{end}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / RSS_UNITS_IN_A_MIB)


def _environment() -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY_")}
    return {**ours, "PYTHONPATH": str(ROOT), "no_proxy": "127.0.0.1"}
