"""Looks for differences that are of no class, in the smallest documents that have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.documents.differential.classes import explain
from tests.documents.differential.comparing import differences
from tests.documents.differential.expected import expected
from tests.documents.differential.generator import generate

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    from tests.documents.differential.comparing import Difference
    from tests.documents.differential.documents import Document


def hunt(seeds: Iterable[int], found: Counter[str | None]) -> Iterator[str]:
    """Yield a report of each difference that is of no class.

    :param seeds: of the documents
    :param found: receives how many differences there are of each class
    """
    for seed in seeds:
        for difference in differences(generate(seed)):
            name = explain(difference)
            found[name] += 1
            if name is None:
                yield _report(seed, _smallest(difference))


def _smallest(difference: Difference) -> Difference:
    """Return the difference in a document without parts that do not matter."""
    smaller = _in_a_smaller(difference)
    while smaller is not None:
        difference, smaller = smaller, _in_a_smaller(smaller)
    return difference


def _in_a_smaller(difference: Difference) -> Difference | None:
    found = (_unexplained(document, difference) for document in difference.document.parts())
    return next(filter(None, found), None)


def _unexplained(document: Document, difference: Difference) -> Difference | None:
    """Return the difference of the same kind in another document."""
    same = (one for one in differences(document) if one.field == difference.field and explain(one) is None)
    return next((one for one in same if _is_ours(one) == _is_ours(difference)), None)


def _is_ours(difference: Difference) -> bool:
    """Return whether fhcrawl reads something else than the document says."""
    right = expected(difference.document, difference.element, difference.field)
    return bool(difference.ours != right)


def _report(seed: int, difference: Difference) -> str:
    right = expected(difference.document, difference.element, difference.field)
    verdict = "fhcrawl is wrong" if _is_ours(difference) else "of no class"
    lines = [
        f"document {seed}, {difference.field}: {verdict}",
        difference.document.text(),
        f"  encoding:   {difference.document.encoding}",
        f"  fhcrawl:    {difference.ours!r}",
        f"  feedparser: {difference.theirs!r}",
        f"  expected:   {right!r}",
    ]
    return "\n".join(lines)
