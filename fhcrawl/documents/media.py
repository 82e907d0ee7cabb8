"""Reads Media RSS (rssboard.org/media-rss) in entries of all formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fhcrawl.documents.modules import enclosure, later
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.namespaces import braced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lxml.etree import _Element

    from fhcrawl.documents.model import Entry
    from fhcrawl.documents.modules import FieldReader

    Placed = tuple[_Element, str]  # an element, and the base URL around it

MEDIA = braced("media")
CONTENT, GROUP, PLAYER = f"{MEDIA}content", f"{MEDIA}group", f"{MEDIA}player"
TITLE, DESCRIPTION, THUMBNAIL = f"{MEDIA}title", f"{MEDIA}description", f"{MEDIA}thumbnail"
FIELDS: dict[str, FieldReader] = dict.fromkeys((CONTENT, GROUP, PLAYER, TITLE, DESCRIPTION, THUMBNAIL), later)
# Media RSS, medium: image, audio, video, document or executable. The first three are types of RFC 6838, 4.2.
# RFC 9110, 12.5.1: "type/*" indicates "all subtypes of that type".
FAMILIES = {"image": "image/*", "audio": "audio/*", "video": "video/*"}


def finish(entry: Entry, children: Iterable[_Element], base: str) -> None:
    """Add an entry's media to its enclosures; fill the fields that its own elements leave empty."""
    media = [(child, base) for child in children if child.tag in FIELDS]
    if not media:
        return
    # Media RSS, media:group: it holds media:content elements, the same content in different forms.
    grouped = [(placed, list(_children(placed)) if placed[0].tag == GROUP else []) for placed in media]
    contents = [each for placed, inside in grouped for each in (placed, *inside) if each[0].tag == CONTENT]
    _add_enclosures(entry, contents)
    # What is said of one file among several is not said of the entry.
    of_file = _children(contents[0]) if len(contents) == 1 else ()
    _fill_fields(entry, [*media, *(each for _, inside in grouped for each in inside), *of_file])


def _children(outer: Placed) -> Iterator[Placed]:
    element, base = outer
    inside = elements.base_of(element, base)
    yield from ((child, inside) for child in element)


def _add_enclosures(entry: Entry, contents: Iterable[Placed]) -> None:
    known = {enclosure["url"] for enclosure in entry.enclosures}
    for content, base in contents:
        # Media RSS, media:content: url is the file's own URL; media with a player only have none.
        reference = (content.get("url") or "").strip()
        url = elements.target(content, reference, base)
        if reference and url not in known:
            known.add(url)
            family = FAMILIES.get((content.get("medium") or "").strip().lower())
            entry.enclosures.append(enclosure(url, content.get("type") or family, content.get("fileSize")))


def _fill_fields(entry: Entry, around: list[Placed]) -> None:
    if entry.title is None:
        entry.title = _first(around, TITLE, elements.line)
    # An entry with content of its own needs no words on its files.
    if entry.summary is None and entry.content is None:
        entry.summary = _first(around, DESCRIPTION, elements.html)
    # Media RSS, media:player: "allows the media object to be accessed through a web browser".
    if entry.link is None:
        entry.link = next(_urls(around, PLAYER), None)
    if not (entry.title or entry.summary or entry.content or entry.enclosures):
        entry.enclosures = [enclosure(url, "image/*", None) for url in _urls(around, THUMBNAIL)][:1]


def _first(around: Iterable[Placed], tag: str, read: Callable[[_Element], str | None]) -> str | None:
    return next(filter(None, (read(element) for element, _base in around if element.tag == tag)), None)


def _urls(around: Iterable[Placed], tag: str) -> Iterator[str]:
    for element, base in around:
        if element.tag == tag and (reference := (element.get("url") or "").strip()):
            yield elements.target(element, reference, base)
