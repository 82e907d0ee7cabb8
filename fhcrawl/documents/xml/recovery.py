"""Recovers XML that is not well-formed: repairs it and its entries, leaves entries out, or cuts it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, cast
from xml.sax.saxutils import quoteattr

from lxml import etree

from fhcrawl.documents.model import Problem
from fhcrawl.documents.xml import entities, namespaces, parsers, repair, soup
from fhcrawl.documents.xml.elements import remove
from fhcrawl.documents.xml.layout import CONTAINERS
from fhcrawl.documents.xml.parsed import Parsed, repair_problems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

    from fhcrawl.documents.xml.encoding import Text

LONGEST_PROLOG = 65_536
PIECE = 65_536  # octets that the parser is fed at once
# How many times the size of the document may be parsed to find its malformed entries.
MOST_PARSED_AGAIN = 20


def recover(text: Text, broken: Parsed | None) -> Parsed | None:
    """Recover a document that is not well-formed: complete after repairs, or as much of it as possible.

    :param broken: the part of the unrepaired document up to its fault; None if there is none
    :return: None if nothing can be recovered
    """
    again, repairs, unresolved = repaired(text.text)
    body, renamed = namespaces.canonicalise(again.encode())
    again = body.decode()
    others = (*unresolved, *renamed)
    problems = (*repair_problems([text.repair, *repairs]), *others)
    parser = parsers.new()
    try:
        with parsers.memory_errors():
            return Parsed(etree.fromstring(body, parser), None, problems)
    except etree.XMLSyntaxError as error:
        if _is_of_namespaces(parser) and not repair.declares_entities(again):
            repairs.append("names that are not qualified names are kept")
            problems = (*repair_problems([text.repair, *repairs]), *others)
            return Parsed(parsers.parse_leniently(body), None, problems)
        root = whole_elements(body)
        fault = error.msg or "it is not well-formed"
    if whole := _with_mended_entries(again, problems):
        return whole
    if root is None or (broken is not None and not _says_more(root, problems, broken)):
        return broken
    return Parsed(root, fault, problems)


def repaired(text: str) -> tuple[str, list[str], tuple[Problem, ...]]:
    """Return a text without entities and with repairs, descriptions of these, and problems of entities."""
    again, repairs = repair.repair(text)
    body, unresolved, done = entities.resolve(again.encode(), is_lenient=True)
    resolved = body.decode()
    if resolved == again:
        return again, repairs, unresolved
    # The texts of entities may need repairs too.
    again, more = repair.repair(resolved)
    return again, list(dict.fromkeys([*repairs, *filter(None, [done]), *more])), unresolved


def _with_mended_entries(text: str, problems: tuple[Problem, ...]) -> Parsed | None:
    """Balance the tags of each malformed entry, or leave it out; return None if that does not help."""
    parts = repair.split(text)
    if parts is None:
        return None
    found: list[Problem] = []
    try:
        start = _start_tag(parsers.parse_strict("".join(parts[::2]).encode()))
        if len(start) * (len(parts) // 2) > MOST_PARSED_AGAIN * len(text):
            return None
        for number in range(1, len(parts), 2):
            if (fault := _fault(start, parts[number])) is None:
                continue
            name = f"entry {number // 2 + 1}"
            parts[number] = soup.balanced(parts[number])
            if (remaining := _fault(start, parts[number])) is None:
                detail = f"it is not well-formed; its tags are balanced as in HTML: {fault}"
                found.append(Problem("repaired", name, detail))
            else:
                parts[number] = ""
                detail = f"it is not well-formed and is skipped: {remaining}"
                found.append(Problem("entry-lost", name, detail))
        root = parsers.parse_strict("".join(parts).encode())
    except etree.XMLSyntaxError:
        return None
    return Parsed(root, None, (*problems, *found))


def _start_tag(root: _Element) -> str:
    """Return a start tag with the namespaces that are declared around entries."""
    declared = {prefix: uri for element in (root, *list(root)[:1]) for prefix, uri in element.nsmap.items()}
    attributes = (
        f" xmlns{f':{prefix}' if prefix else ''}={quoteattr(uri)}" for prefix, uri in declared.items()
    )
    return f"<_{''.join(attributes)}>"


def _fault(start: str, entry: str) -> str | None:
    """Return the fault of an entry, without its position, which is not the position in the document."""
    try:
        parsers.parse_strict(f"{start}{entry}</_>".encode())
    except etree.XMLSyntaxError as error:
        return (error.msg or "it ends too early").partition(", line ")[0]
    return None


# A recovering parser loses content after a fault, except a fault of namespaces: there libxml2 continues, and
# the parser's log has all faults (the exception's log has those of other documents too).
def _is_of_namespaces(parser: etree.XMLParser) -> bool:
    return all(entry.domain == etree.ErrorDomains.NAMESPACE for entry in parser.error_log)


def _says_more(root: _Element, problems: tuple[Problem, ...], broken: Parsed) -> bool:
    size, broken_size = (sum(1 for _ in each.iter()) for each in (root, broken.root))
    return size > broken_size or (size == broken_size and problems != broken.problems)


def whole_elements(body: bytes) -> _Element | None:
    """Return the tree up to the fault, without the incomplete element; None if no element has begun."""
    parser = etree.XMLPullParser(events=("start", "end"), **parsers.OPTIONS)  # type: ignore[arg-type]
    root: _Element | None = None
    unfinished: list[_Element] = []
    with contextlib.suppress(etree.XMLSyntaxError), parsers.memory_errors():
        # Byte by byte up to the root: no more of the document may be parsed if its entities have markup.
        for begun in range(min(len(body), LONGEST_PROLOG)):
            parser.feed(body[begun : begun + 1])
            root = root if (event := next(_events(parser), None)) is None else event[1]
            if root is not None:
                break
        if root is None or _declares_markup(root):
            return root
        unfinished.append(root)
        for position in range(begun + 1, len(body), PIECE):
            parser.feed(body[position : position + PIECE])
            _follow(parser, unfinished)
        parser.close()
    _follow(parser, unfinished)
    _prune(unfinished)
    return root


def _events(parser: etree.XMLPullParser) -> Iterator[tuple[str, _Element]]:
    return cast("Iterator[tuple[str, _Element]]", parser.read_events())


def _follow(parser: etree.XMLPullParser, unfinished: list[_Element]) -> None:
    for event, element in _events(parser):
        if event == "start":
            unfinished.append(element)
        else:
            unfinished.pop()


# If an entity has malformed markup, libxml2 frees nodes that events still refer to.
def _declares_markup(root: _Element) -> bool:
    declarations: Any = root.getroottree().docinfo.internalDTD
    return declarations is not None and any(
        "<" in (entity.content or "") for entity in declarations.iterentities()
    )


def _prune(unfinished: list[_Element]) -> None:
    """Remove the outermost unclosed element that is no container of entries."""
    for number, element in enumerate(unfinished):
        parent = element.getparent()
        if parent is not None and element.tag not in CONTAINERS:
            del unfinished[number + 1 :]
            remove(element, parent)
            return
