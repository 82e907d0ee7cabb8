"""Reads Atom (RFC 4287) with RFC 5005's extensions, and Atom 0.3 (draft-nottingham-atom-format-02)."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

from fhcrawl.documents import head, modules
from fhcrawl.documents.head import Vocabulary
from fhcrawl.documents.model import OWN_ID, PLACEHOLDER, Entry, Problem, identifier
from fhcrawl.documents.modules import enclosure, person
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import ATOM, XHTML

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element

    from fhcrawl.documents.model import FeedDocument
    from fhcrawl.documents.modules import FieldReader
    from fhcrawl.documents.xml.elements import Head
    from fhcrawl.documents.xml.parsing import Parsed

OLD = elements.OLD_ATOM
ROOT, OLD_ROOT = f"{ATOM}feed", f"{OLD}feed"
ENTRY = f"{ATOM}entry"
AUTHOR = f"{ATOM}author"
CONTENT, SUMMARY = f"{ATOM}content", f"{ATOM}summary"
TYPES = ("text", "html", "xhtml")
PLAIN = ("text", "html", "text/html")
ACQUISITION = "http://opds-spec.org/acquisition"  # OPDS 1.2, 5.2.1: and its subrelations
BASE64 = ";base64"  # the end of a content type
# Media types of Atom 0.3 that have other names in RFC 4287.
SHORT_TYPES = {"text/plain": "text", "text/html": "html", "application/xhtml+xml": "xhtml"}
NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def read(parsed: Parsed, url: str) -> FeedDocument:
    feed = parsed.root
    vocabulary = VOCABULARY if feed.tag == ROOT else OLD_VOCABULARY
    base = elements.base_of(feed, url)
    problems: list[Problem] = []
    children: Head = {}
    entries = [
        read_entry(entry, base, vocabulary, problems, number)
        for number, entry in enumerate(parsed.entries(feed, vocabulary.entry, children), 1)
    ]
    # RFC 4287, 4.2.1, and Atom 0.3: the feed's authors apply to an entry without authors, also in its source.
    author_elements = children.get(f"{vocabulary.namespace}author", ())
    authors = modules.shared(
        _persons(author for author in author_elements if not elements.has_attribute(author, PLACEHOLDER))
    )
    modules.inherit(entries, authors, elements.language_of(feed))
    return head.read(parsed, children, base, vocabulary, entries, problems)


def read_entry(
    element: _Element, base: str, vocabulary: Vocabulary, problems: list[Problem], number: int
) -> Entry:
    entry = Entry()
    base = elements.note_context(entry, element, base)
    postponed = modules.fill(entry, element, base, vocabulary.fields)
    # RFC 4287, 4.2.1: the authors of atom:source apply to an entry without authors.
    if not entry.authors and (source := elements.first(element, f"{ATOM}source")) is not None:
        entry.authors = _persons(source.iterchildren(AUTHOR))
    name = entry.id or entry.title or f"entry {number}"
    # RFC 4287, 4.1.2, and Atom 0.3, atom:entry: they "MUST contain exactly one" atom:id, and atom:title.
    if entry.id is None:
        problems.append(Problem("no-id", name, "it has no atom:id"))
    if entry.title is None and element.find(f"{vocabulary.namespace}title") is None:
        problems.append(Problem("no-title", name, "it has no atom:title"))
    if postponed:
        modules.substitute(entry, postponed, base, modules.SUBSTITUTES)
        modules.add_media(entry, postponed, base)
        faults = modules.child_problems(entry, name, postponed, vocabulary.escaped, vocabulary.dates)
        problems.extend(faults)
    modules.without_repetition(entry)
    return entry


def _persons(authors: Iterable[_Element]) -> list[str]:
    return [name for author in authors if (name := person(author))]


def _title(entry: Entry, element: _Element, base: str) -> None:
    if entry.title is None and (title := elements.line(element)):
        kind = _type(element)
        # The markup of XHTML is removed.
        entry.title, entry.title_type = title, kind if kind != "xhtml" else "text"


def _id(entry: Entry, element: _Element, base: str) -> None:
    if entry.id is None:
        has_own = elements.has_attribute(element, OWN_ID)
        entry.id = identifier(element.get(OWN_ID)) if has_own else elements.identifier(element)


def _link(entry: Entry, element: _Element, base: str) -> bool:
    href = element.get("href")
    if not href or href.isspace():
        return True
    rels = elements.relations(element)
    if "alternate" in rels and entry.link is None and not elements.has_attribute(element, PLACEHOLDER):
        entry.link = elements.target(element, href, base)
    elif "enclosure" in rels or any(rel.startswith(ACQUISITION) for rel in rels):
        url = elements.target(element, href, base)
        entry.enclosures.append(enclosure(url, *modules.file(element.items())[1:]))
    return False


# A `modules.FieldReader`.
def _updated(entry: Entry, element: _Element, base: str) -> bool | None:
    return not elements.has_attribute(element, PLACEHOLDER) and modules.updated(entry, element, base)


# RFC 4287, 3.1.1: the type is "text", "html" or "xhtml". Publishers write it in another case.
def _type(element: _Element) -> str:
    declared = (element.get("type") or "").strip() or "text"
    return kind if (kind := declared.lower()) in TYPES else declared


def _summary(entry: Entry, element: _Element, base: str) -> bool:
    if entry.summary is not None:
        return False
    kind = _type(element)
    entry.summary = _xhtml(element) if kind == "xhtml" else elements.html(element)
    entry.summary_type = None if entry.summary is None else kind
    return kind != "xhtml" and len(element) > 0


# RFC 4287, 3.1.1.3: "The XHTML div element itself MUST NOT be considered part of the content."
def _xhtml(element: _Element) -> str | None:
    div = element.find(f"{XHTML}div")
    return elements.markup(element if div is None else div, ATOM)


# RFC 4287, 4.1.3.3: how atom:content is processed.
def _content(entry: Entry, element: _Element, base: str) -> bool:
    media_type = _type(element)
    names = element.keys()
    if "src" in names and (source := element.get("src", "").strip()):
        url = elements.target(element, source, base)
        entry.enclosures.append(enclosure(url, element.get("type"), None))
        return False
    if entry.content is not None:
        return False
    content: str | None
    is_unescaped = False
    if media_type in PLAIN and not len(element):
        content = elements.text(element)
    elif media_type == "xhtml":
        content = _xhtml(element)
    elif is_unescaped := len(element) > 0 and media_type.lower() in PLAIN:
        content = elements.html(element)
        media_type = "html" if media_type == "text" else media_type
    elif media_type.lower().endswith(("+xml", "/xml")):
        content = elements.markup(element)
    else:
        content, media_type = _other_content(elements.text(element), media_type)
    entry.content, entry.content_type = content, media_type if content is not None else None
    if content is not None and not elements.CONTEXT.isdisjoint(names):
        elements.note_context(entry, element, base)
    return is_unescaped


# RFC 4287, 4.1.3.3, 6: content of all other types MUST be Base64; other text is read unchanged.
def _other_content(content: str | None, media_type: str) -> tuple[str | None, str]:
    kind = media_type.lower()
    if content is None or "/" not in kind or kind.startswith("text/") or kind.endswith(BASE64):
        return content, media_type
    encoded = "".join(content.split())
    return (encoded, f"{media_type}{BASE64}") if is_base64(encoded) else (content, media_type)


def is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return True


def _old_title(entry: Entry, element: _Element, base: str) -> None:
    if entry.title is None and (title := _old_line(element)):
        kind = _kind(element)
        entry.title, entry.title_type = title, "text" if len(element) or kind == "xhtml" else kind


def _old_line(element: _Element) -> str | None:
    if _mode(element) != "base64":
        return elements.line(element)
    decoded = _decoded_base64(element)
    return decoded.strip() or None if decoded is not None else None


def _old_summary(entry: Entry, element: _Element, base: str) -> bool:
    if entry.summary is None:
        entry.summary, entry.summary_type = _read_construct(element)
    return _is_unescaped(element)


def _old_content(entry: Entry, element: _Element, base: str) -> bool:
    if entry.content is None:
        entry.content, entry.content_type = _read_construct(element)
        elements.note_context(entry, element, base)
    return _is_unescaped(element)


# Atom 0.3, Content constructs: inline markup has the mode xml and a media type of markup.
def _is_unescaped(element: _Element) -> bool:
    return len(element) > 0 and _kind(element) == "text" and _mode(element) != "base64"


def _mode(element: _Element) -> str:
    return (element.get("mode") or "").strip().lower()


# Atom 0.3, Content constructs: the mode is xml (the default), escaped or base64. Feeds without a mode escape.
def _read_construct(element: _Element) -> tuple[str | None, str | None]:
    kind, mode = _kind(element), _mode(element)
    text: str | None
    if mode == "base64":
        text = _decoded_base64(element)
        if text is None:
            text, kind = _compact_base64(element), f"{_media_type(element)}{BASE64}"
    elif _is_unescaped(element):
        text, kind = elements.html(element), "html"
    elif kind != "text" and (len(element) or mode == "xml"):
        text = elements.markup(element, *((OLD,) if kind in SHORT_TYPES.values() else ()))
    else:
        text = elements.text(element)
    return (text, kind) if text and not text.isspace() else (None, None)


def _media_type(element: _Element) -> str:
    return (element.get("type") or "").strip().lower() or "text/plain"


def _kind(element: _Element) -> str:
    media_type = _media_type(element)
    return SHORT_TYPES.get(media_type, media_type)


def _compact_base64(element: _Element) -> str:
    return "".join((elements.text(element) or "").split())


def _decoded_base64(element: _Element) -> str | None:
    try:
        text = base64.b64decode(_compact_base64(element), validate=True).decode()
    except ValueError:
        return None
    return None if NO_TEXT.search(text) else text


FIELDS: dict[str, FieldReader] = {
    **modules.MEDIA_FIELDS,
    f"{ATOM}id": _id,
    f"{ATOM}title": _title,
    f"{ATOM}link": _link,
    f"{ATOM}published": modules.published,
    f"{ATOM}updated": _updated,
    AUTHOR: modules.author,
    f"{ATOM}category": modules.subject,
    SUMMARY: _summary,
    CONTENT: _content,
}
VOCABULARY = Vocabulary(
    "atom", ATOM, ENTRY, FIELDS, modules.DATES, (f"{ATOM}updated",), escaped=frozenset({SUMMARY, CONTENT})
)
OLD_VOCABULARY = Vocabulary(
    "atom",
    OLD,
    f"{OLD}entry",
    {
        **modules.MEDIA_FIELDS,
        **{f"{dc}subject": modules.subject for dc in modules.DC},
        f"{OLD}id": _id,
        f"{OLD}title": _old_title,
        f"{OLD}link": _link,
        # Atom 0.3: atom:issued is when the entry was published, atom:created when it was created.
        f"{OLD}issued": modules.published,
        f"{OLD}created": modules.later,
        f"{OLD}modified": modules.updated,
        f"{OLD}author": modules.author,
        f"{OLD}summary": _old_summary,
        f"{OLD}content": _old_content,
    },
    {
        f"{OLD}issued": ("published", "atom:issued"),
        f"{OLD}created": ("published", "atom:created"),
        f"{OLD}modified": ("updated", "atom:modified"),
    },
    (f"{OLD}modified",),
    f"{OLD}link",
    _old_line,
    escaped=frozenset({f"{OLD}summary", f"{OLD}content"}),
)
