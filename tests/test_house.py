"""The rules are pure; that arrows only go down is import-linter's to say (pyproject.toml)."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.projects import ROOT


def test_the_rules_do_without_scrapy_and_without_a_database() -> None:
    rooms = ("documents", "logical_feed.polling", "logical_feed.results", "utils.addresses")
    script = f"import sys, {', '.join(f'fhcrawl.{name}' for name in rooms)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "fhcrawl" in loaded
    assert not loaded & {"scrapy", "twisted", "sqlalchemy"}


def test_only_one_module_knows_what_a_request_carries() -> None:
    keys = r"""cb_kwargs(\[|\.get\()|meta(\[|\.(get|pop)\()["']fhcrawl|["']deltafetch_(key|enabled)"""
    known = re.compile(keys)
    modules = [path for path in (ROOT / "fhcrawl").rglob("*.py") if known.search(path.read_text("utf-8"))]
    assert [path.name for path in modules] == ["context.py"]


def test_the_project_is_found_in_any_locale() -> None:
    # Scrapy reads the file in the locale's encoding.
    assert (ROOT / "scrapy.cfg").read_bytes().isascii()
