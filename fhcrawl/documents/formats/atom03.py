"""Reads Atom 0.3, the predecessor of RFC 4287 (draft-nottingham-atom-format-02, of December 2003)."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

from fhcrawl.documents import media, modules
from fhcrawl.documents.formats import atom
from fhcrawl.documents.head import Vocabulary
from fhcrawl.documents.xml import elements
from fhcrawl.documents.xml.elements import ATOM

if TYPE_CHECKING:
    from lxml.etree import _Element

    from fhcrawl.documents.model import Entry, FeedDocument
    from fhcrawl.documents.modules import FieldReader
    from fhcrawl.documents.xml.parsing import Parsed

OLD = elements.OLD_ATOM
ROOT = f"{OLD}feed"
NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
SHORT_TYPES = {"text/plain": "text", "text/html": "html", "application/xhtml+xml": "xhtml"}


def read(parsed: Parsed, url: str) -> FeedDocument:
    """Read a feed element of Atom 0.3; its tagline is not read, like RFC 4287's subtitle."""
    return atom.read_feed(parsed, url, VOCABULARY)


def _title(entry: Entry, element: _Element, base: str) -> None:
    if entry.title is None and (title := _line(element)):
        kind = _kind(element)
        entry.title, entry.title_type = title, "text" if len(element) or kind == "xhtml" else kind


def _line(element: _Element) -> str | None:
    if _mode(element) != "base64":
        return elements.line(element)
    decoded = _decoded(element)
    return decoded.strip() or None if decoded is not None else None


def _summary(entry: Entry, element: _Element, base: str) -> bool:
    if entry.summary is None:
        entry.summary, entry.summary_type = _construct(element)
    return _is_unescaped(element)


def _content(entry: Entry, element: _Element, base: str) -> bool:
    if entry.content is None:
        entry.content, entry.content_type = _construct(element)
        elements.note_context(entry, element, base)
    return _is_unescaped(element)


# Atom 0.3, Content constructs: inline markup has the mode xml and a media type of markup.
def _is_unescaped(element: _Element) -> bool:
    return len(element) > 0 and _kind(element) == "text" and _mode(element) != "base64"


def _mode(element: _Element) -> str:
    return (element.get("mode") or "").strip().lower()


# Atom 0.3, Content constructs: they have a media type, text/plain by default, and a mode: xml (the default),
# escaped or base64. Feeds without a mode escape their markup nevertheless.
def _construct(element: _Element) -> tuple[str | None, str | None]:
    kind, mode = _kind(element), _mode(element)
    text: str | None
    if mode == "base64":
        decoded = _decoded(element)
        encoded = "".join((elements.text(element) or "").split())
        text, kind = (encoded, f"{_media_type(element)};base64") if decoded is None else (decoded, kind)
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


def _decoded(element: _Element) -> str | None:
    """Return the decoded text of an element with the mode base64; None if it is not text."""
    try:
        text = base64.b64decode("".join((elements.text(element) or "").split()), validate=True).decode()
    except ValueError:
        return None
    return None if NO_TEXT.search(text) else text


FIELDS: dict[str, FieldReader] = {
    **media.FIELDS,
    **{f"{dc}subject": modules.subject for dc in modules.DC},
    f"{OLD}id": atom.FIELDS[f"{ATOM}id"],
    f"{OLD}title": _title,
    f"{OLD}link": atom.FIELDS[f"{ATOM}link"],
    # Atom 0.3: atom:issued is when the entry was published, atom:created when it was created.
    f"{OLD}issued": modules.published,
    f"{OLD}created": modules.later,
    f"{OLD}modified": modules.updated,
    f"{OLD}author": modules.author,
    f"{OLD}summary": _summary,
    f"{OLD}content": _content,
}
DATES = {
    f"{OLD}issued": ("published", "atom:issued"),
    f"{OLD}created": ("published", "atom:created"),
    f"{OLD}modified": ("updated", "atom:modified"),
}
VOCABULARY = Vocabulary(
    "atom",
    OLD,
    f"{OLD}entry",
    FIELDS,
    DATES,
    (f"{OLD}modified",),
    f"{OLD}link",
    _line,
    escaped=frozenset({f"{OLD}summary", f"{OLD}content"}),
)
