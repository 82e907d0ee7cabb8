"""A parsed document as input for the readers of the formats."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from fhcrawl.documents.model import Problem
from fhcrawl.documents.xml.elements import XML_BASE, XML_LANG, base_of, inherited, remove, with_own_namespaces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.etree import _Element

    from fhcrawl.documents.xml.elements import Head

# Each original repeats the namespaces in scope. If there are more of them, or they have more characters, it
# repeats only those that it uses.
MANY = 64
NAMESPACES = 2000


class Parsed(NamedTuple):
    """A document as its root element.

    :param fault: why the document is incomplete; None if it is complete
    :param problems: repairs, and entries left out
    :param originals: receives each entry taken, as an XML document in UTF-8; None if originals are not
        kept
    :param keeps_head: keep the head section as it came
    """

    root: _Element
    fault: str | None
    problems: tuple[Problem, ...] = ()
    originals: list[bytes] | None = None
    keeps_head: bool = False

    def entries(self, parent: _Element, tag: str, head: Head) -> Iterator[_Element]:
        """Yield the children of an element that are entries, and remove each one afterwards.

        :param head: receives the other children; it is complete when the last entry has been yielded
        """
        keep = None if self.originals is None else partial(_keep_original, self.originals, *_context(parent))
        child = next(parent.iterchildren(), None)
        while child is not None:
            following = child.getnext()
            if child.tag != tag:
                head.setdefault(child.tag, []).append(child)
            else:
                if keep is not None:
                    keep(child)
                yield child
                remove(child, parent)
            child = following


def _context(parent: _Element) -> tuple[str, str, bool]:
    namespaces = parent.nsmap.values()
    return *inherited(parent), len(namespaces) > MANY or sum(map(len, namespaces)) > NAMESPACES


def _keep_original(
    originals: list[bytes], base: str, language: str, is_crowded: bool, entry: _Element
) -> None:
    if base:
        entry.set(XML_BASE, base_of(entry, base))
    if language and entry.get(XML_LANG) is None:
        entry.set(XML_LANG, language)
    if is_crowded:
        originals.append(with_own_namespaces(entry).encode())
    else:
        originals.append(etree.tostring(entry, encoding="utf-8", with_tail=False))


def repair_problems(repairs: Iterable[str | None]) -> tuple[Problem, ...]:
    """Return the problem that reports repairs, if there were any."""
    sentence = "; ".join(filter(None, repairs))
    return (Problem("repaired", "", f"it is not well-formed: {sentence}"),) if sentence else ()
