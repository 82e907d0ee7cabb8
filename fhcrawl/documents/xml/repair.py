"""Repairs the text of malformed documents, so that a fault loses at most one entry.

No end tags are added: a truncated document stays truncated.
"""

from __future__ import annotations

import re
import sys
from html.entities import html5
from itertools import pairwise

from fhcrawl.documents.xml import namespaces
from fhcrawl.documents.xml.layout import NAMES

# XML 1.0, 2.4: in these an ampersand is no markup. Without an end, they extend to the end of the document.
DOCUMENT_TYPE = r"<!DOCTYPE[^\[>]*(?:>|\[.*?(?:\]\s*>|\Z)|\Z)"
NO_MARKUP = rf"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)|{DOCUMENT_TYPE}"
# XML 1.0, 2.8. A malformed declaration is removed: the encoding is known by now.
DECLARATION = re.compile(r"<\?xml\s[^<>]*>")
SOUND_DECLARATION = re.compile(
    r"""<\?xml\s+version\s*=\s*(["'])1\.[0-9]+\1(\s+encoding\s*=\s*(["'])[A-Za-z][\w.-]*\3)?"""
    r"""(\s+standalone\s*=\s*(["'])(yes|no)\5)?\s*\?>""",
    re.ASCII,
)
# XML 1.0, 2.2: the characters that a document may have.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
ID = re.compile(r"(?P<tag><(?:[\w.-]+:)?(?:id|guid)\b[^<>]*>\s*)(?P<data>(?:<!\[CDATA\[)?)(?P<id>[^<]*)")
NUMBER = re.compile(r"&#([xX][0-9a-fA-F]+|[0-9]+);")
# A reference that is truncated at the end of the document is kept.
SUSPECT = re.compile(
    rf"(?P<kept>{NO_MARKUP}|&[#\w.:-]*\Z)|&#(?P<number>[xX][0-9a-fA-F]+|[0-9]+);|&(?P<name>[\w.:-]+);"
    r"|(?P<ampersand>&)|(?P<end>\]\]>)|(?P<less><(?=[\s\d=]))",
    re.DOTALL,
)
AS_TEXT: dict[str, tuple[str, str | None]] = {
    "ampersand": ("&amp;", "ampersands that begin no reference are read as text"),
    # XML 1.0, 2.4: ">" "MUST, for compatibility, be escaped" where it ends "]]>" outside a CDATA section.
    "end": ("]]&gt;", "']]>' outside a CDATA section is read as text"),
    "less": ("&lt;", "'<' that begins no tag is read as text"),
}
DOCTYPE = re.compile(DOCUMENT_TYPE, re.DOTALL)
LOWER_DOCTYPE = re.compile(r"<!doctype(?=\s)")
BEFORE_DOCTYPE = re.compile(r"\s+|<!--.*?-->|<\?.*?\?>", re.DOTALL)
EXTERNAL = re.compile(r"<!DOCTYPE[^\[>]*\s(?:SYSTEM|PUBLIC)\s")
PARAMETER_ENTITY = re.compile(r"<!ENTITY\s+%")
DECLARED_ENTITY = re.compile(r"<!ENTITY\s+([\w.:-]+)")
PREDEFINED = frozenset({"amp", "lt", "gt", "quot", "apos"})  # XML 1.0, 4.6
NAME_OF_REFERENCE = re.compile(r"&([\w.:-]+);")
LONGEST_NUMBER = 10
DROPPED = "references to characters that XML forbids are dropped"
TAG = re.compile(rf"{NO_MARKUP}|</?(?P<tag>[A-Za-z_][^<>]*)>", re.DOTALL)
VALUE = re.compile(r"""=\s*(?:"[^"]*"|'[^']*')""")
PREFIX = re.compile(r"(?:^|\s)([A-Za-z_][\w.-]*):[A-Za-z_]")
DECLARED_PREFIX = re.compile(r"\sxmlns:([\w.-]+)\s*=")
RESERVED_PREFIXES = frozenset({"xml", "xmlns"})
# Maximum number of undeclared prefixes to declare on the root.
MOST_UNKNOWN = 64
UNKNOWN_NAMESPACE = "urn:fhcrawl:undeclared-prefix:"
# Namespaces of undeclared prefixes; not of fh and at, whose elements delete entries.
NAMESPACES = {prefix: uri for prefix, uri in namespaces.KNOWN.items() if prefix not in {"fh", "at"}}


def repair(text: str) -> tuple[str, list[str]]:
    """Repair characters, references and prefixes, which do not depend on the elements.

    :return: the text, and a part of a sentence for each kind of repair
    """
    repairs: dict[str, None] = {}
    allowed = FORBIDDEN.sub("", ID.sub(_distinct_id, text))
    if allowed != text:
        text = allowed
        repairs["characters that XML forbids are dropped"] = None
    text = _with_sound_declarations(text, repairs)
    doctype = _doctype(text)
    declared = PREDEFINED.union(DECLARED_ENTITY.findall(doctype))
    # XML 1.0, 4.1: with an external DTD that is not read, "Entity Declared" is no constraint of
    # well-formedness.
    if EXTERNAL.match(doctype) or PARAMETER_ENTITY.search(doctype):
        declared = declared.union(NAME_OF_REFERENCE.findall(text))

    def replace(match: re.Match[str]) -> str:
        repaired, done = _repair(match, declared)
        if done:
            repairs[done] = None
        return repaired

    text = SUSPECT.sub(replace, text)
    if DROPPED in repairs:
        # The text around a dropped reference may form a new one.
        text = SUSPECT.sub(replace, text)
    text, prefixes = _with_prefixes(text)
    if prefixes:
        repairs[f"namespaces of undeclared prefixes are added ({', '.join(prefixes)})"] = None
    return text, list(repairs)


def _with_sound_declarations(text: str, repairs: dict[str, None]) -> str:
    if (declaration := DECLARATION.match(text)) and not SOUND_DECLARATION.match(text):
        text = text[declaration.end() :]
        repairs["an invalid XML declaration is dropped"] = None
    if doctype := LOWER_DOCTYPE.match(text, position := _before_doctype(text)):
        text = f"{text[:position]}<!DOCTYPE{text[doctype.end() :]}"
        repairs["a document type declaration in lower case is read"] = None
    return text


# Ids that differ only in forbidden characters must stay different. A CDATA section has no references.
def _distinct_id(match: re.Match[str]) -> str:
    known = match["id"] if match["data"] else NUMBER.sub(_character, match["id"])
    return match["tag"] + match["data"] + FORBIDDEN.sub(lambda found: f"\ufffd{{{ord(found[0]):04X}}}", known)


def _character(reference: re.Match[str]) -> str:
    character = _character_of(reference[1])
    return character if character is not None and FORBIDDEN.match(character) else reference[0]


def _character_of(number: str) -> str | None:
    if len(number) > LONGEST_NUMBER:
        return None
    code = int(number[1:], 16) if number[0] in "xX" else int(number)
    return chr(code) if code <= sys.maxunicode else None


def declares_entities(text: str) -> bool:
    """Return whether a document declares entities."""
    return "<!ENTITY" in _doctype(text)


def _doctype(text: str) -> str:
    doctype = DOCTYPE.match(text, _before_doctype(text))
    return doctype[0] if doctype else ""


def _before_doctype(text: str) -> int:
    # A loop, because one expression would backtrack over every division of white space.
    position = 0
    while match := BEFORE_DOCTYPE.match(text, position):
        position = match.end()
    return position


def _repair(match: re.Match[str], declared: frozenset[str]) -> tuple[str, str | None]:
    kind = match.lastgroup
    if kind == "number":
        return _number(match["number"], match[0])
    if kind == "name" and match["name"] not in declared:
        return _name(match["name"])
    return AS_TEXT.get(kind or "", (match[0], None))


# XML 1.0, 4.1: "Characters referred to using character references MUST match the production for Char."
def _number(number: str, reference: str) -> tuple[str, str | None]:
    character = _character_of(number)
    if character is None or FORBIDDEN.match(character):
        return "", DROPPED
    return (f"&#x{number[1:]};", "'&#X' is read as '&#x'") if number[0] == "X" else (reference, None)


def _name(name: str) -> tuple[str, str | None]:
    characters = html5.get(f"{name};")
    if characters is None:
        return f"&amp;{name};", "references to undeclared entities are read as text"
    return "".join(f"&#{ord(each)};" for each in characters), "entities of HTML are read as in HTML"


def _with_prefixes(text: str) -> tuple[str, list[str]]:
    """Declare undeclared prefixes on the root element; return the text and those prefixes."""
    tags = [match for match in TAG.finditer(text) if match["tag"]]
    named = (match["tag"] for match in tags if ":" in match["tag"])
    used = {prefix for tag in named for prefix in PREFIX.findall(VALUE.sub("", tag))}
    missing = sorted(used - RESERVED_PREFIXES - set(DECLARED_PREFIX.findall(text)))
    if len(missing) > MOST_UNKNOWN:
        missing = [prefix for prefix in missing if prefix in NAMESPACES]
    if not missing:
        return text, []
    position = tags[0].start("tag") + len(re.split(r"[\s/]", tags[0]["tag"], maxsplit=1)[0])
    declarations = "".join(
        f' xmlns:{prefix}="{NAMESPACES.get(prefix, UNKNOWN_NAMESPACE + prefix)}"' for prefix in missing
    )
    return text[:position] + declarations + text[position:], missing


def split(text: str) -> list[str] | None:
    """Return the text before, between and after entries, and each entry, in turn.

    Return None if there are no entries, or one lacks a start tag or an end tag.
    """
    # An entity could contain anything, including the end of an entry.
    if declares_entities(text) or (spans := _spans(text)) is None:
        return None
    positions = [0, *(position for span in spans for position in span), len(text)]
    return [text[start:end] for start, end in pairwise(positions)]


def _spans(text: str) -> list[tuple[int, int]] | None:
    root = next((match["tag"] for match in TAG.finditer(text) if match["tag"]), "")
    prefix, _colon, name = re.split(r"[\s/]", root, maxsplit=1)[0].rpartition(":")
    entry, has_prefix = NAMES.get(name, ("item", False))
    entry = f"{prefix}:{entry}" if prefix and has_prefix else entry
    tag = re.compile(rf"{NO_MARKUP}|<(?P<close>/?){re.escape(entry)}(?P<rest>\s[^<>]*|/?)>", re.DOTALL)
    found: list[tuple[int, int]] = []
    depth = begun = 0
    for match in tag.finditer(text):
        if match["rest"] is None:
            continue
        begun = match.start() if depth == 0 else begun
        depth += -1 if match["close"] else not match["rest"].endswith("/")
        if depth < 0:
            return None
        if depth == 0:
            found.append((begun, match.end()))
    return found if found and depth == 0 else None
