from __future__ import annotations

import re

import pytest

from tests.benchmarks.server import Site
from tests.benchmarks.test_crawl import run

pytestmark = pytest.mark.nightly("runs a benchmark")


def test_benchmark_reports_costs_and_ratios() -> None:
    tiny = ("--feeds", "6", "--hosts", "3", "--busy", "3", "--documents", "2", "--entries", "1")
    done = run(*tiny, "--latency", "0.01", "--rounds", "1", benchmark="hosts")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.findall(r"^([a-d])  .+?(?: +[\d.]+){6}$", done.stdout, re.MULTILINE)
    assert rows == ["a", "b", "c", "d"]
    ratios = re.findall(
        r"^(\S+)/bound +[\d.]+   (?:the slowest host|its CPU time), at most 1\.2$", done.stdout, re.MULTILINE
    )
    assert ratios == ["b", "d"]


def test_busy_host_has_its_feeds_and_the_others_the_rest() -> None:
    site = Site(1, 1, feeds=7, hosts=3, busy=4)
    assert [site.host_of(feed) for feed in range(7)] == [0, 0, 0, 0, 1, 2, 0]
