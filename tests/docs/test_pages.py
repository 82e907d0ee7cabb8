"""Pages: their links lead somewhere, on GitHub and in the site; generated parts are of today; the README."""

import doctest
import re
import subprocess
import sys
from functools import cache

import pytest
import scrapy

from fhcrawl.logical_feed import Verdict
from tests.docs import generate
from tests.docs.pages import DOCS, PAGES, README, source
from tests.projects import ROOT

FENCE = re.compile(r"^(`{3,}|:{3,})(.*)\n(?:.*\n)*?\1$", re.MULTILINE)
LINK = re.compile(r"(!?)\[((?:[^]`[]|`[^`]*`|!\[.*?\]\(.*?\))*)\]\(([^)\s]*)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
# What only Sphinx understands: roles, targets, comments and lists of definitions.
OF_SPHINX = re.compile(r"\{[a-z:-]+\}`|^\([\w-]+\)=$|^%|^: ", re.MULTILINE)
# The page of the Python API, whose descriptions Sphinx takes from the code.
OF_THE_API = ("reference/api", "{eval-rst}")


def prose(page: str) -> str:
    return FENCE.sub("", source(page))


@cache
def anchors(page: str) -> set[str]:
    titles = [LINK.sub(r"\2", title).lower() for title in HEADING.findall(prose(page))]
    slugs = [re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles]
    assert len(slugs) == len(set(slugs)), "headings that are the same get numbers, which change"
    return set(slugs)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_headings_of_pages_and_to_files(page: str) -> None:
    for is_picture, text, link in LINK.findall(prose(page)):
        assert text, link
        path, _, anchor = link.partition("#")
        if re.match("[a-z]+:", link):
            continue
        target = (DOCS / page).parent.joinpath(path).resolve() if path else (DOCS / f"{page}.md").resolve()
        assert target.is_file() or (target.is_dir() and not is_picture), link
        assert target.is_relative_to(ROOT), link
        if anchor:
            assert anchor in anchors(target.relative_to(DOCS).with_suffix("").as_posix()), link


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_ordinary_markdown(page: str) -> None:
    languages = {language for _, language in FENCE.findall(source(page))}
    strange = {language for language in languages if not re.fullmatch(r"[a-z]*", language)}
    assert {language for language in strange if (page, language) != OF_THE_API} == set()
    assert ":::" not in source(page)
    assert OF_SPHINX.findall(prose(page)) == []


DOCTEST = re.compile(r"^```python\n(>>> (?:.*\n)*?)```$", re.MULTILINE)


# Two pages are generated from Scrapy's own options and settings, some of which are new in 2.19.
WITH_SCRAPY_2_19 = pytest.mark.skipif(
    scrapy.version_info[:2] < (2, 19), reason="this Scrapy lacks settings that the page has, so it differs"
)
OF_SCRAPY = ("reference/commands", "reference/settings")


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=WITH_SCRAPY_2_19) if page in OF_SCRAPY else page for page in PAGES],
)
def test_generated_parts_are_of_today(page: str) -> None:
    text = source(page)
    assert generate.generated(text) == text
    assert text.count("<!-- generated: ") == len(generate.GENERATED.findall(text))


@pytest.mark.parametrize("page", [page for page in PAGES if DOCTEST.search(source(page))])
def test_examples_in_python_print_what_the_page_shows(page: str) -> None:
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    for block in DOCTEST.findall(source(page)):
        runner.run(parser.get_doctest(block, {}, page, None, None))
    assert runner.summarize().attempted
    assert not runner.summarize().failed


MOST_LINES = 130
MOST_CHARACTERS = 100
# By which line somebody has installed fhcrawl and crawled a feed.
FIRST_CRAWL = 25
# What .ci/run and .ci/quick run.
SET_UP = re.compile(r"^    python3 -m venv .*(?: demo| pytest.*)$", re.MULTILINE)
URL = re.compile(r"\]\(([^)\s]+)\)")
LINKS = URL.findall(source(README))


def test_readme_is_short_and_begins_with_a_crawl() -> None:
    lines = source(README).splitlines()
    assert len(lines) <= MOST_LINES
    long = [line for line in lines if len(line) > MOST_CHARACTERS]
    assert [line for line in long if not SET_UP.fullmatch(line)] == []
    top = "\n".join(lines[:FIRST_CRAWL])
    assert all(what in top for what in ("git clone ", "pip install ", "fhcrawl crawl "))


def test_ci_finds_the_lines_that_set_it_up() -> None:
    assert [line.split()[-1] for line in SET_UP.findall(source(README))] == ["demo", "auto"]


def absolute(link: str) -> str:
    if link.startswith("https:"):
        return link
    if link.endswith((".svg", ".png")):
        return f"https://raw.githubusercontent.com/fhcrawl/fhcrawl/main/{link}"
    return f"https://github.com/fhcrawl/fhcrawl/blob/main/{link}"


@pytest.mark.slow("starts setuptools")
def test_links_of_the_package_lead_to_the_repository() -> None:
    command = [sys.executable, "setup.py", "--quiet", "--long-description"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert URL.findall(done.stdout) == [absolute(link) for link in LINKS]


def test_readme_shows_and_links_what_it_should() -> None:
    pictures = {"terminal.svg", "report.png", "chain.svg"}
    parts = {"tutorial.md", *(f"{part}/index.md" for part in ("howto", "reference", "explanation"))}
    wanted = {*(f"docs/_static/{name}" for name in pictures), *(f"docs/{name}" for name in parts)}
    assert wanted <= set(LINKS)
    assert not [link for link in LINKS if "#" in link and not link.startswith("https://")]
    rows = re.findall(r"^\| `?([\w ]+)`? \|", source(README), re.MULTILINE)[1:]
    assert rows == ["complete", "incomplete", "lossy", "unknown", "not read"]
    assert {*rows[:-1]} == {verdict.value for verdict in Verdict}
