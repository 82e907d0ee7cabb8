"""Writes feeds as documents in XML: entries, head sections, and the elements around them.

What names the document itself (its links, update times and marks of RFC 5005) is not taken from the store's
head section: each exported document has its own.

An entry's original XML is used if it is of the requested format. Fields whose value in it differs from the
store's, or all fields if there is no such XML, are written from the store. Each candidate is parsed as in a
crawl, and the one with the fewest differences from the store is written.
"""

from __future__ import annotations

import contextlib
import copy
import secrets
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from lxml import etree

from fhcrawl.documents import metadata, modules
from fhcrawl.documents.formats.atom import OLD
from fhcrawl.documents.head import DELETED_ENTRY
from fhcrawl.documents.identifiers import EXPORT, NO_CHARACTERS, OWN_ID
from fhcrawl.documents.metadata import FeedMetadata
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import ATOM, FH, RDF_NAMESPACES, RSS_NAMESPACES, XML_BASE
from fhcrawl.documents.xml.repair import canonicalise

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from lxml.etree import _Element

    from fhcrawl.documents import Entry

    Fields = dict[str, Any]

# The fields that a crawl of the element must reproduce, in the order in which they are written.
READ_AGAIN = (
    *("id", "title", "link", "published", "updated", "authors", "categories", "enclosures"),
    *("summary", "content", "content_type"),
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


def entry_element(fields: Fields, original: str | None, form: DocumentFormat) -> _Element:
    """Return an entry as an element, from its fields in the store and its own XML or JSON, if it is kept."""
    fields = {name: cleaned(value) for name, value in fields.items()}
    best, fewest = etree.Element(form.entry_tag), len(READ_AGAIN) + 1
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


def differences(candidate: _Element, fields: Fields, form: DocumentFormat) -> list[str]:
    try:
        # `read` modifies the element.
        entry = form.read(etree.fromstring(etree.tostring(candidate, with_tail=False), PARSER))
    except etree.XMLSyntaxError:
        return list(READ_AGAIN)
    return [name for name in READ_AGAIN if (getattr(entry, name) or None) != (fields[name] or None)]


def _candidates(fields: Fields, original: _Element, form: DocumentFormat) -> Iterator[_Element]:
    if (own := form.adopt(original)) is not None:
        _entry_url(own, original, fields)
        form.complete(own, fields)
        yield own
        yield _corrected(own, fields, form)
    others = [child for child in original if _is_foreign(child)]
    yield _built(fields, original, others, form)
    yield _built(fields, original, [child for child in others if child.tag not in form.reads], form)


def _parsed(original: str | None) -> _Element:
    if original is not None and original.startswith("<"):
        with contextlib.suppress(etree.XMLSyntaxError):
            return etree.fromstring(canonicalise(original.encode())[0], PARSER)
    return etree.Element("none")


def _is_foreign(child: _Element) -> bool:
    if not isinstance(child.tag, str):
        return False
    if child.tag == f"{ATOM}link":
        return not {"alternate", "enclosure"}.intersection(elements.relations(child))
    return child.tag[: child.tag.rfind("}") + 1] not in NATIVE or child.tag in KEPT_OF_ATOM


# RFC 4287, 2: relative references in the markup resolve against the base, in any document.
def _entry_url(entry: _Element, original: _Element, fields: Fields) -> None:
    for name, value in original.items():
        if str(name).startswith("{") and name != RDF_ABOUT:
            entry.set(name, value)
    if base := elements.base_of(original, fields["document"] or ""):
        entry.set(XML_BASE, base)


def _corrected(own: _Element, fields: Fields, form: DocumentFormat) -> _Element:
    entry = copy.deepcopy(own)
    for name in differences(own, fields, form):
        for child in [child for child in entry if form.has_field(child, name)]:
            entry.remove(child)
        entry.extend(form.build(name, fields))
    return _completed(entry, fields, form)


def _built(fields: Fields, original: _Element, others: Iterable[_Element], form: DocumentFormat) -> _Element:
    entry = etree.Element(form.entry_tag, nsmap=nsmap(form.entry_tag))
    _entry_url(entry, original, fields)
    for name in READ_AGAIN:
        entry.extend(form.build(name, fields))
    entry.extend(copy.deepcopy(child) for child in others)
    entry = _completed(entry, fields, form)
    for child in entry:
        child.tail = None
    return entry


def nsmap(tag: str) -> Any:
    return {None: tag[1:].partition("}")[0]} if tag.startswith("{") else {}


def leaf(tag: str, text: str | None = None, **attributes: str | None) -> _Element:
    child = etree.Element(tag, nsmap=nsmap(tag) if tag.startswith(ATOM) else None)
    child.text = text
    for name, value in attributes.items():
        if value is not None:
            child.set(name, value)
    return child


def verbatim(text: str) -> _Element | None:
    """Return a placeholder for XML until the entry is built; None if the XML is not well-formed.

    lxml replaces the prefixes of an element that gets another parent.
    """
    try:
        etree.fromstring(text, PARSER)
    except etree.XMLSyntaxError:
        return None
    return leaf(VERBATIM, text)


def _completed(entry: _Element, fields: Fields, form: DocumentFormat) -> _Element:
    if (child := entry.find(VERBATIM)) is not None:
        place = etree.Comment(secrets.token_hex(16))
        entry.replace(child, place)
        text = etree.tostring(entry, encoding="unicode").replace(f"<!--{place.text}-->", child.text or "")
        entry = etree.fromstring(text, UNBOUNDED_PARSER)
    form.complete(entry, fields)
    return entry


# Relations that name this document, others of its chain, or a server that announces its changes.
OF_THE_DOCUMENT = frozenset(
    ("self", "hub", "current", "first", "last", "next", "prev", "previous", "prev-archive", "next-archive")
)
# Namespaces of elements that each document has of its own, or that another format cannot have.
LEFT_OUT = NATIVE | {FH, EXPORT, DELETED_ENTRY.partition("}")[0] + "}", ""}
# They name the feed's place, or times of the document.
LEFT_OUT_TAGS = frozenset(
    [
        f"{modules.ITUNES}new-feed-url",
        *(f"{dc}date" for dc in modules.DC),
        *(f"{modules.DCTERMS}{name}" for name in ("date", "modified")),
    ]
)
# Attributes and elements that are references.
REFERENCES = frozenset(("href", "url", "src"))
LOCATORS = frozenset((f"{ATOM}logo", f"{ATOM}icon"))


class FeedHead:
    """The head section of a feed: its XML or JSON ('' if unknown), and the URL of its document."""

    def __init__(self, original: str = "", document: str = "") -> None:
        self.metadata = metadata.read(original, document) if original else FeedMetadata()
        # The head section is a child of RSS's root, and Atom's root itself.
        nothing = etree.Element("nothing")
        self._root, self._section, namespace = metadata.parse(original) or (nothing, nothing, None)
        self._namespace = namespace or ""
        self.is_atom = namespace == ATOM
        self.is_rss = namespace in (*RSS_NAMESPACES, *RDF_NAMESPACES)
        self.base = elements.base_inside(self._section, document)

    def own(self, name: str) -> list[_Element]:
        """Return copies of the elements with a name in its own format, without a prefix if that is RSS."""
        return [
            self._copy(child) if self.is_atom else _without_namespace(child, self._namespace)
            for parent in dict.fromkeys((self._section, self._root))
            for child in parent.iterchildren(f"{self._namespace}{name}")
        ]

    def atom(self, name: str) -> list[_Element]:
        """Return copies of its elements of RFC 4287 with a name."""
        return [self._copy(child) for child in self._section if child.tag == f"{ATOM}{name}"]

    def links(self) -> list[_Element]:
        """Return copies of its links of RFC 4287 that do not name the document."""
        return [
            link
            for link in self.atom("link")
            if (link.get("href") or "").strip() and OF_THE_DOCUMENT.isdisjoint(elements.relations(link))
        ]

    def foreign(self) -> Iterator[_Element]:
        for child in self._section:
            tag = str(child.tag)
            if tag[: tag.rfind("}") + 1] not in LEFT_OUT and tag not in LEFT_OUT_TAGS:
                yield self._copy(child)

    # Readers resolve the references of few elements: they are absolute in the copy.
    def _copy(self, element: _Element) -> _Element:
        copied, base = _detached(element), elements.base_of(element, self.base)
        for node in copied.iter("*"):
            for name in REFERENCES.intersection(map(str, node.keys())):
                node.set(name, elements.resolve(node.get(name) or "", base))
        if copied.tag in LOCATORS and copied.text:
            copied.text = elements.resolve(copied.text, base)
        return copied


def _detached(element: _Element) -> _Element:
    copied = copy.deepcopy(element)
    copied.tail = None
    etree.cleanup_namespaces(copied)
    return copied


# RSS 2.0 has no namespace; RSS 1.0 marks its elements with RDF's attributes.
def _without_namespace(element: _Element, namespace: str) -> _Element:
    copied = _detached(element)
    for child in copied.iter(f"{namespace}*") if namespace else ():
        child.tag = elements.local_name(child)
    for child in copied.iter("*"):
        for name in [name for name in child.attrib if str(name).startswith("{")]:
            del child.attrib[name]
    etree.cleanup_namespaces(copied)
    return copied


TOMBSTONES = DELETED_ENTRY[1:].partition("}")[0]
PREFIXES: dict[str, str] = {
    # Otherwise, lxml's incremental writer gives this namespace another prefix.
    "xml": "http://www.w3.org/XML/1998/namespace",
    "fh": FH[1:-1],
    "at": TOMBSTONES,
    "fx": EXPORT[1:-1],
}
# The element that contains `Head.feed`.
FEED = f"{EXPORT}feed"


class Head(NamedTuple):
    """A head section.

    :param updated: ISO 8601 in UTC
    :param links: pairs of relation and URL
    :param marks: names of empty elements of RFC 5005: `archive`, `complete`
    :param source: the head section of the feed, whose metadata the document has
    """

    feed: str
    title: str | None
    updated: str
    links: tuple[tuple[str, str], ...] = ()
    marks: tuple[str, ...] = ()
    source: FeedHead = FeedHead()

    @property
    def name(self) -> str:
        return str(cleaned(self.title or self.feed))


class DocumentFormat(NamedTuple):
    """A format of feed documents.

    :param around: the elements that enclose entries, outermost first: tags and attributes
    :param head: returns the elements of a head section that the feed's metadata give
    :param named: tag of the element that contains `Head.feed` in documents without `FEED`
    :param read: parses an entry whose xml:base is absolute
    :param elements: create the element of a field, or of one of its values, from that and all fields
    :param reads: the tags of the children that `read` reads
    :param adopt: returns an original as an entry of this format; None if it is of another format
    :param complete: adds the elements that the format requires, and converts dates to its form
    :param root: returns the attributes of the root, besides those of `around`
    """

    name: str
    around: tuple[tuple[str, dict[str, str]], ...]
    nsmap: dict[str, str]
    head: Callable[[Head], list[_Element]]
    named: str
    entry_tag: str
    read: Callable[[_Element], Entry]
    elements: dict[str, Callable[[Any, Fields], _Element]]
    has_field: Callable[[_Element, str], bool]
    reads: Container[str]
    adopt: Callable[[_Element], _Element | None]
    complete: Callable[[_Element, Fields], None]
    identifier: Callable[[str], str] = str
    root: Callable[[Head], dict[str, str]] = lambda head: {}

    def build(self, name: str, fields: Fields) -> list[_Element]:
        if name not in self.elements or not fields[name]:
            return []
        values = fields[name] if isinstance(fields[name], list) else [fields[name]]
        return [self.elements[name](value, fields) for value in values]


def write(file: IO[bytes], form: DocumentFormat, head: Head, entries: Iterable[_Element]) -> int:
    """Write a document incrementally; return the number of its entries."""
    count = 0
    feed = etree.Element(FEED, nsmap={"fx": EXPORT[1:-1]})
    feed.text = cleaned(head.feed)
    links = [link(rel, href) for rel, href in head.links]
    marks = [etree.Element(f"{FH}{name}", nsmap={"fh": FH[1:-1]}) for name in head.marks]
    section = [*form.head(head), feed, *links, *marks]
    (root, attributes), *inner = form.around
    with xml_file(file) as output, contextlib.ExitStack() as around:
        output.write_declaration()
        around.enter_context(output.element(root, {**attributes, **form.root(head)}, nsmap=form.nsmap))
        for tag, _attributes in inner:
            around.enter_context(output.element(tag))
        for count, each in enumerate(chain(section, entries), 1 - len(section)):  # noqa: B007
            output.write("\n")
            output.write(each, with_tail=False)
        output.write("\n")
    return count


@contextlib.contextmanager
def xml_file(file: IO[bytes]) -> Iterator[etree._IncrementalFileWriter]:
    """Open an XML document that is written incrementally; raise OSError if any of it cannot be written."""
    with etree.xmlfile(file, encoding="utf-8") as output:
        yield output
        # lxml ignores an error of the write when it closes the file.
        output.flush()


# RFC 6721, 3: at:deleted-entry has the id of the deleted entry and the time of its deletion.
def tombstone(entry_id: str, when: str, form: DocumentFormat) -> _Element:
    deleted = etree.Element(DELETED_ENTRY, nsmap={"at": TOMBSTONES, "fx": EXPORT[1:-1]})
    own = cleaned(entry_id)
    ref = form.identifier(own)
    deleted.set("ref", ref)
    if ref != own:
        deleted.set(OWN_ID, own)
    deleted.set("when", when)
    return deleted


def link(rel: str, href: str, **attributes: str | None) -> _Element:
    """Return an atom:link, for Atom and for RSS (which declares Atom's namespace)."""
    return leaf(f"{ATOM}link", rel=rel, href=href, **attributes)
