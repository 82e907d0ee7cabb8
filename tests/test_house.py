"""The rules are pure; that arrows only go down is import-linter's to say (pyproject.toml)."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter

import grimp

from fhcrawl.reasons import ReasonKind
from tests.projects import ROOT


def test_the_rules_do_without_scrapy_and_without_a_database() -> None:
    rooms = ("documents", "logical_feed.polling", "logical_feed.results", "utils.addresses", "validation")
    script = f"import sys, {', '.join(f'fhcrawl.{name}' for name in rooms)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "fhcrawl" in loaded
    assert not loaded & {"scrapy", "twisted", "sqlalchemy"}


def test_no_module_imports_itself_through_others() -> None:
    graph = grimp.build_graph("fhcrawl", cache_dir=None)
    imported = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    TopologicalSorter(imported).prepare()


def test_only_one_module_knows_what_a_request_carries() -> None:
    keys = r"""cb_kwargs(\[|\.get\()|meta(\[|\.(get|pop)\()["']fhcrawl|["']deltafetch_(key|enabled)"""
    known = re.compile(keys)
    modules = [path for path in (ROOT / "fhcrawl").rglob("*.py") if known.search(path.read_text("utf-8"))]
    assert [path.name for path in modules] == ["context.py"]


def literals(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_kinds_of_reasons_stand_in_one_enum() -> None:
    # mypy finds a plain word, such as "loop", where a ReasonKind has to be.
    kinds = {kind.value for kind in ReasonKind if "-" in kind.value}
    modules = {path: literals(path.read_text("utf-8")) for path in (ROOT / "fhcrawl").rglob("*.py")}
    reported = {path.name for path, strings in modules.items() if not kinds.isdisjoint(strings)}
    assert reported == {"reasons.py"}


def test_the_project_is_found_in_any_locale() -> None:
    # Scrapy reads the file in the locale's encoding.
    assert (ROOT / "scrapy.cfg").read_bytes().isascii()
