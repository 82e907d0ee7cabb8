import re
import subprocess
import sys

import pytest

from tests.benchmarks.measuring import ROOT

pytestmark = pytest.mark.nightly("runs a benchmark")


@pytest.mark.usefixtures("redis_url", "postgresql_url")
def test_benchmark_reports_both_crawls_and_their_ratio() -> None:
    tiny = ("--feeds", "3", "--hosts", "2", "--documents", "2", "--entries", "1", "--latency", "0.01")
    command = [sys.executable, "-m", "tests.benchmarks.cluster", *tiny]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"^round 1, workers: ([12]), -?[\d.]+ s$", done.stdout, re.MULTILINE) == ["1", "2"]
    assert re.search(r"^1 worker's time to 2 workers' -?[\d.]+   at least 1\.8$", done.stdout, re.MULTILINE)
