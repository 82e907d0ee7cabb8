"""Reads extensions of entries: Dublin Core, iTunes, RSS 1.0's content module, Media RSS.

A function of `FIELDS` reads one child of an entry into it, and returns whether the format's reader gets that
child again after all others. The first child that has a value counts, before those of `SUBSTITUTES`.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from fhcrawl.documents import dates
from fhcrawl.documents.model import Enclosure, Problem
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import ATOM
from fhcrawl.documents.xml.namespaces import braced

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from lxml.etree import _Element

    from fhcrawl.documents.model import Entry

    # Reads a child of an entry, with the base of its URLs; True if it must be read after all others.
    FieldReader = Callable[[Entry, _Element, str], bool | None]
    Placed = tuple[_Element, str]  # an element, and the base URL around it

NAME = f"{ATOM}name"
CONTENT, DCTERMS, ITUNES, MEDIA = map(braced, ("content", "dcterms", "itunes", "media"))
DC = (braced("dc"), braced("dc10"))
ALTERNATES = tuple(f"{braced(prefix)}alternateEnclosure" for prefix in ("podcast", "podcast0"))
LONGEST_NUMBER = 19  # digits
# Two separators at least: 1,234 and 1.234 may be fractions.
GROUPED = re.compile(r"\d{1,3}(?:([ ,.'\u2019_\u00a0\u202f])\d{3})(?:\1\d{3})+", re.ASCII)
FLOAT = re.compile(r"\d{1,19}(?:\.\d{1,19})?(?:e\+?\d{1,2})?", re.ASCII | re.IGNORECASE)
# Names of a file's URL, media type and size, in any case, those of the specifications first.
FILE_NAMES = (
    ("url", "href", "src", "link", "uri"),
    ("type", "mime_type", "mimetype", "mime-type", "mime", "contenttype"),
    ("length", "size_in_bytes", "size", "filesize"),
)
# Limits of the authors that entries inherit: each author adds to the size of every entry.
MOST_SHARED_AUTHORS = 100
LONGEST_SHARED_AUTHORS = 2000  # characters
# Media RSS (rssboard.org/media-rss), medium. RFC 9110, 12.5.1: "type/*" is "all subtypes of that type".
FAMILIES = {"image": "image/*", "audio": "audio/*", "video": "video/*"}


def fill(entry: Entry, element: _Element, base: str, fields: dict[str, FieldReader]) -> list[_Element]:
    """Read the children of an entry's element; return those that must be processed after all others."""
    return [child for child in element if (reader := fields.get(child.tag)) and reader(entry, child, base)]


def enclosure(url: str, media_type: str | None, length: str | None) -> Enclosure:
    """`length` is in octets; one that is not a number becomes None."""
    return Enclosure(url=url, type=media_type or None, length=unsigned(length))


def file(members: Iterable[tuple[Any, Any]]) -> tuple[str | None, str | None, str | None]:
    """Return the URL, the media type and the size of a file, whatever their names are."""
    values = {name.lower(): value.strip() for name, value in members if value}
    url, kind, size = (next(filter(None, map(values.get, names)), None) for names in FILE_NAMES)
    return url, kind, size


def file_of(element: _Element, base: str) -> Enclosure | None:
    """Return the file of an element that has its URL in an attribute, a child, or as its text."""
    # The first child counts, and attributes before children.
    parts = (
        pair
        for child in element.iterchildren("*", reversed=True)
        for pair in ((elements.local_name(child), elements.line(child)), *child.items())
    )
    url, *details = file((*parts, *element.items()))
    if url is None and (text := elements.line(element) or "").startswith((*elements.ABSOLUTE, "/")):
        url = text
    return enclosure(elements.target(element, url, base), *details) if url else None


def unsigned(text: str | None) -> int | None:
    """Return a whole number, which may be written as a float or with thousands separators; else None."""
    digits = (text or "").strip()
    if GROUPED.fullmatch(digits):
        digits = re.sub(r"\D", "", digits)
    number = Decimal(digits) if FLOAT.fullmatch(digits) else None
    is_whole = number is not None and number == number.to_integral_value()
    return int(number) if number is not None and is_whole and number < 10**LONGEST_NUMBER else None


def person(author: _Element) -> str | None:
    """Return the name of a Person construct (RFC 4287, 3.2; Atom 0.3, 3.2), else its e-mail or URI."""
    # Publishers write RSS's author, which is a text, in Atom, and Atom's, which is a person, in RSS.
    if not len(author):
        return elements.line(author)
    # The usual case.
    if len(author) == 1 and author[0].tag == NAME:
        return elements.line(author[0])
    parts = {
        child.tag.rpartition("}")[2]: elements.line(child) for child in author if isinstance(child.tag, str)
    }
    return parts.get("name") or parts.get("email") or parts.get("uri") or parts.get("url")


def shared(authors: list[str]) -> list[str]:
    """Return the authors that the entries of a feed inherit; [] if their names are too long."""
    first = list(dict.fromkeys(authors))[:MOST_SHARED_AUTHORS]
    return first if sum(map(len, first)) <= LONGEST_SHARED_AUTHORS else []


def inherit(entries: Sequence[Entry], authors: list[str], language: str | None) -> None:
    """Set the authors and the language of a feed on entries without their own."""
    for entry in entries if authors or language else ():
        entry.authors = entry.authors or list(authors)
        if entry.language is None:
            entry.language = language


def _time_reader(field: str) -> FieldReader:
    def read(entry: Entry, element: _Element, base: str) -> bool:
        if getattr(entry, field) is not None:
            return False
        time, note = dates.read(element.text or "")
        setattr(entry, field, time)
        return time is None or note is not None

    return read


published = _time_reader("published")
# RFC 5005, B: "The update time of an entry is not defined by RSS 2.0", unless another vocabulary gives it.
updated = _time_reader("updated")


def author(entry: Entry, element: _Element, base: str) -> None:
    if name := person(element):
        entry.authors.append(name)


# RFC 4287, 4.2.2.1: a category has a term; RSS 2.0: a text. Publishers write either in both.
def subject(entry: Entry, element: _Element, base: str) -> None:
    if term := (element.get("term") or "").strip() or elements.line(element):
        entry.categories.append(term)


def title(entry: Entry, element: _Element, base: str) -> None:
    entry.title = entry.title or elements.line(element)


def summary(entry: Entry, element: _Element, base: str) -> None:
    if entry.summary is None and (text := elements.text(element)):
        entry.summary, entry.summary_type = text, "text"


# RSS 1.0's content module: the content of the item, as escaped markup.
def _encoded(entry: Entry, element: _Element, base: str) -> bool:
    if entry.content is None and (content := elements.html(element)) is not None:
        entry.content, entry.content_type = content, "html"
        elements.note_context(entry, element, base)
    return len(element) > 0


# A reader of FIELDS that leaves the child to those that follow all others.
def later(entry: Entry, element: _Element, base: str) -> bool:
    return True


ENCODED = f"{CONTENT}encoded"
# The readers of elements that count if an entry lacks the format's own, in order of precedence.
SUBSTITUTES: dict[str, FieldReader] = {
    f"{ATOM}updated": updated,
    f"{DCTERMS}modified": updated,
    **{f"{dc}date": published for dc in DC},
    **{f"{DCTERMS}{name}": published for name in ("issued", "date", "created")},
    f"{elements.OLD_ATOM}created": published,
    f"{ITUNES}title": title,
    f"{ITUNES}summary": summary,
}
MEDIA_FIELDS: dict[str, FieldReader] = {
    **dict.fromkeys(ALTERNATES, later),
    **{
        f"{MEDIA}{name}": later
        for name in ("content", "group", "player", "title", "description", "thumbnail")
    },
}
# Those of RSS. itunes:keywords are search terms of one directory, not categories of the entry.
FIELDS: dict[str, FieldReader] = {
    **MEDIA_FIELDS,
    **dict.fromkeys(SUBSTITUTES, later),
    ENCODED: _encoded,
    f"{ATOM}author": later,
    f"{DCTERMS}creator": author,
    f"{DCTERMS}subject": subject,
    **{f"{dc}creator": author for dc in DC},
    **{f"{dc}subject": subject for dc in DC},
    f"{ITUNES}author": later,
}
# The field that each date fills, and its name in problems.
DATES = {
    f"{ATOM}published": ("published", "atom:published"),
    f"{ATOM}updated": ("updated", "atom:updated"),
    f"{DCTERMS}modified": ("updated", "dcterms:modified"),
    **{f"{DCTERMS}{name}": ("published", f"dcterms:{name}") for name in ("issued", "date", "created")},
    **{f"{dc}date": ("published", "dc:date") for dc in DC},
}


def substitute(
    entry: Entry, children: Iterable[_Element], base: str, readers: Mapping[str, FieldReader]
) -> None:
    """Fill the fields that the format's own elements leave empty; `readers` are in order of precedence."""
    substitutes = [child for child in children if child.tag in readers]
    if len(substitutes) > 1:
        precedence = list(readers)
        substitutes.sort(key=lambda child: precedence.index(child.tag))
    for child in substitutes:
        readers[child.tag](entry, child, base)


def add_media(entry: Entry, children: Iterable[_Element], base: str) -> None:
    """Add the files of Media RSS to an entry's enclosures; fill the fields that are empty."""
    media = [(child, base) for child in children if child.tag in MEDIA_FIELDS]
    if not media:
        return
    # media:group contains media:content elements: the same content in different forms.
    grouped = [
        (placed, _children_with_base(placed) if placed[0].tag == f"{MEDIA}group" else []) for placed in media
    ]
    contents = [
        placed for outer, inner in grouped for placed in (outer, *inner) if placed[0].tag == f"{MEDIA}content"
    ]
    urls = {enclosure["url"] for enclosure in entry.enclosures}
    # media:content: url is the file's own URL; media with only a player have no url.
    for content, url in _urls(contents, "content"):
        if url not in urls:
            urls.add(url)
            family = FAMILIES.get((content.get("medium") or "").strip().lower())
            entry.enclosures.append(enclosure(url, content.get("type") or family, content.get("fileSize")))
    # The description of one file among several does not describe the entry.
    inside_file = _children_with_base(contents[0]) if len(contents) == 1 else ()
    around = [*media, *(placed for _, inner in grouped for placed in inner), *inside_file]
    entry.title = entry.title or _first_value(around, "title", elements.line)
    # An entry with its own content needs no description of its files.
    if entry.summary is None and entry.content is None:
        entry.summary = _first_value(around, "description", elements.html)
    # media:player: "allows the media object to be accessed through a web browser".
    if entry.link is None:
        entry.link = next((url for _, url in _urls(around, "player")), None)
    # Podcast namespace, alternateEnclosure: other versions of the enclosure, the first one if there is none.
    if not entry.enclosures:
        files = (file_of(child, base) for child, _base in media if child.tag in ALTERNATES)
        entry.enclosures = list(filter(None, files))[:1]
    if not (entry.title or entry.summary or entry.content or entry.enclosures):
        entry.enclosures = [enclosure(url, "image/*", None) for _, url in _urls(around, "thumbnail")][:1]


def _children_with_base(outer: Placed) -> list[Placed]:
    base = elements.base_of(*outer)
    return [(child, base) for child in outer[0]]


def _first_value(around: Iterable[Placed], name: str, read: Callable[[_Element], str | None]) -> str | None:
    values = (read(element) for element, _base in around if element.tag == f"{MEDIA}{name}")
    return next(filter(None, values), None)


def _urls(around: Iterable[Placed], name: str) -> Iterator[Placed]:
    for element, base in around:
        if element.tag == f"{MEDIA}{name}" and (reference := (element.get("url") or "").strip()):
            yield element, elements.target(element, reference, base)


def without_repetition(entry: Entry) -> None:
    """Remove repeated authors and categories, in place; the order stays."""
    entry.categories = list(dict.fromkeys(entry.categories))
    entry.authors = list(dict.fromkeys(entry.authors))


def child_problems(
    entry: Entry,
    name: str,
    children: Iterable[_Element],
    escaped: Container[str],
    labels: dict[str, tuple[str, str]],
) -> Iterator[Problem]:
    """Yield a problem for each child whose markup is not escaped as required, and for each date like
    `date_problem`.
    """
    for child in filter(_lacks_file, children):
        yield Problem("empty-enclosure", name, f"its {elements.local_name(child)} names no file")
    for child in children:
        # RFC 4287, 4.1.3.3: child elements are the content of the types xhtml, …+xml and …/xml.
        if (
            child.tag in escaped
            and len(child)
            and not (child.get("type") or "").strip().lower().endswith(("xhtml", "+xml", "/xml"))
        ):
            label = "content:encoded" if child.tag == ENCODED else elements.local_name(child)
            yield Problem(
                "nonstandard", name, f"the markup in its {label} is not escaped; it is read as HTML"
            )
    for child in children:
        if child.tag in labels:
            field, label = labels[child.tag]
            yield from date_problem(name, label, child.text, getattr(entry, field))


# Whether an element that its format's reader has left means a file, without its URL.
def _lacks_file(element: _Element) -> bool:
    name = elements.local_name(element)
    if name == "link":
        return "enclosure" in elements.relations(element) and not (element.get("href") or "").strip()
    if element.tag == f"{MEDIA}content":
        return not (element.get("url") or "").strip() and element.find(f"{MEDIA}player") is None
    return (name == "enclosure" or element.tag in ALTERNATES) and file_of(element, "") is None


def date_problem(name: str, label: str, text: Any, taken: str | None) -> Iterator[Problem]:
    """Yield a problem if a date is unreadable, or is `taken` as the entry's time after interpretation."""
    if taken is None:
        yield Problem("unreadable-date", name, f"its {label} is not a date: {text!r}")
        return
    time, note = dates.read(text or "")
    if note is not None and time == taken:
        yield Problem("interpreted-date", name, f"its {label} is read as {time}: {text!r}; {note}")
