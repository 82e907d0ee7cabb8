"""What the README names is there."""

from __future__ import annotations

import re

import pytest

from tests.projects import ROOT

PROMISES = (ROOT / "README.md").read_text(encoding="utf-8").partition("## What fhcrawl promises")[2]
TABLE = PROMISES.partition("\n## ")[0]
ROWS = [line for line in TABLE.splitlines() if line.startswith("| **")]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("**")[1])
def test_each_promise_names_tests_that_there_are(row: str) -> None:
    shown_by = row.rsplit(" | ", maxsplit=1)[-1]
    files = re.findall(r"`(tests/[^`]+\.py)`", shown_by)
    modules = re.findall(r"`python -m ([\w.]+)`", shown_by)
    texts = [(ROOT / path).read_text(encoding="utf-8") for path in files]
    assert files or modules
    assert all((ROOT / module.replace(".", "/")).with_suffix(".py").exists() for module in modules)
    for name in re.findall(r"`(test_\w+)`", shown_by):
        assert any(f"def {name}(" in text for text in texts), name


def test_there_are_promises() -> None:
    assert len(ROWS) >= 10
