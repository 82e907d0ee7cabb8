"""Reads names, text, markup, base URLs and links of elements."""

from __future__ import annotations

import copy
import re
from functools import reduce
from typing import TYPE_CHECKING
from urllib.parse import urljoin
from xml.sax.saxutils import escape

from lxml import etree

from fhcrawl.documents import model
from fhcrawl.documents.xml import namespaces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

    from fhcrawl.documents.model import Entry

    Head = dict[str, list[_Element]]  # the children of a head section, by tag

ATOM, OLD_ATOM, FH, XHTML = map(namespaces.braced, ("atom", "atom03", "fh", "xhtml"))
RSS_NAMESPACES = ("", *(f"{{{uri}}}" for uri in namespaces.RSS))
# RSS 1.0, and the two namespaces of RSS 0.90.
RDF_NAMESPACES = (namespaces.braced("rss10"), *(f"{{{uri}}}" for uri in namespaces.RSS_090))
# --- the places of entries

RDF_ROOT = f"{namespaces.braced('rdf')}RDF"
# The tags of all ancestors of entries.
CONTAINERS = frozenset(
    {
        *(f"{namespace}feed" for namespace in (ATOM, OLD_ATOM)),
        *(f"{namespace}rss" for namespace in RSS_NAMESPACES),
        *(f"{namespace}channel" for namespace in (*RSS_NAMESPACES, *RDF_NAMESPACES)),
        RDF_ROOT,
    }
)
# With and without a namespace: programs write xmlns="" instead of the parent's namespace.
ENTRIES = frozenset(
    {
        *(f"{namespace}entry" for namespace in ("", ATOM, OLD_ATOM)),
        *(f"{namespace}item" for namespace in (*RSS_NAMESPACES, *RDF_NAMESPACES)),
    }
)
# By the local name of the root: the local name of entries, and whether they have the namespace of the root.
ENTRY_NAMES = {"feed": ("entry", True), "rss": ("item", True), "RDF": ("item", False)}

# --- attributes and links

XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
CONTEXT = frozenset({XML_BASE, XML_LANG})

# RFC 4287, 4.2.7.2: a name is equivalent to its URI in the IANA Registry.
IANA_RELATION = re.compile(
    r"^https?://www\.iana\.org/assignments/(?:relation|link-relations)/#?", re.IGNORECASE
)
COMMON_RELATIONS = {name: [name] for name in ("alternate", "enclosure", "related", "self")}
ABSOLUTE = ("http://", "https://")
LONGEST_BASE = 2083  # characters; resolved references repeat it
LONGEST_URL = 10_000  # characters; no server accepts more
LONGEST_LANGUAGE = 100
# A text with a tag or a character reference is markup.
MARKUP = re.compile(r"<[A-Za-z/!][^<>]*>|&(?:#\d+|#x[0-9A-Fa-f]+|\w+);", re.ASCII)
# HTML, 13.1.2: void elements have no end tag; all others need an end tag.
VOID = frozenset(
    {
        *("area", "base", "br", "col", "embed", "hr", "img"),
        *("input", "link", "meta", "param", "source", "track", "wbr"),
    }
)


# When lxml moves an element out of a tree, it searches a growing list of namespaces.
def remove(element: _Element, parent: _Element) -> None:
    """Remove a child from its parent and free its descendants; no references to these may exist."""
    element.clear()
    parent.remove(element)


def local_name(element: _Element) -> str:
    return str(element.tag).rpartition("}")[2]


def first(element: _Element, tag: str) -> _Element | None:
    """Return the first child with a tag; `find` takes twice the time."""
    return next(element.iterchildren(tag), None)


# With a document type declaration, `get` searches all namespaces in scope for a default value.
def has_attribute(element: _Element, name: str) -> bool:
    """Check for an attribute with a namespace; `get` is slow if the element does not have it."""
    return name in element.keys()  # noqa: SIM118 - elements are not dicts


def text(element: _Element) -> str | None:
    """Return all text inside an element, unchanged; None if it is blank."""
    value = element.text if not len(element) else "".join(_texts(element))
    return value if value and not value.isspace() else None


def _texts(element: _Element) -> Iterator[str]:
    # Recursive generators would pass each text through all levels. The tree has no comments.
    for event, child in etree.iterwalk(element, events=("start", "end")):
        if event == "end":
            yield (child.tail or "") if child is not element else ""
        else:
            yield child.text or ""


def line(element: _Element) -> str | None:
    """Return the text of a one-line element (a title, a name), stripped; None if it is blank."""
    value = element.text if not len(element) else "".join(_texts(element))
    return (value.strip() or None) if value else None


def identifier(element: _Element) -> str | None:
    return model.identifier(element.text if not len(element) else "".join(_texts(element)))


def line_of(head: Head, tag: str) -> str | None:
    """Return the stripped text of the first child of a head section with a tag."""
    return line(head[tag][0]) if tag in head else None


def line_in(element: _Element, tag: str) -> str | None:
    """Return the stripped text of the first child with a tag."""
    child = first(element, tag)
    return None if child is None else line(child)


# RFC 4287, 3.1.1.2: "Any markup within MUST be escaped", as in RSS. HTML would read <a/> as a start tag.
def html(element: _Element) -> str | None:
    """Return the text of an element that contains escaped markup; child elements are serialised as HTML."""
    if not len(element):
        return text(element)
    html_namespaces = {XHTML, f"{{{element.nsmap.get(None, '')}}}"}
    for descendant in element.iterdescendants("*"):
        name = local_name(descendant)
        if ":" not in name and descendant.tag[: -len(name)] in html_namespaces:
            descendant.tag = name
        if not len(descendant) and not descendant.text and name.lower() not in VOID:
            descendant.text = ""
    parts = (with_own_namespaces(child) + _escape_unless_markup(child.tail) for child in element)
    inner = _escape_unless_markup(element.text) + "".join(parts)
    return inner if not inner.isspace() else None


def _escape_unless_markup(piece: str | None) -> str:
    return (piece or "") if MARKUP.search(piece or "") else escape(piece or "")


def markup(element: _Element, *namespaces_of_html: str) -> str | None:
    """Return the content of an element as serialised markup; None if it is blank.

    XHTML elements, and those of `namespaces_of_html`, lose their namespace, so that they can be read as HTML.
    """
    for descendant in element.iterdescendants(*(f"{each}*" for each in (XHTML, *namespaces_of_html))):
        if ":" not in local_name(descendant):
            descendant.tag = local_name(descendant)
    inner = escape(element.text or "") + "".join(with_own_namespaces(child, True) for child in element)
    return inner if inner and not inner.isspace() else None


def with_own_namespaces(element: _Element, with_tail: bool = False) -> str:
    """Serialise an element with only the namespaces that it uses."""
    detached = copy.deepcopy(element)
    if isinstance(detached.tag, str):
        etree.cleanup_namespaces(detached)
    return etree.tostring(detached, encoding="unicode", with_tail=with_tail)


def base_of(element: _Element, base: str) -> str:
    """Return the base URL inside an element (RFC 4287, 2; XML Base); `base` is the one around it."""
    declared = element.get(XML_BASE)
    return resolve(declared, base) if declared else base


def base_inside(element: _Element, url: str) -> str:
    """Return the base URL inside an element; `url` is that of its document."""
    path = (*reversed([*element.iterancestors()]), element)
    return reduce(lambda base, around: base_of(around, base), path, url)


def note_context(entry: Entry, element: _Element, base: str) -> str:
    """Set the base URL and the language of an entry from an element; return the base."""
    names = element.keys()
    if XML_BASE in names:
        base = base_of(element, base)
    if len(base) <= LONGEST_BASE:
        entry.base = base or None
    if XML_LANG in names:
        entry.language = language_of(element)
    return base


def language_of(element: _Element) -> str | None:
    """Return the xml:lang of an element, which may be ''; None if it is absent or too long."""
    value = element.get(XML_LANG) if has_attribute(element, XML_LANG) else None
    return value.strip() if value is not None and len(value) <= LONGEST_LANGUAGE else None


def resolve(reference: str, base: str) -> str:
    """Resolve a reference; an invalid one is returned unchanged."""
    reference = reference.strip(model.WHITE_SPACE)
    if reference.startswith(ABSOLUTE) or len(base) > LONGEST_BASE:
        return reference
    try:
        return urljoin(base, reference)
    except ValueError:
        return reference


def target(element: _Element, reference: str, base: str) -> str:
    """Resolve a reference on an element; `base` is the base URL around it."""
    reference = reference.strip(model.WHITE_SPACE)
    # Most references are absolute and need no base URL.
    return reference if reference.startswith(ABSOLUTE) else resolve(reference, base_of(element, base))


def relations(link: _Element) -> list[str]:
    """Return the short names of the relations of a link, in lower case."""
    # RFC 4287, 4.2.7.2: without a rel attribute, the relation is 'alternate'.
    rel = link.get("rel") or "alternate"
    if common := COMMON_RELATIONS.get(rel):
        return common
    return [IANA_RELATION.sub("", name).lower() for name in rel.split()]
