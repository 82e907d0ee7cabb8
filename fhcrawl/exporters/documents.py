"""Writes feeds as documents: Atom (RFC 4287), and RSS 2.0 with extensions.

Elements about the document itself (links, update times and marks of RFC 5005) are not copied from the store's
head section: each exported document has its own. RSS has elements of RFC 5005 (appendix B), Dublin Core,
content:encoded and Atom.

An entry's original XML is used if it is of the requested format. Fields whose value in it differs from the
store's, or all fields if there is no such XML, are written from the store. Each candidate is parsed as in a
crawl, and the one with the fewest differences from the store is written.
"""

from __future__ import annotations

import contextlib
import copy
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime, timezone
from email.utils import format_datetime
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, ClassVar, NamedTuple
from xml.sax.saxutils import quoteattr

from lxml import etree

from fhcrawl.documents import metadata, modules
from fhcrawl.documents.dates import CANONICAL
from fhcrawl.documents.formats import atom, rss
from fhcrawl.documents.formats.atom import BASE64, CONTENT, ENTRY, OLD, is_base64
from fhcrawl.documents.head import DELETED_ENTRY
from fhcrawl.documents.metadata import MAIL, OF_THE_FEED, FeedMetadata, Person
from fhcrawl.documents.model import EXPORT, NO_CHARACTERS, OWN_ID, PLACEHOLDER, REASON, VERDICT, iri_of
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import (
    ATOM,
    FH,
    RDF_NAMESPACES,
    RSS_NAMESPACES,
    XHTML,
    XML_BASE,
    XML_LANG,
    local_name,
)
from fhcrawl.documents.xml.repair import canonicalise
from fhcrawl.logical_feed import Verdict

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from lxml.etree import _Element

    from fhcrawl.documents import Entry
    from fhcrawl.logical_feed.verdicts import Reason

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
# Only for XML that has been parsed within the limits before.
UNBOUNDED_PARSER = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)


# XML 1.0, 2.2: the store contains these characters only if a pipeline of the user has added them.
def cleaned(value: Any) -> Any:
    """Replace the characters that XML does not allow in a field's value by U+FFFD."""
    if isinstance(value, str):
        return NO_CHARACTERS.sub("\ufffd", value)
    if isinstance(value, list):
        return [cleaned(each) for each in value]
    return {name: cleaned(each) for name, each in value.items()} if isinstance(value, dict) else value


def _parse_original(original: str | None) -> _Element:
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
def _set_base(entry: _Element, original: _Element, fields: Fields) -> None:
    for name, value in original.items():
        if str(name).startswith("{") and name != RDF_ABOUT:
            entry.set(name, value)
    if base := elements.base_of(original, fields["document"] or ""):
        entry.set(XML_BASE, base)


def _nsmap(tag: str) -> Any:
    return {None: tag[1:].partition("}")[0]} if tag.startswith("{") else {}


def leaf(tag: str, text: str | None = None, **attributes: str | None) -> _Element:
    child = etree.Element(tag, nsmap=_nsmap(tag) if tag.startswith(ATOM) else None)
    child.text = text
    for name, value in attributes.items():
        if value is not None:
            child.set(name, value)
    return child


# A placeholder until the entry is built: lxml replaces the prefixes of an element that gets another parent.
def _verbatim(text: str) -> _Element | None:
    try:
        etree.fromstring(text, PARSER)
    except etree.XMLSyntaxError:
        return None
    return leaf(VERBATIM, text)


def parsed_anew(element: _Element) -> _Element:
    return etree.fromstring(etree.tostring(element, with_tail=False), PARSER)


def link(rel: str, href: str, **attributes: str | None) -> _Element:
    return leaf(f"{ATOM}link", rel=rel, href=href, **attributes)


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
    """The head section of a feed, from its XML or JSON ('' if unknown)."""

    def __init__(self, original: str = "", document: str = "") -> None:
        self.metadata = metadata.read(original, document) if original else FeedMetadata()
        # The head section is a child of RSS's root, and Atom's root itself.
        nothing = etree.Element("nothing")
        self._root, self._section, namespace = metadata.parse(original) or (nothing, nothing, None)
        self._namespace = namespace or ""
        self.is_atom = namespace == ATOM
        self.is_rss = namespace in (*RSS_NAMESPACES, *RDF_NAMESPACES)
        self.base = elements.base_inside(self._section, document)

    def own_elements(self, name: str) -> list[_Element]:
        return [
            self._copy(child) if self.is_atom else _without_namespace(child, self._namespace)
            for parent in dict.fromkeys((self._section, self._root))
            for child in parent.iterchildren(f"{self._namespace}{name}")
        ]

    def atom(self, name: str) -> list[_Element]:
        return [self._copy(child) for child in self._section if child.tag == f"{ATOM}{name}"]

    def links(self) -> list[_Element]:
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
    feed: str
    title: str | None
    updated: str  # ISO 8601 in UTC
    links: tuple[tuple[str, str], ...] = ()  # pairs of relation and URL
    mark: str = ""  # name of an empty element of RFC 5005: `archive` or `complete`
    source: FeedHead = FeedHead()  # the head section of the feed, whose metadata the document has
    verdict: Verdict = Verdict.COMPLETE
    reasons: Sequence[Reason] = ()
    missing: str = ""  # URL of an archive that does not exist, at the end of the chain

    @property
    def name(self) -> str:
        return str(cleaned(self.title or self.feed))


Build = Callable[[Any, "Fields"], "_Element"]


class DocumentFormat(ABC):
    """A format of documents with complete feeds; a subclass has what differs between Atom and RSS."""

    name: str
    nsmap: ClassVar[dict[str, str]]
    entry_tag: str
    around: tuple[tuple[str, dict[str, str]], ...]  # what encloses entries, outermost first: tags, attributes
    reads: Container[str]  # the tags of the children that `read` reads
    # They create the element of a field, or of one of its values, from that and all fields.
    elements: dict[str, Build]

    @abstractmethod
    def head(self, head: Head) -> list[_Element]:
        """Return the elements of the head section."""

    def root(self, head: Head) -> dict[str, str]:
        return {}

    @abstractmethod
    def read(self, entry: _Element) -> Entry:
        """Read an entry as fhcrawl's own reader does, to compare it with the stored fields."""

    @abstractmethod
    def has_field(self, child: _Element, name: str) -> bool:
        """Return whether a child of an entry contains a field."""

    @abstractmethod
    def adopt(self, original: _Element) -> _Element | None:
        """Return an entry's own XML for a document of this format; None if it is of another format."""

    @abstractmethod
    def complete(self, entry: _Element, fields: Fields) -> None:
        """Set the stored id and times of an adopted entry, and add what the format requires."""

    def identifier(self, own: str) -> str:
        return own

    def entry_element(self, fields: Fields, original: str | None) -> _Element:
        """Return an entry as an element, from its fields in the store and its own XML or JSON, if kept."""
        fields = {name: cleaned(value) for name, value in fields.items()}
        best, fewest = etree.Element(self.entry_tag), len(READ_AGAIN) + 1
        for candidate in self._candidates(fields, _parse_original(original)):
            number_wrong = len(self.differences(candidate, fields))
            if number_wrong < fewest:
                best, fewest = candidate, number_wrong
            if not number_wrong:
                break
        return best

    def differences(self, candidate: _Element, fields: Fields) -> list[str]:
        try:
            entry = self.read(parsed_anew(candidate))
        except etree.XMLSyntaxError:
            return list(READ_AGAIN)
        return [name for name in READ_AGAIN if (getattr(entry, name) or None) != (fields[name] or None)]

    def _candidates(self, fields: Fields, original: _Element) -> Iterator[_Element]:
        if (adopted := self.adopt(original)) is not None:
            _set_base(adopted, original, fields)
            self.complete(adopted, fields)
            yield adopted
            yield self._with_corrections(adopted, fields)
        foreign = [child for child in original if _is_foreign(child)]
        yield self._build_entry(fields, original, foreign)
        yield self._build_entry(fields, original, [child for child in foreign if child.tag not in self.reads])

    def _with_corrections(self, adopted: _Element, fields: Fields) -> _Element:
        entry = copy.deepcopy(adopted)
        for name in self.differences(adopted, fields):
            for child in [child for child in entry if self.has_field(child, name)]:
                entry.remove(child)
            entry.extend(self._build_field(name, fields))
        return self._with_verbatim(entry, fields)

    def _build_entry(self, fields: Fields, original: _Element, foreign: Iterable[_Element]) -> _Element:
        entry = etree.Element(self.entry_tag, nsmap=_nsmap(self.entry_tag))
        _set_base(entry, original, fields)
        for name in READ_AGAIN:
            entry.extend(self._build_field(name, fields))
        entry.extend(copy.deepcopy(child) for child in foreign)
        entry = self._with_verbatim(entry, fields)
        for child in entry:
            child.tail = None
        return entry

    def _build_field(self, name: str, fields: Fields) -> list[_Element]:
        if name not in self.elements or not fields[name]:
            return []
        values = fields[name] if isinstance(fields[name], list) else [fields[name]]
        return [self.elements[name](value, fields) for value in values]

    def _with_verbatim(self, entry: _Element, fields: Fields) -> _Element:
        if (child := entry.find(VERBATIM)) is not None:
            place = etree.Comment(secrets.token_hex(16))
            entry.replace(child, place)
            text = etree.tostring(entry, encoding="unicode").replace(f"<!--{place.text}-->", child.text or "")
            entry = etree.fromstring(text, UNBOUNDED_PARSER)
        self.complete(entry, fields)
        return entry

    # RFC 6721, 3: at:deleted-entry has the id of the deleted entry and the time of its deletion.
    def tombstone(self, entry_id: str, when: str) -> _Element:
        deleted = etree.Element(DELETED_ENTRY, nsmap={"at": TOMBSTONES, "fx": EXPORT[1:-1]})
        stored_id = cleaned(entry_id)
        ref = self.identifier(stored_id)
        deleted.set("ref", ref)
        if ref != stored_id:
            deleted.set(OWN_ID, stored_id)
        deleted.set("when", when)
        return deleted

    def write(self, file: IO[bytes], head: Head, entries: Iterable[_Element]) -> int:
        """Write a document incrementally; return the number of entries."""
        count = 0
        feed = etree.Element(FEED, nsmap={"fx": EXPORT[1:-1]})
        feed.text = cleaned(head.feed)
        links = [link(rel, href) for rel, href in head.links]
        if head.missing:
            links.append(link("prev-archive", head.missing, **{PLACEHOLDER: "gap"}))
        section = [*self.head(head), feed, *links, *_marks(head)]
        (root, attributes), *inner = self.around
        with xml_file(file) as output, contextlib.ExitStack() as around:
            output.write_declaration()
            around.enter_context(output.element(root, {**attributes, **self.root(head)}, nsmap=self.nsmap))
            for tag, _attributes in inner:
                around.enter_context(output.element(tag))
            for count, each in enumerate(chain(section, entries), 1 - len(section)):  # noqa: B007
                output.write("\n")
                output.write(each, with_tail=False)
            output.write("\n")
        return count


# Archives do not change, but the verdict does: only the other documents declare it.
def _marks(head: Head) -> Iterator[_Element]:
    if head.verdict is not Verdict.COMPLETE and head.mark != "archive":
        declared = etree.Element(VERDICT, {"value": head.verdict.value}, nsmap={"fx": EXPORT[1:-1]})
        for reason in head.reasons:
            etree.SubElement(declared, REASON, cleaned(reason.to_row()))
        yield declared
    elif head.mark:
        yield etree.Element(f"{FH}{head.mark}", nsmap={"fh": FH[1:-1]})


@contextlib.contextmanager
def xml_file(file: IO[bytes]) -> Iterator[etree._IncrementalFileWriter]:
    with etree.xmlfile(file, encoding="utf-8") as output:
        yield output
        # lxml ignores an error of the write when it closes the file.
        output.flush()


# -- Atom ------------------------------------------------------------------------------------------------

# RFC 4287, 3.3, with RFC 3339, 5.6.
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
UNKNOWN_TIME = "1970-01-01T00:00:00Z"
_BEGIN, _END = f'<atom:content xmlns:atom="{ATOM[1:-1]}" xmlns=""', "</atom:content>"


# RFC 4287, 4.2.6: an atom:id is an IRI. Any other id is also written as an attribute.
def _identify(value: str) -> _Element:
    element = etree.Element(f"{ATOM}id", nsmap={None: ATOM[1:-1], "fx": EXPORT[1:-1]})  # type: ignore[dict-item]
    element.text = iri_of(value)
    if element.text != value:
        element.set(OWN_ID, value)
    return element


# A single date that is valid and in RFC 3339's form is kept.
def _put_date(entry: _Element, name: str, value: str | None) -> None:
    tag = f"{ATOM}{name}"
    dates = [date for date in entry.iterchildren(tag) if date.get(PLACEHOLDER) is None]
    if not dates or (value and len(dates) == 1 and DATE.fullmatch((dates[0].text or "").strip())):
        return
    for date in dates:
        entry.remove(date)
    if value:
        entry.append(leaf(tag, value))


# RFC 4287, 3.1. Formats without a type of text (RSS) do not declare markup in titles and summaries.
def _text_construct(tag: str, value: str, kind: str | None) -> _Element:
    return leaf(tag, value, type="html" if kind != "text" and elements.MARKUP.search(value) else "text")


# The store's markup declares the namespaces that it uses, except XHTML's, which is declared here. It is put
# where no default namespace is in scope, so that elements in no namespace remain in none.
def _content(text: str, content_type: str) -> _Element:
    kind, element = content_type.lower(), None
    if kind == "xhtml":
        element = _verbatim(f'{_BEGIN} type="xhtml"><div xmlns="{XHTML[1:-1]}">{text}</div>{_END}')
    elif kind.endswith(("+xml", "/xml")):
        element = _verbatim(f"{_BEGIN} type={quoteattr(content_type)}>{text}{_END}")
    if element is None:
        # RFC 4287, 4.1.3.3: the encoding follows from the type.
        is_encoded = kind.endswith(BASE64) and is_base64(text)
        plain = content_type[: -len(BASE64)] if is_encoded else content_type
        return leaf(f"{ATOM}content", text, type="html" if kind == "xhtml" else plain)
    return element


# RFC 4287, 4.1.1: a feed has an author unless all of its entries have; 4.2.1: its authors apply to entries
# without authors. In the store, an entry has all of its authors: those of the feed are marked.
def _person(person: Person, source: str = OF_THE_FEED) -> _Element:
    author = leaf(f"{ATOM}author")
    author.append(leaf(f"{ATOM}name", cleaned(person.name or person.email or person.uri)))
    if source:
        author.set(PLACEHOLDER, source)
    if person.uri:
        author.append(leaf(f"{ATOM}uri", cleaned(person.uri)))
    if person.email and MAIL.fullmatch(person.email):
        author.append(leaf(f"{ATOM}email", cleaned(person.email)))
    return author


# RFC 4287, 4.1.1: a feed has at most one of each of these.
def _feed_elements(source: FeedHead) -> list[_Element]:
    single: list[_Element] = []
    for name in ("title", "subtitle", "rights", "generator", "icon", "logo"):
        single += [
            element
            for element in source.own_elements(name)
            if elements.line(element)
            and (element.get("type") in (None, "text", "html") or element.find(f"{XHTML}div") is not None)
        ][:1]
    categories = (
        element for element in source.own_elements("category") if (element.get("term") or "").strip()
    )
    contributors = (
        element for element in source.own_elements("contributor") if elements.line_in(element, f"{ATOM}name")
    )
    return [*single, *categories, *contributors]


def _from_metadata(metadata: FeedMetadata) -> list[_Element]:
    texts = (("title", metadata.title), ("subtitle", metadata.description))
    lines = (
        ("rights", metadata.copyright),
        ("generator", metadata.generator),
        ("icon", metadata.icon),
        ("logo", metadata.image),
    )
    alternate = [] if metadata.link is None else [link("alternate", cleaned(metadata.link))]
    return [
        *(_text_construct(f"{ATOM}{name}", cleaned(text.value), text.type) for name, text in texts if text),
        *(leaf(f"{ATOM}{name}", cleaned(value)) for name, value in lines if value),
        *(leaf(f"{ATOM}category", term=cleaned(term)) for term in metadata.categories),
        *alternate,
    ]


# RFC 4287, 4.1.1: each alternate of a type and language once.
def _links_and_extensions(source: FeedHead) -> Iterator[_Element]:
    alternates = set()
    for element in source.links():
        key = element.get("type"), element.get("hreflang")
        if "alternate" in elements.relations(element):
            if not source.is_atom or key in alternates:
                continue
            alternates.add(key)
        yield element
    yield from source.foreign()


ATOM_TAGS = {"authors": "author", "categories": "category", "content_type": "content"}
ATOM_ELEMENTS: dict[str, Build] = {
    "id": lambda value, fields: _identify(value),
    "title": lambda value, fields: _text_construct(f"{ATOM}title", value, fields.get("title_type")),
    "link": lambda value, fields: link("alternate", value),
    "published": lambda value, fields: leaf(f"{ATOM}published", value),
    "updated": lambda value, fields: leaf(f"{ATOM}updated", value),
    "summary": lambda value, fields: _text_construct(f"{ATOM}summary", value, fields.get("summary_type")),
    "content": lambda value, fields: _content(value, fields["content_type"] or "text"),
    "authors": lambda name, fields: _person(Person(name), source=""),
    "categories": lambda term, fields: leaf(f"{ATOM}category", term=term),
    "enclosures": lambda file, fields: link(
        "enclosure",
        file["url"],
        type=file["type"],
        length=None if file["length"] is None else str(file["length"]),
    ),
}


class AtomFormat(DocumentFormat):
    name = "atom"
    nsmap: ClassVar[dict[str, str]] = {None: ATOM[1:-1], **PREFIXES}  # type: ignore[dict-item]
    entry_tag = ENTRY
    around = ((f"{ATOM}feed", {}),)
    reads = atom.FIELDS
    elements = ATOM_ELEMENTS

    def head(self, head: Head) -> list[_Element]:
        source = head.source
        metadata = source.metadata
        own_elements = _feed_elements(source) if source.is_atom else _from_metadata(metadata)
        if not any(element.tag == f"{ATOM}title" for element in own_elements):
            own_elements.insert(0, leaf(f"{ATOM}title", head.name))
        if metadata.image and not any(element.tag == f"{ATOM}logo" for element in own_elements):
            own_elements.append(leaf(f"{ATOM}logo", cleaned(metadata.image)))
        authors = [_person(author) for author in metadata.authors] or [
            _person(Person(head.name), source="title")
        ]
        return [
            _identify(cleaned(metadata.id or head.feed)),
            leaf(f"{ATOM}updated", head.updated),
            *own_elements,
            *authors,
            *_links_and_extensions(source),
        ]

    def root(self, head: Head) -> dict[str, str]:
        attributes = {XML_BASE: head.source.base, XML_LANG: head.source.metadata.language}
        return {name: cleaned(value) for name, value in attributes.items() if value}

    def read(self, entry: _Element) -> Entry:
        return atom.read_entry(entry, "", atom.VOCABULARY, [], 1)

    def has_field(self, child: _Element, name: str) -> bool:
        if child.tag == f"{ATOM}link":
            relation = {"link": "alternate", "enclosures": "enclosure"}.get(name)
            return relation in elements.relations(child)
        return child.tag == f"{ATOM}{ATOM_TAGS.get(name, name)}"

    def adopt(self, original: _Element) -> _Element | None:
        return copy.deepcopy(original) if original.tag == ENTRY else None

    # RFC 4287, 4.1.2: an entry has a title, an update time, and an alternate link if it has no content.
    def complete(self, entry: _Element, fields: Fields) -> None:
        if iri_of(fields["id"]) != fields["id"]:
            for old_id in list(entry.iterchildren(f"{ATOM}id")):
                entry.remove(old_id)
            entry.insert(0, _identify(fields["id"]))
        _put_date(entry, "published", fields["published"])
        _put_date(entry, "updated", fields["updated"])
        if entry.find(f"{ATOM}updated") is None:
            time = leaf(f"{ATOM}updated", fields["published"] or UNKNOWN_TIME)
            time.set(PLACEHOLDER, "published" if fields["published"] else "nothing")
            entry.append(time)
        if entry.find(f"{ATOM}title") is None:
            entry.append(leaf(f"{ATOM}title"))
        if entry.find(f"{ATOM}content") is None and not any(self.has_field(child, "link") for child in entry):
            alternate = link("alternate", fields["document"] or fields["feed"])
            alternate.set(PLACEHOLDER, "document")
            entry.append(alternate)

    def identifier(self, own: str) -> str:
        return iri_of(own)


# -- RSS 2.0 ---------------------------------------------------------------------------------------------

DC = modules.DC[0]
ITEMS = frozenset(f"{namespace}item" for namespace in (*RSS_NAMESPACES, *RDF_NAMESPACES))
RSS_PREFIXES: dict[str, str] = {"dc": DC[1:-1], "content": modules.CONTENT[1:-1], "atom": ATOM[1:-1]}


# RSS 2.0: RFC 822, with a four-digit year; it would lose the fractions of a second.
def _mail_time(time: str) -> str | None:
    if not CANONICAL.match(time):
        return None
    return format_datetime(datetime.fromisoformat(time[:-1]).replace(tzinfo=timezone.utc), usegmt=True)


def _prefixed(tag: str, text: str) -> _Element:
    child = etree.Element(
        tag, nsmap={p: uri for p, uri in RSS_PREFIXES.items() if tag.startswith(f"{{{uri}}}")}
    )
    child.text = text
    return child


def _required(name: str, value: str | None, substitute: str) -> _Element:
    element = etree.Element(name, nsmap={"fx": EXPORT[1:-1]})
    element.text = cleaned(value or substitute)
    if not value:
        element.set(PLACEHOLDER, "title" if name != "link" else "feed-url")
    return element


def _channel_metadata(head: Head, source: FeedHead) -> Iterator[_Element]:
    metadata = source.metadata
    if metadata.image:
        image = leaf("image")
        names = {"url": metadata.image, "title": head.name, "link": metadata.link or head.feed}
        image.extend(leaf(name, cleaned(value)) for name, value in names.items())
        yield image
    if source.is_rss:
        for name in ONCE:
            yield from [element for element in source.own_elements(name) if elements.text(element)][:1]
        yield from (element for element in source.own_elements("category") if elements.text(element))
    else:
        lines = (
            ("language", metadata.language),
            ("copyright", metadata.copyright),
            ("generator", metadata.generator),
        )
        yield from (leaf(name, cleaned(value)) for name, value in lines if value)
        yield from (leaf("category", cleaned(term)) for term in metadata.categories)
        yield from (_person(author) for author in metadata.authors)
    for name in ("id", "icon", "contributor", *(("author",) if source.is_rss else ())):
        yield from source.atom(name)
    yield from (link for link in source.links() if "alternate" not in elements.relations(link))
    yield from source.foreign()


# RSS 2.0: the optional elements of a channel; except those for the URL or times of the document.
ONCE = (
    *("language", "copyright", "managingEditor", "webMaster", "generator", "docs", "ttl", "rating"),
    *("textInput", "skipHours", "skipDays"),
)


def _in_modules(name: str) -> list[str]:
    return [f"{namespace}{name}" for namespace in (*modules.DC, modules.DCTERMS)]


RSS_TAGS: dict[str, set[str]] = {
    "id": {"guid"},
    "title": {"title", f"{ATOM}title", *_in_modules("title")},
    "link": {"link"},
    "published": {"pubDate", *(tag for tag, (purpose, _) in modules.DATES.items() if purpose == "published")},
    "updated": {tag for tag, (purpose, _) in modules.DATES.items() if purpose == "updated"},
    "authors": {"author", f"{ATOM}author", *_in_modules("creator")},
    "categories": {"category", f"{ATOM}category", *_in_modules("subject")},
    "summary": {"description", f"{ATOM}summary", f"{modules.DCTERMS}abstract", *_in_modules("description")},
    "content": {modules.ENCODED, CONTENT},
    "content_type": {modules.ENCODED, CONTENT},
    "enclosures": {"enclosure"},
}
RSS_ELEMENTS: dict[str, Build] = {
    "id": lambda value, fields: leaf("guid", value, isPermaLink="false"),
    "title": lambda value, fields: leaf("title", value),
    "link": lambda value, fields: leaf("link", value),
    "published": lambda value, fields: (
        leaf("pubDate", mail) if (mail := _mail_time(value)) else _prefixed(f"{DC}date", value)
    ),
    "updated": lambda value, fields: _prefixed(f"{ATOM}updated", value),
    "summary": lambda value, fields: leaf("description", value),
    "content": lambda value, fields: (
        _prefixed(modules.ENCODED, value)
        if fields["content_type"] == "html"
        else _content(value, fields["content_type"] or "text")
    ),
    "authors": lambda name, fields: _prefixed(f"{DC}creator", name),
    "categories": lambda term, fields: leaf("category", term),
    "enclosures": lambda file, fields: leaf(
        "enclosure",
        url=file["url"],
        # RSS 2.0: "It has three required attributes." Those that the feed lacks are empty.
        length="" if file["length"] is None else str(file["length"]),
        type=file["type"] or "",
    ),
}


class RssFormat(DocumentFormat):
    name = "rss"
    nsmap: ClassVar[dict[str, str]] = {**RSS_PREFIXES, **PREFIXES}
    entry_tag = "item"
    around = (("rss", {"version": "2.0"}), ("channel", {}))
    reads = rss.VOCABULARIES[""].fields
    elements = RSS_ELEMENTS

    # RSS 2.0: a channel has a title, a link and a description. lastBuildDate has no fractions, which
    # atom:updated may have.
    def head(self, head: Head) -> list[_Element]:
        built = _mail_time(f"{head.updated[:19]}Z")
        metadata = head.source.metadata
        return [
            _required("title", metadata.title and metadata.title.value, head.name),
            _required("link", metadata.link, head.feed),
            _required("description", metadata.description and metadata.description.value, head.name),
            *([leaf("lastBuildDate", built)] if built else []),
            leaf(f"{ATOM}updated", head.updated),
            *_channel_metadata(head, head.source),
        ]

    def read(self, entry: _Element) -> Entry:
        return rss.read_item(entry, "", rss.VOCABULARIES[""], [], 1)

    def has_field(self, child: _Element, name: str) -> bool:
        return child.tag in RSS_TAGS[name]

    # An item of any version of RSS becomes an item of RSS 2.0.
    def adopt(self, original: _Element) -> _Element | None:
        if original.tag not in ITEMS:
            return None
        namespace = original.tag[: original.tag.rfind("}") + 1]
        item = etree.Element("item", nsmap={p: uri for p, uri in original.nsmap.items() if p})
        item.extend(copy.deepcopy(child) for child in original)
        for child in item:
            child.tail = None
            if namespace and isinstance(child.tag, str) and child.tag.startswith(namespace):
                child.tag = local_name(child)
        etree.cleanup_namespaces(item)
        return item

    # RSS 2.0: "All elements of an item are optional, however at least one of title or description must be
    # present."
    def complete(self, item: _Element, fields: Fields) -> None:
        if item.find("title") is None and item.find("description") is None:
            item.append(leaf("title"))


# By its name in `fhcrawl export`.
XML_FORMATS: dict[str, DocumentFormat] = {"atom": AtomFormat(), "rss": RssFormat()}
