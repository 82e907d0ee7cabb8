"""What the code knows is in the pages as it is today: `python -m tests.docs.generate` writes it."""

import doctest
import re

import pytest

from tests.docs import generate
from tests.docs.pages import PAGES, source

DOCTEST = re.compile(r"^```python\n(>>> (?:.*\n)*?)```$", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
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
