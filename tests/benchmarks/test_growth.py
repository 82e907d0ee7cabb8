from __future__ import annotations

import pytest

from tests.benchmarks.test_crawl import ratios_of


@pytest.mark.nightly("runs a benchmark")
def test_benchmark_reports_all_series() -> None:
    sizes = ("--archives", "2", "4", "--feeds", "2", "4", "--store", "300", "900", "--document", "1", "2")
    assert ratios_of("growth", *sizes, "--rounds", "1") == ["memory/document"]
