"""The house: which module may know which (arrows run one way)."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import fhcrawl

ROOT = Path(fhcrawl.__file__).parent
# What the modules of a room may import of fhcrawl.
ROOMS = {
    "documents": {"documents", "exceptions"},
    "addresses.py": {"exceptions"},
    "clock.py": set(),
    "relations.py": {"documents"},
    "ordering.py": {"documents", "logical_feed"},
    "logical_feed.py": {"documents", "ordering", "relations"},
    "schedule.py": {"documents", "logical_feed"},
    "visit.py": {"documents", "logical_feed", "ordering"},
    "given_hosts.py": {"addresses", "store"},
    "asking.py": {
        "given_hosts",
        "reading",
        "responses",
        "wordpress",
        "logical_feed",
        "store",
        "visit",
        "warc",
    },
    "spool.py": {"documents"},
    "reader.py": {"documents", "logical_feed", "addresses", "exceptions", "spool"},
    "store": {"clock", "documents", "store", "logical_feed", "ordering", "schedule", "visit", "exceptions"},
}


def imports(path: Path) -> set[str]:
    """The rooms of fhcrawl that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "fhcrawl":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("fhcrawl."):
            found.add(node.module.split(".")[1])
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_arrows_run_one_way(room: str) -> None:
    paths = [ROOT / room] if room.endswith(".py") else sorted((ROOT / room).glob("*.py"))
    assert paths
    for path in paths:
        assert imports(path) <= ROOMS[room], path


def test_the_rules_do_without_scrapy_and_without_a_database() -> None:
    rooms = ("addresses", "documents", "ordering", "logical_feed", "schedule", "visit")
    script = f"import sys, {', '.join(f'fhcrawl.{name}' for name in rooms)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"scrapy", "twisted", "sqlalchemy"}


def test_the_project_is_found_in_any_locale() -> None:
    # Scrapy reads the file in the locale's encoding.
    assert (ROOT.parent / "scrapy.cfg").read_bytes().isascii()
