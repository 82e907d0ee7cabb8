from __future__ import annotations

import re

import pytest

from tests.benchmarks.test_crawl import run

pytestmark = pytest.mark.nightly("runs a benchmark")

ROWS = [
    "a chain (archive: 2 and 4)",
    "feeds of 3 archives (feed: 2 and 4)",
    "feeds, nothing new (feed: 2 and 4)",
    "store: a new archive (entry: 300 and 900)",
    "store: nothing new (entry: 300 and 900)",
    "store: scrapy feeds (entry: 300 and 900)",
    "store: scrapy export (entry: 300 and 900)",
    "one document (MB: 1 and 2)",
]


def test_benchmark_reports_all_series() -> None:
    sizes = ("--archives", "2", "4", "--feeds", "2", "4", "--store", "300", "900", "--document", "1", "2")
    done = run(*sizes, "--rounds", "1", benchmark="growth")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(r"^(\S.+?\))(?: +[\d.,]+){5}$", done.stdout, re.MULTILINE)
    assert rows == ROWS
    assert re.search(r"^  memory/document +[\d.]+   at most 10$", done.stdout, re.MULTILINE)
    assert "aims: to linear at most 1.1, memory at most 1.15" in done.stdout


def test_series_can_be_chosen() -> None:
    done = run("chain", "--archives", "2", "3", "--rounds", "1", benchmark="growth")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "a chain (archive: 2 and 3)" in done.stdout
    assert "feeds" not in done.stdout
