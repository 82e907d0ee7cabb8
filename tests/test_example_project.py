"""The example of the documentation, in a virtual environment into which the wheel was installed."""

import csv
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fhcrawl.items import FIELDS
from tests.feeds import E, atom
from tests.projects import EXPORTED, ROOT, read_export
from tests.server import FeedServer

pytestmark = pytest.mark.sqlite_only("the store that a project has by default")
nightly = pytest.mark.nightly("builds a wheel, and starts processes")
SOURCES = ("fhcrawl", "pipelines_config", "pyproject.toml", "setup.py", "README.md", "LICENSE")
EXAMPLE = ROOT / "docs" / "example_project"
NOT_OURS = ("PYTHONPATH", "SCRAPY_", "FHCRAWL_")
TEXTS = {"a": "one", "b": "one two", "c": "one two three"}
PRINT_PLACE = "import fhcrawl; print(fhcrawl.__file__)"


@dataclass(frozen=True)
class Installed:
    folder: Path
    python: Path

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_OURS)}
        return subprocess.run(
            [self.python, *args],
            cwd=self.folder,
            env={**kept, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def scrapy(self, *args: str) -> str:
        done = self.run("-m", "scrapy", *args)
        assert done.returncode == 0, done.stderr
        return done.stderr


def pip(*args: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", *args], capture_output=True, check=True, timeout=300)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python in an environment with the wheel; its dependencies are those of this environment."""
    folder = tmp_path_factory.mktemp("wheel")
    (folder / "source").mkdir()
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / "source" / name)
    pip("wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), str(folder / "source"))
    [wheel] = folder.glob("fhcrawl-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    pip("--python", str(python), "install", "-q", "--no-deps", "--no-index", str(wheel))
    [packages] = (folder / "venv" / "lib").glob("python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return python


@pytest.fixture
def example(python: Path, tmp_path: Path) -> Installed:
    shutil.copytree(EXAMPLE, tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__"))
    return Installed(tmp_path / "project", python)


def document(ids: str, prev: str | None = None) -> str:
    written = atom([E(one, TEXTS[one]) for one in ids], prev=prev)
    for one in ids:
        written = written.replace(f"<id>{one}</id>", f'<id>{one}</id><link href="/{one}.html"/>')
    return written


@pytest.fixture
def feeds() -> Iterator[FeedServer]:
    """A feed whose entries a and b are in its archive, and the pages of its entries."""
    with FeedServer() as server:
        server.serve("/index", document("c", prev="/archive"))
        server.serve("/archive", document("ba"))
        for one in TEXTS:
            page = f"<html><title>Page {one}</title><a href='/a.html'>a</a></html>"
            server.serve(f"/{one}.html", page, content_type="text/html")
        yield server


@pytest.mark.slow("the smoke test of the add-on")
def test_history_runs_in_a_project_with_the_add_on(example: Installed, feeds: FeedServer) -> None:
    place = example.run("-c", PRINT_PLACE).stdout
    assert place.startswith(str(example.python.parent.parent))
    log = example.scrapy("crawl", "history", "-a", f"feed={feeds.url('/index')}", "-o", "out.csv")
    with (example.folder / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [*FIELDS, "words"]
    assert {row["id"]: (row["words"], row["change"]) for row in rows} == {
        "a": ("1", "new"),
        "b": ("2", "new"),
        "c": ("3", "new"),
    }
    assert f"{feeds.url('/index')}: complete, entries: 3" in log
    assert feeds.headers[-1]["User-Agent"] == "example (+https://example.org/crawler)"
    assert (example.folder / ".scrapy" / "fhcrawl.sqlite").exists()

    example.scrapy("export", "-o", "whole.jsonl")
    complete = read_export(example.folder / "whole.jsonl")
    assert [list(item) for item in complete] == [[*EXPORTED, "words"]] * 3
    assert [item["words"] for item in complete] == [1, 2, 3]
    assert '"verdict": "complete"' in example.run("-m", "scrapy", "feeds", "--json").stdout


@nightly
def test_subclass_has_requests_and_items_of_its_own(example: Installed, feeds: FeedServer) -> None:
    log = example.scrapy("crawl", "pages", "-a", f"feed={feeds.url('/index')}")
    entries = read_export(example.folder / "entries.jsonl")
    assert {item["id"]: item["words"] for item in entries} == {"a": 1, "b": 2, "c": 3}
    pages = read_export(example.folder / "pages.jsonl")
    assert sorted((page["entry"], page["title"]) for page in pages) == [
        (one, f"Page {one}") for one in sorted(TEXTS)
    ]
    assert list(pages[0]) == ["entry", "url", "title"]
    assert "'item_scraped_count': 6" in log
    assert "ERROR" not in log


@nightly
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("-a", "fed=x"),
            "There is no argument fed; valid arguments: archive, deltafetch_reset, due, feed, feeds,",
        ),
        (("-a", "feed=x"), "error: x is not the URL of a feed"),
        (("-a", "feed=http://a.test/", "-s", "FHCRAWL_MAX_PAGES=x"), "FHCRAWL_MAX_PAGES must be a number"),
        (("-a", "feed=http://a.test/", "-s", "FHCRAWL_MAXPAGES=1"), "There is no setting FHCRAWL_MAXPAGES"),
    ],
)
def test_subclass_is_checked_as_history_is(
    example: Installed, arguments: tuple[str, ...], sentence: str
) -> None:
    for spider in ("pages", "history"):
        done = example.run("-m", "scrapy", "crawl", spider, *arguments)
        assert done.returncode == 2
        reported = sentence if spider == "pages" else sentence.replace(" most,", "")
        assert reported in done.stderr


@nightly
def test_project_that_lacks_the_add_on_is_told(example: Installed) -> None:
    with (example.folder / "example" / "settings.py").open("a") as file:
        file.write("ADDONS = {}\n")
    done = example.run("-m", "scrapy", "crawl", "pages", "-a", "feed=http://a.test/")
    assert done.returncode == 2
    assert "add it in the project's settings.py: ADDONS = {'fhcrawl.Addon': 500}" in done.stderr


@nightly
def test_scrapys_own_command_runs_history(example: Installed, feeds: FeedServer) -> None:
    with (example.folder / "example" / "settings.py").open("a") as file:
        file.write("COMMANDS_MODULE = ''\n")
    example.scrapy("crawl", "history", "-a", f"feed={feeds.url('/index')}", "-o", "out.jsonl")
    assert [item["words"] for item in read_export(example.folder / "out.jsonl")] == [1, 2, 3]


@nightly
def test_other_spider_of_the_project_has_nothing_of_fhcrawl(example: Installed, feeds: FeedServer) -> None:
    log = example.scrapy("crawl", "titles", "-a", f"url={feeds.url('/c.html')}", "-o", "titles.jsonl")
    assert read_export(example.folder / "titles.jsonl") == [
        {"url": feeds.url("/c.html"), "title": "Page c"},
        {"url": feeds.url("/a.html"), "title": "Page a"},
    ]
    named = set(re.findall(r"fhcrawl\.\w+", log))
    assert named == {"fhcrawl.core", "fhcrawl.commands", "fhcrawl.spiders"}
    assert not (example.folder / ".scrapy").exists()
