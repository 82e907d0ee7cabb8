"""The classes of differences, each with the clause that says why fhcrawl is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.documents.differential.comparing import Difference

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
