"""A generated document: its parts, what they say, and how it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urljoin
from xml.sax.saxutils import quoteattr

LOCATION = "http://feeds.example/dir/feed.xml"
ATOM = "http://www.w3.org/2005/Atom"
NAMESPACES = {
    "atom": ATOM,
    "content": "http://purl.org/rss/1.0/modules/content/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "fh": "http://purl.org/syndication/history/1.0",
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "media": "http://search.yahoo.com/mrss/",
    "slash": "http://purl.org/rss/1.0/modules/slash/",
    "sy": "http://purl.org/rss/1.0/modules/syndication/",
    "other": "http://example.org/ns#",
}
ROOTS = {"atom": ATOM, "atom03": "http://purl.org/atom/ns#", "rdf": "http://purl.org/rss/1.0/", "rss": ""}
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


class Piece(NamedTuple):
    """A child of an entry or of the head.

    :param tag: its name; one of a module has the usual prefix
    :param says: what it means: a text, a time, a URL, or a tuple of several
    :param form: how it is written
    :param markup: in the document, where prefixes are the document's own
    :param inside: the children that are read too
    """

    tag: str
    says: Any
    form: str
    markup: str
    inside: tuple[Piece, ...] = ()


@dataclass(frozen=True)
class Element:
    """An entry, or the head."""

    pieces: tuple[Piece, ...]
    attributes: tuple[tuple[str, str], ...] = ()

    def of(self, *tags: str) -> list[Piece]:
        """Return the pieces with one of some tags, in document order."""
        return [piece for piece in self.pieces if piece.tag in tags]

    def anywhere(self, *tags: str) -> list[Piece]:
        """Return the pieces with one of some tags, in others too."""
        return [piece for outer in self.pieces for piece in _flat(outer) if piece.tag in tags]

    def says(self, *tags: str) -> list[Any]:
        """Return what those pieces say, without those that say nothing."""
        return [piece.says for piece in self.of(*tags) if piece.says not in (None, "")]

    def attribute(self, name: str) -> str | None:
        return dict(self.attributes).get(name)


@dataclass(frozen=True)
class Encoding:
    """How a document is encoded, and what it and its Content-Type header say about it.

    :param codec: the encoding, by Python's name
    :param declared: in the XML declaration; None for no encoding there
    :param has_declaration: whether there is an XML declaration
    :param charset: in the header
    :param mark: a byte order mark
    """

    codec: str = "utf-8"
    declared: str | None = "utf-8"
    has_declaration: bool = True
    charset: str | None = None
    mark: bytes = b""


@dataclass(frozen=True)
class Document:
    """A feed document.

    :param format: `atom`, `atom03`, `rdf` or `rss`
    :param namespace: of the root's own elements
    :param namespaces: the URIs of the modules, by their usual prefix
    :param prefixes: the document's own, by the usual prefix; '' of the root's own elements
    :param before: stands before the XML declaration
    :param doctype: the document type declaration, and what stands around it
    :param beside: whether the entries of RSS stand beside the channel
    :param is_faulty: whether texts in it may be what XML does not allow
    """

    format: str
    namespace: str
    version: str
    namespaces: dict[str, str]
    prefixes: dict[str, str]
    head: Element
    entries: tuple[Element, ...]
    root_attributes: tuple[tuple[str, str], ...] = ()
    encoding: Encoding = Encoding()
    before: str = ""
    doctype: str = ""
    beside: bool = False
    is_faulty: bool = False

    @property
    def is_atom(self) -> bool:
        return self.format.startswith("atom")

    def bases(self, entry: Element | None = None) -> str:
        """Return the base URL inside an entry or the head."""
        base = urljoin(LOCATION, dict(self.root_attributes).get("xml:base", ""))
        if not self.is_atom and not (self.beside and entry is not None):
            base = urljoin(base, self.head.attribute("xml:base") or "")
        return urljoin(base, (entry and entry.attribute("xml:base")) or "")

    def text(self) -> str:
        """Return the document as text."""
        encoding = f' encoding="{self.encoding.declared}"' if self.encoding.declared else ""
        declaration = f'<?xml version="1.0"{encoding}?>\n' if self.encoding.has_declaration else ""
        entries = "".join(
            _element(entry, self.name("entry" if self.is_atom else "item")) for entry in self.entries
        )
        return f"{self.before}{declaration}{self.doctype}{self._root(entries)}"

    def _root(self, entries: str) -> str:
        head = "".join(piece.markup for piece in self.head.pieces)
        declared = {self.prefixes[name]: uri for name, uri in self.namespaces.items()}
        if self.namespace:
            declared[self.prefixes.get("", "")] = self.namespace
        if self.format == "rdf":
            declared["rdf"] = RDF
        attributes = [(f"xmlns:{prefix}" if prefix else "xmlns", uri) for prefix, uri in declared.items()]
        attributes += self.root_attributes
        if self.version:
            attributes.append(("version", self.version))
        if self.is_atom:
            return _tag(self.name("feed"), attributes, head + entries)
        inside, beside = ("", entries) if self.beside else (entries, "")
        channel = _tag(self.name("channel"), self.head.attributes, head + inside)
        root = "rdf:RDF" if self.format == "rdf" else self.name("rss")
        return _tag(root, attributes, channel + beside)

    def name(self, tag: str) -> str:
        """Return a name with the document's own prefix."""
        prefix, _colon, local = tag.rpartition(":")
        own = self.prefixes.get(prefix, "")
        return f"{own}:{local}" if own else local

    def body(self) -> bytes:
        """Return the document as bytes."""
        return self.encoding.mark + self.text().encode(self.encoding.codec, "xmlcharrefreplace")


def _flat(piece: Piece) -> Iterator[Piece]:
    yield piece
    for inner in piece.inside:
        yield from _flat(inner)


def _element(element: Element, name: str) -> str:
    return _tag(name, element.attributes, "\n ".join(["", *(piece.markup for piece in element.pieces)]))


def _tag(name: str, attributes: object, content: str) -> str:
    pairs = "".join(f" {key}={quoteattr(value)}" for key, value in attributes)  # type: ignore[attr-defined]
    return f"<{name}{pairs}>{content}</{name}>\n"
