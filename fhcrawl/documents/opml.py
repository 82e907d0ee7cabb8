"""Reads the outlines of OPML documents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from lxml import etree

from fhcrawl.documents.xml import encoding, parsers, parsing, repair
from fhcrawl.documents.xml.elements import local_name
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from lxml.etree import _Element


XML_URL = re.compile(r"""\bxmlUrl\s*=\s*(["'])([^"'<>]*)\1""", re.IGNORECASE)


class Fault(NamedTuple):
    """A fault that is not repaired.

    :param url: xmlUrl of the only outline of its line; '' if it is not known
    """

    message: str
    url: str = ""


class Outline(NamedTuple):
    """An outline of an OPML document.

    :param line: where its start tag ends, counted from 1
    :param attributes: by their names in lower case
    :param is_leaf: whether it contains no outlines
    """

    line: int
    attributes: dict[str, str]
    is_leaf: bool

    @property
    def title(self) -> str:
        """What readers show; '' if it has neither a text nor a title."""
        texts = (" ".join(self.attributes.get(name, "").split()) for name in ("text", "title"))
        return next(filter(None, texts), "")


def read(content: bytes) -> tuple[list[Outline], dict[int, Fault]]:
    """Read the outlines of a document, repaired as a feed is.

    :return: the outlines, and the faults that are not repaired, by their lines
    :raises NotAFeedError: if it is not OPML
    """
    parsed = parsing.parse(content, None)
    root, faults = parsed.root, dict[int, Fault]()
    if parsed.fault is not None:
        root, faults = _read_on(content, parsed.root, parsed.fault)
    elements = [element for element in root.iter(etree.Element) if _name(element) == "outline"]
    if not elements and (faults or _name(root) != "opml"):
        why = parsed.fault or f"its root element is {local_name(root)}"
        raise NotAFeedError(ReasonKind.NOT_A_FEED, why)
    return [_outline(element) for element in elements], faults


# The strict parser reads no outline after a fault.
def _read_on(content: bytes, root: _Element, fault: str) -> tuple[_Element, dict[int, Fault]]:
    text = parsing.repaired(encoding.text(content, None)[0])[0]
    if repair.declares_entities(text):
        return root, {1: Fault(fault)}
    parser = parsers.new(recover=True)
    with parsers.memory_errors():
        root = etree.fromstring(text.encode(), parser)
    lines = text.split("\n")
    # Later faults of a line follow from its first one.
    messages = {error.line: error.message for error in reversed(parser.error_log)}
    faults = {}
    for line, message in messages.items():
        urls = [match[2] for text in lines[line - 1 : line] for match in XML_URL.finditer(text)]
        faults[line] = Fault(message, urls[0] if len(urls) == 1 else "")
    return root, faults


def _outline(element: _Element) -> Outline:
    attributes: dict[str, str] = {}
    for name, value in element.items():
        attributes.setdefault(str(name).lower(), str(value))
    is_leaf = all(_name(child) != "outline" for child in element.iterchildren(etree.Element))
    line: Any = element.sourceline
    return Outline(line, attributes, is_leaf)


def _name(element: _Element) -> str:
    return local_name(element).lower()
