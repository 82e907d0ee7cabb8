from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.benchmarks.measuring import ROOT

pytestmark = pytest.mark.nightly("runs a benchmark")


def test_benchmark_reports_all_crawls_and_ratios() -> None:
    tiny = ("--archives", "6", "--entries", "1", "--latency", "0.01", "--rounds", "1")
    command = [sys.executable, "-m", "tests.benchmarks.prefetch", *tiny]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(r"^([a-l])  .+?(?: +[\d.]+){6}$", done.stdout, re.MULTILINE)
    assert "".join(rows) == "abcdefghijkl"
    ratios = re.findall(r"^(\S+?) +[\d.]+(?:   at most [\d.]+)?$", done.stdout, re.MULTILINE)
    assert ratios == ["b/a", "c/a", "e/d", "g/f", "i/h", "k/j", "l/j"]
    assert re.search(r"^b/a +[\d.]+   at most 0\.2$", done.stdout, re.MULTILINE)
    assert re.search(r"^b/the round trips alone +[\d.]+   at most 0\.2$", done.stdout, re.MULTILINE)
    [needless] = re.findall(r"^needless requests, at most: (.+)$", done.stdout, re.MULTILINE)
    assert [part.split()[0] for part in needless.split(", ")] == list("abcdefghijkl")
