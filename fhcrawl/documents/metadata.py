"""Reads the metadata of a feed from the head section that the store keeps."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from lxml.etree import XMLSyntaxError

from fhcrawl.documents import modules
from fhcrawl.documents.formats import jsonfeed
from fhcrawl.documents.formats.atom import SHORT_TYPES
from fhcrawl.documents.formats.jsonfeed import line as json_line
from fhcrawl.documents.model import PLACEHOLDER
from fhcrawl.documents.xml import elements, parsing
from fhcrawl.documents.xml.elements import ATOM, OLD_ATOM, RDF_NAMESPACES, RSS_NAMESPACES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element

# The value of PLACEHOLDER on the feed's own authors, as opposed to those added for entries without authors.
OF_THE_FEED = "feed"
ATOM_NAMESPACES = (ATOM, OLD_ATOM)
CHANNELS = {f"{namespace}channel": namespace for namespace in (*RSS_NAMESPACES, *RDF_NAMESPACES)}
# RSS 2.0, managingEditor: "geo@herald.com (George Matesky)"; others write the name first.
MAIL_AND_NAME = re.compile(r"(?P<email>[^\s()<>@]+@[^\s()<>]+)\s*\((?P<name>[^()]*)\)")
NAME_AND_MAIL = re.compile(r"(?P<name>[^<>]*)<(?P<email>[^\s<>@]+@[^\s<>]+)>")
MAIL = re.compile(r"(?P<email>[^\s()<>@]+@[^\s()<>]+)(?P<name>)")


class Person(NamedTuple):
    """An author or the owner of a feed; values are never ''."""

    name: str | None = None
    email: str | None = None
    uri: str | None = None


class Text(NamedTuple):
    """`type` is None if the format does not define it."""

    value: str
    type: str | None = None


@dataclass(slots=True)
class FeedMetadata:
    """Metadata of a feed in any format; URLs are absolute, `owner` is itunes:owner."""

    id: str | None = None
    title: Text | None = None
    description: Text | None = None
    link: str | None = None
    language: str | None = None
    image: str | None = None
    icon: str | None = None
    authors: list[Person] = field(default_factory=list)
    owner: Person | None = None
    categories: list[str] = field(default_factory=list)
    copyright: str | None = None
    generator: str | None = None


def read(original: str, url: str) -> FeedMetadata:
    """Read the metadata of a feed from a HeadSource's original; `url` is the URL of the document."""
    parsed = parse(original)
    if parsed is None:
        return FeedMetadata() if original.startswith("<") else _read_json(json.loads(original), url)
    return _read_xml(*parsed, url)


def parse(original: str) -> tuple[_Element, _Element, str] | None:
    """Return the root of a head section, the section, and the format's namespace; None if it is not XML."""
    try:
        root = parsing.parse_strict(original.encode())
    except XMLSyntaxError:
        return None
    for child in root:
        if child.tag in CHANNELS:
            return root, child, CHANNELS[child.tag]
    tag = str(root.tag)
    return root, root, tag[: tag.rfind("}") + 1]


def _read_xml(root: _Element, section: _Element, namespace: str, url: str) -> FeedMetadata:
    around = (child for child in root if child is not section and root is not section)
    children = [each for each in (*section, *around) if each.get(PLACEHOLDER) in (None, OF_THE_FEED)]
    base = elements.base_inside(section, url)
    is_atom = namespace in ATOM_NAMESPACES
    prefixes = {"": namespace, "atom": namespace if is_atom else ATOM, "itunes": modules.ITUNES}

    def tagged(names: str) -> list[_Element]:
        tags = [
            f"{space}{name}"
            for prefix, _colon, name in (each.rpartition(":") for each in names.split())
            for space in (modules.DC if prefix == "dc" else (prefixes[prefix],))
        ]
        return [child for tag in tags for child in children if child.tag == tag]

    def lines(names: str) -> list[str]:
        return list(filter(None, map(elements.line, tagged(names))))

    def line(names: str) -> str | None:
        return next(iter(lines(names)), None)

    def reference(values: Iterable[tuple[_Element, str | None]]) -> str | None:
        stripped = ((element, (value or "").strip()) for element, value in values)
        return next((elements.target(element, value, base) for element, value in stripped if value), None)

    def text_of(element: _Element) -> tuple[_Element, str | None]:
        return element, elements.line(element)

    # Subcategories of iTunes follow their category.
    subcategories = (
        each.get("text") for outer in tagged("itunes:category") for each in outer.iter(outer.tag)
    )
    links: Iterable[tuple[_Element, str | None]]
    images: Iterable[tuple[_Element, str | None]]
    categories: Iterable[str | None]
    if is_atom:
        title, description = _construct(tagged("title")), _construct(tagged("subtitle tagline"))
        links = [
            (element, element.get("href"))
            for element in tagged("link")
            if "alternate" in elements.relations(element)
        ]
        images = map(text_of, tagged("logo"))
        categories = [each.get("term") for each in tagged("category")]
    else:
        # RSS 2.0 has entity-encoded HTML in descriptions; iTunes has plain text.
        texts = [Text(text) for text in lines("description")]
        texts += [Text(text, "text") for text in lines("itunes:summary")]
        title, description = next(map(Text, lines("title")), None), next(iter(texts), None)
        links = map(text_of, tagged("link"))
        images = (text_of(url) for image in tagged("image") for url in image.iterchildren(f"{namespace}url"))
        categories = lines("category dc:subject")
    authors = _persons(tagged("atom:author"))
    fallbacks = (lines(names) for names in ("itunes:author", "dc:creator", "managingEditor") if not is_atom)
    declared = elements.language_of(section) or elements.language_of(root)
    return FeedMetadata(
        id=line("atom:id"),
        title=title,
        description=description,
        link=reference(links),
        language=declared or line("language dc:language"),
        image=reference(images)
        or reference((element, element.get("href")) for element in tagged("itunes:image")),
        icon=reference(map(text_of, tagged("atom:icon"))),
        authors=authors or list(map(person_of, dict.fromkeys(next(filter(None, fallbacks), [])))),
        owner=next(iter(_persons(tagged("itunes:owner"))), None),
        categories=jsonfeed.unique((each or "").strip() for each in (*categories, *subcategories)),
        copyright=line("rights copyright" if is_atom else "copyright dc:rights"),
        generator=line("generator"),
    )


def _construct(texts: list[_Element]) -> Text | None:
    for element in texts:
        if text := elements.line(element):
            kind = (element.get("type") or "").strip().lower()
            return Text(text, "html" if SHORT_TYPES.get(kind, kind) == "html" else "text")
    return None


def _persons(persons: list[_Element]) -> list[Person]:
    values_of_persons = (
        {elements.local_name(child): elements.line(child) for child in person} for person in persons
    )
    read_persons = (
        Person(values.get("name"), values.get("email"), values.get("uri") or values.get("url"))
        for values in values_of_persons
    )
    return [person for person in read_persons if any(person)]


def person_of(text: str) -> Person:
    match = MAIL_AND_NAME.fullmatch(text) or NAME_AND_MAIL.fullmatch(text) or MAIL.fullmatch(text)
    return Person(match["name"].strip() or None, match["email"]) if match else Person(text)


def _read_json(feed: dict[str, Any], url: str) -> FeedMetadata:
    def text(name: str) -> Text | None:
        return Text(value, "text") if (value := json_line(feed, name)) else None

    def reference(name: str) -> str | None:
        return elements.resolve(value, url) if (value := json_line(feed, name)) else None

    return FeedMetadata(
        title=text("title"),
        description=text("description"),
        link=reference("home_page_url"),
        language=json_line(feed, "language"),
        image=reference("icon"),
        icon=reference("favicon"),
        authors=[Person(name) for name in jsonfeed.author_names(feed, "", [])],
    )
