"""Reads the originals of entries: the XML element or the JSON object that the store keeps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lxml.etree import XMLSyntaxError

from fhcrawl.documents.formats import atom, atom03, jsonfeed, rss
from fhcrawl.documents.xml import parsers

if TYPE_CHECKING:
    from collections.abc import Callable

    from lxml.etree import _Element

    from fhcrawl.documents.head import Vocabulary
    from fhcrawl.documents.model import Entry, Problem

    EntryReader = Callable[[_Element, str, Vocabulary, list[Problem], int], Entry]

READERS: dict[str, tuple[EntryReader, Vocabulary]] = {
    **{one.entry: (atom.read_entry, one) for one in (atom.VOCABULARY, atom03.VOCABULARY)},
    **{one.entry: (rss.read_item, one) for one in rss.VOCABULARIES.values()},
}


def read_entry(original: str, url: str = "") -> Entry | None:
    """Read an entry again; None if its original is of no known format.

    What an entry has from the head section of its document is not in the original, but for xml:base and
    xml:lang.

    :param url: URL of its document
    """
    if not original.startswith("<"):
        return _read_json(original, url)
    try:
        element = parsers.parse_strict(original.encode())
    except XMLSyntaxError:
        return None
    read, vocabulary = READERS.get(element.tag, (None, None))
    if read is None or vocabulary is None:
        return None
    return read(element, url, vocabulary, [], 1)


def _read_json(original: str, url: str) -> Entry | None:
    try:
        item = json.loads(original)
    except ValueError:
        return None
    return jsonfeed.read_item(item, url, [], [], 1) if isinstance(item, dict) else None
