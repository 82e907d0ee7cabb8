"""Resolves the entities that a document declares itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from lxml import etree

from fhcrawl.documents.model import Problem
from fhcrawl.documents.xml import parsers, scanner
from fhcrawl.exceptions import NotAFeedError
from fhcrawl.reasons import ReasonKind

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

PREDEFINED = frozenset(name.encode() for name in scanner.PREDEFINED)
# XML 1.0, 2.8: the constructs of a document type declaration that may contain the characters of others.
OPAQUE = rf"<!--.*?-->|<\?.*?\?>|{scanner.QUOTED}"
TOKEN = scanner.octets(rf"""{OPAQUE}|<!--|<\?|[\[\]>"']""")
UNCLOSED = frozenset({b"<!--", b"<?", b'"', b"'"})
PARAMETER_ENTITY = scanner.octets(r"<!ENTITY\s+%\s+(\S+)")
INCLUDED = scanner.octets(r"%([^\s%;]+);")
COMMENT = scanner.octets(r"<!--.*?-->")
TEXT_ENTITY = scanner.octets(r"""<!ENTITY\s+([^\s%"'<>&;]+)\s+(?:"([^"<]*)"|'([^'<]*)')\s*>""")
ANY_ENTITY = scanner.octets(r"""<!ENTITY\s+([^\s%"'<>&;]+)""")
EXTERNAL = scanner.octets(r"\s(?:SYSTEM|PUBLIC)\s")
# XML 1.0, 3.3: declarations of attributes.
ATTRIBUTES = scanner.octets(rf"""{OPAQUE}|<!ATTLIST\s(?:[^"'>]|{scanner.QUOTED})*>""")
QUOTED = scanner.octets(scanner.QUOTED)
XMLNS = scanner.octets(r"\sxmlns[\s:]")
# A section, which has no references; or a tag with the text after it, or text.
PIECE = scanner.octets(rf"{scanner.SECTION}|<?[^<]+")
# Complete constructs of an entity, or the begin of one that has no end in it.
CONSTRUCT = scanner.octets(rf"""{scanner.COMPLETE_SECTION}|<[^!?<>](?:[^<>"']|{scanner.QUOTED})*>|<""")
VALUE_OR_END = scanner.octets(f"{scanner.QUOTED}|>")
REFERENCE = scanner.octets(r"""&([^#;&<\s'"][^;&<\s'"]*);""")
QUOTE = scanner.octets("""["']""")
# Octets of all replacement texts of a document; texts without markup may be as long as the document.
MOST_RESOLVED = 1024**2
DEEPEST = 40  # levels of entities, as in libxml2
MOST_NAMED = 5

DECLARATIONS = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False)


class Declared(NamedTuple):
    """The declarations of a document type declaration.

    :param contents: of internal general entities, by name
    :param external: the names of entities that are not read, such as external ones
    :param is_all: no external subset and no parameter entity: all other names are undeclared
    :param namespaces: attribute declarations; libxml2 uses those of namespaces
    :param has_defaults: other attributes have default values
    """

    contents: dict[bytes, bytes]
    external: frozenset[bytes]
    is_all: bool
    namespaces: bytes
    has_defaults: bool


# XML 1.0, 4.4.2: "An entity is included when its replacement text is retrieved and processed, in place of the
# reference itself", if it is an internal one. 4.4.3: of external ones a processor "MAY, but need not".
# libxml2 would parse the elements of an entity without the namespaces in scope at the reference.
def resolve(body: bytes, is_lenient: bool = False) -> tuple[bytes, tuple[Problem, ...], str | None]:
    """Replace references by the content of internal entities, and remove the document type declaration.

    References to HTML's entities that may be declared externally are resolved as in HTML; others become text.

    :param body: in UTF-8; returned unchanged if its document type declaration is malformed, or has no end
    :param is_lenient: read the entities of a malformed declaration nevertheless, if they are plain text
    :return: the document, a problem for unresolved entities, and a description of the repair or None
    :raises NotAFeedError: if the replacement texts are too long
    """
    span = _doctype(body)
    if span is None:
        return body, (), None
    start, end = span
    repair = None
    try:
        declared = _declared(body[start:end])
    except etree.XMLSyntaxError:
        if not is_lenient:
            return body, (), None
        declared = _declared_texts(body[start:end])
        repair = "its document type declaration is malformed; only entities without markup are read"
    references = References(declared, len(body))
    resolved = references.resolve(body[end:])
    if declared.namespaces:
        resolved = b"<!DOCTYPE _ [" + declared.namespaces + b"]>" + resolved
    return resolved, tuple(_problems(references.unresolved, declared.has_defaults)), repair


def _doctype(body: bytes) -> tuple[int, int] | None:
    start = scanner.prolog_end(body)
    if not body.startswith(scanner.DOCTYPE.encode(), start):
        return None
    is_inside = False
    for token in TOKEN.finditer(body, start):
        if token[0] in UNCLOSED:
            return None
        if token[0] == b">" and not is_inside:
            return start, token.end()
        is_inside = token[0] == b"[" or (is_inside and token[0] != b"]")
    return None


def _declared(doctype: bytes) -> Declared:
    tree: Any = parsers.parse_strict(doctype + b"<_/>", DECLARATIONS).getroottree()
    parameters, included = set(PARAMETER_ENTITY.findall(doctype)), set(INCLUDED.findall(doctype))
    # lxml copies the declarations in quadratic time; without entities, this is not needed.
    entities = tree.docinfo.internalDTD.iterentities() if b"<!ENTITY" in doctype else ()
    read = [
        (each.name.encode(), None if each.content is None else each.content.encode()) for each in entities
    ]
    # A general entity may have the name of a parameter entity; lxml does not tell them apart.
    # XML 1.0, 4.3.2: an internal entity "is well-formed if its replacement text matches the production
    # labeled content". A comment that only begins in one would hide what follows the reference.
    unread = {
        name
        for name, content in read
        if content is None or name in parameters or b"<" in CONSTRUCT.findall(content)
    }
    texts = [doctype, *(content for name, content in read if content and name in included)]
    constructs = [construct for text in texts for construct in ATTRIBUTES.findall(text)]
    attributes = [construct for construct in constructs if construct.startswith(b"<!ATTLIST")]
    return Declared(
        {name: content for name, content in read if content is not None and name not in unread},
        frozenset(unread),
        tree.docinfo.system_url is None and not parameters,
        b"".join(declaration for declaration in attributes if b"xmlns" in declaration),
        any(map(_has_defaults, attributes)),
    )


def _declared_texts(doctype: bytes) -> Declared:
    doctype = COMMENT.sub(b"", doctype)
    # XML 1.0, 4.2: "the first declaration encountered is binding".
    contents = {name: double or single for name, double, single in reversed(TEXT_ENTITY.findall(doctype))}
    others = frozenset(ANY_ENTITY.findall(doctype)) - contents.keys()
    is_all = not EXTERNAL.search(doctype) and not PARAMETER_ENTITY.search(doctype)
    return Declared(contents, others, is_all, b"", has_defaults=False)


# Enumerated values are not quoted, default values are.
def _has_defaults(attributes: bytes) -> bool:
    declared = QUOTED.sub(b'""', attributes)
    return declared.count(b'""') > len(XMLNS.findall(declared))


class References:
    """Resolves the references of a document; `size` is its size in octets."""

    def __init__(self, declared: Declared, size: int) -> None:
        self.unresolved: dict[bytes, None] = {}
        self._declared = declared
        self._left = {True: MOST_RESOLVED, False: max(MOST_RESOLVED, size)}
        self._known: dict[tuple[bytes, bool], bytes] = {}
        self._around: list[bytes] = []

    def resolve(self, markup: bytes) -> bytes:
        """Resolve the references in elements, in their text and in attributes."""
        return PIECE.sub(self._piece, markup)

    def _piece(self, match: re.Match[bytes]) -> bytes:
        piece = match[0]
        if b"&" not in piece or piece.startswith((b"<!", b"<?")):
            return piece
        ends = (end.end() for end in VALUE_OR_END.finditer(piece) if end[0] == b">")
        end = next(ends, len(piece)) if piece.startswith(b"<") else 0
        return REFERENCE.sub(self._quoted, piece[:end]) + REFERENCE.sub(self._resolved, piece[end:])

    # XML 1.0, 4.4.5: in an attribute's value, "a single or double quote character in the replacement text is
    # always treated as a normal data character".
    def _quoted(self, match: re.Match[bytes]) -> bytes:
        return self._resolved(match, True)

    def _resolved(self, match: re.Match[bytes], is_quoted: bool = False) -> bytes:
        name = match[1]
        if name in PREDEFINED:
            return match[0]
        if name in self._declared.contents:
            return self._content(name, is_quoted)
        if name not in self._declared.external:
            # XML 1.0, 4.1, "Entity Declared": such a reference is a fault, which `repair` replaces.
            if self._declared.is_all:
                return match[0]
            if characters := scanner.html_characters(name.decode(errors="replace")):
                return characters.encode()
        return self._unread(name)

    def _unread(self, name: bytes) -> bytes:
        self.unresolved[name] = None
        return b"&amp;" + name + b";"

    def _content(self, name: bytes, is_quoted: bool) -> bytes:
        # XML 1.0, 4.1, "No Recursion". What the entity stands for is missing.
        if name in self._around or len(self._around) == DEEPEST:
            return self._unread(name)
        content = self._known.get((name, is_quoted))
        if content is None:
            self._around.append(name)
            content = self._declared.contents[name]
            content = REFERENCE.sub(self._quoted, content) if is_quoted else self.resolve(content)
            content = QUOTE.sub(lambda quote: b"&#%d;" % quote[0][0], content) if is_quoted else content
            self._around.pop()
            self._known[name, is_quoted] = content
        is_markup = b"<" in content
        self._left[is_markup] -= len(content)
        if self._left[is_markup] < 0:
            raise NotAFeedError(ReasonKind.TOO_LARGE, "its entities expand to too much text")
        return content


def _problems(unresolved: dict[bytes, None], has_defaults: bool) -> Iterator[Problem]:
    if unresolved:
        names = [f"&{name.decode(errors='replace')};" for name in list(unresolved)[:MOST_NAMED]]
        more = f" and {len(unresolved) - MOST_NAMED} more" if len(unresolved) > MOST_NAMED else ""
        detail = f"has references to entities that are not expanded: {', '.join(names)}{more}"
        yield Problem(ReasonKind.UNRESOLVED_ENTITIES, "", detail)
    if has_defaults:
        detail = "has a document type that gives attributes default values, which are not read"
        yield Problem(ReasonKind.UNRESOLVED_ENTITIES, "", detail)
