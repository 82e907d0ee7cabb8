from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.benchmarks.chain import Chain
from tests.benchmarks.measuring import ROOT
from tests.benchmarks.profiling import Sampler

pytestmark = pytest.mark.nightly("runs a benchmark")

TINY = ("--archives", "3", "--entries", "4", "--rounds", "1")


def run(*args: str, benchmark: str = "crawl") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"tests.benchmarks.{benchmark}", *args]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)


def test_benchmark_reports_all_costs_and_ratios() -> None:
    done = run(*TINY, "--profile")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = dict(re.findall(r"^([abcd])  \D+((?: +[\d.]+){6})$", done.stdout, re.MULTILINE))
    assert set(rows) == set("abcd")
    ratios = re.findall(r"^(\S+) +[\d.]+ +[\d.]+   at most ([\d.]+)$", done.stdout, re.MULTILINE)
    assert ratios == [("b/a", "1.25"), ("b/d", "0.2"), ("c/a", "0.35")]
    assert re.search(r"^b, memory +[\d.]+ +at most 1\.15 \(.* with 30 archives", done.stdout, re.MULTILINE)
    table = done.stdout[done.stdout.index("where the time goes") :]
    purposes = re.findall(r"^(\S.+?) +[\d.]+ +[\d.]+ +([\d.]+)%$", table, re.MULTILINE)
    assert {"start-up, end", "download"} <= {what for what, _share in purposes}
    assert 99 <= sum(float(share) for _what, share in purposes) <= 101
    assert re.search(r"^all +[\d.]+ +[\d.]+$", table, re.MULTILINE)


def test_samples_belong_to_the_innermost_known_frame() -> None:
    places = {
        "/x/fhcrawl/documents/formats/atom.py": "extract",
        "/x/fhcrawl/documents/xml/parsing.py": "parse",
        "/x/site-packages/sqlalchemy/engine/base.py": None,
        "/x/fhcrawl/store/store.py": "store",
        "/x/site-packages/twisted/web/client.py": "download",
    }
    sampler = Sampler()
    assert {file: sampler.place(file) for file in places} == places


@pytest.mark.postgresql_only("its server")
def test_ratio_of_postgresql_to_sqlite_is_reported() -> None:
    done = run(*TINY, "--no-long", "--postgres")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^e  \(b\) with PostgreSQL(?: +[\d.]+){6}$", done.stdout, re.MULTILINE)
    assert re.search(r"^e/b +[\d.]+ +[\d.]+   at most 1\.5$", done.stdout, re.MULTILINE)


def test_long_chain_can_be_left_out() -> None:
    done = run(*TINY, "--no-long")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "c/a" in done.stdout
    assert "memory" not in done.stdout


def test_chain_is_the_same_every_time() -> None:
    one, other = Chain(3, 4, "http://example.org"), Chain(3, 4, "http://example.org")
    numbers = [one.number(path) for path in one.paths]
    assert numbers == [1, 2, 3]
    assert one.number("/archive/3.atom") is None
    assert [one.document(n) for n in (1, 2, 3)] == [other.document(n) for n in (1, 2, 3)]
    assert one.document(1) != one.document(2)
