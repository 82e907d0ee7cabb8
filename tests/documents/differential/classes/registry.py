"""The classes of differences, each with the clause that says why fhcrawl is right."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tests.documents.differential.expected import expected

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.documents.differential.comparing import Difference
    from tests.documents.differential.documents import Piece

    Predicate = Callable[[Difference], bool]


class Class(NamedTuple):
    """A class of differences.

    :param fields: the fields that it is of
    :param holds: whether a difference in which fhcrawl reads what the document says is of this class
    """

    name: str
    clause: str
    fields: frozenset[str]
    holds: Predicate


CLASSES: list[Class] = []


def of(clause: str, *fields: str) -> Callable[[Predicate], Predicate]:
    """Register a class of differences."""

    def register(predicate: Predicate) -> Predicate:
        CLASSES.append(Class(predicate.__name__, clause, frozenset(fields), predicate))
        return predicate

    return register


def is_explained(d: Difference, but: Predicate) -> bool:
    """Return whether a difference is none, or is of a class.

    :param but: the class that asks, which does not count
    """
    others = (one for one in CLASSES if d.field in one.fields and one.holds is not but)
    return d.ours == d.theirs or any(one.holds(d) for one in others)


def is_unknown(d: Difference, unknown: Callable[[Piece], bool], but: Predicate) -> bool:
    """Return whether feedparser reads an element as if it did not have some pieces.

    What it knows, it may read in its own way.
    """
    known = tuple(piece for piece in d.element.pieces if not unknown(piece))
    element = replace(d.element, pieces=known)
    right = expected(d.document, element, d.field)
    return bool(right != d.ours and is_explained(d._replace(element=element, ours=right), but))
