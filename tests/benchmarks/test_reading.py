from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from fhcrawl.documents.xml import parsing
from tests.benchmarks.chain import Chain
from tests.benchmarks.measuring import ROOT
from tests.benchmarks.reading import FORMATS, URL, rss
from tests.feeds import read

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.nightly("runs a benchmark")

SIZES = ("5 KB", "150 KB", "200 KB")
TARGETS = {
    "time, fhcrawl/feedparser": "0.2",
    "time, fhcrawl/fastfeedparser": "",
    "time, fhcrawl/lxml": "3",
    "memory/document": "4",
}


def run(*args: str) -> dict[str, str]:
    """The ratios that the benchmark prints: what is compared, and the target."""
    command = [sys.executable, "-m", "tests.benchmarks.reading", "--rounds", "1", *args]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    row = r"^(.+?) +-?[\d.]+(?:   at most ([\d.]+)(?:, missed)?)?$"
    return dict(re.findall(row, done.stdout[done.stdout.index("\nratio ") + 1 :], re.MULTILINE))


def ratios() -> Iterator[tuple[str, str]]:
    for size in SIZES:
        for format_ in FORMATS:
            for name, target in TARGETS.items():
                if not name.startswith("memory") or size == SIZES[-1]:
                    yield f"{format_}, {size}: {name}", target


def test_benchmark_reports_all_ratios() -> None:
    assert run("--large", "0.2") == dict(ratios())


@pytest.mark.parametrize("format_", FORMATS)
def test_large_documents_are_read_as_small_ones_are(format_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    atom = Chain(2, 800, URL).document(1)
    body = atom if format_ == "Atom" else rss(atom)
    assert len(body) > parsing.LARGE
    in_pieces, cut = read(body, URL), read(body[:-20], URL)
    monkeypatch.setattr(parsing, "LARGE", len(body) + 1)
    assert in_pieces == read(body, URL)
    assert cut == read(body[:-20], URL)
    assert (len(in_pieces.entries), in_pieces.fault) == (800, None)
    assert (len(cut.entries), cut.fault is None) == (799, False)
