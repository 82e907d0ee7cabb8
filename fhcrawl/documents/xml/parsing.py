"""Parses XML safely: decodes it, expands its entities, and repairs it if it is malformed. Nothing is fetched.

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

LONGEST_PROLOG = 65_536  # octets
FED_AT_ONCE = 65_536  # octets
OPTIONS: dict[str, object] = {
    "encoding": encoding.UTF_8,
    # External entities raise an error: see `resolve_entities`.
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
    events = cast("Iterator[tuple[str, _Element]]", parser.read_events())
    root: _Element | None = None
    ended: _Element | None = None
    with contextlib.suppress(etree.XMLSyntaxError), _memory_errors():
        # Byte by byte up to the root: libxml2 frees nodes of malformed entities that events refer to.
        for position in range(min(len(body), LONGEST_PROLOG)):
            parser.feed(body[position : position + 1])
            if (event := next(events, None)) is not None:
                root = event[1]
                break
        if root is None:
            return None
        declarations: Any = root.getroottree().docinfo.internalDTD
        entities = () if declarations is None else declarations.iterentities()
        if any("<" in (entity.content or "") for entity in entities):
            return root
        for start in range(position + 1, len(body), FED_AT_ONCE):
            parser.feed(body[start : start + FED_AT_ONCE])
            ended = _last_ended(events, ended)
        parser.close()
    ended = _last_ended(events, ended)
    # Remove the outermost unclosed element that is not a container of entries.
    parent, element = None, root
    while element is not None and element is not ended:
        if parent is not None and element.tag not in elements.CONTAINERS:
            elements.remove(element, parent)
            break
        parent, element = element, next(element.iterchildren(reversed=True), None)
    return root


def _last_ended(events: Iterator[tuple[str, _Element]], ended: _Element | None) -> _Element | None:
    for event, element in events:
        ended = element if event == "end" else ended
    return ended


# --- entities

# XML 1.0, 2.8: the constructs of a document type declaration that may contain the characters of others.
OPAQUE = rf"<!--.*?-->|<\?.*?\?>|{QUOTED}"
TOKEN = compiled(rf"""{OPAQUE}|<!--|<\?|[\[\]>"']""")
UNCLOSED = frozenset({"<!--", "<?", '"', "'"})
COMMENT = compiled(r"<!--.*?-->")
TEXT_ENTITY = compiled(r"""<!ENTITY\s+([^\s%"'<>&;]+)\s+(?:"([^"<]*)"|'([^'<]*)')\s*>""")
ANY_ENTITY = compiled(r"""<!ENTITY\s+([^\s%"'<>&;]+)""")
PARAMETER_ENTITY = compiled(r"<!ENTITY\s+%\s+(\S+)")
INCLUDED = compiled(r"%([^\s%;]+);")
EXTERNAL = compiled(r"\s(?:SYSTEM|PUBLIC)\s")
# XML 1.0, 3.3: declarations of attributes.
ATTRIBUTES = compiled(rf"""{OPAQUE}|<!ATTLIST\s(?:[^"'>]|{QUOTED})*>""")
QUOTED_TEXT = compiled(QUOTED)
XMLNS = compiled(r"\sxmlns[\s:]")
# A section, which has no references; or a tag with the text after it, or text; or a "<" that begins no tag.
PIECE = compiled(rf"{repair.SECTION}|(?P<tag><(?![\s\d=]))?[^<]+|<")
# Complete constructs of an entity, or the beginning of a construct that does not end in it.
CONSTRUCT = compiled(rf"""{repair.COMPLETE_SECTION}|<[^!?<>](?:[^<>"']|{QUOTED})*>|<""")
VALUE_OR_END = compiled(f"{QUOTED}|>")
REFERENCE = compiled(r"""&([^#;&<>/\]\s'"][^;&<>/\]\s'"]*);""")
QUOTE = compiled("""["']""")
# Characters of all replacement texts; those without markup may be as long as the document.
MOST_RESOLVED = 1024**2
DEEPEST = 40  # levels of entities, as in libxml2
MOST_NAMED = 5
DECLARATIONS = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False)


# XML 1.0, 4.4.2 and 4.4.3: internal entities are included, external ones need not be. libxml2 would parse
# elements of an entity without the namespaces in scope at the reference.
def resolve_entities(text: str, is_lenient: bool = False) -> tuple[str, list[Problem], str | None]:
    """Replace references with the content of internal entities, and remove the document type declaration.

    References to HTML's entities that may be declared externally are resolved as in HTML; others become text.

    :param is_lenient: also read the plain text entities of a malformed declaration
    :return: the text, problems, and a description of the repair or None
    :raises NotAFeedError: if the replacement texts are too long
    """
    start = repair.prolog_end(text)
    end = _doctype_end(text, start)
    if end is None:
        return text, [], None
    doctype, description, attributes = text[start:end], None, list[str]()
    try:
        entities, attributes = _declared_entities(doctype, len(text))
    except etree.XMLSyntaxError:
        if not is_lenient:
            return text, [], None
        entities = _declared_texts(COMMENT.sub("", doctype), len(text))
        description = "its document type declaration is malformed; only entities without markup are read"
    resolved = entities.resolve(text[end:])
    # libxml2 applies default values of namespace declarations.
    if namespaces := "".join(declaration for declaration in attributes if "xmlns" in declaration):
        resolved = f"<!DOCTYPE _ [{namespaces}]>{resolved}"
    problems = []
    if entities.unresolved:
        names = [f"&{name};" for name in list(entities.unresolved)[:MOST_NAMED]]
        more = len(entities.unresolved) - MOST_NAMED
        detail = f"has references to entities that are not expanded: {', '.join(names)}"
        problems.append(f"{detail} and {more} more" if more > 0 else detail)
    if any(map(_has_defaults, attributes)):
        problems.append("has a document type that gives attributes default values, which are not read")
    return resolved, [Problem(ReasonKind.UNRESOLVED_ENTITIES, "", each) for each in problems], description


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


def _declared_entities(doctype: str, size: int) -> tuple[Entities, list[str]]:
    octets = f"{doctype}<_/>".encode(errors="surrogateescape")
    tree: Any = parse_strict(octets, DECLARATIONS).getroottree()
    parameters, included = set(PARAMETER_ENTITY.findall(doctype)), set(INCLUDED.findall(doctype))
    # lxml copies the declarations in quadratic time; without entities, this is not needed.
    declarations = tree.docinfo.internalDTD.iterentities() if "<!ENTITY" in doctype else ()
    declared = [(entity.name, entity.content) for entity in declarations]
    # lxml does not tell parameter entities apart. XML 1.0, 4.3.2: an internal entity is content; a comment
    # that only begins in it would hide what follows the reference.
    unread = {
        name
        for name, content in declared
        if content is None or name in parameters or "<" in CONSTRUCT.findall(content)
    }
    contents = {name: content for name, content in declared if content is not None and name not in unread}
    texts = [doctype, *(content for name, content in declared if content and name in included)]
    constructs = (construct for text in texts for construct in ATTRIBUTES.findall(text))
    has_all_declarations = tree.docinfo.system_url is None and not parameters
    attributes = [construct for construct in constructs if construct.startswith("<!ATTLIST")]
    return Entities(contents, unread, has_all_declarations, size), attributes


def _declared_texts(doctype: str, size: int) -> Entities:
    # XML 1.0, 4.2: "the first declaration encountered is binding".
    contents = {name: double or single for name, double, single in reversed(TEXT_ENTITY.findall(doctype))}
    unread = set(ANY_ENTITY.findall(doctype)) - contents.keys()
    is_all = not EXTERNAL.search(doctype) and not PARAMETER_ENTITY.search(doctype)
    return Entities(contents, unread, is_all, size)


# Enumerated values are not quoted, default values are.
def _has_defaults(attributes: str) -> bool:
    declared = QUOTED_TEXT.sub('""', attributes)
    return declared.count('""') > len(XMLNS.findall(declared))


class Entities:
    def __init__(self, contents: dict[str, str], unread: set[str], is_all: bool, size: int) -> None:
        self.unresolved: dict[str, None] = {}
        self._contents, self._names_unread, self._has_all_declarations = contents, unread, is_all
        self._characters_left = {True: MOST_RESOLVED, False: max(MOST_RESOLVED, size)}
        self._expanded: dict[tuple[str, bool], str] = {}
        self._open_names: list[str] = []

    def resolve(self, markup: str) -> str:
        return PIECE.sub(self._resolve_in_piece, markup)

    def _resolve_in_piece(self, match: re.Match[str]) -> str:
        piece = match[0]
        if "&" not in piece or piece.startswith(("<!", "<?")):
            return piece
        ends = (end.end() for end in VALUE_OR_END.finditer(piece) if end[0] == ">")
        end = next(ends, len(piece)) if match["tag"] else 0
        return REFERENCE.sub(self._resolve_quoted, piece[:end]) + REFERENCE.sub(
            self._resolve_reference, piece[end:]
        )

    # XML 1.0, 4.4.5: in an attribute's value, a quote in the replacement text is a normal data character.
    def _resolve_quoted(self, match: re.Match[str]) -> str:
        return self._resolve_reference(match, True)

    def _resolve_reference(self, match: re.Match[str], is_quoted: bool = False) -> str:
        name = match[1]
        if name in PREDEFINED:
            return match[0]
        # XML 1.0, 4.1, "No Recursion". The replacement text is dropped.
        if name in self._contents and name not in self._open_names and len(self._open_names) < DEEPEST:
            return self._content(name, is_quoted)
        if name not in self._contents and name not in self._names_unread:
            # XML 1.0, 4.1, "Entity Declared": such a reference is a fault, which `repair` replaces.
            if self._has_all_declarations:
                return match[0]
            if characters := repair.html_characters(name):
                return characters
        self.unresolved[name.encode(errors="surrogateescape").decode(errors="replace")] = None
        return f"&amp;{name};"

    def _content(self, name: str, is_quoted: bool) -> str:
        content = self._expanded.get((name, is_quoted))
        if content is None:
            self._open_names.append(name)
            content = self._contents[name]
            content = REFERENCE.sub(self._resolve_quoted, content) if is_quoted else self.resolve(content)
            content = QUOTE.sub(lambda quote: f"&#{ord(quote[0])};", content) if is_quoted else content
            self._open_names.pop()
            self._expanded[name, is_quoted] = content
        is_markup = "<" in content
        self._characters_left[is_markup] -= len(content)
        if self._characters_left[is_markup] < 0:
            raise NotAFeedError(ReasonKind.TOO_LARGE, "its entities expand to too much text")
        return content


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
    """:raises NotAFeedError: if it has no complete start tag, is HTML, or has too long entities"""
    source, decoding = encoding.source(body, charset)
    if not source:
        raise NotAFeedError(ReasonKind.EMPTY, "it is empty")
    resolved, unresolved = source, list[Problem]()
    if repair.DOCTYPE.encode() in source:
        text, unresolved, _repair = resolve_entities(source.decode(errors="surrogateescape"))
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
    """Return the text without entities and with repairs, descriptions of these, and problems of entities."""
    text, repairs = repair.with_prolog(text)
    text, unresolved, description = resolve_entities(text, is_lenient=True)
    # The texts of entities may need repairs too.
    text, more = repair.with_references(text)
    return text, list(dict.fromkeys(filter(None, [*repairs, description, *more]))), unresolved


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
