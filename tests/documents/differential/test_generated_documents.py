"""Generated documents, read by fhcrawl and by feedparser: each difference is of a class that has a clause."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.documents.differential.classes import CLASSES
from tests.documents.differential.hunting import hunt

QUICK = 200
PARTS, OF_EACH = 4, 500
# Classes of which not every few thousand documents have one.
RARE = {
    *("empty_link_counts", "identifier_is_no_id", "prefix_of_the_root_is_unknown"),
    *("space_in_term", "title_of_a_file_counts"),
}


def test_every_difference_of_a_few_documents_is_of_a_class() -> None:
    assert not list(hunt(range(QUICK), Counter()))


@pytest.mark.nightly("it reads thousands of documents twice")
@pytest.mark.parametrize("part", range(PARTS))
def test_every_other_difference_is_of_a_class(part: int) -> None:
    begin = (PARTS + part) * OF_EACH
    assert not list(hunt(range(begin, begin + OF_EACH), Counter()))


@pytest.mark.nightly("it reads thousands of documents twice")
def test_every_class_has_differences_and_every_difference_a_class() -> None:
    found: Counter[str | None] = Counter()
    assert not list(hunt(range(PARTS * OF_EACH), found))
    assert set(found) | RARE == {one.name for one in CLASSES}
