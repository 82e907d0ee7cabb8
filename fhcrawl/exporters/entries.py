"""Writes an entry of the store as an element of a feed document.

The entry's original XML is used if it is of the requested format. Fields whose value in it differs from the
store's, or all fields if there is no such XML, are written from the store. Each candidate is parsed as in a
crawl, and the one with the fewest differences from the store is written.
"""

from __future__ import annotations

import copy
import secrets
from typing import TYPE_CHECKING, Any, NamedTuple

from lxml import etree

from fhcrawl.documents import modules
from fhcrawl.documents.formats.atom03 import OLD
from fhcrawl.documents.identifiers import NO_CHARACTERS
from fhcrawl.documents.xml import elements, namespaces
from fhcrawl.documents.xml.elements import ATOM, RDF_NAMESPACES, RSS_NAMESPACES, XML_BASE

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from lxml.etree import _Element

    from fhcrawl.documents import Entry

    Fields = dict[str, Any]

# The fields that a crawl of the element must reproduce, in the order in which they are written.
READ_AGAIN = (
    "id",
    "title",
    "link",
    "published",
    "updated",
    "authors",
    "categories",
    "enclosures",
    "summary",
    "content",
    "content_type",
)
# Namespaces whose elements correspond to fields, or have no meaning in another format.
NATIVE = frozenset({*RSS_NAMESPACES, *RDF_NAMESPACES, OLD, modules.CONTENT, ATOM})
# RFC 4287's elements for which fhcrawl has no field; RSS can contain them as extensions.
KEPT_OF_ATOM = frozenset({f"{ATOM}contributor", f"{ATOM}rights"})
VERBATIM = "{urn:x-fhcrawl:export}verbatim"
RDF_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
PARSER = etree.XMLParser(
    resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
)
# It parses only XML that has been parsed within the limits before.
UNBOUNDED_PARSER = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)


class EntryFormat(NamedTuple):
    """The entries of a document format.

    :param tag: tag of an entry
    :param read: parses an entry whose xml:base is absolute
    :param elements: create the element of a field from its value and all fields
    :param one_for_each: create one of the elements of a field from one of its values
    :param says: returns whether a child of an entry is an element of a field
    :param reads: the tags of the children that `read` reads
    :param adopt: returns an original as an entry of this format; None if it is of another format
    :param complete: adds the elements that the format requires, and converts dates to its form
    :param identifier: returns an id as the format requires it
    """

    tag: str
    read: Callable[[_Element], Entry]
    elements: dict[str, Callable[[Any, Fields], _Element]]
    one_for_each: dict[str, Callable[[Any], _Element]]
    says: Callable[[_Element, str], bool]
    reads: Container[str]
    adopt: Callable[[_Element], _Element | None]
    complete: Callable[[_Element, Fields], None]
    identifier: Callable[[str], str] = str

    def build(self, name: str, fields: Fields) -> list[_Element]:
        """Return the elements of a field, given all fields."""
        value: Any = fields[name]
        if name in self.one_for_each:
            return [self.one_for_each[name](each) for each in value]
        return [self.elements[name](value, fields)] if value and name in self.elements else []


def element(fields: Fields, original: str | None, form: EntryFormat) -> _Element:
    """Return an entry as an element.

    :param fields: as `store.entries.read()` yields them
    :param original: the entry's own XML or JSON; None if it is not kept
    """
    fields = {name: cleaned(value) for name, value in fields.items()}
    best, fewest = etree.Element(form.tag), len(READ_AGAIN) + 1
    for candidate in _candidates(fields, _parsed(original), form):
        wrong = len(differences(candidate, fields, form))
        if wrong < fewest:
            best, fewest = candidate, wrong
        if not wrong:
            break
    return best


# XML 1.0, 2.2: the store has none of these characters unless one of the user's pipelines has added them.
def cleaned(value: Any) -> Any:
    """Replace the characters that XML does not allow in a field's value by U+FFFD."""
    if isinstance(value, str):
        return NO_CHARACTERS.sub("\ufffd", value)
    if isinstance(value, list):
        return [cleaned(each) for each in value]
    return {name: cleaned(each) for name, each in value.items()} if isinstance(value, dict) else value


def differences(candidate: _Element, fields: Fields, form: EntryFormat) -> list[str]:
    """Return the names of the fields whose value differs when an element is parsed."""
    try:
        # `read` modifies the element.
        entry = form.read(etree.fromstring(etree.tostring(candidate, with_tail=False), PARSER))
    except etree.XMLSyntaxError:
        return list(READ_AGAIN)
    return [name for name in READ_AGAIN if (getattr(entry, name) or None) != (fields[name] or None)]


def _candidates(fields: Fields, original: _Element | None, form: EntryFormat) -> Iterator[_Element]:
    """Yield candidates for an entry's element, the one that keeps most of the original first."""
    if original is None:
        yield _built(fields, None, (), form)
        return
    if (own := form.adopt(original)) is not None:
        _place(own, original, fields)
        form.complete(own, fields)
        yield own
        yield _mended(own, fields, form)
    others = [child for child in original if _is_foreign(child)]
    yield _built(fields, original, others, form)
    yield _built(fields, original, [child for child in others if child.tag not in form.reads], form)


def _parsed(original: str | None) -> _Element | None:
    if original is None or not original.startswith("<"):
        return None
    try:
        return etree.fromstring(namespaces.canonicalise(original.encode()).body, PARSER)
    except etree.XMLSyntaxError:
        return None


def _is_foreign(child: _Element) -> bool:
    if not isinstance(child.tag, str):
        return False
    if child.tag == f"{ATOM}link":
        return not {"alternate", "enclosure"}.intersection(elements.relations(child))
    namespace = child.tag[: child.tag.rfind("}") + 1]
    return namespace not in NATIVE or child.tag in KEPT_OF_ATOM


# RFC 4287, 2: relative references in the markup resolve against the base, in any document.
def _place(entry: _Element, original: _Element | None, fields: Fields) -> None:
    base = fields["document"] or ""
    if original is not None:
        for name, value in original.items():
            if str(name).startswith("{") and name != RDF_ABOUT:
                entry.set(name, value)
        base = elements.base_of(original, base)
    if base:
        entry.set(XML_BASE, base)


def _mended(own: _Element, fields: Fields, form: EntryFormat) -> _Element:
    entry = copy.deepcopy(own)
    for name in differences(own, fields, form):
        for child in [child for child in entry if form.says(child, name)]:
            entry.remove(child)
        entry.extend(form.build(name, fields))
    entry = _with_verbatim(entry)
    form.complete(entry, fields)
    return entry


def _built(
    fields: Fields, original: _Element | None, others: Iterable[_Element], form: EntryFormat
) -> _Element:
    entry = etree.Element(form.tag, nsmap=nsmap(form.tag))
    _place(entry, original, fields)
    for name in READ_AGAIN:
        entry.extend(form.build(name, fields))
    entry.extend(copy.deepcopy(child) for child in others)
    entry = _with_verbatim(entry)
    form.complete(entry, fields)
    for child in entry:
        child.tail = None
    return entry


def nsmap(tag: str) -> Any:
    """Return an nsmap with the namespace of a tag as the default namespace."""
    return {None: tag[1:].partition("}")[0]} if tag.startswith("{") else {}


def leaf(tag: str, text: str | None = None, **attributes: str | None) -> _Element:
    """Return an element with text and attributes, without those that are None."""
    child = etree.Element(tag, nsmap=nsmap(tag) if tag.startswith(ATOM) else None)
    child.text = text
    for name, value in attributes.items():
        if value is not None:
            child.set(name, value)
    return child


def verbatim(text: str) -> _Element | None:
    """Return a placeholder for XML until the entry is built; None if the XML is not well-formed.

    When an element gets another parent, lxml replaces prefixes by those of its new ancestors.
    """
    try:
        etree.fromstring(text, PARSER)
    except etree.XMLSyntaxError:
        return None
    return leaf(VERBATIM, text)


def _with_verbatim(entry: _Element) -> _Element:
    """Return the entry with its placeholder replaced by the XML."""
    child = entry.find(VERBATIM)
    if child is None:
        return entry
    place = etree.Comment(secrets.token_hex(16))
    entry.replace(child, place)
    text = etree.tostring(entry, encoding="unicode").replace(f"<!--{place.text}-->", child.text or "")
    return etree.fromstring(text, UNBOUNDED_PARSER)
