"""Parses XML safely: decodes it, and repairs it if it is malformed. Nothing is fetched or expanded.

A fault is repaired, or loses the entry that contains it, or ends the document.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from xml.sax.saxutils import quoteattr

from lxml import etree

from fhcrawl.documents.model import PLACEHOLDER, Problem
from fhcrawl.documents.xml import elements, encoding, repair
from fhcrawl.documents.xml.repair import PREDEFINED, QUOTED, compiled
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lxml.etree import _Element

    from fhcrawl.documents.xml.elements import Head

# --- libxml2's parsers

FED_AT_ONCE = 65_536  # octets
OPTIONS: dict[str, object] = {
    "encoding": encoding.UTF_8,
    "resolve_entities": "internal",
    "no_network": True,
    "load_dtd": False,
    "remove_pis": True,
    "remove_comments": True,
}


def _new_parser(recover: bool = False) -> etree.XMLParser:
    return etree.XMLParser(recover=recover, **OPTIONS)  # type: ignore[arg-type]


# Parsers can be shared, also by threads (they lock); a new parser for each small document is slow.
STRICT = _new_parser()


# lxml raises a syntax error if libxml2 is out of memory.
@contextlib.contextmanager
def _memory_errors() -> Iterator[None]:
    try:
        yield
    except etree.XMLSyntaxError as error:
        if error.code == etree.ErrorTypes.ERR_NO_MEMORY:  # type: ignore[attr-defined]
            raise MemoryError from error
        raise


def parse_strict(body: bytes, parser: etree.XMLParser = STRICT) -> _Element:
    """:raises lxml.etree.XMLSyntaxError: if a document is not well-formed"""
    with _memory_errors():
        return etree.fromstring(body, parser)


def recover(body: bytes) -> tuple[_Element | None, Any]:
    """Parse with libxml2's recovery, which may lose or move content after a fault; return also its log."""
    parser = _new_parser(recover=True)
    root = parse_strict(body, parser)
    if any(entry.type == etree.ErrorTypes.ERR_NO_MEMORY for entry in parser.error_log):
        raise MemoryError
    return root, parser.error_log


def parse_to_fault(body: bytes) -> _Element | None:
    parser = etree.XMLPullParser(events=("start", "end"), **OPTIONS)  # type: ignore[arg-type]
    root: _Element | None = None
    ended: _Element | None = None
    with contextlib.suppress(etree.XMLSyntaxError), _memory_errors():
        for start in range(0, len(body), FED_AT_ONCE):
            parser.feed(body[start : start + FED_AT_ONCE])
            root, ended = _read_events(parser, root, ended)
        if root is None:  # `close` would make one of a tag that is not closed
            return None
        parser.close()
    root, ended = _read_events(parser, root, ended)
    # Remove the outermost unclosed element that is not a container of entries.
    parent, element = None, root
    while element is not None and element is not ended:
        if parent is not None and element.tag not in elements.CONTAINERS:
            elements.remove(element, parent)
            break
        parent, element = element, next(element.iterchildren(reversed=True), None)
    return root


def _read_events(
    parser: etree.XMLPullParser, root: _Element | None, ended: _Element | None
) -> tuple[_Element | None, _Element | None]:
    for event, element in cast("Iterator[tuple[str, _Element]]", parser.read_events()):
        root = element if root is None else root
        ended = element if event == "end" else ended
    return root, ended


# --- entities

# XML 1.0, 2.8: the constructs of a document type declaration that may contain the characters of others.
OPAQUE = rf"<!--.*?-->|<\?.*?\?>|{QUOTED}"
TOKEN = compiled(rf"""{OPAQUE}|<!--|<\?|[\[\]>"']""")
UNCLOSED = frozenset({"<!--", "<?", '"', "'"})
COMMENT = compiled(r"<!--.*?-->")
ENTITY = compiled(r"""<!ENTITY\s+([^\s%"'<>&;]+)""")
EXTERNAL = compiled(r"\s(?:SYSTEM|PUBLIC)\s|<!ENTITY\s+%")
PARAMETER = compiled(rf"<!ENTITY\s+%\s+\S+\s+({QUOTED})")
# XML 1.0, 3.3: declarations of attributes.
ATTRIBUTES = compiled(rf"""{OPAQUE}|<!ATTLIST\s(?:[^"'>]|{QUOTED})*>""")
QUOTED_TEXT = compiled(QUOTED)
XMLNS = compiled(r"\sxmlns[\s:]")
# A section has no references.
REFERENCE = compiled(rf"""{repair.SECTION}|&(?P<name>[^#;&<>/\]\s'"][^;&<>/\]\s'"]*);""")
MOST_NAMED = 5


# XML 1.0, 5.1: "non-validating processors are not required to check the document for validity", and need not
# read external declarations. Entities that the document declares are not read either.
def remove_doctype(text: str) -> tuple[str, list[Problem]]:
    """Remove the document type declaration; return also what was not read of it.

    References to HTML's entities are resolved as in HTML; those to other declared entities become text.
    """
    start = repair.prolog_end(text)
    end = _doctype_end(text, start)
    if end is None:
        return text, []
    doctype = text[start:end]
    resolved, unresolved = _resolve_references(text[end:], COMMENT.sub("", doctype))
    attributes = [each for each in ATTRIBUTES.findall(doctype) if each.startswith("<!ATTLIST")]
    # libxml2 applies default values of namespace declarations.
    if namespaces := "".join(declaration for declaration in attributes if "xmlns" in declaration):
        resolved = f"<!DOCTYPE _ [{namespaces}]>{resolved}"
    problems = []
    if unresolved:
        names = [f"&{name};" for name in unresolved[:MOST_NAMED]]
        more = len(unresolved) - MOST_NAMED
        detail = f"has references to entities that are not expanded: {', '.join(names)}"
        problems.append(f"{detail} and {more} more" if more > 0 else detail)
    in_parameters = ("ATTLIST" in text for text in PARAMETER.findall(doctype))
    if any(map(_has_defaults, attributes)) or any(in_parameters):
        problems.append("has a document type that gives attributes default values, which are not read")
    return resolved, [Problem(ReasonKind.UNRESOLVED_ENTITIES, "", each) for each in problems]


def _doctype_end(text: str, start: int) -> int | None:
    if not text.startswith(repair.DOCTYPE, start):
        return None
    is_inside = False
    for token in TOKEN.finditer(text, start):
        if token[0] in UNCLOSED:
            return None
        if token[0] == ">" and not is_inside:
            return token.end()
        is_inside = token[0] == "[" or (is_inside and token[0] != "]")
    return None


def _resolve_references(markup: str, doctype: str) -> tuple[str, list[str]]:
    declared, is_external = set(ENTITY.findall(doctype)), EXTERNAL.search(doctype) is not None
    unresolved: dict[str, None] = {}

    def resolve(match: re.Match[str]) -> str:
        name = match["name"]
        # XML 1.0, 4.1, "Entity Declared": without a declaration, it is a fault, which `repair` replaces.
        if name is None or name in PREDEFINED or not (is_external or name in declared):
            return match[0]
        if characters := repair.html_characters(name):
            return characters
        unresolved[name.encode(errors="surrogateescape").decode(errors="replace")] = None
        return f"&amp;{name};"

    return REFERENCE.sub(resolve, markup), list(unresolved)


# Enumerated values are not quoted, default values are.
def _has_defaults(attributes: str) -> bool:
    declared = QUOTED_TEXT.sub('""', attributes)
    return declared.count('""') > len(XMLNS.findall(declared))


# --- documents

HTML_START = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
HTML_PARTS = frozenset({"html", "head", "body", "HTML", "HEAD", "BODY"})
# How many times the size of the document may be parsed to find its malformed entries.
MOST_PARSED_AGAIN = 20
# Of namespaces in scope, beyond which an original repeats only those that it uses.
MANY_NAMESPACES = 64
LONGEST_NAMESPACES = 2000


class Parsed(NamedTuple):
    """`fault` is why the document is incomplete; `originals` receives its entries in UTF-8."""

    root: _Element
    fault: str | None
    problems: Sequence[Problem] = ()
    originals: list[bytes] | None = None
    keeps_head: bool = False

    def entries(self, parent: _Element, tag: str, head: Head) -> Iterator[_Element]:
        """Yield the children that are entries, and remove each afterwards; other children go to `head`.

        Entries that stand for gaps are skipped.
        """
        original_of = None if self.originals is None else _serializer(parent)
        child = next(parent.iterchildren(), None)
        while child is not None:
            following = child.getnext()
            if child.tag != tag:
                head.setdefault(child.tag, []).append(child)
            elif elements.has_attribute(child, PLACEHOLDER):
                elements.remove(child, parent)
            else:
                if self.originals is not None and original_of is not None:
                    self.originals.append(original_of(child))
                yield child
                elements.remove(child, parent)
            child = following


def _serializer(parent: _Element) -> Callable[[_Element], bytes]:
    uris = parent.nsmap.values()
    is_crowded = len(uris) > MANY_NAMESPACES or sum(map(len, uris)) > LONGEST_NAMESPACES
    # RFC 4287, 2: both apply to the descendants of the element too. A value that is too long is not repeated.
    base = elements.base_inside(parent, "")
    base = base if len(base) <= elements.LONGEST_BASE else ""
    languages = (each.get(elements.XML_LANG) for each in (parent, *parent.iterancestors()))
    language = next((value for value in languages if value is not None), "")
    language = language if len(language) <= elements.LONGEST_LANGUAGE else ""

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
    """:raises NotAFeedError: if it has no complete start tag, or is HTML"""
    source, decoding = encoding.source(body, charset)
    if not source:
        raise NotAFeedError(ReasonKind.EMPTY, "it is empty")
    resolved, unresolved = source, list[Problem]()
    if repair.DOCTYPE.encode() in source:
        text, unresolved = remove_doctype(source.decode(errors="surrogateescape"))
        resolved = text.encode(errors="surrogateescape")
    resolved, renamed = repair.canonicalise(resolved)
    problems = [*_repair_problems(decoding), *unresolved, *renamed]
    try:
        return Parsed(parse_strict(resolved), None, problems)
    except etree.XMLSyntaxError as error:
        root = parse_to_fault(resolved)
        is_html = root is None or elements.local_name(root) in HTML_PARTS
        if is_html and HTML_START.search(source, 0, 1024):
            raise NotAFeedError(ReasonKind.HTML, "it is an HTML page") from error
        fault = error.msg or "it is not well-formed"
        broken = None if root is None else Parsed(root, fault, problems)
        parsed = _parse_without_junk(source, body, charset) or _parse_repaired(body, charset, broken)
        if parsed is None:
            raise NotAFeedError(ReasonKind.NOT_XML, f"it is not XML ({fault})") from error
        return parsed


def _repair_problems(*descriptions: str | None) -> list[Problem]:
    sentence = "; ".join(filter(None, descriptions))
    return [Problem("repaired", "", f"it is not well-formed: {sentence}")] if sentence else []


def _parse_without_junk(source: bytes, body: bytes, charset: str | None) -> Parsed | None:
    # XML 1.0, 4.3.3: in UTF-16, a byte order mark takes the place of a declaration.
    is_wide = encoding.detect_wide(body) is not None
    cleaned = repair.without_junk(source if is_wide else body)
    if cleaned is None:
        return None
    parsed = parse(cleaned, encoding.UTF_8 if is_wide else charset)
    return parsed._replace(
        problems=[*_repair_problems("text before the document is dropped"), *parsed.problems]
    )


# `broken` is the part of the unrepaired document up to its fault.
def _parse_repaired(body: bytes, charset: str | None, broken: Parsed | None) -> Parsed | None:
    text, decoding = encoding.text(body, charset)
    text, repairs, unresolved = repaired(text)
    resolved, renamed = repair.canonicalise(text.encode())
    problems = [*_repair_problems(decoding, *repairs), *unresolved, *renamed]
    text = resolved.decode()
    parser = _new_parser()
    try:
        return Parsed(parse_strict(resolved, parser), None, problems)
    except etree.XMLSyntaxError as error:
        # Exceptions share a log.
        is_of_names = all(entry.domain == etree.ErrorDomains.NAMESPACE for entry in parser.error_log)
        if is_of_names:
            repairs.append("names that are not qualified names are kept")
            problems = [*_repair_problems(decoding, *repairs), *unresolved, *renamed]
            root, _log = recover(resolved)
            return None if root is None else Parsed(root, None, problems)
        fault = error.msg or "it is not well-formed"
    if parsed := _with_balanced_entries(text, problems):
        return parsed
    root = parse_to_fault(resolved)
    if root is None:
        return broken
    if broken is not None:
        size, broken_size = (sum(1 for _ in each.iter()) for each in (root, broken.root))
        if size < broken_size or (size == broken_size and problems == broken.problems):
            return broken
    return Parsed(root, fault, problems)


def repaired(text: str) -> tuple[str, list[str], list[Problem]]:
    """Return the text without DTD and with repairs, descriptions of these, and problems of the DTD."""
    text, repairs = repair.with_prolog(text)
    text, unresolved = remove_doctype(text)
    text, more = repair.with_references(text)
    return text, list(dict.fromkeys([*repairs, *more])), unresolved


def _with_balanced_entries(text: str, problems: list[Problem]) -> Parsed | None:
    parts = repair.split(text)
    if parts is None:
        return None
    entry_problems: list[Problem] = []
    try:
        start = _start_tag(parse_strict("".join(parts[::2]).encode()))
        if len(start) * (len(parts) // 2) > MOST_PARSED_AGAIN * len(text):
            return None
        for number in range(1, len(parts), 2):
            if (fault := _syntax_fault(start, parts[number])) is None:
                continue
            name = f"entry {number // 2 + 1}"
            parts[number] = repair.balanced(parts[number])
            if (remaining := _syntax_fault(start, parts[number])) is None:
                detail = f"it is not well-formed; its tags are balanced as in HTML: {fault}"
                entry_problems.append(Problem("repaired", name, detail))
            else:
                parts[number] = ""
                detail = f"it is not well-formed and is skipped: {remaining}"
                entry_problems.append(Problem("entry-lost", name, detail))
        root = parse_strict("".join(parts).encode())
    except etree.XMLSyntaxError:
        return None
    return Parsed(root, None, [*problems, *entry_problems])


def _start_tag(root: _Element) -> str:
    declared = {prefix: uri for element in (root, *list(root)[:1]) for prefix, uri in element.nsmap.items()}
    attributes = (
        f" xmlns{f':{prefix}' if prefix else ''}={quoteattr(uri)}" for prefix, uri in declared.items()
    )
    return f"<_{''.join(attributes)}>"


def _syntax_fault(start: str, entry: str) -> str | None:
    try:
        parse_strict(f"{start}{entry}</_>".encode())
    except etree.XMLSyntaxError as error:
        return (error.msg or "it ends too early").partition(", line ")[0]
    return None
