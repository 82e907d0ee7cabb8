"""What users meet is documented: commands, settings, fields, reasons, stats, views, promises."""

import ast
import json
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

import pytest
from scrapy.settings import default_settings
from sqlalchemy import NullPool, create_engine, inspect

from fhcrawl import items, settings
from fhcrawl.exporters.rows import PROFILES
from fhcrawl.logical_feed import Outcome, Verdict
from fhcrawl.logical_feed.results import State
from fhcrawl.reasons import ReasonKind
from fhcrawl.store import Store, schema
from tests.docs import generate
from tests.docs.pages import DOCS, PAGES, commands, source
from tests.projects import ROOT

STAT = re.compile(r"(?:fhcrawl/[a-z]+|deltafetch)/[a-z]+")
OURS = ("FHCRAWL_", "DELTAFETCH_")
PROMISES = re.split(r"^## ", source("explanation/promises"), flags=re.MULTILINE)[1:]


def settings_in(page: str) -> list[str]:
    return re.findall(r"^(?:### |- `)([A-Z_]+)(?:$|`: `.+`\. .+\.$)", source(page), re.MULTILINE)


def test_each_setting_is_described_once() -> None:
    described = settings_in("reference/settings")
    ours = [name for name in vars(settings) if name.startswith(OURS)]
    assert set(ours) <= set(described)
    assert len(described) == len(set(described))
    comments = generate.described(ROOT / "fhcrawl" / "settings.py")
    assert all(comments[name].endswith((".", ".\n")) for name in ours)


def test_each_default_of_scrapy_that_is_changed_is_described() -> None:
    changed = {
        name
        for name, value in vars(settings).items()
        if name.isupper() and getattr(default_settings, name, value) != value
    }
    lists = {name for name in changed if isinstance(getattr(settings, name), dict | list)}
    named_by_deployments = {"BOT_NAME", "SPIDER_MODULES", "NEWSPIDER_MODULE", "COMMANDS_MODULE"}
    assert changed - lists - named_by_deployments <= set(settings_in("reference/settings"))


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_settings_that_there_are(page: str) -> None:
    named = set(re.findall(r"\bFHCRAWL_[A-Z_]+", source(page)))
    assert {name for name in named if not hasattr(settings, name)} == set()


def test_each_verdict_is_described_and_each_reason_once() -> None:
    page = source("reference/verdicts")
    assert {verdict.value for verdict in Verdict} <= set(re.findall(r"^- `([a-z]+)`: ", page, re.MULTILINE))
    kinds = [
        kind
        for _, cell in generate.ITEM.findall(page.partition("\n## Reasons\n")[2])
        for kind in re.findall(r"`(.+?)`", cell)
    ]
    assert sorted(kinds) == sorted(ReasonKind)


def test_each_field_is_described_in_its_order() -> None:
    described = re.findall(r"^(?:- |\| )`(\w+)`(?:: | \|)", source("reference/fields"), re.MULTILINE)
    fields = [*items.FIELDS, *items.OPTIONAL_FIELDS, *items.COMPUTED_FIELDS]
    assert described == [*fields, *(name for columns in PROFILES.values() for name in columns)]
    assert [*items.FIELDS, *items.OPTIONAL_FIELDS] == items.ALL_FIELDS


def stats_in_code() -> Iterator[tuple[str, bool]]:
    for path in (ROOT / "fhcrawl").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if STAT.fullmatch(node.value):
                    yield node.value, True
            elif isinstance(node, ast.JoinedStr):
                parts = [str(p.value) if isinstance(p, ast.Constant) else "*" for p in node.values]
                if re.fullmatch(r"fhcrawl/([a-z]+|\*)/\*", "".join(parts)):
                    yield "".join(parts), False


def test_each_stat_is_described() -> None:
    described = set(re.findall(rf"^- `({STAT.pattern})`: ", source("reference/stats"), re.MULTILINE))
    found = set(stats_in_code())
    assert {name for name, is_whole in found if is_whole} <= described
    patterns = [name.replace("*", "[a-z]+") for name, is_whole in found if not is_whole]
    assert patterns
    wholes = {name for name, is_whole in found if is_whole}
    assert all(name in wholes or any(re.fullmatch(p, name) for p in patterns) for name in described)
    values: dict[str, type[Enum]] = {"feed": Verdict, "entry": Outcome, "document": State}
    for noun, enum in values.items():
        for value in enum:
            known = f"fhcrawl/{noun}/{value.value}"
            assert known in described or known == f"fhcrawl/document/{State.KNOWN.value}"


def test_each_stat_of_the_golden_crawls_is_described() -> None:
    described = source("reference/stats")
    for path in (ROOT / "tests" / "data" / "golden").glob("*-stats.json"):
        names = {name for run in json.loads(path.read_text("utf-8")) for name in run}
        assert {name for name in names if STAT.fullmatch(name) and f"- `{name}`: " not in described} == set()


def test_each_command_and_option_is_described() -> None:
    page = source("reference/commands")
    found = generate.parsers()
    assert re.findall(r"^## fhcrawl (\w+)$", page, re.MULTILINE) == list(found)
    for parser in found.values():
        options = {name for action in parser._actions for name in action.option_strings} - {"-h", "--help"}
        assert {name for name in options if not re.search(rf"^- .*`{name}\b", page, re.MULTILINE)} == set()


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_examples_are_understood(page: str) -> None:
    parsers = generate.parsers()
    for name, *arguments in commands(page):
        if name.startswith("-"):
            continue
        _, others = parsers[name].parse_known_args(arguments)
        assert not [word for word in others if word.startswith("-")], (name, arguments)


def test_each_column_of_a_view_is_described_and_the_query_works(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.sqlite"
    Store.open(url).close()
    engine = create_engine(url, poolclass=NullPool)
    found: dict[str, list[str]] = {}
    for view in sorted(schema.VIEWS, key=source("reference/views").find):
        columns = [column["name"] for column in inspect(engine).get_columns(view)]
        section = source("reference/views").partition(f"\n## {view}\n")[2].partition("\n## ")[0]
        cells = " ".join(re.findall(r"^- ((?:`\w+`(?:, )?)+)", section, re.MULTILINE))
        same = [
            f"`{name}`"
            for other in re.findall(r"^- The columns of `(\w+)`", section, re.MULTILINE)
            for name in found[other]
        ]
        found[view] = re.findall(r"`(\w+)`", " ".join([*same, cells]))
        assert sorted(found[view]) == sorted(columns), view
    [query] = re.findall(r'^    sqlite3 .*"(SELECT .+)"$', source("reference/views"), re.MULTILINE)
    with engine.connect() as connection:
        assert connection.exec_driver_sql(query).all() == []


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.partition("\n")[0])
def test_each_promise_names_tests_that_there_are(promise: str) -> None:
    shown_by = promise.partition("\n**Shown by:** ")[2]
    files = re.findall(r"`(tests/[^`]+\.py)`", shown_by)
    modules = re.findall(r"`python -m ([\w.]+)`", shown_by)
    texts = [(ROOT / path).read_text(encoding="utf-8") for path in files]
    assert files or modules
    assert all((ROOT / module.replace(".", "/")).with_suffix(".py").exists() for module in modules)
    for name in re.findall(r"`(test_\w+)`", shown_by):
        assert any(f"def {name}(" in text for text in texts), name


def test_each_layer_and_its_packages_are_described() -> None:
    table = (ROOT / "pyproject.toml").read_text("utf-8").partition("\nlayers = [\n")[2].partition("\n]")[0]
    layers = [set(re.split(" [:|] ", layer)) for layer in re.findall(r'^    "(.+?)"', table, re.MULTILINE)]
    rows = re.findall(r"^\| (`.+?) \|", source("explanation/architecture"), re.MULTILINE)
    assert layers
    assert [set(re.findall(r"`(\w+)`", row)) for row in rows] == layers


@pytest.mark.parametrize("page", PAGES)
def test_documentation_page_begins_with_a_title_and_a_sentence(page: str) -> None:
    title, empty, first = source(page).splitlines()[:3]
    assert title.startswith("# ")
    assert not empty
    assert re.match(r"[A-Z]|fhcrawl|`fhcrawl`", first)


def test_no_page_is_longer_than_a_module() -> None:
    lengths = {page: generate.GENERATED.sub("", source(page)).count("\n") for page in PAGES}
    assert {page: length for page, length in lengths.items() if length > 400} == {}
    assert (DOCS / "index.md").exists()
