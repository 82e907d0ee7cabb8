"""Parses XML safely in three stages: decodes it, repairs it if it is malformed, and parses it.

A fault is repaired, or loses the entry that contains it. If that does not give a complete document, the
elements that were complete before the fault are read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import quoteattr

from lxml import etree

from fhcrawl.documents.model import Problem
from fhcrawl.documents.xml import elements, encoding, entities, namespaces, parsers, repair
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lxml.etree import _Element

    from fhcrawl.documents.xml.elements import Head

HTML_START = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
HTML_PARTS = frozenset({"html", "head", "body", "HTML", "HEAD", "BODY"})
# How many times the size of the document may be parsed to find its malformed entries.
MOST_PARSED_AGAIN = 20
# Each original repeats the namespaces in scope. If there are more of them, or they have more characters, it
# repeats only those that it uses.
MANY_NAMESPACES = 64
LONGEST_NAMESPACES = 2000


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
        original_of = None if self.originals is None else _serializer(parent)
        child = next(parent.iterchildren(), None)
        while child is not None:
            following = child.getnext()
            if child.tag != tag:
                head.setdefault(child.tag, []).append(child)
            else:
                if self.originals is not None and original_of is not None:
                    self.originals.append(original_of(child))
                yield child
                elements.remove(child, parent)
            child = following


def _serializer(parent: _Element) -> Callable[[_Element], bytes]:
    uris = parent.nsmap.values()
    is_crowded = len(uris) > MANY_NAMESPACES or sum(map(len, uris)) > LONGEST_NAMESPACES
    base, language = elements.inherited(parent)

    def serialize(entry: _Element) -> bytes:
        if base:
            entry.set(elements.XML_BASE, elements.base_of(entry, base))
        if language and entry.get(elements.XML_LANG) is None:
            entry.set(elements.XML_LANG, language)
        if is_crowded:
            return elements.with_own_namespaces(entry).encode()
        return etree.tostring(entry, encoding="utf-8", with_tail=False)

    return serialize


def parse(body: bytes, charset: str | None) -> Parsed:
    """Parse a document; nothing is fetched.

    :param charset: the charset parameter of the Content-Type header
    :raises NotAFeedError: if there is not even a complete start tag, if it is an HTML page, or if its
        entities stand for too much
    """
    source, decoding = encoding.source(body, charset)
    if not source:
        raise NotAFeedError(ReasonKind.EMPTY, "it is empty")
    resolved, unresolved, _repair = entities.resolve(source)
    resolved, renamed = namespaces.canonicalise(resolved)
    problems = (*_problems([decoding]), *unresolved, *renamed)
    try:
        return Parsed(parsers.parse_strict(resolved), None, problems)
    except etree.XMLSyntaxError as error:
        root = parsers.parse_to_fault(resolved)
        is_html = root is None or elements.local_name(root) in HTML_PARTS
        if is_html and HTML_START.search(source, 0, 1024):
            raise NotAFeedError(ReasonKind.HTML, "it is an HTML page") from error
        fault = error.msg or "it is not well-formed"
        broken = None if root is None else Parsed(root, fault, problems)
        parsed = _without_junk(source, body, charset) or _repaired(body, charset, broken)
        if parsed is None:
            raise NotAFeedError(ReasonKind.NOT_XML, f"it is not XML ({fault})") from error
        return parsed


def _problems(repairs: Iterable[str | None]) -> tuple[Problem, ...]:
    sentence = "; ".join(filter(None, repairs))
    return (Problem("repaired", "", f"it is not well-formed: {sentence}"),) if sentence else ()


def _without_junk(source: bytes, body: bytes, charset: str | None) -> Parsed | None:
    # XML 1.0, 4.3.3: in UTF-16, a byte order mark takes the place of a declaration.
    is_wide = encoding.detect_wide(body) is not None
    cleaned = repair.without_junk(source if is_wide else body)
    if cleaned is None:
        return None
    if is_wide:
        cleaned, charset = repair.DECLARATION_OCTETS.sub(b"", cleaned, count=1), None
    parsed = parse(cleaned, charset)
    problems = _problems(["text before the document is dropped"])
    return parsed._replace(problems=(*problems, *parsed.problems))


def _repaired(body: bytes, charset: str | None, broken: Parsed | None) -> Parsed | None:
    """Repair a malformed document and read it, or as much of it as possible.

    :param broken: the part of the unrepaired document up to its fault; None if there is none
    """
    text, decoding = encoding.text(body, charset)
    text, repairs, unresolved = repaired(text)
    resolved, renamed = namespaces.canonicalise(text.encode())
    problems = (*_problems([decoding, *repairs]), *unresolved, *renamed)
    text = resolved.decode()
    parser = parsers.new()
    try:
        return Parsed(parsers.parse_strict(resolved, parser), None, problems)
    except etree.XMLSyntaxError as error:
        # A recovering parser loses content after a fault, except a fault of namespaces: there libxml2
        # continues. The parser's log has all faults; the exception's log has those of other documents too.
        is_of_names = all(entry.domain == etree.ErrorDomains.NAMESPACE for entry in parser.error_log)
        if is_of_names and not repair.declares_entities(text):
            repairs.append("names that are not qualified names are kept")
            problems = (*_problems([decoding, *repairs]), *unresolved, *renamed)
            return Parsed(parsers.parse_leniently(resolved), None, problems)
        fault = error.msg or "it is not well-formed"
    if parsed := _with_balanced_entries(text, problems):
        return parsed
    root = parsers.parse_to_fault(resolved)
    if root is None:
        return broken
    if broken is not None:
        size, broken_size = (sum(1 for _ in each.iter()) for each in (root, broken.root))
        if size < broken_size or (size == broken_size and problems == broken.problems):
            return broken
    return Parsed(root, fault, problems)


def repaired(text: str) -> tuple[str, list[str], tuple[Problem, ...]]:
    """Return a text without entities and with repairs, descriptions of these, and problems of entities."""
    once, repairs = repair.repair(text)
    body, unresolved, description = entities.resolve(once.encode(), is_lenient=True)
    resolved = body.decode()
    if resolved == once:
        return once, repairs, unresolved
    # The texts of entities may need repairs too.
    twice, more = repair.repair(resolved)
    return twice, list(dict.fromkeys([*repairs, *filter(None, [description]), *more])), unresolved


def _with_balanced_entries(text: str, problems: tuple[Problem, ...]) -> Parsed | None:
    parts = repair.split(text)
    if parts is None:
        return None
    of_entries: list[Problem] = []
    try:
        start = _start_tag(parsers.parse_strict("".join(parts[::2]).encode()))
        if len(start) * (len(parts) // 2) > MOST_PARSED_AGAIN * len(text):
            return None
        for number in range(1, len(parts), 2):
            if (fault := _fault(start, parts[number])) is None:
                continue
            name = f"entry {number // 2 + 1}"
            parts[number] = repair.balanced(parts[number])
            if (remaining := _fault(start, parts[number])) is None:
                detail = f"it is not well-formed; its tags are balanced as in HTML: {fault}"
                of_entries.append(Problem("repaired", name, detail))
            else:
                parts[number] = ""
                detail = f"it is not well-formed and is skipped: {remaining}"
                of_entries.append(Problem("entry-lost", name, detail))
        root = parsers.parse_strict("".join(parts).encode())
    except etree.XMLSyntaxError:
        return None
    return Parsed(root, None, (*problems, *of_entries))


def _start_tag(root: _Element) -> str:
    declared = {prefix: uri for element in (root, *list(root)[:1]) for prefix, uri in element.nsmap.items()}
    attributes = (
        f" xmlns{f':{prefix}' if prefix else ''}={quoteattr(uri)}" for prefix, uri in declared.items()
    )
    return f"<_{''.join(attributes)}>"


def _fault(start: str, entry: str) -> str | None:
    try:
        parsers.parse_strict(f"{start}{entry}</_>".encode())
    except etree.XMLSyntaxError as error:
        return (error.msg or "it ends too early").partition(", line ")[0]
    return None
