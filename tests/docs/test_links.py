"""Links lead somewhere, both on GitHub, which shows the files, and in the site that is made from them."""

import re
from functools import cache

import pytest

from tests.docs.pages import DOCS, PAGES, source
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
    """The anchors that GitHub and MyST give to the headings of a page."""
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
