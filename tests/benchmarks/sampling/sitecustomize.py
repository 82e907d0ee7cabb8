"""Python imports this before all else where its folder is in PYTHONPATH: it lets the process be sampled."""

from __future__ import annotations

import os

if "FHCRAWL_BENCHMARK_SAMPLES" in os.environ:
    from tests.benchmarks import profiling

    profiling.begin()
