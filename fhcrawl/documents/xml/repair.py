"""Repairs malformed documents, so that a fault loses at most one entry; a truncated one stays truncated."""

from __future__ import annotations

import re
import string
import sys
from codecs import BOM_UTF8
from collections import Counter
from functools import lru_cache
from html.entities import html5
from itertools import pairwise
from typing import TYPE_CHECKING

from fhcrawl.documents.model import Problem
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.namespaces import KNOWN, canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

# --- the constructs of XML


def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII | re.DOTALL)


def octets(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode(), re.DOTALL)


# XML 1.0, 2.4: constructs without tags and references: comments, CDATA sections, processing instructions.
COMPLETE_SECTION = r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>"
# Without an end, they extend to the end of the document.
SECTION = rf"{COMPLETE_SECTION}|<(?:!--|!\[CDATA\[|\?).*"
QUOTED = r"""\"[^\"]*\"|'[^']*'"""
# A value of an attribute of a malformed document ends before the next tag.
QUOTED_VALUE = r"""\"[^\"<]*\"|'[^'<]*'"""
# XML 1.0, 2.8: what may come before a document type declaration, or before the root.
MISC = compiled(r"\s+|<!--.*?-->|<\?.*?\?>")
DOCTYPE = "<!DOCTYPE"
PREDEFINED = frozenset({"amp", "lt", "gt", "quot", "apos"})  # XML 1.0, 4.6


# A loop, because a single expression would backtrack over every division of white space.
def prolog_end(text: str) -> int:
    position = 0
    while match := MISC.match(text, position):
        position = match.end()
    return position


def html_characters(name: str) -> str | None:
    """Return the characters of an HTML entity as references; None if there is no such entity."""
    characters = html5.get(f"{name};")
    return None if characters is None else "".join(f"&#{ord(each)};" for each in characters)


# --- namespaces

# Spellings that are no fault: the first ones of Media RSS, of Apple and of RSS 2.0.
ACCEPTED = frozenset(
    {
        "http://search.yahoo.com/mrss",
        "http://www.itunes.com/DTDs/Podcast-1.0.dtd",
        "http://www.itunes.com/DTDs/PodCast-1.0.dtd",
        "http://backend.userland.com/RSS2",
    }
)
MOST_NAMED = 5
XMLNS = b"xmlns"
XMLNS_DECLARATION = octets(r"""xmlns(?::[^\s=<>:"']+)?\s*=\s*(?:"[^"<]*|'[^'<]*)""")
# A start tag, or a section, which declares nothing. Each repetition takes about 100 bytes of memory.
START_TAG = octets(rf"""{SECTION}|<[^<!?/](?:[^<>"']+|{QUOTED_VALUE}){{0,10000}}""")
ATOM_ROOT = octets(rf"""<feed(?=[\s>])(?P<attributes>(?:[^<>"'/]|{QUOTED_VALUE})*)>""")
USUAL_ROOT = b"<feed xmlns="
LONGEST_PROLOG = 8192  # octets before the root
LONGEST_ROOT = 65_536  # octets of its start tag
DEFAULT_NAMESPACE = re.compile(rb"\sxmlns\s*=")
OLD_VERSION = re.compile(rb"""\sversion\s*=\s*["']0\.""")
ATOM_ENTRY = re.compile(rb"<entry[\s>]")


# `findall` takes a multiple of the time: it looks at each octet.
def _declarations(body: bytes) -> Iterator[bytes]:
    position = body.find(XMLNS)
    while position >= 0:
        match = XMLNS_DECLARATION.match(body, position)
        if match is not None:
            yield match[0]
        position = body.find(XMLNS, position + len(XMLNS) if match is None else match.end())


def canonicalise(body: bytes) -> tuple[bytes, tuple[Problem, ...]]:
    """Replace supported namespaces with their canonical URIs; supply a missing one of an Atom root.

    Returns also a problem for each namespace that has been changed.
    """
    supplied = _with_atom_root(body)
    if supplied is None and not any(map(_canonical_spelling, set(_declarations(body)))):
        return body, ()
    renamed: dict[str, str] = {}

    def rename(declaration: re.Match[bytes]) -> bytes:
        other = _canonical_spelling(declaration[0])
        if other is None:
            return declaration[0]
        written, meant = other
        renamed[written] = meant
        return declaration[0].removesuffix(written.encode()) + meant.encode()

    def with_canonical(tag: re.Match[bytes]) -> bytes:
        return tag[0] if tag[0].startswith((b"<!", b"<?")) else XMLNS_DECLARATION.sub(rename, tag[0])

    body = START_TAG.sub(with_canonical, supplied or body)
    details = [] if supplied is None else ["its root has no namespace and is read as Atom's"]
    misspelt = [(written, meant) for written, meant in renamed.items() if written not in ACCEPTED]
    details += [f"its namespace {written} is read as {meant}" for written, meant in misspelt[:MOST_NAMED]]
    return body, tuple(Problem("repaired", "", detail) for detail in details)


@lru_cache(maxsize=256)
def _canonical_spelling(declaration: bytes) -> tuple[str, str] | None:
    written = declaration.partition(b"=")[2].lstrip()[1:].decode(errors="replace")
    meant = canonical(written)
    return (written, meant) if meant != written else None


# RFC 4287, 1.2: Atom's elements have its namespace. A feed element without it and without an entry may be
# anything.
def _with_atom_root(body: bytes) -> bytes | None:
    start = body.find(b"<feed", 0, LONGEST_PROLOG)
    if start < 0 or body.startswith(USUAL_ROOT, start):
        return None
    start = prolog_end(body.decode("latin-1"))
    root = ATOM_ROOT.match(body, start, start + LONGEST_ROOT)
    if (
        root is None
        or DEFAULT_NAMESPACE.search(root["attributes"])
        or not ATOM_ENTRY.search(body, root.end())
    ):
        return None
    prefix = "atom03" if OLD_VERSION.search(root["attributes"]) else "atom"
    position = root.start("attributes")
    return body[:position] + f' xmlns="{KNOWN[prefix]}"'.encode() + body[position:]


# --- text before a document

LONGEST_JUNK = 65_536  # octets
SPACE = BOM_UTF8 + b" \t\r\n"
COMMENT = compiled("<!--(?:.*?-->|.*)")
# XML 1.0, 2.8: a declaration, and the start of a document type declaration or of the feed.
DECLARATION = compiled(r"<\?xml\s[^<>]*>")
DOCUMENT = compiled(r"<!(?i:doctype)\s|<(?:[A-Za-z_][\w.-]*:)?(?:rss|feed|RDF)[\s>]")
INSTRUCTION = compiled(r"<\?[^<>]*\?>")
ELEMENT = compiled(r"<([A-Za-z!][\w:.-]*)")
# The elements in messages of programs. Others, before a feed, belong to another document.
OF_MESSAGES = frozenset(
    (
        *("a", "b", "br", "code", "div", "em", "font", "hr", "i", "p", "pre", "small", "span", "strong"),
        *("table", "tbody", "td", "th", "tr", "u"),
    )
)


def without_junk(body: bytes) -> bytes | None:
    """Remove script output before a document, except a declaration; None if there is nothing to remove."""
    # In Latin-1, and with comments blanked, positions stay the same.
    start = COMMENT.sub(lambda match: " " * len(match[0]), body[:LONGEST_JUNK].decode("latin-1"))
    document = DOCUMENT.search(start)
    if document is None:
        return None
    before = start[: document.start()]
    if not {tag.lower() for tag in ELEMENT.findall(before)} <= OF_MESSAGES:
        return None
    spans = [declaration.span() for declaration in DECLARATION.finditer(before)]
    begin, end = spans[-1] if spans else (0, 0)
    after = INSTRUCTION.sub("", before[end:].removeprefix(BOM_UTF8.decode("latin-1")))
    if not body[:begin].strip(SPACE) and not after.strip(string.whitespace):
        return None
    return body[begin:end] + body[document.start() :]


# --- characters, references and prefixes

# XML 1.0, 2.8. A malformed declaration is removed: the text is already decoded.
SOUND_DECLARATION = re.compile(
    r"""<\?xml\s+version\s*=\s*(["'])1\.[0-9]+\1(\s+encoding\s*=\s*(["'])[A-Za-z][\w.-]*\3)?"""
    r"""(\s+standalone\s*=\s*(["'])(yes|no)\5)?\s*\?>""",
    re.ASCII,
)
# XML 1.0, 2.2: the characters that a document may have.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
ID = re.compile(r"(?P<tag><(?:[\w.-]+:)?(?:id|guid)\b[^<>]*>\s*)(?P<data>(?:<!\[CDATA\[)?)(?P<id>[^<]*)")
NUMBER = re.compile(r"&#([xX][0-9a-fA-F]+|[0-9]+);")
LONGEST_NUMBER = 10
# A reference that is truncated at the end of the document is kept.
SUSPECT = re.compile(
    rf"(?P<kept>{SECTION}|&[#\w.:-]*\Z)|&#(?P<number>[xX][0-9a-fA-F]+|[0-9]+);|&(?P<name>[\w.:-]+);"
    r"|(?P<ampersand>&)|(?P<end>\]\]>)|(?P<less><(?=[\s\d=]))",
    re.DOTALL,
)
AS_TEXT: dict[str | None, tuple[str, str]] = {
    "ampersand": ("&amp;", "ampersands that do not begin a reference are read as text"),
    # XML 1.0, 2.4: ">" "MUST, for compatibility, be escaped" where it ends "]]>" outside a CDATA section.
    "end": ("]]&gt;", "']]>' outside a CDATA section is read as text"),
    "less": ("&lt;", "'<' that begins no tag is read as text"),
}
LOWER_DOCTYPE = re.compile(r"<!doctype(?=\s)")
ENTITIES = "references to undeclared entities are read as text", "entities of HTML are read as in HTML"
DROPPED = "references to characters that XML forbids are dropped"
# A tag of a malformed document ends at the next ">".
TAG = re.compile(
    rf"{SECTION}|<(?P<close>/?)(?P<name>[A-Za-z_][^\s/<>]*)(?P<rest>(?:[\s/][^<>]*)?)>", re.DOTALL
)
VALUE = re.compile(rf"=\s*(?:{QUOTED})")
PREFIX = re.compile(r"(?:^|\s)([A-Za-z_][\w.-]*):[A-Za-z_]")
DECLARED_PREFIX = re.compile(r"\sxmlns:([\w.-]+)\s*=")
RESERVED_PREFIXES = frozenset({"xml", "xmlns"})
# Maximum number of undeclared prefixes to declare on the root.
MOST_UNKNOWN = 64
UNKNOWN_NAMESPACE = "urn:fhcrawl:undeclared-prefix:"
# Namespaces of undeclared prefixes; not of fh and at, whose elements delete entries.
NAMESPACES = {prefix: uri for prefix, uri in KNOWN.items() if prefix not in {"fh", "at"}}


def with_prolog(text: str) -> tuple[str, list[str]]:
    """Drop forbidden characters, and repair the declarations; return also a description of each repair."""
    repairs = []
    allowed = FORBIDDEN.sub("", ID.sub(_keep_id_distinct, text))
    if allowed != text:
        text = allowed
        repairs.append("characters that XML forbids are dropped")
    if (declaration := DECLARATION.match(text)) and not SOUND_DECLARATION.match(text):
        text = text[declaration.end() :]
        repairs.append("an invalid XML declaration is dropped")
    prolog, start = _prolog_without_references(text)
    if len(prolog) < start:
        text, start = prolog + text[start:], len(prolog)
        repairs.append(DROPPED)
    if lower := LOWER_DOCTYPE.match(text, start):
        text = text[:start] + DOCTYPE + text[lower.end() :]
        repairs.append("a document type declaration in lower case is read")
    return text, repairs


# References that are dropped later would hide the document type declaration after them.
def _prolog_without_references(text: str) -> tuple[str, int]:
    pieces, position = [], 0
    while match := MISC.match(text, position) or NUMBER.match(text, position):
        if match.re is MISC:
            pieces.append(match[0])
        elif _repair_number(match[1], match[0])[0]:
            break
        position = match.end()
    return "".join(pieces), position


def with_references(text: str) -> tuple[str, list[str]]:
    """Repair references and prefixes of a text without declared entities; return also descriptions."""
    repairs: dict[str, None] = {}

    def replace(match: re.Match[str]) -> str:
        if match.lastgroup == "number":
            repaired, description = _repair_number(match["number"], match[0])
        elif match.lastgroup == "name" and match["name"] not in PREDEFINED:
            characters = html_characters(match["name"])
            repaired, description = characters or f"&amp;{match['name']};", ENTITIES[characters is not None]
        else:
            repaired, description = AS_TEXT.get(match.lastgroup, (match[0], ""))
        if description:
            repairs[description] = None
        return repaired

    text = SUSPECT.sub(replace, text)
    if DROPPED in repairs:
        # The text around a dropped reference may form a new one.
        text = SUSPECT.sub(replace, text)
    text, prefixes = _with_prefixes(text)
    if prefixes:
        repairs[f"namespaces of undeclared prefixes are added ({', '.join(prefixes)})"] = None
    return text, list(repairs)


# Ids that differ only in forbidden characters must stay different. A CDATA section has no references.
def _keep_id_distinct(match: re.Match[str]) -> str:
    value = match["id"] if match["data"] else NUMBER.sub(_forbidden_character, match["id"])
    return match["tag"] + match["data"] + FORBIDDEN.sub(lambda each: f"\ufffd{{{ord(each[0]):04X}}}", value)


def _forbidden_character(reference: re.Match[str]) -> str:
    character = _character(reference[1])
    return character if character is not None and FORBIDDEN.match(character) else reference[0]


def _character(number: str) -> str | None:
    if len(number) > LONGEST_NUMBER:
        return None
    code = int(number[1:], 16) if number[0] in "xX" else int(number)
    return chr(code) if code <= sys.maxunicode else None


def _repair_number(number: str, reference: str) -> tuple[str, str]:
    character = _character(number)
    if character is None or FORBIDDEN.match(character):
        return "", DROPPED
    return (f"&#x{number[1:]};", "'&#X' is read as '&#x'") if number[0] == "X" else (reference, "")


def _tags(text: str) -> Iterator[re.Match[str]]:
    return (match for match in TAG.finditer(text) if match["name"])


def _with_prefixes(text: str) -> tuple[str, list[str]]:
    tags = (f"{tag['name']}{tag['rest']}" for tag in _tags(text) if ":" in tag[0])
    used = {prefix for tag in tags for prefix in PREFIX.findall(VALUE.sub("", tag))}
    missing = sorted(used - RESERVED_PREFIXES - set(DECLARED_PREFIX.findall(text)))
    if len(missing) > MOST_UNKNOWN:
        missing = [prefix for prefix in missing if prefix in NAMESPACES]
    if not missing:
        return text, []
    position = next(_tags(text)).end("name")
    declarations = "".join(
        f' xmlns:{prefix}="{NAMESPACES.get(prefix, UNKNOWN_NAMESPACE + prefix)}"' for prefix in missing
    )
    return text[:position] + declarations + text[position:], missing


# --- entries


def split(text: str) -> list[str] | None:
    """Return the text around entries, and each entry, in turn; None if a tag of an entry is missing."""
    root = next((tag["name"] for tag in _tags(text)), "")
    prefix, _colon, name = root.rpartition(":")
    entry, has_prefix = elements.ENTRY_NAMES.get(name, ("item", False))
    entry = f"{prefix}:{entry}" if prefix and has_prefix else entry
    positions, depth = [0], 0
    for tag in _tags(text):
        if tag["name"] != entry:
            continue
        if depth == 0:
            positions.append(tag.start())
        depth += -1 if tag["close"] else not tag["rest"].endswith("/")
        if depth < 0:
            return None
        if depth == 0:
            positions.append(tag.end())
    if depth or len(positions) == 1:
        return None
    return [text[start:end] for start, end in pairwise([*positions, len(text)])]


# A section or declaration; a tag, whose quoted values may have ">"; or a "<" that begins neither.
NAME = r"[A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?"
TOKEN = re.compile(
    r"(?P<data><!\[CDATA\[.*?\]\]>)|<!--.*?(?:-->|\Z)|<[?!][^<>]*>?"
    rf"|<(?P<end>/?)(?P<name>{NAME})(?![\w.-])(?P<rest>(?:[^<>\"']|{QUOTED_VALUE})*|[^<>]*)>|(?P<less><)",
    re.ASCII | re.DOTALL,
)
ATTRIBUTE = re.compile(rf"({NAME})(?:\s*=\s*({QUOTED_VALUE}|[^\s\"'<>]+))?", re.ASCII)
# HTML, 13.1.2: void elements have no end tag. In feeds, links have an end tag.
VOID = elements.VOID - {"link"}
# The children of entries, in lower case: an earlier child without an end tag ends before them.
FIELDS = frozenset(
    (
        *("title", "link", "description", "guid", "pubdate", "author", "category", "comments"),
        *("enclosure", "source", "id", "updated", "published", "summary", "content", "rights"),
        *("contributor", "issued", "modified", "created"),
    )
)


def balanced(entry: str) -> str:
    """Balance the tags of an entry as HTML does; its references and characters must be valid."""
    start_tag = TOKEN.match(entry)
    start, end = start_tag.end() if start_tag else 0, entry.rindex("<")
    tokens = [*TOKEN.finditer(entry, start, end)]
    balancer = Balancer({token["name"].lower(): token.start() for token in tokens if token["end"]})
    parts = [f"<{start_tag['name']}{_quoted_attributes(start_tag['rest'])}>" if start_tag else ""]
    for token in tokens:
        parts += entry[start : token.start()], balancer.markup(token)
        start = token.end()
    return "".join([*parts, entry[start:end], balancer.end(), entry[end:]])


class Balancer:
    def __init__(self, last_ends: dict[str, int]) -> None:
        self._last_ends = last_ends
        self._open: list[str] = []
        self._counts: Counter[str] = Counter()
        self._is_unclosed = False

    def markup(self, token: re.Match[str]) -> str:
        if token["less"]:
            return "&lt;"
        if not token["name"]:
            return token["data"] or ""
        return self.end(token["name"].lower()) if token["end"] else self._begin(token)

    def _begin(self, token: re.Match[str]) -> str:
        name, rest = token["name"], token["rest"]
        key = name.lower()
        # HTML, 13.1.2.3: without quotes, a slash belongs to the value.
        is_empty = rest.endswith("/") and (rest == "/" or rest[-2] in " \t\r\n\"'")
        attributes = _quoted_attributes(rest[:-1] if is_empty else rest)
        # A child of an entry never contains another of its name.
        is_field = self._is_unclosed and (key in FIELDS or ":" in key)
        ended = self.end() if self._open and (is_field or key == self._open[0].lower()) else ""
        if is_empty or (self._open and key in VOID):
            return f"{ended}<{name}{attributes}/>"
        if not self._open:
            self._is_unclosed = self._last_ends.get(key, -1) < token.start()
        self._open.append(name)
        self._counts[key] += 1
        return f"{ended}<{name}{attributes}>"

    def end(self, key: str | None = None) -> str:
        if key is not None and not self._counts[key]:
            return ""
        ended: list[str] = []
        while self._open and (not ended or ended[-1].lower() != key):
            ended.append(self._open.pop())
            self._counts[ended[-1].lower()] -= 1
        return "".join(f"</{name}>" for name in ended)


def _quoted_attributes(rest: str) -> str:
    values: dict[str, str] = {}
    for name, value in ATTRIBUTE.findall(rest):
        values.setdefault(name, value if value[:1] in ("'", '"') else f'"{value}"')
    return "".join(f" {name}={value}" for name, value in values.items())
