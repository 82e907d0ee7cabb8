"""The benchmarks run, and report the ratios of docs/explanation/performance.md."""

import re
import subprocess
import sys

import pytest

from benchmarks.holes import PUBLISHERS, line
from benchmarks.measuring import ROOT
from benchmarks.server import Chain

RATIO = re.compile(r"^ *(\S.*?) +-?[\d.]+(?: +[\d.]+)?   .*?at most [\d.]+", re.MULTILINE)
TINY = "--archives 3 --entries 4"
READING = [
    f"{size}: time, fhcrawl/{other}"
    for size in ("5 KB", "150 KB", "0.2 MB")
    for other in ("feedparser", "lxml")
]


def run(benchmark: str, *args: str) -> str:
    command = [sys.executable, "-m", f"benchmarks.{benchmark}", *args]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.nightly("runs a benchmark")
@pytest.mark.parametrize(
    ("benchmark_", "args", "ratios"),
    [
        ("crawl", TINY, ["b/a", "b/d", "c/a", "b, memory"]),
        pytest.param(
            "crawl",
            f"{TINY} --no-long --postgres",
            ["b/a", "b/d", "c/a", "e/b"],
            marks=pytest.mark.postgresql_only("its server"),
        ),
        ("polling", "--feeds 6 --hosts 3 --entries 2", ["b/a"]),
        ("hosts", "--feeds 6 --hosts 3 --busy 3 --documents 2 --entries 1", ["b/bound", "d/bound"]),
        ("reading", "--large 0.2", [*READING, "0.2 MB: memory/document"]),
        ("growth", "--archives 2 4 --feeds 2 4 --store 300 900 --document 1 2", ["memory/document"]),
    ],
)
def test_benchmark_reports_its_ratios(benchmark_: str, args: str, ratios: list[str]) -> None:
    printed = run(benchmark_, *args.split(), "--rounds", "1")
    assert RATIO.findall(printed) == ratios


@pytest.mark.nightly("runs a benchmark")
@pytest.mark.usefixtures("redis_url", "postgresql_url")
def test_benchmark_of_clusters_reports_both_crawls_and_their_ratio() -> None:
    tiny = ("--feeds", "3", "--hosts", "2", "--documents", "2", "--entries", "1", "--latency", "0.01")
    printed = run("cluster", *tiny)
    assert re.findall(r"^round 1, workers: ([12]), -?[\d.]+ s$", printed, re.MULTILINE) == ["1", "2"]
    assert re.search(r"^1 worker's time to 2 workers' -?[\d.]+   at least 1\.8$", printed, re.MULTILINE)


def test_documentation_has_the_numbers_of_a_simulated_year() -> None:
    table = (ROOT / "docs" / "explanation" / "plain-feeds.md").read_text(encoding="utf-8")
    assert line(PUBLISHERS[2]) in table
    assert all(f"| {publisher.name} | {publisher.shown} |" in table for publisher in PUBLISHERS)


def test_chain_is_the_same_every_time() -> None:
    one, other = Chain(3, 4, "http://example.org"), Chain(3, 4, "http://example.org")
    assert [one.number(path) for path in [*one.paths, "/archive/3.atom"]] == [1, 2, 3, None]
    assert [one.document(n) for n in (1, 2, 3)] == [other.document(n) for n in (1, 2, 3)]
    assert one.document(1) != one.document(2)
