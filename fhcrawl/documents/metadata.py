"""Reads the metadata of a feed from the head section that the store keeps."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from lxml.etree import XMLSyntaxError

from fhcrawl.documents import modules
from fhcrawl.documents.formats import jsonfeed
from fhcrawl.documents.formats.atom import PLACEHOLDER, SHORT_TYPES
from fhcrawl.documents.formats.jsonfeed import line as json_line
from fhcrawl.documents.xml import elements, parsing
from fhcrawl.documents.xml.elements import ATOM, OLD_ATOM, RDF_NAMESPACES, RSS_NAMESPACES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.etree import _Element

# The value of PLACEHOLDER on authors that are the feed's, and not those of entries without authors.
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
    """A text; `type` is None if the format does not say it."""

    value: str
    type: str | None = None


@dataclass(slots=True)
class FeedMetadata:
    """The metadata of a feed, whatever its format. URLs are absolute.

    `image` is atom:logo, RSS's image, itunes:image or JSON Feed's icon; `icon` is atom:icon or JSON Feed's
    favicon; `owner` is itunes:owner.
    """

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
    """Read the metadata of a feed from a HeadSource's original; `url` is that of its document."""
    if not original.startswith("<"):
        return _read_json(json.loads(original), url)
    parsed = parse(original)
    if parsed is None:
        return FeedMetadata()
    root, section, namespace = parsed
    head: elements.Head = {}
    for child in (*section, *(child for child in root if child is not section and root is not section)):
        if isinstance(child.tag, str) and child.get(PLACEHOLDER) in (None, OF_THE_FEED):
            head.setdefault(child.tag, []).append(child)
    base = elements.base_inside(section, url)
    found = (_read_atom if namespace in ATOM_NAMESPACES else _read_rss)(head, namespace, base)
    found.image = found.image or _reference(_each(head, f"{modules.ITUNES}image"), "href", base)
    declared = elements.language_of(section) or elements.language_of(root)
    languages = (f"{namespace}language", *(f"{dc}language" for dc in modules.DC))
    found.language = declared or _line(head, *languages)
    found.owner = next(iter(_persons(head, f"{modules.ITUNES}owner")), None)
    # Each of iTunes' categories is followed by its subcategories.
    tag = f"{modules.ITUNES}category"
    of_itunes = ((one.get("text") or "").strip() for each in head.get(tag, ()) for one in each.iter(tag))
    found.categories = list(dict.fromkeys(filter(None, (*found.categories, *of_itunes))))
    return found


def parse(original: str) -> tuple[_Element, _Element, str] | None:
    """Return the root of a head section, the section, and the format's namespace; None if it is no XML."""
    try:
        root = parsing.parse_strict(original.encode())
    except XMLSyntaxError:
        return None
    for child in root:
        if child.tag in CHANNELS:
            return root, child, CHANNELS[child.tag]
    tag = str(root.tag)
    return root, root, tag[: tag.rfind("}") + 1]


def _each(head: elements.Head, *tags: str) -> Iterator[_Element]:
    for tag in tags:
        yield from head.get(tag, ())


def _line(head: elements.Head, *tags: str) -> str | None:
    return next(filter(None, map(elements.line, _each(head, *tags))), None)


def _text(value: str | None, kind: str | None = None) -> Text | None:
    return Text(value, kind) if value else None


def _reference(found: Iterable[_Element], attribute: str | None, base: str) -> str | None:
    for element in found:
        value = elements.line(element) if attribute is None else (element.get(attribute) or "").strip()
        if value:
            return elements.target(element, value, base)
    return None


def _read_atom(head: elements.Head, namespace: str, base: str) -> FeedMetadata:
    alternates = (link for link in _each(head, f"{namespace}link") if "alternate" in elements.relations(link))
    return FeedMetadata(
        id=_line(head, f"{namespace}id"),
        title=_construct(head, f"{namespace}title"),
        # Atom 0.3: tagline and copyright.
        description=_construct(head, f"{namespace}subtitle", f"{namespace}tagline"),
        link=_reference(alternates, "href", base),
        image=_reference(_each(head, f"{namespace}logo"), None, base),
        icon=_reference(_each(head, f"{namespace}icon"), None, base),
        authors=_persons(head, f"{namespace}author"),
        categories=[(each.get("term") or "").strip() for each in _each(head, f"{namespace}category")],
        copyright=_line(head, f"{namespace}rights", f"{namespace}copyright"),
        generator=_line(head, f"{namespace}generator"),
    )


def _construct(head: elements.Head, *tags: str) -> Text | None:
    for element in _each(head, *tags):
        if text := elements.line(element):
            kind = (element.get("type") or "").strip().lower()
            return Text(text, "html" if SHORT_TYPES.get(kind, kind) == "html" else "text")
    return None


def _persons(head: elements.Head, tag: str) -> list[Person]:
    parts = ({elements.local_name(c): elements.line(c) for c in each} for each in head.get(tag, ()))
    persons = (Person(p.get("name"), p.get("email"), p.get("uri") or p.get("url")) for p in parts)
    return [person for person in persons if any(person)]


def _read_rss(head: elements.Head, namespace: str, base: str) -> FeedMetadata:
    of_dc = {name: tuple(f"{dc}{name}" for dc in modules.DC) for name in ("creator", "rights", "subject")}
    links = (link for link in _each(head, f"{namespace}link") if elements.line(link))
    images = (
        url for image in _each(head, f"{namespace}image") for url in image.iterchildren(f"{namespace}url")
    )
    # RSS 2.0 has entity-encoded HTML in descriptions; iTunes has plain text.
    described = _line(head, f"{namespace}description")
    summary = _line(head, f"{modules.ITUNES}summary")
    return FeedMetadata(
        id=_line(head, f"{ATOM}id"),
        title=_text(_line(head, f"{namespace}title")),
        description=_text(described) or _text(summary, "text"),
        link=_reference(links, None, base),
        image=_reference(images, None, base),
        icon=_reference(_each(head, f"{ATOM}icon"), None, base),
        authors=_rss_authors(head, namespace, of_dc["creator"]),
        categories=[elements.line(c) or "" for c in _each(head, f"{namespace}category", *of_dc["subject"])],
        copyright=_line(head, f"{namespace}copyright", *of_dc["rights"]),
        generator=_line(head, f"{namespace}generator"),
    )


def _rss_authors(head: elements.Head, namespace: str, creators: tuple[str, ...]) -> list[Person]:
    if authors := _persons(head, f"{ATOM}author"):
        return authors
    for tags in ((f"{modules.ITUNES}author",), creators, (f"{namespace}managingEditor",)):
        if lines := [line for one in _each(head, *tags) if (line := elements.line(one))]:
            return list(map(person_of, dict.fromkeys(lines)))
    return []


def person_of(text: str) -> Person:
    found = MAIL_AND_NAME.fullmatch(text) or NAME_AND_MAIL.fullmatch(text) or MAIL.fullmatch(text)
    return Person(found["name"].strip() or None, found["email"]) if found else Person(text)


def _read_json(feed: dict[str, Any], url: str) -> FeedMetadata:
    def reference(name: str) -> str | None:
        return elements.resolve(value, url) if (value := json_line(feed, name)) else None

    return FeedMetadata(
        title=_text(json_line(feed, "title"), "text"),
        description=_text(json_line(feed, "description"), "text"),
        link=reference("home_page_url"),
        language=json_line(feed, "language"),
        image=reference("icon"),
        icon=reference("favicon"),
        authors=[Person(name) for name in jsonfeed.author_names(feed, "", [])],
    )
