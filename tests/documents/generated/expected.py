"""What the fields of a generated document are, by the clauses of its format."""

import re
from collections.abc import Iterable
from html import unescape
from typing import Any, TypeVar

from lxml import etree

from tests.documents.generated.documents import Document, Element, Piece

T = TypeVar("T")
TAG = re.compile(r"<[^>]*>")
PLAIN, HTML, XHTML = "text", "html", "xhtml"
TYPES = {"text/plain": "text", "text/html": "html", "application/xhtml+xml": "xhtml"}


def expected(document: Document, element: Element, field: str) -> Any:
    """Return what a field of an entry, or of the head, has to be."""
    if field == "entries":
        return len(document.entries)
    return RULES[document.format][field](document, element)


def markup(text: str | None) -> str | None:
    """Return a text without white space around it, in XML's canonical form if it is XML."""
    if not text or not text.strip():
        return None
    text = text.strip()
    if "<" not in text:
        return text
    try:
        return etree.tostring(etree.fromstring(f"<_>{text}</_>"), method="c14n").decode()[3:-4]
    except (etree.XMLSyntaxError, ValueError):
        return text


def readable(element: Element, tag: str) -> str | None:
    """Return the first time that can be read."""
    return next((piece.says for piece in element.of(tag) if piece.says), None)


def first(values: Iterable[T | None]) -> T | None:
    return next(filter(None, values), None)


def line(pieces: Iterable[Piece]) -> str | None:
    """Return the text of the first piece that says something, as one without markup."""
    return next(filter(None, (_plain(piece).strip() for piece in pieces)), None)


def _plain(piece: Piece) -> str:
    if isinstance(piece.says, str):
        return unescape(TAG.sub("", piece.says)) if piece.form == "naked" else piece.says
    kind, text = piece.says[0], piece.says[-1]
    # RFC 4287, 3.1.1.3: "Markup" in xhtml is no part of a plain text.
    is_xml = kind.lower() == XHTML or piece.form in ("naked", "xml")
    return unescape(TAG.sub("", text)) if is_xml else text


def _text(piece: Piece) -> str | None:
    return markup(piece.says if isinstance(piece.says, str) else piece.says[-1])


def text(pieces: Iterable[Piece]) -> str | None:
    return next(filter(None, map(_text, pieces)), None)


def unique(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, values)))


def persons(pieces: Iterable[Piece]) -> list[str]:
    """Return the name of each person, else its e-mail or its URI (RFC 4287, 3.2)."""
    return [name for piece in pieces if (name := next(filter(None, piece.says), None))]


def number(length: str | None) -> int | None:
    return int(length) if length and length.isdigit() else None


def media(element: Element) -> list[Piece]:
    """Return the elements of Media RSS in an entry: its own, then those in groups."""
    return [*element.pieces, *(inner for group in element.of("media:group") for inner in group.inside)]


def media_texts(element: Element, tag: str) -> list[Piece]:
    """Return what a module says of an entry: of all its files, or of its only one."""
    around = media(element)
    contents = [piece for piece in around if piece.tag == "media:content"]
    inside = contents[0].inside if len(contents) == 1 else ()
    return [piece for piece in (*around, *inside) if piece.tag == tag]


def description_of_media(document: Document, element: Element) -> str | None:
    # An entry with a content needs no words on its files.
    has_content = expected(document, element, "content") is not None
    return None if has_content else text(media_texts(element, "media:description"))


def first_thumbnail(document: Document, element: Element) -> list[Any]:
    """Return the picture of an entry that has nothing else."""
    fields = ("title", "summary", "content")
    if any(expected(document, element, field) for field in fields):
        return []
    return [(url, "image/*", None) for url in element.says("media:thumbnail")[:1]]


def enclosures(element: Element, own: Iterable[Any], others: Iterable[Any] = ()) -> list[Any]:
    """Return enclosures, and files of modules whose URLs are not among them."""
    found = [(url, kind, number(length)) for url, kind, length in own]
    contents = [piece.says for piece in element.anywhere("media:content")]
    for url, kind, length in (*others, *contents):
        if url not in {one[0] for one in found}:
            found.append((url, kind, number(length)))
    return found


# -- RSS ------------------------------------------------------------------------------------------


def rss_id(_document: Document, item: Element) -> str | None:
    # RSS 2.0, <guid>: "a string that uniquely identifies the item"; RSS 1.0, 5.5: rdf:about.
    guids = (piece.says[0] for piece in item.of("guid"))
    if id_ := first(guids) or item.attribute("rdf:about"):
        return str(id_)
    # RSS 1.0, 6.1: a module counts where nothing of the format's own identifies the item.
    own = (item.says("link"), line(item.of("title")), text(item.of("description")))
    return None if any(own) else line(item.of("dc:identifier"))


def rss_title(_document: Document, item: Element) -> str | None:
    others = (item.of(tag) for tag in ("title", "itunes:title", "atom:title", "dc:title"))
    return first(map(line, others)) or line(media_texts(item, "media:title"))


def rss_link(_document: Document, item: Element) -> str | None:
    links = [piece.says for piece in item.of("link") if piece.form != "href"]
    as_in_atom = [url for relation, url, *_ in item.says("atom:link") if relation.lower() == "alternate"]
    attributes = [piece.says for piece in item.of("link") if piece.form == "href"]
    return first(links) or permalink(item) or first([*attributes, *as_in_atom, *item.says("media:player")])


def permalink(item: Element) -> str | None:
    # RSS 2.0, <guid>: isPermaLink, true by default, says that it can be opened. RSS 1.0, 5.5: rdf:about
    # is the same as the link.
    guid, is_permalink = next((piece.says for piece in item.of("guid") if piece.says[0]), ("", None))
    urls = (guid if (is_permalink or "true").lower() == "true" else None, item.attribute("rdf:about"))
    return next((url for url in urls if url and url.startswith("http")), None)


# Dublin Core: a date is of "an event in the lifecycle of the resource", which is its publication unless its
# name says another one.
def rss_published(_document: Document, item: Element) -> str | None:
    others = ("dc:date", "dcterms:issued", "dcterms:date", "dcterms:created", "atom:published")
    return first(readable(item, tag) for tag in ("pubDate", *others))


def rss_updated(_document: Document, item: Element) -> str | None:
    return first(readable(item, tag) for tag in ("atom:updated", "dcterms:modified"))


def _name(author: Piece) -> str:
    """Return an author, who is a text, or a person as in Atom."""
    return author.says if isinstance(author.says, str) else "".join(persons([author]))


def rss_authors(_document: Document, item: Element) -> list[str]:
    own = unique(_name(piece) for piece in item.of("author", "dc:creator", "dcterms:creator"))
    return own or unique(_name(piece) for piece in item.of("atom:author", "itunes:author"))


def rss_categories(_document: Document, item: Element) -> list[str]:
    return unique(item.says("category", "dc:subject", "dcterms:subject"))


def rss_summary(document: Document, item: Element) -> str | None:
    own = (item.of(tag) for tag in ("description", "itunes:summary", "atom:summary", "dc:description"))
    return first(map(text, own)) or description_of_media(document, item)


def rss_content(_document: Document, item: Element) -> str | None:
    return text(item.of("content:encoded")) or text(item.of("atom:content"))


def rss_content_type(document: Document, item: Element) -> str | None:
    if text(item.of("content:encoded")):
        return HTML
    return content_type(document, item, "atom:content")


def rss_enclosures(document: Document, item: Element) -> list[Any]:
    links = [says[1:] for says in item.says("atom:link") if says[0] == "enclosure"]
    return enclosures(item, item.says("enclosure"), links) or first_thumbnail(document, item)


def rss_head_updated(document: Document, head: Element) -> str | None:
    # RFC 5005, B: lastBuildDate; its draft 08: pubDate. RSS 1.0 has Dublin Core's date.
    tags = ("atom:updated", "lastBuildDate", "pubDate", "dc:date")
    return first(readable(head, tag) for tag in tags)


def head_links(document: Document, head: Element) -> dict[str, str]:
    links: dict[str, str] = {}
    for relation, url, *_ in head.says("link" if document.is_atom else "atom:link"):
        links.setdefault(relation.lower(), url.partition("#")[0])
    return links


# -- Atom -----------------------------------------------------------------------------------------


def atom_id(_document: Document, entry: Element) -> str | None:
    return next(iter(entry.says("id")), None)


def atom_title(_document: Document, element: Element) -> str | None:
    return line(element.of("title")) or line(media_texts(element, "media:title"))


def atom_link(_document: Document, entry: Element) -> str | None:
    links = [says[1] for says in entry.says("link") if says[0].lower() == "alternate"]
    # Media RSS, media:player: the file "to be accessed through a web browser".
    return next(iter([*links, *entry.says("media:player")]), None)


def atom_time(*tags: str) -> Any:
    return lambda _document, element: first(readable(element, tag) for tag in tags)


def atom_authors(document: Document, entry: Element) -> list[str]:
    # RFC 4287, 4.2.1: the authors of atom:source, then those of the feed, apply to an entry without its own.
    source = entry.of("source")[:1]
    in_source = persons(piece for outer in source for piece in outer.inside if piece.tag == "author")
    return unique(persons(entry.of("author")) or in_source or persons(document.head.of("author")))


def atom_categories(_document: Document, entry: Element) -> list[str]:
    return unique(entry.says("category"))


def atom03_categories(_document: Document, entry: Element) -> list[str]:
    # Atom 0.3 has no atom:category; Dublin Core's subject was used.
    return unique(entry.says("dc:subject"))


def atom_summary(document: Document, entry: Element) -> str | None:
    return text(entry.of("summary")) or description_of_media(document, entry)


def _contents(entry: Element, tag: str) -> list[Piece]:
    return [piece for piece in entry.of(tag) if piece.says[0] != "src"]


def atom_content(_document: Document, entry: Element) -> str | None:
    return text(_contents(entry, "content"))


def content_type(_document: Document, entry: Element, tag: str = "content") -> str | None:
    piece = next((piece for piece in _contents(entry, tag) if _text(piece)), None)
    if piece is None:
        return None
    # RFC 4287, 3.1.1: "text", "html" or "xhtml"; RFC 2045, 5.1: the names of media types have no case.
    kind = piece.says[0].lower()
    return HTML if piece.form == "naked" and kind == PLAIN else kind


def atom03_content_type(document: Document, entry: Element) -> str | None:
    media_type = content_type(document, entry)
    return TYPES.get(media_type, media_type) if media_type else None


def atom_enclosures(document: Document, entry: Element) -> list[Any]:
    own = [
        (*piece.says[1:], None)[:3] if piece.tag == "content" else piece.says[1:]
        for piece in entry.of("link", "content")
        if piece.says and piece.says[0] in ("enclosure", "src")
    ]
    return enclosures(entry, own) or first_thumbnail(document, entry)


RSS = {
    "id": rss_id,
    "title": rss_title,
    "link": rss_link,
    "published": rss_published,
    "updated": rss_updated,
    "authors": rss_authors,
    "categories": rss_categories,
    "summary": rss_summary,
    "content": rss_content,
    "content_type": rss_content_type,
    "enclosures": rss_enclosures,
    "head title": lambda _document, head: line(head.of("title")),
    "head updated": rss_head_updated,
    "head links": head_links,
}
ATOM = {
    "id": atom_id,
    "title": atom_title,
    "link": atom_link,
    "published": atom_time("published"),
    "updated": atom_time("updated"),
    "authors": atom_authors,
    "categories": atom_categories,
    "summary": atom_summary,
    "content": atom_content,
    "content_type": content_type,
    "enclosures": atom_enclosures,
    "head title": atom_title,
    "head updated": atom_time("updated"),
    "head links": head_links,
}
OLD_ATOM = {
    **ATOM,
    "content_type": atom03_content_type,
    "published": atom_time("issued", "created"),
    "updated": atom_time("modified"),
    "head updated": atom_time("modified"),
    "categories": atom03_categories,
}
RULES: dict[str, dict[str, Any]] = {"rss": RSS, "rdf": RSS, "atom": ATOM, "atom03": OLD_ATOM}
