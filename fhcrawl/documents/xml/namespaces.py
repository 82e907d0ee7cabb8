"""The namespaces that fhcrawl knows, and documents in which publishers have written them in another way."""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import NamedTuple

from fhcrawl.documents.model import Problem

# Canonical URIs by their usual prefix.
KNOWN = {
    "atom": "http://www.w3.org/2005/Atom",
    "atom03": "http://purl.org/atom/ns#",
    "at": "http://purl.org/atompub/tombstones/1.0",
    "content": "http://purl.org/rss/1.0/modules/content/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dc10": "http://purl.org/dc/elements/1.0/",
    "dcterms": "http://purl.org/dc/terms/",
    "fh": "http://purl.org/syndication/history/1.0",
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "media": "http://search.yahoo.com/mrss/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rss10": "http://purl.org/rss/1.0/",
    "slash": "http://purl.org/rss/1.0/modules/slash/",
    "sy": "http://purl.org/rss/1.0/modules/syndication/",
    "thr": "http://purl.org/syndication/thread/1.0",
    "wfw": "http://wellformedweb.org/CommentAPI/",
    "xhtml": "http://www.w3.org/1999/xhtml",
}
# RSS 0.91, 0.92 and 2.0 have no namespace; some feeds use one of these.
RSS = (
    "http://backend.userland.com/rss2",
    "http://backend.userland.com/rss",
    "http://backend.userland.com/rss091",
    "http://backend.userland.com/rss092",
    "http://blogs.law.harvard.edu/tech/rss",
)
RSS_090 = ("http://my.netscape.com/rdf/simple/0.9/", "http://channel.netscape.com/rdf/simple/0.9/")
SCHEME = re.compile("https?://", re.IGNORECASE)
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
DECLARATION = re.compile(rb"""xmlns(?::[^\s=<>:"']+)?\s*=\s*(?:"[^"<]*|'[^'<]*)""")
# XML 1.0, 2.4: constructs that declare nothing; then a start tag. The number of repetitions is limited: each
# takes about 100 bytes of memory.
START_TAG = re.compile(
    rb"""<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)|<[^<!?/](?:[^<>"']+|"[^"<]*"|'[^'<]*'){0,10000}""",
    re.DOTALL,
)
NO_TAG = (b"<!", b"<?")
BEFORE_ROOT = re.compile(rb"\s+|<!--.*?-->|<\?.*?\?>", re.DOTALL)
ATOM_ROOT = re.compile(rb"""<feed(?=[\s>])(?P<attributes>(?:[^<>"'/]|"[^"<]*"|'[^'<]*')*)>""")
USUAL_ROOT = b"<feed xmlns="
LONGEST_PROLOG = 8192  # octets before the root
LONGEST_ROOT = 65_536  # octets of its start tag
DEFAULT_NAMESPACE = re.compile(rb"\sxmlns\s*=")
OLD_VERSION = re.compile(rb"""\sversion\s*=\s*["']0\.""")
ATOM_ENTRY = re.compile(rb"<entry[\s>]")


def spelling(uri: str) -> str:
    """Return what the spellings of a namespace have in common."""
    return SCHEME.sub("", uri.strip(), count=1).rstrip("/#").lower()


CANONICAL = {spelling(uri): uri for uri in (*KNOWN.values(), *RSS, *RSS_090)}


# Namespaces in XML 1.0, 2.3: "The two IRIs are treated as strings, and they are identical if and only if the
# strings are identical". Publishers know them as addresses, of which these are spellings of one.
@lru_cache(maxsize=256)
def canonical(uri: str) -> str:
    """Return the canonical URI of a namespace: as another scheme, case, or end names a known one.

    :param uri: as the document has it; returned unchanged if it is unknown
    """
    return CANONICAL.get(spelling(uri), uri)


def braced(prefix: str) -> str:
    """Return the namespace of one of our prefixes as it begins a tag."""
    return f"{{{KNOWN[prefix]}}}"


class Canonical(NamedTuple):
    """A document whose known namespaces have their canonical URIs, and a problem for each other one."""

    body: bytes
    problems: tuple[Problem, ...] = ()


# `findall` takes a multiple of the time: it looks at each octet.
def _declarations(body: bytes) -> set[bytes]:
    """Return what looks like a declaration of a namespace in a document, anywhere in it."""
    found = set()
    position = body.find(XMLNS)
    while position >= 0:
        match = DECLARATION.match(body, position)
        if match is not None:
            found.add(match[0])
        position = body.find(XMLNS, position + len(XMLNS) if match is None else match.end())
    return found


def canonicalise(body: bytes) -> Canonical:
    """Write the known namespaces of a document as their canonical URIs; supply that of an Atom root.

    Text, CDATA sections and comments are unchanged.

    :param body: in UTF-8
    """
    supplied = _with_atom_root(body)
    if supplied is None and not any(map(_other_spelling, _declarations(body))):
        return Canonical(body)
    renamed: dict[str, str] = {}
    body = START_TAG.sub(partial(_with_canonical, renamed), supplied or body)
    said = [] if supplied is None else ["its root has no namespace and is read as Atom's"]
    others = [(written, meant) for written, meant in renamed.items() if written not in ACCEPTED]
    said += [f"its namespace {written} is read as {meant}" for written, meant in others[:MOST_NAMED]]
    return Canonical(body, tuple(Problem("repaired", "", detail) for detail in said))


@lru_cache(maxsize=256)
def _other_spelling(declaration: bytes) -> tuple[str, str] | None:
    """Return the URI of a declaration, and its canonical URI; None if that is the same."""
    written = declaration.partition(b"=")[2].lstrip()[1:].decode(errors="replace")
    meant = canonical(written)
    return (written, meant) if meant != written else None


def _with_canonical(renamed: dict[str, str], tag: re.Match[bytes]) -> bytes:
    if tag[0].startswith(NO_TAG) or b"xmlns" not in tag[0]:
        return tag[0]
    return DECLARATION.sub(partial(_rename, renamed), tag[0])


def _rename(renamed: dict[str, str], declaration: re.Match[bytes]) -> bytes:
    other = _other_spelling(declaration[0])
    if other is None:
        return declaration[0]
    written, meant = other
    renamed[written] = meant
    return declaration[0].removesuffix(written.encode()) + meant.encode()


# RFC 4287, 1.2: Atom's elements have its namespace. A feed element without one and without an entry may be
# anything.
def _with_atom_root(body: bytes) -> bytes | None:
    """Return the document with Atom's namespace on its root; None if that is not an Atom feed without one."""
    first = body.find(b"<feed", 0, LONGEST_PROLOG)
    if first < 0 or body.startswith(USUAL_ROOT, first):
        return None
    start = 0
    while before := BEFORE_ROOT.match(body, start):
        start = before.end()
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
