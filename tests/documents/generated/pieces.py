"""Writes the children of entries and of heads."""

import base64
from collections.abc import Callable
from random import Random
from urllib.parse import urljoin
from xml.sax.saxutils import quoteattr

from tests.documents.generated import tables
from tests.documents.generated.documents import Document, Element, Piece
from tests.documents.generated.values import (
    BASES,
    HTML,
    OWN,
    REFERENCES,
    TEXTS,
    XHTML,
    Written,
    write,
    write_time,
)

__all__ = ["BASES", "Writer"]


class Writer:
    """Writes the children of a document's elements."""

    def __init__(self, rng: Random, document: Document) -> None:
        self.rng = rng
        self.document = document
        self.base = ""
        self.number = 0

    def head(self) -> tuple[Piece, ...]:
        self.base = self.document.bases()
        return self._some(tables.ATOM_HEAD if self.document.is_atom else tables.RSS_HEAD)

    def entry(self, entry: Element, number: int) -> tuple[Piece, ...]:
        self.base, self.number = self.document.bases(entry), number
        return self._some(tables.ATOM_ENTRY if self.document.is_atom else tables.RSS_ITEM)

    def _some(self, probabilities: dict[str, int]) -> tuple[Piece, ...]:
        rng = self.rng
        tags = [tag for tag, percent in probabilities.items() if rng.random() * 100 < percent]
        tags += [tag for tag in tags if rng.random() < tables.DOUBLE]
        tags += [tag for tag in tags if tag in ("category", "author", "dc:creator") and rng.random() < 0.3]
        if rng.random() < 0.3:
            rng.shuffle(tags)
        return tuple(self._piece(tag) for tag in tags)

    def _piece(self, tag: str) -> Piece:
        if self.document.format == "atom03":
            tag = tables.ATOM_03.get(tag, tag)
            if tag in ("title", "summary", "content", "rights", "subtitle"):
                return self._construct_03(tag)
        local = tag.rpartition(":")[2]
        if local in tables.TIMES:
            return self._time(tag)
        own = WRITERS.get(("atom " if self.document.is_atom else "rss ") + tag) or WRITERS.get(tag)
        return own(self, tag) if own else self._text(tag)

    # -- writing an element --

    def write(
        self, tag: str, says: object, form: str, content: str, attributes: dict[str, str | None] | None = None
    ) -> Piece:
        name = self.document.name(tag)
        pairs = "".join(
            f" {key}={quoteattr(value)}" for key, value in (attributes or {}).items() if value is not None
        )
        markup = (
            f"<{name}{pairs}>{content}</{name}>"
            if content or self.rng.random() < 0.3
            else f"<{name}{pairs}/>"
        )
        return Piece(tag, says, form, markup)

    def value(self, pool: tuple[str, ...]) -> str:
        codec = self.document.encoding.codec
        while True:
            text = self.rng.choice(pool)
            # As UTF-8 or as windows-1252 (Encoding Standard, 4.2: iso-8859-1 is a label of it), another text.
            if _fits(text, codec) and not (
                codec in ("cp1252", "latin-1") and ("Ã©" in text or "\x92" in text)
            ):
                return text

    def written(self, pool: tuple[str, ...]) -> Written:
        text = self.value(pool)
        if text == OWN and "<!ENTITY own" in self.document.doctype:
            return Written("entity", "&own;", text)
        return write(self.rng, text, self.document.is_faulty)

    def reference(self) -> tuple[str, str]:
        """Return a reference and what it means."""
        reference = self.rng.choice(REFERENCES).format(n=self.number)
        if not _fits(reference, self.document.encoding.codec):
            reference = f"{self.number}.html"
        padded = self.rng.choice((*["{}"] * 15, " {} ")).format(reference)
        return padded, urljoin(self.base, reference)

    # -- the elements --

    def _text(self, tag: str) -> Piece:
        written = self.written(TEXTS)
        return self.write(tag, written.means, written.form, written.markup)

    def _time(self, tag: str) -> Piece:
        time = write_time(self.rng)
        content = f"<![CDATA[{time.text}]]>" if self.rng.random() < 0.05 else time.text
        return self.write(tag, time.means, "", content)

    def _html(self, tag: str) -> Piece:
        if tag in tables.NAKED and self.rng.random() < 0.03:
            markup = self.value(XHTML)
            return self.write(tag, markup, "naked", markup)
        written = self.written(HTML)
        return self.write(tag, written.means, written.form, written.markup)

    def _construct(self, tag: str) -> Piece:
        kind = self.rng.choice((None, "text", "html", "html", "xhtml", "HTML", "XHTML", "text/html"))
        if kind and kind.lower() == "xhtml":
            return self._xhtml(tag, kind)
        if kind and "html" in kind.lower() and self.rng.random() < 0.05:
            markup = self.value(XHTML)
            return self.write(tag, (kind, markup), "naked", markup, {"type": kind})
        written = self.written(TEXTS if kind in (None, "text") else HTML)
        return self.write(tag, (kind or "text", written.means), written.form, written.markup, {"type": kind})

    def _xhtml(self, tag: str, kind: str) -> Piece:
        markup = self.value(XHTML)
        form = self.rng.choice(("div", "div", "div", "prefixed", "no div"))
        content = {
            "div": f'<div xmlns="http://www.w3.org/1999/xhtml">{markup}</div>',
            "prefixed": '<xh:div xmlns:xh="http://www.w3.org/1999/xhtml">plain <xh:b>bold</xh:b></xh:div>',
            "no div": f'<p xmlns="http://www.w3.org/1999/xhtml">{markup}</p>',
        }[form]
        says = {"div": markup, "prefixed": "plain <b>bold</b>", "no div": f"<p>{markup}</p>"}[form]
        return self.write(tag, ("xhtml", says), f"xhtml, {form}", content, {"type": kind})

    def _content(self, tag: str) -> Piece:
        other = self.rng.random()
        if other > 0.1:
            return self._construct(tag)
        if other > 0.07:
            reference, url = self.reference()
            return self.write(
                tag, ("src", url, "audio/mpeg"), "src", "", {"src": reference, "type": "audio/mpeg"}
            )
        if other > 0.04:
            text = self.value(TEXTS)
            encoded = base64.b64encode(text.encode()).decode()
            says = ("application/x-own;base64", encoded)
            return self.write(tag, says, "base64", encoded, {"type": "application/x-own"})
        markup = '<svg xmlns="http://www.w3.org/2000/svg"><g a="1">x</g></svg>'
        return self.write(tag, ("image/svg+xml", markup), "xml", markup, {"type": "image/svg+xml"})

    def _construct_03(self, tag: str) -> Piece:
        media_type = self.rng.choice((None, "text/plain", "text/html", "application/xhtml+xml"))
        mode = self.rng.choice((None, "escaped", "xml", "base64"))
        text = self.value(XHTML if media_type == "application/xhtml+xml" or mode == "xml" else HTML)
        if media_type in (None, "text/plain"):
            text = self.value(TEXTS)
        if mode == "xml" and media_type not in (None, "text/plain") and self.rng.random() < 0.3:
            text = f"<div>{text}</div>"
        says = (media_type or "text/plain", mode, text)
        attributes = {"type": media_type, "mode": mode}
        if mode == "base64":
            return self.write(tag, says, mode, base64.b64encode(text.encode()).decode(), attributes)
        if mode == "xml" and media_type not in (None, "text/plain"):
            return self.write(tag, says, mode, text, attributes)
        written = write(self.rng, text)
        return self.write(tag, (*says[:2], written.means), written.form, written.markup, attributes)

    def _guid(self, tag: str) -> Piece:
        permalink = self.rng.choice((None, None, "true", "false", "false", "False", "TRUE", ""))
        text = self.rng.choice(
            ("http://example.org/?p={n}", "tag:example.org,2003:{n}", "ep-{n}", "Ü {n}", "{n}")
        )
        text = text.format(n=self.number) if _fits(text, self.document.encoding.codec) else str(self.number)
        written = write(self.rng, text)
        return self.write(
            tag, (written.means.strip(), permalink), written.form, written.markup, {"isPermaLink": permalink}
        )

    def _id(self, tag: str) -> Piece:
        text = self.rng.choice(
            ("http://example.org/id/{n}", "urn:uuid:{n}", "tag:example.org,2003:{n}", "id {n}")
        )
        written = write(self.rng, text.format(n=self.number))
        return self.write(tag, written.means.strip(), written.form, written.markup)

    def _link(self, tag: str) -> Piece:
        reference, url = self.reference()
        written = write(self.rng, reference)
        says = url if written.means.strip() else ""
        if self.rng.random() < 0.03:
            return self.write(tag, url, "href", "", {"href": reference})
        return self.write(tag, says, written.form, written.markup)

    def _atom_link(self, tag: str) -> Piece:
        reference, url = self.reference()
        relation = (
            self.rng.choice((*tables.RELATIONS, "enclosure"))
            if tag == "atom:link"
            else self.rng.choice(tables.RELATIONS)
        )
        media_type = self.rng.choice((None, None, "text/html", "text/html", "application/json"))
        attributes = {"rel": relation, "type": media_type, "href": reference}
        if self.rng.random() < 0.03:
            return self.write(tag, None, "no href", "", attributes | {"href": None})
        return self.write(tag, (relation or "alternate", url, media_type, None), "", "", attributes)

    def _self_link(self, tag: str) -> Piece:
        return self._atom_link("link")

    def _enclosure_link(self, tag: str) -> Piece:
        reference, url = self.reference()
        media_type, length = self.rng.choice(tables.ENCLOSURES)
        attributes = {"rel": "enclosure", "href": reference, "type": media_type, "length": length}
        return self.write("link", ("enclosure", url, media_type, length), "", "", attributes)

    def _enclosure(self, tag: str) -> Piece:
        reference, url = self.reference()
        media_type, length = self.rng.choice(tables.ENCLOSURES)
        attributes = {"url": reference, "type": media_type, "length": length}
        return self.write(tag, (url, media_type, length), "", "", attributes)

    def _media_content(self, tag: str) -> Piece:
        reference, url = self.reference()
        media_type, length = self.rng.choice(tables.ENCLOSURES)
        medium, family = self.rng.choice(tables.MEDIUMS)
        attributes = {"url": reference, "type": media_type, "fileSize": length, "medium": medium}
        media_type = media_type or family
        inside = tuple(self._media_text(name) for name in tables.MEDIA_TEXTS if self.rng.random() < 0.1)
        return self._around(tag, (url, media_type, length), inside, attributes)

    def _media_text(self, tag: str) -> Piece:
        return self._text(tag) if tag == "media:title" else self._html(tag)

    def _media_group(self, tag: str) -> Piece:
        contents = [self._media_content("media:content") for _ in range(self.rng.choice((1, 2)))]
        texts = [self._media_text(name) for name in tables.MEDIA_TEXTS if self.rng.random() < 0.4]
        return self._around(tag, None, (*contents, *texts))

    def _around(
        self,
        tag: str,
        says: object,
        inside: tuple[Piece, ...],
        attributes: dict[str, str | None] | None = None,
    ) -> Piece:
        piece = self.write(tag, says, "", "".join(one.markup for one in inside), attributes)
        return piece._replace(inside=inside)

    def _thumbnail(self, tag: str) -> Piece:
        reference, url = self.reference()
        return self.write(tag, url, "", "", {"url": reference})

    def _author(self, tag: str) -> Piece:
        # As in Atom: RSS's own author is a text.
        return self._person(tag) if self.rng.random() < 0.05 else self._mail(tag)

    def _mail(self, tag: str) -> Piece:
        written = self.written(tables.MAILS)
        return self.write(tag, written.means.strip(), written.form, written.markup)

    def _person(self, tag: str) -> Piece:
        if tag == "author" and self.document.is_atom and self.rng.random() < 0.03:
            # As in RSS: a person is an element with a name.
            written = self.written(tables.MAILS)
            return self.write(tag, (written.means.strip(),), "text", written.markup)
        name, email, uri = self.rng.choice(tables.NAMES)
        if not _fits(name, self.document.encoding.codec):
            name = "Jo Doe"
        prefix = tag.rpartition(":")[0]
        address = "url" if self.document.format == "atom03" else "uri"
        names = (f"{prefix}:{kind}" if prefix else kind for kind in ("name", "email", address))
        texts = (None if self.rng.random() < 0.05 else name, email, uri)
        inside = [
            self.write(kind, (written := write(self.rng, text)).means.strip(), "", written.markup)
            for kind, text in zip(names, texts, strict=True)
            if text
        ]
        return self.write(tag, tuple(one.says for one in inside), "", "".join(one.markup for one in inside))

    def _term(self, tag: str) -> Piece:
        if self.rng.random() < 0.05:
            return self._category(tag)
        term = self.value(("news", "Größe", "a, b", "C&A", " padded "))
        attributes = {"term": term, "scheme": self.rng.choice((None, "http://example.org/s")), "label": None}
        if self.rng.random() < 0.2:
            attributes["label"] = "A label"
        return self.write(tag, term.strip(), "", "", attributes)

    def _category(self, tag: str) -> Piece:
        if tag == "category" and not self.document.is_atom and self.rng.random() < 0.03:
            return self.write(tag, "as in Atom", "term", "", {"term": "as in Atom"})
        written = self.written(("news", "Größe", "a, b", "C&A", "Plain words"))
        domain = self.rng.choice((None, None, "http://example.org/d"))
        return self.write(tag, written.means.strip(), written.form, written.markup, {"domain": domain})

    def _source(self, tag: str) -> Piece:
        if not self.document.is_atom:
            return self.write(tag, "", "", "Other feed", {"url": "http://other.example/feed"})
        names = ("id", "title", "updated", "author")
        return self._around(tag, None, tuple(self._piece(name) for name in names if self.rng.random() < 0.7))

    def _image(self, tag: str) -> Piece:
        names = ("url", "title", "link")
        inside = "".join(
            f"<{self.document.name(name)}>image {name}</{self.document.name(name)}>" for name in names
        )
        return self.write(tag, "", "", inside)


def _fits(text: str, codec: str) -> bool:
    try:
        text.encode(codec)
    except UnicodeEncodeError:
        return False
    return True


WRITERS: dict[str, Callable[[Writer, str], Piece]] = {
    tag: writer
    for writer, tags in {
        Writer._guid: "guid",
        Writer._id: "id",
        Writer._link: "rss link",
        Writer._atom_link: "atom link, atom:link",
        Writer._self_link: "atom self",
        Writer._enclosure_link: "enclosure link",
        Writer._html: "rss description, content:encoded, itunes:summary, media:description, dc:description",
        Writer._construct: "atom:summary, atom:content, atom title, atom summary, atom rights, atom subtitle",
        Writer._content: "atom content",
        Writer._author: "rss author",
        Writer._mail: "managingEditor, dc:creator, dcterms:creator, itunes:author",
        Writer._person: "atom:author, atom author, contributor",
        Writer._term: "atom category",
        Writer._category: "rss category, dc:subject, dcterms:subject",
        Writer._enclosure: "enclosure",
        Writer._media_content: "media:content",
        Writer._media_group: "media:group",
        Writer._thumbnail: "media:thumbnail, media:player",
        Writer._source: "source",
        Writer._image: "image, textInput",
    }.items()
    for tag in tags.split(", ")
}
