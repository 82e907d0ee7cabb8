"""A parsed document, or one that is being parsed, as input for the readers of the formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lxml import etree

from fhcrawl.documents.model import Problem
from fhcrawl.documents.xml.elements import XML_BASE, XML_LANG, base_of, inherited, with_own_namespaces
from fhcrawl.documents.xml.layout import Layout, layout_of

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Iterable, Iterator

    from lxml.etree import _Element

    from fhcrawl.documents.model import FeedDocument
    from fhcrawl.documents.xml.elements import Head
    from fhcrawl.documents.xml.layout import Place


# Each original repeats the namespaces in scope. If there are more of them, or they have more characters, it
# repeats only those that it uses.
MANY = 64
NAMESPACES = 2000

NO_LAYOUT = layout_of(())


class Parsed(NamedTuple):
    """A document as its root element.

    :param fault: why the document is incomplete; None if it is complete
    :param problems: repairs, and entries left out
    :param streamed_entries: the entries of a document that is still being parsed; the elements after the
        first one are parsed when the last one is taken
    :param originals: receives each entry taken, as an XML document in UTF-8; None if originals are not
        kept
    :param layout: the places of entries in all formats
    :param keeps_head: keep the head section as it came
    """

    root: _Element
    fault: str | None
    problems: tuple[Problem, ...] = ()
    streamed_entries: Iterator[_Element] | None = None
    originals: deque[bytes] | None = None
    layout: Layout = NO_LAYOUT
    keeps_head: bool = False

    def entries(self, parent: _Element, tag: str, head: Head) -> Iterator[_Element]:
        """Yield the children of an element that are entries; those of a large document are freed afterwards.

        :param head: receives the other children; it is complete when the last entry has been yielded
        :raises lxml.etree.XMLSyntaxError: if the document is still being parsed, and is not well-formed
        """
        found = self._entries(parent, tag, head)
        return found if self.originals is None else _keep_originals(found, parent, self.originals)

    def _entries(self, parent: _Element, tag: str, head: Head) -> Iterator[_Element]:
        if self.streamed_entries is not None:
            yield from self.streamed_entries
        for child in parent:
            if child.tag != tag:
                head.setdefault(child.tag, []).append(child)
            elif self.streamed_entries is None:
                yield child


def _keep_originals(
    entries: Iterator[_Element], parent: _Element, originals: deque[bytes]
) -> Iterator[_Element]:
    base, language = inherited(parent)
    namespaces = parent.nsmap.values()
    is_crowded = len(namespaces) > MANY or sum(map(len, namespaces)) > NAMESPACES
    serialise = _with_own_namespaces if is_crowded else _serialised
    for entry in entries:
        if base:
            entry.set(XML_BASE, base_of(entry, base))
        if language and entry.get(XML_LANG) is None:
            entry.set(XML_LANG, language)
        originals.append(serialise(entry))
        yield entry


def _serialised(entry: _Element) -> bytes:
    return etree.tostring(entry, encoding="utf-8", with_tail=False)


def _with_own_namespaces(entry: _Element) -> bytes:
    return with_own_namespaces(entry).encode()


def repair_problems(repairs: Iterable[str | None]) -> tuple[Problem, ...]:
    """Return the problem that reports repairs, if there were any."""
    sentence = "; ".join(filter(None, repairs))
    return (Problem("repaired", "", f"it is not well-formed: {sentence}"),) if sentence else ()


class XmlFormat(NamedTuple):
    """An XML format of feeds.

    :param read: reads a parsed document, given its URL; raises NotAFeedError if it is of another format
    :param places: the places of entries; their outermost elements are the roots of the format's documents
    """

    read: Callable[[Parsed, str], FeedDocument]
    places: tuple[Place, ...]
