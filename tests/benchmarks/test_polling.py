from __future__ import annotations

import re

import pytest

from tests.benchmarks.test_crawl import run

pytestmark = pytest.mark.nightly("runs a benchmark")


def test_benchmark_reports_costs_and_ratio() -> None:
    tiny = ("--feeds", "6", "--hosts", "3", "--entries", "2", "--rounds", "1")
    done = run(*tiny, benchmark="polling")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(r"^([ab])  \D+?(?: +[\d.]+){6}$", done.stdout, re.MULTILINE)
    assert rows == ["a", "b"]
    assert re.search(r"^b/a +[\d.]+ +[\d.]+   at most 1\.3$", done.stdout, re.MULTILINE)
