"""README.md is one screen or two, and leads to all the rest."""

import re
import subprocess
import sys
from urllib.parse import urldefrag

import pytest

from fhcrawl.logical_feed import Verdict
from tests.docs.pages import README, source
from tests.projects import ROOT

MOST_LINES = 130
MOST_CHARACTERS = 100
# By which line somebody has installed fhcrawl and crawled a feed.
FIRST_CRAWL = 25
# What .ci/run and .ci/quick run.
SET_UP = re.compile(r"^    python3 -m venv .*(?: demo| pytest.*)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
LINKS = LINK.findall(source(README))
LOCAL = sorted({link for link in LINKS if not link.startswith("https://")})


def test_readme_is_short() -> None:
    lines = source(README).splitlines()
    assert len(lines) <= MOST_LINES
    long = [line for line in lines if len(line) > MOST_CHARACTERS]
    assert [line for line in long if not SET_UP.fullmatch(line)] == []


def test_first_crawl_is_at_the_top() -> None:
    top = "\n".join(source(README).splitlines()[:FIRST_CRAWL])
    for what in ("git clone ", "pip install ", "fhcrawl crawl "):
        assert what in top


def test_ci_finds_the_lines_that_set_it_up() -> None:
    assert [line.split()[-1] for line in SET_UP.findall(source(README))] == ["demo", "auto"]


@pytest.mark.parametrize("link", LOCAL)
def test_link_leads_to_a_file(link: str) -> None:
    path, anchor = urldefrag(link)
    assert (ROOT / path).is_file()
    assert not anchor


def absolute(link: str) -> str:
    if link.startswith("https:"):
        return link
    if link.endswith((".svg", ".png")):
        return f"https://raw.githubusercontent.com/fhcrawl/fhcrawl/main/{link}"
    return f"https://github.com/fhcrawl/fhcrawl/blob/main/{link}"


@pytest.mark.full_lane("starts setuptools")
def test_links_of_the_package_lead_to_the_repository() -> None:
    command = [sys.executable, "setup.py", "--quiet", "--long-description"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert LINK.findall(done.stdout) == [absolute(link) for link in LINKS]


def test_readme_shows_and_links_what_it_should() -> None:
    pictures = {"terminal.svg", "report.png", "chain.svg"}
    parts = {"tutorial.md", *(f"{part}/index.md" for part in ("howto", "reference", "explanation"))}
    wanted = {*(f"docs/_static/{name}" for name in pictures), *(f"docs/{name}" for name in parts)}
    assert wanted <= set(LOCAL)


def test_readme_describes_the_verdicts() -> None:
    rows = re.findall(r"^\| `?([\w ]+)`? \|", source(README), re.MULTILINE)[1:]
    assert rows == ["complete", "incomplete", "lossy", "unknown", "not read"]
    assert {*rows[:-1]} == {verdict.value for verdict in Verdict}
