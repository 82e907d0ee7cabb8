"""The places of entries in the documents of XML formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Place(NamedTuple):
    """A place of entries in a format's documents.

    :param entry: the tag of the entries
    :param around: the tags of the ancestors of an entry, from its parent to the root
    :param is_streamed: whether large documents are streamed: the format has no other place of entries
    """

    entry: str
    around: tuple[str, ...]
    is_streamed: bool = False


class Layout(NamedTuple):
    """The places of entries in the documents of all formats.

    :param streamed: the tags of streamed entries, each with those of its ancestors
    :param containers: the tags of all ancestors of entries
    :param entries: the tags of entries, with and without a namespace: programs that write XML through a DOM
        write xmlns="" where the parent's namespace is meant
    :param names: the local name of entries, and whether they have the namespace of the root, by the local
        name of the root
    """

    streamed: frozenset[tuple[str, ...]]
    containers: frozenset[str]
    entries: frozenset[str]
    names: dict[str, tuple[str, bool]]


def layout_of(places: Iterable[Place]) -> Layout:
    """Return the layout of some places."""
    places = list(places)
    names: dict[str, tuple[str, bool]] = {}
    for place in places:
        (root_namespace, root), (namespace, entry) = _split(place.around[-1]), _split(place.entry)
        names[root] = entry, namespace == root_namespace
    return Layout(
        frozenset((place.entry, *place.around) for place in places if place.is_streamed),
        frozenset(tag for place in places for tag in place.around),
        frozenset(tag for place in places for tag in (place.entry, _split(place.entry)[1])),
        names,
    )


def _split(tag: str) -> tuple[str, str]:
    namespace, _brace, name = tag.rpartition("}")
    return namespace, name
