"""The benchmarks run, and report what docs/explanation/performance.md says that they do."""

import re
import subprocess
import sys

import pytest

from tests.benchmarks.chain import Chain
from tests.benchmarks.measuring import ROOT

TINY = "--archives 3 --entries 4"


def ratios_of(benchmark: str, *args: str) -> list[str]:
    """Run a benchmark; return the names of the ratios that it prints with their aims."""
    command = [sys.executable, "-m", f"tests.benchmarks.{benchmark}", *args]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return re.findall(r"^ *(\S.*?) +-?[\d.]+(?: +[\d.]+)?   .*?at most [\d.]+", done.stdout, re.MULTILINE)


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
        ("growth", "--archives 2 4 --feeds 2 4 --store 300 900 --document 1 2", ["memory/document"]),
    ],
)
def test_benchmark_reports_its_ratios(benchmark_: str, args: str, ratios: list[str]) -> None:
    assert ratios_of(benchmark_, *args.split(), "--rounds", "1") == ratios


def test_chain_is_the_same_every_time() -> None:
    one, other = Chain(3, 4, "http://example.org"), Chain(3, 4, "http://example.org")
    assert [one.number(path) for path in [*one.paths, "/archive/3.atom"]] == [1, 2, 3, None]
    assert [one.document(n) for n in (1, 2, 3)] == [other.document(n) for n in (1, 2, 3)]
    assert one.document(1) != one.document(2)
